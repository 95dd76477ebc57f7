/* 18_convnet.c - a convolutional classifier with Adam and dropout: the net of
 * JAX's differentially_private_sgd.py, trained without privacy. An epoch is one
 * compiled scan over the batches.
 *   18_convnet [PICTURE.png]   with a picture of what its first layer sees */
#include <stdio.h>
#include "calx.h"
#include "calx/models/nn.h"
#include "calx/models/optimizer.h"
#include "digits.h"
#include "picture.h"

enum { TRAIN = 4096, TEST = 1024, BATCH = 128, EPOCHS = 3 };

/* -- the model ------------------------------------------------------------- */

/* Kernels (features, channels, height, width), as in PyTorch */
static cx init(cx key) {
  cx k[4];
  cx_split(key, &k[0], &k[1], &k[2], &k[3]);
  return cx_dict("conv1", nn_conv_init(k[0], 1, 16, CX_SHAPE(8, 8)), "conv2",
                 nn_conv_init(k[1], 16, 32, CX_SHAPE(4, 4)), "hidden",
                 nn_linear_init(k[2], 32 * 4 * 4, 32, 0.06), "out",
                 nn_linear_init(k[3], 32, DIGITS_CLASSES, 0.2));
}
static cx first_conv(cx p, cx x) { /* (n, 1, 28, 28) -> (n, 16, 14, 14) */
  return nn_conv(cx_get(p, "conv1"), x, .strides = CX_SHAPE(2, 2),
                 .padding = "SAME");
}
/* The greatest of 2 x 2 neighbours: (n, c, h, w) -> (n, c, h-1, w-1) */
static cx pool(cx x) {
  return cx_max_pool(x, CX_SHAPE(2, 2), .channels_first = true);
}
/* x (n, 28, 28) -> (n, 10); key: of the dropout, cx_none() in evaluation */
CX_DEF(logits, p, x, key) {
  x = cx_expand(x, 1);
  x = pool(cx_relu(first_conv(p, x))); /* (n, 16, 13, 13) */
  x = nn_conv(cx_get(p, "conv2"), x, .strides = CX_SHAPE(2, 2));
  x = pool(cx_relu(x)); /* (n, 32, 4, 4) */
  x = cx_reshape(x, cx_dim(x, 0), -1);
  x = cx_relu(nn_linear(cx_get(p, "hidden"), x));
  return nn_linear(cx_get(p, "out"), cx_dropout(x, 0.1, key));
}
CX_DEF(loss, p, x, labels, key) {
  return cx_cross_entropy(logits(p, x, key), labels, -1);
}
CX_DEF(accuracy, p, x, labels) {
  cx hit = cx_eq(cx_argmax(logits(p, x, cx_none()), -1), labels);
  return cx_mean(cx_cast(hit, CX_F32));
}

/* -- training -------------------------------------------------------------- */

CX_STRUCT(dataset, (cx, x), (cx, labels));
/* state = {params, opt}, batch = (rows, key) -> (state, loss) */
CX_DEF_ENV(step, dataset, data, state, batch) {
  cx rows, key, value, grads, p = cx_get(state, "params");
  cx_unpack(batch, &rows, &key);
  cx_fn f = cx_value_and_grad(CX_FN(loss));
  cx_unpack(cx_call(f, p, cx_take(data->x, rows, 0),
                    cx_take(data->labels, rows, 0), key),
            &value, &grads);
  cx opt = cx_get(state, "opt");
  adam_update(p, grads, opt, cx_scalar(2e-3, CX_F32), (adam_options){ 0 }, &p,
              &opt);
  return cx_tuple(cx_dict("params", p, "opt", opt), value);
}
CX_DEF(epoch, state, x, labels, key) { /* -> (state, mean loss) */
  cx shuffle, dropout;
  cx_split(key, &shuffle, &dropout);
  cx order = cx_permutation(shuffle, TRAIN);
  cx batches = cx_tuple(cx_reshape(order, TRAIN / BATCH, BATCH),
                        cx_split_n(dropout, TRAIN / BATCH));
  cx end = cx_scan(CX_BIND(step, .x = x, .labels = labels), state, batches);
  return cx_tuple(cx_nth(end, 0), cx_mean(cx_nth(end, 1)));
}

/* What the first layer sees in the first 6 images: (6, 16, 14, 14), each
 * feature beside its greatest value */
static cx features(cx p, cx x) {
  x = cx_expand(cx_index(x, CX_TO(6)), 1);
  return cx_relu(first_conv(p, x));
}
static bool show_features(const char *path, cx params, cx x) {
  cx seen = features(params, x);
  seen = cx_div(seen, cx_max(seen, CX_AXES(0, 2, 3), .keepdims = true));
  return picture_save(tiles_new(seen, 3), path);
}

int main(int argc, char **argv) {
  cx_ctx *ctx = cx_open("cpu");
  cx x, labels, test_x, test_labels;
  cx_unpack(digits(cx_key(1), TRAIN), &labels, &x);
  cx_unpack(digits(cx_key(2), TEST), &test_labels, &test_x);
  cx params = init(cx_key(42));
  printf("%lld parameters\n", (long long)nn_count(params));
  cx state = cx_keep(cx_dict("params", params, "opt", adam_init(params)));
  cx_fn train = cx_jit(CX_FN(epoch), .donate = CX_ARGS(0));
  cx_fn judge = cx_jit(CX_FN(accuracy));
  double right = 0;
  for (int i = 0; i < EPOCHS && cx_ok(); i++) {
    CX_SCOPE;
    cx next, value;
    cx_unpack(cx_call(train, state, x, labels, cx_fold(cx_key(0), i)), &next,
              &value);
    cx_swap(&state, next);
    right =
        cx_item(cx_call(judge, cx_get(state, "params"), test_x, test_labels));
    printf("epoch %d  loss %.4f  accuracy %.4f\n", i, cx_item(value), right);
  }
  bool shown =
      show_features(argc > 1 ? argv[1] : NULL, cx_get(state, "params"), test_x);
  printf("reached: %.1f %% of %d new digits\n", 100 * right, TEST);
  cx_drop(state);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !shown || !(right > 0.97);
}
