/* cumulate_evaluate.c - cumsum and its like in plain C. */
#include <math.h>

#include "base/math.h"
#include "primitives/cumulate.h"

/* Lines side by side, and apart. */
enum { COLUMNS = 256, TOGETHER = 8 };

/* `count` lines, up to COLUMNS, whose elements are `apart` from those of the
 * line before. A line has n elements, each `step` after the one before. */
typedef struct line {
  const void *from;
  void *to;
  int64_t n, step, count, apart;
} line;

typedef void prefixes(const line *l);

#define KEEP(x) (x)

#define T uint16_t
#define NUMBER float
#define LOAD cxi_f16_widen
#define STORE cxi_f16_round
#define MATH(name) cxi_##name##_f32
#define NAME(name) name##_f16
#include "primitives/cumulate_float.inc"
#define T uint16_t
#define NUMBER float
#define LOAD cxi_bf16_widen
#define STORE cxi_bf16_round
#define MATH(name) cxi_##name##_f32
#define NAME(name) name##_bf16
#include "primitives/cumulate_float.inc"
#define T float
#define NUMBER float
#define LOAD KEEP
#define STORE KEEP
#define MATH(name) cxi_##name##_f32
#define NAME(name) name##_f32
#include "primitives/cumulate_float.inc"
#define T double
#define NUMBER double
#define LOAD KEEP
#define STORE KEEP
#define MATH(name) cxi_##name##_f64
#define NAME(name) name##_f64
#include "primitives/cumulate_float.inc"

#define T int8_t
#define NUMBER int8_t
#define LOAD KEEP
#define STORE KEEP
#define MATH(name) cxi_##name##_i8
#define NAME(name) name##_i8
#include "primitives/cumulate.inc"
#define T uint8_t
#define NUMBER uint8_t
#define LOAD KEEP
#define STORE KEEP
#define MATH(name) cxi_##name##_u8
#define NAME(name) name##_u8
#include "primitives/cumulate.inc"
#define T int16_t
#define NUMBER int16_t
#define LOAD KEEP
#define STORE KEEP
#define MATH(name) cxi_##name##_i16
#define NAME(name) name##_i16
#include "primitives/cumulate.inc"
#define T uint16_t
#define NUMBER uint16_t
#define LOAD KEEP
#define STORE KEEP
#define MATH(name) cxi_##name##_u16
#define NAME(name) name##_u16
#include "primitives/cumulate.inc"
#define T int32_t
#define NUMBER int32_t
#define LOAD KEEP
#define STORE KEEP
#define MATH(name) cxi_##name##_i32
#define NAME(name) name##_i32
#include "primitives/cumulate.inc"
#define T uint32_t
#define NUMBER uint32_t
#define LOAD KEEP
#define STORE KEEP
#define MATH(name) cxi_##name##_u32
#define NAME(name) name##_u32
#include "primitives/cumulate.inc"
#define T int64_t
#define NUMBER int64_t
#define LOAD KEEP
#define STORE KEEP
#define MATH(name) cxi_##name##_i64
#define NAME(name) name##_i64
#include "primitives/cumulate.inc"
#define T uint64_t
#define NUMBER uint64_t
#define LOAD KEEP
#define STORE KEEP
#define MATH(name) cxi_##name##_u64
#define NAME(name) name##_u64
#include "primitives/cumulate.inc"

#undef KEEP

enum { SUM, PROD, MAX, MIN, LOGSUMEXP, KINDS };

static prefixes *const table[CXI_N_DTYPES][KINDS] = {
  [CX_I8] = { sum_i8, prod_i8, max_i8, min_i8, NULL },
  [CX_U8] = { sum_u8, prod_u8, max_u8, min_u8, NULL },
  [CX_I16] = { sum_i16, prod_i16, max_i16, min_i16, NULL },
  [CX_U16] = { sum_u16, prod_u16, max_u16, min_u16, NULL },
  [CX_I32] = { sum_i32, prod_i32, max_i32, min_i32, NULL },
  [CX_U32] = { sum_u32, prod_u32, max_u32, min_u32, NULL },
  [CX_I64] = { sum_i64, prod_i64, max_i64, min_i64, NULL },
  [CX_U64] = { sum_u64, prod_u64, max_u64, min_u64, NULL },
  [CX_F16] = { sum_f16, prod_f16, max_f16, min_f16, logsumexp_f16 },
  [CX_BF16] = { sum_bf16, prod_bf16, max_bf16, min_bf16, logsumexp_bf16 },
  [CX_F32] = { sum_f32, prod_f32, max_f32, min_f32, logsumexp_f32 },
  [CX_F64] = { sum_f64, prod_f64, max_f64, min_f64, logsumexp_f64 },
};

static prefixes *prefixes_of(cxi_prim prim, cx_dtype type) {
  switch (prim) {
  case CXI_PRIM_cumsum:
    return table[type][SUM];
  case CXI_PRIM_cumprod:
    return table[type][PROD];
  case CXI_PRIM_cummax:
    return table[type][MAX];
  case CXI_PRIM_cummin:
    return table[type][MIN];
  default:
    return table[type][LOGSUMEXP];
  }
}

/* The lines from the element `start` on. */
static void run_lines(prefixes *run, const line *l, int64_t start,
                      int64_t count, int64_t bytes) {
  for (int64_t c = 0; c < count; c += COLUMNS) {
    line part = *l;
    const int64_t offset = (start + c * l->apart) * bytes;
    part.from = (const char *)l->from + offset;
    part.to = (char *)l->to + offset;
    part.count = count - c < COLUMNS ? count - c : COLUMNS;
    run(&part);
  }
}

/* The array is (outer, n, inner): with inner == 1 lines lie behind each other,
 * else side by side. */
bool cxi_evaluate_cumulate(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_cumsum_params *p = e->params;
  const cx_dims *shape = &out[0].type.shape;
  const int64_t n = shape->d[p->axis], count = cxi_dims_count(shape);
  const int64_t bytes = (int64_t)cxi_dtype_bytes(out[0].type.type);
  if (count == 0) return true;
  prefixes *run = prefixes_of(e->row->prim, out[0].type.type);
  int64_t inner = 1;
  for (int i = (int)p->axis + 1; i < shape->n; i++) inner *= shape->d[i];
  line l = { .from = in[0].data, .to = out[0].data, .n = n, .step = inner };
  if (!cxi_view_is_dense(&in[0])) {
    cxi_view_copy(&out[0], &in[0]);
    l.from = l.to;
  }
  int64_t start = 0;
  if (p->reverse) start = (n - 1) * inner, l.step = -inner;
  l.apart = inner == 1 ? n : 1;
  if (inner == 1) {
    run_lines(run, &l, start, count / n, bytes);
    return true;
  }
  for (int64_t outer = 0; outer < count; outer += n * inner)
    run_lines(run, &l, outer + start, inner, bytes);
  return true;
}
