/* 09_gru.c - a recurrent language model: scan over time, checkpointed steps,
 * state carried from one segment to the next. It learns to add one bit to the
 * sum so far: the text is a row of bits, each the parity of two earlier ones. */
#include <stdio.h>
#include <stdlib.h>
#include "calx.h"

enum { BATCH = 16, TIME = 32, WIDTH = 24, EMBED = 8, STEPS = 160 };

/* Typed trees: p.cell.wx is a name that the compiler checks. */
CX_STRUCT(gru, (cx, wx), (cx, wh), (cx, b), (cx, bn));
CX_STRUCT(lm, (cx, embedding), (gru, cell), (cx, out));

/* Cho et al. 2014, arXiv:1406.1078. wx (e, 3h), wh (h, 3h); the weights are
 * captured. (h, x) -> (h, h) */
CX_DEF_ENV(cell, gru, p, h, x) {
  cx xr, xz, xn, hr, hz, hn;
  cx_unpack(cx_split_axis(cx_add(cx_matmul(x, p->wx), p->b), 3, -1), &xr, &xz,
            &xn);
  cx_unpack(cx_split_axis(cx_matmul(h, p->wh), 3, -1), &hr, &hz, &hn);
  cx r = cx_sigmoid(cx_add(xr, hr)), z = cx_sigmoid(cx_add(xz, hz));
  cx n = cx_tanh(cx_add(xn, cx_mul(r, cx_add(hn, p->bn))));
  h = cx_add(cx_mul(cx_sub(1, z), n), cx_mul(z, h));
  return cx_tuple(h, h);
}
/* (params, h0 (b, h), ids (b, t + 1)) -> (loss, (last h, accuracy)) */
CX_DEF(loss, tree, h0, ids) {
  lm p = cx_as(lm, tree);
  cx labels = cx_index(ids, CX_ALL, CX_FROM(1));
  cx x = cx_take(p.embedding, cx_index(ids, CX_ALL, CX_TO(-1)), 0);
  cx_fn body =
      cx_checkpoint(CX_BIND_TO(cell, &p.cell), .policy = CX_SAVE_DOTS_NO_BATCH);
  cx last, hs;
  cx_unpack(cx_scan(body, h0, cx_swap_axes(x, 0, 1)), &last, &hs);
  cx logits = cx_einsum("tbh,hv->btv", hs, p.out);
  cx hit = cx_eq(cx_argmax(logits, -1), labels);
  cx aux = cx_tuple(cx_stop_gradient(last), cx_mean(cx_cast(hit, CX_F32)));
  return cx_tuple(cx_cross_entropy(logits, labels, -1), aux);
}
CX_DEF(step, p, h, ids) {
  cx value, aux, grads;
  cx_fn f = cx_value_and_grad(CX_FN(loss), .has_aux = true);
  cx_unpack(cx_call(f, p, h, ids), &value, &grads);
  cx_unpack(value, &value, &aux);
  cx limit = cx_minimum(1, cx_div(1, cx_global_norm(grads)));
  return cx_tuple(cx_sub(p, cx_mul(cx_mul(2, limit), grads)), cx_nth(aux, 0),
                  value, cx_nth(aux, 1));
}
static cx init(cx key) {
  cx k[4];
  cx_split(key, &k[0], &k[1], &k[2], &k[3]);
  gru c = { .wx = cx_mul(0.3, cx_normal(k[0], CX_F32, EMBED, 3 * WIDTH)),
            .wh = cx_mul(0.2, cx_normal(k[1], CX_F32, WIDTH, 3 * WIDTH)),
            .b = cx_zeros(CX_F32, 3 * WIDTH),
            .bn = cx_zeros(CX_F32, WIDTH) };
  return cx_pack(lm, .embedding = cx_normal(k[2], CX_F32, 2, EMBED), .cell = c,
                 .out = cx_mul(0.2, cx_normal(k[3], CX_F32, WIDTH, 2)));
}

/* Each row of the batch is a text of its own: bit i is bit i-2 xor bit i-3,
 * from different starts. Segments follow each other. */
static void next_segment(int32_t *ids, int32_t history[BATCH][3]) {
  for (int b = 0; b < BATCH; b++)
    for (int t = 0; t <= TIME; t++) {
      int32_t *h = history[b], bit = h[1] ^ h[2];
      ids[b * (TIME + 1) + t] = h[0];
      if (t == TIME) break; /* the next segment starts with the last bit */
      h[2] = h[1], h[1] = h[0], h[0] = bit;
    }
}

int main(void) {
  static int32_t ids[BATCH * (TIME + 1)], history[BATCH][3];
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < 3; i++) history[b][i] = (1 + b % 7) >> i & 1;
  cx_ctx *ctx = cx_open("cpu");
  cx params = cx_keep(init(cx_key(3)));
  cx h = cx_keep(cx_zeros(CX_F32, BATCH, WIDTH));
  cx_fn train = cx_jit(CX_FN(step), .donate = CX_ARGS(0, 1));
  double right = 0;
  for (int i = 0; i < STEPS && cx_ok(); i++) {
    CX_SCOPE;
    next_segment(ids, history);
    cx next, next_h, value, accuracy;
    cx_unpack(cx_call(train, params, h, cx_from(ids, BATCH, TIME + 1)), &next,
              &next_h, &value, &accuracy);
    cx_swap(&params, next);
    cx_swap(&h, next_h);
    right = cx_item(accuracy);
    if (i % 50 == 0 || i == STEPS - 1)
      printf("step %3d  loss %.4f  right %.3f\n", i, cx_item(value), right);
  }
  cx_drop(params);
  cx_drop(h);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !(right > 0.99);
}
