/* bert_load.c - configurations, fresh parameters, checkpoints. */
#include <string.h>
#include <sys/stat.h>

#include "calx/models/bert.h"
#include "calx/models/nn.h"
#include "config.h"

/* -- config.json ---------------------------------------------------------- */

/* The names of activations live as long as the program. */
static bool read_activation(const json_t *root, cx_str *out) {
  static const char *const known[] = { "gelu", "gelu_new", "gelu_pytorch_tanh",
                                       "relu", "silu",     "swish",
                                       "tanh" };
  const json_t *x = json_object_get(root, "hidden_act");
  const char *name = x ? json_string_value(x) : "gelu";
  for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
    if (!strcmp(name, known[i])) return *out = known[i], true;
  return cxi_config_bad("bert", "hidden_act", name ? name : "is no string");
}
static bool read_positions(const json_t *root, bool *out_relative) {
  const json_t *x = json_object_get(root, "position_embedding_type");
  const char *name = x ? json_string_value(x) : "absolute";
  *out_relative = name && !strcmp(name, "relative_key");
  if (*out_relative || (name && !strcmp(name, "absolute"))) return true;
  return cxi_config_bad("bert", "position_embedding_type",
                        name ? name : "is no string");
}
/* null: -1. */
static bool read_padding(const json_t *root, bert_config *c) {
  const json_t *x = json_object_get(root, "pad_token_id");
  json_int_t id = json_is_integer(x) ? json_integer_value(x) : -1;
  c->pad_token_id = x ? (int)id : 0;
  if (!x || json_is_null(x) || (id >= 0 && id < c->vocab_size)) return true;
  return cxi_config_bad("bert", "pad_token_id", "is no token");
}
static bool read_config(const json_t *root, bert_config *c) {
  if (json_is_true(json_object_get(root, "is_decoder")))
    return cxi_config_bad("bert", "is_decoder", "is true: this is an encoder");
  bool ok =
      cxi_config_size("bert", root, "vocab_size", 30522, &c->vocab_size) &&
      cxi_config_size("bert", root, "hidden_size", 768, &c->hidden_size) &&
      cxi_config_size("bert", root, "num_hidden_layers", 12,
                      &c->num_hidden_layers) &&
      cxi_config_size("bert", root, "num_attention_heads", 12,
                      &c->num_attention_heads) &&
      cxi_config_size("bert", root, "intermediate_size", 3072,
                      &c->intermediate_size) &&
      cxi_config_size("bert", root, "max_position_embeddings", 512,
                      &c->max_position_embeddings) &&
      cxi_config_size("bert", root, "type_vocab_size", 2,
                      &c->type_vocab_size) &&
      cxi_config_number("bert", root, "layer_norm_eps", 1e-12, 1,
                        &c->layer_norm_eps) &&
      cxi_config_number("bert", root, "hidden_dropout_prob", 0.1, 1,
                        &c->hidden_dropout_prob) &&
      cxi_config_number("bert", root, "attention_probs_dropout_prob", 0.1, 1,
                        &c->attention_dropout_prob) &&
      read_padding(root, c) && read_activation(root, &c->hidden_act) &&
      read_positions(root, &c->relative_key);
  if (ok && c->hidden_size % c->num_attention_heads)
    return cxi_config_bad("bert", "hidden_size",
                          "is no multiple of num_attention_heads");
  return ok;
}
bool bert_config_load(const char *path, bert_config *out) {
  *out = (bert_config){ 0 };
  json_t *root = cxi_config_read("bert", path);
  bool ok = root && read_config(root, out);
  json_decref(root);
  return ok;
}

/* -- fresh parameters ----------------------------------------------------- */

static cx dense(cx key, int in, int out, double std) {
  return nn_linear_init(key, in, out, std);
}
static cx layer_init(const bert_config *c, cx key, double std) {
  int h = c->hidden_size, m = c->intermediate_size;
  cx k[6];
  cx_split(key, &k[0], &k[1], &k[2], &k[3], &k[4], &k[5]);
  cx self = cx_dict("query", dense(k[0], h, h, std), "key",
                    dense(k[1], h, h, std), "value", dense(k[2], h, h, std));
  if (c->relative_key)
    self = cx_put(self,
                  nn_embedding_init(cx_fold(key, 6),
                                    2 * c->max_position_embeddings - 1,
                                    h / c->num_attention_heads, std),
                  "distance_embedding");
  cx output = cx_dict("dense", dense(k[3], h, h, std), "LayerNorm",
                      nn_layer_norm_init(h));
  return cx_dict("attention", cx_dict("self", self, "output", output),
                 "intermediate", cx_dict("dense", dense(k[4], h, m, std)),
                 "output",
                 cx_dict("dense", dense(k[5], m, h, std), "LayerNorm",
                         nn_layer_norm_init(h)));
}
cx bert_init(const bert_config *c, cx key, double std) {
  int h = c->hidden_size;
  cx k[5], layers = cx_none();
  cx_split(key, &k[0], &k[1], &k[2], &k[3], &k[4]);
  for (int i = 0; i < c->num_hidden_layers; i++)
    layers = cx_put(layers, layer_init(c, cx_fold(k[4], i), std), "%d", i);
  cx embeddings =
      cx_dict("word_embeddings", nn_embedding_init(k[0], c->vocab_size, h, std),
              "position_embeddings",
              nn_embedding_init(k[1], c->max_position_embeddings, h, std),
              "token_type_embeddings",
              nn_embedding_init(k[2], c->type_vocab_size, h, std), "LayerNorm",
              nn_layer_norm_init(h));
  return cx_dict("embeddings", embeddings, "encoder", cx_dict("layer", layers),
                 "pooler", cx_dict("dense", dense(k[3], h, h, std)));
}

/* -- checkpoints ---------------------------------------------------------- */

static const cx_rename prefix[] = {
  { "cls.*", NULL }, { "classifier.*", NULL }, { "qa_outputs.*", NULL },
  { "bert.*", "*" }, { NULL, NULL },
};
static const cx_rename old_names[] = {
  { "*.gamma", "*.weight" },
  { "*.beta", "*.bias" },
  { "embeddings.position_ids", NULL },
  { NULL, NULL },
};
/* Shapes of every parameter, without data. */
CX_DEF_ENV(shapes, bert_config, c, key) {
  return bert_init(c, key, 0.02);
}

static const char *checkpoint_file(const char *path, char *room, size_t bytes) {
  struct stat s;
  const char *whole = cxi_inside_folder(path, "model.safetensors", room, bytes);
  if (whole == path || stat(whole, &s) == 0) return whole;
  return cxi_inside_folder(path, "model.safetensors.index.json", room, bytes);
}
cx bert_load(const bert_config *c, const char *path) {
  char room[4096];
  cx tree = cx_load(checkpoint_file(path, room, sizeof room));
  tree = cx_tree_rename(cx_tree_rename(tree, prefix), old_names);
  tree = cx_tree_cast(tree, CX_F32);
  cx like = cx_call(CX_BIND_TO(shapes, c), cx_spec(CX_KEY, CX_SCALAR));
  if (!cx_has(tree, "pooler"))
    like = cx_dict("embeddings", cx_get(like, "embeddings"), "encoder",
                   cx_get(like, "encoder"));
  return cx_tree_match(like, tree, NULL);
}
