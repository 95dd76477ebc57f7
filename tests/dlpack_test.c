/* dlpack_test.c - tensors of other libraries in, arrays out. */
#include <stdlib.h>

#include "base/alloc.h"
#include "runtime/dlpack.h"
#include "support/calls.h"

typedef struct DLManagedTensorVersioned managed;

static int deleted;

static void count_deletion(managed *self) {
  (void)self;
  deleted++;
}

/* A tensor of f32[2,3] over `data`, which the caller may change. */
static managed tensor_of(void *data, int64_t *shape) {
  managed t = { .version = { 1, 0 }, .deleter = count_deletion };
  t.tensor.data = data;
  t.tensor.device.type = CXI_DL_CPU;
  t.tensor.ndim = 2;
  t.tensor.dtype.code = CXI_DL_FLOAT;
  t.tensor.dtype.bits = 32;
  t.tensor.dtype.lanes = 1;
  t.tensor.shape = shape;
  deleted = 0;
  return t;
}

static _Alignas(64) float numbers[32] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };

static void test_in_without_a_copy(void **state) {
  (void)state;
  int64_t shape[] = { 2, 3 };
  managed t = tensor_of(numbers, shape);
  {
    CX_SCOPE;
    cx a = cx_from_dlpack(&t);
    assert_true(cx_data(a) == numbers);
    assert_true(cx_item(cx_sum(a)) == 15);
    assert_int_equal(deleted, 0);
  }
  assert_int_equal(deleted, 1);
}

static void test_in_with_a_copy(void **state) {
  (void)state;
  CX_SCOPE;
  int64_t shape[] = { 2, 3 }, turned[] = { 1, 2 }, back[] = { -3, -1 };
  managed t = tensor_of(numbers, shape);
  t.tensor.strides = turned;
  cx a = cx_from_dlpack(&t);
  assert_int_equal(deleted, 1);
  float x[6];
  assert_true(cx_read(a, x, 6));
  const float wanted[] = { 0, 2, 4, 1, 3, 5 };
  assert_memory_equal(x, wanted, sizeof x);

  t = tensor_of(numbers, shape); /* from its last element */
  t.tensor.strides = back;
  t.tensor.byte_offset = 5 * sizeof(float);
  a = cx_from_dlpack(&t);
  assert_true(cx_read(a, x, 6));
  const float reversed[] = { 5, 4, 3, 2, 1, 0 };
  assert_memory_equal(x, reversed, sizeof x);

  t = tensor_of(numbers + 1, shape); /* not aligned */
  a = cx_from_dlpack(&t);
  assert_int_equal(deleted, 1);
  assert_true(cx_item(cx_sum(a)) == 21);

  uint8_t bools[] = { 0, 7, 1, 0, 255, 0 };
  t = tensor_of(bools, shape);
  t.tensor.dtype.code = CXI_DL_BOOL;
  t.tensor.dtype.bits = 8;
  a = cx_from_dlpack(&t);
  assert_true(cx_type(a) == CX_BOOL && cx_item(cx_sum(a)) == 3);

  int64_t empty[] = { 0, 3 };
  t = tensor_of(NULL, empty);
  a = cx_from_dlpack(&t);
  assert_int_equal(deleted, 1);
  assert_true(cx_ok() && cx_size(a) == 0 && cx_dim(a, 1) == 3);
}

CX_DEF(plus_captured, x) {
  int64_t shape[] = { 2, 3 };
  managed t = tensor_of(numbers, shape);
  return cx_add(x, cx_from_dlpack(&t));
}

static void test_in_a_trace(void **state) {
  (void)state;
  CX_SCOPE;
  cx y = cx_call(cx_jit(CX_FN(plus_captured)), cx_ones(CX_F32, 2, 3));
  assert_true(cx_item(cx_sum(y)) == 21);
  assert_int_equal(deleted, 1);
}

static void refused(managed t, cx_code code, const char *part) {
  deleted = 0;
  cx a = cx_from_dlpack(&t);
  (void)a;
  assert_error(code, part);
  assert_int_equal(deleted, 1);
}

static void test_wrong_tensors(void **state) {
  (void)state;
  CX_SCOPE;
  int64_t shape[] = { 2, 3 }, wrong[] = { 2, -3 },
          huge[] = { INT64_MAX, INT64_MAX };
  const managed good = tensor_of(numbers, shape);
  managed t = good;
  t.version.major = 2;
  refused(t, CX_EUSER, "version 2.0");
  t = good;
  t.tensor.device.type = 2;
  refused(t, CX_EDEVICE, "device of type 2");
  t = good;
  t.tensor.dtype.lanes = 4;
  refused(t, CX_EDTYPE, "4 lanes");
  t = good;
  t.tensor.dtype.code = 5;
  t.tensor.dtype.bits = 64;
  refused(t, CX_EDTYPE, "code 5, 64 bits");
  t = good;
  t.tensor.ndim = 9;
  refused(t, CX_ESHAPE, "9 axes");
  t = good;
  t.tensor.ndim = -1;
  refused(t, CX_ESHAPE, "-1 axes");
  t = good;
  t.tensor.shape = wrong;
  refused(t, CX_ESHAPE, "[2,-3]");
  t = good;
  t.tensor.shape = huge;
  refused(t, CX_ESHAPE, "is no shape");
  t = good;
  t.tensor.data = NULL;
  refused(t, CX_EUSER, "from_dlpack: the tensor's data is NULL");
  cx none = cx_from_dlpack(NULL);
  (void)none;
  assert_error(CX_EUSER, "from_dlpack: NULL");
}

/* Deleted once, whichever allocation fails: also that of the handle's place,
 * when the array already stands. */
static void test_in_with_short_memory(void **state) {
  (void)state;
  enum { N = 300 };
  static managed tensors[N];
  int64_t shape[] = { 2, 3 };
  int failed = 0;
  {
    CX_SCOPE;
    for (int i = 0; i < N; i++) {
      tensors[i] = tensor_of(numbers, shape);
      cxi_alloc_fail_after((uint64_t)i % 2);
      cx a = cx_from_dlpack(&tensors[i]);
      (void)a;
      cxi_alloc_fail_after(UINT64_MAX);
      const bool error = cx_error(NULL) != CX_OK;
      assert_int_equal(deleted, error);
      failed += error;
    }
    assert_true(failed > 0 && failed < N);
    deleted = 0;
  }
  assert_int_equal(deleted, N - failed);
}

static void test_out(void **state) {
  (void)state;
  managed *m;
  {
    CX_SCOPE;
    cx a = cx_add(cx_reshape(cx_arange(0, 6, 1, CX_F32), 2, 3), 1);
    m = cx_to_dlpack(a);
    assert_non_null(m);
    assert_true(m->tensor.data == cx_data(a));
    cx f = cx_call(cx_jit(CX_OP(neg), .donate = CX_ARGS(0)), a);
    (void)f;
    assert_error(CX_ELIFETIME, "cx_data");
  }
  /* The scope is gone, the elements are not. */
  assert_int_equal(m->tensor.ndim, 2);
  assert_true(m->tensor.shape[1] == 3 && m->tensor.strides[0] == 3);
  assert_true(m->flags & CXI_DL_READ_ONLY);
  assert_true(((float *)m->tensor.data)[5] == 6);

  cx back = cx_from_dlpack(m); /* and in again */
  assert_true(cx_item(cx_sum(back)) == 21);

  cx_dtype all[] = { CX_BOOL, CX_I8,  CX_U8,  CX_I16,  CX_U16, CX_I32, CX_U32,
                     CX_I64,  CX_U64, CX_F16, CX_BF16, CX_F32, CX_F64 };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    CX_SCOPE;
    cx a = cx_ones(all[i], 3);
    cx b = cx_from_dlpack(cx_to_dlpack(a));
    assert_true(cx_type(b) == all[i]);
    assert_same_bits(a, b);
  }
  managed *number = cx_to_dlpack(cx_lit_f(2.5));
  assert_true(number && number->tensor.ndim == 0 &&
              *(float *)number->tensor.data == 2.5f);
  number->deleter(number);
  assert_null(cx_to_dlpack(cx_key(1)));
  assert_error(CX_EDTYPE, "key");
  assert_null(cx_to_dlpack(cx_tuple(1, 2)));
  assert_error(CX_ETREE, "to_dlpack");
}

static void test_out_after_the_context(void **state) {
  (void)state;
  cx_ctx *mine = cx_use(NULL), *other = cx_open("cpu", .threads = 1);
  managed *m = cx_to_dlpack(cx_add(cx_ones(CX_F32, 4), 1));
  cx_close(other);
  cx_use(mine);
  assert_true(((float *)m->tensor.data)[3] == 2);
  m->deleter(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_in_without_a_copy),
    cmocka_unit_test(test_in_with_a_copy),
    cmocka_unit_test(test_in_a_trace),
    cmocka_unit_test(test_wrong_tensors),
    cmocka_unit_test(test_in_with_short_memory),
    cmocka_unit_test(test_out),
    cmocka_unit_test(test_out_after_the_context),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
