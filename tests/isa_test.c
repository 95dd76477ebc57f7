/* isa_test.c - the functions give the same bits on every instruction set, in
 * vector code and alone. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/half.h"
#include "base/isa.h"
#include "isa/loops.h"

enum { BLOCK = 4096, STRIDE = 16411, ROUNDS_F64 = 100 };

static float x[BLOCK], y[BLOCK], want[BLOCK], got[BLOCK];

/* All bit patterns at a stride for x; for y others, often near x, often whole
 * numbers. */
static void fill(uint32_t first) {
  for (uint32_t i = 0; i < BLOCK; i++) {
    const uint32_t bits = first + i * STRIDE, mixed = bits * 2654435761u;
    x[i] = cxi_f32_of_bits(bits);
    y[i] = cxi_f32_of_bits(i % 4 == 0 ? mixed : bits ^ (mixed >> 12));
    if (i % 4 == 1) y[i] = (float)(int8_t)mixed;
    if (i % 4 == 2) y[i] = (float)(int32_t)mixed * 0x1p-26f;
  }
}

static void assert_same(const char *name) {
  for (int i = 0; i < BLOCK; i++) {
    if (isnan(want[i]) && isnan(got[i])) continue;
    if (cxi_bits_f32(want[i]) != cxi_bits_f32(got[i]))
      fail_msg("%s(%a, %a): %a, alone %a", name, x[i], y[i], got[i], want[i]);
  }
}

static void compare(const loop *loops, const loop *base) {
  for (uint64_t first = 0; first < UINT64_C(1) << 32;
       first += (uint64_t)BLOCK * STRIDE) {
    fill((uint32_t)first);
    for (int k = 0; base[k].name; k++) {
      /* One element at a time stays scalar code. */
      for (int i = 0; i < BLOCK; i++) base[k].run(x + i, y + i, want + i, 1);
      loops[k].run(x, y, got, BLOCK);
      assert_same(base[k].name);
    }
  }
}

/* Numbers of every size, and of those below 2^10 more. */
static void compare_f64(const loop_f64 *loops, const loop_f64 *base) {
  static double operands[BLOCK], alone[BLOCK], together[BLOCK];
  uint64_t bits = 1;
  for (int round = 0; round < ROUNDS_F64; round++) {
    for (int i = 0; i < BLOCK; i++) {
      bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407u;
      const double scale = cxi_f64_of_bits((1023 - (bits >> 32) % 80) << 52);
      operands[i] = round % 2 ? cxi_f64_of_bits(bits)
                              : (double)(int64_t)bits * 0x1p-53 * scale;
    }
    for (int k = 0; base[k].name; k++) {
      for (int i = 0; i < BLOCK; i++) base[k].run(operands + i, alone + i, 1);
      loops[k].run(operands, together, BLOCK);
      for (int i = 0; i < BLOCK; i++)
        if (cxi_bits_f64(alone[i]) != cxi_bits_f64(together[i]) &&
            !(isnan(alone[i]) && isnan(together[i])))
          fail_msg("%s(%a): %a, alone %a", base[k].name, operands[i],
                   together[i], alone[i]);
    }
  }
}

static void test_base(void **state) {
  (void)state;
  compare(loops_base, loops_base);
  compare_f64(loops_f64_base, loops_f64_base);
}

#ifdef __x86_64__
static void test_avx2(void **state) {
  (void)state;
  if (cxi_isa_now() < CXI_ISA_AVX2) {
    print_message("  skipped: this machine has no AVX2\n");
    skip();
  }
  compare(loops_avx2, loops_base);
  compare_f64(loops_f64_avx2, loops_f64_base);
}

static void test_avx512(void **state) {
  (void)state;
  if (cxi_isa_now() < CXI_ISA_AVX512) {
    print_message("  skipped: this machine has no AVX-512\n");
    skip();
  }
  compare(loops_avx512, loops_base);
  compare_f64(loops_f64_avx512, loops_f64_base);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_base),
#ifdef __x86_64__
    cmocka_unit_test(test_avx2),
    cmocka_unit_test(test_avx512),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
