/* compare.h - a result against a recorded array, within a tolerance. */
#ifndef TOOLS_COMPARE_H
#define TOOLS_COMPARE_H

#include <jansson.h>

#include "calx/calx.h"

/* Whether |got - want| <= tol (|want| + min(1, max |want|)) for each element,
 * NaN for NaN, equal for all but floats; else false with *why. Numbers below
 * the least normal one count as equal: the recorder flushes them to zero. */
bool compare_array(cx got, const json_t *array, double tol, char *why,
                   size_t room);
/* The leaves of the result with the list of arrays. */
bool compare_outputs(cx result, const json_t *out, double tol, char *why,
                     size_t room);

#endif
