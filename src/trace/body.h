/* body.h - functions as bodies of loops and branches.
 *
 * What a body captured, and the arrays it made, are constants of the loop:
 * operands before the others. */
#ifndef CXI_BODY_H
#define CXI_BODY_H

#include "ops/ops.h"
#include "trace/call.h"

typedef struct cxi_body {
  cx_fn f;
  cxi_entry *entry;     /* a reference */
  const cxi_program *p; /* the entry's, or a converted one */
  bool converted;       /* p is a reference of its own */
  uint32_t n_consts;
} cxi_body;

/* Resolves f on arguments of these structures. False with *out_poison. */
bool cxi_body_resolve(cxi_body *b, cx_fn f, uint32_t n_args,
                      const cxi_sig *args, cx *out_poison);
void cxi_body_end(cxi_body *b);
/* The operands for its constants, n_consts handles. */
void cxi_body_consts(const cxi_body *b, cx *out);
/* Outputs [0, n) converted to these dtypes where they are C numbers. */
bool cxi_body_convert(cxi_body *b, uint32_t n, const cxi_type *types,
                      cx *out_poison);

/* A leaf as an operand of an equation. */
cx cxi_leaf_operand(cxi_item leaf);
/* The leaves of an item as operands; as many as it has. */
void cxi_leaf_operands(cxi_item item, cx *out);
/* A tree of structure sig from handles of its leaves. */
cx cxi_tree_of_handles(cxi_sig sig, const cx *leaves);

#endif
