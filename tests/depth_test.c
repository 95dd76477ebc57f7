/* depth_test.c - programs of 100 000 equations, nests of 10 000 levels: no walk
 * may use the stack for them. */
#include "support/calls.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "support/sanitizers.h"

enum { LONG = 100000, DEEP = 10000 };

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Prints the time since the last call. */
static void lap(const char *what) {
  static double last;
  const double now = seconds();
  if (what) print_message("%-28s %8.1f ms\n", what, 1e3 * (now - last));
  last = seconds();
}

CX_DEF(sines, x) {
  for (int i = 0; i < LONG && cx_ok(); i++) x = cx_sin(x);
  return x;
}
CX_DEF(sum_of_sines, x) {
  return cx_sum(sines(x));
}

static void a_long_chain(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(float, 0.5f, 1.0f);
  lap(NULL);
  cx_program *p = cx_trace(CX_FN(sines), x);
  assert_good();
  lap("trace");
  char *text = strdup(cx_program_text(p));
  lap("print");
  cx_fn parsed = cx_parse(text);
  assert_good();
  lap("parse");
  cx a = cx_call(CX_FN(sines), x);
  assert_good();
  lap("first call");
  cx b = cx_call(cx_jit(CX_FN(sines)), x);
  lap("jit, first call");
  assert_same_bits(a, b);
  assert_same_bits(a, cx_call(parsed, x));
  lap("parsed, first call");
  cx g = cx_call(cx_grad(CX_FN(sum_of_sines)), x);
  assert_good();
  lap("grad, first call");
  assert_same_bits(g, cx_call(cx_jit(cx_grad(CX_FN(sum_of_sines))), x));
  lap("jit(grad), first call");
  cx v = cx_call(cx_vmap(CX_FN(sines)), cx_expand(x, 1));
  lap("vmap, first call");
  assert_same_bits(cx_reshape(v, 2), a);
  cx c = cx_call(cx_grad(cx_checkpoint(CX_FN(sum_of_sines))), x);
  assert_good();
  lap("grad(checkpoint)");
  assert_same_bits(c, g);
  cx t = cx_call(cx_jvp(CX_FN(sines)), cx_tuple(x), cx_tuple(x));
  assert_good();
  lap("jvp, first call");
  assert_int_equal(cx_len(t), 2);
  free(text);
  cx_program_free(p);
}

/* -- nests ---------------------------------------------------------------- */

CX_DEF(sine, x) {
  return cx_sin(x);
}

/* Either it works or it says why not. */
static void assert_works_or_says(cx r, cx want) {
  const char *message;
  if (cx_ok()) {
    assert_same_bits(r, want);
  } else {
    assert_int_not_equal(cx_error(&message), CX_OK);
    assert_true(strlen(message) > 10);
    print_message("%s\n", message);
  }
}

static void nested_transforms(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(float, 0.5f, 1.0f), want = cx_sin(x);
  lap(NULL);
  cx_fn f = CX_FN(sine), g = CX_FN(sine), h = CX_FN(sine);
  for (int i = 0; i < DEEP; i++) f = cx_jit(f);
  cx r = cx_call(f, x);
  assert_error(CX_ETRACE, "(...sine...)");
  lap("10000 jit");
  for (int i = 0; i < DEEP; i++) g = cx_checkpoint(g);
  r = cx_call(g, x);
  assert_error(CX_ETRACE, "calls nest deeper than 200");
  (void)r;
  lap("10000 checkpoint");
  for (int i = 0; i < 60; i++) h = cx_checkpoint(cx_jit(h));
  cx d = cx_call(cx_jvp(h), cx_tuple(x), cx_tuple(x));
  assert_good();
  assert_same_bits(cx_nth(d, 0), want);
  lap("60 checkpoint(jit), jvp");
}

static cx nested_tuple(cx x, int depth) {
  for (int i = 0; i < depth; i++) x = cx_tuple(x);
  return x;
}

static void nested_trees(void **state) {
  (void)state;
  CX_SCOPE;
  lap(NULL);
  cx x = cx_array(float, 0.5f), tree = nested_tuple(x, 500);
  assert_good();
  assert_int_equal(cx_leaf_count(tree), 1);
  assert_same_bits(cx_leaf(tree, 0), x);
  assert_int_equal(strncmp(cx_leaf_path(tree, 0), "0.0.0.0", 7), 0);
  assert_true(strlen(cx_show(tree)) > 0);
  assert_same_bits(cx_leaf(cx_sin(tree), 0), cx_sin(x));
  assert_same_bits(cx_leaf(cx_call(cx_jit(CX_FN(sine)), tree), 0), cx_sin(x));
  lap("a tree 500 deep");
  tree = nested_tuple(x, DEEP);
  assert_error(CX_ETREE, "a tree deeper than 512 levels");
  lap("one of 10000");
}

/* @p1 calls @p0, @p2 calls @p1, ... */
static char *nested_text(int depth) {
  char *text = malloc((size_t)depth * 160 + 200), *at = text;
  assert_non_null(text);
  at += sprintf(at, "program @p0(%%0: f32[2]) {\n  %%1: f32[2] = sin %%0\n"
                    "  return %%1\n}\n");
  for (int i = 1; i <= depth; i++)
    at += sprintf(at,
                  "program @p%d(%%0: f32[2]) {\n  %%1: f32[2] ="
                  " jit[body=@p%d] %%0\n  %%2: f32[2] = neg %%1\n"
                  "  return %%2\n}\n",
                  i, i - 1);
  return text;
}

static void nested_programs(void **state) {
  (void)state;
  CX_SCOPE;
  char *text = nested_text(DEEP);
  cx x = cx_array(float, 0.5f, 1.0f), want = cx_sin(x);
  lap(NULL);
  cx_fn f = cx_parse(text);
  if (!f) {
    const char *message;
    assert_int_not_equal(cx_error(&message), CX_OK);
    print_message("%s\n", message);
    free(text);
    return;
  }
  lap("parse 10000 nested");
  assert_works_or_says(cx_call(f, x), want);
  lap("call");
  assert_works_or_says(cx_call(cx_jit(f), x), want);
  lap("jit");
  cx r = cx_call(cx_vjp(f), cx_tuple(x), cx_array(float, 1, 1));
  assert_works_or_says(cx_leaf(r, 0), want);
  lap("vjp");
  r = cx_call(cx_vmap(f), cx_stack(0, x, x));
  assert_works_or_says(r, cx_stack(0, want, want));
  lap("vmap");
  r = cx_call(cx_checkpoint(f), x);
  assert_works_or_says(r, want);
  lap("checkpoint");
  free(text);
}

CX_STRUCT(nested, (cx_fn, f));
CX_DEF_ENV(calls_on, nested, e, x) {
  return cx_call(e->f, x);
}

static void nested_calls(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(float, 0.5f, 1.0f);
  cx_fn f = CX_FN(sine);
  for (int i = 0; i < DEEP; i++) f = CX_BIND(calls_on, .f = f);
  lap(NULL);
  assert_works_or_says(cx_call(f, x), cx_sin(x));
  lap("10000 calls");
  {
    for (int i = 0; i < DEEP; i++) cx_named_push_("a");
    cx r = cx_reshape(x, 5);
    (void)r;
    assert_error(CX_ESHAPE, "reshape");
  }
}

enum { STACK_BYTES = (SANITIZED ? 8 : 1) << 20 };

/* A small stack, so that what needs more shows. */
static int small_stack(void **state) {
  const struct rlimit stack = { STACK_BYTES, RLIM_INFINITY };
  (void)setrlimit(RLIMIT_STACK, &stack);
  return setup(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_long_chain), cmocka_unit_test(nested_transforms),
    cmocka_unit_test(nested_trees), cmocka_unit_test(nested_programs),
    cmocka_unit_test(nested_calls),
  };
  return cmocka_run_group_tests(tests, small_stack, teardown);
}
