/* rows_rules.c - the rules of a row on its examples. */
#include "support/rows_inside.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "backends/reference/reference.h"
#include "base/alloc.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "transforms/transforms.h"

static double dot(const cxi_view *a, const cxi_view *b) {
  double sum = 0;
  for (int64_t i = 0; i < row_count(a); i++)
    sum += array_get(a, i) * array_get(b, i);
  return sum;
}

/* -- batch: the rule at every choice of axes against a loop --------------- */

typedef struct batching {
  const cxi_program *whole; /* of one equation */
  const cxi_equation *e;
  int64_t size;
  int axis[MOST], out_axis[MOST];
  const cxi_program *batched;
} batching;

/* Next choice of axes, -1 for none; false when all were made. */
static bool next_axes(batching *b) {
  const uint32_t *operands = cxi_operands_of(b->whole, b->e);
  for (uint32_t i = 0; i < b->e->n_in; i++) {
    const int rank = cxi_type_rank(b->whole->values[operands[i]].type);
    if (++b->axis[i] <= rank) return true;
    b->axis[i] = -1;
  }
  return false;
}

static void apply_rule(batching *b) {
  const cxi_equation *e = b->e;
  const uint32_t *operands = cxi_operands_of(b->whole, e);
  const cxi_row *row = cxi_row_of((cxi_prim)e->prim);
  cxi_type in_types[MOST], out_types[MOST];
  cx in[MOST], out[MOST];
  cxi_builder builder;
  cxi_error error = { 0 };
  cxi_builder_open(&builder);
  for (uint32_t i = 0; i < e->n_in; i++) {
    in_types[i] = b->whole->values[operands[i]].type;
    cx_dims shape = *cxi_type_shape(in_types[i]);
    if (b->axis[i] >= 0) shape = cxi_dims_with(shape, b->axis[i], b->size);
    in[i] =
        cxi_builder_input(&builder, cxi_type_with_shape(in_types[i], shape));
  }
  for (uint32_t i = 0; i < e->n_out; i++)
    out_types[i] = b->whole->values[e->out + i].type;
  const cxi_rule rule = { .transforms = &cxi_transforms_table,
                          .row = row,
                          .params = e->params,
                          .n_in = e->n_in,
                          .n_out = e->n_out,
                          .in_types = in_types,
                          .out_types = out_types };
  row->batch(&rule, in, b->axis, b->size, out, b->out_axis);
  b->batched =
      cxi_builder_finish(&builder, 0, e->n_in, in, e->n_out, out, &error);
  row_check(b->batched != NULL, error.text, b->whole);
}

/* The equation on operands, as a program of its own. */
static const cxi_program *alone(const cxi_program *p, const cxi_equation *e) {
  const uint32_t *operands = cxi_operands_of(p, e);
  cx in[MOST], out[MOST];
  cxi_builder builder;
  cxi_error error = { 0 };
  cxi_builder_open(&builder);
  for (uint32_t i = 0; i < e->n_in; i++)
    in[i] = cxi_builder_input(&builder, p->values[operands[i]].type);
  cxi_emit((cxi_prim)e->prim, e->params, e->n_in, in, e->n_out, out);
  const cxi_program *q =
      cxi_builder_finish(&builder, 0, e->n_in, in, e->n_out, out, &error);
  assert_non_null(q);
  return q;
}

static void compare_example(const batching *b, int64_t k,
                            const cxi_view *batched, const cxi_view *single) {
  for (uint32_t i = 0; i < b->e->n_out; i++) {
    const int axis = b->out_axis[i];
    if (axis >= 0) {
      row_check(axis < batched[i].type.shape.n &&
                    batched[i].type.shape.d[axis] == b->size,
                "batch: the axis of a result", b->batched);
    }
    const cxi_view part =
        axis < 0 ? batched[i] : cxi_view_at(&batched[i], axis, k);
    row_check(cxi_aval_equal(&part.type, &single[i].type), "batch: a type",
              b->batched);
    cxi_view dense = row_array(part.type);
    cxi_view_copy(&dense, &part);
    row_check(memcmp(dense.data, single[i].data,
                     (size_t)cxi_aval_bytes(&part.type)) == 0,
              "batch: not the bits of a loop", b->batched);
    array_free(&dense);
  }
}

static void check_axes(batching *b, const cxi_program *loop, uint64_t *state) {
  const uint32_t n_in = b->e->n_in, n_out = b->e->n_out;
  cxi_view in[MOST], out[MOST], one[MOST], single[MOST];
  cxi_hold_enter();
  apply_rule(b);
  for (uint32_t i = 0; i < n_in; i++)
    in[i] = array_random(*cxi_type_aval(b->batched->values[i].type), state);
  row_run(b->batched, in, out);
  for (int64_t k = 0; k < b->size; k++) {
    for (uint32_t i = 0; i < n_in; i++)
      one[i] = b->axis[i] < 0 ? in[i] : cxi_view_at(&in[i], b->axis[i], k);
    row_run(loop, one, single);
    compare_example(b, k, out, single);
    row_free_all(single, n_out);
  }
  row_free_all(in, n_in);
  row_free_all(out, n_out);
  cxi_program_release(b->batched);
  cxi_hold_leave();
}

static void check_batch(const cxi_program *p, uint64_t *state) {
  const cxi_equation *e = &p->equations[p->n_equations - 1];
  if (!cxi_row_of((cxi_prim)e->prim)->batch) return;
  const cxi_program *loop = alone(p, e);
  for (int64_t size = 0; size <= 3; size += 3) {
    batching b = { .whole = p, .e = e, .size = size };
    for (uint32_t i = 0; i < e->n_in; i++) b.axis[i] = -1;
    while (next_axes(&b)) check_axes(&b, loop, state);
  }
  cxi_program_release(loop);
}

/* -- derivatives ---------------------------------------------------------- */

/* A point, a direction for the inputs in `wrt`, and what comes of them. */
typedef struct point {
  const cxi_program *p;
  bool wrt[MOST], floats_out[MOST];
  cxi_view in[MOST], dx[MOST]; /* dx: zeros where not in wrt */
  cxi_view out[2 * MOST];      /* of jvp: the outputs, their tangents */
  uint32_t n_out;
} point;

static point point_at(const cxi_program *p, uint64_t subset, uint64_t *state) {
  point at = { .p = p };
  for (uint32_t i = 0; i < p->n_in; i++) {
    const cx_aval type = *cxi_type_aval(p->values[i].type);
    at.wrt[i] = cxi_dtype_is_float(type.type) && (subset >> i & 1);
    at.in[i] = array_random(type, state);
    at.dx[i] = at.wrt[i] ? array_random(type, state) : row_array(type);
  }
  for (uint32_t i = 0; i < p->n_out; i++)
    at.floats_out[i] = cxi_type_is_float(cxi_output_type(p, i));
  return at;
}

static void point_free(point *at) {
  row_free_all(at->in, at->p->n_in);
  row_free_all(at->dx, at->p->n_in);
  row_free_all(at->out, at->n_out);
}

static void run_jvp(point *at) {
  cxi_error error = { 0 };
  bool nonzero[MOST];
  const cxi_program *j =
      cxi_jvp(at->p, at->wrt, at->floats_out, false, nonzero, &error);
  row_check(j != NULL, error.text, at->p);
  cxi_view in[2 * MOST];
  uint32_t n = 0;
  for (uint32_t i = 0; i < at->p->n_in; i++) in[n++] = at->in[i];
  for (uint32_t i = 0; i < at->p->n_in; i++)
    if (at->wrt[i]) in[n++] = at->dx[i];
  at->n_out = j->n_out;
  row_run(j, in, at->out);
}

/* The outputs at in + step dx. */
static void run_moved(const point *at, double step, cxi_view *out) {
  cxi_view moved[MOST];
  for (uint32_t i = 0; i < at->p->n_in; i++) {
    const cx_dtype type = at->in[i].type.type;
    moved[i] = row_array(at->in[i].type);
    cxi_view_copy(&moved[i], &at->in[i]);
    for (int64_t k = 0; at->wrt[i] && k < row_count(&moved[i]); k++)
      cxi_element_set(type, row_element(&moved[i], k),
                      array_get(&at->in[i], k) +
                          step * array_get(&at->dx[i], k));
  }
  row_run(at->p, moved, out);
  row_free_all(moved, at->p->n_in);
}

static void check_differences(const point *at) {
  cxi_view above[MOST], below[MOST];
  const double step = 1e-6;
  run_moved(at, step, above);
  run_moved(at, -step, below);
  uint32_t t = at->p->n_out;
  for (uint32_t i = 0; i < at->p->n_out; i++) {
    if (!at->floats_out[i]) continue;
    const cxi_view *tangent = &at->out[t++];
    for (int64_t k = 0; k < row_count(tangent); k++) {
      const double y = array_get(tangent, k), x = array_get(&above[i], k);
      if (!isfinite(x)) continue;
      const double d = (x - array_get(&below[i], k)) / (2 * step);
      char what[120];
      snprintf(what, sizeof what,
               "jvp: element %d of tangent %u is %g, the difference %g", (int)k,
               i, y, d);
      row_check(fabs(y - d) <= 1e-6 * (1 + fabs(y)), what, at->p);
    }
  }
  row_free_all(above, at->p->n_out);
  row_free_all(below, at->p->n_out);
}

static void check_product(double a, double b, const cxi_program *p) {
  row_check(fabs(a - b) <= 1e-9 * (1 + fabs(a)), "<ct, J v> is not <J' ct, v>",
            p);
}

static void check_vjp(const point *at, uint64_t *state) {
  cxi_error error = { 0 };
  const uint32_t n_out = at->p->n_out;
  const cxi_program *v = cxi_vjp(at->p, at->wrt, at->floats_out, &error);
  row_check(v != NULL, error.text, at->p);
  cxi_view in[2 * MOST], out[2 * MOST];
  uint32_t n = at->p->n_in, t = n_out, g = n_out;
  double left = 0, right = 0;
  memcpy(in, at->in, n * sizeof *in);
  for (uint32_t i = 0; i < n_out; i++) {
    if (!at->floats_out[i]) continue;
    in[n] = array_random(at->out[i].type, state);
    left += dot(&in[n++], &at->out[t++]);
  }
  row_run(v, in, out);
  for (uint32_t i = 0; i < at->p->n_in; i++)
    if (at->wrt[i]) right += dot(&out[g++], &at->dx[i]);
  check_product(left, right, v);
  row_free_all(in + at->p->n_in, n - at->p->n_in);
  row_free_all(out, v->n_out);
}

/* The linear part transposed with an accumulator for each tangent. */
static void check_accumulators(const point *at, uint64_t *state) {
  cxi_error error = { 0 };
  bool nonzero[MOST], linear[2 * MOST] = { false }, all[MOST];
  cxi_partial parts;
  row_check(cxi_linearize(at->p, at->wrt, &parts, nonzero, &error), error.text,
            at->p);
  const cxi_program *f = parts.unknown;
  uint32_t n_linear = 0;
  for (uint32_t i = 0; i < at->p->n_in; i++)
    if (at->wrt[i]) linear[n_linear++] = true;
  for (uint32_t i = 0; i < f->n_out; i++) all[i] = true;
  const cxi_program *back =
      cxi_transpose_program(f, linear, all, linear, &error);
  row_check(back != NULL, error.text, f);
  cxi_view known[2 * MOST], in[2 * MOST], out[MOST], y[MOST];
  row_run(parts.known, at->in, known);
  const cxi_view *residuals = known + at->p->n_out;
  uint32_t n = 0;
  for (uint32_t i = 0, k = 0; i < at->p->n_in; i++)
    if (at->wrt[i]) in[k++] = at->dx[i];
  memcpy(in + n_linear, residuals, parts.n_residuals * sizeof *in);
  row_run(f, in, y);
  double left = 0, right = 0;
  for (uint32_t i = 0; i < parts.n_residuals; i++) in[n++] = residuals[i];
  for (uint32_t i = 0; i < f->n_out; i++) {
    in[n] = array_random(y[i].type, state);
    left += dot(&in[n++], &y[i]);
  }
  for (uint32_t i = 0; i < n_linear; i++)
    in[n++] = array_random(*cxi_type_aval(f->values[i].type), state);
  row_run(back, in, out);
  for (uint32_t i = 0, k = 0; i < at->p->n_in; i++) {
    if (!at->wrt[i]) continue;
    right += dot(&out[k], &at->dx[i]) -
             dot(&in[parts.n_residuals + f->n_out + k], &at->dx[i]);
    k++;
  }
  check_product(left, right, back);
  row_free_all(in + parts.n_residuals, n - parts.n_residuals);
  row_free_all(known, parts.known->n_out);
  row_free_all(y, f->n_out);
  row_free_all(out, back->n_out);
}

static void check_derivatives(const cxi_program *p, uint64_t *state) {
  uint64_t floats = 0;
  bool any_out = false;
  for (uint32_t i = 0; i < p->n_in; i++)
    if (cxi_type_is_float(p->values[i].type)) floats |= (uint64_t)1 << i;
  for (uint32_t i = 0; i < p->n_out; i++)
    any_out = any_out || cxi_type_is_float(cxi_output_type(p, i));
  if (!floats || !any_out) return;
  for (uint64_t subset = 1; subset < (uint64_t)1 << p->n_in; subset++) {
    if (subset & ~floats) continue;
    cxi_hold_enter();
    point at = point_at(p, subset, state);
    run_jvp(&at);
    check_differences(&at);
    check_vjp(&at, state);
    check_accumulators(&at, state);
    point_free(&at);
    cxi_hold_leave();
  }
}

/* -- examples ------------------------------------------------------------- */

/* The text with f64 for f16, bf16 and f32, so that differences are sharp. */
static char *in_f64(const char *text) {
  char *out = calloc(1, strlen(text) * 2 + 1), *at = out;
  assert_non_null(out);
  while (*text) {
    size_t skip = 0;
    if (strncmp(text, "bf16", 4) == 0) skip = 4;
    if (strncmp(text, "f32", 3) == 0 || strncmp(text, "f16", 3) == 0) skip = 3;
    if (skip)
      memcpy(at, "f64", 3);
    else
      *at = *text;
    at += skip ? 3 : 1;
    text += skip ? skip : 1;
  }
  return out;
}

static void check_text(const cxi_program *p) {
  cxi_error error = { 0 };
  row_check(cxi_program_check(p, &error), error.text, p);
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  assert_non_null(text);
  const cxi_program *again = row_parse(text);
  assert_true(cxi_hash_equal(again->hash, p->hash));
  cxi_program_release(again);
  cxi_free(text);
}

static void check_example(const char *text, uint64_t *state) {
  const cxi_program *p = row_parse(text);
  check_text(p);
  check_batch(p, state);
  cxi_program_release(p);
  char *sharp = in_f64(text);
  p = row_parse(sharp);
  check_derivatives(p, state);
  cxi_program_release(p);
  free(sharp);
}

void check_rules_of(const char *text) {
  uint64_t state = strlen(text);
  check_example(text, &state);
}

void check_rules(cxi_prim prim) {
  const cxi_row *row = cxi_row_of(prim);
  uint64_t state = prim;
  assert_non_null(row);
  assert_int_equal(row->prim, prim);
  assert_true(row->form && row->formula && row->infer && row->evaluate);
  assert_true(row->jvp || row->no_jvp);
  assert_true(row->transpose || row->no_transpose);
  assert_true(row->batch || row->no_batch);
  for (const char *const *text = row->examples; *text; text++)
    check_example(*text, &state);
}
