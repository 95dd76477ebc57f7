/* eager_test.c - plain operations on arrays so large that the device runs them
 * as programs: values, errors, a memory limit, what they leave. */

#include "base/dtype.h"
#include "runtime/executables.h"
#include "support/calls.h"
#include "support/stacks.h"

enum { ROWS = 70, COLUMNS = 90 };

static cx floats(cx_dtype t) {
  return cx_normal(cx_key(3), t, ROWS, COLUMNS);
}
static cx places(void) {
  return cx_randint(cx_key(4), 0, ROWS, 50);
}
/* Some of each form of equation, and of each kind of dtype. */
static cx everything(cx_dtype t) {
  const cx x = floats(t), i = places(), rows = cx_take(x, i, 0);
  const cx moved =
      cx_tuple(cx_transpose(x, 1, 0), cx_reshape(x, ROWS * COLUMNS),
               cx_concat(0, x, x), cx_flip(x, 1), rows);
  const cx sums = cx_tuple(cx_sum(x), cx_sum(x, 0), cx_max(x, 1), cx_mean(x, 1),
                           cx_cumsum(x, 0), cx_argmax(x, 1));
  const cx sorted = cx_tuple(cx_sort(x, 1), cx_argsort(x, 0));
  const cx product = cx_matmul(x, cx_transpose(x, 1, 0));
  const cx scattered = cx_at_add(cx_zeros(t, ROWS, COLUMNS), (i), rows);
  const cx special = cx_tuple(cx_lgamma(x), cx_erf_inv(cx_tanh(x)));
  return cx_tuple(x, moved, sums, sorted, product, scattered, special,
                  cx_uniform(cx_key(5), t, ROWS, COLUMNS),
                  cx_iota(t, 1, ROWS, COLUMNS), cx_gt(x, cx_flip(x, 0)));
}

static cx_ctx *contexts[3];
static int open_all(void **state) {
  (void)state;
  contexts[0] = cx_open("reference");
  contexts[1] = cx_open("cpu", .threads = 1);
  contexts[2] = cx_open("cpu", .threads = 2);
  return !contexts[0] || !contexts[1] || !contexts[2];
}
static int close_all(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) cx_close(contexts[i]);
  return 0;
}

static snapshot in_context(int k, cx_dtype t) {
  cx_use(contexts[k]);
  CX_SCOPE;
  const snapshot s = snapshot_of(everything(t));
  assert_good();
  return s;
}

/* Each dtype, bit for bit as equation after equation by the reference. */
static void test_values(void **state) {
  (void)state;
  const cx_dtype types[] = { CX_F32, CX_F64, CX_BF16, CX_F16 };
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    snapshot want = in_context(0, types[t]);
    for (int k = 1; k < 3; k++) {
      snapshot got = in_context(k, types[t]);
      const char *difference = snapshot_compare(&want, &got, 0);
      if (difference) fail_msg("%s: %s", cxi_dtype_name(types[t]), difference);
      snapshot_free(&got);
    }
    snapshot_free(&want);
  }
}

/* The operation has been done by now. */
static void run(cx y) {
  (void)y;
}

/* Compiled once for a shape; what has a kernel of its own, or is small, is
 * not compiled. */
static void test_programs_are_kept(void **state) {
  (void)state;
  cx_use(contexts[1]);
  CX_SCOPE;
  const cx x = cx_ones(CX_F32, 123, 45), small = cx_ones(CX_F32, 5);
  const cxi_executables_stats before = cxi_executables_kept();
  for (int i = 0; i < 3; i++) run(cx_sum(x, 0));
  const cxi_executables_stats after = cxi_executables_kept();
  assert_int_equal(after.misses - before.misses, 1);
  assert_int_equal(after.hits - before.hits, 2);
  run(cx_exp(cx_add(x, x)));
  run(cx_sum(cx_iota(CX_I32, 0, 5)));
  run(cx_sum(small));
  const cxi_executables_stats last = cxi_executables_kept();
  assert_int_equal(last.misses + last.hits, after.misses + after.hits);
}

static void test_errors(void **state) {
  (void)state;
  cx_use(contexts[1]);
  CX_SCOPE;
  const cx x = cx_ones(CX_F32, 123, 45);
  run(cx_matmul(x, x));
  assert_error(CX_ESHAPE, "[123,45]");
  run(cx_concat(0, x, cx_ones(CX_F32, 123, 46)));
  assert_error(CX_ESHAPE, "concat");
  assert_true(cx_item(cx_sum(x)) == 123 * 45);
}

/* Over the limit: an error that says so; then the context works as before. */
static void test_limit(void **state) {
  (void)state;
  cx_ctx *ctx = cx_open("cpu", .memory_limit = 1 << 20, .threads = 2);
  {
    CX_SCOPE;
    const cx x = cx_ones(CX_F32, 400, 400);
    assert_good();
    run(cx_concat(0, x, x));
    assert_error(CX_EMEMORY, "1048576 bytes");
    assert_true(cx_item(cx_sum(x)) == 160000);
    assert_good();
  }
  assert_true(ctx->account->live == 0);
  cx_close(ctx);
}

/* Elements that are given away a hundred times stay where they are, in as much
 * memory, whichever of the two arrays goes first. */
static void test_donated(void **state) {
  (void)state;
  cx_ctx *ctx = cx_open("cpu", .threads = 1);
  {
    CX_SCOPE;
    cx_fn f = cx_jit(CX_OP(neg), .donate = CX_ARGS(0));
    for (int n = 3; n < 1000; n *= 10) {
      cx x = cx_keep(cx_add(cx_zeros(CX_F32, n), cx_ones(CX_F32, n)));
      cx late[100];
      int n_late = 0;
      size_t once = 0;
      for (int i = 0; i < 100; i++) {
        CX_SCOPE;
        const cx y = cx_keep(cx_call(f, x));
        if (i % 3)
          cx_drop(x);
        else
          late[n_late++] = x;
        x = y;
        if (i == 1) once = ctx->account->live;
        if (i > 1) assert_true(ctx->account->live == once);
        if (i % 2) assert_true(cx_item(cx_index(y, n - 1)) == 1);
      }
      assert_good();
      cx_drop(x);
      while (n_late > 0) cx_drop(late[--n_late]);
    }
  }
  assert_true(ctx->account->live == 0);
  cx_close(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_values),  cmocka_unit_test(test_programs_are_kept),
    cmocka_unit_test(test_errors),  cmocka_unit_test(test_limit),
    cmocka_unit_test(test_donated),
  };
  return cmocka_run_group_tests(tests, open_all, close_all);
}
