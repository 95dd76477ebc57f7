/* misuse_values_test.c - every public function with wrong numbers, lists,
 * dtypes, functions and pointers; what misuse_test.c says holds here too. */
#include <float.h>

#include "support/misuse.h"

/* -- wrong numbers --------------------------------------------------------- */

static void every_size(void **state) {
  (void)state;
  CX_SCOPE;
  static const int64_t sizes[] = { INT64_MIN,
                                   INT64_MIN + 1,
                                   -((int64_t)1 << 32),
                                   -4,
                                   -1,
                                   0,
                                   1,
                                   2,
                                   5,
                                   (int64_t)1 << 20,
                                   INT32_MAX,
                                   (int64_t)1 << 31,
                                   (int64_t)1 << 33,
                                   (int64_t)1 << 61,
                                   INT64_MAX / 8 + 1,
                                   INT64_MAX - 1,
                                   INT64_MAX };
  make_operands();
  for (size_t at = 0; at < sizeof sizes / sizeof *sizes; at++) {
    const int64_t n = sizes[at];
    char bad[32];
    snprintf(bad, sizeof bad, "%lld", (long long)n);
#define CALL_N(name, call) CHECK(#name, bad, a, call);
#include "support/misuse_values.def"
#undef CALL_N
  }
  assert_nothing_wrong();
}
static void every_axis(void **state) {
  (void)state;
  CX_SCOPE;
  static const int axes[] = { INT_MIN, INT_MIN + 1, -9,     -3, -2, -1,
                              0,       1,           2,      3,  5,  8,
                              9,       31,          32,     33, 64, 99,
                              1 << 20, INT_MAX - 1, INT_MAX };
  make_operands();
  for (size_t at = 0; at < sizeof axes / sizeof *axes; at++) {
    const int n = axes[at];
    char bad[32];
    snprintf(bad, sizeof bad, "%d", n);
#define CALL_AXIS(name, call) CHECK(#name, bad, a, call);
#include "support/misuse_values.def"
#undef CALL_AXIS
  }
  assert_nothing_wrong();
}
static void every_list(void **state) {
  (void)state;
  CX_SCOPE;
  static const cx_dims lists[] = {
    { 0, { 0 } },
    { -1, { 0 } },
    { -2, { 0 } },
    { -3, { 0 } },
    { INT_MIN, { 0 } },
    { INT_MAX, { 0 } },
    { 9, { 1, 1, 1, 1, 1, 1, 1, 1 } },
    { 8, { 1, 1, 1, 1, 1, 1, 1, 1 } },
    { 8, { 7, 6, 5, 4, 3, 2, 1, 0 } },
    { 8, { 256, 256, 256, 256, 256, 256, 256, 256 } },
    { 1, { 0 } },
    { 1, { 6 } },
    { 1, { -1 } },
    { 1, { -2 } },
    { 1, { INT64_MAX } },
    { 1, { INT64_MIN } },
    { 2, { 0, 0 } },
    { 2, { 0, 1 } },
    { 2, { 1, -1 } },
    { 2, { -1, -1 } },
    { 2, { 0, INT64_MAX } },
    { 2, { INT64_MAX, INT64_MAX } },
    { 2, { (int64_t)1 << 32, (int64_t)1 << 32 } },
    { 3, { 0, 1, 2 } },
    { 3, { 1, 2, 3 } },
    { 3, { 6, 0, -1 } },
  };
  make_operands();
  for (size_t at = 0; at < sizeof lists / sizeof *lists; at++) {
    const cx_dims s = lists[at];
    char bad[32];
    snprintf(bad, sizeof bad, "list %zu", at);
#define CALL_DIMS(name, call) CHECK(#name, bad, a, call);
#include "support/misuse_values.def"
#undef CALL_DIMS
  }
  assert_nothing_wrong();
}
static void every_dtype(void **state) {
  (void)state;
  CX_SCOPE;
  static const int types[] = {
    INT_MIN, -1, 0,  1,  2,  3,  4,  5,  6,  7,
    8,       9,  10, 11, 12, 13, 14, 15, 99, INT_MAX
  };
  make_operands();
  for (size_t at = 0; at < sizeof types / sizeof *types; at++) {
    const cx_dtype d = (cx_dtype)types[at];
    char bad[32];
    snprintf(bad, sizeof bad, "dtype %d", types[at]);
#define CALL_DTYPE(name, call) CHECK(#name, bad, a, call);
#include "support/misuse_values.def"
#undef CALL_DTYPE
  }
  assert_nothing_wrong();
}
static void every_number(void **state) {
  (void)state;
  CX_SCOPE;
  static const double values[] = { (double)NAN,
                                   (double)INFINITY,
                                   (double)-INFINITY,
                                   -1,
                                   0,
                                   -0.0,
                                   0.5,
                                   1,
                                   1.5,
                                   2,
                                   1e-300,
                                   1e300,
                                   -1e300,
                                   DBL_MAX,
                                   4.9e-324,
                                   1e19 };
  make_operands();
  for (size_t at = 0; at < sizeof values / sizeof *values; at++) {
    const double y = values[at];
    char bad[32];
    snprintf(bad, sizeof bad, "%g", y);
#define CALL_Y(name, call) CHECK(#name, bad, a, call);
#include "support/misuse_values.def"
#undef CALL_Y
  }
  assert_nothing_wrong();
}

/* -- wrong functions ------------------------------------------------------- */

CX_DEF(no_arguments) {
  return cx_ones(CX_F32, 2);
}
CX_DEF(five, one, two, three, four, five_) {
  (void)one, (void)two, (void)three, (void)four;
  return five_;
}
CX_DEF(returns_nothing, x) {
  (void)x;
  return (cx){ 0 };
}
CX_DEF(returns_none, x) {
  (void)x;
  return cx_none();
}
CX_DEF(returns_poison, x) {
  return cx_reshape(x, 77);
}
CX_DEF(returns_bytes, x) {
  (void)x;
  return (cx){ 0xdeadbeef, 0xdeadbeef };
}
CX_DEF(returns_number, x) {
  (void)x;
  return cx_lit_f(1.5);
}
CX_DEF(returns_tree, x) {
  return cx_tuple(x, cx_dict("w", x, "n", cx_none()));
}
CX_DEF(returns_ints, x) {
  return cx_cast(x, CX_I32);
}
CX_DEF(returns_bool, x) {
  return cx_lt(cx_sum(x), 100);
}
CX_DEF(returns_key, x) {
  return cx_fold(cx_key(3), cx_cast(cx_sum(x), CX_I32));
}
CX_DEF(returns_leaked, x) {
  (void)x;
  return leaked;
}
CX_DEF(returns_spec, x) {
  return cx_spec_like(x);
}
CX_DEF(calls_itself, x) {
  return cx_call(CX_FN(calls_itself), x);
}
CX_DEF(grows, x) { /* another signature each time */
  return cx_call(CX_FN(grows), cx_expand(cx_sum(x), 0, 0));
}
CX_DEF(grows_tree, x) {
  return cx_call(CX_FN(grows_tree), cx_tuple(x, 1));
}
CX_DEF(reads, x) {
  return cx_lit_f(cx_item(cx_sum(x)));
}
CX_DEF(keeps, x) {
  return cx_keep(x);
}
CX_DEF(drops, x) {
  cx_drop(x);
  return x;
}
CX_DEF(swaps, x) {
  cx_swap(&slot, x);
  return x;
}
CX_DEF(takes_error, x) { /* an error taken inside spoils the trace as well */
  x = cx_reshape(x, 77);
  cx_error(NULL);
  return cx_ones(CX_F32, 3);
}
CX_DEF(closes, x) {
  cx_close(cx_use(NULL));
  return x;
}
CX_DEF(leaves, x) { /* for a context that is not there */
  cx_use(NULL);
  x = cx_mul(x, 2);
  cx_use(own);
  return x;
}
CX_DEF(uses_donated, x) {
  const cx y = cx_mul(x, 2);
  (void)cx_call(cx_jit(CX_FN(twice), .donate = CX_ARGS(0)), y);
  return y;
}
static cx outside;
CX_DEF(uses_outside, x) {
  return cx_add(x, outside);
}
CX_DEF(branches_differ, x) {
  return cx_cond(cx_gt(cx_sum(x), 0), CX_FN(returns_tree), CX_FN(twice), x);
}
CX_DEF(many_results, x) {
  cx items[40];
  for (int n = 0; n < 40; n++) items[n] = cx_mul(x, n);
  return cx_tuple_n(40, items);
}
static const cx_def no_call = { "no_call", "x", "here", 1, NULL, NULL };
static const cx_def many_args = { "many_args", "x", "here", 1000, NULL, NULL };
static const cx_def no_name = { NULL, NULL, NULL, 1, NULL, twice_call };

static void every_function(void **state) {
  CX_SCOPE;
  make_operands();
  outside = cx_ones(CX_F32, 2, 3);
  (void)cx_call(CX_FN(leaks), a);
  const struct {
    const char *name;
    cx_fn f;
  } functions[] = {
    { "NULL", NULL },
    { "of NULL", cx_fn_make(NULL, NULL) },
    { "without C code", cx_fn_make(&no_call, NULL) },
    { "of a thousand", cx_fn_make(&many_args, NULL) },
    { "without a name", cx_fn_make(&no_name, NULL) },
    { "without its struct", cx_fn_make(&shifted_def, NULL) },
    { "no op", cx_fn_of_op("no such op") },
    { "op NULL", cx_fn_of_op(NULL) },
    { "of no argument", CX_FN(no_arguments) },
    { "of five", CX_FN(five) },
    { "gives nothing", CX_FN(returns_nothing) },
    { "gives none", CX_FN(returns_none) },
    { "gives poison", CX_FN(returns_poison) },
    { "gives bytes", CX_FN(returns_bytes) },
    { "gives a number", CX_FN(returns_number) },
    { "gives a tree", CX_FN(returns_tree) },
    { "gives ints", CX_FN(returns_ints) },
    { "gives a bool", CX_FN(returns_bool) },
    { "gives a key", CX_FN(returns_key) },
    { "gives what leaked", CX_FN(returns_leaked) },
    { "gives a spec", CX_FN(returns_spec) },
    { "calls itself", CX_FN(calls_itself) },
    { "grows", CX_FN(grows) },
    { "grows a tree", CX_FN(grows_tree) },
    { "reads", CX_FN(reads) },
    { "keeps", CX_FN(keeps) },
    { "drops", CX_FN(drops) },
    { "swaps", CX_FN(swaps) },
    { "takes the error", CX_FN(takes_error) },
    { "closes", CX_FN(closes) },
    { "leaves", CX_FN(leaves) },
    { "uses what it gave away", CX_FN(uses_donated) },
    { "uses what is outside", CX_FN(uses_outside) },
    { "has unlike branches", CX_FN(branches_differ) },
    { "gives forty", CX_FN(many_results) },
    { "of text", cx_parse("program @main(%0: f32[2,3]) {\n  return\n}\n") },
    { "of bad text", cx_parse("program") },
    { "of no text", cx_parse(NULL) },
    { "a grad of a tree", cx_grad(CX_FN(returns_tree)) },
    { "a jit of NULL", cx_jit(NULL) },
  };
  cx_error(NULL);
  for (size_t at = 0; at < sizeof functions / sizeof *functions; at++) {
    const cx_fn f = functions[at].f;
    const char *bad = functions[at].name;
#define CALL_F(name, call)    \
  CHECK(#name, bad, a, call); \
  cx_use(*state);
#include "support/misuse_values.def"
#undef CALL_F
  }
  cx_drop(slot);
  assert_nothing_wrong();
}

static void every_null(void **state) {
  CX_SCOPE;
  cx forty[40];
  const char *null_text = NULL;
  (void)state;
  make_operands();
  for (int n = 0; n < 40; n++) forty[n] = a;
#define CALL_NULL(name, call) CHECK(#name, "NULL", a, call);
#include "support/misuse_values.def"
#undef CALL_NULL
  assert_nothing_wrong();
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_size),   cmocka_unit_test(every_axis),
    cmocka_unit_test(every_list),   cmocka_unit_test(every_dtype),
    cmocka_unit_test(every_number), cmocka_unit_test(every_function),
    cmocka_unit_test(every_null),
  };
  return cmocka_run_group_tests(tests, setup_small, teardown);
}
