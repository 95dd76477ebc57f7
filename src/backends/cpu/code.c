/* code.c - generated code for loops and passes: looked for, made, kept.
 *
 * A unit asks as it runs. At first code is looked for: that of an equal unit
 * of this process, then a file of the store; that takes less than what it
 * waited for. If there is none and the unit goes on, LLVM makes it. */
#include "backends/cpu/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cpu/code_kept.h"
#include "backends/cpu/code_plugin.h"
#include "backends/cpu/code_worker.h"
#include "base/alloc.h"
#include "base/store.h"

/* Thunks that a unit runs, or what is worth as many, at about 0.1 us each,
 * before code is looked for, and before it is made: what either takes. A
 * program has many more passes than loops, and gains less by each. */
enum { LOOK = 500, LOOK_PASS = 5000, MAKE = 200000 };

static atomic_int chosen = CX_LOOPS_DEFAULT;
static atomic_int_fast64_t chosen_patience = -1;
static cxi_code_stats stats; /* under the lock */

/* -- when ------------------------------------------------------------------ */

static const char *const names[] = { "", "auto", "off", "now", "wait" };

static cx_loops of_environment(void) {
  const char *text = getenv("CALX_LLVM");
  for (int i = CX_LOOPS_AUTO; text && i <= CX_LOOPS_WAIT; i++)
    if (strcmp(text, names[i]) == 0) return (cx_loops)i;
  return CX_LOOPS_AUTO;
}

static cx_loops when_now(cx_loops wanted) {
  if (wanted > CX_LOOPS_DEFAULT && wanted <= CX_LOOPS_WAIT) return wanted;
  int now = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (now == CX_LOOPS_DEFAULT) {
    now = (int)of_environment();
    atomic_store(&chosen, now);
  }
  return (cx_loops)now;
}

cx_loops cxi_code_set(cx_loops when) {
  const cx_loops before = when_now(CX_LOOPS_DEFAULT);
  atomic_store(&chosen, (int)when);
  return before;
}

const char *cxi_code_when(void) {
  return names[when_now(CX_LOOPS_DEFAULT)];
}

/* Thunks before code is made: CALX_LLVM_AFTER, or what that takes. */
static int64_t patience(void) {
  int64_t now = atomic_load_explicit(&chosen_patience, memory_order_relaxed);
  if (now < 0) {
    const char *text = getenv("CALX_LLVM_AFTER");
    char *end = NULL;
    const long long n = text ? strtoll(text, &end, 10) : -1;
    now = n >= 0 && *end == 0 && end != text ? n : MAKE;
    atomic_store(&chosen_patience, now);
  }
  return now;
}

static uint64_t clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* -- one unit's code ------------------------------------------------------- */

/* CX_DUMP=code: what became of a pass, or of each unit of a loop, and whence
 * its code comes. */
static void dump(const char *how, const char *report) {
  const char *list = getenv("CX_DUMP");
  if (!list || !strstr(list, "code")) return;
  fprintf(stderr, "code: %s\n%s", how, report ? report : "");
}

static void note_reason(const char *why) {
  cxi_code_lock();
  snprintf(stats.why, sizeof stats.why, "%s", why);
  cxi_code_unlock();
}

/* Under the lock: the unit goes on with what is kept, of which it has a
 * reference. */
static bool attach(cxi_coding *coding, cxi_kept_code *kept) {
  const void **table = cxi_loaded_table(&kept->loaded, coding->unit);
  if (!table) return false;
  coding->kept = kept;
  const bool pass = coding->unit->kind == CXI_UNIT_FUSED;
  coding->code = (cxi_code){ kept->loaded.entry, table };
  (*(!kept->loaded.entry ? &stats.refused
     : pass              ? &stats.passes
                         : &stats.loops))++;
  atomic_store_explicit(&coding->ready, &coding->code, memory_order_release);
  return true;
}

/* From the store. An entry that is sound but says what cannot be is none. */
static bool read_code(cxi_hash key, const char *llvm, cxi_loaded *out) {
  char stamp[200], why[160];
  cxi_bytes bytes = { 0 };
  cxi_object object;
  const char *fault;
  const uint64_t start = clock_ns();
  cxi_code_stamp(llvm, stamp);
  bool good = cxi_store_get(key, stamp, &bytes, why) == CXI_STORED_FOUND;
  if (good) {
    snprintf(why, sizeof why, "an entry that is no code");
    good = !bytes.failed && cxi_object_read(bytes.data, bytes.n, &object) &&
           cxi_object_load(&object, out, &fault);
  }
  if (good) dump(out->entry ? "from the cache" : "none", object.report);
  cxi_bytes_free(&bytes);
  if (!good) {
    note_reason(why);
    dump(why, "");
    return false;
  }
  cxi_code_lock();
  stats.read++;
  stats.reading_ns += clock_ns() - start;
  cxi_code_unlock();
  return true;
}

static void write_code(cxi_hash key, const char *llvm,
                       const cxi_object *object) {
  char stamp[200], why[160];
  cxi_bytes bytes = { 0 };
  cxi_object_write(&bytes, object);
  cxi_code_stamp(llvm, stamp);
  if (!bytes.failed && !cxi_store_put(key, stamp, bytes.data, bytes.n, why))
    dump(why, "");
  cxi_bytes_free(&bytes);
}

/* By LLVM. */
static bool make_code(const struct cxi_unit *unit, cxi_hash key,
                      const char *llvm, cxi_loaded *out) {
  cxi_object object;
  const char *why;
  const uint64_t start = clock_ns();
  const cxi_plugin *plugin = cxi_code_plugin(&why);
  /* another version than was thought: another key, to begin with again */
  if (plugin && strcmp(llvm, plugin->llvm) != 0) return false;
  bool good = plugin && plugin->generate(unit, &object, &why);
  if (good) {
    good = cxi_object_load(&object, out, &why);
    if (good) dump(out->entry ? "generated" : "none", object.report);
    if (good) write_code(key, llvm, &object);
    plugin->release(&object);
  }
  if (!good) dump(why, "");
  cxi_code_lock();
  (*(good ? &stats.made : &stats.failed))++;
  stats.making_ns += clock_ns() - start;
  cxi_code_unlock();
  return good;
}

/* -- finding it ------------------------------------------------------------ */

/* What is kept under the key, with a reference: an equal unit's, or a new one
 * to be filled (*is_new). NULL: without memory, or if another thread is at it
 * and we do not wait. */
static cxi_kept_code *enter(cxi_hash key, bool waits, bool *is_new) {
  cxi_kept_code *kept = cxi_kept_find(key);
  while (kept && kept->making && waits) {
    cxi_code_wait();
    kept = cxi_kept_find(key);
  }
  *is_new = !kept;
  if (!kept) return cxi_kept_add(key);
  if (kept->making) return NULL;
  cxi_kept_hold(kept);
  stats.shared++;
  return kept;
}

/* Fills it: from the store, or else, if it `may`, by LLVM. */
static bool fill(cxi_kept_code *kept, const struct cxi_unit *unit,
                 const char *llvm, bool may) {
  cxi_loaded loaded;
  const bool good = read_code(kept->key, llvm, &loaded) ||
                    (may && make_code(unit, kept->key, llvm, &loaded));
  cxi_code_lock();
  if (good) kept->loaded = loaded;
  if (good) kept->making = false;
  cxi_code_changed();
  cxi_code_unlock();
  return good;
}

/* True: the unit has its code, or is known to be worth none. */
static bool find_code(cxi_coding *coding, bool may) {
  cxi_hash key;
  bool is_new;
  const char *llvm = cxi_code_llvm();
  if (!cxi_code_key(coding->unit, llvm, &key)) return false;
  cxi_code_lock();
  cxi_kept_code *kept = enter(key, may, &is_new);
  cxi_code_unlock();
  if (!kept) return false;
  bool good = !is_new || fill(kept, coding->unit, llvm, may);
  cxi_code_lock();
  good = good && attach(coding, kept);
  if (!good) cxi_kept_drop(kept);
  cxi_code_changed();
  cxi_code_unlock();
  if (!good && may && strcmp(llvm, cxi_code_llvm()) != 0)
    return find_code(coding, may);
  return good;
}

/* A unit that has been taken is given back. */
static void give(cxi_coding *coding, bool done) {
  cxi_code_lock();
  cxi_code_give(coding, done ? CXI_STAGE_DONE : CXI_STAGE_LOOKED);
  cxi_code_unlock();
}

static void look(cxi_coding *coding) {
  const bool before = cxi_alloc_aside(true);
  give(coding, find_code(coding, false));
  cxi_alloc_aside(before);
}

/* A unit whose code cannot be made, for whatever reason, stays without: to try
 * again at each look would cost more than all its runs. */
static void make(cxi_coding *coding) {
  const bool before = cxi_alloc_aside(true);
  if (!find_code(coding, true)) {
    coding->code = (cxi_code){ NULL, NULL };
    atomic_store_explicit(&coding->ready, &coding->code, memory_order_release);
  }
  give(coding, true);
  cxi_alloc_aside(before);
}

/* -- the coder ------------------------------------------------------------- */

/* By this thread, after any other that is at it. */
static void make_here(cxi_coding *coding) {
  bool taken = false;
  cxi_code_lock();
  while (!taken && atomic_load(&coding->stage) != CXI_STAGE_DONE) {
    taken = cxi_code_take(coding, true);
    if (!taken && atomic_load(&coding->stage) != CXI_STAGE_TAKEN) break;
    if (!taken) cxi_code_wait();
  }
  cxi_code_unlock();
  if (taken) make(coding);
}

/* By another thread; by this one if there can be no other. */
static void make_elsewhere(cxi_coding *coding) {
  bool queued = true;
  cxi_code_lock();
  if (atomic_load(&coding->stage) <= CXI_STAGE_LOOKED)
    queued = cxi_code_queue(coding, make);
  cxi_code_unlock();
  if (!queued) make_here(coding);
}

static void look_here(cxi_coding *coding) {
  cxi_code_lock();
  const bool taken = atomic_load(&coding->stage) == CXI_STAGE_NEW &&
                     cxi_code_take(coding, false);
  cxi_code_unlock();
  if (taken) look(coding);
}

static void ask(cxi_coding *coding, int64_t ran, cx_loops when) {
  const int stage = atomic_load_explicit(&coding->stage, memory_order_acquire);
  const bool waits = when == CX_LOOPS_NOW || when == CX_LOOPS_WAIT;
  if (stage == CXI_STAGE_DONE) return;
  const bool due = ran >= patience();
  if (when == CX_LOOPS_NOW || (waits && due))
    make_here(coding);
  else if (stage <= CXI_STAGE_LOOKED && due)
    make_elsewhere(coding);
  else if (stage == CXI_STAGE_NEW &&
           ran >= (coding->unit->kind == CXI_UNIT_FUSED ? LOOK_PASS : LOOK))
    look_here(coding);
}

/* A thread may be at it for nobody any more. */
static void release(cxi_coding *coding) {
  if (atomic_load(&coding->stage) == CXI_STAGE_NEW) return;
  cxi_code_lock();
  cxi_code_unqueue(coding);
  while (atomic_load(&coding->stage) == CXI_STAGE_TAKEN) cxi_code_wait();
  if (coding->kept) cxi_kept_drop(coding->kept);
  cxi_code_unlock();
  cxi_free((void *)(uintptr_t)coding->code.table);
}

/* Where all code is wanted, also that of few elements. Where none is, a context
 * may still want it: executables serve all of them. */
static bool may_pay(const struct cxi_unit *unit) {
  return cxi_code_may_pay(unit, when_now(CX_LOOPS_DEFAULT) == CX_LOOPS_NOW);
}

const cxi_coder cxi_cpu_coder = { when_now, may_pay, ask, release };

bool cxi_code_open(const char **out_why) {
  return cxi_code_plugin(out_why) != NULL;
}

void cxi_code_forget(void) {
  cxi_code_lock();
  cxi_kept_clear();
  cxi_code_unlock();
}

cxi_code_stats cxi_code_now(void) {
  cxi_code_lock();
  const cxi_kept_stats kept = cxi_kept_now();
  cxi_code_stats now = stats;
  cxi_code_unlock();
  now.kept = kept.entries;
  now.bytes = kept.bytes;
  return now;
}
