/* tree_ops.c - the public operations that map over trees. */
#include "calx/array.h"
#include "calx/elementwise.h"
#include "calx/reduce.h"
#include "calx/shape.h"
#include "calx/special.h"
#include "calx/tree.h"
#include "calx/transform.h"
#include "ops/ops.h"
#include "trace/tree_map.h"

static bool any_tree(int n, const cx *operands) {
  for (int i = 0; i < n; i++)
    if (!cxi_is_number(operands[i]) &&
        cxi_item_peek(operands[i]).kind == CXI_ITEM_TREE)
      return true;
  return false;
}

/* -- elementwise ---------------------------------------------------------- */

static cx unary_leaf(const cx *leaves, void *op) {
  return cxi_op_unary(*(const cx_op *)op, leaves[0]);
}

cx cx_unary_(cx_op op, cx a, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cx result = any_tree(1, &a) ? cxi_tree_map(cxi_op_name(op), false, 1,
                                                   &a, unary_leaf, &op)
                                    : cxi_op_unary(op, a);
  return cxi_leave(before, result);
}

typedef struct fold {
  cx_op op;
  int n;
} fold;

static cx fold_leaf(const cx *leaves, void *user) {
  const fold *f = user;
  return cxi_op_fold(f->op, f->n, leaves);
}

cx cx_fold_(cx_op op, int n, const cx *operands, const char *at) {
  const cxi_name before = cxi_enter(at);
  fold f = { op, n };
  cx result;
  if (cxi_list_given(cxi_op_name(op), n, operands, &result))
    result = any_tree(n, operands) ? cxi_tree_map(cxi_op_name(op), false, n,
                                                  operands, fold_leaf, &f)
                                   : cxi_op_fold(op, n, operands);
  return cxi_leave(before, result);
}

static cx of_three(const char *name, const char *needed, int n,
                   const cx *operands, cxi_leaf_op *leaf, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cx result =
      n == 3 && operands
          ? cxi_tree_map(name, false, 3, operands, leaf, NULL)
          : cxi_reportf(CX_ETREE, "%s: %s are needed", name, needed);
  return cxi_leave(before, result);
}

static cx where_leaf(const cx *leaves, void *unused) {
  (void)unused;
  return cxi_op_where(leaves[0], leaves[1], leaves[2]);
}

cx cx_where_(int n, const cx *operands, const char *at) {
  return of_three("where", "condition, a, b", n, operands, where_leaf, at);
}

static cx clip_leaf(const cx *leaves, void *unused) {
  (void)unused;
  return cxi_op_clip(leaves[0], leaves[1], leaves[2]);
}

cx cx_clip_(int n, const cx *operands, const char *at) {
  return of_three("clip", "a, lo, hi", n, operands, clip_leaf, at);
}

static cx betainc_leaf(const cx *leaves, void *unused) {
  (void)unused;
  return cxi_op_betainc(leaves[0], leaves[1], leaves[2]);
}

cx cx_betainc_(int n, const cx *operands, const char *at) {
  return of_three("betainc", "a, b, x", n, operands, betainc_leaf, at);
}

static cx cast_leaf(const cx *leaves, void *type) {
  return cxi_op_cast(leaves[0], *(const cx_dtype *)type);
}

cx cx_cast_(cx tree, cx_dtype type, const char *at) {
  const cxi_name before = cxi_enter(at);
  return cxi_leave(before,
                   cxi_tree_map("cast", false, 1, &tree, cast_leaf, &type));
}

typedef struct precision {
  int exponent_bits, mantissa_bits;
} precision;

static cx precision_leaf(const cx *leaves, void *user) {
  const precision *p = user;
  return cxi_op_reduce_precision(leaves[0], p->exponent_bits, p->mantissa_bits);
}

cx cx_reduce_precision_(cx tree, int exponent_bits, int mantissa_bits,
                        const char *at) {
  const cxi_name before = cxi_enter(at);
  precision p = { exponent_bits, mantissa_bits };
  return cxi_leave(before, cxi_tree_map("reduce_precision", false, 1, &tree,
                                        precision_leaf, &p));
}

/* -- of one tree ---------------------------------------------------------- */

static cx full_like_leaf(const cx *leaves, void *value) {
  return cxi_op_full_like(leaves[0], *(const cx *)value);
}

cx cx_full_like_(cx tree, cx value, const char *at) {
  const cxi_name before = cxi_enter(at);
  return cxi_leave(before, cxi_tree_map("full_like", false, 1, &tree,
                                        full_like_leaf, &value));
}

static cx stop_leaf(const cx *leaves, void *unused) {
  (void)unused;
  return cxi_op_stop_gradient(leaves[0]);
}

cx cx_stop_gradient_(cx tree, const char *at) {
  const cxi_name before = cxi_enter(at);
  return cxi_leave(
      before, cxi_tree_map("stop_gradient", false, 1, &tree, stop_leaf, NULL));
}

static cx copy_leaf(const cx *leaves, void *unused) {
  (void)unused;
  cx a = leaves[0], poison;
  return cxi_operand("copy", &a, &poison) ? cxi_unary(CXI_PRIM_copy, a)
                                          : poison;
}

cx cx_copy_(cx tree, const char *at) {
  const cxi_name before = cxi_enter(at);
  return cxi_leave(before,
                   cxi_tree_map("copy", false, 1, &tree, copy_leaf, NULL));
}

/* One equation for all leaves. */
static cx barrier(cx tree) {
  const cxi_item item = cxi_item_of(tree);
  if (item.kind == CXI_ITEM_POISON) return item.as.handle;
  const uint32_t n = cxi_item_leaves(item);
  if (n == 0) return tree;
  const cxi_mark mark = cxi_scratch_mark();
  cx *leaves = cxi_scratch(2 * (size_t)n * sizeof *leaves), result;
  bool ok = leaves != NULL;
  for (uint32_t i = 0; ok && i < n; i++) {
    leaves[i] = cx_leaf(tree, (int)i);
    ok = cxi_operand("optimization_barrier", &leaves[i], &result);
  }
  if (ok) {
    cxi_optimization_barrier(n, leaves, leaves + n);
    result = cx_unflatten(tree, (int)n, leaves + n);
  } else if (!leaves) {
    result = cxi_report_memory();
  }
  cxi_scratch_reset(mark);
  return result;
}

cx cx_optimization_barrier_(cx tree, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cx result = cxi_context_need() ? barrier(tree) : cxi_poison_last();
  return cxi_leave(before, result);
}

static cx name_leaf(const cx *leaves, void *name) {
  return cxi_op_checkpoint_name(leaves[0], *(const char *const *)name);
}

cx cx_checkpoint_name_(cx tree, const char *name, const char *at) {
  const cxi_name before = cxi_enter(at);
  if (!name)
    return cxi_leave(before, cxi_report(CX_EUSER, "checkpoint_name: no name"));
  return cxi_leave(before, cxi_tree_map("checkpoint_name", false, 1, &tree,
                                        name_leaf, &name));
}

static cx cast_floating_leaf(const cx *leaves, void *type) {
  return cxi_dtype_is_float(cxi_dtype_at(leaves[0]))
             ? cxi_op_cast(leaves[0], *(const cx_dtype *)type)
             : leaves[0];
}

cx cx_tree_cast_(cx tree, cx_dtype type, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  return cxi_tree_map("tree_cast", false, 1, &tree, cast_floating_leaf, &type);
}

/* -- with functions ------------------------------------------------------- */

typedef struct apply {
  cx_fn f;
  int n;
} apply;

static cx apply_leaf(const cx *leaves, void *user) {
  const apply *a = user;
  return cx_call_(a->f, a->n, leaves, NULL);
}

cx cx_tree_map_(cx_fn f, int n, const cx *trees, const char *at) {
  const cxi_name before = cxi_enter(at);
  apply a = { f, n };
  cx result;
  if (cxi_list_given("tree_map", n, trees, &result))
    result = cxi_tree_map("tree_map", true, n, trees, apply_leaf, &a);
  return cxi_leave(before, result);
}

cx cx_tree_reduce_(cx_fn f, cx tree, const char *at) {
  const cxi_name before = cxi_enter(at);
  const int n = cx_leaf_count(tree);
  cx result = cxi_is_poison(tree) ? tree : cx_none();
  if (n > 0) result = cx_leaf_(tree, 0, NULL);
  for (int i = 1; i < n && !cxi_is_poison(result); i++) {
    const cx two[2] = { result, cx_leaf_(tree, i, NULL) };
    result = cx_call_(f, 2, two, NULL);
  }
  return cxi_leave(before, result);
}

static cx stack_leaf(const cx *leaves, void *n) {
  return cx_stack_(0, *(const int *)n, leaves, NULL);
}

cx cx_tree_stack_(cx items, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  int n = cx_len(items);
  if (cxi_is_poison(items)) return items;
  if (n == 0) return cxi_report(CX_ETREE, "tree_stack: a tree of items");
  const cxi_mark mark = cxi_scratch_mark();
  cx *trees = cxi_scratch((size_t)n * sizeof *trees);
  cx result = { 0, 0 };
  if (!trees) result = cxi_report_memory();
  for (int i = 0; trees && i < n; i++) trees[i] = cx_nth_(items, i, NULL);
  if (trees)
    result = cxi_tree_map("tree_stack", true, n, trees, stack_leaf, &n);
  cxi_scratch_reset(mark);
  return result;
}

/* The root of the sum of squares over all leaves, in f32 or wider. */
cx cx_global_norm_(cx tree, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  const int n = cx_leaf_count(tree);
  cx sum = cxi_is_poison(tree) ? tree : (cx){ 0, 0 };
  for (int i = 0; i < n && !cxi_is_poison(sum); i++) {
    cx leaf = cx_leaf_(tree, i, NULL);
    const cx_dtype type = cxi_dtype_at(leaf);
    if (!cxi_dtype_is_float(type)) continue;
    if (type == CX_F16 || type == CX_BF16) leaf = cxi_op_cast(leaf, CX_F32);
    const cx square = cx_reduce_(CX_RED_SUM, cxi_op_unary(CX_OP_SQUARE, leaf),
                                 CX_ALL_AXES, CX_OPT(cx_reduce_opt, ), NULL);
    const cx two[2] = { sum, square };
    sum = sum.index ? cxi_op_fold(CX_OP_ADD, 2, two) : square;
  }
  if (cxi_is_poison(sum)) return sum;
  if (!sum.index) return cxi_report(CX_ETREE, "global_norm: no floating leaf");
  return cxi_op_unary(CX_OP_SQRT, sum);
}
