/* reference_test.c - the reference executor: values, lifetimes, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/reference/reference.h"
#include "base/alloc.h"
#include "ir/text.h"

static const cxi_program *parse(const char *text) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  if (!p) fail_msg("%s", error.text);
  return p;
}

/* A given f32 array 0, 1, 2, ... of the input's type. */
static cxi_view counting(const cxi_program *p, uint32_t i) {
  const cx_aval *type = cxi_type_aval(p->values[i].type);
  float *x = cxi_buffer_take((size_t)cxi_aval_bytes(type));
  for (int64_t k = 0; k < cxi_dims_count(&type->shape); k++) x[k] = (float)k;
  return cxi_view_dense(*type, x);
}

static float element(const cxi_view *v, int64_t i) {
  return ((const float *)v->data)[i];
}

/* Gives every input; frees the outputs after `check` has seen them. */
static void run(const char *text, void (*check)(const cxi_view *out)) {
  const cxi_program *p = parse(text);
  cxi_view in[4], out[8];
  bool give[4];
  const uint64_t live = cxi_buffers_now().live;
  for (uint32_t i = 0; i < p->n_in; i++) {
    in[i] = counting(p, i);
    give[i] = true;
  }
  cxi_error error = { 0 };
  if (!cxi_reference_run(p, in, give, out, &error)) fail_msg("%s", error.text);
  check(out);
  for (uint32_t i = 0; i < p->n_out; i++) {
    assert_int_equal((uintptr_t)out[i].data % 64, 0);
    cxi_buffer_free(out[i].data);
  }
  assert_int_equal(cxi_buffers_now().live, live);
  cxi_program_release(p);
}

static void check_arithmetic(const cxi_view *out) {
  assert_true(element(&out[0], 2) == 6); /* 2 x + x */
  assert_true(element(&out[1], 2) == 2); /* x itself */
  assert_true(element(&out[2], 0) == 5); /* a literal */
  assert_true(element(&out[3], 2) == 6);
  assert_ptr_not_equal(out[0].data, out[3].data);
}

static void test_outputs(void **state) {
  (void)state;
  run("program @twice(%0: f32[3]) { %1: f32[3] = mul %0, 2.0:f32 return %1 }"
      "program @f(%0: f32[3]) { %1: f32[3] = jit[body=@twice] %0"
      " %2: f32[3] = add %1, %0 return %2, %0, 5.0:f32, %2 }",
      check_arithmetic);
}

static void check_updates(const cxi_view *out) {
  for (int i = 0; i < 1000; i++) assert_true(element(&out[0], i) == 0);
}

/* Each step of a loop that updates one element of 1000 allocates no copy. */
static void test_in_place(void **state) {
  (void)state;
  cxi_buffers_reset();
  const uint64_t before = cxi_buffers_now().allocated;
  run("program @body(%0: i32[], %1: f32[1000], %2: f32[1]) {"
      " %3: f32[1000] = dynamic_update_slice %1, %2, %0"
      " %4: i32[] = add %0, 1:i32 return %4, %3 }"
      "program @main(%0: f32[1000], %1: f32[1000,1]) {"
      " %2: f32[1000,1] = sub %1, %1"
      " %3: i32[], %4: f32[1000] = scan[body=@body, length=1000, reverse=false,"
      " unroll=1, n_consts=0, n_carry=2] 0:i32, %0, %2 return %4 }",
      check_updates);
  assert_true(cxi_buffers_now().allocated - before < 200000);
}

static void check_nothing(const cxi_view *out) {
  (void)out;
}

/* What a scan of so many steps allocates: its body has calls within calls, a
 * loop of its own and a row with a workspace. */
static uint64_t calls_of_steps(int steps) {
  char text[1200];
  snprintf(text, sizeof text,
           "program @twice(%%0: f32[60]) { %%1: f32[60] = add %%0, %%0"
           " return %%1 }"
           "program @inner(%%0: f32[60]) {"
           " %%1: f32[60] = jit[body=@twice] %%0 return %%1 }"
           "program @body(%%0: f32[60]) {"
           " %%1: f32[60] = cumsum[axis=0, reverse=false] %%0"
           " %%2: f32[60] = jit[body=@inner] %%1"
           " %%3: f32[60] = sort[axis=0, n_keys=1, stable=true] %%2"
           " %%4: f32[60] = scan[body=@inner, length=3, reverse=false,"
           " n_consts=0, n_carry=1, unroll=1] %%3"
           " %%5: f32[60] = sub %%4, %%4 return %%5 }"
           "program @main(%%0: f32[60]) {"
           " %%1: f32[60] = scan[body=@body, length=%d, reverse=false,"
           " n_consts=0, n_carry=1, unroll=1] %%0 return %%1 }",
           steps);
  const uint64_t before = cxi_alloc_now().calls;
  run(text, check_nothing);
  return cxi_alloc_now().calls - before;
}

/* The steps of a loop after the first few take nothing from the allocator. */
static void test_steps(void **state) {
  (void)state;
  calls_of_steps(1);
  assert_int_equal(calls_of_steps(300), calls_of_steps(5));
}

/* Calls in calls: 10,000 deep, without recursion. */
static void test_deep_calls(void **state) {
  (void)state;
  enum { DEPTH = 10000 };
  char *text = malloc(DEPTH * 80 + 200), *at = text;
  assert_non_null(text);
  at += sprintf(at,
                "program @p0(%%0: f32[]) { %%1: f32[] = neg %%0 return %%1 }");
  for (int i = 1; i < DEPTH; i++)
    at += sprintf(at,
                  "program @p%d(%%0: f32[]) { %%1: f32[] = jit[body=@p%d] %%0"
                  " return %%1 }",
                  i, i - 1);
  run(text, check_nothing);
  free(text);
}

static const char *const loop =
    "program @cond(%0: i32[], %1: f32[3]) { %2: bool[] = lt %0, 4:i32 return "
    "%2 }"
    "program @body(%0: i32[], %1: f32[3]) { %2: i32[] = add %0, 1:i32"
    " %3: f32[3] = tanh %1 %4: f32[3] = mul %3, %1 return %2, %4 }"
    "program @twice(%0: f32[3]) { %1: f32[3] = add %0, %0 return %1 }"
    "program @main(%0: f32[3], %1: f32[3]) { %2: f32[3] = jit[body=@twice] %0"
    " %3: i32[], %4: f32[3] = while[cond=@cond, body=@body, n_cond_consts=0,"
    " n_body_consts=0] 0:i32, %2 %5: f32[3] = add %4, %1 return %5, %4, %0 }";

/* Every allocation fails once: an error, and nothing is left. */
static void test_failures(void **state) {
  (void)state;
  const cxi_program *p = parse(loop);
  bool done = false;
  for (uint64_t n = 0; !done && n < 1000; n++) {
    const uint64_t live = cxi_buffers_now().live;
    const size_t bytes = cxi_alloc_now().live_bytes;
    cxi_view in[2] = { counting(p, 0), counting(p, 1) }, out[3];
    const bool give[2] = { true, false };
    cxi_error error = { 0 };
    cxi_alloc_fail_after(n);
    done = cxi_reference_run(p, in, give, out, &error);
    cxi_alloc_fail_after(UINT64_MAX);
    if (!done) assert_int_equal(error.code, CX_EMEMORY);
    for (int i = 0; done && i < 3; i++) cxi_buffer_free(out[i].data);
    cxi_buffer_free(in[1].data);
    assert_int_equal(cxi_buffers_now().live, live);
    if (!done) assert_int_equal(cxi_alloc_now().live_bytes, bytes);
  }
  assert_true(done);
  cxi_program_release(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_outputs),  cmocka_unit_test(test_in_place),
    cmocka_unit_test(test_steps),    cmocka_unit_test(test_deep_calls),
    cmocka_unit_test(test_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
