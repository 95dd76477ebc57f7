/* registry.c - the table of rows. */
#include "ir/row.h"

static const cxi_row *const rows[CXI_N_PRIMS] = {
#define PRIMITIVE(n) [CXI_PRIM_##n] = &cxi_row_##n,
#define FIELD(n, kind, field)
#define END(n)
#include "ir/primitives.def"
#undef PRIMITIVE
#undef FIELD
#undef END
};

const cxi_row *cxi_row_of(cxi_prim prim) {
  return (unsigned)prim < CXI_N_PRIMS ? rows[prim] : NULL;
}
