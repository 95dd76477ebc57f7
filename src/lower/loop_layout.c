/* loop_layout.c - what loops and branches have in them, and where it lies. */
#include "lower/loop.h"

#include "base/alloc.h"

bool cxi_is_loop(cxi_prim prim) {
  return prim == CXI_PRIM_scan || prim == CXI_PRIM_while ||
         prim == CXI_PRIM_cond;
}

uint32_t cxi_loop_bodies(cxi_prim prim, const void *params) {
  switch (prim) {
  case CXI_PRIM_scan:
    return 1;
  case CXI_PRIM_while:
    return 2;
  case CXI_PRIM_cond:
    return ((const cxi_cond_params *)params)->branches.n;
  default:
    return 0;
  }
}

const cxi_program *cxi_loop_body(cxi_prim prim, const void *params, uint32_t i,
                                 int64_t *out_carry, int64_t *out_n_carry) {
  *out_carry = -1;
  *out_n_carry = 0;
  if (prim == CXI_PRIM_cond)
    return ((const cxi_cond_params *)params)->branches.d[i];
  if (prim == CXI_PRIM_scan) {
    const cxi_scan_params *s = params;
    *out_carry = s->n_consts;
    *out_n_carry = s->n_carry;
    return s->body;
  }
  const cxi_while_params *w = params;
  if (i == 0) return w->cond;
  *out_carry = w->n_body_consts;
  *out_n_carry = (int64_t)w->body->n_in - w->n_body_consts;
  return w->body;
}

static size_t bytes_of(const cxi_operand *o) {
  return (size_t)cxi_aval_bytes(&o->type);
}

/* The place among the unit's operands of the first carry; results are the
 * carries first. */
uint32_t cxi_loop_first_carry(const cxi_unit *unit) {
  if (unit->row->prim == CXI_PRIM_scan)
    return (uint32_t)((const cxi_scan_params *)unit->params)->n_consts;
  const cxi_while_params *w = unit->params;
  return (uint32_t)(w->n_cond_consts + w->n_body_consts);
}

uint32_t cxi_loop_carries(const cxi_unit *unit) {
  return unit->row->prim == CXI_PRIM_scan
             ? (uint32_t)((const cxi_scan_params *)unit->params)->n_carry
             : unit->n_results;
}

static const cxi_plan *body_of(const cxi_unit *unit) {
  return unit->bodies[unit->row->prim == CXI_PRIM_while ? 1 : 0];
}

bool cxi_loop_carry_in_place(const cxi_unit *unit, uint32_t k) {
  return body_of(unit)->alias[k] >= 0;
}

bool cxi_loop_in_place(const cxi_unit *unit, uint32_t r, uint32_t k) {
  return unit->row->prim != CXI_PRIM_cond && r < cxi_loop_carries(unit) &&
         k == cxi_loop_first_carry(unit) + r &&
         cxi_loop_carry_in_place(unit, r);
}

/* A piece of the workspace. */
static size_t take(size_t *end, size_t bytes) {
  const size_t at = *end;
  *end += cxi_aligned(bytes);
  return at;
}

static size_t layout(const cxi_unit *unit, cxi_loop_parts *parts) {
  const bool loops = unit->row->prim == CXI_PRIM_while;
  size_t end = 0;
  if (loops) parts->cond = take(&end, unit->bodies[0]->bytes);
  parts->body = take(&end, body_of(unit)->bytes);
  if (loops) parts->verdict = take(&end, 1);
  for (uint32_t k = 0; k < cxi_loop_carries(unit); k++) {
    if (cxi_loop_carry_in_place(unit, k)) continue;
    const size_t at = take(&end, bytes_of(&unit->results[k]));
    if (parts->spare) parts->spare[k] = at;
  }
  return end;
}

void cxi_loop_layout(const cxi_unit *unit, cxi_loop_parts *parts) {
  layout(unit, parts);
}

size_t cxi_loop_workspace(const cxi_unit *unit) {
  if (unit->row->prim != CXI_PRIM_cond)
    return layout(unit, &(cxi_loop_parts){ 0 });
  size_t bytes = 0;
  for (uint32_t i = 0; i < unit->n_bodies; i++)
    if (unit->bodies[i]->bytes > bytes) bytes = unit->bodies[i]->bytes;
  return bytes;
}

static bool add_bodies(const cxi_unit *unit, cxi_plans *out) {
  for (uint32_t i = 0; i < unit->n_bodies; i++) {
    if (!unit->bodies[i]->schedule ||
        !cxi_grow(&out->d, &out->cap, out->n + (size_t)1, sizeof *out->d))
      return false;
    out->d[out->n++] = unit->bodies[i];
  }
  return true;
}

bool cxi_loop_plans(const cxi_unit *loop, cxi_plans *out) {
  *out = (cxi_plans){ 0 };
  bool ok = add_bodies(loop, out);
  for (uint32_t i = 0; ok && i < out->n; i++) {
    const cxi_schedule *s = out->d[i]->schedule;
    for (uint32_t u = 0; ok && u < s->n_units; u++)
      ok = add_bodies(&s->units[u], out);
  }
  if (ok) return true;
  cxi_free(out->d);
  *out = (cxi_plans){ 0 };
  return false;
}
