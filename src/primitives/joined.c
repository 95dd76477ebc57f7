/* joined.c - what the rows that join elements by a function share. */
#include "primitives/joined.h"

bool cxi_infer_scalars(cxi_infer *c, const char *what, const cxi_program *p,
                       uint32_t n_in, const cx_dtype *in, uint32_t n_out,
                       const cx_dtype *out) {
  if (!p) return cxi_infer_fail(c, CX_ETREE, "no %s", what);
  if (p->effects)
    return cxi_infer_fail(c, CX_EUSER, "the %s has effects", what);
  if (p->axes.n)
    return cxi_infer_fail(c, CX_EUSER, "the %s names the axis \"%s\" of a vmap",
                          what, cxi_name_text(p->axes.d[0]));
  if (p->n_in != n_in || p->n_out != n_out)
    return cxi_infer_fail(c, CX_ETREE,
                          "the %s takes %u and gives %u values, not %u and %u",
                          what, p->n_in, p->n_out, n_in, n_out);
  for (uint32_t i = 0; i < n_in + n_out; i++) {
    const bool input = i < n_in;
    const cxi_type is =
        input ? p->values[i].type : cxi_output_type(p, i - n_in);
    const cxi_type want = cxi_type_scalar(input ? in[i] : out[i - n_in]);
    if (is != want)
      return cxi_infer_fail(c, CX_ESHAPE, "the %s %s %s as value %u, not %s",
                            what, input ? "takes" : "gives",
                            cxi_show_type(is).s, input ? i : i - n_in,
                            cxi_show_type(want).s);
  }
  return true;
}

bool cxi_infer_joined(cxi_infer *c, const cxi_program *body,
                      const cx_dims **out) {
  const uint32_t n = c->n_in / 2;
  if (n == 0 || c->n_in % 2)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "takes arrays and as many starts, got %u operands",
                          c->n_in);
  cx_dtype *types = cxi_scratch(2 * (size_t)n * sizeof *types);
  if (!types) return cxi_infer_fail(c, CX_EMEMORY, "no memory");
  *out = cxi_type_shape(c->in[0]);
  for (uint32_t i = 0; i < n; i++) {
    types[i] = types[n + i] = cxi_type_dtype(c->in[i]);
    if (!cxi_dims_equal(cxi_type_shape(c->in[i]), *out))
      return cxi_infer_fail(c, CX_ESHAPE, "the arrays are %s and %s",
                            cxi_show_type(c->in[0]).s,
                            cxi_show_type(c->in[i]).s);
    if (cxi_type_dtype(c->in[n + i]) != types[i])
      return cxi_infer_fail(c, CX_EDTYPE, "%s starts from %s",
                            cxi_show_type(c->in[i]).s,
                            cxi_show_type(c->in[n + i]).s);
  }
  return cxi_infer_scalars(c, "body", body, 2 * n, types, n, types);
}

bool cxi_infer_start(cxi_infer *c, uint32_t operand, const cx_dims *result) {
  const cx_dims *start = cxi_type_shape(c->in[operand]);
  if (start->n == 0 || cxi_dims_equal(start, result)) return true;
  return cxi_infer_fail(
      c, CX_ESHAPE, "the start is %s: needs rank 0, or the result's shape %s",
      cxi_show_type(c->in[operand]).s, cxi_show_list(result).s);
}

bool cxi_infer_from_starts(cxi_infer *c, const cx_dims *result) {
  const uint32_t n = c->n_in / 2;
  for (uint32_t i = 0; i < n; i++) {
    const cxi_type type = cxi_type_make(cxi_type_dtype(c->in[i]), *result);
    if (!cxi_infer_start(c, n + i, result) || !cxi_infer_result(c, type))
      return false;
  }
  return true;
}

cx cxi_start_full(cx start, const cx_dims *result) {
  if (cxi_rank_at(start) == result->n) return start;
  return cxi_broadcast_scalar(start, *result);
}

cx cxi_batch_start(cx start, int axis, int to, int64_t size,
                   const cx_dims *result) {
  const int rank = cxi_rank_at(start) - (axis >= 0);
  if (rank == result->n) return cxi_batch_to(start, axis, to, size);
  if (axis < 0) return start;
  const cx_dims shape = cxi_dims_insert(*result, to, size);
  return cxi_broadcast_in_dim(start, shape, cxi_dims_range(to, to + 1));
}
