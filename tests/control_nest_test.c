/* control_nest_test.c - loops, branches and calls inside one another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/programs.h"

typedef enum modes { FORWARD = 1, REVERSE, BOTH } modes;
typedef struct nest {
  const char *name;
  modes modes;
  const char *text;
} nest;

static const nest nests[] = {
  { "a loop in a branch in a loop, a constant used at every level", BOTH,
    "program @inner(%0: f64[2], %1: f64[2], %2: f64[]) {\n"
    "  %3: f64[2] = mul %0, %1\n"
    "  %4: f64[2] = sin %3\n"
    "  %5: f64[2] = mul %4, %2\n"
    "  return %5\n"
    "}\n"
    "program @loop(%0: f64[2], %1: f64[2], %2: f64[3]) {\n"
    "  %3: f64[2] = exp %0\n"
    "  %4: f64[2] = scan[body=@inner, length=3, reverse=false, unroll=1,"
    " n_consts=1, n_carry=1] %3, %1, %2\n"
    "  return %4\n"
    "}\n"
    "program @skip(%0: f64[2], %1: f64[2], %2: f64[3]) {\n"
    "  %3: f64[2] = mul %0, %0\n"
    "  return %3\n"
    "}\n"
    "program @step(%0: f64[2], %1: i32[], %2: f64[2], %3: f64[3]) {\n"
    "  %4: i32[] = rem %1, 2:i32\n"
    "  %5: f64[2] = cond[branches=(@loop,@skip)] %4, %0, %2, %3\n"
    "  %6: i32[] = add %1, 1:i32\n"
    "  %7: f64[2] = add %5, %2\n"
    "  return %6, %7, %5\n"
    "}\n"
    "program @main(%0: f64[2], %1: f64[2], %2: f64[4,3]) {\n"
    "  %3: i32[], %4: f64[2], %5: f64[4,2] = scan[body=@step, length=4,"
    " reverse=true, unroll=1, n_consts=1, n_carry=2] %0, 0:i32, %1, %2\n"
    "  return %4, %5\n"
    "}\n" },
  { "a while in a scan", FORWARD,
    "program @more(%0: i32[], %1: i32[], %2: f64[]) {\n"
    "  %3: bool[] = lt %1, %0\n"
    "  return %3\n"
    "}\n"
    "program @grow(%0: f64[], %1: i32[], %2: f64[]) {\n"
    "  %3: i32[] = add %1, 1:i32\n"
    "  %4: f64[] = mul %2, %0\n"
    "  %5: f64[] = cos %4\n"
    "  return %3, %5\n"
    "}\n"
    "program @step(%0: f64[], %1: i32[], %2: f64[]) {\n"
    "  %3: i32[], %4: f64[] = while[cond=@more, body=@grow,"
    " n_cond_consts=1, n_body_consts=1] %1, %2, 0:i32, %0\n"
    "  %5: i32[] = add %1, %3\n"
    "  return %4, %5, %4\n"
    "}\n"
    "program @main(%0: f64[], %1: f64[3]) {\n"
    "  %2: f64[], %3: i32[], %4: f64[3] = scan[body=@step, length=3,"
    " reverse=false, unroll=1, n_consts=0, n_carry=2] %0, 1:i32, %1\n"
    "  return %2, %4, %3\n"
    "}\n" },
  { "a scan in a while", FORWARD,
    "program @more(%0: i32[], %1: f64[]) {\n"
    "  %2: bool[] = lt %0, 3:i32\n"
    "  return %2\n"
    "}\n"
    "program @add(%0: f64[], %1: f64[]) {\n"
    "  %2: f64[] = mul %0, %1\n"
    "  %3: f64[] = sin %2\n"
    "  return %3\n"
    "}\n"
    "program @step(%0: f64[4], %1: i32[], %2: f64[]) {\n"
    "  %3: f64[] = scan[body=@add, length=4, reverse=false, unroll=1,"
    " n_consts=0, n_carry=1] %2, %0\n"
    "  %4: i32[] = add %1, 1:i32\n"
    "  return %4, %3\n"
    "}\n"
    "program @main(%0: f64[4], %1: f64[]) {\n"
    "  %2: i32[], %3: f64[] = while[cond=@more, body=@step,"
    " n_cond_consts=0, n_body_consts=1] %0, 0:i32, %1\n"
    "  return %3\n"
    "}\n" },
  { "a branch chosen by the carry itself, outputs that are operands", BOTH,
    "program @up(%0: f64[], %1: f64[2]) {\n"
    "  return %0, %1\n"
    "}\n"
    "program @down(%0: f64[], %1: f64[2]) {\n"
    "  %2: f64[2] = mul %1, %0\n"
    "  %3: f64[] = sin %0\n"
    "  return %3, %2\n"
    "}\n"
    "program @step(%0: f64[], %1: f64[2], %2: f64[]) {\n"
    "  %3: f64[] = add %0, %2\n"
    "  %4: bool[] = gt %3, 0.0:f64\n"
    "  %5: i32[] = convert[type=i32] %4\n"
    "  %6: f64[], %7: f64[2] = cond[branches=(@up,@down)] %5, %3, %1\n"
    "  return %6, %7\n"
    "}\n"
    "program @main(%0: f64[], %1: f64[2], %2: f64[5]) {\n"
    "  %3: f64[], %4: f64[2] = scan[body=@step, length=5, reverse=false,"
    " unroll=1, n_consts=0, n_carry=2] %0, %1, %2\n"
    "  return %3, %4\n"
    "}\n" },
  { "a branch in a branch", BOTH,
    "program @a(%0: f64[], %1: i32[]) {\n"
    "  %2: f64[] = exp %0\n"
    "  return %2\n"
    "}\n"
    "program @b(%0: f64[], %1: i32[]) {\n"
    "  return 1.0:f64\n"
    "}\n"
    "program @c(%0: f64[], %1: i32[]) {\n"
    "  %2: i32[] = sub 1:i32, %1\n"
    "  %3: f64[] = mul %0, %0\n"
    "  %4: f64[] = cond[branches=(@a,@b)] %2, %3, %1\n"
    "  return %4\n"
    "}\n"
    "program @main(%0: i32[], %1: i32[], %2: f64[]) {\n"
    "  %3: f64[] = cond[branches=(@b,@c,@a)] %0, %2, %1\n"
    "  return %3\n"
    "}\n" },
  { "an array written step by step and read again", BOTH,
    "program @step(%0: f64[5], %1: f64[5], %2: i32[], %3: f64[]) {\n"
    "  %4: f64[1] = dynamic_slice[sizes=(1)] %0, %2\n"
    "  %5: f64[1] = dynamic_slice[sizes=(1)] %1, 2:i32\n"
    "  %6: f64[1] = mul %4, %5\n"
    "  %7: f64[1] = mul %6, %3\n"
    "  %8: f64[5] = dynamic_update_slice %1, %7, %2\n"
    "  %9: i32[] = add %2, 1:i32\n"
    "  return %8, %9\n"
    "}\n"
    "program @main(%0: f64[5], %1: f64[5], %2: f64[4]) {\n"
    "  %3: f64[5], %4: i32[] = scan[body=@step, length=4, reverse=false,"
    " unroll=1, n_consts=1, n_carry=2] %0, %1, 1:i32, %2\n"
    "  return %3\n"
    "}\n" },
  { "a function called in a loop", BOTH,
    "program @f(%0: f64[2], %1: f64[2]) {\n"
    "  %2: f64[2] = sin %0\n"
    "  %3: f64[2] = mul %2, %1\n"
    "  return %3, %0\n"
    "}\n"
    "program @step(%0: f64[2], %1: f64[2], %2: f64[2]) {\n"
    "  %3: f64[2], %4: f64[2] = jit[body=@f] %1, %0\n"
    "  %5: f64[2], %6: f64[2] = jit[body=@f] %3, %2\n"
    "  return %5, %4\n"
    "}\n"
    "program @main(%0: f64[2], %1: f64[2], %2: f64[3,2]) {\n"
    "  %3: f64[2], %4: f64[3,2] = scan[body=@step, length=3, reverse=false,"
    " unroll=1, n_consts=1, n_carry=1] %0, %1, %2\n"
    "  return %3, %4\n"
    "}\n" },
  { "a body with a backward of its own", REVERSE,
    "program @f(%0: f64[2], %1: f64[2]) {\n"
    "  %2: f64[2] = mul %0, %1\n"
    "  %3: f64[2] = sin %2\n"
    "  return %3\n"
    "}\n"
    "program @fwd(%0: f64[2], %1: f64[2]) {\n"
    "  %2: f64[2] = mul %0, %1\n"
    "  %3: f64[2] = sin %2\n"
    "  %4: f64[2] = cos %2\n"
    "  return %3, %4, %0, %1\n"
    "}\n"
    "program @bwd(%0: f64[2], %1: f64[2], %2: f64[2], %3: f64[2]) {\n"
    "  %4: f64[2] = mul %3, %0\n"
    "  %5: f64[2] = mul %4, %2\n"
    "  %6: f64[2] = mul %4, %1\n"
    "  return %5, %6\n"
    "}\n"
    "program @step(%0: f64[2], %1: f64[2], %2: f64[2]) {\n"
    "  %3: f64[2] = custom_vjp[body=@f, fwd=@fwd, bwd=@bwd, name=\"f\"] %1, "
    "%0\n"
    "  %4: f64[2] = add %3, %2\n"
    "  return %4, %3\n"
    "}\n"
    "program @main(%0: f64[2], %1: f64[2], %2: f64[3,2]) {\n"
    "  %3: f64[2], %4: f64[3,2] = scan[body=@step, length=3, reverse=false,"
    " unroll=1, n_consts=1, n_carry=1] %0, %1, %2\n"
    "  return %3, %4\n"
    "}\n" },
  { "a body that is computed again", BOTH,
    "program @f(%0: f64[2], %1: f64[2], %2: f64[2]) {\n"
    "  %3: f64[2] = exp %0\n"
    "  %4: f64[2] = mul %1, %3\n"
    "  %5: f64[2] = sin %4\n"
    "  %6: f64[2] = mul %5, %2\n"
    "  %7: f64[2] = tanh %6\n"
    "  return %7\n"
    "}\n"
    "program @step(%0: f64[2], %1: f64[2], %2: f64[2]) {\n"
    "  %3: f64[2] = checkpoint[body=@f, policy=\"nothing\", names=(),"
    " differentiated=false] %0, %1, %2\n"
    "  return %3, %3\n"
    "}\n"
    "program @main(%0: f64[2], %1: f64[2], %2: f64[3,2]) {\n"
    "  %3: f64[2], %4: f64[3,2] = scan[body=@step, length=3, reverse=false,"
    " unroll=1, n_consts=1, n_carry=1] %0, %1, %2\n"
    "  return %3, %4\n"
    "}\n" },
  { "a loop that is computed again", BOTH,
    "program @step(%0: f64[2], %1: f64[2], %2: i32[], %3: f64[2]) {\n"
    "  %4: f64[2] = exp %0\n"
    "  %5: f64[2] = mul %1, %4\n"
    "  %6: f64[2] = sin %5\n"
    "  %7: f64[2] = mul %6, %3\n"
    "  %8: i32[] = add %2, 1:i32\n"
    "  return %7, %8, %5\n"
    "}\n"
    "program @loop(%0: f64[2], %1: f64[2], %2: f64[3,2]) {\n"
    "  %3: f64[2], %4: i32[], %5: f64[3,2] = scan[body=@step, length=3,"
    " reverse=false, unroll=1, n_consts=1, n_carry=2] %0, %1, 0:i32, %2\n"
    "  return %3, %5\n"
    "}\n"
    "program @main(%0: f64[2], %1: f64[2], %2: f64[3,2]) {\n"
    "  %3: f64[2], %4: f64[3,2] = checkpoint[body=@loop, policy=\"nothing\","
    " names=(), differentiated=false] %0, %1, %2\n"
    "  return %3, %4\n"
    "}\n" },
};
enum { N_NESTS = sizeof nests / sizeof *nests };

static void each(void (*f)(const nest *, const cxi_program *)) {
  for (int i = 0; i < N_NESTS; i++) {
    const cxi_program *p = program_parse(nests[i].text);
    f(&nests[i], p);
    cxi_program_release(p);
  }
}

static void check(const nest *n, const cxi_program *p, const arrays *in) {
  if (n->modes == REVERSE)
    check_reverse(p, in, 1e-6);
  else
    check_derivatives(p, in, n->modes == BOTH, 1e-6);
}

static void derivatives(const nest *n, const cxi_program *p) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    arrays in = arrays_random(p, seed, 3);
    check(n, p, &in);
    arrays_free(&in);
  }
}
static void test_derivatives(void **state) {
  (void)state;
  each(derivatives);
}

static void second_derivatives(const nest *n, const cxi_program *p) {
  if (n->modes != BOTH) return;
  const cxi_program *q = program_vjp(p);
  arrays in = arrays_random(q, 5, 3);
  check_derivatives(q, &in, true, 1e-5);
  arrays_free(&in);
  cxi_program_release(q);
}
static void test_second_derivatives(void **state) {
  (void)state;
  each(second_derivatives);
}

static void batches(const nest *n, const cxi_program *p) {
  check_batch(p, 11, 3, 16);
  const cxi_program *q = n->modes & REVERSE ? program_vjp(p) : program_jvp(p);
  check_batch(q, 13, 3, 8);
  cxi_program_release(q);
}
static void test_batches(void **state) {
  (void)state;
  each(batches);
}

static void derivatives_of_batches(const nest *n, const cxi_program *p) {
  cxi_error error = { 0 };
  bool all[16], batched_out[16];
  for (int i = 0; i < 16; i++) all[i] = true;
  const cxi_program *q = cxi_batch(p, all, 3, NULL, batched_out, &error);
  check_ok(q != NULL, &error, p);
  cxi_program_retain(q);
  arrays in = arrays_random(q, 17, 3);
  check(n, q, &in);
  arrays_free(&in);
  cxi_program_release(q);
}
static void test_derivatives_of_batches(void **state) {
  (void)state;
  each(derivatives_of_batches);
}

/* Dropping dead code of a derivative changes no bit. */
static void narrowed(const nest *n, const cxi_program *p) {
  cxi_error error = { 0 };
  const cxi_program *q = n->modes & REVERSE ? program_vjp(p) : program_jvp(p);
  const cxi_program *less = cxi_narrow(q, NULL, NULL, &error);
  check_ok(less != NULL, &error, q);
  cxi_program_retain(less);
  arrays in = arrays_random(q, 23, 3);
  arrays a = program_run(q, &in), b = program_run(less, &in);
  assert_true(arrays_same_bits(&a, &b));
  arrays_free(&in);
  arrays_free(&a);
  arrays_free(&b);
  cxi_program_release(q);
  cxi_program_release(less);
}
static void test_narrowed(void **state) {
  (void)state;
  each(narrowed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_derivatives),
    cmocka_unit_test(test_second_derivatives),
    cmocka_unit_test(test_batches),
    cmocka_unit_test(test_derivatives_of_batches),
    cmocka_unit_test(test_narrowed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
