/* identity.h - when two programs are the same. For program.c. */
#ifndef CXI_IDENTITY_H
#define CXI_IDENTITY_H

#include "ir/program.h"

/* Fills p->hash and p->identity from the rest; false without memory. */
bool cxi_program_identify(cxi_program *p);
/* Same structure, name, sites and scopes; sub-programs are the same object. */
bool cxi_program_same(const cxi_program *a, const cxi_program *b);

#endif
