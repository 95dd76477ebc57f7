/* type.h - the type of a value, (dtype, shape), as a 32-bit id.
 *
 * Ids are process-wide; equal types have equal ids. 0 is "no type". */
#ifndef CXI_TYPE_H
#define CXI_TYPE_H

#include "base/dtype.h"
#include "base/size.h"

typedef uint32_t cxi_type;

/* 0 if the shape is not valid, its bytes overflow, or memory is short. */
cxi_type cxi_type_of(const cx_aval *aval);
cxi_type cxi_type_make(cx_dtype dtype, cx_dims shape);
cxi_type cxi_type_scalar(cx_dtype dtype);

/* The table, in chunks that never move. */
enum { CXI_TYPE_CHUNK_BITS = 10, CXI_TYPE_CHUNK = 1 << CXI_TYPE_CHUNK_BITS };
extern cx_aval *cxi_type_chunks[];

/* Of 0: a rank-0 f32. */
static inline const cx_aval *cxi_type_aval(cxi_type type) {
  cx_aval *chunk = __atomic_load_n(
      &cxi_type_chunks[type >> CXI_TYPE_CHUNK_BITS], __ATOMIC_ACQUIRE);
  return &chunk[type & (CXI_TYPE_CHUNK - 1)];
}
static inline const cx_dims *cxi_type_shape(cxi_type type) {
  return &cxi_type_aval(type)->shape;
}
static inline cx_dtype cxi_type_dtype(cxi_type type) {
  return cxi_type_aval(type)->type;
}
static inline int cxi_type_rank(cxi_type type) {
  return cxi_type_aval(type)->shape.n;
}
/* The same shape with another dtype; the same dtype with another shape. */
cxi_type cxi_type_with_dtype(cxi_type type, cx_dtype dtype);
cxi_type cxi_type_with_shape(cxi_type type, cx_dims shape);
/* Floating: has tangents and cotangents. */
bool cxi_type_is_float(cxi_type type);

#endif
