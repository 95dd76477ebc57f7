/* xl_model.c - a trained model, written and read. */
#include "xl_model.h"

#include <string.h>

/* -- numbers of a configuration ------------------------------------------- */

/* A field's number as an array of rank 0; none for a list. */
static cx field_array(const cx_field *f, const void *struct_) {
  const void *at = (const char *)struct_ + f->offset;
  if (f->type == &cx_rec_int) return cx_scalar(*(const int *)at, CX_I32);
  if (f->type == &cx_rec_double) return cx_scalar(*(const double *)at, CX_F64);
  if (f->type == &cx_rec_bool || f->type == &cx_rec__Bool)
    return cx_scalar(*(const bool *)at, CX_BOOL);
  return cx_none();
}
static void set_field(const cx_field *f, void *struct_, cx number) {
  void *at = (char *)struct_ + f->offset;
  if (f->type == &cx_rec_int)
    *(int *)at = (int)cx_item_int(number);
  else if (f->type == &cx_rec_double)
    *(double *)at = cx_item(number);
  else
    *(bool *)at = cx_item_int(number) != 0;
}
static cx config_tree(const txl_config *c) {
  cx tree = cx_none();
  for (int i = 0; i < cx_rec_txl_config.n_fields; i++) {
    const cx_field *f = &cx_rec_txl_config.fields[i];
    cx number = field_array(f, c);
    if (!cx_is_none(number)) tree = cx_put(tree, number, "%s", f->name);
  }
  return tree;
}
static bool wrong(const char *path, const char *why, const char *name) {
  cx_fail(CX_ETREE, "%s is no model of calx xl: %s%s", path, why, name);
  return false;
}
static bool read_config(const char *path, cx tree, txl_config *out) {
  *out = (txl_config){ 0 };
  for (int i = 0; i < cx_rec_txl_config.n_fields; i++) {
    const cx_field *f = &cx_rec_txl_config.fields[i];
    cx like = field_array(f, out);
    if (cx_is_none(like)) continue;
    if (!cx_has(tree, "config.%s", f->name))
      return wrong(path, "it has no config.", f->name);
    cx number = cx_get(tree, "config.%s", f->name);
    if (cx_ndim(number) != 0 || cx_type(number) != cx_type(like))
      return wrong(path, "another type than its own has config.", f->name);
    set_field(f, out, number);
  }
  return true;
}
static bool is_size(int x) {
  return x >= 1 && x <= 1 << 20;
}
/* Sizes that memory is asked for by. */
static bool check_config(const char *path, const txl_config *c) {
  return (is_size(c->vocab_size) && c->vocab_size <= 256 &&
          is_size(c->d_model) && is_size(c->n_head) && is_size(c->d_head) &&
          is_size(c->d_inner) && is_size(c->n_layer) &&
          c->n_layer <= CX_MAX_ARGS && is_size(c->mem_len)) ||
         wrong(path, "a size is out of range", "");
}

/* -- the vocabulary ------------------------------------------------------- */

static bool read_vocabulary(const char *path, cx tree, int size,
                            xl_vocabulary *out) {
  unsigned char bytes[256];
  if (!cx_has(tree, "vocabulary"))
    return wrong(path, "it has no vocabulary", "");
  cx v = cx_get(tree, "vocabulary");
  if (cx_type(v) != CX_U8 || cx_ndim(v) != 1 || cx_size(v) != size)
    return wrong(path, "its vocabulary is not u8[vocab_size]", "");
  return cx_read(v, bytes, size) && (xl_vocabulary_set(out, bytes, size) ||
                                     wrong(path, "a token is there twice", ""));
}

/* -- the file ------------------------------------------------------------- */

bool xl_model_save(const char *path, const xl_model *m) {
  CX_SCOPE;
  cx training = cx_dict("adam", cx_get(m->state, "adam"), "mems",
                        cx_get(m->state, "mems"), "steps", m->steps);
  cx tree = cx_dict("params", cx_get(m->state, "params"), "config",
                    config_tree(&m->config), "vocabulary",
                    cx_from(m->vocabulary.bytes, m->vocabulary.size),
                    "training", training);
  return cx_save(path, tree);
}
/* What the state of a model like this looks like, without data. */
CX_STRUCT(shape_env, (txl_config, config), (int64_t, batch));
CX_DEF_ENV(state_shapes, shape_env, e, key) {
  return txl_train_init(&e->config, txl_init(&e->config, key), e->batch);
}
static bool read_state(const char *path, cx tree, xl_model *out) {
  if (!cx_has(tree, "training.mems.0") || !cx_has(tree, "training.adam") ||
      !cx_has(tree, "training.steps") || !cx_has(tree, "params"))
    return wrong(path, "its parameters or its training are missing", "");
  cx mems = cx_get(tree, "training.mems");
  cx state = cx_dict("params", cx_get(tree, "params"), "adam",
                     cx_get(tree, "training.adam"), "mems", mems);
  cx_fn shapes = CX_BIND(state_shapes, .config = out->config,
                         .batch = cx_dim(cx_get(mems, "0"), 0));
  cx like = cx_call(shapes, cx_spec(CX_KEY, CX_SCALAR));
  out->state = cx_tree_match(like, state, NULL);
  out->steps = (int)cx_item_int(cx_get(tree, "training.steps"));
  return cx_ok();
}
bool xl_model_load(const char *path, xl_model *out) {
  *out = (xl_model){ 0 };
  cx tree = cx_load(path);
  return cx_ok() && read_config(path, tree, &out->config) &&
         check_config(path, &out->config) &&
         read_vocabulary(path, tree, out->config.vocab_size,
                         &out->vocabulary) &&
         read_state(path, tree, out);
}
