// abi_test.cpp - calx/abi.h as C++17: a fit by gradients, and an error.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "calx/abi.h"

#define HERE CX_AT

namespace {

cx add(cx a, cx b) {
  const cx both[] = { a, b };
  return cx_fold_(CX_OP_ADD, 2, both, HERE);
}

cx mul(cx a, cx b) {
  const cx both[] = { a, b };
  return cx_fold_(CX_OP_MUL, 2, both, HERE);
}

// The mean square of w x - y.
cx loss(const cx *args, const void *) {
  const cx w = args[0], x = args[1], y = args[2];
  const cx both[] = { mul(w, x), y };
  const cx error = cx_unary_(
      CX_OP_SQUARE, cx_fold_(CX_OP_SUB, 2, both, HERE), HERE);
  return cx_reduce_(CX_RED_MEAN, error, cx_dims_(-2, nullptr),
                    cx_options<cx_reduce_opt>(), HERE);
}

const cx_def loss_def = { "loss", "w, x, y", CX_AT, 3, nullptr, loss };

int wrong = 0;

void check(bool good, const char *what) {
  if (good) return;
  std::fprintf(stderr, "abi_test: %s\n", what);
  wrong = 1;
}

}  // namespace

int main() {
  cx_ctx *ctx = cx_open_("cpu", cx_options<cx_open_opt>());
  check(ctx != nullptr, "no context");

  const std::vector<float> points = { -1, 0, 1, 2 };
  const int64_t size = 4;
  cx x = cx_from_(points.data(), CX_F32, cx_dims_(1, &size), HERE);
  cx y = mul(x, cx_lit_f(3));
  cx w = cx_full_(cx_lit_i(0), CX_F32, cx_dims_(0, nullptr), HERE);

  cx_fn slope = cx_jit_(cx_grad_(cx_fn_make(&loss_def, nullptr),
                                 cx_options<cx_grad_opt>(), HERE),
                        cx_options<cx_jit_opt>(), HERE);
  for (int i = 0; i < 50 && cx_ok(); i++) {
    const cx args[] = { w, x, y };
    w = add(w, mul(cx_lit_f(-0.2), cx_call_(slope, 3, args, HERE)));
  }
  const char *message = "";
  check(cx_error(&message) == CX_OK, message);
  check(std::fabs(cx_item_(w, HERE) - 3) < 1e-5, "the line was not found");

  const int64_t other = 3;
  cx z = cx_full_(cx_lit_i(1), CX_F32, cx_dims_(1, &other), HERE);
  add(x, z);
  check(cx_error(&message) == CX_ESHAPE, "f32[4] + f32[3] was accepted");
  check(std::strstr(message, "abi_test.cpp:") != nullptr, message);

  const int64_t nine[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
  check(cx_dims_(9, nine).n == -1, "nine axes were accepted");
  cx_close(ctx);
  return wrong;
}
