/* effect.c - cx_callback, cx_debug_print, cx_check and what is found. */
#include "calx/effect.h"
#include "calx/transform.h"

#include "base/failure.h"
#include "base/host.h"
#include "trace/body.h"

/* -- operands -------------------------------------------------------------- */

typedef struct operands {
  uint32_t n;
  cx *leaves; /* scratch */
} operands;

/* The leaves of the arguments as operands; numbers made arrays. False with
 * *out_poison. */
static bool flatten(const char *op, int n, const cx *args, operands *out,
                    cx *out_poison) {
  if (!cxi_list_given(op, n, args, out_poison)) return false;
  uint32_t count = 0;
  for (int i = 0; i < n; i++) {
    const cxi_item item = cxi_item_for(op, args[i]);
    if (item.kind == CXI_ITEM_POISON)
      return *out_poison = item.as.handle, false;
    if (item.kind == CXI_ITEM_NOTHING) {
      *out_poison = cxi_reportf(CX_ETREE, "%s: operand %d is not given", op, i);
      return false;
    }
    count += cxi_item_leaves(item);
  }
  out->n = count;
  out->leaves = cxi_scratch(count * sizeof *out->leaves + 1);
  if (!out->leaves) return *out_poison = cxi_report_memory(), false;
  cx *at = out->leaves;
  for (int i = 0; i < n; i++) {
    const cxi_item item = cxi_number_strong(cxi_item_for(op, args[i]));
    cxi_leaf_operands(item, at);
    at += cxi_item_leaves(item);
  }
  for (uint32_t i = 0; i < count; i++)
    if (!cxi_operand(op, &out->leaves[i], out_poison)) return false;
  return true;
}

/* -- callback -------------------------------------------------------------- */

/* The result types as the equation has them. */
static cxi_ints describe(uint32_t n, const cxi_type *types) {
  int64_t *d = cxi_scratch(n * (CX_MAX_DIMS + (size_t)2) * sizeof *d + 1);
  uint32_t at = 0;
  for (uint32_t i = 0; d && i < n; i++) {
    const cx_aval *type = cxi_type_aval(types[i]);
    d[at++] = type->type;
    d[at++] = type->shape.n;
    for (int k = 0; k < type->shape.n; k++) d[at++] = type->shape.d[k];
  }
  return (cxi_ints){ at, d };
}

/* The structure of the result; false with *out_poison. */
static bool result_of(cx specs, cxi_sig *out, cx *out_poison) {
  const cxi_item item = cxi_number_strong(cxi_item_for("callback", specs));
  if (item.kind == CXI_ITEM_POISON) return *out_poison = item.as.handle, false;
  if (item.kind == CXI_ITEM_NOTHING) {
    *out_poison = cxi_report(CX_ETREE, "callback: no specs of the result are "
                                       "given; cx_none() is for no result");
    return false;
  }
  *out = cxi_sig_of(item);
  if (!*out) *out_poison = cxi_report_memory();
  return *out != 0;
}

static cx callback(cx_host_fn f, cx specs, int n, const cx *args,
                   const cx_callback_opt *opt) {
  operands in;
  cxi_sig sig;
  cx poison;
  if (!f) return cxi_report(CX_ETREE, "callback: no function is given");
  if (!result_of(specs, &sig, &poison) ||
      !flatten("callback", n, args, &in, &poison))
    return poison;
  const uint32_t n_out = cxi_sig_leaves(sig);
  cxi_type *types = cxi_scratch(n_out * sizeof *types + 1);
  cx *out = cxi_scratch(n_out * sizeof *out + 1);
  if (!types || !out) return cxi_report_memory();
  cxi_sig_types(sig, types);
  const cxi_callback_params p = { .host = cxi_host_number(f, opt->user),
                                  .results = describe(n_out, types),
                                  .effect = opt->effect || opt->ordered,
                                  .ordered = opt->ordered,
                                  .lanes = opt->lanes };
  if (!p.host || !p.results.d) return cxi_report_memory();
  if (!cxi_callback(&p, in.n, in.leaves, n_out, out))
    return n_out ? out[0] : cxi_poison_last();
  return cxi_tree_of_handles(sig, out);
}

cx cx_callback_(cx_host_fn f, cx specs, int n, const cx *args,
                cx_callback_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  const cx result = callback(f, specs, n, args, &opt);
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}

/* -- debug_print ----------------------------------------------------------- */

void cx_debug_print_(const char *format, int n, const cx *args,
                     const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  operands in;
  cx poison;
  if (!format)
    cxi_report(CX_EUSER, "debug_print: no format");
  else if (flatten("debug_print", n, args, &in, &poison))
    cxi_debug_print(cxi_name_of(format), in.n, in.leaves);
  cxi_scratch_reset(mark);
  cxi_site_use(before);
}

/* -- checks ----------------------------------------------------------------- */

void cx_check_(cx good, const char *message, int n, const cx *args,
               const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  operands in = { 0 };
  cx poison;
  if (!message)
    cxi_report(CX_EUSER, "check: no message");
  else if (cxi_operand("check", &good, &poison) &&
           cxi_dtype_at(good) != CX_BOOL)
    cxi_reportf(CX_EDTYPE, "check: needs a bool array, got %s",
                cxi_shown_of(good).text);
  else if (cxi_given(good) && flatten("check", n, args, &in, &poison)) {
    cx *all = cxi_scratch((in.n + (size_t)1) * sizeof *all);
    if (all) {
      all[0] = good;
      for (uint32_t i = 0; i < in.n; i++) all[i + 1] = in.leaves[i];
      cxi_check(cxi_name_of(message), in.n + 1, all);
    } else {
      cxi_report_memory();
    }
  }
  cxi_scratch_reset(mark);
  cxi_site_use(before);
}

/* The first failure in an array of errors; false if there is none, or after
 * reporting that it is no such array. */
static bool find_failure(const char *op, cx error, cx_code *code,
                         cxi_name *text) {
  const cxi_item item = cxi_item_for(op, error);
  if (item.kind == CXI_ITEM_POISON) return false;
  const bool array = item.kind == CXI_ITEM_ARRAY ||
                     item.kind == CXI_ITEM_TRACER ||
                     item.kind == CXI_ITEM_NUMBER;
  if (!array || cxi_type_dtype(item.type) != CX_I32) {
    cxi_reportf(CX_EDTYPE, "%s: %s is no error of cx_checkify", op,
                cx_show(error));
    return false;
  }
  const int32_t *numbers = cx_data(error);
  const int64_t n = cxi_dims_count(cxi_type_shape(item.type));
  for (int64_t i = 0; numbers && i < n; i++) {
    if (numbers[i] == 0) continue;
    if (cxi_failure_find(numbers[i], code, text)) return true;
    cxi_reportf(CX_EINDEX, "%s: %d is no error of this process", op,
                (int)numbers[i]);
    return false;
  }
  return false;
}

const char *cx_checked_(cx error, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx_code code;
  cxi_name text;
  const bool found = find_failure("checked", error, &code, &text);
  cxi_site_use(before);
  return found ? cxi_name_text(text) : NULL;
}

bool cx_throw_(cx error, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx_code code;
  cxi_name text;
  const bool found = find_failure("throw", error, &code, &text);
  if (found) cxi_reportf(code, "%s", cxi_name_text(text));
  const bool good = !found && cx_ok();
  cxi_site_use(before);
  return good;
}
