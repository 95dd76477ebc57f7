/* 16_transformer_xl.c - a language model with a memory, written out: the layer
 * of Dai et al. 2019 (arXiv:1901.02860), Adam, a training loop on characters.
 * calx/models/transformer_xl.h has the whole model, with published weights.
 *
 * b batch, q segment, k memory + segment, m width, n heads, d head size. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "calx.h"

enum { BATCH = 8, SEGMENT = 16, MEMORY = 16, STEPS = 150 };
enum { WIDTH = 32, INNER = 64, LAYERS = 2, LETTERS = 27 };

CX_STRUCT(txl, (int, n), (int, d), (double, clip), (double, b1), (double, b2));

/* Appendix B. x (b, n, q, k): out[i, j] = x[i, j + q-1-i] for j <= i + k-q, the
 * rest is masked later. Pad, view, drop the first row, view. */
CX_DEF(rel_shift, x) {
  int64_t b, n, q, k;
  cx_sizes(x, &b, &n, &q, &k);
  x = cx_pad(x, 0, (0, 0), (0, 0), (0, 0), (1, 0));
  x = cx_index(cx_reshape(x, b, n, k + 1, q), CX_DOTS, CX_FROM(1), CX_ALL);
  return cx_reshape(x, b, n, q, k);
}
/* x (b, q, m), mem (b, k - q, m), r (k, m) -> (b, q, m) */
CX_DEF_ENV(attention, txl, c, p, x, mem, r) {
  cx all = cx_concat(1, mem, x);
  int64_t b, q, m, k = cx_dim(all, 1);
  cx_sizes(x, &b, &q, &m);
  cx heads = cx_matmul(all, cx_get(p, "qkv"));
  cx query, keys, values;
  cx_unpack(cx_split_axis(cx_reshape(heads, b, k, 3 * c->n, c->d), 3, 2),
            &query, &keys, &values);
  query = cx_index(query, CX_ALL, CX_FROM(-q));
  cx rk = cx_reshape(cx_matmul(r, cx_get(p, "r")), k, c->n, c->d);
  cx content =
      cx_einsum("bind,bjnd->bnij", cx_add(query, cx_get(p, "u")), keys);
  cx place = cx_einsum("bind,jnd->bnij", cx_add(query, cx_get(p, "v")), rk);
  cx scores = cx_mul(cx_add(content, rel_shift(place)), 1 / sqrt((double)c->d));
  cx causal = cx_tril(cx_ones(CX_BOOL, q, k), (int)(k - q));
  cx probs = cx_softmax(cx_where(causal, scores, -INFINITY));
  cx out = cx_einsum("bnij,bjnd->bind", probs, values);
  out = cx_matmul(cx_reshape(out, b, q, -1), cx_get(p, "out"));
  return cx_layer_norm(cx_add(x, out), cx_none(), cx_none());
}
CX_DEF(feed_forward, p, x) {
  cx h = cx_relu(cx_matmul(x, cx_get(p, "in")));
  return cx_layer_norm(cx_add(x, cx_matmul(h, cx_get(p, "back"))), cx_none(),
                       cx_none());
}
/* Sines and cosines of the distances k-1, ..., 0 */
static cx distances(int64_t k, int64_t m) {
  cx distance = cx_arange(k - 1, -1, -1, CX_F32);
  cx freq = cx_power(10000.0, cx_div(cx_arange(0, m, 2, CX_F32), -(double)m));
  cx angle = cx_outer(distance, freq);
  return cx_concat(-1, cx_sin(angle), cx_cos(angle));
}
/* (p, mems, ids (b, q + 1)) -> (loss in nats, new mems) */
CX_DEF_ENV(loss, txl, c, p, mems, ids) {
  cx targets = cx_index(ids, CX_ALL, CX_FROM(1)), new_mems[LAYERS];
  cx x = cx_take(cx_get(p, "letters"), cx_index(ids, CX_ALL, CX_TO(-1)), 0);
  cx r = distances(MEMORY + SEGMENT, WIDTH);
  for (int i = 0; i < LAYERS; i++) {
    cx layer = cx_get(p, "layers.%d", i), mem = cx_nth(mems, i);
    new_mems[i] = cx_stop_gradient(
        cx_index(cx_concat(1, mem, x), CX_ALL, CX_FROM(-MEMORY)));
    x = attention(c, layer, x, mem, r);
    x = feed_forward(layer, x);
  }
  cx logits = cx_matmul(x, cx_get(p, "softmax"));
  return cx_tuple(cx_cross_entropy(logits, targets, -1),
                  cx_tuple_n(LAYERS, new_mems));
}

/* Kingma & Ba 2015, arXiv:1412.6980; the operations map over the trees. */
static cx adam(const txl *c, cx p, cx opt, cx g, cx lr) {
  cx m = cx_add(cx_mul(c->b1, cx_get(opt, "m")), cx_mul(1 - c->b1, g));
  cx v =
      cx_add(cx_mul(c->b2, cx_get(opt, "v")), cx_mul(1 - c->b2, cx_square(g)));
  cx t = cx_add(cx_get(opt, "t"), 1), steps = cx_cast(t, CX_F32);
  cx m_hat = cx_div(m, cx_sub(1, cx_power(c->b1, steps)));
  cx v_hat = cx_div(v, cx_sub(1, cx_power(c->b2, steps)));
  p = cx_sub(p, cx_mul(lr, cx_div(m_hat, cx_add(cx_sqrt(v_hat), 1e-8))));
  return cx_tuple(p, cx_dict("m", m, "v", v, "t", t));
}
/* state = {params, opt, mems} -> (state, loss) */
CX_DEF_ENV(step, txl, c, state, ids, lr) {
  cx p = cx_get(state, "params"), aux, grads, value, mems, opt;
  cx_fn vg = cx_value_and_grad(CX_BIND_TO(loss, c), .has_aux = true);
  cx_unpack(cx_call(vg, p, cx_get(state, "mems"), ids), &aux, &grads);
  cx_unpack(aux, &value, &mems);
  cx norm = cx_global_norm(grads);
  grads = cx_mul(grads, cx_minimum(1, cx_div(c->clip, norm)));
  cx_unpack(adam(c, p, cx_get(state, "opt"), grads, lr), &p, &opt);
  return cx_tuple(cx_dict("params", p, "opt", opt, "mems", mems), value);
}

static cx weight(cx key, int in, int out) {
  return cx_mul(1 / sqrt(in), cx_normal(key, CX_F32, in, out));
}
static cx init(const txl *c, cx key) {
  cx layers[LAYERS], k[5];
  int heads = c->n * c->d;
  for (int i = 0; i < LAYERS; i++) {
    cx_split(cx_fold(key, i), &k[0], &k[1], &k[2], &k[3], &k[4]);
    layers[i] = cx_dict(
        "qkv", weight(k[0], WIDTH, 3 * heads), "r", weight(k[1], WIDTH, heads),
        "u", cx_zeros(CX_F32, c->n, c->d), "v", cx_zeros(CX_F32, c->n, c->d),
        "out", weight(k[2], heads, WIDTH), "in", weight(k[3], WIDTH, INNER),
        "back", weight(k[4], INNER, WIDTH));
  }
  cx_split(cx_fold(key, LAYERS), &k[0], &k[1]);
  return cx_dict("letters", cx_normal(k[0], CX_F32, LETTERS, WIDTH), "layers",
                 cx_tuple_n(LAYERS, layers), "softmax",
                 cx_mul(0.1, weight(k[1], WIDTH, LETTERS)));
}

static const char text[] =
    "a row of texts is read in segments and each segment sees the one before "
    "it through the memory of every layer so that a word may lean on what "
    "came long ago the gradient stops at the memory ";

/* Row b of the batch reads the text from its own place on, round and round. */
static void read_segment(int32_t ids[BATCH][SEGMENT + 1], int step) {
  size_t n = strlen(text);
  for (size_t b = 0; b < BATCH; b++)
    for (size_t t = 0; t <= SEGMENT; t++) {
      char letter = text[(b * n / BATCH + (size_t)step * SEGMENT + t) % n];
      ids[b][t] = letter == ' ' ? 26 : letter - 'a';
    }
}

int main(void) {
  const txl config = { .n = 2, .d = 16, .clip = 1, .b1 = 0.9, .b2 = 0.999 };
  cx_ctx *ctx = cx_open("cpu");
  cx p = init(&config, cx_key(0)), mems[LAYERS];
  /* a buffer for each layer: a donated one must not appear twice */
  for (int i = 0; i < LAYERS; i++)
    mems[i] = cx_zeros(CX_F32, BATCH, MEMORY, WIDTH);
  cx opt = cx_dict("m", cx_zeros_like(p), "v", cx_zeros_like(p), "t", 0);
  cx state = cx_keep(
      cx_dict("params", p, "opt", opt, "mems", cx_tuple_n(LAYERS, mems)));
  cx_fn train = cx_jit(CX_BIND_TO(step, &config), .donate = CX_ARGS(0));
  double loss_now = INFINITY;
  for (int i = 0; i < STEPS && cx_ok(); i++) {
    CX_SCOPE;
    int32_t ids[BATCH][SEGMENT + 1];
    read_segment(ids, i);
    cx value, next;
    double lr = 4e-3 * 0.5 * (1 + cos(3.14159265 * i / STEPS));
    cx_unpack(cx_call(train, state, cx_from(ids[0], BATCH, SEGMENT + 1), lr),
              &next, &value);
    cx_swap(&state, next);
    loss_now = cx_item(value);
    if (i % 30 == 0) printf("step %3d  %.3f nats a letter\n", i, loss_now);
  }
  printf("at the end %.3f\n", loss_now);
  cx_drop(state);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !(loss_now < 0.5);
}
