/* xl_model.h - a trained model in one file.
 *
 * A .safetensors file with
 *   params.*      the model's parameters under their published names
 *   config.NAME   each number of its configuration: i32, f64, bool scalars
 *   vocabulary    u8 (vocab_size), the byte of each token
 *   training.*    what a further run needs: Adam's m, v, t, the memories, and
 *                 the number of steps done (i32) */
#ifndef TOOLS_XL_MODEL_H
#define TOOLS_XL_MODEL_H

#include "calx/models/transformer_xl.h"
#include "xl_text.h"

typedef struct xl_model {
  txl_config config;
  xl_vocabulary vocabulary;
  cx state; /* as txl_train_init's: {params, adam, mems} */
  int steps;
} xl_model;

/* False after an error, which is kept. */
bool xl_model_save(const char *path, const xl_model *model);
bool xl_model_load(const char *path, xl_model *out);

#endif
