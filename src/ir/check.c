/* check.c - verifies that programs keep their invariants.
 *
 * First the numbers, since nothing else may be looked at before they are in
 * range. Then each program is built again: the builder infers the types and
 * orders the equations, so that what comes out must be the same program. */
#include "ir/text.h"

#include <stdio.h>
#include <string.h>

#include "ir/builder.h"
#include "ir/identity.h"
#include "ir/nest.h"

static bool fail(cxi_error *error, const cxi_program *p, const char *text) {
  return cxi_error_set(error, CX_ETRACE, "program %s: %s",
                       cxi_name_text(p->name), text);
}

static bool fail_equation(cxi_error *error, const cxi_program *p, uint32_t i,
                          const char *text) {
  const uint16_t prim = p->equations[i].prim;
  return cxi_error_set(error, CX_ETRACE, "program %s: equation %u (%s): %s",
                       cxi_name_text(p->name), (unsigned)i,
                       cxi_prim_name((cxi_prim)prim), text);
}

/* -- numbers -------------------------------------------------------------- */

static bool check_leaves(const cxi_program *p, cxi_error *error) {
  if (p->n_in > p->n_values || p->n_literals > p->n_values - p->n_in)
    return fail(error, p, "there are fewer values than inputs and literals");
  for (uint32_t i = 0; i < p->n_in; i++)
    if (p->values[i].source != CXI_INPUT || !p->values[i].type)
      return fail(error, p, "an input is not marked as one or has no type");
  for (uint32_t i = 0; i < p->n_literals; i++) {
    const cxi_value *v = &p->values[p->n_in + i];
    if (v->source != CXI_LITERAL || !v->type || cxi_type_rank(v->type) != 0)
      return fail(error, p, "a literal is not marked as one or not of rank 0");
  }
  return true;
}

/* Equation i, whose first operand and first result must be these. */
static bool check_equation(const cxi_program *p, uint32_t i, uint32_t in,
                           uint32_t out, cxi_error *error) {
  const cxi_equation *e = &p->equations[i];
  if (e->prim == CXI_PRIM_NONE || e->prim >= CXI_N_PRIMS)
    return fail_equation(error, p, i, "there is no such primitive");
  if (e->in != in || e->n_in > p->n_operands - in)
    return fail_equation(error, p, i, "its operands are not the next ones");
  if (e->out != out || e->n_out > p->n_values - out)
    return fail_equation(error, p, i, "its results are not the next values");
  for (uint32_t k = 0; k < e->n_in; k++)
    if (p->operands[in + k] >= out)
      return fail_equation(error, p, i, "an operand is not made before it");
  for (uint32_t k = 0; k < e->n_out; k++)
    if (p->values[out + k].source != i || !p->values[out + k].type)
      return fail_equation(error, p, i,
                           "a result has another source or no type");
  if (!e->params) return fail_equation(error, p, i, "it has no parameters");
  return true;
}

static bool check_numbers(const cxi_program *p, cxi_error *error) {
  if (!check_leaves(p, error)) return false;
  uint32_t in = 0, out = p->n_in + p->n_literals;
  for (uint32_t i = 0; i < p->n_equations; i++) {
    if (!check_equation(p, i, in, out, error)) return false;
    in += p->equations[i].n_in;
    out += p->equations[i].n_out;
  }
  if (in != p->n_operands || out != p->n_values)
    return fail(error, p, "operands or values are left over");
  for (uint32_t i = 0; i < p->n_out; i++)
    if (p->outputs[i] >= p->n_values)
      return fail(error, p, "an output is not a value");
  return true;
}

/* -- built again ---------------------------------------------------------- */

static bool enter(cxi_builder *b, const cxi_program *p, cx *value) {
  bool ok = true;
  for (uint32_t i = 0; i < p->n_in; i++) {
    value[i] = cxi_builder_input(b, p->values[i].type);
    ok = ok && !cxi_is_poison(value[i]);
  }
  for (uint32_t i = 0; i < p->n_literals; i++) {
    uint32_t v = p->n_in + i;
    value[v] =
        cxi_literal_bits(cxi_type_dtype(p->values[v].type), p->literals[i]);
    ok = ok && !cxi_is_poison(value[v]);
  }
  return ok;
}

/* Emits equation i and compares what the builder infers with what it says. */
static bool rebuild_equation(cxi_builder *b, const cxi_program *p, uint32_t i,
                             cx *value, cxi_error *error) {
  const cxi_equation *e = &p->equations[i];
  cxi_mark mark = cxi_scratch_mark();
  cx *in = cxi_scratch((e->n_in + (size_t)1) * sizeof *in);
  if (!in) return cxi_error_set(error, CX_EMEMORY, "out of memory");
  for (uint32_t k = 0; k < e->n_in; k++)
    in[k] = value[cxi_operands_of(p, e)[k]];
  cxi_site_use(e->site);
  cxi_scope_use(e->scope);
  bool ok = cxi_emit((cxi_prim)e->prim, e->params, e->n_in, in, e->n_out,
                     value + e->out);
  cxi_scratch_reset(mark);
  if (!ok && b->error.code == CX_EMEMORY)
    return cxi_error_set(error, CX_EMEMORY, "%s", b->error.text);
  if (!ok) return fail_equation(error, p, i, b->error.text);
  for (uint32_t k = 0; k < e->n_out; k++)
    if (cxi_type_at(value[e->out + k]) != p->values[e->out + k].type)
      return fail_equation(error, p, i, "a result has another type");
  if (b->equations[i].effects != e->effects)
    return fail_equation(error, p, i, "it has other effects");
  return true;
}

static bool same_program(const cxi_program *p, const cxi_program *again,
                         cxi_error *error) {
  cxi_hash hash, identity;
  if (!cxi_program_identify(p, &hash, &identity))
    return cxi_error_set(error, CX_EMEMORY, "out of memory");
  if (!cxi_hash_equal(hash, p->hash) || !cxi_hash_equal(identity, p->identity))
    return fail(error, p, "its hash is not that of its structure");
  if (!cxi_program_same(p, again) || p->effects != again->effects)
    return fail(error, p,
                "its equations or literals are not in order, or "
                "some are not used");
  return true;
}

static bool rebuild(const cxi_program *p, cxi_error *error) {
  cxi_mark mark = cxi_scratch_mark();
  cxi_name site = cxi_site_now(), scope = cxi_scope_now();
  cxi_builder b;
  cxi_builder_open(&b);
  cx *value = cxi_scratch((p->n_values + (size_t)1) * sizeof *value);
  cx *out = cxi_scratch((p->n_out + (size_t)1) * sizeof *out);
  bool ok = value && out && enter(&b, p, value);
  if (!ok) cxi_error_set(error, CX_EMEMORY, "out of memory");
  for (uint32_t i = 0; ok && i < p->n_equations; i++)
    ok = rebuild_equation(&b, p, i, value, error);
  cxi_site_use(site);
  cxi_scope_use(scope);
  if (ok) {
    for (uint32_t i = 0; i < p->n_out; i++) out[i] = value[p->outputs[i]];
    const cxi_program *again =
        cxi_builder_finish(&b, p->name, p->n_in, value, p->n_out, out, error);
    ok = again && same_program(p, again, error);
    cxi_program_release(again);
  } else {
    cxi_builder_abandon(&b);
  }
  cxi_scratch_reset(mark);
  return ok;
}

bool cxi_program_check(const cxi_program *p, cxi_error *error) {
  if (!check_numbers(p, error)) return false; /* the nest reads them */
  cxi_nest nest;
  bool ok = cxi_nest_of(p, &nest);
  if (!ok) cxi_error_set(error, CX_EMEMORY, "out of memory");
  for (uint32_t i = 0; ok && i < nest.n; i++)
    ok = check_numbers(nest.programs[i], error) &&
         rebuild(nest.programs[i], error);
  cxi_nest_free(&nest);
  return ok;
}
