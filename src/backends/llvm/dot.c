/* dot.c - small products of f32 and f64: each element one chain of fused
 * multiply-adds over k from 0, several chains side by side. What has more than
 * one chain (base/chain.h) is for packed kernels. */
#include "backends/llvm/emit.h"
#include "base/chain.h"
#include "base/dtype.h"

enum {
  MOST_WORK = 16384, /* multiply-adds; more is for packed kernels */
  WRITTEN_OUT = 64,  /* multiply-adds without a loop */
  MOST_CHUNKS = 128, /* of columns, each written out */
  CHAINS = 8         /* side by side */
};

/* One side's axes as patterns of offsets, in elements. */
typedef struct side {
  cxi_pattern batch, free, inner;
} side;

typedef struct product {
  side a, b;
  int64_t batch, m, n, k;
  cx_dtype type;
} product;

static cxi_pattern listed_axes(const cxi_operand *o, const cx_dims *axes) {
  cx_dims sizes = { .n = axes->n };
  int64_t strides[CX_MAX_DIMS];
  for (int i = 0; i < axes->n; i++) {
    sizes.d[i] = o->type.shape.d[axes->d[i]];
    strides[i] = o->strides[axes->d[i]];
  }
  return cxi_pattern_of(&sizes, strides);
}

static side side_of(const cxi_operand *o, const cx_dims *contract,
                    const cx_dims *batch) {
  cx_dims rest = { 0 };
  for (int i = 0; i < o->type.shape.n; i++)
    if (!cxi_dims_has(contract, i) && !cxi_dims_has(batch, i))
      rest.d[rest.n++] = i;
  return (side){ listed_axes(o, batch), listed_axes(o, &rest),
                 listed_axes(o, contract) };
}

static product product_of(const cxi_unit *u) {
  const cxi_dot_general_params *d = u->params;
  product p = { .a = side_of(&u->operands[0], &d->lhs_contract, &d->lhs_batch),
                .b = side_of(&u->operands[1], &d->rhs_contract, &d->rhs_batch),
                .type = u->results[0].type.type };
  p.batch = cxi_pattern_count(&p.a.batch);
  p.m = cxi_pattern_count(&p.a.free);
  p.n = cxi_pattern_count(&p.b.free);
  p.k = cxi_pattern_count(&p.a.inner);
  return p;
}

static int64_t work(const product *p) {
  return p->batch * p->m * p->n * p->k;
}

static int64_t step_of(const cxi_pattern *pattern) {
  return pattern->n ? pattern->strides[0] : 0;
}

/* In a loop, k goes in steps, and the columns lie side by side. */
static bool loops(const product *p) {
  return p->batch == 1 && p->a.inner.n <= 1 && p->b.inner.n <= 1 &&
         p->a.free.n <= 1 && p->b.free.n <= 1;
}

/* Columns in a register: several where they lie side by side. */
static int widest_of(const cxi_codegen *e, const product *p) {
  const bool dense = p->n == 1 || step_of(&p->b.free) == 1;
  return dense ? (int)(e->vector_bytes / (int64_t)cxi_dtype_bytes(p->type)) : 1;
}

static bool takes(const cxi_codegen *e, const cxi_unit *u) {
  if (u->kind != CXI_UNIT_ONE || u->row->prim != CXI_PRIM_dot_general ||
      !cxi_is_modern(e))
    return false;
  const cx_dtype type = u->results[0].type.type;
  if ((type != CX_F32 && type != CX_F64) || u->operands[0].type.type != type ||
      u->operands[1].type.type != type)
    return false;
  for (uint32_t i = 0; i < u->n_operands; i++)
    if (cxi_count(&u->operands[i]) == 0) return false;
  const product p = product_of(u);
  return work(&p) <= WRITTEN_OUT ||
         (work(&p) <= MOST_WORK && p.k <= CXI_CHAIN && loops(&p) &&
          p.n / widest_of(e, &p) <= MOST_CHUNKS);
}

static LLVMValueRef fused(cxi_codegen *e, LLVMValueRef a, LLVMValueRef b,
                          LLVMValueRef c) {
  LLVMValueRef in[] = { a, b, c };
  return cxi_intrinsic(e, "llvm.fma", LLVMTypeOf(a), in, 3);
}

typedef struct emission {
  cxi_codegen *e;
  const product *p;
  LLVMValueRef a, b, addend, out; /* pointers; addend may be NULL */
  int64_t bytes;
} emission;

static LLVMValueRef load_at(const emission *x, LLVMValueRef at, int64_t offset,
                            int lanes) {
  return cxi_load(x->e, x->p->type, cxi_after(x->e, at, offset * x->bytes),
                  lanes);
}

/* The sum goes to element i, after what the addend has there. */
static void store_at(const emission *x, LLVMValueRef i, LLVMValueRef sum,
                     int lanes) {
  cxi_codegen *e = x->e;
  const cx_dtype type = x->p->type;
  if (x->addend) {
    const LLVMValueRef before =
        cxi_load(e, type, cxi_element(e, type, x->addend, i), lanes);
    sum = LLVMBuildFAdd(e->b, before, sum, "");
  }
  cxi_store(e, type, cxi_element(e, type, x->out, i), sum, lanes);
}

/* -- few: every element written out ---------------------------------------- */

static void emit_scalars(const emission *x) {
  const product *p = x->p;
  cxi_codegen *e = x->e;
  const LLVMTypeRef type = cxi_value_type(e, p->type, 1);
  LLVMValueRef sums[WRITTEN_OUT];
  int64_t at = 0;
  for (int64_t g = 0; g < p->batch; g++)
    for (int64_t i = 0; i < p->m; i++)
      for (int64_t j = 0; j < p->n; j++) {
        LLVMValueRef sum = LLVMConstNull(type);
        for (int64_t k = 0; k < p->k; k++)
          sum = fused(e,
                      load_at(x, x->a,
                              cxi_pattern_offset(&p->a.batch, g) +
                                  cxi_pattern_offset(&p->a.free, i) +
                                  cxi_pattern_offset(&p->a.inner, k),
                              1),
                      load_at(x, x->b,
                              cxi_pattern_offset(&p->b.batch, g) +
                                  cxi_pattern_offset(&p->b.free, j) +
                                  cxi_pattern_offset(&p->b.inner, k),
                              1),
                      sum);
        sums[at++] = sum;
      }
  for (int64_t i = 0; i < at; i++) store_at(x, cxi_int(e, i), sums[i], 1);
}

/* -- more: rows in a loop, chunks of columns side by side, k in a loop ----- */

static LLVMValueRef times(cxi_codegen *e, LLVMValueRef i, int64_t by) {
  return LLVMBuildMul(e->b, i, cxi_int(e, by), "");
}

/* Row i, columns of the chunks: the chains side by side. */
static void emit_chains(const emission *x, LLVMValueRef i, int n_chunks,
                        const cxi_chunk *chunks) {
  const product *p = x->p;
  cxi_codegen *e = x->e;
  LLVMValueRef sum[CHAINS], room[CHAINS];
  for (int c = 0; c < n_chunks; c++) {
    const LLVMTypeRef type = cxi_value_type(e, p->type, chunks[c].lanes);
    room[c] = cxi_local_of(e, type);
    LLVMBuildStore(e->b, LLVMConstNull(type), room[c]);
  }
  const cxi_for loop = cxi_for_open(e, p->k, 1);
  const LLVMValueRef a =
      cxi_element(e, p->type, x->a,
                  LLVMBuildAdd(e->b, times(e, i, step_of(&p->a.free)),
                               times(e, loop.i, step_of(&p->a.inner)), ""));
  const LLVMValueRef left = cxi_load(e, p->type, a, 1);
  const LLVMValueRef b =
      cxi_element(e, p->type, x->b, times(e, loop.i, step_of(&p->b.inner)));
  for (int c = 0; c < n_chunks; c++) {
    const int lanes = chunks[c].lanes;
    const LLVMTypeRef type = cxi_value_type(e, p->type, lanes);
    sum[c] = LLVMBuildLoad2(e->b, type, room[c], "");
    sum[c] =
        fused(e, cxi_splat(e, left, lanes),
              load_at(x, b, chunks[c].at * step_of(&p->b.free), lanes), sum[c]);
    LLVMBuildStore(e->b, sum[c], room[c]);
  }
  cxi_for_close(e, &loop);
  for (int c = 0; c < n_chunks; c++) {
    const LLVMValueRef at =
        LLVMBuildAdd(e->b, times(e, i, p->n), cxi_int(e, chunks[c].at), "");
    const LLVMTypeRef type = cxi_value_type(e, p->type, chunks[c].lanes);
    store_at(x, at, LLVMBuildLoad2(e->b, type, room[c], ""), chunks[c].lanes);
  }
}

static void emit_loops(const emission *x) {
  const product *p = x->p;
  cxi_codegen *e = x->e;
  const int widest = widest_of(e, p);
  const cxi_for rows = cxi_for_open(e, p->m, 1);
  cxi_chunk chunks[CHAINS];
  int n_chunks = 0;
  for (int64_t at = 0; at < p->n;) {
    int lanes = widest;
    while (lanes > p->n - at) lanes /= 2;
    chunks[n_chunks++] = (cxi_chunk){ at, lanes };
    at += lanes;
    if (n_chunks < CHAINS && at < p->n) continue;
    emit_chains(x, rows.i, n_chunks, chunks);
    n_chunks = 0;
  }
  cxi_for_close(e, &rows);
}

static void emit(cxi_codegen *e, cxi_level *l, const cxi_unit *u) {
  const product p = product_of(u);
  const emission x = { .e = e,
                       .p = &p,
                       .a = cxi_operand_pointer(e, l, &u->operands[0]),
                       .b = cxi_operand_pointer(e, l, &u->operands[1]),
                       .addend = u->n_operands > 2 ? cxi_operand_pointer(
                                                         e, l, &u->operands[2])
                                                   : NULL,
                       .out = cxi_operand_pointer(e, l, &u->results[0]),
                       .bytes = (int64_t)cxi_dtype_bytes(p.type) };
  (work(&p) <= WRITTEN_OUT ? emit_scalars : emit_loops)(&x);
}

const cxi_family cxi_family_dot = { "product", takes, emit };
