/* host.c - callback, check, debug_print: what reaches the host. */
#include <string.h>

#include "base/alloc.h"
#include "base/host.h"
#include "primitives/control.h"
#include "primitives/debug_text.h"
#include "primitives/moves.h"

/* -- callback(x, ...; host, results): a C function ------------------------- */

/* The next type of a list; 0 if there is none that is right. */
static cxi_type next_type(const cxi_ints *list, uint32_t *at) {
  if (list->n - *at < 2) return 0;
  const int64_t type = list->d[*at], rank = list->d[*at + 1];
  *at += 2;
  if (!cxi_dtype_valid((int)type) || rank < 0 || rank > CX_MAX_DIMS ||
      rank > list->n - *at)
    return 0;
  cx_aval aval = { (cx_dtype)type, { .n = (int)rank } };
  for (int i = 0; i < (int)rank; i++) aval.shape.d[i] = list->d[(*at)++];
  if (!cxi_dims_valid(&aval.shape) || cxi_aval_bytes(&aval) < 0) return 0;
  return cxi_type_make(aval.type, aval.shape);
}

static bool infer_callback(cxi_infer *c) {
  const cxi_callback_params *p = c->params;
  cxi_host host;
  if (!cxi_host_find(p->host, &host))
    return cxi_infer_fail(c, CX_EUSER, "this process has no host function %lld",
                          (long long)p->host);
  if (p->lanes < CX_LANES_SEQUENTIAL || p->lanes > CX_LANES_EXPAND)
    return cxi_infer_fail(c, CX_EUSER, "lanes %lld", (long long)p->lanes);
  if (p->ordered && !p->effect)
    return cxi_infer_fail(c, CX_EUSER, "ordered, but no effect");
  for (uint32_t at = 0; at < p->results.n;) {
    const cxi_type type = next_type(&p->results, &at);
    if (!type) return cxi_infer_fail(c, CX_ESHAPE, "results are no types");
    if (!cxi_infer_result(c, type)) return false;
  }
  return true;
}

static uint16_t effects_callback(const void *params) {
  const cxi_callback_params *p = params;
  return p->ordered  ? CXI_EFFECT_ORDERED
         : p->effect ? CXI_EFFECT_DEBUG
                     : CXI_EFFECT_NONE;
}

static void jvp_callback(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                         cx *dout) {
  (void)in, (void)dx, (void)out, (void)dout;
  for (uint32_t i = 0; i < r->n_out; i++)
    if (cxi_type_is_float(r->out_types[i])) {
      cxi_fail(CX_ENORULE,
               "callback: a function of the host has no derivative; "
               "cx_stop_gradient its operands, or give it a custom rule");
      return;
    }
}

/* All lanes at once: the results have them in front. */
static void batch_whole(const cxi_rule *r, const cx *in, const int *axis,
                        int64_t size, cx *out, int *out_axis) {
  cxi_callback_params p = *(const cxi_callback_params *)r->params;
  bool ok = true;
  cx *args = cxi_array(r->n_in, sizeof *args, &ok);
  int64_t *results =
      cxi_array(p.results.n + (size_t)r->n_out, sizeof *results, &ok);
  if (!ok) {
    cxi_rule_no_memory(r->n_out, out);
    return;
  }
  for (uint32_t i = 0; i < r->n_in; i++)
    args[i] =
        cxi_batch_to(in[i], axis[i], 0,
                     axis[i] < 0 && p.lanes == CX_LANES_EXPAND ? 1 : size);
  uint32_t n = 0;
  for (uint32_t i = 0; i < r->n_out; i++) {
    const cx_aval *type = cxi_type_aval(r->out_types[i]);
    results[n++] = type->type;
    results[n++] = type->shape.n + 1;
    results[n++] = size;
    for (int k = 0; k < type->shape.n; k++) results[n++] = type->shape.d[k];
    out_axis[i] = 0;
  }
  p.results = (cxi_ints){ n, results };
  cxi_callback(&p, r->n_in, args, r->n_out, out);
}

static void batch_callback(const cxi_rule *r, const cx *in, const int *axis,
                           int64_t size, cx *out, int *out_axis) {
  const cxi_callback_params *p = r->params;
  if (p->ordered) {
    cxi_fail(CX_ENORULE, "callback: the lanes of a vmap have no order; leave "
                         ".ordered away, or map by cx_map");
    return;
  }
  if (p->lanes == CX_LANES_SEQUENTIAL)
    cxi_batch_lanes(r, in, axis, size, out, out_axis);
  else
    batch_whole(r, in, axis, size, out, out_axis);
}

/* A dense buffer with the elements of the view: its own, or scratch. */
static bool buffer_of(const cxi_view *view, cx_buf *out) {
  *out = (cx_buf){ view->data, view->type.type, view->type.shape };
  if (cxi_view_is_dense(view)) return true;
  out->data = cxi_scratch((size_t)cxi_aval_bytes(&view->type) + 1);
  if (!out->data) return false;
  const cxi_view copy = cxi_view_dense(view->type, out->data);
  cxi_view_copy(&copy, view);
  return true;
}

/* A bool is 0 or 1, whatever the function wrote. */
static void normalise(const cx_buf *out) {
  if (out->type != CX_BOOL) return;
  uint8_t *at = out->data;
  for (int64_t n = cxi_dims_count(&out->shape); n > 0; n--, at++)
    *at = *at != 0;
}

static bool evaluate_callback(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_callback_params *p = e->params;
  const cxi_mark mark = cxi_scratch_mark();
  cxi_host host;
  cx_buf *bufs = cxi_scratch((e->n_in + (size_t)e->n_out) * sizeof *bufs + 1);
  bool ok = bufs != NULL && cxi_host_find(p->host, &host);
  for (uint32_t i = 0; ok && i < e->n_in; i++) ok = buffer_of(&in[i], &bufs[i]);
  for (uint32_t i = 0; ok && i < e->n_out; i++)
    ok = buffer_of(&out[i], &bufs[e->n_in + i]);
  if (!ok) cxi_error_set(e->error, CX_EMEMORY, "no memory for a callback");
  if (ok) {
    const cx_code code = host.f(bufs, bufs + e->n_in, host.user);
    ok = code == CX_OK;
    if (!ok)
      cxi_error_set(e->error, code, "callback: the function returned %s",
                    cx_code_name(code));
  }
  for (uint32_t i = 0; ok && i < e->n_out; i++) normalise(&bufs[e->n_in + i]);
  cxi_scratch_reset(mark);
  return ok;
}

static const char *const no_examples[] = { NULL };

const cxi_row cxi_row_callback = {
  .prim = CXI_PRIM_callback,
  .form = CXI_FORM_HOST,
  .formula = "what a C function makes of x, ...",
  .infer = infer_callback,
  .effects = effects_callback,
  .jvp = jvp_callback,
  .batch = batch_callback,
  .evaluate = evaluate_callback,
  .no_transpose = "a function of the host",
  .examples = no_examples,
};

/* -- check(good, x, ...; message): an error where good does not hold -------- */

static bool infer_check(cxi_infer *c) {
  const cxi_check_params *p = c->params;
  if (c->n_in == 0)
    return cxi_infer_fail(c, CX_ETREE, "takes 1 operand or more");
  return cxi_infer_kind(c, 0, CXI_ACCEPT_BOOL) &&
         (c->n_in == 1 ||
          cxi_debug_format_check(cxi_name_text(p->message), c->n_in - 1,
                                 c->in + 1, &c->error));
}

static uint16_t effects_check(const void *params) {
  (void)params;
  return CXI_EFFECT_DEBUG;
}

/* All lanes at once; lane by lane where the message shows values. */
static void batch_check(const cxi_rule *r, const cx *in, const int *axis,
                        int64_t size, cx *out, int *out_axis) {
  if (r->n_in > 1)
    cxi_batch_lanes(r, in, axis, size, out, out_axis);
  else
    cxi_check(((const cxi_check_params *)r->params)->message, 1, in);
}

static cx valid_check(const cxi_rule *r, const cx *in) {
  (void)r;
  return cxi_reduce(CXI_PRIM_reduce_and, in[0],
                    cxi_dims_range(0, cxi_rank_at(in[0])));
}

static bool fail_check(const cxi_eval *e, const cxi_view *in) {
  const char *message =
      cxi_name_text(((const cxi_check_params *)e->params)->message);
  if (e->n_in == 1)
    return cxi_error_set(e->error, CX_EUSER, "check: %.400s", message);
  char *text = cxi_debug_text(message, in + 1);
  if (!text)
    return cxi_error_set(e->error, CX_EMEMORY, "no memory for a check");
  const size_t n = strlen(text);
  if (n && text[n - 1] == '\n') text[n - 1] = 0;
  cxi_error_set(e->error, CX_EUSER, "check: %.400s", text);
  cxi_free(text);
  return false;
}

static bool evaluate_check(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  (void)out;
  const cx_dims *shape = &in[0].type.shape;
  int64_t at[CX_MAX_DIMS] = { 0 };
  if (cxi_dims_count(shape) == 0) return true;
  do
    if (!*(const uint8_t *)cxi_view_element(&in[0], at, 1))
      return fail_check(e, in);
  while (cxi_index_next(shape, at));
  return true;
}

const cxi_row cxi_row_check = {
  .prim = CXI_PRIM_check,
  .form = CXI_FORM_HOST,
  .formula = "an error where good does not hold",
  .infer = infer_check,
  .valid = valid_check,
  .invalid = "a check",
  .effects = effects_check,
  .jvp = cxi_jvp_none,
  .batch = batch_check,
  .evaluate = evaluate_check,
  .no_transpose = "no results",
  .examples = no_examples,
};

/* -- debug_print(x, ...; format): a line when the program runs ------------- */

static bool infer_debug_print(cxi_infer *c) {
  const cxi_debug_print_params *p = c->params;
  return cxi_debug_format_check(cxi_name_text(p->format), c->n_in, c->in,
                                &c->error);
}

static uint16_t effects_debug_print(const void *params) {
  (void)params;
  return CXI_EFFECT_DEBUG;
}

static bool evaluate_debug_print(cxi_eval *e, const cxi_view *in,
                                 cxi_view *out) {
  const cxi_debug_print_params *p = e->params;
  (void)out;
  char *text = cxi_debug_text(cxi_name_text(p->format), in);
  if (!text)
    return cxi_error_set(e->error, CX_EMEMORY, "no memory for a debug print");
  cxi_debug_write(text);
  cxi_free(text);
  return true;
}

const cxi_row cxi_row_debug_print = {
  .prim = CXI_PRIM_debug_print,
  .form = CXI_FORM_HOST,
  .formula = "a line of text with x, ...",
  .infer = infer_debug_print,
  .effects = effects_debug_print,
  .jvp = cxi_jvp_none,
  .batch = cxi_batch_lanes,
  .evaluate = evaluate_debug_print,
  .no_transpose = "no results",
  .examples = no_examples,
};
