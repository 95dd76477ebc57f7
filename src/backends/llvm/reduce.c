/* reduce.c - reductions in the order of base/lanes.h. */
#include "backends/llvm/emit.h"
#include "base/dtype.h"
#include "base/lanes.h"

/* The operation that joins two elements; NONE: it is no such reduction. */
static cxi_prim joining(cxi_prim prim) {
  switch (prim) {
  case CXI_PRIM_reduce_sum:
    return CXI_PRIM_add;
  case CXI_PRIM_reduce_prod:
    return CXI_PRIM_mul;
  case CXI_PRIM_reduce_max:
    return CXI_PRIM_max;
  case CXI_PRIM_reduce_min:
    return CXI_PRIM_min;
  case CXI_PRIM_reduce_and:
    return CXI_PRIM_and;
  case CXI_PRIM_reduce_or:
    return CXI_PRIM_or;
  case CXI_PRIM_reduce_xor:
    return CXI_PRIM_xor;
  default:
    return CXI_PRIM_NONE;
  }
}

static bool finds_index(cxi_prim prim) {
  return prim == CXI_PRIM_argmax || prim == CXI_PRIM_argmin;
}

bool cxi_reduce_takes(cxi_prim prim, cx_dtype type, cx_dtype result,
                      int64_t n) {
  const cxi_prim op = joining(prim);
  if (n < 1 || n > CXI_LONG_ROW || cxi_is_half(type)) return false;
  if (finds_index(prim))
    return n <= CXI_SMALL && (type == CX_F32 || type == CX_F64) &&
           !cxi_is_real(result);
  if (op == CXI_PRIM_NONE || type != result || type == CX_KEY) return false;
  const bool logic =
      op == CXI_PRIM_and || op == CXI_PRIM_or || op == CXI_PRIM_xor;
  if (type == CX_BOOL) return logic || op == CXI_PRIM_max || op == CXI_PRIM_min;
  return !logic || !cxi_is_real(type);
}

/* What joined with x gives x, bit for bit but for NaN. */
static LLVMValueRef neutral(cxi_codegen *e, cxi_prim op, cx_dtype type,
                            int lanes) {
  const LLVMTypeRef t = cxi_value_type(e, type, lanes);
  const bool real = cxi_is_real(type);
  const unsigned bits = 8 * (unsigned)cxi_dtype_bytes(type);
  const uint64_t ones = UINT64_MAX >> (64 - bits);
  const uint64_t highest = cxi_is_signed(type) ? ones >> 1 : ones;
  switch (op) {
  case CXI_PRIM_add:
    return real ? cxi_constant(e, t, -0.0) : LLVMConstNull(t);
  case CXI_PRIM_mul:
    return cxi_constant(e, t, 1);
  case CXI_PRIM_max:
    return real ? cxi_constant(e, t, -(double)INFINITY)
                : cxi_integer_of(e, t, cxi_is_signed(type) ? highest + 1 : 0);
  case CXI_PRIM_min:
    return real ? cxi_constant(e, t, (double)INFINITY)
                : cxi_integer_of(e, t, type == CX_BOOL ? 1 : highest);
  case CXI_PRIM_and:
    return LLVMConstAllOnes(t);
  default:
    return LLVMConstNull(t);
  }
}

/* `onto` with the lanes of a narrower chunk from lane `at` on. */
static LLVMValueRef put_chunk(cxi_codegen *e, LLVMValueRef onto, int at,
                              LLVMValueRef x, int lanes) {
  for (int i = 0; i < lanes; i++)
    onto = cxi_with_lane(e, onto, cxi_lane(e, x, lanes, i), at + i);
  return onto;
}

/* Few elements, one by one; each may be of several results side by side. */
static LLVMValueRef join_all(cxi_codegen *e, cxi_prim op, cx_dtype type,
                             int64_t n, const LLVMValueRef *x, int width) {
  LLVMValueRef lane[CXI_LANES];
  for (int64_t i = 0; i < n; i++)
    lane[i % CXI_LANES] =
        i < CXI_LANES
            ? x[i]
            : cxi_operation2(e, op, type, lane[i % CXI_LANES], x[i], width);
  int64_t present = n < CXI_LANES ? n : CXI_LANES;
  for (int64_t half = CXI_LANES / 2; half; half /= 2) {
    for (int64_t i = 0; i + half < present; i++)
      lane[i] = cxi_operation2(e, op, type, lane[i], lane[i + half], width);
    if (present > half) present = half;
  }
  return lane[0];
}

/* Chunks of `width` lanes: several hold the 64 lanes of the definition, in
 * so far as there are as many elements. Absent ones are neutral. */
static LLVMValueRef join_vectors(cxi_codegen *e, cxi_prim op, cx_dtype type,
                                 uint32_t n_chunks, const cxi_chunk *chunks,
                                 const LLVMValueRef *values) {
  const int width = chunks[0].lanes;
  LLVMValueRef lane[CXI_LANES], last = NULL;
  uint32_t full = 0, used = 0;
  while (full < n_chunks && chunks[full].lanes == width) full++;
  const uint32_t most = (uint32_t)(CXI_LANES / width);
  for (uint32_t c = full; c < n_chunks; c++) {
    if (!last) last = neutral(e, op, type, width);
    last = put_chunk(e, last, (int)(chunks[c].at - chunks[full].at), values[c],
                     chunks[c].lanes);
  }
  for (uint32_t c = 0; c < full + (last != NULL); c++) {
    const LLVMValueRef x = c < full ? values[c] : last;
    const uint32_t i = c % most;
    lane[i] = c < most ? x : cxi_operation2(e, op, type, lane[i], x, width);
    if (c < most) used = c + 1;
  }
  for (uint32_t half = most / 2; half; half /= 2) {
    for (uint32_t i = 0; i + half < used; i++)
      lane[i] = cxi_operation2(e, op, type, lane[i], lane[i + half], width);
    if (used > half) used = half;
  }
  LLVMValueRef x = lane[0];
  for (int half = width / 2; half; half /= 2)
    x = cxi_operation2(e, op, type, cxi_pick(e, x, 0, half),
                       cxi_pick(e, x, half, half), half);
  return x;
}

/* The first NaN, or the first of the greatest (or least). */
static LLVMValueRef find_index(cxi_codegen *e, cxi_prim prim, cx_dtype type,
                               cx_dtype result, int64_t n,
                               const LLVMValueRef *x) {
  const cxi_prim op = prim == CXI_PRIM_argmax ? CXI_PRIM_max : CXI_PRIM_min;
  const LLVMValueRef most = join_all(e, op, type, n, x, 1);
  const LLVMTypeRef to = cxi_value_type(e, result, 1);
  const LLVMValueRef none = LLVMBuildFCmp(e->b, LLVMRealUNO, most, most, "");
  LLVMValueRef index = LLVMConstNull(to);
  for (int64_t i = n; i-- > 0;) {
    const LLVMValueRef is_nan =
        LLVMBuildFCmp(e->b, LLVMRealUNO, x[i], x[i], "");
    const LLVMValueRef is_it = LLVMBuildFCmp(e->b, LLVMRealOEQ, x[i], most, "");
    index =
        LLVMBuildSelect(e->b, LLVMBuildSelect(e->b, none, is_nan, is_it, ""),
                        cxi_constant(e, to, (double)i), index, "");
  }
  return index;
}

LLVMValueRef cxi_reduce_chunks(cxi_codegen *e, cxi_prim prim, cx_dtype type,
                               cx_dtype result, int64_t n, uint32_t n_chunks,
                               const cxi_chunk *chunks,
                               const LLVMValueRef *values) {
  if (finds_index(prim)) return find_index(e, prim, type, result, n, values);
  const cxi_prim op = joining(prim);
  return chunks[0].lanes == 1
             ? join_all(e, op, type, n, values, 1)
             : join_vectors(e, op, type, n_chunks, chunks, values);
}

LLVMValueRef cxi_reduce_empty(cxi_codegen *e, cxi_prim prim, cx_dtype type,
                              int lanes) {
  return neutral(e, joining(prim), type, lanes);
}

LLVMValueRef cxi_reduce_more(cxi_codegen *e, cxi_prim prim, cx_dtype type,
                             LLVMValueRef so_far, LLVMValueRef x, int lanes,
                             LLVMValueRef mask) {
  const cxi_prim op = joining(prim);
  if (mask) x = LLVMBuildSelect(e->b, mask, x, neutral(e, op, type, lanes), "");
  return cxi_operation2(e, op, type, so_far, x, lanes);
}

/* -- reductions that are units of their own -------------------------------- */

enum { MOST_RESULTS = 512 };

/* The axes that are reduced, or the others, as a pattern. */
static cxi_pattern axes_of(const cxi_unit *u, bool reduced) {
  const cxi_operand *o = &u->operands[0];
  const cx_dims *axes = &((const cxi_reduce_sum_params *)u->params)->axes;
  cx_dims sizes = { 0 };
  int64_t strides[CX_MAX_DIMS];
  for (int i = 0; i < o->type.shape.n; i++) {
    bool listed = false;
    for (int k = 0; k < axes->n; k++)
      listed |= axes->d[k] == i || axes->d[k] == i - o->type.shape.n;
    if (listed != reduced) continue;
    strides[sizes.n] = o->strides[i];
    sizes.d[sizes.n++] = o->type.shape.d[i];
  }
  return cxi_pattern_of(&sizes, strides);
}

/* Results in registers' width: where they lie side by side in the operand. */
static int width_of(const cxi_codegen *e, const cxi_unit *u) {
  const cxi_pattern outer = axes_of(u, false);
  const size_t bytes = cxi_dtype_bytes(u->results[0].type.type);
  if (cxi_count(&u->results[0]) <= CXI_SMALL || outer.n != 1 ||
      outer.strides[0] != 1)
    return 1;
  return (int)(e->vector_bytes / (int64_t)bytes);
}

/* Few elements, or columns of few. */
static bool takes(const cxi_codegen *e, const cxi_unit *u) {
  if (u->kind != CXI_UNIT_ONE || joining(u->row->prim) == CXI_PRIM_NONE)
    return false;
  const int64_t all = cxi_count(&u->operands[0]),
                results = cxi_count(&u->results[0]);
  if (all < 1 || !cxi_reduce_takes(u->row->prim, u->operands[0].type.type,
                                   u->results[0].type.type, all / results))
    return false;
  return all <= CXI_UNROLLED ||
         (width_of(e, u) > 1 && all / results <= CXI_SMALL &&
          results <= MOST_RESULTS);
}

static void emit(cxi_codegen *e, cxi_level *l, const cxi_unit *u) {
  const cxi_operand *from = &u->operands[0], *to = &u->results[0];
  const cx_dtype type = from->type.type;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(type);
  const cxi_pattern outer = axes_of(u, false), inner = axes_of(u, true);
  const int64_t n = cxi_pattern_count(&inner), results = cxi_count(to);
  const LLVMValueRef in = cxi_operand_pointer(e, l, from);
  const LLVMValueRef out = cxi_operand_pointer(e, l, to);
  int width = width_of(e, u);
  LLVMValueRef x[CXI_UNROLLED];
  for (int64_t r = 0; r < results; r += width) {
    while (width > results - r) width /= 2;
    for (int64_t i = 0; i < n; i++)
      x[i] = cxi_load(e, type,
                      cxi_after(e, in,
                                (cxi_pattern_offset(&outer, r) +
                                 cxi_pattern_offset(&inner, i)) *
                                    bytes),
                      width);
    cxi_store(e, type, cxi_after(e, out, r * bytes),
              join_all(e, joining(u->row->prim), type, n, x, width), width);
  }
}

const cxi_family cxi_family_reduce = { "reduction", takes, emit };
