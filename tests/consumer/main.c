/* main.c - a user's program, built against the installed package alone. */
#include <calx.h>
#include <stdio.h>

CX_DEF(sum_of_squares, x) {
  return cx_sum(cx_mul(x, x));
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  const float numbers[] = { 1, 2, 3 };
  cx x = cx_from(numbers, 3);
  const double sum = cx_item(cx_call(CX_FN(sum_of_squares), x));
  cx slope = cx_call(cx_grad(CX_FN(sum_of_squares)), x);
  const double total = cx_item(cx_sum(slope));
  const char *message = "";
  const cx_code code = cx_error(&message);
  printf("%g %g %s\n", sum, total, message);
  cx_close(ctx);
  return code == CX_OK && sum == 14 && total == 12 ? 0 : 1;
}
