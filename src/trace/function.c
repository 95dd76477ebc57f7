/* function.c - cx_fn: interned code and the arrays it captured. */
#include "trace/function.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/mutex.h"
#include "ops/ops.h"
#include "trace/record.h"
#include "trace/tracer.h"

/* -- the table of codes --------------------------------------------------- */

enum { BUCKETS = 4096, LONGEST_NAME = 160 };
static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static cxi_code *buckets[BUCKETS];

void cxi_code_draft(cxi_code *draft, cxi_code_kind kind, const char *name) {
  memset(draft, 0, sizeof *draft);
  draft->kind = kind;
  draft->name = name;
}

void cxi_code_discard(cxi_code *draft) {
  cxi_program_release(draft->program);
  cxi_free(draft->key);
  cxi_arena_free(&draft->arena);
}

/* Under the lock. */
static const cxi_code *find_code(const cxi_code *draft) {
  const cxi_code *c = buckets[draft->hash.lo % BUCKETS];
  while (c &&
         !(cxi_hash_equal(c->hash, draft->hash) && c->kind == draft->kind &&
           c->n_key == draft->n_key && !memcmp(c->key, draft->key, c->n_key)))
    c = c->next;
  return c;
}

/* "grad(loss)"; of a deep nest "jit(...loss...)", or the names of n levels
 * would add up to n^2 letters. NULL without memory. */
static const char *print_name(cxi_code *code) {
  const char *inner = code->inner[0]->name;
  if (strlen(inner) < LONGEST_NAME)
    return cxi_arena_print(&code->arena, "%s(%s)", code->name, inner);
  const char *open = strrchr(inner, '('), *f = open ? open + 1 : inner;
  const char *dots = strncmp(f, "...", 3) == 0 ? "" : "...";
  return cxi_arena_print(&code->arena, "%s(%s%.*s%s)", code->name, dots,
                         (int)strcspn(f, ")"), f, dots);
}

/* The draft as an object of its own; a transform's name gets its function's. */
static cxi_code *make_code(const cxi_code *draft) {
  cxi_code *code = cxi_alloc(sizeof *code);
  if (!code) return NULL;
  *code = *draft;
  code->plain = (struct cx_fn_){ .code = code, .live = true };
  if (code->n_inner == 0) return code;
  const char *name = print_name(code);
  if (name) code->name = name;
  return code;
}

static bool fill_key(cxi_code *draft, cxi_bytes *key) {
  cxi_bytes_add_u32(key, draft->kind);
  for (uint32_t i = 0; i < draft->n_inner; i++)
    cxi_bytes_add_u64(key, (uint64_t)(uintptr_t)draft->inner[i]);
  if (key->failed) {
    cxi_bytes_free(key);
    return false;
  }
  draft->key = key->data;
  draft->n_key = key->n;
  draft->hash = cxi_hash_bytes(key->data, key->n);
  *key = (cxi_bytes){ 0 };
  return true;
}

const cxi_code *cxi_code_intern(cxi_code *draft, cxi_bytes *key) {
  if (!fill_key(draft, key)) {
    cxi_code_discard(draft);
    cxi_report_memory();
    return NULL;
  }
  cxi_mutex_lock(&lock);
  const cxi_code *known = find_code(draft);
  cxi_code *code = known ? NULL : make_code(draft);
  if (code) {
    code->next = buckets[code->hash.lo % BUCKETS];
    buckets[code->hash.lo % BUCKETS] = code;
  }
  cxi_mutex_unlock(&lock);
  if (code) return code;
  cxi_code_discard(draft);
  if (!known) cxi_report_memory();
  return known;
}

/* -- functions with captures ---------------------------------------------- */

/* Their memory comes from slabs that stay. A freed one waits behind many
 * others before it is used again. */
enum { SLAB = 64, QUARANTINE = 4096 };
static struct cx_fn_ *first_free, *last_free;
static uint32_t n_free;

static void make_free(struct cx_fn_ *f) {
  *f = (struct cx_fn_){ .live = false };
  if (last_free)
    last_free->next = f;
  else
    first_free = f;
  last_free = f;
  n_free++;
}

static struct cx_fn_ *fn_make(void) {
  cxi_mutex_lock(&lock);
  if (n_free <= QUARANTINE) {
    struct cx_fn_ *slab = cxi_alloc_zeroed(SLAB, sizeof *slab);
    for (int i = 0; slab && i < SLAB; i++) {
      slab[i].next = first_free;
      first_free = &slab[i];
      if (!last_free) last_free = &slab[i];
      n_free++;
    }
  }
  struct cx_fn_ *f = first_free;
  if (f) {
    first_free = f->next;
    if (!first_free) last_free = NULL;
    n_free--;
    f->next = NULL;
  }
  cxi_mutex_unlock(&lock);
  return f;
}

void cxi_functions_release(struct cx_fn_ *f) {
  while (f) {
    struct cx_fn_ *next = f->next;
    for (uint32_t i = 0; i < f->n_captures; i++)
      cxi_item_release(f->captures[i]);
    cxi_free(f->captures);
    cxi_mutex_lock(&lock);
    make_free(f);
    cxi_mutex_unlock(&lock);
    f = next;
  }
}

static bool same_captures(const struct cx_fn_ *f, uint32_t n,
                          const cxi_item *items) {
  if (f->n_captures != n) return false;
  for (uint32_t i = 0; i < n; i++)
    if (f->captures[i].kind != items[i].kind ||
        f->captures[i].as.bits != items[i].as.bits)
      return false;
  return true;
}

/* Equal functions made lately in this scope are one. */
static cx_fn find_bound(const cxi_scope_entry *scope, const cxi_code *code,
                        uint32_t n, const cxi_item *items) {
  enum { LATELY = 32 };
  const struct cx_fn_ *f = scope->functions;
  for (int i = 0; f && i < LATELY; i++, f = f->next)
    if (f->code == code && same_captures(f, n, items)) return f;
  return NULL;
}

static cx_fn no_memory(void) {
  cxi_report_memory();
  return NULL;
}

cx_fn cxi_fn_bind(const cxi_code *code, uint32_t n, const cxi_item *captures) {
  if (!code) return NULL;
  if (n == 0) return &code->plain;
  cx_ctx *ctx = cxi_context_need();
  if (!ctx) return NULL;
  cxi_scope_entry *scope = &ctx->scopes[ctx->n_scopes - 1];
  cx_fn known = find_bound(scope, code, n, captures);
  if (known) return known;
  cxi_item *items = cxi_alloc(n * sizeof *items);
  struct cx_fn_ *f = items ? fn_make() : NULL;
  if (!f) {
    cxi_free(items);
    return no_memory();
  }
  *f = (struct cx_fn_){ .code = code,
                        .n_captures = n,
                        .live = true,
                        .captures = items,
                        .next = scope->functions };
  for (uint32_t i = 0; i < n; i++) {
    items[i] = cxi_item_retain(captures[i]);
    if (items[i].kind == CXI_ITEM_POISON) f->poison = items[i].as.handle;
  }
  scope->functions = f;
  return f;
}

bool cxi_fn_check(cx_fn f) {
  if (f->live) return true;
  cxi_report(CX_ELIFETIME, "this function's scope has ended");
  return false;
}

/* -- functions from descriptors, operations, programs --------------------- */

/* What the macros of function.h make; a binding to another language might not.
 */
static bool def_valid(const cx_def *def) {
  if (def->name && def->args && def->call && def->n_args >= 0 &&
      def->n_args <= CX_MAX_ARGS)
    return true;
  cxi_reportf(CX_EUSER,
              "%s: a function needs names, C code and at most %d arguments",
              def->name ? def->name : "?", CX_MAX_ARGS);
  return false;
}

cx_fn cx_fn_make_(const cx_def *def, const void *env, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  if (!def || !def_valid(def)) return NULL;
  cxi_code draft;
  cxi_captures captures = { 0 };
  cxi_bytes key = { 0 };
  cxi_code_draft(&draft, CXI_CODE_DEF, def->name);
  draft.def = def;
  cxi_bytes_add_u64(&key, (uint64_t)(uintptr_t)def);
  static const cx_batch no_batch = { 0 };
  if (!env && def->env == &cx_rec_cx_batch) env = &no_batch;
  if (def->env) {
    void *template = cxi_arena_alloc(&draft.arena, def->env->size);
    if (template && env)
      cxi_record_freeze(def->env, env, template, &key, &captures);
    captures.failed |= !template || !env;
    draft.env = template;
  }
  draft.n_captures = captures.n;
  cx_fn f = NULL;
  if (captures.failed) {
    cxi_bytes_free(&key);
    cxi_code_discard(&draft);
    if (!env)
      cxi_reportf(CX_ETREE, "%s: needs its settings (CX_BIND, CX_BIND_TO)",
                  def->name);
    else if (cx_ok()) /* or what is wrong has been reported */
      cxi_report_memory();
  } else {
    f = cxi_fn_bind(cxi_code_intern(&draft, &key), captures.n, captures.items);
  }
  cxi_free(captures.items);
  return f;
}

cx_fn cx_fn_of_op_(const char *name, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  const cx_op op = name ? cxi_op_find(name) : 0;
  if (!op) {
    cxi_reportf(CX_ETREE, "op: no elementwise operation is called \"%s\"",
                name ? name : "");
    return NULL;
  }
  cxi_code draft;
  cxi_bytes key = { 0 };
  cxi_code_draft(&draft, CXI_CODE_OP, cxi_op_name(op));
  draft.op = op;
  cxi_bytes_add_u32(&key, op);
  return cxi_fn_bind(cxi_code_intern(&draft, &key), 0, NULL);
}

cx_fn cxi_fn_of_program(const cxi_program *p, const char *name, uint32_t n,
                        const cxi_item *captures, uint32_t n_args,
                        const cxi_name *arg_names, const cxi_sig *args,
                        cxi_sig out) {
  cxi_code draft;
  cxi_bytes key = { 0 };
  cxi_code_draft(&draft, CXI_CODE_PROGRAM, cxi_name_text(cxi_name_of(name)));
  draft.program = cxi_program_retain(p);
  draft.n_captures = n;
  draft.n_args = n_args;
  draft.out = out;
  cxi_sig *copy = cxi_arena_alloc(&draft.arena, (n_args + 1) * sizeof *copy);
  if (copy && n_args) memcpy(copy, args, n_args * sizeof *args);
  draft.args = copy;
  cxi_name *names = NULL;
  if (arg_names) {
    names = cxi_arena_alloc(&draft.arena, (n_args + 1) * sizeof *names);
    if (names && n_args) memcpy(names, arg_names, n_args * sizeof *names);
    draft.arg_names = names;
  }
  cxi_bytes_add_u64(&key, (uint64_t)(uintptr_t)p);
  cxi_bytes_add_u32(&key, n);
  cxi_bytes_add_u32(&key, out);
  cxi_bytes_add_text(&key, name);
  if (n_args) cxi_bytes_add(&key, args, n_args * sizeof *args);
  if (names && n_args) cxi_bytes_add(&key, names, n_args * sizeof *names);
  if (!copy || (arg_names && !names)) key.failed = true;
  return cxi_fn_bind(cxi_code_intern(&draft, &key), n, captures);
}
