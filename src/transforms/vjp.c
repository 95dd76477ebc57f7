/* vjp.c - a function and its cotangents as one program: linearized, its
 * linear part transposed, both joined again. */
#include <assert.h>
#include <stdlib.h>

#include "ops/lax.h"
#include "transforms/split.h"

/* What the two parts are joined from. */
typedef struct halves {
  cxi_partial partial;     /* known(ins) -> outs, residuals */
  const cxi_program *back; /* (residuals, cotangents) -> cotangents; or NULL
                                 if nothing depends on what is wanted */
  const bool *wrt, *cotangent_out, *nonzero_out;
} halves;

static uint32_t count(const bool *mask, uint32_t n) {
  uint32_t c = 0;
  for (uint32_t i = 0; i < n; i++) c += mask[i];
  return c;
}

/* How the linear part is transposed. */
typedef struct masks {
  const bool *linear_in; /* its tangents */
  const bool *wanted;    /* its outputs with cotangents */
} masks;

/* The cotangents are those of the outputs that have a tangent at all. False
 * without memory. */
static bool find_masks(cxi_task *task, const cxi_program *linear,
                       const bool *wrt, const bool *cotangent_out,
                       const bool *nonzero_out, masks *out) {
  const cxi_program *p = task->p;
  bool *linear_in = cxi_scratch(linear->n_in + (size_t)1);
  bool *wanted = cxi_scratch(linear->n_out + (size_t)1);
  if (!linear_in || !wanted) {
    cxi_error_set(task->error, CX_EMEMORY, "vjp: no memory");
    return false;
  }
  for (uint32_t i = 0; i < count(wrt, p->n_in); i++) linear_in[i] = true;
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_out; i++)
    if (nonzero_out[i]) wanted[n++] = cotangent_out[i];
  *out = (masks){ linear_in, wanted };
  return true;
}

static bool transpose_linear(cxi_task *task, halves *h) {
  const cxi_program *linear = h->partial.unknown;
  masks m;
  if (!find_masks(task, linear, h->wrt, h->cotangent_out, h->nonzero_out, &m))
    return false;
  if (count(m.wanted, linear->n_out) == 0) return true;
  h->back = cxi_transpose_linear(linear, count(h->wrt, task->p->n_in), m.wanted,
                                 task->error);
  return h->back != NULL;
}

static const cxi_program *join(cxi_task *task, const halves *h) {
  const cxi_program *p = task->p, *known = h->partial.known;
  const uint32_t n_residuals = h->partial.n_residuals;
  cxi_builder b;
  cxi_builder_open(&b);
  cx *in = cxi_walk_scratch((size_t)p->n_in + p->n_out, sizeof *in);
  cx *out = cxi_walk_scratch((size_t)known->n_out + p->n_in, sizeof *out);
  cx *args = cxi_walk_scratch((size_t)n_residuals + p->n_out, sizeof *args);
  cx *grads = cxi_walk_scratch(p->n_in, sizeof *grads);
  uint32_t n_in = p->n_in, n_out = p->n_out, n_args = n_residuals, g = 0;
  if (in && out && args && grads) {
    for (uint32_t i = 0; i < p->n_in; i++)
      in[i] = cxi_builder_input(&b, p->values[i].type);
    cxi_replay(known, in, out);
    for (uint32_t i = 0; i < n_residuals; i++) args[i] = out[p->n_out + i];
    for (uint32_t i = 0; i < p->n_out; i++) {
      if (!h->cotangent_out[i]) continue;
      in[n_in] = cxi_builder_input(&b, cxi_output_type(p, i));
      if (h->nonzero_out[i]) args[n_args++] = in[n_in];
      n_in++;
    }
    if (h->back) cxi_replay(h->back, args, grads);
    for (uint32_t i = 0; i < p->n_in; i++)
      if (h->wrt[i])
        out[n_out++] = h->back ? grads[g++] : cxi_zeros(p->values[i].type);
  }
  return cxi_task_finish(task, &b, "_vjp", n_in, in, n_out, out);
}

static const cxi_program *vjp(cxi_task *task, const bool *wrt,
                              const bool *cotangent_out) {
  const cxi_program *p = task->p;
  bool *nonzero_out = cxi_scratch(p->n_out + (size_t)1);
  halves h = { .wrt = wrt,
               .cotangent_out = cotangent_out,
               .nonzero_out = nonzero_out };
  if (!nonzero_out) {
    cxi_error_set(task->error, CX_EMEMORY, "vjp: no memory");
    return NULL;
  }
  if (!cxi_linearize(p, wrt, &h.partial, nonzero_out, task->error) ||
      !transpose_linear(task, &h))
    return NULL;
  return join(task, &h);
}

const cxi_program *cxi_vjp(const cxi_program *p, const bool *wrt,
                           const bool *cotangent_out, cxi_error *error) {
  for (uint32_t i = 0; i < p->n_in; i++)
    assert(!wrt[i] || cxi_type_is_float(p->values[i].type));
  for (uint32_t i = 0; i < p->n_out; i++)
    assert(!cotangent_out[i] || cxi_type_is_float(cxi_output_type(p, i)));
  cxi_task task;
  cxi_task_begin(&task, CXI_VJP, p, NULL, 0, error);
  cxi_memo_key_mask(&task.key, wrt, p->n_in);
  cxi_memo_key_mask(&task.key, cotangent_out, p->n_out);
  if (!cxi_task_found(&task)) {
    task.memo.a = vjp(&task, wrt, cotangent_out);
    cxi_task_keep(&task, task.memo.a != NULL);
  }
  cxi_task_end(&task);
  return task.memo.a;
}

/* -- into a builder that is there ----------------------------------------- */

/* Writes p's outputs into b. The linear part, (tangents, residuals) ->
 * tangents, is a program; NULL with the error. `residuals` are those in b. */
static const cxi_program *linearize_into(cxi_task *task, cxi_builder *b,
                                         const bool *wrt, const cx *in, cx *out,
                                         bool *nonzero_out,
                                         const cx **residuals,
                                         uint32_t *n_residuals) {
  const cxi_program *p = task->p;
  cx *dx = cxi_walk_scratch(p->n_in, sizeof *dx);
  cx *dout = cxi_walk_scratch(p->n_out, sizeof *dout);
  if (!dx || !dout || !nonzero_out) {
    cxi_task_failed(task, b);
    return NULL;
  }
  cxi_split s;
  cxi_split_open(&s, b);
  const uint32_t n =
      cxi_linearize_walk(&s, p, wrt, in, dx, out, dout, nonzero_out);
  const cxi_program *linear = cxi_split_finish_unknown(
      &s, task, count(wrt, p->n_in), dx, n, dout, residuals, n_residuals);
  const cxi_program *held = cxi_hold(linear);
  cxi_program_release(linear);
  if (linear && !held) cxi_error_set(task->error, CX_EMEMORY, "vjp: no memory");
  return held;
}

static bool vjp_into(cxi_task *task, cxi_builder *b, const bool *wrt,
                     const bool *cotangent_out, const cx *in, cx *out) {
  const cxi_program *p = task->p;
  bool *nonzero_out = cxi_walk_scratch(p->n_out, sizeof *nonzero_out);
  const cx *residuals, *ct = in + p->n_in;
  uint32_t n = 0;
  masks m;
  const cxi_program *linear =
      linearize_into(task, b, wrt, in, out, nonzero_out, &residuals, &n);
  if (!linear || !find_masks(task, linear, wrt, cotangent_out, nonzero_out, &m))
    return false;
  cx *args = cxi_walk_scratch((size_t)n + p->n_out, sizeof *args);
  if (!args) return cxi_task_failed(task, b);
  for (uint32_t i = 0; i < n; i++) args[i] = residuals[i];
  for (uint32_t i = 0; i < p->n_out; i++) {
    if (!cotangent_out[i]) continue;
    if (nonzero_out[i]) args[n++] = *ct;
    ct++;
  }
  cx *grads = out + p->n_out;
  if (count(m.wanted, linear->n_out) == 0) {
    for (uint32_t i = 0; i < p->n_in; i++)
      if (wrt[i]) *grads++ = cxi_zeros(p->values[i].type);
    return b->error.code == CX_OK || cxi_task_failed(task, b);
  }
  const cxi_program *live = cxi_live_part(linear, task->error);
  if (!live) return false;
  return cxi_transpose_into(b, live, m.linear_in, m.wanted, NULL, args,
                            grads) ||
         cxi_task_failed(task, b);
}

bool cxi_vjp_into(cxi_builder *b, const cxi_program *p, const bool *wrt,
                  const bool *cotangent_out, const cx *in, cx *out,
                  cxi_error *error) {
  if (getenv("CX_DUMP")) { /* which shows the programs in between */
    const cxi_program *q = cxi_vjp(p, wrt, cotangent_out, error);
    return q && cxi_replay(q, in, out);
  }
  cxi_task task;
  cxi_task_begin(&task, CXI_VJP, p, NULL, 0, error);
  cxi_memo_key_mask(&task.key, wrt, p->n_in);
  cxi_memo_key_mask(&task.key, cotangent_out, p->n_out);
  const bool ok = cxi_task_found(&task)
                      ? task.memo.a && cxi_replay(task.memo.a, in, out)
                      : vjp_into(&task, b, wrt, cotangent_out, in, out);
  cxi_task_end(&task);
  return ok;
}
