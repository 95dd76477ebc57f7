/* derive_batching.c - custom_vmap: a function with a batching rule, which is
 * traced when a batch of a size is asked for. */
#include "trace/derive.h"

#include <string.h>

#include "base/alloc.h"
#include "base/mutex.h"
#include "ir/batching.h"
#include "trace/axes.h"

static const cx_field fields_of_batch[] = {
  { "size", offsetof(cx_batch, size), sizeof(int64_t), &cx_rec_int64_t },
  { "in", offsetof(cx_batch, in), sizeof((cx_batch *)0)->in, &cx_rec_bool },
};
const cx_rec cx_rec_cx_batch = { "cx_batch", sizeof(cx_batch), 2,
                                 fields_of_batch };

/* -- rules by number ------------------------------------------------------ */

/* A rule for arguments of these structures. */
typedef struct rule {
  const cxi_code *function, *code;
  uint32_t n_skip; /* operands before the arguments' leaves */
  cx_promote promotion;
  cxi_sig args, out; /* a tuple; f's result */
} rule;

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static rule *rules;
static uint32_t n_rules, cap_rules;

static bool same_rule(const rule *a, const rule *b) {
  return a->function == b->function && a->code == b->code &&
         a->n_skip == b->n_skip && a->promotion == b->promotion &&
         a->args == b->args && a->out == b->out;
}

static bool find_rule(int64_t number, rule *out) {
  cxi_mutex_lock(&lock);
  const bool known = number > 0 && number <= n_rules;
  if (known) *out = rules[number - 1];
  cxi_mutex_unlock(&lock);
  return known;
}

static bool same_types(cxi_sig sig, const cxi_type *types, uint32_t n) {
  if (cxi_sig_leaves(sig) != n) return false;
  cxi_type *own = cxi_scratch(n * sizeof *own + 1);
  if (!own) return false;
  cxi_sig_types(sig, own);
  for (uint32_t i = 0; i < n; i++)
    if (own[i] != types[i]) return false;
  return true;
}

/* A number may come from a text, and then from anybody. */
static bool fits(int64_t number, const cxi_program *body) {
  rule r;
  if (!find_rule(number, &r) || body->n_in < r.n_skip) return false;
  const cxi_mark mark = cxi_scratch_mark();
  cxi_type *types =
      cxi_scratch((body->n_in + (size_t)body->n_out + 1) * sizeof *types);
  bool good = types != NULL;
  for (uint32_t i = 0; good && i < body->n_in; i++)
    types[i] = body->values[i].type;
  for (uint32_t i = 0; good && i < body->n_out; i++)
    types[body->n_in + i] = cxi_output_type(body, i);
  good = good && same_types(r.args, types + r.n_skip, body->n_in - r.n_skip) &&
         same_types(r.out, types + body->n_in, body->n_out);
  cxi_scratch_reset(mark);
  return good;
}

/* -- the rule's program --------------------------------------------------- */

/* Where in a described struct there is a cx_batch; -1: nowhere. Recursion
 * follows the nesting of C types. */
static ptrdiff_t place_of_batch(const cx_rec *rec) {
  if (rec == &cx_rec_cx_batch) return 0;
  for (int i = 0; i < rec->n_fields; i++) {
    const ptrdiff_t at = place_of_batch(rec->fields[i].type);
    if (at >= 0) return (ptrdiff_t)rec->fields[i].offset + at;
  }
  return -1;
}

/* The rule with its cx_batch filled in. */
static const cxi_code *told(const cxi_code *code, const cx_batch *batch) {
  const cx_rec *rec = code->kind == CXI_CODE_DEF ? code->def->env : NULL;
  const ptrdiff_t at = rec ? place_of_batch(rec) : -1;
  if (at < 0) return code;
  char *settings = cxi_alloc(rec->size);
  if (!settings) return cxi_report_memory(), NULL;
  memcpy(settings, code->env, rec->size);
  memcpy(settings + at, batch, sizeof *batch);
  cx_fn f = cx_fn_make_(code->def, settings, code->def->at);
  cxi_free(settings);
  return f ? f->code : NULL;
}

/* The argument with the batch in front of all its leaves. */
static cxi_sig batched_arg(cxi_sig sig, int64_t size) {
  const uint32_t n = cxi_sig_leaves(sig);
  cxi_type *types = cxi_scratch(n * sizeof *types + 1);
  if (!types) return 0;
  cxi_sig_types(sig, types);
  for (uint32_t i = 0; i < n; i++)
    types[i] = cxi_type_with_shape(
        types[i], cxi_dims_with(*cxi_type_shape(types[i]), 0, size));
  return cxi_sig_with_types(sig, types);
}

/* Which arguments have a batched leaf; then all their leaves are. */
static bool fill_batch(const rule *r, bool *batched, cx_batch *out) {
  const cxi_structure *args = cxi_structure_of(r->args);
  for (uint32_t i = 0; i < r->n_skip; i++) {
    if (!batched[i]) continue;
    cxi_fail(CX_ETREE,
             "%s: an array that the function did not get as an argument is "
             "mapped: pass it",
             r->function->name);
    return false;
  }
  uint32_t at = r->n_skip;
  for (uint32_t i = 0; i < args->n; i++) {
    const uint32_t n = cxi_sig_leaves(args->items[i]);
    for (uint32_t k = 0; k < n; k++) out->in[i] |= batched[at + k];
    for (uint32_t k = 0; k < n; k++) batched[at + k] = out->in[i];
    at += n;
  }
  return true;
}

/* Whether the rule returned what f does, each leaf with the batch in front or
 * without. */
static bool check_results(const rule *r, int64_t size, const cxi_entry *e,
                          bool *batched_out) {
  const uint32_t n = cxi_sig_leaves(r->out);
  cxi_type *want = cxi_scratch(n * sizeof *want + 1);
  cxi_type *got = cxi_scratch(n * sizeof *got + 1);
  char a[160], b[160];
  if (!want || !got) {
    cxi_fail(CX_EMEMORY, "out of memory");
    return false;
  }
  cxi_sig_types(r->out, want);
  if (cxi_sig_leaves(e->out) != n ||
      cxi_sig_with_types(e->out, want) != r->out) {
    cxi_sig_print(a, sizeof a, r->out);
    cxi_sig_print(b, sizeof b, e->out);
    cxi_fail(CX_ETREE,
             "%s: the batching rule %s must return what the function does, %s, "
             "each array with the batch at axis 0 or without it; got %s",
             r->function->name, r->code->name, a, b);
    return false;
  }
  cxi_sig_types(e->out, got);
  for (uint32_t i = 0; i < n; i++) {
    const cxi_type wider = cxi_type_with_shape(
        want[i], cxi_dims_with(*cxi_type_shape(want[i]), 0, size));
    batched_out[i] = got[i] == wider;
    if (got[i] == want[i] || batched_out[i]) continue;
    cxi_aval_print(a, sizeof a, cxi_type_aval(want[i]));
    cxi_aval_print(b, sizeof b, cxi_type_aval(got[i]));
    const bool alone = cxi_sig_is_leaf(r->out);
    cxi_fail(CX_ESHAPE,
             "%s: the batching rule %s returned %s%s%s, for %s and a batch of "
             "%lld",
             r->function->name, r->code->name, b, alone ? "" : " at ",
             alone ? "" : cxi_leaf_path_of("", r->out, i).text, a,
             (long long)size);
    return false;
  }
  return true;
}

/* The rule traced for the batch, with a reference; NULL after reporting. */
static cxi_entry *trace_rule(const rule *r, const cx_batch *batch) {
  const cxi_structure *args = cxi_structure_of(r->args);
  cxi_sig *sigs = cxi_scratch(args->n * sizeof *sigs + 1);
  const cxi_code *code = told(r->code, batch);
  cxi_request q = { .code = code, .n_args = args->n, .args = sigs };
  cxi_entry *entry = NULL;
  if (code && sigs) {
    for (uint32_t i = 0; i < args->n; i++)
      sigs[i] = batch->in[i] ? batched_arg(args->items[i], batch->size)
                             : args->items[i];
    entry = cxi_resolve(&q);
  }
  if (!entry) {
    cxi_fail(code && sigs ? CX_ETRACE : CX_EMEMORY,
             "%s: the batching rule %s failed", r->function->name,
             r->code->name);
    return NULL;
  }
  if (entry->n_extras == 0) return entry;
  cxi_fail(CX_ETRACE,
           "%s: the batching rule %s uses an array that is no argument of it: "
           "pass it to the function",
           r->function->name, r->code->name);
  cxi_entry_release(entry);
  return NULL;
}

/* Under the settings of the call, outside all named axes: programs are
 * remembered for all who ask. */
static cxi_entry *trace_alone(const rule *r, const cx_batch *batch) {
  cx_ctx *ctx = cxi_context_now();
  if (!ctx) {
    cxi_fail(CX_ETRACE, "%s: a batching rule needs a context",
             r->function->name);
    return NULL;
  }
  const cxi_named_axis *axes = cxi_named_axes_use(NULL);
  const cx_promote promotion = ctx->promotion;
  ctx->promotion = r->promotion;
  cxi_entry *entry = trace_rule(r, batch);
  ctx->promotion = promotion;
  cxi_named_axes_use(axes);
  return entry;
}

static const cxi_program *rule_program(int64_t number, int64_t size,
                                       bool *batched, bool *batched_out,
                                       uint32_t *out_skip) {
  rule r;
  cx_batch batch = { .size = size };
  if (!find_rule(number, &r)) {
    cxi_fail(CX_EUSER, "this process has no batching rule %lld",
             (long long)number);
    return NULL;
  }
  *out_skip = r.n_skip;
  if (!fill_batch(&r, batched, &batch)) return NULL;
  cxi_entry *entry = trace_alone(&r, &batch);
  const cxi_program *p = NULL;
  if (entry && check_results(&r, size, entry, batched_out)) {
    p = cxi_hold(entry->program);
    if (!p) cxi_fail(CX_EMEMORY, "out of memory");
  }
  cxi_entry_release(entry);
  return p;
}

static const cxi_batching installed = { fits, rule_program };

/* Equal rules have one number; 0 without memory. */
static uint32_t number_of(const rule *r) {
  cxi_mutex_lock(&lock);
  cxi_batching_installed = &installed;
  uint32_t i = 0;
  while (i < n_rules && !same_rule(&rules[i], r)) i++;
  if (i == n_rules) {
    if (cxi_grow(&rules, &cap_rules, n_rules + (size_t)1, sizeof *rules))
      rules[n_rules++] = *r;
    else
      i = UINT32_MAX;
  }
  cxi_mutex_unlock(&lock);
  return i + 1;
}

/* -- the equation --------------------------------------------------------- */

cxi_entry *cxi_derive_custom_vmap(cxi_request *q) {
  cxi_derivation d;
  const bool has_rule = q->code->n_inner > 1;
  if (has_rule && q->n_captures)
    return cxi_request_fail(q, CX_ETREE,
                            "%s: a function with a rule of its own may not"
                            " capture arrays: pass them as arguments",
                            q->code->name);
  if (!cxi_derive_inner(&d, q, 0, q->n_args, q->args)) return NULL;
  cxi_custom_vmap_params params = { .body = d.p,
                                    .name =
                                        cxi_name_of(q->code->inner[0]->name) };
  if (has_rule) {
    const rule r = { .function = q->code,
                     .code = q->code->inner[1],
                     .n_skip = d.n_lead,
                     .promotion = cxi_context_now()->promotion,
                     .args = cxi_sig_tuple(q->n_args, q->args),
                     .out = d.inner->out };
    if (r.args) params.rule = number_of(&r);
    if (!params.rule) {
      cxi_error_set(&d.error, CX_EMEMORY, "out of memory");
      return cxi_derive_fail(&d);
    }
  }
  cx *out = cxi_scratch(d.p->n_out * sizeof *out + 1);
  if (!out || !cxi_derive_open(&d)) return cxi_derive_fail(&d);
  cxi_emit(CXI_PRIM_custom_vmap, &params, d.n_in, d.in, d.p->n_out, out);
  return cxi_derive_close(&d, d.p->n_out, out, d.inner->out);
}
