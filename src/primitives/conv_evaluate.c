/* conv_evaluate.c - conv_general_dilated in plain C: position by position. */
#include <string.h>

#include "ir/conv.h"
#include "primitives/conv.h"
#include "primitives/dot.h"
#include "primitives/rows.h"

/* -- the sums at one position ---------------------------------------------- */

enum { PANEL = 16 };

typedef struct meeting {
  cx_dtype wide;
  int64_t n_taps, all_taps, channels, features;
  const int64_t *taps;
  const void *x; /* (tap of the list, channel) */
  const void *w;
  void *sums;
} meeting;

#define ELEMENT float
#define SUMS sums_f32
#define FMA __builtin_fmaf
#include "primitives/conv_sums.inc"
#define ELEMENT double
#define SUMS sums_f64
#define FMA __builtin_fma
#include "primitives/conv_sums.inc"
#define ELEMENT uint64_t
#define SUMS sums_u64
#define FMA(a, b, c) ((a) * (b) + (c))
#include "primitives/conv_sums.inc"

static inline __attribute__((always_inline)) void sums_of(const meeting *m) {
  if (m->wide == CX_F32) sums_f32(m);
  if (m->wide == CX_F64) sums_f64(m);
  if (m->wide == CX_U64) sums_u64(m);
}

static void sums_plain(const meeting *m) {
  sums_of(m);
}

#if defined(__x86_64__)
/* The same with the fused instruction: without it fma is a slow function of
 * equal results. */
__attribute__((target("avx2,fma"))) static void sums_fused(const meeting *m) {
  sums_of(m);
}

static void add_up(const meeting *m) {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    sums_fused(m);
  else
    sums_plain(m);
}
#else
static void add_up(const meeting *m) {
  sums_plain(m);
}
#endif

/* -- evaluation ------------------------------------------------------------ */

typedef struct work {
  cxi_conv conv;
  cxi_conv_strides x, w, y;
  const cxi_view *lhs, *rhs, *out;
  cx_dtype wide;
  int64_t panels;         /* of features */
  int64_t *channels;      /* the offset of each in the operand */
  int64_t *features;      /* the offset of each in the kernel; PANEL at least */
  int64_t *taps, *places; /* those that meet; their offsets, -1: a zero */
  char *row, *kernel, *sums;
} work;

static void *take(char **room, int64_t bytes) {
  void *at = *room;
  *room += bytes;
  return at;
}

static int64_t panels_of(const cxi_conv *c) {
  return c->features / PANEL + (c->features % PANEL != 0);
}

int64_t cxi_conv_workspace(const cxi_eval *e, const cxi_view *in,
                           const cxi_view *out) {
  const cxi_conv c = cxi_conv_of(e->params, &in[0].type.shape,
                                 &in[1].type.shape, &out->type.shape);
  const int64_t panels = panels_of(&c), row = cxi_size_mul(c.taps, c.channels);
  int64_t n = cxi_size_add(cxi_size_mul(row, panels * PANEL), row);
  n = cxi_size_add(n, cxi_size_mul(2, c.taps));
  n = cxi_size_add(n, cxi_size_add(c.channels, 2 * panels * PANEL));
  return cxi_size_mul(n, 8);
}

/* Lays the parts of `k` out in the workspace. */
static void take_memory(work *k, char *room) {
  const cxi_conv *c = &k->conv;
  k->panels = panels_of(c);
  const int64_t row = c->taps * c->channels;
  const int64_t kernel = row * k->panels * PANEL;
  k->channels = take(&room, c->channels * 8);
  k->features = take(&room, k->panels * PANEL * 8);
  k->taps = take(&room, c->taps * 8);
  k->places = take(&room, c->taps * 8);
  k->row = take(&room, row * 8);
  k->kernel = take(&room, kernel * 8);
  k->sums = take(&room, k->panels * PANEL * 8);
  for (int64_t i = 0; i < c->channels; i++) k->channels[i] = i * k->x.inner;
  for (int64_t i = 0; i < c->features; i++) k->features[i] = i * k->w.outer;
}

/* The kernel of a group in panels; what fills the last one up is zero. */
static void pack_kernel(work *k, int64_t group) {
  const cxi_conv *c = &k->conv;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(k->wide);
  char *to = k->kernel;
  cx_dims windows = { .n = c->n };
  for (int i = 0; i < c->n; i++) windows.d[i] = c->dims[i].window;
  for (int64_t j = 0; j < c->features; j += PANEL) {
    const int64_t left = c->features - j, width = left < PANEL ? left : PANEL;
    int64_t tap[CX_MAX_DIMS] = { 0 };
    do {
      int64_t at = group * k->w.group;
      for (int i = 0; i < c->n; i++) at += tap[i] * k->w.space[i];
      for (int64_t q = 0; q < c->channels; q++, to += PANEL * bytes) {
        cxi_load_row(k->wide, k->rhs->type.type,
                     cxi_view_offset(k->rhs, at + q * k->w.inner),
                     k->features + j, width, to);
        memset(to + width * bytes, 0, (size_t)((PANEL - width) * bytes));
      }
    } while (cxi_index_next(&windows, tap));
  }
}

/* The taps that meet an element or a zero at position `at` of a phase. */
static int64_t find_taps(work *k, const cxi_conv_phase *phase,
                         const int64_t *at) {
  cx_dims taps = { .n = phase->n };
  for (int i = 0; i < phase->n; i++) taps.d[i] = phase->lines[i].taps;
  if (phase->taps == 0) return 0;
  int64_t n = 0, u[CX_MAX_DIMS] = { 0 };
  do {
    int64_t tap = 0, place = 0;
    bool outside = false;
    for (int i = 0; i < phase->n; i++) {
      const cxi_conv_line *l = &phase->lines[i];
      const int64_t element = l->start + at[i] * l->advance + u[i] * l->reach;
      outside |= element < 0 || element >= l->size;
      place += outside ? 0 : element * k->x.space[i];
      tap = tap * k->conv.dims[i].window + l->tap + u[i] * l->tap_step;
    }
    k->taps[n] = tap;
    k->places[n++] = outside ? -1 : place;
  } while (cxi_index_next(&taps, u));
  return n;
}

/* The operand's channels at the taps found; `base` is the group's and batch
 * item's first element. */
static void gather(work *k, int64_t base, int64_t n_taps) {
  const int64_t bytes = k->conv.channels * (int64_t)cxi_dtype_bytes(k->wide);
  char *to = k->row;
  for (int64_t i = 0; i < n_taps; i++, to += bytes)
    if (k->places[i] < 0)
      memset(to, 0, (size_t)bytes);
    else
      cxi_load_row(k->wide, k->lhs->type.type,
                   cxi_view_offset(k->lhs, base + k->places[i]), k->channels,
                   k->conv.channels, to);
}

/* The sums rounded, `step` elements apart. */
static void store(const work *k, int64_t at, int64_t step) {
  const cx_dtype type = k->out->type.type;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(type);
  char *to = (char *)k->out->data + at * bytes;
  for (int64_t o = 0; o < k->conv.features; o++, to += step * bytes) {
    if (k->wide == CX_F32) {
      cxi_element_set(type, to, ((const float *)(const void *)k->sums)[o]);
    } else if (k->wide == CX_F64) {
      cxi_element_set(type, to, ((const double *)(const void *)k->sums)[o]);
    } else {
      const uint64_t sum = ((const uint64_t *)(const void *)k->sums)[o];
      cxi_element_set_int(type, to, type == CX_BOOL ? sum != 0 : (int64_t)sum);
    }
  }
}

/* All positions of one phase in one group. */
static void evaluate_phase(work *k, const cxi_conv_phase *phase,
                           int64_t group) {
  const cxi_conv *c = &k->conv;
  meeting m = { k->wide, 0,      c->taps,   c->channels, c->features,
                k->taps, k->row, k->kernel, k->sums };
  cx_dims counts = { .n = phase->n };
  int64_t at[CX_MAX_DIMS] = { 0 };
  for (int i = 0; i < phase->n; i++) counts.d[i] = phase->lines[i].count;
  do {
    m.n_taps = find_taps(k, phase, at);
    int64_t to = group * k->y.group;
    for (int i = 0; i < phase->n; i++)
      to += (phase->lines[i].first + at[i] * phase->lines[i].step) *
            k->y.space[i];
    for (int64_t b = 0; b < c->batch; b++) {
      gather(k, group * k->x.group + b * k->x.outer, m.n_taps);
      add_up(&m);
      store(k, to + b * k->y.outer, k->y.inner);
    }
  } while (cxi_index_next(&counts, at));
}

bool cxi_conv_evaluate(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_conv_general_dilated_params *p = e->params;
  if (cxi_dims_count(&out->type.shape) == 0) return true;
  work k = { .lhs = &in[0], .rhs = &in[1], .out = out };
  k.conv =
      cxi_conv_of(p, &in[0].type.shape, &in[1].type.shape, &out->type.shape);
  if (k.conv.taps == 0 || k.conv.channels == 0) {
    cxi_view_zero(out);
    return true;
  }
  k.wide = cxi_dot_wide(in[0].type.type, out->type.type);
  k.x = cxi_conv_of_lhs(p, &k.conv, in[0].strides);
  k.w = cxi_conv_of_rhs(p, &k.conv, in[1].strides);
  k.y = cxi_conv_of_out(p, &k.conv, out->strides);
  take_memory(&k, e->workspace);
  for (int64_t group = 0; group < k.conv.groups; group++) {
    pack_kernel(&k, group);
    for (int64_t i = 0; i < k.conv.phases; i++) {
      const cxi_conv_phase phase = cxi_conv_phase_of(&k.conv, i);
      evaluate_phase(&k, &phase, group);
    }
  }
  return true;
}
