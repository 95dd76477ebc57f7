/* block.h - the memory of arrays: blocks kept by size class.
 *
 * A block that is given back waits in its class for the next array of about
 * its size, so that a steady state asks the system for nothing. */
#ifndef CXI_BLOCK_H
#define CXI_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts the bytes of the arrays of one context against its limit. Arrays may
 * outlive the context, so it is counted itself. */
typedef struct cxi_account {
  uint32_t refs;
  size_t live, peak, limit; /* limit 0: none */
} cxi_account;
cxi_account *cxi_account_open(size_t limit); /* NULL without memory */
void cxi_account_close(cxi_account *account);

/* 64-byte aligned, not zeroed; *out_capacity is what to give back. NULL
 * without memory or if the account's limit says no. account may be NULL. */
void *cxi_block_take(size_t bytes, cxi_account *account, size_t *out_capacity);
void cxi_block_give(void *block, size_t capacity, cxi_account *account);
/* Frees all that wait, but for the few small ones of other threads. */
void cxi_blocks_trim(void);

typedef struct cxi_block_stats {
  uint64_t fresh;       /* blocks asked from the system, over time */
  size_t waiting_bytes; /* but for the few of each thread */
} cxi_block_stats;
cxi_block_stats cxi_blocks_now(void);

#endif
