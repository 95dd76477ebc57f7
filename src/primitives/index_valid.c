/* index_valid.c - whether indices are in range, as part of a program. */
#include "primitives/index.h"
#include "primitives/index_window.h"

/* good and 0 <= start <= last, elementwise, all together. */
static cx also(cx good, cx start, int64_t last) {
  const cx_dtype type = cxi_dtype_at(start);
  const cx low = cxi_compare(CXI_PRIM_ge, start, cxi_integer(type, 0));
  cx high = cxi_compare(CXI_PRIM_ge, cxi_integer(CX_I64, last),

                        cxi_convert(start, CX_I64));
  if (type == CX_U64) { /* beyond i64 it wraps below zero */
    high = cxi_binary(CXI_PRIM_and, high,
                      cxi_compare(CXI_PRIM_ge, cxi_convert(start, CX_I64),
                                  cxi_integer(CX_I64, 0)));
  }
  cx here = cxi_binary(CXI_PRIM_and, low, high);
  here = cxi_reduce(CXI_PRIM_reduce_and, here,
                    cxi_dims_range(0, cxi_rank_at(here)));
  return cxi_given(good) ? cxi_binary(CXI_PRIM_and, good, here) : here;
}

/* One scalar start an axis. */
static cx valid_starts(const cx_dims *shape, const cx_dims *sizes,
                       const cx *starts) {
  cx good = cx_none();
  for (int i = 0; i < shape->n; i++)
    good = also(good, starts[i], shape->d[i] - sizes->d[i]);
  return good;
}

/* Index vectors along the last axis. */
static cx valid_windows(const cx_dims *shape, const cxi_windows *w,
                        cx indices) {
  cx good = cx_none();
  for (int i = 0; i < w->start_map.n; i++) {
    const int64_t axis = w->start_map.d[i];
    const cx item = cxi_slice_axis(indices, cxi_rank_at(indices) - 1, i, i + 1);
    good = also(good, item, shape->d[axis] - w->sizes.d[axis]);
  }
  return good;
}

cx cxi_valid_indices(const cxi_rule *r, const cx *in) {
  const cx_dims shape = *cxi_type_shape(r->in_types[0]);
  cxi_windows w;
  switch (r->row->prim) {
  case CXI_PRIM_dynamic_slice:
    return valid_starts(
        &shape, &((const cxi_dynamic_slice_params *)r->params)->sizes, in + 1);
  case CXI_PRIM_dynamic_update_slice:
  case CXI_PRIM_update_slice_add:
    return valid_starts(&shape, cxi_type_shape(r->in_types[1]), in + 2);
  case CXI_PRIM_gather:
    w = cxi_gather_windows(r->params);
    break;
  default:
    w = cxi_scatter_windows(r->params, r->in_types[0], r->in_types[2]);
  }
  return valid_windows(&shape, &w, in[1]);
}
