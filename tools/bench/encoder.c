/* encoder.c - group B: BERT, and the parameters of all groups that use it. */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"

static const bench_bert_size sizes[] = {
  { "bert-base", 30522, 768, 12, 12, 3072 },
  { "minilm-l6", 30522, 384, 6, 12, 1536 },
  { "bert-mini4", 8192, 256, 4, 4, 1024 },
};
enum { POSITIONS = 512, TYPES = 2 };

const bench_bert_size *bench_bert_find(const char *name) {
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (!strcmp(sizes[i].name, name)) return &sizes[i];
  return NULL;
}
bert_config bench_bert_config(const bench_bert_size *s) {
  return (bert_config){ .vocab_size = s->vocabulary,
                        .hidden_size = s->hidden,
                        .num_hidden_layers = s->layers,
                        .num_attention_heads = s->heads,
                        .intermediate_size = s->inner,
                        .max_position_embeddings = POSITIONS,
                        .type_vocab_size = TYPES,
                        .pad_token_id = -1,
                        .layer_norm_eps = 1e-12,
                        .hidden_act = "gelu" };
}

/* -- parameters: published names here, the recorded data's names in draws ---- */

typedef struct drawing {
  cx tree;
  bool specs;
} drawing;

/* Uniform in (-0.035, 0.035), as (n) or (n, m). */
static cx drawn(const drawing *d, const char *name, cx_dims shape) {
  return d->specs ? cx_spec_(CX_F32, shape, CX_AT)
                  : bench_uniform_(name, 0.035, shape);
}
static cx filled(const drawing *d, double value, int64_t n) {
  return d->specs ? cx_spec(CX_F32, n) : cx_full(value, CX_F32, n);
}
static void table(drawing *d, const char *path, const char *name, int64_t n,
                  int64_t m) {
  d->tree = cx_put(d->tree, drawn(d, name, CX_SHAPE(n, m)), "%s", path);
}
static void norm(drawing *d, const char *path, int64_t n) {
  d->tree = cx_put(d->tree, filled(d, 1, n), "%s.weight", path);
  d->tree = cx_put(d->tree, filled(d, 0, n), "%s.bias", path);
}
/* Drawn as (in, out), kept as (out, in). */
static void linear(drawing *d, const char *path, const char *name, int64_t in,
                   int64_t out) {
  char names[2][64];
  snprintf(names[0], sizeof names[0], "%s.w", name);
  snprintf(names[1], sizeof names[1], "%s.b", name);
  cx w = d->specs ? cx_spec(CX_F32, out, in)
                  : cx_transpose(bench_uniform(names[0], 0.035, in, out), 1, 0);
  d->tree = cx_put(d->tree, w, "%s.weight", path);
  d->tree = cx_put(d->tree, drawn(d, names[1], CX_SHAPE(out)), "%s.bias", path);
}
static void layer(drawing *d, const bench_bert_size *s, int i) {
  static const struct {
    const char *path, *name;
    bool wide_in, wide_out;
  } parts[] = {
    { "attention.self.query", "q", false, false },
    { "attention.self.key", "k", false, false },
    { "attention.self.value", "v", false, false },
    { "attention.output.dense", "o", false, false },
    { "intermediate.dense", "ff1", false, true },
    { "output.dense", "ff2", true, false },
  };
  char path[96], name[32];
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
    snprintf(path, sizeof path, "encoder.layer.%d.%s", i, parts[k].path);
    snprintf(name, sizeof name, "l%d.%s", i, parts[k].name);
    linear(d, path, name, parts[k].wide_in ? s->inner : s->hidden,
           parts[k].wide_out ? s->inner : s->hidden);
  }
  snprintf(path, sizeof path, "encoder.layer.%d.attention.output.LayerNorm", i);
  norm(d, path, s->hidden);
  snprintf(path, sizeof path, "encoder.layer.%d.output.LayerNorm", i);
  norm(d, path, s->hidden);
}
cx bench_bert_params(const bench_bert_size *s, bool head, bool specs) {
  drawing d = { cx_none(), specs };
  table(&d, "embeddings.word_embeddings.weight", "emb.word", s->vocabulary,
        s->hidden);
  table(&d, "embeddings.position_embeddings.weight", "emb.pos", POSITIONS,
        s->hidden);
  table(&d, "embeddings.token_type_embeddings.weight", "emb.type", TYPES,
        s->hidden);
  norm(&d, "embeddings.LayerNorm", s->hidden);
  for (int i = 0; i < s->layers; i++) layer(&d, s, i);
  if (head) {
    linear(&d, "head.dense", "mlm", s->hidden, s->hidden);
    norm(&d, "head.LayerNorm", s->hidden);
    d.tree = cx_put(d.tree, filled(&d, 0, s->vocabulary), "head.bias");
  }
  return d.tree;
}

/* -- inference ---------------------------------------------------------------- */

CX_DEF_ENV(encode, bert_config, c, params, ids, mask) {
  return bert_encode(c, params, ids, cx_none(), mask, cx_none(), cx_none());
}
/* Row b has all s tokens, or s - (37 b + 11) mod s. */
static cx lengths(int64_t b, int64_t s, bool ragged) {
  cx rows = cx_arange(0, b, 1, CX_I32);
  cx missing = cx_mod(cx_add(cx_mul(rows, 37), 11), s);
  return ragged ? cx_sub(s, missing) : cx_full(s, CX_I32, b);
}
static cx mask_of(cx n, int64_t s) {
  return cx_lt(cx_arange(0, s, 1, CX_I32), cx_expand(n, 1));
}
/* The mean over rows of the mean size of their real tokens. */
static cx mean_of_rows(cx y, const bench_work *w) {
  cx mask = cx_cast(w->args[2], CX_F64);
  cx per_token = cx_mean(cx_abs(cx_cast(y, CX_F64)), -1);
  cx sums = cx_sum(cx_mul(per_token, mask), -1);
  return cx_mean(cx_div(sums, cx_sum(mask, -1)));
}
static void make(const bench_case *c, bench_work *w) {
  const bench_bert_size *s = bench_bert_find(c->text);
  bert_config config = bench_bert_config(s);
  cx params = bench_bert_params(s, false, false);
  cx mask = mask_of(lengths(c->b, c->m, c->k), c->m);
  *w = (bench_work){ .f = CX_BIND_TO(encode, &config),
                     .args = { cx_tree_cast(params, c->type),
                               bench_integers("ids", (uint32_t)s->vocabulary,
                                              c->b, c->m),
                               mask },
                     .n_args = 3,
                     .value = BENCH_OWN,
                     .own_value = mean_of_rows,
                     .least = 3,
                     .seconds = 1.5 };
}
#define SHAPE(model, type, name, b, s)                                      \
  { "bert_infer/" model "/" type "/" #b "x" #s "/full",                     \
    make,                                                                   \
    b,                                                                      \
    s,                                                                      \
    0,                                                                      \
    0,                                                                      \
    name,                                                                   \
    model },                                                                \
  {                                                                         \
    "bert_infer/" model "/" type "/" #b "x" #s "/ragged", make, b, s, 0, 1, \
        name, model                                                         \
  }
#define MODEL(model, type, name)                                           \
  SHAPE(model, type, name, 1, 16), SHAPE(model, type, name, 1, 128),       \
      SHAPE(model, type, name, 8, 128), SHAPE(model, type, name, 32, 128), \
      SHAPE(model, type, name, 1, 512)
static const bench_case cases[] = {
  MODEL("bert-base", "f32", CX_F32),
  MODEL("minilm-l6", "f32", CX_F32),
  MODEL("bert-base", "bf16", CX_BF16),
  MODEL("minilm-l6", "bf16", CX_BF16),
};
const bench_group bench_encoder = { 'B', "BERT", cases,
                                    sizeof cases / sizeof *cases };
