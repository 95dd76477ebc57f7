/* carry.c - trees that enter a loop and leave it, leaf by leaf. */
#include "trace/carry.h"

#include <stdio.h>

#include "base/dtype.h"

bool cxi_carry_enter(cxi_carry *c, const char *what, cx value, cx *out_poison) {
  c->item = cxi_number_strong(cxi_item_for(what, value));
  if (c->item.kind == CXI_ITEM_POISON)
    return *out_poison = c->item.as.handle, false;
  if (c->item.kind == CXI_ITEM_NOTHING) {
    *out_poison = cxi_reportf(CX_ETREE, "%s: a carry is not given ({0})", what);
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

/* "CX_F32" */
static const char *dtype_constant(cxi_type type, char out[16]) {
  const char *name = cxi_dtype_name(cxi_type_dtype(type));
  snprintf(out, 16, "CX_%s", name);
  for (char *c = out + 3; *c; c++)
    if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
  return out;
}

static bool starts_as(const cxi_carry *c, uint32_t i, cx_dtype dtype) {
  return is_free(c->leaves[i]) && cxi_type_dtype(c->types[i]) == dtype;
}

/* A carry and the function that it enters. */
typedef struct entering {
  const cxi_carry *c;
  cx_fn f;
  const char *what;
  uint32_t argument;
} entering;

/* A leaf that has the dtype because it entered as a number; with several it is
 * not known which one the error is about. */
static bool write_hint(const void *user, cx_dtype dtype, char *out,
                       size_t size) {
  const entering *e = user;
  const cxi_carry *c = e->c;
  char enters[96], more[40] = "";
  uint32_t first = 0, others = 0;
  while (first < c->n && !starts_as(c, first, dtype)) first++;
  if (first == c->n) return false;
  for (uint32_t i = first + 1; i < c->n; i++) others += starts_as(c, i, dtype);
  if (others) snprintf(more, sizeof more, " (or one of %u more)", others);
  const cxi_argument name = cxi_argument_name(e->f->code, e->argument);
  cxi_aval_print(enters, sizeof enters, cxi_type_aval(c->types[first]));
  snprintf(out, size,
           "; carry %.100s%s of the %s is %s, as the C number that it starts"
           " as: start with cx_scalar(x, dtype)",
           cxi_leaf_path_of(name.name, c->sig, first).text, more, e->what,
           enters);
  return true;
}

bool cxi_carry_resolve(const cxi_carry *c, cxi_body *b, cx_fn f,
                       uint32_t n_args, const cxi_sig *args, const char *what,
                       uint32_t argument, cx *out_poison) {
  const entering e = { c, f, what, argument };
  bool any = false;
  for (uint32_t i = 0; i < c->n; i++) any = any || is_free(c->leaves[i]);
  if (!any) return cxi_body_resolve(b, f, n_args, args, out_poison);
  const cxi_dtype_hint before =
      cxi_dtype_hint_use((cxi_dtype_hint){ write_hint, &e });
  const bool good = cxi_body_resolve(b, f, n_args, args, out_poison);
  cxi_dtype_hint_use(before);
  return good;
}

/* Leaf i leaves with another type: a number on either side gives way. */
static cxi_agreement leaf_leave(cxi_carry *c, const cxi_body *b, uint32_t i,
                                cxi_type type) {
  if (cxi_type_rank(type) != 0 || cxi_type_rank(c->types[i]) != 0)
    return CXI_DIFFER;
  if (b->entry->weak_out && b->entry->weak_out[i])
    return CXI_AGREE; /* the caller converts what leaves */
  if (!is_free(c->leaves[i])) return CXI_DIFFER;
  c->leaves[i] = cxi_number_cast(c->leaves[i], cxi_type_dtype(type));
  c->types[i] = type;
  return CXI_AGAIN;
}

static cx report_leaf(const cxi_carry *c, const cxi_body *b, uint32_t i,
                      cxi_type type, const char *what, uint32_t argument) {
  char enters[128], leaves[128], advice[160] = "", from[16], to[16];
  const cxi_argument name = cxi_argument_name(b->f->code, argument);
  const bool dtype = cxi_type_dtype(type) != cxi_type_dtype(c->types[i]);
  cxi_aval_print(enters, sizeof enters, cxi_type_aval(c->types[i]));
  cxi_aval_print(leaves, sizeof leaves, cxi_type_aval(type));
  if (is_free(c->leaves[i]))
    snprintf(advice, sizeof advice,
             "; it starts as a C number: start with cx_full(x, %s, sizes)",
             dtype_constant(type, to));
  else if (dtype)
    snprintf(advice, sizeof advice,
             "; start with %s, cx_cast(start, %s), or return "
             "cx_cast(carry, %s)",
             dtype_constant(type, to), to, dtype_constant(c->types[i], from));
  return cxi_reportf(
      dtype ? CX_EDTYPE : CX_ESHAPE,
      "%s(%s): carry %s enters as %s, leaves as %s%s", what, b->f->code->name,
      cxi_leaf_path_of(name.name, c->sig, i).text, enters, leaves, advice);
}

static cx report_structure(const cxi_carry *c, const cxi_body *b,
                           cxi_sig leaving, const char *what,
                           uint32_t argument) {
  char enters[160], leaves[160];
  const cxi_argument name = cxi_argument_name(b->f->code, argument);
  cxi_sig_print(enters, sizeof enters, c->sig);
  cxi_sig_print(leaves, sizeof leaves, leaving);
  return cxi_reportf(CX_ETREE,
                     "%s(%s): carry \"%s\" enters as %s, leaves as %s", what,
                     b->f->code->name, name.name, enters, leaves);
}

cxi_agreement cxi_carry_leave(cxi_carry *c, const cxi_body *b, cxi_sig leaving,
                              const char *what, uint32_t argument,
                              cx *out_poison) {
  cxi_type *types = cxi_scratch(c->n * sizeof *types + 1);
  if (!types) return *out_poison = cxi_report_memory(), CXI_DIFFER;
  bool same = cxi_sig_leaves(leaving) == c->n;
  if (same) {
    cxi_sig_types(leaving, types);
    const cxi_sig with_types = cxi_sig_with_types(c->sig, types);
    if (!with_types) return *out_poison = cxi_report_memory(), CXI_DIFFER;
    same = with_types == leaving;
  }
  if (!same) {
    *out_poison = report_structure(c, b, leaving, what, argument);
    return CXI_DIFFER;
  }
  cxi_agreement result = CXI_AGREE;
  for (uint32_t i = 0; i < c->n; i++) {
    if (types[i] == c->types[i]) continue;
    const cxi_agreement a = leaf_leave(c, b, i, types[i]);
    if (a == CXI_DIFFER) {
      *out_poison = report_leaf(c, b, i, types[i], what, argument);
      return a;
    }
    if (a == CXI_AGAIN) result = a;
  }
  c->sig = cxi_sig_with_types(c->sig, c->types);
  if (c->sig) return result;
  *out_poison = cxi_report_memory();
  return CXI_DIFFER;
}

void cxi_carry_operands(const cxi_carry *c, cx *out) {
  for (uint32_t i = 0; i < c->n; i++) out[i] = cxi_leaf_operand(c->leaves[i]);
}
