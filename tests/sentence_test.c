/* sentence_test.c - sentences to vectors, on the small model that the
 * repository ships. */
#include <math.h>
#include <stdlib.h>

#include "calx/models/sentence.h"
#include "calx/models/wordpiece.h"
#include "support/calls.h"

#define MODEL "examples/data/bert-tiny"
enum { WIDTH = 32, N = 9 };

/* More tokens than there are positions. */
static const char long_text[] =
    "x y z x y z x y z x y z x y z x y z x y z x y z x y z x y z x y z x y z x "
    "y z x y z x y z x y z x y z x y z x y z x y z x y z x y z x y z x y z x y";
static const char *const texts[N] = {
  "the cat",
  "",
  "she has two dogs, and he has one",
  "a",
  "what is there when all of the words are split into letters?",
  "the cat",
  "\xff\xfe is no text",
  long_text,
  "no more",
};

static sentence_model *load(void) {
  sentence_model *m = sentence_load(MODEL);
  assert_good();
  assert_non_null(m);
  return m;
}
static void encode(const sentence_model *m, int n, const char *const *what,
                   sentence_options options, float *out) {
  assert_true(sentence_encode(m, n, what, NULL, options, out));
  assert_good();
}
static double difference(const float *a, const float *b, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs((double)(a[i] - b[i])));
  return most;
}

/* Padding, neighbours and the order of the batch leave no trace: other sums of
 * attention, the same to rounding. */
static void alone_as_in_a_batch(void **state) {
  (void)state;
  float all[N * WIDTH], batch[N * WIDTH], one[WIDTH];
  sentence_model *m = load();
  encode(m, N, texts, (sentence_options){ 0 }, all);
  for (int size = 1; size < 6; size++) {
    encode(m, N, texts, (sentence_options){ .batch = size }, batch);
    assert_true(difference(all, batch, N * WIDTH) < 5e-6);
  }
  for (int i = 0; i < N; i++) {
    encode(m, 1, &texts[i], (sentence_options){ 0 }, one);
    assert_true(difference(all + i * WIDTH, one, WIDTH) < 5e-6);
  }
  assert_true(difference(all, all + 5 * WIDTH, WIDTH) < 5e-6);
  assert_true(difference(all, all + 3 * WIDTH, WIDTH) > 1e-3);
  sentence_free(m);
}

/* Without padding: the mean, the first and the greatest of the tokens. */
static void pooled_as_written_out(void **state) {
  (void)state;
  CX_SCOPE;
  sentence_model *m = load();
  sentence_config c = *sentence_configuration(m);
  const int32_t numbers[] = { 2, 30, 40, 50, 3, 2, 60, 3, 0, 0 };
  const int32_t counts[] = { 5, 3 };
  cx ids = cx_from(numbers, 2, 5), lengths = cx_from(counts, 2);
  cx params = sentence_params(m);
  for (int row = 0; row < 2; row++) {
    cx alone = cx_index(ids, CX_RANGE(row, row + 1), CX_TO(counts[row]));
    cx hidden = cx_index(bert_encode(&c.encoder, params, alone, cx_none(),
                                     cx_none(), cx_none(), cx_none()),
                         0);
    cx want[] = { cx_mean(hidden, 0), cx_index(hidden, 0), cx_max(hidden, 0) };
    for (int how = SENTENCE_MEAN; how <= SENTENCE_MAX; how++) {
      c.pooling = how;
      cx got = cx_call(cx_jit(CX_BIND_TO(sentence_vectors, &c)), params, ids,
                       lengths);
      cx error = cx_max(cx_abs(cx_sub(cx_index(got, row), want[how])));
      assert_true(cx_item(error) < 5e-6);
      assert_good();
    }
  }
  sentence_free(m);
}

static void unit_length_if_asked(void **state) {
  (void)state;
  float plain[N * WIDTH], unit[N * WIDTH];
  sentence_model *m = load();
  encode(m, N, texts, (sentence_options){ .normalize = -1 }, plain);
  encode(m, N, texts, (sentence_options){ .normalize = 1 }, unit);
  for (int i = 0; i < N; i++) {
    double size = 0;
    for (int k = 0; k < WIDTH; k++)
      size += (double)plain[i * WIDTH + k] * (double)plain[i * WIDTH + k];
    for (int k = 0; k < WIDTH; k++)
      assert_true(fabs((double)plain[i * WIDTH + k] / sqrt(size) -
                       (double)unit[i * WIDTH + k]) < 1e-6);
  }
  sentence_free(m);
}

static void long_texts_are_cut(void **state) {
  (void)state;
  float got[WIDTH], want[WIDTH];
  sentence_model *m = load();
  assert_int_equal(sentence_max_length(m), 64);
  assert_int_equal(sentence_width(m), WIDTH);
  const char *const whole = "the cat is in the", *const part = "the cat is";
  encode(m, 1, &whole, (sentence_options){ .max_length = 8 }, got);
  wordpiece *w = wordpiece_load(MODEL, NULL);
  wordpiece_encoding e;
  assert_true(wordpiece_encode(w, part, strlen(part), NULL, 0, 0,
                               WORDPIECE_LONGEST_FIRST, &e));
  assert_int_equal(e.n, 7); /* [CLS] the c ##a ##t is [SEP] */
  encode(m, 1, &part, (sentence_options){ 0 }, want);
  assert_true(difference(got, want, WIDTH) > 1e-3); /* there is room for "in" */
  encode(m, 1, &whole, (sentence_options){ .max_length = 7 }, got);
  assert_true(difference(got, want, WIDTH) == 0);
  wordpiece_encoding_free(&e);
  wordpiece_free(w);
  sentence_free(m);
}

static void no_text_no_work(void **state) {
  (void)state;
  sentence_model *m = load();
  assert_true(sentence_encode(m, 0, NULL, NULL, (sentence_options){ 0 }, NULL));
  assert_good();
  sentence_free(m);
  sentence_free(NULL);
}

/* In other dtypes the vectors stay near. */
static void other_dtypes(void **state) {
  (void)state;
  float want[WIDTH], got[WIDTH];
  static const cx_dtype types[] = { CX_F16, CX_BF16, CX_F64 };
  static const double tolerances[] = { 0.01, 0.1, 1e-4 };
  for (int i = 0; i < 3; i++) {
    sentence_model *m = load();
    encode(m, 1, texts, (sentence_options){ .normalize = 1 }, want);
    assert_true(sentence_cast(m, types[i]));
    assert_int_equal(cx_type(cx_leaf(sentence_params(m), 0)), types[i]);
    encode(m, 1, texts, (sentence_options){ .normalize = 1 }, got);
    assert_true(difference(want, got, WIDTH) < tolerances[i]);
    sentence_free(m);
  }
}

static void wrong_uses_are_told(void **state) {
  (void)state;
  float out[WIDTH];
  sentence_model *m = load();
  assert_false(sentence_encode(m, 1, texts, NULL,
                               (sentence_options){ .max_length = 65 }, out));
  assert_error(CX_ESHAPE, "65 tokens, the model has 64 positions");
  assert_false(sentence_encode(m, 1, texts, NULL,
                               (sentence_options){ .max_length = 1 }, out));
  assert_error(CX_EUSER, "1");
  assert_false(sentence_cast(m, CX_I32));
  assert_error(CX_EDTYPE, "sentence_cast: needs a floating dtype");
  sentence_free(m);
  assert_null(sentence_load("tests/data/no-such-folder"));
  assert_error(CX_EIO, "tests/data/no-such-folder is no folder");
  assert_null(sentence_load("tests/data"));
  assert_error(CX_EIO, "tests/data/config.json cannot be opened");
  /* weights without a tokenizer */
  assert_null(sentence_load("tests/data/reference/bert/model_gelu"));
  assert_error(CX_EIO, "tests/data/reference/bert/model_gelu");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(alone_as_in_a_batch),
    cmocka_unit_test(pooled_as_written_out),
    cmocka_unit_test(unit_length_if_asked),
    cmocka_unit_test(long_texts_are_cut),
    cmocka_unit_test(no_text_no_work),
    cmocka_unit_test(other_dtypes),
    cmocka_unit_test(wrong_uses_are_told),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
