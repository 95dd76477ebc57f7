/* random.c - the hash threefry2x32 (base/threefry.h), and keys made by it. */
#include "backends/llvm/emit.h"

static LLVMValueRef rotate(cxi_codegen *e, LLVMValueRef x, int by) {
  LLVMValueRef in[] = { x, x, cxi_integer_of(e, LLVMTypeOf(x), (uint64_t)by) };
  return cxi_intrinsic(e, "llvm.fshl", LLVMTypeOf(x), in, 3);
}

void cxi_hash_words(cxi_codegen *e, LLVMValueRef key_a, LLVMValueRef key_b,
                    LLVMValueRef *a, LLVMValueRef *b) {
  static const int by[2][4] = { { 13, 15, 26, 6 }, { 17, 29, 16, 24 } };
  const LLVMTypeRef type = LLVMTypeOf(key_a);
  const LLVMValueRef schedule[3] = {
    key_a, key_b,
    LLVMBuildXor(e->b, LLVMBuildXor(e->b, key_a, key_b, ""),
                 cxi_integer_of(e, type, 0x1bd11bda), "")
  };
  LLVMValueRef x = LLVMBuildAdd(e->b, *a, schedule[0], "");
  LLVMValueRef y = LLVMBuildAdd(e->b, *b, schedule[1], "");
  for (uint32_t group = 0; group < 5; group++) {
    for (int i = 0; i < 4; i++) {
      x = LLVMBuildAdd(e->b, x, y, "");
      y = LLVMBuildXor(e->b, rotate(e, y, by[group & 1][i]), x, "");
    }
    x = LLVMBuildAdd(e->b, x, schedule[(group + 1) % 3], "");
    y = LLVMBuildAdd(e->b, y,
                     LLVMBuildAdd(e->b, schedule[(group + 2) % 3],
                                  cxi_integer_of(e, type, group + 1), ""),
                     "");
  }
  *a = x;
  *b = y;
}

/* One key to a few keys, or words. */
static bool takes(const cxi_codegen *e, const cxi_unit *u) {
  (void)e;
  if (u->kind != CXI_UNIT_ONE) return false;
  switch (u->row->prim) {
  case CXI_PRIM_random_split:
    return cxi_count(&u->operands[0]) == 1 &&
           cxi_count(&u->results[0]) <= CXI_SMALL;
  case CXI_PRIM_random_wrap:
  case CXI_PRIM_random_fold_in:
    return cxi_count(&u->results[0]) == 1;
  case CXI_PRIM_random_unwrap:
    return cxi_count(&u->operands[0]) == 1;
  default:
    return false;
  }
}

static LLVMValueRef load_word(cxi_codegen *e, LLVMValueRef at, int i) {
  return cxi_load(e, CX_U32, cxi_after(e, at, 4 * (int64_t)i), 1);
}

static void emit(cxi_codegen *e, cxi_level *l, const cxi_unit *u) {
  const LLVMValueRef from = cxi_operand_pointer(e, l, &u->operands[0]);
  const LLVMValueRef to = cxi_operand_pointer(e, l, &u->results[0]);
  const LLVMValueRef key_a = load_word(e, from, 0),
                     key_b = load_word(e, from, 1);
  const int64_t n = cxi_count(&u->results[0]);
  LLVMValueRef a = key_a, b = key_b;
  if (u->row->prim == CXI_PRIM_random_fold_in) {
    a = cxi_integer_of(e, e->i32, 0);
    b = load_word(e, cxi_operand_pointer(e, l, &u->operands[1]), 0);
    cxi_hash_words(e, key_a, key_b, &a, &b);
  }
  const bool splits = u->row->prim == CXI_PRIM_random_split;
  const int64_t keys = splits ? n : 1;
  for (int64_t i = 0; i < keys; i++) {
    if (splits) {
      a = cxi_integer_of(e, e->i32, 0);
      b = cxi_integer_of(e, e->i32, (uint64_t)i);
      cxi_hash_words(e, key_a, key_b, &a, &b);
    }
    cxi_store(e, CX_U32, cxi_after(e, to, 8 * i), a, 1);
    cxi_store(e, CX_U32, cxi_after(e, to, 8 * i + 4), b, 1);
  }
}

const cxi_family cxi_family_random = { "random", takes, emit };
