/* sentence_load.c - the folder of a sentence model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "sentence_internal.h"

static bool join(const char *folder, const char *name, char *room,
                 size_t bytes) {
  if (snprintf(room, bytes, "%s/%s", folder, name) < (int)bytes) return true;
  cx_fail(CX_EIO, "sentence model: the path %s is too long", folder);
  return false;
}
static bool is_there(const char *path) {
  struct stat s;
  return stat(path, &s) == 0;
}
/* An object of the folder that may be absent: *out is NULL then. */
static bool read_object(const char *folder, const char *name, json_t **out) {
  char path[4096];
  *out = NULL;
  if (!join(folder, name, path, sizeof path)) return false;
  if (!is_there(path)) return true;
  *out = cxi_config_read("sentence", path);
  return *out != NULL;
}

/* -- modules.json, 1_Pooling/config.json ---------------------------------- */

/* The modes that are known; the first one that is set counts. */
static bool read_pooling(const char *folder, const char *name, int *out) {
  static const struct {
    const char *field;
    sentence_pooling pooling;
  } modes[] = { { "pooling_mode_mean_tokens", SENTENCE_MEAN },
                { "pooling_mode_cls_token", SENTENCE_CLS },
                { "pooling_mode_max_tokens", SENTENCE_MAX } };
  json_t *root;
  int set = 0;
  char path[256];
  snprintf(path, sizeof path, "%.200s/config.json", name);
  *out = SENTENCE_MEAN;
  if (!read_object(folder, path, &root)) return false;
  if (!root) return true;
  const char *field;
  json_t *value;
  json_object_foreach(root, field, value) {
    if (strncmp(field, "pooling_mode_", 13) != 0 || !json_is_true(value))
      continue;
    set++;
    size_t i = 0;
    while (i < 3 && strcmp(field, modes[i].field) != 0) i++;
    if (i == 3) {
      bool bad = cxi_config_bad("sentence", field, "is a pooling not known");
      json_decref(root);
      return bad;
    }
    *out = modes[i].pooling;
  }
  json_decref(root);
  return set == 1 || cxi_config_bad("sentence", "pooling_mode_*",
                                    "must be true for exactly one mode");
}
static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcmp(text + n - m, end);
}
static bool read_module(const char *folder, const json_t *module,
                        sentence_config *c) {
  const char *type = json_string_value(json_object_get(module, "type"));
  const char *path = json_string_value(json_object_get(module, "path"));
  if (type && ends_with(type, ".Transformer")) {
    if (!path || !*path) return true;
    return cxi_config_bad("sentence", path,
                          "is a folder for the transformer; "
                          "it should be the model's own");
  }
  if (type && ends_with(type, ".Pooling"))
    return read_pooling(folder, path ? path : "1_Pooling", &c->pooling);
  if (type && ends_with(type, ".Normalize")) return c->normalize = true;
  return cxi_config_bad("sentence", type ? type : "type",
                        "is a module not known");
}
static bool read_modules(const char *folder, sentence_config *c) {
  char path[4096];
  json_error_t error;
  if (!join(folder, "modules.json", path, sizeof path)) return false;
  if (!is_there(path)) return read_pooling(folder, "1_Pooling", &c->pooling);
  json_t *root = json_load_file(path, 0, &error);
  bool ok = json_is_array(root);
  if (!root)
    cxi_config_no_json("sentence config", path, &error);
  else if (!ok)
    cx_fail(CX_ETREE, "sentence config: %s: holds no array", path);
  for (size_t i = 0; ok && i < json_array_size(root); i++)
    ok = read_module(folder, json_array_get(root, i), c);
  json_decref(root);
  return ok;
}

/* -- the length of a text ------------------------------------------------- */

/* sentence_bert_config.json, else what the tokenizer's files say; at most the
 * positions that there are. */
static bool read_max_length(const char *folder, const bert_config *c,
                            int *out) {
  json_t *own, *tokenizer;
  int n = c->max_position_embeddings;
  if (!read_object(folder, "sentence_bert_config.json", &own)) return false;
  bool ok = cxi_config_size("sentence", own, "max_seq_length", n, out);
  bool lower = false;
  ok = ok && cxi_config_flag("sentence", own, "do_lower_case", false, &lower);
  if (ok && lower)
    ok = cxi_config_bad("sentence", "do_lower_case",
                        "is true: lower case is the tokenizer's to say");
  if (ok && !json_object_get(own, "max_seq_length")) {
    ok = read_object(folder, "tokenizer_config.json", &tokenizer);
    double most =
        json_number_value(json_object_get(tokenizer, "model_max_length"));
    if (most >= 2 && most < n) *out = (int)most;
    json_decref(tokenizer);
  }
  json_decref(own);
  if (*out > n) *out = n;
  return ok;
}

/* -- all of it ------------------------------------------------------------ */

static bool check_vocabulary(const sentence_model *m) {
  int size = wordpiece_size(m->tokenizer);
  if (size <= m->config.encoder.vocab_size) return true;
  cx_fail(CX_ETREE, "sentence model: the tokenizer has %d tokens, the model %d",
          size, m->config.encoder.vocab_size);
  return false;
}
static bool read_all(sentence_model *m, const char *folder) {
  bert_config *c = &m->config.encoder;
  if (!bert_config_load(folder, c) || !read_modules(folder, &m->config) ||
      !read_max_length(folder, c, &m->max_length))
    return false;
  m->tokenizer = wordpiece_load(folder, NULL);
  if (!m->tokenizer || !check_vocabulary(m)) return false;
  CX_SCOPE;
  m->params = cx_keep(bert_load(c, folder));
  return m->params.index != 0;
}
sentence_model *sentence_load(const char *folder) {
  struct stat s;
  if (stat(folder, &s) != 0 || !S_ISDIR(s.st_mode)) {
    cx_fail(CX_EIO, "sentence model: %s is no folder", folder);
    return NULL;
  }
  sentence_model *m = calloc(1, sizeof *m);
  if (!m) {
    cx_fail(CX_EMEMORY, "sentence model: out of memory");
    return NULL;
  }
  if (read_all(m, folder)) return m;
  sentence_free(m);
  return NULL;
}
bool sentence_cast(sentence_model *m, cx_dtype type) {
  CX_SCOPE;
  if (type != CX_F16 && type != CX_BF16 && type != CX_F32 && type != CX_F64) {
    cx_fail(CX_EDTYPE, "sentence_cast: needs a floating dtype");
    return false;
  }
  cx params = cx_tree_cast(m->params, type);
  if (cx_type(cx_leaf(params, 0)) != type) return false;
  cx_swap(&m->params, params);
  return cx_ok();
}
void sentence_free(sentence_model *m) {
  if (!m) return;
  wordpiece_free(m->tokenizer);
  cx_drop(m->params);
  free(m);
}
int sentence_width(const sentence_model *m) {
  return m->config.encoder.hidden_size;
}
int sentence_max_length(const sentence_model *m) {
  return m->max_length;
}
const sentence_config *sentence_configuration(const sentence_model *m) {
  return &m->config;
}
cx sentence_params(const sentence_model *m) {
  return m->params;
}
