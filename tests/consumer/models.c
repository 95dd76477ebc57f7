/* models.c - a user of the installed models. */
#include <calx/models/nn.h>
#include <calx/models/optimizer.h>
#include <stdio.h>

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  const cx layer = nn_linear_init(cx_key(1), 3, 2, 0.1);
  const cx moved = sgd_update(layer, layer, cx_lit_f(1));
  const double left = cx_item(cx_max(cx_abs(cx_get(moved, "weight"))));
  const char *message = "";
  const cx_code code = cx_error(&message);
  printf("%g %s\n", left, message);
  cx_close(ctx);
  return code == CX_OK && left == 0 && schedule_linear(2, 2, 4, 1) == 1 ? 0 : 1;
}
