/* 10_vae.c - a variational autoencoder (Kingma & Welling 2014,
 * arXiv:1312.6114) of handwritten digits: one image at a time, batched by vmap;
 * an epoch is one compiled loop. As JAX's mnist_vae.py.
 *   10_vae [PICTURE.png]   images, what is left of them, and new ones */
#include <stdio.h>
#include "calx.h"
#include "calx/models/optimizer.h"
#include "digits.h"
#include "picture.h"

enum { HIDDEN = 256, LATENT = 10, PIXELS = DIGITS_PIXELS };
enum { TRAIN = 4096, BATCH = 64, BATCHES = TRAIN / BATCH, EPOCHS = 16 };

CX_STRUCT(linear, (cx, weight), (cx, bias));
CX_STRUCT(vae, (linear, enc), (linear, mu), (linear, logvar), (linear, dec),
          (linear, out));

static cx apply(linear l, cx x) {
  return cx_add(cx_matmul(x, l.weight), l.bias);
}
static linear linear_init(cx key, int in, int out) {
  cx scale = cx_sqrt(cx_scalar(1.0 / in, CX_F32));
  return (linear){ .weight = cx_mul(scale, cx_normal(key, CX_F32, in, out)),
                   .bias = cx_zeros(CX_F32, out) };
}
static cx init(cx key) {
  cx k[5];
  cx_split(key, &k[0], &k[1], &k[2], &k[3], &k[4]);
  return cx_pack(vae, .enc = linear_init(k[0], PIXELS, HIDDEN),
                 .mu = linear_init(k[1], HIDDEN, LATENT),
                 .logvar = linear_init(k[2], HIDDEN, LATENT),
                 .dec = linear_init(k[3], LATENT, HIDDEN),
                 .out = linear_init(k[4], HIDDEN, PIXELS));
}

/* -- the model: x (784) of 0 and 1, z (10) ------------------------------------ */

static void encode(vae p, cx x, cx *out_mu, cx *out_logvar) {
  cx h = cx_relu(apply(p.enc, x));
  *out_mu = apply(p.mu, h);
  *out_logvar = apply(p.logvar, h);
}
static cx decode(vae p, cx z) { /* logits of the pixels */
  return apply(p.out, cx_relu(apply(p.dec, z)));
}
static cx bernoulli_log_prob(cx logits, cx x) {
  cx sign = cx_where(cx_gt(x, 0.5), -1.0, 1.0);
  return cx_neg(cx_sum(cx_softplus(cx_mul(sign, logits))));
}
/* KL(N(mu, e^logvar) || N(0, 1)) */
static cx divergence(cx mu, cx logvar) {
  cx parts = cx_sub(cx_add(cx_square(mu), cx_exp(logvar)), cx_add(1, logvar));
  return cx_mul(0.5, cx_sum(parts));
}
/* One image: a lower bound of its log probability. */
CX_DEF(elbo, tree, x, key) {
  vae p = cx_as(vae, tree);
  cx mu, logvar;
  encode(p, x, &mu, &logvar);
  cx eps = cx_normal(key, CX_F32, LATENT);
  cx z = cx_add(mu, cx_mul(cx_exp(cx_mul(0.5, logvar)), eps));
  return cx_sub(bernoulli_log_prob(decode(p, z), x), divergence(mu, logvar));
}
CX_DEF(loss, p, images, key) {
  cx keys = cx_split_n(key, cx_dim(images, 0));
  cx_fn each = cx_vmap(CX_FN(elbo), .in = { CX_NONE, 0, 0 });
  return cx_neg(cx_mean(cx_call(each, p, images, keys)));
}

/* -- training -------------------------------------------------------------- */

/* carry = (params, opt, images, key, sum of losses). Pixels are drawn anew from
 * their greys in each step. */
CX_DEF(batch_step, i, carry) {
  cx p, opt, images, key, total, k1, k2, value, g;
  cx_unpack(carry, &p, &opt, &images, &key, &total);
  cx_split(cx_fold(key, i), &k1, &k2);
  cx greys = cx_dynamic_slice(images, cx_mul(i, BATCH), BATCH, 0);
  cx x = cx_cast(cx_bernoulli(k1, greys, BATCH, PIXELS), CX_F32);
  cx_unpack(cx_call(cx_value_and_grad(CX_FN(loss)), p, x, k2), &value, &g);
  adam_update(p, g, opt, cx_scalar(1e-3, CX_F32), (adam_options){ 0 }, &p,
              &opt);
  return cx_tuple(p, opt, images, key, cx_add(total, value));
}
CX_DEF(epoch, p, opt, images, key) { /* -> (params, opt, mean loss) */
  cx end = cx_fori(0, BATCHES, CX_FN(batch_step),
                   cx_tuple(p, opt, images, key, 0.0));
  return cx_tuple(cx_nth(end, 0), cx_nth(end, 1),
                  cx_div(cx_nth(end, 4), BATCHES));
}

/* Two rows of images, two of what comes back from the means of their codes, two
 * drawn from the prior. */
CX_DEF(gallery, tree, images, key) {
  vae p = cx_as(vae, tree);
  cx mu, logvar, x = cx_index(images, CX_TO(40));
  encode(p, x, &mu, &logvar);
  cx back = cx_sigmoid(decode(p, mu));
  cx drawn = cx_sigmoid(decode(p, cx_normal(key, CX_F32, 40, LATENT)));
  return cx_reshape(cx_concat(0, x, back, drawn), 6, 20, DIGITS_SIDE,
                    DIGITS_SIDE);
}

int main(int argc, char **argv) {
  cx_ctx *ctx = cx_open("cpu");
  cx labels, images, test;
  cx_unpack(digits(cx_key(1), TRAIN), &labels, &images);
  images = cx_reshape(images, TRAIN, PIXELS);
  cx_unpack(digits(cx_key(2), 1024), &labels, &test);
  test = cx_reshape(cx_round(test), 1024, PIXELS);
  cx params = init(cx_key(3));
  cx state = cx_keep(cx_tuple(params, adam_init(params)));
  cx_fn train = cx_jit(CX_FN(epoch), .donate = CX_ARGS(0, 1));
  for (int i = 0; i < EPOCHS && cx_ok(); i++) {
    CX_SCOPE;
    cx p, opt, value;
    cx_unpack(cx_call(train, cx_nth(state, 0), cx_nth(state, 1), images,
                      cx_fold(cx_key(4), i)),
              &p, &opt, &value);
    cx_swap(&state, cx_tuple(p, opt));
    if (i % 5 == 0)
      printf("epoch %2d  %.2f nats an image\n", i, cx_item(value));
  }
  params = cx_nth(state, 0);
  double bound =
      -cx_item(cx_call(cx_jit(CX_FN(loss)), params, test, cx_key(5)));
  bool shown = picture_save(tiles_new(gallery(params, test, cx_key(6)), 2),
                            argc > 1 ? argv[1] : NULL);
  printf("reached: log p(x) >= %.1f nats of new images\n", bound);
  cx_drop(state);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !shown || !(bound > -130);
}
