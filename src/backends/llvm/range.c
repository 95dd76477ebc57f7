/* range.c - a fused unit outside loops: a range of its elements as code.
 *
 * Reductions make it several loops over each row (lower/stages.c). Their 64
 * lanes lie in memory, absent ones neutral; what a later loop reads waits in
 * `room`.
 *
 * The function is given columns [column, column_end) of rows [row, row_end).
 * A row's own values come first, then a loop takes some registers full of
 * elements through all equations. The last ones may have fewer: where the
 * machine masks lanes all are masked, else the rest goes one by one.
 * Which operands repeat along rows or columns is known (cxi_cover), sizes are
 * not.
 *
 * What LLVM's passes would do to it is done here, as they take longer than all
 * this: what does not change in a loop is made before it, nothing is a variable
 * that could be a value, no vector is wider than it has to be. */
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
  LLVMValueRef *lanes_of;      /* by equation that reduces: where they lie */
  LLVMValueRef *sums, *sum_of; /* all of them as a value: so far; first, last */
  LLVMValueRef room;           /* of the function, for what crosses */
  LLVMBuilderRef before;       /* of the loop at hand */
  LLVMValueRef *wide, *rows_at; /* made there: an operand in all lanes; where
                                   its, or a result's, row begins */
  LLVMValueRef *wide_values, *crossing_at; /* the same of equations */
  LLVMValueRef row_first;                  /* the row's first element */
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

static bool takes_reduction(const range *x, const cxi_op *op) {
  const cx_dtype type = reduced_type(x, op);
  return op->type == cxi_source_type(x->u, op, 0) &&
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

/* A chain of operations waits for each: registers go side by side, two of what
 * is little but for them, of random bits, whose chain is longest, as many as in
 * tier 0's kernel, of sums of what is little all of their lanes. */
enum { SIDE_BY_SIDE = 2, BITS_SIDE_BY_SIDE = 4, LITTLE = 4 };

static size_t widest_type(const range *x, const cxi_op *op) {
  size_t widest = 1;
  for (uint32_t k = 0; k <= op->n_in; k++) {
    const cx_dtype type = k ? cxi_source_type(x->u, op, k - 1) : op->type;
    size_t bytes = cxi_is_half(type) ? 4 : cxi_dtype_bytes(type);
    if (cxi_generates(op)) bytes = k || bytes < 4 ? 4 : bytes;
    if (bytes > widest) widest = bytes;
  }
  return widest;
}

/* Those of the loop at hand: as many as the widest value leaves; a generator
 * works on words. */
static int find_lanes(const range *x) {
  size_t widest = 1;
  int registers = SIDE_BY_SIDE, work = 0;
  bool sums = false;
  for (uint32_t i = 0; i < x->u->n_ops; i++) {
    const cxi_op *op = &x->u->ops[i];
    if (x->stages[i] != x->stage || (on_rows(x->u, op) && !op->reduces))
      continue;
    const cxi_operation o = cxi_operation_of(x->u, op);
    const size_t bytes = widest_type(x, op);
    if (bytes > widest) widest = bytes;
    if (op->row->prim == CXI_PRIM_random_bits) registers = BITS_SIDE_BY_SIDE;
    sums |= op->reduces;
    work += cxi_function_takes(x->e, &o) || cxi_is_half(op->type) ? LITTLE : 1;
  }
  if (sums && work <= LITTLE) return CXI_LANES;
  const int lanes = registers * (int)(x->e->vector_bytes / (int64_t)widest);
  return lanes < CXI_LANES ? lanes : CXI_LANES;
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

/* Loads and stores of some lanes cost nothing. */
static bool masks_lanes(const range *x) {
  return x->e->vector_bytes == 64;
}

/* From here on before the loop at hand, until the builder is put back. */
static LLVMBuilderRef go_before(const range *x) {
  const LLVMBuilderRef b = x->e->b;
  x->e->b = x->before;
  return b;
}

/* A scalar in all lanes; in a loop it is made before, and kept. */
static LLVMValueRef spread(const range *x, LLVMValueRef scalar, int lanes,
                           LLVMValueRef *kept) {
  if (lanes == 1) return scalar;
  const LLVMBuilderRef b = go_before(x);
  if (!*kept) *kept = cxi_splat(x->e, scalar, lanes);
  x->e->b = b;
  return *kept;
}

/* The number of the first element at hand. */
static LLVMValueRef element(const range *x) {
  return plus(x, x->row_first, x->column);
}

/* Element `column` of a row of an operand or result (those come after). */
static LLVMValueRef of_row_at(const range *x, cx_dtype type, uint32_t k) {
  const LLVMBuilderRef b = go_before(x);
  if (!x->rows_at[k])
    x->rows_at[k] = cxi_element(x->e, type, x->pointers[k], x->row_first);
  x->e->b = b;
  return cxi_element(x->e, type, x->rows_at[k], x->column);
}

static LLVMValueRef load_at(const range *x, uint32_t k, LLVMValueRef at,
                            int lanes) {
  return cxi_load_some(x->e, x->u->operands[k].type.type, at, lanes,
                       lanes == 1 ? NULL : x->mask);
}

static LLVMValueRef load_one(const range *x, uint32_t k, LLVMValueRef i) {
  return load_at(
      x, k, cxi_element(x->e, x->u->operands[k].type.type, x->pointers[k], i),
      1);
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
    x->once[k] = load_one(x, k, cxi_int(x->e, 0));
}

static void load_row(range *x, uint32_t k, cxi_cover cover, bool per_row) {
  if (cover == (per_row ? CXI_COVER_FULL : CXI_COVER_COLUMN) && !x->of_row[k])
    x->of_row[k] = load_one(x, k, x->row);
}

/* All before the first result is written: that may take an operand's place. */
static void load_elements(range *x, uint32_t k, cxi_cover cover, bool per_row) {
  const cx_dtype type = x->u->operands[k].type.type;
  if (per_row || x->of_elements[k]) return;
  if (cover == CXI_COVER_FULL)
    x->of_elements[k] = load_at(x, k, of_row_at(x, type, k), x->lanes);
  if (cover == CXI_COVER_ROW)
    x->of_elements[k] = load_at(
        x, k, cxi_element(x->e, type, x->pointers[k], x->column), x->lanes);
}

static LLVMValueRef operand(const range *x, uint32_t k, bool per_row) {
  const cxi_cover cover =
      cxi_operand_cover(&x->u->operands[k], per_row, x->rows, x->columns);
  const int lanes = per_row ? 1 : x->lanes;
  switch (cover) {
  case CXI_COVER_SCALAR:
    return spread(x, x->once[k], lanes, &x->wide[k]);
  case CXI_COVER_COLUMN:
    return spread(x, x->of_row[k], lanes, &x->wide[k]);
  default:
    return per_row ? x->of_row[k] : x->of_elements[k];
  }
}

/* Where the elements of an equation wait for a later loop. */
static LLVMValueRef crossing_at(const range *x, uint32_t i, cx_dtype type) {
  cxi_codegen *e = x->e;
  const LLVMBuilderRef b = go_before(x);
  if (!x->crossing_at[i])
    x->crossing_at[i] = cxi_element(
        e, CX_U8, x->room,
        LLVMBuildMul(e->b, x->n, cxi_int(e, 8 * ((int64_t)x->crossing[i] - 1)),
                     ""));
  x->e->b = b;
  return cxi_element(e, type, x->crossing_at[i], x->column);
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
             ? spread(x, v, x->lanes, &x->wide_values[s->index])
             : v;
}

/* -- what is computed from its place --------------------------------------- */

/* first, first + 1, ... of a type of integers. */
static LLVMValueRef count_from(const range *x, LLVMValueRef first, int lanes) {
  if (lanes == 1) return first;
  const LLVMTypeRef type = LLVMTypeOf(first);
  LLVMValueRef steps[CXI_LANES];
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
  const LLVMBuilderRef here = on_rows(x->u, op) ? e->b : go_before(x);
  for (int i = 0; i < 2; i++)
    k[i] = cxi_splat(
        e, cxi_load(e, CX_U32, cxi_after(e, key, 4 * (int64_t)i), 1), lanes);
  e->b = here;
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
  if (op->result >= 0) {
    const uint32_t k = x->u->n_operands + (uint32_t)op->result;
    cxi_store_some(e, op->type,
                   row ? cxi_element(e, op->type, x->pointers[k], x->row)
                       : of_row_at(x, op->type, k),
                   x->values[i], row ? 1 : x->lanes,
                   row || x->lanes == 1 ? NULL : x->mask);
  }
  if (row || !x->crossing[i]) return;
  const cx_dtype type = crossing_type(op->type);
  cxi_store_some(e, type, crossing_at(x, i, type), x->values[i], x->lanes,
                 x->mask);
}

/* -- reductions ------------------------------------------------------------ */

static bool reduces_now(const range *x, uint32_t i) {
  return x->u->ops[i].reduces && x->stages[i] == x->stage;
}

/* Its lanes as registers: how many elements one takes. */
static int register_lanes(const range *x, cx_dtype type) {
  const int lanes = (int)(x->e->vector_bytes / (int64_t)cxi_dtype_bytes(type));
  return lanes < CXI_LANES ? lanes : CXI_LANES;
}

/* Each lane in its place of memory. */
static LLVMValueRef lane_place(const range *x, uint32_t i, cx_dtype type,
                               int lane) {
  return cxi_after(x->e, x->lanes_of[i], lane * (int64_t)cxi_dtype_bytes(type));
}

/* In memory, unless all lanes at once are a value to the end. */
static void open_reductions(const range *x, int lanes_at_once) {
  if (lanes_at_once == CXI_LANES && masks_lanes(x)) return;
  for (uint32_t i = 0; i < x->u->n_ops; i++) {
    if (!reduces_now(x, i)) continue;
    const cx_dtype type = reduced_type(x, &x->u->ops[i]);
    const int lanes = register_lanes(x, type);
    x->lanes_of[i] = cxi_local(x->e, type, CXI_LANES);
    for (int at = 0; at < CXI_LANES; at += lanes)
      cxi_store(x->e, type, lane_place(x, i, type, at),
                cxi_reduce_empty(x->e, x->u->ops[i].row->prim, type, lanes),
                lanes);
  }
}

/* Element i to lane i mod 64; what is side by side stays so. All lanes at once
 * are a value that goes around in the loop at hand. */
static void add_to_lanes(const range *x, uint32_t i) {
  cxi_codegen *e = x->e;
  const cxi_op *op = &x->u->ops[i];
  const cx_dtype type = reduced_type(x, op);
  LLVMValueRef at = NULL;
  if (x->lanes < CXI_LANES) {
    at = cxi_element(
        e, type, x->lanes_of[i],
        LLVMBuildAnd(e->b, x->column, cxi_int(e, CXI_LANES - 1), ""));
    x->sums[i] = cxi_load(e, type, at, x->lanes);
  }
  x->sums[i] = cxi_reduce_more(e, op->row->prim, type, x->sums[i],
                               value(x, op, 0), x->lanes, x->mask);
  if (at) cxi_store(e, type, at, x->sums[i], x->lanes);
}

/* Before the equations of a loop that takes all lanes at once, and after it;
 * it may take no step. */
static void begin_sums(const range *x, LLVMBasicBlockRef from) {
  for (uint32_t i = 0; i < x->u->n_ops; i++) {
    if (!reduces_now(x, i) || x->lanes < CXI_LANES) continue;
    const cx_dtype type = reduced_type(x, &x->u->ops[i]);
    LLVMValueRef none =
        cxi_reduce_empty(x->e, x->u->ops[i].row->prim, type, CXI_LANES);
    x->sums[i] = x->sum_of[i] = LLVMBuildPhi(x->e->b, LLVMTypeOf(none), "");
    LLVMAddIncoming(x->sum_of[i], &none, &from, 1);
  }
}
static void end_sums(const range *x, LLVMBasicBlockRef from,
                     LLVMBasicBlockRef last) {
  for (uint32_t i = 0; i < x->u->n_ops; i++) {
    if (!reduces_now(x, i) || x->lanes < CXI_LANES) continue;
    const cx_dtype type = reduced_type(x, &x->u->ops[i]);
    LLVMValueRef ways[] = { cxi_reduce_empty(x->e, x->u->ops[i].row->prim, type,
                                             CXI_LANES),
                            x->sums[i] };
    LLVMBasicBlockRef blocks[] = { from, last };
    LLVMAddIncoming(x->sum_of[i], &ways[1], &last, 1);
    x->sum_of[i] = LLVMBuildPhi(x->e->b, LLVMTypeOf(ways[0]), "");
    LLVMAddIncoming(x->sum_of[i], ways, blocks, 2);
  }
}
static void keep_sums(const range *x) {
  for (uint32_t i = 0; i < x->u->n_ops; i++)
    if (reduces_now(x, i) && x->lanes == CXI_LANES)
      cxi_store(x->e, reduced_type(x, &x->u->ops[i]), x->lanes_of[i],
                x->sum_of[i], CXI_LANES);
}

static LLVMValueRef join_lanes(const range *x, uint32_t i, cx_dtype type) {
  const cxi_prim prim = x->u->ops[i].row->prim;
  cxi_chunk chunks[CXI_LANES] = { { 0, CXI_LANES } };
  LLVMValueRef values[CXI_LANES] = { x->sum_of[i] };
  uint32_t n = 1;
  if (x->lanes < CXI_LANES) {
    const int lanes = register_lanes(x, type);
    n = 0;
    for (int at = 0; at < CXI_LANES; at += lanes, n++) {
      chunks[n] = (cxi_chunk){ at, lanes };
      values[n] = cxi_load(x->e, type, lane_place(x, i, type, at), lanes);
    }
  }
  return cxi_reduce_chunks(x->e, prim, type, type, CXI_LANES, n, chunks,
                           values);
}

static void close_reductions(const range *x) {
  for (uint32_t i = 0; i < x->u->n_ops; i++) {
    const cxi_op *op = &x->u->ops[i];
    if (!reduces_now(x, i)) continue;
    LLVMValueRef sum = join_lanes(x, i, reduced_type(x, op));
    if (cxi_is_half(op->type))
      sum = cxi_half_widen(x->e, op->type,
                           cxi_half_narrow(x->e, op->type, sum, 1), 1);
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

static void forget(LLVMValueRef *values, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) values[k] = NULL;
}

/* What is made before a loop is made anew before the next. */
static void enter_loop(range *x, LLVMBasicBlockRef from) {
  LLVMPositionBuilderBefore(x->before, LLVMGetBasicBlockTerminator(from));
  forget(x->of_elements, x->u->n_operands);
  forget(x->wide, x->u->n_operands);
  forget(x->wide_values, x->u->n_ops);
  forget(x->rows_at, x->u->n_operands + x->u->n_results);
  forget(x->crossing_at, x->u->n_ops);
}

static void emit_columns(range *x, LLVMValueRef first, LLVMValueRef end,
                         int lanes, bool masks) {
  cxi_codegen *e = x->e;
  const LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
  cxi_for loop = cxi_for_range(e, first, end, lanes);
  enter_loop(x, from);
  x->column = loop.i;
  x->lanes = lanes;
  x->mask = NULL;
  begin_sums(x, from);
  if (masks) {
    const LLVMValueRef rest = LLVMBuildTrunc(
        e->b, LLVMBuildSub(e->b, end, x->column, ""), e->i32, "");
    x->mask = LLVMBuildICmp(e->b, LLVMIntULT,
                            count_from(x, LLVMConstNull(e->i32), lanes),
                            cxi_splat(e, rest, lanes), "");
  }
  for_operands(x, load_elements, true);
  emit_ops(x, false);
  const LLVMBasicBlockRef last = LLVMGetInsertBlock(e->b);
  cxi_for_close(e, &loop);
  end_sums(x, from, last);
}

static void emit_loop(range *x, LLVMValueRef column, LLVMValueRef column_end,
                      int lanes) {
  cxi_codegen *e = x->e;
  if (masks_lanes(x)) {
    emit_columns(x, column, column_end, lanes, true);
    return;
  }
  const LLVMValueRef all = LLVMBuildSub(e->b, column_end, column, "");
  const LLVMValueRef rest = LLVMBuildAnd(e->b, all, cxi_int(e, lanes - 1), "");
  const LLVMValueRef full = LLVMBuildSub(e->b, column_end, rest, "");
  emit_columns(x, column, full, lanes, false);
  keep_sums(x);
  emit_columns(x, full, column_end, 1, false);
}

static bool has_elements(const range *x) {
  for (uint32_t i = 0; i < x->u->n_ops; i++)
    if (x->stages[i] == x->stage &&
        (x->u->ops[i].reduces || !on_rows(x->u, &x->u->ops[i])))
      return true;
  return false;
}

static void emit_row(range *x, LLVMValueRef column, LLVMValueRef column_end) {
  x->row_first = LLVMBuildMul(x->e->b, x->row, x->n, "");
  forget(x->of_row, x->u->n_operands);
  for_operands(x, load_row, false);
  for (x->stage = 0; x->stage < x->n_stages; x->stage++) {
    emit_ops(x, true);
    if (!has_elements(x)) continue;
    const int lanes = find_lanes(x);
    open_reductions(x, lanes);
    emit_loop(x, column, column_end, lanes);
    close_reductions(x);
  }
}

static void emit_rows(range *x) {
  cxi_codegen *e = x->e;
  const uint32_t n = x->u->n_operands + x->u->n_results;
  x->n_stages = cxi_unit_stages(x->u, x->stages, x->crossing, NULL);
  for (uint32_t i = 0; i < n; i++)
    x->pointers[i] = LLVMBuildLoad2(
        e->b, e->ptr, cxi_after(e, x->at, (int64_t)sizeof(char *) * i), "");
  for_operands(x, load_once, false);
  cxi_for loop = cxi_for_range(e, LLVMGetParam(e->function, 2),
                               LLVMGetParam(e->function, 3), 1);
  x->row = loop.i;
  emit_row(x, LLVMGetParam(e->function, 4), LLVMGetParam(e->function, 5));
  cxi_for_close(e, &loop);
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
              .sums = cxi_values(e, unit->n_ops),
              .sum_of = cxi_values(e, unit->n_ops),
              .before = LLVMCreateBuilderInContext(e->c),
              .wide = cxi_values(e, unit->n_operands),
              .rows_at = cxi_values(e, n),
              .wide_values = cxi_values(e, unit->n_ops),
              .crossing_at = cxi_values(e, unit->n_ops),
              .stages =
                  cxi_scratch((unit->n_ops + (size_t)1) * sizeof(uint32_t)),
              .crossing =
                  cxi_scratch((unit->n_ops + (size_t)1) * sizeof(uint32_t)),
              .room = LLVMGetParam(e->function, 6) };
  cxi_unit_extents(unit, &x.rows, &x.columns);
  e->short_of_memory |= !x.stages || !x.crossing;
  if (!e->short_of_memory) emit_rows(&x);
  LLVMDisposeBuilder(x.before);
  cxi_note(e, unit, "pass");
}
