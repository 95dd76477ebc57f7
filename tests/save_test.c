/* save_test.c - trees written and read again through the public API. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/calls.h"

static char folder[] = "/tmp/calx-save-XXXXXX";
static char path[64];

static int make_folder(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/a.safetensors", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

CX_DEF(halve, p) {
  return cx_mul(p, 0.5);
}

static void test_tree_comes_back(void **state) {
  (void)state;
  cx tree = cx_dict("a", cx_dict("w", cx_arange(0, 6, 1, CX_F32), "b", 2.5),
                    "n", cx_full(-3, CX_I32, 2, 2),
                    "empty", cx_zeros(CX_F64, 0, 3));
  assert_true(cx_save(path, tree));
  cx back = cx_load(path);
  assert_true(cx_ok());
  assert_int_equal(cx_leaf_count(back), 4);
  assert_same_bits(cx_get(back, "a.w"), cx_get(tree, "a.w"));
  assert_true(cx_item(cx_get(back, "a.b")) == 2.5);
  assert_same_bits(cx_get(back, "n"), cx_get(tree, "n"));
  assert_int_equal(cx_size(cx_get(back, "empty")), 0);
}

static void test_every_dtype_comes_back(void **state) {
  (void)state;
  cx tree = cx_dict("none", cx_zeros(CX_BF16, 0));
  for (cx_dtype t = CX_BOOL; t <= CX_F64; t++) {
    cx x = cx_cast(cx_array(double, 0, 1, -1.5, 1e6, NAN, INFINITY), t);
    tree = cx_put(tree, x, "d%d", (int)t);
  }
  assert_true(cx_save(path, tree));
  cx back = cx_load(path);
  assert_int_equal(cx_leaf_count(back), cx_leaf_count(tree));
  for (int i = 0; i < cx_leaf_count(tree); i++)
    assert_same_bits(cx_get(back, "%s", cx_leaf_path(tree, i)),
                     cx_leaf(tree, i));
  assert_false(cx_save(path, cx_dict("k", cx_key(1))));
  assert_error(CX_EDTYPE, "key");
}

/* A training loop that writes its parameters and donates them each step. */
static void test_saved_then_donated(void **state) {
  (void)state;
  cx_fn f = cx_jit(CX_FN(halve), .donate = CX_ARGS(0));
  cx p = cx_keep(cx_add(cx_ones(CX_F32, 4), 0));
  for (int i = 0; i < 3; i++) {
    CX_SCOPE;
    assert_true(cx_save(path, p));
    cx_swap(&p, cx_call(f, p));
    assert_true(cx_ok());
  }
  assert_true(cx_save(path, p));
  assert_true(cx_item(cx_sum(cx_get(cx_load(path), "array"))) == 0.5);
  cx_drop(p);
}

static void test_errors(void **state) {
  (void)state;
  assert_true(cx_save(path, cx_ones(CX_F32, 4)));
  cx p = cx_add(cx_ones(CX_F32, 4), 0);
  cx_fn f = cx_jit(CX_FN(halve), .donate = CX_ARGS(0));
  cx q = cx_call(f, p);
  assert_false(cx_save(path, cx_tuple(q, p)));
  assert_error(CX_ELIFETIME, "was donated to halve");
  assert_false(cx_save("/nowhere/at/all.safetensors", q));
  assert_error(CX_EIO, "/nowhere/at/all.safetensors");
  assert_false(cx_save("a.unknown", q));
  assert_int_not_equal(cx_error(NULL), CX_OK);   /* the suffix decides */
  /* The file is as it was. */
  assert_true(cx_item(cx_sum(cx_get(cx_load(path), "array"))) == 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_tree_comes_back, setup, teardown),
    cmocka_unit_test_setup_teardown(test_every_dtype_comes_back, setup,
                                    teardown),
    cmocka_unit_test_setup_teardown(test_saved_then_donated, setup, teardown),
    cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
