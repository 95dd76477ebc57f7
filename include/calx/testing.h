/* calx/testing.h - checks for functions and transforms, for any test runner.
 *
 * Each check returns NULL, or the failure's text (index, both values, the
 * largest difference, seed and program), valid until the next check. With
 * cmocka: cx_assert(check).
 */
#ifndef CALX_TESTING_H
#define CALX_TESTING_H

#include "calx/calx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cx_check_opt {
  CX_OPTIONS;
  int order;         /* derivatives; 0: 1 */
  double eps;        /* step of the differences; 0: by dtype */
  double rtol, atol; /* 0: the dtype's row of the tolerance table */
  uint64_t seed;
} cx_check_opt;

/* cx_check_grads(f, (x, w), .order = 2): forward and reverse mode against
 * differences, and <v, Ju> against <J'v, u>; fails if no argument is floating.
 * cx_check_vmap: against a loop. cx_check_jit: against the eager result.
 * cx_check_remat: values and gradients against those without a checkpoint.
 * These three compare bit for bit, unless .rtol is given. */
#define cx_check_grads(...) CX_CHECK_(cx_check_grads_, __VA_ARGS__, )
#define cx_check_vmap(...) CX_CHECK_(cx_check_vmap_, __VA_ARGS__, )
#define cx_check_jit(...) CX_CHECK_(cx_check_jit_, __VA_ARGS__, )
#define cx_check_remat(...) CX_CHECK_(cx_check_remat_, __VA_ARGS__, )
#define CX_CHECK_(fn, f, args, ...) \
  fn((f), CX_AS args, CX_OPT(cx_check_opt, __VA_ARGS__), CX_AT)
CX_API const char *cx_check_grads_(cx_fn f, int n, const cx *args,
                                   cx_check_opt opt, const char *at);
CX_API const char *cx_check_vmap_(cx_fn f, int n, const cx *args,
                                  cx_check_opt opt, const char *at);
CX_API const char *cx_check_jit_(cx_fn f, int n, const cx *args,
                                 cx_check_opt opt, const char *at);
CX_API const char *cx_check_remat_(cx_fn f, int n, const cx *args,
                                   cx_check_opt opt, const char *at);

/* cx_check_close(got, want, .rtol = 1e-6); trees leaf by leaf */
#define cx_check_close(...) CX_CLOSE_(__VA_ARGS__, )
#define CX_CLOSE_(got, want, ...)                    \
  cx_check_close_(CX_A(got), CX_A(want),             \
                  CX_OPT(cx_check_opt, __VA_ARGS__), CX_AT)
CX_API const char *cx_check_close_(cx got, cx want, cx_check_opt opt,
                                   const char *at);
/* The last error is (code, containing text); clears it. */
CX_API const char *cx_check_error(cx_code code, const char *text);
/* Standard normal (integers: 0..9) arrays like the specs. */
CX_API cx cx_random_like(cx specs, uint64_t seed);

/* For cmocka; any runner has such a function. */
#define cx_assert(check)                             \
  do {                                               \
    const char *cx_text_ = (check);                  \
    if (cx_text_) fail_msg("%s", cx_text_);          \
  } while (0)

#ifdef __cplusplus
}
#endif
#endif
