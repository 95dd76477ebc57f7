/* bounds.h - indices that are out of range. */
#ifndef CXI_BOUNDS_H
#define CXI_BOUNDS_H

#include "base/view.h"
#include "ir/program.h"

/* Whether all indices of an equation that slices, gathers, updates or scatters
 * are in range; true of all other equations. False with *error: the first index
 * that is not, with its axis and the array. */
bool cxi_bounds_check(cxi_prim prim, const void *params, const cxi_view *in,
                      cxi_error *error);
/* Whether p or a program within has an equation with indices. True without
 * memory to look. */
bool cxi_bounds_any(const cxi_program *p);

#endif
