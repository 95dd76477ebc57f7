/* ops.h - what the public operations share, and their form for one array.
 *
 * A public function enters (its source line becomes the site, unless a walk
 * has set one), promotes and broadcasts its operands, emits through lax.h and
 * leaves. Operations that map over trees are public in trace/, which splits
 * the trees and calls the functions at the end of this page leaf by leaf. */
#ifndef CXI_OPS_H
#define CXI_OPS_H

#include "calx/elementwise.h"
#include "calx/inspect.h"
#include "calx/tree.h"
#include "ops/lax.h"

/* Sets the site to `at` if none is set; returns the one before. */
cxi_name cxi_enter(const char *at);
cx cxi_leave(cxi_name before, cx result);
/* For functions that return in several places:
 *   cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at); */
void cxi_left(cxi_name *before);

/* "f32[3,4]" of an array, for messages; lives as long as the expression. */
typedef struct cxi_shown {
  char text[104];
} cxi_shown;
cxi_shown cxi_shown_of(cx a);
cxi_shown cxi_shown_dims(cx_dims dims);

/* The operand as an array: false, with *out_poison set, if it is poison, none
 * or not given; a weak number becomes an array of its default dtype. */
bool cxi_operand(const char *op, cx *a, cx *out_poison);

/* The list; n = -1, which every reader refuses, for lengths that none has. */
static inline cx_dims cxi_dims_given(cx_dims dims) {
  if (dims.n > CX_MAX_DIMS || dims.n < CX_ALL_AXES.n) dims.n = -1;
  return dims;
}
/* Whether there may be n items at `list`; false, with *out_poison, if not. */
bool cxi_list_given(const char *op, int n, const void *list, cx *out_poison);

/* -- promotion (promote.c) ------------------------------------------------ */
cx_promote cxi_promotion_use(cx_promote rule); /* returns the one before */
cx_promote cxi_promotion_now(void);
/* The dtype both promote to under JAX's lattice. */
cx_dtype cxi_promote_jax(cx_dtype a, cx_dtype b);
/* The float that it makes of other dtypes for functions of floats: f64 of
 * integers of 64 bits, f32 of others; floats stay. */
cx_dtype cxi_inexact_jax(cx_dtype type);
/* Gives n operands one dtype: weak numbers take the arrays' dtype, arrays of
 * different dtypes are an error under the strict rule. False after an error
 * (or for poison), with *out_poison. */
bool cxi_promote(const char *op, int n, cx *operands, cx *out_poison);
/* Whether it is a C number, whose dtype the arrays beside it decide. */
bool cxi_is_weak(cx a);
/* A weak number as an array of `type`; other arrays as they are. */
cx cxi_strong(const char *op, cx a, cx_dtype type);

/* Whether a C number of integers was given, *out_n. */
bool cxi_is_count(cx given, int64_t *out_n);

/* -- broadcasting --------------------------------------------------------- */
/* NumPy's common shape; false after an error naming the operands. */
bool cxi_broadcast_shape(const char *op, int n, const cx *operands,
                         cx_dims *out, cx *out_poison);
/* To the shape, aligned at the last axis. Rank 0 stays, for elementwise use. */
cx cxi_spread(cx a, cx_dims shape);
/* As cxi_spread, but rank 0 is broadcast too. */
cx cxi_broadcast_to(cx a, cx_dims shape);
bool cxi_broadcast(const char *op, int n, cx *operands, cx *out_poison);

/* -- trees: trace/ makes and splits them ---------------------------------- */
/* A tuple, dict or none (functions of calx/tree.h apply). */
bool cxi_is_tree(cx a);

/* Below (above) the k-th diagonal of the last two axes; zeros elsewhere. */
cx cxi_triangle(bool lower, cx a, int64_t k);

/* -- axes ----------------------------------------------------------------- */
/* Counts negative axes from the end and checks range and repetition;
 * CX_ALL_AXES gives all. False after an error. */
bool cxi_axes(const char *op, cx a, cx_dims axes, cx_dims *out, cx *out_poison);
bool cxi_axis(const char *op, cx a, int *axis, cx *out_poison);

cx cxi_pick(cx a, cx labels); /* a[..., label] */
cx cxi_einsum(const char *spec, int n, const cx *operands);

/* -- one array each: the leaves of trees ---------------------------------- */
cx cxi_op_unary(cx_op op, cx a);
cx cxi_op_fold(cx_op op, int n, const cx *operands); /* left to right */
/* Those made of others (special.c); operands floating, of one dtype. */
cx cxi_special_unary(cx_op op, cx x);
cx cxi_special_binary(cx_op op, cx a, cx b);
cx cxi_op_betainc(cx a, cx b, cx x);
cx cxi_op_where(cx condition, cx a, cx b);
cx cxi_op_clip(cx a, cx lo, cx hi);
cx cxi_op_cast(cx a, cx_dtype type);
cx cxi_op_reduce_precision(cx a, int exponent_bits, int mantissa_bits);
cx cxi_op_full_like(cx a, cx value);
cx cxi_op_stop_gradient(cx a);
cx cxi_op_checkpoint_name(cx a, const char *name);
/* Composites of activations (nn.c); x floating. */
cx cxi_gelu(cx x);
cx cxi_gelu_tanh(cx x);
cx cxi_activation(cx_op op, cx x); /* the other ones of nn.h */
const char *cxi_op_name(cx_op op);   /* "add" */
int cxi_op_arity(cx_op op);          /* 1 or 2 */
cx_op cxi_op_find(const char *name); /* 0: unknown */

#endif
