/* dot_evaluate.c - dot_general in plain C: pack both sides, then blocks. */
#include <string.h>

#include "base/chain.h"
#include "primitives/dot.h"
#include "primitives/rows.h"

cx_dtype cxi_dot_wide(cx_dtype operands, cx_dtype result) {
  if (!cxi_dtype_is_float(result)) return CX_U64;
  return operands == CX_F64 || result == CX_F64 ? CX_F64 : CX_F32;
}

/* -- the product of packed matrices ---------------------------------------- */

enum { PANEL = 16, ROWS = 4 };

#define ELEMENT float
#define NAME(name) name##_f32
#define FMA __builtin_fmaf
#include "primitives/dot_product.inc"
#define ELEMENT double
#define NAME(name) name##_f64
#define FMA __builtin_fma
#include "primitives/dot_product.inc"
#define ELEMENT uint64_t
#define NAME(name) name##_u64
#define FMA(a, b, c) ((a) * (b) + (c))
#include "primitives/dot_product.inc"

typedef struct matrices {
  cx_dtype wide;
  int64_t m, n, k;
  const void *a, *b;
  void *c;
} matrices;

static inline __attribute__((always_inline)) void
product_of(const matrices *x) {
  if (x->wide == CX_F32) product_f32(x->m, x->n, x->k, x->a, x->b, x->c);
  if (x->wide == CX_F64) product_f64(x->m, x->n, x->k, x->a, x->b, x->c);
  if (x->wide == CX_U64) product_u64(x->m, x->n, x->k, x->a, x->b, x->c);
}

static void product_plain(const matrices *x) {
  product_of(x);
}

#if defined(__x86_64__)
/* The same with the fused instruction: without it fma is a slow function of
 * equal results. */
__attribute__((target("avx2,fma"))) static void
product_fused(const matrices *x) {
  product_of(x);
}

static void multiply(const matrices *x) {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    product_fused(x);
  else
    product_plain(x);
}
#else
static void multiply(const matrices *x) {
  product_plain(x);
}
#endif

/* out[i] = the sum rounded; with `add`, what out holds is added first. */
static void store(cx_dtype wide, const void *sums, int64_t n, bool add,
                  cx_dtype type, void *out) {
  const size_t bytes = cxi_dtype_bytes(type);
  char *at = out;
  if (type == wide && !add) {
    memcpy(out, sums, (size_t)n * bytes);
    return;
  }
  for (int64_t i = 0; i < n; i++, at += bytes) {
    if (wide == CX_F32) {
      const float sum = ((const float *)sums)[i];
      const float before = add ? (float)cxi_element_get(type, at) : 0;
      cxi_element_set(type, at, add ? before + sum : sum);
    } else if (wide == CX_F64) {
      const double sum = ((const double *)sums)[i];
      cxi_element_set(type, at, add ? cxi_element_get(type, at) + sum : sum);
    } else {
      const uint64_t sum = ((const uint64_t *)sums)[i];
      const uint64_t before = add ? (uint64_t)cxi_element_get_int(type, at) : 0;
      const uint64_t total = before + sum;
      cxi_element_set_int(type, at,
                          type == CX_BOOL ? total != 0 : (int64_t)total);
    }
  }
}

/* -- evaluation ------------------------------------------------------------ */

static void pack_rows(cx_dtype wide, const cxi_view *v, int64_t base,
                      cxi_fused rows, cxi_fused columns, void *to) {
  const int64_t bytes = (int64_t)cxi_dtype_bytes(wide);
  for (int64_t i = 0; i < rows.n; i++)
    cxi_load_row(wide, v->type.type, cxi_view_offset(v, base + rows.offsets[i]),
                 columns.offsets, columns.n,
                 (char *)to + i * columns.n * bytes);
}

/* (k, n) in panels: see dot_product.inc. */
static void pack_panels(cx_dtype wide, const cxi_view *v, int64_t base,
                        cxi_fused rows, cxi_fused columns, void *to) {
  const int64_t bytes = (int64_t)cxi_dtype_bytes(wide);
  for (int64_t j = 0; j < columns.n; j += PANEL) {
    const int64_t left = columns.n - j, width = left < PANEL ? left : PANEL;
    for (int64_t i = 0; i < rows.n; i++)
      cxi_load_row(wide, v->type.type,
                   cxi_view_offset(v, base + rows.offsets[i]),
                   columns.offsets + j, width,
                   (char *)to + (j * rows.n + i * width) * bytes);
  }
}

typedef struct extents {
  cx_dims lhs, rhs; /* the axes that stay */
  int64_t batch, m, n, k;
} extents;

static extents extents_of(const cxi_dot_general_params *p, const cxi_view *a,
                          const cxi_view *b) {
  extents e = {
    .lhs = cxi_axes_rest(a->type.shape.n, &p->lhs_contract, &p->lhs_batch),
    .rhs = cxi_axes_rest(b->type.shape.n, &p->rhs_contract, &p->rhs_batch),
    .batch = cxi_fused_count(a, &p->lhs_batch),
    .k = cxi_fused_count(a, &p->lhs_contract),
  };
  e.m = cxi_fused_count(a, &e.lhs);
  e.n = cxi_fused_count(b, &e.rhs);
  return e;
}

/* Offsets, a, b and their product. */
int64_t cxi_dot_workspace(const cxi_dot_general_params *p, const cxi_view *a,
                          const cxi_view *b) {
  const extents e = extents_of(p, a, b);
  const int64_t m = e.m, n = e.n, k = e.k;
  const int64_t offsets = cxi_size_add(
      cxi_size_mul(2, cxi_size_add(e.batch, k)), cxi_size_add(m, n));
  const int64_t elements =
      cxi_size_add(cxi_size_add(offsets, cxi_size_mul(m, n)),
                   cxi_size_add(cxi_size_mul(m, k), cxi_size_mul(k, n)));
  return cxi_size_mul(elements, 8);
}

void cxi_dot_evaluate(const cxi_dot_general_params *p, const cxi_view *a,
                      const cxi_view *b, const cxi_view *addend,
                      const cxi_view *out, void *workspace) {
  if (addend) cxi_view_copy(out, addend);
  if (cxi_dims_count(&out->type.shape) == 0) return;
  const extents e = extents_of(p, a, b);
  const int64_t m = e.m, n = e.n, k = e.k;
  int64_t *room = workspace;
  const cxi_fused a_batch = cxi_fuse_axes(a, &p->lhs_batch, &room);
  const cxi_fused b_batch = cxi_fuse_axes(b, &p->rhs_batch, &room);
  const cxi_fused a_free = cxi_fuse_axes(a, &e.lhs, &room),
                  b_free = cxi_fuse_axes(b, &e.rhs, &room);
  const cxi_fused a_inner = cxi_fuse_axes(a, &p->lhs_contract, &room);
  const cxi_fused b_inner = cxi_fuse_axes(b, &p->rhs_contract, &room);
  void *a_packed = room, *b_packed = room + m * k, *sums = room + m * k + k * n;
  const cx_dtype wide = cxi_dot_wide(a->type.type, out->type.type);
  const matrices x = { wide, m, n, k, a_packed, b_packed, sums };
  const int64_t out_bytes = (int64_t)cxi_dtype_bytes(out->type.type);
  for (int64_t i = 0; i < e.batch; i++) {
    pack_rows(wide, a, a_batch.offsets[i], a_free, a_inner, a_packed);
    pack_panels(wide, b, b_batch.offsets[i], b_inner, b_free, b_packed);
    multiply(&x);
    store(wide, sums, m * n, addend != NULL, out->type.type,
          (char *)out->data + i * m * n * out_bytes);
  }
}
