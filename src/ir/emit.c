/* emit.c - the current emitter, site and scope; handles; replay. */
#include "ir/emit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fpu.h"

static _Thread_local cxi_emitter *current;
static _Thread_local cxi_name current_site, current_scope;
static _Thread_local const char *current_operation;

cxi_emitter *cxi_emitter_use(cxi_emitter *emitter) {
  cxi_emitter *before = current;
  current = emitter;
  return before;
}

cxi_emitter *cxi_emitter_now(void) {
  return current ? current : &cxi_emitter_nowhere;
}

uint32_t cxi_serial_next(void) {
  static uint32_t last;
  uint32_t serial = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
  return serial ? serial : __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

const char *cxi_operation_use(const char *name) {
  const char *before = current_operation;
  current_operation = name;
  return before;
}

const char *cxi_operation_now(void) {
  return current_operation;
}

cxi_name cxi_site_use(cxi_name site) {
  cxi_name before = current_site;
  current_site = site;
  return before;
}

cxi_name cxi_site_now(void) {
  return current_site;
}

cxi_name cxi_scope_use(cxi_name scope) {
  cxi_name before = current_scope;
  current_scope = scope;
  return before;
}

cxi_name cxi_scope_now(void) {
  return current_scope;
}

/* A failure without a report of its own. */
static const cx unreported = { 0, 1 };

/* -- handles -------------------------------------------------------------- */

cx cx_none(void) {
  return (cx){ UINT32_MAX, 0 };
}

bool cx_is_none(cx a) {
  return a.index == UINT32_MAX;
}

bool cxi_given(cx a) {
  return a.index != 0 && a.index != UINT32_MAX;
}

cxi_type cxi_type_at(cx a) {
  cxi_info info;
  cxi_emitter *e = cxi_emitter_now();
  return e->info(e, a, &info) ? info.type : 0;
}

cx_dims cxi_shape_at(cx a) {
  return *cxi_type_shape(cxi_type_at(a));
}

cx_dtype cxi_dtype_at(cx a) {
  return cxi_type_dtype(cxi_type_at(a));
}

int cxi_rank_at(cx a) {
  return cxi_type_rank(cxi_type_at(a));
}

cx cxi_fail(cx_code code, const char *format, ...) {
  cxi_emitter *e = cxi_emitter_now();
  cxi_error error;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error.text, sizeof error.text, format, arguments);
  va_end(arguments);
  return e->fail(e, code, error.text);
}

/* -- literals ------------------------------------------------------------- */

cx cxi_number(cx_dtype dtype, double x) {
  uint64_t bits = 0;
  const cxi_fpu mode = cxi_fpu_enter();
  if (dtype == CX_KEY)
    bits = (uint64_t)x;
  else
    cxi_element_set(dtype, &bits, x);
  cxi_fpu_leave(mode);
  return cxi_literal_bits(dtype, bits);
}

cx cxi_integer(cx_dtype dtype, int64_t x) {
  uint64_t bits = 0;
  if (dtype == CX_KEY)
    bits = (uint64_t)x;
  else
    cxi_element_set_int(dtype, &bits, x);
  return cxi_literal_bits(dtype, bits);
}

cx cxi_literal_bits(cx_dtype dtype, uint64_t bits) {
  cxi_emitter *e = cxi_emitter_now();
  return e->literal(e, dtype, false, bits);
}

/* -- equations ------------------------------------------------------------ */

bool cxi_emit(cxi_prim prim, const void *params, uint32_t n_in, const cx *in,
              uint32_t n_out, cx *out) {
  cxi_emitter *e = cxi_emitter_now();
  return e->emit(e, prim, params, n_in, in, n_out, out);
}

cx cxi_emit1(cxi_prim prim, const void *params, uint32_t n_in, const cx *in) {
  cx out;
  cxi_emit(prim, params, n_in, in, 1, &out);
  return out;
}

/* The handles of p's inputs and literals. */
static void enter_values(const cxi_program *p, const cx *in, cx *value) {
  if (p->n_in) memcpy(value, in, p->n_in * sizeof *in);
  for (uint32_t i = 0; i < p->n_literals; i++) {
    cxi_type type = p->values[p->n_in + i].type;
    value[p->n_in + i] = cxi_literal_bits(cxi_type_dtype(type), p->literals[i]);
  }
}

static uint32_t most_operands(const cxi_program *p) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < p->n_equations; i++)
    if (p->equations[i].n_in > most) most = p->equations[i].n_in;
  return most;
}

/* Poison if one fails, else {0}. */
static cx emit_equations(const cxi_program *p, cx *value, cx *operands) {
  cxi_emitter *to = cxi_emitter_now();
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    const uint32_t *from = cxi_operands_of(p, e);
    for (uint32_t k = 0; k < e->n_in; k++) operands[k] = value[from[k]];
    cxi_site_use(e->site);
    cxi_scope_use(e->scope);
    cx *out = value + e->out;
    if (to->again && to->again(to, p, e, operands, out)) continue;
    if (!to->emit(to, (cxi_prim)e->prim, e->params, e->n_in, operands, e->n_out,
                  out))
      return e->n_out ? out[0] : unreported;
  }
  return (cx){ 0, 0 };
}

bool cxi_replay(const cxi_program *p, const cx *in, cx *out) {
  cxi_mark mark = cxi_scratch_mark();
  cxi_name site = cxi_site_now(), scope = cxi_scope_now();
  cx *value = cxi_scratch((p->n_values + (size_t)1) * sizeof *value);
  cx *operands = cxi_scratch((most_operands(p) + (size_t)1) * sizeof *operands);
  bool good = value && operands;
  cx poison;
  if (good) {
    enter_values(p, in, value);
    poison = emit_equations(p, value, operands);
    good = !cxi_is_poison(poison);
  } else {
    poison = cxi_fail(CX_EMEMORY, "out of memory");
  }
  for (uint32_t i = 0; i < p->n_out; i++)
    out[i] = good ? value[p->outputs[i]] : poison;
  cxi_site_use(site);
  cxi_scope_use(scope);
  cxi_scratch_reset(mark);
  return good;
}
