/* transpose_part.c - the transpose of a linear program, and of any function that
 * is linear in some of its inputs.
 *
 *   y = f(c, x)   ->   ct x = A(known(c))' ct y
 *
 * A call, a loop or a barrier inside f may compute what does not depend on x
 * beside what does: f is split first, since a walk backwards takes an equation
 * as linear in all its results or in none. */
#include "transforms/walk.h"

typedef struct parts {
  const cxi_program *p;
  const bool *wrt;
  cxi_partial cut;
  bool *later;             /* by output: whether it depends on wrt */
  const cxi_program *back; /* (residuals, cotangents) -> cotangents */
} parts;

static bool no_memory(cxi_error *error) {
  cxi_error_set(error, CX_EMEMORY, "transpose: no memory");
  return false;
}

const cxi_program *cxi_transpose_linear(const cxi_program *p, uint32_t n_linear,
                                        const bool *cotangent_out,
                                        cxi_error *error) {
  const cxi_program *live = cxi_live_part(p, error);
  if (!live) return NULL;
  bool *linear = cxi_scratch(live->n_in + (size_t)1);
  bool *floats = cxi_scratch(live->n_out + (size_t)1);
  if (!linear || !floats) return no_memory(error), NULL;
  for (uint32_t i = 0; i < n_linear; i++) linear[i] = true;
  for (uint32_t i = 0; i < live->n_out; i++)
    floats[i] = cxi_type_is_float(cxi_output_type(live, i));
  return cxi_transpose_program(
      live, linear, cotangent_out ? cotangent_out : floats, NULL, error);
}

/* The transpose, and before it what it needs of the other part. */
static const cxi_program *join(const parts *h, cxi_error *error) {
  const cxi_program *p = h->p, *known = h->cut.known, *back = h->back;
  const uint32_t n_residuals = h->cut.n_residuals;
  cx *in = cxi_scratch(((size_t)p->n_in + p->n_out) * sizeof *in + 1);
  cx *made = cxi_scratch(known->n_out * sizeof *made + 1);
  cx *args = cxi_scratch(((size_t)n_residuals + p->n_out) * sizeof *args + 1);
  cx *out = cxi_scratch(back->n_out * sizeof *out + 1);
  if (!in || !made || !args || !out) return no_memory(error), NULL;
  uint32_t n = 0, n_args = n_residuals;
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    if (!h->wrt[i]) in[n++] = cxi_builder_input(&b, p->values[i].type);
  cxi_replay(known, in, made);
  for (uint32_t i = 0; i < n_residuals; i++)
    args[i] = made[known->n_out - n_residuals + i];
  for (uint32_t i = 0; i < p->n_out; i++) {
    if (!cxi_type_is_float(cxi_output_type(p, i))) continue;
    in[n] = cxi_builder_input(&b, cxi_output_type(p, i));
    if (h->later[i]) args[n_args++] = in[n];
    n++;
  }
  cxi_replay(back, args, out);
  return cxi_builder_finish(&b, p->name, n, in, back->n_out, out, error);
}

const cxi_program *cxi_transpose_part(const cxi_program *p, const bool *wrt,
                                      cxi_error *error) {
  parts h = { .p = p, .wrt = wrt };
  h.later = cxi_scratch(p->n_out + (size_t)1);
  if (!h.later) return no_memory(error), NULL;
  if (!cxi_partial_eval(p, wrt, NULL, &h.cut, h.later, error)) return NULL;
  const cxi_program *linear = h.cut.unknown;
  h.back = cxi_transpose_linear(linear, linear->n_in - h.cut.n_residuals, NULL,
                                error);
  if (!h.back) return NULL;
  const cxi_program *made = join(&h, error);
  const cxi_program *held = made ? cxi_hold(made) : NULL;
  cxi_program_release(made);
  if (made && !held) no_memory(error);
  return held;
}
