/* name.c - the process-wide table of names.
 *
 * Readers take no lock. Entries never move: they hang in segments that double
 * in size. The hash table of ids is replaced as a whole when it fills; readers
 * may still hold an old one, so old ones are kept, together no larger than the
 * newest. A reader who misses a name looks again under the lock. */
#include "base/name.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mutex.h"

typedef struct entry {
  uint64_t hash;
  size_t length;
  char text[];
} entry;

typedef struct table {
  uint32_t mask;              /* slots - 1; slots are a power of two */
  _Atomic cxi_name slots[];   /* 0: empty */
} table;

enum {
  SEGMENT_0 = 256,            /* segment s holds SEGMENT_0 << s entries */
  N_SEGMENTS = 24,
  FIRST_SLOTS = 1024,
  CACHE_SLOTS = 512
};

static _Atomic(entry *) *_Atomic segments[N_SEGMENTS];
static _Atomic(table *) newest;
static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static cxi_arena texts;       /* under the lock, as is n_names */
static cxi_name n_names = 1;  /* 0 is "" and has no entry */

static int segment_of(cxi_name name, cxi_name *out_offset) {
  const cxi_name scaled = name / SEGMENT_0 + 1;
  const int s = 31 - __builtin_clz(scaled);
  *out_offset = name - SEGMENT_0 * ((1u << s) - 1);
  return s;
}

static const entry *entry_of(cxi_name name) {
  cxi_name offset;
  const int s = segment_of(name, &offset);
  if (s >= N_SEGMENTS) return NULL;
  _Atomic(entry *) *segment =
      atomic_load_explicit(&segments[s], memory_order_acquire);
  return segment ? atomic_load_explicit(&segment[offset], memory_order_acquire)
                 : NULL;
}

/* The name's id, or 0 and the slot where it would stand. */
static cxi_name find(table *t, const char *text, size_t length, uint64_t hash,
                     uint32_t *out_slot) {
  for (uint32_t i = (uint32_t)hash & t->mask;; i = (i + 1) & t->mask) {
    const cxi_name name =
        atomic_load_explicit(&t->slots[i], memory_order_acquire);
    *out_slot = i;
    if (!name) return 0;
    const entry *e = entry_of(name);
    if (e->hash == hash && e->length == length &&
        memcmp(e->text, text, length) == 0)
      return name;
  }
}

/* A table twice as large with the same names. */
static table *grown(const table *old) {
  const uint32_t slots = old ? 2 * (old->mask + 1) : FIRST_SLOTS;
  table *t = cxi_alloc_zeroed(1, sizeof(table) + slots * sizeof(cxi_name));
  if (!t) return NULL;
  t->mask = slots - 1;
  for (cxi_name name = 1; name < n_names; name++) {
    uint32_t i = (uint32_t)entry_of(name)->hash & t->mask;
    while (atomic_load_explicit(&t->slots[i], memory_order_relaxed))
      i = (i + 1) & t->mask;
    atomic_store_explicit(&t->slots[i], name, memory_order_relaxed);
  }
  return t;
}

/* The newest table with room for one more name, or NULL. The old table stays
 * reachable through the arena of texts. */
static table *table_with_room(void) {
  table *t = atomic_load_explicit(&newest, memory_order_relaxed);
  if (t && n_names < (t->mask + 1) / 2) return t;
  void **kept = cxi_arena_alloc(&texts, sizeof *kept);
  table *larger = kept ? grown(t) : NULL;
  if (!larger) return NULL;
  *kept = t;
  atomic_store_explicit(&newest, larger, memory_order_release);
  return larger;
}

static bool make_segment(cxi_name name) {
  cxi_name offset;
  const int s = segment_of(name, &offset);
  if (s >= N_SEGMENTS) return false;
  if (atomic_load_explicit(&segments[s], memory_order_relaxed)) return true;
  _Atomic(entry *) *made =
      cxi_alloc_zeroed((size_t)SEGMENT_0 << s, sizeof *made);
  if (made) atomic_store_explicit(&segments[s], made, memory_order_release);
  return made != NULL;
}

/* Under the lock. */
static cxi_name insert(const char *text, size_t length, uint64_t hash) {
  table *t = table_with_room();
  uint32_t slot;
  const cxi_name known = t ? find(t, text, length, hash, &slot) : 0;
  if (!t || known) return known;
  entry *e = cxi_arena_alloc(&texts, sizeof(entry) + length + 1);
  if (!e || !make_segment(n_names)) return 0;
  e->hash = hash;
  e->length = length;
  memcpy(e->text, text, length);
  cxi_name offset;
  const int s = segment_of(n_names, &offset);
  atomic_store_explicit(&segments[s][offset], e, memory_order_release);
  atomic_store_explicit(&t->slots[slot], n_names, memory_order_release);
  return n_names++;
}

cxi_name cxi_name_of_n(const char *text, size_t length) {
  if (length == 0) return 0;
  const uint64_t hash = cxi_hash_bytes(text, length).lo;
  table *t = atomic_load_explicit(&newest, memory_order_acquire);
  uint32_t slot;
  const cxi_name known = t ? find(t, text, length, hash, &slot) : 0;
  if (known) return known;
  cxi_mutex_lock(&lock);
  const cxi_name name = insert(text, length, hash);
  cxi_mutex_unlock(&lock);
  return name;
}

cxi_name cxi_name_of(const char *text) {
  return cxi_name_of_n(text, strlen(text));
}

cxi_name cxi_name_of_static(const char *text) {
  static _Thread_local struct {
    const char *text, *known;
    cxi_name name;
  } cache[CACHE_SLOTS];
  const uintptr_t at = (uintptr_t)text;
  const size_t i = (at ^ at >> 9) % CACHE_SLOTS;
  /* The text is compared all the same: a library may have been closed and
   * another literal stand at its address. */
  if (cache[i].text == text && strcmp(cache[i].known, text) == 0)
    return cache[i].name;
  const cxi_name name = cxi_name_of(text);
  if (!name) return 0;
  cache[i].text = text;
  cache[i].known = cxi_name_text(name);
  cache[i].name = name;
  return name;
}

const char *cxi_name_text(cxi_name name) {
  const entry *e = name ? entry_of(name) : NULL;
  return e ? e->text : "";
}
