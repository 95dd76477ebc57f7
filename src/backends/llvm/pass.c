/* pass.c - fused units: elementwise equations and reductions of rows.
 *
 * A unit works on rows x n elements (schedule.h). Two ways lead through them:
 *   whole rows - the values of a row are held as chunks, equation by equation;
 *                needed for reductions and for kernels that are called;
 *   chunks     - a loop takes a chunk through all equations.
 * Where there are few elements everything is written out, and a place is a
 * number; else it is a variable, and operands must repeat along rows or
 * columns or not at all. */
#include "backends/llvm/emit.h"
#include "base/dtype.h"

enum { MAX_CHUNKS = CXI_LONG_ROW };

/* Elements at, ... at + lanes - 1 of row `row`; numbers unless variables. */
typedef struct spot {
  int64_t row, at;
  LLVMValueRef row_variable, at_variable; /* added to the numbers, or NULL */
  int lanes;
} spot;

typedef struct pass {
  cxi_codegen *e;
  cxi_level *l;
  const cxi_unit *u;
  int64_t rows, n;
  bool one_level;   /* no columns */
  bool whole, many; /* whole rows; rows are a loop */
  int lanes;        /* of a full chunk */
  uint32_t n_chunks;
  cxi_chunk chunks[MAX_CHUNKS];
  LLVMValueRef **values; /* by equation and chunk */
} pass;

/* -- what a unit is -------------------------------------------------------- */

/* The kernel of tier 0 for an equation that has no row here. */
static cxi_cpu_kernel kernel_of(const cxi_codegen *e, const cxi_unit *u,
                                const cxi_op *op, bool *wide) {
  const cxi_operation o = cxi_operation_of(u, op);
  return cxi_cpu_find_kernel(e->host->kernels, o.prim, o.n_in, o.types, o.type,
                             wide);
}

/* Does tier 0's kernel have to be called for it? */
static bool calls_kernel(const cxi_codegen *e, const cxi_unit *u,
                         const cxi_op *op) {
  const cxi_operation o = cxi_operation_of(u, op);
  return !op->reduces && !cxi_generates(op) && !cxi_operation_takes(e, &o);
}

static bool takes_op(const cxi_codegen *e, const cxi_unit *u,
                     const cxi_op *op) {
  bool wide;
  if (op->reduces)
    return cxi_reduce_takes(op->row->prim, cxi_source_type(u, op, 0), op->type,
                            u->n);
  if (op->row->prim == CXI_PRIM_iota) return !cxi_is_half(op->type);
  if (cxi_generates(op)) return op->row->prim == CXI_PRIM_random_bits;
  return !calls_kernel(e, u, op) || kernel_of(e, u, op, &wide) != NULL;
}

/* Can the operand be read at a place that is a variable? */
static bool reads_anywhere(const pass *p, const cxi_operand *o, bool per_row) {
  const cxi_pattern at = cxi_pattern_of(&o->type.shape, o->strides);
  return at.n == 0 ||
         (per_row ? cxi_pattern_cover(&at, p->rows, 1) == CXI_COVER_FULL
                  : cxi_pattern_cover(&at, p->rows, p->n) != CXI_COVER_OTHER);
}

static bool reads_rows(const pass *p, const cxi_op *op) {
  return op->per_row && !op->reduces && !p->one_level;
}

static bool find_way(const cxi_codegen *e, const cxi_unit *u, pass *p) {
  p->one_level = u->n == 0;
  cxi_unit_extents(u, &p->rows, &p->n);
  if (p->rows * p->n > CXI_LARGE) return false;
  size_t widest = 1;
  for (uint32_t i = 0; i < u->n_ops; i++) {
    const cxi_op *op = &u->ops[i];
    if (!takes_op(e, u, op)) return false;
    p->whole |= op->reduces || calls_kernel(e, u, op);
    for (uint32_t k = 0; k <= op->n_in; k++) {
      const cx_dtype type = k ? cxi_source_type(u, op, k - 1) : op->type;
      const size_t bytes = cxi_is_half(type) ? 4 : cxi_dtype_bytes(type);
      if (bytes > widest) widest = bytes;
    }
  }
  p->many = p->rows > 1 && p->rows * p->n > CXI_UNROLLED;
  p->whole |= p->n <= CXI_UNROLLED;
  p->lanes = p->n <= CXI_SMALL ? 1 : (int)(e->vector_bytes / (int64_t)widest);
  if (p->whole && p->n > CXI_LONG_ROW) return false;
  const bool variable = p->many || !p->whole;
  for (uint32_t i = 0; variable && i < u->n_ops; i++)
    for (uint32_t k = 0; k < u->ops[i].n_in; k++) {
      const cxi_source *s = &u->sources[u->ops[i].in + k];
      if (!s->fused && !cxi_generates(&u->ops[i]) &&
          !reads_anywhere(p, &u->operands[s->index], reads_rows(p, &u->ops[i])))
        return false;
    }
  return true;
}

static bool takes(const cxi_codegen *e, const cxi_unit *u) {
  pass p = { 0 };
  return u->kind == CXI_UNIT_FUSED && find_way(e, u, &p);
}

/* Chunks of elements first .. n - 1, the last ones of fewer lanes. */
static void find_chunks(pass *p, int64_t first, int64_t n) {
  p->n_chunks = 0;
  for (int64_t at = first; at < n;) {
    int lanes = p->lanes;
    while (lanes > n - at) lanes /= 2;
    p->chunks[p->n_chunks++] = (cxi_chunk){ at, lanes };
    at += lanes;
  }
}

/* -- operands -------------------------------------------------------------- */

static LLVMValueRef sum_of(cxi_codegen *e, int64_t x, LLVMValueRef variable) {
  return variable ? LLVMBuildAdd(e->b, cxi_int(e, x), variable, "")
                  : cxi_int(e, x);
}

/* The number of the element, or of the row, at a spot. */
static LLVMValueRef index_at(const pass *p, const spot *s, bool per_row) {
  cxi_codegen *e = p->e;
  const LLVMValueRef row = sum_of(e, s->row, s->row_variable);
  if (per_row) return row;
  return LLVMBuildAdd(e->b, LLVMBuildMul(e->b, row, cxi_int(e, p->n), ""),
                      sum_of(e, s->at, s->at_variable), "");
}

/* Where everything is a number: each lane has an offset. */
static LLVMValueRef load_lanes(const pass *p, const cxi_operand *o,
                               LLVMValueRef at, const cxi_pattern *pattern,
                               int64_t first, int lanes) {
  cxi_codegen *e = p->e;
  const cx_dtype type = o->type.type;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(type);
  const int64_t start = cxi_pattern_offset(pattern, first);
  bool dense = true, same = true;
  for (int i = 1; i < lanes; i++) {
    const int64_t offset = cxi_pattern_offset(pattern, first + i);
    dense &= offset == start + i;
    same &= offset == start;
  }
  const LLVMValueRef from = cxi_after(e, at, start * bytes);
  if (dense) return cxi_load(e, type, from, lanes);
  if (same) return cxi_splat(e, cxi_load(e, type, from, 1), lanes);
  LLVMValueRef x = LLVMGetPoison(cxi_value_type(e, type, lanes));
  for (int i = 0; i < lanes; i++)
    x = cxi_with_lane(
        e, x,
        cxi_load(
            e, type,
            cxi_after(e, at, cxi_pattern_offset(pattern, first + i) * bytes),
            1),
        i);
  return x;
}

static LLVMValueRef load_operand(const pass *p, const cxi_operand *o,
                                 const spot *s, bool per_row) {
  cxi_codegen *e = p->e;
  const LLVMValueRef at = cxi_operand_pointer(e, p->l, o);
  const cxi_pattern pattern = cxi_pattern_of(&o->type.shape, o->strides);
  const int lanes = per_row ? 1 : s->lanes;
  const cx_dtype type = o->type.type;
  if (!s->row_variable && !s->at_variable)
    return load_lanes(p, o, at, &pattern,
                      per_row ? s->row : s->row * p->n + s->at, lanes);
  const cxi_cover cover = per_row ? cxi_pattern_cover(&pattern, p->rows, 1)
                                  : cxi_pattern_cover(&pattern, p->rows, p->n);
  switch (cover) {
  case CXI_COVER_SCALAR:
    return cxi_splat(e, cxi_load(e, type, at, 1), lanes);
  case CXI_COVER_ROW:
    return cxi_load(e, type,
                    cxi_element(e, type, at, sum_of(e, s->at, s->at_variable)),
                    lanes);
  case CXI_COVER_COLUMN:
    return cxi_splat(
        e, cxi_load(e, type, cxi_element(e, type, at, index_at(p, s, true)), 1),
        lanes);
  default:
    return cxi_load(e, type, cxi_element(e, type, at, index_at(p, s, per_row)),
                    lanes);
  }
}

/* Operand k of an equation at a spot, chunk c of the values at hand. */
static LLVMValueRef value_of(const pass *p, const cxi_op *op, uint32_t k,
                             const spot *s, uint32_t c) {
  const cxi_source *source = &p->u->sources[op->in + k];
  const bool rows = reads_rows(p, op);
  if (!source->fused)
    return load_operand(p, &p->u->operands[source->index], s, rows);
  const bool from_rows = p->u->ops[source->index].per_row && !p->one_level;
  if (!from_rows) return p->values[source->index][c];
  return cxi_splat(p->e, p->values[source->index][0], rows ? 1 : s->lanes);
}

/* -- equations ------------------------------------------------------------- */

static LLVMValueRef numbers_from(cxi_codegen *e, LLVMValueRef first,
                                 int lanes) {
  if (lanes == 1) return first;
  LLVMValueRef steps[64];
  for (int i = 0; i < lanes; i++) steps[i] = cxi_int(e, i);
  return LLVMBuildAdd(e->b, cxi_splat(e, first, lanes),
                      LLVMConstVector(steps, (unsigned)lanes), "");
}

static LLVMValueRef emit_iota(const pass *p, const cxi_op *op,
                              LLVMValueRef index, int lanes) {
  cxi_codegen *e = p->e;
  const cxi_iota_params *params = op->params;
  int64_t inner = 1;
  for (int i = (int)params->axis + 1; i < params->shape.n; i++)
    inner *= params->shape.d[i];
  const LLVMTypeRef wide = cxi_lanes_of(e->i64, lanes);
  LLVMValueRef x =
      LLVMBuildUDiv(e->b, index, cxi_integer_of(e, wide, (uint64_t)inner), "");
  x = LLVMBuildURem(
      e->b, x, cxi_integer_of(e, wide, (uint64_t)params->shape.d[params->axis]),
      "");
  const LLVMTypeRef to = cxi_value_type(e, op->type, lanes);
  if (cxi_is_real(op->type)) return LLVMBuildSIToFP(e->b, x, to, "");
  return LLVMBuildIntCast2(e->b, x, to, false, "");
}

static LLVMValueRef emit_bits(const pass *p, const cxi_op *op,
                              LLVMValueRef index, int lanes) {
  cxi_codegen *e = p->e;
  const LLVMTypeRef word = cxi_lanes_of(e->i32, lanes);
  const LLVMTypeRef wide = cxi_lanes_of(e->i64, lanes);
  const LLVMValueRef key = cxi_operand_pointer(
      e, p->l, &p->u->operands[p->u->sources[op->in].index]);
  LLVMValueRef k[2];
  for (int i = 0; i < 2; i++)
    k[i] =
        cxi_splat(e, cxi_load(e, CX_U32, cxi_after(e, key, 4 * i), 1), lanes);
  LLVMValueRef b = LLVMBuildTrunc(e->b, index, word, "");
  LLVMValueRef a = LLVMBuildTrunc(
      e->b, LLVMBuildLShr(e->b, index, cxi_integer_of(e, wide, 32), ""), word,
      "");
  cxi_hash_words(e, k[0], k[1], &a, &b);
  if (op->type != CX_U64)
    return LLVMBuildIntCast2(e->b, LLVMBuildXor(e->b, a, b, ""),
                             cxi_value_type(e, op->type, lanes), false, "");
  return LLVMBuildOr(e->b,
                     LLVMBuildShl(e->b, LLVMBuildZExt(e->b, a, wide, ""),
                                  cxi_integer_of(e, wide, 32), ""),
                     LLVMBuildZExt(e->b, b, wide, ""), "");
}

/* The equation's value for one chunk, or for the row. */
static LLVMValueRef emit_op(const pass *p, const cxi_op *op, const spot *s,
                            uint32_t c) {
  const bool per_row = op->per_row && !p->one_level;
  const int lanes = per_row ? 1 : s->lanes;
  if (cxi_generates(op)) {
    const LLVMValueRef index =
        numbers_from(p->e, index_at(p, s, per_row), lanes);
    return op->row->prim == CXI_PRIM_iota ? emit_iota(p, op, index, lanes)
                                          : emit_bits(p, op, index, lanes);
  }
  cxi_operation o = cxi_operation_of(p->u, op);
  o.lanes = lanes;
  for (uint32_t k = 0; k < op->n_in; k++) o.in[k] = value_of(p, op, k, s, c);
  return cxi_operation_emit(p->e, &o);
}

static void store_result(const pass *p, const cxi_op *op, const spot *s,
                         LLVMValueRef x) {
  if (op->result < 0) return;
  const bool per_row = op->per_row && !p->one_level;
  const cxi_operand *o = &p->u->results[op->result];
  cxi_codegen *e = p->e;
  const LLVMValueRef at = cxi_operand_pointer(e, p->l, o);
  cxi_store(e, op->type, cxi_element(e, op->type, at, index_at(p, s, per_row)),
            x, per_row ? 1 : s->lanes);
}

/* -- kernels of tier 0 ----------------------------------------------------- */

/* The dtype in which a kernel takes and gives elements. */
static cx_dtype kernel_type(cx_dtype type, bool wide) {
  return wide && cxi_is_half(type) ? CX_F32 : type;
}

/* A row of any dtype in memory. All calls share the rooms, so that the stack
 * does not grow with the number of equations. */
static LLVMValueRef kernel_room(cxi_codegen *e, uint32_t i) {
  if (!e->rooms[i]) e->rooms[i] = cxi_local(e, CX_U64, CXI_LONG_ROW);
  return e->rooms[i];
}

static cxi_import import_of(const cxi_unit *u, const cxi_op *op) {
  cxi_import import = { .kind = CXI_IMPORT_KERNEL,
                        .a = op->row->prim,
                        .b = op->n_in,
                        .types = { op->type } };
  for (uint32_t k = 0; k < op->n_in; k++)
    import.types[1 + k] = cxi_source_type(u, op, k);
  return import;
}

/* One call for all chunks: their operands to memory, the result back. */
static void call_kernel(const pass *p, const cxi_op *op, const spot *row) {
  cxi_codegen *e = p->e;
  bool wide;
  kernel_of(e, p->u, op, &wide);
  const bool per_row = op->per_row && !p->one_level;
  const uint32_t n_chunks = per_row ? 1 : p->n_chunks;
  const int64_t n = per_row ? 1 : p->n;
  const cx_dtype type = kernel_type(op->type, wide);
  LLVMValueRef in[] = { cxi_int(e, n),
                        kernel_room(e, 0),
                        LLVMConstNull(e->ptr),
                        LLVMConstNull(e->ptr),
                        LLVMConstNull(e->ptr),
                        cxi_int(e, cxi_cpu_kernel_number(op->row->prim,
                                                         op->params)) };
  for (uint32_t k = 0; k < op->n_in; k++) {
    const cx_dtype from = kernel_type(cxi_source_type(p->u, op, k), wide);
    in[2 + k] = kernel_room(e, 1 + k);
    for (uint32_t c = 0; c < n_chunks; c++) {
      spot s = *row;
      s.at = p->chunks[c].at;
      s.lanes = per_row ? 1 : p->chunks[c].lanes;
      cxi_store(e, from,
                cxi_after(e, in[2 + k], s.at * (int64_t)cxi_dtype_bytes(from)),
                value_of(p, op, k, &s, c), s.lanes);
    }
  }
  LLVMTypeRef types[] = { e->i64, e->ptr, e->ptr, e->ptr, e->ptr, e->i64 };
  const LLVMTypeRef signature =
      LLVMFunctionType(LLVMVoidTypeInContext(e->c), types, 6, false);
  LLVMBuildCall2(e->b, signature, cxi_table_entry(e, import_of(p->u, op)), in,
                 6, "");
  const uint32_t i = (uint32_t)(op - p->u->ops);
  for (uint32_t c = 0; c < n_chunks; c++) {
    const int lanes = per_row ? 1 : p->chunks[c].lanes;
    const LLVMValueRef at =
        cxi_after(e, in[1], p->chunks[c].at * (int64_t)cxi_dtype_bytes(type));
    LLVMValueRef x = cxi_load(e, type, at, lanes);
    if (type != op->type) /* it is still to be rounded */
      x = cxi_half_widen(e, op->type, cxi_half_narrow(e, op->type, x, lanes),
                         lanes);
    p->values[i][c] = x;
  }
}

/* -- the two ways ---------------------------------------------------------- */

static void emit_row(pass *p, const spot *row) {
  const cxi_unit *u = p->u;
  for (uint32_t i = 0; i < u->n_ops; i++) {
    const cxi_op *op = &u->ops[i];
    const bool per_row = op->per_row && !p->one_level;
    const bool kernel = calls_kernel(p->e, u, op);
    if (kernel) call_kernel(p, op, row);
    if (op->reduces) {
      LLVMValueRef in[MAX_CHUNKS];
      for (uint32_t c = 0; c < p->n_chunks; c++) {
        spot s = *row;
        s.at = p->chunks[c].at;
        s.lanes = p->chunks[c].lanes;
        in[c] = value_of(p, op, 0, &s, c);
      }
      p->values[i][0] =
          cxi_reduce_chunks(p->e, op->row->prim, cxi_source_type(u, op, 0),
                            op->type, p->n, p->n_chunks, p->chunks, in);
      store_result(p, op, row, p->values[i][0]);
      continue;
    }
    for (uint32_t c = 0; c < (per_row ? 1 : p->n_chunks); c++) {
      spot s = *row;
      s.at = p->chunks[c].at;
      s.lanes = p->chunks[c].lanes;
      if (!kernel) p->values[i][c] = emit_op(p, op, &s, c);
      store_result(p, op, &s, p->values[i][c]);
    }
  }
}

static void emit_chunk(pass *p, const spot *s) {
  for (uint32_t i = 0; i < p->u->n_ops; i++) {
    p->values[i][0] = emit_op(p, &p->u->ops[i], s, 0);
    store_result(p, &p->u->ops[i], s, p->values[i][0]);
  }
}

/* The full chunks of a row in a loop, the rest written out. */
static void emit_chunks(pass *p, const spot *row) {
  const int64_t full = p->n - p->n % p->lanes;
  cxi_for loop = cxi_for_open(p->e, full, p->lanes);
  spot s = *row;
  s.at_variable = loop.i;
  s.lanes = p->lanes;
  emit_chunk(p, &s);
  cxi_for_close(p->e, &loop);
  find_chunks(p, full, p->n);
  for (uint32_t c = 0; c < p->n_chunks; c++) {
    s = *row;
    s.at = p->chunks[c].at;
    s.lanes = p->chunks[c].lanes;
    /* a number, but read as a variable where the row is one */
    emit_chunk(p, &s);
  }
}

static bool make_values(pass *p) {
  const uint32_t n = p->u->n_ops;
  p->values = cxi_scratch((n + (size_t)1) * sizeof *p->values);
  for (uint32_t i = 0; p->values && i < n; i++) {
    p->values[i] =
        cxi_scratch((p->n_chunks + (size_t)1) * sizeof(LLVMValueRef));
    if (!p->values[i]) return false;
  }
  return p->values != NULL;
}

static void emit(cxi_codegen *e, cxi_level *l, const cxi_unit *u) {
  const cxi_mark mark = cxi_scratch_mark();
  pass p = { .e = e, .l = l, .u = u };
  find_way(e, u, &p);
  if (p.whole) find_chunks(&p, 0, p.n);
  if (!make_values(&p)) {
    e->short_of_memory = true;
  } else if (p.many) {
    cxi_for loop = cxi_for_open(e, p.rows, 1);
    const spot row = { .row_variable = loop.i };
    (p.whole ? emit_row : emit_chunks)(&p, &row);
    cxi_for_close(e, &loop);
  } else {
    for (int64_t r = 0; r < p.rows; r++)
      (p.whole ? emit_row : emit_chunks)(&p, &(spot){ .row = r });
  }
  cxi_scratch_reset(mark);
}

const cxi_family cxi_family_pass = { "pass", takes, emit };
