/* properties_derivatives.c - what must hold of a program's derivatives. */
#include "support/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/generate.h"
#include "support/rows.h"

/* -- a point, a direction, cotangents ------------------------------------- */

typedef struct probe {
  const cxi_program *p;
  bool *wrt, *outs;
  arrays in, dx, out, ct; /* dx, ct: only the floating ones are of use */
} probe;

static bool has_floats(const bool *mask, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (mask[i]) return true;
  return false;
}

static void probe_close(probe *b) {
  free(b->wrt);
  free(b->outs);
  arrays_free(&b->in);
  arrays_free(&b->dx);
  arrays_free(&b->out);
  arrays_free(&b->ct);
}

/* For some seeds not with respect to all inputs: the others have no tangent,
 * which rules see as zeros, and stay where they are. */
static void leave_out(uint64_t seed, probe *b) {
  for (uint32_t i = 0; i < b->in.n; i++) {
    if (mixed(seed, 7) % 3 == 0 && mixed(seed, 400 + i) % 2) b->wrt[i] = false;
    if (!b->wrt[i])
      memset((void *)(uintptr_t)b->dx.at[i].data, 0,
             (size_t)cxi_aval_bytes(&b->dx.at[i].type));
  }
}

/* False if there is nothing to differentiate, or it does not run. */
static bool probe_open(const cxi_program *p, uint64_t seed, probe *b,
                       verdict *v) {
  *b = (probe){ .p = p, .wrt = floating_in(p), .outs = floating_out(p) };
  b->in = inputs_of(p, seed);
  b->dx = inputs_of(p, mixed(seed, 2));
  leave_out(seed, b);
  b->out = outputs_of(p, &b->in, "reference", v);
  b->ct = arrays_new(p->n_out);
  uint64_t state = mixed(seed, 3);
  for (uint32_t i = 0; i < p->n_out; i++)
    b->ct.at[i] = array_random(*cxi_type_aval(cxi_output_type(p, i)), &state);
  return !v->failed && has_floats(b->wrt, p->n_in) &&
         has_floats(b->outs, p->n_out);
}

/* Views: a, then the floating ones of b. */
static arrays with_floats(const arrays *a, const arrays *b, const bool *mask) {
  arrays all = arrays_new(a->n + b->n);
  memcpy(all.at, a->at, a->n * sizeof *all.at);
  all.n = a->n;
  for (uint32_t i = 0; i < b->n; i++)
    if (mask[i]) all.at[all.n++] = b->at[i];
  return all;
}

static arrays floats_of(const arrays *a, const bool *mask) {
  return with_floats(&(arrays){ 0, a->at }, a, mask);
}

static arrays rest_of(const arrays *a, uint32_t first) {
  arrays rest = arrays_new(a->n - first);
  memcpy(rest.at, a->at + first, rest.n * sizeof *rest.at);
  return rest;
}

/* A sum of products with the sum of their magnitudes. */
typedef struct sum {
  double value, size;
} sum;

static sum dot(const arrays *x, const arrays *y) {
  sum s = { 0, 0 };
  for (uint32_t i = 0; i < x->n; i++) {
    const cx_dtype type = x->at[i].type.type;
    for (int64_t k = 0; k < cxi_dims_count(&x->at[i].type.shape); k++) {
      const size_t at = (size_t)k * cxi_dtype_bytes(type);
      const double t = cxi_element_get(type, (const char *)x->at[i].data + at) *
                       cxi_element_get(type, (const char *)y->at[i].data + at);
      s.value += t;
      s.size += fabs(t);
    }
  }
  return s;
}

static bool moderate(const arrays *a) {
  for (uint32_t i = 0; i < a->n; i++) {
    const cx_dtype type = a->at[i].type.type;
    if (!cxi_dtype_is_float(type)) continue;
    for (int64_t k = 0; k < cxi_dims_count(&a->at[i].type.shape); k++)
      if (!(fabs(array_get(&a->at[i], k)) < 1e12)) return false;
  }
  return true;
}

static void narrowest(const cxi_program *p, void *user) {
  double *eps = user;
  for (uint32_t i = 0; i < p->n_values; i++) {
    const cx_dtype type = cxi_type_dtype(p->values[i].type);
    const double is = type == CX_F32    ? 0x1p-23
                      : type == CX_F16  ? 0x1p-10
                      : type == CX_BF16 ? 0x1p-7
                                        : 0x1p-52;
    if (is > *eps) *eps = is;
  }
  cxi_program_each_part(p, narrowest, user);
}

double properties_epsilon(const cxi_program *p) {
  double eps = 0x1p-52;
  narrowest(p, &eps);
  return eps;
}

/* -- forward mode --------------------------------------------------------- */

/* (outs, tangents of the floating outs); NULL: no rule, or refuted. */
static const cxi_program *jvp_of(const probe *b, verdict *v) {
  cxi_error error = { 0 };
  bool *nonzero = calloc(b->p->n_out + (size_t)1, sizeof *nonzero);
  const cxi_program *q = cxi_jvp(b->p, b->wrt, b->outs, false, nonzero, &error);
  free(nonzero);
  if (!q && !may_be_refused(b->p, &error)) refute(v, "jvp: %s", error.text);
  return q;
}

/* Written straight into a builder, q's equations make q again. */
static void write_again(const probe *b, const cxi_program *q, verdict *v) {
  const cxi_program *p = b->p, *made = NULL;
  cxi_error error = { 0 };
  cx *in = calloc(q->n_in + (size_t)1, sizeof *in);
  cx *out = calloc(q->n_out + (size_t)1, sizeof *out);
  cxi_memos_clear(); /* or it would find q */
  cxi_builder builder;
  cxi_builder_open(&builder);
  for (uint32_t i = 0; i < q->n_in; i++)
    in[i] = cxi_builder_input(&builder, q->values[i].type);
  if (cxi_vjp_into(&builder, p, b->wrt, b->outs, in, out, &error))
    made = cxi_builder_finish(&builder, q->name, q->n_in, in, q->n_out, out,
                              &error);
  else
    cxi_builder_abandon(&builder);
  if (made != q)
    refute(v, "vjp into a builder: %s", made ? "other text" : error.text);
  cxi_program_release(made);
  free(in);
  free(out);
}

static const cxi_program *vjp_of(const probe *b, verdict *v) {
  cxi_error error = { 0 };
  const cxi_program *q = cxi_vjp(b->p, b->wrt, b->outs, &error);
  if (q) write_again(b, q, v);
  if (!q && !may_be_refused(b->p, &error)) refute(v, "vjp: %s", error.text);
  return q;
}

static void find_bent(const cxi_program *p, void *user) {
  bool *found = user;
  *found = *found || p->name == cxi_name_of(GENERATED_BENT);
  cxi_program_each_part(p, find_bent, user);
}

/* Rows and rules whose derivative is not that of the function, by intention. */
static bool has_true_derivative(const cxi_program *p) {
  static const cxi_prim others[] = {
    CXI_PRIM_stop_gradient, CXI_PRIM_bitcast,   CXI_PRIM_reduce_precision,
    CXI_PRIM_nextafter,     CXI_PRIM_composite, CXI_PRIM_random_gamma
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (has_primitive(p, others[i])) return false;
  bool bent = false;
  find_bent(p, &bent);
  return !bent;
}

/* <ct, f(x + h dx) - f(x - h dx)> / 2h, and the size of what cancels; false:
 * it does not run. */
static bool difference(const probe *b, double h, const arrays *cts, sum *out,
                       verdict *v) {
  arrays lo = arrays_copy(&b->in), hi = arrays_copy(&b->in);
  arrays_add(&lo, -h, &b->dx);
  arrays_add(&hi, h, &b->dx);
  arrays below = outputs_of(b->p, &lo, "reference", v);
  arrays above = outputs_of(b->p, &hi, "reference", v);
  if (!v->failed) {
    arrays x = floats_of(&below, b->outs), y = floats_of(&above, b->outs);
    const sum minus = dot(&x, cts), plus = dot(&y, cts);
    out->value = (plus.value - minus.value) / (2 * h);
    out->size = plus.size + minus.size;
    free(x.at);
    free(y.at);
  }
  arrays_free(&lo);
  arrays_free(&hi);
  arrays_free(&below);
  arrays_free(&above);
  return !v->failed;
}

/* Differences over smaller and smaller steps that agree are a derivative. */
static void compare_differences(const probe *b, const arrays *tangents,
                                const arrays *cts, verdict *v) {
  sum far, near;
  if (properties_epsilon(b->p) > 0x1p-50 || !has_true_derivative(b->p)) return;
  if (!difference(b, 1e-4, cts, &far, v) || !difference(b, 2e-5, cts, &near, v))
    return;
  const sum is = dot(tangents, cts);
  const double scale = 1 + is.size + fabs(near.value);
  if (!isfinite(far.value) || !(scale < 1e5) || !(near.size < 1e6 * scale) ||
      fabs(far.value - near.value) > 1e-6 * scale)
    return;
  if (!(fabs(is.value - near.value) <= 1e-4 * scale))
    refute(v, "jvp gives %.10g, differences %.10g and %.10g", is.value,
           far.value, near.value);
}

static void jvp(const cxi_program *p, uint64_t seed, verdict *v) {
  probe b;
  if (probe_open(p, seed, &b, v)) {
    const cxi_program *q = jvp_of(&b, v);
    arrays args = with_floats(&b.in, &b.dx, b.wrt);
    if (q && !has_primitive(q, CXI_PRIM_custom_lin)) {
      arrays both = outputs_of(q, &args, "jvp", v);
      if (!v->failed) {
        arrays tangents = rest_of(&both, p->n_out);
        arrays cts = floats_of(&b.ct, b.outs);
        compare_arrays("jvp: primal", p->n_out, b.out.at, both.at, v);
        if (moderate(&tangents)) compare_differences(&b, &tangents, &cts, v);
        free(tangents.at);
        free(cts.at);
      }
      arrays_free(&both);
    }
    free(args.at);
  }
  probe_close(&b);
}

/* -- reverse mode --------------------------------------------------------- */

/* <ct, J dx> = <J' ct, dx>, but that reduce_precision rounds both sides. */
static void compare_pairing(const probe *b, const arrays *tangents,
                            const arrays *grads, verdict *v) {
  arrays cts = floats_of(&b->ct, b->outs), dx = floats_of(&b->dx, b->wrt);
  const sum u = dot(tangents, &cts), w = dot(grads, &dx);
  const double eps = properties_epsilon(b->p);
  const double most = 1 + u.size + w.size;
  /* Rounding grows with what cancels inside, of which nothing is known. */
  const double tolerance = eps < 0x1p-50 ? 1e-8 : eps < 0x1p-20 ? 2e-3 : 0.2;
  if (moderate(tangents) && moderate(grads) && most < 1e6 &&
      !has_primitive(b->p, CXI_PRIM_reduce_precision) &&
      !(fabs(u.value - w.value) <= tolerance * most))
    refute(v, "<ct, J v> is %.12g, <J' ct, v> is %.12g", u.value, w.value);
  free(cts.at);
  free(dx.at);
}

static void vjp(const cxi_program *p, uint64_t seed, verdict *v) {
  probe b;
  if (probe_open(p, seed, &b, v)) {
    const cxi_program *back = vjp_of(&b, v);
    const cxi_program *forth = back ? jvp_of(&b, v) : NULL;
    arrays args = with_floats(&b.in, &b.ct, b.outs);
    arrays along = with_floats(&b.in, &b.dx, b.wrt);
    arrays all = { 0 }, both = { 0 };
    if (back && !v->failed) all = outputs_of(back, &args, "vjp", v);
    if (all.at && !v->failed)
      compare_arrays("vjp: primal", p->n_out, b.out.at, all.at, v);
    if (all.at && !v->failed && forth &&
        !has_primitive(forth, CXI_PRIM_custom_lin))
      both = outputs_of(forth, &along, "jvp", v);
    if (both.at && !v->failed) {
      arrays tangents = rest_of(&both, p->n_out);
      arrays grads = rest_of(&all, p->n_out);
      compare_pairing(&b, &tangents, &grads, v);
      free(tangents.at);
      free(grads.at);
    }
    arrays_free(&all);
    arrays_free(&both);
    free(args.at);
    free(along.at);
  }
  probe_close(&b);
}

/* -- under other transforms ----------------------------------------------- */

/* p as the body of one equation that computes it again. */
static const cxi_program *checkpoint_of(const cxi_program *p,
                                        cxi_error *error) {
  cxi_builder b;
  cx *in = calloc(p->n_in + (size_t)1, sizeof *in);
  cx *out = calloc(p->n_out + (size_t)1, sizeof *out);
  const cxi_checkpoint_params params = { .body = p,
                                         .policy = cxi_name_of("nothing") };
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    in[i] = cxi_builder_input(&b, p->values[i].type);
  cxi_emit(CXI_PRIM_checkpoint, &params, p->n_in, in, p->n_out, out);
  const cxi_program *q =
      cxi_builder_finish(&b, 0, p->n_in, in, p->n_out, out, error);
  free(in);
  free(out);
  return q;
}

static void checkpoint(const cxi_program *p, uint64_t seed, verdict *v) {
  probe b;
  cxi_error error = { 0 };
  const cxi_program *again = checkpoint_of(p, &error);
  made_it(v, again != NULL, "checkpoint", &error);
  if (probe_open(p, seed, &b, v)) {
    const cxi_program *plain = vjp_of(&b, v);
    probe c = b;
    c.p = again;
    const cxi_program *other = plain ? vjp_of(&c, v) : NULL;
    arrays args = with_floats(&b.in, &b.ct, b.outs);
    if (plain && other) {
      arrays want = outputs_of(plain, &args, "vjp", v);
      arrays got = outputs_of(other, &args, "vjp of checkpoint", v);
      if (!v->failed) compare_arrays("checkpoint", want.n, want.at, got.at, v);
      arrays_free(&want);
      arrays_free(&got);
    }
    free(args.at);
  }
  probe_close(&b);
  cxi_program_release(again);
}

/* What is true of p is true of its derivatives. */
static void of_derivatives(const cxi_program *p, uint64_t seed, verdict *v) {
  static const char *const again[] = { "text", "compiled", "simplified",
                                       "vmap", "jvp",      "vjp" };
  probe b;
  if (probe_open(p, seed, &b, v)) {
    const cxi_program *q = mixed(seed, 5) & 1 ? jvp_of(&b, v) : vjp_of(&b, v);
    const bool runs = q && !has_primitive(q, CXI_PRIM_custom_lin);
    for (size_t i = 0; runs && i < sizeof again / sizeof *again; i++) {
      if (v->failed) break;
      if (i > 3 && mixed(seed, 6) % 3) break;
      const verdict inner = properties_check(q, seed, again[i]);
      if (inner.failed) refute(v, "%s", inner.text);
    }
  }
  probe_close(&b);
}

static void sum_close(const char *what, const arrays *want, const arrays *got,
                      double tolerance, verdict *v) {
  if (want->n != got->n) {
    refute(v, "%s: %u and %u results", what, want->n, got->n);
    return;
  }
  if (!moderate(want) || !moderate(got)) return;
  for (uint32_t i = 0; i < want->n; i++) {
    if (!cxi_aval_equal(&want->at[i].type, &got->at[i].type)) {
      refute(v, "%s: output %u has another type", what, i);
      return;
    }
    if (!cxi_dtype_is_float(want->at[i].type.type)) continue;
    for (int64_t k = 0; k < cxi_dims_count(&want->at[i].type.shape); k++) {
      const double x = array_get(&want->at[i], k);
      const double y = array_get(&got->at[i], k);
      if (fabs(x - y) <= tolerance * (1 + fabs(x))) continue;
      refute(v, "%s: output %u, element %lld: %.15g, not %.15g", what, i,
             (long long)k, y, x);
      return;
    }
  }
}

/* The gradient of a batch of all inputs is the batch of gradients. */
static void grad_of_vmap(const cxi_program *p, uint64_t seed, verdict *v) {
  enum { SIZE = 2 };
  cxi_error error = { 0 };
  probe b;
  const bool any = probe_open(p, seed, &b, v);
  bool *all = calloc(p->n_in + p->n_out + (size_t)1, sizeof *all);
  bool *force = calloc(2 * (p->n_out + p->n_in) + (size_t)1, sizeof *force);
  bool *dropped = calloc(2 * (p->n_out + p->n_in) + (size_t)1, sizeof *force);
  for (uint32_t i = 0; i < p->n_in + p->n_out; i++) all[i] = true;
  for (uint32_t i = 0; i < 2 * (p->n_out + p->n_in); i++) force[i] = true;
  const cxi_program *first = any ? vjp_of(&b, v) : NULL;
  const cxi_program *one =
      first ? cxi_batch(first, all, SIZE, force, dropped, &error) : NULL;
  if (first && !one && !may_be_refused(p, &error))
    refute(v, "vmap of grad: %s", error.text);
  const cxi_program *batch =
      one ? cxi_batch(p, all, SIZE, force, dropped, &error) : NULL;
  if (one && !batch && !may_be_refused(p, &error))
    refute(v, "vmap: %s", error.text);
  const cxi_program *other =
      batch ? cxi_vjp(batch, b.wrt, b.outs, &error) : NULL;
  if (batch && !other && !may_be_refused(p, &error))
    refute(v, "grad of vmap: %s", error.text);
  if (one && other && !v->failed) {
    arrays in = inputs_of(one, seed);
    arrays want = outputs_of(one, &in, "vmap of grad", v);
    arrays got = outputs_of(other, &in, "grad of vmap", v);
    const double eps = properties_epsilon(p);
    if (!v->failed && eps < 0x1p-50)
      sum_close("grad of vmap", &want, &got, 1e-7, v);
    arrays_free(&in);
    arrays_free(&want);
    arrays_free(&got);
  }
  free(all);
  free(force);
  free(dropped);
  probe_close(&b);
}

const property properties_of_derivatives[] = {
  { "jvp", jvp },
  { "vjp", vjp },
  { "checkpoint", checkpoint },
  { "derivative", of_derivatives },
  { "grad of vmap", grad_of_vmap },
  { 0 },
};
