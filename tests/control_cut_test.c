/* control_cut_test.c - what partial evaluation, transposition and dead code
 * leave of loops and branches; their memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "support/programs.h"

/* -- partial evaluation of scan ------------------------------------------- */

/* What the known side of p's linearisation looks like. */
static void check_known(const char *text, const char *want) {
  cxi_error error = { 0 };
  const cxi_program *p = program_parse(text);
  bool nonzero[16], nonzero_out[16];
  for (int i = 0; i < 16; i++) nonzero[i] = true;
  cxi_partial partial;
  check_ok(cxi_linearize(p, nonzero, &partial, nonzero_out, &error), &error, p);
  char *known = program_text(partial.known);
  assert_string_equal(known, want);
  cxi_free(known);
  cxi_program_release(p);
}

/* exp(a) is computed once, x is forwarded, what y returns is not kept twice,
 * the literal and its broadcast are written again. */
static void test_residuals(void **state) {
  (void)state;
  check_known(
      "program @step(%0: f64[2], %1: f64[2], %2: f64[2]) {\n"
      "  %3: f64[2] = exp %0\n"
      "  %4: f64[2] = broadcast_in_dim[shape=(2), map=()] 3.0:f64\n"
      "  %5: f64[2] = mul %1, %3\n"
      "  %6: f64[2] = mul %5, %2\n"
      "  %7: f64[2] = mul %6, %4\n"
      "  return %7, %5\n"
      "}\n"
      "program @main(%0: f64[2], %1: f64[2], %2: f64[4,2]) {\n"
      "  %3: f64[2], %4: f64[4,2] = scan[body=@step, length=4,"
      " reverse=false, unroll=1, n_consts=1, n_carry=1] %0, %1, %2\n"
      "  return %3, %4\n"
      "}\n",
      "program @step_jvp_known(%0: f64[2], %1: f64[2], %2: f64[2]) {\n"
      "  %3: f64[2] = mul %1, %0\n"
      "  %4: f64[2] = mul %3, %2\n"
      "  %5: f64[2] = broadcast_in_dim[shape=(2), map=()] 3.0:f64\n"
      "  %6: f64[2] = mul %4, %5\n"
      "  return %6, %3, %1\n"
      "}\n"
      "program @main_known(%0: f64[2], %1: f64[2], %2: f64[4,2]) {\n"
      "  %3: f64[2] = exp %0\n"
      "  %4: f64[2], %5: f64[4,2], %6: f64[4,2] = scan[body=@step_jvp_known,"
      " length=4,\n"
      "    reverse=false, unroll=1, n_consts=1, n_carry=1] %3, %1, %2\n"
      "  return %4, %5, %3, %6, %2, %5\n"
      "}\n");
}

/* Nothing depends on the loop: the known side has none. */
static void test_no_known_loop(void **state) {
  (void)state;
  check_known(
      "program @step(%0: f64[2], %1: f64[2]) {\n"
      "  %2: f64[2] = cos %0\n"
      "  %3: f64[2] = mul %1, %2\n"
      "  return %0, %3\n"
      "}\n"
      "program @main(%0: f64[2], %1: f64[4,2]) {\n"
      "  %2: f64[2], %3: f64[4,2] = scan[body=@step, length=4, reverse=false,"
      " unroll=1, n_consts=0, n_carry=1] %0, %1\n"
      "  return %2\n"
      "}\n",
      "program @main_known(%0: f64[2], %1: f64[4,2]) {\n"
      "  %2: f64[2] = cos %0\n"
      "  %3: f64[2] = sin %0\n"
      "  %4: f64[2] = neg %3\n"
      "  return %0, %2, %4, %1\n"
      "}\n");
}

/* A loop over x[i]: bytes allocated by its gradient grow with n, not n^2. */
static void test_linear_growth(void **state) {
  (void)state;
  uint64_t before = 0;
  for (int n = 500; n <= 4000; n *= 2) {
    char text[1000];
    snprintf(text, sizeof text,
             "program @step(%%0: f64[%d], %%1: i32[], %%2: f64[]) {\n"
             "  %%3: f64[1] = dynamic_slice[sizes=(1)] %%0, %%1\n"
             "  %%4: f64[] = reshape[shape=()] %%3\n"
             "  %%5: f64[] = mul %%4, %%4\n"
             "  %%6: f64[] = add %%2, %%5\n"
             "  %%7: i32[] = add %%1, 1:i32\n"
             "  return %%7, %%6\n"
             "}\n"
             "program @main(%%0: f64[%d]) {\n"
             "  %%1: i32[], %%2: f64[] = scan[body=@step, length=%d,"
             " reverse=false, unroll=1, n_consts=1, n_carry=2] %%0, 0:i32,"
             " 0.0:f64\n"
             "  return %%2\n"
             "}\n",
             n, n, n);
    const cxi_program *p = program_parse(text), *q = program_vjp(p);
    arrays in = arrays_random(q, 3, 2);
    cxi_buffers_reset();
    arrays out = program_run(q, &in);
    const uint64_t allocated = cxi_buffers_now().allocated;
    if (before) assert_in_range(allocated, before, 2 * before + before / 5);
    before = allocated;
    const double *x = in.at[0].data, *ct = in.at[1].data, *dx = out.at[1].data;
    for (int i = 0; i < n; i++)
      assert_true(fabs(dx[i] - 2 * x[i] * ct[0]) < 1e-12);
    arrays_free(&in);
    arrays_free(&out);
    cxi_program_release(p);
    cxi_program_release(q);
  }
}

/* A linear loop with a counter, transposed as it is. */
static void test_transpose_with_counter(void **state) {
  (void)state;
  const cxi_program *p = program_parse(
      "program @step(%0: f64[4], %1: f64[4], %2: i32[], %3: f64[],"
      " %4: f64[]) {\n"
      "  %5: f64[1] = dynamic_slice[sizes=(1)] %0, %2\n"
      "  %6: f64[] = reshape[shape=()] %5\n"
      "  %7: f64[1] = dynamic_slice[sizes=(1)] %1, %2\n"
      "  %8: f64[] = reshape[shape=()] %7\n"
      "  %9: f64[] = mul %8, %3\n"
      "  %10: f64[] = mul %6, %4\n"
      "  %11: f64[] = add %9, %10\n"
      "  %12: i32[] = add %2, 1:i32\n"
      "  return %12, %11, %9\n"
      "}\n"
      "program @main(%0: f64[4], %1: f64[4], %2: f64[], %3: f64[4]) {\n"
      "  %4: i32[], %5: f64[], %6: f64[4] = scan[body=@step, length=4,"
      " reverse=false, unroll=1, n_consts=2, n_carry=2] %0, %1, 0:i32, %2,"
      " %3\n"
      "  return %5, %6\n"
      "}\n");
  /* linear in the carry and in xs; then in a constant alone */
  static const bool linear[2][4] = { { false, false, true, true },
                                     { true, false, true, false } };
  static const bool cts[2] = { true, true };
  for (int c = 0; c < 2; c++) {
    cxi_error error = { 0 };
    const cxi_program *q =
        cxi_transpose_program(p, linear[c], cts, NULL, &error);
    check_ok(q != NULL, &error, p);
    cxi_program_retain(q);
    arrays in = arrays_random(p, 21, 2), given = arrays_random(q, 22, 2);
    arrays v = arrays_new(4), ct = arrays_new(2);
    v.n = 0;
    uint32_t at = 0;
    for (int i = 0; i < 4; i++) {
      if (linear[c][i])
        v.at[v.n++] = in.at[i];
      else
        cxi_view_copy(&given.at[at++], &in.at[i]);
    }
    memcpy(ct.at, given.at + at, 2 * sizeof *ct.at);
    arrays out = program_run(p, &in), back = program_run(q, &given);
    assert_true(fabs(arrays_dot(&out, &ct) - arrays_dot(&back, &v)) < 1e-12);
    arrays_free(&in);
    arrays_free(&given);
    arrays_free(&out);
    arrays_free(&back);
    free(v.at);
    free(ct.at);
    cxi_program_release(q);
  }
  cxi_program_release(p);
}

/* -- dead code ------------------------------------------------------------ */

static void check_narrow(const char *text, const char *want) {
  cxi_error error = { 0 };
  const cxi_program *p = program_parse(text);
  bool used_in[16];
  const cxi_program *q = cxi_narrow(p, NULL, used_in, &error);
  check_ok(q != NULL, &error, p);
  char *is = program_text(q);
  assert_string_equal(is, want);
  cxi_free(is);
  cxi_program_release(p);
}

static void test_dce(void **state) {
  (void)state;
  /* carry 0 needs carry 1, nothing needs carry 2; carry 3 never changes */
  check_narrow(
      "program @step(%0: f64[], %1: f64[], %2: f64[], %3: f64[], %4: f64[],"
      " %5: f64[], %6: f64[]) {\n"
      "  %7: f64[] = mul %1, %2\n"
      "  %8: f64[] = add %7, %5\n"
      "  %9: f64[] = sin %2\n"
      "  %10: f64[] = add %3, %6\n"
      "  %11: f64[] = mul %0, %4\n"
      "  return %8, %9, %10, %4, %11, %7\n"
      "}\n"
      "program @main(%0: f64[], %1: f64[], %2: f64[], %3: f64[], %4: f64[],"
      " %5: f64[2], %6: f64[2]) {\n"
      "  %7: f64[], %8: f64[], %9: f64[], %10: f64[], %11: f64[2],"
      " %12: f64[2] = scan[body=@step, length=2, reverse=false, unroll=1,"
      " n_consts=1, n_carry=4] %0, %1, %2, %3, %4, %5, %6\n"
      "  return %7, %10, %11\n"
      "}\n",
      "program @step(%0: f64[], %1: f64[], %2: f64[], %3: f64[], %4: f64[])"
      " {\n"
      "  %5: f64[] = mul %2, %3\n"
      "  %6: f64[] = add %5, %4\n"
      "  %7: f64[] = sin %3\n"
      "  %8: f64[] = mul %0, %1\n"
      "  return %6, %7, %8\n"
      "}\n"
      "program @main(%0: f64[], %1: f64[], %2: f64[], %3: f64[], %4: f64[2])"
      " {\n"
      "  %5: f64[], %6: f64[], %7: f64[2] = scan[body=@step, length=2,"
      " reverse=false,\n"
      "    unroll=1, n_consts=2, n_carry=2] %0, %3, %1, %2, %4\n"
      "  return %5, %3, %7\n"
      "}\n");
  /* the counter stays, since the predicate needs it */
  check_narrow(
      "program @more(%0: i32[], %1: i32[], %2: f64[], %3: f64[]) {\n"
      "  %4: bool[] = lt %1, %0\n"
      "  return %4\n"
      "}\n"
      "program @step(%0: f64[], %1: f64[], %2: i32[], %3: f64[], %4: f64[]) {\n"
      "  %5: i32[] = add %2, 1:i32\n"
      "  %6: f64[] = mul %3, %0\n"
      "  %7: f64[] = mul %4, %1\n"
      "  return %5, %6, %7\n"
      "}\n"
      "program @main(%0: i32[], %1: f64[], %2: f64[], %3: f64[]) {\n"
      "  %4: i32[], %5: f64[], %6: f64[] = while[cond=@more, body=@step,"
      " n_cond_consts=1, n_body_consts=2] %0, %1, %2, 0:i32, %3, %3\n"
      "  return %6\n"
      "}\n",
      "program @more(%0: i32[], %1: i32[], %2: f64[]) {\n"
      "  %3: bool[] = lt %1, %0\n"
      "  return %3\n"
      "}\n"
      "program @step(%0: f64[], %1: i32[], %2: f64[]) {\n"
      "  %3: i32[] = add %1, 1:i32\n"
      "  %4: f64[] = mul %2, %0\n"
      "  return %3, %4\n"
      "}\n"
      "program @main(%0: i32[], %1: f64[], %2: f64[]) {\n"
      "  %3: i32[], %4: f64[] = while[cond=@more, body=@step,"
      " n_cond_consts=1,\n"
      "    n_body_consts=1] %0, %1, 0:i32, %2\n"
      "  return %4\n"
      "}\n");
  /* an operand of one branch alone is one of all */
  check_narrow(
      "program @a(%0: f64[], %1: f64[], %2: f64[]) {\n"
      "  %3: f64[] = sin %0\n"
      "  return %3, %2\n"
      "}\n"
      "program @b(%0: f64[], %1: f64[], %2: f64[]) {\n"
      "  return %1, %2\n"
      "}\n"
      "program @main(%0: i32[], %1: f64[], %2: f64[], %3: f64[]) {\n"
      "  %4: f64[], %5: f64[] = cond[branches=(@a,@b)] %0, %1, %2, %3\n"
      "  return %4\n"
      "}\n",
      "program @a(%0: f64[], %1: f64[]) {\n"
      "  %2: f64[] = sin %0\n"
      "  return %2\n"
      "}\n"
      "program @b(%0: f64[], %1: f64[]) {\n"
      "  return %1\n"
      "}\n"
      "program @main(%0: i32[], %1: f64[], %2: f64[]) {\n"
      "  %3: f64[] = cond[branches=(@a,@b)] %0, %1, %2\n"
      "  return %3\n"
      "}\n");
}

/* -- memory --------------------------------------------------------------- */

/* Everything this file is about, on one program; false if anything failed. */
static bool everything(const char *text, bool reverse) {
  cxi_error error = { 0 };
  cxi_hold_enter();
  bool ok = false, in[16], out[16], mask[32];
  const cxi_program *q = NULL;
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  if (p) {
    for (uint32_t i = 0; i < p->n_in; i++)
      in[i] = cxi_type_is_float(p->values[i].type);
    for (uint32_t i = 0; i < p->n_out; i++)
      out[i] = cxi_type_is_float(cxi_output_type(p, i));
    q = reverse ? cxi_vjp(p, in, out, &error)
                : cxi_jvp(p, in, NULL, false, mask, &error);
  }
  if (q) {
    for (int i = 0; i < 32; i++) mask[i] = true;
    q = cxi_batch(q, mask, 2, NULL, mask, &error);
  }
  if (q) q = cxi_narrow(q, NULL, NULL, &error);
  if (q) {
    cxi_view args[32], results[32];
    memset(args, 0, sizeof args);
    bool have = true;
    for (uint32_t i = 0; i < q->n_in; i++) {
      const cx_aval *type = cxi_type_aval(q->values[i].type);
      args[i] =
          cxi_view_dense(*type, cxi_buffer_take((size_t)cxi_aval_bytes(type)));
      if (args[i].data) cxi_view_zero(&args[i]);
      have = have && args[i].data;
    }
    ok = have && cxi_reference_run(q, args, NULL, results, &error);
    for (uint32_t i = 0; i < q->n_in; i++) cxi_buffer_free(args[i].data);
    for (uint32_t i = 0; ok && i < q->n_out; i++)
      cxi_buffer_free(results[i].data);
  }
  cxi_hold_leave();
  cxi_program_release(p);
  cxi_memos_clear();
  cxi_scratch_free();
  return ok;
}

static const struct {
  const cxi_row *row;
  bool reverse;
} rows[] = { { &cxi_row_scan, true },
             { &cxi_row_cond, true },
             { &cxi_row_while, false } };
enum { N_ROWS = sizeof rows / sizeof *rows };

/* The Nth allocation fails, for every N: an error each time, nothing left. */
static void test_allocations(void **state) {
  (void)state;
  for (int r = 0; r < N_ROWS; r++)
    for (const char *const *e = rows[r].row->examples; *e; e++) {
      assert_true(everything(*e, rows[r].reverse));
      const size_t live = cxi_alloc_now().live_bytes;
      bool ok = false;
      for (uint64_t n = 0; !ok; n++) {
        cxi_alloc_fail_after(n);
        ok = everything(*e, rows[r].reverse);
        cxi_alloc_fail_after(UINT64_MAX);
        assert_int_equal(cxi_alloc_now().live_bytes, live);
        assert_int_equal(cxi_buffers_now().live, 0);
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_residuals),
    cmocka_unit_test(test_no_known_loop),
    cmocka_unit_test(test_linear_growth),
    cmocka_unit_test(test_transpose_with_counter),
    cmocka_unit_test(test_dce),
    cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
