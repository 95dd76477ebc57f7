/* random_program_test.c - random functions under everything.
 *
 * CX_SEED=17 runs one seed and prints its program, CX_SEEDS=10000 as many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "support/random_function.h"
#include "support/stacks.h"
#include "trace/call.h"
#include "transforms/transforms.h"

enum { CPU, REFERENCE, N_CONTEXTS };
static cx_ctx *contexts[N_CONTEXTS];
static int n_failed;

static int open_all(void **state) {
  (void)state;
  contexts[CPU] = cx_open("cpu", .threads = 1);
  contexts[REFERENCE] = cx_open("reference");
  return !contexts[CPU] || !contexts[REFERENCE];
}

static int close_all(void **state) {
  (void)state;
  for (int i = 0; i < N_CONTEXTS; i++) cx_close(contexts[i]);
  return 0;
}

static void complain(uint64_t seed, const char *stack, const char *what,
                     const char *why) {
  print_error("CX_SEED=%llu \"%s\": %s: %s\n", (unsigned long long)seed, stack,
              what, why);
  if (n_failed++ > 2 && !getenv("CX_SEED")) return;
  cx_use(contexts[CPU]);
  CX_SCOPE;
  cx a[3];
  random_arguments(seed, a);
  cx_fn f = stack_make(random_function(seed), stack, "");
  print_error("%s\n", cx_jaxpr(f, a[0], a[1], a[2]));
  cx_error(NULL);
}

static snapshot run(uint64_t seed, int context, const char *stack,
                    const char *plain) {
  cx_use(contexts[context]);
  CX_SCOPE;
  cx a[3];
  random_arguments(seed, a);
  cx_fn f = stack_make(random_function(seed), stack, plain);
  snapshot s = snapshot_of(cx_call(f, a[0], a[1], a[2]));
  const char *message = "";
  if (cx_error(&message) != CX_OK)
    complain(seed, stack, context ? "reference" : "cpu", message);
  return s;
}

static void same(uint64_t seed, const char *stack, const char *what,
                 const snapshot *want, snapshot got) {
  const char *difference = snapshot_compare(want, &got, 0);
  if (difference) complain(seed, stack, what, difference);
  snapshot_free(&got);
}

/* -- what must hold ------------------------------------------------------- */

/* Called as C, each operation runs at once. */
static void check_eager(uint64_t seed, const snapshot *want) {
  cx_use(contexts[CPU]);
  CX_SCOPE;
  cx a[3];
  random_arguments(seed, a);
  same(seed, "", "eager", want,
       snapshot_of(random_call(seed, a[0], a[1], a[2])));
  const char *message = "";
  if (cx_error(&message) != CX_OK) complain(seed, "", "eager", message);
}

/* Printed and parsed the program is the same. */
static void check_text(uint64_t seed, const snapshot *want) {
  cx_use(contexts[CPU]);
  CX_SCOPE;
  cx a[3], leaves[32];
  random_arguments(seed, a);
  cx all = cx_tuple(a[0], a[1], a[2]);
  const int n = cx_leaf_count(all);
  for (int i = 0; i < n; i++) leaves[i] = cx_leaf(all, i);
  cx_program *p = cx_trace(random_function(seed), a[0], a[1], a[2]);
  char *text = strdup(cx_program_text(p));
  cx_fn again = cx_parse(text);
  cx result = cx_call_n(again, n, leaves);
  snapshot got = snapshot_of(result);
  const char *message = "";
  if (cx_error(&message) != CX_OK) {
    complain(seed, "", "text", message);
  } else if (got.n_bytes != want->n_bytes ||
             memcmp(got.bytes, want->bytes, got.n_bytes) != 0) {
    complain(seed, "", "text", "other bits");
  } else {
    cx_program *q = cx_trace_(again, n, leaves, CX_AT);
    if (strcmp(cx_program_text(q), text) != 0) {
      complain(seed, "", "text", "prints differently when parsed");
      print_error("%s\n%s\n", text, cx_program_text(q));
    }
    cx_program_free(q);
  }
  snapshot_free(&got);
  cx_program_free(p);
  free(text);
}

/* Cotangents or tangents: floats like the tree's. */
static cx like(cx tree, bool sines) {
  cx leaves[64];
  const int n = cx_leaf_count(tree);
  for (int i = 0; i < n; i++) {
    cx a = cx_leaf(tree, i);
    leaves[i] = cx_none();
    if (pool_kind_of(a) == A_FLOAT) {
      cx s = cx_cast(cx_iota(CX_I32, 0, cx_size(a)), cx_type(a));
      s = cx_add(cx_mul(s, 0.7), i);
      s = sines ? cx_sin(s) : cx_cos(s);
      leaves[i] = cx_reshape(s, cx_shape(a));
    }
  }
  return cx_unflatten(tree, n, leaves);
}

static double dot(cx a, cx b) {
  snapshot s = snapshot_of(a), t = snapshot_of(b);
  const double sum = snapshot_dot(&s, &t);
  snapshot_free(&s);
  snapshot_free(&t);
  return sum;
}

/* <ct, J v> = <J' ct, v> */
static void check_pairing(uint64_t seed) {
  cx_use(contexts[CPU]);
  CX_SCOPE;
  cx a[3], out, tangents, grads;
  random_arguments(seed, a);
  cx_fn f = random_function(seed);
  cx primals = cx_tuple(a[0], a[1], a[2]), v = like(primals, true);
  cx_unpack(cx_call(cx_jvp(f), primals, v), &out, &tangents);
  cx ct = like(out, false);
  cx_unpack(cx_call(cx_vjp(f), primals, ct), &out, &grads);
  const double u = dot(ct, tangents), w = dot(grads, v);
  const char *message = "";
  char text[100];
  if (cx_error(&message) != CX_OK) {
    complain(seed, "", "jvp or vjp", message);
  } else if (u == u && w == w &&
             !(u - w <= 1e-8 * (1 + (u < 0 ? -u : u)) &&
               w - u <= 1e-8 * (1 + (u < 0 ? -u : u)))) {
    snprintf(text, sizeof text, "%.15g and %.15g", u, w);
    complain(seed, "", "jvp and vjp", text);
  }
}

static void random_stack(uint64_t seed, char *out) {
  chance c = { seed * 0x9e3779b97f4a7c15u };
  const uint32_t n = 2 + chance_draw(&c, 2);
  for (uint32_t i = 0; i < n; i++) out[i] = "GTVWJCS"[chance_draw(&c, 7)];
  out[n] = 0;
}

static void check_stack(uint64_t seed, const char *stack, const char *plain) {
  snapshot want = run(seed, CPU, stack, "");
  if (want.types && plain[0])
    same(seed, stack, plain, &want, run(seed, CPU, stack, plain));
  if (want.types)
    same(seed, stack, "reference", &want, run(seed, REFERENCE, stack, ""));
  snapshot_free(&want);
}

static void check_seed(uint64_t seed) {
  char stack[8];
  const int before = n_failed;
  snapshot want = run(seed, CPU, "", "");
  if (!want.types) return;
  same(seed, "", "reference", &want, run(seed, REFERENCE, "", ""));
  same(seed, "J", "jit", &want, run(seed, CPU, "J", ""));
  same(seed, "C", "checkpoint", &want, run(seed, CPU, "C", ""));
  check_eager(seed, &want);
  check_text(seed, &want);
  snapshot_free(&want);
  if (n_failed > before) return;
  check_stack(seed, "V", "V");
  check_stack(seed, "W", "W");
  check_stack(seed, "GC", "C");
  if (random_type_of(seed) == CX_F64) check_pairing(seed);
  if (n_failed > before) return;
  random_stack(seed, stack);
  check_stack(seed, stack, strstr(stack, "C") ? "J" : "JC");
}

static void random_programs(void **state) {
  (void)state;
  const char *one = getenv("CX_SEED"), *many = getenv("CX_SEEDS");
  const uint64_t n = many ? strtoull(many, NULL, 10) : 300;
  uint64_t seed = one ? strtoull(one, NULL, 10) : 1;
  do check_seed(seed);
  while (!one && seed++ < n);
  assert_int_equal(n_failed, 0);
}

/* Some allocation fails, and all after it: the error says so, if the result
 * needed them, and nothing else happens. */
static void check_short_memory(uint64_t seed, const char *stack,
                               uint64_t successes) {
  cx_use(contexts[CPU]);
  CX_SCOPE;
  cx a[3];
  random_arguments(seed, a);
  cxi_memos_clear();
  cxi_resolves_clear();
  assert_int_equal(cx_error(NULL), CX_OK);
  cxi_alloc_fail_after(successes);
  cx_fn f = stack_make(random_function(seed), stack, "");
  cx r = cx_call(f, a[0], a[1], a[2]);
  cxi_alloc_fail_after(UINT64_MAX);
  const char *message = "";
  const cx_code code = cx_error(&message);
  char what[64];
  snprintf(what, sizeof what, "after %llu allocations",
           (unsigned long long)successes);
  if (code != CX_OK && code != CX_EMEMORY)
    complain(seed, stack, what, message);
  else if (code == CX_OK && cx_leaf_count(r) == 0)
    complain(seed, stack, what, "no error, no result");
}

static void short_memory(void **state) {
  (void)state;
  static const char *const stacks[] = { "J", "GC", "VT", "S", "WG" };
  chance c = { 1 };
  const char *one = getenv("CX_SEED");
  const uint64_t n = getenv("CX_SEEDS") ? 1000 : 40;
  uint64_t seed = one ? strtoull(one, NULL, 10) : 1;
  n_failed = 0;
  do {
    for (int i = 0; i < (one ? 500 : 8); i++)
      check_short_memory(seed, stacks[chance_draw(&c, 5)],
                         chance_draw(&c, 1u << (4 + chance_draw(&c, 9))));
  } while (!one && seed++ < n);
  assert_int_equal(n_failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(random_programs),
                                      cmocka_unit_test(short_memory) };
  return cmocka_run_group_tests(tests, open_all, close_all);
}
