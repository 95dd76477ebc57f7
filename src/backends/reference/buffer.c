/* buffer.c - owned, counted buffers for arrays. */
#include "backends/reference/buffer.h"

#include <stdatomic.h>

#include "base/alloc.h"

enum { ALIGNMENT = 64 };

/* What stands just before a buffer. */
typedef struct header {
  void *memory; /* what cxi_alloc gave */
  size_t bytes;
} header;

static atomic_uint_fast64_t live, peak, allocated;

static void count(size_t bytes) {
  const uint64_t now = atomic_fetch_add(&live, bytes) + bytes;
  uint_fast64_t high = atomic_load(&peak);
  while (high < now && !atomic_compare_exchange_weak(&peak, &high, now)) {
  }
  atomic_fetch_add(&allocated, bytes);
}

void *cxi_buffer_take(size_t bytes) {
  const size_t room = ALIGNMENT + sizeof(header);
  if (bytes > SIZE_MAX - room) return NULL;
  char *memory = cxi_alloc(bytes + room);
  if (!memory) return NULL;
  const uintptr_t first = (uintptr_t)memory + sizeof(header);
  char *buffer = memory + sizeof(header) + (-first & (ALIGNMENT - 1));
  ((header *)(void *)buffer)[-1] = (header){ memory, bytes };
  count(bytes);
  return buffer;
}

void cxi_buffer_free(void *buffer) {
  if (!buffer) return;
  const header h = ((header *)buffer)[-1];
  atomic_fetch_sub(&live, h.bytes);
  cxi_free(h.memory);
}

cxi_buffer_stats cxi_buffers_now(void) {
  return (cxi_buffer_stats){ atomic_load(&live), atomic_load(&peak),
                             atomic_load(&allocated) };
}

void cxi_buffers_reset(void) {
  atomic_store(&peak, atomic_load(&live));
  atomic_store(&allocated, 0);
}
