/* loop.c - scan and map: trees of carries and slices over one equation. */
#include "calx/control.h"
#include "calx/transform.h"
#include "ops/axes.h"
#include "trace/carry.h"
#include "trace/tree_map.h"

/* -- scan ----------------------------------------------------------------- */

/* The items to scan over, their types, and those of one step. */
typedef struct slices {
  cxi_item item;
  uint32_t n;
  cxi_sig each; /* of one step */
  int64_t length;
} slices;

static bool slices_enter(slices *s, const char *what, cx xs, int64_t length,
                         cx *out_poison) {
  s->item = cxi_number_strong(cxi_item_for(what, xs));
  if (s->item.kind == CXI_ITEM_POISON)
    return *out_poison = s->item.as.handle, false;
  if (s->item.kind == CXI_ITEM_NOTHING) s->item.kind = CXI_ITEM_NONE;
  const cxi_sig sig = cxi_sig_of(s->item);
  s->n = cxi_item_leaves(s->item);
  s->length = length > 0 ? length : -1;
  cxi_type *types = cxi_scratch(s->n * sizeof *types + 1);
  if (!sig || !types) return *out_poison = cxi_report_memory(), false;
  cxi_sig_types(sig, types);
  for (uint32_t i = 0; i < s->n; i++) {
    const cx_dims *shape = cxi_type_shape(types[i]);
    char text[128];
    cxi_aval_print(text, sizeof text, cxi_type_aval(types[i]));
    if (shape->n == 0) {
      *out_poison =
          cxi_reportf(CX_ESHAPE,
                      "%s: %s is %s, which has no axis"
                      " to go along",
                      what, cxi_leaf_path_of("xs", sig, i).text, text);
      return false;
    }
    if (s->length < 0) s->length = shape->d[0];
    if (shape->d[0] != s->length) {
      *out_poison = cxi_reportf(CX_ESHAPE,
                                "%s: %s is %s, of another length"
                                " than %lld",
                                what, cxi_leaf_path_of("xs", sig, i).text, text,
                                (long long)s->length);
      return false;
    }
    types[i] = cxi_type_with_shape(types[i], cxi_dims_without(*shape, 0));
    if (!types[i]) return *out_poison = cxi_report_memory(), false;
  }
  if (s->length < 0 && length == 0) {
    *out_poison = cxi_reportf(CX_ESHAPE, "%s: no xs and no .length", what);
    return false;
  }
  s->each = cxi_sig_with_types(sig, types);
  return s->each || (*out_poison = cxi_report_memory(), false);
}

/* ys: a leading axis for each leaf. 0 after reporting. */
static cxi_sig stacked(const char *what, cx_fn body, cxi_sig sig,
                       int64_t length, cx *out_poison) {
  const uint32_t n = cxi_sig_leaves(sig);
  cxi_type *types = cxi_scratch(n * sizeof *types + 1);
  cxi_sig made = 0;
  if (types) cxi_sig_types(sig, types);
  for (uint32_t i = 0; types && i < n; i++) {
    const cx_dims shape = cxi_dims_insert(*cxi_type_shape(types[i]), 0, length);
    if (shape.n < 0 || cxi_dims_count(&shape) < 0) {
      char text[128];
      cxi_aval_print(text, sizeof text, cxi_type_aval(types[i]));
      *out_poison =
          cxi_reportf(CX_ESHAPE,
                      "%s(%s): %s has no room for an axis of %lld"
                      " steps",
                      what, body->code->name, text, (long long)length);
      return 0;
    }
    if (!(types[i] = cxi_type_with_shape(types[i], shape))) types = NULL;
  }
  if (types) made = cxi_sig_with_types(sig, types);
  if (!made) *out_poison = cxi_report_memory();
  return made;
}

/* Emits the scan of a resolved body; `sig` is that of all its results. */
static cx emit_scan(const cxi_body *b, const cxi_carry *c, const slices *s,
                    cx_scan_opt opt, cxi_sig sig) {
  const cxi_scan_params params = {
    .body = b->p,
    .length = s->length,
    .reverse = opt.reverse,
    .unroll = opt.unroll > 0 ? opt.unroll : 1,
    .n_consts = b->n_consts,
    .n_carry = c->n,
  };
  cx *in = cxi_scratch((b->n_consts + c->n + s->n) * sizeof *in + 1);
  cx *out = cxi_scratch(b->p->n_out * sizeof *out + 1);
  if (!in || !out) return cxi_report_memory();
  cxi_body_consts(b, in);
  cxi_carry_operands(c, in + b->n_consts);
  cxi_leaf_operands(s->item, in + b->n_consts + c->n);
  if (!cxi_scan(&params, in, out))
    return b->p->n_out ? out[0] : cxi_poison_last();
  return cxi_tree_of_handles(sig, out);
}

static cx scan(cx_fn body, cx init, cx xs, cx_scan_opt opt) {
  cxi_carry c;
  slices s;
  cxi_body b = { 0 };
  cx result = { 0, 0 };
  if (!cxi_carry_enter(&c, "scan", init, &result) ||
      !slices_enter(&s, "scan", xs, opt.length, &result))
    return result;
  for (int tries = 0; tries < 3; tries++) {
    const cxi_sig args[2] = { c.sig, s.each };
    if (!cxi_carry_resolve(&c, &b, body, 2, args, "scan", 0, &result))
      return result;
    const cxi_structure *out =
        cxi_sig_is_leaf(b.entry->out) ? NULL : cxi_structure_of(b.entry->out);
    if (!out || out->is_dict || out->is_none || out->n != 2) {
      char got[160];
      cxi_sig_print(got, sizeof got, b.entry->out);
      result = cxi_reportf(CX_ETREE,
                           "scan(%s): the body must return (carry,"
                           " y), got %s",
                           body->code->name, got);
      break;
    }
    const cxi_agreement a =
        cxi_carry_leave(&c, &b, out->items[0], "scan", 0, &result);
    if (a == CXI_DIFFER) break;
    if (a == CXI_AGREE) {
      const cxi_sig ys =
          stacked("scan", body, out->items[1], s.length, &result);
      if (!ys) break;
      const cxi_sig sig = cxi_sig_tuple(2, (const cxi_sig[]){ c.sig, ys });
      if (!sig)
        result = cxi_report_memory();
      else if (cxi_body_convert(&b, c.n, c.types, &result))
        result = emit_scan(&b, &c, &s, opt, sig);
      break;
    }
    cxi_body_end(&b);
  }
  cxi_body_end(&b);
  return result;
}

cx cx_scan_(cx_fn body, cx carry_in, cx xs, cx_scan_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  const cx result =
      cxi_context_need() ? scan(body, carry_in, xs, opt) : cxi_poison_last();
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}

/* -- map ------------------------------------------------------------------ */

static cx map_all(cx_fn f, const slices *s) {
  cxi_body b = { 0 };
  const cxi_carry none = { .n = 0 };
  cx result = { 0, 0 };
  if (cxi_body_resolve(&b, f, 1, &s->each, &result)) {
    const cxi_sig sig = stacked("map", f, b.entry->out, s->length, &result);
    if (sig) result = emit_scan(&b, &none, s, (cx_scan_opt){ 0 }, sig);
  }
  cxi_body_end(&b);
  return result;
}

typedef struct chunk {
  int64_t from, n, batch; /* batch > 0: cut into rows of so many */
} chunk;

/* Elements [from, from + n) of the leading axis. */
static cx cut_leaf(const cx *leaves, void *user) {
  const chunk *k = user;
  const cx part = cxi_slice_axis(leaves[0], 0, k->from, k->from + k->n);
  if (k->batch == 0) return part;
  cx_dims shape = cxi_shape_at(part);
  shape.d[0] = k->batch;
  return cxi_reshape(part, cxi_dims_insert(shape, 0, k->n / k->batch));
}

static cx join_leaf(const cx *leaves, void *unused) {
  (void)unused;
  return cxi_concatenate(0, 2, leaves);
}

static cx flatten_leaf(const cx *leaves, void *unused) {
  (void)unused;
  cx_dims shape = cxi_shape_at(leaves[0]);
  shape.d[1] *= shape.d[0];
  return cxi_reshape(leaves[0], cxi_dims_without(shape, 0));
}

/* vmap over rows of `batch`, one row after another, then over the rest. */
static cx map_batched(cx_fn f, cx xs, const slices *s, int64_t batch) {
  cx_fn row = cx_vmap_(f, (cx_vmap_opt){ .size_ = sizeof(cx_vmap_opt) }, NULL);
  const int64_t rest = s->length % batch, whole = s->length - rest;
  chunk main_part = { 0, whole, batch }, rest_part = { whole, rest, 0 };
  cx result = { 0, 0 };
  if (whole > 0) {
    const cx rows = cxi_tree_map("map", false, 1, &xs, cut_leaf, &main_part);
    slices r;
    if (!slices_enter(&r, "map", rows, 0, &result)) return result;
    result = map_all(row, &r);
    if (cxi_is_poison(result)) return result;
    result = cxi_tree_map("map", false, 1, &result, flatten_leaf, NULL);
  }
  if (rest == 0) return result;
  const cx last = cxi_tree_map("map", false, 1, &xs, cut_leaf, &rest_part);
  const cx two[2] = { result, cx_call_(row, 1, &last, NULL) };
  if (whole == 0 || cxi_is_poison(two[1])) return two[1];
  return cxi_tree_map("map", false, 2, two, join_leaf, NULL);
}

cx cx_map_(cx_fn f, cx xs, cx_map_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  slices s;
  cx result = { 0, 0 };
  if (!cxi_context_need())
    result = cxi_poison_last();
  else if (slices_enter(&s, "map", xs, 0, &result))
    result = opt.batch > 0 && s.length > 0 ? map_batched(f, xs, &s, opt.batch)
                                           : map_all(f, &s);
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}
