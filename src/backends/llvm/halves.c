/* halves.c - f16 and bf16 to and from f32: half.h in LLVM's terms. */
#include "backends/llvm/emit.h"

typedef struct words {
  cxi_codegen *e;
  LLVMTypeRef word, half, real; /* of 32 and 16 bits, and floats */
} words;

static words words_of(cxi_codegen *e, int lanes) {
  return (words){ e, cxi_lanes_of(e->i32, lanes),
                  cxi_lanes_of(LLVMInt16TypeInContext(e->c), lanes),
                  cxi_lanes_of(LLVMFloatTypeInContext(e->c), lanes) };
}
static LLVMValueRef word(const words *w, uint32_t x) {
  return cxi_integer_of(w->e, w->word, x);
}
static LLVMValueRef plus(const words *w, LLVMValueRef a, uint32_t b) {
  return LLVMBuildAdd(w->e->b, a, word(w, b), "");
}
static LLVMValueRef both(const words *w, LLVMValueRef a, uint32_t b) {
  return LLVMBuildAnd(w->e->b, a, word(w, b), "");
}
static LLVMValueRef either(const words *w, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildOr(w->e->b, a, b, "");
}
static LLVMValueRef up(const words *w, LLVMValueRef a, uint32_t by) {
  return LLVMBuildShl(w->e->b, a, word(w, by), "");
}
static LLVMValueRef down(const words *w, LLVMValueRef a, uint32_t by) {
  return LLVMBuildLShr(w->e->b, a, word(w, by), "");
}
static LLVMValueRef above(const words *w, LLVMValueRef a, uint32_t b) {
  return LLVMBuildICmp(w->e->b, LLVMIntUGT, a, word(w, b), "");
}
static LLVMValueRef pick(const words *w, LLVMValueRef which, LLVMValueRef yes,
                         LLVMValueRef no) {
  return LLVMBuildSelect(w->e->b, which, yes, no, "");
}
static LLVMValueRef as_real(const words *w, LLVMValueRef bits) {
  return LLVMBuildBitCast(w->e->b, bits, w->real, "");
}
static LLVMValueRef as_word(const words *w, LLVMValueRef x) {
  return LLVMBuildBitCast(w->e->b, x, w->word, "");
}

/* cxi_f16_widen */
static LLVMValueRef widen_f16(const words *w, LLVMValueRef half) {
  const LLVMBuilderRef b = w->e->b;
  const LLVMValueRef sign = up(w, both(w, half, 0x8000), 16);
  const LLVMValueRef rest = both(w, half, 0x7fff);
  const LLVMValueRef moved = up(w, rest, 13);
  const LLVMValueRef normal = plus(w, moved, 112u << 23);
  const LLVMValueRef quiet =
      pick(w, above(w, rest, 0x7c00), word(w, 0x400000), word(w, 0));
  const LLVMValueRef special =
      either(w, either(w, moved, word(w, 0x7f800000)), quiet);
  const LLVMValueRef small =
      as_word(w, LLVMBuildFMul(b, LLVMBuildSIToFP(b, rest, w->real, ""),
                               cxi_constant(w->e, w->real, 0x1p-24), ""));
  const LLVMValueRef magnitude =
      pick(w, above(w, rest, 0x7bff), special,
           pick(w, above(w, rest, 0x03ff), normal, small));
  return as_real(w, either(w, sign, magnitude));
}

/* cxi_f16_round */
static LLVMValueRef round_f16(const words *w, LLVMValueRef x) {
  const LLVMBuilderRef b = w->e->b;
  const LLVMValueRef bits = as_word(w, x);
  const LLVMValueRef sign = both(w, down(w, bits, 16), 0x8000);
  const LLVMValueRef rest = both(w, bits, 0x7fffffff);
  const LLVMValueRef odd = both(w, down(w, rest, 13), 1);
  const LLVMValueRef normal = down(
      w, LLVMBuildAdd(b, plus(w, rest, 0xfff - (112u << 23)), odd, ""), 13);
  const LLVMValueRef shifted =
      LLVMBuildFAdd(b, as_real(w, rest), cxi_constant(w->e, w->real, 0.5), "");
  const LLVMValueRef small = plus(w, as_word(w, shifted), -0x3f000000u);
  const LLVMValueRef nan =
      either(w, both(w, down(w, rest, 13), 0x3ff), word(w, 0x7e00));
  const LLVMValueRef magnitude =
      pick(w, above(w, rest, 0x7f800000), nan,
           pick(w, above(w, rest, 0x477fefff), word(w, 0x7c00),
                pick(w, above(w, rest, 0x387fffff), normal, small)));
  return either(w, sign, magnitude);
}

/* cxi_bf16_round */
static LLVMValueRef round_bf16(const words *w, LLVMValueRef x) {
  const LLVMValueRef bits = as_word(w, x);
  const LLVMValueRef odd = both(w, down(w, bits, 16), 1);
  const LLVMValueRef rounded =
      LLVMBuildAdd(w->e->b, plus(w, bits, 0x7fff), odd, "");
  const LLVMValueRef quiet = either(w, bits, word(w, 0x400000));
  const LLVMValueRef is_nan = above(w, both(w, bits, 0x7fffffff), 0x7f800000);
  return down(w, pick(w, is_nan, quiet, rounded), 16);
}

/* Machines that multiply and add convert f16, too (F16C), to the same bits. */
static bool converts(const cxi_codegen *e, cx_dtype type) {
  return type == CX_F16 && cxi_is_modern(e);
}

static LLVMTypeRef f16_lanes(const cxi_codegen *e, int lanes) {
  return cxi_lanes_of(LLVMHalfTypeInContext(e->c), lanes);
}

LLVMValueRef cxi_half_widen(cxi_codegen *e, cx_dtype type, LLVMValueRef bits,
                            int lanes) {
  const words w = words_of(e, lanes);
  if (converts(e, type))
    return LLVMBuildFPExt(e->b,
                          LLVMBuildBitCast(e->b, bits, f16_lanes(e, lanes), ""),
                          w.real, "");
  const LLVMValueRef wide = LLVMBuildZExt(e->b, bits, w.word, "");
  return type == CX_F16 ? widen_f16(&w, wide) : as_real(&w, up(&w, wide, 16));
}

LLVMValueRef cxi_half_narrow(cxi_codegen *e, cx_dtype type, LLVMValueRef x,
                             int lanes) {
  const words w = words_of(e, lanes);
  if (converts(e, type))
    return LLVMBuildBitCast(
        e->b, LLVMBuildFPTrunc(e->b, x, f16_lanes(e, lanes), ""), w.half, "");
  const LLVMValueRef bits =
      type == CX_F16 ? round_f16(&w, x) : round_bf16(&w, x);
  return LLVMBuildTrunc(e->b, bits, w.half, "");
}
