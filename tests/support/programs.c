/* programs.c - programs read, run and compared in tests. */
#include "support/programs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "support/rows.h"

/* -- arrays --------------------------------------------------------------- */

arrays arrays_new(uint32_t n) {
  arrays a = { n, calloc(n + (size_t)1, sizeof *a.at) };
  assert_non_null(a.at);
  return a;
}

void arrays_free(arrays *a) {
  for (uint32_t i = 0; i < a->n; i++) cxi_buffer_free(a->at[i].data);
  free(a->at);
  *a = (arrays){ 0, NULL };
}

static size_t bytes_of(const cxi_view *v) {
  return (size_t)cxi_aval_bytes(&v->type);
}

cxi_view array_zeros(const cx_aval *type) {
  const size_t bytes = (size_t)cxi_aval_bytes(type);
  void *buffer = cxi_buffer_take(bytes);
  assert_non_null(buffer);
  memset(buffer, 0, bytes);
  return cxi_view_dense(*type, buffer);
}

arrays arrays_copy(const arrays *a) {
  arrays copy = arrays_new(a->n);
  for (uint32_t i = 0; i < a->n; i++) {
    copy.at[i] = array_zeros(&a->at[i].type);
    cxi_view_copy(&copy.at[i], &a->at[i]);
  }
  return copy;
}

bool arrays_same_bits(const arrays *a, const arrays *b) {
  if (a->n != b->n) return false;
  for (uint32_t i = 0; i < a->n; i++)
    if (!cxi_aval_equal(&a->at[i].type, &b->at[i].type) ||
        memcmp(a->at[i].data, b->at[i].data, bytes_of(&a->at[i])) != 0)
      return false;
  return true;
}

static bool is_float(const cxi_view *v) {
  return cxi_dtype_is_float(v->type.type);
}

static char *element(const cxi_view *v, int64_t i) {
  return (char *)v->data + i * (int64_t)cxi_dtype_bytes(v->type.type);
}

double arrays_dot(const arrays *x, const arrays *y) {
  double sum = 0;
  assert_int_equal(x->n, y->n);
  for (uint32_t i = 0; i < x->n; i++) {
    if (!is_float(&x->at[i])) continue;
    assert_true(cxi_aval_equal(&x->at[i].type, &y->at[i].type));
    for (int64_t k = 0; k < cxi_dims_count(&x->at[i].type.shape); k++)
      sum += cxi_element_get(x->at[i].type.type, element(&x->at[i], k)) *
             cxi_element_get(y->at[i].type.type, element(&y->at[i], k));
  }
  return sum;
}

void arrays_add(arrays *x, double factor, const arrays *y) {
  for (uint32_t i = 0; i < x->n; i++) {
    if (!is_float(&x->at[i])) continue;
    const cx_dtype type = x->at[i].type.type;
    for (int64_t k = 0; k < cxi_dims_count(&x->at[i].type.shape); k++) {
      char *at = element(&x->at[i], k);
      cxi_element_set(type, at,
                      cxi_element_get(type, at) +
                          factor *
                              cxi_element_get(type, element(&y->at[i], k)));
    }
  }
}

static void fill(cxi_view *v, uint64_t *state, int64_t limit) {
  for (int64_t k = 0; k < cxi_dims_count(&v->type.shape); k++) {
    const uint64_t bits = random_next(state);
    if (is_float(v))
      cxi_element_set(v->type.type, element(v, k),
                      (double)(bits >> 11) * 0x1p-52 - 1);
    else
      cxi_element_set_int(v->type.type, element(v, k),
                          (int64_t)(bits >> 33) % limit);
  }
}

arrays arrays_random(const cxi_program *p, uint64_t seed, int64_t limit) {
  arrays a = arrays_new(p->n_in);
  for (uint32_t i = 0; i < p->n_in; i++) {
    a.at[i] = array_zeros(cxi_type_aval(p->values[i].type));
    fill(&a.at[i], &seed, limit);
  }
  return a;
}

/* -- programs ------------------------------------------------------------- */

char *program_text(const cxi_program *p) {
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  assert_non_null(text);
  return text;
}

void check_ok(bool ok, const cxi_error *error, const cxi_program *p) {
  if (ok) return;
  char *text = p ? program_text(p) : NULL;
  print_error("%s\n%s\n", error->text, text ? text : "");
  cxi_free(text);
  fail();
}

const cxi_program *program_parse(const char *text) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  if (!p) print_error("%s\n%s\n", text, error.text);
  assert_non_null(p);
  return p;
}

arrays program_run(const cxi_program *p, const arrays *in) {
  cxi_error error = { 0 };
  assert_int_equal(in->n, p->n_in);
  for (uint32_t i = 0; i < in->n; i++)
    assert_true(
        cxi_aval_equal(&in->at[i].type, cxi_type_aval(p->values[i].type)));
  arrays out = arrays_new(p->n_out);
  check_ok(cxi_reference_run(p, in->at, NULL, out.at, &error), &error, p);
  return out;
}

/* -- derivatives ---------------------------------------------------------- */

/* Which inputs and outputs are floats; freed by the caller. */
static bool *float_inputs(const cxi_program *p) {
  bool *mask = calloc(p->n_in + (size_t)1, sizeof *mask);
  assert_non_null(mask);
  for (uint32_t i = 0; i < p->n_in; i++)
    mask[i] = cxi_type_is_float(p->values[i].type);
  return mask;
}
static bool *float_outputs(const cxi_program *p) {
  bool *mask = calloc(p->n_out + (size_t)1, sizeof *mask);
  assert_non_null(mask);
  for (uint32_t i = 0; i < p->n_out; i++)
    mask[i] = cxi_type_is_float(cxi_output_type(p, i));
  return mask;
}

const cxi_program *program_vjp(const cxi_program *p) {
  cxi_error error = { 0 };
  bool *in = float_inputs(p), *out = float_outputs(p);
  const cxi_program *q = cxi_vjp(p, in, out, &error);
  check_ok(q != NULL, &error, p);
  free(in);
  free(out);
  return cxi_program_retain(q);
}

const cxi_program *program_jvp(const cxi_program *p) {
  cxi_error error = { 0 };
  bool *in = float_inputs(p), *out = float_outputs(p);
  bool *nonzero = calloc(p->n_out + (size_t)1, sizeof *nonzero);
  const cxi_program *q = cxi_jvp(p, in, out, false, nonzero, &error);
  check_ok(q != NULL, &error, p);
  free(in);
  free(out);
  free(nonzero);
  return cxi_program_retain(q);
}

/* Views of some arrays of `a`, which keeps them. */
static arrays part(const arrays *a, uint32_t first, uint32_t n) {
  arrays b = arrays_new(n);
  memcpy(b.at, a->at + first, n * sizeof *b.at);
  return b;
}

/* a, then the floating arrays of b; only views. */
static arrays joined(const arrays *a, const arrays *b) {
  arrays all = arrays_new(a->n + b->n);
  memcpy(all.at, a->at, a->n * sizeof *all.at);
  all.n = a->n;
  for (uint32_t i = 0; i < b->n; i++)
    if (is_float(&b->at[i])) all.at[all.n++] = b->at[i];
  return all;
}

/* The floating arrays of a; only views. */
static arrays floats_of(const arrays *a) {
  return joined(&(arrays){ 0, a->at }, a);
}

static void check_close(const char *what, double is, double want,
                        double tolerance, const cxi_program *p) {
  if (fabs(is - want) <= tolerance * (1 + fabs(want))) return;
  char *text = program_text(p);
  print_error("%s: %.12g, differences give %.12g\n%s\n", what, is, want, text);
  cxi_free(text);
  fail();
}

/* A direction, cotangents of the outputs, and what differences give for the
 * slope of their product. */
typedef struct probe {
  arrays dx, out, ct;
  double slope;
} probe;

static probe probe_open(const cxi_program *p, const arrays *in) {
  const double h = 1e-5;
  probe b = { .dx = arrays_random(p, 77, 2), .out = program_run(p, in) };
  uint64_t state = 99;
  b.ct = arrays_copy(&b.out);
  for (uint32_t i = 0; i < b.ct.n; i++)
    if (is_float(&b.ct.at[i])) fill(&b.ct.at[i], &state, 2);
  arrays lo = arrays_copy(in), hi = arrays_copy(in);
  arrays_add(&lo, -h, &b.dx);
  arrays_add(&hi, h, &b.dx);
  arrays below = program_run(p, &lo), above = program_run(p, &hi);
  b.slope = (arrays_dot(&above, &b.ct) - arrays_dot(&below, &b.ct)) / (2 * h);
  arrays_free(&lo);
  arrays_free(&hi);
  arrays_free(&below);
  arrays_free(&above);
  return b;
}

static void probe_close(probe *b) {
  arrays_free(&b->dx);
  arrays_free(&b->out);
  arrays_free(&b->ct);
}

static void probe_jvp(const cxi_program *p, const arrays *in, const probe *b,
                      double tolerance) {
  const cxi_program *jvp = program_jvp(p);
  arrays args = joined(in, &b->dx), both = program_run(jvp, &args);
  arrays primal = part(&both, 0, p->n_out), cts = floats_of(&b->ct);
  arrays dout = part(&both, p->n_out, both.n - p->n_out);
  assert_true(arrays_same_bits(&b->out, &primal));
  check_close("jvp", arrays_dot(&dout, &cts), b->slope, tolerance, p);
  arrays_free(&both);
  free(args.at);
  free(primal.at);
  free(dout.at);
  free(cts.at);
  cxi_program_release(jvp);
}

/* The known part's outputs are p's bits, the linear part gives the tangents. */
static void probe_linearize(const cxi_program *p, const arrays *in,
                            const probe *b, double tolerance) {
  cxi_error error = { 0 };
  bool *nonzero_in = float_inputs(p);
  bool *nonzero_out = calloc(p->n_out + (size_t)1, sizeof *nonzero_out);
  cxi_partial partial;
  check_ok(cxi_linearize(p, nonzero_in, &partial, nonzero_out, &error), &error,
           p);
  cxi_program_retain(partial.known);
  cxi_program_retain(partial.unknown);
  arrays known = program_run(partial.known, in);
  arrays primal = part(&known, 0, p->n_out);
  assert_true(arrays_same_bits(&b->out, &primal));
  arrays dx = floats_of(&b->dx), args = arrays_new(partial.unknown->n_in);
  memcpy(args.at, dx.at, dx.n * sizeof *args.at);
  memcpy(args.at + dx.n, known.at + p->n_out,
         partial.n_residuals * sizeof *args.at);
  arrays dout = program_run(partial.unknown, &args);
  arrays cts = arrays_new(p->n_out);
  cts.n = 0;
  for (uint32_t i = 0; i < p->n_out; i++)
    if (nonzero_out[i]) cts.at[cts.n++] = b->ct.at[i];
  check_close("linearize", arrays_dot(&dout, &cts), b->slope, tolerance, p);
  arrays_free(&known);
  arrays_free(&dout);
  free(primal.at);
  free(dx.at);
  free(args.at);
  free(cts.at);
  free(nonzero_in);
  free(nonzero_out);
  cxi_program_release(partial.known);
  cxi_program_release(partial.unknown);
}

static void probe_vjp(const cxi_program *p, const arrays *in, const probe *b,
                      double tolerance) {
  const cxi_program *vjp = program_vjp(p);
  arrays args = joined(in, &b->ct), all = program_run(vjp, &args);
  arrays primal = part(&all, 0, p->n_out), dx = floats_of(&b->dx);
  arrays grads = part(&all, p->n_out, all.n - p->n_out);
  assert_true(arrays_same_bits(&b->out, &primal));
  check_close("vjp", arrays_dot(&grads, &dx), b->slope, tolerance, p);
  arrays_free(&all);
  free(args.at);
  free(primal.at);
  free(grads.at);
  free(dx.at);
  cxi_program_release(vjp);
}

void check_derivatives(const cxi_program *p, const arrays *in, bool reverse,
                       double tolerance) {
  probe b = probe_open(p, in);
  probe_jvp(p, in, &b, tolerance);
  probe_linearize(p, in, &b, tolerance);
  if (reverse) probe_vjp(p, in, &b, tolerance);
  probe_close(&b);
}

void check_reverse(const cxi_program *p, const arrays *in, double tolerance) {
  probe b = probe_open(p, in);
  probe_vjp(p, in, &b, tolerance);
  probe_close(&b);
}

/* -- batches -------------------------------------------------------------- */

static void check_one_batch(const cxi_program *p, const bool *batched,
                            int64_t size, uint64_t seed, int64_t limit) {
  cxi_error error = { 0 };
  bool *batched_out = calloc(p->n_out + (size_t)1, sizeof *batched_out);
  const cxi_program *q = cxi_batch(p, batched, size, NULL, batched_out, &error);
  check_ok(q != NULL, &error, p);
  cxi_program_retain(q);
  arrays in = arrays_random(q, seed, limit), out = program_run(q, &in);
  for (int64_t b = 0; b < size; b++) {
    arrays one = arrays_new(p->n_in);
    for (uint32_t i = 0; i < p->n_in; i++) {
      const cxi_view v = batched[i] ? cxi_view_at(&in.at[i], 0, b) : in.at[i];
      one.at[i] = array_zeros(&v.type);
      cxi_view_copy(&one.at[i], &v);
    }
    arrays want = program_run(p, &one), is = arrays_copy(&want);
    for (uint32_t i = 0; i < p->n_out; i++) {
      const cxi_view v =
          batched_out[i] ? cxi_view_at(&out.at[i], 0, b) : out.at[i];
      assert_true(cxi_aval_equal(&v.type, &want.at[i].type));
      cxi_view_copy(&is.at[i], &v);
    }
    if (!arrays_same_bits(&is, &want)) {
      char *text = program_text(p), *batch = program_text(q);
      print_error("lane %d differs\n%s\n%s\n", (int)b, text, batch);
      cxi_free(text);
      cxi_free(batch);
      fail();
    }
    arrays_free(&one);
    arrays_free(&want);
    arrays_free(&is);
  }
  arrays_free(&in);
  arrays_free(&out);
  free(batched_out);
  cxi_program_release(q);
}

void check_batch(const cxi_program *p, uint64_t seed, int64_t limit,
                 uint32_t most) {
  const uint32_t subsets = 1u << (p->n_in < 12 ? p->n_in : 12);
  const uint32_t stride = subsets > most ? subsets / most : 1;
  bool *batched = calloc(p->n_in + (size_t)1, sizeof *batched);
  for (uint32_t s = 1; s < subsets; s += stride) {
    for (uint32_t i = 0; i < p->n_in && i < 12; i++) batched[i] = s >> i & 1;
    check_one_batch(p, batched, 3, seed + s, limit);
  }
  for (uint32_t i = 0; i < p->n_in; i++) batched[i] = true;
  check_one_batch(p, batched, 2, seed, limit);
  free(batched);
}
