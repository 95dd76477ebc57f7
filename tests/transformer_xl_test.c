/* transformer_xl_test.c - the model against recorded runs of the reference
 * implementation, and the promises of the paper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calx/models/optimizer.h"
#include "calx/models/transformer_xl.h"

#ifndef CALX_TEST_DATA
#define CALX_TEST_DATA "tests/data"
#endif

/* -- recorded cases ------------------------------------------------------- */

static const char *path_of(const char *name, const char *file) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/reference/txl/%s/%s", CALX_TEST_DATA, name,
           file);
  return path;
}
static void fail_on_error(const char *what) {
  const char *message;
  if (cx_error(&message)) fail_msg("%s: %s", what, message);
}
static json_t *read_json(const char *name, const char *file) {
  json_error_t error;
  json_t *root = json_load_file(path_of(name, file), 0, &error);
  if (!root) fail_msg("%s/%s: %s", name, file, error.text);
  return root;
}
static cx read_arrays(const char *name, const char *file) {
  cx tree = cx_load(path_of(name, file));
  fail_on_error(name);
  return tree;
}

typedef struct recorded {
  const char *name;
  txl_config c;
  cx params, ids, labels, outputs;
  int64_t segment, batch;
  bool empty; /* the memory starts with length 0 */
} recorded;

static recorded open_case(const char *name) {
  recorded r = { .name = name };
  json_t *meta = read_json(name, "meta.json");
  r.segment = json_integer_value(json_object_get(meta, "segment_length"));
  r.batch = json_integer_value(json_object_get(meta, "batch"));
  const char *initial =
      json_string_value(json_object_get(meta, "initial_memory"));
  r.empty = initial && strstr(initial, "empty") == initial;
  json_decref(meta);
  txl_config_load(path_of(name, "config.json"), &r.c);
  r.params = txl_load(&r.c, path_of(name, "model.safetensors"));
  cx inputs = read_arrays(name, "inputs.safetensors");
  r.ids = cx_get(inputs, "input_ids");
  r.labels = cx_get(inputs, "labels");
  r.outputs = read_arrays(name, "outputs.safetensors");
  fail_on_error(name);
  return r;
}
static cx first_mems(const recorded *r) {
  return txl_init_mems(&r->c, r->batch, r->empty ? 0 : r->c.mem_len);
}
static cx segment_of(const recorded *r, cx ids, int s) {
  return cx_index(ids, CX_ALL, CX_RANGE(s * r->segment, (s + 1) * r->segment));
}

/* -- comparisons ---------------------------------------------------------- */

static double largest_difference(cx got, cx want) {
  return cx_item(cx_max(cx_abs(cx_sub(got, want))));
}
static void expect_close(cx got, cx want, double tolerance, const char *what) {
  CX_SCOPE;
  double worst = largest_difference(got, want);
  fail_on_error(what);
  if (!(worst <= tolerance))
    fail_msg("%s: off by %g, allowed %g", what, worst, tolerance);
}
static void expect_same_bits(cx got, cx want, const char *what) {
  CX_SCOPE;
  assert_int_equal(cx_leaf_count(got), cx_leaf_count(want));
  for (int i = 0; i < cx_leaf_count(got); i++) {
    cx a = cx_leaf(got, i), b = cx_leaf(want, i);
    const float *x = cx_data(a), *y = cx_data(b);
    fail_on_error(what);
    assert_int_equal(cx_size(a), cx_size(b));
    if (memcmp(x, y, (size_t)cx_size(a) * sizeof *x) != 0)
      fail_msg("%s: other bits in %s", what, cx_leaf_path(got, i));
  }
}
/* Position i predicts token i + 1, the last one nothing. */
static cx targets_of(const recorded *r, int s) {
  cx none = cx_full(-100, CX_I64, r->batch, 1);
  cx labels = segment_of(r, r->labels, s);
  return cx_concat(1, cx_index(labels, CX_ALL, CX_FROM(1)), none);
}

/* -- hidden states, memories, log-probabilities --------------------------- */

static void expect_segment(const recorded *r, int s, cx hidden, cx mems) {
  char what[128];
  int n = r->c.n_layer;
  snprintf(what, sizeof what, "%s segment %d hidden", r->name, s);
  expect_close(hidden, cx_get(r->outputs, "seg%d.hidden_states.%d", s, n), 1e-5,
               what);
  for (int i = 0; i < n; i++) {
    snprintf(what, sizeof what, "%s segment %d memory %d", r->name, s, i);
    cx want = cx_get(r->outputs, "seg%d.mems.%d", s, i);
    expect_close(cx_nth(mems, i), cx_swap_axes(want, 0, 1), 1e-5, what);
  }
}
static void expect_hidden(const char *name) {
  CX_SCOPE;
  recorded r = open_case(name);
  cx_fn f = cx_jit(CX_BIND_TO(txl_hidden, &r.c));
  cx mems = first_mems(&r), hidden;
  for (int s = 0; s < 4; s++) {
    cx ids = segment_of(&r, r.ids, s);
    cx_unpack(cx_call(f, r.params, mems, ids, cx_none()), &hidden, &mems);
    expect_segment(&r, s, hidden, mems);
  }
}
/* Every case with a softmax. */
static const char *const cases[] = {
  "no_cutoffs", "base",       "clamp6",       "same_length",   "pre_lnorm",
  "tied_r",     "odd_sizes",  "empty_mems",   "long_segment",  "d_embed16",
  "div2",       "wt103_like", "untied_words", "noshare_projs", "ignored_labels",
};
enum { N_CASES = sizeof cases / sizeof *cases };

static void test_hidden(void **state) {
  (void)state;
  for (int i = 0; i < N_CASES; i++) expect_hidden(cases[i]);
  expect_hidden("body_only");
}
static void expect_scores(const char *name) {
  CX_SCOPE;
  recorded r = open_case(name);
  cx_fn logits = cx_jit(CX_BIND_TO(txl_logits, &r.c));
  cx_fn loss = cx_jit(CX_BIND_TO(txl_loss, &r.c));
  cx mems = first_mems(&r), next, scores, value;
  for (int s = 0; s < 4; s++) {
    cx ids = segment_of(&r, r.ids, s), want;
    cx_unpack(cx_call(logits, r.params, mems, ids, cx_none()), &scores, &next);
    want = cx_get(r.outputs, "seg%d.prediction_scores", s);
    expect_close(cx_log_softmax(scores), want, 5e-5, name);
    cx_unpack(cx_call(loss, r.params, mems, ids, targets_of(&r, s), cx_none()),
              &value, &mems);
    want = cx_get(r.outputs, "seg%d.loss", s);
    expect_close(value, want, 1e-5 + 1e-5 * cx_item(want), name);
    expect_same_bits(mems, next, "memory of loss and logits");
  }
}
static void test_scores(void **state) {
  (void)state;
  for (int i = 0; i < N_CASES; i++) expect_scores(cases[i]);
}

/* The likeliest tokens after a prompt: the prompt at once, then one by one. */
static void test_generate(void **state) {
  (void)state;
  CX_SCOPE;
  enum { NEW = 20 };
  txl_config c;
  txl_config_load(path_of("generate", "config.json"), &c);
  cx params = txl_load(&c, path_of("generate", "model.safetensors"));
  cx want = read_arrays("generate", "outputs.safetensors");
  cx prompt = cx_get(want, "prompt"), scores, mems, rest, last;
  cx_unpack(txl_logits(&c, params, txl_init_mems(&c, 2, c.mem_len), prompt,
                       cx_none()),
            &scores, &mems);
  cx first = cx_argmax(cx_index(scores, CX_ALL, -1), -1);
  cx_fn f = cx_jit(CX_BIND(txl_generate, .model = c, .length = NEW - 1));
  cx_unpack(cx_call(f, params, mems, first, cx_key(0)), &rest, &mems, &last);
  cx all = cx_concat(1, prompt, cx_cast(cx_expand(first, 1), CX_I64),
                     cx_cast(rest, CX_I64));
  int64_t got[2 * (11 + NEW)], expected[2 * (11 + NEW)];
  assert_true(cx_read(all, got, 2 * (11 + NEW)));
  assert_true(cx_read(cx_get(want, "sequences"), expected, 2 * (11 + NEW)));
  assert_memory_equal(got, expected, sizeof got);
  for (int i = 0; i < c.n_layer; i++) {
    cx final = cx_swap_axes(cx_get(want, "mems_final.%d", i), 0, 1);
    assert_int_equal(cx_dim(final, 1), c.mem_len);
    assert_int_equal(cx_dim(cx_nth(mems, i), 1), c.mem_len);
  }
  fail_on_error("generate");
}

/* -- gradients ------------------------------------------------------------ */

static const cx_rename prefix[] = { { "transformer.*", "*" }, { NULL, NULL } };

/* Each tensor within 1e-4 (its largest + 0.01 of the largest of all). */
static void expect_gradients(cx got, const char *name) {
  cx want = cx_tree_rename(read_arrays(name, "grads_seg1.safetensors"), prefix);
  double largest = 0;
  for (int i = 0; i < cx_leaf_count(want); i++)
    largest = fmax(largest, cx_item(cx_max(cx_abs(cx_leaf(want, i)))));
  assert_int_equal(cx_leaf_count(got), cx_leaf_count(want));
  for (int i = 0; i < cx_leaf_count(want); i++) {
    CX_SCOPE;
    cx w = cx_leaf(want, i);
    double own = cx_item(cx_max(cx_abs(w)));
    expect_close(cx_get(got, "%s", cx_leaf_path(want, i)), w,
                 1e-4 * (own + 0.01 * largest), cx_leaf_path(want, i));
  }
}
/* The memory before segment 1. */
static cx mems_after_first(const recorded *r) {
  cx_fn f = cx_jit(CX_BIND_TO(txl_hidden, &r->c));
  cx ids = segment_of(r, r->ids, 0);
  return cx_nth(cx_call(f, r->params, first_mems(r), ids, cx_none()), 1);
}
static cx gradients_of(const recorded *r, const txl_config *c, bool jitted) {
  cx ids = segment_of(r, r->ids, 1);
  cx_fn f = cx_value_and_grad(CX_BIND_TO(txl_loss, c), .has_aux = true);
  if (jitted) f = cx_jit(f);
  return cx_call(f, r->params, mems_after_first(r), ids, targets_of(r, 1),
                 cx_none());
}
static void test_gradients(void **state) {
  (void)state;
  for (int i = 0; i < N_CASES; i++) {
    CX_SCOPE;
    recorded r = open_case(cases[i]);
    expect_gradients(cx_nth(gradients_of(&r, &r.c, true), 1), cases[i]);
  }
}
static void test_same_bits_however_run(void **state) {
  (void)state;
  CX_SCOPE;
  recorded r = open_case("no_cutoffs");
  cx want = gradients_of(&r, &r.c, true);
  expect_same_bits(gradients_of(&r, &r.c, false), want, "eager");
  txl_config c = r.c;
  c.checkpoint_layers = true;
  expect_same_bits(gradients_of(&r, &c, true), want, "checkpointed");
  expect_same_bits(gradients_of(&r, &c, false), want, "checkpointed, eager");
}

/* -- the paper's promises ------------------------------------------------- */

static txl_config small(void) {
  return (txl_config){ .vocab_size = 23,
                       .d_model = 16,
                       .n_head = 2,
                       .d_head = 8,
                       .d_inner = 24,
                       .n_layer = 2,
                       .mem_len = 32,
                       .untie_r = true,
                       .layer_norm_epsilon = 1e-5 };
}
static cx some_ids(const txl_config *c, int64_t batch, int64_t length) {
  return cx_randint(cx_key(5), 0, c->vocab_size, batch, length);
}
/* One long segment equals several, while the memory holds all of them. */
static void test_segments_equal_one_long(void **state) {
  (void)state;
  CX_SCOPE;
  txl_config c = small();
  cx params = txl_init(&c, cx_key(1)), ids = some_ids(&c, 3, 24);
  cx_fn f = cx_jit(CX_BIND_TO(txl_hidden, &c));
  cx mems = txl_init_mems(&c, 3, 0), hidden;
  cx whole = cx_nth(cx_call(f, params, mems, ids, cx_none()), 0);
  int64_t at = 0;
  for (int64_t q = 3; at < 24; at += q, q += 2) {
    if (at + q > 24) q = 24 - at;
    cx part = cx_index(ids, CX_ALL, CX_RANGE(at, at + q));
    cx_unpack(cx_call(f, params, mems, part, cx_none()), &hidden, &mems);
    expect_close(hidden, cx_index(whole, CX_ALL, CX_RANGE(at, at + q)), 1e-5,
                 "a segment of the long one");
  }
}
/* What follows never changes what went before. */
static void test_causal(void **state) {
  (void)state;
  CX_SCOPE;
  txl_config c = small();
  cx params = txl_init(&c, cx_key(1)), ids = some_ids(&c, 1, 12);
  cx other = cx_at_set(ids, (CX_ALL, CX_FROM(7)), 0);
  cx mems = txl_init_mems(&c, 1, 4);
  cx a = cx_nth(txl_hidden(&c, params, mems, ids, cx_none()), 0);
  cx b = cx_nth(txl_hidden(&c, params, mems, other, cx_none()), 0);
  expect_same_bits(cx_index(a, CX_ALL, CX_TO(7)), cx_index(b, CX_ALL, CX_TO(7)),
                   "positions before");
  assert_true(largest_difference(a, b) > 1e-3);
}
/* Of memory and segment the last mem_len positions are kept. */
static void test_memory_keeps_the_last(void **state) {
  (void)state;
  CX_SCOPE;
  txl_config c = small();
  c.mem_len = 4, c.n_layer = 1;
  cx params = txl_init(&c, cx_key(1)), ids = some_ids(&c, 2, 5);
  cx table = cx_get(params, "word_emb.emb_layers.0.weight");
  cx embedded = cx_mul(4.0, cx_take(table, ids, 0)); /* sqrt(d_model) */
  cx mems = txl_init_mems(&c, 2, 0), hidden;
  cx_unpack(
      txl_hidden(&c, params, mems, cx_index(ids, CX_ALL, CX_TO(2)), cx_none()),
      &hidden, &mems);
  expect_same_bits(cx_nth(mems, 0), cx_index(embedded, CX_ALL, CX_TO(2)),
                   "after two");
  cx_unpack(txl_hidden(&c, params, mems, cx_index(ids, CX_ALL, CX_FROM(2)),
                       cx_none()),
            &hidden, &mems);
  expect_same_bits(cx_nth(mems, 0), cx_index(embedded, CX_ALL, CX_FROM(1)),
                   "after five");
}
/* (params) -> loss of the second half after the first filled the memory */
CX_STRUCT(two_halves, (txl_config, c), (cx, ids), (cx, targets));
CX_DEF_ENV(second_loss, two_halves, e, params, first_params) {
  cx mems = txl_init_mems(&e->c, 2, 0);
  cx first = cx_index(e->ids, CX_ALL, CX_TO(5));
  cx second = cx_index(e->ids, CX_ALL, CX_FROM(5));
  mems = cx_nth(txl_hidden(&e->c, first_params, mems, first, cx_none()), 1);
  return cx_nth(txl_loss(&e->c, params, mems, second, e->targets, cx_none()),
                0);
}
static void test_no_gradient_through_memory(void **state) {
  (void)state;
  CX_SCOPE;
  txl_config c = small();
  cx params = txl_init(&c, cx_key(1)), ids = some_ids(&c, 2, 10);
  cx_fn f = CX_BIND(second_loss, .c = c, .ids = ids,
                    .targets = cx_index(ids, CX_ALL, CX_FROM(5)));
  cx grads = cx_call(cx_grad(f, .wrt = CX_ARGS(1)), params, params);
  fail_on_error("gradient of the first half's parameters");
  for (int i = 0; i < cx_leaf_count(grads); i++)
    assert_true(cx_item(cx_max(cx_abs(cx_leaf(grads, i)))) == 0);
}
static void test_wrong_use(void **state) {
  (void)state;
  CX_SCOPE;
  const char *message;
  txl_config c = small();
  cx params = txl_init(&c, cx_key(1)), ids = some_ids(&c, 1, 4);
  cx mems = cx_tuple(cx_zeros(CX_F32, 1, 4, 16));
  cx hidden = txl_hidden(&c, params, mems, ids, cx_none());
  (void)hidden;
  assert_int_equal(cx_error(&message), CX_ETREE);
  assert_non_null(strstr(message, "1 memories for 2 layers"));
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
    cmocka_unit_test(test_hidden),
    cmocka_unit_test(test_scores),
    cmocka_unit_test(test_generate),
    cmocka_unit_test(test_gradients),
    cmocka_unit_test(test_same_bits_however_run),
    cmocka_unit_test(test_segments_equal_one_long),
    cmocka_unit_test(test_causal),
    cmocka_unit_test(test_memory_keeps_the_last),
    cmocka_unit_test(test_no_gradient_through_memory),
    cmocka_unit_test(test_wrong_use),
  };
  return cmocka_run_group_tests_name("transformer_xl", tests, open_cpu,
                                     close_cpu);
}
