/* code.h - loops and passes as generated code: what a generator takes and
 * gives back.
 *
 * The code of a loop runs all steps that are left of a scan or while and gives
 * the bits that the thunks of its bodies give. It works on the bases of the
 * bodies (schedule.h), as those stand before a step: the body's carries are
 * read where its inputs' bases say, may be written where its outputs' bases
 * say, and are left where its inputs' bases say afterwards.
 *
 * The code of a pass, a fused unit, takes a range of its elements through all
 * equations. Where its buffers lie and how many elements there are it is told,
 * so that one piece of code serves passes of many sizes. */
#ifndef CXI_CODE_H
#define CXI_CODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calx/context.h"

struct cxi_unit;
struct cxi_running;

/* `cond` is NULL and `steps` counts for a scan; a while looks for itself.
 * other[k] is the buffer with which carry k's output swaps. False with an
 * error in `running`. */
typedef bool cxi_code_run(char **body, char **cond, char *const *other,
                          int64_t steps, struct cxi_running *running,
                          const void *const *table);

/* Columns [column, column_end) of rows [row, row_end) of a fused unit whose
 * rows have n elements, fewer than 2^32 columns at a time; at[]: its operands'
 * first elements, then its results'.
 * With reductions the columns are whole rows, and `room` has 8 n bytes for each
 * equation that crosses (stages.c). Ranges of one run are disjoint, from any
 * threads. */
typedef void cxi_code_range(char *const *at, int64_t n, int64_t row,
                            int64_t row_end, int64_t column, int64_t column_end,
                            char *room, const void *const *table);

/* Either of them. */
typedef void cxi_code_entry(void);

/* -- code that lies anywhere ------------------------------------------------
 * It holds no address: its constants are beside it, and whatever else it
 * needs is in the table that it is called with. So it can be kept in a file.
 * What entry i of the table is says import i, by number: plans in the order
 * of cxi_loop_plans, thunks as they stand in their plan. */
typedef enum cxi_import_kind {
  CXI_IMPORT_RUN,       /* of thunk `b` of plan `a` */
  CXI_IMPORT_STATE,     /* of thunk `b` of plan `a` */
  CXI_IMPORT_CONSTANTS, /* of plan `a` */
  CXI_IMPORT_COPY,      /* memcpy */
  CXI_IMPORT_KERNEL     /* of primitive `a`, `b` operands of types[1 ...],
                           to types[0] */
} cxi_import_kind;
typedef struct cxi_import {
  uint32_t kind, a, b;
  uint32_t types[4];
} cxi_import;

typedef struct cxi_object {
  const unsigned char *code; /* NULL: this unit is not worth any */
  size_t bytes, entry;       /* of the code; of its function in it */
  uint32_t n_imports;
  const cxi_import *imports;
  const char *report; /* what became of each unit, a line each */
  void *owner;        /* the generator's */
} cxi_object;

/* -- a unit's way to its code ---------------------------------------------- */

typedef struct cxi_code {
  cxi_code_entry *entry;    /* NULL: it stays without */
  const void *const *table; /* what the code calls */
} cxi_code;

/* What a coder keeps of a unit; in the executable's memory, all 0 at first
 * but for `unit`. */
typedef struct cxi_coding {
  /* Of a loop its primitive, parameters and bodies; a fused one whole. */
  const struct cxi_unit *unit;
  _Atomic(const cxi_code *) ready; /* &code, once it is there */
  atomic_int stage;
  cxi_code code;
  void *kept;              /* the coder's entry for this structure */
  struct cxi_coding *next; /* in one of the coder's lists */
} cxi_coding;

typedef struct cxi_coder {
  cx_loops (*when)(cx_loops wanted); /* never the default */
  /* May code be worth its making for this fused unit? */
  bool (*may_pay)(const struct cxi_unit *unit);
  /* Code for a unit that ran so many thunks, or work worth as many: sets
   * `ready` at once, later, or not at all. From any thread. */
  void (*ask)(cxi_coding *coding, int64_t ran, cx_loops when);
  /* Nothing of it is asked any more, nor runs. */
  void (*release)(cxi_coding *coding);
} cxi_coder;

#endif
