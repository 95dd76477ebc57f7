/* code_worker.c - threads that make code while loops go on. */
#include "backends/cpu/code_worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "backends/cpu/code.h"
#include "base/fpu.h"
#include "base/mutex.h"
#include "base/pool.h"

enum { MOST_WORKERS = 4, STACK_BYTES = 8 << 20 };

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static cxi_coding *first, *last; /* the queue */
static pthread_t workers[MOST_WORKERS];
static void (*work)(cxi_coding *); /* what workers do with a loop */
static int n_queued, n_workers, n_idle, n_busy;
static bool closed; /* by a fork or settling: nobody takes anything on */
static bool ended;  /* the process ends: the same, for good */
static bool retire; /* workers are to end */
static _Thread_local bool busy;

void cxi_code_wait(void) {
  pthread_cond_wait(&changed, &lock.mutex);
}

void cxi_code_changed(void) {
  pthread_cond_broadcast(&changed);
}

/* -- the process: fork, exit ----------------------------------------------- */

/* Under the lock: from now on nobody is busy. */
static void close_all(void) {
  while (closed) cxi_code_wait();
  closed = true;
  while (n_busy) cxi_code_wait();
}

static void open_all(void) {
  closed = false;
  cxi_code_changed();
}

/* A thread that is busy forks if code calls its host back: never. The lock is
 * left open for who waits for it with others that the fork takes next. */
static void before_fork(void) {
  cxi_mutex_lock(&lock);
  close_all();
  cxi_mutex_unlock(&lock);
}

static void after_fork_parent(void) {
  cxi_mutex_lock(&lock);
  open_all();
  cxi_mutex_unlock(&lock);
}

/* The child has none of the threads: its loops ask again. */
static void after_fork_child(void) {
  static const pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
  cxi_mutex_lock(&lock);
  changed = fresh;
  while (first) cxi_code_unqueue(first);
  n_workers = n_idle = 0;
  retire = false;
  open_all();
  cxi_mutex_unlock(&lock);
}

/* Under the lock, with nobody busy, nor to be: waits for the threads' end. */
static void end_workers(void) {
  pthread_t old[MOST_WORKERS];
  const int n = n_workers;
  for (int i = 0; i < n; i++) old[i] = workers[i];
  n_workers = 0;
  retire = true;
  cxi_code_changed();
  cxi_mutex_unlock(&lock);
  for (int i = 0; i < n; i++) pthread_join(old[i], NULL);
  cxi_mutex_lock(&lock);
  retire = false;
}

/* For good. A thread that ends the process while it makes code, as LLVM does
 * on an error of its own, does not wait for itself. */
static void at_exit(void) {
  if (busy) return;
  cxi_mutex_lock(&lock);
  ended = true;
  while (n_busy) cxi_code_wait();
  end_workers();
  cxi_mutex_unlock(&lock);
}

void cxi_code_watch_exit(void) {
  atexit(at_exit);
}

/* What is to come before a fork goes backwards: this comes before the locks
 * are taken, as the list of them is there first. */
static void watch_process(void) {
  cxi_mutex_list(&lock);
  pthread_atfork(before_fork, after_fork_parent, after_fork_child);
  cxi_code_watch_exit();
}

void cxi_code_lock(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_process);
  cxi_mutex_lock(&lock);
}

void cxi_code_unlock(void) {
  cxi_mutex_unlock(&lock);
}

/* -- taking a loop on ------------------------------------------------------ */

bool cxi_code_take(cxi_coding *coding, bool waits) {
  while (closed && !ended && waits) cxi_code_wait();
  if (closed || ended) return false;
  const int stage = atomic_load(&coding->stage);
  if (stage == CXI_STAGE_TAKEN || stage == CXI_STAGE_DONE) return false;
  if (stage == CXI_STAGE_QUEUED) cxi_code_unqueue(coding);
  atomic_store(&coding->stage, CXI_STAGE_TAKEN);
  n_busy++;
  busy = true;
  return true;
}

void cxi_code_give(cxi_coding *coding, cxi_code_stage stage) {
  atomic_store(&coding->stage, (int)stage);
  n_busy--;
  busy = false;
  cxi_code_changed();
}

/* -- the queue ------------------------------------------------------------- */

void cxi_code_unqueue(cxi_coding *coding) {
  cxi_coding *before = NULL, *at = first;
  while (at && at != coding) {
    before = at;
    at = at->next;
  }
  if (!at) return;
  *(before ? &before->next : &first) = at->next;
  if (last == at) last = before;
  at->next = NULL;
  n_queued--;
  atomic_store(&at->stage, CXI_STAGE_LOOKED);
}

static void *run_worker(void *unused) {
  (void)unused;
  cxi_fpu_enter(); /* the mode of who started it is its own */
  cxi_mutex_lock(&lock);
  while (!retire) {
    cxi_coding *coding = first;
    if (!coding || !cxi_code_take(coding, false)) {
      n_idle++;
      cxi_code_wait();
      n_idle--;
      continue;
    }
    cxi_mutex_unlock(&lock);
    work(coding);
    cxi_mutex_lock(&lock);
  }
  cxi_mutex_unlock(&lock);
  return NULL;
}

static int most_workers(void) {
  const int n = cxi_pool_max_threads() - 1;
  return n < 1 ? 1 : n > MOST_WORKERS ? MOST_WORKERS : n;
}

/* Signals are for the threads of the host. */
static bool start_worker(void) {
  sigset_t all, before;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes)) return false;
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool good =
      pthread_create(&workers[n_workers], &attributes, run_worker, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  n_workers += good;
  return good;
}

bool cxi_code_queue(cxi_coding *coding, void (*make)(cxi_coding *coding)) {
  if (closed || ended) return true; /* at another time */
  work = make;
  if (n_queued >= n_idle && n_workers < most_workers() && !start_worker() &&
      n_workers == 0)
    return false;
  coding->next = NULL;
  *(last ? &last->next : &first) = coding;
  last = coding;
  n_queued++;
  atomic_store(&coding->stage, CXI_STAGE_QUEUED);
  cxi_code_changed();
  return true;
}

void cxi_code_settle(void) {
  if (busy) return;
  cxi_mutex_lock(&lock);
  close_all();
  while (first) cxi_code_unqueue(first);
  end_workers();
  open_all();
  cxi_mutex_unlock(&lock);
}
