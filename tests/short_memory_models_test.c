/* short_memory_models_test.c - models, optimizers and tokenizers with every
 * allocation failing. */
#include "support/faults.h"

#include <stdlib.h>

#include "calx/models/bert.h"
#include "calx/models/nn.h"
#include "calx/models/optimizer.h"
#include "calx/models/sentence.h"
#include "calx/models/transformer_xl.h"
#include "calx/models/wordpiece.h"

/* -- nn.h ------------------------------------------------------------------ */

static cx image(void) {
  return cx_reshape(cx_linspace(-1, 1, 32, CX_F32), 1, 2, 4, 4);
}
static cx convnet(void) {
  const cx params = nn_convnet_init(cx_key(1), CX_SHAPE(2, 3), 2);
  return cx_tuple(params, nn_convnet(params, image()));
}
static cx layers(void) {
  const cx k = cx_key(2), x = cx_linspace(-1, 1, 4, CX_F32);
  const cx norm = nn_layer_norm_init(4), table = nn_embedding_init(k, 3, 4, 1);
  const cx y = nn_linear(nn_linear_init(k, 4, 4, 1), x);
  return cx_tuple(nn_layer_norm(norm, y, 1e-5), nn_activation("gelu_new", y),
                  nn_embedding(table, cx_array(int32_t, 0, 2)),
                  nn_glorot(k, 2, 2), nn_he(k, 2, 2), (int)nn_count(table));
}

/* -- optimizer.h ----------------------------------------------------------- */

static cx optimizers(void) {
  const cx p = cx_dict("w", cx_ones(CX_F32, 3), "b", cx_zeros(CX_F32, 2));
  const cx g = cx_full_like(p, 0.5);
  cx norm, adam, moved, velocity, by_momentum;
  const cx clipped = clip_by_global_norm(g, 1, &norm);
  momentum_update(p, clipped, momentum_init(p), cx_lit_f(0.1), 0.9, true,
                  &by_momentum, &velocity);
  adam_update(p, g, adam_init(p), cx_lit_f(0.1),
              (adam_options){ .weight_decay = 0.1 }, &moved, &adam);
  return cx_tuple(norm, by_momentum, velocity, moved, adam,
                  sgd_update(p, g, cx_lit_f(schedule_linear(1, 2, 4, 3))));
}

/* -- bert.h ---------------------------------------------------------------- */

#define BERT "tests/data/reference/bert/model_odd_sizes"
CX_STRUCT(of_bert, (bert_config, model));
CX_DEF_ENV(bert_loss, of_bert, e, params, ids, key) {
  const cx hidden =
      bert_encode(&e->model, params, ids, cx_none(), cx_none(), cx_none(), key);
  return cx_mean(cx_square(hidden));
}
static const bert_config small_bert = { .vocab_size = 7,
                                        .hidden_size = 4,
                                        .num_hidden_layers = 1,
                                        .num_attention_heads = 2,
                                        .intermediate_size = 6,
                                        .max_position_embeddings = 4,
                                        .type_vocab_size = 2,
                                        .pad_token_id = 0,
                                        .layer_norm_eps = 1e-12,
                                        .hidden_dropout_prob = 0.1,
                                        .hidden_act = "gelu",
                                        .checkpoint_layers = true };
static cx bert_trained(void) {
  const cx params = bert_init(&small_bert, cx_key(1), 0.5);
  const cx ids = cx_reshape(cx_array(int32_t, 1, 2, 3), 1, 3);
  const cx_fn loss = CX_BIND(bert_loss, .model = small_bert);
  return cx_call(cx_jit(cx_value_and_grad(loss)), params, ids, cx_key(2));
}
static cx bert_read(void) {
  bert_config c;
  const bool good = bert_config_load(BERT, &c);
  return good ? bert_load(&c, BERT) : (cx){ 0, 1 };
}

/* -- transformer_xl.h ------------------------------------------------------ */

#define TXL "tests/data/reference/txl/odd_sizes"
static const txl_config small_txl = { .vocab_size = 9,
                                      .d_model = 4,
                                      .n_head = 2,
                                      .d_head = 2,
                                      .d_inner = 5,
                                      .n_layer = 1,
                                      .mem_len = 3,
                                      .cutoffs = { 1, { 4 } },
                                      .div_val = 2,
                                      .layer_norm_epsilon = 1e-5 };
static cx txl_trained(void) {
  const cx params = txl_init(&small_txl, cx_key(1));
  const cx state = txl_train_init(&small_txl, params, 1);
  const cx ids = cx_reshape(cx_array(int32_t, 1, 7, 3), 1, 3);
  const cx_fn step = CX_BIND(txl_train_step, .model = small_txl, .clip = 0.25);
  return cx_call(cx_jit(step), state, ids, ids, cx_none(),
                 cx_scalar(0.1, CX_F32));
}
static cx txl_generated(void) {
  const cx params = txl_init(&small_txl, cx_key(1));
  const cx mems = txl_init_mems(&small_txl, 1, 3);
  const cx_fn some =
      CX_BIND(txl_generate, .model = small_txl, .length = 3, .temperature = 1);
  return cx_call(cx_jit(some), params, mems, cx_array(int32_t, 1), cx_key(3));
}
static cx txl_read(void) {
  txl_config c;
  return txl_config_load(TXL, &c) ? txl_load(&c, TXL) : (cx){ 0, 1 };
}

/* -- wordpiece.h ----------------------------------------------------------- */

static const char vocabulary[] =
    "tests/data/reference/tokenizer/vocab_cased.txt";
static const char with_added[] =
    "tests/data/reference/tokenizer/tokenizer_added.json";
static const char text[] = "Unaffable na\xc3\xafve \xe4\xbd\xa0 [SEP] x's .";

static cx coded(const wordpiece *w) {
  wordpiece_encoding e;
  if (!wordpiece_encode(w, text, sizeof text - 1, "two", 3, 16,
                        WORDPIECE_LONGEST_FIRST, &e))
    return (cx){ 0, 1 };
  char *back = wordpiece_decode(w, e.ids, e.n, true, true);
  const cx ids = cx_from(e.ids, e.n);
  const cx r = back ? cx_tuple(ids, (int)strlen(back)) : (cx){ 0, 1 };
  free(back);
  wordpiece_encoding_free(&e);
  return r;
}
static cx loaded_and_coded(const char *path) {
  wordpiece *w = wordpiece_load(path, NULL);
  const cx r = w ? coded(w) : (cx){ 0, 1 };
  wordpiece_free(w);
  return r;
}
static cx tokens(void) {
  return loaded_and_coded(vocabulary);
}
static cx added_tokens(void) {
  return loaded_and_coded(with_added);
}

/* -- sentence.h ------------------------------------------------------------ */

static cx encoded(const sentence_model *m) {
  static const char *const texts[] = { "the cat", "", "two words more" };
  float out[3 * 32] = { 0 };
  assert_int_equal(sentence_width(m), 32);
  const bool good =
      sentence_encode(m, 3, texts, NULL, (sentence_options){ .batch = 2 }, out);
  return good ? cx_from(out, 3, 32) : (cx){ 0, 1 };
}
static cx sentences(void) {
  sentence_model *m = sentence_load("examples/data/bert-tiny");
  const cx r = m ? encoded(m) : (cx){ 0, 1 };
  sentence_free(m);
  return r;
}

/* -- tests ----------------------------------------------------------------- */

static const workload workloads[] = {
#define W(name) \
  { #name, name }
  W(convnet),   W(layers),       W(optimizers),    W(bert_trained),
  W(bert_read), W(txl_trained),  W(txl_generated), W(txl_read),
  W(tokens),    W(added_tokens), W(sentences),
#undef W
};

static void models(void **state) {
  (void)state;
  sweep_workloads(workloads, sizeof workloads / sizeof *workloads);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(models) };
  return cmocka_run_group_tests(tests, setup, teardown);
}
