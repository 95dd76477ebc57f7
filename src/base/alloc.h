/* alloc.h - all memory goes through here: counted, capped, made to fail. */
#ifndef CXI_ALLOC_H
#define CXI_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* malloc, calloc, realloc, free. NULL when the system, the cap or the
 * injected fault says so; every caller must handle NULL. */
void *cxi_alloc(size_t bytes);
void *cxi_alloc_zeroed(size_t count, size_t size);
void *cxi_resize(void *memory, size_t bytes);
void cxi_free(void *memory);
/* Where buffers of elements begin: at multiples of this. */
enum { CXI_ALIGNMENT = 64 };
static inline size_t cxi_aligned(size_t bytes) {
  return (bytes + CXI_ALIGNMENT - 1) & ~(size_t)(CXI_ALIGNMENT - 1);
}
/* At such an address; freed by cxi_free too. */
void *cxi_alloc_aligned(size_t bytes);
char *cxi_copy_string(const char *text); /* NULL if it cannot */

/* Room for `need` items of `size` bytes in the array at *items, which holds
 * *cap. At least doubles; false (array unchanged) without memory. */
bool cxi_grow(void *items, uint32_t *cap, size_t need, size_t size);

typedef struct cxi_alloc_stats {
  uint64_t calls;             /* allocations since the process started */
  size_t live_bytes, peak_bytes;
} cxi_alloc_stats;
cxi_alloc_stats cxi_alloc_now(void);

/* While on, what this thread allocates is no part of the call that it serves:
 * it is neither counted among the calls nor made to fail by a test. For what
 * is done once for the process. Returns what was. */
bool cxi_alloc_aside(bool aside);

/* For tests: the allocation after `successes` more fails, and all after it
 * until the next call; UINT64_MAX: none. */
void cxi_alloc_fail_after(uint64_t successes);
/* Live bytes above which allocations fail; SIZE_MAX: no cap. */
void cxi_alloc_cap(size_t bytes);

#endif
