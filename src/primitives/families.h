/* families.h - the rules that many rows share.
 *
 * A family is a few small functions: a row of an elementwise primitive names
 * its infer, batch and transpose from here and writes only its derivative. */
#ifndef CXI_FAMILIES_H
#define CXI_FAMILIES_H

#include "ir/row.h"
#include "ops/lax.h"

/* -- infer ----------------------------------------------------------------- */

/* Sets of kinds of dtypes that a primitive accepts. */
enum {
  CXI_ACCEPT_BOOL = 1u << CXI_BOOLEAN,
  CXI_ACCEPT_INTEGER = 1u << CXI_SIGNED | 1u << CXI_UNSIGNED,
  CXI_ACCEPT_FLOAT = 1u << CXI_FLOAT,
  CXI_ACCEPT_NUMBER = CXI_ACCEPT_INTEGER | CXI_ACCEPT_FLOAT,
  CXI_ACCEPT_SIGNED = 1u << CXI_SIGNED | CXI_ACCEPT_FLOAT,
  CXI_ACCEPT_BITS = CXI_ACCEPT_BOOL | CXI_ACCEPT_INTEGER,
  CXI_ACCEPT_ORDERED = CXI_ACCEPT_BOOL | CXI_ACCEPT_NUMBER,
  CXI_ACCEPT_ANY = CXI_ACCEPT_ORDERED | 1u << CXI_RANDOM_KEY
};

/* Pieces; each returns false with an error set. */
bool cxi_infer_count(cxi_infer *c, uint32_t n); /* exactly n operands */
bool cxi_infer_kind(cxi_infer *c, uint32_t operand, unsigned accept);
/* Operands first..first+n-1 have one dtype. */
bool cxi_infer_one_dtype(cxi_infer *c, uint32_t first, uint32_t n);
/* The shape all operands stand for: equal ones, or rank 0. */
bool cxi_infer_shape(cxi_infer *c, cx_dims *out);

/* Whole rules: n operands of one accepted dtype; the result has that dtype,
 * or `type` unless it is 0. */
bool cxi_infer_elementwise(cxi_infer *c, uint32_t n, unsigned accept,
                           cx_dtype type);
bool cxi_infer_unary_float(cxi_infer *c);
bool cxi_infer_unary_number(cxi_infer *c);
bool cxi_infer_unary_signed(cxi_infer *c);
bool cxi_infer_binary_number(cxi_infer *c);
bool cxi_infer_binary_float(cxi_infer *c);
bool cxi_infer_binary_ordered(cxi_infer *c);
bool cxi_infer_binary_bits(cxi_infer *c);
bool cxi_infer_binary_integer(cxi_infer *c);
bool cxi_infer_compare(cxi_infer *c);
/* One operand of any dtype; the result has its type. */
bool cxi_infer_identity(cxi_infer *c);

/* -- jvp ------------------------------------------------------------------- */

/* t, broadcast if it is the rank-0 tangent of a result that is not; none
 * stays none. */
cx cxi_fit(const cxi_rule *r, cx t);

/* No tangent: the derivative is zero wherever it exists. */
void cxi_jvp_none(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                  cx *dout);
/* The tangent passes unchanged. */
void cxi_jvp_pass(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                  cx *dout);
/* Linear in operand 0, the others are not differentiated: the primitive
 * itself, applied to dx[0]. */
void cxi_jvp_linear(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                    cx *dout);
/* f(dx, y) + f(x, dy). */
void cxi_jvp_bilinear(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                      cx *dout);

/* -- transpose ------------------------------------------------------------- */

/* Adds to acc[i] the cotangent of operand i of an elementwise equation, summed
 * if the operand has rank 0. */
void cxi_accumulate(const cxi_rule *r, uint32_t i, cx ct, cx *acc);
/* y = x. */
void cxi_transpose_pass(const cxi_rule *r, const cx *in, const cx *ct, cx *acc);

/* -- batch ----------------------------------------------------------------- */

/* Elementwise equations of any number of operands and results. The batch axis
 * stays where it is if all batched operands agree on it. */
void cxi_batch_elementwise(const cxi_rule *r, const cx *in, const int *axis,
                           int64_t size, cx *out, int *out_axis);

#endif
