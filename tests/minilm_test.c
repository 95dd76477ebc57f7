/* minilm_test.c - all-MiniLM-L6-v2 with its real weights against recorded
 * embeddings. tools/fetch_minilm.sh brings the weights; without them the test
 * skips. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "calx/calx.h"
#include "calx/models/sentence.h"
#include "calx/models/wordpiece.h"
#include "records.h"

#define MODEL "build/models/all-MiniLM-L6-v2"
#define RECORDS "tests/data/reference/minilm/"
enum { MOST = 64, WIDTH = 384 };

/* Float32 runs of one network in different orders of its sums differ by
 * 2.2e-7 (the records' meta.json); 2e-5 leaves room for other functions. */
static const double tolerance = 2e-5;

static struct {
  cx_ctx *ctx;
  sentence_model *model;
  wordpiece *tokenizer;
  int n;
  char *texts[MOST];
  size_t bytes[MOST];
  json_t *lines[MOST];
} all;

static void keep_line(const json_t *record, void *user) {
  (void)user;
  if (all.n == MOST) return;
  const json_t *text = json_object_get(record, "text");
  all.bytes[all.n] = json_string_length(text);
  all.texts[all.n] = malloc(all.bytes[all.n] + 1);
  memcpy(all.texts[all.n], json_string_value(text), all.bytes[all.n]);
  all.lines[all.n++] = json_deep_copy(record);
}
static void assert_good(void) {
  const char *message;
  if (cx_error(&message) != CX_OK) fail_msg("%s", message);
}
/* skip() counts as neither passed nor failed. */
static void need_model(void) {
  if (!all.model) skip();
}

static void check_ids(const json_t *want, int i, int max_length) {
  wordpiece_encoding e;
  assert_true(wordpiece_encode(all.tokenizer, all.texts[i], all.bytes[i], NULL,
                               0, max_length, WORDPIECE_LONGEST_FIRST, &e));
  assert_int_equal(e.n, json_array_size(want));
  for (int k = 0; k < e.n; k++)
    assert_int_equal(e.ids[k], record_at(want, (size_t)k));
  wordpiece_encoding_free(&e);
}
static void ids_are_those_recorded(void **state) {
  (void)state;
  need_model();
  for (int i = 0; i < all.n; i++) {
    const json_t *shorter = json_object_get(all.lines[i], "ids_max128");
    check_ids(json_object_get(all.lines[i], "ids_max256"), i, 256);
    if (shorter) check_ids(shorter, i, 128);
  }
}

static void check_vector(const float *got, const float *want, int i) {
  double dot = 0, a = 0, b = 0, worst = 0;
  for (int k = 0; k < WIDTH; k++) {
    worst = fmax(worst, fabs((double)got[k] - (double)want[k]));
    dot += (double)got[k] * (double)want[k];
    a += (double)got[k] * (double)got[k],
        b += (double)want[k] * (double)want[k];
  }
  if (!(worst <= tolerance)) fail_msg("sentence %d differs by %g", i, worst);
  if (!(dot / sqrt(a * b) > 0.99999))
    fail_msg("sentence %d: cosine %.9g", i, dot / sqrt(a * b));
}
/* The first n texts (indices NULL) or those listed, against an array of the
 * records. */
static void check_vectors(const char *name, int n, const int32_t *indices,
                          sentence_options options) {
  CX_SCOPE;
  static float got[MOST * WIDTH], want[MOST * WIDTH];
  const char *texts[MOST];
  size_t bytes[MOST];
  for (int i = 0; i < n; i++) {
    const int k = indices ? indices[i] : i;
    texts[i] = all.texts[k], bytes[i] = all.bytes[k];
  }
  sentence_encode(all.model, n, texts, bytes, options, got);
  assert_good();
  cx records = cx_load(RECORDS "embeddings.safetensors");
  cx_read(cx_get(records, "%s", name), want, (size_t)n * WIDTH);
  assert_good();
  for (int i = 0; i < n; i++)
    check_vector(got + i * WIDTH, want + i * WIDTH, i);
}
static void embeddings_in_batches(void **state) {
  (void)state;
  need_model();
  check_vectors("single", all.n, NULL, (sentence_options){ 0 });
  check_vectors("batch", all.n, NULL, (sentence_options){ .batch = 60 });
}
static void embeddings_one_by_one(void **state) {
  (void)state;
  need_model();
  check_vectors("single", all.n, NULL, (sentence_options){ .batch = 1 });
}
static void embeddings_unnormalised_and_cut(void **state) {
  (void)state;
  need_model();
  int32_t index[4];
  check_vectors("mean_unnormalised", all.n, NULL,
                (sentence_options){ .normalize = -1 });
  CX_SCOPE;
  cx records = cx_load(RECORDS "embeddings.safetensors");
  cx list = cx_cast(cx_get(records, "max128_index"), CX_I32);
  cx_read(list, index, 4);
  assert_good();
  check_vectors("max128", 4, index, (sentence_options){ .max_length = 128 });
}

static int setup(void **state) {
  (void)state;
  struct stat s;
  all.ctx = cx_open("cpu", .threads = 2);
  if (!all.ctx) return -1;
  if (stat(MODEL "/model.safetensors", &s) != 0) {
    print_message("skipped: %s is not there (tools/fetch_minilm.sh)\n", MODEL);
    return 0;
  }
  all.model = sentence_load(MODEL);
  all.tokenizer = wordpiece_load(MODEL, NULL);
  records_each("reference/minilm/sentences.jsonl", keep_line, NULL);
  const char *message;
  if (cx_error(&message) != CX_OK) print_error("%s\n", message);
  return all.model && all.tokenizer && all.n == 60 ? 0 : -1;
}
static int teardown(void **state) {
  (void)state;
  for (int i = 0; i < all.n; i++) {
    free(all.texts[i]);
    json_decref(all.lines[i]);
  }
  wordpiece_free(all.tokenizer);
  sentence_free(all.model);
  cx_close(all.ctx);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(ids_are_those_recorded),
    cmocka_unit_test(embeddings_in_batches),
    cmocka_unit_test(embeddings_one_by_one),
    cmocka_unit_test(embeddings_unnormalised_and_cut),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
