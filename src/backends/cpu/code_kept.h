/* code_kept.h - the code of this process by structure: loops that are equal
 * run one copy of it. All under one lock of the caller's. */
#ifndef CXI_CPU_CODE_KEPT_H
#define CXI_CPU_CODE_KEPT_H

#include "backends/cpu/code_object.h"

typedef struct cxi_kept_code {
  cxi_hash key;
  bool making;   /* a thread is at it: not loaded yet */
  uint32_t refs; /* by loops; 0: kept for the next one, for a while */
  cxi_loaded loaded;
  struct cxi_kept_code *next;          /* in its bucket */
  struct cxi_kept_code *newer, *older; /* among those without references */
} cxi_kept_code;

cxi_kept_code *cxi_kept_find(cxi_hash key); /* NULL: none */
/* A new one, being made, with a reference; NULL without memory. */
cxi_kept_code *cxi_kept_add(cxi_hash key);
void cxi_kept_hold(cxi_kept_code *kept);
/* Gives a reference back; one that is still being made goes at once. */
void cxi_kept_drop(cxi_kept_code *kept);
/* Those without references go. */
void cxi_kept_clear(void);

typedef struct cxi_kept_stats {
  uint64_t entries, bytes; /* of memory for code */
} cxi_kept_stats;
cxi_kept_stats cxi_kept_now(void);

#endif
