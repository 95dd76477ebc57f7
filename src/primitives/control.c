/* control.c - helpers of the rows with loops and branches. */
#include "primitives/control.h"

#include <stdio.h>
#include <string.h>

#include "ops/lax.h"

void *cxi_array(size_t n, size_t size, bool *ok) {
  void *items = cxi_scratch((n ? n : 1) * size);
  if (!items) *ok = false;
  return items;
}

void cxi_rule_stop(uint32_t n_out, cx *out) {
  for (uint32_t i = 0; i < n_out; i++)
    out[i] = (cx){ .index = 0, .generation = 1 };
}

void cxi_rule_no_memory(uint32_t n_out, cx *out) {
  cxi_fail(CX_EMEMORY, "out of memory");
  cxi_rule_stop(n_out, out);
}

bool cxi_infer_carries(cxi_infer *c, const cxi_program *body, uint32_t first,
                       uint32_t n) {
  char text[400] = "", enters[96], leaves[96];
  size_t used = 0;
  for (uint32_t i = 0; i < n && used < sizeof text; i++) {
    const cxi_type in = body->values[first + i].type;
    const cxi_type out = cxi_output_type(body, i);
    if (in == out) continue;
    cxi_aval_print(enters, sizeof enters, cxi_type_aval(in));
    cxi_aval_print(leaves, sizeof leaves, cxi_type_aval(out));
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "%scarry %u enters as %s, leaves as %s",
                             used ? "; " : "", i, enters, leaves);
  }
  return !used || cxi_infer_fail(c, CX_ESHAPE, "%s", text);
}

cxi_wires cxi_wires_new(size_t room, bool *ok) {
  return (cxi_wires){ .args = cxi_array(room, sizeof(cx), ok),
                      .places = cxi_array(room, sizeof(uint32_t), ok) };
}

/* -- bodies --------------------------------------------------------------- */

const cxi_program *cxi_body_finish(cxi_builder *b, const cxi_program *like,
                                   uint32_t n_in, const cx *in, uint32_t n_out,
                                   const cx *out) {
  cxi_error error = { 0 };
  const cxi_program *p =
      cxi_builder_finish(b, like->name, n_in, in, n_out, out, &error);
  if (p) {
    const cxi_program *held = cxi_hold(p);
    cxi_program_release(p);
    p = held;
  }
  if (!p) cxi_fail(error.code ? error.code : CX_EMEMORY, "%s", error.text);
  return p;
}

const cxi_program *cxi_body_subset(const cxi_program *p, uint32_t n_in,
                                   const uint32_t *in, const cxi_type *extra,
                                   uint32_t n_out, const uint32_t *out) {
  bool ok = true;
  cx *inputs = cxi_array(n_in, sizeof *inputs, &ok);
  cx *args = cxi_array(p->n_in, sizeof *args, &ok);
  cx *results = cxi_array(p->n_out, sizeof *results, &ok);
  cx *picked = cxi_array(n_out, sizeof *picked, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return NULL;
  }
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n_in; i++) {
    const bool own = in[i] < p->n_in;
    inputs[i] = cxi_builder_input(&b, own ? p->values[in[i]].type
                                          : extra[in[i] - p->n_in]);
    if (own) args[in[i]] = inputs[i];
  }
  /* what nothing needs falls away when the builder finishes */
  for (uint32_t i = 0; i < p->n_in; i++)
    if (!cxi_given(args[i])) args[i] = cxi_zeros(p->values[i].type);
  cxi_replay(p, args, results);
  for (uint32_t i = 0; i < n_out; i++) picked[i] = results[out[i]];
  return cxi_body_finish(&b, p, n_in, inputs, n_out, picked);
}

void cxi_inputs_needed(const cxi_program *p, const bool *output, bool *input,
                       bool *ok) {
  bool *needed = cxi_array(p->n_values, sizeof *needed, ok);
  if (!needed) return;
  for (uint32_t i = 0; i < p->n_out; i++)
    if (output[i]) needed[p->outputs[i]] = true;
  for (uint32_t i = p->n_equations; i-- > 0;) {
    const cxi_equation *e = &p->equations[i];
    const uint32_t *operands = cxi_operands_of(p, e);
    if (e->effects || cxi_count(e->n_out, needed + e->out))
      for (uint32_t k = 0; k < e->n_in; k++) needed[operands[k]] = true;
  }
  memcpy(input, needed, p->n_in * sizeof *input);
}

void cxi_outputs_reached(const cxi_program *p, const bool *input, bool *output,
                         bool *ok) {
  bool *reached = cxi_array(p->n_values, sizeof *reached, ok);
  if (!reached) return;
  memcpy(reached, input, p->n_in * sizeof *input);
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    const uint32_t *operands = cxi_operands_of(p, e);
    bool any = false;
    for (uint32_t k = 0; k < e->n_in; k++) any = any || reached[operands[k]];
    for (uint32_t v = e->out; v < e->out + e->n_out; v++)
      reached[v] = any && cxi_type_is_float(p->values[v].type);
  }
  for (uint32_t i = 0; i < p->n_out; i++) output[i] = reached[p->outputs[i]];
}

cx cxi_batched_at(cx x, int axis, int64_t size, int to) {
  return axis < 0 ? cxi_insert_axis(x, to, size) : cxi_move_axis(x, axis, to);
}

uint32_t cxi_count(uint32_t n, const bool *mask) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++) count += mask[i];
  return count;
}

bool cxi_join(uint32_t n, bool *mask, const bool *more) {
  bool grown = false;
  for (uint32_t i = 0; i < n; i++) {
    grown = grown || (more[i] && !mask[i]);
    mask[i] = mask[i] || more[i];
  }
  return grown;
}
