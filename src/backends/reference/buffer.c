/* buffer.c - owned, counted buffers for arrays. */
#include "backends/reference/buffer.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/alloc.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

enum {
  ALIGNMENT = 64,
  MOST_KEPT = 4096,      /* buffers */
  MOST_BYTES = 64 << 20, /* of kept ones */
  MOST_LOOKED_AT = 8     /* of one list */
};

/* What stands just before a buffer. */
typedef struct header {
  void *memory; /* what cxi_alloc gave */
  size_t bytes;
  void *next; /* kept: the buffer after it in its list */
} header;

static atomic_uint_fast64_t live, peak, allocated;

static void count(size_t bytes) {
  const uint64_t now = atomic_fetch_add(&live, bytes) + bytes;
  uint_fast64_t high = atomic_load(&peak);
  while (high < now && !atomic_compare_exchange_weak(&peak, &high, now)) {
  }
  atomic_fetch_add(&allocated, bytes);
}

static header *header_of(void *buffer) {
  return (header *)buffer - 1;
}

void *cxi_buffer_take(size_t bytes) {
  const size_t room = ALIGNMENT + sizeof(header);
  if (bytes > SIZE_MAX - room) return NULL;
  char *memory = cxi_alloc(bytes + room);
  if (!memory) return NULL;
  const uintptr_t first = (uintptr_t)memory + sizeof(header);
  char *buffer = memory + sizeof(header) + (-first & (ALIGNMENT - 1));
  *header_of(buffer) = (header){ .memory = memory, .bytes = bytes };
  count(bytes);
  return buffer;
}

void cxi_buffer_free(void *buffer) {
  if (!buffer) return;
  const header h = *header_of(buffer);
  atomic_fetch_sub(&live, h.bytes);
  cxi_free(h.memory);
}

/* Under AddressSanitizer the bytes of a kept buffer may not be touched. */
static void forbid(void *buffer, size_t bytes, bool forbidden) {
#ifdef __SANITIZE_ADDRESS__
  if (forbidden)
    __asan_poison_memory_region(buffer, bytes);
  else
    __asan_unpoison_memory_region(buffer, bytes);
#else
  (void)buffer, (void)bytes, (void)forbidden;
#endif
}

static void **list_of(cxi_buffers *b, size_t bytes) {
  return &b->kept[(uint64_t)bytes * 0x9e3779b97f4a7c15u >> 59];
}

void *cxi_buffers_take(cxi_buffers *b, size_t bytes) {
  void **at = list_of(b, bytes);
  for (int i = 0; i < MOST_LOOKED_AT && *at; i++) {
    void *buffer = *at;
    header *h = header_of(buffer);
    if (h->bytes == bytes) {
      *at = h->next;
      b->n--;
      b->bytes -= bytes;
      forbid(buffer, bytes, false);
      count(bytes);
      return buffer;
    }
    at = &h->next;
  }
  return cxi_buffer_take(bytes);
}

void cxi_buffers_give(cxi_buffers *b, void *buffer) {
  if (!buffer) return;
  header *h = header_of(buffer);
  if (h->bytes > MOST_BYTES / 16) {
    cxi_buffer_free(buffer);
    return;
  }
  if (b->n == MOST_KEPT || b->bytes + h->bytes > MOST_BYTES)
    cxi_buffers_empty(b); /* for what is wanted now */
  void **list = list_of(b, h->bytes);
  h->next = *list;
  *list = buffer;
  b->n++;
  b->bytes += h->bytes;
  atomic_fetch_sub(&live, h->bytes);
  forbid(buffer, h->bytes, true);
}

void cxi_buffers_empty(cxi_buffers *b) {
  for (size_t i = 0; i < sizeof b->kept / sizeof *b->kept; i++)
    while (b->kept[i]) {
      void *buffer = b->kept[i];
      const header h = *header_of(buffer);
      b->kept[i] = h.next;
      forbid(buffer, h.bytes, false);
      cxi_free(h.memory);
    }
  *b = (cxi_buffers){ 0 };
}

cxi_buffer_stats cxi_buffers_now(void) {
  return (cxi_buffer_stats){ atomic_load(&live), atomic_load(&peak),
                             atomic_load(&allocated) };
}

void cxi_buffers_reset(void) {
  atomic_store(&peak, atomic_load(&live));
  atomic_store(&allocated, 0);
}
