/* finish.h - between builder.c and finish.c. */
#ifndef CXI_FINISH_H
#define CXI_FINISH_H

#include "ir/builder.h"

/* The interned program of what was built, with a reference; ends that are
 * valid are given. NULL with the builder's error, or without memory. */
const cxi_program *cxi_builder_order(cxi_builder *b, cxi_name name,
                                     uint32_t n_in, const cx *in,
                                     uint32_t n_out, const cx *out);

/* Of an order of n equations: writes move behind the reads of what they write
 * into that do not depend on them (writes.c). False without memory. */
bool cxi_writes_behind_reads(const cxi_builder *b, uint32_t *order, uint32_t n);

#endif
