/* wordpiece_test.c - the tokenizer against recorded encodings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calx/models/wordpiece.h"
#include "records.h"

static const char *text_of(const json_t *record, const char *name, size_t *n) {
  const json_t *s = json_object_get(record, name);
  *n = s ? json_string_length(s) : 0;
  return json_string_value(s);
}
static void compare(const json_t *want, const wordpiece_encoding *e,
                    const char *text) {
  const json_t *ids = json_object_get(want, "ids");
  const json_t *offsets = json_object_get(want, "offsets");
  const json_t *types = json_object_get(want, "type_ids");
  const json_t *special = json_object_get(want, "special_tokens_mask");
  if ((int)json_array_size(ids) != e->n)
    fail_msg("%zu tokens wanted, %d made: %s", json_array_size(ids), e->n,
             text);
  for (int i = 0; i < e->n; i++) {
    size_t k = (size_t)i;
    if (record_at(ids, k) != e->ids[i])
      fail_msg("token %d is %d, wanted %lld: %s", i, e->ids[i],
               (long long)record_at(ids, k), text);
    if (types) assert_int_equal(record_at(types, k), e->types[i]);
    if (special && e->special[i]) assert_int_equal(record_at(special, k), 1);
    const json_t *range = json_array_get(offsets, k);
    if (offsets && (record_at(range, 0) != e->offsets[i][0] ||
                    record_at(range, 1) != e->offsets[i][1]))
      fail_msg("token %d is at %d..%d, wanted %lld..%lld: %s", i,
               e->offsets[i][0], e->offsets[i][1],
               (long long)record_at(range, 0), (long long)record_at(range, 1),
               text);
  }
}
static wordpiece *load(const char *name, const wordpiece_options *options) {
  char path[1024];
  snprintf(path, sizeof path, "%s/reference/tokenizer/%s", CALX_TEST_DATA,
           name);
  wordpiece *w = wordpiece_load(path, options);
  assert_non_null(w);
  return w;
}

/* -- one text in every flavour -------------------------------------------- */

typedef struct flavour {
  const char *name, *file;
  wordpiece_options options;
  wordpiece *w;
  int n;
} flavour;

static void check_single(const json_t *record, void *user) {
  flavour *f = user;
  size_t n;
  const char *text = text_of(record, "text", &n);
  const char *only = json_string_value(json_object_get(record, "flavour"));
  const json_t *want = only ? record : json_object_get(record, f->name);
  if (!want || (only && strcmp(only, f->name) != 0)) return;
  if (json_is_string(want)) /* "=uncased": as that flavour */
    want = json_object_get(record, json_string_value(want) + 1);
  wordpiece_encoding e;
  assert_true(
      wordpiece_encode(f->w, text, n, NULL, 0, 0, WORDPIECE_LONGEST_FIRST, &e));
  compare(want, &e, text);
  wordpiece_encoding_free(&e);
  f->n++;
}
static void every_flavour(void **state) {
  (void)state;
  flavour flavours[] = {
    { "uncased", "vocab_uncased.txt", { 0 }, NULL, 0 },
    { "uncased_keep_accents",
      "vocab_uncased.txt",
      { .strip_accents = -1 },
      NULL,
      0 },
    { "uncased_no_cjk", "vocab_uncased.txt", { .keep_cjk = true }, NULL, 0 },
    { "uncased_no_clean",
      "vocab_uncased.txt",
      { .keep_control = true },
      NULL,
      0 },
    { "uncased_specials_as_text",
      "vocab_uncased.txt",
      { .specials_as_text = true },
      NULL,
      0 },
    { "cased", "vocab_cased.txt", { .cased = true }, NULL, 0 },
    { "cased_strip_accents",
      "vocab_cased.txt",
      { .cased = true, .strip_accents = 1 },
      NULL,
      0 },
  };
  for (size_t i = 0; i < sizeof flavours / sizeof *flavours; i++) {
    flavours[i].w = load(flavours[i].file, &flavours[i].options);
    assert_true(records_each("reference/tokenizer/single.jsonl.gz",
                             check_single, &flavours[i]) > 0);
    assert_int_equal(flavours[i].n, 1400);
    assert_true(records_each("reports/tokenizer.jsonl", check_single,
                             &flavours[i]) > 0);
    wordpiece_free(flavours[i].w);
  }
}

/* -- added tokens, pairs, decoding ---------------------------------------- */

static void check_added(const json_t *record, void *user) {
  size_t n;
  const char *text = text_of(record, "text", &n);
  wordpiece_encoding e;
  assert_true(
      wordpiece_encode(user, text, n, NULL, 0, 0, WORDPIECE_LONGEST_FIRST, &e));
  compare(record, &e, text);
  wordpiece_encoding_free(&e);
}
static void added_tokens(void **state) {
  (void)state;
  wordpiece *w = load("tokenizer_added.json", NULL);
  assert_true(records_each("reference/tokenizer/added_tokens.jsonl.gz",
                           check_added, w) > 0);
  wordpiece_free(w);
}
static void check_pair(const json_t *record, void *user) {
  const json_t *t = json_object_get(record, "truncation");
  const char *how = json_string_value(json_object_get(t, "strategy"));
  const char *side = json_string_value(json_object_get(t, "direction"));
  if (side && strcmp(side, "right") != 0) return;
  size_t a_bytes, b_bytes;
  const char *a = text_of(record, "a", &a_bytes);
  const char *b = text_of(record, "b", &b_bytes);
  const char *kind = json_string_value(json_object_get(record, "error_kind"));
  if (kind && strcmp(kind, "stride") == 0) return;
  wordpiece_encoding e;
  bool ok = wordpiece_encode(
      user, a, a_bytes, b, b_bytes, (int)record_int(t, "max_length"),
      !how || strcmp(how, "longest_first") == 0 ? WORDPIECE_LONGEST_FIRST
      : strcmp(how, "only_first") == 0          ? WORDPIECE_ONLY_FIRST
                                                : WORDPIECE_ONLY_SECOND,
      &e);
  assert_int_equal(ok, kind == NULL);
  if (ok)
    compare(json_object_get(record, "encoding"), &e, a);
  else
    assert_int_equal(cx_error(NULL), CX_EUSER);
  wordpiece_encoding_free(&e);
}
static void pairs(void **state) {
  (void)state;
  wordpiece *w = load("vocab_uncased.txt", NULL);
  assert_true(
      records_each("reference/tokenizer/pairs.jsonl.gz", check_pair, w) > 0);
  wordpiece_free(w);
}
static void check_decode(const json_t *record, void *user) {
  static const char *const forms[] = { "text_skip_special", "text_keep_special",
                                       "text_no_cleanup" };
  const json_t *list = json_object_get(record, "ids");
  int n = (int)json_array_size(list);
  int32_t *ids = malloc(((size_t)n + 1) * sizeof *ids);
  for (int i = 0; i < n; i++) ids[i] = (int32_t)record_at(list, (size_t)i);
  for (int k = 0; k < 3; k++) {
    char *text = wordpiece_decode(user, ids, n, k != 1, k != 2);
    assert_string_equal(text,
                        json_string_value(json_object_get(record, forms[k])));
    free(text);
  }
  free(ids);
}
static void decoding(void **state) {
  (void)state;
  wordpiece *w = load("tokenizer_uncased.json", NULL);
  assert_true(
      records_each("reference/tokenizer/decode.jsonl.gz", check_decode, w) > 0);
  wordpiece_free(w);
}

/* -- wrong input ---------------------------------------------------------- */

static void write_file(const char *path, const char *text) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}
static void refuse(const char *path, cx_code code, const char *part) {
  const char *message;
  assert_null(wordpiece_load(path, NULL));
  assert_int_equal(cx_error(&message), code);
  if (!strstr(message, part))
    fail_msg("\"%s\" is not in \"%s\"", part, message);
}
static void wrong_files(void **state) {
  (void)state;
  char path[] = "/tmp/calx_wordpiece_XXXXXX";
  assert_non_null(mkdtemp(path));
  char file[64];
  refuse("/nowhere/vocab.txt", CX_EIO, "/nowhere/vocab.txt");
  refuse(path, CX_EIO, "vocab.txt");
  snprintf(file, sizeof file, "%s/vocab.txt", path);
  write_file(file, "");
  refuse(file, CX_ETREE, "[UNK]");
  write_file(file, "[UNK]\n[CLS]\n");
  refuse(path, CX_ETREE, "[SEP]");
  remove(file);
  snprintf(file, sizeof file, "%s/tokenizer.json", path);
  static const char *const texts[] = {
    "",
    "{",
    "[]",
    "{\"model\":{\"type\":\"BPE\",\"vocab\":{}}}",
    "{\"model\":{\"vocab\":{\"[UNK]\":-1}}}",
    "{\"model\":{\"vocab\":{\"[UNK]\":1e9}}}",
    "{\"model\":{\"vocab\":{\"[UNK]\":4000000000}}}",
    "{\"model\":{\"vocab\":{\"[UNK]\":0,\"[UNK]\":1}}}",
    "{\"model\":{\"vocab\":{\"[UNK]\":0}},\"added_tokens\":[{\"id\":-7}]}",
    "{\"model\":{\"vocab\":[\"[UNK]\"]}}",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    write_file(file, texts[i]);
    refuse(file, CX_ETREE, "tokenizer.json");
  }
  remove(file);
  rmdir(path);
}
static void odd_texts(void **state) {
  (void)state;
  wordpiece *w = load("vocab_uncased.txt", NULL);
  static const char bad[] = "\xff\xfe"
                            "a\xc3"
                            "b\xed\xa0\x80"
                            "c\xf4\x90\x80\x80";
  char *longest = malloc(300000);
  memset(longest, 'a', 300000);
  wordpiece_encoding e;
  assert_true(
      wordpiece_encode(w, "", 0, NULL, 0, 0, WORDPIECE_LONGEST_FIRST, &e));
  assert_int_equal(e.n, 2);
  wordpiece_encoding_free(&e);
  assert_true(wordpiece_encode(w, bad, sizeof bad - 1, NULL, 0, 0,
                               WORDPIECE_LONGEST_FIRST, &e));
  assert_int_equal(e.n, 3); /* the letters that are left are one word */
  wordpiece_encoding_free(&e);
  assert_true(wordpiece_encode(w, longest, 300000, "b", 1, 0,
                               WORDPIECE_LONGEST_FIRST, &e));
  assert_int_equal(e.n, 5);
  wordpiece_encoding_free(&e);
  assert_false(
      wordpiece_encode(w, "a", 1, NULL, 0, 1, WORDPIECE_LONGEST_FIRST, &e));
  assert_int_equal(cx_error(NULL), CX_EUSER);
  free(longest);
  wordpiece_free(w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_flavour), cmocka_unit_test(added_tokens),
    cmocka_unit_test(pairs),         cmocka_unit_test(decoding),
    cmocka_unit_test(wrong_files),   cmocka_unit_test(odd_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
