/* joined.c - reductions and prefixes by functions, over trees. */
#include "calx/control.h"
#include "calx/tree.h"
#include "ops/axes.h"
#include "ops/window.h"
#include "trace/body.h"

/* -- reduce ---------------------------------------------------------------- */

/* The leaves of xs and of starts, and the types of one element. */
typedef struct operands {
  uint32_t n;
  cx *leaves; /* xs, starts */
  cxi_sig each;
} operands;

static bool enter(const char *op, operands *o, cx xs, cx starts,
                  cx *out_poison) {
  const cxi_item x = cxi_number_strong(cxi_item_of(xs));
  const cxi_item start = cxi_number_strong(cxi_item_of(starts));
  if (x.kind == CXI_ITEM_POISON) return *out_poison = x.as.handle, false;
  if (start.kind == CXI_ITEM_POISON)
    return *out_poison = start.as.handle, false;
  const cxi_sig sig = cxi_sig_of(x);
  o->n = cxi_item_leaves(x);
  if (o->n == 0 || cxi_item_leaves(start) != o->n) {
    *out_poison = cxi_reportf(CX_ETREE,
                              "%s: %u arrays, %u starts: needs one for "
                              "each, and at least one",
                              op, o->n, cxi_item_leaves(start));
    return false;
  }
  o->leaves = cxi_scratch(2 * (size_t)o->n * sizeof *o->leaves);
  cxi_type *types = cxi_scratch(o->n * sizeof *types);
  if (!sig || !o->leaves || !types)
    return *out_poison = cxi_report_memory(), false;
  cxi_sig_types(sig, types);
  cxi_leaf_operands(x, o->leaves);
  cxi_leaf_operands(start, o->leaves + o->n);
  for (uint32_t i = 0; i < o->n; i++) {
    const cx_dtype type = cxi_type_dtype(types[i]);
    cx *leaf = &o->leaves[o->n + i];
    *leaf = cxi_convert(*leaf, type);
    if (cxi_is_poison(*leaf)) return *out_poison = *leaf, false;
    types[i] = cxi_type_scalar(type);
  }
  o->each = cxi_sig_with_types(sig, types);
  return o->each || (*out_poison = cxi_report_memory(), false);
}

/* The function on two elements, without arrays of its own. */
static bool resolve(const char *op, cxi_body *b, cx_fn f, const operands *o,
                    cx *out_poison) {
  const cxi_sig two[2] = { o->each, o->each };
  cxi_type *types = cxi_scratch(o->n * sizeof *types);
  if (!types) return *out_poison = cxi_report_memory(), false;
  if (!cxi_body_resolve(b, f, 2, two, out_poison)) return false;
  if (b->n_consts) {
    *out_poison = cxi_reportf(CX_EUSER,
                              "%s(%s): the function may not use arrays "
                              "but its arguments",
                              op, f->code->name);
    return false;
  }
  cxi_sig_types(o->each, types);
  return b->p->n_out != o->n || cxi_body_convert(b, o->n, types, out_poison);
}

/* The axes, or a window. */
typedef struct over {
  const char *op;
  cx_dims dims;
  const cx_window_opt *window;
} over;

static bool join_over(const over *v, const operands *o, const cxi_program *p,
                      cx *out, cx *out_poison) {
  cx_dims axes;
  cxi_window w;
  if (!v->window)
    return cxi_axes(v->op, o->leaves[0], v->dims, &axes, out_poison) &&
           (cxi_reduce_by(p, o->n, o->leaves, axes, out) ||
            (*out_poison = out[0], false));
  return cxi_window_make(v->op, o->leaves[0], v->dims, v->window, &w,
                         out_poison) &&
         (cxi_reduce_window_by(p, o->n, o->leaves, &w, out) ||
          (*out_poison = out[0], false));
}

static cx join_all(const over *v, cx_fn f, cx xs, cx starts) {
  const cxi_mark mark = cxi_scratch_mark();
  operands o;
  cxi_body b = { 0 };
  cx result = { 0, 0 };
  if (!cxi_context_need()) {
    result = cxi_poison_last();
  } else if (enter(v->op, &o, xs, starts, &result) &&
             resolve(v->op, &b, f, &o, &result)) {
    cx *out = cxi_scratch(o.n * sizeof *out);
    if (!out)
      result = cxi_report_memory();
    else if (join_over(v, &o, b.p, out, &result))
      result = cx_unflatten(xs, (int)o.n, out);
  }
  cxi_body_end(&b);
  cxi_scratch_reset(mark);
  return result;
}

cx cx_reduce_by_(cx_fn f, cx xs, cx starts, cx_dims axes, const char *at) {
  const cxi_name before = cxi_enter(at);
  const over v = { .op = "reduce", .dims = axes };
  return cxi_leave(before, join_all(&v, f, xs, starts));
}

cx cx_reduce_window_by_(cx_fn f, cx xs, cx starts, cx_dims window,
                        cx_window_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  const over v = { .op = "reduce_window", .dims = window, .window = &opt };
  return cxi_leave(before, join_all(&v, f, xs, starts));
}

/* -- associative_scan ----------------------------------------------------- */

typedef struct joining {
  cx_fn f;
  cx like;
  int n;
  cx poison;
} joining;

static bool join(void *user, const cx *a, const cx *b, cx *out) {
  joining *j = user;
  const cx two[2] = { cx_unflatten(j->like, j->n, a),
                      cx_unflatten(j->like, j->n, b) };
  const cx made = cx_call_(j->f, 2, two, NULL);
  if (cxi_is_poison(made)) return j->poison = made, false;
  if (cx_leaf_count(made) != j->n) {
    j->poison = cxi_reportf(CX_ETREE,
                            "associative_scan(%s): the function must return a "
                            "tree like its arguments, of %d arrays, got %d",
                            j->f->code->name, j->n, cx_leaf_count(made));
    return false;
  }
  for (int i = 0; i < j->n; i++) {
    out[i] = cx_leaf(made, i);
    if (cxi_type_at(out[i]) == cxi_type_at(a[i])) continue;
    j->poison = cxi_reportf(CX_ESHAPE,
                            "associative_scan(%s): leaf %d enters as %s, "
                            "leaves as %s",
                            j->f->code->name, i, cxi_shown_of(a[i]).text,
                            cxi_shown_of(out[i]).text);
    return false;
  }
  return true;
}

/* All leaves with the same length along the axis. */
static bool leaves_of(cx xs, cx_assoc_opt opt, int *out_axis, cx *leaves, int n,
                      cx *out_poison) {
  int64_t length = -1;
  for (int i = 0; i < n; i++) {
    int axis = opt.axis;
    leaves[i] = cx_leaf(xs, i);
    if (!cxi_operand("associative_scan", &leaves[i], out_poison) ||
        !cxi_axis("associative_scan", leaves[i], &axis, out_poison))
      return false;
    const int64_t size = cxi_shape_at(leaves[i]).d[axis];
    if (length >= 0 && (size != length || axis != *out_axis)) {
      *out_poison =
          cxi_reportf(CX_ESHAPE,
                      "associative_scan: leaf %d is %s, another "
                      "axis or length than %lld",
                      i, cxi_shown_of(leaves[i]).text, (long long)length);
      return false;
    }
    length = size;
    *out_axis = axis;
  }
  return true;
}

cx cx_associative_scan_(cx_fn f, cx xs, cx_assoc_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  cx result = { 0, 0 };
  if (!cxi_context_need()) {
    cxi_scratch_reset(mark);
    return cxi_leave(before, cxi_poison_last());
  }
  const cxi_item item = cxi_item_of(xs);
  const int n = item.kind == CXI_ITEM_POISON ? 0 : cx_leaf_count(xs);
  cx *leaves = cxi_scratch((size_t)(n + 1) * 2 * sizeof *leaves);
  int axis = 0;
  if (item.kind == CXI_ITEM_POISON) {
    result = item.as.handle;
  } else if (n == 0) {
    result = cxi_reportf(CX_ETREE, "associative_scan: xs has no array");
  } else if (!leaves) {
    result = cxi_report_memory();
  } else if (leaves_of(xs, opt, &axis, leaves, n, &result)) {
    joining j = { f, xs, n, { 0, 0 } };
    cx *out = leaves + n;
    if (cxi_associative_scan(join, &j, (uint32_t)n, leaves, axis, opt.reverse,
                             out))
      result = cx_unflatten(xs, n, out);
    else
      result = cxi_is_poison(j.poison) ? j.poison : cxi_poison_last();
  }
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}
