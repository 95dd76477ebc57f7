/* mutex.h - the process's locks, which a child of a fork finds free.
 *
 * A lock that another thread holds when the process forks would stay locked in
 * the child for good. So the thread that forks takes all of them before, at a
 * moment when nobody is in the midst of anything, and both sides let them go.
 * Nothing of the host program may be called under one. */
#ifndef CXI_MUTEX_H
#define CXI_MUTEX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Static: { .mutex = PTHREAD_MUTEX_INITIALIZER }; it is in the list of all
 * from its first use on. */
typedef struct cxi_mutex {
  pthread_mutex_t mutex;
  struct cxi_mutex *next; /* in the list */
  atomic_bool listed;
} cxi_mutex;

void cxi_mutex_list(cxi_mutex *m); /* puts it into the list */

static inline void cxi_mutex_lock(cxi_mutex *m) {
  if (!atomic_load_explicit(&m->listed, memory_order_relaxed))
    cxi_mutex_list(m);
  pthread_mutex_lock(&m->mutex);
}

static inline void cxi_mutex_unlock(cxi_mutex *m) {
  pthread_mutex_unlock(&m->mutex);
}

#endif
