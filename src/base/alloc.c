/* alloc.c - malloc with counters, a cap and injected faults.
 *
 * Sizes are asked from malloc itself instead of being kept in a header, so
 * that blocks keep malloc's alignment. The counters are relaxed: each is right
 * by itself, no order among them is promised. */
#include "base/alloc.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static _Atomic uint64_t calls;
static _Atomic size_t live_bytes, peak_bytes;
static _Atomic size_t cap_bytes = SIZE_MAX;
static _Atomic bool faults_armed;
static _Atomic uint64_t successes_left;
static _Thread_local bool aside_now;

/* Whether this allocation is one of those that a test lets fail. */
static bool fault_hits(void) {
  if (!atomic_load_explicit(&faults_armed, memory_order_relaxed)) return false;
  uint64_t left = atomic_load(&successes_left);
  while (left)
    if (atomic_compare_exchange_weak(&successes_left, &left, left - 1))
      return false;
  return true;
}

/* Counts a call that asks for `bytes` more; false if it must fail. */
static bool admit(size_t bytes) {
  if (!aside_now) {
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    if (fault_hits()) return false;
  }
  const size_t cap = atomic_load_explicit(&cap_bytes, memory_order_relaxed);
  if (cap == SIZE_MAX) return true;
  const size_t live = atomic_load_explicit(&live_bytes, memory_order_relaxed);
  return live <= cap && bytes <= cap - live;
}

static void count_growth(size_t bytes) {
  const size_t live =
      atomic_fetch_add_explicit(&live_bytes, bytes, memory_order_relaxed) +
      bytes;
  size_t peak = atomic_load_explicit(&peak_bytes, memory_order_relaxed);
  while (live > peak &&
         !atomic_compare_exchange_weak_explicit(&peak_bytes, &peak, live,
                                                memory_order_relaxed,
                                                memory_order_relaxed)) {
  }
}

static void count_shrink(size_t bytes) {
  atomic_fetch_sub_explicit(&live_bytes, bytes, memory_order_relaxed);
}

static void *counted(void *memory) {
  if (memory) count_growth(malloc_usable_size(memory));
  return memory;
}

bool cxi_alloc_aside(bool aside) {
  const bool before = aside_now;
  aside_now = aside;
  return before;
}

/* malloc may answer NULL to a request for nothing; callers take NULL for
 * "no memory", so nothing is one byte. */
static size_t at_least_one(size_t bytes) {
  return bytes ? bytes : 1;
}

void *cxi_alloc(size_t bytes) {
  return admit(bytes) ? counted(malloc(at_least_one(bytes))) : NULL;
}

void *cxi_alloc_zeroed(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  return admit(bytes) ? counted(calloc(at_least_one(bytes), 1)) : NULL;
}

void *cxi_alloc_aligned(size_t bytes) {
  if (bytes > SIZE_MAX - ALIGNMENT || !admit(bytes)) return NULL;
  const size_t rounded =
      (at_least_one(bytes) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return counted(aligned_alloc(ALIGNMENT, rounded));
}

void *cxi_resize(void *memory, size_t bytes) {
  if (!memory) return cxi_alloc(bytes);
  const size_t old = malloc_usable_size(memory);
  if (!admit(bytes > old ? bytes - old : 0)) return NULL;
  void *moved = realloc(memory, at_least_one(bytes));
  if (!moved) return NULL;
  count_shrink(old);
  return counted(moved);
}

void cxi_free(void *memory) {
  if (!memory) return;
  count_shrink(malloc_usable_size(memory));
  free(memory);
}

char *cxi_copy_string(const char *text) {
  const size_t bytes = strlen(text) + 1;
  char *copy = cxi_alloc(bytes);
  return copy ? memcpy(copy, text, bytes) : NULL;
}

bool cxi_grow(void *items, uint32_t *cap, size_t need, size_t size) {
  if (need <= *cap) return true;
  if (need > UINT32_MAX) return false;
  size_t grown = *cap < 8 ? 8 : (size_t)*cap * 2;
  if (grown < need) grown = need;
  if (grown > UINT32_MAX) grown = UINT32_MAX;
  size_t bytes;
  if (__builtin_mul_overflow(grown, size, &bytes)) return false;
  void *old; /* *items has another pointer type: its bytes are copied */
  memcpy(&old, items, sizeof old);
  void *moved = cxi_resize(old, bytes);
  if (!moved) return false;
  memcpy(items, &moved, sizeof moved);
  *cap = (uint32_t)grown;
  return true;
}

cxi_alloc_stats cxi_alloc_now(void) {
  return (cxi_alloc_stats){ atomic_load(&calls), atomic_load(&live_bytes),
                            atomic_load(&peak_bytes) };
}

void cxi_alloc_fail_after(uint64_t successes) {
  atomic_store(&successes_left, successes);
  atomic_store(&faults_armed, successes != UINT64_MAX);
}

void cxi_alloc_cap(size_t bytes) {
  atomic_store(&cap_bytes, bytes);
}
