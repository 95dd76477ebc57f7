/* properties.c - what must hold of every program: text, and what is shared. */
#include "support/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/batching.h"
#include "support/rows.h"

cx_ctx *properties_cpu, *properties_reference;

bool properties_open(void) {
  batching_install();
  properties_reference = cx_open("reference");
  properties_cpu = cx_open("cpu", .threads = 1);
  return properties_cpu && properties_reference;
}

void properties_close(void) {
  cx_close(properties_cpu);
  cx_close(properties_reference);
}

void refute(verdict *v, const char *format, ...) {
  if (v->failed) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(v->text, sizeof v->text, format, arguments);
  va_end(arguments);
  v->failed = true;
}

bool made_it(verdict *v, bool ok, const char *what, const cxi_error *error) {
  if (!ok) refute(v, "%s: %s", what, error->text);
  return ok;
}

uint64_t mixed(uint64_t seed, uint64_t stream) {
  uint64_t state = seed * 0x2545f4914f6cdd1du + stream;
  return random_next(&state);
}

/* -- values --------------------------------------------------------------- */

arrays inputs_of(const cxi_program *p, uint64_t seed) {
  arrays in = arrays_new(p->n_in);
  uint64_t state = mixed(seed, 1);
  for (uint32_t i = 0; i < p->n_in; i++)
    in.at[i] = array_random(*cxi_type_aval(p->values[i].type), &state);
  return in;
}

arrays outputs_of(const cxi_program *p, const arrays *in, const char *what,
                  verdict *v) {
  cxi_error error = { 0 };
  arrays out = arrays_new(p->n_out);
  if (made_it(v, cxi_reference_run(p, in->at, NULL, out.at, &error), what,
              &error))
    return out;
  arrays_free(&out);
  return out;
}

static bool both_nan(cx_dtype type, const void *a, const void *b) {
  return cxi_dtype_is_float(type) && isnan(cxi_element_get(type, a)) &&
         isnan(cxi_element_get(type, b));
}

static void compare_one(const char *what, uint32_t k, const cxi_view *want,
                        const cxi_view *got, verdict *v) {
  const cx_dtype type = want->type.type;
  const size_t size = cxi_dtype_bytes(type);
  if (!cxi_aval_equal(&want->type, &got->type)) {
    refute(v, "%s: output %u has another type", what, k);
    return;
  }
  for (int64_t i = 0; i < cxi_dims_count(&want->type.shape); i++) {
    const char *a = (const char *)want->data + (size_t)i * size;
    const char *b = (const char *)got->data + (size_t)i * size;
    if (!memcmp(a, b, size) || both_nan(type, a, b)) continue;
    refute(v, "%s: output %u, element %lld: %.17g, not %.17g", what, k,
           (long long)i, type == CX_KEY ? 0 : cxi_element_get(type, b),
           type == CX_KEY ? 0 : cxi_element_get(type, a));
    return;
  }
}

void compare_arrays(const char *what, uint32_t n, const cxi_view *want,
                    const cxi_view *got, verdict *v) {
  for (uint32_t k = 0; k < n && !v->failed; k++)
    compare_one(what, k, &want[k], &got[k], v);
}

/* -- programs ------------------------------------------------------------- */

bool *floating_in(const cxi_program *p) {
  bool *mask = calloc(p->n_in + (size_t)1, sizeof *mask);
  for (uint32_t i = 0; mask && i < p->n_in; i++)
    mask[i] = cxi_type_is_float(p->values[i].type);
  return mask;
}

bool *floating_out(const cxi_program *p) {
  bool *mask = calloc(p->n_out + (size_t)1, sizeof *mask);
  for (uint32_t i = 0; mask && i < p->n_out; i++)
    mask[i] = cxi_type_is_float(cxi_output_type(p, i));
  return mask;
}

typedef struct search {
  cxi_prim prim;
  bool found;
} search;

/* Bodies are nested as deep as they were generated, which is not much. */
static void look_into(const cxi_program *p, void *user) {
  search *s = user;
  for (uint32_t i = 0; i < p->n_equations && !s->found; i++)
    s->found = p->equations[i].prim == (uint16_t)s->prim;
  if (!s->found) cxi_program_each_part(p, look_into, s);
}

bool has_primitive(const cxi_program *p, cxi_prim prim) {
  search s = { prim, false };
  look_into(p, &s);
  return s.found;
}

static void find_rank(const cxi_program *p, void *user) {
  int *most = user;
  for (uint32_t i = 0; i < p->n_values; i++) {
    const int rank = cxi_type_aval(p->values[i].type)->shape.n;
    if (rank > *most) *most = rank;
  }
  cxi_program_each_part(p, find_rank, most);
}

/* Batches and loops around each other add an axis each, but not that many. */
static bool lacks_room(const cxi_program *p, const char *text) {
  int most = 0;
  find_rank(p, &most);
  return most > CX_MAX_DIMS / 2 && (strstr(text, "has no room for a") ||
                                    strstr(text, "more than 8 dimensions") ||
                                    strstr(text, "too many dimensions"));
}

bool may_be_refused(const cxi_program *p, const cxi_error *error) {
  static const cxi_prim without[] = { CXI_PRIM_while,
                                      CXI_PRIM_custom_vjp,
                                      CXI_PRIM_igamma,
                                      CXI_PRIM_igammac,
                                      CXI_PRIM_random_gamma,
                                      CXI_PRIM_igamma_grad_a,
                                      CXI_PRIM_random_gamma_grad };
  if (lacks_room(p, error->text)) return true;
  if (error->code != CX_ENORULE) return false;
  for (size_t i = 0; i < sizeof without / sizeof *without; i++)
    if (has_primitive(p, without[i])) return true;
  return false;
}

/* -- text ----------------------------------------------------------------- */

static void text(const cxi_program *p, uint64_t seed, verdict *v) {
  (void)seed;
  cxi_error error = { 0 };
  if (!made_it(v, cxi_program_check(p, &error), "checker", &error)) return;
  char *first = cxi_program_print(p, (cxi_text_options){ 0 });
  if (!first) {
    refute(v, "no text");
    return;
  }
  const cxi_program *again = cxi_program_parse(first, strlen(first), &error);
  if (made_it(v, again != NULL, "parser", &error)) {
    char *second = cxi_program_print(again, (cxi_text_options){ 0 });
    if (!cxi_hash_equal(p->hash, again->hash)) refute(v, "another hash");
    if (!second || strcmp(first, second) != 0) refute(v, "another text");
    cxi_free(second);
    cxi_program_release(again);
  }
  cxi_free(first);
}

/* -- all ------------------------------------------------------------------ */

static const property of_texts[] = { { "text", text }, { 0 } };

verdict properties_check(const cxi_program *p, uint64_t seed,
                         const char *only) {
  const property *const lists[] = { of_texts, properties_of_runs,
                                    properties_of_derivatives,
                                    properties_of_calls, properties_of_forms };
  verdict v = { 0 };
  for (int k = 0; k < 5; k++)
    for (const property *x = lists[k]; x->name && !v.failed; x++) {
      if (only && strcmp(only, x->name) != 0) continue;
      verdict one = { 0 };
      cxi_hold_enter();
      x->check(p, seed, &one);
      cxi_hold_leave();
      if (one.failed) refute(&v, "%s: %s", x->name, one.text);
    }
  return v;
}
