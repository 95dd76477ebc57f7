/* reduce_evaluate.c - reductions in plain C. */
#include "primitives/reduce.h"

#include <math.h>

#include "base/lanes.h"
#include "primitives/rows.h"

/* -- one row of wide numbers to one ---------------------------------------- */

/* A wide number: f32, f64, or an integer whose order is that of its kind. */
typedef union wide_number {
  float f;
  double d;
  uint64_t u;
} wide_number;

/* Integers in an unsigned order: signed ones with the sign bit turned. */
static uint64_t sign_of(cx_dtype type) {
  return cxi_dtype_kind(type) == CXI_SIGNED ? (uint64_t)1 << 63 : 0;
}

/* The greatest element (sign 1) or the least (-1). */
static wide_number extremum_of_row(cx_dtype wide, cx_dtype type,
                                   const void *row, int64_t n, int sign) {
  wide_number most;
  if (wide == CX_F32) {
    most.f =
        sign > 0 ? cxi_lanes_max_f32(row, n, 1) : cxi_lanes_min_f32(row, n, 1);
  } else if (wide == CX_F64) {
    most.d =
        sign > 0 ? cxi_lanes_max_f64(row, n, 1) : cxi_lanes_min_f64(row, n, 1);
  } else {
    /* The least or greatest of the dtype: all bits of its width, turned. */
    const uint64_t turn = sign_of(type);
    const int bits = type == CX_BOOL ? 1 : 8 * (int)cxi_dtype_bytes(type);
    const uint64_t all = UINT64_MAX >> (64 - bits);
    const uint64_t lowest = turn ? ~(all >> 1) : 0;
    const uint64_t highest = turn ? all >> 1 : all;
    most.u = (sign > 0 ? lowest : highest) ^ turn;
    for (int64_t i = 0; i < n; i++) {
      const uint64_t x = ((const uint64_t *)row)[i] ^ turn;
      if ((x > most.u) == (sign > 0) && x != most.u) most.u = x;
    }
    most.u ^= turn;
  }
  return most;
}

static wide_number sum_of_row(cx_dtype wide, const void *row, int64_t n) {
  wide_number sum = { .u = 0 };
  if (wide == CX_F32)
    sum.f = cxi_lanes_sum_f32(row, n, 1);
  else if (wide == CX_F64)
    sum.d = cxi_lanes_sum_f64(row, n, 1);
  else
    for (int64_t i = 0; i < n; i++) sum.u += ((const uint64_t *)row)[i];
  return sum;
}

static wide_number product_of_row(cx_dtype wide, const void *row, int64_t n) {
  wide_number product = { .u = 1 };
  if (wide == CX_F32)
    product.f = cxi_lanes_prod_f32(row, n, 1);
  else if (wide == CX_F64)
    product.d = cxi_lanes_prod_f64(row, n, 1);
  else
    for (int64_t i = 0; i < n; i++) product.u *= ((const uint64_t *)row)[i];
  return product;
}

static wide_number bits_of_row(cxi_prim prim, cx_dtype type,
                               const uint64_t *row, int64_t n) {
  const bool every = prim == CXI_PRIM_reduce_and;
  uint64_t bits = every ? (type == CX_BOOL ? 1 : UINT64_MAX) : 0;
  for (int64_t i = 0; i < n; i++) {
    if (prim == CXI_PRIM_reduce_xor)
      bits ^= row[i];
    else
      bits = every ? bits & row[i] : bits | row[i];
  }
  return (wide_number){ .u = bits };
}

static wide_number reduce_row(cxi_prim prim, cx_dtype wide, cx_dtype type,
                              const void *row, int64_t n) {
  switch (prim) {
  case CXI_PRIM_reduce_sum:
    return sum_of_row(wide, row, n);
  case CXI_PRIM_reduce_prod:
    return product_of_row(wide, row, n);
  case CXI_PRIM_reduce_max:
    return extremum_of_row(wide, type, row, n, 1);
  case CXI_PRIM_reduce_min:
    return extremum_of_row(wide, type, row, n, -1);
  default:
    return bits_of_row(prim, type, row, n);
  }
}

static void store(cx_dtype wide, wide_number x, cx_dtype type, void *at) {
  if (wide == CX_F32)
    cxi_element_set(type, at, x.f);
  else if (wide == CX_F64)
    cxi_element_set(type, at, x.d);
  else
    cxi_element_set_int(type, at, (int64_t)x.u);
}

/* -- rows of an operand ---------------------------------------------------- */

/* The rows along some axes, one per index of the others in row-major order. */
typedef struct row_reader {
  const cxi_view *x;
  cx_dtype wide;
  cxi_fused kept, reduced;
  void *row; /* the wide numbers of the row read last */
} row_reader;

/* The bytes of workspace: offsets of both kinds of axes, a row. */
static int64_t rows_bytes(const cxi_view *x, const cx_dims *axes) {
  const cx_dims kept = cxi_axes_rest(x->type.shape.n, axes, NULL);
  const cx_dims reduced = cxi_axes_rest(x->type.shape.n, &kept, NULL);
  const int64_t m = cxi_fused_count(x, &kept), n = cxi_fused_count(x, &reduced);
  return cxi_size_mul(cxi_size_add(cxi_size_add(m, n), n), 8);
}

static row_reader open_rows(const cxi_view *x, const cx_dims *axes,
                            void *workspace) {
  const cx_dims kept = cxi_axes_rest(x->type.shape.n, axes, NULL);
  const cx_dims reduced = cxi_axes_rest(x->type.shape.n, &kept, NULL);
  int64_t *room = workspace;
  const cx_dtype type = x->type.type;
  row_reader r = { .x = x };
  r.wide = type == CX_F64 ? CX_F64 : cxi_dtype_is_float(type) ? CX_F32 : CX_U64;
  r.kept = cxi_fuse_axes(x, &kept, &room);
  r.reduced = cxi_fuse_axes(x, &reduced, &room);
  r.row = room;
  return r;
}

static void read_row(row_reader *r, int64_t i) {
  cxi_load_row(r->wide, r->x->type.type,
               cxi_view_offset(r->x, r->kept.offsets[i]), r->reduced.offsets,
               r->reduced.n, r->row);
}

int64_t cxi_reduce_workspace(const cxi_eval *e, const cxi_view *in,
                             const cxi_view *out) {
  (void)out;
  return rows_bytes(&in[0], &((const cxi_reduce_sum_params *)e->params)->axes);
}

bool cxi_evaluate_reduce(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_reduce_sum_params *p = e->params;
  const cx_dtype type = in[0].type.type;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(type);
  if (cxi_dims_count(&out[0].type.shape) == 0) return true;
  row_reader r = open_rows(&in[0], &p->axes, e->workspace);
  for (int64_t i = 0; i < r.kept.n; i++) {
    read_row(&r, i);
    store(r.wide, reduce_row(e->row->prim, r.wide, type, r.row, r.reduced.n),
          type, (char *)out[0].data + i * bytes);
  }
  return true;
}

/* -- argmax, argmin -------------------------------------------------------- */

/* Whether y takes the place of x: it is the first NaN, or strictly beyond. */
static bool beyond(double x, double y, int sign) {
  if (isnan(x)) return false;
  return isnan(y) || (sign > 0 ? y > x : y < x);
}

static int64_t arg_of_row(cx_dtype wide, cx_dtype type, const void *row,
                          int64_t n, int sign) {
  const float *f = row;
  const double *d = row;
  const uint64_t *u = row, turn = sign_of(type);
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++) {
    bool better;
    if (wide == CX_F32)
      better = beyond(f[best], f[i], sign);
    else if (wide == CX_F64)
      better = beyond(d[best], d[i], sign);
    else if (sign > 0)
      better = (u[i] ^ turn) > (u[best] ^ turn);
    else
      better = (u[i] ^ turn) < (u[best] ^ turn);
    if (better) best = i;
  }
  return best;
}

int64_t cxi_arg_workspace(const cxi_eval *e, const cxi_view *in,
                          const cxi_view *out) {
  (void)out;
  const cxi_argmax_params *p = e->params;
  const cx_dims axes = cxi_dims_repeat(1, p->axis);
  return rows_bytes(&in[0], &axes);
}

bool cxi_evaluate_arg(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_argmax_params *p = e->params;
  const cx_dims axes = cxi_dims_repeat(1, p->axis);
  const int sign = e->row->prim == CXI_PRIM_argmax ? 1 : -1;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(p->type);
  if (cxi_dims_count(&out[0].type.shape) == 0) return true;
  row_reader r = open_rows(&in[0], &axes, e->workspace);
  for (int64_t i = 0; i < r.kept.n; i++) {
    read_row(&r, i);
    cxi_element_set_int(
        p->type, (char *)out[0].data + i * bytes,
        arg_of_row(r.wide, in[0].type.type, r.row, r.reduced.n, sign));
  }
  return true;
}
