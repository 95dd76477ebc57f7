/* misuse.h - fine operands, the functions of the tables, the checks. */
#ifndef TEST_MISUSE_H
#define TEST_MISUSE_H

#include <math.h>
#include <stdlib.h>

#include "calx/testing.h"
#include "support/calls.h"

/* -- fine operands --------------------------------------------------------- */

static cx_ctx *own; /* the test's */
static cx a, m, v, i, b, k, t, q, slot;
static float numbers[64] __attribute__((aligned(64), unused));
static const cx_dot_dims contract_01 = { .contract_a = { 1, { 1 } },
                                         .contract_b = { 1, { 0 } } };
static const cx_gather_dims rows = { .offset = { 1, { 1 } },
                                     .collapsed = { 1, { 0 } },
                                     .start_map = { 1, { 0 } },
                                     .sizes = { 2, { 1, 3 } } };
static const cx_ix first_row = { .kind = CX_IX_INT };
static const cx_rename renames[] = { { "1.*", "*" },
                                     { "w", NULL },
                                     { NULL, NULL } };

CX_STRUCT(linear, (cx, w), (cx, b));
CX_STRUCT(shift, (cx, by), (double, times));
CX_STRUCT(caller, (cx_fn, f));

CX_DEF(twice, x) {
  return cx_mul(x, 2);
}
CX_DEF(thrice, x) {
  return cx_mul(x, 3);
}
CX_DEF(twice_rule, primals, tangents) {
  return cx_tuple(twice(cx_nth(primals, 0)), twice(cx_nth(tangents, 0)));
}
CX_DEF(twice_forward, x) {
  return cx_tuple(twice(x), cx_none());
}
CX_DEF(product, x, y) {
  return cx_mul(x, y);
}
CX_DEF(total, x) {
  return cx_sum(cx_mul(x, x));
}
CX_DEF(total_of, x) {
  return cx_sum(x);
}
CX_DEF_ENV(shifted, shift, e, x) {
  return cx_add(cx_mul(x, e->times), e->by);
}
CX_DEF_ENV(calls, caller, e, x) {
  return cx_call(e->f, x);
}
CX_DEF(step, carry, x) {
  return cx_tuple(carry, x);
}
CX_DEF(small, x) { /* false of no elements, of huge ones, of NaN */
  return cx_and(cx_lt(cx_abs(cx_sum(x)), 100), cx_size(x) > 0);
}
CX_DEF(climbs, x) {
  return cx_add(x, 50);
}
CX_DEF(add_index, n, x) {
  return cx_add(x, cx_cast(n, CX_F32));
}

static inline void make_operands(void) {
  a = cx_reshape(cx_array(float, 1, 2, 3, 4, 5, 6), 2, 3);
  m = cx_ones(CX_F32, 3, 3);
  v = cx_ones(CX_F32, 3);
  i = cx_array(int, 1, 0);
  b = cx_gt(a, 2);
  k = cx_key(7);
  t = cx_tuple(a, cx_dict("w", a));
  q = cx_ones(CX_F32, 1, 2, 1, 4);
  slot = (cx){ 0 };
}

static cx leaked;
CX_DEF(leaks, x) {
  leaked = cx_mul(x, 2);
  return x;
}

/* -- what the table's expressions call ------------------------------------- */

static inline cx kept(cx x) {
  const cx handle = cx_keep(x);
  if (!cx_ok()) return handle;
  cx_drop(handle);
  return x;
}
static inline cx split_first(cx x) {
  cx one, two;
  cx_split(x, &one, &two);
  return one;
}
static inline cx unpack_first(cx x) {
  cx one, two;
  cx_unpack(x, &one, &two);
  return one;
}
static inline cx called(cx_fn f, cx x) {
  return cx_call(f, x);
}
static inline cx_dot_dims contract(int axis, int other) {
  return (cx_dot_dims){ .contract_a = { 1, { axis } },
                        .contract_b = { 1, { other } } };
}
static inline cx_gather_dims rows_of(int64_t size) {
  cx_gather_dims dims = rows;
  dims.sizes.d[1] = size;
  return dims;
}
static inline cx_gather_dims rows_at(int axis) {
  cx_gather_dims dims = rows;
  dims.offset.d[0] = dims.collapsed.d[0] = dims.start_map.d[0] = axis;
  return dims;
}
static inline cx_args argument_bits(int n) {
  return (cx_args){ .bits = (uint64_t)(int64_t)n };
}
/* Two by three of a dtype; none has elements that a cast cannot make. */
static inline cx of_type(cx_dtype type) {
  return type == CX_KEY ? cx_reshape(cx_split_n(k, 6), 2, 3) : cx_cast(a, type);
}
static inline int64_t minus(int64_t n) { /* wraps */
  return (int64_t)(0 - (uint64_t)n);
}
static inline cx named(const char *name) {
  CX_NAMED(name, 0);
  return cx_neg(a);
}
/* For calls that tell of an error otherwise than by poison. */
static inline cx unless_error(cx x) {
  return cx_ok() ? x : (cx){ 0, 1 };
}
static inline bool same_bits(cx one, cx two) {
  bool same = !strcmp(cx_show(one), cx_show(two));
  for (int n = 0; same && n < cx_leaf_count(one); n++) {
    const cx p = cx_leaf(one, n), r = cx_leaf(two, n);
    const size_t bytes =
        (size_t)cx_size(p) *
        (cx_type(p) == CX_KEY || cx_type(p) == CX_I64 || cx_type(p) == CX_F64 ||
                 cx_type(p) == CX_U64
             ? 8
         : cx_type(p) >= CX_I32 && cx_type(p) != CX_F16 && cx_type(p) != CX_BF16
             ? 4
         : cx_type(p) >= CX_I16 ? 2
                                : 1);
    same = bytes == 0 || !memcmp(cx_data(p), cx_data(r), bytes);
  }
  return same;
}
static inline cx says(const char *text) {
  return cx_lit_i(text && text[0]);
}

/* -- a call and its check -------------------------------------------------- */

static inline bool is_poison(cx x) {
  return x.index == 0;
}
/* All that is wrong is shown, then the test fails. */
static int n_wrong;
static inline void wrong(const char *name, const char *bad, const char *why) {
  n_wrong++;
  print_error("%s(%s): %s\n", name, bad, why);
}
static inline void assert_nothing_wrong(void) {
  const int n = n_wrong;
  n_wrong = 0;
  assert_int_equal(n, 0);
}
static inline void check_usable(const char *name, const char *bad) {
  const double sum = cx_item(cx_sum(cx_mul(a, 2)));
  if (!(sum > 41.5 && sum < 42.5) || cx_error(NULL) != CX_OK)
    wrong(name, bad, "the context is of no use afterwards");
}
/* After a call with operand `x` that gave `result`. */
static inline void check_result(const char *name, const char *bad, cx x,
                                cx result) {
  const char *message;
  const cx_code code = cx_error(&message);
  const bool poison_in = x.index == 0 && x.generation;
  const bool nothing = x.index == 0 && !x.generation && !result.generation;
  if (code != CX_OK && message[0] == 0) wrong(name, bad, "no text");
  if (code == CX_OK && is_poison(result) && !poison_in && !nothing)
    wrong(name, bad, "poison without an error");
  if (code != CX_OK && !is_poison(result)) wrong(name, bad, message);
  if (!is_poison(result)) assert_non_null(cx_show(result));
}

/* Checks one way of misuse, in a scope of its own. */
#define CHECK(name, bad, x, call)        \
  do {                                   \
    CX_SCOPE;                            \
    const cx result_ = (call);           \
    check_result(name, bad, x, result_); \
    check_usable(name, bad);             \
  } while (0)

/* Sizes that the machine might grant are refused. */
static inline int setup_small(void **state) {
  *state = own = cx_open("cpu", .threads = 1, .memory_limit = (size_t)64 << 20);
  return *state == NULL;
}

#endif
