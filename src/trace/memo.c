/* memo.c - the table of resolved requests: one for the process, bounded. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/mutex.h"
#include "ops/ops.h"
#include "trace/axes.h"
#include "trace/call.h"

enum { BUCKETS = 8192, DEEPEST = 200 };

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static cxi_entry *buckets[BUCKETS], *newest, *oldest;
static uint64_t n_hits, n_traces, n_entries;
static size_t n_bytes, most_entries = 8192, most_bytes = (size_t)1 << 30;

void (*cxi_compiled_free)(struct cxi_compiled *);

/* -- entries -------------------------------------------------------------- */

cxi_entry *cxi_entry_retain(cxi_entry *entry) {
  __atomic_add_fetch(&entry->refs, 1, __ATOMIC_RELAXED);
  return entry;
}

void cxi_entry_release(cxi_entry *entry) {
  if (!entry || __atomic_sub_fetch(&entry->refs, 1, __ATOMIC_ACQ_REL)) return;
  if (entry->compiled) cxi_compiled_free(entry->compiled);
  for (uint32_t i = 0; i < entry->n_extras; i++)
    cxi_item_release(entry->extras[i]);
  cxi_program_release(entry->program);
  cxi_free(entry->extras);
  cxi_free(entry->weak_out);
  cxi_free(entry->key);
  cxi_free(entry);
}

cxi_entry *cxi_entry_make(cxi_request *request, const cxi_program *program,
                          cxi_sig out, uint32_t n_lead, uint32_t n_extras,
                          const cxi_item *extras) {
  cxi_entry *entry = cxi_alloc_zeroed(1, sizeof *entry);
  cxi_item *copy = cxi_alloc_zeroed(n_extras + 1u, sizeof *copy);
  if (!entry || !copy || !out) {
    cxi_free(entry);
    cxi_free(copy);
    cxi_program_release(program);
    request->poison = cxi_report_memory();
    return NULL;
  }
  *entry = (cxi_entry){ .refs = 1,
                        .code = request->code,
                        .program = program,
                        .out = out,
                        .n_lead = n_lead,
                        .n_extras = n_extras,
                        .extras = copy,
                        .bytes = sizeof *entry + program->bytes };
  for (uint32_t i = 0; i < n_extras; i++) {
    copy[i] = cxi_item_retain(extras[i]);
    if (copy[i].kind == CXI_ITEM_ARRAY)
      entry->bytes += cxi_array_bytes(copy[i].as.array);
    entry->lifted |= copy[i].kind == CXI_ITEM_TRACER;
  }
  return entry;
}

/* -- the table, under the lock -------------------------------------------- */

static void unlink_age(cxi_entry *e) {
  if (e->newer)
    e->newer->older = e->older;
  else
    newest = e->older;
  if (e->older)
    e->older->newer = e->newer;
  else
    oldest = e->newer;
  e->newer = e->older = NULL;
}

static void link_newest(cxi_entry *e) {
  e->older = newest;
  if (newest)
    newest->newer = e;
  else
    oldest = e;
  newest = e;
}

static cxi_entry *find(cxi_hash hash, const void *key, uint32_t n) {
  cxi_entry *e = buckets[hash.lo % BUCKETS];
  while (e && !(cxi_hash_equal(e->hash, hash) && e->n_key == n &&
                !memcmp(e->key, key, n)))
    e = e->next;
  return e;
}

static void remove_entry(cxi_entry *e) {
  cxi_entry **at = &buckets[e->hash.lo % BUCKETS];
  while (*at != e) at = &(*at)->next;
  *at = e->next;
  e->next = NULL;
  unlink_age(e);
  n_entries--;
  n_bytes -= e->bytes;
}

/* Takes out what is beyond the limits, linked by next. */
static cxi_entry *evict(size_t entries, size_t bytes) {
  cxi_entry *out = NULL;
  while (oldest && (n_entries > entries || n_bytes > bytes)) {
    cxi_entry *e = oldest;
    remove_entry(e);
    e->next = out;
    out = e;
  }
  return out;
}

static void release_all(cxi_entry *e) {
  while (e) {
    cxi_entry *next = e->next;
    e->next = NULL;
    cxi_entry_release(e);
    e = next;
  }
}

/* The entry of the table, if another thread was first; takes e. */
static cxi_entry *insert(cxi_entry *e) {
  cxi_mutex_lock(&lock);
  cxi_entry *known = find(e->hash, e->key, e->n_key), *out = NULL;
  if (known) {
    cxi_entry_retain(known);
  } else {
    cxi_entry_retain(e);
    e->next = buckets[e->hash.lo % BUCKETS];
    buckets[e->hash.lo % BUCKETS] = e;
    link_newest(e);
    n_entries++;
    n_bytes += e->bytes;
    out = evict(most_entries, most_bytes);
  }
  cxi_mutex_unlock(&lock);
  release_all(out);
  if (!known) return e;
  cxi_entry_release(e);
  return known;
}

void cxi_resolves_limit(size_t entries, size_t bytes) {
  cxi_mutex_lock(&lock);
  most_entries = entries;
  most_bytes = bytes;
  cxi_entry *out = evict(entries, bytes);
  cxi_mutex_unlock(&lock);
  release_all(out);
}

void cxi_resolves_clear(void) {
  cxi_mutex_lock(&lock);
  cxi_entry *out = evict(0, 0);
  cxi_mutex_unlock(&lock);
  release_all(out);
}

cxi_resolve_stats cxi_resolves_now(void) {
  cxi_mutex_lock(&lock);
  const cxi_resolve_stats now = { n_hits, n_traces, n_entries };
  cxi_mutex_unlock(&lock);
  return now;
}

/* -- requests ------------------------------------------------------------- */

cxi_entry *cxi_request_fail(cxi_request *request, cx_code code,
                            const char *format, ...) {
  char text[480];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  request->poison = cxi_report(code, text);
  return NULL;
}

cxi_entry *cxi_request_error(cxi_request *request, const cxi_error *error) {
  request->poison = cxi_report_error(request->code->name, error);
  return NULL;
}

/* Requests being resolved in this thread, the innermost first. */
typedef struct pending {
  const unsigned char *key;
  uint32_t n_key;
  const char *name;
  struct pending *outer;
} pending;
static _Thread_local pending *in_progress;

/* f -> g -> f, from the equal request inwards. */
static cxi_entry *fail_cycle(cxi_request *request, const pending *from) {
  char text[400];
  size_t n = 0;
  const char *names[16];
  int count = 0;
  for (const pending *p = in_progress; p; p = p->outer) {
    if (count < 16) names[count++] = p->name;
    if (p == from) break;
  }
  text[0] = 0;
  while (count > 0 && n < sizeof text - 80)
    n += (size_t)snprintf(text + n, sizeof text - n, "%.64s -> ",
                          names[--count]);
  return cxi_request_fail(request, CX_ETRACE,
                          "%s calls itself with the same types, without end:"
                          " %s%s",
                          request->code->name, text, request->code->name);
}

/* The key in words of 32 bits. */
static uint32_t key_words(const cxi_request *q) {
  uint32_t n = 6 + q->n_captures + q->n_args;
  for (const cxi_named_axis *a = cxi_named_axes_now(); a; a = a->outer) n += 3;
  return n;
}

static void fill_key(const cxi_request *q, uint32_t *out) {
  const cx_ctx *ctx = cxi_context_now();
  const uint64_t code = (uint64_t)(uintptr_t)q->code;
  const uint64_t device = (uint64_t)(uintptr_t)ctx->device;
  out[0] = (uint32_t)code;
  out[1] = (uint32_t)(code >> 32);
  out[2] = (uint32_t)ctx->promotion << 1 | (uint32_t)ctx->checks;
  out[3] = (uint32_t)device;
  out[4] = (uint32_t)(device >> 32);
  out[5] = q->n_captures;
  for (uint32_t i = 0; i < q->n_captures; i++) out[6 + i] = q->captures[i];
  out += 6 + q->n_captures;
  for (uint32_t i = 0; i < q->n_args; i++) out[i] = q->args[i];
  out += q->n_args;
  for (const cxi_named_axis *a = cxi_named_axes_now(); a;
       a = a->outer, out += 3) {
    out[0] = a->name;
    out[1] = (uint32_t)a->size;
    out[2] = (uint32_t)((uint64_t)a->size >> 32);
  }
}

static cxi_entry *make(cxi_request *q) {
  if (q->code->kind <= CXI_CODE_PROGRAM) return cxi_trace_function(q);
  return cxi_derive(q);
}

/* Traces twice where checks are on: a function that depends on more than its
 * arguments' types gives another program. What uses values of the trace around
 * it is not remembered: it is traced again, and compared, with that one. */
static cxi_entry *make_checked(cxi_request *q) {
  cxi_entry *first = make(q);
  if (!first || first->lifted || q->code->kind != CXI_CODE_DEF ||
      !cxi_context_now()->checks)
    return first;
  cxi_entry *second = make(q);
  const bool same =
      second && second->program == first->program && second->out == first->out;
  cxi_entry_release(second);
  if (same) return first;
  cxi_entry_release(first);
  if (!second) return NULL;
  return cxi_request_fail(q, CX_ETRACE,
                          "%s: traced twice, it recorded two programs: it"
                          " depends on more than its arguments' types and its"
                          " settings",
                          q->code->name);
}

static cxi_entry *resolve_new(cxi_request *q, const uint32_t *key,
                              uint32_t bytes, cxi_hash hash) {
  cx_ctx *ctx = cxi_context_now();
  for (const pending *p = in_progress; p; p = p->outer)
    if (p->n_key == bytes && !memcmp(p->key, key, bytes))
      return fail_cycle(q, p);
  if (ctx->depth >= DEEPEST)
    return cxi_request_fail(q, CX_ETRACE, "%s: calls nest deeper than %d",
                            q->code->name, DEEPEST);
  pending mine = { (const unsigned char *)key, bytes, q->code->name,
                   in_progress };
  in_progress = &mine;
  ctx->depth++;
  cxi_entry *entry = make_checked(q);
  ctx->depth--;
  in_progress = mine.outer;
  if (!entry || entry->lifted) return entry;
  entry->key = cxi_alloc(bytes);
  if (!entry->key) return entry; /* it works, unremembered */
  memcpy(entry->key, key, bytes);
  entry->n_key = bytes;
  entry->hash = hash;
  return insert(entry);
}

cxi_entry *cxi_resolve(cxi_request *q) {
  uint32_t few[64], *key = few;
  const uint32_t words = key_words(q);
  for (uint32_t i = 0; i < q->n_captures; i++)
    if (!q->captures[i]) return q->poison = cxi_report_memory(), NULL;
  for (uint32_t i = 0; i < q->n_args; i++)
    if (!q->args[i]) return q->poison = cxi_report_memory(), NULL;
  if (words > 64 && !(key = cxi_alloc(words * sizeof *key)))
    return q->poison = cxi_report_memory(), NULL;
  fill_key(q, key);
  const uint32_t bytes = words * (uint32_t)sizeof *key;
  const cxi_hash hash = cxi_hash_bytes(key, bytes);
  cxi_mutex_lock(&lock);
  cxi_entry *entry = find(hash, key, bytes);
  if (entry) {
    cxi_entry_retain(entry);
    if (entry != newest) {
      unlink_age(entry);
      link_newest(entry);
    }
    n_hits++;
  } else {
    n_traces++;
  }
  cxi_mutex_unlock(&lock);
  if (!entry) entry = resolve_new(q, key, bytes, hash);
  if (key != few) cxi_free(key);
  return entry;
}
