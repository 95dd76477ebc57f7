/* while.c - while and fori: bodies that carry one tree. */
#include "calx/control.h"
#include "ir/builder.h"
#include "trace/carry.h"

/* -- while ---------------------------------------------------------------- */

static bool check_cond(const cxi_body *cond, cx *out_poison) {
  const cxi_sig sig = cond->entry->out;
  char got[160];
  if (cxi_sig_is_leaf(sig) && cxi_type_rank(cxi_sig_type(sig)) == 0 &&
      cxi_type_dtype(cxi_sig_type(sig)) == CX_BOOL)
    return true;
  cxi_sig_print(got, sizeof got, sig);
  *out_poison = cxi_reportf(CX_EDTYPE,
                            "while(%s): the condition must be"
                            " bool[], got %s",
                            cond->f->code->name, got);
  return false;
}

static cx emit_while(const cxi_body *cond, const cxi_body *body,
                     const cxi_carry *c, int64_t max_steps) {
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
  cxi_carry_operands(c, in + n_consts);
  const bool good = max_steps > 0
                        ? cxi_bounded_while(&params, max_steps, in, out)
                        : cxi_while(&params, in, out);
  if (!good) return c->n ? out[0] : cxi_poison_last();
  return cxi_tree_of_handles(c->sig, out);
}

/* The body resolved so that its carry agrees. */
static bool agree(cxi_body *b, cx_fn f, cxi_carry *c, const char *what,
                  cx *out_poison) {
  for (int tries = 0; tries < 3; tries++) {
    if (!cxi_carry_resolve(c, b, f, 1, &c->sig, what, 0, out_poison))
      return false;
    const cxi_agreement a =
        cxi_carry_leave(c, b, b->entry->out, what, 0, out_poison);
    if (a == CXI_AGREE) return cxi_body_convert(b, c->n, c->types, out_poison);
    cxi_body_end(b);
    if (a == CXI_DIFFER) return false;
  }
  return false;
}

cx cx_while_(cx_fn cond_fn, cx_fn body_fn, cx init, cx_while_opt opt,
             const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_body cond = { 0 }, body = { 0 };
  cxi_carry c;
  cx result = { 0, 0 };
  if (!cxi_context_need())
    result = cxi_poison_last();
  else if (opt.max_steps < 0)
    result = cxi_reportf(CX_EUSER, "while: .max_steps is %lld, less than 0",
                         (long long)opt.max_steps);
  else if (cxi_carry_enter(&c, "while", init, &result) &&
           agree(&body, body_fn, &c, "while", &result) &&
           cxi_carry_resolve(&c, &cond, cond_fn, 1, &c.sig, "while", 0,
                             &result) &&
           check_cond(&cond, &result))
    result = emit_while(&cond, &body, &c, opt.max_steps);
  cxi_body_end(&cond);
  cxi_body_end(&body);
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}

/* -- fori ----------------------------------------------------------------- */

/* The body on (i, carry). */
static bool fori_body(cxi_body *b, cx_fn f, cx_dtype counter, cxi_carry *c,
                      cx *out_poison) {
  for (int tries = 0; tries < 3; tries++) {
    const cxi_sig args[2] = { cxi_sig_of_type(cxi_type_scalar(counter)),
                              c->sig };
    if (!cxi_carry_resolve(c, b, f, 2, args, "fori", 1, out_poison))
      return false;
    const cxi_agreement a =
        cxi_carry_leave(c, b, b->entry->out, "fori", 1, out_poison);
    if (a == CXI_AGREE) return cxi_body_convert(b, c->n, c->types, out_poison);
    cxi_body_end(b);
    if (a == CXI_DIFFER) return false;
  }
  return false;
}

/* Bounds known in C: a scan, which has a derivative in reverse mode. */
static cx fori_static(const cxi_body *b, const cxi_carry *c, int64_t lo,
                      int64_t hi) {
  cx *in = cxi_scratch((b->n_consts + c->n) * sizeof *in + 1);
  cx *out = cxi_scratch(c->n * sizeof *out + 1);
  if (!in || !out) return cxi_report_memory();
  cxi_body_consts(b, in);
  cxi_carry_operands(c, in + b->n_consts);
  if (!cxi_fori(b->p, b->n_consts, lo, hi, in, out))
    return c->n ? out[0] : cxi_poison_last();
  return cxi_tree_of_handles(c->sig, out);
}

/* (hi, i, carries) -> i < hi */
static const cxi_program *fori_cond(const cxi_carry *c, cx_dtype counter,
                                    cxi_error *error) {
  cxi_builder b;
  cx *in = cxi_scratch((c->n + 2u) * sizeof *in);
  if (!in) return NULL;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < c->n + 2; i++)
    in[i] = cxi_builder_input(&b, i < 2 ? cxi_type_scalar(counter)
                                        : c->types[i - 2]);
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

static cx fori_dynamic(const cxi_body *b, const cxi_carry *c, cx lo, cx hi,
                       cx_dtype counter) {
  cxi_error error = { 0 };
  const cxi_program *cond = fori_cond(c, counter, &error);
  const cxi_program *step = cond ? fori_step(b, &error) : NULL;
  const uint32_t n_consts = 1 + b->n_consts, n = c->n + 1;
  cx *in = cxi_scratch((n_consts + n) * sizeof *in);
  cx *out = cxi_scratch(n * sizeof *out);
  cx result;
  if (step && in && out) {
    const cxi_while_params params = { .cond = cond,
                                      .body = step,
                                      .n_cond_consts = 1,
                                      .n_body_consts = b->n_consts };
    in[0] = hi;
    cxi_body_consts(b, in + 1);
    in[n_consts] = lo;
    cxi_carry_operands(c, in + n_consts + 1);
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
  if ((kind == CXI_SIGNED || kind == CXI_UNSIGNED) && cxi_rank_at(*lo) == 0 &&
      cxi_rank_at(*hi) == 0)
    return true;
  *out_poison = cxi_reportf(CX_EDTYPE,
                            "fori: the bounds must be integers of"
                            " rank 0, got %s and %s",
                            cx_show(*lo), cx_show(*hi));
  return false;
}

cx cx_fori_(cx lo, cx hi, cx_fn f, cx init, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_body b = { 0 };
  cxi_carry c;
  int64_t first, last;
  cx_dtype counter = CX_I32;
  cx result = { 0, 0 };
  const bool known = whole_number(lo, &first) && whole_number(hi, &last);
  if (known && (first < INT32_MIN || last > INT32_MAX)) counter = CX_I64;
  if (!cxi_context_need())
    result = cxi_poison_last();
  else if ((known || fori_counter(&lo, &hi, &counter, &result)) &&
           cxi_carry_enter(&c, "fori", init, &result) &&
           fori_body(&b, f, counter, &c, &result))
    result = known ? fori_static(&b, &c, first, last)
                   : fori_dynamic(&b, &c, lo, hi, counter);
  cxi_body_end(&b);
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}
