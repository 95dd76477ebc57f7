/* lax_each.c - a program on scalars, applied to every element. */
#include "ir/row.h"
#include "ops/lax.h"

/* Whether its equations, given arrays for scalars, give arrays. */
static bool is_elementwise(const cxi_program *p) {
  for (uint32_t i = 0; i < p->n_equations; i++)
    if (cxi_row_of((cxi_prim)p->equations[i].prim)->form !=
        CXI_FORM_ELEMENTWISE)
      return false;
  return true;
}

/* A loop over the elements. */
static bool by_loop(const cxi_program *p, const cx *in, cx *out,
                    cx_dims shape) {
  const cx_dims flat = { 1, { cxi_dims_count(&shape) } };
  cx *xs = cxi_scratch((p->n_in + (size_t)1) * sizeof *xs);
  if (!xs) {
    cxi_fail(CX_EMEMORY, "no memory for a loop over elements");
    return false;
  }
  for (uint32_t i = 0; i < p->n_in; i++) xs[i] = cxi_reshape(in[i], flat);
  const cxi_scan_params loop = { .body = p, .length = flat.d[0], .unroll = 1 };
  if (!cxi_scan(&loop, xs, out)) return false;
  for (uint32_t i = 0; i < p->n_out; i++) out[i] = cxi_reshape(out[i], shape);
  return true;
}

bool cxi_each(const cxi_program *p, const cx *in, cx *out) {
  const cx_dims shape = cxi_shape_at(in[0]);
  if (shape.n && !is_elementwise(p)) return by_loop(p, in, out, shape);
  if (!cxi_replay(p, in, out)) return false;
  for (uint32_t i = 0; i < p->n_out; i++)
    if (shape.n && cxi_rank_at(out[i]) == 0)
      out[i] = cxi_broadcast_scalar(out[i], shape);
  return true;
}
