/* bounds.c - indices that are out of range. */
#include "runtime/bounds.h"

#include <stdio.h>

#include "ir/nest.h"
#include "primitives/index.h"
#include "primitives/index_window.h"

/* How an equation has its indices. */
typedef enum place { NO_INDICES, SLICE, UPDATE, GATHER, SCATTER } place;

static place place_of(cxi_prim prim) {
  switch (prim) {
  case CXI_PRIM_dynamic_slice:
    return SLICE;
  case CXI_PRIM_dynamic_update_slice:
  case CXI_PRIM_update_slice_add:
    return UPDATE;
  case CXI_PRIM_gather:
    return GATHER;
  case CXI_PRIM_scatter:
  case CXI_PRIM_scatter_add:
  case CXI_PRIM_scatter_mul:
  case CXI_PRIM_scatter_min:
  case CXI_PRIM_scatter_max:
    return SCATTER;
  default:
    return NO_INDICES;
  }
}

bool cxi_bounds_any(const cxi_program *p) {
  cxi_nest nest = { 0 };
  bool any = !cxi_nest_of(p, &nest);
  for (uint32_t k = 0; k < nest.n && !any; k++)
    for (uint32_t i = 0; i < nest.programs[k]->n_equations && !any; i++)
      any =
          place_of((cxi_prim)nest.programs[k]->equations[i].prim) != NO_INDICES;
  cxi_nest_free(&nest);
  return any;
}

/* One start along an axis of x. Negative indices of a user were counted from
 * the end before: they are shown as what is left. */
static bool check_start(const cxi_view *x, int axis, int64_t start,
                        int64_t window, cxi_error *error) {
  const int64_t size = x->type.shape.d[axis];
  char type[128], several[64] = "";
  if (cxi_start_inside(start, window, size)) return true;
  cxi_aval_print(type, sizeof type, &x->type);
  if (window != 1)
    snprintf(several, sizeof several, " (%lld elements from there)",
             (long long)window);
  return cxi_error_set(error, CX_EINDEX,
                       "index %lld is out of range for axis %d of %s%s%s",
                       (long long)start, axis, type, several,
                       start < 0 ? ", counted from the end already" : "");
}

/* Scalar starts, one for each axis. */
static bool check_slice(const cxi_view *x, const cx_dims *sizes,
                        const cxi_view *starts, cxi_error *error) {
  for (int axis = 0; axis < x->type.shape.n; axis++) {
    const int64_t start =
        cxi_read_index(starts[axis].type.type, starts[axis].data);
    if (!check_start(x, axis, start, sizes->d[axis], error)) return false;
  }
  return true;
}

/* An array of index vectors, which lie along its last axis. */
static bool check_windows(const cxi_view *x, const cxi_windows *w,
                          const cxi_view *indices, cxi_error *error) {
  const cx_dims *shape = &indices->type.shape;
  const int64_t n = cxi_dims_count(shape), length = shape->d[shape->n - 1];
  const size_t bytes = cxi_dtype_bytes(indices->type.type);
  for (int64_t i = 0; i < n; i++) {
    const int axis = (int)w->start_map.d[i % length];
    const int64_t start = cxi_read_index(
        indices->type.type, (const char *)indices->data + (size_t)i * bytes);
    if (!check_start(x, axis, start, w->sizes.d[axis], error)) return false;
  }
  return true;
}

bool cxi_bounds_check(cxi_prim prim, const void *params, const cxi_view *in,
                      cxi_error *error) {
  cxi_windows w;
  switch (place_of(prim)) {
  case SLICE:
    return check_slice(in, &((const cxi_dynamic_slice_params *)params)->sizes,
                       in + 1, error);
  case UPDATE:
    return check_slice(in, &in[1].type.shape, in + 2, error);
  case GATHER:
    w = cxi_gather_windows(params);
    return check_windows(in, &w, in + 1, error);
  case SCATTER:
    w = cxi_scatter_windows(params,
                            cxi_type_make(in[0].type.type, in[0].type.shape),
                            cxi_type_make(in[2].type.type, in[2].type.shape));
    return check_windows(in, &w, in + 1, error);
  default:
    return true;
  }
}
