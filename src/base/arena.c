/* arena.c - arenas, and each thread's scratch memory. */
#include "base/arena.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif

typedef struct cxi_chunk {
  struct cxi_chunk *below;
  size_t room, used; /* bytes of memory[] */
  _Alignas(16) unsigned char memory[];
} chunk;

enum {
  FIRST_BYTES = 1 << 10,   /* an arena's first chunk */
  SCRATCH_BYTES = 1 << 16, /* the smallest one of scratch memory */
  LARGEST_BYTES = 1 << 20  /* chunks double up to here */
};

/* The address sanitizer is told which scratch memory is in use, so that it
 * finds what is used after a reset. */
static void forbid(void *memory, size_t bytes) {
#ifdef ASAN_POISON_MEMORY_REGION
  ASAN_POISON_MEMORY_REGION(memory, bytes);
#else
  (void)memory, (void)bytes;
#endif
}

static void permit(void *memory, size_t bytes) {
#ifdef ASAN_UNPOISON_MEMORY_REGION
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
#else
  (void)memory, (void)bytes;
#endif
}

/* Faults that tests inject. */
static bool (*_Atomic asked)(void);

static bool refused(size_t bytes) {
  bool (*fails)(void) = atomic_load_explicit(&asked, memory_order_relaxed);
  return bytes > PTRDIFF_MAX || (fails && fails());
}

void cxi_arena_fail_if(bool (*fails)(void)) {
  atomic_store(&asked, fails);
}

static chunk *chunk_new(size_t room) {
  if (room > PTRDIFF_MAX - sizeof(chunk)) return NULL;
  chunk *made = cxi_alloc(sizeof(chunk) + room);
  if (!made) return NULL;
  *made = (chunk){ .room = room };
  return made;
}

static void chunk_free(chunk *c) {
  permit(c->memory, c->room);
  cxi_free(c);
}

/* Bytes of a chunk that has room for them. */
static void *chunk_take(chunk *c, size_t bytes) {
  void *memory = c->memory + c->used;
  permit(memory, bytes);
  c->used += bytes;
  return memory;
}

/* Multiples of 16 keep the next one aligned; an empty request takes none. */
static size_t rounded(size_t bytes) {
  return (bytes + 15) & ~(size_t)15;
}

static void *arena_take(cxi_arena *arena, size_t bytes) {
  if (refused(bytes)) return NULL;
  bytes = rounded(bytes);
  chunk *head = arena->head;
  if (head && head->room - head->used >= bytes) return chunk_take(head, bytes);
  size_t room = head ? 2 * head->room : FIRST_BYTES;
  if (room > LARGEST_BYTES) room = LARGEST_BYTES;
  /* A large block gets a chunk of its own below the head, whose rest stays
   * in use. */
  const bool alone = head && bytes > room / 4;
  chunk *made = chunk_new(alone || bytes > room ? bytes : room);
  if (!made) return NULL;
  chunk **link = alone ? &head->below : &arena->head;
  made->below = *link;
  *link = made;
  arena->bytes += made->room;
  return chunk_take(made, bytes);
}

void *cxi_arena_alloc(cxi_arena *arena, size_t bytes) {
  void *memory = arena_take(arena, bytes);
  return memory ? memset(memory, 0, bytes) : NULL;
}

void *cxi_arena_copy(cxi_arena *arena, const void *from, size_t bytes) {
  void *copy = arena_take(arena, bytes);
  return copy && bytes ? memcpy(copy, from, bytes) : copy;
}

char *cxi_arena_print(cxi_arena *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int length = vsnprintf(NULL, 0, format, args);
  char *text = length < 0 ? NULL : cxi_arena_alloc(arena, (size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  va_end(args);
  return text;
}

void cxi_arena_free(cxi_arena *arena) {
  for (chunk *c = arena->head; c;) {
    chunk *below = c->below;
    chunk_free(c);
    c = below;
  }
  *arena = (cxi_arena){ 0 };
}

/* -- Scratch ----------------------------------------------------------------
 * A stack of chunks per thread. The chunk last popped is kept, lest a walk at
 * the border of two chunks ask malloc on every step. */
static _Thread_local chunk *top, *spare;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* only for its destructor */
static bool key_made;

static void thread_ends(void *unused) {
  (void)unused;
  cxi_scratch_free();
}

static void make_key(void) {
  key_made = pthread_key_create(&key, thread_ends) == 0;
}

/* A thread that Calx did not start frees its scratch memory as it ends. */
static void watch_thread(void) {
  pthread_once(&key_once, make_key);
  if (key_made) pthread_setspecific(key, &key);
}

static bool scratch_push(size_t bytes) {
  chunk *next = spare;
  if (next && next->room >= bytes) {
    spare = NULL;
  } else {
    size_t room = top ? 2 * top->room : SCRATCH_BYTES;
    if (room > LARGEST_BYTES) room = LARGEST_BYTES;
    next = chunk_new(bytes > room ? bytes : room);
    if (!next) return false;
    forbid(next->memory, next->room);
    if (!top) watch_thread();
  }
  next->below = top;
  top = next;
  return true;
}

/* Keeps one chunk of moderate size, the larger one. */
static void scratch_pop(void) {
  chunk *popped = top;
  top = popped->below;
  forbid(popped->memory, popped->used);
  popped->used = 0;
  if (popped->room > LARGEST_BYTES || (spare && spare->room >= popped->room)) {
    chunk_free(popped);
  } else {
    if (spare) chunk_free(spare);
    spare = popped;
  }
}

cxi_mark cxi_scratch_mark(void) {
  return (cxi_mark){ top, top ? top->used : 0 };
}

void *cxi_scratch_raw(size_t bytes) {
  if (refused(bytes)) return NULL;
  bytes = rounded(bytes);
  if ((!top || top->room - top->used < bytes) && !scratch_push(bytes))
    return NULL;
  return chunk_take(top, bytes);
}

void *cxi_scratch(size_t bytes) {
  void *memory = cxi_scratch_raw(bytes);
  return memory ? memset(memory, 0, bytes) : NULL;
}

void cxi_scratch_reset(cxi_mark mark) {
  while (top && top != mark.chunk) scratch_pop();
  if (!top) return;
  forbid(top->memory + mark.used, top->used - mark.used);
  top->used = mark.used;
}

void cxi_scratch_free(void) {
  while (top) scratch_pop();
  if (spare) chunk_free(spare);
  spare = NULL;
}
