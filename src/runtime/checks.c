/* checks.c - where the first NaN or index out of range arises: the program
 * again, one equation at a time, and what is within calls, loops and branches.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/builder.h"
#include "ir/row.h"
#include "runtime/bounds.h"
#include "trace/device.h"

bool cxi_has_nan(cxi_type type, const void *data) {
  const cx_aval *aval = cxi_type_aval(type);
  if (!cxi_dtype_is_float(aval->type)) return false;
  const int64_t n = cxi_dims_count(&aval->shape);
  const size_t bytes = cxi_dtype_bytes(aval->type);
  for (int64_t i = 0; i < n; i++)
    if (isnan(cxi_element_get(aval->type,
                              (const char *)data + i * (int64_t)bytes)))
      return true;
  return false;
}

/* The values of a program that is run again. */
typedef struct again {
  cx_ctx *ctx;
  const cxi_program *p;
  const void **data; /* by value */
  cxi_array **made;  /* by value; references */
  void **copied;     /* by value: results of programs within, owned */
} again;

static void again_end(again *a) {
  for (uint32_t i = 0; a->made && i < a->p->n_values; i++)
    cxi_array_release(a->made[i]);
  for (uint32_t i = 0; a->copied && i < a->p->n_values; i++)
    cxi_free(a->copied[i]);
}

static bool again_start(again *a, const void *const *in) {
  const cxi_program *p = a->p;
  a->data = cxi_scratch(p->n_values * sizeof *a->data + 1);
  a->made = cxi_scratch(p->n_values * sizeof *a->made + 1);
  a->copied = cxi_scratch(p->n_values * sizeof *a->copied + 1);
  if (!a->data || !a->made || !a->copied) return false;
  for (uint32_t i = 0; i < p->n_in; i++) a->data[i] = in[i];
  for (uint32_t i = 0; i < p->n_literals; i++)
    a->data[p->n_in + i] = &p->literals[i];
  return true;
}

/* The one-equation program that runs any equation. */
static const cxi_program *program_of(const cxi_program *p,
                                     const cxi_equation *e, cxi_error *error) {
  cxi_builder b;
  cx *handles = cxi_scratch((e->n_in + e->n_out) * sizeof *handles + 1);
  if (!handles) return NULL;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < e->n_in; i++)
    handles[i] =
        cxi_builder_input(&b, p->values[cxi_operands_of(p, e)[i]].type);
  cxi_emit((cxi_prim)e->prim, e->params, e->n_in, handles, e->n_out,
           handles + e->n_in);
  return cxi_builder_finish(&b, p->name, e->n_in, handles, e->n_out,
                            handles + e->n_in, error);
}

static cxi_view *operands_of(const again *a, const cxi_equation *e) {
  cxi_view *in = cxi_scratch(e->n_in * sizeof *in + 1);
  for (uint32_t i = 0; in && i < e->n_in; i++) {
    const uint32_t v = cxi_operands_of(a->p, e)[i];
    in[i] = cxi_view_dense(*cxi_type_aval(a->p->values[v].type),
                           (void *)(uintptr_t)a->data[v]);
  }
  return in;
}

static bool run_equation(again *a, const cxi_equation *e, const cxi_view *in) {
  cxi_error error = { 0 };
  const cxi_program *one = program_of(a->p, e, &error);
  const bool good =
      one && a->ctx->device->run(a->ctx, one, in, a->made + e->out, &error);
  cxi_program_release(one);
  for (uint32_t i = 0; good && i < e->n_out; i++)
    a->data[e->out + i] = a->made[e->out + i]->data;
  return good;
}

static bool any_nan(const again *a, const cxi_equation *e, bool results) {
  for (uint32_t i = 0; i < (results ? e->n_out : e->n_in); i++) {
    const uint32_t v = results ? e->out + i : cxi_operands_of(a->p, e)[i];
    if (cxi_has_nan(a->p->values[v].type, a->data[v])) return true;
  }
  return false;
}

static cx report(const cxi_equation *e, const cxi_error *error) {
  const cxi_name before = cxi_site_use(e->site ? e->site : cxi_site_now());
  const cx poison =
      cxi_reportf(error->code, "%s: %s%s%s", cxi_prim_name((cxi_prim)e->prim),
                  error->text, e->scope ? " in " : "", cxi_name_text(e->scope));
  cxi_site_use(before);
  return poison;
}

static cx report_nan(const cxi_program *p, const cxi_equation *e) {
  char type[128];
  cxi_error error = { 0 };
  cxi_aval_print(type, sizeof type, cxi_type_aval(p->values[e->out].type));
  cxi_error_set(&error, CX_ENAN,
                "the result %s has a NaN, the operands have none", type);
  return report(e, &error);
}

/* -- the search -----------------------------------------------------------
 * Each equation runs once: one with programs within as the equations of those.
 * The first that makes a NaN within a program is what is wrong only if the
 * results around it have the NaN too. */

/* What is wrong ends it; so does short memory, the results are then taken as
 * they are. */
typedef enum finding { CLEAN, FOUND, GIVEN_UP } finding;

typedef struct hunt {
  cx_ctx *ctx;
  cx poison; /* once something was found */
  int depth; /* of programs within programs */
  bool nans; /* the program's results have one that its inputs have not */
  const cxi_program *suspect_in;
  const cxi_equation *suspect; /* makes a NaN; NULL: none yet */
} hunt;

static finding search(hunt *h, const cxi_program *p, const void *const *in,
                      void *const *out);

static size_t output_bytes(const cxi_program *p, uint32_t output) {
  return (size_t)cxi_aval_bytes(cxi_type_aval(cxi_output_type(p, output)));
}

/* Room for a program's outputs; NULL without memory. */
static void **outputs_room(const cxi_program *p) {
  void **out = cxi_scratch(p->n_out * sizeof *out + 1);
  for (uint32_t i = 0; out && i < p->n_out; i++)
    if (!(out[i] = cxi_scratch(output_bytes(p, i) + 1))) return NULL;
  return out;
}

/* Carries move from `out` to `in`, which take turns. */
static void hand_on(uint32_t n, void **out, const void **in, void **other) {
  for (uint32_t i = 0; i < n; i++) {
    void *next = other[i];
    in[i] = out[i];
    other[i] = out[i];
    out[i] = next;
  }
}

static finding search_scan(hunt *h, const cxi_scan_params *s,
                           const cxi_view *in, void *const *results) {
  const uint32_t n = s->body->n_in, first = (uint32_t)s->n_consts;
  const uint32_t n_carry = (uint32_t)s->n_carry, xs = first + n_carry;
  const void **args = cxi_scratch(n * sizeof *args + 1);
  void **out = outputs_room(s->body), **other = outputs_room(s->body);
  if (!args || !out || !other) return GIVEN_UP;
  for (uint32_t i = 0; i < xs; i++) args[i] = in[i].data;
  finding found = CLEAN;
  for (int64_t k = 0; found == CLEAN && k < s->length; k++) {
    const int64_t at = s->reverse ? s->length - 1 - k : k;
    for (uint32_t i = xs; i < n; i++) args[i] = cxi_view_at(&in[i], 0, at).data;
    for (uint32_t i = n_carry; i < s->body->n_out; i++)
      out[i] = (char *)results[i] + (size_t)at * output_bytes(s->body, i);
    found = search(h, s->body, args, out);
    hand_on(n_carry, out, args + first, other);
  }
  for (uint32_t i = 0; found == CLEAN && i < n_carry; i++)
    memcpy(results[i], args[first + i], output_bytes(s->body, i));
  return found;
}

static finding search_while(hunt *h, const cxi_while_params *w,
                            const cxi_view *in, void *const *results) {
  const uint32_t n_cond = (uint32_t)w->n_cond_consts;
  const uint32_t n_body = (uint32_t)w->n_body_consts, n = w->body->n_out;
  const void **test = cxi_scratch((n_cond + n) * sizeof *test + 1);
  const void **args = cxi_scratch((n_body + n) * sizeof *args + 1);
  void **out = outputs_room(w->body), **other = outputs_room(w->body);
  void **goes_on = outputs_room(w->cond);
  if (!test || !args || !out || !other || !goes_on) return GIVEN_UP;
  for (uint32_t i = 0; i < n_cond; i++) test[i] = in[i].data;
  for (uint32_t i = 0; i < n_body + n; i++) args[i] = in[n_cond + i].data;
  for (;;) {
    memcpy(test + n_cond, args + n_body, n * sizeof *test);
    finding found = search(h, w->cond, test, goes_on);
    if (found != CLEAN) return found;
    if (!*(const uint8_t *)goes_on[0]) break;
    found = search(h, w->body, args, out);
    if (found != CLEAN) return found;
    hand_on(n, out, args + n_body, other);
  }
  for (uint32_t i = 0; i < n; i++)
    memcpy(results[i], args[n_body + i], output_bytes(w->body, i));
  return CLEAN;
}

static finding search_cond(hunt *h, const cxi_cond_params *c,
                           const void *const *in, void *const *results) {
  const int32_t index = *(const int32_t *)in[0];
  const uint32_t most = c->branches.n - 1;
  const uint32_t k = index < 0                ? 0
                     : (uint32_t)index > most ? most
                                              : (uint32_t)index;
  return search(h, c->branches.d[k], in + 1, results);
}

/* Whether an equation runs as the equations of its programs. */
static bool is_searched_within(const hunt *h, const cxi_equation *e) {
  enum { DEEPEST = 200 };
  const cxi_prim prim = (cxi_prim)e->prim;
  return h->depth < DEEPEST &&
         (prim == CXI_PRIM_scan || prim == CXI_PRIM_while ||
          prim == CXI_PRIM_cond || cxi_params_body(prim, e->params));
}

/* The equation's results from the programs within it. */
static finding search_within(hunt *h, again *a, const cxi_equation *e,
                             const cxi_view *in) {
  const cxi_program *body = cxi_params_body((cxi_prim)e->prim, e->params);
  const void **data = cxi_scratch(e->n_in * sizeof *data + 1);
  void *const *results = a->copied + e->out;
  if (!data) return GIVEN_UP;
  for (uint32_t i = 0; i < e->n_in; i++) data[i] = in[i].data;
  for (uint32_t i = 0; i < e->n_out; i++) {
    const cx_aval *type = cxi_type_aval(a->p->values[e->out + i].type);
    a->data[e->out + i] = a->copied[e->out + i] =
        cxi_alloc_aligned((size_t)cxi_aval_bytes(type));
    if (!results[i]) return GIVEN_UP;
  }
  h->depth++;
  const finding found =
      body                        ? search(h, body, data, results)
      : e->prim == CXI_PRIM_scan  ? search_scan(h, e->params, in, results)
      : e->prim == CXI_PRIM_while ? search_while(h, e->params, in, results)
                                  : search_cond(h, e->params, data, results);
  h->depth--;
  return found;
}

static finding search_equation(hunt *h, again *a, const cxi_equation *e) {
  cxi_error error = { 0 };
  const cxi_view *in = operands_of(a, e);
  if (!in) return GIVEN_UP;
  if (!cxi_bounds_check((cxi_prim)e->prim, e->params, in, &error)) {
    h->poison = report(e, &error);
    return FOUND;
  }
  const cxi_program *before_in = h->suspect_in;
  const cxi_equation *before = h->suspect;
  if (is_searched_within(h, e)) {
    const finding found = search_within(h, a, e, in);
    if (found != CLEAN) return found;
  } else if (!run_equation(a, e, in)) {
    return GIVEN_UP;
  }
  if (!h->nans || !any_nan(a, e, true) || any_nan(a, e, false)) {
    h->suspect_in = before_in;
    h->suspect = before;
    return CLEAN;
  }
  if (!h->suspect) {
    h->suspect_in = a->p;
    h->suspect = e;
  }
  if (h->depth > 0) return CLEAN;
  h->poison = report_nan(h->suspect_in, h->suspect);
  return FOUND;
}

/* All equations in order; outputs are copied to out[], unless NULL. */
static finding search(hunt *h, const cxi_program *p, const void *const *in,
                      void *const *out) {
  again a = { .ctx = h->ctx, .p = p };
  const cxi_mark mark = cxi_scratch_mark();
  finding found = again_start(&a, in) ? CLEAN : GIVEN_UP;
  for (uint32_t i = 0; i < p->n_equations && found == CLEAN; i++) {
    const cxi_mark inner = cxi_scratch_mark();
    found = search_equation(h, &a, &p->equations[i]);
    cxi_scratch_reset(inner);
  }
  for (uint32_t i = 0; out && found == CLEAN && i < p->n_out; i++)
    memcpy(out[i], a.data[p->outputs[i]], output_bytes(p, i));
  again_end(&a);
  cxi_scratch_reset(mark);
  return found;
}

/* Whether the results have a NaN and no input has. */
static bool makes_nan(const cxi_program *p, const void *const *in,
                      cxi_array *const *out) {
  bool found = false;
  for (uint32_t i = 0; i < p->n_out && !found; i++)
    found = cxi_has_nan(out[i]->type, out[i]->data);
  for (uint32_t i = 0; i < p->n_in && found; i++)
    found = !cxi_has_nan(p->values[i].type, in[i]);
  return found;
}

bool cxi_check_results(cx_ctx *ctx, const cxi_program *p, const void *const *in,
                       cxi_array *const *out, cx *out_poison) {
  hunt h = { .ctx = ctx, .nans = makes_nan(p, in, out) };
  if (!h.nans && !cxi_bounds_any(p)) return true;
  if (search(&h, p, in, NULL) != FOUND) return true;
  *out_poison = h.poison;
  return false;
}
