/* code_worker.h - threads that make code while loops go on.
 *
 * One lock and one condition for all that code.c and the workers share. A
 * thread is `busy` from when it takes a loop on until it is done with it; a
 * fork, the end of the process and settling wait until none is. */
#ifndef CXI_CPU_CODE_WORKER_H
#define CXI_CPU_CODE_WORKER_H

#include "lower/code.h"

typedef enum cxi_code_stage {
  CXI_STAGE_NEW,
  CXI_STAGE_LOOKED, /* there was none in memory or on disk */
  CXI_STAGE_QUEUED,
  CXI_STAGE_TAKEN, /* a thread looks for the code, or makes it */
  CXI_STAGE_DONE
} cxi_code_stage;

void cxi_code_lock(void);
void cxi_code_unlock(void);
void cxi_code_wait(void);    /* for a change, under the lock */
void cxi_code_changed(void); /* tells it, under the lock */

/* Takes the loop on if nobody else has, and waits for nothing but a fork if
 * `waits`. Under the lock. False: not now. */
bool cxi_code_take(cxi_coding *coding, bool waits);
void cxi_code_give(cxi_coding *coding, cxi_code_stage stage);

/* Puts the loop in the queue and sees to it that there is a thread; false if
 * none can be had. Under the lock. make() makes the code of a loop that has
 * been taken, and gives it back. */
bool cxi_code_queue(cxi_coding *coding, void (*make)(cxi_coding *coding));
/* Out of the queue, if it is there. Under the lock. */
void cxi_code_unqueue(cxi_coding *coding);

/* The end of the process waits for busy threads: called again when LLVM has
 * just been opened, so that it ends before LLVM does. */
void cxi_code_watch_exit(void);

#endif
