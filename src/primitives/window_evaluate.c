/* window_evaluate.c - windows in plain C: one pass over the results for each
 * element of the window. */
#include <math.h>
#include <string.h>

#include "base/math.h"
#include "primitives/rows.h"
#include "primitives/window.h"

#define T float
#define MATH(name) cxi_##name##_f32
#define NAME(name) name##_f32
#include "primitives/window.inc"
#define T double
#define MATH(name) cxi_##name##_f64
#define NAME(name) name##_f64
#include "primitives/window.inc"
#define T int64_t
#define MATH(name) cxi_##name##_i64
#define NAME(name) name##_i64
#include "primitives/window.inc"
#define T uint64_t
#define MATH(name) cxi_##name##_u64
#define NAME(name) name##_u64
#include "primitives/window.inc"

/* What elements of a dtype are computed as, and how. */
typedef struct arithmetic {
  cx_dtype wide; /* f32, f64, i64 or u64 */
  void (*sum)(const cxi_window_walk *, const void *, void *);
  void (*max)(const cxi_window_walk *, const void *, void *);
  void (*min)(const cxi_window_walk *, const void *, void *);
  void (*choose)(const cxi_window_walk *, const void *, bool, int64_t *);
  void (*add_to)(int64_t, const int64_t *, const void *, void *);
} arithmetic;

static const arithmetic *arithmetic_of(cx_dtype type) {
  static const arithmetic f32 = { CX_F32,  sum_f32,    max_f32,
                                  min_f32, choose_f32, add_to_f32 };
  static const arithmetic f64 = { CX_F64,  sum_f64,    max_f64,
                                  min_f64, choose_f64, add_to_f64 };
  static const arithmetic i64 = { CX_I64,  sum_i64,    max_i64,
                                  min_i64, choose_i64, add_to_i64 };
  static const arithmetic u64 = { CX_U64,  sum_u64,    max_u64,
                                  min_u64, choose_u64, add_to_u64 };
  if (type == CX_F64) return &f64;
  if (cxi_dtype_is_float(type)) return &f32;
  return cxi_dtype_kind(type) == CXI_SIGNED ? &i64 : &u64;
}

/* -- dense arrays of wide numbers ------------------------------------------ */

static int64_t count_of(const cxi_view *v) {
  return cxi_dims_count(&v->type.shape);
}

/* -- the workspace --------------------------------------------------------
 * Parts one after the other: operands as dense numbers, results before they are
 * rounded, places that are chosen. */

typedef char *workspace;

static int64_t part_bytes(int64_t n, size_t bytes) {
  const int64_t all = cxi_size_add(cxi_size_mul(n, (int64_t)bytes), 63);
  return all < 0 ? -1 : all / 64 * 64;
}

static void *take(workspace *room, int64_t n, size_t bytes) {
  void *part = *room;
  *room += part_bytes(n, bytes);
  return part;
}

/* Whether the elements stand there already as numbers of the dtype `wide`; 0:
 * as they are. */
static bool is_ready(const cxi_view *v, cx_dtype wide) {
  return (wide == 0 || wide == v->type.type) && cxi_view_is_dense(v);
}

/* A copy, and the offsets it is made with. */
static int64_t dense_bytes(const cxi_view *v, cx_dtype wide) {
  const int64_t n = count_of(v);
  if (is_ready(v, wide)) return 0;
  if (wide == 0 || wide == v->type.type)
    return part_bytes(n, cxi_dtype_bytes(v->type.type));
  return cxi_size_mul(2, part_bytes(n, 8));
}

/* The elements in row-major order as numbers of the dtype `wide`, or as they
 * are if that is 0: the view's own, or a copy. */
static const void *dense(const cxi_view *v, cx_dtype wide, workspace *room) {
  const cx_dtype type = v->type.type;
  const int64_t n = count_of(v);
  if (is_ready(v, wide)) return v->data;
  if (wide == 0 || wide == type) {
    void *copy = take(room, n, cxi_dtype_bytes(type));
    const cxi_view to = cxi_view_dense(v->type, copy);
    cxi_view_copy(&to, v);
    return copy;
  }
  void *copy = take(room, n, 8);
  int64_t *offsets = take(room, n, 8), *rest = offsets;
  const cx_dims all = cxi_dims_range(0, v->type.shape.n);
  cxi_fuse_axes(v, &all, &rest);
  cxi_load_row(wide, type, v->data, offsets, n, copy);
  return copy;
}

static int64_t wide_bytes(const cxi_view *out, cx_dtype wide) {
  return out->type.type == wide ? 0 : part_bytes(count_of(out), 8);
}

/* Wide numbers to be stored in a dense view: its own memory if it holds them,
 * else a part from which store_wide takes them. */
static void *wide_result(const cxi_view *out, cx_dtype wide, workspace *room) {
  return out->type.type == wide ? out->data : take(room, count_of(out), 8);
}

static void store_wide(const cxi_view *out, cx_dtype wide,
                       const void *wide_numbers) {
  const cx_dtype type = out->type.type;
  if (type == wide) return;
  const float *f = wide_numbers;
  const int64_t *i64 = wide_numbers;
  char *to = out->data;
  const size_t bytes = cxi_dtype_bytes(type);
  for (int64_t i = 0, n = count_of(out); i < n; i++, to += bytes) {
    if (wide == CX_F32)
      cxi_element_set(type, to, f[i]);
    else
      cxi_element_set_int(type, to, i64[i]);
  }
}

/* -- reduce_window_sum, _max, _min ----------------------------------------- */

/* The least (sign -1) or greatest (1) number of an integer dtype or bool, in
 * two's complement. */
static uint64_t last_integer(cx_dtype type, int sign) {
  const int bits = type == CX_BOOL ? 1 : 8 * (int)cxi_dtype_bytes(type);
  const uint64_t all = UINT64_MAX >> (64 - bits);
  if (cxi_dtype_kind(type) != CXI_SIGNED) return sign > 0 ? all : 0;
  return sign > 0 ? all >> 1 : ~(all >> 1);
}

/* What joins to x: 0, or what is never greater (max) or less (min). */
static void fill_neutral(cxi_prim prim, cx_dtype type, cx_dtype wide, int64_t n,
                         void *to) {
  const int sign = prim == CXI_PRIM_reduce_window_max   ? -1
                   : prim == CXI_PRIM_reduce_window_min ? 1
                                                        : 0;
  const double end = sign ? sign * (double)INFINITY : 0;
  const uint64_t whole = sign ? last_integer(type, sign) : 0;
  for (int64_t i = 0; i < n; i++) {
    if (wide == CX_F32)
      ((float *)to)[i] = (float)end;
    else if (wide == CX_F64)
      ((double *)to)[i] = end;
    else
      ((uint64_t *)to)[i] = whole;
  }
}

int64_t cxi_reduce_window_workspace(const cxi_eval *e, const cxi_view *in,
                                    const cxi_view *out) {
  (void)e;
  const cx_dtype wide = arithmetic_of(in[0].type.type)->wide;
  return cxi_size_add(dense_bytes(&in[0], wide), wide_bytes(&out[0], wide));
}

bool cxi_evaluate_reduce_window(cxi_eval *e, const cxi_view *in,
                                cxi_view *out) {
  const cxi_prim prim = e->row->prim;
  const arithmetic *a = arithmetic_of(in[0].type.type);
  workspace room = e->workspace;
  const void *x = dense(&in[0], a->wide, &room);
  void *y = wide_result(&out[0], a->wide, &room);
  fill_neutral(prim, in[0].type.type, a->wide, count_of(&out[0]), y);
  cxi_window_walk walk =
      cxi_window_start(e->params, &in[0].type.shape, &out[0].type.shape);
  while (cxi_window_next(&walk)) {
    if (prim == CXI_PRIM_reduce_window_sum)
      a->sum(&walk, x, y);
    else if (prim == CXI_PRIM_reduce_window_max)
      a->max(&walk, x, y);
    else
      a->min(&walk, x, y);
  }
  store_wide(&out[0], a->wide, y);
  return true;
}

/* -- select_and_gather_add, select_and_scatter_add ------------------------ */

static int64_t choose_bytes(const cxi_view *x, const cx_dims *windows) {
  return cxi_size_add(dense_bytes(x, arithmetic_of(x->type.type)->wide),
                      part_bytes(cxi_dims_count(windows), 8));
}

/* For each window of x the place in x of what is chosen there, or -1. */
static int64_t *choose(const cxi_window *w, bool least, const cxi_view *x,
                       const cx_dims *windows, workspace *room) {
  const arithmetic *a = arithmetic_of(x->type.type);
  const int64_t n = cxi_dims_count(windows);
  const void *from = dense(x, a->wide, room);
  int64_t *chosen = take(room, n, 8);
  for (int64_t i = 0; i < n; i++) chosen[i] = -1;
  cxi_window_walk walk = cxi_window_start(w, &x->type.shape, windows);
  while (cxi_window_next(&walk)) a->choose(&walk, from, least, chosen);
  return chosen;
}

int64_t cxi_select_gather_workspace(const cxi_eval *e, const cxi_view *in,
                                    const cxi_view *out) {
  (void)e;
  return cxi_size_add(dense_bytes(&in[0], 0),
                      choose_bytes(&in[1], &out[0].type.shape));
}

bool cxi_evaluate_select_gather(cxi_eval *e, const cxi_view *in,
                                cxi_view *out) {
  const cxi_select_and_gather_add_params *p = e->params;
  const size_t bytes = cxi_dtype_bytes(out[0].type.type);
  workspace room = e->workspace;
  const char *y = dense(&in[0], 0, &room);
  const int64_t *chosen =
      choose(e->params, p->least, &in[1], &out[0].type.shape, &room);
  char *to = out[0].data;
  for (int64_t i = 0, n = count_of(&out[0]); i < n; i++, to += bytes) {
    if (chosen[i] >= 0)
      memcpy(to, y + (size_t)chosen[i] * bytes, bytes);
    else
      memset(to, 0, bytes);
  }
  return true;
}

int64_t cxi_select_scatter_workspace(const cxi_eval *e, const cxi_view *in,
                                     const cxi_view *out) {
  (void)e;
  const cx_dtype wide = arithmetic_of(in[0].type.type)->wide;
  return cxi_size_add(
      cxi_size_add(dense_bytes(&in[0], wide), wide_bytes(&out[0], wide)),
      choose_bytes(&in[1], &in[0].type.shape));
}

bool cxi_evaluate_select_scatter(cxi_eval *e, const cxi_view *in,
                                 cxi_view *out) {
  const cxi_select_and_scatter_add_params *p = e->params;
  const arithmetic *a = arithmetic_of(in[0].type.type);
  const int64_t n = count_of(&out[0]);
  workspace room = e->workspace;
  const void *y = dense(&in[0], a->wide, &room);
  const int64_t *chosen =
      choose(e->params, p->least, &in[1], &in[0].type.shape, &room);
  void *to = wide_result(&out[0], a->wide, &room);
  memset(to, 0, (size_t)n * (a->wide == CX_F32 ? 4 : 8));
  a->add_to(count_of(&in[0]), chosen, y, to);
  store_wide(&out[0], a->wide, to);
  return true;
}
