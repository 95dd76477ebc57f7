/* 06_vmap.c - axes for trees, functions inside functions: an ensemble,
 * distances of all pairs, a batch of matrix powers. */
#include <stdio.h>
#include "calx.h"

/* An ensemble: each member has its own w, all share b. */
CX_DEF(member, p, x) {
  return cx_add(cx_matmul(x, cx_get(p, "w")), cx_get(p, "b"));
}
static cx ensemble(cx p, cx x) { /* in_axes = ({w: 0, b: None}, None) */
  cx axes = cx_tuple(cx_dict("w", 0, "b", cx_none()), cx_none());
  return cx_call(cx_vmap(CX_FN(member), .in_tree = axes, .out = { 1 }), p, x);
}

/* All pairs: one vmap for each index of the table. */
CX_DEF(distance, a, b) {
  return cx_norm(cx_sub(a, b));
}
static cx pairwise(cx as, cx bs) {
  cx_fn row = cx_vmap(CX_FN(distance), .in = { CX_NONE, 0 });
  return cx_call(cx_vmap(row, .in = { 0, CX_NONE }), as, bs);
}

/* a to the power n, n an array: the loop of each lane has its own length. */
CX_DEF(unfinished, s) {
  return cx_gt(cx_nth(s, 2), 0);
}
CX_DEF(multiply, s) {
  cx a = cx_nth(s, 0), power = cx_nth(s, 1), n = cx_nth(s, 2);
  return cx_tuple(a, cx_matmul(power, a), cx_sub(n, 1));
}
CX_DEF(matrix_power, a, n) {
  cx start = cx_tuple(a, cx_eye(CX_F32, cx_dim(a, 0)), n);
  return cx_nth(cx_while(CX_FN(unfinished), CX_FN(multiply), start), 1);
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx w = cx_reshape(cx_arange(0, 12, 1, CX_F32), 3, 2, 2);
  cx x = cx_reshape(cx_arange(0, 8, 1, CX_F32), 4, 2);
  cx members = cx_dict("w", w, "b", cx_array(float, 100, 200));
  cx y = ensemble(members, x);
  printf("ensemble of 3 on 4 examples: %s\n", cx_show(y));
  cx_print(cx_index(y, 0));

  cx origin = cx_array(float, 0, 0, 3, 4);
  cx square = cx_array(float, 0, 0, 1, 0, 0, 1, 3, 0);
  puts("distances");
  cx_print(pairwise(cx_reshape(origin, 2, 2), cx_reshape(square, 4, 2)));

  cx fibonacci = cx_reshape(cx_array(float, 1, 1, 1, 0), 2, 2);
  cx powers = cx_call(cx_vmap(CX_FN(matrix_power), .in = { CX_NONE, 0 }),
                      fibonacci, cx_array(int32_t, 0, 1, 5, 20));
  puts("Fibonacci numbers 1, 2, 6, 21");
  cx_print(cx_index(powers, CX_ALL, 0, 0));
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code;
}
