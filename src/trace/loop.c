/* loop.c - scan, while, fori, map: trees of carries over one equation. */
#include <stdio.h>
#include <string.h>

#include "calx/control.h"
#include "calx/transform.h"
#include "ir/builder.h"
#include "trace/body.h"
#include "trace/tree_map.h"

/* -- carries ---------------------------------------------------------------------------- */

/* A carry that enters a loop: its leaves may take the dtype with which they
 * leave if they are C numbers. */
typedef struct carry {
  cxi_item item;              /* borrowed */
  uint32_t n;
  cxi_item *leaves;           /* scratch; numbers cast as needed */
  cxi_type *types;
  cxi_sig sig;
} carry;

static bool carry_enter(carry *c, cx value, cx *out_poison) {
  c->item = cxi_number_strong(cxi_item_of(value));
  if (c->item.kind == CXI_ITEM_POISON)
    return *out_poison = c->item.as.handle, false;
  if (c->item.kind == CXI_ITEM_NOTHING) {
    *out_poison = cxi_report(CX_ETREE, "a carry is not given ({0})");
    return false;
  }
  c->n = cxi_item_leaves(c->item);
  c->leaves = cxi_scratch(c->n * sizeof *c->leaves + 1);
  c->types = cxi_scratch(c->n * sizeof *c->types + 1);
  c->sig = cxi_sig_of(c->item);
  if (!c->leaves || !c->types || !c->sig)
    return *out_poison = cxi_report_memory(), false;
  cxi_item_flatten(c->item, c->leaves);
  cxi_sig_types(c->sig, c->types);
  return true;
}

/* Whether a leaf entered as a C number, whose dtype is free. */
static bool is_free(cxi_item leaf) {
  return leaf.kind == CXI_ITEM_NUMBER && (leaf.weak || leaf.was_weak);
}

typedef enum agreement { AGREE, AGAIN, DIFFER } agreement;

/* Compares how the carry leaves. AGAIN: a number took another dtype, so the
 * body must be resolved anew. */
static agreement carry_leave(carry *c, const cxi_body *b, cxi_sig leaving,
                             const char *what, cx *out_poison) {
  char enters[160], leaves[160];
  cxi_type *types = cxi_scratch(c->n * sizeof *types + 1);
  if (!types) return *out_poison = cxi_report_memory(), DIFFER;
  const cxi_argument name = cxi_argument_name(
      b->f->code, !strcmp(what, "fori") ? 1 : 0);
  if (cxi_sig_leaves(leaving) == c->n) {
    cxi_sig_types(leaving, types);
    if (cxi_sig_with_types(c->sig, types) == leaving) {
      bool again = false;
      for (uint32_t i = 0; i < c->n; i++) {
        if (types[i] == c->types[i]) continue;
        const bool weak_out = b->entry->weak_out && b->entry->weak_out[i];
        if (cxi_type_rank(types[i]) == 0 && weak_out
            && cxi_type_rank(c->types[i]) == 0)
          continue; /* converted by the caller */
        if (is_free(c->leaves[i]) && cxi_type_rank(types[i]) == 0) {
          c->leaves[i] =
              cxi_number_cast(c->leaves[i], cxi_type_dtype(types[i]));
          c->types[i] = types[i];
          again = true;
          continue;
        }
        cxi_aval_print(enters, sizeof enters, cxi_type_aval(c->types[i]));
        cxi_aval_print(leaves, sizeof leaves, cxi_type_aval(types[i]));
        *out_poison = cxi_reportf(
            cxi_type_dtype(types[i]) == cxi_type_dtype(c->types[i])
                ? CX_ESHAPE : CX_EDTYPE,
            "%s(%s): carry %s enters as %s, leaves as %s", what,
            b->f->code->name, cxi_leaf_path_of(name.name, c->sig, i).text,
            enters, leaves);
        return DIFFER;
      }
      c->sig = cxi_sig_with_types(c->sig, c->types);
      return again ? AGAIN : AGREE;
    }
  }
  cxi_sig_print(enters, sizeof enters, c->sig);
  cxi_sig_print(leaves, sizeof leaves, leaving);
  *out_poison = cxi_reportf(CX_ETREE, "%s(%s): carry \"%s\" enters as %s,"
                            " leaves as %s", what, b->f->code->name, name.name,
                            enters, leaves);
  return DIFFER;
}

static void carry_operands(const carry *c, cx *out) {
  for (uint32_t i = 0; i < c->n; i++) out[i] = cxi_leaf_operand(c->leaves[i]);
}

/* -- scan ---------------------------------------------------------------------------------- */

/* The items to scan over, their types, and those of one step. */
typedef struct slices {
  cxi_item item;
  uint32_t n;
  cxi_sig each;               /* of one step */
  int64_t length;
} slices;

static bool slices_enter(slices *s, const char *what, cx xs, int64_t length,
                         cx *out_poison) {
  s->item = cxi_number_strong(cxi_item_of(xs));
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
      *out_poison = cxi_reportf(CX_ESHAPE, "%s: xs %s is %s, which has no axis"
                                " to go along", what,
                                cxi_leaf_path_of("", sig, i).text, text);
      return false;
    }
    if (s->length < 0) s->length = shape->d[0];
    if (shape->d[0] != s->length) {
      *out_poison = cxi_reportf(CX_ESHAPE, "%s: xs %s is %s, of another length"
                                " than %lld", what,
                                cxi_leaf_path_of("", sig, i).text, text,
                                (long long)s->length);
      return false;
    }
    types[i] = cxi_type_with_shape(types[i], cxi_dims_without(*shape, 0));
  }
  if (s->length < 0 && length == 0) {
    *out_poison = cxi_reportf(CX_ESHAPE, "%s: no xs and no .length", what);
    return false;
  }
  s->each = cxi_sig_with_types(sig, types);
  return s->each || (*out_poison = cxi_report_memory(), false);
}

/* ys: a leading axis for each leaf. */
static cxi_sig stacked(cxi_sig sig, int64_t length) {
  const uint32_t n = cxi_sig_leaves(sig);
  cxi_type *types = cxi_scratch(n * sizeof *types + 1);
  if (!types) return 0;
  cxi_sig_types(sig, types);
  for (uint32_t i = 0; i < n; i++)
    types[i] = cxi_type_with_shape(
        types[i], cxi_dims_with(*cxi_type_shape(types[i]), 0, length));
  return cxi_sig_with_types(sig, types);
}

/* Emits the scan of a resolved body; `sig` is that of all its results. */
static cx emit_scan(const cxi_body *b, const carry *c, const slices *s,
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
  if (!in || !out || !sig) return cxi_report_memory();
  cxi_body_consts(b, in);
  carry_operands(c, in + b->n_consts);
  cxi_leaf_operands(s->item, in + b->n_consts + c->n);
  if (!cxi_scan(&params, in, out))
    return b->p->n_out ? out[0] : cxi_poison_last();
  return cxi_tree_of_handles(sig, out);
}

static cx scan(cx_fn body, cx init, cx xs, cx_scan_opt opt) {
  carry c;
  slices s;
  cxi_body b = { 0 };
  cx result = { 0, 0 };
  if (!carry_enter(&c, init, &result)
      || !slices_enter(&s, "scan", xs, opt.length, &result))
    return result;
  for (int tries = 0; tries < 3; tries++) {
    const cxi_sig args[2] = { c.sig, s.each };
    if (!cxi_body_resolve(&b, body, 2, args, &result)) return result;
    const cxi_structure *out = cxi_sig_is_leaf(b.entry->out)
                                   ? NULL : cxi_structure_of(b.entry->out);
    if (!out || out->is_dict || out->is_none || out->n != 2) {
      char got[160];
      cxi_sig_print(got, sizeof got, b.entry->out);
      result = cxi_reportf(CX_ETREE, "scan(%s): the body must return (carry,"
                           " y), got %s", body->code->name, got);
      break;
    }
    const agreement a = carry_leave(&c, &b, out->items[0], "scan", &result);
    if (a == DIFFER) break;
    if (a == AGREE) {
      const cxi_sig ys = stacked(out->items[1], s.length);
      const cxi_sig sig =
          ys ? cxi_sig_tuple(2, (const cxi_sig[]){ c.sig, ys }) : 0;
      if (cxi_body_convert(&b, c.n, c.types, &result))
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
  const cx result = cxi_context_need() ? scan(body, carry_in, xs, opt)
                                       : cxi_poison_last();
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}

/* -- while ----------------------------------------------------------------------------------- */

static bool check_cond(const cxi_body *cond, cx *out_poison) {
  const cxi_sig sig = cond->entry->out;
  char got[160];
  if (cxi_sig_is_leaf(sig) && cxi_type_rank(cxi_sig_type(sig)) == 0
      && cxi_type_dtype(cxi_sig_type(sig)) == CX_BOOL)
    return true;
  cxi_sig_print(got, sizeof got, sig);
  *out_poison = cxi_reportf(CX_EDTYPE, "while(%s): the condition must be"
                            " bool[], got %s", cond->f->code->name, got);
  return false;
}

static cx emit_while(const cxi_body *cond, const cxi_body *body,
                     const carry *c, int64_t max_steps) {
  const uint32_t n_consts = cond->n_consts + body->n_consts;
  const cxi_while_params params = {
    .cond = cond->p,
    .body = body->p,
    .n_cond_consts = cond->n_consts,
    .n_body_consts = body->n_consts,
  };
  cx *in = cxi_scratch((n_consts + c->n) * sizeof *in + 1);
  cx *out = cxi_scratch(c->n * sizeof *out + 1);
  if (!in || !out) return cxi_report_memory();
  cxi_body_consts(cond, in);
  cxi_body_consts(body, in + cond->n_consts);
  carry_operands(c, in + n_consts);
  const bool good = max_steps > 0
                        ? cxi_bounded_while(&params, max_steps, in, out)
                        : cxi_while(&params, in, out);
  if (!good) return c->n ? out[0] : cxi_poison_last();
  return cxi_tree_of_handles(c->sig, out);
}

/* The body resolved so that its carry agrees. */
static bool agree(cxi_body *b, cx_fn f, carry *c, const char *what,
                  cx *out_poison) {
  for (int tries = 0; tries < 3; tries++) {
    if (!cxi_body_resolve(b, f, 1, &c->sig, out_poison)) return false;
    const agreement a = carry_leave(c, b, b->entry->out, what, out_poison);
    if (a == AGREE) return cxi_body_convert(b, c->n, c->types, out_poison);
    cxi_body_end(b);
    if (a == DIFFER) return false;
  }
  return false;
}

cx cx_while_(cx_fn cond_fn, cx_fn body_fn, cx init, cx_while_opt opt,
             const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_body cond = { 0 }, body = { 0 };
  carry c;
  cx result = { 0, 0 };
  if (!cxi_context_need()) result = cxi_poison_last();
  else if (carry_enter(&c, init, &result)
           && agree(&body, body_fn, &c, "while", &result)
           && cxi_body_resolve(&cond, cond_fn, 1, &c.sig, &result)
           && check_cond(&cond, &result))
    result = emit_while(&cond, &body, &c, opt.max_steps);
  cxi_body_end(&cond);
  cxi_body_end(&body);
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}

/* -- fori -------------------------------------------------------------------------------------- */

/* The body on (i, carry). */
static bool fori_body(cxi_body *b, cx_fn f, cx_dtype counter, carry *c,
                      cx *out_poison) {
  for (int tries = 0; tries < 3; tries++) {
    const cxi_sig args[2] = { cxi_sig_of_type(cxi_type_scalar(counter)),
                              c->sig };
    if (!cxi_body_resolve(b, f, 2, args, out_poison)) return false;
    const agreement a =
        carry_leave(c, b, b->entry->out, "fori", out_poison);
    if (a == AGREE) return cxi_body_convert(b, c->n, c->types, out_poison);
    cxi_body_end(b);
    if (a == DIFFER) return false;
  }
  return false;
}

/* Bounds known in C: a scan, which has a derivative in reverse mode. */
static cx fori_static(const cxi_body *b, const carry *c, int64_t lo,
                      int64_t hi) {
  cx *in = cxi_scratch((b->n_consts + c->n) * sizeof *in + 1);
  cx *out = cxi_scratch(c->n * sizeof *out + 1);
  if (!in || !out) return cxi_report_memory();
  cxi_body_consts(b, in);
  carry_operands(c, in + b->n_consts);
  if (!cxi_fori(b->p, b->n_consts, lo, hi, in, out))
    return c->n ? out[0] : cxi_poison_last();
  return cxi_tree_of_handles(c->sig, out);
}

/* (hi, i, carries) -> i < hi */
static const cxi_program *fori_cond(const carry *c, cx_dtype counter,
                                    cxi_error *error) {
  cxi_builder b;
  cx *in = cxi_scratch((c->n + 2u) * sizeof *in);
  if (!in) return NULL;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < c->n + 2; i++)
    in[i] = cxi_builder_input(
        &b, i < 2 ? cxi_type_scalar(counter) : c->types[i - 2]);
  const cx less = cxi_compare(CXI_PRIM_lt, in[1], in[0]);
  return cxi_builder_finish(&b, cxi_name_of("fori_cond"), c->n + 2, in, 1,
                            &less, error);
}

/* (consts, i, carries) -> (i + 1, carries) */
static const cxi_program *fori_step(const cxi_body *body, cxi_error *error) {
  cxi_builder b;
  const cxi_program *p = body->p;
  cx *in = cxi_scratch(p->n_in * sizeof *in + 1);
  cx *out = cxi_scratch((p->n_out + 1u) * sizeof *out);
  if (!in || !out) return NULL;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    in[i] = cxi_builder_input(&b, p->values[i].type);
  out[0] = cxi_offset(in[body->n_consts], 1);
  cxi_replay(p, in, out + 1);
  return cxi_builder_finish(&b, p->name, p->n_in, in, p->n_out + 1, out, error);
}

static cx fori_dynamic(const cxi_body *b, const carry *c, cx lo, cx hi,
                       cx_dtype counter) {
  cxi_error error = { 0 };
  const cxi_program *cond = fori_cond(c, counter, &error);
  const cxi_program *step = cond ? fori_step(b, &error) : NULL;
  const uint32_t n_consts = 1 + b->n_consts, n = c->n + 1;
  cx *in = cxi_scratch((n_consts + n) * sizeof *in);
  cx *out = cxi_scratch(n * sizeof *out);
  cx result;
  if (step && in && out) {
    const cxi_while_params params = { .cond = cond, .body = step,
                                      .n_cond_consts = 1,
                                      .n_body_consts = b->n_consts };
    in[0] = hi;
    cxi_body_consts(b, in + 1);
    in[n_consts] = lo;
    carry_operands(c, in + n_consts + 1);
    result = cxi_while(&params, in, out) ? cxi_tree_of_handles(c->sig, out + 1)
                                         : out[0];
  } else {
    result = cxi_report_error("fori", &error);
  }
  cxi_program_release(cond);
  cxi_program_release(step);
  return result;
}

static bool whole_number(cx a, int64_t *out) {
  if (!cxi_is_number(a)) return false;
  const cxi_item item = cxi_number_item(a);
  const cx_dtype type = cxi_type_dtype(item.type);
  *out = cxi_element_get_int(type, &item.as.bits);
  return !cxi_dtype_is_float(type);
}

/* The dtype of the counter: the bounds' one, C numbers taking the other's. */
static bool fori_counter(cx *lo, cx *hi, cx_dtype *out, cx *out_poison) {
  cx both[2] = { *lo, *hi };
  if (!cxi_promote("fori", 2, both, out_poison)) return false;
  *lo = both[0];
  *hi = both[1];
  *out = cxi_dtype_at(*lo);
  const cxi_kind kind = cxi_dtype_kind(*out);
  if ((kind == CXI_SIGNED || kind == CXI_UNSIGNED) && cxi_rank_at(*lo) == 0
      && cxi_rank_at(*hi) == 0)
    return true;
  *out_poison = cxi_reportf(CX_EDTYPE, "fori: the bounds must be integers of"
                            " rank 0, got %s and %s", cx_show(*lo),
                            cx_show(*hi));
  return false;
}

cx cx_fori_(cx lo, cx hi, cx_fn f, cx init, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_body b = { 0 };
  carry c;
  int64_t first, last;
  cx_dtype counter = CX_I32;
  cx result = { 0, 0 };
  const bool known = whole_number(lo, &first) && whole_number(hi, &last);
  if (known && (first < INT32_MIN || last > INT32_MAX)) counter = CX_I64;
  if (!cxi_context_need()) result = cxi_poison_last();
  else if ((known || fori_counter(&lo, &hi, &counter, &result))
           && carry_enter(&c, init, &result)
           && fori_body(&b, f, counter, &c, &result))
    result = known ? fori_static(&b, &c, first, last)
                   : fori_dynamic(&b, &c, lo, hi, counter);
  cxi_body_end(&b);
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}

/* -- map --------------------------------------------------------------------------------------- */

static cx map_all(cx_fn f, const slices *s) {
  cxi_body b = { 0 };
  const carry none = { .n = 0 };
  cx result = { 0, 0 };
  if (cxi_body_resolve(&b, f, 1, &s->each, &result))
    result = emit_scan(&b, &none, s, (cx_scan_opt){ 0 },
                       stacked(b.entry->out, s->length));
  cxi_body_end(&b);
  return result;
}

typedef struct chunk {
  int64_t from, n, batch;     /* batch > 0: cut into rows of so many */
} chunk;

/* Elements [from, from + n) of the leading axis. */
static cx cut_leaf(const cx *leaves, void *user) {
  const chunk *k = user;
  const cx part = cxi_slice_axis(leaves[0], 0, k->from, k->from + k->n);
  if (k->batch == 0) return part;
  cx_dims shape = cxi_shape_at(part);
  shape.d[0] = k->batch;
  return cxi_reshape(part, cxi_dims_with(shape, 0, k->n / k->batch));
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
    result = cxi_tree_map("map", false, 1, &result, flatten_leaf, NULL);
  }
  if (rest == 0) return result;
  const cx last = cxi_tree_map("map", false, 1, &xs, cut_leaf, &rest_part);
  const cx two[2] = { result, cx_call_(row, 1, &last, NULL) };
  if (whole == 0) return two[1];
  return cxi_tree_map("map", false, 2, two, join_leaf, NULL);
}

cx cx_map_(cx_fn f, cx xs, cx_map_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  slices s;
  cx result = { 0, 0 };
  if (!cxi_context_need()) result = cxi_poison_last();
  else if (slices_enter(&s, "map", xs, 0, &result))
    result = opt.batch > 0 ? map_batched(f, xs, &s, opt.batch)
                           : map_all(f, &s);
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}
