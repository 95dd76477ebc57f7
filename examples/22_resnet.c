/* 22_resnet.c - residual blocks (He et al. 2016, arXiv:1512.03385) with batch
 * normalisation, whose running statistics are state beside the parameters; a
 * small form of JAX's resnet50.py, on the digits. */
#include <stdio.h>
#include "calx.h"
#include "calx/models/nn.h"
#include "calx/models/optimizer.h"
#include "digits.h"

enum { TRAIN = 4096, TEST = 1024, BATCH = 64, EPOCHS = 2, BLOCKS = 3 };
static const int widths[BLOCKS + 1] = { 8, 8, 16, 32 };

/* -- batch normalisation: Ioffe & Szegedy 2015, arXiv:1502.03167 ------------------ */

static cx norm_init(int width) {
  return cx_dict("gamma", cx_ones(CX_F32, width), "beta",
                 cx_zeros(CX_F32, width));
}
static cx statistics_init(int width) {
  return cx_dict("mean", cx_zeros(CX_F32, width), "var",
                 cx_ones(CX_F32, width));
}
/* x (n, c, h, w). In training by the statistics of x, which are blended into
 * those kept; else by those. */
static cx normalize(bool training, cx p, cx x, cx *kept) {
  cx now = *kept;
  if (training) {
    now = cx_dict("mean", cx_mean(x, CX_AXES(0, 2, 3)), "var",
                  cx_var(x, CX_AXES(0, 2, 3)));
    *kept = cx_add(cx_mul(0.9, *kept), cx_mul(0.1, cx_stop_gradient(now)));
  }
  cx scale =
      cx_mul(cx_get(p, "gamma"), cx_rsqrt(cx_add(cx_get(now, "var"), 1e-5)));
  cx shift = cx_sub(cx_get(p, "beta"), cx_mul(scale, cx_get(now, "mean")));
  return cx_add(cx_mul(cx_expand(scale, 1, 2), x), cx_expand(shift, 1, 2));
}

/* -- the model ------------------------------------------------------------------- */

static cx conv_init(cx key, int in, int out, int size) { /* without a bias */
  cx p = nn_conv_init(key, in, out, CX_SHAPE(size, size));
  return cx_dict("weight", cx_get(p, "weight"));
}
static cx block_init(cx key, int in, int out) {
  cx k[3];
  cx_split(key, &k[0], &k[1], &k[2]);
  return cx_dict("conv1", conv_init(k[0], in, out, 3), "norm1", norm_init(out),
                 "conv2", conv_init(k[1], out, out, 3), "norm2", norm_init(out),
                 "way", conv_init(k[2], in, out, 1));
}
/* relu(F(x) + W x): F two convolutions, W to F's width and stride */
static cx block(bool training, cx p, cx x, int stride, cx *kept) {
  cx kept1 = cx_nth(*kept, 0), kept2 = cx_nth(*kept, 1);
  cx_dims strides = CX_SHAPE(stride, stride);
  cx h = nn_conv(cx_get(p, "conv1"), x, .strides = strides, .padding = "SAME");
  h = cx_relu(normalize(training, cx_get(p, "norm1"), h, &kept1));
  h = nn_conv(cx_get(p, "conv2"), h, .padding = "SAME");
  h = normalize(training, cx_get(p, "norm2"), h, &kept2);
  *kept = cx_tuple(kept1, kept2);
  cx way = nn_conv(cx_get(p, "way"), x, .strides = strides, .padding = "SAME");
  return cx_relu(cx_add(h, way));
}
CX_STRUCT(mode, (bool, training));
/* x (n, 28, 28) -> (logits (n, 10), statistics) */
CX_DEF_ENV(forward, mode, m, p, kept, x) {
  cx stats[BLOCKS];
  x = nn_conv(cx_get(p, "stem"), cx_expand(x, 1), .strides = CX_SHAPE(2, 2),
              .padding = "SAME");
  for (int i = 0; i < BLOCKS; i++) {
    stats[i] = cx_nth(kept, i);
    x = block(m->training, cx_get(p, "block.%d", i), x, i ? 2 : 1, &stats[i]);
  }
  x = cx_mean(x, CX_AXES(2, 3)); /* over the image */
  return cx_tuple(nn_linear(cx_get(p, "head"), x), cx_tuple_n(BLOCKS, stats));
}
static cx init(cx key) {
  cx blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = block_init(cx_fold(key, i), widths[i], widths[i + 1]);
  return cx_dict(
      "stem", conv_init(cx_fold(key, 10), 1, widths[0], 5), "block",
      cx_tuple_n(BLOCKS, blocks), "head",
      nn_linear_init(cx_fold(key, 11), widths[BLOCKS], DIGITS_CLASSES, 0.1));
}

/* -- training ----------------------------------------------------------------------- */

CX_DEF(loss, p, kept, x, labels) { /* -> (loss, statistics) */
  cx logits;
  cx_unpack(forward(&(mode){ .training = true }, p, kept, x), &logits, &kept);
  return cx_tuple(cx_cross_entropy(logits, labels, -1), kept);
}
/* state = {params, velocity, kept} -> (state, loss) */
CX_DEF(step, state, x, labels, lr) {
  cx p = cx_get(state, "params"), v = cx_get(state, "velocity"), out, grads;
  cx_fn f = cx_value_and_grad(CX_FN(loss), .has_aux = true);
  cx_unpack(cx_call(f, p, cx_get(state, "kept"), x, labels), &out, &grads);
  momentum_update(p, grads, v, lr, 0.9, true, &p, &v);
  return cx_tuple(cx_dict("params", p, "velocity", v, "kept", cx_nth(out, 1)),
                  cx_nth(out, 0));
}
CX_DEF(accuracy, p, kept, x, labels) {
  cx logits = cx_nth(forward(&(mode){ .training = false }, p, kept, x), 0);
  return cx_mean(cx_cast(cx_eq(cx_argmax(logits, -1), labels), CX_F32));
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx x, labels, test_x, test_labels, stats[BLOCKS];
  cx_unpack(digits(cx_key(1), TRAIN), &labels, &x);
  cx_unpack(digits(cx_key(2), TEST), &test_labels, &test_x);
  for (int i = 0; i < BLOCKS; i++)
    stats[i] = cx_tuple(statistics_init(widths[i + 1]),
                        statistics_init(widths[i + 1]));
  cx p = init(cx_key(4));
  printf("%lld parameters\n", (long long)nn_count(p));
  cx state = cx_keep(cx_dict("params", p, "velocity", momentum_init(p), "kept",
                             cx_tuple_n(BLOCKS, stats)));
  cx_fn train = cx_jit(CX_FN(step), .donate = CX_ARGS(0));
  const int batches = TRAIN / BATCH, steps = EPOCHS * batches;
  for (int i = 0; i < steps && cx_ok(); i++) {
    CX_SCOPE;
    int64_t at = i % batches * BATCH;
    cx next, value;
    cx_ix rows = CX_RANGE(at, at + BATCH);
    double lr = schedule_cosine(0.2, 10, steps, 0, i + 1);
    cx_unpack(
        cx_call(train, state, cx_index(x, rows), cx_index(labels, rows), lr),
        &next, &value);
    cx_swap(&state, next);
    if (i % 32 == 0) printf("step %3d  loss %.4f\n", i, cx_item(value));
  }
  double right =
      cx_item(cx_call(cx_jit(CX_FN(accuracy)), cx_get(state, "params"),
                      cx_get(state, "kept"), test_x, test_labels));
  printf("reached: %.1f %% of %d new digits\n", 100 * right, TEST);
  cx_drop(state);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !(right > 0.97);
}
