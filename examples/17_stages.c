/* 17_stages.c - what a function becomes: the program it records, its
 * derivatives, its batch, what is kept for the backward pass, the plan of the
 * compiled program; and programs from text. */
#include <stdio.h>
#include "calx.h"

CX_DEF(f, x) {
  return cx_sum(cx_mul(cx_sin(x), x));
}

static void show(const char *title, cx_fn function, cx argument) {
  printf("-- %s\n%s", title, cx_jaxpr(function, argument));
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx x = cx_spec(CX_F32, 3); /* a shape is enough */
  show("f", CX_FN(f), x);
  show("grad(f)", cx_grad(CX_FN(f)), x);
  show("vmap(grad(f))", cx_vmap(cx_grad(CX_FN(f))), cx_spec(CX_F32, 5, 3));
  printf("-- kept for the backward pass\n%s", cx_saved_residuals(CX_FN(f), x));
  printf("-- the plan of the gradient\n%s", cx_plan(cx_grad(CX_FN(f)), x));

  /* The text reads back as a function like any other. */
  cx_program *program = cx_trace(CX_FN(f), x);
  cx_fn again = cx_parse(cx_program_text(program));
  cx values = cx_array(float, 1, 2, 3);
  puts("-- its gradient, from C and from the text");
  cx_print(cx_call(cx_grad(CX_FN(f)), values));
  cx_print(cx_call(cx_jit(cx_grad(again)), values));
  cx_program_free(program);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code;
}
