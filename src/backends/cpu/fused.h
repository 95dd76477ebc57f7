/* fused.h - a fused unit as steps over blocks.
 *
 * The rows x n elements are cut into blocks: whole rows, or parts of one row.
 * A step computes the block of one value; values live in memory, or in
 * registers, which are pieces of a scratch buffer that stays in L1. f16 and
 * bf16 are f32 in registers, already rounded. */
#ifndef CXI_CPU_FUSED_H
#define CXI_CPU_FUSED_H

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"
#include "lower/hot.h"

typedef enum cxi_slot_kind {
  CXI_SLOT_REGISTER,
  CXI_SLOT_FIXED,    /* memory, the same for every block */
  CXI_SLOT_ELEMENTS, /* memory with an element per element */
  CXI_SLOT_ROWS,     /* memory with an element per row */
  CXI_SLOT_COLUMNS   /* memory with an element per column */
} cxi_slot_kind;

typedef struct cxi_slot {
  cxi_slot_kind kind;
  cx_dtype type;
  uint32_t bytes;             /* of an element */
  bool per_row;               /* of a register: holds the block's rows */
  const cxi_operand *operand; /* of memory: whose; while it is compiled */
  cxi_ref at;                 /* of memory */
  size_t offset;              /* of a register, in the scratch buffer */
} cxi_slot;

typedef enum cxi_step_kind {
  CXI_STEP_KERNEL,
  CXI_STEP_REDUCE,
  CXI_STEP_EVALUATE,
  CXI_STEP_IOTA, /* no operand */
  CXI_STEP_BITS, /* of a key in memory */
  CXI_STEP_FILL,
  CXI_STEP_SPREAD,
  CXI_STEP_GATHER
} cxi_step_kind;

typedef struct cxi_step {
  cxi_step_kind kind;
  bool once;    /* before the first block, for a full block */
  bool per_row; /* one result per row of the block */
  bool reduces;
  uint32_t n_in, in[CXI_FUSED_OPERANDS], out; /* slots */
  cxi_cpu_kernel kernel;
  cxi_cpu_row_kernel reduce;
  int64_t number;
  int size; /* log2 of the element's bytes, of movement */
  const cxi_pattern *pattern;
  cxi_cpu_iota iota;
  cxi_cpu_index index; /* of iota */
  const cxi_row *row;  /* to evaluate */
  const void *params;
} cxi_step;

typedef struct cxi_pass {
  const cxi_cpu_kernels *kernels;
  int64_t rows, n;
  int64_t block_rows, block_n; /* block_n < n only if block_rows == 1 */
  int64_t n_blocks, task_blocks, n_tasks;
  uint32_t n_slots, n_steps, n_once; /* the first n_once steps: once */
  cxi_slot *slots;
  const cxi_step *steps;
  size_t scratch_bytes;
  size_t workspace; /* where in the scratch that of evaluations begins */
  cxi_ref scratch;  /* for each task, if it exceeds the stack's */
  /* generated code: its way there, what a run counts for it, and where the
   * unit's operands and results lie */
  cxi_hot *hot; /* NULL: none */
  int64_t thunks;
  uint32_t n_refs;
  const cxi_ref *refs;
} cxi_pass;

enum { CXI_STACK_SCRATCH = 65536 };

/* fused_build.c: NULL without memory. Before buffers have places; those are
 * told once they do. */
cxi_pass *cxi_pass_build(const cxi_unit *unit, cxi_arena *arena);
void cxi_pass_place(cxi_pass *pass, const cxi_unit *unit);
/* fused.c */
bool cxi_pass_run(const void *state, char *const *bases, cxi_running *running);

#endif
