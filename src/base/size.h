/* size.h - arithmetic on sizes and shapes, with overflow checks.
 *
 * A size is an int64_t for now; that only these functions look inside one is
 * what lets it become symbolic later. */
#ifndef CXI_SIZE_H
#define CXI_SIZE_H

#include "calx/value.h"

/* -1 if an operand is negative or the result does not fit. */
int64_t cxi_size_add(int64_t a, int64_t b);
int64_t cxi_size_mul(int64_t a, int64_t b);
int64_t cxi_size_divisor(int64_t a, int64_t b); /* the greatest common one */
/* Of `size` elements `gap` places apart, from the first to the last. */
int64_t cxi_size_dilated(int64_t size, int64_t gap);
/* At most 2^60 either way: sums of a few such numbers do not overflow. */
bool cxi_size_near(int64_t x);
static inline bool cxi_size_equal(int64_t a, int64_t b) { return a == b; }

bool cxi_dims_equal(const cx_dims *a, const cx_dims *b);
bool cxi_dims_valid(const cx_dims *shape); /* 0..8 sizes, none negative */
int64_t cxi_dims_count(const cx_dims *shape); /* -1 on overflow */
int64_t cxi_aval_bytes(const cx_aval *type);  /* -1 on overflow */
bool cxi_aval_equal(const cx_aval *a, const cx_aval *b);

/* "f32[3,4]" and "[3,4]"; as snprintf. */
int cxi_aval_print(char *out, size_t room, const cx_aval *type);
int cxi_dims_print(char *out, size_t room, const cx_dims *dims);

/* Lists as values. Axes that are out of range are the caller's mistake. */
cx_dims cxi_dims_without(cx_dims dims, int axis);
cx_dims cxi_dims_with(cx_dims dims, int axis, int64_t size); /* inserted */
cx_dims cxi_dims_append(cx_dims dims, int64_t size);
cx_dims cxi_dims_range(int64_t lo, int64_t hi);              /* lo..hi-1 */
bool cxi_dims_has(const cx_dims *dims, int64_t x);
int cxi_dims_find(const cx_dims *dims, int64_t x);           /* -1: not there */

#endif
