/* identity.h - when two programs are the same. For program.c. */
#ifndef CXI_IDENTITY_H
#define CXI_IDENTITY_H

#include "ir/program.h"

/* The two hashes of p, from all its other fields; false without memory. */
bool cxi_program_identify(const cxi_program *p, cxi_hash *out_hash,
                          cxi_hash *out_identity);
/* Same structure, name, sites and scopes; sub-programs are the same object. */
bool cxi_program_same(const cxi_program *a, const cxi_program *b);

#endif
