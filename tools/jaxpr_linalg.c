/* jaxpr_linalg.c - the recorded factorisations and triangular systems. */
#include <string.h>

#include "jaxpr_text.h"

/* Result i, which has no recorded type if nobody uses it: the operand's batch
 * axes, then m and, unless it is -1, n. */
static void matrix_result(jaxpr_equation *e, int i, cx_dtype type, int64_t m,
                          int64_t n) {
  cx_dims shape = e->in->shape;
  if (i >= e->n_out) return;
  shape.n -= shape.n < 2 ? shape.n : 2;
  shape.d[shape.n++] = m;
  if (n >= 0) shape.d[shape.n++] = n;
  e->out[i] = (ref){ .dtype = type, .shape = shape };
}

/* The recorded one leaves its operand's elements above the diagonal, as LAPACK
 * does; all are NaN if there is no factor. */
static void write_cholesky(jaxpr_program *p, jaxpr_equation *e) {
  const ref x = *e->in;
  const cx_dims shape = x.shape;
  cx_dims swapped = { .n = shape.n };
  if (shape.n < 2) {
    jaxpr_fail(p->w, "a factorisation of less than a matrix");
    return;
  }
  for (int i = 0; i < shape.n; i++) swapped.d[i] = i;
  swapped.d[shape.n - 2] = shape.n - 1, swapped.d[shape.n - 1] = shape.n - 2;
  const ref l = jaxpr_emit(p, x.dtype, shape, 1, &x, "cholesky");
  ref index[2], three[3] = { { .dtype = CX_BOOL }, l, x };
  for (int i = 0; i < 2; i++)
    index[i] = jaxpr_emit(p, CX_I32, shape, 0, NULL,
                          "iota[type=i32, shape=%s, axis=%d]",
                          jaxpr_list(shape), shape.n - 2 + i);
  three[0] = jaxpr_emit(p, CX_BOOL, shape, 2, index, "lt");
  ref two[2];
  two[0] = two[1] =
      jaxpr_emit(p, x.dtype, shape, 1, &l, "transpose[permutation=%s]",
                 jaxpr_list(swapped));
  two[1] = jaxpr_emit(p, x.dtype, shape, 2, two, "sub"); /* 0 or NaN */
  two[0] = x;
  three[2] = jaxpr_emit(p, x.dtype, shape, 2, two, "add");
  *e->out = jaxpr_emit(p, x.dtype, shape, 3, three, "select");
}

static void write_triangular_solve(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(
      p, e->out->dtype, e->out->shape, 2, e->in,
      "triangular_solve[left=%s, lower=%s, transpose=%s, unit=%s]",
      jaxpr_truth(e, "left_side"), jaxpr_truth(e, "lower"),
      jaxpr_truth(e, "transpose_a"), jaxpr_truth(e, "unit_diagonal"));
}

static void write_pivots(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "lu_pivots_to_permutation[size=%lld]",
                       (long long)jaxpr_integer(e, "permutation_size"));
}

static bool is_given(const jaxpr_equation *e, const char *name) {
  const json_t *x = jaxpr_param(e, name);
  return x && !json_is_null(x);
}

static void write_factors(jaxpr_program *p, jaxpr_equation *e) {
  const cx_dims s = e->in->shape;
  const cx_dtype type = e->in->dtype;
  const bool full = json_is_true(jaxpr_param(e, "full_matrices"));
  if (s.n < 2 || is_given(e, "subset_by_index")) {
    jaxpr_missing(p->w, "a factorisation of a subset");
    return;
  }
  const int64_t m = s.d[s.n - 2], n = s.d[s.n - 1], k = m < n ? m : n;
  char text[64];
  if (!strcmp(e->name, "lu")) {
    matrix_result(e, 0, type, m, n);
    matrix_result(e, 1, CX_I32, k, -1);
    matrix_result(e, 2, CX_I32, m, -1);
    snprintf(text, sizeof text, "lu");
  } else if (!strcmp(e->name, "qr")) {
    matrix_result(e, 0, type, m, full ? m : k);
    matrix_result(e, 1, type, full ? m : k, n);
    matrix_result(e, 2, CX_I32, n, -1);
    snprintf(text, sizeof text, "qr[full=%s, pivoting=%s]",
             jaxpr_truth(e, "full_matrices"), jaxpr_truth(e, "pivoting"));
  } else if (!strcmp(e->name, "eigh")) {
    matrix_result(e, 0, type, m, m);
    matrix_result(e, 1, type, m, -1);
    snprintf(text, sizeof text, "eigh[lower=%s]", jaxpr_truth(e, "lower"));
  } else {
    matrix_result(e, 0, type, k, -1);
    matrix_result(e, 1, type, m, full ? m : k);
    matrix_result(e, 2, type, full ? n : k, n);
    snprintf(text, sizeof text, "svd[full=%s, vectors=%s]",
             jaxpr_truth(e, "full_matrices"), jaxpr_truth(e, "compute_uv"));
  }
  jaxpr_emit_n(p, e->n_out, e->out, 1, e->in, "%s", text);
}

static const jaxpr_row rows[] = {
  { "cholesky", write_cholesky },
  { "triangular_solve", write_triangular_solve },
  { "lu", write_factors },
  { "qr", write_factors },
  { "eigh", write_factors },
  { "svd", write_factors },
  { "lu_pivots_to_permutation", write_pivots },
};
jaxpr_handler *jaxpr_linalg_handler(const char *primitive) {
  return jaxpr_find(rows, sizeof rows / sizeof *rows, primitive);
}
