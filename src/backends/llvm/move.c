/* move.c - concatenate, stack, pad; copies that all movement shares. */
#include "backends/llvm/emit.h"
#include "base/dtype.h"

/* Joined axes of both sides: the last one alone is a line. */
static int64_t line_of(const cxi_copying *c) {
  int64_t line = 1;
  for (int i = c->shape.n - 1; i >= 0; i--) {
    if (c->shape.d[i] == 1) continue;
    if (c->to[i] != line || c->from[i] != line) break;
    line *= c->shape.d[i];
  }
  return line;
}

bool cxi_copy_takes(const cxi_copying *c) {
  const int64_t count = cxi_dims_count(&c->shape);
  return count <= CXI_UNROLLED || line_of(c) == count;
}

/* Elements side by side go as a whole. */
void cxi_copy_emit(cxi_codegen *e, const cxi_copying *c, LLVMValueRef to,
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
static cxi_copying part_of(const cxi_unit *u, uint32_t k, int64_t *strides,
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
  return (cxi_copying){ o->type.type, o->type.shape, strides, o->strides };
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
    const cxi_copying c = part_of(u, k, strides, &offset);
    if (!cxi_copy_takes(&c)) return false;
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
    const cxi_copying c = part_of(u, k, strides, &offset);
    cxi_copy_emit(e, &c, cxi_after(e, to, offset * bytes),
                  cxi_operand_pointer(e, l, &u->operands[k]));
  }
}

const cxi_family cxi_family_move = { "movement", takes, emit };
