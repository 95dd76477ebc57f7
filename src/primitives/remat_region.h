/* remat_region.h - a program of which a policy keeps some values and the rest
 * is computed again.
 *
 * A walk back from the values that are wanted stops at inputs, at literals and
 * at values that are kept; the equations it passes run again. A loop or branch
 * may hand out more than its results: what the policy keeps inside it. Then
 * its equation has further values, numbered after those of the program, and
 * runs again by another program, which takes them. */
#ifndef CXI_REMAT_REGION_H
#define CXI_REMAT_REGION_H

#include "primitives/remat.h"

/* How an equation runs that hands out what is kept inside it. */
typedef struct cxi_inside {
  cxi_scan_params scan; /* its parameters then */
  cxi_cond_params cond;
  uint32_t n_extra;         /* results more */
  cxi_type *types;          /* of those */
  uint32_t n_kept;          /* 0: nothing is kept */
  uint32_t *kept;           /* which results, the extra ones after its own */
  const cxi_program *again; /* (operands, kept) -> its own results */
  const cxi_program *part;  /* of a walk back: what is wanted of that ... */
  bool *used;               /* ... and which inputs it needs */
} cxi_inside;

typedef struct cxi_region {
  const cxi_rule *r; /* of the checkpoint */
  const cxi_program *p;
  uint32_t n_values;         /* with the extra ones */
  cxi_type *types;           /* of all */
  bool *kept, *need, *saved; /* by value */
  bool *again;               /* by equation */
  cxi_inside *inside;        /* by equation; NULL: none is looked into */
  uint32_t *extra;           /* by equation: its first extra value */
  cx *env;                   /* by value */
} cxi_region;

/* Opens p, which is `depth` loops and branches deep in the checkpoint's body.
 * Calls are inlined if they are looked at; if all is, what the policy keeps is
 * marked, inside loops and branches too. False after reporting. */
typedef enum cxi_looks {
  CXI_LOOKS_NOWHERE,
  CXI_LOOKS_AT_CALLS,
  CXI_LOOKS_INSIDE
} cxi_looks;
bool cxi_region_open(const cxi_rule *r, const cxi_program *p, cxi_looks looks,
                     int depth, cxi_region *out);
/* Marks what the values that are marked as needed need. */
bool cxi_region_walk_back(cxi_region *m);
void cxi_region_start_over(cxi_region *m);
uint32_t cxi_region_count_saved(const cxi_region *m);
/* Emits the equations, all or those that run again. The inputs are in env, and
 * the saved values if not all. */
bool cxi_region_emit(cxi_region *m, bool all);
/* The saved values from env; as inputs of the builder into env. How many. */
uint32_t cxi_region_hand_out(const cxi_region *m, cx *out);
uint32_t cxi_region_take_in(cxi_region *m, cxi_builder *b, cx *in);

/* Looks into equation e of p; out->n_kept stays 0 where nothing is kept. */
bool cxi_region_look_inside(const cxi_rule *r, const cxi_program *p,
                            const cxi_equation *e, int depth, cxi_inside *out);

/* Marks what the policy of the checkpoint keeps of p (remat.c). */
void cxi_remat_mark_kept(const cxi_checkpoint_params *params,
                         const cxi_program *p, bool *kept);

#endif
