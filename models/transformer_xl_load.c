/* transformer_xl_load.c - configurations and checkpoints. */
#include <string.h>

#include "calx/models/transformer_xl.h"
#include "config.h"

static const char model[] = "transformer_xl";

/* -- config.json ---------------------------------------------------------- */

/* A size of at least 1, or -1 and below for "none" (as 0). */
static bool read_clamp(const json_t *root, int *out) {
  const json_t *x = json_object_get(root, "clamp_len");
  json_int_t value = x ? json_integer_value(x) : 0;
  if (x && (!json_is_integer(x) || value > 1 << 28))
    return cxi_config_bad(model, "clamp_len", "is no length");
  *out = value > 0 ? (int)value : 0;
  return true;
}
static bool read_cutoffs(const json_t *root, int vocab_size, cx_dims *out) {
  const json_t *list = json_object_get(root, "cutoffs");
  size_t n = json_array_size(list);
  json_int_t before = 0;
  *out = (cx_dims){ 0 };
  if (n > CX_MAX_DIMS)
    return cxi_config_bad(model, "cutoffs", "are more than 8");
  for (size_t i = 0; i < n; i++) {
    json_int_t at = json_integer_value(json_array_get(list, i));
    if (at <= before || at >= vocab_size)
      return cxi_config_bad(model, "cutoffs", "do not rise below vocab_size");
    out->d[out->n++] = before = at;
  }
  return true;
}
static bool check_kind(const json_t *root) {
  const json_t *x = json_object_get(root, "attn_type");
  if (x && json_integer_value(x) != 0)
    return cxi_config_bad(model, "attn_type", "is another attention than 0");
  return true;
}
static bool read_config(const json_t *root, txl_config *c) {
  return cxi_config_size(model, root, "vocab_size", 267735, &c->vocab_size) &&
         cxi_config_size(model, root, "d_model", 1024, &c->d_model) &&
         cxi_config_size(model, root, "d_embed", 1024, &c->d_embed) &&
         cxi_config_size(model, root, "n_head", 16, &c->n_head) &&
         cxi_config_size(model, root, "d_head", 64, &c->d_head) &&
         cxi_config_size(model, root, "d_inner", 4096, &c->d_inner) &&
         cxi_config_size(model, root, "n_layer", 18, &c->n_layer) &&
         cxi_config_size(model, root, "mem_len", 1600, &c->mem_len) &&
         cxi_config_size(model, root, "div_val", 4, &c->div_val) &&
         read_clamp(root, &c->clamp_len) &&
         read_cutoffs(root, c->vocab_size, &c->cutoffs) &&
         cxi_config_flag(model, root, "same_length", true, &c->same_length) &&
         cxi_config_flag(model, root, "pre_lnorm", false, &c->pre_lnorm) &&
         cxi_config_flag(model, root, "untie_r", true, &c->untie_r) &&
         cxi_config_number(model, root, "dropout", 0.1, 1, &c->dropout) &&
         cxi_config_number(model, root, "dropatt", 0, 1, &c->dropatt) &&
         cxi_config_number(model, root, "layer_norm_epsilon", 1e-5, 1,
                           &c->layer_norm_epsilon) &&
         check_kind(root);
}
bool txl_config_load(const char *path, txl_config *out) {
  *out = (txl_config){ 0 };
  json_t *root = cxi_config_read(model, path);
  bool ok = root && read_config(root, out);
  json_decref(root);
  return ok;
}

/* -- checkpoints ---------------------------------------------------------- */

static const cx_rename prefix[] = { { "transformer.*", "*" },
                                    { "score.*", NULL },
                                    { NULL, NULL } };
static const cx_rename buffers[] = { { "pos_emb.inv_freq", NULL },
                                     { NULL, NULL } };

/* Shapes of every parameter, without data. */
CX_DEF_ENV(shapes, txl_config, c, key) {
  return txl_init(c, key);
}
/* Adds to `like` what only untied words and own projections have. */
static cx with_options(const txl_config *c, cx like, cx tree) {
  int parts = c->cutoffs.n + 1;
  for (int i = 0; i < parts; i++) {
    if (cx_has(tree, "crit.out_layers.%d.weight", i))
      like = cx_put(like, cx_get(like, "word_emb.emb_layers.%d.weight", i),
                    "crit.out_layers.%d.weight", i);
    if (i > 0 && cx_has(tree, "crit.out_projs.%d", i))
      like = cx_put(
          like, cx_get(like, "word_emb.emb_projs.%d", c->div_val > 1 ? i : 0),
          "crit.out_projs.%d", i);
  }
  return like;
}
static const cx_rename no_head[] = { { "crit.*", NULL }, { NULL, NULL } };

cx txl_load(const txl_config *c, const char *path) {
  char room[4096];
  path = cxi_inside_folder(path, "model.safetensors", room, sizeof room);
  cx tree = cx_tree_rename(cx_tree_rename(cx_load(path), prefix), buffers);
  cx like = cx_call(CX_BIND_TO(shapes, c), cx_spec(CX_KEY, CX_SCALAR));
  like = cx_has(tree, "crit") ? with_options(c, like, tree)
                              : cx_tree_rename(like, no_head);
  return cx_tree_match(like, cx_tree_cast(tree, CX_F32), NULL);
}
