/* tree_test.c - tuples, dicts, paths, described structs, maps over leaves. */
#include "support/calls.h"

static double value(cx a) {
  return cx_item(a);
}

static void entries_stand_in_order(void **state) {
  (void)state;
  CX_SCOPE;
  cx d = cx_dict("b", 2, "a", 1, "10", 5, "2", 4);
  assert_string_equal(cx_leaf_path(d, 0), "2");
  assert_string_equal(cx_leaf_path(d, 1), "10");
  assert_string_equal(cx_leaf_path(d, 2), "a");
  assert_string_equal(cx_leaf_path(d, 3), "b");
  assert_int_equal(cx_item_int(cx_nth(d, -1)), 2);
  assert_string_equal(cx_show(d), "{2: i32[], 10: i32[], a: i32[], b: i32[]}");
  assert_good();
}

static void numbers_become_arrays(void **state) {
  (void)state;
  CX_SCOPE;
  const bool yes = true;
  cx t = cx_tuple(1, 2.5, yes, (int64_t)1 << 40, UINT64_MAX);
  assert_string_equal(cx_show(t), "(i32[], f32[], bool[], i64[], u64[])");
  assert_true(cx_item_int(cx_nth(t, 3)) == (int64_t)1 << 40);
  assert_good();
}

static void paths_lead_to_subtrees(void **state) {
  (void)state;
  CX_SCOPE;
  cx p = cx_none();
  for (int i = 0; i < 12; i++) {
    p = cx_put(p, cx_scalar(i, CX_F32), "layers.%d.weight", i);
    p = cx_put(p, cx_scalar(-i, CX_F32), "layers.%d.bias", i);
  }
  assert_int_equal(cx_leaf_count(p), 24);
  assert_int_equal(cx_len(cx_get(p, "layers")), 12);
  assert_true(value(cx_get(p, "layers.%d.weight", 11)) == 11);
  assert_string_equal(cx_leaf_path(p, 5), "layers.2.weight");
  assert_true(cx_has(p, "layers.3"));
  assert_false(cx_has(p, "layers.12"));
  assert_int_equal(cx_len(cx_get(p, "layers.3")), 2);
  cx q = cx_put(p, 7.0, "layers.3.weight");
  assert_true(value(cx_get(q, "layers.3.weight")) == 7);
  assert_true(value(cx_get(p, "layers.3.weight")) == 3);
  cx t = cx_put(cx_tuple(1, cx_tuple(2, 3)), 9, "1.0");
  assert_int_equal(cx_item_int(cx_get(t, "1.0")), 9);
  assert_int_equal(cx_item_int(cx_get(t, "1.1")), 3);
  assert_good();
}

static void stacking_follows_the_numbers(void **state) {
  (void)state;
  CX_SCOPE;
  cx p = cx_none();
  for (int i = 11; i >= 0; i--)
    p = cx_put(p, cx_dict("w", cx_scalar(i, CX_F32)), "%d", i);
  cx s = cx_tree_stack(p);
  float w[12];
  assert_true(cx_read(cx_get(s, "w"), w, 12));
  for (int i = 0; i < 12; i++) assert_true(w[i] == (float)i);
  assert_good();
}

static void unpack_and_unflatten(void **state) {
  (void)state;
  CX_SCOPE;
  cx a, b, t = cx_tuple(1, cx_dict("x", 2, "y", 3));
  cx_unpack(t, &a, &b);
  assert_int_equal(cx_item_int(a), 1);
  assert_int_equal(cx_len(b), 2);
  cx leaves[] = { cx_leaf(t, 2), cx_leaf(t, 1), cx_leaf(t, 0) };
  cx u = cx_unflatten(t, 3, leaves);
  assert_int_equal(cx_item_int(cx_get(u, "1.x")), 2);
  assert_int_equal(cx_item_int(cx_get(u, "0")), 3);
  assert_good();
}

static void wrong_trees_are_errors(void **state) {
  (void)state;
  CX_SCOPE;
  cx p = cx_dict("fc1", cx_dict("weight", 1, "bias", 2), "fc2",
                 cx_dict("weight", 3, "bias", 4), "out",
                 cx_dict("weight", 5, "bias", 6));
  assert_int_equal(cx_size(cx_get(p, "fc2.bias_typo")), 0);
  assert_error(CX_ETREE, "no parameter named \"fc2.bias_typo\" (have 6, nearest"
                         " \"fc2.bias\")");
  (void)cx_dim(cx_nth(p, 3), 0);
  assert_error(CX_EINDEX, "nth: item 3 of a tree of 3");
  (void)cx_size(cx_dict("a", 1, "a", 2));
  assert_error(CX_ETREE, "dict: the key \"a\" stands twice");
  (void)cx_size(cx_dict("a.b", 1));
  assert_error(CX_ETREE, "\"a.b\" is no key");
  cx x, y;
  cx_unpack(p, &x, &y);
  assert_error(CX_ETREE, "unpack: a tree of 3 into 2");
  (void)cx_size(cx_put(p, 1, "fc1.weight.x"));
  assert_error(CX_ETREE, "put: \"fc1.weight.x\" leads through an array");
  (void)cx_size(cx_add(p, cx_dict("fc1", 1)));
  assert_error(CX_ETREE, "add: the trees differ");
  (void)cx_size(cx_unflatten(p, 0, NULL));
  assert_error(CX_ETREE, "unflatten: 0 leaves for a tree of 6");
  (void)cx_size(cx_leaf(p, 6));
  assert_error(CX_EINDEX, "leaf: 6 of a tree with 6 leaves");
}

static void a_tree_has_a_deepest_level(void **state) {
  (void)state;
  CX_SCOPE;
  cx t = cx_scalar(1, CX_F32);
  for (int i = 0; i < 600 && cx_ok(); i++) t = cx_tuple(t);
  assert_error(CX_ETREE, "a tree deeper than 512 levels");
}

static void many_leaves(void **state) {
  (void)state;
  CX_SCOPE;
  enum { N = 10000 };
  cx p = cx_none(), one = cx_ones(CX_F32, 1), earlier = p;
  for (int i = 0; i < N; i++) {
    p = cx_put(p, one, "k%d", (i * 7919) % N);
    if (i == 4999) earlier = p;
  }
  assert_int_equal(cx_leaf_count(p), N);
  assert_int_equal(cx_leaf_count(earlier), 5000);
  assert_int_equal(cx_leaf_count(cx_add(p, p)), N);
  assert_good();
}

/* Large dicts are merged late; every version stays what it was. */
static void versions_of_a_large_dict(void **state) {
  (void)state;
  CX_SCOPE;
  enum { N = 300 };
  cx version[N], p = cx_none();
  for (int i = 0; i < N; i++) {
    p = cx_put(p, i, "k%d", i);
    if (i >= 100) p = cx_put(p, -i, "k%d", i - 100); /* another value */
    if (i == 200) assert_true(cx_has(p, "k200"));
    if (i >= 100 && i % 7 == 0) p = cx_put(p, i, "sub.%d", i);
    version[i] = p;
  }
  for (int i = 0; i < N; i += 13) {
    const int subs = i < 100 ? 0 : i / 7 - 14;
    assert_int_equal(cx_leaf_count(version[i]), i + 1 + subs);
    assert_int_equal(cx_item_int(cx_get(version[i], "k%d", i)), i);
    if (i >= 100)
      assert_int_equal(cx_item_int(cx_get(version[i], "k%d", i - 100)), -i);
    if (i + 1 < N) assert_false(cx_has(version[i], "k%d", i + 1));
  }
  cx kept = cx_keep(cx_put(p, 1, "last"));
  assert_int_equal(cx_item_int(cx_get(kept, "last")), 1);
  assert_string_equal(cx_leaf_path(kept, 0), "k0");
  cx_drop(kept);
  assert_good();
}

CX_STRUCT(linear, (cx, weight), (cx, bias));
CX_STRUCT(model, (linear, enc), (cx, scales, [2]), (linear, dec));

static void structs_are_trees(void **state) {
  (void)state;
  CX_SCOPE;
  cx one = cx_ones(CX_F32, 2), two = cx_zeros(CX_F32, 3);
  cx tree = cx_pack(model, .enc = { one, two }, .scales = { one, two },
                    .dec = { two, one });
  assert_string_equal(cx_leaf_path(tree, 0), "dec.bias");
  assert_string_equal(cx_leaf_path(tree, 4), "scales.0");
  model m = cx_as(model, tree);
  assert_int_equal(cx_dim(m.enc.weight, 0), 2);
  assert_int_equal(cx_dim(m.scales[1], 0), 3);
  assert_int_equal(cx_dim(m.dec.weight, 0), 3);
  assert_good();
  m = cx_as(model, cx_dict("enc", cx_dict("weight", 1, "bais", 2), "scales",
                           cx_tuple(1, 2), "dec", cx_dict("weight", 1)));
  assert_error(CX_ETREE, "as(model): \"enc.bais\" is no field of linear");
  assert_int_equal(cx_size(m.dec.bias), 0);
  m = cx_as(model, cx_dict("enc", cx_dict("weight", 1, "bias", 2), "scales",
                           cx_tuple(1, 2), "dec", cx_dict("weight", 1)));
  assert_error(CX_ETREE, "as(model): the tree has no \"dec.bias\"");
  m = cx_as(model, cx_dict("enc", 1, "scales", cx_tuple(1, 2), "dec", 1));
  assert_error(CX_ETREE, "as(model): \"enc\" is no dict");
}

CX_DEF(shifted, a, b) {
  return cx_add(a, cx_mul(2, b));
}

static void functions_map_over_leaves(void **state) {
  (void)state;
  CX_SCOPE;
  cx p = cx_dict("a", 1.0, "b", cx_tuple(2.0, cx_none()));
  cx q = cx_tree_map(CX_FN(shifted), p, p);
  assert_true(value(cx_get(q, "b.0")) == 6);
  assert_true(cx_is_none(cx_get(q, "b.1")));
  assert_true(value(cx_tree_reduce(CX_OP(add), q)) == 9);
  assert_true(value(cx_global_norm(cx_tuple(3.0, 4.0))) == 5);
  cx c = cx_tree_cast(cx_tuple(1.0, 1), CX_BF16);
  assert_string_equal(cx_show(c), "(bf16[], i32[])");
  cx s = cx_sub(p, cx_mul(0.5, p));
  assert_true(value(cx_get(s, "a")) == 0.5);
  cx w = cx_where(cx_gt(p, 1.5), p, 0.0);
  assert_true(value(cx_get(w, "a")) == 0 && value(cx_get(w, "b.0")) == 2);
  assert_string_equal(cx_show(cx_spec_like(p)), cx_show(p));
  assert_good();
}

static void nones_are_empty(void **state) {
  (void)state;
  CX_SCOPE;
  assert_true(cx_is_none(cx_none()));
  assert_int_equal(cx_leaf_count(cx_none()), 0);
  assert_int_equal(cx_len(cx_tuple(cx_none(), 1)), 2);
  assert_int_equal(cx_leaf_count(cx_tuple(cx_none(), 1)), 1);
  assert_string_equal(cx_show(cx_tuple(cx_none(), 1)), "(none, i32[])");
  (void)cx_size(cx_tuple((cx){ 0 }));
  assert_error(CX_ETREE, "tuple: an item is not given");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(entries_stand_in_order),
    cmocka_unit_test(numbers_become_arrays),
    cmocka_unit_test(paths_lead_to_subtrees),
    cmocka_unit_test(stacking_follows_the_numbers),
    cmocka_unit_test(unpack_and_unflatten),
    cmocka_unit_test(wrong_trees_are_errors),
    cmocka_unit_test(a_tree_has_a_deepest_level),
    cmocka_unit_test(many_leaves),
    cmocka_unit_test(versions_of_a_large_dict),
    cmocka_unit_test(structs_are_trees),
    cmocka_unit_test(functions_map_over_leaves),
    cmocka_unit_test(nones_are_empty),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
