/* derive.h - own transforms of a recorded function, with the record's
 * conventions for inputs and outputs. */
#ifndef TOOLS_DERIVE_H
#define TOOLS_DERIVE_H

#include <jansson.h>

#include "calx/calx.h"

/* A function of one tuple of arrays that returns a tuple of arrays. */
cx_fn derive_flat(cx_fn f);

/* What a derived kind ("vjp.jvp", "vmap1") makes of the flat function, whose
 * inputs are like `inputs` once the kind's own axes are taken off. NULL for a
 * kind that is not handled (*out_handled false) or after an error.
 * record gives in_axes, out_axes, params. */
cx_fn derive_kind(cx_fn flat, const char *kind, cx primal_specs,
                  const json_t *record, bool *out_handled);

/* x at `size` places of a new axis, counted in the result. */
cx derive_repeated(cx x, int axis, int64_t size);

/* Whether the kind is made with vmap. */
bool derive_is_vmap(const char *kind);

#endif
