/* 09_gru.c - a recurrent language model of letters: scan over time,
 * checkpointed steps, state carried from one segment to the next; then it
 * writes. The text is the King James Bible.
 *   09_gru [TEXT.gz] */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "calx.h"
#include "calx/models/optimizer.h"

enum { BATCH = 32, TIME = 48, WIDTH = 128, EMBED = 32, STEPS = 200 };
enum { LETTERS = 28, WRITE = 240 };

/* Typed trees: p.cell.wx is a name that the compiler checks. */
CX_STRUCT(gru, (cx, wx), (cx, wh), (cx, b), (cx, bn));
CX_STRUCT(lm, (cx, embedding), (gru, cell), (cx, out));

/* -- the model ------------------------------------------------------------- */

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
/* (params, h0 (b, h), ids (b, t + 1)) -> (loss, last h) */
CX_DEF(loss, tree, h0, ids) {
  lm p = cx_as(lm, tree);
  cx labels = cx_index(ids, CX_ALL, CX_FROM(1));
  cx x = cx_take(p.embedding, cx_index(ids, CX_ALL, CX_TO(-1)), 0);
  cx_fn body =
      cx_checkpoint(CX_BIND_TO(cell, &p.cell), .policy = CX_SAVE_DOTS_NO_BATCH);
  cx last, hs;
  cx_unpack(cx_scan(body, h0, cx_swap_axes(x, 0, 1)), &last, &hs);
  cx logits = cx_einsum("tbh,hv->btv", hs, p.out);
  return cx_tuple(cx_cross_entropy(logits, labels, -1), cx_stop_gradient(last));
}
static cx init(cx key) {
  cx k[4];
  cx_split(key, &k[0], &k[1], &k[2], &k[3]);
  gru c = { .wx = cx_mul(0.15, cx_normal(k[0], CX_F32, EMBED, 3 * WIDTH)),
            .wh = cx_mul(0.09, cx_normal(k[1], CX_F32, WIDTH, 3 * WIDTH)),
            .b = cx_zeros(CX_F32, 3 * WIDTH),
            .bn = cx_zeros(CX_F32, WIDTH) };
  return cx_pack(lm, .embedding = cx_normal(k[2], CX_F32, LETTERS, EMBED),
                 .cell = c,
                 .out = cx_mul(0.09, cx_normal(k[3], CX_F32, WIDTH, LETTERS)));
}
/* state = {params, opt, h} -> (state, loss) */
CX_DEF(step, state, ids, lr) {
  cx p = cx_get(state, "params"), opt = cx_get(state, "opt"), out, grads;
  cx_fn f = cx_value_and_grad(CX_FN(loss), .has_aux = true);
  cx_unpack(cx_call(f, p, cx_get(state, "h"), ids), &out, &grads);
  grads = clip_by_global_norm(grads, 1, NULL);
  adam_update(p, grads, opt, lr, (adam_options){ 0 }, &p, &opt);
  return cx_tuple(cx_dict("params", p, "opt", opt, "h", cx_nth(out, 1)),
                  cx_nth(out, 0));
}

/* -- writing ----------------------------------------------------------------- */

CX_STRUCT(writer, (cx, params), (double, sharpness));
/* carry = (h (h), letter), a key for each step -> (carry, letter) */
CX_DEF_ENV(write_one, writer, e, carry, key) {
  lm p = cx_as(lm, e->params);
  cx h, letter;
  cx_unpack(carry, &h, &letter);
  h = cx_nth(cell(&p.cell, h, cx_take(p.embedding, letter, 0)), 0);
  cx logits = cx_mul(e->sharpness, cx_matmul(h, p.out));
  letter = cx_categorical(key, logits);
  return cx_tuple(cx_tuple(h, letter), letter);
}
CX_DEF(written, params, key) { /* after a full stop */
  cx start = cx_tuple(cx_zeros(CX_F32, WIDTH), cx_scalar(27, CX_I32));
  cx_fn one = CX_BIND(write_one, .params = params, .sharpness = 1.5);
  return cx_nth(cx_scan(one, start, cx_split_n(key, WRITE)), 1);
}

/* -- the text ------------------------------------------------------------------ */

static const char alphabet[] = " abcdefghijklmnopqrstuvwxyz.";

/* Numbers of letters: what is none, in a row, is one space, the end of a
 * sentence a full stop. NULL if the file cannot be read. */
static int32_t *read_text(const char *path, size_t *out_n) {
  enum { MOST = 4 << 20 };
  gzFile file = gzopen(path, "rb");
  int32_t *ids = malloc(MOST * sizeof *ids);
  size_t n = 0;
  for (int c; file && ids && n < MOST && (c = gzgetc(file)) != -1;) {
    c = isalpha(c) ? tolower(c) - 'a' + 1 : strchr(".?!", c) ? 27 : 0;
    if (c || (n && ids[n - 1])) ids[n++] = c;
  }
  if (file) gzclose(file);
  *out_n = n;
  if (n > (size_t)BATCH * (TIME + 1)) return ids;
  free(ids);
  return NULL;
}
/* Row b of the batch reads from its own place on, one segment after the other,
 * which starts with the last letter of the one before. */
static cx segment(const int32_t *ids, size_t n, int step) {
  static int32_t rows[BATCH][TIME + 1];
  for (size_t b = 0; b < BATCH; b++)
    for (size_t t = 0; t <= TIME; t++)
      rows[b][t] = ids[(b * (n / BATCH) + (size_t)step * TIME + t) % n];
  return cx_from(rows[0], BATCH, TIME + 1);
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "examples/data/kjv.txt.gz";
  size_t n;
  int32_t *ids = read_text(path, &n);
  if (!ids) {
    fprintf(stderr, "%s is no text to learn from\n", path);
    return 1;
  }
  cx_ctx *ctx = cx_open("cpu");
  cx params = init(cx_key(3));
  cx state = cx_keep(cx_dict("params", params, "opt", adam_init(params), "h",
                             cx_zeros(CX_F32, BATCH, WIDTH)));
  cx_fn train = cx_jit(CX_FN(step), .donate = CX_ARGS(0));
  double mean = log(LETTERS);
  for (int i = 0; i < STEPS && cx_ok(); i++) {
    CX_SCOPE;
    cx next, value;
    double lr = schedule_cosine(6e-3, 20, STEPS, 1e-4, i);
    cx_unpack(cx_call(train, state, segment(ids, n, i), lr), &next, &value);
    cx_swap(&state, next);
    mean += 0.05 * (cx_item(value) - mean);
    if (i % 50 == 0) printf("step %3d  %.3f bits a letter\n", i, mean / log(2));
  }
  int32_t letters[WRITE] = { 0 };
  cx_read(cx_call(cx_jit(CX_FN(written)), cx_get(state, "params"), cx_key(5)),
          letters, WRITE);
  for (int i = 0; i < WRITE; i++) putchar(alphabet[letters[i]]);
  printf("\nreached: %.2f bits a letter\n", mean / log(2));
  cx_drop(state);
  free(ids);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !(mean / log(2) < 2.4);
}
