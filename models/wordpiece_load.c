/* wordpiece_load.c - reads vocab.txt, tokenizer.json, tokenizer_config.json. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "unicode.h"
#include "wordpiece_internal.h"

enum { MAX_FILE_BYTES = 64 << 20, MAX_TOKENS = 1 << 22 };

/* -- files ---------------------------------------------------------------- */

/* The bytes of a file with a 0 after them; NULL after an error. */
static char *read_file(const char *path, size_t *out_bytes) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  size_t n = 0, cap = 1 << 16;
  if (!f) {
    cx_fail(CX_EIO, "wordpiece_load: %s: %s", path, strerror(errno));
    return NULL;
  }
  text = malloc(cap + 1);
  while (text) {
    n += fread(text + n, 1, cap - n, f);
    if (n < cap || cap >= MAX_FILE_BYTES) break;
    char *more = realloc(text, 2 * cap + 1);
    if (!more) free(text);
    text = more, cap *= 2;
  }
  bool failed = ferror(f) != 0;
  fclose(f);
  if (!text || failed || n >= MAX_FILE_BYTES) {
    cx_fail(failed ? CX_EIO : CX_EMEMORY, "wordpiece_load: %s: %s", path,
            failed ? "cannot be read"
            : text ? "too large"
                   : "out of memory");
    free(text);
    return NULL;
  }
  text[n] = 0;
  *out_bytes = n;
  return text;
}
static json_t *read_json(const char *path) {
  size_t bytes;
  char *text = read_file(path, &bytes);
  json_error_t error;
  if (!text) return NULL;
  json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
  free(text);
  if (!root) cxi_config_no_json("wordpiece_load", path, &error);
  return root;
}
static bool exists(const char *path) {
  struct stat s;
  return stat(path, &s) == 0;
}

/* -- added tokens --------------------------------------------------------- */

static bool set_codes(wordpiece *w, added_token *t) {
  codes raw = { 0 }, normal = { 0 };
  const char *s = t->content;
  size_t left = strlen(s), bytes;
  for (; left; s += bytes, left -= bytes)
    codes_add(&raw, unicode_next(s, left, &bytes), 0);
  if (t->normalized) codes_normalize(w, raw.d, raw.n, &normal);
  const codes *used = t->normalized ? &normal : &raw;
  bool ok = !raw.failed && !normal.failed;
  t->codes = ok ? malloc((used->n + 1) * sizeof *t->codes) : NULL;
  if (t->codes) {
    t->n_codes = (uint32_t)used->n;
    for (size_t i = 0; i < used->n; i++) t->codes[i] = used->d[i].c;
  }
  free(raw.d), free(normal.d);
  return t->codes != NULL;
}
static bool add_token(wordpiece *w, added_token t, const char *content) {
  added_token *more = realloc(w->added, (w->n_added + 1) * sizeof *more);
  if (!more) return false;
  w->added = more;
  t.content = strdup(content), t.codes = NULL;
  if (!t.content) return false;
  w->added[w->n_added++] = t;
  return set_codes(w, &w->added[w->n_added - 1]);
}
static bool add_defaults(wordpiece *w) {
  static const char *const names[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                       "[MASK]" };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    int32_t id = wordpiece_id(w, names[i]);
    added_token t = { .id = id, .special = true };
    if (id >= 0 && !add_token(w, t, names[i])) return false;
  }
  return true;
}

/* -- the two vocabulary files --------------------------------------------- */

/* One token a line, the line's number its id; only the line feed goes. */
static const char **split_lines(char *text, size_t bytes, uint32_t *out_n) {
  size_t lines = 1;
  for (size_t i = 0; i < bytes; i++) lines += text[i] == '\n';
  const char **tokens =
      lines < MAX_TOKENS ? calloc(lines + 1, sizeof *tokens) : NULL;
  uint32_t n = 0;
  for (char *s = text, *end = text + bytes; tokens && s < end;) {
    char *stop = memchr(s, '\n', (size_t)(end - s));
    if (!stop) stop = end;
    if (stop > s && stop[-1] == '\r') stop[-1] = 0;
    *stop = 0;
    tokens[n++] = s;
    s = stop + 1;
  }
  *out_n = n;
  return tokens;
}
static bool load_text(wordpiece *w, const char *path) {
  size_t bytes;
  uint32_t n = 0;
  char *text = read_file(path, &bytes);
  if (!text) return false;
  const char **tokens = split_lines(text, bytes, &n);
  bool ok = tokens && vocabulary_make(&w->words, n, tokens, w->prefix);
  if (!ok) cx_fail(CX_EMEMORY, "wordpiece_load: %s: out of memory", path);
  free(tokens), free(text);
  return ok;
}
static bool truth(const json_t *object, const char *name, bool otherwise) {
  const json_t *x = json_object_get(object, name);
  return x && !json_is_null(x) ? json_is_true(x) : otherwise;
}
/* The model's tokens and those added beside it, by id. */
static const char **collect_tokens(const json_t *words, const json_t *added,
                                   uint32_t *out_n) {
  const char *key, **tokens = NULL;
  json_t *value;
  json_int_t highest = -1;
  size_t i;
  json_object_foreach((json_t *)words, key, value) {
    json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
    if (id < 0 || id >= MAX_TOKENS) return NULL;
    if (id > highest) highest = id;
  }
  json_array_foreach(added, i, value) {
    json_int_t id = json_integer_value(json_object_get(value, "id"));
    if (id < 0 || id >= MAX_TOKENS) return NULL;
    if (id > highest) highest = id;
  }
  tokens = calloc((size_t)highest + 2, sizeof *tokens);
  if (!tokens) return NULL;
  json_array_foreach(added, i, value)
      tokens[json_integer_value(json_object_get(value, "id"))] =
          json_string_value(json_object_get(value, "content"));
  json_object_foreach((json_t *)words, key, value)
      tokens[json_integer_value(value)] = key;
  *out_n = (uint32_t)(highest + 1);
  return tokens;
}
static bool load_added(wordpiece *w, const json_t *list) {
  size_t i;
  json_t *item;
  json_array_foreach(list, i, item) {
    const char *content = json_string_value(json_object_get(item, "content"));
    added_token t = {
      .id = (int32_t)json_integer_value(json_object_get(item, "id")),
      .special = truth(item, "special", false),
      .normalized = truth(item, "normalized", false),
      .single_word = truth(item, "single_word", false),
      .lstrip = truth(item, "lstrip", false),
      .rstrip = truth(item, "rstrip", false),
    };
    if (!content || !*content) continue;
    if (!add_token(w, t, content)) return false;
  }
  return true;
}
static bool bad_json(const char *path, const char *what) {
  cx_fail(CX_ETREE, "wordpiece_load: %s: %s", path, what);
  return false;
}
static bool read_model(wordpiece *w, const char *path, const json_t *root) {
  const json_t *model = json_object_get(root, "model");
  const json_t *words = json_object_get(model, "vocab");
  const json_t *added = json_object_get(root, "added_tokens");
  const json_t *normal = json_object_get(root, "normalizer");
  const char *type = json_string_value(json_object_get(model, "type"));
  const char *prefix =
      json_string_value(json_object_get(model, "continuing_subword_prefix"));
  uint32_t n = 0;
  if (!json_is_object(words) || (type && strcmp(type, "WordPiece") != 0))
    return bad_json(path, "no WordPiece model");
  if (prefix && strlen(prefix) < sizeof w->prefix) strcpy(w->prefix, prefix);
  json_int_t longest =
      json_integer_value(json_object_get(model, "max_input_chars_per_word"));
  if (longest > 0 && longest < 100000) w->max_word_codes = (int)longest;
  if (json_is_object(normal)) {
    w->lowercase = truth(normal, "lowercase", true);
    w->strip_accents = truth(normal, "strip_accents", w->lowercase);
    w->split_cjk = truth(normal, "handle_chinese_chars", true);
    w->clean = truth(normal, "clean_text", true);
  }
  const char **tokens = collect_tokens(words, added, &n);
  if (!tokens)
    return bad_json(path, "an id of the vocabulary is no small integer");
  bool ok = vocabulary_make(&w->words, n, tokens, w->prefix);
  free(tokens);
  if (!ok) {
    cx_fail(CX_EMEMORY, "wordpiece_load: %s: out of memory", path);
    return false;
  }
  const char *unknown = json_string_value(json_object_get(model, "unk_token"));
  w->unknown = wordpiece_id(w, unknown ? unknown : "[UNK]");
  return true;
}

/* -- loading -------------------------------------------------------------- */

static void apply_options(wordpiece *w, const wordpiece_options *o) {
  if (!o) return;
  w->lowercase = !o->cased;
  w->strip_accents = o->strip_accents ? o->strip_accents > 0 : w->lowercase;
  w->split_cjk = !o->keep_cjk;
  w->clean = !o->keep_control;
  w->specials_as_text = o->specials_as_text;
}
static bool finish(wordpiece *w, const char *path, const json_t *root,
                   const wordpiece_options *options) {
  const json_t *added = json_object_get(root, "added_tokens");
  apply_options(w, options);
  if (w->unknown < 0) w->unknown = wordpiece_id(w, "[UNK]");
  w->cls = wordpiece_id(w, "[CLS]"), w->sep = wordpiece_id(w, "[SEP]");
  if (w->unknown < 0 || w->cls < 0 || w->sep < 0)
    return bad_json(path, "[UNK], [CLS] or [SEP] is missing");
  if (json_array_size(added) ? load_added(w, added) : add_defaults(w))
    return true;
  cx_fail(CX_EMEMORY, "wordpiece_load: %s: out of memory", path);
  return false;
}
static bool load_json(wordpiece *w, const char *path,
                      const wordpiece_options *options) {
  json_t *root = read_json(path);
  bool ok = root && read_model(w, path, root) && finish(w, path, root, options);
  json_decref(root);
  return ok;
}
/* vocab.txt beside an optional tokenizer_config.json. */
static bool load_plain(wordpiece *w, const char *path, const char *config,
                       const wordpiece_options *options) {
  if (config && exists(config)) {
    json_t *root = read_json(config);
    if (!root) return false;
    w->lowercase = truth(root, "do_lower_case", true);
    w->strip_accents = truth(root, "strip_accents", w->lowercase);
    w->split_cjk = truth(root, "tokenize_chinese_chars", true);
    json_decref(root);
  }
  return load_text(w, path) && finish(w, path, NULL, options);
}
static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}
wordpiece *wordpiece_load(const char *path, const wordpiece_options *options) {
  char json[4096], text[4096], config[4096];
  struct stat s;
  if (!path || stat(path, &s) != 0) {
    cx_fail(CX_EIO, "wordpiece_load: %s: %s", path ? path : "no path",
            path ? strerror(errno) : "NULL");
    return NULL;
  }
  wordpiece *w = calloc(1, sizeof *w);
  if (!w) {
    cx_fail(CX_EMEMORY, "wordpiece_load: out of memory");
    return NULL;
  }
  *w = (wordpiece){ .unknown = -1,
                    .lowercase = true,
                    .strip_accents = true,
                    .split_cjk = true,
                    .clean = true,
                    .max_word_codes = 100,
                    .prefix = "##" };
  int fits = snprintf(json, sizeof json, "%s/tokenizer.json", path);
  snprintf(text, sizeof text, "%s/vocab.txt", path);
  snprintf(config, sizeof config, "%s/tokenizer_config.json", path);
  bool ok;
  if (S_ISDIR(s.st_mode)) {
    if (fits >= (int)sizeof json - 16)
      ok = bad_json(path, "the path is too long");
    else if (exists(json))
      ok = load_json(w, json, options);
    else
      ok = load_plain(w, text, config, options);
  } else {
    ok = ends_with(path, ".json") ? load_json(w, path, options)
                                  : load_plain(w, path, NULL, options);
  }
  if (ok) return w;
  wordpiece_free(w);
  return NULL;
}
void wordpiece_free(wordpiece *w) {
  if (!w) return;
  vocabulary_free(&w->words);
  for (uint32_t i = 0; i < w->n_added; i++)
    free(w->added[i].content), free(w->added[i].codes);
  free(w->added);
  free(w);
}
int wordpiece_size(const wordpiece *w) {
  return w->words.n_ids;
}
int32_t wordpiece_id(const wordpiece *w, const char *token) {
  return vocabulary_id(&w->words, token, strlen(token));
}
const char *wordpiece_token(const wordpiece *w, int32_t id) {
  return id >= 0 && id < w->words.n_ids ? w->words.tokens[id] : NULL;
}
