/* index_test.c - dynamic slices, gather and scatter: values, errors, rules. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "backends/reference/reference.h"
#include "ir/text.h"
#include "support/group.h"
#include "transforms/transforms.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const row_values values[] = {
  /* starts are moved so that the window fits */
  { "program @m(%0: f32[4], %1: i32[]) { %2: f32[2] = dynamic_slice[sizes=(2)] "
    "%0, %1 return %2 }",
    "1 2 3 4; 1", "2 3" },
  { "program @m(%0: f32[4], %1: i64[]) { %2: f32[2] = dynamic_slice[sizes=(2)] "
    "%0, %1 return %2 }",
    "1 2 3 4; 99", "3 4" },
  { "program @m(%0: f32[4], %1: i8[]) { %2: f32[2] = dynamic_slice[sizes=(2)] "
    "%0, %1 return %2 }",
    "1 2 3 4; -1", "1 2" },
  { "program @m(%0: f32[4]) { %1: f32[2] = dynamic_slice[sizes=(2)] %0, "
    "18446744073709551615:u64 return %1 }",
    "1 2 3 4", "3 4" },
  { "program @m(%0: f32[2,3], %1: f32[1,2], %2: i32[]) { %3: f32[2,3] = "
    "dynamic_update_slice %0, %1, %2, %2 return %3 }",
    "1 2 3 4 5 6; 7 8; 1", "1 2 3 4 7 8" },
  { "program @m(%0: i8[3], %1: i8[2], %2: i32[]) { %3: i8[3] = "
    "update_slice_add %0, %1, %2 return %3 }",
    "127 1 2; 1 1; -5", "-128 2 2" },
  { "program @m(%0: f16[2], %1: f16[1], %2: i32[]) { %3: f16[2] = "
    "update_slice_add %0, %1, %2 return %3 }",
    "2048 1; 1; 0", "2048 1" },
  /* gather: modes */
  { "program @m(%0: f32[3,2], %1: i32[3,1]) { %2: f32[3,2] = gather["
    "offset=(1), collapsed=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), sizes=(1,2), mode=clip, fill=nan, sorted=false, "
    "unique=false] %0, %1 return %2 }",
    "1 2 3 4 5 6; 2 7 -1", "5 6 5 6 1 2" },
  { "program @m(%0: f32[3,2], %1: i32[3,1]) { %2: f32[3,2] = gather["
    "offset=(1), collapsed=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), sizes=(1,2), mode=fill, fill=nan, sorted=false, "
    "unique=false] %0, %1 return %2 }",
    "1 2 3 4 5 6; 2 7 -1", "5 6 nan nan nan nan" },
  { "program @m(%0: i16[2], %1: i32[2,1]) { %2: i16[2] = gather[offset=(), "
    "collapsed=(0), start_map=(0), operand_batch=(), index_batch=(), "
    "sizes=(1), mode=fill, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "1 2; 1 2", "2 -32768" },
  { "program @m(%0: u8[2], %1: u32[2,1]) { %2: u8[2] = gather[offset=(), "
    "collapsed=(0), start_map=(0), operand_batch=(), index_batch=(), "
    "sizes=(1), mode=fill, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "1 2; 0 4294967295", "1 255" },
  { "program @m(%0: bool[2], %1: i32[2,1]) { %2: bool[2] = gather[offset=(), "
    "collapsed=(0), start_map=(0), operand_batch=(), index_batch=(), "
    "sizes=(1), mode=fill, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "0 0; 0 2", "0 1" },
  { "program @m(%0: i32[2], %1: i32[2,1]) { %2: i32[2] = gather[offset=(), "
    "collapsed=(0), start_map=(0), operand_batch=(), index_batch=(), "
    "sizes=(1), mode=fill, fill=-7, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "1 2; -1 1", "-7 2" },
  /* scatter: the last of equal places wins, outside is dropped or moved */
  { "program @m(%0: f32[3], %1: i32[3,1], %2: f32[3]) { %3: f32[3] = scatter["
    "window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "1 2 3; 1 1 5; 7 8 9", "1 8 3" },
  { "program @m(%0: f32[3], %1: i32[2,1], %2: f32[2]) { %3: f32[3] = scatter["
    "window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "1 2 3; 5 -5; 8 9", "9 2 8" },
  { "program @m(%0: f32[4], %1: i32[2,1], %2: f32[2,2]) { %3: f32[4] = "
    "scatter[window=(1), inserted=(), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "0 0 0 0; 1 3; 1 2 3 4", "0 1 2 0" },
  { "program @m(%0: f32[3], %1: i32[3,1], %2: f32[3]) { %3: f32[3] = "
    "scatter_add[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "1 2 3; 1 1 5; 7 8 9", "1 17 3" },
  /* f16 sums round once: 2048 + 1 + 1 is 2050, step by step 2048 */
  { "program @m(%0: f16[1], %1: i32[2,1], %2: f16[2]) { %3: f16[1] = "
    "scatter_add[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "2048; 0 0; 1 1", "2050" },
  { "program @m(%0: u8[1], %1: i32[2,1], %2: u8[2]) { %3: u8[1] = "
    "scatter_add[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=in_bounds, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "200; 0 0; 50 50", "44" },
  /* in the order of the positions; a product of f16 rounds once */
  { "program @m(%0: i8[2], %1: i32[3,1], %2: i8[3]) { %3: i8[2] = "
    "scatter_mul[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "3 4; 0 0 5; 50 2 7", "44 4" },
  { "program @m(%0: f32[2], %1: i32[3,1], %2: f32[3]) { %3: f32[2] = "
    "scatter_mul[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "3 4; 0 0 1; 0.5 4 -1", "6 -4" },
  { "program @m(%0: f16[1], %1: i32[3,1], %2: f16[3]) { %3: f16[1] = "
    "scatter_mul[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "1; 0 0 0; 0.0001220703125 0.0001220703125 8192", "0.0001220703125" },
  { "program @m(%0: f32[2], %1: i32[3,1], %2: f32[3]) { %3: f32[2] = "
    "scatter_min[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "3 4; 0 0 1; nan 1 5", "nan 4" },
  { "program @m(%0: f32[2], %1: i32[4,1], %2: f32[4]) { %3: f32[2] = "
    "scatter_max[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "3 4; 0 0 1 2; 1 7 -inf 9", "7 4" },
  { "program @m(%0: f32[2], %1: i32[1,1], %2: f32[1]) { %3: f32[2] = "
    "scatter_max[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=clip, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "3 4; 2; 9", "3 9" },
  { "program @m(%0: f32[2], %1: i32[1,1], %2: f32[1]) { %3: f32[2] = "
    "scatter_max[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=in_bounds, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "3 4; 2; 9", "3 4" },
  { "program @m(%0: u8[1], %1: i32[2,1], %2: u8[2]) { %3: u8[1] = "
    "scatter_min[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "200; 0 0; 150 255", "150" },
  { "program @m(%0: bool[2], %1: i32[2,1], %2: bool[2]) { %3: bool[2] = "
    "scatter_max[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "0 0; 1 1; 0 1", "0 1" },
};

static const row_error errors[] = {
  { "program @m(%0: f32[4]) { %1: f32[5] = dynamic_slice[sizes=(5)] %0, 0:i32 "
    "return %1 }",
    "dynamic_slice: a window of (5) does not fit into f32[4]" },
  { "program @m(%0: f32[4]) { %1: f32[2] = dynamic_slice[sizes=(2)] %0, "
    "0.0:f32 "
    "return %1 }",
    "needs an integer dtype, got f32[]" },
  { "program @m(%0: f32[4], %1: i32[1]) { %2: f32[2] = dynamic_slice["
    "sizes=(2)] %0, %1 return %2 }",
    "start 0 is i32[1], not a scalar" },
  { "program @m(%0: f32[4,4]) { %1: f32[2,2] = dynamic_slice[sizes=(2,2)] %0, "
    "0:i32, 0:i64 return %1 }",
    "i32 and i64" },
  { "program @m(%0: f32[4]) { %1: f32[2] = dynamic_slice[sizes=(2)] %0 "
    "return %1 }",
    "takes 2 operands, got 1" },
  { "program @m(%0: f32[4], %1: f64[2]) { %2: f32[4] = dynamic_update_slice "
    "%0, "
    "%1, 0:i32 return %2 }",
    "f32 and f64" },
  { "program @m(%0: bool[4], %1: bool[2]) { %2: bool[4] = update_slice_add %0, "
    "%1, 0:i32 return %2 }",
    "needs an integer or floating dtype, got bool[4]" },
  { "program @m(%0: f32[3,2], %1: i32[]) { %2: f32[2] = gather[offset=(0), "
    "collapsed=(0), start_map=(0), operand_batch=(), index_batch=(), "
    "sizes=(1,2), mode=clip, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "the last axis holds one index" },
  { "program @m(%0: f32[3,2], %1: f32[1]) { %2: f32[2] = gather[offset=(0), "
    "collapsed=(0), start_map=(0), operand_batch=(), index_batch=(), "
    "sizes=(1,2), mode=clip, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "needs an integer dtype" },
  { "program @m(%0: f32[3,2], %1: i32[2]) { %2: f32[2] = gather[offset=(0), "
    "collapsed=(0), start_map=(0), operand_batch=(), index_batch=(), "
    "sizes=(1,2), mode=clip, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "indices i32[2]: the last axis wants the 1 items of start_map" },
  { "program @m(%0: f32[3,2], %1: i32[1]) { %2: f32[2] = gather[offset=(0), "
    "collapsed=(0), start_map=(0), operand_batch=(), index_batch=(), "
    "sizes=(2,2), mode=clip, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "axis 0: a window of 2 of f32[3,2], which leaves the axis out" },
  { "program @m(%0: f32[3,2], %1: i32[1]) { %2: f32[2] = gather[offset=(0,1), "
    "collapsed=(), start_map=(0), operand_batch=(), index_batch=(), "
    "sizes=(1,3), mode=clip, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "axis 1: a window of 3 of f32[3,2]" },
  { "program @m(%0: f32[3,2], %1: i32[1]) { %2: f32[2] = gather[offset=(3), "
    "collapsed=(0), start_map=(0), operand_batch=(), index_batch=(), "
    "sizes=(1,2), mode=clip, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "axes (3): want 1, ascending, of 1" },
  { "program @m(%0: f32[3,2], %1: i32[1]) { %2: f32[2] = gather[offset=(0), "
    "collapsed=(0), start_map=(7), operand_batch=(), index_batch=(), "
    "sizes=(1,2), mode=clip, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "start_map (7): not distinct axes" },
  { "program @m(%0: f32[3,2], %1: i32[1]) { %2: f32[2] = gather[offset=(0), "
    "collapsed=(0), start_map=(1), operand_batch=(0), index_batch=(0), "
    "sizes=(1,2), mode=clip, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "index_batch (0): wants an axis of the indices" },
  { "program @m(%0: f32[3,2], %1: i32[3,1]) { %2: f32[3] = gather[offset=(), "
    "collapsed=(0,1), start_map=(1), operand_batch=(0), index_batch=(0), "
    "sizes=(1,1), mode=clip, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "operand_batch (0) has axes of another list" },
  { "program @m(%0: f32[3,2], %1: i32[4,1]) { %2: f32[4] = gather[offset=(), "
    "collapsed=(1), start_map=(1), operand_batch=(0), index_batch=(0), "
    "sizes=(1,1), mode=clip, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "batch axes differ in size: axis 0 of f32[3,2] and 0 of i32[4,1]" },
  { "program @m(%0: f32[3,2], %1: i32[1]) { %2: f32[2] = gather[offset=(0), "
    "collapsed=(0), start_map=(0), operand_batch=(), index_batch=(), "
    "sizes=(1,2), mode=drop, fill=nan, sorted=false, unique=false] %0, %1 "
    "return %2 }",
    "mode is clip, fill or in_bounds" },
  { "program @m(%0: f32[3,2], %1: i32[1,1,1,1,1,1,1,1]) { %2: f32[2] = gather["
    "offset=(0,1), collapsed=(), start_map=(0), operand_batch=(), "
    "index_batch=(), sizes=(1,2), mode=clip, fill=nan, sorted=false, "
    "unique=false] %0, %1 return %2 }",
    "gather: more than 8 dimensions" },
  { "program @m(%0: f32[3], %1: i32[2,1], %2: f32[3]) { %3: f32[3] = scatter["
    "window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "updates f32[3] do not go with indices i32[2,1]" },
  { "program @m(%0: f32[3], %1: i32[2,1], %2: f16[2]) { %3: f32[3] = scatter["
    "window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "f32[3] and updates f16[2]" },
  { "program @m(%0: f32[3], %1: i32[2,1], %2: f32[2]) { %3: f32[3] = scatter["
    "window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=fill, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "mode is clip, drop or in_bounds" },
  { "program @m(%0: bool[3], %1: i32[2,1], %2: bool[2]) { %3: bool[3] = "
    "scatter_add[window=(), inserted=(0), start_map=(0), operand_batch=(), "
    "index_batch=(), mode=drop, sorted=false, unique=false] %0, %1, %2 "
    "return %3 }",
    "needs an integer or floating dtype" },
};

static const cxi_prim rows[] = {
  CXI_PRIM_dynamic_slice,    CXI_PRIM_dynamic_update_slice,
  CXI_PRIM_update_slice_add, CXI_PRIM_gather,
  CXI_PRIM_scatter,          CXI_PRIM_scatter_add,
  CXI_PRIM_scatter_mul,      CXI_PRIM_scatter_min,
  CXI_PRIM_scatter_max,
};

static row_group family = { values,        COUNT(values), errors,
                            COUNT(errors), rows,          COUNT(rows) };

/* An update in place of a dying buffer, and one of a buffer still in use. */
static void test_in_place(void **state) {
  (void)state;
  static const row_values cases[] = {
    { "program @m(%0: f32[3]) { %1: f32[3] = add %0, 0.0:f32 %2: f32[1] = "
      "slice[start=(0), limit=(1), strides=(1)] %1 %3: f32[3] = "
      "dynamic_update_slice %1, %2, 2:i32 return %3 }",
      "1 2 3", "1 2 1" },
    { "program @m(%0: f32[3]) { %1: f32[3] = add %0, 0.0:f32 %2: f32[1] = "
      "slice[start=(0), limit=(1), strides=(1)] %1 %3: f32[3] = "
      "dynamic_update_slice %1, %2, 2:i32 return %1, %3 }",
      "1 2 3", "1 2 3; 1 2 1" },
    { "program @m(%0: f32[3]) { %1: f32[3] = add %0, 0.0:f32 %2: f32[3] = "
      "update_slice_add %1, %1, 0:i32 return %2 }",
      "1 2 3", "2 4 6" },
  };
  check_values(cases, COUNT(cases));
}

/* Bytes allocated by the gradient of a loop that adds x[i]^2, and its values. */
static uint64_t gradient_bytes(int n) {
  char text[1024];
  snprintf(
      text, sizeof text,
      "program @body(%%0: f64[%d], %%1: f64[], %%2: i32[]) { %%3: f64[1] = "
      "dynamic_slice[sizes=(1)] %%0, %%2 %%4: f64[] = squeeze[axes=(0)] "
      "%%3 %%5: f64[] = mul %%4, %%4 %%6: f64[] = add %%1, %%5 return %%6 "
      "} program @main(%%0: f64[%d], %%1: f64[]) { %%2: i32[%d] = iota["
      "type=i32, shape=(%d), axis=0] %%3: f64[] = scan[body=@body, "
      "length=%d, reverse=false, unroll=1, n_consts=1, n_carry=1] %%0, "
      "0.0:f64, %%2 %%4: f64[] = mul %%3, %%1 return %%4 }",
      n, n, n, n, n);
  cxi_error error = { 0 };
  const bool wrt[2] = { true, false }, ct[1] = { true };
  uint64_t seed = 5;
  cxi_hold_enter();
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  assert_non_null(p);
  const cxi_program *v = cxi_vjp(p, wrt, ct, &error);
  assert_non_null(v);
  cxi_view in[3], out[2];
  for (uint32_t i = 0; i < 3; i++)
    in[i] = array_random(*cxi_type_aval(v->values[i].type), &seed);
  cxi_buffers_reset();
  assert_true(cxi_reference_run(v, in, NULL, out, &error));
  const uint64_t bytes = cxi_buffers_now().allocated;
  const double scale = array_get(&in[1], 0) * array_get(&in[2], 0);
  for (int i = 0; i < n; i++) {
    const double wanted = 2 * array_get(&in[0], i) * scale;
    assert_true(fabs(array_get(&out[1], i) - wanted) < 1e-12);
  }
  for (int i = 0; i < 3; i++) array_free(&in[i]);
  for (int i = 0; i < 2; i++) array_free(&out[i]);
  cxi_program_release(p);
  cxi_hold_leave();
  return bytes;
}

/* The cotangent of x is added to in place: twice the steps, twice the bytes. */
static void test_loop_gradient(void **state) {
  (void)state;
  const uint64_t once = gradient_bytes(500), twice = gradient_bytes(1000);
  assert_true(twice < 2 * once + once / 10);
}

/* A scatter in clip mode has the derivatives of the one that gets the clipped
 * indices; a place's cotangent is shared out whole (decision 0028). */
static void check_clipped(const char *name) {
  static const int32_t indices[2][6] = { { -3, 9, 1, 2, 4, -1 },
                                         { 0, 3, 1, 2, 3, 0 } };
  char text[512];
  snprintf(
      text, sizeof text,
      "program @main(%%0: f64[4], %%1: i32[6,1], %%2: f64[6]) { %%3: "
      "f64[4] = %s[window=(), inserted=(0), start_map=(0), operand_batch=(), "
      "index_batch=(), mode=clip, sorted=false, unique=false] %%0, %%1, "
      "%%2 return %%3 }",
      name);
  cxi_error error = { 0 };
  const bool wrt[3] = { true, false, true }, ct[1] = { true };
  cxi_hold_enter();
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  assert_non_null(p);
  const cxi_program *v = cxi_vjp(p, wrt, ct, &error);
  assert_non_null(v);
  cxi_view in[4], out[2][3];
  uint64_t seed = 7;
  for (int i = 0; i < 4; i++)
    in[i] = array_random(*cxi_type_aval(v->values[i].type), &seed);
  double *x = in[0].data, *updates = in[2].data;
  x[2] = updates[3]; /* a tie, and one of clipped updates */
  updates[1] = updates[4];
  for (int k = 0; k < 2; k++) {
    memcpy(in[1].data, indices[k], sizeof indices[k]);
    assert_true(cxi_reference_run(v, in, NULL, out[k], &error));
  }
  double given = 0, shared = 0;
  for (int i = 0; i < 4; i++) {
    given += array_get(&in[3], i), shared += array_get(&out[0][1], i);
    assert_true(array_get(&out[0][1], i) == array_get(&out[1][1], i));
  }
  for (int i = 0; i < 6; i++) {
    shared += array_get(&out[0][2], i);
    assert_true(array_get(&out[0][2], i) == array_get(&out[1][2], i));
  }
  assert_true(fabs(given - shared) < 1e-12);
  for (int i = 0; i < 4; i++) array_free(&in[i]);
  for (int i = 0; i < 6; i++) array_free(&out[i / 3][i % 3]);
  cxi_program_release(p);
  cxi_hold_leave();
}
static void test_clipped_gradient(void **state) {
  (void)state;
  check_clipped("scatter_min");
  check_clipped("scatter_max");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(test_row_values, &family),
    cmocka_unit_test_prestate(test_row_errors, &family),
    cmocka_unit_test_prestate(test_row_rules, &family),
    cmocka_unit_test(test_in_place),
    cmocka_unit_test(test_loop_gradient),
    cmocka_unit_test(test_clipped_gradient),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
