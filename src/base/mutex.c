/* mutex.c - takes all locks of the process before a fork.
 *
 * Locks are nested in orders that nobody keeps a record of, so none is waited
 * for while another is held: the thread waits for one alone, tries the others,
 * and begins again with the one that it did not get. */
#include "base/mutex.h"

/* The list and its own lock, which is the first in it. Locks are added under
 * it, and stay. */
static cxi_mutex list = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* Lets those before `end` go, the list's own as the last: while it is held,
 * the list stays as it is. */
static void unlock_until(const cxi_mutex *end) {
  if (end == &list) return;
  for (cxi_mutex *m = list.next; m != end; m = m->next) cxi_mutex_unlock(m);
  cxi_mutex_unlock(&list);
}

/* NULL: all are held; else one that was not to be had, and none is. */
static cxi_mutex *take_all(cxi_mutex *first) {
  pthread_mutex_lock(&first->mutex);
  bool met = false;
  cxi_mutex *m = &list;
  for (; m; m = m->next) {
    if (m == first)
      met = true;
    else if (pthread_mutex_trylock(&m->mutex))
      break;
  }
  if (!m) return NULL;
  unlock_until(m);
  if (!met) cxi_mutex_unlock(first);
  return m;
}

static void before_fork(void) {
  cxi_mutex *first = &list;
  while (first) first = take_all(first);
}

static void after_fork(void) {
  unlock_until(NULL);
}

static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork, after_fork);
}

void cxi_mutex_list(cxi_mutex *m) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&list.mutex);
  if (!atomic_load(&m->listed)) {
    m->next = list.next;
    list.next = m;
    atomic_store(&m->listed, true);
  }
  cxi_mutex_unlock(&list);
}
