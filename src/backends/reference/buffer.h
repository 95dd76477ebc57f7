/* buffer.h - owned, counted buffers for arrays, 64-byte aligned. */
#ifndef CXI_BUFFER_H
#define CXI_BUFFER_H

#include <stddef.h>
#include <stdint.h>

/* NULL without memory; 0 bytes are a buffer too. */
void *cxi_buffer_take(size_t bytes);
void cxi_buffer_free(void *buffer); /* NULL: nothing */

/* Freed buffers that one run keeps for the next of the same size, so that a
 * loop takes none from the allocator after its first steps. Zeroed: empty. The
 * counts below take a kept buffer for a freed one. */
typedef struct cxi_buffers {
  void *kept[32]; /* lists, by a hash of the size */
  size_t n, bytes;
} cxi_buffers;
void *cxi_buffers_take(cxi_buffers *b, size_t bytes); /* NULL: no memory */
void cxi_buffers_give(cxi_buffers *b, void *buffer);  /* NULL: nothing */
void cxi_buffers_empty(cxi_buffers *b);

/* Bytes asked for, over all threads. */
typedef struct cxi_buffer_stats {
  uint64_t live, peak;
  uint64_t allocated; /* over time */
} cxi_buffer_stats;
cxi_buffer_stats cxi_buffers_now(void);
void cxi_buffers_reset(void); /* peak = live, allocated = 0 */

#endif
