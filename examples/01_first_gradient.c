/* 01_first_gradient.c - fit a line: a gradient, compiled, in a loop. */
#include <stdio.h>
#include "calx.h"

CX_DEF(loss, w, x, y) {
  cx line = cx_add(cx_mul(cx_index(w, 0), x), cx_index(w, 1));
  return cx_mean(cx_square(cx_sub(line, y)));
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx x = cx_linspace(-1, 1, 65, CX_F32), y = cx_add(cx_mul(3, x), 0.5);
  cx w = cx_zeros(CX_F32, 2);
  cx_fn slope = cx_jit(cx_grad(CX_FN(loss)));
  for (int i = 0; i < 100 && cx_ok(); i++)
    w = cx_sub(w, cx_mul(0.5, cx_call(slope, w, x, y)));
  cx_print(w);
  cx_print(cx_call(cx_hessian(CX_FN(loss)), w, x, y));
  const char *message;
  if (cx_error(&message)) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
}
