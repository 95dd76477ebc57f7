/* reference.c - one equation at a time, buffers freed at their last use. */
#include "backends/reference/reference.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/fpu.h"

enum { MAX_DEPTH = 500, MOST_SPARE = 16 };

/* A program being run. The body of a call runs in a frame of its own rather
 * than by recursion, so that nested calls cost no C stack. */
typedef struct frame {
  struct frame *caller; /* or, of a spare one, the next */
  struct room *room;
  const cxi_program *p; /* with a reference: a spare frame is found by it */
  cxi_view *values, *operands, *results;
  bool *owned;    /* the value's buffer is this frame's to free */
  bool *give;     /* operands handed to a call */
  uint32_t *last; /* 1 + the equation of the last use; 0: none */
  uint32_t at;    /* the equation it is at */
} frame;

/* What a run keeps from one step of a loop to the next: the buffers and the
 * last frames that have ended, the latest first. */
typedef struct room {
  cxi_buffers buffers;
  frame *spare;
} room;

/* The evaluation of rows, as they see it. */
typedef struct evaluation {
  cxi_eval eval; /* first, so that a pointer converts */
  room *room;
  int depth; /* of loops and branches around it */
} evaluation;

static bool run(room *r, const cxi_program *p, const cxi_view *in,
                const bool *give, cxi_view *out, int depth, cxi_error *error);

static bool no_memory(cxi_error *error) {
  return cxi_error_set(error, CX_EMEMORY, "no memory to run the program");
}

static size_t bytes_of(const cxi_view *view) {
  return (size_t)cxi_aval_bytes(&view->type);
}

static void release(room *r, cxi_view *view) {
  cxi_buffers_give(&r->buffers, view->data);
  view->data = NULL;
}

static void release_value(frame *f, uint32_t value) {
  if (f->owned[value]) release(f->room, &f->values[value]);
  f->owned[value] = false;
}

static const uint32_t *operands_at(const frame *f) {
  return cxi_operands_of(f->p, &f->p->equations[f->at]);
}

/* The place of each value's last use; the outputs are used at the end. */
static void find_last_uses(frame *f) {
  const cxi_program *p = f->p;
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    for (uint32_t k = 0; k < e->n_in; k++)
      f->last[p->operands[e->in + k]] = i + 1;
  }
  for (uint32_t i = 0; i < p->n_out; i++) f->last[p->outputs[i]] = UINT32_MAX;
}

static void frame_free(frame *f) {
  cxi_program_release(f->p);
  cxi_free(f->values);
  cxi_free(f);
}

/* The frame becomes the first spare one, and the last of too many is freed. */
static void frame_close(frame *f) {
  for (uint32_t v = 0; v < f->p->n_values; v++) release_value(f, v);
  f->caller = f->room->spare;
  f->room->spare = f;
  frame **at = &f->room->spare;
  for (int i = 0; i < MOST_SPARE && *at; i++) at = &(*at)->caller;
  if (!*at) return;
  frame_free(*at);
  *at = NULL;
}

/* The spare frame of p, or NULL. */
static frame *frame_again(room *r, const cxi_program *p) {
  for (frame **at = &r->spare; *at; at = &(*at)->caller) {
    frame *f = *at;
    if (f->p != p) continue;
    *at = f->caller;
    f->caller = NULL;
    f->at = 0;
    return f;
  }
  return NULL;
}

static void room_close(room *r) {
  while (r->spare) {
    frame *f = r->spare;
    r->spare = f->caller;
    frame_free(f);
  }
  cxi_buffers_empty(&r->buffers);
}

/* Frees the given inputs of a run that does not start. */
static void refuse(room *r, const cxi_program *p, const cxi_view *in,
                   const bool *give) {
  for (uint32_t i = 0; give && i < p->n_in; i++)
    if (give[i]) cxi_buffers_give(&r->buffers, in[i].data);
}

/* What all runs of p in a frame have in common, or NULL without memory. */
static frame *frame_new(room *r, const cxi_program *p) {
  uint32_t widest = 0;
  for (uint32_t i = 0; i < p->n_equations; i++)
    if (p->equations[i].n_in > widest) widest = p->equations[i].n_in;
  const size_t n = p->n_values, m = widest, n_views = n + m + p->n_out;
  frame *f = cxi_alloc_zeroed(1, sizeof *f);
  char *memory = cxi_alloc_zeroed(1, n_views * sizeof(cxi_view) + n + m +
                                         n * sizeof(uint32_t) + 1);
  if (!f || !memory) {
    cxi_free(f);
    cxi_free(memory);
    return NULL;
  }
  f->room = r;
  f->p = cxi_program_retain(p);
  f->values = (cxi_view *)(void *)memory;
  f->operands = f->values + n;
  f->results = f->operands + m;
  f->last = (uint32_t *)(void *)(f->results + p->n_out);
  f->owned = (bool *)(f->last + n);
  f->give = f->owned + n;
  find_last_uses(f);
  for (uint32_t i = 0; i < p->n_literals; i++) {
    const cx_aval *type = cxi_type_aval(p->values[p->n_in + i].type);
    f->values[p->n_in + i] = cxi_view_dense(*type, (void *)&p->literals[i]);
  }
  return f;
}

/* A frame in which p is about to start, or NULL without memory; takes over
 * what is given, either way. */
static frame *frame_open(room *r, const cxi_program *p, const cxi_view *in,
                         const bool *give) {
  frame *f = frame_again(r, p);
  if (!f) f = frame_new(r, p);
  if (!f) {
    refuse(r, p, in, give);
    return NULL;
  }
  for (uint32_t v = 0; v < p->n_in; v++) {
    f->values[v] = in[v];
    f->owned[v] = give && give[v];
    if (!f->last[v]) release_value(f, v);
  }
  return f;
}

static bool occurs_once(const frame *f, uint32_t value) {
  const cxi_equation *e = &f->p->equations[f->at];
  uint32_t n = 0;
  for (uint32_t k = 0; k < e->n_in; k++) n += operands_at(f)[k] == value;
  return n == 1;
}

/* Whether the value's buffer is this equation's to do with as it likes. */
static bool dies_here(const frame *f, uint32_t value) {
  return f->owned[value] && f->last[value] == f->at + 1 &&
         occurs_once(f, value);
}

/* A buffer for result k: that of the operand it may take, or a fresh one. */
static bool place_result(frame *f, const cxi_row *row, uint32_t k) {
  const cxi_equation *e = &f->p->equations[f->at];
  const uint32_t v = e->out + k;
  const cx_aval *type = cxi_type_aval(f->p->values[v].type);
  if (k == 0 && row->in_place && (uint32_t)row->in_place <= e->n_in) {
    const uint32_t from = operands_at(f)[row->in_place - 1];
    if (dies_here(f, from) && cxi_view_is_dense(&f->values[from]) &&
        bytes_of(&f->values[from]) == (size_t)cxi_aval_bytes(type)) {
      f->values[v] = cxi_view_dense(*type, f->values[from].data);
      f->owned[from] = false;
      f->owned[v] = true;
      return true;
    }
  }
  void *buffer =
      cxi_buffers_take(&f->room->buffers, (size_t)cxi_aval_bytes(type));
  f->values[v] = cxi_view_dense(*type, buffer);
  return f->owned[v] = buffer != NULL;
}

static bool run_body(cxi_eval *eval, const cxi_program *p, const cxi_view *in,
                     const bool *give, cxi_view *out) {
  const evaluation *outer = (const evaluation *)(const void *)eval;
  return run(outer->room, p, in, give, out, outer->depth + 1, eval->error);
}

static void release_view(cxi_eval *eval, cxi_view *owned) {
  release(((const evaluation *)(const void *)eval)->room, owned);
}

/* The equation the frame is at, by its row. */
static bool evaluate(frame *f, int depth, cxi_error *error) {
  const cxi_equation *e = &f->p->equations[f->at];
  const cxi_row *row = cxi_row_of((cxi_prim)e->prim);
  const char *name = cxi_prim_name((cxi_prim)e->prim);
  if (!row->evaluate)
    return cxi_error_set(error, CX_ENORULE, "%s cannot be run", name);
  for (uint32_t k = 0; k < e->n_in; k++)
    f->operands[k] = f->values[operands_at(f)[k]];
  for (uint32_t k = 0; k < e->n_out; k++)
    if (!place_result(f, row, k)) return no_memory(error);
  cxi_error failure = { 0 };
  evaluation c = { { .row = row,
                     .params = e->params,
                     .n_in = e->n_in,
                     .n_out = e->n_out,
                     .run = run_body,
                     .release = release_view,
                     .error = &failure },
                   f->room,
                   depth };
  cxi_view *results = f->values + e->out;
  const int64_t bytes = cxi_workspace(&c.eval, f->operands, results);
  cxi_buffers *buffers = &f->room->buffers;
  void *workspace = bytes > 0 ? cxi_buffers_take(buffers, (size_t)bytes) : NULL;
  if (bytes && !workspace) return no_memory(error);
  const bool done = cxi_evaluate_in(&c.eval, f->operands, results, workspace);
  cxi_buffers_give(buffers, workspace);
  if (done) return true;
  return failure.code == CX_OK
             ? cxi_error_set(error, CX_EMEMORY, "%s failed", name)
             : cxi_error_set(error, failure.code, "%s", failure.text);
}

/* A frame for the body of the call that f is at; dying operands are given. */
static frame *enter(frame *f, const cxi_program *body) {
  const cxi_equation *e = &f->p->equations[f->at];
  assert(body->n_in == e->n_in && body->n_out == e->n_out);
  for (uint32_t k = 0; k < e->n_in; k++) {
    const uint32_t v = operands_at(f)[k];
    f->operands[k] = f->values[v];
    f->give[k] = dies_here(f, v);
  }
  for (uint32_t k = 0; k < e->n_in; k++)
    if (f->give[k]) f->owned[operands_at(f)[k]] = false;
  frame *callee = frame_open(f->room, body, f->operands, f->give);
  if (callee) callee->caller = f;
  return callee;
}

/* Frees what the equation used last and results nobody uses; goes on. */
static void step(frame *f) {
  const cxi_equation *e = &f->p->equations[f->at];
  for (uint32_t k = 0; k < e->n_in; k++) {
    const uint32_t v = operands_at(f)[k];
    if (f->last[v] == f->at + 1) release_value(f, v);
  }
  for (uint32_t k = 0; k < e->n_out; k++)
    if (!f->last[e->out + k]) release_value(f, e->out + k);
  f->at++;
}

/* Moves the outputs out; what is not the frame's or leaves twice is copied. */
static bool take_outputs(frame *f, cxi_view *out) {
  for (uint32_t i = 0; i < f->p->n_out; i++) {
    const uint32_t v = f->p->outputs[i];
    if (f->owned[v]) {
      out[i] = f->values[v];
      f->owned[v] = false;
      continue;
    }
    void *buffer = cxi_buffers_take(&f->room->buffers, bytes_of(&f->values[v]));
    out[i] = cxi_view_dense(f->values[v].type, buffer);
    if (!buffer) {
      while (i-- > 0) release(f->room, &out[i]);
      return false;
    }
    cxi_view_copy(&out[i], &f->values[v]);
  }
  return true;
}

/* The frame has come to its end: its outputs become the caller's results. */
static frame *leave(frame *f) {
  frame *caller = f->caller;
  const cxi_equation *e = &caller->p->equations[caller->at];
  const bool ok = take_outputs(f, caller->values + e->out);
  for (uint32_t k = 0; ok && k < e->n_out; k++)
    caller->owned[e->out + k] = true;
  frame_close(f);
  if (ok)
    step(caller);
  else
    caller->at = UINT32_MAX;
  return caller;
}

static bool run(room *r, const cxi_program *p, const cxi_view *in,
                const bool *give, cxi_view *out, int depth, cxi_error *error) {
  if (depth > MAX_DEPTH) {
    refuse(r, p, in, give);
    return cxi_error_set(error, CX_EMEMORY,
                         "loops or branches nest more than %d deep", MAX_DEPTH);
  }
  frame *f = frame_open(r, p, in, give);
  if (!f) return no_memory(error);
  bool ok = true;
  while (ok && (f->caller || f->at < f->p->n_equations)) {
    if (f->at == f->p->n_equations) {
      f = leave(f);
      ok = f->at != UINT32_MAX || no_memory(error);
      continue;
    }
    const cxi_equation *e = &f->p->equations[f->at];
    const cxi_program *body = cxi_params_body((cxi_prim)e->prim, e->params);
    if (!body) {
      ok = evaluate(f, depth, error);
      if (ok) step(f);
      continue;
    }
    frame *callee = enter(f, body);
    if (callee)
      f = callee;
    else
      ok = no_memory(error);
  }
  if (ok) {
    /* aside first: `out` stays untouched on failure and may overlap `in` */
    ok = take_outputs(f, f->results) || no_memory(error);
    for (uint32_t i = 0; ok && i < p->n_out; i++) out[i] = f->results[i];
  }
  while (f) {
    frame *caller = f->caller;
    frame_close(f);
    f = caller;
  }
  return ok;
}

bool cxi_reference_run(const cxi_program *p, const cxi_view *in,
                       const bool *give, cxi_view *out, cxi_error *error) {
  const cxi_fpu mode = cxi_fpu_enter();
  room r = { 0 };
  const bool ok = run(&r, p, in, give, out, 0, error);
  room_close(&r);
  cxi_fpu_leave(mode);
  return ok;
}
