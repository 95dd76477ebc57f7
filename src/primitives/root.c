/* root.c - x of f(consts, x) = 0, found by a program that is not
 * differentiated.
 *
 *   f(x) = 0   jvp ->   (df/dx) dx = -df of the consts at x
 *
 * x is the result of the equation itself, which depends on the consts: that
 * makes derivatives of any order right. */
#include <string.h>

#include "ops/lax.h"
#include "primitives/solve.h"

typedef cxi_root_params params;

enum { N_PARTS = 4 };

/* `solve` first: its results are the equation's. */
static void parts_of(const params *p, cxi_solve_part parts[N_PARTS]) {
  const cxi_solve_part all[N_PARTS] = {
    { "solve", p->solve, 1, false, false },
    { "f", p->f, 1, false, true },
    { "tangent_solve", p->tangent_solve, 2, false, false },
    { "transpose_solve", p->transpose_solve, 2, true, false },
  };
  memcpy(parts, all, sizeof all);
}

/* The arrays of a vector. */
static uint32_t vector_of(const params *p) {
  return p->f->n_out;
}

static bool infer(cxi_infer *c) {
  const params *p = c->params;
  cxi_solve_part parts[N_PARTS];
  if (!p->f) return cxi_infer_fail(c, CX_ETREE, "no f");
  parts_of(p, parts);
  return cxi_solve_infer(c, parts, N_PARTS, vector_of(p), p->solve);
}

/* (consts, x, v) -> (df/dx) v */
static const cxi_program *derivative(const cxi_rule *r, const cxi_program *f,
                                     uint32_t m) {
  bool *nonzero = cxi_call_array(f->n_in, sizeof *nonzero);
  bool *all = cxi_call_array(m, sizeof *all);
  bool *nonzero_out = cxi_call_array(m, sizeof *nonzero_out);
  uint32_t *pick = cxi_call_array(m, sizeof *pick);
  if (!nonzero || !all || !nonzero_out || !pick) return NULL;
  for (uint32_t i = 0; i < m; i++) {
    nonzero[f->n_in - m + i] = all[i] = true;
    pick[i] = m + i;
  }
  const cxi_program *q =
      r->transforms->jvp(f, nonzero, all, false, nonzero_out);
  return q ? r->transforms->select(q, NULL, m, pick) : NULL;
}

static void jvp(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                cx *dout) {
  const params *p = r->params;
  const uint32_t m = vector_of(p), n = r->n_in - m;
  cx *rhs = cxi_call_array(m, sizeof *rhs);
  cx *consts = cxi_call_array((size_t)n + m, sizeof *consts);
  if (!rhs || !consts) return;
  for (uint32_t i = 0; i < m; i++) rhs[i] = cx_none();
  if (!cxi_solve_right_side(r, p->f, m, in, dx, out, rhs)) return;
  const cxi_linear_solve_params linear = {
    .matvec = derivative(r, p->f, m),
    .solve = p->tangent_solve,
    .transpose_solve = p->transpose_solve,
  };
  memcpy(consts, in, n * sizeof *consts);
  memcpy(consts + n, out, m * sizeof *consts);
  if (linear.matvec) cxi_solve_linear(r, &linear, n + m, consts, m, rhs, dout);
}

static void batch(const cxi_rule *r, const cx *in, const int *axis,
                  int64_t size, cx *out, int *out_axis) {
  const params *p = r->params;
  cxi_solve_part parts[N_PARTS];
  const cxi_program *q[N_PARTS];
  parts_of(p, parts);
  const cx *args = cxi_solve_batch(r, parts, N_PARTS, vector_of(p), in, axis,
                                   size, q, out_axis);
  const params made = {
    .solve = q[0], .f = q[1], .tangent_solve = q[2], .transpose_solve = q[3]
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
  /* exp(x) = 2 + sin a; the guess does not matter */
  "program @f(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = sin %0\n"
  "  %3: f64[3] = add %2, 2.0:f64\n"
  "  %4: f64[3] = exp %1\n"
  "  %5: f64[3] = sub %4, %3\n"
  "  return %5\n"
  "}\n"
  "program @solve(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3] = sin %0\n"
  "  %3: f64[3] = add %2, 2.0:f64\n"
  "  %4: f64[3] = log %3\n"
  "  return %4, 7:i32\n"
  "}\n"
  "program @tangent(%0: f64[3], %1: f64[3], %2: f64[3]) {\n"
  "  %3: f64[3] = exp %1\n"
  "  %4: f64[3] = div %2, %3\n"
  "  return %4\n"
  "}\n"
  "program @main(%0: f64[3], %1: f64[3]) {\n"
  "  %2: f64[3], %3: i32[] = root[f=@f, solve=@solve, tangent_solve=@tangent, "
  "transpose_solve=none] %0, %1\n"
  "  return %2, %3\n"
  "}\n",
  /* 2 x = 1 of f32 without elements */
  "program @f(%0: f32[0]) {\n"
  "  %1: f32[0] = mul %0, 2.0:f32\n"
  "  %2: f32[0] = sub %1, 1.0:f32\n"
  "  return %2\n"
  "}\n"
  "program @solve(%0: f32[0]) {\n"
  "  return %0\n"
  "}\n"
  "program @half(%0: f32[0], %1: f32[0]) {\n"
  "  %2: f32[0] = div %1, 2.0:f32\n"
  "  return %2\n"
  "}\n"
  "program @main(%0: f32[0]) {\n"
  "  %1: f32[0] = root[f=@f, solve=@solve, tangent_solve=@half, "
  "transpose_solve=@half] %0\n"
  "  return %1\n"
  "}\n",
  NULL
};

const cxi_row cxi_row_root = {
  .prim = CXI_PRIM_root,
  .form = CXI_FORM_CALL,
  .formula = "solve(consts, x0), x of f(consts, x) = 0",
  .infer = infer,
  .jvp = jvp,
  .no_transpose = "not linear",
  .batch = batch,
  .dce = dce,
  .evaluate = evaluate,
  .examples = examples,
};
