/* schedule.h - what a backend is given to compile, and what it makes of it.
 *
 * A schedule is a list of units in the order in which they run. A unit reads
 * operands through strides and writes dense results; it is one primitive, or
 * elementwise equations and reductions of rows fused into one pass. */
#ifndef CXI_SCHEDULE_H
#define CXI_SCHEDULE_H

#include "base/arena.h"
#include "lower/code.h"
#include "lower/graph.h"

/* An address when running: bases[base] + offset bytes. */
typedef struct cxi_ref {
  uint32_t base;
  int64_t offset;
} cxi_ref;
static inline void *cxi_at(char *const *bases, cxi_ref ref) {
  return bases[ref.base] + ref.offset;
}
/* The bases of a plan: its slab, its constants, inputs, outputs. */
enum { CXI_BASE_SLAB, CXI_BASE_CONSTANTS, CXI_BASE_FIRST };

typedef struct cxi_operand {
  uint32_t value, root; /* of the graph */
  cx_aval type;
  int64_t strides[CX_MAX_DIMS]; /* in elements */
  int64_t offset;               /* in its root's buffer, in elements */
  cxi_ref at;                   /* of its first element, once planned */
} cxi_operand;

/* A fused unit works on rows x n elements. Its equations have a result per
 * element, or, on the level of rows, one per row; n == 0: all are on the level
 * of rows, so that the unit is a plain pass over `rows` elements. A reduction
 * reads elements and has its result on the level of rows. */
enum { CXI_FUSED_OPERANDS = 8 }; /* at most, of an equation in it */
typedef struct cxi_source {
  bool fused; /* an equation of this unit, else an operand */
  uint32_t index;
} cxi_source;
typedef struct cxi_op {
  const cxi_row *row;
  const void *params;
  cx_dtype type;     /* of the result */
  bool per_row;      /* the level of its result */
  bool reduces;      /* reads elements, has a result per row */
  uint32_t n_in, in; /* its first in the unit's `sources` */
  int32_t result;    /* of the unit; -1: only used within */
} cxi_op;

typedef enum cxi_unit_kind {
  CXI_UNIT_ONE, /* a primitive */
  CXI_UNIT_FUSED,
  CXI_UNIT_NONE /* a barrier: nothing to run */
} cxi_unit_kind;

struct cxi_plan;
struct cxi_hot;
typedef struct cxi_unit {
  cxi_unit_kind kind;
  cxi_name site, scope;
  bool effects; /* keeps its place among those that have some */
  uint32_t n_operands, n_results;
  cxi_operand *operands, *results;
  /* one primitive */
  const cxi_row *row;
  const void *params;
  uint32_t n_bodies; /* of a loop or branch, compiled */
  const struct cxi_plan *const *bodies;
  /* fused */
  uint32_t n_ops;
  cxi_op *ops;
  cxi_source *sources;
  int64_t rows, n;
  struct cxi_hot *hot; /* its way to generated code; NULL: none */
  /* both */
  size_t workspace_bytes;
  cxi_ref workspace;
  void *prepared; /* by the backend's `workspace` for its `compile` */
} cxi_unit;

/* The type of what the operation of a fused unit takes as operand k. */
static inline cx_dtype cxi_source_type(const cxi_unit *u, const cxi_op *op,
                                       uint32_t k) {
  const cxi_source *s = &u->sources[op->in + k];
  return s->fused ? u->ops[s->index].type : u->operands[s->index].type.type;
}
/* rows x n of a fused unit; a plain one (u->n is 0) has rows where an operand
 * repeats along rows or columns. */
void cxi_unit_extents(const cxi_unit *u, int64_t *out_rows, int64_t *out_n);
/* How an operand covers the rows x n elements, or with per_row the rows. */
cxi_cover cxi_operand_cover(const cxi_operand *o, bool per_row, int64_t rows,
                            int64_t n);
/* The same of the index that an iota gives: the element's number, that of its
 * column (as of a row that repeats), or of its row; else OTHER. */
cxi_cover cxi_index_cover(const cxi_unit *u, const cxi_op *iota, int64_t rows,
                          int64_t n);
/* Does it read operands, or its place, along rows and columns alone? */
bool cxi_reads_lines(const cxi_unit *u, const cxi_op *op, int64_t rows,
                     int64_t n);
/* stages.c: the loops over a row that the equations need, by equation, and how
 * many; crossing[i] is 0, or numbers those whose elements a later one reads, of
 * which there are *out_n_crossing (NULL: not wanted). */
uint32_t cxi_unit_stages(const cxi_unit *u, uint32_t *stages,
                         uint32_t *crossing, uint32_t *out_n_crossing);
/* Is each result written after all that come before it have read? */
bool cxi_unit_stages_keep(const cxi_unit *u, const uint32_t *stages);
/* Do an equation's elements follow from their places alone? Its operands, as a
 * key, are not read by element. */
static inline bool cxi_generates(const cxi_op *op) {
  return op->row->form == CXI_FORM_SOURCE;
}
/* The level on which an equation reads. */
static inline bool cxi_reads_rows(const cxi_unit *u, const cxi_op *op) {
  return op->per_row && !op->reduces && u->n > 0;
}

/* A unit compiled. Runs from any thread at once; no allocation, no locks. */
typedef struct cxi_running {
  int threads;
  cx_loops loops; /* when they and passes get generated code */
  cxi_error *error;
} cxi_running;
typedef struct cxi_thunk {
  bool (*run)(const void *state, char *const *bases, cxi_running *running);
  const void *state;
} cxi_thunk;

/* What a device brings. */
#define CXI_NO_WORKSPACE SIZE_MAX
typedef struct cxi_backend {
  const char *name;
  cxi_reads_views *reads_views;
  int64_t row_limit; /* the longest row that fuses with its sum */
  /* Bytes of memory the unit needs while it runs, 64-aligned;
   * CXI_NO_WORKSPACE: more than there can be, or no memory to tell. Before
   * buffers have places; what it leaves in unit->prepared is in the arena. */
  size_t (*workspace)(cxi_unit *unit, cxi_arena *arena);
  /* May result 0 take operand k's buffer, k being in the row's in_place? */
  bool (*in_place)(const cxi_unit *unit, uint32_t k);
  /* What outlives the call is in the arena. False with *error. */
  bool (*compile)(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                  cxi_error *error);
  void (*copy)(void *to, const void *from, size_t bytes);
  const cxi_coder *coder; /* NULL: it generates no code */
} cxi_backend;

/* -- lowering, in order ---------------------------------------------------- */

typedef struct cxi_schedule {
  cxi_graph graph;
  cxi_arena arena; /* of the units */
  uint32_t n_units;
  cxi_unit *units;
  uint32_t *node_unit; /* 1 + the unit of each node; 0: not run */
} cxi_schedule;

/* 1 + the unit after which the value exists; 0: from the start. */
uint32_t cxi_exists_after(const cxi_schedule *s, uint32_t value);
/* Is the root of values the buffer of a result of a unit? */
bool cxi_is_result(const cxi_graph *g, uint32_t root);
size_t cxi_root_bytes(const cxi_graph *g, uint32_t root);

/* units.c: the graph's live nodes as units, in the order of the program. */
bool cxi_units_make(cxi_schedule *s, const cxi_backend *backend,
                    cxi_error *error);
/* order.c: the units in an order that needs less memory. */
bool cxi_units_order(cxi_schedule *s, cxi_error *error);
void cxi_schedule_free(cxi_schedule *s);

#endif
