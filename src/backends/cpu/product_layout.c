/* product_layout.c - how a product is cut for the CPU. */
#include "backends/cpu/product_layout.h"

#include "base/chain.h"
#include "base/size.h"

enum { ROW_BLOCK = 128, COLUMN_BLOCK = 480, K_BLOCK = 512 };
static_assert(K_BLOCK % CXI_CHAIN == 0, "blocks are whole chains");

/* The axes listed, as a pattern of their own. */
static cxi_pattern group(const cxi_operand *o, const cx_dims *axes) {
  cx_dims sizes = { axes->n, { 0 } };
  int64_t strides[CX_MAX_DIMS];
  for (int i = 0; i < axes->n; i++) {
    sizes.d[i] = o->type.shape.d[axes->d[i]];
    strides[i] = o->strides[axes->d[i]];
  }
  return cxi_pattern_of(&sizes, strides);
}

static cx_dims free_axes(const cxi_operand *o, const cx_dims *batch,
                         const cx_dims *contract) {
  cx_dims axes = { 0 };
  for (int i = 0; i < o->type.shape.n; i++)
    if (!cxi_dims_has(batch, i) && !cxi_dims_has(contract, i))
      axes.d[axes.n++] = i;
  return axes;
}

static cxi_pattern joined(const cxi_operand *o, const cx_dims *a,
                          const cx_dims *b, const cx_dims *c) {
  cx_dims axes = *a;
  for (int i = 0; i < b->n; i++) axes.d[axes.n++] = b->d[i];
  for (int i = 0; i < c->n; i++) axes.d[axes.n++] = c->d[i];
  return group(o, &axes);
}

static cxi_product_side side_of(const cxi_operand *o, const cx_dims *batch,
                                const cx_dims *contract, cx_dtype number) {
  const cx_dims axes = free_axes(o, batch, contract);
  const cxi_pattern free = group(o, &axes), k = group(o, contract);
  cxi_product_side s = { .at = o->at,
                         .type = o->type.type,
                         .batch = group(o, batch),
                         .source = joined(o, batch, &axes, contract) };
  const int64_t n_k = cxi_pattern_count(&k);
  s.count = cxi_pattern_count(&free);
  s.copied = free.n > 1 || k.n > 1 ||
             cxi_dtype_bytes(s.type) < cxi_dtype_bytes(number);
  s.free_stride = s.copied ? n_k : free.n ? free.strides[0] : 0;
  s.k_stride = s.copied ? 1 : k.n ? k.strides[0] : 0;
  if (s.copied) {
    const int64_t n = cxi_pattern_count(&s.batch), size = s.count * n_k;
    s.batch = n > 1 ? (cxi_pattern){ 1, { n }, { size } } : (cxi_pattern){ 0 };
  }
  return s;
}

/* (batch, count, k) numbers of the workspace. */
static size_t take(cxi_product_cut *p, int64_t count, int64_t k) {
  return cxi_cpu_take(&p->bytes, cxi_size_mul(cxi_size_mul(p->batch, count), k),
                      cxi_dtype_bytes(p->number));
}

/* Rows by rows, one by one, and a matrix by a vector along its rows: a vector
 * holds a sum of each of several rows. */
static bool is_dots(const cxi_product_cut *p, const cxi_product_side *a,
                    const cxi_product_side *b) {
  return (a->count == 1 && b->count == 1) ||
         ((a->count == 1 || b->count == 1) &&
          (p->k == 1 || (a->k_stride == 1 && b->k_stride == 1)));
}

/* Which side is read column-wise, and whether it must be packed for that. */
static void choose_sides(cxi_product_cut *p, cxi_product_side a,
                         cxi_product_side b) {
  const cxi_product_kernels *kernels = p->product;
  const bool b_direct = b.free_stride == 1, a_direct = a.free_stride == 1;
  const int64_t few = 2 * kernels->mr;
  if (b_direct && (a.count <= few || p->k * b.count <= 4096))
    p->transposed = false;
  else if (a_direct && b.count <= few)
    p->transposed = true;
  else
    p->transposed = b.count > a.count && b.k_stride == 1;
  p->dots = is_dots(p, &a, &b);
  if (p->dots) p->transposed = false;
  p->apart = p->dots && p->k >= 2 * CXI_CHAIN &&
             p->batch * a.count * b.count < kernels->lanes / 2;
  p->rows = p->transposed ? b : a;
  p->columns = p->transposed ? a : b;
  const bool direct = p->transposed ? a_direct : b_direct;
  p->columns.packed =
      !p->dots &&
      (!direct || !(p->rows.count <= few || p->k * p->columns.count <= 4096));
  p->columns.panel =
      cxi_least(kernels->nr, cxi_divide_up(p->columns.count, kernels->lanes) *
                                 kernels->lanes);
  p->rows.packed = !p->dots && p->rows.k_stride != 1 &&
                   p->rows.count > kernels->mr &&
                   p->columns.count > kernels->nr && p->k > 8;
  p->rows.panel = kernels->mr;
  const int64_t n = p->transposed ? p->rows.count : p->columns.count;
  p->c_row = p->transposed ? 1 : n;
  p->c_column = p->transposed ? n : 1;
}

static void choose_blocks(cxi_product_cut *p) {
  p->k_block = p->k <= 2 * K_BLOCK ? p->k : K_BLOCK;
  p->row_block = cxi_divide_up(ROW_BLOCK, p->product->mr) * p->product->mr;
  p->column_block =
      cxi_divide_up(COLUMN_BLOCK, p->product->nr) * p->product->nr;
  const double work =
      (double)p->k * (double)p->rows.count * (double)p->columns.count;
  p->items = 1;
  if (work < CXI_PRODUCT_TASK) {
    p->items = (int64_t)(CXI_PRODUCT_TASK / (work + 1)) + 1;
    p->row_block = p->rows.count;
    p->column_block = p->columns.count;
  }
  /* a small product still makes a few tasks */
  while (p->items == 1 && p->row_block > 4 * p->product->mr &&
         p->batch * cxi_divide_up(p->rows.count, p->row_block) *
                 cxi_divide_up(p->columns.count, p->column_block) <
             8)
    p->row_block =
        cxi_divide_up(p->row_block / 2, p->product->mr) * p->product->mr;
  p->row_blocks = cxi_divide_up(p->rows.count, p->row_block);
  p->column_blocks = cxi_divide_up(p->columns.count, p->column_block);
}

static void take_memory(cxi_product_cut *p) {
  cxi_product_side *sides[2] = { &p->rows, &p->columns };
  for (int i = 0; i < 2; i++) {
    cxi_product_side *s = sides[i];
    if (s->copied) s->dense = take(p, s->count, p->k);
    if (s->packed)
      s->panels = take(p, cxi_divide_up(s->count, s->panel) * s->panel, p->k);
  }
  p->sums_apart = p->type != p->number && p->type != CX_U32;
  if (p->sums_apart) p->sums = take(p, p->rows.count, p->columns.count);
}

/* What a product is computed in, which also its operands are read as; false:
 * there are no kernels for it. */
static bool find_number(cx_dtype operands, cx_dtype result, cx_dtype *number) {
  const size_t from = cxi_dtype_bytes(operands), to = cxi_dtype_bytes(result);
  if (cxi_dtype_is_float(result)) {
    *number = result == CX_F64 ? CX_F64 : CX_F32;
    return (operands == CX_F64) == (result == CX_F64);
  }
  *number = CX_I32; /* its low bits are those of narrower ones */
  return operands != CX_BOOL && result != CX_BOOL && from <= 4 && to <= 4;
}

bool cxi_cpu_product_layout(const cxi_unit *unit, cxi_product_cut *p) {
  const cxi_dot_general_params *d = unit->params;
  const cxi_operand *a = &unit->operands[0], *b = &unit->operands[1];
  const cx_dtype type = unit->results[0].type.type;
  *p = (cxi_product_cut){ .kernels = cxi_cpu_kernels_now(), .type = type };
  if (a->type.type != b->type.type ||
      !find_number(a->type.type, type, &p->number))
    return false;
  p->product = &p->kernels->product[p->number];
  if (!p->product->mr) return false;
  const cxi_product_side left =
      side_of(a, &d->lhs_batch, &d->lhs_contract, p->number);
  const cxi_product_side right =
      side_of(b, &d->rhs_batch, &d->rhs_contract, p->number);
  const cxi_pattern k = group(a, &d->lhs_contract),
                    batch = group(a, &d->lhs_batch);
  p->k = cxi_pattern_count(&k);
  p->batch = cxi_pattern_count(&batch);
  if (p->k == 0) return false;
  p->add = unit->n_operands == 3;
  p->result = unit->results[0].at;
  if (p->add) p->addend = unit->operands[2].at;
  p->memory = unit->workspace;
  choose_sides(p, left, right);
  choose_blocks(p);
  take_memory(p);
  return true;
}

bool cxi_cpu_product_takes(const cxi_unit *unit) {
  cxi_product_cut p;
  return cxi_cpu_product_layout(unit, &p);
}

size_t cxi_cpu_product_workspace(const cxi_unit *unit) {
  cxi_product_cut p;
  return cxi_cpu_product_layout(unit, &p) ? p.bytes : 0;
}

bool cxi_cpu_product_in_place(const cxi_unit *unit) {
  cxi_product_cut p;
  return cxi_cpu_product_layout(unit, &p) && (p.k_block == p.k || p.sums_apart);
}
