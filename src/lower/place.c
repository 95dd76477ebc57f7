/* place.c - movement as views: offsets and strides instead of copies. */
#include "lower/schedule.h"

#include <assert.h>

cxi_place cxi_place_dense(uint32_t root, const cx_dims *shape) {
  cxi_place place = { root, 0, { 0 } };
  int64_t stride = 1;
  for (int i = shape->n - 1; i >= 0; i--) {
    place.strides[i] = stride;
    stride *= shape->d[i];
  }
  return place;
}

bool cxi_place_is_dense(const cxi_place *place, const cx_dims *shape) {
  const cxi_pattern p = cxi_pattern_of(shape, place->strides);
  return p.n == 0 || (p.n == 1 && p.strides[0] == 1);
}

cxi_pattern cxi_pattern_of(const cx_dims *shape, const int64_t *strides) {
  cxi_pattern p = { 0 };
  for (int i = 0; i < shape->n; i++) {
    const int64_t size = shape->d[i], stride = strides[i];
    if (size == 1) continue;
    const int last = p.n - 1;
    if (p.n && p.strides[last] == stride * size) {
      p.sizes[last] *= size;
      p.strides[last] = stride;
    } else {
      p.sizes[p.n] = size;
      p.strides[p.n++] = stride;
    }
  }
  return p;
}

int64_t cxi_pattern_count(const cxi_pattern *p) {
  int64_t count = 1;
  for (int i = 0; i < p->n; i++) count *= p->sizes[i];
  return count;
}

int64_t cxi_pattern_offset(const cxi_pattern *p, int64_t i) {
  int64_t offset = 0;
  for (int axis = p->n - 1; axis >= 0; axis--) {
    offset += i % p->sizes[axis] * p->strides[axis];
    i /= p->sizes[axis];
  }
  return offset;
}

cxi_cover cxi_pattern_cover(const cxi_pattern *p, int64_t rows, int64_t n) {
  if (p->n == 0) return CXI_COVER_SCALAR; /* also of one element: the same */
  if (p->n == 1)
    return p->strides[0] == 1   ? CXI_COVER_FULL
           : p->strides[0] == 0 ? CXI_COVER_SCALAR
                                : CXI_COVER_OTHER;
  if (p->n != 2 || p->sizes[0] != rows || p->sizes[1] != n)
    return CXI_COVER_OTHER;
  if (p->strides[0] == 0 && p->strides[1] == 1) return CXI_COVER_ROW;
  if (p->strides[0] == 1 && p->strides[1] == 0) return CXI_COVER_COLUMN;
  return CXI_COVER_OTHER;
}

/* Strides under another shape of the same count, if no copy is needed: groups
 * of axes whose sizes multiply to the same number must each be one axis. */
static bool reshape_place(const cx_dims *from, const cxi_place *place,
                          const cx_dims *to, cxi_place *out) {
  if (cxi_place_is_dense(place, from)) {
    *out = cxi_place_dense(place->root, to);
    out->offset = place->offset;
    return true;
  }
  const cxi_pattern p = cxi_pattern_of(from, place->strides);
  *out = (cxi_place){ place->root, place->offset, { 0 } };
  if (cxi_dims_count(to) == 0) return true; /* no element has a place */
  int j = to->n - 1;
  for (int i = p.n - 1; i >= 0; i--) {
    int64_t rest = p.sizes[i], stride = p.strides[i];
    while (rest > 1) {
      while (j >= 0 && to->d[j] == 1) out->strides[j--] = 0;
      if (j < 0 || rest % to->d[j] != 0) return false;
      out->strides[j] = stride;
      stride *= to->d[j];
      rest /= to->d[j--];
    }
  }
  while (j >= 0) {
    if (to->d[j] != 1) return false;
    out->strides[j--] = 0;
  }
  return true;
}

static void slice_place(const cxi_slice_params *s, cxi_place *out) {
  for (int i = 0; i < s->start.n; i++) {
    const int64_t step = s->strides.n > i ? s->strides.d[i] : 1;
    out->offset += s->start.d[i] * out->strides[i];
    out->strides[i] *= step;
  }
}

static cxi_place without_axis(cxi_place place, int axis, int rank) {
  for (int i = axis; i + 1 < rank; i++) place.strides[i] = place.strides[i + 1];
  return place;
}

static int axis_in(int64_t axis, int rank) {
  return (int)(axis < 0 ? axis + rank : axis);
}

bool cxi_place_view(cxi_prim prim, const void *params, uint32_t k,
                    const cx_aval *from_type, const cxi_place *from,
                    const cx_aval *type, cxi_place *out) {
  const cx_dims *shape = &from_type->shape;
  *out = *from;
  switch (prim) {
  case CXI_PRIM_copy:
  case CXI_PRIM_stop_gradient:
  case CXI_PRIM_name:
    return true;
  case CXI_PRIM_reshape:
  case CXI_PRIM_squeeze:
    return reshape_place(shape, from, &type->shape, out);
  case CXI_PRIM_transpose: {
    const cx_dims *to = &((const cxi_transpose_params *)params)->permutation;
    for (int i = 0; i < to->n; i++) out->strides[i] = from->strides[to->d[i]];
    return true;
  }
  case CXI_PRIM_broadcast_in_dim: {
    const cx_dims *map = &((const cxi_broadcast_in_dim_params *)params)->map;
    for (int i = 0; i < type->shape.n; i++) out->strides[i] = 0;
    for (int i = 0; i < map->n; i++)
      if (shape->d[i] == type->shape.d[map->d[i]])
        out->strides[map->d[i]] = from->strides[i];
    return true;
  }
  case CXI_PRIM_slice:
    slice_place(params, out);
    return true;
  case CXI_PRIM_rev: {
    const cx_dims *axes = &((const cxi_rev_params *)params)->axes;
    for (int i = 0; i < axes->n; i++) {
      const int axis = axis_in(axes->d[i], shape->n);
      out->offset += (shape->d[axis] - 1) * from->strides[axis];
      out->strides[axis] = -from->strides[axis];
    }
    return true;
  }
  case CXI_PRIM_unstack: {
    const int axis =
        axis_in(((const cxi_unstack_params *)params)->axis, shape->n);
    *out = without_axis(*from, axis, shape->n);
    out->offset += k * from->strides[axis];
    return true;
  }
  case CXI_PRIM_split: {
    const cxi_split_params *s = params;
    const int axis = axis_in(s->axis, shape->n);
    for (uint32_t i = 0; i < k; i++)
      out->offset += s->sizes.d[i] * from->strides[axis];
    return true;
  }
  default:
    return false;
  }
}

void cxi_unit_extents(const cxi_unit *u, int64_t *out_rows, int64_t *out_n) {
  *out_rows = u->n > 0 ? u->rows : 1;
  *out_n = u->n > 0 ? u->n : u->rows;
  for (uint32_t k = 0; u->n == 0 && k < u->n_operands; k++) {
    const cxi_pattern p =
        cxi_pattern_of(&u->operands[k].type.shape, u->operands[k].strides);
    const int64_t n = p.n == 2 ? p.sizes[1] : 0;
    const cxi_cover c =
        n > 1 ? cxi_pattern_cover(&p, u->rows / n, n) : CXI_COVER_OTHER;
    if (c != CXI_COVER_ROW && c != CXI_COVER_COLUMN) continue;
    *out_rows = u->rows / n;
    *out_n = n;
    if (*out_rows != 1) return;
  }
}

cxi_cover cxi_operand_cover(const cxi_operand *o, bool per_row, int64_t rows,
                            int64_t n) {
  const cxi_pattern p = cxi_pattern_of(&o->type.shape, o->strides);
  const int64_t all = per_row ? rows : rows * n;
  if (p.n == 0)
    return cxi_dims_count(&o->type.shape) == all ? CXI_COVER_FULL
                                                 : CXI_COVER_SCALAR;
  return per_row ? cxi_pattern_cover(&p, rows, 1)
                 : cxi_pattern_cover(&p, rows, n);
}

cxi_cover cxi_index_cover(const cxi_unit *u, const cxi_op *iota, int64_t rows,
                          int64_t n) {
  const cxi_iota_params *p = iota->params;
  const int64_t size = p->shape.d[p->axis];
  int64_t inner = 1;
  for (int i = (int)p->axis + 1; i < p->shape.n; i++) inner *= p->shape.d[i];
  const int64_t all = cxi_reads_rows(u, iota) ? rows : rows * n;
  if (inner == 1 && size == all) return CXI_COVER_FULL;
  if (cxi_reads_rows(u, iota)) return CXI_COVER_OTHER;
  if (inner == 1 && size == n) return CXI_COVER_ROW;
  return inner == n && size == rows ? CXI_COVER_COLUMN : CXI_COVER_OTHER;
}

bool cxi_reads_lines(const cxi_unit *u, const cxi_op *op, int64_t rows,
                     int64_t n) {
  if (op->row->prim == CXI_PRIM_iota)
    return cxi_index_cover(u, op, rows, n) != CXI_COVER_OTHER;
  for (uint32_t k = 0; k < op->n_in && !cxi_generates(op); k++) {
    const cxi_source *s = &u->sources[op->in + k];
    if (!s->fused &&
        cxi_operand_cover(&u->operands[s->index], cxi_reads_rows(u, op), rows,
                          n) == CXI_COVER_OTHER)
      return false;
  }
  return true;
}
