/* range.c - a fused unit outside loops: a range of its elements as code.
 *
 * Reductions make it several loops over each row (lower/stages.c). Their 64
 * lanes are a vector, absent ones neutral; what a later loop reads waits in
 * `room`.
 *
 * The function is given columns [column, column_end) of rows [row, row_end).
 * A row's own values come first, then a loop takes some registers full of
 * elements through all equations. The last ones may have fewer: where the
 * machine masks lanes all are masked, else the rest goes one by one.
 * Which operands repeat along rows or columns is known (cxi_cover), sizes are
 * not. */
#include "backends/llvm/emit.h"
#include "base/dtype.h"
#include "base/lanes.h"

typedef struct range {
  cxi_codegen *e;
  const cxi_unit *u;
  int64_t rows, columns;       /* of the unit: for covers alone */
  int lanes;                   /* of the values at hand */
  LLVMValueRef at, n;          /* of the function */
  LLVMValueRef row, column;    /* at hand */
  LLVMValueRef mask;           /* of lanes that there are; NULL: all */
  LLVMValueRef *pointers;      /* by operand, then by result */
  LLVMValueRef *once;          /* by operand: the only element; NULL: more */
  LLVMValueRef *of_row;        /* by operand: the row's element */
  LLVMValueRef *of_elements;   /* by operand: those of the register at hand */
  LLVMValueRef *values;        /* by equation */
  uint32_t n_stages, stage;    /* loops over a row; the one at hand */
  uint32_t *stages, *crossing; /* by equation (lower/stages.c) */
  LLVMValueRef *lanes_of;      /* by equation that reduces: so far */
  LLVMValueRef room;           /* of the function, for what crosses */
} range;

/* -- what is taken --------------------------------------------------------- */

static bool on_rows(const cxi_unit *u, const cxi_op *op) {
  return op->per_row && u->n > 0;
}

/* As tier 0's kernels do: f16 and bf16 by way of f32. */
static cx_dtype reduced_type(const range *x, const cxi_op *op) {
  const cx_dtype type = cxi_source_type(x->u, op, 0);
  return cxi_is_half(type) ? CX_F32 : type;
}

/* The lanes of the definition are four registers of f32: of all machines that
 * are known here only one has as many. */
static bool takes_reduction(const range *x, const cxi_op *op) {
  const cx_dtype type = reduced_type(x, op);
  return x->e->vector_bytes == 64 && op->type == cxi_source_type(x->u, op, 0) &&
         op->row->prim != CXI_PRIM_argmax && op->row->prim != CXI_PRIM_argmin &&
         cxi_reduce_takes(op->row->prim, type, type, CXI_LANES);
}

static bool takes_op(const range *x, const cxi_op *op) {
  const cxi_operation o = cxi_operation_of(x->u, op);
  if (!cxi_reads_lines(x->u, op, x->rows, x->columns)) return false;
  if (op->reduces) return takes_reduction(x, op);
  if (op->row->prim == CXI_PRIM_iota) return !cxi_is_half(op->type);
  if (cxi_generates(op)) return op->row->prim == CXI_PRIM_random_bits;
  return cxi_operation_takes(x->e, &o) || cxi_function_takes(x->e, &o);
}

/* A chain of operations waits for each: several registers go side by side, of
 * random bits, whose chain is longest, as many as in tier 0's kernel. */
enum { SIDE_BY_SIDE = 2, BITS_SIDE_BY_SIDE = 4, MOST_LANES = CXI_LANES };

/* As many lanes as the widest value leaves; a generator works on words. */
static int find_lanes(const range *x) {
  size_t widest = 1;
  int registers = SIDE_BY_SIDE;
  for (uint32_t i = 0; i < x->u->n_ops; i++) {
    const cxi_op *op = &x->u->ops[i];
    for (uint32_t k = 0; k <= op->n_in; k++) {
      const cx_dtype type = k ? cxi_source_type(x->u, op, k - 1) : op->type;
      size_t bytes = cxi_is_half(type) ? 4 : cxi_dtype_bytes(type);
      if (cxi_generates(op)) bytes = k || bytes < 4 ? 4 : bytes;
      if (op->row->prim == CXI_PRIM_random_bits) registers = BITS_SIDE_BY_SIDE;
      if (bytes > widest) widest = bytes;
    }
  }
  for (uint32_t i = 0; i < x->u->n_ops; i++)
    if (x->u->ops[i].reduces) return CXI_LANES;
  const int lanes = registers * (int)(x->e->vector_bytes / (int64_t)widest);
  return lanes < MOST_LANES ? lanes : MOST_LANES;
}

bool cxi_range_takes(cxi_codegen *e, const cxi_unit *unit) {
  range x = { .e = e, .u = unit };
  cxi_unit_extents(unit, &x.rows, &x.columns);
  for (uint32_t i = 0; i < unit->n_ops; i++)
    if (!takes_op(&x, &unit->ops[i])) return false;
  return true;
}

/* -- operands -------------------------------------------------------------- */

static LLVMValueRef plus(const range *x, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAdd(x->e->b, a, b, "");
}

/* The number of the first element at hand. */
static LLVMValueRef element(const range *x) {
  return plus(x, LLVMBuildMul(x->e->b, x->row, x->n, ""), x->column);
}

static LLVMValueRef load_at(const range *x, uint32_t k, LLVMValueRef i,
                            int lanes) {
  const cx_dtype type = x->u->operands[k].type.type;
  return cxi_load_some(x->e, type, cxi_element(x->e, type, x->pointers[k], i),
                       lanes, lanes == 1 ? NULL : x->mask);
}

/* Each operand that an equation reads, with its cover on that level; elements
 * in the loop at hand alone. */
typedef void visit(range *x, uint32_t k, cxi_cover cover, bool per_row);
static void for_operands(range *x, visit *f, bool at_hand) {
  for (uint32_t i = 0; i < x->u->n_ops; i++) {
    const cxi_op *op = &x->u->ops[i];
    const bool per_row = cxi_reads_rows(x->u, op);
    if (at_hand && x->stages[i] != x->stage) continue;
    for (uint32_t k = 0; k < op->n_in && !cxi_generates(op); k++) {
      const cxi_source *s = &x->u->sources[op->in + k];
      if (s->fused) continue;
      f(x, s->index,
        cxi_operand_cover(&x->u->operands[s->index], per_row, x->rows,
                          x->columns),
        per_row);
    }
  }
}

static void load_once(range *x, uint32_t k, cxi_cover cover, bool per_row) {
  (void)per_row;
  if (cover == CXI_COVER_SCALAR && !x->once[k])
    x->once[k] = load_at(x, k, cxi_int(x->e, 0), 1);
}

static void load_row(range *x, uint32_t k, cxi_cover cover, bool per_row) {
  if (cover == (per_row ? CXI_COVER_FULL : CXI_COVER_COLUMN) && !x->of_row[k])
    x->of_row[k] = load_at(x, k, x->row, 1);
}

/* All before the first result is written: that may take an operand's place. */
static void load_elements(range *x, uint32_t k, cxi_cover cover, bool per_row) {
  if (per_row || x->of_elements[k]) return;
  if (cover == CXI_COVER_FULL)
    x->of_elements[k] = load_at(x, k, element(x), x->lanes);
  if (cover == CXI_COVER_ROW)
    x->of_elements[k] = load_at(x, k, x->column, x->lanes);
}

static LLVMValueRef operand(const range *x, uint32_t k, bool per_row) {
  const cxi_cover cover =
      cxi_operand_cover(&x->u->operands[k], per_row, x->rows, x->columns);
  const int lanes = per_row ? 1 : x->lanes;
  switch (cover) {
  case CXI_COVER_SCALAR:
    return cxi_splat(x->e, x->once[k], lanes);
  case CXI_COVER_COLUMN:
    return cxi_splat(x->e, x->of_row[k], lanes);
  default:
    return per_row ? x->of_row[k] : x->of_elements[k];
  }
}

/* Where the elements of an equation wait for a later loop. */
static LLVMValueRef crossing_at(const range *x, uint32_t i, cx_dtype type) {
  cxi_codegen *e = x->e;
  const LLVMValueRef first = LLVMBuildMul(
      e->b, x->n, cxi_int(e, 8 * ((int64_t)x->crossing[i] - 1)), "");
  return cxi_element(e, type, cxi_element(e, CX_U8, x->room, first), x->column);
}

/* f16 and bf16 stay as they are in registers. */
static cx_dtype crossing_type(cx_dtype type) {
  return cxi_is_half(type) ? CX_F32 : type;
}

static LLVMValueRef value(const range *x, const cxi_op *op, uint32_t k) {
  const cxi_source *s = &x->u->sources[op->in + k];
  const bool per_row = cxi_reads_rows(x->u, op);
  if (!s->fused) return operand(x, s->index, per_row);
  const LLVMValueRef v = x->values[s->index];
  const cxi_op *from = &x->u->ops[s->index];
  if (!from->per_row && x->stages[s->index] < x->stage) {
    const cx_dtype type = crossing_type(from->type);
    return cxi_load_some(x->e, type, crossing_at(x, s->index, type), x->lanes,
                         x->mask);
  }
  return !per_row && on_rows(x->u, &x->u->ops[s->index])
             ? cxi_splat(x->e, v, x->lanes)
             : v;
}

/* -- what is computed from its place --------------------------------------- */

/* first, first + 1, ... of a type of integers. */
static LLVMValueRef count_from(const range *x, LLVMValueRef first, int lanes) {
  if (lanes == 1) return first;
  const LLVMTypeRef type = LLVMTypeOf(first);
  LLVMValueRef steps[MOST_LANES];
  for (int i = 0; i < lanes; i++)
    steps[i] = LLVMConstInt(type, (uint64_t)i, false);
  return plus(x, cxi_splat(x->e, first, lanes),
              LLVMConstVector(steps, (unsigned)lanes));
}

static LLVMValueRef emit_index(const range *x, const cxi_op *op, int lanes) {
  cxi_codegen *e = x->e;
  const cxi_cover cover = cxi_index_cover(x->u, op, x->rows, x->columns);
  const LLVMTypeRef to = cxi_value_type(e, op->type, lanes);
  LLVMValueRef i;
  if (on_rows(x->u, op))
    i = x->row;
  else if (cover == CXI_COVER_COLUMN)
    i = cxi_splat(e, x->row, lanes);
  else
    i = count_from(x, cover == CXI_COVER_ROW ? x->column : element(x), lanes);
  return cxi_is_real(op->type) ? LLVMBuildSIToFP(e->b, i, to, "")
                               : LLVMBuildIntCast2(e->b, i, to, false, "");
}

/* The low word counts; the high one goes up where that begins again. */
static LLVMValueRef emit_bits(const range *x, const cxi_op *op, int lanes) {
  cxi_codegen *e = x->e;
  const LLVMTypeRef word = cxi_lanes_of(e->i32, lanes);
  const LLVMTypeRef wide = cxi_lanes_of(e->i64, lanes);
  const LLVMValueRef key = x->pointers[x->u->sources[op->in].index];
  const LLVMValueRef first = on_rows(x->u, op) ? x->row : element(x);
  LLVMValueRef k[2];
  for (int i = 0; i < 2; i++)
    k[i] = cxi_splat(
        e, cxi_load(e, CX_U32, cxi_after(e, key, 4 * (int64_t)i), 1), lanes);
  const LLVMValueRef low = LLVMBuildTrunc(e->b, first, e->i32, "");
  const LLVMValueRef high = LLVMBuildTrunc(
      e->b, LLVMBuildLShr(e->b, first, cxi_int(e, 32), ""), e->i32, "");
  LLVMValueRef b = count_from(x, low, lanes);
  const LLVMValueRef again =
      LLVMBuildICmp(e->b, LLVMIntULT, b, cxi_splat(e, low, lanes), "");
  LLVMValueRef a =
      plus(x, cxi_splat(e, high, lanes), LLVMBuildZExt(e->b, again, word, ""));
  cxi_hash_words(e, k[0], k[1], &a, &b);
  if (op->type != CX_U64)
    return LLVMBuildIntCast2(e->b, LLVMBuildXor(e->b, a, b, ""),
                             cxi_value_type(e, op->type, lanes), false, "");
  return LLVMBuildOr(e->b,
                     LLVMBuildShl(e->b, LLVMBuildZExt(e->b, a, wide, ""),
                                  cxi_integer_of(e, wide, 32), ""),
                     LLVMBuildZExt(e->b, b, wide, ""), "");
}

/* -- equations ------------------------------------------------------------- */

static LLVMValueRef emit_op(const range *x, const cxi_op *op) {
  const int lanes = on_rows(x->u, op) ? 1 : x->lanes;
  if (op->row->prim == CXI_PRIM_iota) return emit_index(x, op, lanes);
  if (cxi_generates(op)) return emit_bits(x, op, lanes);
  cxi_operation o = cxi_operation_of(x->u, op);
  o.lanes = lanes;
  for (uint32_t k = 0; k < op->n_in; k++) o.in[k] = value(x, op, k);
  return cxi_function_takes(x->e, &o) ? cxi_function_emit(x->e, &o)
                                      : cxi_operation_emit(x->e, &o);
}

static void store_result(const range *x, uint32_t i, bool row) {
  cxi_codegen *e = x->e;
  const cxi_op *op = &x->u->ops[i];
  if (op->result >= 0)
    cxi_store_some(
        e, op->type,
        cxi_element(e, op->type,
                    x->pointers[x->u->n_operands + (uint32_t)op->result],
                    row ? x->row : element(x)),
        x->values[i], row ? 1 : x->lanes,
        row || x->lanes == 1 ? NULL : x->mask);
  if (row || !x->crossing[i]) return;
  const cx_dtype type = crossing_type(op->type);
  cxi_store_some(e, type, crossing_at(x, i, type), x->values[i], x->lanes,
                 x->mask);
}

/* -- reductions ------------------------------------------------------------ */

/* Its lanes are a variable, which LLVM keeps in registers. */
static void open_reductions(range *x) {
  for (uint32_t i = 0; i < x->u->n_ops; i++) {
    const cxi_op *op = &x->u->ops[i];
    if (!op->reduces || x->stages[i] != x->stage) continue;
    const LLVMValueRef empty =
        cxi_reduce_empty(x->e, op->row->prim, reduced_type(x, op));
    if (!x->lanes_of[i]) x->lanes_of[i] = cxi_local_of(x->e, LLVMTypeOf(empty));
    LLVMBuildStore(x->e->b, empty, x->lanes_of[i]);
  }
}

static void add_to_lanes(range *x, uint32_t i) {
  cxi_codegen *e = x->e;
  const cxi_op *op = &x->u->ops[i];
  const cx_dtype type = reduced_type(x, op);
  const LLVMValueRef lanes = LLVMBuildLoad2(
      e->b, cxi_value_type(e, type, CXI_LANES), x->lanes_of[i], "");
  LLVMBuildStore(
      e->b,
      cxi_reduce_more(e, op->row->prim, type, lanes, value(x, op, 0), x->mask),
      x->lanes_of[i]);
}

static void close_reductions(range *x) {
  cxi_codegen *e = x->e;
  const cxi_chunk all = { 0, CXI_LANES };
  for (uint32_t i = 0; i < x->u->n_ops; i++) {
    const cxi_op *op = &x->u->ops[i];
    if (!op->reduces || x->stages[i] != x->stage) continue;
    const cx_dtype type = reduced_type(x, op);
    const LLVMValueRef lanes = LLVMBuildLoad2(
        e->b, cxi_value_type(e, type, CXI_LANES), x->lanes_of[i], "");
    LLVMValueRef sum = cxi_reduce_chunks(e, op->row->prim, type, type,
                                         CXI_LANES, 1, &all, &lanes);
    if (cxi_is_half(op->type))
      sum =
          cxi_half_widen(e, op->type, cxi_half_narrow(e, op->type, sum, 1), 1);
    x->values[i] = sum;
    store_result(x, i, true);
  }
}

/* Those of the loop at hand: before it the row's, in it the elements'. */
static void emit_ops(range *x, bool rows) {
  for (uint32_t i = 0; i < x->u->n_ops; i++) {
    const cxi_op *op = &x->u->ops[i];
    if (x->stages[i] != x->stage) continue;
    if (op->reduces && !rows) add_to_lanes(x, i);
    if (op->reduces || on_rows(x->u, op) != rows) continue;
    x->values[i] = emit_op(x, op);
    store_result(x, i, rows);
  }
}

/* -- loops ----------------------------------------------------------------- */

static void forget(const range *x, LLVMValueRef *by_operand) {
  for (uint32_t k = 0; k < x->u->n_operands; k++) by_operand[k] = NULL;
}

static void emit_columns(range *x, LLVMValueRef first, LLVMValueRef end,
                         int lanes, bool masks) {
  cxi_codegen *e = x->e;
  cxi_for loop = cxi_for_range(e, first, end, lanes);
  x->column = loop.i;
  x->lanes = lanes;
  x->mask = NULL;
  if (masks) {
    const LLVMValueRef rest = LLVMBuildTrunc(
        e->b, LLVMBuildSub(e->b, end, x->column, ""), e->i32, "");
    x->mask = LLVMBuildICmp(e->b, LLVMIntULT,
                            count_from(x, LLVMConstNull(e->i32), lanes),
                            cxi_splat(e, rest, lanes), "");
  }
  forget(x, x->of_elements);
  for_operands(x, load_elements, true);
  emit_ops(x, false);
  cxi_for_close(e, &loop);
}

static void emit_loop(range *x, LLVMValueRef column, LLVMValueRef column_end,
                      int lanes) {
  cxi_codegen *e = x->e;
  if (e->vector_bytes == 64) {
    emit_columns(x, column, column_end, lanes, true);
    return;
  }
  const LLVMValueRef all = LLVMBuildSub(e->b, column_end, column, "");
  const LLVMValueRef rest = LLVMBuildURem(e->b, all, cxi_int(e, lanes), "");
  const LLVMValueRef full = LLVMBuildSub(e->b, column_end, rest, "");
  emit_columns(x, column, full, lanes, false);
  emit_columns(x, full, column_end, 1, false);
}

static bool has_elements(const range *x) {
  for (uint32_t i = 0; i < x->u->n_ops; i++)
    if (x->stages[i] == x->stage &&
        (x->u->ops[i].reduces || !on_rows(x->u, &x->u->ops[i])))
      return true;
  return false;
}

static void emit_row(range *x, LLVMValueRef column, LLVMValueRef column_end,
                     int lanes) {
  forget(x, x->of_row);
  for_operands(x, load_row, false);
  for (x->stage = 0; x->stage < x->n_stages; x->stage++) {
    emit_ops(x, true);
    if (!has_elements(x)) continue;
    open_reductions(x);
    emit_loop(x, column, column_end, lanes);
    close_reductions(x);
  }
}

void cxi_range_emit(cxi_codegen *e, const cxi_unit *unit) {
  const uint32_t n = unit->n_operands + unit->n_results;
  range x = { .e = e,
              .u = unit,
              .at = LLVMGetParam(e->function, 0),
              .n = LLVMGetParam(e->function, 1),
              .pointers = cxi_values(e, n),
              .once = cxi_values(e, unit->n_operands),
              .of_row = cxi_values(e, unit->n_operands),
              .of_elements = cxi_values(e, unit->n_operands),
              .values = cxi_values(e, unit->n_ops),
              .lanes_of = cxi_values(e, unit->n_ops),
              .stages =
                  cxi_scratch((unit->n_ops + (size_t)1) * sizeof(uint32_t)),
              .crossing =
                  cxi_scratch((unit->n_ops + (size_t)1) * sizeof(uint32_t)),
              .room = LLVMGetParam(e->function, 6) };
  cxi_unit_extents(unit, &x.rows, &x.columns);
  e->short_of_memory |= !x.stages || !x.crossing;
  if (e->short_of_memory) return;
  x.n_stages = cxi_unit_stages(unit, x.stages, x.crossing, NULL);
  for (uint32_t i = 0; i < n; i++)
    x.pointers[i] = LLVMBuildLoad2(
        e->b, e->ptr, cxi_after(e, x.at, (int64_t)sizeof(char *) * i), "");
  for_operands(&x, load_once, false);
  cxi_for loop = cxi_for_range(e, LLVMGetParam(e->function, 2),
                               LLVMGetParam(e->function, 3), 1);
  x.row = loop.i;
  emit_row(&x, LLVMGetParam(e->function, 4), LLVMGetParam(e->function, 5),
           find_lanes(&x));
  cxi_for_close(e, &loop);
  cxi_note(e, unit, "pass");
}
