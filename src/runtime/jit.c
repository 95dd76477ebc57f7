/* jit.c - the compiled way of a cx_jit function, with donation. */
#include <stdio.h>
#include <string.h>

#include "runtime/calls.h"
#include "runtime/devices.h"

/* A call being run. Arrays by operand: all in scratch memory. */
typedef struct running {
  cxi_invocation *call;
  cx_ctx *ctx;
  const cxi_program *p;
  bool *donate;        /* NULL: nothing is donated */
  cxi_array **donated; /* by operand: the array that is given up */
  cxi_array **made;    /* arrays for donated numbers; references */
  uint64_t *bits;
  const void **in;
  cxi_array **out;
} running;

/* -- donation ------------------------------------------------------------- */

/* The name of an operand among the arguments: "state.mems.0". */
static cxi_leaf_name name_of(const cxi_invocation *c, uint32_t operand) {
  const cxi_sig *sigs = c->sigs + c->f->n_captures;
  uint32_t leaf = operand - c->entry->n_lead - c->entry->n_extras, i = 0;
  while (i + 1 < c->n_args && leaf >= cxi_sig_leaves(sigs[i]))
    leaf -= cxi_sig_leaves(sigs[i++]);
  return cxi_leaf_path_of(cxi_argument_name(c->f->code, i).name, sigs[i], leaf);
}

bool *cxi_calls_donation(const cxi_invocation *c) {
  const cxi_code *code = c->f->code;
  const uint64_t donate = code->kind == CXI_CODE_JIT ? code->as.jit.donate : 0;
  const cxi_sig *sigs = c->sigs + c->f->n_captures;
  uint32_t at = c->entry->n_lead + c->entry->n_extras;
  bool *marks = cxi_scratch(c->entry->program->n_in + 1u);
  for (uint32_t i = 0; marks && i < c->n_args; i++)
    for (uint32_t k = cxi_sig_leaves(sigs[i]); k > 0; k--, at++)
      marks[at] = i < 64 && (donate >> i & 1);
  return marks;
}

static bool mark_donated(running *r) {
  const cxi_invocation *c = r->call;
  const uint64_t donate = c->f->code->as.jit.donate;
  r->donate = cxi_calls_donation(c);
  r->donated = cxi_scratch(r->p->n_in * sizeof *r->donated + 1);
  r->made = cxi_scratch(r->p->n_in * sizeof *r->made + 1);
  if (!r->donate || !r->donated || !r->made) {
    r->call->poison = cxi_report_memory();
    return false;
  }
  if (c->n_args >= 64 || !(donate >> c->n_args)) return true;
  r->call->poison = cxi_reportf(CX_ETREE,
                                "donate: %s has %u arguments, .donate names one"
                                " beyond",
                                c->f->code->name, c->n_args);
  return false;
}

/* A donated array alone may go: it is no other operand and nobody has its
 * address. */
static bool check_donated(running *r) {
  cxi_invocation *c = r->call;
  const uint32_t stamp = cxi_serial_next();
  for (uint32_t i = 0; i < r->p->n_in; i++) {
    if (!r->donate[i] || c->operands[i].kind != CXI_ITEM_ARRAY) continue;
    cxi_array *a = c->operands[i].as.array;
    const bool again = a->mark == stamp;
    uint32_t k = 0;
    while (again && c->operands[k].as.array != a) k++;
    if (again)
      c->poison = cxi_reportf(CX_ELIFETIME,
                              "donate: %s and %s are one buffer: donate"
                              " one, or a copy (cx_copy)",
                              name_of(c, k).text, name_of(c, i).text);
    else if (a->pinned)
      c->poison = cxi_reportf(CX_ELIFETIME,
                              "donate: %s is borrowed, or its"
                              " address was given out by cx_data",
                              name_of(c, i).text);
    if (again || a->pinned) return false;
    a->mark = stamp;
  }
  for (uint32_t i = 0; i < r->p->n_in; i++) {
    if (r->donate[i] || c->operands[i].kind != CXI_ITEM_ARRAY ||
        c->operands[i].as.array->mark != stamp)
      continue;
    uint32_t k = 0;
    while (
        !(r->donate[k] && c->operands[k].as.array == c->operands[i].as.array))
      k++;
    const bool is_argument = i >= c->entry->n_lead + c->entry->n_extras;
    c->poison = cxi_reportf(
        CX_ELIFETIME, "donate: %s is %s%s too: donate a copy (cx_copy)",
        name_of(c, k).text, is_argument ? "" : "captured by the function",
        is_argument ? name_of(c, i).text : "");
    return false;
  }
  return true;
}

/* Each donated buffer must have a result of its type to become: an unusable
 * donation is a mistake. Looked at when a signature is compiled. */
static bool check_usable(running *r) {
  cxi_invocation *c = r->call;
  bool *taken = cxi_scratch(r->p->n_out + 1u);
  if (!taken) return c->poison = cxi_report_memory(), false;
  for (uint32_t i = 0; i < r->p->n_in; i++) {
    if (!r->donate[i]) continue;
    const cxi_type type = r->p->values[i].type;
    uint32_t k = 0;
    while (k < r->p->n_out && (taken[k] || cxi_output_type(r->p, k) != type))
      k++;
    if (k < r->p->n_out) {
      taken[k] = true;
      continue;
    }
    char text[128];
    cxi_aval_print(text, sizeof text, cxi_type_aval(type));
    c->poison = cxi_reportf(CX_ESHAPE, "donate: %s (%s) fits no result of %s",
                            name_of(c, i).text, text, c->f->code->name);
    return false;
  }
  return true;
}

/* -- operands ------------------------------------------------------------- */

/* A donated number becomes an array, whose buffer can be taken. */
static bool number_array(running *r, uint32_t i) {
  cxi_array *a = cxi_array_make(r->call->operands[i].type, r->ctx->account);
  if (!a) {
    r->call->poison = cxi_report_memory();
    return false;
  }
  memcpy(a->data, &r->call->operands[i].as.bits, cxi_array_bytes(a));
  r->made[i] = r->donated[i] = a;
  r->in[i] = a->data;
  return true;
}

static bool fill_inputs(running *r) {
  cxi_invocation *c = r->call;
  for (uint32_t i = 0; i < r->p->n_in; i++) {
    const cxi_item item = c->operands[i];
    if (item.kind == CXI_ITEM_ARRAY) {
      if (!cxi_array_alive(item.as.array)) {
        c->poison = cxi_report_donated(c->f->code->name, item.as.array);
        return false;
      }
      r->in[i] = item.as.array->data;
      if (r->donate && r->donate[i]) r->donated[i] = item.as.array;
    } else if (r->donate && r->donate[i]) {
      if (!number_array(r, i)) return false;
    } else {
      r->bits[i] = item.as.bits;
      r->in[i] = &r->bits[i];
    }
  }
  return true;
}

/* -- the call ------------------------------------------------------------- */

/* The donated arrays end: their buffers are the results' that took them. */
static void consume(running *r, const cxi_executable *exe, bool good) {
  const cxi_name site = cxi_site_now();
  const cxi_name function = cxi_name_of(r->call->f->code->inner[0]->name);
  for (uint32_t k = 0; good && exe && k < r->p->n_out; k++) {
    const int from = cxi_executable_alias(exe, k);
    if (from < 0) continue;
    cxi_array_donate(r->donated[from], r->out[k], site, function);
    r->donated[from] = NULL;
  }
  for (uint32_t i = 0; i < r->p->n_in; i++)
    if (r->donated[i]) cxi_array_donate(r->donated[i], NULL, site, function);
}

static void release_made(running *r) {
  for (uint32_t i = 0; r->donate && i < r->p->n_in; i++)
    cxi_array_release(r->made[i]);
}

static bool report_failure(running *r, const cxi_error *error, bool started) {
  cxi_invocation *c = r->call;
  c->poison = started && r->donate
                  ? cxi_reportf(error->code,
                                "%s: %s (its donated arguments are"
                                " gone)",
                                c->f->code->name, error->text)
                  : cxi_report_error(c->f->code->name, error);
  return false;
}

/* Releases the results if they are refused. */
static bool check_results(running *r) {
  if (cxi_check_results(r->ctx, r->p, r->in, r->out, &r->call->poison))
    return true;
  for (uint32_t i = 0; i < r->p->n_out; i++) cxi_array_release(r->out[i]);
  return false;
}

static bool run_executable(running *r, const cxi_device *device) {
  cxi_error error;
  error.code = CX_OK;
  bool started = false;
  if (r->donate &&
      !__atomic_load_n(&r->call->entry->compiled, __ATOMIC_ACQUIRE) &&
      !check_usable(r))
    return false;
  /* While checks are on, inputs must still be there to be looked at. */
  const bool *donate = r->ctx->checks ? NULL : r->donate;
  cxi_executable *exe =
      cxi_calls_executable(r->call, device->backend, donate, &error);
  if (!exe) return report_failure(r, &error, false);
  const bool good = cxi_executable_call(r->ctx, exe, r->in, r->donated, r->out,
                                        &started, &error);
  const bool clean = !good || !r->ctx->checks || check_results(r);
  if (r->donate && started) consume(r, exe, good);
  cxi_executable_release(exe);
  if (!good) return report_failure(r, &error, started);
  return clean;
}

static bool run_plainly(running *r, const cxi_device *device) {
  cxi_error error = { 0 };
  cxi_view *views = cxi_scratch(r->p->n_in * sizeof *views + 1);
  if (!views) return r->call->poison = cxi_report_memory(), false;
  for (uint32_t i = 0; i < r->p->n_in; i++)
    views[i] = cxi_view_dense(*cxi_type_aval(r->p->values[i].type),
                              (void *)(uintptr_t)r->in[i]);
  if (r->donate && !check_usable(r)) return false;
  const bool good = device->run(r->ctx, r->p, views, r->out, &error);
  const bool clean = !good || !r->ctx->checks || check_results(r);
  if (r->donate) consume(r, NULL, good);
  if (!good) return report_failure(r, &error, true);
  return clean;
}

static bool run(running *r, const cxi_device *device) {
  if (r->call->f->code->as.jit.donate &&
      (!mark_donated(r) || !check_donated(r)))
    return false;
  if (!fill_inputs(r)) return false;
  return device->backend ? run_executable(r, device) : run_plainly(r, device);
}

bool cxi_run_compiled(cxi_invocation *call, cxi_item *out, cx *out_poison) {
  running r = { .call = call,
                .ctx = cxi_context_now(),
                .p = call->entry->program };
  cxi_error error; /* its text is long: only the code is cleared */
  error.code = CX_OK;
  const cxi_name name = call->f->code->as.jit.device;
  const cxi_device *device =
      name ? cxi_device_find(cxi_name_text(name), &error) : r.ctx->device;
  r.bits = cxi_scratch(r.p->n_in * sizeof *r.bits + 1);
  r.in = cxi_scratch(r.p->n_in * sizeof *r.in + 1);
  r.out = cxi_scratch(r.p->n_out * sizeof *r.out + 1);
  bool good = false;
  if (!device)
    call->poison = cxi_report_error(NULL, &error);
  else if (!r.bits || !r.in || !r.out)
    call->poison = cxi_report_memory();
  else
    good = run(&r, device);
  release_made(&r);
  for (uint32_t i = 0; good && i < r.p->n_out; i++) {
    out[i] = (cxi_item){ .kind = CXI_ITEM_ARRAY, .type = r.out[i]->type };
    out[i].as.array = r.out[i];
  }
  if (!good) *out_poison = call->poison;
  return good;
}
