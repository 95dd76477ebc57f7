/* same_bits_test.c - the gradient of a small network: the same bits in a
 * hundred runs with 1, 2, 4 and 64 threads, at once and compiled, whole and
 * checkpointed; and in a thread whose floating-point mode is another, as that
 * of a program built with -ffast-math. */
#include "support/calls.h"

#if defined __x86_64__
#include <immintrin.h>
#endif

enum { ROWS = 48, WIDTH = 160, RUNS = 100 };

CX_DEF(hidden, w, x) {
  const cx h = cx_tanh(cx_matmul(x, w));
  return cx_mul(h, cx_softmax(cx_add(h, x)));
}

CX_DEF(loss, w, x) {
  const cx layer = cx_call(CX_FN(hidden), w, x);
  return cx_sum(cx_exp(cx_call(CX_FN(hidden), w, layer)));
}

CX_DEF(checkpointed, w, x) {
  const cx_fn f = cx_checkpoint(CX_FN(hidden));
  return cx_sum(cx_exp(cx_call(f, w, cx_call(f, w, x))));
}

typedef struct result {
  float value, gradient[WIDTH * WIDTH];
} result;

static void run_once(cx_fn f, result *out) {
  CX_SCOPE;
  const cx key = cx_key(5);
  const cx w = cx_mul(cx_normal(cx_fold(key, 1), CX_F32, WIDTH, WIDTH), 0.1);
  const cx x = cx_normal(cx_fold(key, 2), CX_F32, ROWS, WIDTH);
  const cx r = cx_call(f, w, x);
  cx_read(cx_leaf(r, 0), &out->value, 1);
  cx_read(cx_leaf(r, 1), out->gradient, WIDTH * WIDTH);
  assert_good();
}

static void in_every_run(void **state) {
  (void)state;
  static const int threads[] = { 1, 2, 4, 64 };
  static result first, now;
  bool have_first = false;
  for (int t = 0; t < 4; t++) {
    cx_ctx *ctx = cx_open("cpu", .threads = threads[t]);
    assert_non_null(ctx);
    for (int way = 0; way < 4; way++) {
      CX_SCOPE;
      const cx_fn plain =
          cx_value_and_grad(way & 1 ? CX_FN(checkpointed) : CX_FN(loss));
      const cx_fn f = way & 2 ? cx_jit(plain) : plain;
      for (int i = 0; i < RUNS / 4; i++) {
        run_once(f, have_first ? &now : &first);
        if (have_first && memcmp(&now, &first, sizeof now) != 0)
          fail_msg("%d threads, %s%s, run %d: other bits", threads[t],
                   way & 2 ? "jit" : "eager", way & 1 ? ", checkpoint" : "", i);
        have_first = true;
      }
    }
    cx_close(ctx);
  }
}

/* -- another floating-point mode ------------------------------------------- */

#if defined __x86_64__
enum { FLUSH = 0x8040 }; /* subnormal results and operands to zero */

/* Subnormal operands, results, sums and literals of three dtypes. */
CX_DEF(subnormal, x) {
  const cx a = cx_add(cx_mul(x, 0.25), 1e-40);
  const cx d = cx_mul(cx_add(cx_cast(x, CX_F64), 4.9e-324), 0x1p-940);
  const cx h = cx_mul(cx_cast(cx_mul(x, 0x1p108), CX_F16), 0.5);
  return cx_tuple(a, d, h, cx_sum(a), cx_exp(cx_mul(cx_ones(CX_F32, 40), -95)),
                  cx_matmul(cx_reshape(a, 4, 10), cx_ones(CX_F32, 10, 2)));
}

static cx subnormal_results(bool compiled) {
  const cx x = cx_mul(cx_arange(0, 40, 1, CX_F32), 0x1p-130);
  return compiled ? cx_call(cx_jit(CX_FN(subnormal)), x) : subnormal(x);
}

static void in_another_mode(void **state) {
  (void)state;
  cx_ctx *ctx = cx_open("cpu", .threads = 2);
  const unsigned before = _mm_getcsr();
  for (int compiled = 0; compiled < 2; compiled++) {
    CX_SCOPE;
    _mm_setcsr(before | FLUSH);
    const cx flushed = subnormal_results(compiled);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    assert_good();
    assert_int_equal(after & FLUSH, FLUSH);
    assert_same_bits(flushed, subnormal_results(!compiled));
    float sum;
    cx_read(cx_leaf(flushed, 3), &sum, 1);
    assert_true(sum > 0);
  }
  cx_close(ctx);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(in_every_run),
#if defined __x86_64__
    cmocka_unit_test(in_another_mode),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
