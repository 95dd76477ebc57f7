/* abi.h - the plain functions, for C++ and for bindings of other languages.
 *
 * The macros of calx.h use C11's _Generic and compound literals. Each of them
 * ends in a call of a function whose name ends in `_`, declared beside it; with
 * those alone everything can be written, in C++17 or through a foreign function
 * interface:
 *
 *   cx_add(x, y)            cx_fold_(CX_OP_ADD, 2, {x, y}, where)
 *   cx_exp(x)               cx_unary_(CX_OP_EXP, x, where)
 *   cx_from(p, 2, 3)        cx_from_(p, CX_F32, dims, where)
 *   cx_sum(x, -1)           cx_reduce_(CX_RED_SUM, x, dims, options, where)
 *   cx_call(f, x, y)        cx_call_(f, 2, {x, y}, where)
 *   cx_grad(f)              cx_grad_(f, options, where)
 *   2.0 among arrays        cx_lit_f(2.0)
 *
 * `where` is "file:line" of the call (CX_AT in C and C++), or NULL. It must
 * live as long as the process: a string literal, or one kept for good.
 * cx_dims_ makes a list of integers; n = -2 stands for all axes. A struct of
 * options starts with its size and is zero elsewhere for what is not given:
 * cx_options<T>() in C++.
 *
 * A function is a cx_def, which must live as long as the process; its `call`
 * gets the arguments as an array:
 *
 *   static cx line(const cx *args, const void *env);
 *   static const cx_def line_def = { "line", "w, x", CX_AT, 2, nullptr, line };
 *   cx_fn f = cx_fn_make(&line_def, nullptr);
 *
 * What is stable: names, parameters and the order of fields within a minor
 * version; structs of options grow at their end alone. No exception may pass
 * through a function that Calx calls.
 */
#ifndef CALX_ABI_H
#define CALX_ABI_H

#include "calx/calx.h"

#ifdef __cplusplus
/* Options of which none is given yet. */
template <class T>
inline T cx_options() {
  T options{};
  options.size_ = sizeof options;
  return options;
}
#endif

#endif
