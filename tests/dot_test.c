/* dot_test.c - dot_general: values, order of the sum, errors, rules. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "primitives/dot.h"
#include "support/group.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const row_values values[] = {
  { "program @m(%0: f32[2,2], %1: f32[2,2]) { %2: f32[2,2] = dot_general["
    "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
    "%0, %1 return %2 }",
    "1 2 3 4; 5 6 7 8", "19 22 43 50" },
  { "program @m(%0: f32[2], %1: f32[2,2], %2: f32[2]) { %3: f32[2] = "
    "dot_general[lhs_contract=(0), rhs_contract=(0), lhs_batch=(), "
    "rhs_batch=(), type=f32] %0, %1, %2 return %3 }",
    "1 2; 3 4 5 6; 100 200", "113 216" },
  { "program @m(%0: f32[2,0], %1: f32[0,1]) { %2: f32[2,1] = dot_general["
    "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
    "%0, %1 return %2 }",
    "; ", "0 0" },
  /* the axes that are kept interleave: a[i] b[j,k] */
  { "program @m(%0: f64[2], %1: f64[2,2]) { %2: f64[2,2,2] = dot_general["
    "lhs_contract=(), rhs_contract=(), lhs_batch=(), rhs_batch=(), type=f64] "
    "%0, %1 return %2 }",
    "1 2; 3 4 5 6", "3 4 5 6 6 8 10 12" },
  { "program @m(%0: i8[2], %1: i8[2]) { %2: i8[] = dot_general["
    "lhs_contract=(0), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=i8] "
    "%0, %1 %3: i32[] = dot_general[lhs_contract=(0), rhs_contract=(0), "
    "lhs_batch=(), rhs_batch=(), type=i32] %0, %1 return %2, %3 }",
    "100 100; 100 -3", "-28; 9700" },
  { "program @m(%0: bool[2,2], %1: bool[2]) { %2: bool[2] = dot_general["
    "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), "
    "type=bool] %0, %1 return %2 }",
    "1 1 0 1; 1 0", "1 0" },
  /* f16: the sum and the addend in f32, rounded once */
  { "program @m(%0: f16[2], %1: f16[2], %2: f16[]) { %3: f16[] = dot_general["
    "lhs_contract=(0), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f16] "
    "%0, %1, %2 return %3 }",
    "1 1; 1 2; 2048", "2052" },
  { "program @m(%0: f16[3], %1: f16[3]) { %2: f16[] = dot_general["
    "lhs_contract=(0), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f16] "
    "%0, %1 return %2 }",
    "2048 1 1; 1 1 1", "2050" },
  { "program @m(%0: f32[2], %1: f32[2]) { %2: f32[] = dot_general["
    "lhs_contract=(0), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
    "%0, %1 return %2 }",
    "inf 1; 0 nan", "nan" },
};

static const row_error errors[] = {
  { "program @m(%0: f32[2,3], %1: f32[4,5]) { %2: f32[2,5] = dot_general["
    "lhs_contract=(1), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
    "%0, %1 return %2 }",
    "dot_general: f32[2,3] and f32[4,5]: contracted axes 1 and 0 differ in "
    "size" },
  { "program @m(%0: f32[2,3], %1: f32[3,5]) { %2: f32[2,5] = dot_general["
    "lhs_contract=(2), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
    "%0, %1 return %2 }",
    "contracted axes (2) and batch axes () are not distinct axes of f32[2,3]" },
  { "program @m(%0: f32[2,3], %1: f32[3,2]) { %2: f32[2] = dot_general["
    "lhs_contract=(1), rhs_contract=(0), lhs_batch=(1), rhs_batch=(1), "
    "type=f32] %0, %1 return %2 }",
    "are not distinct axes" },
  { "program @m(%0: f32[2,3], %1: f32[3,2]) { %2: f32[2] = dot_general["
    "lhs_contract=(1), rhs_contract=(), lhs_batch=(), rhs_batch=(), type=f32] "
    "%0, %1 return %2 }",
    "contracted axes (1) and (): want as many" },
  { "program @m(%0: f32[2], %1: f64[2]) { %2: f64[] = dot_general["
    "lhs_contract=(0), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f64] "
    "%0, %1 return %2 }",
    "f32 and f64" },
  { "program @m(%0: f32[2], %1: f32[2]) { %2: i32[] = dot_general["
    "lhs_contract=(0), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=i32] "
    "%0, %1 return %2 }",
    "products of f32 are not summed to i32" },
  { "program @m(%0: f32[2], %1: f32[2], %2: f32[1]) { %3: f32[] = dot_general["
    "lhs_contract=(0), rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] "
    "%0, %1, %2 return %3 }",
    "the addend is f32[1], the product f32[]" },
  { "program @m(%0: f32[1,1,1,1,1], %1: f32[1,1,1,1]) { %2: f32[1] = "
    "dot_general[lhs_contract=(), rhs_contract=(), lhs_batch=(), rhs_batch=(), "
    "type=f32] %0, %1 return %2 }",
    "more than 8 dimensions" },
  { "program @m(%0: f32[2]) { %1: f32[] = dot_general[lhs_contract=(0), "
    "rhs_contract=(0), lhs_batch=(), rhs_batch=(), type=f32] %0 return %1 }",
    "takes 2 or 3 operands, not 1" },
};

static const cxi_prim rows[] = { CXI_PRIM_dot_general };

static row_group family = { values,        COUNT(values), errors,
                            COUNT(errors), rows,          COUNT(rows) };

static void evaluate(const cxi_dot_general_params *p, const cxi_view *a,
                     const cxi_view *b, const cxi_view *addend,
                     const cxi_view *out) {
  const int64_t bytes = cxi_dot_workspace(p, a, b);
  assert_true(bytes >= 0);
  void *workspace = malloc((size_t)bytes + 1);
  assert_non_null(workspace);
  cxi_dot_evaluate(p, a, b, addend, out, workspace);
  free(workspace);
}

/* Every element is a sum of chains of fma over k from 0, whatever the blocks:
 * base/chain.h. */
static void test_order(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {
    { 1, 1, 1 },    { 4, 16, 9 },   { 5, 17, 33 },  { 3, 15, 2 },
    { 1, 40, 7 },   { 37, 1, 129 }, { 8, 32, 300 }, { 9, 33, 64 },
    { 1, 1, 255 },  { 2, 3, 256 },  { 1, 1, 257 },  { 5, 17, 513 },
    { 1, 1, 4500 },
  };
  uint64_t seed = 3;
  for (size_t c = 0; c < COUNT(sizes); c++) {
    const int64_t m = sizes[c][0], n = sizes[c][1], k = sizes[c][2];
    cxi_view a = array_random((cx_aval){ CX_F32, { 2, { k, m } } }, &seed);
    cxi_view b = array_random((cx_aval){ CX_F32, { 2, { n, k } } }, &seed);
    cxi_view y = array_random((cx_aval){ CX_F32, { 2, { m, n } } }, &seed);
    const cxi_dot_general_params p = { .lhs_contract = { 1, { 0 } },
                                       .rhs_contract = { 1, { 1 } },
                                       .type = CX_F32 };
    evaluate(&p, &a, &b, NULL, &y);
    const float *pa = a.data, *pb = b.data, *py = y.data;
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        float total = 0, sum = 0;
        for (int64_t q = 0; q < k; q++) {
          sum = fmaf(pa[q * m + i], pb[j * k + q], sum);
          if (q + 1 < k && (q + 1) % 256) continue;
          total = q < 256 ? sum : total + sum;
          sum = 0;
        }
        assert_true(py[i * n + j] == total);
      }
    array_free(&a);
    array_free(&b);
    array_free(&y);
  }
}

/* Random axes of random arrays against the definition, in f64. */
static void test_any_axes(void **state) {
  (void)state;
  uint64_t seed = 11;
  for (int trial = 0; trial < 200; trial++) {
    /* Of five letters each is batch, contracted, or free on one side. */
    enum { LETTERS = 5 };
    int role[LETTERS];
    int64_t size[LETTERS];
    cxi_dot_general_params p = { .type = CX_F64 };
    cx_aval a = { CX_F64, { 0 } }, b = a, y = a;
    int at_a[LETTERS], at_b[LETTERS], of_y[LETTERS];
    for (int l = 0; l < LETTERS; l++) {
      role[l] = (int)(random_next(&seed) % 4);
      size[l] = 1 + (int64_t)(random_next(&seed) % 3);
    }
    for (int l = 0; l < LETTERS; l++)
      if (role[l] != 3) at_a[l] = a.shape.n, a.shape.d[a.shape.n++] = size[l];
    for (int l = LETTERS - 1; l >= 0; l--)
      if (role[l] != 2) at_b[l] = b.shape.n, b.shape.d[b.shape.n++] = size[l];
    for (int l = 0; l < LETTERS; l++) {
      if (role[l] == 0) {
        p.lhs_batch.d[p.lhs_batch.n++] = at_a[l];
        p.rhs_batch.d[p.rhs_batch.n++] = at_b[l];
      } else if (role[l] == 1) {
        p.lhs_contract.d[p.lhs_contract.n++] = at_a[l];
        p.rhs_contract.d[p.rhs_contract.n++] = at_b[l];
      }
    }
    for (int l = 0; l < LETTERS; l++)
      if (role[l] == 0) of_y[y.shape.n] = l, y.shape.d[y.shape.n++] = size[l];
    for (int l = 0; l < LETTERS; l++)
      if (role[l] == 2) of_y[y.shape.n] = l, y.shape.d[y.shape.n++] = size[l];
    for (int l = LETTERS - 1; l >= 0; l--)
      if (role[l] == 3) of_y[y.shape.n] = l, y.shape.d[y.shape.n++] = size[l];
    cxi_view va = array_random(a, &seed), vb = array_random(b, &seed);
    cxi_view vy = array_random(y, &seed), vc = array_random(y, &seed);
    evaluate(&p, &va, &vb, &vc, &vy);
    /* All letters run; y adds up. */
    cx_dims all = { .n = LETTERS };
    for (int l = 0; l < LETTERS; l++) all.d[l] = size[l];
    double *sum = calloc((size_t)cxi_dims_count(&y.shape) + 1, sizeof *sum);
    assert_non_null(sum);
    int64_t index[CX_MAX_DIMS] = { 0 };
    do {
      int64_t ia[CX_MAX_DIMS] = { 0 }, ib[CX_MAX_DIMS] = { 0 }, iy = 0;
      for (int l = 0; l < LETTERS; l++) {
        if (role[l] != 3) ia[at_a[l]] = index[l];
        if (role[l] != 2) ib[at_b[l]] = index[l];
      }
      for (int i = 0; i < y.shape.n; i++)
        iy = iy * y.shape.d[i] + index[of_y[i]];
      sum[iy] += *(double *)cxi_view_element(&va, ia, 8) *
                 *(double *)cxi_view_element(&vb, ib, 8);
    } while (cxi_index_next(&all, index));
    for (int64_t i = 0; i < cxi_dims_count(&y.shape); i++)
      assert_true(fabs(array_get(&vy, i) - sum[i] - array_get(&vc, i)) < 1e-12);
    free(sum);
    array_free(&va);
    array_free(&vb);
    array_free(&vy);
    array_free(&vc);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(test_row_values, &family),
    cmocka_unit_test_prestate(test_row_errors, &family),
    cmocka_unit_test_prestate(test_row_rules, &family),
    cmocka_unit_test(test_order),
    cmocka_unit_test(test_any_axes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
