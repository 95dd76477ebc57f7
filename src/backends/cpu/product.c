/* product.c - dot_general by packed tiles.
 *
 * The operands become matrices: (batch, rows, k) and (batch, k, columns). What
 * has no such strides, or is narrower than what is computed in, is first
 * copied. The side that is read column-wise is packed in panels, unless its
 * elements lie side by side and few rows read them; then tiles of the result
 * are tasks, or several small items of the batch. If that is cheaper, the
 * transposed product is computed: the same bits. */
#include "backends/cpu/product.h"

#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"
#include "base/alloc.h"
#include "base/chain.h"
#include "base/pool.h"

enum {
  ROW_BLOCK = 128,
  COLUMN_BLOCK = 480,
  K_BLOCK = 512,
  CHUNK = 1024,
  SMALL_TASK = 1 << 16, /* multiply-adds */
  MAX_LANES = 16
};
static_assert(K_BLOCK % CXI_CHAIN == 0, "blocks are whole chains");

/* An operand as (batch, free, k). */
typedef struct side {
  cxi_ref at;
  cx_dtype type;
  bool copied;        /* to `dense` first, as (batch, free, k) */
  cxi_pattern source; /* in that order, to copy it */
  cxi_pattern batch;
  int64_t count, free_stride, k_stride;
  bool packed;
  int64_t panel;        /* free elements of a panel */
  size_t dense, panels; /* places in the workspace */
} side;

typedef struct product {
  const cxi_cpu_kernels *kernels;
  const cxi_product_kernels *product;
  cx_dtype number, type; /* computed in; of the result */
  int64_t batch, k, k_block;
  side rows, columns; /* the sides as the tiles see them */
  bool transposed;    /* rows are those of the second operand */
  bool dots;          /* by several elements of the result */
  bool apart;         /* each of them by itself */
  int64_t c_row, c_column;
  bool add;
  cxi_ref result, addend, memory;
  bool sums_apart; /* in the workspace, rounded at the end */
  size_t sums, bytes;
  int64_t row_block, column_block, row_blocks, column_blocks;
  int64_t items; /* of the batch in a task */
} product;

typedef struct running {
  const product *p;
  char *const *bases;
  char *memory;
} running;

/* -- layout ---------------------------------------------------------------- */

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

static side side_of(const cxi_operand *o, const cx_dims *batch,
                    const cx_dims *contract, cx_dtype number) {
  const cx_dims axes = free_axes(o, batch, contract);
  const cxi_pattern free = group(o, &axes), k = group(o, contract);
  side s = { .at = o->at,
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

static size_t take(product *p, int64_t count) {
  const size_t at = p->bytes;
  p->bytes += cxi_aligned((size_t)count * cxi_dtype_bytes(p->number));
  return at;
}

/* Rows by rows, one by one, and a matrix by a vector along its rows: a vector
 * holds a sum of each of several rows. */
static bool is_dots(const product *p, const side *a, const side *b) {
  return (a->count == 1 && b->count == 1) ||
         ((a->count == 1 || b->count == 1) &&
          (p->k == 1 || (a->k_stride == 1 && b->k_stride == 1)));
}

/* Which side is read column-wise, and whether it must be packed for that. */
static void choose_sides(product *p, side a, side b) {
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

static void choose_blocks(product *p) {
  p->k_block = p->k <= 2 * K_BLOCK ? p->k : K_BLOCK;
  p->row_block = cxi_divide_up(ROW_BLOCK, p->product->mr) * p->product->mr;
  p->column_block =
      cxi_divide_up(COLUMN_BLOCK, p->product->nr) * p->product->nr;
  const double work =
      (double)p->k * (double)p->rows.count * (double)p->columns.count;
  p->items = 1;
  if (work < SMALL_TASK) {
    p->items = (int64_t)(SMALL_TASK / (work + 1)) + 1;
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

static void take_memory(product *p) {
  side *sides[2] = { &p->rows, &p->columns };
  for (int i = 0; i < 2; i++) {
    side *s = sides[i];
    if (s->copied) s->dense = take(p, p->batch * s->count * p->k);
    if (s->packed)
      s->panels = take(p, p->batch * cxi_divide_up(s->count, s->panel) *
                              s->panel * p->k);
  }
  p->sums_apart = p->type != p->number && p->type != CX_U32;
  if (p->sums_apart)
    p->sums = take(p, p->batch * p->rows.count * p->columns.count);
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

/* False if there are no kernels for it. */
static bool layout(const cxi_unit *unit, product *p) {
  const cxi_dot_general_params *d = unit->params;
  const cxi_operand *a = &unit->operands[0], *b = &unit->operands[1];
  const cx_dtype type = unit->results[0].type.type;
  *p = (product){ .kernels = cxi_cpu_kernels_now(), .type = type };
  if (a->type.type != b->type.type ||
      !find_number(a->type.type, type, &p->number))
    return false;
  p->product = &p->kernels->product[p->number];
  if (!p->product->mr) return false;
  const side left = side_of(a, &d->lhs_batch, &d->lhs_contract, p->number);
  const side right = side_of(b, &d->rhs_batch, &d->rhs_contract, p->number);
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
  product p;
  return layout(unit, &p);
}

size_t cxi_cpu_product_workspace(const cxi_unit *unit) {
  product p;
  return layout(unit, &p) ? p.bytes : 0;
}

bool cxi_cpu_product_in_place(const cxi_unit *unit) {
  product p;
  return layout(unit, &p) && (p.k_block == p.k || p.sums_apart);
}

/* -- running --------------------------------------------------------------- */

static size_t width(const product *p) {
  return cxi_dtype_bytes(p->number);
}

/* The first element of batch item i of a side, where the tiles read it. */
static char *side_at(const running *r, const side *s, int64_t i) {
  char *base = s->copied ? r->memory + s->dense : cxi_at(r->bases, s->at);
  return base + cxi_pattern_offset(&s->batch, i) * (int64_t)width(r->p);
}

/* From a dtype to what is computed in. */
static cxi_cpu_kernel widening(const product *p, cx_dtype type) {
  return cxi_cpu_is_half(type) ? p->kernels->widen[type]
                               : p->kernels->convert[type][p->number];
}

/* Elements [first, last) of a side in the order (batch, free, k). */
static void copy_part(const running *r, const side *s, int64_t first,
                      int64_t last) {
  const product *p = r->p;
  const int size = cxi_cpu_log2_bytes(s->type);
  const char *from = cxi_at(r->bases, s->at);
  char *to = r->memory + s->dense + (size_t)first * width(p);
  if (cxi_dtype_bytes(s->type) == width(p)) {
    p->kernels->gather[size](&s->source, first, last - first, to, from);
    return;
  }
  uint16_t narrow[CHUNK];
  for (int64_t i = first; i < last; i += CHUNK) {
    const int64_t n = cxi_least(last - i, CHUNK);
    if (s->source.n)
      p->kernels->gather[size](&s->source, i, n, narrow, from);
    else
      memcpy(narrow, from, cxi_dtype_bytes(s->type));
    widening(p, s->type)(n, to, narrow, NULL, NULL, 0);
    to += (size_t)n * width(p);
  }
}

enum { COPY_TASK = 1 << 16 };

static void copy_task(const running *r, const side *s, int64_t i) {
  const int64_t all = r->p->batch * s->count * r->p->k;
  copy_part(r, s, i * COPY_TASK, cxi_least(all, (i + 1) * COPY_TASK));
}

static void copy_rows(void *argument, int64_t i) {
  const running *r = argument;
  copy_task(r, &r->p->rows, i);
}

static void copy_columns(void *argument, int64_t i) {
  const running *r = argument;
  copy_task(r, &r->p->columns, i);
}

static int64_t panel_count(const side *s) {
  return cxi_divide_up(s->count, s->panel);
}

/* Panel i of all batch items' panels. */
static void pack_task(const running *r, const side *s, int64_t i) {
  const product *p = r->p;
  const int64_t panels = panel_count(s), item = i / panels;
  const int64_t first = i % panels * s->panel;
  const char *from =
      side_at(r, s, item) + first * s->free_stride * (int64_t)width(p);
  p->product->pack(p->k, cxi_least(s->panel, s->count - first), s->panel, from,
                   s->k_stride, s->free_stride,
                   r->memory + s->panels +
                       (size_t)(i * s->panel * p->k) * width(p));
}

static void pack_rows(void *argument, int64_t i) {
  const running *r = argument;
  pack_task(r, &r->p->rows, i);
}

static void pack_columns(void *argument, int64_t i) {
  const running *r = argument;
  pack_task(r, &r->p->columns, i);
}

/* A side from free element `first` and k element k0 on, as a tile reads it. */
static const char *part_at(const running *r, const side *s, int64_t item,
                           int64_t first, int64_t k0) {
  const product *p = r->p;
  if (!s->packed)
    return side_at(r, s, item) +
           (first * s->free_stride + k0 * s->k_stride) * (int64_t)width(p);
  const int64_t panel = item * panel_count(s) + first / s->panel;
  return r->memory + s->panels +
         (size_t)((panel * p->k + k0) * s->panel) * width(p);
}

/* The block of the result of one batch item from (i0, j0) on. */
static void multiply_block(const running *r, int64_t item, int64_t i0,
                           int64_t j0) {
  const product *p = r->p;
  const int64_t size = p->rows.count * p->columns.count;
  const int64_t at = item * size + i0 * p->c_row + j0 * p->c_column;
  char *sums =
      p->sums_apart ? r->memory + p->sums : cxi_at(r->bases, p->result);
  cxi_tile t = {
    .rows = cxi_least(p->row_block, p->rows.count - i0),
    .columns = cxi_least(p->column_block, p->columns.count - j0),
    .a_row = p->rows.free_stride,
    .a_k = p->rows.k_stride,
    .a_panel = p->rows.packed ? p->rows.panel * p->k : 0,
    .b_k = p->columns.packed ? p->columns.panel : p->columns.k_stride,
    .b_panel = p->columns.packed ? p->columns.panel * p->k : 0,
    .c = sums + (size_t)at * width(p),
    .c_row = p->c_row,
    .c_column = p->c_column,
  };
  for (int64_t k0 = 0; k0 < p->k; k0 += p->k_block) {
    t.k = cxi_least(p->k_block, p->k - k0);
    t.a = part_at(r, &p->rows, item, i0, k0);
    t.b = part_at(r, &p->columns, item, j0, k0);
    t.first = k0 == 0;
    if (p->add && !p->sums_apart && k0 + t.k == p->k)
      t.addend = (char *)cxi_at(r->bases, p->addend) + (size_t)at * width(p);
    p->product->multiply(&t);
  }
}

/* A block of one batch item, or all of several. */
static void multiply_task(void *argument, int64_t task) {
  const running *r = argument;
  const product *p = r->p;
  if (p->items > 1) {
    const int64_t last = cxi_least(p->batch, (task + 1) * p->items);
    for (int64_t item = task * p->items; item < last; item++)
      multiply_block(r, item, 0, 0);
    return;
  }
  const int64_t blocks = p->row_blocks * p->column_blocks;
  const int64_t block = task % blocks;
  multiply_block(r, task / blocks, block / p->column_blocks * p->row_block,
                 block % p->column_blocks * p->column_block);
}

/* Elements of the result, in order, a vector of them at a time. */
static int64_t dots_of_task(const product *p) {
  const int64_t n = cxi_divide_up(SMALL_TASK, p->k);
  return cxi_divide_up(n, p->product->lanes) * p->product->lanes;
}

static void dots_task(void *argument, int64_t task) {
  const running *r = argument;
  const product *p = r->p;
  const side *many = p->rows.count > 1 ? &p->rows : &p->columns;
  const int64_t all = p->batch * many->count, n = dots_of_task(p);
  const int64_t last = cxi_least(all, (task + 1) * n);
  const void *a[MAX_LANES], *b[MAX_LANES];
  char *out = p->sums_apart ? r->memory + p->sums : cxi_at(r->bases, p->result);
  const char *addend =
      p->add && !p->sums_apart ? cxi_at(r->bases, p->addend) : NULL;
  for (int64_t i = task * n; i < last; i += p->product->lanes) {
    const int64_t here = cxi_least(p->product->lanes, last - i);
    for (int64_t e = 0; e < here; e++) {
      const int64_t item = (i + e) / many->count, at = (i + e) % many->count;
      a[e] = part_at(r, &p->rows, item, many == &p->rows ? at : 0, 0);
      b[e] = part_at(r, &p->columns, item, many == &p->rows ? 0 : at, 0);
    }
    const size_t offset = (size_t)i * width(p);
    p->product->dots(here, p->k, a, p->rows.k_stride, b, p->columns.k_stride,
                     out + offset, addend ? addend + offset : NULL);
  }
}

/* An element of the result by itself, with several chains at once. */
static void apart_task(void *argument, int64_t task) {
  const running *r = argument;
  const product *p = r->p;
  const int64_t item = task / (p->rows.count * p->columns.count);
  const int64_t at = task % (p->rows.count * p->columns.count);
  const bool rows = p->rows.count > 1;
  char *out = p->sums_apart ? r->memory + p->sums : cxi_at(r->bases, p->result);
  const char *addend =
      p->add && !p->sums_apart ? cxi_at(r->bases, p->addend) : NULL;
  const size_t offset = (size_t)task * width(p);
  p->product->dot(
      p->k, part_at(r, &p->rows, item, rows ? at : 0, 0), p->rows.k_stride,
      part_at(r, &p->columns, item, rows ? 0 : at, 0), p->columns.k_stride,
      out + offset, addend ? addend + offset : NULL);
}

/* Sums, with the addend, as elements of the narrower result. */
static void round_task(void *argument, int64_t i) {
  const running *r = argument;
  const product *p = r->p;
  const int64_t all = p->batch * p->rows.count * p->columns.count;
  const int64_t first = i * COPY_TASK, last = cxi_least(all, first + COPY_TASK);
  const size_t bytes = cxi_dtype_bytes(p->type);
  const char *sums = r->memory + p->sums;
  char *out = cxi_at(r->bases, p->result);
  const cxi_cpu_kernel narrow = cxi_cpu_is_half(p->type)
                                    ? p->kernels->narrow[p->type]
                                    : p->kernels->convert[p->number][p->type];
  uint32_t wide[CHUNK];
  for (int64_t at = first; at < last; at += CHUNK) {
    const int64_t n = cxi_least(CHUNK, last - at);
    const void *from = sums + (size_t)at * width(p);
    if (p->add) {
      const char *addend = cxi_at(r->bases, p->addend);
      widening(p, p->type)(n, wide, addend + (size_t)at * bytes, NULL, NULL, 0);
      p->kernels->elementwise[p->number][CXI_PRIM_add](n, wide, wide, from,
                                                       NULL, 0);
      from = wide;
    }
    narrow(n, out + (size_t)at * bytes, from, NULL, NULL, 0);
  }
}

static bool run(const void *state, char *const *bases, cxi_running *running_) {
  const product *p = state;
  running r = { p, bases, cxi_at(bases, p->memory) };
  const int64_t elements = p->batch * p->rows.count * p->columns.count;
  const int threads =
      (double)elements * (double)p->k < 1 << 18 ? 1 : running_->threads;
  if (p->rows.copied)
    cxi_parallel(threads,
                 cxi_divide_up(p->batch * p->rows.count * p->k, COPY_TASK),
                 copy_rows, &r);
  if (p->columns.copied)
    cxi_parallel(threads,
                 cxi_divide_up(p->batch * p->columns.count * p->k, COPY_TASK),
                 copy_columns, &r);
  if (p->rows.packed)
    cxi_parallel(threads, p->batch * panel_count(&p->rows), pack_rows, &r);
  if (p->columns.packed)
    cxi_parallel(threads, p->batch * panel_count(&p->columns), pack_columns,
                 &r);
  if (p->apart)
    cxi_parallel(threads, elements, apart_task, &r);
  else if (p->dots)
    cxi_parallel(threads, cxi_divide_up(elements, dots_of_task(p)), dots_task,
                 &r);
  else
    cxi_parallel(threads,
                 p->items > 1 ? cxi_divide_up(p->batch, p->items)
                              : p->batch * p->row_blocks * p->column_blocks,
                 multiply_task, &r);
  if (p->sums_apart)
    cxi_parallel(threads, cxi_divide_up(elements, COPY_TASK), round_task, &r);
  return true;
}

bool cxi_cpu_product(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                     cxi_error *error) {
  product *p = cxi_arena_alloc(arena, sizeof *p);
  if (!p) return cxi_cpu_no_memory(error);
  layout(unit, p);
  *out = (cxi_thunk){ run, p };
  return true;
}
