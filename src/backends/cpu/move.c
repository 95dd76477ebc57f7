/* move.c - units that only move elements. */
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"
#include "base/pool.h"

enum { TASK = 1 << 15, TURN_ROWS = 64 };

/* A copy of an array: sizes with the strides on both sides, in elements. The
 * last axis is one of lines, unless `turned`: then the last but one is the
 * side-by-side axis of `from`. */
typedef struct copying {
  int n;
  int64_t sizes[CX_MAX_DIMS + 1], to[CX_MAX_DIMS + 1], from[CX_MAX_DIMS + 1];
  int size; /* log2 of the element's bytes */
  bool turned;
  int64_t pieces, task_pieces; /* lines, or stripes of TURN_ROWS */
  cxi_ref at_to, at_from;
} copying;

typedef enum move_kind {
  MOVE_PARTS, /* copies of all parts */
  MOVE_PAD,   /* filled, then a part */
  MOVE_SLICE, /* from where the starts say */
  MOVE_UPDATE /* copied, unless in place; then a part to where
                                 the starts say */
} move_kind;

typedef struct move {
  const cxi_cpu_kernels *kernels;
  move_kind kind;
  uint32_t n_parts;
  copying *parts;
  cxi_ref whole, source, fill;
  int64_t count; /* elements of the whole result */
  int size;
  /* starts */
  int rank;
  cx_dtype start_type;
  cxi_ref starts[CX_MAX_DIMS];
  int64_t last[CX_MAX_DIMS], strides[CX_MAX_DIMS]; /* of what starts move */
} move;

typedef struct running {
  const move *m;
  const copying *c;
  char *to;
  const char *from;
} running;

/* -- copies ---------------------------------------------------------------- */

/* Joins axes that are one on both sides, and leaves out those of size 1. */
static void set_axes(copying *c, const cx_dims *shape, const int64_t *to,
                     const int64_t *from) {
  c->n = 0;
  for (int i = 0; i < shape->n; i++) {
    const int64_t size = shape->d[i];
    const int last = c->n - 1;
    if (size == 1) continue;
    if (c->n && c->to[last] == to[i] * size &&
        c->from[last] == from[i] * size) {
      c->sizes[last] *= size;
      c->to[last] = to[i];
      c->from[last] = from[i];
    } else {
      c->sizes[c->n] = size;
      c->to[c->n] = to[i];
      c->from[c->n++] = from[i];
    }
  }
  if (c->n == 0) {
    c->sizes[0] = 1;
    c->to[0] = c->from[0] = 1;
    c->n = 1;
  }
}

/* If another axis than the last lies side by side in `from`, it goes before
 * the last, and the two are turned. */
static void find_turn(copying *c) {
  const int last = c->n - 1;
  if (c->from[last] == 1 || c->from[last] == 0 || c->to[last] != 1) return;
  for (int i = 0; i < last; i++) {
    if (c->from[i] != 1 || c->sizes[i] < 4 || c->sizes[last] < 4) continue;
    const int64_t size = c->sizes[i], to = c->to[i];
    for (int j = i; j + 1 < last; j++) {
      c->sizes[j] = c->sizes[j + 1];
      c->to[j] = c->to[j + 1];
      c->from[j] = c->from[j + 1];
    }
    c->sizes[last - 1] = size;
    c->to[last - 1] = to;
    c->from[last - 1] = 1;
    c->turned = true;
    return;
  }
}

static copying make_copying(const cx_aval *type, const int64_t *to,
                            const int64_t *from, cxi_ref at_to,
                            cxi_ref at_from) {
  copying c = { .size = cxi_cpu_log2_bytes(type->type),
                .at_to = at_to,
                .at_from = at_from };
  set_axes(&c, &type->shape, to, from);
  /* a very long line is cut, so that several threads may have a part */
  const int last = c.n - 1;
  if (c.sizes[last] >= 2 * TASK && c.sizes[last] % TASK == 0) {
    c.sizes[c.n] = TASK;
    c.to[c.n] = c.to[last];
    c.from[c.n++] = c.from[last];
    c.sizes[last] /= TASK;
    c.to[last] *= TASK;
    c.from[last] *= TASK;
  }
  find_turn(&c);
  c.pieces = 1;
  for (int i = 0; i < c.n - 1 - c.turned; i++) c.pieces *= c.sizes[i];
  int64_t piece = c.sizes[c.n - 1];
  if (c.turned) {
    c.pieces *= cxi_divide_up(c.sizes[c.n - 2], TURN_ROWS);
    piece *= TURN_ROWS;
  }
  c.task_pieces = cxi_divide_up(TASK, piece > 0 ? piece : 1);
  return c;
}

/* Piece i, and up to n with it; returns how many. */
static int64_t copy_pieces(const running *r, int64_t i, int64_t n) {
  const copying *c = r->c;
  const int last = c->n - 1;
  int64_t to = 0, from = 0, row = 0, lines = 1;
  if (c->turned) {
    const int64_t stripes = cxi_divide_up(c->sizes[last - 1], TURN_ROWS);
    row = i % stripes * TURN_ROWS;
    i /= stripes;
    to = row * c->to[last - 1];
    from = row;
  } else if (last > 0) {
    lines = cxi_least(n, c->sizes[last - 1] - i % c->sizes[last - 1]);
  }
  for (int axis = last - 1 - c->turned; axis >= 0; axis--) {
    to += i % c->sizes[axis] * c->to[axis];
    from += i % c->sizes[axis] * c->from[axis];
    i /= c->sizes[axis];
  }
  char *out = r->to + to * (1 << c->size);
  const char *in = r->from + from * (1 << c->size);
  if (!c->turned) {
    const int64_t to_row = last > 0 ? c->to[last - 1] : 0;
    const int64_t from_row = last > 0 ? c->from[last - 1] : 0;
    r->m->kernels->lines[c->size](lines, c->sizes[last], out, to_row,
                                  c->to[last], in, from_row, c->from[last]);
    return lines;
  }
  const int64_t left = c->sizes[last - 1] - row;
  r->m->kernels->turn[c->size](left < TURN_ROWS ? left : TURN_ROWS,
                               c->sizes[last], out, c->to[last - 1], in,
                               c->from[last]);
  return 1;
}

static void copy_task(void *argument, int64_t i) {
  const running *r = argument;
  const int64_t first = i * r->c->task_pieces;
  const int64_t left = r->c->pieces - first;
  const int64_t n = left < r->c->task_pieces ? left : r->c->task_pieces;
  for (int64_t k = 0; k < n;) k += copy_pieces(r, first + k, n - k);
}

static void copy(const move *m, const copying *c, char *to, const char *from,
                 int threads) {
  running r = { m, c, to, from };
  const int64_t tasks = cxi_divide_up(c->pieces, c->task_pieces);
  if (tasks == 1)
    copy_task(&r, 0);
  else
    cxi_parallel(threads, tasks, copy_task, &r);
}

/* -- running --------------------------------------------------------------- */

/* The start along an axis, moved so that the window lies inside. */
static int64_t start_at(const move *m, int axis, char *const *bases) {
  const int64_t start =
      cxi_read_index(m->start_type, cxi_at(bases, m->starts[axis]));
  return cxi_clamp_start(start, 1, m->last[axis] + 1);
}

static int64_t starts_offset(const move *m, char *const *bases) {
  int64_t offset = 0;
  for (int i = 0; i < m->rank; i++)
    offset += start_at(m, i, bases) * m->strides[i];
  return offset * (1 << m->size);
}

static bool run(const void *state, char *const *bases, cxi_running *running_) {
  const move *m = state;
  char *whole = cxi_at(bases, m->whole);
  if (m->kind == MOVE_PAD)
    m->kernels->fill[m->size](m->count, whole, cxi_at(bases, m->fill));
  if (m->kind == MOVE_UPDATE && whole != cxi_at(bases, m->source))
    memcpy(whole, cxi_at(bases, m->source), (size_t)m->count << m->size);
  for (uint32_t i = 0; i < m->n_parts; i++) {
    const copying *c = &m->parts[i];
    char *to = cxi_at(bases, c->at_to);
    const char *from = cxi_at(bases, c->at_from);
    if (m->kind == MOVE_UPDATE) to += starts_offset(m, bases);
    if (m->kind == MOVE_SLICE) from += starts_offset(m, bases);
    copy(m, c, to, from, running_->threads);
  }
  return true;
}

/* -- compiling ------------------------------------------------------------- */

static bool is_turned(const cxi_unit *unit) {
  if (unit->n_ops != 1 || unit->ops[0].row->prim != CXI_PRIM_copy) return false;
  const cxi_operand *o = &unit->operands[0];
  const copying c = make_copying(&o->type, unit->results[0].strides, o->strides,
                                 o->at, o->at);
  return c.turned;
}

static bool pads_outwards(const cxi_unit *unit) {
  const cxi_pad_params *p = unit->params;
  bool outwards = cxi_dims_count(&unit->operands[0].type.shape) > 0;
  for (int i = 0; i < p->low.n; i++)
    outwards &= p->low.d[i] >= 0 && p->high.d[i] >= 0;
  return outwards;
}

bool cxi_cpu_move_takes(const cxi_unit *unit) {
  if (unit->kind == CXI_UNIT_FUSED) return is_turned(unit);
  switch (unit->row->prim) {
  case CXI_PRIM_concatenate:
  case CXI_PRIM_stack:
  case CXI_PRIM_dynamic_slice:
  case CXI_PRIM_dynamic_update_slice:
    return true;
  case CXI_PRIM_pad:
    return pads_outwards(unit);
  default:
    return false;
  }
}

/* The result's place `offset` elements on. */
static cxi_ref ref_at(const move *m, int64_t offset) {
  return (cxi_ref){ m->whole.base, m->whole.offset + offset * (1 << m->size) };
}

static void add_part(move *m, const cxi_operand *o, const int64_t *to,
                     int64_t offset) {
  if (cxi_dims_count(&o->type.shape) == 0) return;
  m->parts[m->n_parts++] =
      make_copying(&o->type, to, o->strides, ref_at(m, offset), o->at);
}

static void join(move *m, const cxi_unit *unit, int axis) {
  const cxi_operand *out = &unit->results[0];
  if (axis < 0) axis += out->type.shape.n;
  int64_t strides[CX_MAX_DIMS], offset = 0;
  const bool stack = unit->row->prim == CXI_PRIM_stack;
  for (int i = 0, j = 0; i < out->type.shape.n; i++)
    if (!stack || i != axis) strides[j++] = out->strides[i];
  for (uint32_t k = 0; k < unit->n_operands; k++) {
    add_part(m, &unit->operands[k], strides, offset);
    offset +=
        out->strides[axis] * (stack ? 1 : unit->operands[k].type.shape.d[axis]);
  }
}

static void pad(move *m, const cxi_unit *unit) {
  const cxi_pad_params *p = unit->params;
  int64_t strides[CX_MAX_DIMS], offset = 0;
  for (int i = 0; i < p->low.n; i++) {
    strides[i] = unit->results[0].strides[i] * (p->interior.d[i] + 1);
    offset += p->low.d[i] * unit->results[0].strides[i];
  }
  m->kind = MOVE_PAD;
  m->fill = unit->operands[1].at;
  add_part(m, &unit->operands[0], strides, offset);
}

/* Starts from operand `first` on move a window over `whole`. */
static void set_starts(move *m, const cxi_unit *unit, uint32_t first,
                       const cxi_operand *whole, const cx_dims *window) {
  m->rank = whole->type.shape.n;
  for (int i = 0; i < m->rank; i++) {
    m->start_type = unit->operands[first + (uint32_t)i].type.type;
    m->starts[i] = unit->operands[first + (uint32_t)i].at;
    m->last[i] = whole->type.shape.d[i] - window->d[i];
    m->strides[i] = whole->strides[i];
  }
}

static void slice(move *m, const cxi_unit *unit) {
  const cxi_operand *from = &unit->operands[0], *to = &unit->results[0];
  m->kind = MOVE_SLICE;
  set_starts(m, unit, 1, from, &to->type.shape);
  m->parts[m->n_parts++] =
      make_copying(&to->type, to->strides, from->strides, to->at, from->at);
}

static void update(move *m, const cxi_unit *unit) {
  const cxi_operand *part = &unit->operands[1];
  m->kind = MOVE_UPDATE;
  m->source = unit->operands[0].at;
  set_starts(m, unit, 2, &unit->results[0], &part->type.shape);
  add_part(m, part, unit->results[0].strides, 0);
}

bool cxi_cpu_move(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                  cxi_error *error) {
  move *m = cxi_arena_alloc(arena, sizeof *m);
  const cxi_operand *result = &unit->results[0];
  if (m)
    m->parts = cxi_arena_alloc(arena, (unit->n_operands + (size_t)1) *
                                          sizeof *m->parts);
  if (!m || !m->parts) return cxi_cpu_no_memory(error);
  m->kernels = cxi_cpu_kernels_now();
  m->whole = result->at;
  m->count = cxi_dims_count(&result->type.shape);
  m->size = cxi_cpu_log2_bytes(result->type.type);
  const cxi_prim prim =
      unit->kind == CXI_UNIT_FUSED ? CXI_PRIM_copy : unit->row->prim;
  switch (prim) {
  case CXI_PRIM_concatenate:
    join(m, unit, (int)((const cxi_concatenate_params *)unit->params)->axis);
    break;
  case CXI_PRIM_stack:
    join(m, unit, (int)((const cxi_stack_params *)unit->params)->axis);
    break;
  case CXI_PRIM_pad:
    pad(m, unit);
    break;
  case CXI_PRIM_dynamic_slice:
    slice(m, unit);
    break;
  case CXI_PRIM_dynamic_update_slice:
    update(m, unit);
    break;
  default:
    add_part(m, &unit->operands[0], result->strides, 0);
  }
  *out = (cxi_thunk){ run, m };
  return true;
}
