/* bert_test.c - models/bert against recorded runs of the published code:
 * hidden states, pooled output, loss, the gradient of every parameter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "calx/calx.h"
#include "calx/models/bert.h"
#include "calx/models/nn.h"
#include "calx/models/optimizer.h"

#define FOLDER "tests/data/reference/bert/"

/* The tolerances of the records' README. */
static const double hidden_tolerance = 1e-5;
static const double loss_tolerance = 1e-5;
static const double grad_tolerance = 1e-4;

static void assert_good(const char *what) {
  const char *message;
  if (cx_error(&message) != CX_OK) fail_msg("%s: %s", what, message);
}

/* -- a case --------------------------------------------------------------- */

typedef struct recorded {
  const char *name;
  bert_config config;
  cx params, inputs, outputs;
} recorded;

static cx part(const recorded *r, const char *file) {
  char path[256];
  snprintf(path, sizeof path, FOLDER "%s/%s", r->name, file);
  cx tree = cx_load(path);
  assert_good(path);
  return tree;
}
static recorded open_case(const char *name) {
  char path[256];
  recorded r = { .name = name };
  snprintf(path, sizeof path, FOLDER "%s", name);
  bert_config_load(path, &r.config);
  assert_good(path);
  r.params = bert_load(&r.config, path);
  assert_good(path);
  r.inputs = part(&r, "inputs.safetensors");
  r.outputs = part(&r, "outputs.safetensors");
  return r;
}
static cx input(const recorded *r, const char *name) {
  return cx_has(r->inputs, "%s", name) ? cx_get(r->inputs, "%s", name)
                                       : cx_none();
}

static double largest(cx a) {
  return cx_item(cx_max(cx_abs(a)));
}
static void check_near(const recorded *r, const char *what, cx got, cx want,
                       double tolerance) {
  double error = largest(cx_sub(got, want));
  assert_good(r->name);
  if (!(error <= tolerance))
    fail_msg("%s: %s differs by %g", r->name, what, error);
}

/* -- what is computed ----------------------------------------------------- */

/* (params, inputs, cotangents) -> (loss, (hidden, pooled)); inputs: ids, types,
 * mask, positions; the loss is the sum of outputs times cotangents. */
CX_DEF_ENV(weighted, bert_config, c, params, inputs, cotangents) {
  cx ids, types, mask, positions;
  cx_unpack(inputs, &ids, &types, &mask, &positions);
  cx hidden = bert_encode(c, params, ids, types, mask, positions, cx_none());
  cx pooled = cx_none();
  cx loss = cx_sum(cx_mul(hidden, cx_get(cotangents, "last_hidden_state")));
  if (cx_has(params, "pooler")) {
    pooled = bert_pool(params, hidden);
    loss = cx_add(loss,
                  cx_sum(cx_mul(pooled, cx_get(cotangents, "pooler_output"))));
  }
  return cx_tuple(loss, cx_tuple(hidden, pooled));
}
static cx inputs_of(const recorded *r) {
  return cx_tuple(input(r, "input_ids"), input(r, "token_type_ids"),
                  input(r, "attention_mask"), input(r, "position_ids"));
}

/* Every gradient, by the largest of its own and of all. */
static void check_grads(const recorded *r, cx grads) {
  cx want = cx_tree_match(grads, part(r, "grads.safetensors"), NULL);
  assert_good(r->name);
  double greatest = 0;
  for (int i = 0; i < cx_leaf_count(want); i++)
    greatest = fmax(greatest, largest(cx_leaf(want, i)));
  for (int i = 0; i < cx_leaf_count(want); i++) {
    cx leaf = cx_leaf(want, i);
    check_near(r, cx_leaf_path(want, i), cx_leaf(grads, i), leaf,
               grad_tolerance * (largest(leaf) + 0.01 * greatest));
  }
}
static void check_case(const char *name, bool jit, bool checkpoint) {
  CX_SCOPE;
  recorded r = open_case(name);
  r.config.checkpoint_layers = checkpoint;
  cx_fn f = cx_value_and_grad(CX_BIND_TO(weighted, &r.config), .has_aux = true);
  if (jit) f = cx_jit(f);
  cx result =
      cx_call(f, r.params, inputs_of(&r), cx_get(r.inputs, "cotangent"));
  assert_good(name);
  cx value, grads, loss, outputs, hidden, pooled;
  cx_unpack(result, &value, &grads);
  cx_unpack(value, &loss, &outputs);
  cx_unpack(outputs, &hidden, &pooled);
  check_near(&r, "last_hidden_state", hidden,
             cx_get(r.outputs, "last_hidden_state"), hidden_tolerance);
  if (!cx_is_none(pooled))
    check_near(&r, "pooler_output", pooled, cx_get(r.outputs, "pooler_output"),
               hidden_tolerance);
  cx want = cx_get(r.outputs, "loss");
  check_near(&r, "loss", loss, want,
             loss_tolerance * (1 + fabs(cx_item(want))));
  check_grads(&r, grads);
}

/* -- training: AdamW, clipping, warm-up, as recorded step by step --------- */

/* The head on top of the pooled output; labels (b). */
static cx classify(const bert_config *c, cx params, cx inputs) {
  cx hidden =
      bert_encode(c, cx_get(params, "bert"), cx_get(inputs, "input_ids"),
                  cx_get(inputs, "token_type_ids"),
                  cx_get(inputs, "attention_mask"), cx_none(), cx_none());
  cx pooled = bert_pool(cx_get(params, "bert"), hidden);
  return nn_linear(cx_get(params, "classifier"), pooled);
}
/* The head of the masked words, tied to their embeddings; labels (b, s). */
static cx predict(const bert_config *c, cx params, cx inputs) {
  cx hidden =
      bert_encode(c, cx_get(params, "bert"), cx_get(inputs, "input_ids"),
                  cx_get(inputs, "token_type_ids"),
                  cx_get(inputs, "attention_mask"), cx_none(), cx_none());
  cx head = cx_get(params, "cls.predictions");
  cx x = cx_gelu(nn_linear(cx_get(head, "transform.dense"), hidden));
  x = nn_layer_norm(cx_get(head, "transform.LayerNorm"), x, c->layer_norm_eps);
  cx words = cx_get(params, "bert.embeddings.word_embeddings.weight");
  return cx_add(cx_einsum("bsh,vh->bsv", x, words), cx_get(head, "bias"));
}
CX_DEF_ENV(head_loss, bert_config, c, params, inputs) {
  cx logits = cx_has(params, "classifier") ? classify(c, params, inputs)
                                           : predict(c, params, inputs);
  return cx_cross_entropy(logits, cx_get(inputs, "labels"), -100);
}
/* (params, adam, inputs, lr, mask) -> (params, adam, loss, gradient norm) */
CX_DEF_ENV(train_step, bert_config, c, params, adam, inputs, lr, mask) {
  cx loss, grads, norm;
  cx_unpack(
      cx_call(cx_value_and_grad(CX_BIND_TO(head_loss, c)), params, inputs),
      &loss, &grads);
  grads = clip_by_global_norm(grads, 1, &norm);
  adam_update(params, grads, adam, lr,
              (adam_options){ .weight_decay = 0.01, .decay_mask = mask },
              &params, &adam);
  return cx_tuple(params, adam, loss, norm);
}

/* Like params: whether a parameter decays. */
static cx decays(cx params, bool all) {
  cx leaves[128];
  const int n = cx_leaf_count(params);
  assert_true(n <= 128);
  for (int i = 0; i < n; i++) {
    const char *path = cx_leaf_path(params, i), *last = strrchr(path, '.');
    const bool no = strstr(path, "LayerNorm") || !strcmp(last, ".bias");
    leaves[i] = cx_full(all || !no, CX_BOOL, cx_shape(cx_leaf(params, i)));
  }
  return cx_unflatten(params, n, leaves);
}
/* Adam turns the rounding noise in the gradient of key.bias, which is 0, into
 * steps: left out, as the records' README says. */
static void check_params(const recorded *r, cx params, const char *file) {
  cx want = cx_tree_match(params, part(r, file), NULL);
  assert_good(file);
  for (int i = 0; i < cx_leaf_count(params); i++)
    if (!strstr(cx_leaf_path(params, i), "self.key.bias"))
      check_near(r, cx_leaf_path(params, i), cx_leaf(params, i),
                 cx_leaf(want, i), 2e-5);
}
static void check_step(const recorded *r, const json_t *entry, cx loss,
                       cx norm) {
  const double want = json_number_value(json_object_get(entry, "loss"));
  const double size =
      json_number_value(json_object_get(entry, "grad_norm_before_clip"));
  if (!(fabs(cx_item(loss) - want) <= 1e-4))
    fail_msg("%s: loss %g, not %g", r->name, cx_item(loss), want);
  if (!(fabs(cx_item(norm) - size) <= 1e-3 * size))
    fail_msg("%s: gradient norm %g, not %g", r->name, cx_item(norm), size);
}
static void check_training(const char *name, bool decay_all) {
  CX_SCOPE;
  char path[256];
  recorded r = { .name = name };
  snprintf(path, sizeof path, FOLDER "%s", name);
  bert_config_load(path, &r.config);
  snprintf(path, sizeof path, FOLDER "%s/trajectory.json", name);
  json_t *root = json_load_file(path, 0, NULL);
  const json_t *log = json_object_get(root, "log");
  assert_int_equal(json_array_size(log), 20);
  cx params = part(&r, "model.safetensors"),
     inputs = part(&r, "inputs.safetensors");
  cx adam = adam_init(params), mask = decays(params, decay_all), loss, norm;
  cx_fn step = cx_jit(CX_BIND_TO(train_step, &r.config));
  for (int i = 0; i < 20; i++) {
    const double lr = schedule_linear(1e-3, 5, 20, i);
    cx_unpack(cx_call(step, params, adam, inputs, lr, mask), &params, &adam,
              &loss, &norm);
    assert_good(name);
    check_step(&r, json_array_get(log, (size_t)i), loss, norm);
    if (i == 4) check_params(&r, params, "after_step_4.safetensors");
  }
  check_params(&r, params, "final.safetensors");
  json_decref(root);
}

/* -- tests ---------------------------------------------------------------- */

static const char *const bare[] = {
  "model_gelu",      "model_gelu_new",
  "model_relu",      "model_silu",
  "model_no_pooler", "model_position_ids",
  "model_mask3d",    "model_fully_masked_row",
  "model_full64",    "model_seq1",
  "model_odd_sizes", "model_relative_key",
  "model_v4_gelu",   "ckpt_npz",
  "ckpt_flax_model",
};
enum { N_BARE = sizeof bare / sizeof *bare };

static void outputs_and_gradients_jitted(void **state) {
  (void)state;
  for (int i = 0; i < N_BARE; i++) check_case(bare[i], true, false);
}
static void outputs_and_gradients_eager(void **state) {
  (void)state;
  for (int i = 0; i < N_BARE; i++) check_case(bare[i], false, false);
}
static void outputs_and_gradients_checkpointed(void **state) {
  (void)state;
  for (int i = 0; i < N_BARE; i++) check_case(bare[i], true, true);
}

/* Checkpoints of models with heads: the encoder's last hidden state. */
static const char *const heads[] = {
  "ckpt_bf16",
  "ckpt_fp16",
  "ckpt_oldnames",
  "ckpt_sharded",
  "mlm",
  "ckpt_tied_missing",
  "ckpt_extra_and_views",
  "ckpt_legacy_bin",
  "seqcls_3",
  "qa",
  "tokcls",
  "pretraining",
};
enum { N_HEADS = sizeof heads / sizeof *heads };

static void every_layout_of_a_checkpoint_loads(void **state) {
  (void)state;
  for (int i = 0; i < N_HEADS; i++) {
    CX_SCOPE;
    recorded r = open_case(heads[i]);
    cx_fn f = cx_jit(CX_BIND_TO(bert_encode, &r.config));
    cx hidden = cx_call(f, r.params, input(&r, "input_ids"),
                        input(&r, "token_type_ids"),
                        input(&r, "attention_mask"), cx_none(), cx_none());
    check_near(
        &r, "hidden state", hidden,
        cx_get(r.outputs, "hidden_states.%d", r.config.num_hidden_layers),
        hidden_tolerance);
  }
}

static void training_follows_the_record(void **state) {
  (void)state;
  check_training("train_seqcls", true);
  check_training("train_mlm", false);
}

static int setup(void **state) {
  *state = cx_open("cpu", .threads = 2);
  return *state ? 0 : -1;
}
static int teardown(void **state) {
  cx_close(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(outputs_and_gradients_jitted),
    cmocka_unit_test(outputs_and_gradients_eager),
    cmocka_unit_test(outputs_and_gradients_checkpointed),
    cmocka_unit_test(every_layout_of_a_checkpoint_loads),
    cmocka_unit_test(training_follows_the_record),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
