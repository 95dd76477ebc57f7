/* 05_transforms.c - vmap, checkpoint and jit on one model, and what each of
 * them may change: nothing. The bits of the gradient are compared. */
#include <stdio.h>
#include "calx.h"

CX_DEF(dense, p, x) {
  return cx_add(cx_matmul(x, cx_get(p, "weight")), cx_get(p, "bias"));
}
CX_DEF(block, p, x) { /* a plain call: part of the same program */
  return cx_gelu(dense(p, x));
}

/* One example: x (16), y (). Checkpointed blocks keep nothing for the backward
 * pass but their inputs. */
CX_DEF(loss_of_one, p, x, y) {
  cx_fn remat = cx_checkpoint(CX_FN(block));
  cx h = cx_call(remat, cx_get(p, "fc1"), x);
  h = cx_call(remat, cx_get(p, "fc2"), h);
  return cx_neg(cx_pick(cx_log_softmax(dense(cx_get(p, "out"), h)), y));
}
CX_DEF(plain_loss_of_one, p, x, y) {
  cx h = block(cx_get(p, "fc2"), block(cx_get(p, "fc1"), x));
  return cx_neg(cx_pick(cx_log_softmax(dense(cx_get(p, "out"), h)), y));
}

CX_STRUCT(of, (cx_fn, f));
/* The gradient for each example: the batch comes from vmap. */
CX_DEF_ENV(gradients, of, e, p, x, y) {
  cx_fn each = cx_vmap(cx_grad(e->f), .in = { CX_NONE, 0, 0 });
  return cx_call(each, p, x, y);
}

/* Item i of an array; with cx_tree_map, of each leaf. */
CX_STRUCT(item_of, (int, i));
CX_DEF_ENV(item, item_of, e, a) {
  return cx_index(a, e->i);
}

static cx layer(cx key, int in, int out) {
  return cx_dict("weight", cx_mul(0.3, cx_normal(key, CX_F32, in, out)), "bias",
                 cx_zeros(CX_F32, out));
}
/* Whether all leaves of two trees have equal bits. */
static bool equal(cx a, cx b) {
  cx same = cx_scalar(1, CX_BOOL);
  for (int i = 0; i < cx_leaf_count(a); i++)
    same = cx_and(same, cx_all(cx_eq(cx_bitcast(cx_leaf(a, i), CX_U32),
                                     cx_bitcast(cx_leaf(b, i), CX_U32))));
  return cx_item_int(same) == 1;
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx k[4];
  cx_split(cx_key(42), &k[0], &k[1], &k[2], &k[3]);
  cx p = cx_dict("fc1", layer(k[0], 16, 32), "fc2", layer(k[1], 32, 32), "out",
                 layer(k[2], 32, 10));
  cx x = cx_normal(k[3], CX_F32, 8, 16);
  cx y = cx_array(int32_t, 0, 1, 2, 3, 4, 5, 6, 7);

  cx_fn remat = CX_BIND(gradients, .f = CX_FN(loss_of_one));
  cx_fn plain = CX_BIND(gradients, .f = CX_FN(plain_loss_of_one));
  cx g = cx_call(plain, p, x, y);
  printf("fc1.weight of 8 examples: %s\n", cx_show(cx_get(g, "fc1.weight")));
  bool checkpointed = equal(g, cx_call(remat, p, x, y));
  bool compiled = equal(g, cx_call(cx_jit(plain), p, x, y));
  bool alone = true;
  for (int i = 0; i < 8; i++) {
    CX_SCOPE;
    cx one = cx_call(cx_grad(CX_FN(plain_loss_of_one)), p, cx_index(x, i),
                     cx_index(y, i));
    cx lane = cx_tree_map(CX_BIND(item, .i = i), g);
    alone = alone && equal(lane, one);
  }
  printf("same bits: checkpointed %s, compiled %s, one by one %s\n",
         checkpointed ? "yes" : "no", compiled ? "yes" : "no",
         alone ? "yes" : "no");
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !checkpointed || !compiled || !alone;
}
