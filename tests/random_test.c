/* random_test.c - threefry2x32 and the primitives drawn from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/programs.h"

/* Runs a program on inputs given as words of their elements' bytes. */
static arrays run(const char *text, const void *const *inputs) {
  const cxi_program *p = program_parse(text);
  arrays in = arrays_new(p->n_in);
  for (uint32_t i = 0; i < p->n_in; i++) {
    const cx_aval *type = cxi_type_aval(p->values[i].type);
    in.at[i] = array_zeros(type);
    memcpy(in.at[i].data, inputs[i], (size_t)cxi_aval_bytes(type));
  }
  arrays out = program_run(p, &in);
  arrays_free(&in);
  cxi_program_release(p);
  return out;
}

static void check_words(const arrays *out, uint32_t i, uint32_t n,
                        const uint32_t *want) {
  assert_memory_equal(out->at[i].data, want, n * sizeof *want);
}

/* The vectors published with the generator (Random123, kat_vectors). */
static void test_known_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t key[2], counter[2], want[2];
  } cases[] = {
    { { 0, 0 }, { 0, 0 }, { 0x6b200159, 0x99ba4efe } },
    { { UINT32_MAX, UINT32_MAX },
      { UINT32_MAX, UINT32_MAX },
      { 0x1cb996fc, 0xbb002be7 } },
    { { 0x13198a2e, 0x03707344 },
      { 0x243f6a88, 0x85a308d3 },
      { 0xc4923a9c, 0x483df7a0 } },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    arrays out =
        run("program @f(%0: u32[], %1: u32[], %2: u32[], %3: u32[]) { "
            "%4: u32[], %5: u32[] = threefry2x32 %0, %1, %2, %3 "
            "return %4, %5 }",
            (const void *[]){ &cases[i].key[0], &cases[i].key[1],
                              &cases[i].counter[0], &cases[i].counter[1] });
    check_words(&out, 0, 1, &cases[i].want[0]);
    check_words(&out, 1, 1, &cases[i].want[1]);
    arrays_free(&out);
  }
}

static void check_seed(const char *type, const void *seed, uint32_t high,
                       uint32_t low) {
  char text[128];
  snprintf(text, sizeof text,
           "program @f(%%0: %s[]) { %%1: key[] = random_seed %%0 return %%1 }",
           type);
  arrays out = run(text, (const void *[]){ seed });
  check_words(&out, 0, 2, (uint32_t[]){ high, low });
  arrays_free(&out);
}

static void test_seeds(void **state) {
  (void)state;
  check_seed("i32", &(int32_t){ 42 }, 0, 42);
  check_seed("i32", &(int32_t){ -1 }, 0, UINT32_MAX);
  check_seed("i8", &(int8_t){ -1 }, 0, UINT32_MAX);
  check_seed("u32", &(uint32_t){ 0xfffffff0 }, 0, 0xfffffff0);
  check_seed("i64", &(int64_t){ -1 }, UINT32_MAX, UINT32_MAX);
  check_seed("u64", &(uint64_t){ 0x0123456789abcdef }, 0x01234567, 0x89abcdef);
}

/* jax.random.split(jax.random.key(0)); a new key is the old one folded with
 * its index. */
static void test_split(void **state) {
  (void)state;
  static const uint32_t zero[2] = { 0, 0 }, fold[2] = { 0, 1 };
  arrays keys = run("program @f(%0: key[]) { "
                    "%1: key[2] = random_split[shape=(2)] %0 return %1 }",
                    (const void *[]){ zero });
  check_words(&keys, 0, 4,
              (uint32_t[]){ 1797259609, 2579123966, 928981903, 3453687069 });
  arrays folded = run("program @f(%0: key[], %1: u32[2]) { "
                      "%2: key[2] = random_fold_in %0, %1 return %2 }",
                      (const void *[]){ zero, fold });
  assert_true(arrays_same_bits(&keys, &folded));
  arrays_free(&keys);
  arrays_free(&folded);
}

/* Each width draws from the same hash of the index. */
static void test_widths(void **state) {
  (void)state;
  static const uint32_t key[2] = { 7, 9 };
  arrays out = run("program @f(%0: key[]) { "
                   "%1: u64[2,3] = random_bits[type=u64, shape=(2,3)] %0 "
                   "%2: u32[6] = random_bits[type=u32, shape=(6)] %0 "
                   "%3: u16[6] = random_bits[type=u16, shape=(6)] %0 "
                   "%4: u8[6] = random_bits[type=u8, shape=(6)] %0 "
                   "%5: key[6] = random_split[shape=(6)] %0 "
                   "%6: u32[6,2] = random_unwrap %5 "
                   "%7: key[6] = random_wrap %6 "
                   "return %1, %2, %3, %4, %5, %6, %7 }",
                   (const void *[]){ key });
  const uint64_t *whole = out.at[0].data;
  const uint32_t *words = out.at[1].data, *halves = out.at[5].data;
  for (int i = 0; i < 6; i++) {
    const uint32_t high = (uint32_t)(whole[i] >> 32), low = (uint32_t)whole[i];
    assert_int_equal(words[i], high ^ low);
    assert_int_equal(((const uint16_t *)out.at[2].data)[i], words[i] & 0xffff);
    assert_int_equal(((const uint8_t *)out.at[3].data)[i], words[i] & 0xff);
    assert_int_equal(halves[2 * i], high);
    assert_int_equal(halves[2 * i + 1], low);
  }
  assert_memory_equal(out.at[4].data, halves, 6 * 8);
  assert_memory_equal(out.at[6].data, halves, 6 * 8);
  arrays_free(&out);
}

/* The hash of the flat index, by the plain primitives. */
static void test_lowered(void **state) {
  (void)state;
  static const uint32_t key[2] = { 3, 5 };
  arrays out = run("program @f(%0: key[]) { "
                   "%1: u32[2,2] = random_bits[type=u32, shape=(2,2)] %0 "
                   "%2: u32[2,2], %3: u32[2,2] = iota_2x32[shape=(2,2)] "
                   "%4: u32[2,2], %5: u32[2,2] = "
                   "threefry2x32 3:u32, 5:u32, %2, %3 "
                   "%6: u32[2,2] = xor %4, %5 return %1, %6 }",
                   (const void *[]){ key });
  assert_memory_equal(out.at[0].data, out.at[1].data, 4 * sizeof(uint32_t));
  arrays_free(&out);
}

static void check_refused(const char *text, const char *reason) {
  cxi_error error = { CX_OK, "" };
  assert_null(cxi_program_parse(text, strlen(text), &error));
  if (!strstr(error.text, reason)) fail_msg("%s\n%s", text, error.text);
}

static void test_errors(void **state) {
  (void)state;
  check_refused("program @f(%0: u32[3]) { %1: key[] = random_wrap %0 "
                "return %1 }",
                "needs u32[...,2], got u32[3]");
  check_refused("program @f(%0: f32[]) { %1: key[] = random_seed %0 "
                "return %1 }",
                "needs an integer dtype, got f32[]");
  check_refused("program @f(%0: key[]) { "
                "%1: i32[2] = random_bits[type=i32, shape=(2)] %0 return %1 }",
                "draws u8, u16, u32 or u64, not i32");
  check_refused("program @f(%0: u32[]) { "
                "%1: key[2] = random_split[shape=(2)] %0 return %1 }",
                "needs random keys, got u32[]");
  check_refused("program @f(%0: key[], %1: i32[]) { "
                "%2: key[] = random_fold_in %0, %1 return %2 }",
                "folds in u32, got i32[]");
  check_refused("program @f(%0: key[2], %1: key[2]) { "
                "%2: key[2] = add %0, %1 return %2 }",
                "needs an integer or floating dtype, got key[2]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_known_answers), cmocka_unit_test(test_seeds),
    cmocka_unit_test(test_split),         cmocka_unit_test(test_widths),
    cmocka_unit_test(test_lowered),       cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
