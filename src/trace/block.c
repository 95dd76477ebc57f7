/* block.c - the memory of arrays: blocks kept by size class. */
#define _GNU_SOURCE
#include "trace/block.h"

#include <pthread.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/mutex.h"

/* Classes: multiples of 64 bytes up to 1 KiB, then four steps per octave. */
enum {
  ALIGNMENT = 64,
  SMALL = 16,
  STEPS = 4,
  OCTAVES = 40,
  CLASSES = SMALL + STEPS * OCTAVES
};
/* Bytes that may wait; beyond them blocks go back to the system. */
static const size_t WAITING_MOST = (size_t)1 << 30;

typedef struct waiting {
  struct waiting *next;
} waiting;

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static waiting *classes[CLASSES];
static cxi_block_stats stats;

/* Each thread keeps a few small blocks, so that most calls take no lock; they
 * go to the classes when the thread ends. */
enum { OWN_CLASSES = SMALL + STEPS * 6, OWN_MOST = 8 };
static _Thread_local struct {
  waiting *first[OWN_CLASSES];
  uint8_t n[OWN_CLASSES];
  bool registered; /* with the key, for the end of the thread */
} own;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;
static pthread_key_t own_key;

/* -- accounts ------------------------------------------------------------- */

cxi_account *cxi_account_open(size_t limit) {
  cxi_account *account = cxi_alloc_zeroed(1, sizeof *account);
  if (!account) return NULL;
  account->refs = 1;
  account->limit = limit;
  return account;
}

void cxi_account_close(cxi_account *account) {
  if (!account) return;
  if (__atomic_sub_fetch(&account->refs, 1, __ATOMIC_ACQ_REL) == 0)
    cxi_free(account);
}

static bool charge(cxi_account *account, size_t bytes) {
  if (!account) return true;
  size_t live = __atomic_add_fetch(&account->live, bytes, __ATOMIC_RELAXED);
  if (account->limit && live > account->limit) {
    __atomic_sub_fetch(&account->live, bytes, __ATOMIC_RELAXED);
    return false;
  }
  if (live > account->peak) account->peak = live;
  __atomic_add_fetch(&account->refs, 1, __ATOMIC_RELAXED);
  return true;
}

static void discharge(cxi_account *account, size_t bytes) {
  if (!account) return;
  __atomic_sub_fetch(&account->live, bytes, __ATOMIC_RELAXED);
  cxi_account_close(account);
}

/* -- classes -------------------------------------------------------------- */

/* The class of `bytes` and its capacity; -1 if there is none so large. */
static int class_of(size_t bytes, size_t *out_capacity) {
  size_t units = bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT : 1;
  if (units <= SMALL) {
    *out_capacity = units * ALIGNMENT;
    return (int)units - 1;
  }
  /* units in (2^k, 2^(k+1)], cut into four equal steps of 2^(k-2) */
  int k = 63 - __builtin_clzll((unsigned long long)(units - 1));
  size_t base = (size_t)1 << k, step = base / STEPS;
  size_t s = (units - base + step - 1) / step;
  int octave = k - 4;
  if (octave >= OCTAVES) return -1;
  *out_capacity = (base + s * step) * ALIGNMENT;
  return SMALL + octave * STEPS + (int)s - 1;
}

/* Whole huge pages inside the memory, where the system gives them: a large
 * array's first use faults 512 times less often. */
static void ask_huge(char *memory, size_t bytes) {
  enum { HUGE = 2 << 20 };
  if (bytes < 2 * (size_t)HUGE) return;
  const size_t skip = -(uintptr_t)memory & (HUGE - 1);
  madvise(memory + skip, (bytes - skip) & ~(size_t)(HUGE - 1), MADV_HUGEPAGE);
}

/* A block of `bytes`. The pointer that cxi_alloc gave stands just before it.
 * What the capacity has beyond the bytes stays untouched, and so unused: a huge
 * page that reached into it would make it resident. */
static void *fresh(size_t capacity, size_t bytes) {
  char *memory = cxi_alloc(capacity + ALIGNMENT + sizeof(void *));
  if (!memory) return NULL;
  ask_huge(memory, bytes);
  uintptr_t first = (uintptr_t)memory + sizeof(void *);
  char *block = memory + sizeof(void *) + (-first & (ALIGNMENT - 1));
  ((void **)(void *)block)[-1] = memory;
  return block;
}

static void discard(void *block) {
  cxi_free(((void **)block)[-1]);
}

/* -- the blocks of a thread ----------------------------------------------- */

static void own_flush(void *unused) {
  (void)unused;
  for (int c = 0; c < OWN_CLASSES; c++) {
    while (own.first[c]) {
      waiting *block = own.first[c];
      own.first[c] = block->next;
      discard(block);
    }
    own.n[c] = 0;
  }
  own.registered = false;
}

static void own_key_make(void) {
  pthread_key_create(&own_key, own_flush);
}

static waiting *own_take(int class) {
  if (class >= OWN_CLASSES || !own.first[class]) return NULL;
  waiting *block = own.first[class];
  own.first[class] = block->next;
  own.n[class]--;
  return block;
}

static bool own_give(int class, waiting *block) {
  if (class >= OWN_CLASSES || own.n[class] >= OWN_MOST) return false;
  if (!own.registered) {
    pthread_once(&own_once, own_key_make);
    pthread_setspecific(own_key, &own);
    own.registered = true;
  }
  block->next = own.first[class];
  own.first[class] = block;
  own.n[class]++;
  return true;
}

/* -- taking and giving ---------------------------------------------------- */

void *cxi_block_take(size_t bytes, cxi_account *account, size_t *out_capacity) {
  size_t capacity;
  int class = class_of(bytes, &capacity);
  if (class < 0 || !charge(account, capacity)) return NULL;
  *out_capacity = capacity;
  waiting *mine = own_take(class);
  if (mine) return mine;
  cxi_mutex_lock(&lock);
  waiting *block = classes[class];
  if (block) {
    classes[class] = block->next;
    stats.waiting_bytes -= capacity;
  } else {
    stats.fresh++;
  }
  cxi_mutex_unlock(&lock);
  if (block) return block;
  void *memory = fresh(capacity, bytes);
  if (!memory) {
    cxi_blocks_trim();
    memory = fresh(capacity, bytes);
  }
  if (!memory) discharge(account, capacity);
  return memory;
}

void cxi_block_give(void *memory, size_t capacity, cxi_account *account) {
  size_t exact;
  int class = class_of(capacity, &exact);
  discharge(account, capacity);
  if (own_give(class, memory)) return;
  cxi_mutex_lock(&lock);
  bool keep = stats.waiting_bytes + exact <= WAITING_MOST;
  if (keep) {
    waiting *block = memory;
    block->next = classes[class];
    classes[class] = block;
    stats.waiting_bytes += exact;
  }
  cxi_mutex_unlock(&lock);
  if (!keep) discard(memory);
}

void cxi_blocks_trim(void) {
  waiting *all = NULL;
  own_flush(NULL);
  cxi_mutex_lock(&lock);
  for (int c = 0; c < CLASSES; c++) {
    while (classes[c]) {
      waiting *block = classes[c];
      classes[c] = block->next;
      block->next = all;
      all = block;
    }
  }
  stats.waiting_bytes = 0;
  cxi_mutex_unlock(&lock);
  while (all) {
    waiting *next = all->next;
    discard(all);
    all = next;
  }
}

cxi_block_stats cxi_blocks_now(void) {
  cxi_mutex_lock(&lock);
  cxi_block_stats now = stats;
  cxi_mutex_unlock(&lock);
  return now;
}
