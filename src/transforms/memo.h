/* memo.h - what transforms have made already. */
#ifndef CXI_MEMO_H
#define CXI_MEMO_H

#include "base/hash.h"
#include "ir/program.h"

typedef enum cxi_transform {
  CXI_JVP,
  CXI_LINEARIZE,
  CXI_PARTIAL_EVAL,
  CXI_TRANSPOSE,
  CXI_VJP,
  CXI_BATCH,
  CXI_SELECT,
  CXI_NARROW,
  CXI_SIMPLIFY,
  CXI_CHECKIFY,
  CXI_N_TRANSFORMS
} cxi_transform;
const char *cxi_transform_name(cxi_transform transform); /* "jvp" */

/* What a transform returns: one program or two, how many residuals they
 * share, and a mask of the length the caller knows. */
typedef struct cxi_memo {
  const cxi_program *a, *b;
  uint32_t n, n_mask;
  bool *mask;
} cxi_memo;

/* Starts a key; whatever else decides the result is appended to it. */
void cxi_memo_key(cxi_bytes *key, cxi_transform transform,
                  const cxi_program *p);
void cxi_memo_key_mask(cxi_bytes *key, const bool *mask, uint32_t n);

/* Looks the key up; the programs are held, the mask is copied to out->mask,
 * which has room for out->n_mask. */
bool cxi_memo_find(const cxi_bytes *key, cxi_memo *out);
/* Keeps a copy of the result, unless memory is short. */
void cxi_memo_keep(const cxi_bytes *key, const cxi_memo *result);

#endif
