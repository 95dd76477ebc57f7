/* move.c - concatenate, stack, pad; slices, updates and additions at starts
 * known only when running. */
#include "backends/llvm/emit.h"
#include "base/dtype.h"

/* A copy of `count` elements, both sides by patterns over one shape. */
typedef struct copying {
  cx_dtype type;
  cx_dims shape;
  const int64_t *to, *from; /* strides */
} copying;

/* Joined axes of both sides: the last one alone is a line. */
static int64_t line_of(const copying *c) {
  int64_t line = 1;
  for (int i = c->shape.n - 1; i >= 0; i--) {
    if (c->shape.d[i] == 1) continue;
    if (c->to[i] != line || c->from[i] != line) break;
    line *= c->shape.d[i];
  }
  return line;
}

static bool takes_copy(const copying *c) {
  const int64_t count = cxi_dims_count(&c->shape);
  return count <= CXI_UNROLLED || line_of(c) == count;
}

/* Elements side by side go as a whole. */
static void emit_copy(cxi_codegen *e, const copying *c, LLVMValueRef to,
                      LLVMValueRef from) {
  const int64_t count = cxi_dims_count(&c->shape),
                bytes = (int64_t)cxi_dtype_bytes(c->type);
  const LLVMTypeRef memory = cxi_memory_type(e, c->type);
  if (count > CXI_SMALL && line_of(c) == count) {
    cxi_copy_elements(e, c->type, to, from, count);
    return;
  }
  const cxi_pattern in = cxi_pattern_of(&c->shape, c->from),
                    out = cxi_pattern_of(&c->shape, c->to);
  for (int64_t i = 0; i < count; i++) {
    const LLVMValueRef x = LLVMBuildLoad2(
        e->b, memory, cxi_after(e, from, cxi_pattern_offset(&in, i) * bytes),
        "");
    LLVMSetAlignment(x, (unsigned)bytes);
    LLVMSetAlignment(
        LLVMBuildStore(e->b, x,
                       cxi_after(e, to, cxi_pattern_offset(&out, i) * bytes)),
        (unsigned)bytes);
  }
}

/* -- concatenate, stack, pad ----------------------------------------------- */

static int joined_axis(const cxi_unit *u) {
  const int64_t axis = u->row->prim == CXI_PRIM_stack
                           ? ((const cxi_stack_params *)u->params)->axis
                           : ((const cxi_concatenate_params *)u->params)->axis;
  return (int)(axis < 0 ? axis + u->results[0].type.shape.n : axis);
}

/* Part k of a join: the strides in the result for the operand's axes, and
 * where it begins. */
static copying part_of(const cxi_unit *u, uint32_t k, int64_t *strides,
                       int64_t *offset) {
  const cxi_operand *o = &u->operands[k], *out = &u->results[0];
  *offset = 0;
  if (u->row->prim == CXI_PRIM_pad) {
    const cxi_pad_params *p = u->params;
    for (int i = 0; i < o->type.shape.n; i++) {
      strides[i] = out->strides[i] * (p->interior.d[i] + 1);
      *offset += p->low.d[i] * out->strides[i];
    }
  } else {
    const bool stacks = u->row->prim == CXI_PRIM_stack;
    const int axis = joined_axis(u);
    for (int i = 0, j = 0; i < out->type.shape.n; i++)
      if (!stacks || i != axis) strides[j++] = out->strides[i];
    for (uint32_t before = 0; before < k; before++)
      *offset += out->strides[axis] *
                 (stacks ? 1 : u->operands[before].type.shape.d[axis]);
  }
  return (copying){ o->type.type, o->type.shape, strides, o->strides };
}

static bool takes_pad(const cxi_unit *u) {
  const cxi_pad_params *p = u->params;
  for (int i = 0; i < p->low.n; i++)
    if (p->low.d[i] < 0 || p->high.d[i] < 0) return false;
  return cxi_count(&u->results[0]) <= CXI_UNROLLED;
}

static bool takes(const cxi_codegen *e, const cxi_unit *u) {
  (void)e;
  if (u->kind != CXI_UNIT_ONE) return false;
  switch (u->row->prim) {
  case CXI_PRIM_pad:
    if (!takes_pad(u)) return false;
    break;
  case CXI_PRIM_concatenate:
  case CXI_PRIM_stack:
    break;
  default:
    return false;
  }
  if (cxi_count(&u->results[0]) > CXI_LARGE) return false;
  const uint32_t n = u->row->prim == CXI_PRIM_pad ? 1 : u->n_operands;
  for (uint32_t k = 0; k < n; k++) {
    int64_t strides[CX_MAX_DIMS], offset;
    const copying c = part_of(u, k, strides, &offset);
    if (!takes_copy(&c)) return false;
  }
  return true;
}

static void emit(cxi_codegen *e, cxi_level *l, const cxi_unit *u) {
  const cxi_operand *out = &u->results[0];
  const LLVMValueRef to = cxi_operand_pointer(e, l, out);
  const cx_dtype type = out->type.type;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(type);
  const bool pads = u->row->prim == CXI_PRIM_pad;
  const LLVMValueRef fill =
      pads ? cxi_load(e, type, cxi_operand_pointer(e, l, &u->operands[1]), 1)
           : NULL;
  for (int64_t i = 0; pads && i < cxi_count(out); i++)
    cxi_store(e, type, cxi_after(e, to, i * bytes), fill, 1);
  for (uint32_t k = 0; k < (pads ? 1 : u->n_operands); k++) {
    int64_t strides[CX_MAX_DIMS], offset;
    const copying c = part_of(u, k, strides, &offset);
    emit_copy(e, &c, cxi_after(e, to, offset * bytes),
              cxi_operand_pointer(e, l, &u->operands[k]));
  }
}

const cxi_family cxi_family_move = { "movement", takes, emit };

/* -- starts ---------------------------------------------------------------- */

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
    LLVMValueRef at = LLVMBuildIntCast2(e->b, x, e->i64, sign, "");
    LLVMValueRef in[] = { at, last };
    at = cxi_intrinsic(e, sign ? "llvm.smin" : "llvm.umin", e->i64, in, 2);
    LLVMValueRef low[] = { at, cxi_int(e, 0) };
    if (sign) at = cxi_intrinsic(e, "llvm.smax", e->i64, low, 2);
    offset = LLVMBuildAdd(
        e->b, offset, LLVMBuildMul(e->b, at, cxi_int(e, whole->strides[i]), ""),
        "");
  }
  return offset;
}

static copying window_of(const cxi_unit *u) {
  const bool slices = u->row->prim == CXI_PRIM_dynamic_slice;
  const cxi_operand *part = slices ? &u->results[0] : &u->operands[1];
  return (copying){ part->type.type, part->type.shape, u->results[0].strides,
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
  const copying c = window_of(u);
  const int64_t count = cxi_dims_count(&c.shape);
  if (u->row->prim == CXI_PRIM_update_slice_add) return count <= CXI_UNROLLED;
  return count <= CXI_LARGE && takes_copy(&c);
}

/* Adds the elements to those that are there, one by one. */
static void emit_sums(cxi_codegen *e, const copying *c, LLVMValueRef to,
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
  const copying c = window_of(u);
  const cxi_operand *from = &u->operands[0], *to = &u->results[0];
  const LLVMValueRef source = cxi_operand_pointer(e, l, from);
  const LLVMValueRef target = cxi_operand_pointer(e, l, to);
  if (u->row->prim == CXI_PRIM_dynamic_slice) {
    const LLVMValueRef at = cxi_element(
        e, c.type, source, window_offset(e, l, u, 1, from, &c.shape));
    emit_copy(e, &c, target, at);
    return;
  }
  const LLVMValueRef at = window_offset(e, l, u, 2, to, &c.shape);
  if (!cxi_same_place(e, l, from->root, to->root))
    cxi_copy_elements(e, c.type, target, source, cxi_count(to));
  (u->row->prim == CXI_PRIM_update_slice_add ? emit_sums : emit_copy)(
      e, &c, cxi_element(e, c.type, target, at),
      cxi_operand_pointer(e, l, &u->operands[1]));
}

const cxi_family cxi_family_index = { "window", takes_window, emit_window };
