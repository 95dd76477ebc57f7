/* moves.c - rules shared by the rows that move elements. */
#include "primitives/moves.h"

#include <inttypes.h>

void cxi_jvp_move(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                  cx *dout) {
  (void)out;
  cx *args = cxi_handles(r->n_in, cx_none());
  if (!args) return;
  for (uint32_t i = 0; i < r->n_in; i++) {
    if (!cxi_type_is_float(r->in_types[i]))
      args[i] = in[i];
    else
      args[i] = cxi_begun(dx[i], r->in_types[i]);
  }
  cxi_emit(r->row->prim, r->params, r->n_in, args, r->n_out, dout);
}

cx cxi_begun(cx acc, cxi_type type) {
  return cx_is_none(acc) ? cxi_zeros(type) : acc;
}

cx cxi_batch_to(cx x, int axis, int to, int64_t size) {
  return axis < 0 ? cxi_insert_axis(x, to, size) : cxi_move_axis(x, axis, to);
}

int cxi_first_batched(const int *axis, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (axis[i] >= 0) return axis[i];
  return -1;
}

cx *cxi_handles(uint32_t n, cx value) {
  cx *handles = cxi_scratch((n ? n : 1) * sizeof *handles);
  if (!handles) {
    cxi_fail(CX_EMEMORY, "out of memory");
    return NULL;
  }
  for (uint32_t i = 0; i < n; i++) handles[i] = value;
  return handles;
}

bool cxi_infer_axes(cxi_infer *c, const char *name, const cx_dims *axes) {
  if (cxi_axes_valid(axes, cxi_type_rank(c->in[0]))) return true;
  return cxi_infer_fail(c, CX_ESHAPE, "%s %s: not distinct axes of %s", name,
                        cxi_show_list(axes).s, cxi_show_type(c->in[0]).s);
}

bool cxi_infer_axis(cxi_infer *c, int64_t axis, int rank) {
  if (axis >= 0 && axis < rank) return true;
  return cxi_infer_fail(c, CX_ESHAPE, "axis %" PRId64 " is not one of %d", axis,
                        rank);
}

bool cxi_infer_sizes(cxi_infer *c, const char *name, const cx_dims *shape) {
  if (cxi_dims_valid(shape)) return true;
  return cxi_infer_fail(c, CX_ESHAPE, "%s %s: at most %d sizes, none negative",
                        name, cxi_show_list(shape).s, CX_MAX_DIMS);
}

bool cxi_infer_moved(cxi_infer *c, cx_dims shape) {
  const cx_dtype dtype = cxi_type_dtype(c->in[0]);
  const cx_aval aval = { dtype, shape };
  if (!cxi_dims_valid(&shape))
    return cxi_infer_fail(c, CX_ESHAPE, "more than %d dimensions", CX_MAX_DIMS);
  if (cxi_aval_bytes(&aval) < 0)
    return cxi_infer_fail(c, CX_ESHAPE, "%s%s: its size overflows",
                          cxi_dtype_name(dtype), cxi_show_list(&shape).s);
  return cxi_infer_result(c, cxi_type_make(dtype, shape));
}
