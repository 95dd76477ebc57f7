/* faults.c - small workloads with every allocation failing.
 *
 * The linker sends the program's calls of malloc and its kin here. */
#include "support/faults.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "runtime/executables.h"
#include "trace/call.h"
#include "transforms/transforms.h"

/* -- allocation ------------------------------------------------------------ */

/* Allocations first..last fail, counted from when they were set. */
static _Atomic uint64_t n_asked, first = UINT64_MAX, last = UINT64_MAX;

static bool fails(void) {
  const uint64_t n = n_asked++;
  return n >= first && n <= last;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t bytes) {
  return fails() ? NULL : __real_malloc(bytes);
}
void *__wrap_calloc(size_t n, size_t bytes) {
  return fails() ? NULL : __real_calloc(n, bytes);
}
void *__wrap_realloc(void *memory, size_t bytes) {
  return fails() ? NULL : __real_realloc(memory, bytes);
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}
char *__wrap_strdup(const char *text) {
  return fails() ? NULL : __real_strdup(text);
}

/* jansson's: it mostly takes a failure for a text that is no JSON. */
static bool jansson_failed;
static void *jansson_malloc(size_t bytes) {
  void *memory = __wrap_malloc(bytes);
  jansson_failed |= !memory;
  return memory;
}

static void fail_from_to(uint64_t from, uint64_t to) {
  n_asked = 0;
  jansson_failed = false;
  first = from;
  last = to;
}

/* Whether one failed; none does from now on. */
static bool stop_failing(void) {
  const bool failed = n_asked > first;
  first = last = UINT64_MAX;
  return failed;
}

/* -- one attempt ----------------------------------------------------------- */

typedef struct manner {
  const char *name;
  bool alone; /* else all that follow fail too */
  bool cold;  /* with the library's tables empty */
} manner;

typedef struct trial {
  const workload *work;
  const manner *how;
  uint64_t n;
  cx want;
} trial;

/* All that is wrong is shown, then the test fails. */
static int n_wrong;

static void wrong(const trial *t, const char *what, const char *message) {
  n_wrong++;
  print_error("%s, %s, CX_N=%llu: %s%s\n", t->work->name, t->how->name,
              (unsigned long long)t->n, what, message);
}

static void forget(const manner *how) {
  if (!how->cold) return;
  cxi_resolves_clear();
  cxi_memos_clear();
  cxi_executables_clear();
}

static void check_works(const trial *t) {
  CX_SCOPE;
  const char *message;
  const cx r = t->work->run();
  if (cx_error(&message) != CX_OK)
    wrong(t, "afterwards: ", message);
  else
    assert_same_bits(r, t->want);
}

/* False if there were not as many allocations. */
static bool attempt(const trial *t) {
  CX_SCOPE;
  const char *message;
  fail_from_to(t->n, t->how->alone ? t->n : UINT64_MAX - 1);
  const cx r = t->work->run();
  const bool failed = stop_failing();
  const cx_code code = cx_error(&message);
  if (code == CX_OK) {
    if (cx_leaf_count(r) <= 0)
      wrong(t, "poison without an error", "");
    else
      assert_same_bits(r, t->want);
  } else if (!(code == CX_EMEMORY && strstr(message, "memory")) &&
             !(jansson_failed && (code == CX_EIO || code == CX_ETREE))) {
    wrong(t, "another error: ", message);
  } else if (cx_leaf_count(r) > 0) {
    wrong(t, "an error, but no poison: ", message);
  }
  (void)cx_error(NULL);
  return failed;
}

/* What is held, but for scratch memory, of which none is in use. */
static size_t held(void) {
  cxi_scratch_free();
  return cxi_alloc_now().live_bytes;
}

/* -- sweeps ---------------------------------------------------------------- */

/* Bytes that are held afterwards and were not before. */
static size_t sweep(const workload *w, const manner *how) {
  CX_SCOPE;
  trial t = { w, how, 0, w->run() };
  assert_good();
  const char *one = getenv("CX_N");
  const bool all = getenv("CX_ALL") != NULL;
  forget(how);
  check_works(&t);
  forget(how);
  const size_t before = held();
  uint64_t tried = 0;
  if (one) t.n = strtoull(one, NULL, 10);
  for (; attempt(&t); tried++) {
    forget(how);
    check_works(&t);
    forget(how);
    if (one) break;
    t.n += all ? 1 : 1 + t.n / 4;
  }
  forget(how);
  if (getenv("CX_ONLY"))
    print_message("%s, %s: %llu of %llu\n", w->name, how->name,
                  (unsigned long long)tried, (unsigned long long)t.n);
  const size_t after = held();
  return after > before ? after - before : 0;
}

/* Names, sites and types are kept, in tables that double: the same work again
 * and again comes to an end of that. */
static void sweep_and_weigh(const workload *w, const manner *how) {
  enum { KEPT = 32 << 10, TIMES = 4 };
  size_t more = SIZE_MAX;
  for (int i = 0; more > KEPT && i < TIMES; i++) more = sweep(w, how);
  if (more <= KEPT) return;
  n_wrong++;
  print_error("%s, %s: %zu bytes more are held\n", w->name, how->name, more);
}

void sweep_workloads(const workload *list, size_t n) {
  static const manner manners[] = { { "from nothing, one fails", true, true },
                                    { "from nothing, all fail", false, true },
                                    { "again, one fails", true, false },
                                    { "again, all fail", false, false } };
  const char *only = getenv("CX_ONLY");
  json_set_alloc_funcs(jansson_malloc, free);
  cxi_arena_fail_if(fails);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < sizeof manners / sizeof *manners; k++)
      if (!only || strcmp(only, list[i].name) == 0)
        sweep_and_weigh(&list[i], &manners[k]);
  cxi_arena_fail_if(NULL);
  assert_int_equal(n_wrong, 0);
}

cx unless_failed(bool good, cx r) {
  return good ? r : (cx){ 0, 1 };
}
