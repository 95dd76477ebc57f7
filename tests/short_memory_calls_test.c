/* short_memory_calls_test.c - every public operation, and files, with every
 * allocation failing: poison with CX_EMEMORY, no leak, and it works
 * afterwards. */
#include <unistd.h>

#include "base/alloc.h"
#include "trace/call.h"
#include "transforms/transforms.h"
/* below the others: its operands have short names */
#include "support/misuse.h"

#define CALL_X(name, call)    \
  static cx name##_of(cx x) { \
    return call;              \
  }
#include "support/misuse_handles.def"
#undef CALL_X
typedef struct entry {
  const char *name;
  cx (*call)(cx x);
} entry;
static const entry operations_of[] = {
#define CALL_X(name, call) { #name, name##_of },
#include "support/misuse_handles.def"
#undef CALL_X
};

/* -- files ---------------------------------------------------------------- */

static const char path[] = "/tmp/calx-short-memory.safetensors";
static cx save(cx x) {
  return cx_save(path, cx_dict("x", x, "more", t)) ? x : (cx){ 0, 1 };
}
static cx load(cx x) {
  (void)x;
  return cx_load(path);
}
static cx inspect(cx x) {
  return cx_inspect(path)[0] ? x : (cx){ 0, 1 };
}
static cx load_renamed(cx x) {
  cx tree = cx_tree_rename(cx_load(path), renames);
  return cx_tree_match(cx_dict("x", x), tree, &(const char *){ NULL });
}
static const char archive[] = "/tmp/calx-short-memory.npz";
static cx save_npz(cx x) {
  return cx_save(archive, cx_dict("x", x, "more", t)) ? x : (cx){ 0, 1 };
}
static cx load_npz(cx x) {
  (void)x;
  return cx_load(archive);
}
static cx inspect_npz(cx x) {
  return cx_inspect(archive)[0] ? x : (cx){ 0, 1 };
}
static const entry files[] = {
  { "save", save },
  { "load", load },
  { "inspect", inspect },
  { "load_renamed", load_renamed },
  { "save_npz", save_npz },
  { "load_npz", load_npz },
  { "inspect_npz", inspect_npz },
};

/* -- sweeps --------------------------------------------------------------- */

static void forget(void) {
  cxi_resolves_clear();
  cxi_memos_clear();
}
/* Whether allocation n was one too many. */
static bool fails(const entry *e, cx x, uint64_t n) {
  CX_SCOPE;
  const char *message;
  char bad[48];
  snprintf(bad, sizeof bad, "allocation %llu", (unsigned long long)n);
  cxi_alloc_fail_after(n);
  const cx result = e->call(x);
  cxi_alloc_fail_after(UINT64_MAX);
  const cx_code code = cx_error(&message);
  if (code == CX_OK && is_poison(result))
    wrong(e->name, bad, "poison without an error");
  if (code != CX_OK && code != CX_EMEMORY) wrong(e->name, bad, message);
  return code != CX_OK;
}
/* With tables empty at first, then filled. */
static void sweep(const entry *e, cx x) {
  CX_SCOPE;
  {
    CX_SCOPE; /* a call that is an error in any case */
    (void)e->call(x);
    if (cx_error(NULL) != CX_OK) return;
  }
  for (int cold = 1; cold >= 0; cold--)
    for (uint64_t n = 0; n < 1000000; n += 1 + n / 50) {
      if (cold) forget();
      if (!fails(e, x, n)) break;
      if (n % 7 == 0) check_usable(e->name, "after short memory");
    }
  (void)e->call(x);
  if (cx_error(NULL) != CX_OK) wrong(e->name, "memory is back", "an error");
}
static void sweep_all(const entry *list, size_t n) {
  CX_SCOPE;
  make_operands();
  const cx operands[] = { a, t, k, i, cx_index(i, 0) };
  for (size_t at = 0; at < sizeof operands / sizeof *operands; at++)
    for (size_t c = 0; c < n; c++) /* one gives its operand away */
      if (strcmp(list[c].name, "call_donate") != 0)
        sweep(&list[c], operands[at]);
  assert_nothing_wrong();
}
static void operations(void **state) {
  (void)state;
  sweep_all(operations_of, sizeof operations_of / sizeof *operations_of);
}
static void reading_and_writing(void **state) {
  (void)state;
  sweep_all(files, sizeof files / sizeof *files);
  unlink(path);
  unlink(archive);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(operations),
    cmocka_unit_test(reading_and_writing),
  };
  return cmocka_run_group_tests(tests, setup_small, teardown);
}
