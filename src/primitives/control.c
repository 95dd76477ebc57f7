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
                      .places = cxi_array(room, sizeof(uint32_t), ok),
                      .types = cxi_array(room, sizeof(cxi_type), ok) };
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

const cxi_program *cxi_body_fit(const cxi_program *p, uint32_t n_in,
                                const uint32_t *place, const cxi_type *types) {
  bool ok = true;
  cx *in = cxi_array(n_in, sizeof *in, &ok);
  cx *args = cxi_array(p->n_in, sizeof *args, &ok);
  cx *out = cxi_array(p->n_out, sizeof *out, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return NULL;
  }
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n_in; i++) {
    in[i] = cxi_builder_input(&b, types[i]);
    if (place[i] != CXI_IGNORED) args[place[i]] = in[i];
  }
  cxi_replay(p, args, out);
  return cxi_body_finish(&b, p, n_in, in, p->n_out, out);
}

void cxi_places(uint32_t n, const bool *left, uint32_t *place) {
  uint32_t k = 0;
  for (uint32_t i = 0; i < n; i++) place[i] = left[i] ? k++ : CXI_IGNORED;
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

/* -- batches -------------------------------------------------------------- */

/* Programs to look into: each once, in a list in scratch memory. */
typedef struct visit {
  uint32_t n, cap;
  const cxi_program **programs;
  bool failed;
} visit;

static void visit_add(const cxi_program *p, void *user) {
  visit *v = user;
  for (uint32_t i = 0; i < v->n; i++)
    if (v->programs[i] == p) return;
  if (v->n == v->cap) {
    bool ok = true;
    const uint32_t cap = 2 * v->cap + 16;
    const cxi_program **programs = cxi_array(cap, sizeof *programs, &ok);
    if (!ok) {
      v->failed = true;
      return;
    }
    if (v->n) memcpy(programs, v->programs, v->n * sizeof *programs);
    v->programs = programs;
    v->cap = cap;
  }
  v->programs[v->n++] = p;
}

bool cxi_may_not_end(const cxi_program *p, bool *ok) {
  visit v = { 0 };
  visit_add(p, &v);
  for (uint32_t i = 0; i < v.n; i++) {
    const cxi_program *q = v.programs[i];
    for (uint32_t k = 0; k < q->n_equations; k++) {
      const cxi_equation *e = &q->equations[k];
      if (e->prim == CXI_PRIM_while) return true;
      cxi_params_each_program((cxi_prim)e->prim, e->params, visit_add, &v);
    }
  }
  *ok = *ok && !v.failed;
  return false;
}

cx cxi_repeat_lane(cx x, cx lane) {
  const cx_dims shape = cxi_shape_at(x);
  cx starts[CX_MAX_DIMS];
  cx_dims sizes = shape;
  for (int i = 1; i < shape.n; i++) starts[i] = cxi_integer(CX_I32, 0);
  starts[0] = lane;
  sizes.d[0] = 1;
  const cx one = cxi_reshape(cxi_dynamic_slice(x, starts, sizes),
                             cxi_dims_without(shape, 0));
  return cxi_insert_axis(one, 0, shape.d[0]);
}

cx cxi_per_lane(cx mask, cx x) {
  return cxi_broadcast_in_dim(mask, cxi_shape_at(x), cxi_dims_range(0, 1));
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
