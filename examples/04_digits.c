/* 04_digits.c - a classifier from scratch: data, parameters, training,
 * accuracy. The digits are drawn by Calx itself, moved about and noisy. */
#include <stdio.h>
#include "calx.h"

enum { ROWS = 10, COLUMNS = 8, PIXELS = ROWS * COLUMNS };
enum { HIDDEN = 128, CLASSES = 10, BATCH = 128, STEPS = 400 };

/* -- data: a 5 x 7 font, one byte a row ------------------------------------ */

static const uint8_t font[CLASSES][7] = {
  { 14, 17, 19, 21, 25, 17, 14 }, { 4, 12, 4, 4, 4, 4, 14 },
  { 14, 17, 1, 2, 4, 8, 31 },     { 31, 2, 4, 2, 1, 17, 14 },
  { 2, 6, 10, 18, 31, 2, 2 },     { 31, 16, 30, 1, 1, 17, 14 },
  { 6, 8, 16, 30, 17, 17, 14 },   { 31, 1, 2, 4, 8, 8, 8 },
  { 14, 17, 17, 14, 17, 17, 14 }, { 14, 17, 17, 15, 1, 2, 12 },
};

/* The font as images (10, 7, 5) of 0 and 1. */
static cx glyphs(void) {
  cx bits = cx_index(cx_from(font[0], CLASSES, 7), CX_DOTS, CX_NEW);
  cx shift = cx_arange(4, -1, -1, CX_U8);
  return cx_cast(cx_and(cx_shr(bits, shift), 1), CX_F32);
}

/* One example of `label`: its glyph somewhere in the picture, with noise. */
CX_DEF(draw, pictures, label, key) {
  cx place, noise;
  cx_split(key, &place, &noise);
  cx picture = cx_pad(cx_index(pictures, label), 0, (3, 3), (3, 3));
  cx at = cx_randint(place, 0, 4, 2);
  picture = cx_dynamic_slice(picture, cx_index(at, 0), ROWS, 0);
  picture = cx_dynamic_slice(picture, cx_index(at, 1), COLUMNS, 1);
  cx grain = cx_normal(noise, CX_F32, ROWS, COLUMNS);
  return cx_reshape(cx_add(picture, cx_mul(0.25, grain)), PIXELS);
}
/* A batch: (labels (BATCH), images (BATCH, PIXELS)) */
CX_DEF(batch, pictures, key) {
  cx which, how;
  cx_split(key, &which, &how);
  cx labels = cx_randint(which, 0, CLASSES, BATCH);
  cx_fn each = cx_vmap(CX_FN(draw), .in = { CX_NONE, 0, 0 });
  return cx_tuple(labels,
                  cx_call(each, pictures, labels, cx_split_n(how, BATCH)));
}

/* -- the model ------------------------------------------------------------- */

static cx dense_init(cx key, int in, int out) {
  cx scale = cx_sqrt(cx_scalar(2.0 / in, CX_F32));
  return cx_dict("weight", cx_mul(scale, cx_normal(key, CX_F32, in, out)),
                 "bias", cx_zeros(CX_F32, out));
}
CX_DEF(dense, p, x) {
  return cx_add(cx_matmul(x, cx_get(p, "weight")), cx_get(p, "bias"));
}
CX_DEF(logits, p, x) {
  return dense(cx_get(p, "out"), cx_relu(dense(cx_get(p, "hidden"), x)));
}
CX_DEF(loss, p, x, labels) {
  return cx_neg(cx_mean(cx_pick(cx_log_softmax(logits(p, x)), labels)));
}
/* Stochastic gradient descent: operations map over the trees. */
CX_DEF(step, p, pictures, key, lr) {
  cx labels, x, value, grads;
  cx_unpack(batch(pictures, key), &labels, &x);
  cx_unpack(cx_call(cx_value_and_grad(CX_FN(loss)), p, x, labels), &value,
            &grads);
  return cx_tuple(cx_sub(p, cx_mul(lr, grads)), value);
}
CX_DEF(accuracy, p, pictures, key) {
  cx labels, x;
  cx_unpack(batch(pictures, key), &labels, &x);
  cx hit = cx_eq(cx_argmax(logits(p, x), -1), labels);
  return cx_mean(cx_cast(hit, CX_F32));
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx k1, k2, pictures = glyphs();
  cx_split(cx_key(42), &k1, &k2);
  cx params = cx_keep(cx_dict("hidden", dense_init(k1, PIXELS, HIDDEN), "out",
                              dense_init(k2, HIDDEN, CLASSES)));
  cx_fn train = cx_jit(CX_FN(step), .donate = CX_ARGS(0));
  for (int i = 0; i < STEPS && cx_ok(); i++) {
    CX_SCOPE; /* what a step makes dies at the closing brace */
    cx next, value;
    cx_unpack(cx_call(train, params, pictures, cx_fold(cx_key(0), i), 0.5),
              &next, &value);
    cx_swap(&params, next);
    if (i % 100 == 0) printf("step %3d  loss %.3f\n", i, cx_item(value));
  }
  double right =
      cx_item(cx_call(cx_jit(CX_FN(accuracy)), params, pictures, cx_key(1)));
  printf("accuracy on new digits %.3f\n", right);
  cx_drop(params);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !(right > 0.9);
}
