/* verdict.h - what the files of properties share. */
#ifndef TEST_VERDICT_H
#define TEST_VERDICT_H

#include "support/programs.h"
#include "support/properties.h"

/* Keeps the first failure. */
void refute(verdict *v, const char *format, ...) CX_PRINTF(2, 3);
/* False, and refuted, if what was asked for is not there. */
bool made_it(verdict *v, bool ok, const char *what, const cxi_error *error);

/* Random values for p's inputs. */
arrays inputs_of(const cxi_program *p, uint64_t seed);
/* What the reference says; n = 0 and refuted if it fails. */
arrays outputs_of(const cxi_program *p, const arrays *in, const char *what,
                  verdict *v);
/* Refutes unless the first n arrays have the same types and bits; NaNs are the
 * same whatever their bits. */
void compare_arrays(const char *what, uint32_t n, const cxi_view *want,
                    const cxi_view *got, verdict *v);
/* Masks of p's floating inputs and outputs; freed by the caller. */
bool *floating_in(const cxi_program *p);
bool *floating_out(const cxi_program *p);
/* Whether the primitive occurs in p or in a program inside. */
bool has_primitive(const cxi_program *p, cxi_prim prim);
/* A row on the way has no rule for this, or an array no room for one more axis,
 * and the error says so. */
bool may_be_refused(const cxi_program *p, const cxi_error *error);
/* Another number for each stream. */
uint64_t mixed(uint64_t seed, uint64_t stream);

/* The distance from 1 to the next number of the narrowest floating dtype that
 * anything in p passes through. */
double properties_epsilon(const cxi_program *p);

extern const property properties_of_runs[], properties_of_derivatives[],
    properties_of_calls[], properties_of_forms[];
extern cx_ctx *properties_cpu, *properties_reference;

#endif
