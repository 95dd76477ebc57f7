/* windows.c - windows of an array whose places are known only when running:
 * slices, updates and additions at starts; gathers and scatters of few
 * indices. */
#include "backends/llvm/emit.h"
#include "base/dtype.h"
#include "base/view.h"
#include "lower/windows.h"

/* -- starts ---------------------------------------------------------------- */

static LLVMValueRef moved_inside(cxi_codegen *e, LLVMValueRef at,
                                 LLVMValueRef last, bool sign) {
  LLVMValueRef high[] = { at, last };
  at = cxi_intrinsic(e, sign ? "llvm.smin" : "llvm.umin", e->i64, high, 2);
  LLVMValueRef low[] = { at, cxi_int(e, 0) };
  return sign ? cxi_intrinsic(e, "llvm.smax", e->i64, low, 2) : at;
}

/* Elements from the beginning of `whole` to the window at the starts, which
 * are moved so that the window lies inside. */
static LLVMValueRef window_offset(cxi_codegen *e, cxi_level *l,
                                  const cxi_unit *u, uint32_t first,
                                  const cxi_operand *whole,
                                  const cx_dims *window) {
  LLVMValueRef offset = cxi_int(e, 0);
  for (int i = 0; i < whole->type.shape.n; i++) {
    const cxi_operand *o = &u->operands[first + (uint32_t)i];
    const LLVMValueRef x =
        cxi_load(e, o->type.type, cxi_operand_pointer(e, l, o), 1);
    const bool sign = cxi_is_signed(o->type.type);
    const LLVMValueRef last = cxi_int(e, whole->type.shape.d[i] - window->d[i]);
    const LLVMValueRef at = moved_inside(
        e, LLVMBuildIntCast2(e->b, x, e->i64, sign, ""), last, sign);
    offset = LLVMBuildAdd(
        e->b, offset, LLVMBuildMul(e->b, at, cxi_int(e, whole->strides[i]), ""),
        "");
  }
  return offset;
}

static cxi_copying window_of(const cxi_unit *u) {
  const bool slices = u->row->prim == CXI_PRIM_dynamic_slice;
  const cxi_operand *part = slices ? &u->results[0] : &u->operands[1];
  return (cxi_copying){ part->type.type, part->type.shape,
                        u->results[0].strides,
                        slices ? u->operands[0].strides : part->strides };
}

static bool takes_window(const cxi_codegen *e, const cxi_unit *u) {
  (void)e;
  if (u->kind != CXI_UNIT_ONE) return false;
  switch (u->row->prim) {
  case CXI_PRIM_update_slice_add:
    if (cxi_is_half(u->results[0].type.type) ||
        u->results[0].type.type == CX_BOOL)
      return false;
    break;
  case CXI_PRIM_dynamic_slice:
  case CXI_PRIM_dynamic_update_slice:
    break;
  default:
    return false;
  }
  const cxi_copying c = window_of(u);
  const int64_t count = cxi_dims_count(&c.shape);
  if (u->row->prim == CXI_PRIM_update_slice_add) return count <= CXI_UNROLLED;
  return count <= CXI_LARGE && cxi_copy_takes(&c);
}

/* Adds the elements to those that are there, one by one. */
static void emit_sums(cxi_codegen *e, const cxi_copying *c, LLVMValueRef to,
                      LLVMValueRef from) {
  const int64_t bytes = (int64_t)cxi_dtype_bytes(c->type);
  const cxi_pattern in = cxi_pattern_of(&c->shape, c->from),
                    out = cxi_pattern_of(&c->shape, c->to);
  for (int64_t i = 0; i < cxi_dims_count(&c->shape); i++) {
    const LLVMValueRef at =
        cxi_after(e, to, cxi_pattern_offset(&out, i) * bytes);
    const LLVMValueRef x = cxi_load(
        e, c->type, cxi_after(e, from, cxi_pattern_offset(&in, i) * bytes), 1);
    cxi_store(e, c->type, at,
              cxi_operation2(e, CXI_PRIM_add, c->type,
                             cxi_load(e, c->type, at, 1), x, 1),
              1);
  }
}

static void emit_window(cxi_codegen *e, cxi_level *l, const cxi_unit *u) {
  const cxi_copying c = window_of(u);
  const cxi_operand *from = &u->operands[0], *to = &u->results[0];
  const LLVMValueRef source = cxi_operand_pointer(e, l, from);
  const LLVMValueRef target = cxi_operand_pointer(e, l, to);
  if (u->row->prim == CXI_PRIM_dynamic_slice) {
    const LLVMValueRef at = cxi_element(
        e, c.type, source, window_offset(e, l, u, 1, from, &c.shape));
    cxi_copy_emit(e, &c, target, at);
    return;
  }
  const LLVMValueRef at = window_offset(e, l, u, 2, to, &c.shape);
  if (!cxi_same_place(e, l, from->root, to->root))
    cxi_copy_elements(e, c.type, target, source, cxi_count(to));
  (u->row->prim == CXI_PRIM_update_slice_add ? emit_sums : cxi_copy_emit)(
      e, &c, cxi_element(e, c.type, target, at),
      cxi_operand_pointer(e, l, &u->operands[1]));
}

const cxi_family cxi_family_window = { "window", takes_window, emit_window };

/* -- gather, scatter, scatter_add ------------------------------------------ */

static bool scatters(const cxi_unit *u) {
  return u->row->prim == CXI_PRIM_scatter ||
         u->row->prim == CXI_PRIM_scatter_add;
}

/* One window. */
static cxi_copying copying_of(const cxi_index_walk *w) {
  return (cxi_copying){ w->whole->type.type, w->window,
                        w->gathers ? w->slice_line : w->whole_line,
                        w->gathers ? w->whole_line : w->slice_line };
}

static bool takes_indexed(const cxi_codegen *e, const cxi_unit *u) {
  (void)e;
  cxi_index_walk w;
  if (!cxi_index_walk_of(u, &w) || (!w.gathers && !scatters(u))) return false;
  const cxi_copying c = copying_of(&w);
  const int64_t positions = cxi_dims_count(&w.positions),
                count = cxi_dims_count(&c.shape);
  if (positions == 0 || count == 0 || positions > CXI_SMALL) return false;
  if (u->row->prim == CXI_PRIM_scatter_add)
    return !cxi_is_half(c.type) && positions * count <= CXI_UNROLLED;
  return positions * (count <= CXI_UNROLLED ? count : 1) <= 4 * CXI_UNROLLED &&
         count <= CXI_LARGE && cxi_copy_takes(&c);
}

/* Where in the whole the window at a position begins, in elements; in *inside
 * whether it is there at all, NULL for one that always is. */
static LLVMValueRef window_at(cxi_codegen *e, cxi_level *l,
                              const cxi_index_walk *w, const int64_t *position,
                              LLVMValueRef *inside) {
  const cx_dtype type = w->indices->type.type;
  const LLVMValueRef indices = cxi_operand_pointer(e, l, w->indices);
  const bool sign = cxi_is_signed(type);
  int64_t index = 0, known = 0;
  for (int i = 0; i < w->positions.n; i++) {
    index += position[i] * w->index_step[i];
    known += position[i] * w->whole_step[i];
  }
  LLVMValueRef offset = cxi_int(e, known);
  *inside = NULL;
  for (int i = 0; i < w->n_items; i++) {
    const LLVMValueRef last = cxi_int(e, w->items[i].last);
    const int64_t element = index + i * w->item_step;
    LLVMValueRef at = cxi_load(
        e, type,
        cxi_after(e, indices, element * (int64_t)cxi_dtype_bytes(type)), 1);
    at = LLVMBuildIntCast2(e->b, at, e->i64, sign, "");
    if (w->drops) {
      const LLVMValueRef here =
          LLVMBuildICmp(e->b, LLVMIntULE, at, last, ""); /* -1 is large */
      *inside = *inside ? LLVMBuildAnd(e->b, *inside, here, "") : here;
    } else {
      at = moved_inside(e, at, last, sign);
    }
    offset = LLVMBuildAdd(
        e->b, offset,
        LLVMBuildMul(e->b, at, cxi_int(e, w->items[i].stride), ""), "");
  }
  return offset;
}

/* Elements of these bits instead of a window. */
static void emit_fill(cxi_codegen *e, const cxi_copying *c, LLVMValueRef to,
                      uint64_t bits) {
  const int64_t count = cxi_dims_count(&c->shape);
  const unsigned bytes = (unsigned)cxi_dtype_bytes(c->type);
  const LLVMValueRef x =
      LLVMConstInt(LLVMIntTypeInContext(e->c, 8 * bytes), bits, false);
  if (count > CXI_UNROLLED) { /* a line */
    const cxi_for loop = cxi_for_open(e, count, 1);
    LLVMSetAlignment(
        LLVMBuildStore(e->b, x, cxi_element(e, c->type, to, loop.i)), bytes);
    cxi_for_close(e, &loop);
    return;
  }
  const cxi_pattern out = cxi_pattern_of(&c->shape, c->to);
  for (int64_t i = 0; i < count; i++)
    LLVMSetAlignment(
        LLVMBuildStore(e->b, x,
                       cxi_after(e, to, cxi_pattern_offset(&out, i) * bytes)),
        bytes);
}

static void emit_position(cxi_codegen *e, cxi_level *l, const cxi_unit *u,
                          const cxi_index_walk *w, const int64_t *position) {
  const cxi_copying c = copying_of(w);
  int64_t place = 0;
  for (int i = 0; i < w->positions.n; i++)
    place += position[i] * w->slice_step[i];
  const LLVMValueRef slice =
      cxi_after(e, cxi_operand_pointer(e, l, w->slices),
                place * (int64_t)cxi_dtype_bytes(c.type));
  LLVMValueRef inside;
  const LLVMValueRef offset = window_at(e, l, w, position, &inside);
  const LLVMBasicBlockRef copies = inside ? cxi_block(e, "inside") : NULL,
                          fills = inside ? cxi_block(e, "outside") : NULL,
                          after = inside ? cxi_block(e, "after") : NULL;
  if (inside) {
    LLVMBuildCondBr(e->b, inside, copies, fills);
    LLVMPositionBuilderAtEnd(e->b, copies);
  }
  const LLVMValueRef window =
      cxi_element(e, c.type, cxi_operand_pointer(e, l, w->whole), offset);
  if (u->row->prim == CXI_PRIM_scatter_add)
    emit_sums(e, &c, window, slice);
  else
    cxi_copy_emit(e, &c, w->gathers ? slice : window,
                  w->gathers ? window : slice);
  if (!inside) return;
  LLVMBuildBr(e->b, after);
  LLVMPositionBuilderAtEnd(e->b, fills);
  if (w->gathers)
    emit_fill(
        e, &c, slice,
        cxi_element_fill(c.type, ((const cxi_gather_params *)u->params)->fill));
  LLVMBuildBr(e->b, after);
  LLVMPositionBuilderAtEnd(e->b, after);
}

static void emit_indexed(cxi_codegen *e, cxi_level *l, const cxi_unit *u) {
  cxi_index_walk w;
  cxi_index_walk_of(u, &w);
  if (!w.gathers &&
      !cxi_same_place(e, l, u->operands[0].root, u->results[0].root))
    cxi_copy_elements(e, w.whole->type.type, cxi_operand_pointer(e, l, w.whole),
                      cxi_operand_pointer(e, l, &u->operands[0]),
                      cxi_count(w.whole));
  int64_t position[CX_MAX_DIMS] = { 0 };
  do emit_position(e, l, u, &w, position);
  while (cxi_index_next(&w.positions, position));
}

const cxi_family cxi_family_index = { "index", takes_indexed, emit_indexed };
