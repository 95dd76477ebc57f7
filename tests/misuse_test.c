/* misuse_test.c - every public function with every kind of wrong handle: no
 * crash, no leak, poison with a text, and the context serves on.
 *
 * Whether a call is an error or not is for other tests; here it must be one or
 * the other: a result that can be used, or poison and a kept error. */
#include "support/misuse.h"

/* -- the calls with a wrong handle, as functions --------------------------- */

static int64_t size;
#define CALL_X(name, call)    \
  static cx name##_of(cx x) { \
    return call;              \
  }
#define ASK_X(name, call)         \
  static void name##_asks(cx x) { \
    (void)(call);                 \
  }
#include "support/misuse_handles.def"
#undef CALL_X
#undef ASK_X
static const struct {
  const char *name;
  cx (*call)(cx x);
} calls_x[] = {
#define CALL_X(name, call) { #name, name##_of },
#include "support/misuse_handles.def"
#undef CALL_X
};
static const struct {
  const char *name;
  void (*ask)(cx x);
} asks_x[] = {
#define ASK_X(name, call) { #name, name##_asks },
#include "support/misuse_handles.def"
#undef ASK_X
};
enum {
  N_CALLS = sizeof calls_x / sizeof *calls_x,
  N_ASKS = sizeof asks_x / sizeof *asks_x
};

/* -- wrong handles --------------------------------------------------------- */

enum { N_HANDLES = 32 };
typedef struct handles {
  int n;
  struct {
    const char *name;
    cx x;
  } d[N_HANDLES];
} handles;

static void add(handles *h, const char *name, cx x) {
  assert_true(h->n < N_HANDLES);
  h->d[h->n].name = name;
  h->d[h->n++].x = x;
}
static cx of_ended_scope(void) {
  CX_SCOPE;
  return cx_ones(CX_F32, 2, 3);
}
static cx of_closed_context(cx_ctx *back) {
  cx_ctx *other = cx_open("cpu", .threads = 1);
  const cx x = cx_ones(CX_F32, 2, 3);
  cx_close(other);
  cx_use(back);
  return x;
}
static cx tall_tree(int depth) {
  cx x = a;
  for (int d = 0; d < depth; d++) x = cx_tuple(x);
  return x;
}
static void make_handles(handles *h, cx_ctx *back, cx_ctx *other) {
  cx x;
  add(h, "nothing", (cx){ 0 });
  x = cx_fail(CX_EUSER, "on purpose");
  cx_error(NULL);
  add(h, "poison", x);
  add(h, "none", cx_none());
  add(h, "ended", of_ended_scope());
  x = cx_keep(a);
  cx_drop(x);
  add(h, "dropped", x);
  x = cx_neg(a);
  (void)cx_call(cx_jit(CX_FN(twice), .donate = CX_ARGS(0)), x);
  add(h, "donated", x);
  (void)cx_call(CX_FN(leaks), a);
  add(h, "tracer that ended", leaked);
  cx_use(other);
  x = cx_ones(CX_F32, 2, 3);
  cx_use(back);
  add(h, "of another context", x);
  add(h, "of a closed context", of_closed_context(back));
  add(h, "no handle", (cx){ 12345, 67890 });
  add(h, "no handle, kept", (cx){ 0x08000007, 67890 });
  add(h, "no handle, traced", (cx){ 0x20000007, 67890 });
  add(h, "bytes", (cx){ 0xdeadbeef, 0xdeadbeef });
  add(h, "float", cx_lit_f(1.5));
  add(h, "nan", cx_lit_f((double)NAN));
  add(h, "int", cx_lit_i(-3));
  add(h, "large int", cx_lit_u(UINT64_MAX));
  add(h, "bool", cx_lit_b(true));
  add(h, "tuple", cx_tuple(a, cx_ones(CX_I32, 2)));
  add(h, "tree", t);
  add(h, "empty dict", cx_dict_(0, NULL, NULL));
  add(h, "tall tree", tall_tree(300));
  add(h, "empty", cx_zeros(CX_F32, 0, 3));
  add(h, "empty inside", cx_zeros(CX_F32, 2, 0));
  add(h, "scalar", cx_scalar(2, CX_F32));
  add(h, "eight axes", cx_zeros(CX_F32, 1, 2, 1, 2, 1, 1, 1, 3));
  add(h, "key", k);
  add(h, "keys", cx_split_n(k, 2));
  add(h, "bools", b);
  add(h, "spec", cx_spec(CX_F32, 2, 3));
  cx_error(NULL);
}

/* All handles, one of them of the context that is returned. */
static cx_ctx *start(cx_ctx *mine, handles *out) {
  cx_ctx *other = cx_open("cpu", .threads = 1);
  cx_use(mine);
  *out = (handles){ 0 };
  make_operands();
  make_handles(out, mine, other);
  return other;
}
static void end(cx_ctx *mine, cx_ctx *other) {
  cx_close(other);
  cx_use(mine);
  assert_nothing_wrong();
}

static void every_handle(void **state) {
  CX_SCOPE;
  handles h;
  cx_ctx *other = start(*state, &h);
  for (int at = 0; at < h.n; at++) {
    const cx x = h.d[at].x;
    const char *bad = h.d[at].name;
    for (int c = 0; c < N_CALLS; c++)
      CHECK(calls_x[c].name, bad, x, calls_x[c].call(x));
    for (int c = 0; c < N_ASKS; c++) {
      CX_SCOPE;
      asks_x[c].ask(x);
      cx_error(NULL);
      check_usable(asks_x[c].name, bad);
    }
    cx_drop(slot);
    cx_error(NULL);
    slot = (cx){ 0 };
  }
  end(*state, other);
}

/* Without a context every call is an error that says so, or a number. */
static void no_context(void **state) {
  CX_SCOPE;
  make_operands();
  const cx operands[] = { { 0 }, a, cx_lit_f(1.5), cx_none(), { 0, 9 } };
  cx_use(NULL);
  for (size_t at = 0; at < sizeof operands / sizeof *operands; at++) {
    for (int c = 0; c < N_CALLS; c++)
      check_result(calls_x[c].name, "no context", operands[at],
                   calls_x[c].call(operands[at]));
    for (int c = 0; c < N_ASKS; c++) asks_x[c].ask(operands[at]);
    cx_error(NULL);
  }
  cx_use(*state);
  check_usable("every call", "no context");
  assert_nothing_wrong();
}

/* -- the same while tracing ------------------------------------------------ */

static handles bad_handles;
CX_STRUCT(which, (int, call), (int, handle));
CX_DEF_ENV(traced, which, w, x) { /* its own argument */
  return calls_x[w->call].call(x);
}
CX_DEF_ENV(traced_bad, which, w, x) {
  (void)x;
  return calls_x[w->call].call(bad_handles.d[w->handle].x);
}
static void every_handle_while_tracing(void **state) {
  CX_SCOPE;
  cx_ctx *other = start(*state, &bad_handles);
  for (int at = 0; at < bad_handles.n; at++) {
    const cx x = bad_handles.d[at].x;
    const char *bad = bad_handles.d[at].name;
    for (int c = 0; c < N_CALLS; c++)
      CHECK(calls_x[c].name, bad, x,
            cx_call(CX_BIND(traced_bad, .call = c, .handle = at), a));
  }
  end(*state, other);
}

/* Compiled, each call is an error where it is one otherwise, else has the same
 * bits, on both devices. */
static void every_call_compiled(void **state) {
  CX_SCOPE;
  handles h;
  cx_ctx *other = start(*state, &h);
  for (int at = 0; at < h.n; at++) {
    const cx x = h.d[at].x;
    if (is_poison(x) || cx_is_none(x) || !strcmp(h.d[at].name, "spec"))
      continue;
    for (int c = 0; c < N_CALLS; c++) {
      CX_SCOPE;
      const char *name = calls_x[c].name, *bad = h.d[at].name;
      const cx_fn f = CX_BIND(traced, .call = c);
      const cx plain = cx_call(f, x);
      const cx_code code = cx_error(NULL);
      const cx compiled = cx_call(cx_jit(f), x);
      const cx reference = cx_call(cx_jit(f, .device = "reference"), x);
      if (cx_error(NULL) != code || is_poison(compiled) != is_poison(plain) ||
          is_poison(reference) != is_poison(plain))
        wrong(name, bad, "an error here, none there");
      else if (!is_poison(plain) &&
               (!same_bits(plain, compiled) || !same_bits(plain, reference)))
        wrong(name, bad, "other bits when compiled");
      check_usable(name, bad);
    }
  }
  end(*state, other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_handle),
    cmocka_unit_test(no_context),
    cmocka_unit_test(every_handle_while_tracing),
    cmocka_unit_test(every_call_compiled),
  };
  return cmocka_run_group_tests(tests, setup_small, teardown);
}
