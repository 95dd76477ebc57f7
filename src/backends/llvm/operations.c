/* operations.c - elementwise primitives, one row each: for which dtypes, and
 * how one is emitted. The operations and their order are those of math.h. */
#include "backends/llvm/emit.h"
#include "base/dtype.h"

/* -- kinds of dtypes ------------------------------------------------------- */

enum {
  BOOLS = 1,
  SIGNED = 2,
  UNSIGNED = 4,
  HALVES = 8,
  FLOATS = 16, /* f32, f64 */
  KEYS = 32,
  INTS = SIGNED | UNSIGNED,
  REALS = HALVES | FLOATS,
  NUMBERS = INTS | REALS
};

static int kind_of(cx_dtype type) {
  switch (type) {
  case CX_BOOL:
    return BOOLS;
  case CX_KEY:
    return KEYS;
  case CX_F16:
  case CX_BF16:
    return HALVES;
  case CX_F32:
  case CX_F64:
    return FLOATS;
  default:
    return cxi_is_signed(type) ? SIGNED : UNSIGNED;
  }
}

static bool real(const cxi_operation *o) {
  return cxi_is_real(o->types[0]);
}

static LLVMTypeRef type_of(LLVMValueRef x) {
  return LLVMTypeOf(x);
}

static LLVMValueRef unary(cxi_codegen *e, const char *name, LLVMValueRef x) {
  return cxi_intrinsic(e, name, type_of(x), &x, 1);
}

static LLVMValueRef pick(cxi_codegen *e, LLVMValueRef which, LLVMValueRef yes,
                         LLVMValueRef no) {
  return LLVMBuildSelect(e->b, which, yes, no, "");
}

/* The bits of floats as integers, and back. */
static LLVMTypeRef bits_type(const cxi_codegen *e, LLVMTypeRef type) {
  const bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  const LLVMTypeRef scalar = vector ? LLVMGetElementType(type) : type;
  const LLVMTypeRef bits =
      LLVMGetTypeKind(scalar) == LLVMDoubleTypeKind ? e->i64 : e->i32;
  return vector ? LLVMVectorType(bits, LLVMGetVectorSize(type)) : bits;
}
static LLVMValueRef bits_of(cxi_codegen *e, LLVMValueRef x) {
  return LLVMBuildBitCast(e->b, x, bits_type(e, type_of(x)), "");
}

/* -- arithmetic ------------------------------------------------------------ */

#define IN0 o->in[0]
#define IN1 o->in[1]

static LLVMValueRef add(cxi_codegen *e, const cxi_operation *o) {
  return real(o) ? LLVMBuildFAdd(e->b, IN0, IN1, "")
                 : LLVMBuildAdd(e->b, IN0, IN1, "");
}
static LLVMValueRef sub(cxi_codegen *e, const cxi_operation *o) {
  return real(o) ? LLVMBuildFSub(e->b, IN0, IN1, "")
                 : LLVMBuildSub(e->b, IN0, IN1, "");
}
static LLVMValueRef mul(cxi_codegen *e, const cxi_operation *o) {
  return real(o) ? LLVMBuildFMul(e->b, IN0, IN1, "")
                 : LLVMBuildMul(e->b, IN0, IN1, "");
}
static LLVMValueRef square(cxi_codegen *e, const cxi_operation *o) {
  return real(o) ? LLVMBuildFMul(e->b, IN0, IN0, "")
                 : LLVMBuildMul(e->b, IN0, IN0, "");
}
static LLVMValueRef neg(cxi_codegen *e, const cxi_operation *o) {
  return real(o) ? LLVMBuildFNeg(e->b, IN0, "") : LLVMBuildNeg(e->b, IN0, "");
}

static LLVMValueRef is_negative(cxi_codegen *e, LLVMValueRef x) {
  return LLVMBuildICmp(e->b, LLVMIntSLT, x, LLVMConstNull(type_of(x)), "");
}
static LLVMValueRef is_zero(cxi_codegen *e, LLVMValueRef x) {
  return LLVMBuildICmp(e->b, LLVMIntEQ, x, LLVMConstNull(type_of(x)), "");
}

/* Quotient or remainder; the divisors 0 and -1 are kept from the machine. */
static LLVMValueRef divide(cxi_codegen *e, const cxi_operation *o, bool rest) {
  const LLVMTypeRef type = type_of(IN0);
  const LLVMValueRef one = cxi_constant(e, type, 1),
                     minus = LLVMConstAllOnes(type), zero = is_zero(e, IN1);
  if (!cxi_is_signed(o->types[0])) {
    const LLVMValueRef by = pick(e, zero, one, IN1);
    return rest ? pick(e, zero, IN0, LLVMBuildURem(e->b, IN0, by, ""))
                : pick(e, zero, minus, LLVMBuildUDiv(e->b, IN0, by, ""));
  }
  const LLVMValueRef turns = LLVMBuildICmp(e->b, LLVMIntEQ, IN1, minus, "");
  const LLVMValueRef by = pick(e, LLVMBuildOr(e->b, zero, turns, ""), one, IN1);
  if (rest) return pick(e, zero, IN0, LLVMBuildSRem(e->b, IN0, by, ""));
  const LLVMValueRef quotient = LLVMBuildSDiv(e->b, IN0, by, "");
  return pick(e, zero, minus,
              pick(e, turns, LLVMBuildNeg(e->b, IN0, ""), quotient));
}
static LLVMValueRef div_(cxi_codegen *e, const cxi_operation *o) {
  return real(o) ? LLVMBuildFDiv(e->b, IN0, IN1, "") : divide(e, o, false);
}
static LLVMValueRef rem(cxi_codegen *e, const cxi_operation *o) {
  return divide(e, o, true);
}

/* By repeated squaring, as cxi_integer_pow. */
static LLVMValueRef integer_pow(cxi_codegen *e, const cxi_operation *o) {
  const int64_t y = ((const cxi_integer_pow_params *)o->params)->y;
  uint64_t n = y < 0 ? -(uint64_t)y : (uint64_t)y;
  const LLVMValueRef one = cxi_constant(e, type_of(IN0), 1);
  LLVMValueRef x = IN0, power = NULL;
  for (; n; n >>= 1) {
    if (n & 1) power = power ? LLVMBuildFMul(e->b, power, x, "") : x;
    if (n > 1) x = LLVMBuildFMul(e->b, x, x, "");
  }
  if (!power) power = one;
  return y < 0 ? LLVMBuildFDiv(e->b, one, power, "") : power;
}

/* -- signs and rounding ---------------------------------------------------- */

static LLVMValueRef abs_(cxi_codegen *e, const cxi_operation *o) {
  if (real(o)) return unary(e, "llvm.fabs", IN0);
  if (!cxi_is_signed(o->types[0])) return IN0;
  return pick(e, is_negative(e, IN0), LLVMBuildNeg(e->b, IN0, ""), IN0);
}
static LLVMValueRef sign(cxi_codegen *e, const cxi_operation *o) {
  const LLVMTypeRef type = type_of(IN0);
  const LLVMValueRef zero = LLVMConstNull(type);
  if (real(o)) {
    LLVMValueRef in[] = { cxi_constant(e, type, 1), IN0 };
    const LLVMValueRef one = cxi_intrinsic(e, "llvm.copysign", type, in, 2);
    return pick(e, LLVMBuildFCmp(e->b, LLVMRealONE, IN0, zero, ""), one, IN0);
  }
  const LLVMValueRef some =
      pick(e, is_zero(e, IN0), zero, cxi_constant(e, type, 1));
  if (!cxi_is_signed(o->types[0])) return some;
  return pick(e, is_negative(e, IN0), LLVMConstAllOnes(type), some);
}
static LLVMValueRef floor_(cxi_codegen *e, const cxi_operation *o) {
  return unary(e, "llvm.floor", IN0);
}
static LLVMValueRef ceil_(cxi_codegen *e, const cxi_operation *o) {
  return unary(e, "llvm.ceil", IN0);
}
static LLVMValueRef round_(cxi_codegen *e, const cxi_operation *o) {
  const cxi_round_params *p = o->params;
  return unary(e, p->away ? "llvm.round" : "llvm.rint", IN0);
}
static LLVMValueRef sqrt_(cxi_codegen *e, const cxi_operation *o) {
  return unary(e, "llvm.sqrt", IN0);
}
static LLVMValueRef rsqrt(cxi_codegen *e, const cxi_operation *o) {
  return LLVMBuildFDiv(e->b, cxi_constant(e, type_of(IN0), 1), sqrt_(e, o), "");
}
static LLVMValueRef is_finite(cxi_codegen *e, const cxi_operation *o) {
  const LLVMValueRef zero = LLVMBuildFSub(e->b, IN0, IN0, "");
  return LLVMBuildFCmp(e->b, LLVMRealOEQ, zero, LLVMConstNull(type_of(IN0)),
                       "");
}

/* -- order ----------------------------------------------------------------- */

static LLVMValueRef compare(cxi_codegen *e, cx_dtype type, LLVMRealPredicate f,
                            LLVMIntPredicate s, LLVMIntPredicate u,
                            LLVMValueRef a, LLVMValueRef b) {
  if (cxi_is_real(type)) return LLVMBuildFCmp(e->b, f, a, b, "");
  return LLVMBuildICmp(e->b, cxi_is_signed(type) ? s : u, a, b, "");
}
#define COMPARISON(name, f, s, u)                                    \
  static LLVMValueRef name(cxi_codegen *e, const cxi_operation *o) { \
    return compare(e, o->types[0], f, s, u, IN0, IN1);               \
  }
COMPARISON(eq, LLVMRealOEQ, LLVMIntEQ, LLVMIntEQ)
COMPARISON(ne, LLVMRealUNE, LLVMIntNE, LLVMIntNE)
COMPARISON(lt, LLVMRealOLT, LLVMIntSLT, LLVMIntULT)
COMPARISON(le, LLVMRealOLE, LLVMIntSLE, LLVMIntULE)
COMPARISON(gt, LLVMRealOGT, LLVMIntSGT, LLVMIntUGT)
COMPARISON(ge, LLVMRealOGE, LLVMIntSGE, LLVMIntUGE)

/* The greater, or the less. Floats: -0 < +0, and NaN if either is. What is
 * equal and no zero has the same bits. */
static LLVMValueRef extremum(cxi_codegen *e, cx_dtype type, LLVMValueRef a,
                             LLVMValueRef b, bool greatest) {
  if (!cxi_is_real(type)) {
    const LLVMValueRef first =
        greatest ? compare(e, type, LLVMRealOGT, LLVMIntSGT, LLVMIntUGT, a, b)
                 : compare(e, type, LLVMRealOLT, LLVMIntSLT, LLVMIntULT, a, b);
    return pick(e, first, a, b);
  }
  const LLVMValueRef x = bits_of(e, a), y = bits_of(e, b);
  const LLVMValueRef zeros = LLVMBuildBitCast(
      e->b,
      greatest ? LLVMBuildAnd(e->b, x, y, "") : LLVMBuildOr(e->b, x, y, ""),
      type_of(a), "");
  const LLVMRealPredicate better = greatest ? LLVMRealOGT : LLVMRealOLT;
  const LLVMValueRef one = pick(e, LLVMBuildFCmp(e->b, better, a, b, ""), a, b);
  const LLVMValueRef number =
      pick(e, LLVMBuildFCmp(e->b, LLVMRealOEQ, a, b, ""), zeros, one);
  return pick(e, LLVMBuildFCmp(e->b, LLVMRealUNO, a, b, ""),
              LLVMBuildFAdd(e->b, a, b, ""), number);
}
static LLVMValueRef max_(cxi_codegen *e, const cxi_operation *o) {
  return extremum(e, o->types[0], IN0, IN1, true);
}
static LLVMValueRef min_(cxi_codegen *e, const cxi_operation *o) {
  return extremum(e, o->types[0], IN0, IN1, false);
}
static LLVMValueRef clamp(cxi_codegen *e, const cxi_operation *o) {
  const LLVMValueRef above = extremum(e, o->types[0], IN0, IN1, true);
  return extremum(e, o->types[0], above, o->in[2], false);
}

/* -- bits ------------------------------------------------------------------ */

static LLVMValueRef not_(cxi_codegen *e, const cxi_operation *o) {
  return LLVMBuildNot(e->b, IN0, "");
}
static LLVMValueRef and_(cxi_codegen *e, const cxi_operation *o) {
  return LLVMBuildAnd(e->b, IN0, IN1, "");
}
static LLVMValueRef or_(cxi_codegen *e, const cxi_operation *o) {
  return LLVMBuildOr(e->b, IN0, IN1, "");
}
static LLVMValueRef xor_(cxi_codegen *e, const cxi_operation *o) {
  return LLVMBuildXor(e->b, IN0, IN1, "");
}

/* By the width or more: 0, or the sign. */
typedef LLVMValueRef shift_build(LLVMBuilderRef, LLVMValueRef, LLVMValueRef,
                                 const char *);
static LLVMValueRef shift(cxi_codegen *e, const cxi_operation *o,
                          shift_build *build, bool keeps_sign) {
  const LLVMTypeRef type = type_of(IN0);
  const double width = 8 * (double)cxi_dtype_bytes(o->types[0]);
  const LLVMValueRef last = cxi_constant(e, type, width - 1);
  const LLVMValueRef inside = LLVMBuildICmp(e->b, LLVMIntULE, IN1, last, "");
  const LLVMValueRef shifted = build(e->b, IN0, pick(e, inside, IN1, last), "");
  return keeps_sign ? shifted : pick(e, inside, shifted, LLVMConstNull(type));
}
static LLVMValueRef shift_left(cxi_codegen *e, const cxi_operation *o) {
  return shift(e, o, LLVMBuildShl, false);
}
static LLVMValueRef shift_right_logical(cxi_codegen *e,
                                        const cxi_operation *o) {
  return shift(e, o, LLVMBuildLShr, false);
}
static LLVMValueRef shift_right_arithmetic(cxi_codegen *e,
                                           const cxi_operation *o) {
  return shift(e, o, LLVMBuildAShr, true);
}
static LLVMValueRef population_count(cxi_codegen *e, const cxi_operation *o) {
  return unary(e, "llvm.ctpop", IN0);
}
static LLVMValueRef clz(cxi_codegen *e, const cxi_operation *o) {
  LLVMValueRef in[] = { IN0, LLVMConstInt(e->i1, 0, false) };
  return cxi_intrinsic(e, "llvm.ctlz", type_of(IN0), in, 2);
}

/* -- choice and conversion ------------------------------------------------- */

static LLVMValueRef select_(cxi_codegen *e, const cxi_operation *o) {
  return pick(e, IN0, o->in[2], IN1);
}
static LLVMValueRef same(cxi_codegen *e, const cxi_operation *o) {
  (void)e;
  return IN0;
}
static LLVMValueRef bitcast(cxi_codegen *e, const cxi_operation *o) {
  return LLVMBuildBitCast(e->b, IN0, cxi_value_type(e, o->type, o->lanes), "");
}

static bool is_whole(cx_dtype type) {
  return type != CX_BOOL && !cxi_is_real(type);
}
static LLVMValueRef from_real(cxi_codegen *e, const cxi_operation *o,
                              LLVMTypeRef to) {
  const LLVMTypeRef from = type_of(IN0);
  if (o->type == CX_BOOL)
    return LLVMBuildFCmp(e->b, LLVMRealUNE, IN0, LLVMConstNull(from), "");
  if (cxi_is_real(o->type)) {
    if (o->type == CX_F64) /* to itself: nothing is emitted */
      return o->types[0] == CX_F64 ? IN0 : LLVMBuildFPExt(e->b, IN0, to, "");
    return o->types[0] == CX_F64 ? LLVMBuildFPTrunc(e->b, IN0, to, "") : IN0;
  }
  /* truncated, saturated, NaN is 0 */
  const char *name =
      cxi_is_signed(o->type) ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
  LLVMTypeRef types[] = { to, from };
  const unsigned id = LLVMLookupIntrinsicID(name, 15);
  LLVMValueRef in = IN0;
  return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->c, id, types, 2),
                        LLVMGetIntrinsicDeclaration(e->module, id, types, 2),
                        &in, 1, "");
}
static LLVMValueRef convert(cxi_codegen *e, const cxi_operation *o) {
  const LLVMTypeRef to = cxi_value_type(e, o->type, o->lanes);
  const cx_dtype from = o->types[0];
  if (cxi_is_real(from)) return from_real(e, o, to);
  if (cxi_is_real(o->type))
    return cxi_is_signed(from) ? LLVMBuildSIToFP(e->b, IN0, to, "")
                               : LLVMBuildUIToFP(e->b, IN0, to, "");
  if (o->type == CX_BOOL)
    return from == CX_BOOL ? IN0
                           : LLVMBuildICmp(e->b, LLVMIntNE, IN0,
                                           LLVMConstNull(type_of(IN0)), "");
  return LLVMBuildIntCast2(e->b, IN0, to, cxi_is_signed(from), "");
}

/* Conversions that round once: to f16 and bf16 only through an exact f32. */
static bool takes_conversion(const cxi_operation *o) {
  const cx_dtype from = o->types[0], to = o->type;
  if (from == CX_KEY || to == CX_KEY) return false;
  if (!cxi_is_half(to)) return true;
  return cxi_is_half(from) || from == CX_F32 || cxi_dtype_bytes(from) <= 2;
}
static bool takes_bitcast(const cxi_operation *o) {
  const cx_dtype from = o->types[0], to = o->type;
  return from == to ||
         (cxi_dtype_bytes(from) == cxi_dtype_bytes(to) && from != CX_BOOL &&
          to != CX_BOOL && !cxi_is_half(from) && !cxi_is_half(to) &&
          (is_whole(from) || from == CX_F32 || from == CX_F64));
}
static bool takes_select(const cxi_operation *o) {
  return o->n_in == 3 && o->types[0] == CX_BOOL;
}

/* -- the table ------------------------------------------------------------- */

typedef struct row {
  int kinds; /* of the first operand */
  LLVMValueRef (*emit)(cxi_codegen *e, const cxi_operation *o);
  bool (*takes)(const cxi_operation *o); /* NULL: operands of one dtype */
} row;

static const row rows[CXI_N_PRIMS] = {
  [CXI_PRIM_add] = { NUMBERS, add, NULL },
  [CXI_PRIM_sub] = { NUMBERS, sub, NULL },
  [CXI_PRIM_mul] = { NUMBERS, mul, NULL },
  [CXI_PRIM_div] = { NUMBERS, div_, NULL },
  [CXI_PRIM_rem] = { INTS, rem, NULL },
  [CXI_PRIM_square] = { NUMBERS, square, NULL },
  [CXI_PRIM_neg] = { NUMBERS, neg, NULL },
  [CXI_PRIM_integer_pow] = { REALS, integer_pow, NULL },
  [CXI_PRIM_abs] = { NUMBERS, abs_, NULL },
  [CXI_PRIM_sign] = { NUMBERS, sign, NULL },
  [CXI_PRIM_floor] = { REALS, floor_, NULL },
  [CXI_PRIM_ceil] = { REALS, ceil_, NULL },
  [CXI_PRIM_round] = { REALS, round_, NULL },
  [CXI_PRIM_sqrt] = { REALS, sqrt_, NULL },
  [CXI_PRIM_rsqrt] = { REALS, rsqrt, NULL },
  [CXI_PRIM_is_finite] = { REALS, is_finite, NULL },
  [CXI_PRIM_eq] = { NUMBERS | BOOLS, eq, NULL },
  [CXI_PRIM_ne] = { NUMBERS | BOOLS, ne, NULL },
  [CXI_PRIM_lt] = { NUMBERS | BOOLS, lt, NULL },
  [CXI_PRIM_le] = { NUMBERS | BOOLS, le, NULL },
  [CXI_PRIM_gt] = { NUMBERS | BOOLS, gt, NULL },
  [CXI_PRIM_ge] = { NUMBERS | BOOLS, ge, NULL },
  [CXI_PRIM_max] = { NUMBERS | BOOLS, max_, NULL },
  [CXI_PRIM_min] = { NUMBERS | BOOLS, min_, NULL },
  [CXI_PRIM_clamp] = { NUMBERS | BOOLS, clamp, NULL },
  [CXI_PRIM_not] = { INTS | BOOLS, not_, NULL },
  [CXI_PRIM_and] = { INTS | BOOLS, and_, NULL },
  [CXI_PRIM_or] = { INTS | BOOLS, or_, NULL },
  [CXI_PRIM_xor] = { INTS | BOOLS, xor_, NULL },
  [CXI_PRIM_shift_left] = { INTS, shift_left, NULL },
  [CXI_PRIM_shift_right_logical] = { INTS, shift_right_logical, NULL },
  [CXI_PRIM_shift_right_arithmetic] = { INTS, shift_right_arithmetic, NULL },
  [CXI_PRIM_population_count] = { INTS, population_count, NULL },
  [CXI_PRIM_clz] = { INTS, clz, NULL },
  [CXI_PRIM_select] = { BOOLS, select_, takes_select },
  [CXI_PRIM_convert] = { NUMBERS | BOOLS, convert, takes_conversion },
  [CXI_PRIM_bitcast] = { NUMBERS | BOOLS, bitcast, takes_bitcast },
  [CXI_PRIM_copy] = { NUMBERS | BOOLS | KEYS, same, NULL },
  [CXI_PRIM_stop_gradient] = { NUMBERS | BOOLS | KEYS, same, NULL },
  [CXI_PRIM_name] = { NUMBERS | BOOLS | KEYS, same, NULL },
};

cxi_operation cxi_operation_of(const cxi_unit *u, const cxi_op *op) {
  cxi_operation o = { .prim = op->row->prim,
                      .params = op->params,
                      .n_in = op->n_in,
                      .type = op->type,
                      .lanes = 1 };
  for (uint32_t k = 0; k < op->n_in && k < CXI_FUSED_OPERANDS; k++)
    o.types[k] = cxi_source_type(u, op, k);
  return o;
}

bool cxi_operation_takes(const cxi_codegen *e, const cxi_operation *o) {
  const row *r = &rows[o->prim];
  const bool rounds = o->prim == CXI_PRIM_floor || o->prim == CXI_PRIM_ceil ||
                      o->prim == CXI_PRIM_round;
  if (rounds && !cxi_is_modern(e)) return false;
  if (!r->emit || o->n_in == 0 || !(r->kinds & kind_of(o->types[0])))
    return false;
  if (r->takes) return r->takes(o);
  for (uint32_t k = 1; k < o->n_in; k++)
    if (o->types[k] != o->types[0]) return false;
  return true;
}

LLVMValueRef cxi_operation_emit(cxi_codegen *e, const cxi_operation *o) {
  const LLVMValueRef y = rows[o->prim].emit(e, o);
  if (!cxi_is_half(o->type) || rows[o->prim].emit == same ||
      o->prim == CXI_PRIM_select)
    return y;
  return cxi_half_widen(e, o->type, cxi_half_narrow(e, o->type, y, o->lanes),
                        o->lanes);
}

LLVMValueRef cxi_operation2(cxi_codegen *e, cxi_prim prim, cx_dtype type,
                            LLVMValueRef a, LLVMValueRef b, int lanes) {
  const cxi_operation o = { .prim = prim,
                            .n_in = 2,
                            .types = { type, type },
                            .type = type,
                            .in = { a, b },
                            .lanes = lanes };
  return rows[prim].emit(e, &o);
}
