/* families.c - the rules that many rows share. */
#include "primitives/families.h"
#include "ops/axes.h"

/* -- infer ----------------------------------------------------------------- */

bool cxi_infer_count(cxi_infer *c, uint32_t n) {
  if (c->n_in == n) return true;
  return cxi_infer_fail(c, CX_ESHAPE, "takes %u operand%s, got %u", n,
                        n == 1 ? "" : "s", c->n_in);
}

static const char *accepted(unsigned accept) {
  static const struct {
    unsigned accept;
    const char *text;
  } words[] = {
    { CXI_ACCEPT_FLOAT, "a floating dtype" },
    { CXI_ACCEPT_INTEGER, "an integer dtype" },
    { CXI_ACCEPT_BITS, "a bool or integer dtype" },
    { CXI_ACCEPT_SIGNED, "a signed or floating dtype" },
    { CXI_ACCEPT_NUMBER, "an integer or floating dtype" },
    { CXI_ACCEPT_ORDERED, "a bool, integer or floating dtype" },
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (words[i].accept == accept) return words[i].text;
  return "another dtype";
}

bool cxi_infer_kind(cxi_infer *c, uint32_t operand, unsigned accept) {
  cx_dtype type = cxi_type_dtype(c->in[operand]);
  if (accept >> cxi_dtype_kind(type) & 1) return true;
  return cxi_infer_fail(c, CX_EDTYPE, "needs %s, got %s", accepted(accept),
                        cxi_show_type(c->in[operand]).s);
}

bool cxi_infer_one_dtype(cxi_infer *c, uint32_t first, uint32_t n) {
  cx_dtype type = cxi_type_dtype(c->in[first]);
  for (uint32_t i = first + 1; i < first + n; i++) {
    cx_dtype other = cxi_type_dtype(c->in[i]);
    if (other != type)
      return cxi_infer_fail(c, CX_EDTYPE,
                            "operands are %s and %s (write cx_cast)",
                            cxi_dtype_name(type), cxi_dtype_name(other));
  }
  return true;
}

/* The type of an operand that has the shape all stand for; 0 if they do not
 * fit. Types are interned, so most often equal ids spare the shapes. */
static cxi_type infer_shaped(cxi_infer *c) {
  cxi_type shaped = c->in[0];
  for (uint32_t i = 1; i < c->n_in; i++) {
    if (c->in[i] == shaped || cxi_type_rank(c->in[i]) == 0) continue;
    if (cxi_type_rank(shaped) == 0) {
      shaped = c->in[i];
    } else if (!cxi_dims_equal(cxi_type_shape(shaped),
                               cxi_type_shape(c->in[i]))) {
      cxi_infer_fail(c, CX_ESHAPE, "operands are %s and %s",
                     cxi_show_type(shaped).s, cxi_show_type(c->in[i]).s);
      return 0;
    }
  }
  return shaped;
}

bool cxi_infer_shape(cxi_infer *c, cx_dims *out) {
  *out = (cx_dims){ 0 };
  const cxi_type shaped = c->n_in ? infer_shaped(c) : 0;
  if (shaped) *out = *cxi_type_shape(shaped);
  return shaped || c->n_in == 0;
}

bool cxi_infer_elementwise(cxi_infer *c, uint32_t n, unsigned accept,
                           cx_dtype type) {
  if (!cxi_infer_count(c, n)) return false;
  for (uint32_t i = 0; i < n; i++)
    if (!cxi_infer_kind(c, i, accept)) return false;
  if (!cxi_infer_one_dtype(c, 0, n)) return false;
  const cxi_type shaped = infer_shaped(c);
  if (!shaped) return false;
  return cxi_infer_result(c, type ? cxi_type_make(type, *cxi_type_shape(shaped))
                                  : shaped);
}

bool cxi_infer_unary_float(cxi_infer *c) {
  return cxi_infer_elementwise(c, 1, CXI_ACCEPT_FLOAT, 0);
}
bool cxi_infer_unary_number(cxi_infer *c) {
  return cxi_infer_elementwise(c, 1, CXI_ACCEPT_NUMBER, 0);
}
bool cxi_infer_unary_signed(cxi_infer *c) {
  return cxi_infer_elementwise(c, 1, CXI_ACCEPT_SIGNED, 0);
}
bool cxi_infer_binary_number(cxi_infer *c) {
  return cxi_infer_elementwise(c, 2, CXI_ACCEPT_NUMBER, 0);
}
bool cxi_infer_binary_float(cxi_infer *c) {
  return cxi_infer_elementwise(c, 2, CXI_ACCEPT_FLOAT, 0);
}
bool cxi_infer_binary_ordered(cxi_infer *c) {
  return cxi_infer_elementwise(c, 2, CXI_ACCEPT_ORDERED, 0);
}
bool cxi_infer_binary_bits(cxi_infer *c) {
  return cxi_infer_elementwise(c, 2, CXI_ACCEPT_BITS, 0);
}
bool cxi_infer_binary_integer(cxi_infer *c) {
  return cxi_infer_elementwise(c, 2, CXI_ACCEPT_INTEGER, 0);
}
bool cxi_infer_compare(cxi_infer *c) {
  return cxi_infer_elementwise(c, 2, CXI_ACCEPT_ORDERED, CX_BOOL);
}
bool cxi_infer_identity(cxi_infer *c) {
  return cxi_infer_elementwise(c, 1, CXI_ACCEPT_ANY, 0);
}

/* -- jvp ------------------------------------------------------------------- */

cx cxi_fit(const cxi_rule *r, cx t) {
  const cx_dims *shape = cxi_type_shape(r->out_types[0]);
  if (!cxi_given(t) || cxi_rank_at(t) == shape->n) return t;
  return cxi_broadcast_scalar(t, *shape);
}

void cxi_jvp_none(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                  cx *dout) {
  (void)r, (void)in, (void)dx, (void)out, (void)dout;
}

void cxi_jvp_pass(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                  cx *dout) {
  (void)r, (void)in, (void)out;
  dout[0] = dx[0];
}

void cxi_jvp_linear(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout) {
  (void)out;
  cxi_mark mark = cxi_scratch_mark();
  cx *operands = cxi_scratch(r->n_in * sizeof *operands);
  if (!operands) {
    dout[0] = cxi_fail(CX_EMEMORY, "no memory for a tangent");
    return;
  }
  for (uint32_t i = 0; i < r->n_in; i++) operands[i] = i ? in[i] : dx[0];
  cxi_emit(r->row->prim, r->params, r->n_in, operands, r->n_out, dout);
  cxi_scratch_reset(mark);
}

void cxi_jvp_bilinear(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                      cx *dout) {
  (void)out;
  cx term[2] = { cx_none(), cx_none() };
  if (!cx_is_none(dx[0]))
    term[0] = cxi_emit1(r->row->prim, r->params, 2, (cx[]){ dx[0], in[1] });
  if (!cx_is_none(dx[1]))
    term[1] = cxi_emit1(r->row->prim, r->params, 2, (cx[]){ in[0], dx[1] });
  dout[0] = cxi_sum_given(term[0], term[1]);
}

/* -- transpose ------------------------------------------------------------- */

void cxi_accumulate(const cxi_rule *r, uint32_t i, cx ct, cx *acc) {
  acc[i] = cxi_sum_given(acc[i], cxi_unbroadcast(ct, r->in_types[i]));
}

void cxi_transpose_pass(const cxi_rule *r, const cx *in, const cx *ct,
                        cx *acc) {
  (void)in;
  cxi_accumulate(r, 0, ct[0], acc);
}

/* -- batch ----------------------------------------------------------------- */

static int rank_without_batch(cx operand, int axis) {
  return cxi_rank_at(operand) - (axis >= 0);
}

/* Where the batch axis goes: the one on which all batched operands of the
 * results' rank agree, else 0. */
static int common_axis(const cxi_rule *r, const cx *in, const int *axis,
                       int rank) {
  int common = -1;
  for (uint32_t i = 0; i < r->n_in; i++) {
    if (axis[i] < 0 || rank_without_batch(in[i], axis[i]) < rank) continue;
    if (common >= 0 && common != axis[i]) return 0;
    common = axis[i];
  }
  return common < 0 ? 0 : common;
}

void cxi_batch_elementwise(const cxi_rule *r, const cx *in, const int *axis,
                           int64_t size, cx *out, int *out_axis) {
  cxi_mark mark = cxi_scratch_mark();
  cx *operands = cxi_scratch(r->n_in * sizeof *operands);
  if (!operands) {
    for (uint32_t i = 0; i < r->n_out; i++)
      out[i] = cxi_fail(CX_EMEMORY, "no memory for a batched equation");
    return;
  }
  cx_dims shape = { 0 }; /* of the equation without the batch */
  for (uint32_t i = 0; i < r->n_in; i++)
    if (rank_without_batch(in[i], axis[i]) > 0) {
      shape = cxi_shape_at(in[i]);
      if (axis[i] >= 0) shape = cxi_dims_without(shape, axis[i]);
    }
  int to = common_axis(r, in, axis, shape.n);
  cx_dims batched = cxi_dims_insert(shape, to, size);

  /* A scalar stays one unless it became a vector over the batch. */
  for (uint32_t i = 0; i < r->n_in; i++) {
    bool scalar = rank_without_batch(in[i], axis[i]) == 0;
    if (axis[i] < 0)
      operands[i] = scalar ? in[i] : cxi_insert_axis(in[i], to, size);
    else if (scalar && shape.n > 0)
      operands[i] =
          cxi_broadcast_in_dim(in[i], batched, cxi_dims_range(to, to + 1));
    else
      operands[i] = cxi_move_axis(in[i], axis[i], to);
  }
  cxi_emit(r->row->prim, r->params, r->n_in, operands, r->n_out, out);
  for (uint32_t i = 0; i < r->n_out; i++) out_axis[i] = to;
  cxi_scratch_reset(mark);
}
