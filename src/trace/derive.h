/* derive.h - programs of transformed functions from those of the inner ones.
 *
 * A derivation resolves the inner function at the types it will see, asks
 * transforms/ for the program, and writes a small program around it whose
 * inputs are: the inner program's leading ones (captures, extras), then the
 * leaves of its own arguments. */
#ifndef CXI_DERIVE_H
#define CXI_DERIVE_H

#include "ir/builder.h"
#include "ops/ops.h"
#include "trace/call.h"
#include "transforms/transforms.h"

typedef struct cxi_derivation {
  cxi_request *q;
  cxi_entry *inner;     /* a reference */
  const cxi_program *p; /* the inner program */
  uint32_t n_lead;      /* its inputs before the arguments */
  cxi_error error;
  cxi_builder b;
  uint32_t n_in;
  cx *in;          /* the new program's inputs: leading, arguments */
  cxi_type *types; /* of all inputs */
} cxi_derivation;

/* Resolves inner function i of the code with the request's captures and these
 * arguments. False with the request's poison. */
bool cxi_derive_inner(cxi_derivation *d, cxi_request *q, uint32_t i,
                      uint32_t n_args, const cxi_sig *args);
/* Opens the builder: inputs for d->p's leading ones and the leaves of the
 * request's arguments. */
bool cxi_derive_open(cxi_derivation *d);
/* Finishes with these outputs of structure `sig`; the inner extras are the
 * new entry's. NULL with the request's poison; releases the inner entry. */
cxi_entry *cxi_derive_close(cxi_derivation *d, uint32_t n_out, const cx *out,
                            cxi_sig sig);
/* Reports d->error, or a failed builder, and ends the derivation. */
cxi_entry *cxi_derive_fail(cxi_derivation *d);

/* Which leaves of a structure are floating. */
bool *cxi_float_mask(uint32_t n, const cxi_type *types); /* scratch */

/* How a tree of tangents (cotangents) stands to a tree of primals: for each
 * primal leaf the place of its leaf, or -1 where there is none. False after
 * failing the request: `what` names it in the message. */
bool cxi_match_tangents(cxi_request *q, const char *what, cxi_sig primals,
                        cxi_sig tangents, int64_t *out_place);

/* What f returns besides aux, and aux: with has_aux f's result is (y, aux),
 * without aux is 0. False after failing the request. */
bool cxi_split_aux(cxi_request *q, cxi_sig out, cxi_sig *y, cxi_sig *aux);

cxi_entry *cxi_derive_grad(cxi_request *q); /* derive_grad.c */
cxi_entry *cxi_derive_jvp(cxi_request *q);  /* derive_jvp.c */
cxi_entry *cxi_derive_vjp(cxi_request *q);
cxi_entry *cxi_derive_jacfwd(cxi_request *q); /* derive_jacobian.c */
cxi_entry *cxi_derive_jacrev(cxi_request *q);
cxi_entry *cxi_derive_vmap(cxi_request *q);       /* derive_vmap.c */
cxi_entry *cxi_derive_checkpoint(cxi_request *q); /* derive_checkpoint.c */
cxi_entry *cxi_derive_custom_jvp(cxi_request *q); /* derive_custom.c */
cxi_entry *cxi_derive_custom_vjp(cxi_request *q);
cxi_entry *cxi_derive_custom_vmap(cxi_request *q); /* derive_batching.c */

#endif
