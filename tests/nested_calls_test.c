/* nested_calls_test.c - functions that call functions, under wrappers.
 *
 * As JAX's core_test has it: values that pass through calls in all ways, each
 * function under each wrapper, with four checks. */
#include "support/calls.h"

#include <string.h>

#include "calx/testing.h"

/* -- the functions -------------------------------------------------------- */

CX_DEF(sine, x) {
  return cx_sin(x);
}
CX_DEF(cosine, x) {
  return cx_cos(x);
}
static cx called(cx_fn f, cx x) {
  return cx_call(cx_jit(f), x);
}

CX_DEF(simple, x, y) {
  return cx_sin(cx_mul(x, y));
}
CX_DEF(fanned_out, x, y) {
  return cx_tuple(cx_sin(cx_mul(x, y)), x);
}
CX_DEF(through_call, x, y) {
  return cx_add(called(CX_FN(sine), x), y);
}
CX_DEF(two_calls, x, y) {
  return cx_mul(cx_add(called(CX_FN(sine), x), called(CX_FN(cosine), x)), y);
}

CX_STRUCT(one_env, (cx, a));
CX_STRUCT(two_env, (cx, a), (cx, b));
CX_DEF_ENV(innermost, two_env, e, z) {
  return cx_add(cx_mul(e->b, z, e->a), cx_mul(e->a, z));
}
CX_DEF_ENV(inner, one_env, e, y) {
  cx y2 = cx_add(cx_sin(y), 1, cx_mul(e->a, 2));
  return called(CX_BIND(innermost, .a = e->a, .b = y2), y);
}
CX_DEF(nested_calls, x, y) {
  return cx_add(called(CX_BIND(inner, .a = x), x), y);
}

CX_DEF_ENV(constant, one_env, e, unused) {
  (void)unused;
  return e->a;
}
CX_DEF_ENV(plus, one_env, e, y) {
  return cx_add(e->a, y);
}
/* The argument is only used by what is called further in. */
CX_DEF_ENV(mixed_calls, two_env, e, w) {
  cx q = called(CX_BIND(constant, .a = e->b), e->a);
  q = cx_add(q, called(CX_BIND(plus, .a = w), e->b));
  return cx_add(cx_mul(called(CX_FN(sine), e->a), e->b), q);
}
CX_DEF(derivative_inside, x, y) {
  cx p, t;
  cx_unpack(cx_call(cx_jvp(CX_BIND(mixed_calls, .a = x, .b = y)),
                    cx_tuple(cx_add(x, 1)), cx_tuple(y)),
            &p, &t);
  return cx_add(t, cx_mul(x, p));
}
CX_DEF(nested_total, x, y) {
  return cx_sum(nested_calls(x, y));
}
CX_DEF(gradient_inside, x, y) {
  cx g = cx_call(cx_grad(CX_FN(nested_total)), x, y);
  return cx_mul(cx_sin(g), y);
}
CX_DEF_ENV(product_of, one_env, e, y, z) {
  return cx_mul(cx_mul(e->a, e->a), y, z);
}
CX_DEF(closed_over, x, y) {
  cx made = cx_call(cx_jit(CX_BIND(product_of, .a = x)), x, cx_cos(x));
  return cx_add(made, y);
}
CX_DEF(trees_in_and_out, x, y) {
  cx a = cx_nth(x, 0), b = cx_nth(x, 1), c = cx_nth(cx_nth(y, 1), 0);
  return cx_tuple(cx_mul(cx_sin(cx_add(a, c)), cx_nth(y, 0)),
                  cx_tuple(cx_mul(b, c), a));
}
CX_DEF(unused_argument, x, y) {
  (void)y;
  return cx_tuple(cx_tanh(x), cx_scalar(2, CX_F64));
}

typedef struct shaped {
  const char *name;
  const cx_def *def;
  bool trees;
} shaped;
static const shaped functions[] = {
  { "simple", &simple_def, false },
  { "fanned_out", &fanned_out_def, false },
  { "through_call", &through_call_def, false },
  { "two_calls", &two_calls_def, false },
  { "nested_calls", &nested_calls_def, false },
  { "derivative_inside", &derivative_inside_def, false },
  { "gradient_inside", &gradient_inside_def, false },
  { "closed_over", &closed_over_def, false },
  { "trees_in_and_out", &trees_in_and_out_def, true },
  { "unused_argument", &unused_argument_def, false },
};

/* -- wrappers ------------------------------------------------------------- */

CX_STRUCT(wrapped_env, (cx_fn, f));

CX_DEF_ENV(call_of, wrapped_env, e, x, y) {
  return cx_call(e->f, x, y);
}
/* The tangent along the arguments themselves. */
CX_DEF_ENV(pushed, wrapped_env, e, x, y) {
  return cx_nth(cx_call(cx_jvp(e->f), cx_tuple(x, y), cx_tuple(x, y)), 1);
}
CX_DEF_ENV(pulled, wrapped_env, e, x, y) {
  cx value;
  cx_fn back = cx_pullback(e->f, cx_tuple(x, y), &value);
  return cx_tuple(cx_call(back, value), value);
}

static const char *const wrappers[] = { "",   "J", "JJ", "c", "cJ",
                                        "cc", "t", "b",  "C" };
static cx_fn wrapped(cx_fn f, const char *word) {
  for (size_t i = strlen(word); i-- > 0;) {
    switch (word[i]) {
    case 'J':
      f = cx_jit(f);
      break;
    case 'C':
      f = cx_checkpoint(f);
      break;
    case 'c':
      f = CX_BIND(call_of, .f = f);
      break;
    case 't':
      f = CX_BIND(pushed, .f = f);
      break;
    default:
      f = CX_BIND(pulled, .f = f);
    }
  }
  return f;
}

/* -- the checks ----------------------------------------------------------- */

static int n_failed;
static void report(const char *name, const char *word, const char *failure) {
  if (!failure) return;
  print_error("%s under \"%s\": %s\n", name, word, failure);
  n_failed++;
}

/* Linearized, the tangents are those of forward mode. */
static const char *check_linearized(cx_fn f, cx x, cx y) {
  cx value;
  cx primals = cx_tuple(x, y);
  cx tangents = cx_random_like(primals, 5);
  cx both = cx_call(cx_jvp(f), primals, tangents);
  cx_fn line = cx_linearize(f, primals, &value);
  cx out = cx_call(line, tangents);
  const char *failure = cx_check_close(out, cx_nth(both, 1));
  return failure ? failure : cx_check_close(value, cx_nth(both, 0));
}

static void each_function_under_each_wrapper(void **state) {
  (void)state;
  const size_t n_f = sizeof functions / sizeof *functions;
  const size_t n_w = sizeof wrappers / sizeof *wrappers;
  for (size_t i = 0; i < n_f; i++)
    for (size_t k = 0; k < n_w; k++) {
      CX_SCOPE;
      const shaped *s = &functions[i];
      const char *word = wrappers[k];
      cx_fn f = wrapped(cx_fn_make(s->def, NULL), word);
      cx a = cx_random_like(cx_spec(CX_F64, 3), 1);
      cx b = cx_random_like(cx_spec(CX_F64, 3), 2);
      cx x = s->trees ? cx_tuple(a, b) : a;
      cx y = s->trees ? cx_tuple(b, cx_tuple(a)) : b;
      report(s->name, word, cx_check_jit(f, (x, y)));
      report(s->name, word, cx_check_grads(f, (x, y), .order = 2));
      report(s->name, word, cx_check_remat(f, (x, y)));
      report(s->name, word, check_linearized(f, x, y));
      assert_good();
    }
  assert_int_equal(n_failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_function_under_each_wrapper),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
