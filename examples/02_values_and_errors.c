/* 02_values_and_errors.c - handles, numbers, scopes; what an error looks
 * like, and where to look for it. */
#include <math.h>
#include <stdio.h>
#include "calx.h"

CX_DEF(loss, p, x) {
  return cx_mean(cx_square(cx_matmul(x, cx_get(p, "weight"))));
}
CX_DEF(not_scalar, x) {
  return cx_mul(x, x);
}

/* Takes the kept error, if there is one, and shows it. */
static void show(void) {
  const char *message;
  cx_code code = cx_error(&message);
  printf("%s: %s\n", cx_code_name(code), message);
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");

  /* A handle stands for an array; there is nothing to free. A C number beside
   * an array takes its dtype. */
  cx a = cx_reshape(cx_arange(0, 6, 1, CX_F32), 2, 3);
  cx b = cx_add(cx_mul(a, 2), 1);
  printf("%s, the sum %g\n", cx_show(b), cx_item(cx_sum(b)));
  cx_print(b);

  /* Two array dtypes never mix by themselves: cast one of them. */
  cx bad = cx_add(a, cx_ones(CX_I32, 3));
  show();

  /* An operation on the result of a failed one does nothing more, so that one
   * question at the end is enough; its numbers are NaN, its sizes 1. */
  bad = cx_exp(cx_sum(cx_matmul(cx_neg(a), b)));
  printf("NaN: %d, a size: %d\n", isnan(cx_item(bad)), (int)cx_dim(bad, 0));
  show();

  /* Names, shapes and arguments are checked where they are used. */
  cx p = cx_dict("weight", cx_ones(CX_F32, 3, 4));
  bad = cx_get(p, "weigth");
  show();
  (void)cx_call(CX_FN(loss), p, cx_ones(CX_F32, 8, 2));
  show();
  (void)cx_call(cx_grad(CX_FN(not_scalar)), a);
  show();

  /* What is made after CX_SCOPE; ends with the block. cx_keep and cx_escape
   * say otherwise. */
  cx kept;
  {
    CX_SCOPE;
    cx temporary = cx_exp(a);
    kept = cx_keep(cx_sum(temporary));
    bad = temporary;
  }
  printf("%.4f\n", cx_item(kept));
  cx_drop(kept);
  bad = cx_neg(bad);
  show();
  cx_close(ctx);
}
