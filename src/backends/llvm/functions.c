/* functions.c - elementary functions of f32, a register full at a time.
 *
 * Each is the function of base/math_f32.h by the same name, operation by
 * operation: all of them are exactly rounded, so that the bits are those of
 * the kernels. What an operation is for is said there. Without an instruction
 * to multiply and add none is taken: LLVM would call the C library. */
#include "backends/llvm/emit.h"

#include <math.h>

typedef LLVMValueRef V;

typedef struct math {
  cxi_codegen *e;
  int lanes;
  LLVMTypeRef real, word; /* f32 and i32, as many as there are lanes */
} math;

/* -- operations ------------------------------------------------------------ */

static V real(const math *m, double x) {
  return cxi_constant(m->e, m->real, x);
}
static V word(const math *m, uint32_t x) {
  return cxi_integer_of(m->e, m->word, x);
}
static V add(const math *m, V a, V b) {
  return LLVMBuildFAdd(m->e->b, a, b, "");
}
static V sub(const math *m, V a, V b) {
  return LLVMBuildFSub(m->e->b, a, b, "");
}
static V mul(const math *m, V a, V b) {
  return LLVMBuildFMul(m->e->b, a, b, "");
}
static V quotient(const math *m, V a, V b) {
  return LLVMBuildFDiv(m->e->b, a, b, "");
}
static V neg(const math *m, V a) {
  return LLVMBuildFNeg(m->e->b, a, "");
}
static V fma_(const math *m, V a, V b, V c) {
  V in[] = { a, b, c };
  return cxi_intrinsic(m->e, "llvm.fma", m->real, in, 3);
}
static V size_of(const math *m, V x) {
  return cxi_intrinsic(m->e, "llvm.fabs", m->real, &x, 1);
}
static V with_sign(const math *m, V magnitude, V sign) {
  V in[] = { magnitude, sign };
  return cxi_intrinsic(m->e, "llvm.copysign", m->real, in, 2);
}
static V less(const math *m, V a, double b) {
  return LLVMBuildFCmp(m->e->b, LLVMRealOLT, a, real(m, b), "");
}
static V more(const math *m, V a, double b) {
  return LLVMBuildFCmp(m->e->b, LLVMRealOGT, a, real(m, b), "");
}
static V equal(const math *m, V a, double b) {
  return LLVMBuildFCmp(m->e->b, LLVMRealOEQ, a, real(m, b), "");
}
static V pick(const math *m, V which, V yes, V no) {
  return LLVMBuildSelect(m->e->b, which, yes, no, "");
}
static V at_most(const math *m, V x, double limit) {
  return pick(m, more(m, x, limit), real(m, limit), x);
}
static V at_least(const math *m, V x, double limit) {
  return pick(m, less(m, x, limit), real(m, limit), x);
}

static V bits_of(const math *m, V x) {
  return LLVMBuildBitCast(m->e->b, x, m->word, "");
}
static V of_bits(const math *m, V x) {
  return LLVMBuildBitCast(m->e->b, x, m->real, "");
}
static V plus(const math *m, V a, uint32_t b) {
  return LLVMBuildAdd(m->e->b, a, word(m, b), "");
}
static V minus(const math *m, V a, V b) {
  return LLVMBuildSub(m->e->b, a, b, "");
}
static V up(const math *m, V a, uint32_t by) {
  return LLVMBuildShl(m->e->b, a, word(m, by), "");
}
static V down(const math *m, V a, uint32_t by) { /* keeps the sign */
  return LLVMBuildAShr(m->e->b, a, word(m, by), "");
}
static V to_real(const math *m, V whole) {
  return LLVMBuildSIToFP(m->e->b, whole, m->real, "");
}

/* c[0] x^(n - 1) + ... + c[n - 1] by Horner's rule, fused. */
static V polynomial(const math *m, V x, int n, const double *c) {
  V p = real(m, c[0]);
  for (int i = 1; i < n; i++) p = fma_(m, p, x, real(m, c[i]));
  return p;
}
#define POLYNOMIAL(x, ...)                                           \
  polynomial(m, x, sizeof(double[]){ __VA_ARGS__ } / sizeof(double), \
             (double[]){ __VA_ARGS__ })

/* -- parts ----------------------------------------------------------------- */

#define ROUNDER 0x1.8p23

static V scale(const math *m, V p, V k) {
  const V half = down(m, k, 1);
  const V a = of_bits(m, up(m, plus(m, half, 127), 23));
  const V b = of_bits(m, up(m, plus(m, minus(m, k, half), 127), 23));
  return mul(m, mul(m, p, a), b);
}

static V exp_reduce(const math *m, V x, V *out_k, V *out_low) {
  const V sum = fma_(m, x, real(m, 0x1.715476p0), real(m, ROUNDER));
  const V k = neg(m, sub(m, sum, real(m, ROUNDER)));
  *out_k = plus(m, bits_of(m, sum), -0x4b400000u);
  const V first = fma_(m, k, real(m, 0x1.62e43p-1), x);
  const V r = fma_(m, k, real(m, -0x1.05c61p-29), first);
  *out_low = fma_(m, k, real(m, -0x1.05c61p-29), sub(m, first, r));
  return r;
}

static V exp_tail(const math *m, V r) {
  const V q = POLYNOMIAL(r, 0x1.6a3fb2p-10, 0x1.1239ep-7, 0x1.5558bep-5,
                         0x1.555492p-3, 0x1.fffffcp-2);
  return mul(m, mul(m, r, r), q);
}

static V expm1_tail(const math *m, V r) {
  const V q = POLYNOMIAL(r, 0x1.9e7d64p-13, 0x1.6d3aap-10, 0x1.1112d4p-7,
                         0x1.5554f8p-5, 0x1.555554p-3, 0.5);
  return mul(m, mul(m, r, r), q);
}

static V exp_inner(const math *m, V x) {
  V k, low;
  const V r = exp_reduce(m, x, &k, &low);
  return scale(m, add(m, real(m, 1), add(m, r, exp_tail(m, r))), k);
}

static V log_inner(const math *m, V f, V k) {
  const V q =
      POLYNOMIAL(f, -0x1.07dae6p-3, 0x1.1e69d2p-3, -0x1.f32a76p-4, 0x1.1ed6p-3,
                 -0x1.559c96p-3, 0x1.99d048p-3, -0x1.fffefap-3, 0x1.555506p-2);
  const V tail = mul(m, mul(m, f, f), fma_(m, q, f, real(m, -0.5)));
  const V low = fma_(m, k, real(m, -0x1.05c61p-29), tail);
  return fma_(m, k, real(m, 0x1.62e43p-1), add(m, f, low));
}

static V log_exponent(const math *m, V x) {
  return down(m, plus(m, bits_of(m, x), -0x3f2aaaabu), 23);
}

static V unscale(const math *m, V x, V k) {
  return of_bits(m, minus(m, bits_of(m, x), up(m, k, 23)));
}

/* -- exponentials and logarithms ------------------------------------------- */

static V exp_(const math *m, V x) {
  return exp_inner(m, at_least(m, at_most(m, x, 89), -104));
}

static V expm1_(const math *m, V x) {
  const V one_half = real(m, 0.5);
  V k, low;
  const V r = exp_reduce(m, at_least(m, at_most(m, x, 89), -20), &k, &low);
  const V p = add(m, r, add(m, expm1_tail(m, r), low));
  const V half = of_bits(m, up(m, plus(m, k, 126), 23));
  const V shifted =
      mul(m, real(m, 2), fma_(m, p, half, sub(m, half, one_half)));
  const V none = LLVMBuildICmp(m->e->b, LLVMIntEQ, k, word(m, 0), "");
  const V z = pick(m, none, p, shifted);
  return pick(m, less(m, size_of(m, x), 0x1p-25), x, z);
}

/* Infinity and NaN stay; NaN below `pole`, where it is minus infinity. */
static V log_edges(const math *m, V x, V y, double pole) {
  y = pick(m, less(m, x, (double)INFINITY), y, x);
  y = pick(m, less(m, x, pole), real(m, (double)NAN), y);
  return pick(m, equal(m, x, pole), real(m, -(double)INFINITY), y);
}

static V log_(const math *m, V x) {
  const V subnormal = less(m, x, 0x1p-126);
  const V scaled = pick(m, subnormal, mul(m, x, real(m, 0x1p23)), x);
  const V k = log_exponent(m, scaled);
  const V f = sub(m, unscale(m, scaled, k), real(m, 1));
  const V by = pick(m, subnormal, real(m, 23), real(m, 0));
  return log_edges(m, x, log_inner(m, f, sub(m, to_real(m, k), by)), 0);
}

static V log1p_(const math *m, V x) {
  const V one = real(m, 1), u = add(m, one, x);
  const V k = log_exponent(m, u);
  const V by = of_bits(m, up(m, minus(m, word(m, 127), k), 23));
  const V near = fma_(m, x, by, sub(m, by, one));
  const V large = LLVMBuildICmp(m->e->b, LLVMIntSGT, k, word(m, 24), "");
  const V f = pick(m, large, sub(m, unscale(m, u, k), one), near);
  const V y = log_inner(m, f, to_real(m, k));
  return log_edges(m, x, pick(m, less(m, size_of(m, x), 0x1p-25), x, y), -1);
}

static V logistic_(const math *m, V x) {
  const V one = real(m, 1), zero = real(m, 0);
  V k, low;
  const V r = exp_reduce(m, at_least(m, neg(m, size_of(m, x)), -104), &k, &low);
  const V p = add(m, r, add(m, exp_tail(m, r), low));
  const V high = add(m, one, p);
  const V e = scale(m, high, k);
  const V e_low = scale(m, sub(m, p, sub(m, high, one)), k);
  const V sum = add(m, one, e);
  const V sum_low = add(m, add(m, sub(m, one, sum), e), e_low);
  const V negative = less(m, x, 0);
  const V above = pick(m, negative, e, one);
  const V q = quotient(m, above, sum);
  const V rest =
      add(m, fma_(m, neg(m, q), sum, above), pick(m, negative, e_low, zero));
  const V inverse = pick(m, negative, sub(m, one, q), q);
  return fma_(m, inverse, fma_(m, neg(m, q), sum_low, rest), q);
}

static V tanh_(const math *m, V x) {
  const V a = size_of(m, x), s = mul(m, x, x), one = real(m, 1);
  const V p = POLYNOMIAL(s, 0x1.078ad4p-9, -0x1.071316p-7, 0x1.62873ep-6,
                         -0x1.b9d632p-5, 0x1.110fe8p-3, -0x1.555552p-2);
  const V small = fma_(m, mul(m, x, s), p, x);
  const V twice = pick(m, more(m, a, 10), real(m, 20), mul(m, real(m, 2), a));
  const V large =
      sub(m, one, quotient(m, real(m, 2), add(m, exp_inner(m, twice), one)));
  const V y = pick(m, less(m, a, 0.625), small, with_sign(m, large, x));
  return pick(m, less(m, a, 0x1p-40), x, y);
}

/* -- the error function ---------------------------------------------------- */

static V erf_(const math *m, V x) {
  const V a = size_of(m, x), s = mul(m, x, x);
  const V p =
      POLYNOMIAL(s, 0x1.4f674ap-14, -0x1.a60a2cp-11, 0x1.544a1ap-8,
                 -0x1.b8011ap-6, 0x1.ce2d64p-4, -0x1.81274p-2, 0x1.06eba8p-3);
  const V small = fma_(m, x, p, x);
  const V t = at_most(m, a, (double)3.93f);
  const V q = POLYNOMIAL(t, -0x1.c0c1acp-13, 0x1.a56442p-9, -0x1.7707c2p-6,
                         0x1.af2736p-4, 0x1.457cdap-1, 0x1.20e652p0);
  const V large = sub(m, real(m, 1), exp_inner(m, mul(m, neg(m, t), q)));
  return pick(m, less(m, a, (double)0.925f), small, with_sign(m, large, x));
}

static V erf_inv_w(const math *m, V x) {
  const V rest = fma_(m, neg(m, x), x, real(m, 1));
  const V k = log_exponent(m, rest);
  return neg(
      m, log_inner(m, sub(m, unscale(m, rest, k), real(m, 1)), to_real(m, k)));
}

static V erf_inv_central(const math *m, V w) {
  const V v = sub(m, w, real(m, 2.5));
  return POLYNOMIAL(v, -0x1.1b0826p-27, 0x1.e421e4p-26, 0x1.eddf8p-22,
                    -0x1.d8eea2p-19, -0x1.4bc094p-18, 0x1.ca63dp-13,
                    -0x1.486702p-10, -0x1.11c9a6p-8, 0x1.f91e8ap-3,
                    0x1.805c5ep0);
}

/* Whether any lane is true. */
static V any(const math *m, V lanes) {
  if (m->lanes == 1) return lanes;
  const LLVMTypeRef type = LLVMIntTypeInContext(m->e->c, (unsigned)m->lanes);
  return LLVMBuildICmp(m->e->b, LLVMIntNE,
                       LLVMBuildBitCast(m->e->b, lanes, type, ""),
                       LLVMConstNull(type), "");
}

/* Near +-1, which few registers have: a tail, and the edges. */
static V erf_inv_all(const math *m, V x, V w, V central) {
  const V five = less(m, w, 5);
  V u = pick(m, five, real(m, 9), w);
  u = sub(m, cxi_intrinsic(m->e, "llvm.sqrt", m->real, &u, 1), real(m, 3));
  const V q =
      POLYNOMIAL(u, 0x1.1208f2p-13, -0x1.4bd806p-12, -0x1.5a6e84p-14,
                 0x1.8754cp-10, -0x1.d571a2p-9, 0x1.748dc8p-8, -0x1.f4c52p-8,
                 0x1.35814ep-7, 0x1.006dcap0, 0x1.6a9efcp1);
  const V y = mul(m, x, pick(m, five, central, q));
  const V a = size_of(m, x);
  const V edge = pick(m, equal(m, a, 1), mul(m, x, real(m, (double)INFINITY)),
                      real(m, (double)NAN));
  return pick(m, less(m, a, 1), y, edge);
}

static V erf_inv_(const math *m, V x) {
  cxi_codegen *e = m->e;
  const V w = erf_inv_w(m, x), central = erf_inv_central(m, w);
  const V y = mul(m, x, central);
  const V slow = LLVMBuildFCmp(e->b, LLVMRealUGT, size_of(m, x),
                               real(m, (double)0.996f), "");
  LLVMBasicBlockRef tail = cxi_block(e, "tail"), after = cxi_block(e, "after");
  LLVMBasicBlockRef from[] = { LLVMGetInsertBlock(e->b), tail };
  LLVMBuildCondBr(e->b, any(m, slow), tail, after);
  LLVMPositionBuilderAtEnd(e->b, tail);
  V ways[] = { y, erf_inv_all(m, x, w, central) };
  LLVMBuildBr(e->b, after);
  LLVMPositionBuilderAtEnd(e->b, after);
  const V phi = LLVMBuildPhi(e->b, m->real, "");
  LLVMAddIncoming(phi, ways, from, 2);
  return phi;
}

/* -- the table ------------------------------------------------------------- */

typedef V function(const math *m, V x);
static function *const functions[CXI_N_PRIMS] = {
  [CXI_PRIM_exp] = exp_,           [CXI_PRIM_expm1] = expm1_,
  [CXI_PRIM_log] = log_,           [CXI_PRIM_log1p] = log1p_,
  [CXI_PRIM_logistic] = logistic_, [CXI_PRIM_tanh] = tanh_,
  [CXI_PRIM_erf] = erf_,           [CXI_PRIM_erf_inv] = erf_inv_,
};

bool cxi_function_takes(const cxi_codegen *e, const cxi_operation *o) {
  return cxi_is_modern(e) && functions[o->prim] && o->n_in == 1 &&
         o->type == o->types[0] && o->type != CX_F64 && cxi_is_real(o->type);
}

LLVMValueRef cxi_function_emit(cxi_codegen *e, const cxi_operation *o) {
  const math m = { e, o->lanes, cxi_value_type(e, CX_F32, o->lanes),
                   cxi_lanes_of(e->i32, o->lanes) };
  const V y = functions[o->prim](&m, o->in[0]);
  if (!cxi_is_half(o->type)) return y;
  return cxi_half_widen(e, o->type, cxi_half_narrow(e, o->type, y, o->lanes),
                        o->lanes);
}
