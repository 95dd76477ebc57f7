/* reference.h - the oracle: a program run by `evaluate` of each row. */
#ifndef CXI_REFERENCE_H
#define CXI_REFERENCE_H

#include "backends/reference/buffer.h"
#include "ir/row.h"

/* Runs p on in[0..n_in-1], views of the types of its inputs, one equation at a
 * time; a value's buffer is freed, or reused in place, at its last use.
 *   give   the inputs whose buffers (cxi_buffer_take) become p's: they are
 *          reused or freed, also on failure. NULL: none. A buffer is given
 *          once and is then no other input's.
 *   out    n_out dense arrays, each in a buffer of its own (fresh, or one of
 *          those given) that the caller frees with cxi_buffer_free.
 * False with *error if an equation fails or memory is short; out is then
 * untouched and nothing is left allocated. Calls (jit, checkpoint, ...) may
 * nest to any depth, loops and branches to 500. */
bool cxi_reference_run(const cxi_program *p, const cxi_view *in,
                       const bool *give, cxi_view *out, cxi_error *error);

#endif
