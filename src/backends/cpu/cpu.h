/* cpu.h - the CPU backend, tier 0: precompiled kernels over blocks in L1.
 *
 * Bits equal those of the reference executor, on every instruction set and
 * with any number of threads. */
#ifndef CXI_CPU_H
#define CXI_CPU_H

#include <assert.h>

#include "lower/executable.h"
#include "lower/schedule.h"

extern const cxi_backend cxi_cpu_backend;

/* Runs one elementwise equation at once, without compiling: operands are dense
 * and of the result's shape or of rank 0. The result may be the buffer of an
 * operand whose elements have its size. False: nothing done, there is no such
 * short way, the equation must be compiled or evaluated. */
bool cxi_cpu_evaluate(const cxi_row *row, const void *params, uint32_t n_in,
                      const cxi_view *in, uint32_t n_out, cxi_view *out,
                      int threads);
/* Whether that short way is there for operands and a result of these types. */
bool cxi_cpu_evaluates(const cxi_row *row, uint32_t n_in, const cxi_view *in,
                       uint32_t n_out, const cx_aval *out);

/* -- the families, for cpu.c: each compiles the units it takes ------------- */

/* fused.c */
size_t cxi_cpu_fused_workspace(cxi_unit *unit, cxi_arena *arena);
bool cxi_cpu_fused(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                   cxi_error *error);
/* product.c: dot_general of floats and of integers of up to 32 bits, if the
 * machine has the kernels */
bool cxi_cpu_product_takes(const cxi_unit *unit);
size_t cxi_cpu_product_workspace(const cxi_unit *unit);
bool cxi_cpu_product_in_place(const cxi_unit *unit);
bool cxi_cpu_product(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                     cxi_error *error);
/* conv_layout.c: convolutions of floats, if the machine has the kernels */
bool cxi_cpu_conv_takes(const cxi_unit *unit);
size_t cxi_cpu_conv_workspace(const cxi_unit *unit);
bool cxi_cpu_conv(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                  cxi_error *error);
/* reduce.c: reductions of columns and long rows */
bool cxi_cpu_reduce_takes(const cxi_unit *unit);
bool cxi_cpu_reduce(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                    cxi_error *error);
/* reduce_window.c: windows without base dilation, but of f16 and bf16 */
bool cxi_cpu_reduce_window_takes(const cxi_unit *unit);
bool cxi_cpu_reduce_window(const cxi_unit *unit, cxi_arena *arena,
                           cxi_thunk *out, cxi_error *error);
/* move.c: copies of views, concatenate, stack, pad and slices at starts known
 * only when running; a fused unit that is one such copy */
bool cxi_cpu_move_takes(const cxi_unit *unit);
bool cxi_cpu_move(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                  cxi_error *error);
/* windows.c: gather; the scatters, but sums and the like of f16 and bf16 */
bool cxi_cpu_windows_takes(const cxi_unit *unit);
bool cxi_cpu_windows(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                     cxi_error *error);
/* evaluate.c: any row, by its `evaluate` */
size_t cxi_cpu_evaluate_workspace(const cxi_unit *unit);
bool cxi_cpu_by_evaluate(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                         cxi_error *error);

static inline bool cxi_cpu_no_memory(cxi_error *error) {
  return cxi_error_set(error, CX_EMEMORY, "no memory to compile");
}

/* A workspace piece by piece: `count` elements (-1: more than there can be) of
 * `width` bytes after *bytes, which then counts them too, or is
 * CXI_NO_WORKSPACE from here on. Returns where they begin. */
size_t cxi_cpu_take(size_t *bytes, int64_t count, size_t width);

static inline int64_t cxi_divide_up(int64_t a, int64_t b) {
  assert(b > 0);
  return a / b + (a % b != 0); /* no sum that may overflow */
}
static inline int64_t cxi_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

#endif
