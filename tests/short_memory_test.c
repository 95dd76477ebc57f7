/* short_memory_test.c - a training step with every allocation failing.
 *
 * After N more allocations all fail: nothing crashes, nothing leaks, the error
 * says so, and with memory back everything works. By default N grows faster
 * and faster; CX_ALL=1 tries each, CX_N=123 one. */
#include "support/calls.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calx/models/optimizer.h"
#include "trace/call.h"
#include "trace/context.h"
#include "transforms/transforms.h"

/* -- the step ------------------------------------------------------------- */

CX_STRUCT(weight, (cx, w));
CX_DEF_ENV(recur, weight, e, h, x) {
  cx next = cx_tanh(cx_add(cx_matmul(e->w, h), x));
  return cx_tuple(next, cx_sum(next));
}
CX_DEF(halve, x) {
  return cx_mul(x, 0.5);
}
CX_DEF(double_it, x) {
  return cx_mul(x, 2);
}
CX_DEF(square_fwd, x) {
  return cx_tuple(cx_square(x), x);
}
CX_DEF(square_bwd, x, ct) {
  return cx_tuple(cx_mul(ct, x, 2));
}
CX_DEF(my_square, x) {
  return cx_square(x);
}
CX_DEF(one_loss, params, x, key) {
  cx w = cx_get(params, "w");
  cx h = cx_scan(CX_BIND(recur, .w = w), cx_get(params, "h"), x);
  cx last = cx_nth(h, 0), sums = cx_nth(h, 1);
  last = cx_cond(cx_gt(cx_sum(last), 0), CX_FN(halve), CX_FN(double_it), last);
  last = cx_dropout(cx_softmax(last), 0.25, key);
  cx_fn own =
      cx_custom_vjp(CX_FN(my_square), CX_FN(square_fwd), CX_FN(square_bwd));
  return cx_add(cx_sum(cx_call(own, last)), cx_mean(sums));
}
CX_DEF(loss, params, xs, key) {
  cx_fn one = cx_checkpoint(CX_FN(one_loss));
  return cx_mean(cx_call(cx_vmap(one, .in = { CX_NONE, 0, 0 }), params, xs,
                         cx_split_n(key, 2)));
}
CX_DEF(train, state, xs, key) {
  cx value, grads, params, adam;
  cx_unpack(state, &params, &adam);
  cx_unpack(cx_call(cx_value_and_grad(CX_FN(loss)), params, xs, key), &value,
            &grads);
  adam_update(params, grads, adam, cx_scalar(0.1, CX_F32), (adam_options){ 0 },
              &params, &adam);
  return cx_tuple(cx_tuple(params, adam), value);
}

static cx run_step(void) {
  cx params =
      cx_dict("w", cx_eye(CX_F32, 3), "h", cx_array(float, 0.1f, 0.2f, 0.3f));
  cx xs = cx_reshape(cx_linspace(-1, 1, 24, CX_F32), 2, 4, 3);
  cx state = cx_tuple(params, adam_init(params));
  return cx_call(cx_jit(CX_FN(train)), state, xs, cx_key(1));
}

/* What else there is: texts, plans, forward mode, single operations. */
static cx run_others(void) {
  cx x = cx_linspace(-1, 1, 3, CX_F32);
  cx_program *p = cx_trace(cx_jvp(CX_FN(my_square)), cx_tuple(x), cx_tuple(x));
  cx_fn again = p ? cx_parse(cx_program_text(p)) : NULL;
  cx y = again ? cx_call(again, x, x) : x;
  const char *plan = cx_plan(cx_jit(cx_hessian(CX_FN(my_square))), x);
  cx_program_free(p);
  cx_exe *exe = cx_compile(CX_FN(halve), cx_spec(CX_F32, 3));
  cx_exe_free(exe);
  cx z = cx_put(cx_dict("a", y), cx_get(cx_dict("b", x), "b"), "c.d.e");
  cx updated = cx_at_add(x, (cx_array(int32_t, 0, 2)), 1);
  return cx_tuple(z, cx_tree_map(CX_FN(halve), z), cx_concat(0, x, updated),
                  (int)(strlen(plan) > 0));
}

/* -- sweeps --------------------------------------------------------------- */

static void forget(void) {
  cxi_resolves_clear();
  cxi_memos_clear();
}

/* False if an allocation failed. */
static bool attempt(cx (*run)(void), uint64_t successes) {
  CX_SCOPE;
  cxi_alloc_fail_after(successes);
  cx r = run();
  cxi_alloc_fail_after(UINT64_MAX);
  const char *message;
  const cx_code code = cx_error(&message);
  if (code == CX_OK) {
    /* NULL from a function without an error would be a lie. */
    assert_true(cx_leaf_count(r) > 0);
    return true;
  }
  if (code != CX_EMEMORY || !strstr(message, "memory"))
    fail_msg("CX_N=%llu: %s: %s", (unsigned long long)successes,
             cx_code_name(code), message);
  return false;
}

static void assert_works(cx (*run)(void), cx want, uint64_t n) {
  CX_SCOPE;
  cx r = run();
  const char *message;
  if (cx_error(&message) != CX_OK)
    fail_msg("CX_N=%llu, afterwards: %s", (unsigned long long)n, message);
  assert_same_bits(r, want);
}

/* Tables empty, or as they are after the first runs. */
static void sweep(cx (*run)(void), bool cold) {
  CX_SCOPE;
  const cx want = run();
  assert_good();
  const char *one = getenv("CX_N");
  uint64_t n = one ? strtoull(one, NULL, 10) : 0, tried = 0;
  size_t live = 0;
  for (bool done = false; !done; tried++) {
    if (cold) forget();
    done = attempt(run, n);
    assert_works(run, want, n);
    if (cold) forget();
    /* The kept tables of names and types may grow for some time, not on. */
    if (tried == 40) live = cxi_alloc_now().live_bytes;
    if (one) break;
    n += getenv("CX_ALL") ? 1 : 1 + n / 40;
  }
  const size_t now = cxi_alloc_now().live_bytes;
  if (live && now > live + (1 << 20))
    fail_msg("%zu bytes alive at first, %zu in the end", live, now);
  print_message("%llu of %llu allocations tried\n", (unsigned long long)tried,
                (unsigned long long)n);
}

static void a_step_from_nothing(void **state) {
  (void)state;
  sweep(run_step, true);
}
static void a_step_again(void **state) {
  (void)state;
  sweep(run_step, false);
}
static void the_rest_from_nothing(void **state) {
  (void)state;
  sweep(run_others, true);
}

/* A cap on live bytes is met somewhere in the middle instead. */
static void a_cap(void **state) {
  (void)state;
  CX_SCOPE;
  const cx want = run_step();
  assert_good();
  forget();
  for (size_t room = 0;; room += 1 + room / 4) {
    bool good;
    {
      CX_SCOPE;
      cxi_alloc_cap(cxi_alloc_now().live_bytes + room);
      cx r = run_step();
      cxi_alloc_cap(SIZE_MAX);
      good = cx_leaf_count(r) > 0;
      const cx_code code = cx_error(NULL);
      assert_int_equal(code, good ? CX_OK : CX_EMEMORY);
    }
    assert_works(run_step, want, room);
    forget();
    if (good) break;
  }
}

/* A context itself. */
static void opening(void **state) {
  cx_ctx *mine = *state;
  for (uint64_t n = 0;; n++) {
    cxi_alloc_fail_after(n);
    cx_ctx *ctx = cx_open("cpu", .threads = 2);
    cxi_alloc_fail_after(UINT64_MAX);
    if (ctx) {
      assert_true(cx_item(cx_add(1.0, 2.0)) == 3);
      cx_close(ctx);
      cx_use(mine);
      break;
    }
    cx_use(mine);
    assert_error(CX_EMEMORY, "memory");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_step_from_nothing),
    cmocka_unit_test(a_step_again),
    cmocka_unit_test(the_rest_from_nothing),
    cmocka_unit_test(a_cap),
    cmocka_unit_test(opening),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
