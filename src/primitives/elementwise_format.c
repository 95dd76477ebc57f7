/* elementwise_format.c - rows on the bits of integers and floats: counts,
 * upper halves, neighbours, fewer places. */
#include <inttypes.h>

#include "primitives/families.h"
#include "primitives/kernels.h"

static bool infer_unary_integer(cxi_infer *c) {
  return cxi_infer_elementwise(c, 1, CXI_ACCEPT_INTEGER, 0);
}

/* -- population_count: the number of bits set ------------------------------ */
static const char *const examples_population_count[] = {
  "program @f(%0: i32[2,3]) { %1: i32[2,3] = population_count %0 return %1 }",
  "program @f(%0: u8[]) { %1: u8[] = population_count %0 return %1 }",
  "program @f(%0: i64[5]) { %1: i64[5] = population_count %0 return %1 }",
  "program @f(%0: u16[0,2]) { %1: u16[0,2] = population_count %0 return %1 }",
  "program @f(%0: i8[7]) { %1: i8[7] = population_count %0 return %1 }",
  NULL
};
const cxi_row cxi_row_population_count = {
  .prim = CXI_PRIM_population_count,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the number of bits set",
  .infer = infer_unary_integer,
  .no_jvp = "bools and integers have no tangent",
  .no_transpose = "bools and integers have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_population_count,
};

/* -- clz: the number of zeros above the highest bit set -------------------- */
static const char *const examples_clz[] = {
  "program @f(%0: i32[2,3]) { %1: i32[2,3] = clz %0 return %1 }",
  "program @f(%0: u8[]) { %1: u8[] = clz %0 return %1 }",
  "program @f(%0: i64[5]) { %1: i64[5] = clz %0 return %1 }",
  "program @f(%0: u16[0,2]) { %1: u16[0,2] = clz %0 return %1 }",
  "program @f(%0: i8[7]) { %1: i8[7] = clz %0 return %1 }",
  NULL
};
const cxi_row cxi_row_clz = {
  .prim = CXI_PRIM_clz,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the number of zeros above the highest bit set",
  .infer = infer_unary_integer,
  .no_jvp = "bools and integers have no tangent",
  .no_transpose = "bools and integers have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_clz,
};

/* -- mulhi: the upper half of x y ------------------------------------------ */
static const char *const examples_mulhi[] = {
  "program @f(%0: i32[2,3], %1: i32[2,3]) { "
  "%2: i32[2,3] = mulhi %0, %1 return %2 }",
  "program @f(%0: u32[], %1: u32[4]) { "
  "%2: u32[4] = mulhi %0, %1 return %2 }",
  "program @f(%0: i8[3], %1: i8[]) { "
  "%2: i8[3] = mulhi %0, %1 return %2 }",
  "program @f(%0: u64[5], %1: u64[5]) { "
  "%2: u64[5] = mulhi %0, %1 return %2 }",
  "program @f(%0: i64[0], %1: i64[0]) { "
  "%2: i64[0] = mulhi %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_mulhi = {
  .prim = CXI_PRIM_mulhi,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the upper half of x y",
  .infer = cxi_infer_binary_integer,
  .no_jvp = "bools and integers have no tangent",
  .no_transpose = "bools and integers have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_mulhi,
};

/* -- nextafter: the number beside x, towards y ----------------------------- */
static const char *const examples_nextafter[] = {
  "program @f(%0: f32[2,3], %1: f32[2,3]) { "
  "%2: f32[2,3] = nextafter %0, %1 return %2 }",
  "program @f(%0: f64[], %1: f64[4]) { "
  "%2: f64[4] = nextafter %0, %1 return %2 }",
  "program @f(%0: bf16[3], %1: bf16[]) { "
  "%2: bf16[3] = nextafter %0, %1 return %2 }",
  "program @f(%0: f16[5], %1: f16[5]) { "
  "%2: f16[5] = nextafter %0, %1 return %2 }",
  "program @f(%0: f32[0], %1: f32[0]) { "
  "%2: f32[0] = nextafter %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_nextafter = {
  .prim = CXI_PRIM_nextafter,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the number beside x, towards y",
  .infer = cxi_infer_binary_float,
  .no_jvp = "not differentiable: a step of the representation",
  .no_transpose = "not linear",
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_nextafter,
};

/* -- reduce_precision(x; exponent_bits, mantissa_bits): x as a number of such a
 *    format. Counts as linear: tangents and cotangents lose the same bits --- */
static bool infer_reduce_precision(cxi_infer *c) {
  const cxi_reduce_precision_params *p = c->params;
  if (p->exponent_bits < 1 || p->mantissa_bits < 0)
    return cxi_infer_fail(c, CX_EDTYPE,
                          "exponents of %" PRId64 " bits, mantissas of %" PRId64
                          "; at least 1 and 0",
                          p->exponent_bits, p->mantissa_bits);
  return cxi_infer_unary_float(c);
}
static void transpose_reduce_precision(const cxi_rule *r, const cx *in,
                                       const cx *ct, cx *acc) {
  (void)in;
  const cxi_reduce_precision_params *p = r->params;
  if (cx_is_none(ct[0])) return;
  cxi_accumulate(
      r, 0, cxi_reduce_precision(ct[0], p->exponent_bits, p->mantissa_bits),
      acc);
}
/* Differences of rounded numbers say nothing: in f32 all bits are kept. */
static const char *const examples_reduce_precision[] = {
  "program @f(%0: f32[2,3]) { %1: f32[2,3] = reduce_precision["
  "exponent_bits=11, mantissa_bits=52] %0 return %1 }",
  "program @f(%0: bf16[5]) { %1: bf16[5] = reduce_precision["
  "exponent_bits=5, mantissa_bits=2] %0 return %1 }",
  "program @f(%0: f16[2,2]) { %1: f16[2,2] = reduce_precision["
  "exponent_bits=4, mantissa_bits=0] %0 return %1 }",
  "program @f(%0: f64[]) { %1: f64[] = reduce_precision["
  "exponent_bits=11, mantissa_bits=60] %0 return %1 }",
  NULL
};
const cxi_row cxi_row_reduce_precision = {
  .prim = CXI_PRIM_reduce_precision,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "x with fewer bits of exponent and mantissa",
  .infer = infer_reduce_precision,
  .jvp = cxi_jvp_linear,
  .transpose = transpose_reduce_precision,
  .batch = cxi_batch_elementwise,
  .evaluate = cxi_evaluate_elementwise,
  .in_place = 1,
  .examples = examples_reduce_precision,
};
