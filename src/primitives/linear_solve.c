/* linear_solve.c - x of A x = b, found by a program that is not
 * differentiated.
 *
 *   A x = b   jvp ->        A dx = db - dA x
 *             transpose ->  A' w = ct x,  ct b += w
 *
 * Both are the same primitive again: derivatives of any order, forwards and
 * backwards, cost one more solve each. */
#include <string.h>

#include "ops/lax.h"
#include "primitives/control.h"
#include "primitives/solve.h"

typedef cxi_linear_solve_params params;

enum { N_PARTS = 4 };

/* `solve` first: its results are the equation's. */
static void parts_of(const params *p, cxi_solve_part parts[N_PARTS]) {
  const cxi_solve_part all[N_PARTS] = {
    { "solve", p->solve, 1, false, false },
    { "matvec", p->matvec, 1, false, true },
    { "vecmat", p->vecmat, 1, true, true },
    { "transpose_solve", p->transpose_solve, 1, true, false },
  };
  memcpy(parts, all, sizeof all);
}

/* The arrays of a vector. */
static uint32_t vector_of(const params *p) {
  return p->matvec->n_out;
}

static bool infer(cxi_infer *c) {
  const params *p = c->params;
  cxi_solve_part parts[N_PARTS];
  if (!p->matvec) return cxi_infer_fail(c, CX_ETREE, "no matvec");
  parts_of(p, parts);
  return cxi_solve_infer(c, parts, N_PARTS, vector_of(p), p->solve);
}

static void jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                cx *dout) {
  const params *p = r->params;
  const uint32_t m = vector_of(p), n = r->n_in - m;
  cx *rhs = cxi_call_array(m, sizeof *rhs);
  if (!rhs) return;
  memcpy(rhs, dx + n, m * sizeof *rhs);
  if (cxi_solve_right_side(r, p->matvec, m, in, dx, out, rhs))
    cxi_solve_linear(r, p, n, in, m, rhs, dout);
}

/* -- transpose ------------------------------------------------------------ */

/* (consts, ct) -> the cotangent of p's vector: p is linear in it, so that its
 * derivative may be taken anywhere, at 0. */
static const cxi_program *transposed(const cxi_rule *r, const cxi_program *p,
                                     uint32_t m) {
  const uint32_t n = r->n_in - m;
  bool *wrt = cxi_call_array(p->n_in, sizeof *wrt);
  bool *reached = cxi_call_array(p->n_out, sizeof *reached);
  cx *in = cxi_call_array(r->n_in, sizeof *in);
  cx *args = cxi_call_array((size_t)r->n_in + m, sizeof *args);
  cx *out = cxi_call_array((size_t)p->n_out + m, sizeof *out);
  if (!wrt || !reached || !in || !args || !out) return NULL;
  for (uint32_t i = 0; i < m; i++) wrt[n + i] = reached[i] = true;
  const cxi_program *q = r->transforms->vjp(p, wrt, reached);
  if (!q) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n; i++)
    args[i] = in[i] = cxi_builder_input(&b, p->values[i].type);
  for (uint32_t i = 0; i < m; i++) {
    args[n + i] = cxi_zeros(p->values[n + i].type);
    args[n + m + i] = in[n + i] = cxi_builder_input(&b, cxi_output_type(p, i));
  }
  cxi_replay(q, args, out);
  return cxi_call_finish(&b, p->name, r->n_in, in, m, out + p->n_out);
}

static bool check_transpose(const cxi_rule *r, const cx *in, const cx *ct) {
  const params *p = r->params;
  const uint32_t m = vector_of(p), n = r->n_in - m;
  bool ok = true;
  for (uint32_t i = 0; i < n; i++)
    if (cx_is_none(in[i]))
      return cxi_fail(CX_ENORULE,
                      "linear_solve: transposed with respect to operand %u: "
                      "it is linear in b alone",
                      i),
             false;
  for (uint32_t i = m; i < r->n_out; i++)
    if (cxi_given(ct[i]))
      return cxi_fail(CX_ENORULE,
                      "linear_solve: a cotangent of result %u: what solve "
                      "returns beside x has no derivative",
                      i),
             false;
  if (!p->transpose_solve && cxi_may_not_end(p->solve, &ok))
    return cxi_fail(CX_ENORULE, "linear_solve: reverse mode needs the solve of "
                                "the transposed system, since solve has a "
                                "while: give .transpose_solve or .symmetric"),
           false;
  return ok || (cxi_fail(CX_EMEMORY, "no memory"), false);
}

static void transpose(const cxi_rule *r, const cx *in, const cx *ct, cx *acc) {
  const params *p = r->params;
  const uint32_t m = vector_of(p), n = r->n_in - m;
  if (!check_transpose(r, in, ct)) return;
  cx *results = cxi_call_array(m, sizeof *results);
  const params q = {
    .matvec = p->vecmat ? p->vecmat : transposed(r, p->matvec, m),
    .vecmat = p->matvec,
    .solve =
        p->transpose_solve ? p->transpose_solve : transposed(r, p->solve, m),
    .transpose_solve = p->solve,
  };
  if (!results || !q.matvec || !q.solve) return;
  cxi_solve_linear(r, &q, n, in, m, ct, results);
  for (uint32_t i = 0; i < m; i++)
    if (cx_is_none(in[n + i]))
      acc[n + i] = cxi_sum_given(acc[n + i], results[i]);
}

/* -- batch, dce ----------------------------------------------------------- */

static void batch(const cxi_rule *r, const cx *in, const int *axis,
                  int64_t size, cx *out, int *out_axis) {
  const params *p = r->params;
  cxi_solve_part parts[N_PARTS];
  const cxi_program *q[N_PARTS];
  parts_of(p, parts);
  const cx *args = cxi_solve_batch(r, parts, N_PARTS, vector_of(p), in, axis,
                                   size, q, out_axis);
  const params made = {
    .solve = q[0], .matvec = q[1], .vecmat = q[2], .transpose_solve = q[3]
  };
  if (args) cxi_emit(r->row->prim, &made, r->n_in, args, r->n_out, out);
}

static void dce(const cxi_rule *r, const cx *in, const bool *used, cx *out) {
  params p = *(const params *)r->params;
  cxi_solve_dce(r, &p, &p.solve, vector_of(&p), in, used, out);
}

static bool evaluate(cxi_eval *c, const cxi_view *in, cxi_view *out) {
  return cxi_call_evaluate(c, ((const params *)c->params)->solve, in, out);
}

/* -- the row -------------------------------------------------------------- */

static const char *const examples[] = {
  /* A = diag(2 + sin d); the count is solve's own */
  "program @matvec(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = sin %0\n"
  "  %3: f64[3] = add %2, 2.0:f64\n"
  "  %4: f64[3] = mul %3, %1\n"
  "  return %4\n"
  "}\n"
  "program @solve(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = sin %0\n"
  "  %3: f64[3] = add %2, 2.0:f64\n"
  "  %4: f64[3] = div %1, %3\n"
  "  return %4, 7:i32\n"
  "}\n"
  "program @main(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3], %3: i32[] = linear_solve[matvec=@matvec, vecmat=@matvec, "
  "solve=@solve, transpose_solve=@solve] %0, %1\n"
  "  return %2, %3\n"
  "}\n",
  /* A = [1 t; 0 1] on a pair; the transposes are derived */
  "program @matvec(%0: f64[], %1: f64[2], %2: f64[2]) {\n"
  "  %3: f64[2] = mul %0, %2\n"
  "  %4: f64[2] = add %1, %3\n"
  "  return %4, %2\n"
  "}\n"
  "program @solve(%0: f64[], %1: f64[2], %2: f64[2]) {\n"
  "  %3: f64[2] = mul %0, %2\n"
  "  %4: f64[2] = sub %1, %3\n"
  "  return %4, %2\n"
  "}\n"
  "program @main(%0: f64[], %1: f64[2], %2: f64[2]) {\n"
  "  %3: f64[2], %4: f64[2] = linear_solve[matvec=@matvec, vecmat=none, "
  "solve=@solve, transpose_solve=none] %0, %1, %2\n"
  "  return %3, %4\n"
  "}\n",
  /* 2 x = b of f32 without elements */
  "program @matvec(%0: f32[0,2]) {\n"
  "  %1: f32[0,2] = mul %0, 2.0:f32\n"
  "  return %1\n"
  "}\n"
  "program @solve(%0: f32[0,2]) {\n"
  "  %1: f32[0,2] = div %0, 2.0:f32\n"
  "  return %1\n"
  "}\n"
  "program @main(%0: f32[0,2]) {\n"
  "  %1: f32[0,2] = linear_solve[matvec=@matvec, vecmat=none, solve=@solve, "
  "transpose_solve=none] %0\n"
  "  return %1\n"
  "}\n",
  NULL
};

const cxi_row cxi_row_linear_solve = {
  .prim = CXI_PRIM_linear_solve,
  .form = CXI_FORM_CALL,
  .formula = "solve(consts, b), x of matvec(consts, x) = b",
  .infer = infer,
  .jvp = jvp,
  .transpose = transpose,
  .batch = batch,
  .dce = dce,
  .evaluate = evaluate,
  .examples = examples,
};
