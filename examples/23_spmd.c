/* 23_spmd.c - one program for many shards of the data: each lane of a named
 * axis has its part of the batch, the gradients meet in a mean over the axis.
 * As JAX's spmd_mnist_classifier_fromscratch.py, with lanes of one machine in
 * the place of devices. */
#include <stdio.h>
#include "calx.h"
#include "calx/models/nn.h"
#include "digits.h"

enum { TRAIN = 2048, TEST = 1024, BATCH = 128, SHARDS = 4, EPOCHS = 12 };

CX_DEF(logits, p, x) {
  return nn_linear(cx_get(p, "out"), cx_relu(nn_linear(cx_get(p, "in"), x)));
}
CX_DEF(loss, p, x, labels) {
  return cx_cross_entropy(logits(p, x), labels, -1);
}
static cx descend(cx p, cx grads) {
  return cx_sub(p, cx_mul(0.2, grads));
}

/* What a device runs: x (n, 784) and labels (n) are its own, p is that of all.
 * After the mean no lane differs from another. */
CX_DEF(step_of_one, p, x, labels) {
  cx grads = cx_call(cx_grad(CX_FN(loss)), p, x, labels);
  return descend(p, cx_pmean(grads, "shard"));
}
CX_DEF(sharded_step, p, x, labels) {
  x = cx_reshape(x, SHARDS, BATCH / SHARDS, DIGITS_PIXELS);
  cx_fn all = cx_vmap(CX_FN(step_of_one), .in = { CX_NONE, 0, 0 },
                      .out = { CX_NONE }, .axis_name = "shard");
  return cx_call(all, p, x, cx_reshape(labels, SHARDS, BATCH / SHARDS));
}
CX_DEF(step, p, x, labels) {
  return descend(p, cx_call(cx_grad(CX_FN(loss)), p, x, labels));
}
CX_DEF(accuracy, p, x, labels) {
  cx hit = cx_eq(cx_argmax(logits(p, x), -1), labels);
  return cx_mean(cx_cast(hit, CX_F32));
}

static cx init(cx key) {
  cx k1, k2;
  cx_split(key, &k1, &k2);
  return cx_dict("in", nn_linear_init(k1, DIGITS_PIXELS, 128, 0.05), "out",
                 nn_linear_init(k2, 128, DIGITS_CLASSES, 0.1));
}
static void data(cx key, int64_t n, cx *out_x, cx *out_labels) {
  cx images;
  cx_unpack(digits(key, n), out_labels, &images);
  *out_x = cx_reshape(images, n, DIGITS_PIXELS);
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx x, labels, test_x, test_labels;
  data(cx_key(1), TRAIN, &x, &labels);
  data(cx_key(2), TEST, &test_x, &test_labels);
  cx p = cx_keep(init(cx_key(0)));

  /* A step of the shards is the step of the whole batch, but for rounding. */
  cx_ix some = CX_TO(BATCH);
  cx whole = cx_call(CX_FN(step), p, cx_index(x, some), cx_index(labels, some));
  cx parts = cx_call(CX_FN(sharded_step), p, cx_index(x, some),
                     cx_index(labels, some));
  double apart = cx_item(cx_global_norm(cx_sub(whole, parts)));
  printf("%d shards and the whole batch differ by %s\n", SHARDS,
         apart < 1e-6 ? "less than 1e-6" : "more than 1e-6");

  cx_fn train = cx_jit(CX_FN(sharded_step), .donate = CX_ARGS(0));
  for (int i = 0; i < EPOCHS * (TRAIN / BATCH) && cx_ok(); i++) {
    CX_SCOPE;
    int64_t at = i % (TRAIN / BATCH) * BATCH;
    cx_ix rows = CX_RANGE(at, at + BATCH);
    cx_swap(&p, cx_call(train, p, cx_index(x, rows), cx_index(labels, rows)));
  }
  double right =
      cx_item(cx_call(cx_jit(CX_FN(accuracy)), p, test_x, test_labels));
  printf("reached: %.1f %% of %d new digits, in %d shards\n", 100 * right, TEST,
         SHARDS);
  cx_drop(p);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !(apart < 1e-6) || !(right > 0.9);
}
