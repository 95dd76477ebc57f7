/* context.h - a context: its handles, scopes and kept error.
 *
 * Concrete arrays, trees and scalars live in one stack of slots; a handle is
 * {slot + 1, serial of its scope}. CX_SCOPE pushes a scope with a new serial,
 * its pop releases the slots above: looking a handle up is two compares, and a
 * handle that outlived its scope cannot match. Kept and escaped values live in
 * a second table, each with a serial of its own. C numbers are encoded in the
 * handle itself. Handles of values being traced are the builder's. */
#ifndef CXI_CONTEXT_H
#define CXI_CONTEXT_H

#include <pthread.h>

#include "base/arena.h"
#include "calx/inspect.h"
#include "trace/item.h"

typedef struct cxi_trace cxi_trace;
typedef struct cxi_device cxi_device;

/* Ranges of index - 1 and of index; see literal.c for the rest. */
static const uint32_t CXI_KEPT_FIRST = 0x08000000;
static const uint32_t CXI_NUMBER_FIRST = 0x40000000;

typedef struct cxi_slot {
  cxi_item item;   /* owns a reference */
  uint32_t serial; /* of its scope */
} cxi_slot;

typedef struct cxi_kept {
  cxi_item item;
  uint32_t serial; /* of the entry; 0: free */
  uint32_t next;   /* + 1, in the free list or its scope's list */
} cxi_kept;

typedef enum cxi_scope_kind {
  CXI_SCOPE_ROOT,
  CXI_SCOPE_BLOCK,
  CXI_SCOPE_TRACE,
  CXI_SCOPE_KEPT
} cxi_scope_kind;

typedef struct cxi_scope_entry {
  uint32_t serial, first; /* its first slot */
  cxi_scope_kind kind;
  const char *name;         /* of a trace: the function */
  uint32_t escaped;         /* kept entries that end with it: index + 1 */
  struct cx_fn_ *functions; /* that captured arrays */
  cxi_arena strings;        /* shown to the user */
} cxi_scope_entry;

/* What has ended lately, for messages. */
typedef struct cxi_ended {
  uint32_t serial;
  cxi_scope_kind kind;
  const char *name;
} cxi_ended;
enum { CXI_ENDED = 256 };

typedef struct cxi_kept_error {
  cx_code code; /* CX_OK: none */
  char text[640], taken[640];
} cxi_kept_error;

struct cx_ctx {
  cxi_emitter eager; /* first: what plain operations go to */
  const cxi_device *device;
  cxi_account *account;
  int threads;
  cx_loops loops;
  size_t memory_limit;
  void (*on_error)(cx_code code, const char *message, void *user);
  void *user;
  cxi_kept_error error;
  uint32_t n_errors; /* reported; the generation of poison */
  bool checks;
  cx_promote promotion;
  uint32_t n_slots, cap_slots, n_scopes, cap_scopes, n_kept, cap_kept;
  cxi_slot *slots;
  cxi_scope_entry *scopes;
  cxi_kept *kept;
  uint32_t free_kept; /* index + 1 */
  cxi_ended ended[CXI_ENDED];
  uint32_t n_ended;
  cxi_trace *trace; /* the innermost one in progress */
  int depth;        /* of calls being traced */
  int n_inside;     /* threads whose current context it is */
  bool entered;     /* by `thread`, the last one that did */
  pthread_t thread;
  cx_ctx *next; /* of all open ones */
};

/* The context of this thread; read through cxi_context_now. Of the general
 * thread-local model: a module of the initial one may be refused by dlopen. */
extern _Thread_local cx_ctx *cxi_context_current;
static inline cx_ctx *cxi_context_now(void) { /* NULL: none */
  return cxi_context_current;
}
/* The same, after reporting CX_ELIFETIME if there is none. */
cx_ctx *cxi_context_need(void);

/* -- life (context.c) ----------------------------------------------------- */

/* Makes a context for the device, in no thread yet; NULL without memory. */
cx_ctx *cxi_context_make(const cxi_device *device, cx_open_opt opt);
bool cxi_context_last(void); /* no context is open in the process */
/* Whether another context of this thread has a scope or kept value with this
 * serial; the one with the scope. */
bool cxi_context_elsewhere(uint32_t serial);
cx_ctx *cxi_context_of_scope(uint32_t serial);

/* -- errors (report.c) ---------------------------------------------------- */

/* Keeps the first error as "SITE: text", calls on_error, returns poison. */
cx cxi_report(cx_code code, const char *text);
/* What CX_EDTYPE reports of this thread end with until the next call: `write`
 * is asked for each dtype that they name until it knows something to say.
 * Returns what it was. */
typedef struct cxi_dtype_hint {
  bool (*write)(const void *user, cx_dtype dtype, char *out, size_t size);
  const void *user;
} cxi_dtype_hint;
cxi_dtype_hint cxi_dtype_hint_use(cxi_dtype_hint hint);
cx cxi_reportf(cx_code code, const char *format, ...) CX_PRINTF(2, 3);
/* From a function that fills a status; prefix may be NULL. */
cx cxi_report_error(const char *prefix, const cxi_error *error);
cx cxi_report_memory(void);
cx cxi_poison_last(void); /* of the error reported last */

/* -- scopes and handles (handle.c) ---------------------------------------- */

/* 0 without memory, reported. */
uint32_t cxi_scope_push(cx_ctx *ctx, cxi_scope_kind kind, const char *name);
void cxi_scope_pop(cx_ctx *ctx, uint32_t serial);
/* Remembers what ended, for messages about its handles. */
void cxi_ended_add(cx_ctx *ctx, uint32_t serial, cxi_scope_kind kind,
                   const char *name);

/* A handle for an item whose reference it takes. */
cx cxi_handle(cxi_item item);
/* The item behind a handle, borrowed. Kind POISON after reporting a handle
 * that is not valid here (ended, dropped, donated, another context's). */
cxi_item cxi_item_of(cx a);
/* The same with the operation's name before the message. */
cxi_item cxi_item_for(const char *what, cx a);
/* "sum: an array is needed, this is (f32[3], f32[2])" */
cx cxi_report_tree(const char *what, cxi_item tree);
/* The same, where an unfinished tree of cx_put may stay so. */
cxi_item cxi_item_unfinished(cx a);
/* Without reporting: kind NOTHING for what is not valid. */
cxi_item cxi_item_peek(cx a);
/* Whether the buffer is still there, not donated. */
bool cxi_array_alive(const cxi_array *a);
cx cxi_report_donated(const char *what, const cxi_array *a);
/* Text that lives until the scope ends; never NULL. */
const char *cxi_string(const char *text);
const char *
cxi_string_or_null(const char *text); /* NULL: no memory, reported */

/* The commonest cases in line: an array or tree of a live scope, or kept. */
static inline bool cxi_slot_find(const cx_ctx *ctx, cx a, cxi_item *out) {
  const uint32_t i = a.index - 1, k = i - CXI_KEPT_FIRST;
  if (!ctx) return false;
  if (i < ctx->n_slots && ctx->slots[i].serial == a.generation)
    *out = ctx->slots[i].item;
  else if (k < ctx->n_kept && ctx->kept[k].serial == a.generation)
    *out = ctx->kept[k].item;
  else
    return false;
  return out->kind != CXI_ITEM_TREE || !out->as.tree->base;
}

/* -- numbers (literal.c) -------------------------------------------------- */

static inline bool cxi_is_number(cx a) {
  return a.index >= CXI_NUMBER_FIRST && a.index != UINT32_MAX;
}
cxi_item cxi_number_item(cx a); /* weak: bool, i64, u64 or f64 */
/* A weak number under its default dtype (f32, i32, ...). */
cxi_item cxi_number_strong(cxi_item a);
/* Converted to a dtype. */
cxi_item cxi_number_cast(cxi_item a, cx_dtype type);
cx cxi_number_weak(cx_dtype type, uint64_t bits); /* its handle */

#endif
