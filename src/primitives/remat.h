/* remat.h - what a checkpoint keeps and what it computes again. */
#ifndef CXI_REMAT_H
#define CXI_REMAT_H

#include "primitives/call.h"

/* Whether a checkpoint's policy has that name:
 *   nothing         only the inputs are kept
 *   everything      all that the backward pass needs
 *   dots            results of dot_general and conv_general_dilated
 *   dots_no_batch   results of dot_general without batch dimensions
 *   names           values tagged by a name among `names`
 *   all_but_names   all but those
 *   other_names     values tagged by a name that is not among them
 * nothing, dots and dots_no_batch keep what is tagged by `names` too.
 *   budget:N        values of at most N bytes all together, those first that
 *                   save the most floating-point operations a byte */
bool cxi_remat_policy_valid(cxi_name policy);

/* A cut known -> unknown with less kept:
 *   now(known ins) -> known outs, saved
 *   again(known ins in `needs`, saved, unknown ins) -> unknown outs
 * `again` holds the unknown part and what of the known part it needs that is
 * not saved. */
typedef struct cxi_remat {
  const cxi_program *now, *again;
  uint32_t n_saved;
  bool *needs;     /* by known input */
  bool recomputes; /* `again` has equations of the known part */
} cxi_remat;

/* False after reporting. Programs are held, `needs` is scratch memory. */
bool cxi_remat_cut(const cxi_rule *checkpoint, const cxi_partial *cut,
                   cxi_remat *out);

#endif
