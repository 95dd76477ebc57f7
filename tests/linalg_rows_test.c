/* linalg_rows_test.c - factorisations and triangular systems: exact values,
 * what is not finite or not definite, errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/group.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

#define SOLVE(left, lower, transpose, unit)                                   \
  "program @m(%0: f32[2,2], %1: f32[2,2]) { %2: f32[2,2] = triangular_solve[" \
  "left=" #left ", lower=" #lower ", transpose=" #transpose ", unit=" #unit   \
  "] %0, %1 return %2 }"
#define LU(t, m, n, k)                                                  \
  "program @m(%0: " #t "[" #m "," #n "]) { %1: " #t "[" #m "," #n "], " \
  "%2: i32[" #k "], %3: i32[" #m "] = lu %0 return %1, %2, %3 }"
#define QR(full, m, n, k)                                                    \
  "program @m(%0: f32[" #m "," #n "]) { %1: f32[" #m "," #k "], %2: f32[" #k \
  "," #n "] = qr[full=" #full ", pivoting=false] %0 return %1, %2 }"
#define EIGH(t, lower, n)                                                      \
  "program @m(%0: " #t "[" #n "," #n "]) { %1: " #t "[" #n "," #n "], %2: " #t \
  "[" #n "] = eigh[lower=" #lower "] %0 return %1, %2 }"
#define VALUES(m, n, k)                                                     \
  "program @m(%0: f64[" #m "," #n "]) { %1: f64[" #k "] = svd[full=false, " \
  "vectors=false] %0 return %1 }"

static const row_values values[] = {
  /* only the lower triangle is read */
  { "program @m(%0: f32[3,3]) { %1: f32[3,3] = cholesky %0 return %1 }",
    "4 9 nan 2 5 inf 6 7 14", "2 0 0 1 2 0 3 2 1" },
  { "program @m(%0: f16[2,1,1]) { %1: f16[2,1,1] = cholesky %0 return %1 }",
    "4 -1", "2 nan" },
  { "program @m(%0: f64[2,2]) { %1: f64[2,2] = cholesky %0 return %1 }",
    "1 2 2 4", "nan 0 nan nan" },
  { "program @m(%0: f64[2,2]) { %1: f64[2,2] = cholesky %0 return %1 }",
    "nan 2 2 4", "nan 0 nan nan" },
  /* a = [2 9; 1 4], of which a triangle is read */
  { SOLVE(true, true, false, false), "2 9 1 4; 2 4 9 6", "1 2 2 1" },
  { SOLVE(true, false, false, false), "2 9 1 4; 13 22 4 8", "2 2 1 2" },
  { SOLVE(true, true, true, false), "2 9 1 4; 5 8 4 8", "2 3 1 2" },
  { SOLVE(true, false, true, true), "2 9 1 4; 1 2 10 19", "1 2 1 1" },
  { SOLVE(false, true, false, false), "2 9 1 4; 5 8 4 8", "1.5 2 1 2" },
  { SOLVE(false, true, true, true), "2 9 1 4; 1 2 3 5", "1 1 3 2" },
  { SOLVE(true, true, false, false), "0 0 1 4; 2 -2 nan 4",
    "inf -inf nan inf" },
  /* ties take the first row; a singular matrix has its zero */
  { LU(f32, 2, 2, 2), "1 2 2 6", "2 6 0.5 -1; 1 1; 1 0" },
  { LU(f64, 3, 2, 2), "2 1 -2 3 4 4", "4 4 -0.5 5 0.5 -0.2; 2 1; 2 1 0" },
  { LU(f64, 2, 3, 2), "1 1 2 -1 1 4", "1 1 2 -1 2 6; 0 1; 0 1" },
  { LU(f32, 2, 2, 2), "0 1 0 2", "0 1 0 2; 0 1; 0 1" },
  { LU(f32, 2, 0, 0), "", "; ; 0 1" },
  { "program @m(%0: i32[2]) { %1: i32[3] = lu_pivots_to_permutation[size=3] %0 "
    "return %1 }",
    "2 2", "2 0 1" },
  /* the signs of LAPACK; nothing below the diagonal: not reflected */
  { QR(false, 2, 1, 1), "3 4", "-0.6 -0.8; -5" },
  { QR(true, 2, 1, 2), "3 0", "1 0 0 1; 3 0" },
  { QR(true, 2, 0, 2), "", "1 0 0 1; " },
  { QR(false, 1, 3, 1), "-2 1 5", "1; -2 1 5" },
  { EIGH(f32, true, 2), "3 nan 0 -1", "0 1 1 0; -1 3" },
  { EIGH(f64, false, 2), "3 0 nan -1", "0 1 1 0; -1 3" },
  { EIGH(f64, true, 2), "3 0 inf -1", "nan nan nan nan; nan nan" },
  { EIGH(f64, true, 0), "", "; " },
  { VALUES(3, 2, 2), "0 -3 0 0 4 0", "4 3" },
  { VALUES(2, 3, 2), "0 0 0 0 1e300 0", "1e300 0" },
  { VALUES(2, 2, 2), "0 0 0 0", "0 0" },
  { VALUES(2, 2, 2), "0 inf 0 0", "nan nan" },
  { VALUES(0, 2, 0), "", "" },
};

static const row_error errors[] = {
  { "program @m(%0: f32[2,3]) { %1: f32[2,3] = cholesky %0 return %1 }",
    "cholesky: needs square matrices, got f32[2,3]" },
  { "program @m(%0: i32[2,2]) { %1: i32[2,2] = cholesky %0 return %1 }",
    "cholesky: needs a floating dtype, got i32[2,2]" },
  { "program @m(%0: f32[2]) { %1: f32[2] = lu %0 return %1 }",
    "lu: needs a matrix in the last two axes, got f32[2]" },
  { "program @m(%0: f32[2,2], %1: f32[3,1]) { %2: f32[3,1] = "
    "triangular_solve[left=true, lower=true, transpose=false, unit=false] "
    "%0, %1 return %2 }",
    "want as many rows of b" },
  { "program @m(%0: f32[2,2], %1: f32[1,3]) { %2: f32[1,3] = "
    "triangular_solve[left=false, lower=true, transpose=false, unit=false] "
    "%0, %1 return %2 }",
    "want as many columns of b" },
  { "program @m(%0: f32[2,2,2], %1: f32[3,2,2]) { %2: f32[3,2,2] = "
    "triangular_solve[left=true, lower=true, transpose=false, unit=false] "
    "%0, %1 return %2 }",
    "batch axes differ: f32[2,2,2] and f32[3,2,2]" },
  { "program @m(%0: f32[2,2], %1: f64[2,2]) { %2: f32[2,2] = "
    "triangular_solve[left=true, lower=true, transpose=false, unit=false] "
    "%0, %1 return %2 }",
    "operands are f32 and f64" },
  { "program @m(%0: i32[3]) { %1: i32[2] = lu_pivots_to_permutation[size=2] %0 "
    "return %1 }",
    "2 rows for the pivots i32[3]" },
  { "program @m(%0: f32[3]) { %1: i32[3] = lu_pivots_to_permutation[size=3] %0 "
    "return %1 }",
    "needs pivots i32[..., k]" },
  { "program @m(%0: f32[2,3]) { %1: f32[2,3], %2: f32[2] = eigh[lower=true] %0 "
    "return %1 }",
    "eigh: needs square matrices" },
};

static row_group family = { values,        COUNT(values), errors,
                            COUNT(errors), NULL,          0 };

/* The derivative of what is read, the lower triangle: of a matrix that is not
 * symmetric (decision 0028). */
static void test_cholesky_rules(void **state) {
  (void)state;
  check_rules_of(
      "program @main(%0: f64[3,3]) { %1: i32[3,3] = iota[type=i32, "
      "shape=(3,3), axis=0] %2: i32[3,3] = iota[type=i32, shape=(3,3), axis=1] "
      "%3: bool[3,3] = eq %1, %2 %4: f64[3,3] = convert[type=f64] %3 "
      "%5: f64[3,3] = mul %4, 4:f64 %6: f64[3,3] = add %5, %0 "
      "%7: f64[3,3] = cholesky %6 return %7 }");
}

/* The numbers a factorisation of f64[m,n] works on, with the results. */
static double work_of(cxi_prim prim, const void *params, int64_t m, int64_t n) {
  const cxi_row *row = cxi_row_of(prim);
  cxi_type in = cxi_type_make(CX_F64, (cx_dims){ 2, { m, n } });
  cxi_infer c = { .params = params, .n_in = 1, .in = &in };
  assert_true(row->infer(&c));
  cxi_view a = { .type = *cxi_type_aval(in) }, out[3];
  for (uint32_t i = 0; i < c.n_out; i++)
    out[i] = (cxi_view){ .type = *cxi_type_aval(c.out[i]) };
  const cxi_eval e = { .params = params, .n_in = 1, .n_out = c.n_out };
  return (double)row->workspace(&e, &a, out) / sizeof(double);
}

/* A tall matrix takes memory for some copies of it, not for panels it does not
 * have, nor for vectors that nobody wants. */
static void test_work(void **state) {
  (void)state;
  const int64_t m = 1 << 20, n = 2;
  const double copies = 6.0 * (double)(m * n);
  const cxi_svd_params values_of = { .full = true };
  const cxi_svd_params vectors = { .vectors = true };
  const cxi_qr_params reduced = { .full = false };
  assert_true(work_of(CXI_PRIM_svd, &values_of, m, n) < copies);
  assert_true(work_of(CXI_PRIM_svd, &values_of, n, m) < copies);
  assert_true(work_of(CXI_PRIM_svd, &vectors, m, n) < copies);
  assert_true(work_of(CXI_PRIM_qr, &reduced, m, n) < copies);
  assert_true(work_of(CXI_PRIM_lu, NULL, m, n) < copies);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(test_row_values, &family),
    cmocka_unit_test_prestate(test_row_errors, &family),
    cmocka_unit_test(test_cholesky_rules),
    cmocka_unit_test(test_work),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
