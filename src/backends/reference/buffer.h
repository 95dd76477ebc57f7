/* buffer.h - owned, counted buffers for arrays, 64-byte aligned. */
#ifndef CXI_BUFFER_H
#define CXI_BUFFER_H

#include <stddef.h>
#include <stdint.h>

/* NULL without memory; 0 bytes are a buffer too. */
void *cxi_buffer_take(size_t bytes);
void cxi_buffer_free(void *buffer); /* NULL: nothing */

/* Bytes asked for, over all threads. */
typedef struct cxi_buffer_stats {
  uint64_t live, peak;
  uint64_t allocated; /* over time */
} cxi_buffer_stats;
cxi_buffer_stats cxi_buffers_now(void);
void cxi_buffers_reset(void); /* peak = live, allocated = 0 */

#endif
