/* emit.h - what the parts of the emitter share.
 *
 * A pass outside loops becomes one function (range.c), and so does a loop. Its
 * bodies' units are emitted one after the other from their schedules
 * (lower/schedule.h); a unit that no part takes is called as the thunk that
 * tier 0 runs. Arrays of up to CXI_SMALL elements are local variables that LLVM
 * turns into registers; larger ones lie where the plan put them. Every operation
 * is that of base/math.h in the same order, so that the bits are those of tier
 * 0. */
#ifndef CXI_LLVM_EMIT_H
#define CXI_LLVM_EMIT_H

#include <llvm-c/Core.h>

#include "backends/cpu/plugin.h"
#include "lower/loop.h"

enum {
  CXI_SMALL = 16,      /* elements of an array in registers */
  CXI_UNROLLED = 64,   /* elements of a pass written out one by one */
  CXI_LONG_ROW = 256,  /* elements of a row whose values stay in registers */
  CXI_LARGE = 8192,    /* elements of a pass left to tier 0 */
  CXI_KERNEL_ROOMS = 4 /* a kernel's result and operands */
};

typedef struct cxi_codegen {
  const cxi_plugin_host *host;
  int64_t vector_bytes;
  LLVMContextRef c;
  LLVMModuleRef module;
  LLVMBuilderRef b, locals; /* `locals` is where variables are made */
  LLVMValueRef function, running, table;
  LLVMTypeRef ptr, i64, i32, i8, i1;
  LLVMValueRef rooms[CXI_KERNEL_ROOMS]; /* rows for kernels; NULL: not yet */
  cxi_arena *arena;                     /* of the code */
  cxi_import *imports;
  uint32_t n_imports, cap_imports;
  cxi_plans plans; /* as imports number them */
  char *report;
  int depth;     /* of the loop at hand */
  bool is_final; /* as it is emitted: LLVM's passes have nothing to do */
  bool short_of_memory;
} cxi_codegen;

/* A program's values while its units are emitted. */
typedef struct cxi_level {
  const cxi_plan *plan;
  uint32_t number; /* of the plan */
  const cxi_schedule *s;
  const cx_aval *(*type)(cxi_type type);
  LLVMValueRef memory;    /* of its bases, then its slab */
  LLVMValueRef *in, *out; /* pointers to its inputs and outputs */
  LLVMValueRef *local;    /* variables, by value; NULL: none yet */
  cxi_ref *at;            /* where the plan puts a result, by value */
  bool *touched;          /* by value: a thunk reads or writes it */
  bool calls;             /* it has units that are thunks */
} cxi_level;

/* -- values.c: numbers, memory, loops -------------------------------------- */

/* Bool is i1 and f16, bf16 are float in registers; not so in memory. */
LLVMTypeRef cxi_memory_type(const cxi_codegen *e, cx_dtype type);
LLVMTypeRef cxi_value_type(const cxi_codegen *e, cx_dtype type, int lanes);
LLVMValueRef cxi_int(const cxi_codegen *e, int64_t x); /* i64 */
/* The number x in every lane of a type of integers or floats. */
LLVMValueRef cxi_constant(const cxi_codegen *e, LLVMTypeRef type, double x);
LLVMValueRef cxi_integer_of(const cxi_codegen *e, LLVMTypeRef type, uint64_t x);
LLVMTypeRef cxi_lanes_of(LLVMTypeRef scalar, int lanes);
LLVMValueRef cxi_splat(cxi_codegen *e, LLVMValueRef scalar, int lanes);
LLVMValueRef cxi_lane(cxi_codegen *e, LLVMValueRef vector, int lanes, int lane);
LLVMValueRef cxi_with_lane(cxi_codegen *e, LLVMValueRef vector,
                           LLVMValueRef scalar, int lane);
/* Lanes first, first + step, ... `lanes` of them, of a vector. */
LLVMValueRef cxi_pick(cxi_codegen *e, LLVMValueRef vector, int first,
                      int lanes);

/* `bytes` after a pointer; element i (an i64) of an array of dtype. */
LLVMValueRef cxi_after(cxi_codegen *e, LLVMValueRef at, int64_t bytes);
LLVMValueRef cxi_element(cxi_codegen *e, cx_dtype type, LLVMValueRef at,
                         LLVMValueRef i);
/* Elements side by side, as values; and back. */
LLVMValueRef cxi_load(cxi_codegen *e, cx_dtype type, LLVMValueRef at,
                      int lanes);
void cxi_store(cxi_codegen *e, cx_dtype type, LLVMValueRef at,
               LLVMValueRef value, int lanes);
/* The same of lanes for which the mask says so, of which one lane has none;
 * NULL: all. Lanes that are not loaded hold what they like. */
LLVMValueRef cxi_load_some(cxi_codegen *e, cx_dtype type, LLVMValueRef at,
                           int lanes, LLVMValueRef mask);
void cxi_store_some(cxi_codegen *e, cx_dtype type, LLVMValueRef at,
                    LLVMValueRef value, int lanes, LLVMValueRef mask);
LLVMValueRef cxi_local(cxi_codegen *e, cx_dtype type, int64_t count);
LLVMValueRef cxi_local_of(cxi_codegen *e, LLVMTypeRef type);
/* Copies `count` elements, which do not overlap; nothing if both are one
 * pointer. */
void cxi_copy_elements(cxi_codegen *e, cx_dtype type, LLVMValueRef to,
                       LLVMValueRef from, int64_t count);

/* for (i = 0; i < n; i += step), at least once, or for (i = first; i < end;
 * i += step): the body is emitted between the two. */
typedef struct cxi_for {
  LLVMValueRef i, end;
  LLVMBasicBlockRef body, after;
  int64_t step;
} cxi_for;
cxi_for cxi_for_open(cxi_codegen *e, int64_t n, int64_t step);
cxi_for cxi_for_range(cxi_codegen *e, LLVMValueRef first, LLVMValueRef end,
                      int64_t step);
void cxi_for_close(cxi_codegen *e, const cxi_for *loop);
LLVMBasicBlockRef cxi_block(cxi_codegen *e, const char *name);

LLVMValueRef cxi_intrinsic(cxi_codegen *e, const char *name, LLVMTypeRef type,
                           LLVMValueRef *in, unsigned n);
/* What the code finds in its table. */
LLVMValueRef cxi_table_entry(cxi_codegen *e, cxi_import import);

/* -- operations.c: one row per elementwise primitive ----------------------- */

typedef struct cxi_operation {
  cxi_prim prim;
  const void *params;
  uint32_t n_in;
  cx_dtype types[CXI_FUSED_OPERANDS], type;
  LLVMValueRef in[CXI_FUSED_OPERANDS];
  int lanes;
} cxi_operation;
/* An equation of a fused unit, without its operands' values. */
cxi_operation cxi_operation_of(const cxi_unit *u, const cxi_op *op);
/* Is there a row that takes these types, and needs no library of C for it? */
bool cxi_operation_takes(const cxi_codegen *e, const cxi_operation *o);
LLVMValueRef cxi_operation_emit(cxi_codegen *e, const cxi_operation *o);
/* Of two values of dtype, for reductions. */
LLVMValueRef cxi_operation2(cxi_codegen *e, cxi_prim prim, cx_dtype type,
                            LLVMValueRef a, LLVMValueRef b, int lanes);

/* functions.c: elementary functions of f32, f16 and bf16; where none is taken,
 * or code is to be short, tier 0's kernel is called. */
bool cxi_function_takes(const cxi_codegen *e, const cxi_operation *o);
LLVMValueRef cxi_function_emit(cxi_codegen *e, const cxi_operation *o);

/* halves.c: f16 and bf16 as floats that are rounded */
LLVMValueRef cxi_half_widen(cxi_codegen *e, cx_dtype type, LLVMValueRef bits,
                            int lanes);
LLVMValueRef cxi_half_narrow(cxi_codegen *e, cx_dtype type, LLVMValueRef x,
                             int lanes);

/* -- the families: each takes units, and emits those it takes -------------- */

typedef struct cxi_family {
  const char *name;
  bool (*takes)(const cxi_codegen *e, const cxi_unit *unit);
  void (*emit)(cxi_codegen *e, cxi_level *l, const cxi_unit *unit);
} cxi_family;
extern const cxi_family cxi_family_pass, cxi_family_reduce, cxi_family_dot,
    cxi_family_move, cxi_family_window, cxi_family_index, cxi_family_random,
    cxi_family_control;

/* families.c: the family that takes a unit; NULL: it is called as a thunk. */
const cxi_family *cxi_family_of(const cxi_codegen *e, const cxi_unit *unit);

/* reduce.c: n values as chunks, the last ones perhaps narrower, to one, in
 * the order of base/lanes.h. */
typedef struct cxi_chunk {
  int64_t at; /* its first element */
  int lanes;
} cxi_chunk;
LLVMValueRef cxi_reduce_chunks(cxi_codegen *e, cxi_prim prim, cx_dtype type,
                               cx_dtype result, int64_t n, uint32_t n_chunks,
                               const cxi_chunk *chunks,
                               const LLVMValueRef *values);
bool cxi_reduce_takes(cxi_prim prim, cx_dtype type, cx_dtype result, int64_t n);
/* Lanes of the definition: before the first element, and one element a lane
 * more, where the mask, if there is one, says so. */
LLVMValueRef cxi_reduce_empty(cxi_codegen *e, cxi_prim prim, cx_dtype type,
                              int lanes);
LLVMValueRef cxi_reduce_more(cxi_codegen *e, cxi_prim prim, cx_dtype type,
                             LLVMValueRef so_far, LLVMValueRef x, int lanes,
                             LLVMValueRef mask);

/* move.c: a copy of elements, both sides by strides over one shape. */
typedef struct cxi_copying {
  cx_dtype type;
  cx_dims shape;
  const int64_t *to, *from; /* strides */
} cxi_copying;
bool cxi_copy_takes(const cxi_copying *c); /* few, or one line */
void cxi_copy_emit(cxi_codegen *e, const cxi_copying *c, LLVMValueRef to,
                   LLVMValueRef from);

/* random.c: the hash of the counter (high, low) under a key, words a and b. */
void cxi_hash_words(cxi_codegen *e, LLVMValueRef key_a, LLVMValueRef key_b,
                    LLVMValueRef *a, LLVMValueRef *b);

/* -- range.c: a fused unit as a function of its own ------------------------ */

bool cxi_range_takes(cxi_codegen *e, const cxi_unit *unit);
void cxi_range_emit(cxi_codegen *e, const cxi_unit *unit);

/* -- levels.c -------------------------------------------------------------- */

/* The pointer to a value's buffer; to an operand's first element. */
LLVMValueRef cxi_root_pointer(cxi_codegen *e, cxi_level *l, uint32_t root);
LLVMValueRef cxi_operand_pointer(cxi_codegen *e, cxi_level *l,
                                 const cxi_operand *o);
/* Do two roots lie in one place? */
bool cxi_same_place(cxi_codegen *e, cxi_level *l, uint32_t a, uint32_t b);

/* A level for a compiled body; its in and out are to be filled. NULL without
 * memory, which the emitter notes. */
cxi_level *cxi_level_open(cxi_codegen *e, const cxi_plan *plan,
                          LLVMValueRef memory);
/* Its units; outputs then lie where out[] says. */
void cxi_level_emit(cxi_codegen *e, cxi_level *l);
/* Is input i of the program few elements, to be held in registers? */
bool cxi_level_is_small(const cxi_level *l, uint32_t i);
const cx_aval *cxi_level_input(const cxi_level *l, uint32_t i);
const cx_aval *cxi_level_output(const cxi_level *l, uint32_t j);
/* An array of n values from scratch memory. */
LLVMValueRef *cxi_values(cxi_codegen *e, uint32_t n);

/* -- control.c: the steps of a loop ---------------------------------------- */

typedef struct cxi_steps {
  const cxi_unit *unit;
  LLVMValueRef body_memory, cond_memory;
  LLVMValueRef steps; /* of a scan */
  LLVMValueRef *consts, *cond_consts;
  LLVMValueRef *from, *to, *other; /* carries: read at first, written at
                                      first, written in turn with that */
  LLVMValueRef *xs, *ys;           /* rows of the first step */
} cxi_steps;
/* Emits the loop; from[k] is then where carry k lies. */
void cxi_steps_emit(cxi_codegen *e, cxi_steps *s);

/* Says in the report what became of a unit. */
void cxi_note(cxi_codegen *e, const cxi_unit *unit, const char *how);

/* Does the machine round and multiply-add by itself? */
static inline bool cxi_is_modern(const cxi_codegen *e) {
  return e->vector_bytes > 16;
}
static inline int64_t cxi_count(const cxi_operand *o) {
  return cxi_dims_count(&o->type.shape);
}
static inline bool cxi_is_half(cx_dtype type) {
  return type == CX_F16 || type == CX_BF16;
}
static inline bool cxi_is_real(cx_dtype type) {
  return cxi_is_half(type) || type == CX_F32 || type == CX_F64;
}
static inline bool cxi_is_signed(cx_dtype type) {
  return type == CX_I8 || type == CX_I16 || type == CX_I32 || type == CX_I64;
}

#endif
