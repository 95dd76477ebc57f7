/* executables.c - programs compiled once for the process, bounded. */
#include "runtime/executables.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "transforms/transforms.h"

enum { BUCKETS = 1024 };

/* Equal structure is equal code: the key is the program's structural hash
 * with the options. Sites are those of the first that was compiled. */
typedef struct kept {
  cxi_hash program, options;
  const struct cxi_backend *backend;
  cxi_executable *exe; /* a reference */
  size_t bytes;
  struct kept *next, *newer, *older;
} kept;

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static kept *buckets[BUCKETS], *newest, *oldest;
static size_t most_entries = 1024, most_bytes = (size_t)512 << 20;
static cxi_executables_stats stats;

/* -- the table, under the lock -------------------------------------------- */

static kept **bucket_of(cxi_hash program, cxi_hash options) {
  return &buckets[(program.lo ^ options.lo) % BUCKETS];
}

static kept *find(cxi_hash program, cxi_hash options,
                  const struct cxi_backend *backend) {
  kept *k = *bucket_of(program, options);
  while (k && !(cxi_hash_equal(k->program, program) &&
                cxi_hash_equal(k->options, options) && k->backend == backend))
    k = k->next;
  return k;
}

static void unlink_age(kept *k) {
  if (k->newer)
    k->newer->older = k->older;
  else
    newest = k->older;
  if (k->older)
    k->older->newer = k->newer;
  else
    oldest = k->newer;
  k->newer = k->older = NULL;
}

static void link_newest(kept *k) {
  k->older = newest;
  if (newest)
    newest->newer = k;
  else
    oldest = k;
  newest = k;
}

static kept *evict(size_t entries, size_t bytes) {
  kept *out = NULL;
  while (oldest && (stats.entries > entries || stats.bytes > bytes)) {
    kept *k = oldest;
    kept **at = bucket_of(k->program, k->options);
    while (*at != k) at = &(*at)->next;
    *at = k->next;
    unlink_age(k);
    stats.entries--;
    stats.bytes -= k->bytes;
    k->next = out;
    out = k;
  }
  return out;
}

static void free_all(kept *k) {
  while (k) {
    kept *next = k->next;
    cxi_executable_release(k->exe);
    cxi_free(k);
    k = next;
  }
}

static cxi_executable *lookup(cxi_hash program, cxi_hash options,
                              const struct cxi_backend *backend) {
  cxi_mutex_lock(&lock);
  kept *k = find(program, options, backend);
  cxi_executable *exe = k ? cxi_executable_retain(k->exe) : NULL;
  if (k && k != newest) {
    unlink_age(k);
    link_newest(k);
  }
  if (k)
    stats.hits++;
  else
    stats.misses++;
  cxi_mutex_unlock(&lock);
  return exe;
}

/* Another thread may have been first: both are right, one is kept. */
static void keep(cxi_hash program, cxi_hash options,
                 const struct cxi_backend *backend, cxi_executable *exe) {
  kept *k = cxi_alloc_zeroed(1, sizeof *k);
  if (!k) return;
  *k = (kept){ .program = program,
               .options = options,
               .backend = backend,
               .bytes = cxi_executable_bytes(exe) };
  cxi_mutex_lock(&lock);
  kept *out = NULL;
  if (find(program, options, backend)) {
    out = k;
  } else {
    k->exe = cxi_executable_retain(exe);
    kept **bucket = bucket_of(program, options);
    k->next = *bucket;
    *bucket = k;
    link_newest(k);
    stats.entries++;
    stats.bytes += k->bytes;
    out = evict(most_entries, most_bytes);
  }
  cxi_mutex_unlock(&lock);
  free_all(out);
}

/* Of the same bits with fewer equations. */
static cxi_executable *compile(const cxi_program *p,
                               const struct cxi_backend *backend,
                               const bool *donate, cxi_error *error) {
  cxi_hold_enter();
  const cxi_program *q = cxi_simplify(p, error);
  const cxi_compile_options options = { .donate = donate };
  cxi_executable *exe = q ? cxi_compile(q, backend, options, error) : NULL;
  cxi_hold_leave();
  return exe;
}

cxi_executable *cxi_executable_for(const cxi_program *p,
                                   const struct cxi_backend *backend,
                                   const bool *donate, bool *out_compiled,
                                   cxi_error *error) {
  cxi_bytes key = { 0 };
  for (uint32_t i = 0; donate && i < p->n_in; i++)
    if (donate[i]) cxi_bytes_add_u32(&key, i);
  const bool failed = key.failed;
  const cxi_hash options = cxi_hash_bytes(key.data, key.n);
  cxi_bytes_free(&key);
  if (failed) return cxi_error_set(error, CX_EMEMORY, "out of memory"), NULL;
  cxi_executable *exe = lookup(p->hash, options, backend);
  if (out_compiled) *out_compiled = !exe;
  if (exe) return exe;
  exe = compile(p, backend, donate, error);
  if (exe) keep(p->hash, options, backend, exe);
  return exe;
}

void cxi_executables_limit(size_t entries, size_t bytes) {
  cxi_mutex_lock(&lock);
  most_entries = entries;
  most_bytes = bytes;
  kept *out = evict(entries, bytes);
  cxi_mutex_unlock(&lock);
  free_all(out);
}

void cxi_executables_clear(void) {
  cxi_mutex_lock(&lock);
  kept *out = evict(0, 0);
  cxi_mutex_unlock(&lock);
  free_all(out);
}

cxi_executables_stats cxi_executables_kept(void) {
  cxi_mutex_lock(&lock);
  const cxi_executables_stats now = stats;
  cxi_mutex_unlock(&lock);
  return now;
}

/* -- running -------------------------------------------------------------- */

/* The plan's first lines tell which buffers are large, and where they arise. */
static bool beyond_limit(const cx_ctx *ctx, const cxi_executable *exe,
                         size_t bytes, cxi_error *error) {
  char plan[320];
  snprintf(plan, sizeof plan, "%s", cxi_executable_plan(exe));
  return cxi_error_set(error, CX_EMEMORY,
                       "needs %zu bytes, arrays hold %zu, the limit is %zu;"
                       " the largest buffers: %s",
                       bytes, ctx->account->live, ctx->memory_limit, plan);
}

static bool check_limit(const cx_ctx *ctx, const cxi_executable *exe,
                        cxi_error *error) {
  if (!ctx->memory_limit) return true;
  const cxi_program *p = cxi_executable_program(exe);
  size_t bytes = cxi_executable_workspace(exe);
  for (uint32_t i = 0; i < p->n_out; i++)
    if (cxi_executable_alias(exe, i) < 0)
      bytes += (size_t)cxi_aval_bytes(cxi_type_aval(cxi_output_type(p, i)));
  if (ctx->account->live + bytes <= ctx->memory_limit) return true;
  return beyond_limit(ctx, exe, bytes, error);
}

static bool make_outputs(cx_ctx *ctx, const cxi_executable *exe,
                         cxi_array *const *donated, cxi_array **out,
                         void **data) {
  const cxi_program *p = cxi_executable_program(exe);
  for (uint32_t i = 0; i < p->n_out; i++) {
    const int from = cxi_executable_alias(exe, i);
    const cxi_type type = cxi_output_type(p, i);
    out[i] =
        from < 0 ? cxi_array_make(type, ctx->account) : cxi_array_hollow(type);
    if (!out[i]) {
      while (i > 0) cxi_array_release(out[--i]);
      return false;
    }
    data[i] = from < 0 ? out[i]->data : donated[from]->data;
  }
  return true;
}

bool cxi_executable_call(cx_ctx *ctx, const cxi_executable *exe,
                         const void *const *in, cxi_array *const *donated,
                         cxi_array **out, bool *out_started, cxi_error *error) {
  const cxi_program *p = cxi_executable_program(exe);
  void **data = cxi_scratch(p->n_out * sizeof *data + 1);
  size_t capacity;
  *out_started = false;
  if (!data) return cxi_error_set(error, CX_EMEMORY, "out of memory");
  if (!check_limit(ctx, exe, error)) return false;
  void *workspace =
      cxi_block_take(cxi_executable_workspace(exe), ctx->account, &capacity);
  if (!workspace || !make_outputs(ctx, exe, donated, out, data)) {
    if (workspace) cxi_block_give(workspace, capacity, ctx->account);
    return cxi_error_set(error, CX_EMEMORY, "out of memory");
  }
  *out_started = true;
  const bool good =
      cxi_executable_run_with(exe, in, data, workspace, ctx->threads,
                              ctx->loops, error);
  cxi_block_give(workspace, capacity, ctx->account);
  if (good) return true;
  for (uint32_t i = 0; i < p->n_out; i++) cxi_array_release(out[i]);
  return false;
}
