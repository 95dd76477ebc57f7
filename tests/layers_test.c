/* layers_test.c - equal layers are traced and differentiated once, and each
 * keeps its name: a BERT of twelve small layers. */
#include "support/calls.h"

#include "calx/models/bert.h"
#include "trace/call.h"
#include "transforms/transforms.h"

static bert_config small(int layers) {
  return (bert_config){ .vocab_size = 20,
                        .hidden_size = 8,
                        .num_hidden_layers = layers,
                        .num_attention_heads = 2,
                        .intermediate_size = 12,
                        .max_position_embeddings = 10,
                        .type_vocab_size = 2,
                        .layer_norm_eps = 1e-12,
                        .hidden_dropout_prob = 0.1,
                        .attention_dropout_prob = 0.1,
                        .hidden_act = "gelu",
                        .pad_token_id = -1 };
}

CX_DEF_ENV(loss, bert_config, c, params, ids, mask, key) {
  cx hidden = bert_encode(c, params, ids, cx_none(), mask, cx_none(), key);
  return cx_mean(cx_square(hidden));
}

static cx ids_of(void) {
  return cx_reshape(cx_array(int32_t, 1, 5, 3, 7, 19, 2, 8, 11), 2, 4);
}
static cx mask_of(void) {
  return cx_reshape(cx_array(int32_t, 1, 1, 1, 1, 1, 1, 1, 0), 2, 4);
}

/* -- counts --------------------------------------------------------------- */

static const char *const transforms[] = { "jvp",          "linearize",
                                          "partial_eval", "transpose",
                                          "batch",        "vjp",
                                          "select",       "narrow" };
enum { N_TRANSFORMS = sizeof transforms / sizeof *transforms };

/* How often programs were made, tables being empty before. */
typedef struct counts {
  uint64_t traces, made[N_TRANSFORMS];
} counts;

static counts count(cx_fn (*transform)(cx_fn), int layers, bool checkpoint,
                    cx key) {
  CX_SCOPE;
  bert_config c = small(layers);
  c.checkpoint_layers = checkpoint;
  cx params = bert_init(&c, cx_key(1), 0.1);
  cx ids = ids_of(), mask = mask_of();
  counts before = { 0 }, after = { 0 };
  cxi_resolves_clear();
  cxi_memos_clear();
  before.traces = cxi_resolves_now().traces;
  for (int i = 0; i < N_TRANSFORMS; i++)
    before.made[i] = cxi_memos_now(transforms[i]).misses;
  cx r = cx_call(transform(CX_BIND_TO(loss, &c)), params, ids, mask, key);
  assert_true(cx_leaf_count(r) > 0);
  assert_good();
  after.traces = cxi_resolves_now().traces - before.traces;
  for (int i = 0; i < N_TRANSFORMS; i++)
    after.made[i] = cxi_memos_now(transforms[i]).misses - before.made[i];
  return after;
}

/* Two layers and twelve cost the same number of traces and transforms. */
static void assert_once(cx_fn (*transform)(cx_fn), bool checkpoint, cx key) {
  const counts two = count(transform, 2, checkpoint, key);
  const counts twelve = count(transform, 12, checkpoint, key);
  assert_int_equal(two.traces, twelve.traces);
  for (int i = 0; i < N_TRANSFORMS; i++)
    if (two.made[i] != twelve.made[i])
      fail_msg("%s: %llu for two layers, %llu for twelve", transforms[i],
               (unsigned long long)two.made[i],
               (unsigned long long)twelve.made[i]);
}

static cx_fn gradient(cx_fn f) {
  return cx_grad(f);
}
static cx_fn jitted(cx_fn f) {
  return cx_jit(cx_value_and_grad(f));
}
static cx_fn mapped(cx_fn f) {
  cx_fn g = cx_grad(f);
  return cx_vmap(g, .in = { CX_NONE, CX_NONE, CX_NONE, 0 });
}

static void layers_are_made_once(void **state) {
  (void)state;
  CX_SCOPE;
  assert_once(gradient, false, cx_none());
  assert_once(gradient, false, cx_key(3));
  assert_once(jitted, false, cx_key(3));
  assert_once(gradient, true, cx_key(3));
  assert_once(mapped, false, cx_split_n(cx_key(3), 2));
}

/* The layer itself, called twice at the same types, by its own numbers: one
 * forward rule, one cut, one transpose. */
CX_DEF(layer, w, x) {
  return cx_tanh(cx_mul(w, x));
}
CX_DEF(twelve, ws, x) {
  for (int i = 0; i < 12; i++) {
    CX_NAMED("layer.%d", i);
    x = cx_call(CX_FN(layer), cx_nth(ws, i), x);
  }
  return cx_sum(x);
}

static cx twelve_weights(void) {
  cx items[12];
  for (int i = 0; i < 12; i++) items[i] = cx_full(0.5 + i * 0.1, CX_F32, 3);
  return cx_tuple_n(12, items);
}

static void one_rule_per_mask(void **state) {
  (void)state;
  CX_SCOPE;
  cxi_resolves_clear();
  cxi_memos_clear();
  const uint64_t traces = cxi_resolves_now().traces;
  uint64_t before[N_TRANSFORMS];
  for (int i = 0; i < N_TRANSFORMS; i++)
    before[i] = cxi_memos_now(transforms[i]).misses;
  /* x is not differentiated: the first layer has another mask. What is run is
   * simplified, which narrows too: this is only traced. */
  cx_program *g = cx_trace(cx_grad(CX_FN(twelve)), twelve_weights(),
                           cx_ones(CX_F32, 3));
  assert_non_null(g);
  cx_program_free(g);
  assert_good();
  /* grad(twelve), twelve, layer */
  assert_int_equal(cxi_resolves_now().traces - traces, 3);
  for (int i = 0; i < N_TRANSFORMS; i++) {
    const uint64_t made = cxi_memos_now(transforms[i]).misses - before[i];
    /* twelve, and layer under two masks; what is narrowed: the linear parts of
     * these, too */
    const uint64_t most = strcmp(transforms[i], "narrow") == 0 ? 6 : 3;
    if (made > most)
      fail_msg("%s: made %llu times", transforms[i], (unsigned long long)made);
  }
}

/* -- names ---------------------------------------------------------------- */

static void errors_name_the_layer(void **state) {
  (void)state;
  CX_SCOPE;
  bert_config c = small(12);
  cx params = bert_init(&c, cx_key(1), 0.1), ids = ids_of();
  cx wrong = cx_put(params, cx_zeros(CX_F32, 8, 5),
                    "encoder.layer.7.output.dense.weight");
  cx r =
      cx_call(cx_grad(CX_BIND_TO(loss, &c)), wrong, ids, mask_of(), cx_none());
  assert_error(CX_ESHAPE, "\"i\" is 12 and 5 (in layer.7)");
  {
    CX_NAMED("encoder");
    CX_NAMED("layer.%d", 3);
    r = cx_reshape(ids, 3);
  }
  assert_error(CX_ESHAPE, "not [3] (in encoder/layer.3)");
  r = cx_reshape(ids, 3);
  assert_error(CX_ESHAPE, "not [3]");
  (void)r;
}

static void plans_name_the_layers(void **state) {
  (void)state;
  CX_SCOPE;
  bert_config c = small(12);
  cx params = bert_init(&c, cx_key(1), 0.1);
  const char *plan = cx_plan(cx_grad(CX_BIND_TO(loss, &c)), params, ids_of(),
                             mask_of(), cx_none());
  assert_good();
  if (!strstr(plan, "layer.")) fail_msg("no layer in:\n%s", plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(layers_are_made_once),
    cmocka_unit_test(one_rule_per_mask),
    cmocka_unit_test(errors_name_the_layer),
    cmocka_unit_test(plans_name_the_layers),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
