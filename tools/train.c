/* train.c - the recorded steps of Adam, made with own gradients. */
#include "train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "derive.h"
#include "jaxpr_text.h"
#include "record.h"

typedef struct adam {
  double lr, b1, b2, eps;
} adam;

/* Of a trajectory it is recorded; a single step names its rate alone. */
static adam adam_of(const json_t *record) {
  const json_t *given =
      json_object_get(json_object_get(record, "optimizer"), "adam");
  if (!given)
    return (adam){ json_number_value(json_object_get(record, "lr")), 0.9, 0.999,
                   1e-5 };
  return (adam){ json_number_value(json_object_get(given, "lr")),
                 json_number_value(json_object_get(given, "b1")),
                 json_number_value(json_object_get(given, "b2")),
                 json_number_value(json_object_get(given, "eps")) };
}

/* What is trained: n parameters with their moments, and the batch. */
typedef struct training {
  cx_fn value_and_grad; /* of (parameters, batch): outputs, gradients */
  adam adam;
  int n, n_batch;
  cx p[JAXPR_MAX], m[JAXPR_MAX], v[JAXPR_MAX], batch[JAXPR_MAX];
} training;

/* Arrays of the record from `at` on; where they end. */
static int read_arrays(const json_t *record, int at, int n, cx *out) {
  const json_t *in = json_object_get(record, "in");
  for (int i = 0; i < n; i++)
    out[i] = record_array(json_array_get(in, (size_t)(at + i)));
  return at + n;
}

/* Kingma & Ba 2015, algorithm 1. */
static void update(training *t, int i, cx g, double step) {
  const adam a = t->adam;
  t->m[i] = cx_add(cx_mul(a.b1, t->m[i]), cx_mul(1 - a.b1, g));
  t->v[i] = cx_add(cx_mul(a.b2, t->v[i]), cx_mul(1 - a.b2, cx_square(g)));
  cx m = cx_div(t->m[i], 1 - pow(a.b1, step));
  cx v = cx_div(t->v[i], 1 - pow(a.b2, step));
  t->p[i] = cx_sub(t->p[i], cx_mul(a.lr, cx_div(m, cx_add(cx_sqrt(v), a.eps))));
}

/* One step; the outputs of the function in out[], their number. */
static int train_step(training *t, double step, cx *out) {
  cx in[2 * JAXPR_MAX];
  int k = 0;
  for (int i = 0; i < t->n; i++) in[k++] = t->p[i];
  for (int i = 0; i < t->n_batch; i++) in[k++] = t->batch[i];
  cx result = cx_call(t->value_and_grad, cx_tuple_n(k, in));
  const int n_out = cx_len(result) - t->n;
  for (int i = 0; i < n_out; i++) out[i] = cx_nth(result, i);
  for (int i = 0; i < t->n; i++) update(t, i, cx_nth(result, n_out + i), step);
  return n_out;
}

static bool open_training(training *t, cx_fn f, const json_t *record, int at) {
  cx in[2 * JAXPR_MAX];
  bool handled;
  int k = 0;
  for (int i = 0; i < t->n; i++) in[k++] = t->p[i];
  read_arrays(record, at, t->n_batch, t->batch);
  for (int i = 0; i < t->n_batch; i++) in[k++] = t->batch[i];
  f = derive_kind(f, "value_and_grad", cx_spec_like(cx_tuple_n(k, in)), record,
                  &handled);
  t->value_and_grad = cx_jit(f);
  return f && cx_ok();
}

static bool step_matches(training *t, const json_t *record, char *why,
                         size_t room) {
  cx out[JAXPR_MAX], all[4 * JAXPR_MAX];
  int k = 0;
  train_step(t, 1, out);
  for (int i = 0; i < t->n; i++) all[k++] = t->p[i];
  for (int i = 0; i < t->n; i++) all[k++] = t->m[i];
  for (int i = 0; i < t->n; i++) all[k++] = t->v[i];
  all[k++] = cx_scalar(2, CX_F32);
  all[k++] = out[0];
  return compare_outputs(cx_tuple_n(k, all), json_object_get(record, "out"),
                         json_number_value(json_object_get(record, "tol")), why,
                         room);
}

/* The leaf of the batch that the returned memory replaces, or -1. */
static int place_of_memory(const json_t *record) {
  size_t i;
  json_t *name;
  if (!json_is_true(json_object_get(record, "memory_carry"))) return -1;
  json_array_foreach(
      json_object_get(record, "batch"), i,
      name) if (!strcmp(json_string_value(name), "mem")) return (int)i;
  return -1;
}

static bool parameters_match(const training *t, const json_t *record, char *why,
                             size_t room) {
  const double tol = json_number_value(json_object_get(record, "params_atol"));
  const json_t *out = json_object_get(record, "out");
  for (int i = 0; i < t->n; i++) {
    cx want = record_array(json_array_get(out, (size_t)i));
    const double off = cx_item(cx_max(cx_abs(cx_sub(t->p[i], want))));
    if (off <= tol) continue;
    snprintf(why, room, "parameter %d is %g away, allowed are %g", i, off, tol);
    return false;
  }
  return true;
}

static bool trajectory_matches(training *t, const json_t *record, char *why,
                               size_t room) {
  const double tol = json_number_value(json_object_get(record, "tol"));
  const int steps = (int)json_integer_value(json_object_get(record, "steps"));
  const int memory = place_of_memory(record);
  cx out[JAXPR_MAX], losses = cx_zeros(CX_F32, steps);
  for (int i = 0; i < steps && cx_ok(); i++) {
    train_step(t, i + 1, out);
    losses = cx_at_set(losses, (i), out[0]);
    if (memory >= 0) t->batch[memory] = out[1];
  }
  if (!cx_ok() ||
      !compare_array(losses, json_object_get(record, "losses"), tol, why, room))
    return false;
  const json_t *last = json_object_get(record, "final_mem");
  if (memory >= 0 && !compare_array(out[1], last, tol, why, room)) return false;
  return parameters_match(t, record, why, room);
}

bool train_matches(cx_fn f, const json_t *record, char *why, size_t room) {
  training t = { .adam = adam_of(record) };
  const json_t *in = json_object_get(record, "in");
  const bool single = json_object_get(record, "jaxpr") != NULL;
  t.n = (int)json_array_size(json_object_get(record, "params"));
  t.n_batch = (int)json_array_size(json_object_get(record, "batch"));
  const int n_in = single ? 3 * t.n + 1 + t.n_batch : t.n + t.n_batch;
  if (t.n > JAXPR_MAX || t.n_batch > JAXPR_MAX ||
      (int)json_array_size(in) != n_in) {
    snprintf(why, room, "%zu inputs, wanted %d", json_array_size(in), n_in);
    return false;
  }
  int at = read_arrays(record, 0, t.n, t.p);
  if (single) {
    at = read_arrays(record, at, t.n, t.m);
    at = read_arrays(record, at, t.n, t.v) + 1;
  } else {
    for (int i = 0; i < t.n; i++) t.m[i] = t.v[i] = cx_zeros_like(t.p[i]);
  }
  if (!open_training(&t, f, record, at)) return false;
  return single ? step_matches(&t, record, why, room)
                : trajectory_matches(&t, record, why, room);
}
