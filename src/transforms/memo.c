/* memo.c - one table of results for all threads, bounded, oldest out first.
 *
 * Two threads that ask for the same at the same time both compute it; the
 * programs are interned, so both get the same ones. Failures are not kept. */
#include "transforms/memo.h"

#include <string.h>

#include "base/alloc.h"
#include "base/mutex.h"
#include "transforms/transforms.h"

typedef struct entry {
  struct entry *next; /* in its bucket */
  struct entry *newer, *older;
  cxi_transform transform;
  uint64_t hash;
  size_t n_key;
  const cxi_program *program, *a, *b;
  uint32_t n, n_mask;
  bool *mask; /* after the key */
  unsigned char key[];
} entry;

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static struct {
  entry **buckets;
  size_t n_buckets, n, limit;
  entry *newest, *oldest;
  cxi_memo_stats stats[CXI_N_TRANSFORMS];
} table = { .limit = 16384 };

static const char *const names[CXI_N_TRANSFORMS] = {
  "jvp",   "linearize", "partial_eval", "transpose", "vjp",
  "batch", "select",    "narrow",       "simplify",
  "checkify",
};

const char *cxi_transform_name(cxi_transform transform) {
  return names[transform];
}

/* -- keys ----------------------------------------------------------------- */

void cxi_memo_key(cxi_bytes *key, cxi_transform transform,
                  const cxi_program *p) {
  *key = (cxi_bytes){ 0 };
  cxi_bytes_add_u32(key, (uint32_t)transform);
  cxi_bytes_add_u64(key, (uint64_t)(uintptr_t)p);
}

void cxi_memo_key_mask(cxi_bytes *key, const bool *mask, uint32_t n) {
  const unsigned char no = 0, yes = 1;
  for (uint32_t i = 0; i < n; i++)
    cxi_bytes_add(key, mask && mask[i] ? &yes : &no, 1);
}

static cxi_transform transform_of(const cxi_bytes *key) {
  uint32_t transform;
  memcpy(&transform, key->data, sizeof transform);
  return (cxi_transform)transform;
}

static const cxi_program *program_of(const cxi_bytes *key) {
  uint64_t address;
  memcpy(&address, key->data + sizeof(uint32_t), sizeof address);
  return (const cxi_program *)(uintptr_t)address;
}

/* -- the list by age, the table by hash ----------------------------------- */

static void unlink_age(entry *e) {
  *(e->newer ? &e->newer->older : &table.newest) = e->older;
  *(e->older ? &e->older->newer : &table.oldest) = e->newer;
}

static void link_newest(entry *e) {
  e->newer = NULL;
  e->older = table.newest;
  *(table.newest ? &table.newest->newer : &table.oldest) = e;
  table.newest = e;
}

static entry *find(const cxi_bytes *key, uint64_t hash) {
  if (!table.n_buckets) return NULL;
  entry *e = table.buckets[hash % table.n_buckets];
  while (e && (e->hash != hash || e->n_key != key->n ||
               memcmp(e->key, key->data, key->n) != 0))
    e = e->next;
  return e;
}

static void drop_oldest(void) {
  entry *e = table.oldest, **link = &table.buckets[e->hash % table.n_buckets];
  while (*link != e) link = &(*link)->next;
  *link = e->next;
  unlink_age(e);
  table.n--;
  table.stats[e->transform].entries--;
  cxi_program_release(e->program);
  cxi_program_release(e->a);
  cxi_program_release(e->b);
  cxi_free(e);
}

/* At most two entries a bucket; the table stays as it is without memory. */
static bool make_room(void) {
  if (table.n < 2 * table.n_buckets) return true;
  const size_t n = table.n_buckets ? 4 * table.n_buckets : 64;
  entry **buckets = cxi_alloc_zeroed(n, sizeof(entry *));
  if (!buckets) return table.n_buckets > 0;
  for (entry *e = table.newest; e; e = e->older) {
    e->next = buckets[e->hash % n];
    buckets[e->hash % n] = e;
  }
  cxi_free(table.buckets);
  table.buckets = buckets;
  table.n_buckets = n;
  return true;
}

/* -- finding and keeping -------------------------------------------------- */

static bool hold_both(const entry *e, cxi_memo *out) {
  if (e->a && !cxi_hold(e->a)) return false;
  if (e->b && !cxi_hold(e->b)) return false;
  out->a = e->a;
  out->b = e->b;
  out->n = e->n;
  if (e->n_mask) memcpy(out->mask, e->mask, e->n_mask);
  return true;
}

bool cxi_memo_find(const cxi_bytes *key, cxi_memo *out) {
  if (key->failed) return false;
  const uint64_t hash = cxi_hash_bytes(key->data, key->n).lo;
  cxi_mutex_lock(&lock);
  entry *e = find(key, hash);
  const bool found = e && hold_both(e, out);
  cxi_memo_stats *stats = &table.stats[transform_of(key)];
  if (found) {
    unlink_age(e);
    link_newest(e);
    stats->hits++;
  } else {
    stats->misses++;
  }
  cxi_mutex_unlock(&lock);
  return found;
}

static entry *entry_make(const cxi_bytes *key, uint64_t hash,
                         const cxi_memo *result) {
  entry *e = cxi_alloc_zeroed(1, sizeof *e + key->n + result->n_mask);
  if (!e) return NULL;
  memcpy(e->key, key->data, key->n);
  e->transform = transform_of(key);
  e->hash = hash;
  e->n_key = key->n;
  e->program = cxi_program_retain(program_of(key));
  e->a = result->a ? cxi_program_retain(result->a) : NULL;
  e->b = result->b ? cxi_program_retain(result->b) : NULL;
  e->n = result->n;
  e->n_mask = result->n_mask;
  e->mask = (bool *)e->key + key->n;
  if (e->n_mask) memcpy(e->mask, result->mask, e->n_mask);
  return e;
}

void cxi_memo_keep(const cxi_bytes *key, const cxi_memo *result) {
  if (key->failed) return;
  const uint64_t hash = cxi_hash_bytes(key->data, key->n).lo;
  cxi_mutex_lock(&lock);
  entry *e = NULL;
  if (table.limit > 0 && !find(key, hash) && make_room())
    e = entry_make(key, hash, result);
  if (e) {
    e->next = table.buckets[hash % table.n_buckets];
    table.buckets[hash % table.n_buckets] = e;
    link_newest(e);
    table.n++;
    table.stats[e->transform].entries++;
    while (table.n > table.limit) drop_oldest();
  }
  cxi_mutex_unlock(&lock);
}

/* -- for tests and the runtime -------------------------------------------- */

cxi_memo_stats cxi_memos_now(const char *transform) {
  cxi_memo_stats sum = { 0 };
  cxi_mutex_lock(&lock);
  for (int i = 0; i < CXI_N_TRANSFORMS; i++) {
    if (transform && strcmp(transform, names[i]) != 0) continue;
    sum.hits += table.stats[i].hits;
    sum.misses += table.stats[i].misses;
    sum.entries += table.stats[i].entries;
  }
  cxi_mutex_unlock(&lock);
  return sum;
}

void cxi_memos_clear(void) {
  cxi_mutex_lock(&lock);
  while (table.n > 0) drop_oldest();
  cxi_free(table.buckets);
  table.buckets = NULL;
  table.n_buckets = 0;
  cxi_mutex_unlock(&lock);
}

void cxi_memos_limit(size_t entries) {
  cxi_mutex_lock(&lock);
  table.limit = entries;
  while (table.n > table.limit) drop_oldest();
  cxi_mutex_unlock(&lock);
}
