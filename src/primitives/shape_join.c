/* shape_join.c - concatenate, split, stack, unstack. */
#include "primitives/moves.h"

#include <inttypes.h>

/* The part of v from `start` along `axis`, `size` long. */
static cxi_view part(const cxi_view *v, int axis, int64_t start, int64_t size) {
  cxi_view window = *v;
  const int64_t bytes = (int64_t)cxi_dtype_bytes(v->type.type);
  window.data = (char *)v->data + start * v->strides[axis] * bytes;
  window.type.shape.d[axis] = size;
  return window;
}

/* Arrays without elements need no copies, and their strides say nothing. */
static bool is_empty(const cxi_view *v) {
  return cxi_dims_count(&v->type.shape) == 0;
}

/* The cotangents of a row's results, zeros for those that are none. */
static cx *whole_cotangents(const cxi_rule *r, const cx *ct) {
  cx *whole = cxi_handles(r->n_out, cx_none());
  for (uint32_t i = 0; whole && i < r->n_out; i++)
    whole[i] = cxi_begun(ct[i], r->out_types[i]);
  return whole;
}

static cx no_memory(void) {
  return cxi_fail(CX_EMEMORY, "out of memory");
}

/* The operands with their batch axes at `to`. */
static cx *batched_operands(const cxi_rule *r, const cx *in, const int *axis,
                            int to, int64_t size) {
  cx *operands = cxi_handles(r->n_in, cx_none());
  for (uint32_t i = 0; operands && i < r->n_in; i++)
    operands[i] = cxi_batch_to(in[i], axis[i], to, size);
  return operands;
}

/* -- concatenate(x0, x1, ...; axis): one after the other along an axis ----- */

static bool infer_concatenate(cxi_infer *c) {
  const cxi_concatenate_params *p = c->params;
  if (c->n_in == 0)
    return cxi_infer_fail(c, CX_ESHAPE, "takes at least one operand");
  cx_dims shape = *cxi_type_shape(c->in[0]);
  if (!cxi_infer_one_dtype(c, 0, c->n_in) ||
      !cxi_infer_axis(c, p->axis, shape.n))
    return false;
  for (uint32_t i = 1; i < c->n_in; i++) {
    const cx_dims other = *cxi_type_shape(c->in[i]);
    cx_dims same = other;
    if (other.n == shape.n) same.d[p->axis] = shape.d[p->axis];
    if (!cxi_dims_equal(&same, &shape))
      return cxi_infer_fail(c, CX_ESHAPE, "axis %" PRId64 ": %s and %s",
                            p->axis, cxi_show_type(c->in[0]).s,
                            cxi_show_type(c->in[i]).s);
    shape.d[p->axis] = cxi_size_add(shape.d[p->axis], other.d[p->axis]);
    if (shape.d[p->axis] < 0)
      return cxi_infer_fail(c, CX_ESHAPE,
                            "the size of axis %" PRId64 " overflows", p->axis);
  }
  return cxi_infer_moved(c, shape);
}

/* Each operand's cotangent is its slice. */
static void transpose_concatenate(const cxi_rule *r, const cx *in, const cx *ct,
                                  cx *acc) {
  const cxi_concatenate_params *p = r->params;
  int64_t start = 0;
  for (uint32_t i = 0; i < r->n_in; i++) {
    const int64_t limit =
        cxi_size_add(start, cxi_type_shape(r->in_types[i])->d[p->axis]);
    if (cx_is_none(in[i]))
      cxi_accumulate(r, i, cxi_slice_axis(ct[0], (int)p->axis, start, limit),
                     acc);
    start = limit;
  }
}

static void batch_concatenate(const cxi_rule *r, const cx *in, const int *axis,
                              int64_t size, cx *out, int *out_axis) {
  const cxi_concatenate_params *p = r->params;
  const int to = cxi_first_batched(axis, r->n_in);
  const cx *operands = batched_operands(r, in, axis, to, size);
  out[0] = operands ? cxi_concatenate(cxi_axis_shift((int)p->axis, to), r->n_in,
                                      operands)
                    : no_memory();
  out_axis[0] = to;
}

static bool evaluate_concatenate(cxi_eval *e, const cxi_view *in,
                                 cxi_view *out) {
  const cxi_concatenate_params *p = e->params;
  const int axis = (int)p->axis;
  int64_t start = 0;
  if (is_empty(&out[0])) return true;
  for (uint32_t i = 0; i < e->n_in; i++) {
    const int64_t size = in[i].type.shape.d[axis];
    const cxi_view to = part(&out[0], axis, start, size);
    cxi_view_copy(&to, &in[i]);
    start += size;
  }
  return true;
}

static const char *const examples_concatenate[] = {
  "program @main(%0: f32[2,3], %1: f32[2,1]) { %2: f32[2,4] = concatenate["
  "axis=1] %0, %1 return %2 }",
  "program @main(%0: f32[2], %1: f32[0], %2: f32[3]) { %3: f32[5] = "
  "concatenate[axis=0] %0, %1, %2 return %3 }",
  "program @main(%0: f32[2,2]) { %1: f32[4,2] = concatenate[axis=0] %0, %0 "
  "return %1 }",
  "program @main(%0: f32[2,0], %1: f32[1,0]) { %2: f32[3,0] = concatenate["
  "axis=0] %0, %1 return %2 }",
  "program @main(%0: bool[2,1,2], %1: bool[2,2,2]) { %2: bool[2,3,2] = "
  "concatenate[axis=1] %0, %1 return %2 }",
  NULL
};

const cxi_row cxi_row_concatenate = {
  .prim = CXI_PRIM_concatenate,
  .form = CXI_FORM_MOVE,
  .formula = "[x0, x1, ...]",
  .infer = infer_concatenate,
  .jvp = cxi_jvp_move,
  .transpose = transpose_concatenate,
  .batch = batch_concatenate,
  .evaluate = evaluate_concatenate,
  .examples = examples_concatenate,
};

/* -- split(x; sizes, axis): parts of the sizes along an axis --------------- */

static bool infer_split(cxi_infer *c) {
  const cxi_split_params *p = c->params;
  if (!cxi_infer_count(c, 1)) return false;
  cx_dims shape = *cxi_type_shape(c->in[0]);
  if (!cxi_infer_axis(c, p->axis, shape.n)) return false;
  int64_t sum = 0;
  for (uint32_t i = 0; i < p->sizes.n && sum >= 0; i++)
    sum = cxi_size_add(sum, p->sizes.d[i]);
  if (p->sizes.n == 0 || !cxi_size_equal(sum, shape.d[p->axis]))
    return cxi_infer_fail(c, CX_ESHAPE,
                          "axis %" PRId64 " of %s: the sizes "
                          "of the parts do not add up to it",
                          p->axis, cxi_show_type(c->in[0]).s);
  for (uint32_t i = 0; i < p->sizes.n; i++) {
    shape.d[p->axis] = p->sizes.d[i];
    if (!cxi_infer_moved(c, shape)) return false;
  }
  return true;
}

static void transpose_split(const cxi_rule *r, const cx *in, const cx *ct,
                            cx *acc) {
  (void)in;
  const cxi_split_params *p = r->params;
  const cx *whole = whole_cotangents(r, ct);
  if (!whole) return;
  cxi_accumulate(r, 0, cxi_concatenate((int)p->axis, r->n_out, whole), acc);
}

static void batch_split(const cxi_rule *r, const cx *in, const int *axis,
                        int64_t size, cx *out, int *out_axis) {
  (void)size;
  const cxi_split_params *p = r->params;
  cxi_split_axis(in[0], cxi_axis_shift((int)p->axis, axis[0]), p->sizes, out);
  for (uint32_t i = 0; i < r->n_out; i++) out_axis[i] = axis[0];
}

static bool evaluate_split(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_split_params *p = e->params;
  const int axis = (int)p->axis;
  int64_t start = 0;
  if (is_empty(&in[0])) return true;
  for (uint32_t i = 0; i < e->n_out; i++) {
    const cxi_view from = part(&in[0], axis, start, p->sizes.d[i]);
    cxi_view_copy(&out[i], &from);
    start += p->sizes.d[i];
  }
  return true;
}

static const char *const examples_split[] = {
  "program @main(%0: f32[5]) { %1: f32[2], %2: f32[3] = split[sizes=(2,3), "
  "axis=0] %0 return %1, %2 }",
  "program @main(%0: f32[2,4]) { %1: f32[2,1], %2: f32[2,0], %3: f32[2,3] = "
  "split[sizes=(1,0,3), axis=1] %0 return %1, %2, %3 }",
  "program @main(%0: f32[0,2]) { %1: f32[0,1], %2: f32[0,1] = "
  "split[sizes=(1,1), axis=1] %0 return %2, %1 }",
  "program @main(%0: f32[4,2]) { %1: f32[1,2], %2: f32[3,2] = split["
  "sizes=(1,3), axis=0] %0 return %2 }",
  NULL
};

const cxi_row cxi_row_split = {
  .prim = CXI_PRIM_split,
  .form = CXI_FORM_MOVE,
  .formula = "parts of x",
  .infer = infer_split,
  .jvp = cxi_jvp_move,
  .transpose = transpose_split,
  .batch = batch_split,
  .evaluate = evaluate_split,
  .examples = examples_split,
};

/* -- stack(x0, x1, ...; axis): side by side along a new axis --------------- */

static bool infer_stack(cxi_infer *c) {
  const cxi_stack_params *p = c->params;
  if (c->n_in == 0)
    return cxi_infer_fail(c, CX_ESHAPE, "takes at least one operand");
  const cx_dims *shape = cxi_type_shape(c->in[0]);
  if (!cxi_infer_axis(c, p->axis, shape->n + 1)) return false;
  for (uint32_t i = 1; i < c->n_in; i++)
    if (c->in[i] != c->in[0])
      return cxi_infer_fail(c, CX_ESHAPE, "%s and %s",
                            cxi_show_type(c->in[0]).s,
                            cxi_show_type(c->in[i]).s);
  return cxi_infer_moved(c, cxi_dims_insert(*shape, (int)p->axis, c->n_in));
}

static void transpose_stack(const cxi_rule *r, const cx *in, const cx *ct,
                            cx *acc) {
  const cxi_stack_params *p = r->params;
  cx *parts = cxi_handles(r->n_in, ct[0]);
  if (!parts) return;
  cxi_unstack(ct[0], (int)p->axis, parts);
  for (uint32_t i = 0; i < r->n_in; i++)
    if (cx_is_none(in[i])) cxi_accumulate(r, i, parts[i], acc);
}

/* Of the batch axis and the new one, which stand at places of the operands'
 * own axes, the batch axis comes first if both are at one place. */
static void batch_stack(const cxi_rule *r, const cx *in, const int *axis,
                        int64_t size, cx *out, int *out_axis) {
  const cxi_stack_params *p = r->params;
  const int to = cxi_first_batched(axis, r->n_in);
  const bool before = to <= p->axis;
  const cx *operands = batched_operands(r, in, axis, to, size);
  out[0] = operands ? cxi_stack((int)p->axis + before, r->n_in, operands)
                    : no_memory();
  out_axis[0] = before ? to : to + 1;
}

static bool evaluate_stack(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_stack_params *p = e->params;
  if (is_empty(&out[0])) return true;
  for (uint32_t i = 0; i < e->n_in; i++) {
    const cxi_view to = cxi_view_at(&out[0], (int)p->axis, i);
    cxi_view_copy(&to, &in[i]);
  }
  return true;
}

static const char *const examples_stack[] = {
  "program @main(%0: f32[2,3], %1: f32[2,3]) { %2: f32[2,2,3] = stack[axis=0] "
  "%0, %1 return %2 }",
  "program @main(%0: f32[2,3], %1: f32[2,3]) { %2: f32[2,3,3] = stack[axis=2] "
  "%0, %1, %0 return %2 }",
  "program @main(%0: f32[], %1: f32[]) { %2: f32[2] = stack[axis=0] %0, %1 "
  "return %2 }",
  "program @main(%0: f32[0]) { %1: f32[0,1] = stack[axis=1] %0 return %1 }",
  "program @main(%0: f32[2,2], %1: f32[2,2]) { %2: f32[2,2,2] = stack[axis=1] "
  "%0, %1 return %2 }",
  NULL
};

const cxi_row cxi_row_stack = {
  .prim = CXI_PRIM_stack,
  .form = CXI_FORM_MOVE,
  .formula = "y[.., i, ..] = xi",
  .infer = infer_stack,
  .jvp = cxi_jvp_move,
  .transpose = transpose_stack,
  .batch = batch_stack,
  .evaluate = evaluate_stack,
  .examples = examples_stack,
};

/* -- unstack(x; axis): a result for each index along an axis --------------- */

enum { MOST_RESULTS = 1 << 20 };

static bool infer_unstack(cxi_infer *c) {
  const cxi_unstack_params *p = c->params;
  if (!cxi_infer_count(c, 1)) return false;
  const cx_dims *shape = cxi_type_shape(c->in[0]);
  if (!cxi_infer_axis(c, p->axis, shape->n)) return false;
  const int64_t n = shape->d[p->axis];
  if (n > MOST_RESULTS)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "axis %" PRId64 " of %s: more than %d "
                          "results",
                          p->axis, cxi_show_type(c->in[0]).s, MOST_RESULTS);
  const cx_dims rest = cxi_dims_without(*shape, (int)p->axis);
  for (int64_t i = 0; i < n; i++)
    if (!cxi_infer_moved(c, rest)) return false;
  return true;
}

static void transpose_unstack(const cxi_rule *r, const cx *in, const cx *ct,
                              cx *acc) {
  (void)in;
  const cxi_unstack_params *p = r->params;
  const cx *whole = whole_cotangents(r, ct);
  if (!whole) return;
  cxi_accumulate(r, 0, cxi_stack((int)p->axis, r->n_out, whole), acc);
}

static void batch_unstack(const cxi_rule *r, const cx *in, const int *axis,
                          int64_t size, cx *out, int *out_axis) {
  (void)size;
  const cxi_unstack_params *p = r->params;
  const int along = cxi_axis_shift((int)p->axis, axis[0]);
  for (uint32_t i = 0; i < r->n_out; i++) {
    out[i] = in[0]; /* kept if it is poison */
    out_axis[i] = axis[0] - (along < axis[0]);
  }
  cxi_unstack(in[0], along, out);
}

static bool evaluate_unstack(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_unstack_params *p = e->params;
  if (is_empty(&in[0])) return true;
  for (uint32_t i = 0; i < e->n_out; i++) {
    const cxi_view from = cxi_view_at(&in[0], (int)p->axis, i);
    cxi_view_copy(&out[i], &from);
  }
  return true;
}

static const char *const examples_unstack[] = {
  "program @main(%0: f32[2,3]) { %1: f32[3], %2: f32[3] = unstack[axis=0] %0 "
  "return %1, %2 }",
  "program @main(%0: f32[2,3]) { %1: f32[2], %2: f32[2], %3: f32[2] = "
  "unstack[axis=1] %0 return %3, %1 }",
  "program @main(%0: f32[2]) { %1: f32[], %2: f32[] = unstack[axis=0] %0 "
  "return %1, %2 }",
  "program @main(%0: f32[1,0]) { %1: f32[0] = unstack[axis=0] %0 return %1 }",
  NULL
};

const cxi_row cxi_row_unstack = {
  .prim = CXI_PRIM_unstack,
  .form = CXI_FORM_MOVE,
  .formula = "x[0], x[1], ...",
  .infer = infer_unstack,
  .jvp = cxi_jvp_move,
  .transpose = transpose_unstack,
  .batch = batch_unstack,
  .evaluate = evaluate_unstack,
  .examples = examples_unstack,
};
