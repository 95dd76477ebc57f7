/* program.c - the table of programs: interning, references, what is held.
 *
 * Every program in the table has a reference: the last one is dropped under
 * the lock, in one step with leaving the table, so that interning never finds
 * a program that is about to be freed. */
#include "ir/program.h"

#include "base/alloc.h"
#include "base/mutex.h"
#include "ir/identity.h"

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static cxi_program **buckets; /* chains through ->next */
static uint32_t n_buckets;    /* a power of two, or 0 */
static cxi_program_stats stats;

static cxi_program **bucket_of(cxi_hash identity) {
  return &buckets[identity.lo & (n_buckets - 1)];
}

/* As many buckets as programs, if there is memory; false if there is none at
 * all. Under the lock. */
static bool make_room(void) {
  if (n_buckets && stats.live < n_buckets) return true;
  uint32_t n_before = n_buckets, n = n_before ? n_before * 2 : 1024;
  cxi_program **before = buckets;
  cxi_program **after = cxi_alloc_zeroed(n, sizeof(cxi_program *));
  if (!after) return n_before != 0;
  buckets = after;
  n_buckets = n;
  for (uint32_t i = 0; i < n_before; i++)
    for (cxi_program *p = before[i], *next; p; p = next) {
      next = p->next;
      p->next = *bucket_of(p->identity);
      *bucket_of(p->identity) = p;
    }
  cxi_free(before);
  return true;
}

static void free_program(cxi_program *p) {
  cxi_arena arena = p->arena; /* p lies in it */
  cxi_arena_free(&arena);
}

static void add_reference(const cxi_program *p, void *unused) {
  (void)unused;
  cxi_program_retain(p);
}

/* The same program in the table, or p put into it. Under the lock. */
static const cxi_program *find_or_insert(cxi_program *p) {
  if (!make_room()) return NULL;
  stats.finished++;
  cxi_program **bucket = bucket_of(p->identity);
  for (cxi_program *q = *bucket; q; q = q->next)
    if (cxi_program_same(p, q)) {
      stats.shared++;
      return cxi_program_retain(q);
    }
  cxi_program_each_part(p, add_reference, NULL);
  p->refs = 1;
  p->bytes = p->arena.bytes;
  p->next = *bucket;
  *bucket = p;
  stats.live++;
  stats.bytes += p->bytes;
  return p;
}

const cxi_program *cxi_program_intern(cxi_program *p) {
  const cxi_program *found = NULL;
  if (cxi_program_identify(p, &p->hash, &p->identity)) {
    cxi_mutex_lock(&lock);
    found = find_or_insert(p);
    cxi_mutex_unlock(&lock);
  }
  if (found != p) free_program(p);
  return found;
}

/* References are counted in an object that is otherwise immutable. */
static cxi_program *counted(const cxi_program *p) {
  return (cxi_program *)(uintptr_t)p;
}

const cxi_program *cxi_program_retain(const cxi_program *p) {
  if (p) __atomic_add_fetch(&counted(p)->refs, 1, __ATOMIC_RELAXED);
  return p;
}

/* Drops a reference unless it is the last one. */
static bool drop_shared(cxi_program *p) {
  uint32_t refs = __atomic_load_n(&p->refs, __ATOMIC_RELAXED);
  while (refs > 1)
    if (__atomic_compare_exchange_n(&p->refs, &refs, refs - 1, true,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      return true;
  return false;
}

static void leave_table(cxi_program *p) {
  cxi_program **link = bucket_of(p->identity);
  while (*link != p) link = &(*link)->next;
  *link = p->next;
  stats.live--;
  stats.bytes -= p->bytes;
}

/* Drops a reference under the lock; the last one moves p from the table to
 * the list of the dead. */
static void drop_locked(const cxi_program *p, void *dead) {
  cxi_program *q = counted(p), **list = dead;
  if (__atomic_sub_fetch(&q->refs, 1, __ATOMIC_ACQ_REL) != 0) return;
  leave_table(q);
  q->next = *list;
  *list = q;
}

void cxi_program_release(const cxi_program *p) {
  if (!p || drop_shared(counted(p))) return;
  cxi_program *dead = NULL, *freed = NULL;
  cxi_mutex_lock(&lock);
  drop_locked(p, &dead);
  while (dead) {
    cxi_program *q = dead;
    dead = q->next;
    cxi_program_each_part(q, drop_locked, &dead);
    q->next = freed;
    freed = q;
  }
  cxi_mutex_unlock(&lock);
  while (freed) {
    cxi_program *q = freed;
    freed = q->next;
    free_program(q);
  }
}

cxi_program_stats cxi_programs_now(void) {
  cxi_mutex_lock(&lock);
  cxi_program_stats now = stats;
  cxi_mutex_unlock(&lock);
  return now;
}

/* -- held programs, by thread --------------------------------------------- */

static _Thread_local struct {
  const cxi_program **programs;
  uint32_t n, cap, depth;
} held;

const cxi_program *cxi_hold(const cxi_program *p) {
  if (!p || !cxi_grow(&held.programs, &held.cap, held.n + (size_t)1,
                      sizeof(const cxi_program *)))
    return NULL;
  held.programs[held.n++] = cxi_program_retain(p);
  return p;
}

void cxi_hold_enter(void) {
  held.depth++;
}

void cxi_hold_leave(void) {
  if (--held.depth > 0) return;
  for (uint32_t i = 0; i < held.n; i++) cxi_program_release(held.programs[i]);
  cxi_free(held.programs);
  held.programs = NULL;
  held.n = held.cap = 0;
}
