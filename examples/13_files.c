/* 13_files.c - read a published checkpoint, give its arrays other names and
 * layouts, check it against a model's shapes, write it.
 *   13_files [IN.safetensors [OUT.safetensors]] */
#include <stdio.h>
#include <string.h>
#include "calx.h"

static const cx_rename rules[] = {
  { "bert.*", "*" },
  { "*.gamma", "*.weight" },
  { "*.beta", "*.bias" },
  { "embeddings.position_ids", NULL }, /* a buffer, no parameter */
  { NULL, NULL },
};
/* PyTorch's weights are (out, in), Flax's kernels (in, out). */
static cx to_flax(cx tree) {
  cx out = cx_none();
  for (int i = 0; i < cx_leaf_count(tree) && cx_ok(); i++) {
    const char *path = cx_leaf_path(tree, i), *dot = strrchr(path, '.');
    cx leaf = cx_leaf(tree, i);
    if (dot && !strcmp(dot, ".weight") && cx_ndim(leaf) == 2)
      out = cx_put(out, cx_t(leaf), "%.*s.kernel", (int)(dot - path), path);
    else
      out = cx_put(out, leaf, "%s", path);
  }
  return out;
}
static bool written_as(const char *path, cx tree) {
  cx again = cx_load(path);
  return cx_leaf_count(again) == cx_leaf_count(tree) &&
         cx_item(cx_global_norm(again)) == cx_item(cx_global_norm(tree));
}

int main(int argc, char **argv) {
  const char *in = argc > 1 ? argv[1]
                            : "tests/data/reference/bert/ckpt_oldnames/"
                              "model.safetensors";
  const char *out = argc > 2 ? argv[2] : "13_files.safetensors";
  cx_ctx *ctx = cx_open("cpu");

  cx tree = cx_tree_rename(cx_load(in), rules);
  printf("%d arrays, the first %s %s\n", cx_leaf_count(tree),
         cx_leaf_path(tree, 0), cx_show(cx_leaf(tree, 0)));
  if (cx_has(tree, "pooler.dense")) puts("with a pooler");

  /* What the model wants and the file has are compared leaf by leaf. */
  cx hidden = cx_get(tree, "encoder.layer.0.attention.self.query");
  cx like = cx_dict("weight", cx_spec(CX_F32, 32, 32), "bias",
                    cx_spec(CX_F32, 32), "scale", cx_spec(CX_F32, 1));
  const char *report = NULL;
  cx matched = cx_tree_match(like, hidden, &report);
  printf("%d arrays match; %s", cx_leaf_count(matched), report);

  cx flax = cx_tree_cast(to_flax(tree), CX_BF16);
  if (cx_save(out, flax))
    printf("written: %s\n", written_as(out, flax) ? "the same" : "differs");
  if (argc < 3) remove(out);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code;
}
