/* control_test.c - scan, while and cond under every transform. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ops/lax.h"
#include "support/programs.h"

static const struct {
  const cxi_row *row;
  bool reverse;
} rows[] = { { &cxi_row_scan, true },
             { &cxi_row_cond, true },
             { &cxi_row_while, false } };
enum { N_ROWS = sizeof rows / sizeof *rows };

/* Calls f for each example whose floats are f64 or not, as asked. */
static void each_example(bool only_f64,
                         void (*f)(const cxi_program *, bool reverse)) {
  for (int r = 0; r < N_ROWS; r++)
    for (const char *const *e = rows[r].row->examples; *e; e++) {
      if (only_f64 && !strstr(*e, "f64")) continue;
      const cxi_program *p = program_parse(*e);
      f(p, rows[r].reverse);
      cxi_program_release(p);
    }
}

/* -- examples of the rows ------------------------------------------------- */

static void derivatives(const cxi_program *p, bool reverse) {
  for (int64_t seed = 1; seed <= 3; seed++) { /* other branches each time */
    arrays in = arrays_random(p, (uint64_t)seed, 3);
    check_derivatives(p, &in, reverse, 1e-6);
    arrays_free(&in);
  }
}
static void test_derivatives(void **state) {
  (void)state;
  each_example(true, derivatives);
}

static void second_derivatives(const cxi_program *p, bool reverse) {
  const cxi_program *q = reverse ? program_vjp(p) : program_jvp(p);
  arrays in = arrays_random(q, 5, 3);
  check_derivatives(q, &in, reverse, 1e-5);
  arrays_free(&in);
  cxi_program_release(q);
}
static void test_second_derivatives(void **state) {
  (void)state;
  each_example(true, second_derivatives);
}

static void batches(const cxi_program *p, bool reverse) {
  (void)reverse;
  check_batch(p, 11, 3, 32);
}
static void test_batches(void **state) {
  (void)state;
  each_example(false, batches);
}

static void batches_of_derivatives(const cxi_program *p, bool reverse) {
  const cxi_program *q = reverse ? program_vjp(p) : program_jvp(p);
  check_batch(q, 13, 3, 8);
  cxi_program_release(q);
}
static void test_batches_of_derivatives(void **state) {
  (void)state;
  each_example(false, batches_of_derivatives);
}

/* The derivative of a batch. */
static void derivatives_of_batches(const cxi_program *p, bool reverse) {
  cxi_error error = { 0 };
  bool batched[16], batched_out[16];
  for (int i = 0; i < 16; i++) batched[i] = true;
  const cxi_program *q = cxi_batch(p, batched, 3, NULL, batched_out, &error);
  check_ok(q != NULL, &error, p);
  cxi_program_retain(q);
  arrays in = arrays_random(q, 17, 3);
  check_derivatives(q, &in, reverse, 1e-6);
  arrays_free(&in);
  cxi_program_release(q);
}
static void test_derivatives_of_batches(void **state) {
  (void)state;
  each_example(true, derivatives_of_batches);
}

/* -- scan against its steps written one after the other ------------------- */

/* A scan that is p's only equation and takes p's inputs in order. */
static const cxi_program *unrolled(const cxi_program *p) {
  const cxi_scan_params *s = p->equations[0].params;
  const uint32_t consts = (uint32_t)s->n_consts, carry = (uint32_t)s->n_carry;
  const uint32_t n = s->body->n_in, m = s->body->n_out;
  cx in[8], arg[8], res[8], ys[8][8], out[8];
  cxi_builder b;
  cxi_error error = { 0 };
  assert_true(n <= 8 && m <= 8 && s->length <= 8);
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n; i++)
    in[i] = arg[i] = cxi_builder_input(&b, p->values[i].type);
  for (int64_t k = 0; k < s->length; k++) {
    const int64_t step = s->reverse ? s->length - 1 - k : k;
    for (uint32_t i = consts + carry; i < n; i++)
      arg[i] = cxi_squeeze(cxi_slice_axis(in[i], 0, step, step + 1),
                           (cx_dims){ .n = 1 });
    cxi_replay(s->body, arg, res);
    memcpy(arg + consts, res, carry * sizeof *arg);
    for (uint32_t j = carry; j < m; j++) ys[j][step] = res[j];
  }
  for (uint32_t j = 0; j < m; j++)
    out[j] =
        j < carry ? arg[consts + j] : cxi_stack(0, (uint32_t)s->length, ys[j]);
  const cxi_program *q = cxi_builder_finish(&b, 0, n, in, m, out, &error);
  check_ok(q != NULL, &error, p);
  return q;
}

static void check_unrolled(const char *reverse) {
  char text[1200];
  snprintf(text, sizeof text,
           "program @step(%%0: f32[3], %%1: f32[3], %%2: i32[], %%3: f32[3],"
           " %%4: i32[]) {\n"
           "  %%5: f32[3] = mul %%1, %%0\n"
           "  %%6: f32[3] = sin %%3\n"
           "  %%7: f32[3] = add %%5, %%6\n"
           "  %%8: i32[] = add %%2, %%4\n"
           "  %%9: f32[3] = mul %%7, %%7\n"
           "  return %%7, %%8, %%9, %%2\n"
           "}\n"
           "program @main(%%0: f32[3], %%1: f32[3], %%2: i32[], %%3: f32[5,3],"
           " %%4: i32[5]) {\n"
           "  %%5: f32[3], %%6: i32[], %%7: f32[5,3], %%8: i32[5] ="
           " scan[body=@step, length=5, reverse=%s, unroll=1, n_consts=1,"
           " n_carry=2] %%0, %%1, %%2, %%3, %%4\n"
           "  return %%5, %%6, %%7, %%8\n"
           "}\n",
           reverse);
  const cxi_program *p = program_parse(text), *q = unrolled(p);
  const cxi_program *dp = program_jvp(p), *dq = program_jvp(q);
  arrays in = arrays_random(dp, 31, 9), args = arrays_new(p->n_in);
  memcpy(args.at, in.at, p->n_in * sizeof *args.at);
  arrays a = program_run(p, &args), b = program_run(q, &args);
  assert_true(arrays_same_bits(&a, &b));
  arrays da = program_run(dp, &in), db = program_run(dq, &in);
  assert_true(arrays_same_bits(&da, &db));
  arrays_free(&in);
  arrays_free(&a);
  arrays_free(&b);
  arrays_free(&da);
  arrays_free(&db);
  free(args.at);
  cxi_program_release(p);
  cxi_program_release(q);
  cxi_program_release(dp);
  cxi_program_release(dq);
}
static void test_unrolled(void **state) {
  (void)state;
  check_unrolled("false");
  check_unrolled("true");
}

/* -- loops made of others ------------------------------------------------- */

/* x, n -> x after the loop, the steps: x = sin(x) * w while n > i. */
static const cxi_program *loop_program(int64_t max_steps) {
  const cxi_program *p = program_parse(
      "program @more(%0: i32[], %1: i32[], %2: f64[2]) {\n"
      "  %3: bool[] = lt %1, %0\n"
      "  return %3\n"
      "}\n"
      "program @step(%0: f64[2], %1: i32[], %2: f64[2]) {\n"
      "  %3: f64[2] = sin %2\n"
      "  %4: f64[2] = mul %3, %0\n"
      "  %5: i32[] = add %1, 1:i32\n"
      "  return %5, %4\n"
      "}\n"
      "program @main(%0: i32[], %1: f64[2], %2: i32[], %3: f64[2]) {\n"
      "  %4: i32[], %5: f64[2] = while[cond=@more, body=@step,"
      " n_cond_consts=1, n_body_consts=1] %0, %1, %2, %3\n"
      "  return %4, %5\n"
      "}\n");
  if (max_steps < 0) return p;
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[4], out[2];
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < 4; i++)
    in[i] = cxi_builder_input(&b, p->values[i].type);
  cxi_bounded_while(p->equations[0].params, max_steps, in, out);
  const cxi_program *q = cxi_builder_finish(&b, 0, 4, in, 2, out, &error);
  check_ok(q != NULL, &error, p);
  cxi_program_release(p);
  return q;
}

static void test_bounded_while(void **state) {
  (void)state;
  const cxi_program *free_loop = loop_program(-1), *bounded = loop_program(6);
  for (int32_t steps = 0; steps <= 6; steps += 3) {
    arrays in = arrays_random(bounded, 41, 1);
    *(int32_t *)in.at[0].data = steps;
    arrays a = program_run(free_loop, &in), b = program_run(bounded, &in);
    assert_true(arrays_same_bits(&a, &b));
    assert_int_equal(*(int32_t *)b.at[0].data, steps);
    check_derivatives(bounded, &in, true, 1e-7);
    arrays_free(&a);
    arrays_free(&b);
    arrays_free(&in);
  }
  check_batch(bounded, 43, 5, 16);
  cxi_program_release(free_loop);
  cxi_program_release(bounded);
}

static void test_fori(void **state) {
  (void)state;
  const cxi_program *body =
      program_parse("program @body(%0: f64[7], %1: i64[], %2: f64[]) {\n"
                    "  %3: f64[1] = dynamic_slice[sizes=(1)] %0, %1\n"
                    "  %4: f64[] = reshape[shape=()] %3\n"
                    "  %5: f64[] = mul %2, %4\n"
                    "  %6: f64[] = add %5, %4\n"
                    "  return %6\n"
                    "}\n");
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[2], out;
  cxi_builder_open(&b);
  in[0] = cxi_builder_input(&b, body->values[0].type);
  in[1] = cxi_builder_input(&b, body->values[2].type);
  cxi_fori(body, 1, 2, 6, in, &out);
  const cxi_program *p = cxi_builder_finish(&b, 0, 2, in, 1, &out, &error);
  check_ok(p != NULL, &error, body);
  arrays args = arrays_random(p, 51, 2), res = program_run(p, &args);
  const double *x = args.at[0].data;
  double want = *(double *)args.at[1].data;
  for (int i = 2; i < 6; i++) want = want * x[i] + x[i];
  assert_true(*(double *)res.at[0].data == want);
  check_derivatives(p, &args, true, 1e-7);
  arrays_free(&args);
  arrays_free(&res);
  cxi_program_release(p);
  cxi_program_release(body);
}

/* -- errors --------------------------------------------------------------- */

static void check_error(const char *text, const char *part) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  assert_null(p);
  if (!strstr(error.text, part))
    fail_msg("\"%s\" does not say \"%s\"", error.text, part);
}

static void test_errors(void **state) {
  (void)state;
  check_error("program @step(%0: f32[64], %1: i32[]) {\n"
              "  %2: f32[1,64] = reshape[shape=(1,64)] %0\n"
              "  %3: f32[] = convert[type=f32] %1\n"
              "  return %2, %3\n"
              "}\n"
              "program @main(%0: f32[64], %1: i32[]) {\n"
              "  %2: f32[64], %3: i32[] = scan[body=@step, length=2,"
              " reverse=false, unroll=1, n_consts=0, n_carry=2] %0, %1\n"
              "  return %2\n"
              "}\n",
              "scan: carry 0 enters as f32[64], leaves as f32[1,64]; carry 1 "
              "enters as i32[], leaves as f32[]");
  check_error("program @step(%0: f32[3]) {\n"
              "  return %0\n"
              "}\n"
              "program @main(%0: f32[4,3]) {\n"
              "  %1: f32[5,3] = scan[body=@step, length=5, reverse=false,"
              " unroll=1, n_consts=0, n_carry=0] %0\n"
              "  return %1\n"
              "}\n",
              "scan: xs 0 is f32[4,3], the body takes f32[3] in each of 5");
  check_error("program @a(%0: f32[3]) {\n"
              "  return %0\n"
              "}\n"
              "program @b(%0: f32[3]) {\n"
              "  return 1.0:f32\n"
              "}\n"
              "program @main(%0: i32[], %1: f32[3]) {\n"
              "  %2: f32[3] = cond[branches=(@a,@b)] %0, %1\n"
              "  return %2\n"
              "}\n",
              "cond: output 0 of branch 1 is f32[], that of branch 0 f32[3]");
  check_error("program @more(%0: f32[3]) {\n"
              "  %1: bool[3] = gt %0, 0.0:f32\n"
              "  return %1\n"
              "}\n"
              "program @step(%0: f32[3]) {\n"
              "  return %0\n"
              "}\n"
              "program @main(%0: f32[3]) {\n"
              "  %1: f32[3] = while[cond=@more, body=@step, n_cond_consts=0,"
              " n_body_consts=0] %0\n"
              "  return %1\n"
              "}\n",
              "while: the predicate must give one bool[]");
}

/* Reverse mode of a while names the ways out. */
static void test_no_reverse_while(void **state) {
  (void)state;
  const cxi_program *p = loop_program(-1);
  static const bool wrt[4] = { false, false, false, true };
  static const bool cts[2] = { false, true };
  cxi_error error = { 0 };
  assert_null(cxi_vjp(p, wrt, cts, &error));
  assert_int_equal(error.code, CX_ENORULE);
  assert_non_null(strstr(error.text, "scan"));
  assert_non_null(strstr(error.text, ".max_steps"));
  cxi_program_release(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_derivatives),
    cmocka_unit_test(test_second_derivatives),
    cmocka_unit_test(test_batches),
    cmocka_unit_test(test_batches_of_derivatives),
    cmocka_unit_test(test_derivatives_of_batches),
    cmocka_unit_test(test_unrolled),
    cmocka_unit_test(test_bounded_while),
    cmocka_unit_test(test_fori),
    cmocka_unit_test(test_errors),
    cmocka_unit_test(test_no_reverse_while),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
