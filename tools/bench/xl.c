/* xl.c - group D: Transformer-XL (Dai et al. 2019, arXiv:1901.02860) on
 * characters: steps of training, and generation. */
#include <stdio.h>

#include "bench/bench.h"
#include "calx/models/transformer_xl.h"

enum {
  WORDS = 64,
  WIDTH = 256,
  LAYERS = 4,
  HEADS = 4,
  INNER = 1024,
  TOKENS = 128,
  MEMORY = 128,
  BATCH = 16,
  NEW_TOKENS = 256
};
static const txl_config model = { .vocab_size = WORDS,
                                  .d_model = WIDTH,
                                  .n_head = HEADS,
                                  .d_head = WIDTH / HEADS,
                                  .d_inner = INNER,
                                  .n_layer = LAYERS,
                                  .mem_len = MEMORY,
                                  .layer_norm_epsilon = 1e-5 };

/* Drawn as (in, out), kept as (out, in). */
static cx weight(int layer, const char *part, int64_t in, int64_t out) {
  char name[32];
  snprintf(name, sizeof name, "txl.l%d.%s.w", layer, part);
  return cx_transpose(bench_uniform(name, 0.035, in, out), 1, 0);
}
static cx norm(void) {
  return cx_dict("weight", cx_ones(CX_F32, WIDTH), "bias",
                 cx_zeros(CX_F32, WIDTH));
}
static cx layer(int i) {
  cx qkv =
      cx_concat(0, weight(i, "q", WIDTH, WIDTH), weight(i, "k", WIDTH, WIDTH),
                weight(i, "v", WIDTH, WIDTH));
  cx attention = cx_dict(
      "qkv_net", cx_dict("weight", qkv), "r_net",
      cx_dict("weight", weight(i, "r", WIDTH, WIDTH)), "o_net",
      cx_dict("weight", weight(i, "o", WIDTH, WIDTH)), "layer_norm", norm());
  cx first = cx_dict("weight", weight(i, "ff1", WIDTH, INNER), "bias",
                     cx_zeros(CX_F32, INNER));
  cx second = cx_dict("weight", weight(i, "ff2", INNER, WIDTH), "bias",
                      cx_zeros(CX_F32, WIDTH));
  return cx_dict("dec_attn", attention, "pos_ff",
                 cx_dict("CoreNet", cx_dict("0", first, "3", second),
                         "layer_norm", norm()));
}
static cx params(void) {
  cx p = cx_none();
  p = cx_put(p, bench_uniform("txl.emb", 0.035, WORDS, WIDTH),
             "word_emb.emb_layers.0.weight");
  p = cx_put(p, cx_zeros(CX_F32, WORDS), "crit.out_layers.0.bias");
  for (int i = 0; i < LAYERS; i++) p = cx_put(p, layer(i), "layers.%d", i);
  p = cx_put(p, bench_uniform("txl.u", 0.035, HEADS, WIDTH / HEADS),
             "r_w_bias");
  return cx_put(p, bench_uniform("txl.v", 0.035, HEADS, WIDTH / HEADS),
                "r_r_bias");
}
/* (state, ids, targets) -> (state, loss) */
CX_DEF_ENV(step, txl_training, t, state, ids, targets) {
  cx lr = cx_scalar(2.5e-4, CX_F32);
  cx result = txl_train_step(t, state, ids, targets, cx_none(), lr);
  return cx_tuple(cx_nth(result, 0), cx_nth(result, 1));
}
static void train(const bench_case *c, bench_work *w) {
  (void)c;
  cx state = txl_train_init(&model, params(), BATCH);
  *w =
      (bench_work){ .f = CX_BIND(step, .model = model, .clip = 0.25),
                    .args = { state,
                              bench_integers("txl.ids", WORDS, BATCH, TOKENS),
                              bench_integers("txl.tgt", WORDS, BATCH, TOKENS) },
                    .n_args = 3,
                    .carried = 1,
                    .value = BENCH_LOSSES,
                    .leaf = cx_leaf_count(state),
                    .least = 3,
                    .seconds = 5 };
}
CX_DEF_ENV(generate, txl_sampling, s, p, mems, token) {
  return txl_generate(s, p, mems, token, cx_key(0));
}
CX_DEF_ENV(logits, txl_config, c, p, mems, token) {
  return cx_nth(txl_logits(c, p, mems, cx_expand(token, 1), cx_none()), 0);
}
/* Mean size of the first step's logits. */
static cx first_logits(cx result, const bench_work *w) {
  (void)result;
  cx x =
      cx_call(CX_BIND_TO(logits, &model), w->args[0], w->args[1], w->args[2]);
  return cx_mean(cx_abs(x));
}
static void tokens(const bench_case *c, bench_work *w) {
  (void)c;
  *w = (bench_work){
    .f = CX_BIND(generate, .model = model, .length = NEW_TOKENS),
    .args = { params(), txl_init_mems(&model, 1, MEMORY), cx_zeros(CX_I32, 1) },
    .n_args = 3,
    .value = BENCH_OWN,
    .own_value = first_logits,
    .least = 3,
    .seconds = 3
  };
}
static const bench_case cases[] = {
  { "txl_train/4Ld256/16x128+128", train, 0, 0, 0, 0, CX_F32, "" },
  { "txl_gen/4Ld256/mem128/scan", tokens, 0, 0, 0, 0, CX_F32, "" },
};
const bench_group bench_xl = { 'D', "Transformer-XL", cases,
                               sizeof cases / sizeof *cases };
