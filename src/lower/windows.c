/* windows.c - the steps of a gather or scatter, from its lists of axes. */
#include "lower/windows.h"

/* The lists that all of them have, under one name. */
typedef struct lists {
  cx_dims window, dropped, start_map, operand_batch, index_batch;
} lists;

static lists lists_of(const cxi_unit *u) {
  if (u->row->prim == CXI_PRIM_gather) {
    const cxi_gather_params *p = u->params;
    return (lists){ p->offset, p->collapsed, p->start_map, p->operand_batch,
                    p->index_batch };
  }
  /* The scatters have the same parameters. */
  const cxi_scatter_params *p = u->params;
  return (lists){ p->window, p->inserted, p->start_map, p->operand_batch,
                  p->index_batch };
}

/* Axes of the whole that the slices have follow in the same order there. */
static void set_window(cxi_index_walk *w, const lists *l, int64_t *sizes) {
  const cxi_operand *whole = w->whole, *slices = w->slices;
  for (int axis = 0; axis < whole->type.shape.n; axis++) {
    sizes[axis] = 1;
    if (cxi_dims_has(&l->dropped, axis) ||
        cxi_dims_has(&l->operand_batch, axis))
      continue;
    const int i = w->window.n++;
    const int64_t from = l->window.d[i];
    sizes[axis] = w->window.d[i] = slices->type.shape.d[from];
    w->whole_line[i] = whole->strides[axis];
    w->slice_line[i] = slices->strides[from];
  }
}

static void set_positions(cxi_index_walk *w, const lists *l) {
  for (int axis = 0; axis < w->slices->type.shape.n; axis++) {
    if (cxi_dims_has(&l->window, axis)) continue;
    const int i = w->positions.n++;
    w->positions.d[i] = w->slices->type.shape.d[axis];
    w->index_step[i] = w->indices->strides[i];
    w->slice_step[i] = w->slices->strides[axis];
  }
  for (int i = 0; i < l->operand_batch.n; i++)
    w->whole_step[l->index_batch.d[i]] =
        w->whole->strides[l->operand_batch.d[i]];
}

bool cxi_index_walk_of(const cxi_unit *u, cxi_index_walk *w) {
  if (u->kind != CXI_UNIT_ONE) return false;
  *w = (cxi_index_walk){ .indices = &u->operands[1] };
  switch (u->row->prim) {
  case CXI_PRIM_gather:
    w->gathers = true;
    w->drops = ((const cxi_gather_params *)u->params)->mode == CX_FILL;
    w->whole = &u->operands[0];
    w->slices = &u->results[0];
    break;
  case CXI_PRIM_scatter:
  case CXI_PRIM_scatter_add:
  case CXI_PRIM_scatter_mul:
  case CXI_PRIM_scatter_min:
  case CXI_PRIM_scatter_max:
    /* A broken promise drops. */
    w->drops = ((const cxi_scatter_params *)u->params)->mode != CX_CLIP;
    w->whole = &u->results[0];
    w->slices = &u->operands[2];
    break;
  default:
    return false;
  }
  const lists l = lists_of(u);
  int64_t sizes[CX_MAX_DIMS];
  set_window(w, &l, sizes);
  set_positions(w, &l);
  w->n_items = l.start_map.n;
  w->item_step = w->indices->strides[w->positions.n];
  for (int i = 0; i < w->n_items; i++) {
    const int64_t axis = l.start_map.d[i];
    w->items[i] = (cxi_index_item){ w->whole->type.shape.d[axis] - sizes[axis],
                                    w->whole->strides[axis], sizes[axis] };
  }
  return true;
}
