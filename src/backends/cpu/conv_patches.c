/* conv_patches.c - what the positions of a block of a convolution read: the
 * operand's elements at each tap, for a part of k. */
#include <string.h>

#include "backends/cpu/conv.h"

/* -- the positions of a block ---------------------------------------------- */

/* Position m of the phase: its batch item and where it is along each line. */
void cxi_conv_place_of(const cxi_conv_cut *p, const cxi_conv_phase *phase,
                       int64_t m, int64_t *batch, int64_t *at) {
  int64_t s;
  if (p->batch_inner) {
    *batch = m % p->conv.batch;
    s = m / p->conv.batch;
  } else {
    *batch = m / phase->positions;
    s = m % phase->positions;
  }
  for (int i = phase->n - 1; i >= 0; i--) {
    at[i] = s % phase->lines[i].count;
    s /= phase->lines[i].count;
  }
}

/* From a position to the next. */
void cxi_conv_advance(const cxi_conv_cut *p, const cxi_conv_phase *phase,
                      int64_t *batch, int64_t *at) {
  if (p->batch_inner) {
    if (++*batch < p->conv.batch) return;
    *batch = 0;
  }
  for (int i = phase->n - 1; i >= 0; i--) {
    if (++at[i] < phase->lines[i].count) return;
    at[i] = 0;
  }
  if (!p->batch_inner) ++*batch;
}

/* The offsets as stretches; returns their number. */
int64_t cxi_conv_find_stretches(const int64_t *offsets, int64_t n,
                                cxi_conv_stretch *out) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    cxi_conv_stretch *last = count ? &out[count - 1] : NULL;
    const int64_t x = offsets[i];
    const int64_t step = i ? x - offsets[i - 1] : 0;
    if (last && last->from < 0 && x < 0) {
      last->n++;
    } else if (last && last->from >= 0 && x >= 0 &&
               (last->n == 1 || last->step == step)) {
      last->step = step;
      last->n++;
    } else {
      out[count++] = (cxi_conv_stretch){ 1, x, 1 };
    }
  }
  return count;
}

/* -- patches --------------------------------------------------------------- */

/* Positions as places of the operand: batch offset and element along lines. */
typedef struct places {
  int64_t base[CXI_CONV_PANEL];
  int64_t start[CX_MAX_DIMS][CXI_CONV_PANEL];
} places;

static void find_places(const cxi_conv_block *b, int64_t first, int64_t n,
                        places *out) {
  int64_t batch, at[CX_MAX_DIMS];
  cxi_conv_place_of(b->p, b->phase, first, &batch, at);
  for (int64_t j = 0; j < n;
       j++, cxi_conv_advance(b->p, b->phase, &batch, at)) {
    out->base[j] = batch * b->p->x.outer;
    for (int i = 0; i < b->phase->n; i++)
      out->start[i][j] =
          b->phase->lines[i].start + at[i] * b->phase->lines[i].advance;
  }
}

/* Where tap `tap` of the phase meets the positions; -1: a zero. */
static void meet(const cxi_conv_block *b, const places *at, int64_t n,
                 int64_t tap, int64_t *offsets) {
  for (int64_t j = 0; j < n; j++) offsets[j] = at->base[j];
  for (int i = b->phase->n - 1; i >= 0; i--) {
    const cxi_conv_line *l = &b->phase->lines[i];
    const int64_t reach = tap % l->taps * l->reach;
    tap /= l->taps;
    for (int64_t j = 0; j < n; j++) {
      const int64_t element = at->start[i][j] + reach;
      const bool inside = element >= 0 && element < l->size;
      offsets[j] = inside && offsets[j] >= 0
                       ? offsets[j] + element * b->p->x.space[i]
                       : -1;
    }
  }
}

static void copy_stretch(const cxi_conv_stretch *s, const char *from,
                         size_t width, char *to) {
  if (s->from < 0) {
    memset(to, 0, (size_t)s->n * width);
  } else if (s->step == 1 || s->n == 1) {
    memcpy(to, from + s->from * (int64_t)width, (size_t)s->n * width);
  } else if (width == sizeof(float)) {
    const float *x = (const float *)(const void *)from + s->from;
    float *y = (float *)(void *)to;
    for (int64_t i = 0; i < s->n; i++) y[i] = x[i * s->step];
  } else {
    const double *x = (const double *)(const void *)from + s->from;
    double *y = (double *)(void *)to;
    for (int64_t i = 0; i < s->n; i++) y[i] = x[i * s->step];
  }
}

/* Positions that differ in the batch item alone, if that is what lies side by
 * side, else in the place along the last line. */
typedef struct run {
  int64_t n, base;
  int64_t start[CX_MAX_DIMS]; /* elements along the lines */
} run;

/* Returns the number of runs of positions first to first + n - 1. */
static int64_t find_runs(const cxi_conv_block *b, int64_t first, int64_t n,
                         run *out) {
  const cxi_conv_phase *phase = b->phase;
  const int last = phase->n - 1;
  int64_t count = 0, length;
  for (int64_t j = 0; j < n; j += length) {
    int64_t batch, at[CX_MAX_DIMS];
    cxi_conv_place_of(b->p, phase, first + j, &batch, at);
    length = b->p->batch_inner ? b->p->conv.batch - batch
             : last >= 0       ? phase->lines[last].count - at[last]
                               : 1;
    length = cxi_least(length, n - j);
    run *r = &out[count++];
    r->n = length;
    r->base = batch * b->p->x.outer;
    for (int i = 0; i <= last; i++)
      r->start[i] = phase->lines[i].start + at[i] * phase->lines[i].advance;
  }
  return count;
}

static int64_t add_stretch(int64_t count, int64_t n, int64_t from, int64_t step,
                           cxi_conv_stretch *out) {
  if (n > 0) out[count++] = (cxi_conv_stretch){ n, from, step };
  return count;
}

/* Where tap `tap` of the phase meets the runs; returns the number of stretches,
 * at most three a run. What is not inside may be too far away for a number. */
static int64_t meet_runs(const cxi_conv_block *b, const run *runs, int64_t n,
                         int64_t tap, cxi_conv_stretch *out) {
  const int last = b->phase->n - 1;
  int64_t reach[CX_MAX_DIMS], count = 0;
  for (int i = last; i >= 0; i--) {
    const cxi_conv_line *l = &b->phase->lines[i];
    reach[i] = tap % l->taps * l->reach;
    tap /= l->taps;
  }
  for (const run *r = runs; r < runs + n; r++) {
    const bool along = !b->p->batch_inner && last >= 0;
    int64_t from = r->base;
    bool outside = false;
    for (int i = 0; i <= last; i++) {
      if (along && i == last) continue;
      const int64_t element = r->start[i] + reach[i];
      outside |= element < 0 || element >= b->phase->lines[i].size;
      if (!outside) from += element * b->p->x.space[i];
    }
    int64_t low = outside ? r->n : 0, high = r->n;
    if (along && !outside) { /* of the places of the run, those inside */
      const cxi_conv_line *l = &b->phase->lines[last];
      const int64_t element = r->start[last] + reach[last];
      if (element < 0)
        low = cxi_least(r->n, cxi_divide_up(-element, l->advance));
      high = element >= l->size
                 ? low
                 : cxi_least(r->n, (l->size - 1 - element) / l->advance + 1);
      if (high < low) high = low;
      if (high > low)
        from += (element + low * l->advance) * b->p->x.space[last];
    }
    int64_t step = along ? 1 : b->p->x.outer; /* any, of a single one */
    if (along && high - low > 1)
      step = b->phase->lines[last].advance * b->p->x.space[last];
    count = add_stretch(count, low, -1, 1, out);
    count = add_stretch(count, high - low, from, step, out);
    count = add_stretch(count, r->n - high, -1, 1, out);
  }
  return count;
}

/* A panel of the patches: (k, positions), filled up with zeros. */
static void patch_panel(const cxi_conv_block *b, int64_t first, int64_t n,
                        char *to) {
  const cxi_conv_cut *p = b->p;
  const int64_t channels = p->conv.channels, panel = p->product->nr;
  run runs[CXI_CONV_PANEL];
  cxi_conv_stretch stretches[3 * CXI_CONV_PANEL + 1];
  const int64_t n_runs = find_runs(b, first, n, runs);
  for (int64_t k = b->k0; k < b->k0 + b->k;) {
    const int64_t c0 = k % channels;
    const int64_t count = cxi_least(channels - c0, b->k0 + b->k - k);
    int64_t parts = meet_runs(b, runs, n_runs, k / channels, stretches);
    parts = add_stretch(parts, panel - n, -1, 1, stretches);
    const char *x = b->x + c0 * p->x.inner * (int64_t)p->width;
    for (int64_t c = 0; c < count; c++, x += p->x.inner * (int64_t)p->width) {
      for (int64_t i = 0; i < parts; i++) {
        copy_stretch(&stretches[i], x, p->width, to);
        to += (size_t)stretches[i].n * p->width;
      }
    }
    k += count;
  }
}

/* Patches as rows: (positions, k), where the channels lie side by side. */
static void patch_rows(const cxi_conv_block *b, int64_t first, int64_t n,
                       char *to) {
  const cxi_conv_cut *p = b->p;
  const int64_t channels = p->conv.channels;
  places at;
  int64_t offsets[CXI_CONV_PANEL];
  find_places(b, first, n, &at);
  for (int64_t k = b->k0; k < b->k0 + b->k;) {
    const int64_t c0 = k % channels;
    const int64_t count = cxi_least(channels - c0, b->k0 + b->k - k);
    meet(b, &at, n, k / channels, offsets);
    for (int64_t j = 0; j < n; j++) {
      const cxi_conv_stretch s = { count, offsets[j] < 0 ? -1 : offsets[j] + c0,
                                   1 };
      copy_stretch(&s, b->x, p->width,
                   to + (size_t)(j * b->k + k - b->k0) * p->width);
    }
    k += count;
  }
}

void cxi_conv_make_patches(const cxi_conv_block *b) {
  const cxi_conv_cut *p = b->p;
  const int64_t panel = p->product->nr;
  for (int64_t j = 0; j < b->n; j += panel)
    (p->positions_are_rows ? patch_rows : patch_panel)(
        b, b->first + j, cxi_least(panel, b->n - j),
        b->patches + (size_t)(j * b->k) * p->width);
}
