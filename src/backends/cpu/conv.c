/* conv.c - conv_general_dilated by packed tiles.
 *
 * A phase of a group (ir/conv.h) is a product: features x k by k x positions,
 * k being its taps and their channels. The positions of all batch items are
 * cut into blocks. A block copies the operand's elements, the patches, for a
 * part of k at a time; tiles add up in a buffer of its own, which at the end
 * is rounded and laid out as the result. A few slots of memory serve all
 * blocks. Any cut gives the same bits, as with product.c. */
#include <string.h>

#include "backends/cpu/conv.h"
#include "base/pool.h"

/* -- the product of a block ------------------------------------------------ */

static int64_t round_up(int64_t n, int64_t unit) {
  return cxi_divide_up(n, unit) * unit;
}

/* Adds part b->k0.. to the sums; `kernel` is that of the group and phase. */
static void multiply(const cxi_conv_block *b, const char *kernel,
                     int64_t all_k) {
  const cxi_conv_cut *p = b->p;
  const int64_t lanes = p->product->lanes, panel = p->kernel_panel;
  kernel += (size_t)(b->k0 * panel) * p->width;
  cxi_tile t = { .k = b->k,
                 .c = b->sums,
                 .c_row = p->sums_row,
                 .c_column = 1,
                 .first = b->k0 == 0,
                 .goes_on = true };
  if (p->positions_are_rows) {
    t.rows = b->n;
    t.columns = round_up(p->conv.features, lanes);
    t.a = b->patches;
    t.a_row = b->k;
    t.a_k = 1;
    t.b = kernel;
    t.b_k = panel;
    t.b_panel = panel * all_k;
  } else {
    t.rows = p->conv.features;
    t.columns = round_up(b->n, lanes);
    t.a = kernel;
    t.a_panel = panel * all_k;
    t.b = b->patches;
    t.b_k = p->product->nr;
    t.b_panel = p->product->nr * b->k;
  }
  p->product->multiply(&t);
}

/* -- the result ------------------------------------------------------------ */

/* n elements of the result's dtype, `step` apart. */
static void spread(char *to, int64_t step, const char *from, int64_t n,
                   size_t bytes) {
  if (step == 1) {
    memcpy(to, from, (size_t)n * bytes);
    return;
  }
  step *= (int64_t)bytes;
  for (int64_t i = 0; i < n; i++, to += step, from += bytes)
    memcpy(to, from, bytes);
}

/* A row of sums in the result's dtype: as they are, or rounded to `half`. */
static const char *rounded(const cxi_conv_cut *p, const char *sums, int64_t n,
                           uint16_t *half) {
  if (!cxi_cpu_is_half(p->type)) return sums;
  p->kernels->narrow[p->type](n, half, sums, NULL, NULL, 0);
  return (const char *)half;
}

/* Where the positions of the block lie in the result. */
static void find_results(const cxi_conv_block *b, int64_t *offsets) {
  const cxi_conv_cut *p = b->p;
  int64_t batch, at[CX_MAX_DIMS];
  cxi_conv_place_of(p, b->phase, b->first, &batch, at);
  for (int64_t j = 0; j < b->n;
       j++, cxi_conv_advance(p, b->phase, &batch, at)) {
    offsets[j] = batch * p->y.outer;
    for (int i = 0; i < b->phase->n; i++)
      offsets[j] +=
          (b->phase->lines[i].first + at[i] * b->phase->lines[i].step) *
          p->y.space[i];
  }
}

enum { CHUNK = 1024 };

/* Sums (positions, features). */
static void store_rows(const cxi_conv_block *b, const int64_t *offsets,
                       char *out) {
  const cxi_conv_cut *p = b->p;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(p->type);
  uint16_t half[CHUNK];
  for (int64_t j = 0; j < b->n; j++)
    for (int64_t o = 0; o < p->conv.features; o += CHUNK) {
      const int64_t n = cxi_least(CHUNK, p->conv.features - o);
      const char *sums = b->sums + (size_t)(j * p->sums_row + o) * p->width;
      spread(out + (offsets[j] + o * p->y.inner) * bytes, p->y.inner,
             rounded(p, sums, n, half), n, (size_t)bytes);
    }
}

/* Sums (features, positions). */
static void store_columns(const cxi_conv_block *b, const int64_t *offsets,
                          char *out) {
  const cxi_conv_cut *p = b->p;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(p->type);
  uint16_t half[CXI_CONV_BLOCK];
  cxi_conv_stretch stretches[CXI_CONV_BLOCK];
  const int64_t parts = cxi_conv_find_stretches(offsets, b->n, stretches);
  if (p->y.inner == 1 && p->type == p->number) {
    const char *from = b->sums;
    for (const cxi_conv_stretch *s = stretches; s < stretches + parts; s++) {
      p->kernels->turn[cxi_cpu_log2_bytes(p->type)](s->n, p->conv.features,
                                                    out + s->from * bytes,
                                                    s->step, from, p->sums_row);
      from += s->n * bytes;
    }
    return;
  }
  for (int64_t o = 0; o < p->conv.features; o++) {
    const char *from =
        rounded(p, b->sums + (size_t)(o * p->sums_row) * p->width, b->n, half);
    for (int64_t i = 0; i < parts; i++) {
      const cxi_conv_stretch *s = &stretches[i];
      spread(out + (s->from + o * p->y.inner) * bytes, s->step, from, s->n,
             (size_t)bytes);
      from += s->n * bytes;
    }
  }
}

static void store(const cxi_conv_block *b, char *out) {
  int64_t offsets[CXI_CONV_BLOCK];
  find_results(b, offsets);
  (b->p->positions_are_rows ? store_rows : store_columns)(b, offsets, out);
}

/* -- running --------------------------------------------------------------- */

typedef struct running {
  const cxi_conv_cut *p;
  char *const *bases;
  char *memory;
} running;

/* Block i of all groups and phases. */
static void run_block(const running *r, int64_t i, char *slot) {
  const cxi_conv_cut *p = r->p;
  const int64_t group = i / p->blocks_of_group;
  i %= p->blocks_of_group;
  int64_t f = 0;
  while (i >= p->phases[f].blocks) i -= p->phases[f++].blocks;
  const cxi_conv_cut_phase *phase = &p->phases[f];
  const int64_t all = phase->lines.positions * p->conv.batch;
  const int64_t k = phase->lines.taps * p->conv.channels;
  const int64_t first = i * p->block;
  const char *x = p->lhs_copied ? r->memory + p->lhs_dense
                                : (char *)cxi_at(r->bases, p->lhs.at);
  cxi_conv_block b = { .p = p,
                       .phase = &phase->lines,
                       .x = x + p->x.group * group * (int64_t)p->width,
                       .first = first,
                       .n = cxi_least(p->block, all - first),
                       .patches = slot,
                       .sums = slot + p->patch_bytes };
  const char *kernel =
      r->memory + p->kernel +
      (size_t)(group * p->kernel_of_group + phase->kernel) * p->width;
  if (k == 0) memset(b.sums, 0, p->sums_bytes);
  for (b.k0 = 0; b.k0 < k; b.k0 += b.k) {
    b.k = cxi_least(p->k_part, k - b.k0);
    cxi_conv_make_patches(&b);
    multiply(&b, kernel, k);
  }
  store(&b, (char *)cxi_at(r->bases, p->result) +
                p->y.group * group * (int64_t)cxi_dtype_bytes(p->type));
}

static void run_slot(void *argument, int64_t slot) {
  const running *r = argument;
  const cxi_conv_cut *p = r->p;
  char *memory =
      r->memory + p->slots + (size_t)slot * (p->patch_bytes + p->sums_bytes);
  for (int64_t i = slot; i < p->blocks; i += p->n_slots)
    run_block(r, i, memory);
}

/* A panel of the kernel of a group and phase, tap by tap. */
static void pack_panel(void *argument, int64_t i) {
  const running *r = argument;
  const cxi_conv_cut *p = r->p;
  const int64_t panels = cxi_divide_up(p->conv.features, p->kernel_panel);
  const int64_t j = i % panels * p->kernel_panel;
  const cxi_conv_cut_phase *phase = &p->phases[i / panels % p->conv.phases];
  const int64_t group = i / panels / p->conv.phases;
  const int64_t taps = phase->lines.taps, channels = p->conv.channels;
  const int64_t width = (int64_t)p->width;
  const char *from = p->rhs_copied ? r->memory + p->rhs_dense
                                   : (char *)cxi_at(r->bases, p->rhs.at);
  from += (group * p->w.group + j * p->w.outer) * width;
  char *to =
      r->memory + p->kernel +
      (group * p->kernel_of_group + phase->kernel + j * taps * channels) *
          width;
  for (int64_t u = 0; u < taps; u++, to += p->kernel_panel * channels * width) {
    int64_t at = 0, rest = u;
    for (int d = phase->lines.n - 1; d >= 0; d--) {
      const cxi_conv_line *l = &phase->lines.lines[d];
      at += (l->tap + rest % l->taps * l->tap_step) * p->w.space[d];
      rest /= l->taps;
    }
    p->product->pack(channels, cxi_least(p->kernel_panel, p->conv.features - j),
                     p->kernel_panel, from + at * width, p->w.inner, p->w.outer,
                     to);
  }
}

enum { COPY_TASK = 1 << 16 };

/* n elements of an operand in the order of its pattern; one has no axes. */
static void gather(const running *r, const cxi_operand *o,
                   const cxi_pattern *source, int64_t first, int64_t n,
                   void *to) {
  const void *from = cxi_at(r->bases, o->at);
  const int size = cxi_cpu_log2_bytes(o->type.type);
  if (source->n)
    r->p->kernels->gather[size](source, first, n, to, from);
  else
    memcpy(to, from, (size_t)1 << size);
}

/* Elements of an operand as wide numbers. */
static void copy_part(const running *r, const cxi_operand *o,
                      const cxi_pattern *source, size_t dense, int64_t first) {
  const int64_t last =
      cxi_least(cxi_dims_count(&o->type.shape), first + COPY_TASK);
  char *to = r->memory + dense + (size_t)first * r->p->width;
  if (!cxi_cpu_is_half(o->type.type)) {
    gather(r, o, source, first, last - first, to);
    return;
  }
  uint16_t half[CHUNK];
  for (int64_t i = first; i < last; i += CHUNK) {
    const int64_t n = cxi_least(last - i, CHUNK);
    gather(r, o, source, i, n, half);
    r->p->kernels->widen[o->type.type](n, to, half, NULL, NULL, 0);
    to += (size_t)n * sizeof(float);
  }
}

static void copy_lhs(void *argument, int64_t i) {
  const running *r = argument;
  copy_part(r, &r->p->lhs, &r->p->lhs_source, r->p->lhs_dense, i * COPY_TASK);
}

static void copy_rhs(void *argument, int64_t i) {
  const running *r = argument;
  copy_part(r, &r->p->rhs, &r->p->rhs_source, r->p->rhs_dense, i * COPY_TASK);
}

static int64_t copy_tasks(const cxi_operand *o) {
  return cxi_divide_up(cxi_dims_count(&o->type.shape), COPY_TASK);
}

bool cxi_cpu_conv_run(const void *state, char *const *bases,
                      cxi_running *running_) {
  const cxi_conv_cut *p = state;
  running r = { p, bases, cxi_at(bases, p->memory) };
  const int threads = p->flops < 1 << 19 ? 1 : running_->threads;
  if (p->lhs_copied) cxi_parallel(threads, copy_tasks(&p->lhs), copy_lhs, &r);
  if (p->rhs_copied) cxi_parallel(threads, copy_tasks(&p->rhs), copy_rhs, &r);
  cxi_parallel(threads,
               p->conv.groups * p->conv.phases *
                   cxi_divide_up(p->conv.features, p->kernel_panel),
               pack_panel, &r);
  cxi_parallel(threads, p->n_slots, run_slot, &r);
  return true;
}
