/* control_lanes_test.c - lanes of a batch that must not disturb each other:
 * finished ones, those that take another branch. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ops/lax.h"
#include "support/programs.h"

static void check_finite(const arrays *a) {
  for (uint32_t i = 0; i < a->n; i++) {
    const cxi_view *v = &a->at[i];
    if (v->type.type != CX_F64) continue;
    for (int64_t k = 0; k < cxi_dims_count(&v->type.shape); k++)
      assert_true(isfinite(((double *)v->data)[k]));
  }
}

/* sqrt(x - 1) again and again until it would be imaginary: each lane stops
 * after another number of steps, and a step more would make NaN. */
static void test_finished_lanes(void **state) {
  (void)state;
  const cxi_program *p =
      program_parse("program @more(%0: f64[], %1: i32[]) {\n"
                    "  %2: bool[] = gt %0, 1.0:f64\n"
                    "  return %2\n"
                    "}\n"
                    "program @root(%0: f64[], %1: i32[]) {\n"
                    "  %2: f64[] = sub %0, 1.0:f64\n"
                    "  %3: f64[] = sqrt %2\n"
                    "  %4: i32[] = add %1, 1:i32\n"
                    "  return %3, %4\n"
                    "}\n"
                    "program @main(%0: f64[]) {\n"
                    "  %1: f64[], %2: i32[] = while[cond=@more, body=@root,"
                    " n_cond_consts=0, n_body_consts=0] %0, 0:i32\n"
                    "  return %1, %2\n"
                    "}\n");
  static const double starts[4] = { 0.25, 1.5, 3.0, 1000.0 };
  static const bool all[2] = { true, true };
  bool batched_out[4];
  cxi_error error = { 0 };
  const cxi_program *jvp = program_jvp(p);
  const cxi_program *q = cxi_batch(jvp, all, 4, NULL, batched_out, &error);
  check_ok(q != NULL, &error, jvp);
  cxi_program_retain(q);
  arrays in = arrays_random(q, 1, 2);
  memcpy(in.at[0].data, starts, sizeof starts);
  arrays out = program_run(q, &in);
  check_finite(&out);
  for (int lane = 0; lane < 4; lane++) {
    arrays one = arrays_random(jvp, 1, 2);
    for (uint32_t i = 0; i < 2; i++) {
      const cxi_view v = cxi_view_at(&in.at[i], 0, lane);
      cxi_view_copy(&one.at[i], &v);
    }
    arrays want = program_run(jvp, &one);
    for (uint32_t i = 0; i < want.n; i++) {
      const cxi_view v = cxi_view_at(&out.at[i], 0, lane);
      assert_memory_equal(v.data, want.at[i].data,
                          cxi_aval_bytes(&want.at[i].type));
    }
    arrays_free(&one);
    arrays_free(&want);
  }
  arrays_free(&in);
  arrays_free(&out);
  cxi_program_release(p);
  cxi_program_release(jvp);
  cxi_program_release(q);
}

static const char branches[] =
    "program @root(%0: f64[], %1: f64[]) {\n"
    "  %2: f64[] = sqrt %0\n"
    "  %3: f64[] = mul %2, %1\n"
    "  return %3\n"
    "}\n"
    "program @plain(%0: f64[], %1: f64[]) {\n"
    "  %2: f64[] = mul %0, %1\n"
    "  return %2\n"
    "}\n"
    "program @main(%0: f64[], %1: f64[]) {\n"
    "  %2: bool[] = le %0, 0.0:f64\n"
    "  %3: i32[] = convert[type=i32] %2\n"
    "  %4: f64[] = cond[branches=(@root,@plain)] %3, %0, %1\n"
    "  return %4\n"
    "}\n";

/* sqrt(x) for x > 0, else x: at 0 the root's derivative is infinite. The other
 * operand is shared by all lanes. */
static void test_branch_not_taken(void **state) {
  (void)state;
  const cxi_program *p = program_parse(branches);
  static const bool some[2] = { true, false };
  bool batched_out[1];
  cxi_error error = { 0 };
  const cxi_program *q = cxi_batch(p, some, 3, NULL, batched_out, &error);
  check_ok(q != NULL, &error, p);
  cxi_program_retain(q);
  const cxi_program *grad = program_vjp(q);
  arrays in = arrays_random(grad, 1, 2);
  static const double x[3] = { 0, 4, -2 }, y[1] = { 3 }, ct[3] = { 1, 1, 1 };
  memcpy(in.at[0].data, x, sizeof x);
  memcpy(in.at[1].data, y, sizeof y);
  memcpy(in.at[2].data, ct, sizeof ct);
  arrays out = program_run(grad, &in);
  static const double value[3] = { 0, 6, -6 }, dx[3] = { 3, 0.75, 3 };
  assert_memory_equal(out.at[0].data, value, sizeof value);
  assert_memory_equal(out.at[1].data, dx, sizeof dx);
  assert_true(*(double *)out.at[2].data == 0 + 2 - 2);
  arrays_free(&in);
  arrays_free(&out);
  cxi_program_release(p);
  cxi_program_release(q);
  cxi_program_release(grad);
}

/* Halves x until it is below 1, which ends for finite x > 0 alone. */
static const char *const ending[2] = {
  "program @other(%0: f64[], %1: f64[]) {\n"
  "  %2: bool[] = ne %0, 1.0:f64\n"
  "  return %2\n"
  "}\n"
  "program @halve(%0: f64[], %1: f64[]) {\n"
  "  %2: f64[] = mul %0, 0.5:f64\n"
  "  %3: f64[] = add %1, 1.0:f64\n"
  "  return %2, %3\n"
  "}\n"
  "program @loop(%0: f64[]) {\n"
  "  %1: f64[], %2: f64[] = while[cond=@other, body=@halve,"
  " n_cond_consts=0, n_body_consts=0] %0, 0.0:f64\n"
  "  return %2\n"
  "}\n"
  "program @same(%0: f64[]) {\n"
  "  return %0\n"
  "}\n"
  "program @main(%0: f64[]) {\n"
  "  %1: bool[] = ge %0, 1.0:f64\n"
  "  %2: i32[] = convert[type=i32] %1\n"
  "  %3: f64[] = cond[branches=(@same,@loop)] %2, %0\n"
  "  return %3\n"
  "}\n",
  "program @other(%0: f64[], %1: f64[]) {\n"
  "  %2: bool[] = ne %0, 1.0:f64\n"
  "  return %2\n"
  "}\n"
  "program @halve(%0: f64[], %1: f64[]) {\n"
  "  %2: f64[] = mul %0, 0.5:f64\n"
  "  %3: f64[] = add %1, 1.0:f64\n"
  "  return %2, %3\n"
  "}\n"
  "program @large(%0: f64[]) {\n"
  "  %1: bool[] = ge %0, 1.0:f64\n"
  "  return %1\n"
  "}\n"
  "program @log2(%0: f64[]) {\n"
  "  %1: f64[], %2: f64[] = while[cond=@other, body=@halve,"
  " n_cond_consts=0, n_body_consts=0] %0, 0.0:f64\n"
  "  return %2\n"
  "}\n"
  "program @main(%0: f64[]) {\n"
  "  %1: f64[] = while[cond=@large, body=@log2, n_cond_consts=0,"
  " n_body_consts=0] %0\n"
  "  return %1\n"
  "}\n"
};

/* The program of the text for a batch of its only operand. */
static const cxi_program *batched(const char *text, int64_t size) {
  static const bool all[1] = { true };
  bool batched_out[1];
  cxi_error error = { 0 };
  const cxi_program *p = program_parse(text);
  const cxi_program *q = cxi_batch(p, all, size, NULL, batched_out, &error);
  check_ok(q != NULL, &error, p);
  cxi_program_retain(q);
  cxi_program_release(p);
  return q;
}

/* Infinite and negative x are kept from the loop by the branch or the loop
 * around it, also where other lanes are in it. */
static void test_loops_that_end(void **state) {
  (void)state;
  static const double x[2][4] = { { -3, 16, 0.75, 2 }, { -1, -2, 0, 0.5 } };
  static const double want[2][2][4] = {
    { { -3, 4, 0.75, 1 }, { -1, -2, 0, 0.5 } },
    { { -3, 0, 0.75, 0 }, { -1, -2, 0, 0.5 } }
  };
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++) {
      const cxi_program *q = batched(ending[i], 4);
      arrays in = arrays_random(q, 1, 2);
      memcpy(in.at[0].data, x[k], sizeof x[k]);
      arrays out = program_run(q, &in);
      assert_memory_equal(out.at[0].data, want[i][k], sizeof x[k]);
      arrays_free(&in);
      arrays_free(&out);
      cxi_program_release(q);
    }
}

/* No lane is active and none takes a branch where there is none. */
static void test_no_lanes(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    const cxi_program *q = batched(ending[i], 0);
    arrays in = arrays_random(q, 1, 2);
    arrays out = program_run(q, &in);
    assert_int_equal(out.at[0].type.shape.d[0], 0);
    arrays_free(&in);
    arrays_free(&out);
    cxi_program_release(q);
  }
}

/* A bounded loop over a batch, backwards: a lane that has stopped must not
 * send 0 * inf into the gradients of the constant that all lanes share. */
static void test_bounded_lanes(void **state) {
  (void)state;
  const cxi_program *p = program_parse(
      "program @more(%0: f64[]) {\n"
      "  %1: bool[] = gt %0, 1.0:f64\n"
      "  return %1\n"
      "}\n"
      "program @root(%0: f64[], %1: f64[]) {\n"
      "  %2: f64[] = sub %1, 1.0:f64\n"
      "  %3: f64[] = sqrt %2\n"
      "  %4: f64[] = mul %3, %0\n"
      "  return %4\n"
      "}\n"
      "program @main(%0: f64[], %1: f64[]) {\n"
      "  %2: f64[] = while[cond=@more, body=@root, n_cond_consts=0,"
      " n_body_consts=1] %0, %1\n"
      "  return %2\n"
      "}\n");
  cxi_builder b;
  cxi_error error = { 0 };
  cx in[2], out;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < 2; i++)
    in[i] = cxi_builder_input(&b, p->values[i].type);
  cxi_bounded_while(p->equations[0].params, 6, in, &out);
  const cxi_program *q = cxi_builder_finish(&b, 0, 2, in, 1, &out, &error);
  check_ok(q != NULL, &error, p);
  static const bool some[2] = { false, true };
  bool batched_out[1];
  const cxi_program *batch = cxi_batch(q, some, 4, NULL, batched_out, &error);
  check_ok(batch != NULL, &error, q);
  cxi_program_retain(batch);
  const cxi_program *grad = program_vjp(batch), *one = program_vjp(q);
  arrays args = arrays_random(grad, 1, 2);
  static const double w[1] = { 1.25 }, x[4] = { 0.25, 1.0, 3.0, 1000.0 };
  memcpy(args.at[0].data, w, sizeof w);
  memcpy(args.at[1].data, x, sizeof x);
  arrays all = program_run(grad, &args);
  check_finite(&all);
  double dw = 0;
  for (int lane = 0; lane < 4; lane++) {
    arrays a = arrays_random(one, 1, 2);
    memcpy(a.at[0].data, w, sizeof w);
    memcpy(a.at[1].data, &x[lane], sizeof *x);
    memcpy(a.at[2].data, (double *)args.at[2].data + lane, sizeof *x);
    arrays want = program_run(one, &a);
    dw += *(double *)want.at[1].data;
    assert_memory_equal((double *)all.at[2].data + lane, want.at[2].data,
                        sizeof *x);
    arrays_free(&a);
    arrays_free(&want);
  }
  assert_true(fabs(dw - *(double *)all.at[1].data) < 1e-12 * fabs(dw));
  arrays_free(&args);
  arrays_free(&all);
  cxi_program_release(p);
  cxi_program_release(q);
  cxi_program_release(batch);
  cxi_program_release(grad);
  cxi_program_release(one);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_finished_lanes),
    cmocka_unit_test(test_branch_not_taken),
    cmocka_unit_test(test_loops_that_end),
    cmocka_unit_test(test_no_lanes),
    cmocka_unit_test(test_bounded_lanes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
