/* 03_indexing.c - indexing, updates, reductions and einsum, each beside its
 * NumPy line, on numbers small enough to check by eye. */
#include <stdio.h>
#include "calx.h"

static void show(const char *numpy, cx a) {
  printf("%s  %s\n", numpy, cx_show(a));
  cx_print(a);
}

static void reading(cx x, cx ids) {
  show("x[1]", cx_index(x, 1));
  show("x[-1, ::2]", cx_index(x, -1, CX_STEP(2)));
  show("x[:, 1:3]", cx_index(x, CX_ALL, CX_RANGE(1, 3)));
  show("x[..., 0]", cx_index(x, CX_DOTS, 0));
  show("x[:, None, -1]", cx_index(x, CX_ALL, CX_NEW, -1));
  show("x[ids]", cx_index(x, ids));
  show("x[ids, [0, 1, 2]]", cx_index(x, ids, cx_array(int32_t, 0, 1, 2)));
  cx best = cx_argmax(x, -1);
  show("take_along_axis(x, argmax(x, -1)[..., None], -1)",
       cx_take_along(x, cx_index(best, CX_DOTS, CX_NEW), -1));
}

/* Updates give a new array; x stays as it is. */
static void writing(cx x, cx ids) {
  show("x.at[0, :].set(9)", cx_at_set(x, (0, CX_ALL), 9));
  show("x.at[ids].add(1)", cx_at_add(x, (ids), 1)); /* row 2 comes twice */
  show("x.at[x > 6].set(0)", cx_at_set(x, (cx_gt(x, 6)), 0));
  show("x.at[7].set(0)", cx_at_set(x, (cx_array(int32_t, 7)), 0)); /* none */
}

static void products(cx x) {
  show("sum(x, 0, keepdims=True)", cx_sum(x, 0, .keepdims = true));
  show("mean(x, where=x > 2)", cx_mean(x, CX_ALL_AXES, .where = cx_gt(x, 2)));
  show("einsum('ij,kj->ik', x, x)", cx_einsum("ij,kj->ik", x, x));
  show("einsum('ii->', x[:, :3])",
       cx_einsum("ii->", cx_index(x, CX_ALL, CX_TO(3))));
  show("pad(x, ((0, 0), (1, 1)))", cx_pad(x, 0, (0, 0), (1, 1)));
  show("where(x % 2 == 0, x, -x)",
       cx_where(cx_eq(cx_mod(x, 2), 0), x, cx_neg(x)));
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx x = cx_reshape(cx_arange(0, 12, 1, CX_F32), 3, 4);
  cx ids = cx_array(int32_t, 2, 0, 2);
  show("x = arange(12.).reshape(3, 4)", x);
  reading(x, ids);
  writing(x, ids);
  products(x);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code;
}
