/* 04_digits.c - a classifier from scratch: data, parameters, training,
 * accuracy. What JAX's mnist_classifier_fromscratch.py does with MNIST is done
 * here with digits that Calx draws:
 *   04_digits [PICTURE.png]   with a picture of those it got wrong */
#include <stdio.h>
#include "calx.h"
#include "digits.h"
#include "picture.h"

enum { TRAIN = 4096, TEST = 1024, BATCH = 128, EPOCHS = 12, LAYERS = 3 };
static const int sizes[LAYERS + 1] = { DIGITS_PIXELS, 256, 256,
                                       DIGITS_CLASSES };

/* -- the model ------------------------------------------------------------- */

static cx dense_init(cx key, int in, int out) {
  cx scale = cx_sqrt(cx_scalar(2.0 / in, CX_F32));
  return cx_dict("weight", cx_mul(scale, cx_normal(key, CX_F32, in, out)),
                 "bias", cx_zeros(CX_F32, out));
}
static cx init(cx key) {
  cx layers[LAYERS];
  for (int i = 0; i < LAYERS; i++)
    layers[i] = dense_init(cx_fold(key, i), sizes[i], sizes[i + 1]);
  return cx_tuple_n(LAYERS, layers);
}
CX_DEF(dense, p, x) {
  return cx_add(cx_matmul(x, cx_get(p, "weight")), cx_get(p, "bias"));
}
CX_DEF(logits, p, x) {
  for (int i = 0; i < LAYERS - 1; i++) x = cx_relu(dense(cx_nth(p, i), x));
  return dense(cx_nth(p, -1), x);
}
CX_DEF(loss, p, x, labels) {
  return cx_neg(cx_mean(cx_pick(cx_log_softmax(logits(p, x)), labels)));
}
CX_DEF(right, p, x, labels) { /* which of the examples, bools (n) */
  return cx_eq(cx_argmax(logits(p, x), -1), labels);
}
/* Stochastic gradient descent on the examples with these numbers; operations
 * map over the trees. */
CX_DEF(step, p, x, labels, rows, lr) {
  cx value, grads;
  cx_unpack(cx_call(cx_value_and_grad(CX_FN(loss)), p, cx_take(x, rows, 0),
                    cx_take(labels, rows, 0)),
            &value, &grads);
  return cx_tuple(cx_sub(p, cx_mul(lr, grads)), value);
}

/* -- training -------------------------------------------------------------- */

/* Images as rows of pixels */
static void data(cx key, int64_t n, cx *out_x, cx *out_labels) {
  cx images;
  cx_unpack(digits(key, n), out_labels, &images);
  *out_x = cx_reshape(images, n, DIGITS_PIXELS);
}
/* The examples 0, 1, ... in a random order, a row for each batch. */
static cx shuffled(cx key) {
  return cx_reshape(cx_permutation(key, TRAIN), TRAIN / BATCH, BATCH);
}
/* Those of the test images that are told wrongly, at most 40 of them. */
static bool show_wrong(const char *path, cx x, cx hit) {
  cx order = cx_index(cx_argsort(cx_cast(hit, CX_I32), 0), CX_TO(40));
  cx wrong = cx_take(x, order, 0);
  hit = cx_reshape(cx_take(hit, order, 0), 40, 1);
  return picture_save(tiles_new(cx_reshape(cx_where(hit, 0.5, wrong), 2, 20,
                                           DIGITS_SIDE, DIGITS_SIDE),
                                2),
                      path);
}

int main(int argc, char **argv) {
  cx_ctx *ctx = cx_open("cpu");
  cx x, labels, test_x, test_labels;
  data(cx_key(1), TRAIN, &x, &labels);
  data(cx_key(2), TEST, &test_x, &test_labels);
  cx params = cx_keep(init(cx_key(42)));
  cx_fn train = cx_jit(CX_FN(step), .donate = CX_ARGS(0));
  cx_fn judge = cx_jit(CX_FN(right));
  double accuracy = 0;
  for (int epoch = 0; epoch < EPOCHS && cx_ok(); epoch++) {
    CX_SCOPE; /* what an epoch makes dies at the closing brace */
    cx rows = shuffled(cx_fold(cx_key(0), epoch)), value = cx_none();
    for (int i = 0; i < TRAIN / BATCH && cx_ok(); i++) {
      cx next;
      cx_unpack(cx_call(train, params, x, labels, cx_index(rows, i), 0.1),
                &next, &value);
      cx_swap(&params, next);
    }
    cx hit = cx_call(judge, params, test_x, test_labels);
    accuracy = cx_item(cx_mean(cx_cast(hit, CX_F32)));
    printf("epoch %2d  loss %.4f  accuracy %.4f\n", epoch, cx_item(value),
           accuracy);
  }
  cx hit = cx_call(judge, params, test_x, test_labels);
  bool shown = show_wrong(argc > 1 ? argv[1] : NULL, test_x, hit);
  printf("reached: %.1f %% of %d new digits\n", 100 * accuracy, TEST);
  cx_drop(params);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !shown || !(accuracy > 0.95);
}
