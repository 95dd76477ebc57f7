/* function.c - cx_fn: interned code and the arrays it captured. */
#include "trace/function.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/record.h"
#include "trace/tracer.h"

/* -- the table of codes --------------------------------------------------- */

enum { BUCKETS = 4096 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cxi_code *buckets[BUCKETS];

cxi_code *cxi_code_make(cxi_code_kind kind) {
  cxi_code *code = cxi_alloc_zeroed(1, sizeof *code);
  if (!code) return NULL;
  code->kind = kind;
  code->plain.code = code;
  code->plain.live = true;
  return code;
}

void cxi_code_discard(cxi_code *code) {
  if (!code) return;
  cxi_program_release(code->program);
  cxi_free(code->key);
  cxi_arena_free(&code->arena);
  cxi_free(code);
}

static bool same_code(const cxi_code *a, const cxi_code *b) {
  return cxi_hash_equal(a->hash, b->hash) && a->kind == b->kind &&
         a->n_key == b->n_key && !memcmp(a->key, b->key, a->n_key);
}

const cxi_code *cxi_code_intern(cxi_code *code, cxi_bytes *key) {
  cxi_bytes_add_u32(key, code->kind);
  for (uint32_t i = 0; i < code->n_inner; i++)
    cxi_bytes_add_u64(key, (uint64_t)(uintptr_t)code->inner[i]);
  if (key->failed) {
    cxi_bytes_free(key);
    cxi_code_discard(code);
    cxi_report_memory();
    return NULL;
  }
  code->key = key->data;
  code->n_key = key->n;
  code->hash = cxi_hash_bytes(key->data, key->n);
  *key = (cxi_bytes){ 0 };
  pthread_mutex_lock(&lock);
  cxi_code **bucket = &buckets[code->hash.lo % BUCKETS];
  cxi_code *known = *bucket;
  while (known && !same_code(known, code)) known = known->next;
  if (!known) {
    code->next = *bucket;
    *bucket = code;
  }
  pthread_mutex_unlock(&lock);
  if (!known) return code;
  cxi_code_discard(code);
  return known;
}

const char *cxi_code_name(cxi_code *code, const char *transform,
                          const char *inner) {
  const char *name = cxi_arena_print(&code->arena, "%s(%s)", transform, inner);
  return name ? name : transform;
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
  pthread_mutex_lock(&lock);
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
  pthread_mutex_unlock(&lock);
  return f;
}

void cxi_functions_release(struct cx_fn_ *f) {
  while (f) {
    struct cx_fn_ *next = f->next;
    for (uint32_t i = 0; i < f->n_captures; i++)
      cxi_item_release(f->captures[i]);
    cxi_free(f->captures);
    pthread_mutex_lock(&lock);
    make_free(f);
    pthread_mutex_unlock(&lock);
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

cx_fn cx_fn_make(const cx_def *def, const void *env) {
  cxi_code *code = def ? cxi_code_make(CXI_CODE_DEF) : NULL;
  if (!code) return def ? no_memory() : NULL;
  cxi_captures captures = { 0 };
  cxi_bytes key = { 0 };
  code->def = def;
  code->name = def->name;
  cxi_bytes_add_u64(&key, (uint64_t)(uintptr_t)def);
  if (def->env) {
    void *template = cxi_arena_alloc(&code->arena, def->env->size);
    if (template && env)
      cxi_record_freeze(def->env, env, template, &key, &captures);
    captures.failed |= !template || !env;
    code->env = template;
  }
  code->n_captures = captures.n;
  cx_fn f = NULL;
  if (captures.failed) {
    cxi_bytes_free(&key);
    cxi_code_discard(code);
    if (cx_ok())
      cxi_reportf(CX_ETREE, "%s: needs its settings (CX_BIND, CX_BIND_TO)",
                  def->name);
  } else {
    const cxi_code *interned = cxi_code_intern(code, &key);
    f = cxi_fn_bind(interned, captures.n, captures.items);
  }
  cxi_free(captures.items);
  return f;
}

cx_fn cx_fn_of_op(const char *name) {
  const cx_op op = name ? cxi_op_find(name) : 0;
  if (!op) {
    cxi_reportf(CX_ETREE, "op: no elementwise operation is called \"%s\"",
                name ? name : "");
    return NULL;
  }
  cxi_code *code = cxi_code_make(CXI_CODE_OP);
  if (!code) return no_memory();
  code->op = op;
  code->name = cxi_op_name(op);
  cxi_bytes key = { 0 };
  cxi_bytes_add_u32(&key, op);
  const cxi_code *interned = cxi_code_intern(code, &key);
  return interned ? &interned->plain : NULL;
}

cx_fn cxi_fn_of_program(const cxi_program *p, const char *name, uint32_t n,
                        const cxi_item *captures, uint32_t n_args,
                        const cxi_sig *args, cxi_sig out) {
  cxi_code *code = cxi_code_make(CXI_CODE_PROGRAM);
  if (!code) return no_memory();
  cxi_bytes key = { 0 };
  code->program = cxi_program_retain(p);
  code->name = cxi_name_text(cxi_name_of(name));
  code->n_captures = n;
  code->n_args = n_args;
  cxi_sig *copy = cxi_arena_alloc(&code->arena, (n_args + 1) * sizeof *copy);
  if (copy && n_args) memcpy(copy, args, n_args * sizeof *args);
  code->args = copy;
  code->out = out;
  cxi_bytes_add_u64(&key, (uint64_t)(uintptr_t)p);
  cxi_bytes_add_u32(&key, n);
  cxi_bytes_add_u32(&key, out);
  cxi_bytes_add_text(&key, name);
  if (n_args) cxi_bytes_add(&key, args, n_args * sizeof *args);
  if (!code->args) key.failed = true;
  return cxi_fn_bind(cxi_code_intern(code, &key), n, captures);
}
