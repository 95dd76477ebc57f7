/* carry.c - trees that enter a loop and leave it, leaf by leaf. */
#include "trace/carry.h"

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
  char enters[128], leaves[128];
  const cxi_argument name = cxi_argument_name(b->f->code, argument);
  const bool dtype = cxi_type_dtype(type) != cxi_type_dtype(c->types[i]);
  cxi_aval_print(enters, sizeof enters, cxi_type_aval(c->types[i]));
  cxi_aval_print(leaves, sizeof leaves, cxi_type_aval(type));
  return cxi_reportf(
      dtype ? CX_EDTYPE : CX_ESHAPE,
      "%s(%s): carry %s enters as %s, leaves as %s", what, b->f->code->name,
      cxi_leaf_path_of(name.name, c->sig, i).text, enters, leaves);
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
