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

#include "backends/cpu/product_layout.h"
#include "base/pool.h"

enum { CHUNK = 1024, MAX_LANES = 16 };

typedef struct running {
  const cxi_product_cut *p;
  char *const *bases;
  char *memory;
} running;

static size_t width(const cxi_product_cut *p) {
  return cxi_dtype_bytes(p->number);
}

/* The first element of batch item i of a side, where the tiles read it. */
static char *side_at(const running *r, const cxi_product_side *s, int64_t i) {
  char *base = s->copied ? r->memory + s->dense : cxi_at(r->bases, s->at);
  return base + cxi_pattern_offset(&s->batch, i) * (int64_t)width(r->p);
}

/* From a dtype to what is computed in. */
static cxi_cpu_kernel widening(const cxi_product_cut *p, cx_dtype type) {
  return cxi_cpu_is_half(type) ? p->kernels->widen[type]
                               : p->kernels->convert[type][p->number];
}

/* Elements [first, last) of a side in the order (batch, free, k). */
static void copy_part(const running *r, const cxi_product_side *s,
                      int64_t first, int64_t last) {
  const cxi_product_cut *p = r->p;
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

static void copy_task(const running *r, const cxi_product_side *s, int64_t i) {
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

static int64_t panel_count(const cxi_product_side *s) {
  return cxi_divide_up(s->count, s->panel);
}

/* Panel i of all batch items' panels. */
static void pack_task(const running *r, const cxi_product_side *s, int64_t i) {
  const cxi_product_cut *p = r->p;
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
static const char *part_at(const running *r, const cxi_product_side *s,
                           int64_t item, int64_t first, int64_t k0) {
  const cxi_product_cut *p = r->p;
  if (!s->packed)
    return side_at(r, s, item) +
           (first * s->free_stride + k0 * s->k_stride) * (int64_t)width(p);
  const int64_t panel = item * panel_count(s) + first / s->panel;
  return r->memory + s->panels +
         (size_t)((panel * p->k + k0) * s->panel) * width(p);
}

/* The block of the result of one batch item from (i0, j0) on, all of its k. */
static cxi_tile tile_at(const running *r, int64_t item, int64_t i0,
                        int64_t j0) {
  const cxi_product_cut *p = r->p;
  const int64_t size = p->rows.count * p->columns.count;
  const int64_t at = item * size + i0 * p->c_row + j0 * p->c_column;
  char *sums =
      p->sums_apart ? r->memory + p->sums : cxi_at(r->bases, p->result);
  const char *addend =
      p->add && !p->sums_apart ? cxi_at(r->bases, p->addend) : NULL;
  return (cxi_tile){
    .rows = cxi_least(p->row_block, p->rows.count - i0),
    .columns = cxi_least(p->column_block, p->columns.count - j0),
    .k = p->k,
    .a = part_at(r, &p->rows, item, i0, 0),
    .a_row = p->rows.free_stride,
    .a_k = p->rows.k_stride,
    .a_panel = p->rows.packed ? p->rows.panel * p->k : 0,
    .b = part_at(r, &p->columns, item, j0, 0),
    .b_k = p->columns.packed ? p->columns.panel : p->columns.k_stride,
    .b_panel = p->columns.packed ? p->columns.panel * p->k : 0,
    .c = sums + (size_t)at * width(p),
    .c_row = p->c_row,
    .c_column = p->c_column,
    .first = true,
    .addend = addend ? addend + (size_t)at * width(p) : NULL,
  };
}

static void multiply_block(const running *r, int64_t item, int64_t i0,
                           int64_t j0) {
  const cxi_product_cut *p = r->p;
  cxi_tile t = tile_at(r, item, i0, j0);
  const void *addend = t.addend;
  for (int64_t k0 = 0; k0 < p->k; k0 += p->k_block) {
    t.k = cxi_least(p->k_block, p->k - k0);
    t.a = part_at(r, &p->rows, item, i0, k0);
    t.b = part_at(r, &p->columns, item, j0, k0);
    t.first = k0 == 0;
    t.addend = k0 + t.k == p->k ? addend : NULL;
    p->product->multiply(&t);
  }
}

/* Bytes from an item of the batch to the next as the tiles read them; false:
 * not the same for all. */
static bool find_step(const cxi_product_cut *p, const cxi_product_side *s,
                      int64_t *step) {
  int64_t elements = 0;
  if (s->packed)
    elements = panel_count(s) * s->panel * p->k;
  else if (s->batch.n == 1)
    elements = s->batch.strides[0];
  *step = elements * (int64_t)width(p);
  return s->packed || s->batch.n <= 1;
}

/* Whole items, each a tile like the first. */
static void multiply_items(const running *r, int64_t first, int64_t last) {
  const cxi_product_cut *p = r->p;
  int64_t a_step, b_step;
  if (!find_step(p, &p->rows, &a_step) || !find_step(p, &p->columns, &b_step) ||
      p->k_block < p->k) {
    for (int64_t item = first; item < last; item++)
      multiply_block(r, item, 0, 0);
    return;
  }
  const int64_t c_step = p->rows.count * p->columns.count * (int64_t)width(p);
  cxi_tile t = tile_at(r, first, 0, 0);
  for (int64_t item = first; item < last; item++) {
    p->product->multiply(&t);
    t.a = (const char *)t.a + a_step;
    t.b = (const char *)t.b + b_step;
    t.c = (char *)t.c + c_step;
    if (t.addend) t.addend = (const char *)t.addend + c_step;
  }
}

/* A block of one batch item, or all of several. */
static void multiply_task(void *argument, int64_t task) {
  const running *r = argument;
  const cxi_product_cut *p = r->p;
  if (p->items > 1) {
    multiply_items(r, task * p->items,
                   cxi_least(p->batch, (task + 1) * p->items));
    return;
  }
  const int64_t blocks = p->row_blocks * p->column_blocks;
  const int64_t block = task % blocks;
  multiply_block(r, task / blocks, block / p->column_blocks * p->row_block,
                 block % p->column_blocks * p->column_block);
}

/* Elements of the result, in order, a vector of them at a time. */
static int64_t dots_of_task(const cxi_product_cut *p) {
  const int64_t n = cxi_divide_up(CXI_PRODUCT_TASK, p->k);
  return cxi_divide_up(n, p->product->lanes) * p->product->lanes;
}

static void dots_task(void *argument, int64_t task) {
  const running *r = argument;
  const cxi_product_cut *p = r->p;
  const cxi_product_side *many = p->rows.count > 1 ? &p->rows : &p->columns;
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
  const cxi_product_cut *p = r->p;
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
  const cxi_product_cut *p = r->p;
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
  const cxi_product_cut *p = state;
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
  cxi_product_cut *p = cxi_arena_alloc(arena, sizeof *p);
  if (!p) return cxi_cpu_no_memory(error);
  cxi_cpu_product_layout(unit, p);
  *out = (cxi_thunk){ run, p };
  return true;
}
