/* compose_test.c - products of functions and stacks of transforms.
 *
 * Every function of support/composed.c under every stack of up to two
 * transforms and, by default, a part of those of three: CX_ALL=1 runs them
 * all, CX_STACK=GVJ one stack, CX_FUNCTION=scans one function. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/composed.h"
#include "support/stacks.h"

enum { CPU, TWO_THREADS, REFERENCE, N_CONTEXTS };
static cx_ctx *contexts[N_CONTEXTS];
static int n_failed, n_run;

static int open_all(void **state) {
  (void)state;
  contexts[CPU] = cx_open("cpu", .threads = 1);
  contexts[TWO_THREADS] = cx_open("cpu", .threads = 2);
  contexts[REFERENCE] = cx_open("reference");
  return !contexts[CPU] || !contexts[TWO_THREADS] || !contexts[REFERENCE];
}

static int close_all(void **state) {
  (void)state;
  for (int i = 0; i < N_CONTEXTS; i++) cx_close(contexts[i]);
  return 0;
}

/* -- one call ------------------------------------------------------------- */

typedef struct product {
  const composed *function;
  const char *stack;
} product;

static void complain(product p, const char *what, const char *why) {
  CX_SCOPE;
  cx a[3];
  n_failed++;
  print_error("CX_FUNCTION=%s CX_STACK=%s: %s: %s\n", p.function->name, p.stack,
              what, why);
  if (n_failed > 3) return;
  p.function->arguments(CX_F32, a);
  print_error("%s\n", cx_jaxpr(stack_make(cx_fn_make(p.function->def, NULL),
                                          p.stack, ""),
                               a[0], a[1], a[2]));
  cx_error(NULL);
}

/* The function under the stack in a context; `extra` transforms on top. */
static snapshot run(product p, int context, cx_dtype type, const char *extra,
                    const char *plain) {
  cx_use(contexts[context]);
  CX_SCOPE;
  cx a[3];
  p.function->arguments(type, a);
  cx_fn f = stack_make(cx_fn_make(p.function->def, NULL), p.stack, plain);
  f = stack_make(f, extra, "");
  snapshot s = snapshot_of(cx_call(f, a[0], a[1], a[2]));
  const char *message = "";
  if (cx_error(&message) != CX_OK) {
    char what[64];
    snprintf(what, sizeof what, "failed (context %d, plain \"%s\")", context,
             plain);
    complain(p, what, message);
  }
  n_run++;
  return s;
}

static void same(product p, const char *what, const snapshot *want,
                 snapshot got, double tolerance) {
  const char *difference = snapshot_compare(want, &got, tolerance);
  if (difference) complain(p, what, difference);
  snapshot_free(&got);
}

/* -- what must hold ------------------------------------------------------- */

/* Transforms on top of which no derivative stands can be loops, bit for bit;
 * a derivative sums what a batch shares in another order than a loop does. */
static void outer_loops(const char *stack, char *out_plain) {
  size_t n = 0;
  for (; *stack && *stack != 'G' && *stack != 'T'; stack++)
    if (strchr("VWS", *stack)) out_plain[n++] = *stack;
  out_plain[n] = 0;
  for (; *stack; stack++)
    if (n && strchr(out_plain, *stack)) out_plain[0] = n = 0;
}

static void check_bits(product p) {
  char loops[8] = "";
  const char *leave = stack_splits_sums(p.stack) ? "J" : "JC";
  snapshot want = run(p, CPU, CX_F32, "", "");
  if (!want.types) return;
  same(p, "reference", &want, run(p, REFERENCE, CX_F32, "", ""), 0);
  same(p, "two threads", &want, run(p, TWO_THREADS, CX_F32, "", ""), 0);
  same(p, "jit", &want, run(p, CPU, CX_F32, "J", ""), 0);
  same(p, "jit and checkpoint left out", &want, run(p, CPU, CX_F32, "", leave),
       0);
  outer_loops(p.stack, loops);
  if (loops[0]) same(p, "loops", &want, run(p, CPU, CX_F32, "", loops), 0);
  snapshot_free(&want);
}

static void check_values(product p) {
  snapshot want = run(p, CPU, CX_F64, "", "JCVWS");
  if (want.types) same(p, "plain", &want, run(p, CPU, CX_F64, "", ""), 1e-9);
  snapshot_free(&want);
}

/* The floating arguments moved along a direction. */
static cx moved(cx tree, double h) {
  cx leaves[64];
  const int n = cx_leaf_count(tree);
  for (int i = 0; i < n; i++) {
    cx a = leaves[i] = cx_leaf(tree, i);
    if (cx_type(a) == CX_F64)
      leaves[i] = cx_add(
          a, cx_mul(composed_floats(CX_F64, 99 + (uint64_t)i, cx_shape(a)), h));
  }
  return cx_unflatten(tree, n, leaves);
}

/* The gradient against central differences along a direction. */
static void check_gradient(product p) {
  cx_use(contexts[CPU]);
  CX_SCOPE;
  const double h = 1e-5;
  cx a[3];
  p.function->arguments(CX_F64, a);
  cx_fn f = stack_make(cx_fn_make(p.function->def, NULL), p.stack, "");
  cx_fn loss = stack_total_of(f);
  cx g = cx_call(stack_make(f, "G", ""), a[0], a[1], a[2]);
  const bool both = cx_leaf_count(a[1]) > 0;
  cx args = both ? cx_tuple(a[0], a[1]) : a[0];
  cx zero = cx_mul(args, 0);
  snapshot slope = snapshot_of(g), direction = snapshot_of(moved(zero, 1));
  cx above = moved(args, h), below = moved(args, -h);
  cx up = cx_call(loss, both ? cx_nth(above, 0) : above,
                  both ? cx_nth(above, 1) : a[1], a[2]);
  cx down = cx_call(loss, both ? cx_nth(below, 0) : below,
                    both ? cx_nth(below, 1) : a[1], a[2]);
  const double want = (cx_item(up) - cx_item(down)) / (2 * h);
  const double got = snapshot_dot(&slope, &direction);
  const char *message = "";
  char text[128];
  if (cx_error(&message) != CX_OK) {
    complain(p, "gradient failed", message);
  } else if (!(want - got < 1e-5 * (1 + (want < 0 ? -want : want))) ||
             !(got - want < 1e-5 * (1 + (want < 0 ? -want : want)))) {
    snprintf(text, sizeof text, "%.12g and %.12g", want, got);
    complain(p, "difference and gradient", text);
  }
  snapshot_free(&slope);
  snapshot_free(&direction);
}

/* -- all products --------------------------------------------------------- */

/* The rule of a custom function is not its derivative. */
static bool has_true_derivative(const composed *f) {
  return strncmp(f->name, "custom", 6) != 0;
}

static void check_product(product p) {
  if (p.function->only_reverse && strchr(p.stack, 'T')) return;
  const int before = n_failed;
  check_bits(p);
  if (n_failed > before) return;
  check_values(p);
  if (!strchr(p.stack, 'T') && has_true_derivative(p.function) &&
      strlen(p.stack) < 3)
    check_gradient(p);
}

static const char letters[] = "GTVWJCS";
static void stack_word(int number, char *out) {
  const int n = (int)strlen(letters);
  int length = 0, first = 1, count = 1;
  while (number >= first) {
    count *= n;
    length++;
    first += count;
  }
  number -= first - count;
  for (int i = 0; i < length; i++, number /= n) out[i] = letters[number % n];
  out[length] = 0;
}

/* A tenth of the stacks of three for each function, another one for the next. */
static bool chosen(int function, int number) {
  return getenv("CX_ALL") || number < 1 + 7 + 49 ||
         (number + function) % 12 == 0;
}

static void check_function(int i) {
  const char *only = getenv("CX_STACK");
  const composed *f = &composed_functions[i];
  if (only) {
    check_product((product){ f, only });
    return;
  }
  for (int number = 0; number < 1 + 7 + 49 + 343; number++) {
    char word[8];
    stack_word(number, word);
    if (chosen(i, number)) check_product((product){ f, word });
  }
}

static void products(void **state) {
  (void)state;
  const char *only = getenv("CX_FUNCTION");
  for (int i = 0; i < n_composed_functions; i++)
    if (!only || !strcmp(only, composed_functions[i].name)) check_function(i);
  print_message("%d calls\n", n_run);
  assert_int_equal(n_failed, 0);
}

/* Called as C, each operation runs at once: the same bits. */
static void eager(void **state) {
  (void)state;
  for (int i = 0; i < n_composed_functions; i++) {
    const product p = { &composed_functions[i], "" };
    for (int context = 0; context < N_CONTEXTS; context++) {
      snapshot want = run(p, context, CX_F32, "J", "");
      cx_use(contexts[context]);
      CX_SCOPE;
      cx a[3];
      p.function->arguments(CX_F32, a);
      same(p, "eager", &want, snapshot_of(p.function->def->call(a, NULL)), 0);
      assert_int_equal(cx_error(NULL), CX_OK);
      snapshot_free(&want);
    }
  }
  assert_int_equal(n_failed, 0);
}

/* -- arguments large enough to be shared among threads -------------------- */

static cx large_floats(uint64_t seed, int64_t rows, int64_t columns) {
  return composed_floats(CX_F32, seed, rows, columns);
}

CX_DEF(large_layers, x, p, i) {
  cx h = cx_gelu(cx_matmul(x, cx_nth(p, 0)));
  cx n = cx_layer_norm(h, cx_nth(p, 1), cx_nth(p, 1));
  return cx_tuple(cx_softmax(n), cx_sum(n, 0), cx_max(n), cx_take(h, i, 0),
                  cx_logsumexp(cx_t(h)), cx_mul(cx_t(n), 2));
}
static void large_layer_arguments(cx_dtype t, cx out[3]) {
  (void)t;
  out[0] = large_floats(1, 700, 131);
  out[1] = cx_tuple(large_floats(2, 131, 257), composed_floats(CX_F32, 3, 257));
  out[2] = cx_rem(cx_mul(cx_iota(CX_I32, 0, 2000), 37), 700);
}

CX_DEF(large_values, x, y, key) {
  cx z = cx_add(cx_mul(cx_exp(cx_neg(x)), y), cx_sin(x));
  return cx_tuple(cx_sum(z), cx_mean(z, 0), cx_argmax(z, 1), z,
                  cx_normal(key, cx_type(x), cx_shape(x)), cx_cast(z, CX_BF16));
}
static void large_value_arguments(cx_dtype t, cx out[3]) {
  (void)t;
  out[0] = large_floats(4, 301, 403);
  out[1] = composed_floats(CX_F32, 5, 403);
  out[2] = cx_key(3);
}

static void large(void **state) {
  (void)state;
  static const composed functions[] = {
    { "large_layers", &large_layers_def, large_layer_arguments, false },
    { "large_values", &large_values_def, large_value_arguments, false },
  };
  static const char *const stacks[] = { "", "G", "C", "V", "GJ", "VG", "S" };
  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; k < sizeof stacks / sizeof *stacks; k++)
      check_bits((product){ &functions[i], stacks[k] });
  assert_int_equal(n_failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(eager),
    cmocka_unit_test(products),
    cmocka_unit_test(large),
  };
  return cmocka_run_group_tests(tests, open_all, close_all);
}
