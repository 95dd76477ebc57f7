/* values.c - numbers, memory and loops in LLVM's terms. */
#include <string.h>

#include "backends/llvm/emit.h"
#include "base/dtype.h"

/* -- types ----------------------------------------------------------------- */

LLVMTypeRef cxi_memory_type(const cxi_codegen *e, cx_dtype type) {
  switch (type) {
  case CX_F32:
    return LLVMFloatTypeInContext(e->c);
  case CX_F64:
    return LLVMDoubleTypeInContext(e->c);
  default:
    return LLVMIntTypeInContext(e->c, 8 * (unsigned)cxi_dtype_bytes(type));
  }
}

LLVMTypeRef cxi_lanes_of(LLVMTypeRef scalar, int lanes) {
  return lanes == 1 ? scalar : LLVMVectorType(scalar, (unsigned)lanes);
}

LLVMTypeRef cxi_value_type(const cxi_codegen *e, cx_dtype type, int lanes) {
  const LLVMTypeRef scalar = type == CX_BOOL     ? e->i1
                             : cxi_is_half(type) ? LLVMFloatTypeInContext(e->c)
                                                 : cxi_memory_type(e, type);
  return cxi_lanes_of(scalar, lanes);
}

/* -- constants ------------------------------------------------------------- */

LLVMValueRef cxi_int(const cxi_codegen *e, int64_t x) {
  return LLVMConstInt(e->i64, (uint64_t)x, true);
}

static LLVMValueRef repeat_constant(LLVMTypeRef type, LLVMValueRef one) {
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return one;
  LLVMValueRef lanes[64];
  const unsigned n = LLVMGetVectorSize(type);
  for (unsigned i = 0; i < n; i++) lanes[i] = one;
  return LLVMConstVector(lanes, n);
}

static LLVMTypeRef scalar_of(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type)
                                                     : type;
}

LLVMValueRef cxi_integer_of(const cxi_codegen *e, LLVMTypeRef type,
                            uint64_t x) {
  (void)e;
  return repeat_constant(type, LLVMConstInt(scalar_of(type), x, false));
}

LLVMValueRef cxi_constant(const cxi_codegen *e, LLVMTypeRef type, double x) {
  const LLVMTypeRef scalar = scalar_of(type);
  if (LLVMGetTypeKind(scalar) == LLVMIntegerTypeKind)
    return cxi_integer_of(e, type, (uint64_t)(int64_t)x);
  return repeat_constant(type, LLVMConstReal(scalar, x));
}

/* -- lanes ----------------------------------------------------------------- */

LLVMValueRef cxi_splat(cxi_codegen *e, LLVMValueRef scalar, int lanes) {
  if (lanes == 1) return scalar;
  const LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)lanes);
  const LLVMValueRef one = LLVMBuildInsertElement(
      e->b, LLVMGetPoison(type), scalar, LLVMConstInt(e->i32, 0, false), "");
  return LLVMBuildShuffleVector(
      e->b, one, LLVMGetPoison(type),
      LLVMConstNull(LLVMVectorType(e->i32, (unsigned)lanes)), "");
}

LLVMValueRef cxi_lane(cxi_codegen *e, LLVMValueRef vector, int lanes,
                      int lane) {
  if (lanes == 1) return vector;
  return LLVMBuildExtractElement(
      e->b, vector, LLVMConstInt(e->i32, (unsigned)lane, false), "");
}

LLVMValueRef cxi_with_lane(cxi_codegen *e, LLVMValueRef vector,
                           LLVMValueRef scalar, int lane) {
  return LLVMBuildInsertElement(
      e->b, vector, scalar, LLVMConstInt(e->i32, (unsigned)lane, false), "");
}

LLVMValueRef cxi_pick(cxi_codegen *e, LLVMValueRef vector, int first,
                      int lanes) {
  if (lanes == 1)
    return LLVMBuildExtractElement(
        e->b, vector, LLVMConstInt(e->i32, (unsigned)first, false), "");
  LLVMValueRef from[64];
  for (int i = 0; i < lanes; i++)
    from[i] = LLVMConstInt(e->i32, (unsigned)(first + i), false);
  return LLVMBuildShuffleVector(e->b, vector, vector,
                                LLVMConstVector(from, (unsigned)lanes), "");
}

/* -- memory ---------------------------------------------------------------- */

LLVMValueRef cxi_after(cxi_codegen *e, LLVMValueRef at, int64_t bytes) {
  if (bytes == 0) return at;
  LLVMValueRef by = cxi_int(e, bytes);
  return LLVMBuildGEP2(e->b, e->i8, at, &by, 1, "");
}

LLVMValueRef cxi_element(cxi_codegen *e, cx_dtype type, LLVMValueRef at,
                         LLVMValueRef i) {
  return LLVMBuildGEP2(e->b, cxi_memory_type(e, type), at, &i, 1, "");
}

/* llvm.masked.load or store: its last type is that of pointers. */
static LLVMValueRef masked(cxi_codegen *e, const char *name, LLVMTypeRef type,
                           LLVMValueRef *in) {
  LLVMTypeRef types[] = { type, e->ptr };
  const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->c, id, types, 2),
                        LLVMGetIntrinsicDeclaration(e->module, id, types, 2),
                        in, 4, "");
}

LLVMValueRef cxi_load(cxi_codegen *e, cx_dtype type, LLVMValueRef at,
                      int lanes) {
  return cxi_load_some(e, type, at, lanes, NULL);
}

LLVMValueRef cxi_load_some(cxi_codegen *e, cx_dtype type, LLVMValueRef at,
                           int lanes, LLVMValueRef mask) {
  const LLVMTypeRef memory = cxi_lanes_of(cxi_memory_type(e, type), lanes);
  const unsigned bytes = (unsigned)cxi_dtype_bytes(type);
  LLVMValueRef x;
  if (mask) {
    LLVMValueRef in[] = { at, LLVMConstInt(e->i32, bytes, false), mask,
                          LLVMConstNull(memory) };
    x = masked(e, "llvm.masked.load", memory, in);
  } else {
    x = LLVMBuildLoad2(e->b, memory, at, "");
    LLVMSetAlignment(x, bytes);
  }
  if (type == CX_BOOL)
    return LLVMBuildTrunc(e->b, x, cxi_value_type(e, type, lanes), "");
  return cxi_is_half(type) ? cxi_half_widen(e, type, x, lanes) : x;
}

void cxi_store(cxi_codegen *e, cx_dtype type, LLVMValueRef at,
               LLVMValueRef value, int lanes) {
  cxi_store_some(e, type, at, value, lanes, NULL);
}

void cxi_store_some(cxi_codegen *e, cx_dtype type, LLVMValueRef at,
                    LLVMValueRef value, int lanes, LLVMValueRef mask) {
  const unsigned bytes = (unsigned)cxi_dtype_bytes(type);
  LLVMValueRef x = value;
  if (type == CX_BOOL)
    x = LLVMBuildZExt(e->b, value, cxi_lanes_of(e->i8, lanes), "");
  if (cxi_is_half(type)) x = cxi_half_narrow(e, type, value, lanes);
  if (mask) {
    LLVMValueRef in[] = { x, at, LLVMConstInt(e->i32, bytes, false), mask };
    masked(e, "llvm.masked.store", LLVMTypeOf(x), in);
  } else {
    LLVMSetAlignment(LLVMBuildStore(e->b, x, at), bytes);
  }
}

LLVMValueRef cxi_local_of(cxi_codegen *e, LLVMTypeRef type) {
  return LLVMBuildAlloca(e->locals, type, "");
}

LLVMValueRef cxi_local(cxi_codegen *e, cx_dtype type, int64_t count) {
  const LLVMValueRef at =
      cxi_local_of(e, LLVMArrayType2(cxi_memory_type(e, type),
                                     (uint64_t)(count > 0 ? count : 1)));
  LLVMSetAlignment(at, count > CXI_SMALL ? 64 : 16);
  return at;
}

/* Up to some registers full are written out; more are for memcpy, which code
 * must find in its table. */
static void copy_bytes(cxi_codegen *e, LLVMValueRef to, LLVMValueRef from,
                       int64_t bytes, unsigned alignment) {
  if (bytes <= 4 * e->vector_bytes) {
    LLVMBuildMemCpy(e->b, to, alignment, from, alignment, cxi_int(e, bytes));
    return;
  }
  LLVMTypeRef types[] = { e->ptr, e->ptr, e->i64 };
  LLVMValueRef in[] = { to, from, cxi_int(e, bytes) };
  const cxi_import import = { .kind = CXI_IMPORT_COPY };
  const LLVMValueRef call =
      LLVMBuildCall2(e->b, LLVMFunctionType(e->ptr, types, 3, false),
                     cxi_table_entry(e, import), in, 3, "");
  /* memory(argmem: readwrite): what lies elsewhere stays in registers */
  LLVMAddCallSiteAttribute(
      call, LLVMAttributeFunctionIndex,
      LLVMCreateEnumAttribute(e->c,
                              LLVMGetEnumAttributeKindForName("memory", 6), 3));
}

void cxi_copy_elements(cxi_codegen *e, cx_dtype type, LLVMValueRef to,
                       LLVMValueRef from, int64_t count) {
  if (to == from || count == 0) return;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(type);
  if (count > CXI_SMALL) {
    copy_bytes(e, to, from, count * bytes, (unsigned)bytes);
    return;
  }
  const LLVMTypeRef memory = cxi_memory_type(e, type);
  for (int64_t i = 0; i < count; i++) {
    const LLVMValueRef x =
        LLVMBuildLoad2(e->b, memory, cxi_after(e, from, i * bytes), "");
    LLVMSetAlignment(x, (unsigned)bytes);
    LLVMSetAlignment(LLVMBuildStore(e->b, x, cxi_after(e, to, i * bytes)),
                     (unsigned)bytes);
  }
}

/* -- blocks ---------------------------------------------------------------- */

LLVMBasicBlockRef cxi_block(cxi_codegen *e, const char *name) {
  return LLVMAppendBasicBlockInContext(e->c, e->function, name);
}

static LLVMValueRef is_less(cxi_codegen *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(e->b, LLVMIntSLT, a, b, "");
}

static cxi_for open_for(cxi_codegen *e, LLVMValueRef first, LLVMValueRef end,
                        int64_t step, bool may_be_none) {
  cxi_for loop = { .end = end,
                   .body = cxi_block(e, "body"),
                   .after = cxi_block(e, "after"),
                   .step = step };
  LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
  if (may_be_none)
    LLVMBuildCondBr(e->b, is_less(e, first, end), loop.body, loop.after);
  else
    LLVMBuildBr(e->b, loop.body);
  LLVMPositionBuilderAtEnd(e->b, loop.body);
  loop.i = LLVMBuildPhi(e->b, e->i64, "i");
  LLVMAddIncoming(loop.i, &first, &from, 1);
  return loop;
}

cxi_for cxi_for_open(cxi_codegen *e, int64_t n, int64_t step) {
  return open_for(e, cxi_int(e, 0), cxi_int(e, n), step, false);
}

cxi_for cxi_for_range(cxi_codegen *e, LLVMValueRef first, LLVMValueRef end,
                      int64_t step) {
  return open_for(e, first, end, step, true);
}

/* The same number, of which LLVM knows nothing: what it would do about counters
 * takes long, and the addresses are as they should be. */
static LLVMValueRef hidden(cxi_codegen *e, LLVMValueRef x) {
  const LLVMTypeRef type = LLVMFunctionType(e->i64, &e->i64, 1, false);
  const LLVMValueRef nothing =
      LLVMGetInlineAsm(type, "", 0, "=r,0", strlen("=r,0"), false, false,
                       LLVMInlineAsmDialectATT, false);
  return LLVMBuildCall2(e->b, type, nothing, &x, 1, "");
}

void cxi_for_close(cxi_codegen *e, const cxi_for *loop) {
  LLVMValueRef next =
      LLVMBuildAdd(e->b, loop->i, cxi_int(e, loop->step), "next");
  if (e->is_final) next = hidden(e, next);
  LLVMBasicBlockRef last = LLVMGetInsertBlock(e->b);
  LLVMAddIncoming(loop->i, &next, &last, 1);
  LLVMBuildCondBr(e->b, is_less(e, next, loop->end), loop->body, loop->after);
  LLVMPositionBuilderAtEnd(e->b, loop->after);
}

/* -- calls ----------------------------------------------------------------- */

LLVMValueRef cxi_intrinsic(cxi_codegen *e, const char *name, LLVMTypeRef type,
                           LLVMValueRef *in, unsigned n) {
  const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  const LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, &type, 1);
  return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->c, id, &type, 1), f, in,
                        n, "");
}

LLVMValueRef cxi_table_entry(cxi_codegen *e, cxi_import import) {
  uint32_t i = 0;
  while (i < e->n_imports &&
         memcmp(&e->imports[i], &import, sizeof import) != 0)
    i++;
  if (i == e->n_imports) {
    if (e->n_imports == e->cap_imports) {
      const uint32_t cap = 2 * e->cap_imports + 32;
      cxi_import *more = cxi_arena_alloc(e->arena, cap * sizeof *more);
      if (!more) {
        e->short_of_memory = true;
        return LLVMConstNull(e->ptr);
      }
      if (e->n_imports) memcpy(more, e->imports, e->n_imports * sizeof *more);
      e->imports = more;
      e->cap_imports = cap;
    }
    e->imports[e->n_imports++] = import;
  }
  return LLVMBuildLoad2(e->b, e->ptr, cxi_after(e, e->table, 8 * (int64_t)i),
                        "");
}
