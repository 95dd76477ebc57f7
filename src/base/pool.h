/* pool.h - one pool of threads per process: spin, then park. */
#ifndef CXI_POOL_H
#define CXI_POOL_H

#include <stdint.h>

/* Threads the process may use: affinity and cgroup limits honoured. */
int cxi_pool_max_threads(void);

/* Runs task(argument, i) for i in 0..n-1 on up to `threads` threads, the
 * caller among them, and returns when all are done. Nested, from a second
 * thread while busy, or with threads <= 1: inline, in order. The tasks decide
 * how work is cut, so results do not depend on the number of threads. After
 * fork the child starts its own threads when it first needs them. */
void cxi_parallel(int threads, int64_t n, void (*task)(void *argument, int64_t i),
                  void *argument);

#endif
