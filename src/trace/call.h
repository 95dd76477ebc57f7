/* call.h - from a function and the types of its arguments to a program.
 *
 * A resolved program takes, in this order: the leaves of the captures, the
 * extras (arrays that the function made from C data; values of outer traces),
 * the leaves of the arguments. */
#ifndef CXI_CALL_H
#define CXI_CALL_H

#include "trace/function.h"

/* The key of the memo, in full:
 *   the code (descriptor, static environment, chain of transforms, options),
 *   for each capture and each argument its structure with dtypes and shapes,
 *   the promotion rule,
 *   the named axes of the vmaps around, with their sizes,
 *   whether checks are on,
 *   the device of the context. */
typedef struct cxi_request {
  const cxi_code *code;
  uint32_t n_captures, n_args;
  const cxi_sig *captures, *args;
  cx poison; /* set when it fails */
} cxi_request;

/* A resolved request. Immutable but for what the table and the compiler keep
 * in it; counted. */
typedef struct cxi_entry {
  uint32_t refs;
  cxi_hash hash;
  unsigned char *key;
  uint32_t n_key;
  const cxi_code *code;
  const cxi_program *program;
  cxi_sig out;
  uint32_t n_lead; /* leaves of captures */
  uint32_t n_extras;
  cxi_item *extras; /* own their arrays */
  bool lifted;      /* an extra is a value of an outer trace: not in
                                 the memo */
  bool *weak_out;   /* outputs that are C numbers; NULL: none */
  size_t bytes;
  struct cxi_entry *next, *newer, *older;
  struct cxi_compiled *compiled; /* kept by runtime/jit.c, which frees it */
} cxi_entry;

/* NULL, with request->poison, after reporting. */
cxi_entry *cxi_resolve(cxi_request *request);
cxi_entry *cxi_entry_retain(cxi_entry *entry);
void cxi_entry_release(cxi_entry *entry); /* NULL: nothing */
/* A new entry that takes the program and copies the extras; NULL without
 * memory, reported (the program is released). */
cxi_entry *cxi_entry_make(cxi_request *request, const cxi_program *program,
                          cxi_sig out, uint32_t n_lead, uint32_t n_extras,
                          const cxi_item *extras);
/* What frees an entry's executable. */
extern void (*cxi_compiled_free)(struct cxi_compiled *);

typedef struct cxi_resolve_stats {
  uint64_t hits, traces, entries;
} cxi_resolve_stats;
cxi_resolve_stats cxi_resolves_now(void);
void cxi_resolves_clear(void);
void cxi_resolves_limit(size_t entries, size_t bytes);

/* Reports, and sets the request's poison; returns NULL. */
cxi_entry *cxi_request_fail(cxi_request *request, cx_code code,
                            const char *format, ...) CX_PRINTF(3, 4);
cxi_entry *cxi_request_error(cxi_request *request, const cxi_error *error);

/* -- making programs ------------------------------------------------------ */

cxi_entry *cxi_trace_function(cxi_request *request); /* trace_function.c */
cxi_entry *cxi_derive(cxi_request *request);         /* derive.c */

/* The name of argument i of a function: "x"; "" if not known. */
typedef struct cxi_argument {
  char name[64];
} cxi_argument;
cxi_argument cxi_argument_name(const cxi_code *code, uint32_t i);
/* `argument 1 "x"`, counted from 0, with the path within it. */
typedef struct cxi_leaf_name {
  char text[256];
} cxi_leaf_name;
cxi_leaf_name cxi_leaf_name_of(const cxi_code *code, uint32_t n_args,
                               const cxi_sig *args, uint32_t leaf);
/* `"h"`, `"layers.3.w"`: a leaf among the arguments by its path alone. */
cxi_leaf_name cxi_leaf_path_of(const char *root, cxi_sig sig, uint32_t leaf);

/* -- calls ---------------------------------------------------------------- */

/* A call with everything about it, the operands flat in program order. */
typedef struct cxi_invocation {
  cx_fn f;
  cxi_entry *entry; /* a reference */
  uint32_t n_args, n_operands;
  cxi_item *args;     /* scratch, borrowed */
  cxi_sig *sigs;      /* captures, then args */
  cxi_item *operands; /* scratch, borrowed; numbers made strong */
  bool specs;         /* an argument has no data */
  cx poison;
} cxi_invocation;
/* Resolves; false with poison. Scratch memory is the caller's to reset. */
bool cxi_invoke(cxi_invocation *call, cx_fn f, int n, const cx *args);
/* Applies it: in a trace as an equation, else by running. */
cx cxi_invocation_apply(cxi_invocation *call);
/* Only the types: SPEC leaves. */
cx cxi_invocation_types(const cxi_invocation *call);
void cxi_invocation_end(cxi_invocation *call);

/* Runs a program at once on leaves (arrays and numbers); out[] become items
 * with a reference each. False after reporting, with *out_poison. */
bool cxi_run_program(const cxi_program *p, const cxi_item *in, cxi_item *out,
                     cx *out_poison);
/* In a trace the program becomes an equation, else it runs. */
bool cxi_apply_program(const cxi_program *p, const cxi_item *in, cxi_item *out,
                       cx *out_poison);
/* The compiled way of a cx_jit function: runtime/jit.c. */
bool cxi_run_compiled(cxi_invocation *call, cxi_item *out, cx *out_poison);

#endif
