/* train.c - the recorded steps of Adam, made with own gradients and the
 * library's own optimizer. */
#include "train.h"

#include <stdio.h>
#include <string.h>

#include "calx/models/optimizer.h"
#include "compare.h"
#include "derive.h"
#include "jaxpr_text.h"
#include "record.h"

/* What is trained: a tuple of parameters, the state of Adam, the batch. */
typedef struct training {
  cx_fn value_and_grad; /* of (parameters, batch): outputs, gradients */
  double lr;
  adam_options options;
  int n, n_batch;
  cx params, state, batch[JAXPR_MAX];
} training;

static double number_of(const json_t *object, const char *name) {
  return json_number_value(json_object_get(object, name));
}

/* Of a trajectory it is recorded; a single step names its rate alone. */
static void read_optimizer(training *t, const json_t *record) {
  const json_t *adam =
      json_object_get(json_object_get(record, "optimizer"), "adam");
  t->lr = number_of(adam ? adam : record, "lr");
  t->options.b1 = number_of(adam, "b1");
  t->options.b2 = number_of(adam, "b2");
  t->options.eps = adam ? number_of(adam, "eps") : 1e-5;
}

/* A tuple of the n arrays of the record's inputs from `at` on. */
static cx read_arrays(const json_t *record, int at, int n) {
  cx items[JAXPR_MAX];
  for (int i = 0; i < n; i++)
    items[i] = record_array(
        json_array_get(json_object_get(record, "in"), (size_t)at + (size_t)i));
  return cx_tuple_n(n, items);
}

static cx inputs_of(const training *t) {
  cx in[2 * JAXPR_MAX];
  for (int i = 0; i < t->n; i++) in[i] = cx_nth(t->params, i);
  for (int i = 0; i < t->n_batch; i++) in[t->n + i] = t->batch[i];
  return cx_tuple_n(t->n + t->n_batch, in);
}

/* One step; the outputs of the function go to out[], unless it fails. */
static void train_step(training *t, cx *out) {
  cx result = cx_call(t->value_and_grad, inputs_of(t)), grads[JAXPR_MAX];
  const int n_out = cx_len(result) - t->n;
  for (int i = 0; i < n_out; i++) out[i] = cx_nth(result, i);
  for (int i = 0; i < t->n; i++) grads[i] = cx_nth(result, n_out + i);
  adam_update(t->params, cx_tuple_n(t->n, grads), t->state,
              cx_scalar(t->lr, CX_F32), t->options, &t->params, &t->state);
}

/* The parameters, both moments, the number of the next step, the loss. */
static bool step_matches(training *t, const json_t *record, char *why,
                         size_t room) {
  cx out[JAXPR_MAX] = { 0 };
  train_step(t, out);
  cx next = cx_cast(cx_add(cx_get(t->state, "t"), 1), CX_F32);
  cx all = cx_tuple(t->params, cx_get(t->state, "m"), cx_get(t->state, "v"),
                    next, out[0]);
  return cx_ok() && compare_outputs(all, json_object_get(record, "out"),
                                    number_of(record, "tol"), why, room);
}

/* The leaf of the batch that the returned memory replaces, or -1. */
static int place_of_memory(const json_t *record) {
  size_t i;
  json_t *name;
  if (!json_is_true(json_object_get(record, "memory_carry"))) return -1;
  json_array_foreach(json_object_get(record, "batch"), i, name) {
    if (!strcmp(json_string_value(name), "mem")) return (int)i;
  }
  return -1;
}

static bool parameters_match(const training *t, const json_t *record, char *why,
                             size_t room) {
  const double tol = number_of(record, "params_atol");
  const json_t *out = json_object_get(record, "out");
  for (int i = 0; i < t->n; i++) {
    cx want = record_array(json_array_get(out, (size_t)i));
    cx off = cx_max(cx_abs(cx_sub(cx_nth(t->params, i), want)));
    if (cx_item(off) <= tol) continue;
    snprintf(why, room, "parameter %d is %g away, allowed are %g", i,
             cx_item(off), tol);
    return false;
  }
  return true;
}

static bool trajectory_matches(training *t, const json_t *record, char *why,
                               size_t room) {
  const double tol = number_of(record, "tol");
  const int steps = (int)json_integer_value(json_object_get(record, "steps"));
  const int memory = place_of_memory(record);
  cx out[JAXPR_MAX] = { 0 }, losses = cx_zeros(CX_F32, steps);
  for (int i = 0; i < steps && cx_ok(); i++) {
    train_step(t, out);
    losses = cx_at_set(losses, (i), out[0]);
    if (memory >= 0) t->batch[memory] = out[1];
  }
  if (!cx_ok() ||
      !compare_array(losses, json_object_get(record, "losses"), tol, why, room))
    return false;
  if (memory >= 0 &&
      !compare_array(t->batch[memory], json_object_get(record, "final_mem"),
                     tol, why, room))
    return false;
  return parameters_match(t, record, why, room);
}

/* A single step comes with its moments and its number, 1. */
static bool open_training(training *t, cx_fn f, const json_t *record,
                          bool single) {
  bool handled;
  t->params = read_arrays(record, 0, t->n);
  t->state = adam_init(t->params);
  if (single)
    t->state = cx_dict("m", read_arrays(record, t->n, t->n), "v",
                       read_arrays(record, 2 * t->n, t->n), "t",
                       cx_get(t->state, "t"));
  cx batch = read_arrays(record, single ? 3 * t->n + 1 : t->n, t->n_batch);
  for (int i = 0; i < t->n_batch; i++) t->batch[i] = cx_nth(batch, i);
  f = derive_kind(f, "value_and_grad", cx_spec_like(inputs_of(t)), record,
                  &handled);
  t->value_and_grad = cx_jit(f);
  return f && cx_ok();
}

bool train_matches(cx_fn f, const json_t *record, char *why, size_t room) {
  training t = { 0 };
  const bool single = json_object_get(record, "jaxpr") != NULL;
  const size_t given = json_array_size(json_object_get(record, "in"));
  const size_t n = json_array_size(json_object_get(record, "params"));
  const size_t n_batch = json_array_size(json_object_get(record, "batch"));
  const size_t wanted = (single ? 3 * n + 1 : n) + n_batch;
  if (n > JAXPR_MAX || n_batch > JAXPR_MAX || given != wanted) {
    snprintf(why, room, "%zu inputs, wanted %zu", given, wanted);
    return false;
  }
  t.n = (int)n;
  t.n_batch = (int)n_batch;
  read_optimizer(&t, record);
  if (!open_training(&t, f, record, single)) return false;
  return single ? step_matches(&t, record, why, room)
                : trajectory_matches(&t, record, why, room);
}
