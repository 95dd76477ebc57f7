/* undo.h - the function that a recorded derivative was made of. */
#ifndef TOOLS_UNDO_H
#define TOOLS_UNDO_H

#include <jansson.h>

#include "calx/calx.h"

/* A jvp and a vjp give the function's results first, whatever the tangents
 * are; one place of a vmap, of equal inputs, is the function. So the steps of
 * a kind ("jvp.vmap") are taken back from the last one on, until one that hides
 * the function (a gradient). f is flat, with inputs like *specs.
 * Returns the function, its inputs in *specs, and in *out_kind (part of
 * `kind`) the steps that make f of it; "" if none could be taken back. NULL
 * after an error. */
cx_fn undo_steps(cx_fn f, const char *kind, const json_t *record, cx *specs,
                 const char **out_kind);

#endif
