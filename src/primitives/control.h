/* control.h - what the rows of scan, while and cond share. */
#ifndef CXI_CONTROL_H
#define CXI_CONTROL_H

#include "ir/builder.h"
#include "ir/row.h"

/* n zeroed items of `size` bytes, at least one, from the scratch; *ok turns
 * false without memory. */
void *cxi_array(size_t n, size_t size, bool *ok);
/* Poisons the results of a rule that cannot go on: after reporting that there
 * is no memory; after an error that is reported already. */
void cxi_rule_no_memory(uint32_t n_out, cx *out);
void cxi_rule_stop(uint32_t n_out, cx *out);

/* The first n outputs of a body against its inputs from `first` on; the error
 * lists all carries that change their type in a step. */
bool cxi_infer_carries(cxi_infer *c, const cxi_program *body, uint32_t first,
                       uint32_t n);

/* Operands of an equation being put together, each with its place among the
 * inputs of the program that becomes its body, and its type there. */
typedef struct cxi_wires {
  uint32_t n;
  cx *args;
  uint32_t *places;
  cxi_type *types;
} cxi_wires;
cxi_wires cxi_wires_new(size_t room, bool *ok);
static inline void cxi_wire(cxi_wires *w, cx arg, uint32_t place) {
  w->args[w->n] = arg;
  w->places[w->n++] = place;
}
static inline void cxi_wire_typed(cxi_wires *w, cx arg, uint32_t place,
                                  cxi_type type) {
  w->types[w->n] = type;
  cxi_wire(w, arg, place);
}

/* Closes the builder of a body: held, or NULL after reporting. */
const cxi_program *cxi_body_finish(cxi_builder *b, const cxi_program *like,
                                   uint32_t n_in, const cx *in, uint32_t n_out,
                                   const cx *out);
/* p behind inputs of these types: input i is p's input place[i], or ignored
 * if that is CXI_IGNORED. */
const cxi_program *cxi_body_fit(const cxi_program *p, uint32_t n_in,
                                const uint32_t *place, const cxi_type *types);
static const uint32_t CXI_IGNORED = UINT32_MAX;
/* What narrow left of n inputs: its number for each, or CXI_IGNORED. */
void cxi_places(uint32_t n, const bool *left, uint32_t *place);

/* Marks the floating outputs that depend on marked inputs. */
void cxi_outputs_reached(const cxi_program *p, const bool *input, bool *output,
                         bool *ok);

/* Whether p has a while anywhere: it may not end on operands that the program
 * would never give it. */
bool cxi_may_not_end(const cxi_program *p, bool *ok);
/* A lane of x, batched at axis 0, repeated for all lanes. lane: i32[]. */
cx cxi_repeat_lane(cx x, cx lane);
/* mask, one bool or index per lane, for a batched array like x. */
cx cxi_per_lane(cx mask, cx x);
/* x with its batch axis at `to`; one is made by repetition if axis is -1. */
cx cxi_batched_at(cx x, int axis, int64_t size, int to);

/* The equation as a program of its own, on the types that it has here: held,
 * or NULL after reporting. */
const cxi_program *cxi_rule_alone(const cxi_rule *r);
/* A batch rule: a scan over the lanes, of which what is not mapped is a
 * constant. */
void cxi_batch_lanes(const cxi_rule *r, const cx *in, const int *axis,
                     int64_t size, cx *out, int *out_axis);

uint32_t cxi_count(uint32_t n, const bool *mask);
/* Adds the marks of `more` to `mask`; whether any was new. */
bool cxi_join(uint32_t n, bool *mask, const bool *more);

/* -- scan ------------------------------------------------------------------ */

/* How many of each kind of operand and result a scan has. */
typedef struct cxi_scan_sizes {
  uint32_t consts, carry, xs, ys;
  uint32_t start_xs; /* operands before the xs: consts + carry */
  uint32_t in, out;
} cxi_scan_sizes;
cxi_scan_sizes cxi_scan_sizes_of(const cxi_scan_params *p);

/* The loop that is left of a scan when the known one has run. */
typedef struct cxi_scan_rest {
  cxi_scan_params params;
  uint32_t n_in;
  uint32_t *from; /* operand i is the whole's from[i], unknown, ... */
  cx *known;      /* ... or, if that is CXI_NOT_FROM, this value */
} cxi_scan_rest;
static const uint32_t CXI_NOT_FROM = UINT32_MAX;

/* Emits the loop over what is known and describes the other one. unknown_in
 * grows to the fixpoint; known_out[i] is set where unknown_out[i] is not.
 * False after reporting. */
bool cxi_scan_cut(const cxi_rule *r, const cx *known, bool *unknown_in,
                  cx *known_out, bool *unknown_out, cxi_scan_rest *rest);

void cxi_scan_jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                  cx *dout);
void cxi_scan_transpose(const cxi_rule *r, const cx *in, const cx *ct, cx *acc);
void cxi_scan_batch(const cxi_rule *r, const cx *in, const int *axis,
                    int64_t size, cx *out, int *out_axis);
void cxi_scan_partial_eval(const cxi_rule *r, cxi_split *s, const cx *known,
                           const cx *unknown, cx *known_out, cx *unknown_out);

/* -- while ----------------------------------------------------------------- */

/* How many of each kind of operand a while has. */
typedef struct cxi_while_sizes {
  uint32_t cond_consts, body_consts, carry;
  uint32_t start_carry, in;
  uint32_t body_in; /* body_consts + carry */
} cxi_while_sizes;
cxi_while_sizes cxi_while_sizes_of(const cxi_while_params *p);

void cxi_while_batch(const cxi_rule *r, const cx *in, const int *axis,
                     int64_t size, cx *out, int *out_axis);

/* -- cond ----------------------------------------------------------------- */
void cxi_cond_partial_eval(const cxi_rule *r, cxi_split *s, const cx *known,
                           const cx *unknown, cx *known_out, cx *unknown_out);
#endif
