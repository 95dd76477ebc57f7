/* random_gamma.c - the row of gamma variates.
 *
 * Marsaglia & Tsang, "A simple method for generating gamma variables", 2000,
 * with the keys drawn in JAX's order. Its derivative is implicit: along it the
 * distribution function stays (Figurnov, Mohamed & Mnih, arXiv:1805.08498). */
#include <float.h>

#include "base/math.h"
#include "primitives/families.h"
#include "primitives/moves.h"
#include "base/threefry.h"

/* -- one variate ----------------------------------------------------------- */

/* f16 and bf16 are held in f32 and rounded after each operation: the draws that
 * are rejected are those of the dtype. */
static float round_f16(float x) {
  return cxi_f16_widen(cxi_f16_round(x));
}
static float round_bf16(float x) {
  return cxi_bf16_widen(cxi_bf16_round(x));
}
static float round_f32(float x) {
  return x;
}
static double round_f64(double x) {
  return x;
}

static uint32_t word_of(cxi_word_pair key) {
  const cxi_word_pair y = cxi_threefry(key, cxi_counter(0));
  return y.a ^ y.b;
}
/* Random bits become the fraction of a number in [1, 2). bf16 has so few of
 * them that 8 bits are drawn. */
static float uniform_f16(cxi_word_pair key) {
  const uint32_t fraction = (word_of(key) & 0xffff) >> 6;
  return cxi_f16_widen((uint16_t)(fraction | 0x3c00)) - 1.0f;
}
static float uniform_bf16(cxi_word_pair key) {
  const uint32_t fraction = (word_of(key) & 0xff) >> 1;
  return cxi_bf16_widen((uint16_t)(fraction | 0x3f80)) - 1.0f;
}
static float uniform_f32(cxi_word_pair key) {
  return cxi_f32_of_bits(word_of(key) >> 9 | 0x3f800000) - 1.0f;
}
static double uniform_f64(cxi_word_pair key) {
  const cxi_word_pair y = cxi_threefry(key, cxi_counter(0));
  const uint64_t bits = (uint64_t)y.a << 32 | y.b;
  return cxi_f64_of_bits(bits >> 12 | UINT64_C(0x3ff0000000000000)) - 1.0;
}

static const float SQRT_2_f16 = 1.41421356f;
static const float SQRT_2_bf16 = 1.41421356f;
static const float SQRT_2_f32 = 1.41421356f;
static const double SQRT_2_f64 = 1.4142135623730951;
static const float ABOVE_MINUS_ONE_f16 = -1.0f + 0x1p-11f;
static const float ABOVE_MINUS_ONE_bf16 = -1.0f + 0x1p-8f;
static const float ABOVE_MINUS_ONE_f32 = -1.0f + FLT_EPSILON / 2;
static const double ABOVE_MINUS_ONE_f64 = -1.0 + DBL_EPSILON / 2;

#define NUMBER float
#define NAME(name) name##_f16
#define MATH(name) cxi_##name##_f32
#include "primitives/random_gamma.inc"

#define NUMBER float
#define NAME(name) name##_bf16
#define MATH(name) cxi_##name##_f32
#include "primitives/random_gamma.inc"

#define NUMBER float
#define NAME(name) name##_f32
#define MATH(name) cxi_##name##_f32
#include "primitives/random_gamma.inc"

#define NUMBER double
#define NAME(name) name##_f64
#define MATH(name) cxi_##name##_f64
#include "primitives/random_gamma.inc"

static double gamma_of_dtype(cx_dtype type, cxi_word_pair key, double a,
                             bool log_space) {
  return type == CX_F64    ? gamma_f64(key, a, log_space)
         : type == CX_F32  ? (double)gamma_f32(key, (float)a, log_space)
         : type == CX_BF16 ? (double)gamma_bf16(key, (float)a, log_space)
                           : (double)gamma_f16(key, (float)a, log_space);
}

/* -- random_gamma: a gamma variate for each a, from a key for each row ---- */

/* The keys' shape is the beginning of that of a. */
static bool infer_random_gamma(cxi_infer *c) {
  if (!cxi_infer_count(c, 2) || !cxi_infer_kind(c, 1, CXI_ACCEPT_FLOAT))
    return false;
  if (cxi_type_dtype(c->in[0]) != CX_KEY)
    return cxi_infer_fail(c, CX_EDTYPE, "needs random keys, got %s",
                          cxi_show_type(c->in[0]).s);
  const cx_dims *keys = cxi_type_shape(c->in[0]), *a = cxi_type_shape(c->in[1]);
  bool begins = keys->n <= a->n;
  for (int i = 0; begins && i < keys->n; i++) begins = keys->d[i] == a->d[i];
  if (!begins)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "the keys' shape must begin that of a: %s and %s",
                          cxi_show_type(c->in[0]).s, cxi_show_type(c->in[1]).s);
  return cxi_infer_result(c, c->in[1]);
}

/* d x / d a, divided by x for its logarithm; where x is too small to be a
 * number, by the smallest normal one. */
static void jvp_random_gamma(const cxi_rule *r, const cx *in, const cx *dx,
                             cx *out, cx *dout) {
  const cxi_random_gamma_params *p = r->params;
  cx x = out[0];
  if (p->log_space) {
    const cx_dtype type = cxi_dtype_at(x);
    const double least = type == CX_F64   ? DBL_MIN
                         : type == CX_F16 ? 0x1p-14
                                          : (double)FLT_MIN;
    x = cxi_unary(CXI_PRIM_exp, x);
    const cx none = cxi_compare(CXI_PRIM_eq, x, cxi_number_like(x, 0));
    x = cxi_select(none, x, cxi_full(cxi_type_at(x), least));
  }
  const cx slope = cxi_binary(CXI_PRIM_random_gamma_grad, in[1], x);
  dout[0] = cxi_mul(dx[1], p->log_space ? cxi_div(slope, x) : slope);
}

/* Both batched at the front: a key shared by the batch gives each element of
 * it what it gives alone. */
static void batch_random_gamma(const cxi_rule *r, const cx *in, const int *axis,
                               int64_t size, cx *out, int *out_axis) {
  cx both[2];
  for (int i = 0; i < 2; i++) both[i] = cxi_batch_to(in[i], axis[i], 0, size);
  out[0] = cxi_emit1(r->row->prim, r->params, 2, both);
  out_axis[0] = 0;
}

/* A key is split into one for each of its elements of a. */
static bool evaluate_random_gamma(cxi_eval *eval, const cxi_view *in,
                                  cxi_view *out) {
  const cxi_random_gamma_params *p = eval->params;
  const cx_dims *shape = &in[1].type.shape, *rows = &in[0].type.shape;
  const cx_dtype type = out[0].type.type;
  const size_t bytes = cxi_dtype_bytes(type);
  const int64_t count = cxi_dims_count(shape), n_keys = cxi_dims_count(rows);
  if (count == 0) return true;
  const int64_t per_key = count / n_keys;
  int64_t row[CX_MAX_DIMS] = { 0 }, index[CX_MAX_DIMS] = { 0 };
  char *to = out[0].data;
  for (int64_t k = 0; k < n_keys; k++, cxi_index_next(rows, row)) {
    const cxi_word_pair *key = cxi_view_element(&in[0], row, sizeof *key);
    for (int64_t i = 0; i < per_key; i++, to += bytes) {
      const cxi_word_pair own = cxi_threefry(*key, cxi_counter((uint64_t)i));
      const double a =
          cxi_element_get(type, cxi_view_element(&in[1], index, bytes));
      cxi_element_set(type, to, gamma_of_dtype(type, own, a, p->log_space));
      cxi_index_next(shape, index);
    }
  }
  return true;
}
/* The derivative is not that of the samples of one key, which jump: the
 * examples in f32 and f64 have none (tests/special_test.c tests it). */
static const char *const examples_random_gamma[] = {
  "program @f(%0: key[]) { "
  "%1: f32[2,3] = iota[type=f32, shape=(2,3), axis=1] "
  "%2: f32[2,3] = add %1, 0.5:f32 "
  "%3: f32[2,3] = random_gamma[log_space=false] %0, %2 return %3 }",
  "program @f(%0: key[2]) { "
  "%1: f64[2,3] = iota[type=f64, shape=(2,3), axis=1] "
  "%2: f64[2,3] = add %1, 0.5:f64 "
  "%3: f64[2,3] = random_gamma[log_space=true] %0, %2 return %3 }",
  "program @f(%0: key[2], %1: bf16[2]) { "
  "%2: bf16[2] = random_gamma[log_space=false] %0, %1 return %2 }",
  "program @f(%0: key[], %1: f16[]) { "
  "%2: f16[] = random_gamma[log_space=true] %0, %1 return %2 }",
  "program @f(%0: key[2], %1: f16[2,0]) { "
  "%2: f16[2,0] = random_gamma[log_space=true] %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_random_gamma = {
  .prim = CXI_PRIM_random_gamma,
  .form = CXI_FORM_SOURCE,
  .formula = "gamma variates of shape a, or their logarithms; keys, a",
  .infer = infer_random_gamma,
  .jvp = jvp_random_gamma,
  .no_transpose = "not linear",
  .batch = batch_random_gamma,
  .evaluate = evaluate_random_gamma,
  .examples = examples_random_gamma,
  .lo = 0.3,
  .hi = 4,
};
