/* pool.c - the pool of threads: one job at a time, indices taken from a
 * counter.
 *
 * A job is published by its number. A thread that sees a new number joins the
 * job while it is open, works until no index is left, and leaves. The caller
 * works too; when no index is left it closes the job and waits only for those
 * inside, never for a thread that is still waking up. Number, joined and
 * inside are one word, so that none can enter a job that was closed or
 * replaced in between. */
#define _GNU_SOURCE
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "base/fpu.h"

enum {
  SPIN_NS = 30000,            /* before a thread parks */
  MOST_WORKERS = 1023         /* fits the counts in the word */
};

/* The word: the job's number in the high half, threads that joined so far in
 * bits 16-31 (all ones: closed), threads inside in bits 0-15. */
static const uint64_t joined_1 = 1 << 16, closed = 0xffff0000, counts = 0xffff;

static struct {
  /* Written once a job; read by all. */
  _Alignas(64) _Atomic uint64_t word;
  void (*task)(void *argument, int64_t i);
  void *argument;
  int64_t n;
  /* Written by every thread. */
  _Alignas(64) _Atomic int64_t next;
  _Alignas(64) _Atomic int sleepers; /* parked workers */
  _Atomic bool caller_sleeps;
  _Atomic bool busy;          /* a job is under way */
  int n_workers;              /* by whoever made it busy */
} pool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_published = PTHREAD_COND_INITIALIZER;
static pthread_cond_t job_left = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local bool inside; /* this thread runs a task */

static void relax(void) {
#if defined __x86_64__
  _mm_pause();
#elif defined __aarch64__
  __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Waits for a word for which `ready` holds: true if it came while spinning. */
static bool spin(bool (*ready)(uint64_t word, uint32_t number),
                 uint32_t number) {
  const int64_t end = now_ns() + SPIN_NS;
  do {
    for (int i = 0; i < 64; i++) {
      if (ready(atomic_load_explicit(&pool.word, memory_order_acquire), number))
        return true;
      relax();
    }
  } while (now_ns() < end);
  return false;
}

static void work(void) {
  const int64_t n = pool.n;
  for (;;) {
    const int64_t i =
        atomic_fetch_add_explicit(&pool.next, 1, memory_order_relaxed);
    if (i >= n) return;
    pool.task(pool.argument, i);
  }
}

/* -- Workers -------------------------------------------------------------- */

static bool is_new(uint64_t word, uint32_t number) {
  return (uint32_t)(word >> 32) != number;
}

/* Enters the job of the word if it is open and wants more. The job's fields
 * may be read once inside: until all have left, none changes them. */
static bool join(uint64_t word) {
  for (;;) {
    if ((word & closed) == closed) return false;
    const uint64_t joined = word + joined_1 + 1;
    if (atomic_compare_exchange_weak_explicit(&pool.word, &word, joined,
                                              memory_order_acq_rel,
                                              memory_order_acquire))
      return true;
  }
}

static void leave(void) {
  const uint64_t before = atomic_fetch_sub(&pool.word, 1);
  if ((before & counts) != 1 || !atomic_load(&pool.caller_sleeps)) return;
  pthread_mutex_lock(&lock);
  pthread_cond_signal(&job_left);
  pthread_mutex_unlock(&lock);
}

/* A worker counts itself as a sleeper before it looks once more: either it
 * sees the new number or the caller sees the sleeper. */
static void park(uint32_t number) {
  pthread_mutex_lock(&lock);
  atomic_fetch_add(&pool.sleepers, 1);
  while (!is_new(atomic_load(&pool.word), number))
    pthread_cond_wait(&job_published, &lock);
  atomic_fetch_sub(&pool.sleepers, 1);
  pthread_mutex_unlock(&lock);
}

static void *worker(void *first_number) {
  uint32_t number = (uint32_t)(uintptr_t)first_number;
  inside = true;
  for (;;) {
    if (!spin(is_new, number)) park(number);
    const uint64_t word = atomic_load(&pool.word);
    number = (uint32_t)(word >> 32);
    if (!join(word)) continue;
    cxi_fpu_enter();
    work();
    leave();
  }
  return NULL;
}

/* One more worker, deaf to signals: they are the host program's. */
static bool start_worker(uint32_t number) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  const int failed = pthread_create(&thread, &attributes, worker,
                                    (void *)(uintptr_t)number);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (failed) return false;
  pthread_setname_np(thread, "calx");
  return true;
}

/* -- Callers -------------------------------------------------------------- */

/* The child of a fork has none of the threads: it starts anew. */
static void forget_threads(void) {
  pthread_mutex_init(&lock, NULL);
  pthread_cond_init(&job_published, NULL);
  pthread_cond_init(&job_left, NULL);
  atomic_store(&pool.word, 0);
  atomic_store(&pool.sleepers, 0);
  atomic_store(&pool.caller_sleeps, false);
  atomic_store(&pool.busy, false);
  pool.n_workers = 0;
}

static void watch_forks(void) {
  pthread_atfork(NULL, NULL, forget_threads);
}

static void run_inline(int64_t n, void (*task)(void *argument, int64_t i),
                       void *argument) {
  for (int64_t i = 0; i < n; i++) task(argument, i);
}

/* Starts what is missing of `wanted` workers; how many there are to join. */
static int workers_for(int wanted) {
  const uint32_t number = (uint32_t)(atomic_load(&pool.word) >> 32);
  while (pool.n_workers < wanted && start_worker(number)) pool.n_workers++;
  return pool.n_workers < wanted ? pool.n_workers : wanted;
}

/* The joined count starts so that it reaches "closed" when all are in. */
static void publish(int wanted) {
  const uint64_t number = (atomic_load(&pool.word) >> 32) + 1;
  const uint64_t joined = closed - (uint64_t)wanted * joined_1;
  atomic_store(&pool.word, number << 32 | joined);
  int to_wake = atomic_load(&pool.sleepers);
  if (to_wake == 0) return;
  if (to_wake > wanted) to_wake = wanted;
  pthread_mutex_lock(&lock);
  while (to_wake--) pthread_cond_signal(&job_published);
  pthread_mutex_unlock(&lock);
}

static bool is_left(uint64_t word, uint32_t unused) {
  (void)unused;
  return (word & counts) == 0;
}

static void close_and_wait(void) {
  atomic_fetch_or(&pool.word, closed);
  if (spin(is_left, 0)) return;
  pthread_mutex_lock(&lock);
  atomic_store(&pool.caller_sleeps, true);
  while (!is_left(atomic_load(&pool.word), 0))
    pthread_cond_wait(&job_left, &lock);
  atomic_store(&pool.caller_sleeps, false);
  pthread_mutex_unlock(&lock);
}

static void run_shared(int wanted, int64_t n,
                       void (*task)(void *argument, int64_t i),
                       void *argument) {
  pool.task = task;
  pool.argument = argument;
  pool.n = n;
  atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
  publish(wanted);
  inside = true;
  work();
  inside = false;
  close_and_wait();
}

void cxi_parallel(int threads, int64_t n,
                  void (*task)(void *argument, int64_t i), void *argument) {
  int wanted = threads - 1 < MOST_WORKERS ? threads - 1 : MOST_WORKERS;
  if (wanted >= n) wanted = (int)n - 1;
  const cxi_fpu mode = cxi_fpu_enter();
  if (wanted < 1 || inside || atomic_exchange(&pool.busy, true)) {
    run_inline(n, task, argument);
  } else {
    pthread_once(&once, watch_forks);
    wanted = workers_for(wanted);
    if (wanted < 1) run_inline(n, task, argument);
    else run_shared(wanted, n, task, argument);
    atomic_store(&pool.busy, false);
  }
  cxi_fpu_leave(mode);
}
