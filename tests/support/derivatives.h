/* derivatives.h - for tests: derivatives of programs against differences,
 * batches against loops. Include after cmocka.h. */
#ifndef TESTS_DERIVATIVES_H
#define TESTS_DERIVATIVES_H

#include "support/views.h"

/* -- derivatives ---------------------------------------------------------- */

/* Sum over floating outputs of <ct, out>. */
static inline double pairing(const cxi_program *p, const cxi_view *in,
                             const cxi_view *ct) {
  cxi_view *out = run(p, in);
  double sum = 0;
  for (uint32_t i = 0; i < p->n_out; i++)
    if (is_float(&out[i])) sum += dot(&out[i], &ct[i]);
  free_views(out, p->n_out);
  return sum;
}

static inline void shift(cxi_view *in, const cxi_view *d, uint32_t n,
                         double t) {
  for (uint32_t i = 0; i < n; i++)
    for (int64_t k = 0; is_float(&in[i]) && k < count_of(&in[i]); k++)
      ((double *)in[i].data)[k] += t * element(&d[i], k);
}

static inline cxi_view *like_outputs(const cxi_program *p, uint64_t seed) {
  cxi_view *v = calloc(p->n_out + (size_t)1, sizeof *v);
  for (uint32_t i = 0; i < p->n_out; i++)
    v[i] = array_of(cxi_output_type(p, i), &seed);
  return v;
}

static inline bool *float_inputs(const cxi_program *p) {
  bool *mask = calloc(p->n_in + (size_t)1, 1);
  for (uint32_t i = 0; i < p->n_in; i++)
    mask[i] = cxi_type_is_float(p->values[i].type);
  return mask;
}

static inline bool *float_outputs(const cxi_program *p) {
  bool *mask = calloc(p->n_out + (size_t)1, 1);
  for (uint32_t i = 0; i < p->n_out; i++)
    mask[i] = cxi_type_is_float(cxi_output_type(p, i));
  return mask;
}

static inline const cxi_program *vjp_of(const cxi_program *p) {
  bool *wrt = float_inputs(p), *ct = float_outputs(p);
  cxi_error error = { 0 };
  const cxi_program *q = cxi_vjp(p, wrt, ct, &error);
  if (!q) {
    print_program(p);
    fail_msg("%s", error.text);
  }
  free(wrt);
  free(ct);
  return q;
}

static inline const cxi_program *jvp_of(const cxi_program *p, bool *nonzero) {
  bool *mask = float_inputs(p);
  cxi_error error = { 0 };
  const cxi_program *q = cxi_jvp(p, mask, NULL, false, nonzero, &error);
  if (!q) {
    print_program(p);
    fail_msg("%s", error.text);
  }
  free(mask);
  return q;
}

/* The floating ones of b after all of a. */
static inline cxi_view *join(uint32_t n, const cxi_view *a, uint32_t m,
                             const cxi_view *b) {
  cxi_view *v = calloc(n + (size_t)m + 1, sizeof *v);
  memcpy(v, a, n * sizeof *v);
  for (uint32_t i = 0; i < m; i++)
    if (is_float(&b[i])) v[n++] = b[i];
  return v;
}

static inline void assert_near(double a, double b, double tolerance,
                               const cxi_program *p, const char *what) {
  if (fabs(a - b) <= tolerance * (1 + fabs(a))) return;
  print_program(p);
  fail_msg("%s: %.12g and %.12g", what, a, b);
}

static inline void check_forward(const cxi_program *p, const cxi_view *in,
                                 const cxi_view *d, const cxi_view *ct,
                                 double slope) {
  bool *nonzero = calloc(p->n_out + (size_t)1, 1);
  const cxi_program *q = jvp_of(p, nonzero);
  cxi_view *args = join(p->n_in, in, p->n_in, d), *out = run(q, args);
  double sum = 0;
  uint32_t n = p->n_out;
  for (uint32_t i = 0; i < p->n_out; i++)
    if (nonzero[i]) sum += dot(&out[n++], &ct[i]);
  assert_int_equal(n, q->n_out);
  assert_near(slope, sum, 1e-6, p, "difference and forward mode");
  free_views(out, q->n_out);
  free(args);
  free(nonzero);
}

/* linearize's two parts, run one after the other, are forward mode. */
static inline void check_linear(const cxi_program *p, const cxi_view *in,
                                const cxi_view *d, const cxi_view *ct,
                                double slope) {
  bool *nonzero = calloc(p->n_out + (size_t)1, 1), *mask = float_inputs(p);
  cxi_partial cut;
  cxi_error error = { 0 };
  if (!cxi_linearize(p, mask, &cut, nonzero, &error))
    fail_msg("%s", error.text);
  const cxi_program *known = cut.known, *linear = cut.unknown;
  cxi_view *values = run(known, in), *args = join(0, in, p->n_in, d);
  const uint32_t n = linear->n_in - cut.n_residuals;
  args = realloc(args, (linear->n_in + (size_t)1) * sizeof *args);
  memcpy(args + n, values + p->n_out, cut.n_residuals * sizeof *args);
  cxi_view *out = run(linear, args);
  double sum = 0;
  for (uint32_t i = 0, k = 0; i < p->n_out; i++)
    if (nonzero[i]) sum += dot(&out[k++], &ct[i]);
  assert_near(slope, sum, 1e-6, p, "difference and linearized");
  free_views(values, known->n_out);
  free_views(out, linear->n_out);
  free(args);
  free(mask);
  free(nonzero);
}

static inline void check_reverse(const cxi_program *p, const cxi_view *in,
                                 const cxi_view *d, const cxi_view *ct,
                                 double slope) {
  const cxi_program *q = vjp_of(p);
  cxi_view *args = join(p->n_in, in, p->n_out, ct), *out = run(q, args);
  cxi_view *value = run(p, in);
  double sum = 0;
  uint32_t n = p->n_out;
  for (uint32_t i = 0; i < p->n_in; i++)
    if (is_float(&d[i])) sum += dot(&out[n++], &d[i]);
  assert_int_equal(n, q->n_out);
  assert_near(slope, sum, 1e-6, p, "difference and reverse mode");
  for (uint32_t i = 0; i < p->n_out; i++)
    assert_true(same_bits(&out[i], &value[i]));
  free_views(out, q->n_out);
  free_views(value, p->n_out);
  free(args);
}

static inline bool has_prim(const cxi_program *p, cxi_prim prim);
static inline void look_inside(const cxi_program *p, void *found) {
  if (has_prim(p, CXI_PRIM_composite)) *(bool *)found = true;
}
/* Also in sub-programs. */
static inline bool has_prim(const cxi_program *p, cxi_prim prim) {
  bool found = count_prim(p, prim) > 0;
  for (uint32_t i = 0; i < p->n_equations; i++)
    cxi_params_each_program((cxi_prim)p->equations[i].prim,
                            p->equations[i].params, look_inside, &found);
  return found;
}

/* p's derivatives along directions, then those of its derivatives. What a
 * composite's reverse mode leaves linear cannot be run. */
static inline void check_derivatives(const cxi_program *p, int order,
                                     bool forward) {
  const bool linear = forward && !has_prim(p, CXI_PRIM_composite);
  for (uint64_t seed = 1; seed <= 2; seed++) {
    cxi_view *in = inputs_of(p, seed), *d = inputs_of(p, seed + 10);
    cxi_view *ct = like_outputs(p, seed + 20);
    const double h = 1e-5;
    shift(in, d, p->n_in, h);
    const double above = pairing(p, in, ct);
    shift(in, d, p->n_in, -2 * h);
    const double below = pairing(p, in, ct);
    shift(in, d, p->n_in, h);
    const double slope = (above - below) / (2 * h);
    if (forward) check_forward(p, in, d, ct, slope);
    if (linear) check_linear(p, in, d, ct, slope);
    check_reverse(p, in, d, ct, slope);
    free_views(in, p->n_in);
    free_views(d, p->n_in);
    free_views(ct, p->n_out);
  }
  if (order == 1) return;
  bool *nonzero = calloc(p->n_out + (size_t)1, 1);
  check_derivatives(vjp_of(p), order - 1, forward);
  if (forward) check_derivatives(jvp_of(p, nonzero), order - 1, forward);
  free(nonzero);
}

/* -- batches -------------------------------------------------------------- */

/* View of step i of a batch at axis 0. */
static inline cxi_view slice_of(const cxi_view *v, int64_t i) {
  return cxi_view_at(v, 0, i);
}

/* Batches the inputs in the mask and compares, bit for bit, with a loop. */
static inline void check_batch(const cxi_program *p, const bool *batched,
                               int64_t size) {
  bool *batched_out = calloc(p->n_out + (size_t)1, 1);
  cxi_error error = { 0 };
  const cxi_program *q = cxi_batch(p, batched, size, NULL, batched_out, &error);
  if (!q) {
    print_program(p);
    fail_msg("%s", error.text);
  }
  cxi_view *in = inputs_of(q, 5), *out = run(q, in);
  cxi_view *one = calloc(p->n_in + (size_t)1, sizeof *one);
  for (int64_t k = 0; k < size; k++) {
    for (uint32_t i = 0; i < p->n_in; i++)
      one[i] = batched[i] ? slice_of(&in[i], k) : in[i];
    cxi_view *want = run(p, one);
    for (uint32_t i = 0; i < p->n_out; i++) {
      const cxi_view got = batched_out[i] ? slice_of(&out[i], k) : out[i];
      if (same_bits(&want[i], &got)) continue;
      print_program(p);
      print_program(q);
      fail_msg("output %u of example %d differs", i, (int)k);
    }
    free_views(want, p->n_out);
  }
  free_views(in, q->n_in);
  free_views(out, q->n_out);
  free(one);
  free(batched_out);
}

/* Every mask of batched inputs, for few of them. */
static inline void check_batches(const cxi_program *p, int64_t size) {
  bool batched[16];
  for (uint32_t mask = 1; mask < 1u << p->n_in && mask < 64; mask++) {
    for (uint32_t i = 0; i < p->n_in; i++) batched[i] = mask >> i & 1;
    check_batch(p, batched, size);
  }
}

#endif
