/* identity.h - when two programs are the same. */
#ifndef CXI_IDENTITY_H
#define CXI_IDENTITY_H

#include "ir/program.h"

/* The two hashes of p, from all its other fields; false without memory. */
bool cxi_program_identify(const cxi_program *p, cxi_hash *out_hash,
                          cxi_hash *out_identity);
/* Appends dtype and shape. */
void cxi_aval_write(cxi_bytes *out, const cx_aval *aval);
/* Appends what the parameters are, the same in every process: programs as
 * their hash, names as text. */
void cxi_params_write(cxi_bytes *out, cxi_prim prim, const void *params);
/* Same structure, name, sites and scopes; sub-programs are the same object. */
bool cxi_program_same(const cxi_program *a, const cxi_program *b);

#endif
