/* generate_product.c - products, convolutions, factors of matrices. */
#include "support/generate.h"

#include "ops/axes.h"

/* -- dot_general ---------------------------------------------------------- */

/* Each axis of a is contracted, of the batch, or free; b has the same pairs in
 * any order and free axes of its own. */
static bool some_dot(gen *g, cxi_prim prim) {
  const cx a = gen_pick(g, CXI_ACCEPT_ORDERED, 0);
  const cx_dims shape = cxi_shape_at(a);
  cxi_dot_general_params p = { .type = cxi_dtype_at(a) };
  cx_dims other = { 0 };
  int role[CX_MAX_DIMS], of[CX_MAX_DIMS];
  if (shape.n > 5) return false;
  for (int i = 0; i < shape.n; i++) {
    role[i] = (int)gen_draw(g, 3);
    if (role[i] == 0) continue;
    of[other.n] = i;
    other.d[other.n++] = shape.d[i];
  }
  for (uint32_t more = gen_draw(g, 3); more > 0 && other.n < 6; more--) {
    of[other.n] = -1;
    other.d[other.n++] = gen_size(g);
  }
  const cx_dims order = gen_order(g, other.n);
  cx_dims b = { .n = other.n };
  for (int k = 0; k < b.n; k++) b.d[k] = other.d[order.d[k]];
  for (int k = 0; k < b.n; k++) {
    const int i = of[order.d[k]];
    if (i < 0) continue;
    cx_dims *lhs = role[i] == 1 ? &p.lhs_contract : &p.lhs_batch;
    cx_dims *rhs = role[i] == 1 ? &p.rhs_contract : &p.rhs_batch;
    lhs->d[lhs->n++] = i;
    rhs->d[rhs->n++] = k;
  }
  if (cxi_dims_count(&b) > 2 * gen_most(g)) return false;
  if (gen_one_in(g, 5)) p.type = gen_dtype(g, CXI_ACCEPT_ORDERED);
  const cx in[2] = { a, gen_of(g, cxi_dtype_at(a), b) };
  return gen_emit(g, prim, &p, 2, in);
}

/* -- convolutions --------------------------------------------------------- */

static void put_at(cx_dims *shape, const cx_dims *axes, int which,
                   int64_t size) {
  shape->d[axes->d[which]] = size;
}

static bool some_conv(gen *g, cxi_prim prim) {
  const int spatial = (int)gen_draw(g, 3), rank = spatial + 2;
  const cx_dtype type = gen_float(g);
  cxi_conv_general_dilated_params p = { .type = type,
                                        .lhs_axes = gen_order(g, rank),
                                        .rhs_axes = gen_order(g, rank),
                                        .out_axes = gen_order(g, rank),
                                        .feature_groups = 1,
                                        .batch_groups = 1 };
  const int64_t groups = gen_one_in(g, 3) ? 2 : 1;
  const bool of_batch = gen_draw(g, 2);
  if (of_batch)
    p.batch_groups = groups;
  else
    p.feature_groups = groups;
  const int64_t channels = 1 + gen_draw(g, 2);
  cx_dims x = { .n = rank }, w = { .n = rank };
  put_at(&x, &p.lhs_axes, 0, p.batch_groups * (int64_t)gen_draw(g, 3));
  put_at(&x, &p.lhs_axes, 1, p.feature_groups * channels);
  put_at(&w, &p.rhs_axes, 0, groups * (1 + (int64_t)gen_draw(g, 2)));
  put_at(&w, &p.rhs_axes, 1, channels);
  p.strides = p.low = p.high = p.lhs_dilation = p.rhs_dilation =
      cxi_dims_repeat(spatial, 1);
  for (int i = 0; i < spatial; i++) {
    put_at(&x, &p.lhs_axes, i + 2, 1 + gen_draw(g, 4));
    put_at(&w, &p.rhs_axes, i + 2, 1 + gen_draw(g, 3));
    p.strides.d[i] = 1 + gen_draw(g, 2);
    p.low.d[i] = (int64_t)gen_draw(g, 4) - 1;
    p.high.d[i] = (int64_t)gen_draw(g, 4) - 1;
    if (gen_one_in(g, 3)) p.lhs_dilation.d[i] = 2;
    if (gen_one_in(g, 3)) p.rhs_dilation.d[i] = 2;
  }
  const cx in[2] = { gen_of(g, type, x), gen_of(g, type, w) };
  return gen_emit(g, prim, &p, 2, in);
}

/* -- matrices: well-conditioned, so that differences say something -------- */

static cx_dims matrices(gen *g, int64_t m, int64_t n) {
  cx_dims shape = gen_one_in(g, 3) ? gen_shape(g, 1, 2) : (cx_dims){ 0 };
  if (cxi_dims_count(&shape) > 6) shape = (cx_dims){ 1, { 2 } };
  shape.d[shape.n++] = m;
  shape.d[shape.n++] = n;
  return shape;
}

/* (i + 1) / 2 on the diagonal. */
static cx diagonal(cx_dtype type, cx_dims shape) {
  const cx row = cxi_iota(CX_I32, shape, shape.n - 2);
  const cx column = cxi_iota(CX_I32, shape, shape.n - 1);
  const cx x = cxi_scale(cxi_offset(cxi_convert(row, type), 1), 0.5);
  return cxi_select(cxi_compare(CXI_PRIM_eq, row, column),
                    cxi_zeros(cxi_type_make(type, shape)), x);
}

/* What is small beside the diagonal; at times anything, which may be singular
 * and is then not differentiated. */
static cx dominated(gen *g, cx_dtype type, cx_dims shape) {
  if (gen_one_in(g, 10)) return cxi_stop_gradient(gen_of(g, type, shape));
  return cxi_add(gen_between(g, type, shape, -0.2, 0.2), diagonal(type, shape));
}

static cx symmetric(cx x) {
  const int n = cxi_rank_at(x);
  cx_dims swapped = cxi_dims_range(0, n);
  swapped.d[n - 1] = n - 2;
  swapped.d[n - 2] = n - 1;
  return cxi_scale(cxi_add(x, cxi_transpose(x, swapped)), 0.5);
}

static int64_t small(gen *g) {
  return gen_one_in(g, 20) ? 0 : 1 + (int64_t)gen_draw(g, 4);
}

static bool some_cholesky(gen *g, cxi_prim prim) {
  const int64_t n = small(g);
  const cx x = symmetric(dominated(g, gen_float(g), matrices(g, n, n)));
  return gen_emit(g, prim, NULL, 1, &x);
}

static bool some_solve(gen *g, cxi_prim prim) {
  const cxi_triangular_solve_params p = { .left = gen_draw(g, 2),
                                          .lower = gen_draw(g, 2),
                                          .transpose = gen_draw(g, 2),
                                          .unit = gen_draw(g, 2) };
  const int64_t n = small(g), m = small(g);
  const cx_dims square = matrices(g, n, n);
  const cx_dtype type = gen_float(g);
  cx_dims b = square;
  b.d[b.n - (p.left ? 1 : 2)] = m;
  const cx in[2] = { dominated(g, type, square), gen_of(g, type, b) };
  return gen_emit(g, prim, &p, 2, in);
}

static bool some_lu(gen *g, cxi_prim prim) {
  const cx x = dominated(g, gen_float(g), matrices(g, small(g), small(g)));
  return gen_emit(g, prim, NULL, 1, &x);
}

/* The columns beyond the rank are not unique, and have no derivative. */
static bool some_qr(gen *g, cxi_prim prim) {
  const cxi_qr_params p = { .full = gen_draw(g, 2) };
  cx x = dominated(g, gen_float(g), matrices(g, small(g), small(g)));
  if (p.full) x = cxi_stop_gradient(x);
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_eigh(gen *g, cxi_prim prim) {
  const cxi_eigh_params p = { .lower = gen_draw(g, 2) };
  const int64_t n = small(g);
  const cx x = symmetric(dominated(g, gen_float(g), matrices(g, n, n)));
  return gen_emit(g, prim, &p, 1, &x);
}

static bool some_svd(gen *g, cxi_prim prim) {
  const cxi_svd_params p = { .full = gen_draw(g, 2),
                             .vectors = gen_draw(g, 2) };
  cx x = dominated(g, gen_float(g), matrices(g, small(g), small(g)));
  if (p.full) x = cxi_stop_gradient(x);
  return gen_emit(g, prim, &p, 1, &x);
}

gen_maker *gen_product_of(cxi_prim prim) {
  static gen_maker *const makers[CXI_N_PRIMS] = {
    [CXI_PRIM_dot_general] = some_dot,
    [CXI_PRIM_conv_general_dilated] = some_conv,
    [CXI_PRIM_cholesky] = some_cholesky,
    [CXI_PRIM_triangular_solve] = some_solve,
    [CXI_PRIM_lu] = some_lu,
    [CXI_PRIM_qr] = some_qr,
    [CXI_PRIM_eigh] = some_eigh,
    [CXI_PRIM_svd] = some_svd,
  };
  return makers[prim];
}
