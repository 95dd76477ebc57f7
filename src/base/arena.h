/* arena.h - memory freed all at once. */
#ifndef CXI_ARENA_H
#define CXI_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cxi_arena {
  struct cxi_chunk *head;
  size_t bytes;               /* of all chunks */
} cxi_arena;                  /* {0} is an empty one */

/* Zeroed, 16-byte aligned; NULL without memory. */
void *cxi_arena_alloc(cxi_arena *arena, size_t bytes);
void *cxi_arena_copy(cxi_arena *arena, const void *from, size_t bytes);
char *cxi_arena_print(cxi_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cxi_arena_free(cxi_arena *arena);

/* A thread's scratch memory, used like a stack: what was allocated after
 * cxi_scratch_mark is gone after cxi_scratch_reset of that mark. Rules and
 * walks take their temporary arrays from it. */
typedef struct cxi_mark {
  void *chunk;
  size_t used;
} cxi_mark;
cxi_mark cxi_scratch_mark(void);
void *cxi_scratch(size_t bytes); /* zeroed; NULL without memory */
/* The same, not zeroed: for what is written before it is read. */
void *cxi_scratch_raw(size_t bytes);
void cxi_scratch_reset(cxi_mark mark);
void cxi_scratch_free(void);     /* at the end of a thread */

/* For tests: asked before each request to an arena or to scratch memory, which
 * fails if it says so; NULL: none is asked. Without it only requests that need
 * another chunk can fail. */
void cxi_arena_fail_if(bool (*fails)(void));

#endif
