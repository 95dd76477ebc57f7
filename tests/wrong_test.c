/* wrong_test.c - wrong uses, each with its code and its whole message: the
 * operation, what it got, and the fix where there is one.
 *
 * The calls and texts are those of support/wrong.def. Operands: x f32[3,4],
 * v f32[3], i i32[3], b bool[3], k key[], t {fc1: {bias, weight}}; handles that
 * ended, were dropped, leaked from a trace. Each message has a source line. */
#include <stdlib.h>

#include "support/calls.h"

CX_STRUCT(linear, (cx, weight), (cx, bias));
CX_DEF(one, x) {
  return cx_mul(x, x);
}
CX_DEF(two, x, y) {
  return cx_mul(x, y);
}
CX_DEF(total, x) {
  return cx_sum(x);
}
CX_DEF(forever, x) {
  return cx_call(CX_FN(forever), x);
}
CX_DEF(reads, x) {
  return cx_mul(x, cx_item(cx_sum(x)));
}
CX_DEF(nothing, x) {
  (void)x;
  return (cx){ 0 };
}
CX_DEF(pair, c, x) {
  return cx_tuple(c, x);
}
CX_DEF(grows, c, x) {
  return cx_tuple(cx_concat(0, c, c), x);
}
CX_DEF(below, s) {
  return cx_lt(cx_sum(s), 10);
}
CX_DEF(loops, x) {
  return cx_while(CX_FN(below), CX_FN(one), x);
}
static cx outside, leaked;
CX_DEF(uses_outside, x) {
  return cx_add(x, outside);
}
CX_DEF(leaks, x) {
  leaked = cx_neg(x);
  return x;
}
static cx of_ended_scope(void) {
  CX_SCOPE;
  return cx_ones(CX_F32, 3);
}

/* What follows "FILE:LINE: "; NULL if a message does not begin so. */
static const char *after_place(const char *message) {
  const char *file = strstr(message, "wrong");
  const char *number = file ? strchr(file, ':') : NULL;
  if (!number || number[1] < '1' || number[1] > '9') return NULL;
  number += 1 + strspn(number + 1, "0123456789");
  return number[0] == ':' && number[1] == ' ' ? number + 2 : NULL;
}

static int check(const char *call, cx_code want, const char *text) {
  const char *message;
  const cx_code code = cx_error(&message);
  const char *said = after_place(message);
  if (getenv("CX_SHOW"))
    print_message("%s\t%s\n", cx_code_name(code), said ? said : message);
  if (code == want && said && !strcmp(said, text)) return 0;
  print_error("%s\n    want %s: %s\n    got %s: %s\n", call, cx_code_name(want),
              text, cx_code_name(code), message);
  return 1;
}

static void every_wrong_use(void **state) {
  (void)state;
  CX_SCOPE;
  int failed = 0, n = 0;
  double doubles[3];
  cx x = cx_ones(CX_F32, 3, 4), v = cx_ones(CX_F32, 3), i = cx_ones(CX_I32, 3);
  cx b = cx_gt(v, 0), k = cx_key(1), slot = v;
  cx t = cx_dict("fc1", cx_dict("weight", x, "bias", v));
  const cx ended = of_ended_scope(), dropped = cx_keep(v);
  cx_drop(dropped);
  outside = v;
  (void)!cx_is_none(cx_call(CX_FN(leaks), v));
  assert_good();
#define WRONG(call, code, text)         \
  do {                                  \
    CX_SCOPE;                           \
    cx r_ = (call);                     \
    (void)r_, n++;                      \
    failed += check(#call, code, text); \
  } while (0);
#include "support/wrong.def"
#undef WRONG
  (void)slot, (void)doubles;
  assert_true(cx_item(cx_sum(cx_add(v, 1))) == 6); /* all goes on */
  assert_good();
  assert_int_equal(failed, 0);
  assert_true(n >= 200);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(every_wrong_use) };
  return cmocka_run_group_tests(tests, setup, teardown);
}
