/* optimizer_test.c - optimizers against their formulas and against recorded
 * trainings of 20 steps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "calx/models/bert.h"
#include "calx/models/nn.h"
#include "calx/models/optimizer.h"
#include "calx/models/transformer_xl.h"

#include "support/calls.h"

#ifndef CALX_TEST_DATA
#define CALX_TEST_DATA "tests/data"
#endif

static void fail_on_error(const char *what) {
  const char *message;
  if (cx_error(&message)) fail_msg("%s: %s", what, message);
}
static double at(cx a, int i) {
  return cx_item(cx_index(a, i));
}
static void expect_near(double got, double want, double tolerance) {
  fail_on_error("a result");
  if (!(fabs(got - want) <= tolerance))
    fail_msg("got %.9g, wanted %.9g within %g", got, want, tolerance);
}

/* -- closed forms --------------------------------------------------------- */

static void test_sgd(void **state) {
  (void)state;
  CX_SCOPE;
  cx p = cx_dict("a", cx_array(float, 1, 2), "b", cx_array(float, 3));
  cx g = cx_dict("a", cx_array(float, 0.5f, -1), "b", cx_array(float, 4));
  cx q = sgd_update(p, g, cx_scalar(0.1, CX_F32));
  expect_near(at(cx_get(q, "a"), 0), 0.95, 1e-7);
  expect_near(at(cx_get(q, "a"), 1), 2.1, 1e-6);
  expect_near(at(cx_get(q, "b"), 0), 2.6, 1e-6);
}
/* Broadcasting would give a parameter another shape, or hide a mistake. */
static void test_wrong_gradients(void **state) {
  (void)state;
  CX_SCOPE;
  cx p = cx_dict("a", cx_ones(CX_F32, 2), "b", cx_ones(CX_F32, 4, 3));
  cx lr = cx_scalar(0.1, CX_F32), q, s;
  const cx wrong[] = { cx_ones(CX_F32, 3), cx_ones(CX_F32, 2, 4, 3),
                       cx_ones(CX_F32) };
  for (int i = 0; i < 3; i++) {
    cx g = cx_put(p, wrong[i], "b");
    q = sgd_update(p, g, lr);
    assert_error(CX_ESHAPE, "sgd_update: parameter \"b\" is f32[4,3]");
    momentum_update(p, g, momentum_init(p), lr, 0.9, false, &q, &s);
    assert_error(CX_ESHAPE, "momentum_update: parameter \"b\"");
    adam_update(p, g, adam_init(p), lr, (adam_options){ 0 }, &q, &s);
    assert_error(CX_ESHAPE, "adam_update: parameter \"b\"");
  }
  cx wide = cx_put(p, wrong[0], "b");
  momentum_update(p, p, wide, lr, 0.9, false, &q, &s);
  assert_error(CX_ESHAPE, "is f32[4,3], its velocity f32[3]");
  for (int i = 0; i < 2; i++) {
    s = cx_put(adam_init(p), wide, "%s", i ? "v" : "m");
    adam_update(p, p, s, lr, (adam_options){ 0 }, &q, &s);
    assert_error(CX_ESHAPE, i ? "its v f32[3]" : "its m f32[3]");
  }
  q = sgd_update(p, cx_dict("a", cx_ones(CX_F32, 2)), lr);
  assert_error(CX_ETREE, "the trees differ");
}
/* Two steps with gradient 1: v = 1, then 1.9. */
static void test_momentum(void **state) {
  (void)state;
  CX_SCOPE;
  cx lr = cx_scalar(0.1, CX_F32), g = cx_array(float, 1);
  for (int nesterov = 0; nesterov < 2; nesterov++) {
    cx p = cx_array(float, 1), v = momentum_init(p);
    for (int i = 0; i < 2; i++)
      momentum_update(p, g, v, lr, 0.9, nesterov, &p, &v);
    double want =
        nesterov ? 1 - 0.1 * (1 + 0.9) - 0.1 * (1 + 0.9 * 1.9) : 1 - 0.1 - 0.19;
    expect_near(at(v, 0), 1.9, 1e-6);
    expect_near(at(p, 0), want, 1e-6);
  }
}
/* The first step is lr g / (|g| + eps), whatever the size of g: eps stands
 * after the correction of the second moment. */
static void test_adam_first_step(void **state) {
  (void)state;
  CX_SCOPE;
  static const double g[] = { 1, -0.1, 1e-3, 1e-4, -1e-7, 0 };
  enum { N = sizeof g / sizeof *g };
  const double lr = 0.01, eps = 1e-6, decay = 0.1;
  cx p = cx_full(2, CX_F32, N), grads = cx_cast(cx_from(g, N), CX_F32);
  cx new_p, state_1, plain;
  adam_update(p, grads, adam_init(p), cx_scalar(lr, CX_F32),
              (adam_options){ .eps = eps }, &plain, &state_1);
  adam_update(p, grads, adam_init(p), cx_scalar(lr, CX_F32),
              (adam_options){ .eps = eps, .weight_decay = decay }, &new_p,
              &state_1);
  for (int i = 0; i < N; i++) {
    double step = lr * g[i] / (fabs(g[i]) + eps);
    expect_near(at(plain, i), 2 - step, 1e-6);
    expect_near(at(new_p, i), 2 - step - lr * decay * 2, 1e-6);
  }
  assert_int_equal(cx_item_int(cx_get(state_1, "t")), 1);
}
static void test_adam_decay_mask(void **state) {
  (void)state;
  CX_SCOPE;
  cx p = cx_dict("w", cx_array(float, 1), "b", cx_array(float, 1)), q, s;
  cx mask =
      cx_dict("w", cx_scalar(true, CX_BOOL), "b", cx_scalar(false, CX_BOOL));
  adam_update(p, cx_zeros_like(p), adam_init(p), cx_scalar(0.5, CX_F32),
              (adam_options){ .weight_decay = 0.1, .decay_mask = mask }, &q,
              &s);
  expect_near(at(cx_get(q, "w"), 0), 0.95, 1e-7);
  expect_near(at(cx_get(q, "b"), 0), 1, 0);
}
/* Many steps against the recurrences in double. */
static void test_adam_many_steps(void **state) {
  (void)state;
  double p = 0.3, m = 0, v = 0;
  CX_SCOPE;
  cx q = cx_array(float, 0.3f), s = adam_init(q);
  for (int t = 1; t <= 50; t++) {
    double g = cos(t) + p;
    m = 0.8 * m + 0.2 * g, v = 0.95 * v + 0.05 * g * g;
    p -= 0.02 * (m / (1 - pow(0.8, t))) / (sqrt(v / (1 - pow(0.95, t))) + 1e-8);
    adam_update(q, cx_add(cos(t), q), s, cx_scalar(0.02, CX_F32),
                (adam_options){ .b1 = 0.8, .b2 = 0.95 }, &q, &s);
  }
  expect_near(at(q, 0), p, 1e-5);
}
/* lr is f32, as a number given to cx_call is; parameters keep their dtypes. */
static void test_dtypes(void **state) {
  (void)state;
  CX_SCOPE;
  const cx_dtype types[] = { CX_F16, CX_BF16, CX_F32, CX_F64 };
  cx p[4], g[4];
  for (int i = 0; i < 4; i++) {
    p[i] = cx_full(1, types[i], 2), g[i] = cx_full(3, types[i], 2);
  }
  cx ps = cx_tuple_n(4, p), gs = cx_tuple_n(4, g), lr = cx_scalar(0.25, CX_F32);
  cx norm, sgd = sgd_update(ps, gs, lr), momentum, adam, v = momentum_init(ps);
  cx s = adam_init(ps), clipped = clip_by_global_norm(gs, 1, &norm);
  momentum_update(ps, gs, v, lr, 0.5, false, &momentum, &v);
  adam_update(ps, gs, s, lr, (adam_options){ 0 }, &adam, &s);
  expect_near(cx_item(norm), sqrt(72), 1e-12);
  for (int i = 0; i < 4; i++) {
    expect_near(at(cx_nth(sgd, i), 0), 0.25, 0);
    expect_near(at(cx_nth(momentum, i), 0), 0.25, 0);
    expect_near(at(cx_nth(adam, i), 0), 0.75, 0.01);
    expect_near(at(cx_nth(clipped, i), 0), 3 / sqrt(72), 0.01);
    assert_int_equal(cx_type(cx_nth(adam, i)), types[i]);
    assert_int_equal(cx_type(cx_nth(clipped, i)), types[i]);
  }
  /* f64 is not rounded to f32 on the way */
  expect_near(at(cx_nth(adam, 3), 0), 1 - 0.25 * 3 / (3 + 1e-8), 1e-15);
  expect_near(at(cx_nth(clipped, 3), 0), 3 / sqrt(72), 1e-15);
  sgd = sgd_update(cx_nth(ps, 3), cx_nth(gs, 3), cx_lit_f(0.1));
  expect_near(at(sgd, 0), 1 - 0.1 * 3, 1e-15);
}
static void test_clip(void **state) {
  (void)state;
  CX_SCOPE;
  cx norm, g = cx_dict("a", cx_array(float, 3), "b", cx_array(float, 0, 4));
  cx cut = clip_by_global_norm(g, 2.5, &norm);
  expect_near(cx_item(norm), 5, 1e-6);
  expect_near(at(cx_get(cut, "a"), 0), 1.5, 1e-6);
  expect_near(at(cx_get(cut, "b"), 1), 2, 1e-6);
  cx whole = clip_by_global_norm(g, 6, NULL);
  expect_near(at(cx_get(whole, "b"), 1), 4, 0);
}
/* sum of the clipped vector, which at 0 is the vector itself */
CX_DEF(clipped_sum, g) {
  return cx_sum(clip_by_global_norm(g, 1, NULL));
}
static void test_clip_of_zero(void **state) {
  (void)state;
  CX_SCOPE;
  cx slope = cx_call(cx_grad(CX_FN(clipped_sum)), cx_zeros(CX_F32, 3));
  for (int i = 0; i < 3; i++) expect_near(at(slope, i), 1, 0);
}
static void test_schedules(void **state) {
  (void)state;
  expect_near(schedule_linear(2, 4, 12, 0), 0, 0);
  expect_near(schedule_linear(2, 4, 12, 3), 1.5, 0);
  expect_near(schedule_linear(2, 4, 12, 4), 2, 0);
  expect_near(schedule_linear(2, 4, 12, 8), 1, 0);
  expect_near(schedule_linear(2, 4, 12, 12), 0, 0);
  expect_near(schedule_linear(2, 0, 10, 0), 2, 0);
  expect_near(schedule_cosine(2, 4, 12, 0, 2), 1, 0);
  expect_near(schedule_cosine(2, 4, 12, 0.5, 4), 2, 0);
  expect_near(schedule_cosine(2, 4, 12, 0.5, 8), 1.25, 1e-15);
  expect_near(schedule_cosine(2, 4, 12, 0.5, 12), 0.5, 0);
  expect_near(schedule_cosine(2, 4, 12, 0.5, 99), 0.5, 0);
  expect_near(schedule_cosine(2, 0, 0, 0.5, 0), 0.5, 0);
}

/* -- recorded trainings --------------------------------------------------- */

typedef struct trajectory {
  const char *folder; /* below reference/ */
  json_t *root, *log;
  double clip;
} trajectory;

static const char *path_of(const char *folder, const char *file) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/reference/%s/%s", CALX_TEST_DATA, folder,
           file);
  return path;
}
static cx read_arrays(const char *folder, const char *file) {
  cx tree = cx_load(path_of(folder, file));
  fail_on_error(folder);
  return tree;
}
static double number(const json_t *object, const char *name) {
  return json_number_value(json_object_get(object, name));
}
static trajectory open_trajectory(const char *folder) {
  json_error_t error;
  json_t *root = json_load_file(path_of(folder, "trajectory.json"), 0, &error);
  if (!root) fail_msg("%s: %s", folder, error.text);
  return (trajectory){ folder, root, json_object_get(root, "log"),
                       number(root, "clip_grad_norm") };
}
static void expect_step(const trajectory *t, int step, cx loss, cx norm) {
  const json_t *line = json_array_get(t->log, (size_t)step);
  double want = number(line, "grad_norm_before_clip");
  expect_near(cx_item(loss), number(line, "loss"), 1e-4);
  expect_near(cx_item(norm), want, 1e-3 * want);
}
static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcmp(text + n - m, end);
}
/* Parameters by name; `drop` are left out, `loose` may be off by 2e-3. */
static void expect_final(const trajectory *t, cx params, cx_rename prefix,
                         const char *drop, const char *loose, double close) {
  const cx_rename rules[] = { { "mems.*", NULL },
                              { "transformer.pos_emb.*", NULL },
                              prefix,
                              { NULL, NULL } };
  cx want = cx_tree_rename(read_arrays(t->folder, "final.safetensors"), rules);
  for (int i = 0; i < cx_leaf_count(want); i++) {
    CX_SCOPE;
    const char *path = cx_leaf_path(want, i);
    if (drop && ends_with(path, drop)) continue;
    cx off = cx_sub(cx_get(params, "%s", path), cx_leaf(want, i));
    double worst = cx_item(cx_max(cx_abs(off)));
    double allowed = loose && ends_with(path, loose) ? 2e-3 : close;
    fail_on_error(path);
    if (!(worst <= allowed)) fail_msg("%s: off by %g", path, worst);
  }
}

static void train_transformer_xl(const char *folder) {
  CX_SCOPE;
  trajectory t = open_trajectory(folder);
  txl_config c;
  txl_config_load(path_of(folder, "config.json"), &c);
  cx params = txl_load(&c, path_of(folder, "model.safetensors"));
  cx all = cx_get(read_arrays(folder, "inputs.safetensors"), "input_ids");
  int64_t q = (int64_t)number(t.root, "segment_length");
  cx none = cx_full(-100, CX_I64, cx_dim(all, 0), 1);
  cx state = txl_train_init(&c, params, cx_dim(all, 0)), loss, norm;
  cx_fn step = cx_jit(CX_BIND(txl_train_step, .model = c, .clip = t.clip),
                      .donate = CX_ARGS(0));
  for (int s = 0; s < (int)json_array_size(t.log); s++) {
    cx ids = cx_index(all, CX_ALL, CX_RANGE(s * q, (s + 1) * q));
    cx targets = cx_concat(1, cx_index(ids, CX_ALL, CX_FROM(1)), none);
    cx_unpack(
        cx_call(step, state, ids, targets, cx_none(), number(t.root, "lr")),
        &state, &loss, &norm);
    expect_step(&t, s, loss, norm);
  }
  expect_final(&t, cx_get(state, "params"), (cx_rename){ "transformer.*", "*" },
               NULL, "r_net.weight", 5e-5);
  json_decref(t.root);
}
static void test_transformer_xl(void **state) {
  (void)state;
  train_transformer_xl("txl/train_adam");
  train_transformer_xl("txl/train_adam_div2");
}

/* BERT with a classifier, AdamW and the linear schedule. */
CX_DEF_ENV(classifier_loss, bert_config, c, params, ids, types, mask, labels) {
  cx hidden = bert_encode(c, params, ids, types, mask, cx_none(), cx_none());
  cx logits =
      nn_linear(cx_get(params, "classifier"), bert_pool(params, hidden));
  return cx_cross_entropy(logits, labels, -100);
}
CX_STRUCT(classifier, (bert_config, model), (double, clip), (double, decay));
CX_DEF_ENV(classifier_step, classifier, e, params, adam, lr, ids, types, mask,
           labels) {
  cx loss, grads, norm;
  cx_fn f = cx_value_and_grad(CX_BIND_TO(classifier_loss, &e->model));
  cx_unpack(cx_call(f, params, ids, types, mask, labels), &loss, &grads);
  grads = clip_by_global_norm(grads, e->clip, &norm);
  adam_update(params, grads, adam, lr,
              (adam_options){ .weight_decay = e->decay }, &params, &adam);
  return cx_tuple(params, adam, loss, norm);
}
static void test_bert(void **state) {
  (void)state;
  CX_SCOPE;
  trajectory t = open_trajectory("bert/train_seqcls");
  bert_config c;
  bert_config_load(path_of(t.folder, "config.json"), &c);
  cx params = bert_load(&c, path_of(t.folder, "model.safetensors"));
  cx head = cx_get(read_arrays(t.folder, "model.safetensors"), "classifier");
  params = cx_put(params, head, "classifier");
  cx in = read_arrays(t.folder, "inputs.safetensors");
  cx adam = adam_init(params), loss, norm;
  double decay = number(t.root, "weight_decay");
  cx_fn step = cx_jit(
      CX_BIND(classifier_step, .model = c, .clip = t.clip, .decay = decay));
  int n = (int)json_array_size(t.log);
  for (int s = 0; s < n; s++) {
    double lr = schedule_linear(number(t.root, "peak_lr"), 5, n, s);
    expect_near(lr, number(json_array_get(t.log, (size_t)s), "lr"), 1e-9);
    cx_unpack(cx_call(step, params, adam, lr, cx_get(in, "input_ids"),
                      cx_get(in, "token_type_ids"),
                      cx_get(in, "attention_mask"), cx_get(in, "labels")),
              &params, &adam, &loss, &norm);
    expect_step(&t, s, loss, norm);
  }
  expect_final(&t, params, (cx_rename){ "bert.*", "*" }, "key.bias", NULL,
               2e-5);
  json_decref(t.root);
}

static int open_cpu(void **state) {
  return (*state = cx_open("cpu", .threads = 2)) ? 0 : -1;
}
static int close_cpu(void **state) {
  cx_close(*state);
  return 0;
}
int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sgd),
    cmocka_unit_test(test_wrong_gradients),
    cmocka_unit_test(test_momentum),
    cmocka_unit_test(test_adam_first_step),
    cmocka_unit_test(test_adam_decay_mask),
    cmocka_unit_test(test_adam_many_steps),
    cmocka_unit_test(test_dtypes),
    cmocka_unit_test(test_clip),
    cmocka_unit_test(test_clip_of_zero),
    cmocka_unit_test(test_schedules),
    cmocka_unit_test(test_transformer_xl),
    cmocka_unit_test(test_bert),
  };
  return cmocka_run_group_tests_name("optimizer", tests, open_cpu, close_cpu);
}
