/* function.h - cx_fn: interned code and the arrays it captured.
 *
 * The code is a descriptor with its static environment, an operation, a
 * program, or a transform of other codes with its options; equal codes are one
 * object for the process. The arrays (and values being traced) of an
 * environment are not part of it: they are the captures of the cx_fn, in the
 * order in which the fields stand, those of functions in the environment and
 * of inner functions in their places.
 *
 * A cx_fn without captures is its code's own and never ends. One with
 * captures belongs to the scope or trace that made it; its memory is only used
 * again after many others, so that a stale one is an error, not a crash. */
#ifndef CXI_FUNCTION_H
#define CXI_FUNCTION_H

#include "base/hash.h"
#include "calx/calx.h"
#include "trace/context.h"

typedef enum cxi_code_kind {
  CXI_CODE_DEF,
  CXI_CODE_OP,
  CXI_CODE_PROGRAM,
  CXI_CODE_GRAD,
  CXI_CODE_VALUE_AND_GRAD,
  CXI_CODE_VMAP,
  CXI_CODE_JIT,
  CXI_CODE_CHECKPOINT,
  CXI_CODE_JVP,
  CXI_CODE_VJP,
  CXI_CODE_JACFWD,
  CXI_CODE_JACREV,
  CXI_CODE_CUSTOM_JVP,
  CXI_CODE_CUSTOM_VJP,
  CXI_CODE_CUSTOM_VMAP,
  CXI_CODE_CHECKIFY
} cxi_code_kind;

typedef struct cxi_code cxi_code;

struct cx_fn_ {
  const cxi_code *code;
  uint32_t n_captures;
  bool live;
  cx poison;           /* of a captured field; else {0} */
  cxi_item *captures;  /* own their references */
  struct cx_fn_ *next; /* of its scope's, or in the free list */
};

/* The axes of vmap; trees of integers are interned signatures of axes: see
 * axes in map.c. */
typedef struct cxi_vmap_options {
  int in[CX_MAX_ARGS], out[CX_MAX_ARGS];
  bool has_in_tree, has_out_tree;
  uint32_t n_in_axes, n_out_axes;
  cxi_sig in_sig, out_sig;       /* structures of the trees */
  const int *in_axes, *out_axes; /* one per leaf of the structure */
  int64_t axis_size;
  cxi_name axis_name;
} cxi_vmap_options;

typedef struct cxi_checkpoint_options {
  cxi_name policy;
  cxi_names names;
  bool (*save)(const cx_eqn *equation, void *user);
  void *user;
} cxi_checkpoint_options;

typedef struct cxi_jit_options {
  uint64_t donate;
  cxi_name device;
  int cache_max;
} cxi_jit_options;

struct cxi_code {
  cxi_code_kind kind;
  cxi_hash hash;
  unsigned char *key; /* compared on a hit */
  uint32_t n_key;
  const char *name; /* "grad(loss)" */
  uint32_t n_captures;
  struct cx_fn_ plain; /* the function without captures */
  cxi_code *next;      /* in its bucket */
  cxi_arena arena;

  const cx_def *def;          /* DEF */
  const void *env;            /* its template: see record.h */
  cx_op op;                   /* OP */
  const cxi_program *program; /* PROGRAM: captures, then arguments */
  uint32_t n_args;
  const cxi_sig *args; /* PROGRAM: what it takes, 0: any */
  const cxi_name *arg_names; /* PROGRAM: or NULL */
  cxi_sig out;
  uint32_t n_inner;
  const cxi_code *inner[3];
  union {
    struct {
      uint64_t wrt;
      bool has_aux, allow_int;
    } grad;
    cxi_vmap_options vmap;
    unsigned check_kinds;
    cxi_jit_options jit;
    cxi_checkpoint_options checkpoint;
  } as;
  struct cxi_calls *calls; /* JIT: its cache and statistics */
};

/* A code is written as a draft, on the stack: most are known already. A
 * transform's name is without its function's. */
void cxi_code_draft(cxi_code *draft, cxi_code_kind kind, const char *name);
void cxi_code_discard(cxi_code *draft); /* what it holds */
/* The interned code equal to the draft, which it takes: key holds all that
 * tells codes of its kind apart. NULL without memory, reported. */
const cxi_code *cxi_code_intern(cxi_code *draft, cxi_bytes *key);

/* The function of a code and its captures, borrowed; the current scope owns
 * it if there are any. NULL without memory, reported. */
cx_fn cxi_fn_bind(const cxi_code *code, uint32_t n, const cxi_item *captures);
/* False after reporting, for a function whose scope has ended. */
bool cxi_fn_check(cx_fn f);
void cxi_functions_release(struct cx_fn_ *first);

/* A function that applies a program: its first inputs are the captures, then
 * come the leaves of the arguments, whose names may be NULL. */
cx_fn cxi_fn_of_program(const cxi_program *p, const char *name, uint32_t n,
                        const cxi_item *captures, uint32_t n_args,
                        const cxi_name *arg_names, const cxi_sig *args,
                        cxi_sig out);

#endif
