/* training.c - groups C and K: steps of masked language modelling with BERT
 * (Devlin et al. 2018, arXiv:1810.04805), their time and their memory. */
#include "bench/training.h"

#include "bench/bench.h"
#include "calx/models/nn.h"
#include "calx/models/optimizer.h"

/* Cross entropy at all positions, weighted. */
CX_DEF_ENV(loss, bert_config, c, params, ids, labels, weights) {
  cx x =
      bert_encode(c, params, ids, cx_none(), cx_none(), cx_none(), cx_none());
  cx head = cx_get(params, "head");
  x = cx_gelu(nn_linear(cx_get(head, "dense"), x));
  x = cx_layer_norm(x, cx_get(head, "LayerNorm.weight"),
                    cx_get(head, "LayerNorm.bias"), .eps = 1e-12);
  cx words = cx_get(params, "embeddings.word_embeddings.weight");
  cx logits = cx_add(cx_einsum("bsh,vh->bsv", x, words), cx_get(head, "bias"));
  cx missed = cx_sub(cx_logsumexp(logits, -1), cx_pick(logits, labels));
  return cx_div(cx_sum(cx_mul(missed, weights)), cx_sum(weights));
}
CX_DEFINE_ENV(bench_train_step, bert_config, c, params, adam, ids, labels,
              weights) {
  cx value, grads;
  cx_fn f = cx_value_and_grad(CX_BIND_TO(loss, c));
  cx_unpack(cx_call(f, params, ids, labels, weights), &value, &grads);
  adam_update(params, grads, adam, cx_scalar(1e-4, CX_F32),
              (adam_options){ .weight_decay = 0.01 }, &params, &adam);
  return cx_tuple(params, adam, value);
}
/* The loss is the last leaf: after parameters and Adam's {m, t, v}. */
static void make(const bench_case *c, bench_work *w) {
  const bench_bert_size *s = bench_bert_find(c->text);
  const uint32_t words = (uint32_t)s->vocabulary;
  bert_config config = bench_bert_config(s);
  config.checkpoint_layers = c->k;
  cx params = bench_bert_params(s, true, false);
  cx place = cx_arange(0, c->b * c->m, 1, CX_I32);
  cx seventh = cx_eq(cx_mod(place, 7), 3);
  *w = (bench_work){ .f = CX_BIND_TO(bench_train_step, &config),
                     .args = { params, adam_init(params),
                               bench_integers("ids", words, c->b, c->m),
                               bench_integers("labels", words, c->b, c->m),
                               cx_cast(cx_reshape(seventh, c->b, c->m),
                                       CX_F32) },
                     .n_args = 5,
                     .carried = 2,
                     .value = BENCH_LOSSES,
                     .leaf = 3 * cx_leaf_count(params) + 1,
                     .least = 3,
                     .seconds = 4 };
}
static const bench_case cases[] = {
  { "bert_train/bert-mini4/f32/16x128/none", make, 16, 128, 0, 0, CX_F32,
    "bert-mini4" },
  { "bert_train/bert-mini4/f32/16x128/ckpt", make, 16, 128, 0, 1, CX_F32,
    "bert-mini4" },
  { "bert_train/bert-base/f32/4x128/none", make, 4, 128, 0, 0, CX_F32,
    "bert-base" },
  { "bert_train/bert-base/f32/4x128/ckpt", make, 4, 128, 0, 1, CX_F32,
    "bert-base" },
};
const bench_group bench_training = { 'C', "training BERT", cases,
                                     sizeof cases / sizeof *cases };
static const bench_case memory_cases[] = {
  { "memory/bert-base/f32/8x128/none", make, 8, 128, 0, 0, CX_F32,
    "bert-base" },
  { "memory/bert-base/f32/8x128/ckpt", make, 8, 128, 0, 1, CX_F32,
    "bert-base" },
};
const bench_group bench_memory = { 'K', "memory of training", memory_cases,
                                   sizeof memory_cases / sizeof *memory_cases };
