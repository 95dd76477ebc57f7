/* lax.h - the operations that rules are written with.
 *
 * No promotion; broadcasting only of rank-0 operands in elementwise ops.
 * Each emits one equation, unless it would be the identity, and passes poison
 * on. The public operations (ops.h) are built on these. */
#ifndef CXI_LAX_H
#define CXI_LAX_H

#include "ir/emit.h"

/* -- elementwise ---------------------------------------------------------- */
cx cxi_unary(cxi_prim prim, cx x);            /* primitives without parameters */
cx cxi_binary(cxi_prim prim, cx a, cx b);
static inline cx cxi_neg(cx x) { return cxi_unary(CXI_PRIM_neg, x); }
static inline cx cxi_add(cx a, cx b) { return cxi_binary(CXI_PRIM_add, a, b); }
static inline cx cxi_sub(cx a, cx b) { return cxi_binary(CXI_PRIM_sub, a, b); }
static inline cx cxi_mul(cx a, cx b) { return cxi_binary(CXI_PRIM_mul, a, b); }
static inline cx cxi_div(cx a, cx b) { return cxi_binary(CXI_PRIM_div, a, b); }
static inline cx cxi_max(cx a, cx b) { return cxi_binary(CXI_PRIM_max, a, b); }
static inline cx cxi_min(cx a, cx b) { return cxi_binary(CXI_PRIM_min, a, b); }
cx cxi_compare(cxi_prim prim, cx a, cx b);    /* eq ne lt le gt ge */
cx cxi_select(cx which, cx if_false, cx if_true);
cx cxi_select_n(cx which, uint32_t n, const cx *cases);
cx cxi_clamp(cx lo, cx x, cx hi);
cx cxi_integer_pow(cx x, int64_t y);
cx cxi_round(cx x, bool away);
cx cxi_reduce_precision(cx x, int64_t exponent_bits, int64_t mantissa_bits);
cx cxi_convert(cx x, cx_dtype type);          /* x if it has the type */
cx cxi_bitcast(cx x, cx_dtype type);
/* Arithmetic with a number of x's dtype: x * 2 is cxi_scale(x, 2). */
cx cxi_scale(cx x, double factor);
cx cxi_offset(cx x, double term);
cx cxi_number_like(cx x, double number);      /* rank 0, x's dtype */

/* -- filled arrays -------------------------------------------------------- */
cx cxi_full(cxi_type type, double number);    /* a literal, broadcast */
cx cxi_zeros(cxi_type type);                  /* any dtype, keys too */
cx cxi_iota(cx_dtype type, cx_dims shape, int axis);

/* -- shape ---------------------------------------------------------------- */
cx cxi_broadcast_in_dim(cx x, cx_dims shape, cx_dims map);
cx cxi_broadcast_scalar(cx x, cx_dims shape); /* x of rank 0 */
cx cxi_reshape(cx x, cx_dims shape);
cx cxi_flatten(cx x); /* (n), row-major */
cx cxi_transpose(cx x, cx_dims permutation);
cx cxi_squeeze(cx x, cx_dims axes);
cx cxi_expand_dims(cx x, cx_dims axes);       /* axes of the result; a reshape */
cx cxi_concatenate(int axis, uint32_t n, const cx *items);
cx cxi_stack(int axis, uint32_t n, const cx *items);
void cxi_unstack(cx x, int axis, cx *out);    /* one per index along axis */
void cxi_split_axis(cx x, int axis, cxi_ints sizes, cx *out);
cx cxi_slice(cx x, cx_dims start, cx_dims limit, cx_dims strides);
cx cxi_slice_axis(cx x, int axis, int64_t start, int64_t limit);
cx cxi_pad(cx x, cx value, cx_dims low, cx_dims high, cx_dims interior);
cx cxi_rev(cx x, cx_dims axes);
/* The batch axis moved; a new axis of `size` inserted by repetition. */
cx cxi_move_axis(cx x, int from, int to);
cx cxi_insert_axis(cx x, int axis, int64_t size);

/* -- index ---------------------------------------------------------------- */
cx cxi_dynamic_slice(cx x, const cx *starts, cx_dims sizes);
cx cxi_dynamic_update_slice(cx x, cx update, const cx *starts);
cx cxi_update_slice_add(cx x, cx update, const cx *starts);
cx cxi_gather(cx x, cx indices, const cxi_gather_params *params);
cx cxi_scatter(cx x, cx indices, cx updates, const cxi_scatter_params *params);
cx cxi_scatter_add(cx x, cx indices, cx updates,
                   const cxi_scatter_add_params *params);
/* Any of the scatters, whose parameters have the same fields. */
cx cxi_scatter_by(cxi_prim prim, cx x, cx indices, cx updates,
                  const cxi_scatter_params *params);

/* out[..., j, ...] = x[..., indices[..., j, ...], ...] along the axis; the
 * indices are in range, none twice in a line. */
cx cxi_gather_along(cx x, cx indices, int axis);
cx cxi_element(cx x, cx i); /* x (n) at each of i, which is clamped */

/* -- sort ----------------------------------------------------------------- */
/* out[] of n operands, or of 2: values, i32 indices. False after reporting. */
bool cxi_sort(const cxi_sort_params *params, uint32_t n, const cx *in, cx *out);
bool cxi_top_k(cx x, int64_t k, int axis, cx *out);

/* -- reduce; no axes: x --------------------------------------------------- */
cx cxi_reduce(cxi_prim prim, cx x, cx_dims axes); /* reduce_* */
static inline cx cxi_reduce_sum(cx x, cx_dims axes) {
  return cxi_reduce(CXI_PRIM_reduce_sum, x, axes);
}
/* n arrays joined along the axes by neighbours, again by neighbours, and so
 * on; then with the starts, of rank 0 or of the result's shape. in: n arrays,
 * n starts; body: as of the primitive. */
bool cxi_reduce_by(const cxi_program *body, uint32_t n, const cx *in,
                   cx_dims axes, cx *out);
/* A program on scalars, applied to each element of arrays of one shape. */
bool cxi_each(const cxi_program *p, const cx *in, cx *out);
/* cumsum, cumprod, cummax, cummin, cumlogsumexp */
cx cxi_cumulate(cxi_prim prim, cx x, int axis, bool reverse);
/* The same by a tree of operations on slices, ceil(log2 n) deep: for an
 * associative f, y[i] = f(y[i-1], x[i]) along the axis, from the end if
 * reverse. Each of the n trees that x[] are is an array, all of one length
 * along the axis; f fills out[] of n from a[] and b[], arrays like parts of
 * x. False after reporting. */
typedef bool cxi_associative(void *user, const cx *a, const cx *b, cx *out);
bool cxi_associative_scan(cxi_associative *f, void *user, uint32_t n,
                          const cx *x, int axis, bool reverse, cx *out);
/* All elements along the axis joined by neighbours, again by neighbours, and
 * so on: the axis is of size 1 afterwards. It is not empty. */
bool cxi_associative_fold(cxi_associative *f, void *user, uint32_t n,
                          const cx *x, int axis, cx *out);
cx cxi_argmax(cx x, int axis, cx_dtype type);
cx cxi_argmin(cx x, int axis, cx_dtype type);

/* -- window --------------------------------------------------------------- */
/* The parameters that all window primitives begin with. */
typedef cxi_reduce_window_sum_params cxi_window;
/* The shape of the results of an operand of this shape; n = -1: none. */
cx_dims cxi_window_shape(const cxi_window *w, const cx_dims *shape);
cxi_window cxi_window_plain(cx_dims window); /* strides 1, nothing padded */
cx cxi_reduce_window(cxi_prim prim, cx x, const cxi_window *w);
/* From the starts over each window in row-major order. */
bool cxi_reduce_window_by(const cxi_program *body, uint32_t n, const cx *in,
                          const cxi_window *w, cx *out);
/* y[i] for the i of each window where x[i] is the first greatest (least);
 * y has the shape of x. 0 where a window holds nothing. */
cx cxi_select_and_gather_add(cx y, cx x, const cxi_window *w, bool least);
/* The transpose: of zeros like x, each y added there. */
cx cxi_select_and_scatter_add(cx y, cx x, const cxi_window *w, bool least);
/* The same with functions; each y is joined to what starts as `start`. */
cx cxi_select_and_scatter(cx x, cx y, cx start, const cxi_window *w,
                          const cxi_program *select,
                          const cxi_program *scatter);

/* -- dot ------------------------------------------------------------------ */
/* addend: of the result's type, or {0} */
cx cxi_dot_general(cx a, cx b, cx addend, const cxi_dot_general_params *params);

/* -- conv ----------------------------------------------------------------- */
cx cxi_conv_general_dilated(cx lhs, cx rhs,
                            const cxi_conv_general_dilated_params *params);

/* -- random --------------------------------------------------------------- */
cx cxi_random_seed(cx seed);
cx cxi_random_wrap(cx words);
cx cxi_random_unwrap(cx keys);
cx cxi_random_split(cx key, cx_dims shape);
cx cxi_random_fold_in(cx keys, cx data);
cx cxi_random_bits(cx keys, cx_dtype type, cx_dims shape);
void cxi_threefry2x32(const cx in[4], cx out[2]);
void cxi_iota_2x32(cx_dims shape, cx out[2]);

/* -- call and control ----------------------------------------------------- */
/* The body's outputs in out[0..body->n_out-1]. */
bool cxi_call(const cxi_program *body, const cx *in, cx *out);
bool cxi_scan(const cxi_scan_params *params, const cx *in, cx *out);
bool cxi_while(const cxi_while_params *params, const cx *in, cx *out);
bool cxi_cond(cxi_programs branches, cx index, const cx *operands, cx *out);
/* A while that stops after max_steps at the latest: a scan over a cond, hence
 * with a derivative in reverse mode. Operands and results as of cxi_while. */
bool cxi_bounded_while(const cxi_while_params *params, int64_t max_steps,
                       const cx *in, cx *out);
/* body: (consts, i, carries) -> carries, for i in lo..hi-1; i is an integer
 * scalar. in: consts, carries. A scan. */
bool cxi_fori(const cxi_program *body, uint32_t n_consts, int64_t lo,
              int64_t hi, const cx *in, cx *out);
/* Bodies written by a C function: f fills out[] from in[]. */
typedef void cxi_write(void *user, const cx *in, cx *out);
/* carry = step(consts, carry) while more(carry) -> bool[]. in: consts, carry;
 * out: n_carry handles. */
bool cxi_while_of(const char *name, cxi_write *more, cxi_write *step,
                  void *user, uint32_t n_consts, uint32_t n_carry,
                  const cx *in, cx *out);
/* (carry, y) = step(carry, x) for each x along axis 0. in: carry, xs; out:
 * carry, ys, one more for each of n_ys. */
typedef struct cxi_loop {
  const char *name;
  int64_t length;
  uint32_t n_carry, n_xs, n_ys;
} cxi_loop;
bool cxi_scan_of(const cxi_loop *loop, cxi_write *step, void *user,
                 const cx *in, cx *out);
void cxi_optimization_barrier(uint32_t n, const cx *in, cx *out);
cx cxi_stop_gradient(cx x);

/* -- collective: across the lanes of vmaps with these axis names ---------- */
cx cxi_collective(cxi_prim prim, cx x, cxi_names axes); /* psum pmax pmin */
cx cxi_axis_index(cxi_name axis);
cx cxi_pbroadcast(cx x, cxi_name axis, int64_t source);
cx cxi_ppermute(cx x, cxi_name axis, cxi_ints from, cxi_ints to);
/* `size` is that of the named axis; the axes of x grow or shrink by it. */
cx cxi_all_gather(cx x, cxi_name name, int64_t size, int axis);
cx cxi_reduce_scatter(cx x, cxi_name name, int64_t size, int axis);
cx cxi_all_to_all(cx x, cxi_name name, int64_t size, int split, int concat);

/* -- host ----------------------------------------------------------------- */
bool cxi_callback(const cxi_callback_params *params, uint32_t n_in,
                  const cx *in, uint32_t n_out, cx *out);
bool cxi_debug_print(cxi_name format, uint32_t n, const cx *in);
/* An error where in[0] does not hold, with the others in its message. */
bool cxi_check(cxi_name message, uint32_t n, const cx *in);

/* -- for rules ------------------------------------------------------------ */
/* a + b where either may be none; none if both are. */
cx cxi_sum_given(cx a, cx b);
/* The cotangent of a rank-0 operand of an elementwise equation: ct summed to
 * the operand's type. */
cx cxi_unbroadcast(cx ct, cxi_type operand);

#endif
