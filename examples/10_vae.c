/* 10_vae.c - a variational autoencoder (Kingma & Welling 2014,
 * arXiv:1312.6114): one image at a time, batched by vmap; an epoch is one
 * compiled loop. The images are bars, horizontal or vertical. */
#include <stdio.h>
#include "calx.h"

enum { SIDE = 8, PIXELS = SIDE * SIDE, HIDDEN = 64, LATENT = 4 };
enum { BATCH = 64, BATCHES = 100, EPOCHS = 8 };

CX_STRUCT(linear, (cx, weight), (cx, bias));
CX_STRUCT(vae, (linear, enc), (linear, mu), (linear, logvar), (linear, dec),
          (linear, out));

static cx apply(linear l, cx x) {
  return cx_add(cx_matmul(x, l.weight), l.bias);
}
static linear linear_init(cx key, int in, int out) {
  return (linear){ .weight = cx_mul(0.1, cx_normal(key, CX_F32, in, out)),
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

/* Two bars in one direction: (8, 8) of 0 and 1 */
CX_DEF(picture, key) {
  cx k1, k2;
  cx_split(key, &k1, &k2);
  cx rows = cx_one_hot(cx_randint(k1, 0, SIDE, 2), SIDE, CX_F32);
  cx bars = cx_broadcast_to(cx_max(rows, 0), SIDE, SIDE);
  return cx_where(cx_bernoulli(k2, 0.5, CX_SCALAR), bars, cx_t(bars));
}

static cx bernoulli_log_prob(cx logits, cx x) {
  cx sign = cx_where(cx_gt(x, 0.5), -1.0, 1.0);
  return cx_neg(cx_sum(cx_logaddexp(0.0, cx_mul(sign, logits))));
}
/* One image: a lower bound of its log probability. */
CX_DEF(elbo, tree, image, key) {
  vae p = cx_as(vae, tree);
  cx x = cx_reshape(image, PIXELS);
  cx h = cx_relu(apply(p.enc, x));
  cx mu = apply(p.mu, h), logvar = apply(p.logvar, h);
  cx eps = cx_normal(key, CX_F32, cx_shape(mu));
  cx z = cx_add(mu, cx_mul(cx_exp(cx_mul(0.5, logvar)), eps));
  cx logits = apply(p.out, cx_relu(apply(p.dec, z)));
  cx kl = cx_mul(-0.5, cx_sum(cx_sub(cx_add(1.0, logvar),
                                     cx_add(cx_square(mu), cx_exp(logvar)))));
  return cx_sub(bernoulli_log_prob(logits, x), kl);
}
CX_DEF(loss, p, images, key) {
  cx keys = cx_split_n(key, cx_dim(images, 0));
  cx_fn batched = cx_vmap(CX_FN(elbo), .in = { CX_NONE, 0, 0 });
  return cx_neg(cx_mean(cx_call(batched, p, images, keys)));
}
/* carry = (params, key, sum of losses) */
CX_DEF(batch_step, i, carry) {
  cx p, key, total, k1, k2, value, g;
  cx_unpack(carry, &p, &key, &total);
  cx_split(cx_fold(key, i), &k1, &k2);
  cx images = cx_call(cx_vmap(CX_FN(picture)), cx_split_n(k1, BATCH));
  cx_unpack(cx_call(cx_value_and_grad(CX_FN(loss)), p, images, k2), &value, &g);
  return cx_tuple(cx_sub(p, cx_mul(0.1, g)), key, cx_add(total, value));
}
CX_DEF(epoch, p, key) { /* -> (params, mean loss) */
  cx end = cx_fori(0, BATCHES, CX_FN(batch_step), cx_tuple(p, key, 0.0));
  return cx_tuple(cx_nth(end, 0), cx_div(cx_nth(end, 2), BATCHES));
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx params = cx_keep(init(cx_key(1)));
  cx_fn train = cx_jit(CX_FN(epoch), .donate = CX_ARGS(0));
  double first = 0, last = 0;
  for (int i = 0; i < EPOCHS && cx_ok(); i++) {
    CX_SCOPE;
    cx next, value;
    cx_unpack(cx_call(train, params, cx_fold(cx_key(2), i)), &next, &value);
    cx_swap(&params, next);
    last = cx_item(value);
    if (i == 0) first = last;
    printf("epoch %d  -log p(x) <= %.2f nats\n", i, last);
  }
  cx_drop(params);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !(last < 0.75 * first);
}
