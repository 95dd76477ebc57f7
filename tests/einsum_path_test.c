/* einsum_path_test.c - the order in which einsum joins its operands. */
#include "ops/einsum_path.h"

#include <math.h>

#include "support/calls.h"

static uint64_t set(const char *letters) {
  uint64_t labels = 0;
  for (; *letters; letters++) labels |= (uint64_t)1 << (*letters - 'a');
  return labels;
}
static void check_steps(int n, const uint64_t *labels, uint64_t out,
                        const double *size, const cxi_join *want) {
  cxi_join steps[32];
  assert_true(cxi_einsum_path(n, labels, out, size, steps));
  for (int i = 0; i + 1 < n; i++) {
    assert_int_equal(steps[i].a, want[i].a);
    assert_int_equal(steps[i].b, want[i].b);
  }
}

static void least_work(void **state) {
  (void)state;
  /* (ab)(bc)(cd): the cheap product first */
  const uint64_t chain[] = { set("ab"), set("bc"), set("cd") };
  double size[64] = { 10, 2, 30, 3 };
  check_steps(3, chain, set("ad"), size, (cxi_join[]){ { 1, 2 }, { 0, 3 } });
  size[0] = 2, size[1] = 30, size[2] = 3, size[3] = 10;
  check_steps(3, chain, set("ad"), size, (cxi_join[]){ { 0, 1 }, { 3, 2 } });
  /* all equal: from the left */
  for (int i = 0; i < 64; i++) size[i] = 1;
  const uint64_t many[] = { set("ab"), set("bc"), set("cd"), set("de") };
  check_steps(4, many, set("ae"), size,
              (cxi_join[]){ { 0, 1 }, { 4, 2 }, { 5, 3 } });
  /* two pairs, then both */
  for (int i = 0; i < 64; i++) size[i] = 10;
  size[2] = 1;
  check_steps(4, many, set("ae"), size,
              (cxi_join[]){ { 0, 1 }, { 2, 3 }, { 4, 5 } });
}

/* Twelve operands are joined from the left. */
static void many_operands(void **state) {
  (void)state;
  uint64_t labels[12];
  double size[64];
  cxi_join want[11];
  for (int i = 0; i < 64; i++) size[i] = 2;
  for (int i = 0; i < 12; i++) labels[i] = (uint64_t)3 << i;
  for (int i = 0; i < 11; i++)
    want[i] = (cxi_join){ i ? 12 + i - 1 : 0, i + 1 };
  check_steps(12, labels, 1 | (uint64_t)1 << 12, size, want);
}

static double apart(cx a, cx b) {
  const double d = cx_item(cx_max(cx_abs(cx_sub(a, b))));
  assert_good();
  return d;
}
static cx drawn(uint64_t seed, cx_dims shape) {
  return cx_normal(cx_key(seed), CX_F64, shape);
}
static void values(void **state) {
  (void)state;
  CX_SCOPE;
  const cx a = drawn(1, CX_SHAPE(2, 3)), b = drawn(2, CX_SHAPE(3, 4));
  const cx c = drawn(3, CX_SHAPE(4, 5)), d = drawn(4, CX_SHAPE(5, 2));
  const cx product = cx_matmul(cx_matmul(cx_matmul(a, b), c), d);
  assert_true(apart(cx_einsum("ab,bc,cd,de->ae", a, b, c, d), product) < 1e-13);
  assert_true(apart(cx_einsum("ab,bc,cd,da->", a, b, c, d),
                    cx_matrix_trace(product)) < 1e-13);
  /* a label in all, one in one alone, one that is shared by the ends */
  const cx x = drawn(5, CX_SHAPE(3, 2)), y = drawn(6, CX_SHAPE(3, 4));
  const cx z = drawn(7, CX_SHAPE(3));
  assert_true(apart(cx_einsum("ni,nj,n->ij", x, y, z),
                    cx_matmul(cx_swap_axes(x, 0, 1),
                              cx_mul(y, cx_expand(z, 1)))) < 1e-13);
  assert_true(apart(cx_einsum("ni,nj,n->n", x, y, z),
                    cx_mul(cx_mul(cx_sum(x, 1), cx_sum(y, 1)), z)) < 1e-13);
  /* from the left the first join would have nine axes */
  const cx p = drawn(8, CX_SHAPE(2, 2, 2, 2, 2));
  const cx q = drawn(9, CX_SHAPE(2, 2, 2, 3));
  const cx r = drawn(10, CX_SHAPE(2, 2, 2, 2, 2, 2, 2, 2));
  const cx inner = cx_einsum("abcde,abcdefgh->fgh", p, r);
  assert_true(apart(cx_einsum("abcde,fghi,abcdefgh->i", p, q, r),
                    cx_einsum("fgh,fghi->i", inner, q)) < 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(least_work),
    cmocka_unit_test(many_operands),
    cmocka_unit_test(values),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
