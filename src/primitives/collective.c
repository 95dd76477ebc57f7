/* collective.c - psum, pmax, pmin, axis_index, pbroadcast, ppermute.
 *
 * A collective goes across the lanes of the vmap that has its axis name. The
 * batch rule of that vmap resolves it; what is still there when the program
 * runs has a name that no vmap binds. */
#include "primitives/collective.h"

#include <inttypes.h>

/* -- shared rules ---------------------------------------------------------- */

/* The first parameter of every collective. */
static const cxi_names *axes_of(const void *params) {
  return &((const cxi_psum_params *)params)->axes;
}

bool cxi_infer_axis_names(cxi_infer *c, bool one) {
  const cxi_names *axes = axes_of(c->params);
  if (!axes->n || (one && axes->n > 1))
    return cxi_infer_fail(c, CX_EUSER, "%u axis names, wants one%s", axes->n,
                          one ? "" : " or several");
  for (uint32_t i = 0; i < axes->n; i++) {
    const cxi_names before = { i, axes->d };
    if (!axes->d[i]) return cxi_infer_fail(c, CX_EUSER, "an axis has no name");
    if (cxi_names_have(&before, axes->d[i]))
      return cxi_infer_fail(c, CX_EUSER, "the axis \"%s\" is named twice",
                            cxi_name_text(axes->d[i]));
  }
  return true;
}

bool cxi_collective_is_here(const cxi_rule *r) {
  return r->axis_name && cxi_names_have(axes_of(r->params), r->axis_name);
}

bool cxi_evaluate_collective(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  (void)in, (void)out;
  return cxi_error_set(
      e->error, CX_ETRACE, "%s: no vmap around it has the axis name \"%.60s\"",
      cxi_prim_name(e->row->prim), cxi_name_text(axes_of(e->params)->d[0]));
}

/* -- psum, pmax, pmin(x; axes): x joined over all lanes -------------------- */

static bool infer_number(cxi_infer *c) {
  return cxi_infer_count(c, 1) && cxi_infer_axis_names(c, false) &&
         cxi_infer_kind(c, 0, CXI_ACCEPT_NUMBER) &&
         cxi_infer_result(c, c->in[0]);
}

static bool infer_ordered(cxi_infer *c) {
  return cxi_infer_count(c, 1) && cxi_infer_axis_names(c, false) &&
         cxi_infer_kind(c, 0, CXI_ACCEPT_ORDERED) &&
         cxi_infer_result(c, c->in[0]);
}

static cxi_prim reduction(cxi_prim prim) {
  return prim == CXI_PRIM_psum   ? CXI_PRIM_reduce_sum
         : prim == CXI_PRIM_pmax ? CXI_PRIM_reduce_max
                                 : CXI_PRIM_reduce_min;
}

/* Reduces over the lanes, then what is left over the other names. Of what all
 * lanes share, the sum is a multiple. */
static void batch_reduction(const cxi_rule *r, const cx *in, const int *axis,
                            int64_t size, cx *out, int *out_axis) {
  const cxi_names *axes = axes_of(r->params);
  const cxi_prim prim = r->row->prim;
  cxi_name *left = cxi_scratch(axes->n * sizeof *left + 1);
  if (!left) {
    out[0] = cxi_fail(CX_EMEMORY, "out of memory");
    return;
  }
  uint32_t n = 0;
  for (uint32_t i = 0; i < axes->n; i++)
    if (axes->d[i] != r->axis_name) left[n++] = axes->d[i];
  cx x = in[0];
  if (n < axes->n && axis[0] >= 0)
    x = cxi_reduce(reduction(prim), x, (cx_dims){ 1, { axis[0] } });
  else if (n < axes->n && prim == CXI_PRIM_psum)
    x = cxi_scale(x, (double)size);
  out[0] = cxi_collective(prim, x, (cxi_names){ n, left });
  out_axis[0] = n < axes->n ? -1 : axis[0];
}

/* A sum's cotangent comes from all lanes. */
static void transpose_psum(const cxi_rule *r, const cx *in, const cx *ct,
                           cx *acc) {
  (void)in;
  const cx all = cxi_collective(CXI_PRIM_psum, ct[0], *axes_of(r->params));
  acc[0] = cxi_sum_given(acc[0], all);
}

static const char *const no_examples[] = { NULL };

const cxi_row cxi_row_psum = {
  .prim = CXI_PRIM_psum,
  .form = CXI_FORM_NEVER,
  .formula = "sum of x over the lanes of axes",
  .infer = infer_number,
  .jvp = cxi_jvp_linear,
  .transpose = transpose_psum,
  .batch = batch_reduction,
  .evaluate = cxi_evaluate_collective,
  .examples = no_examples,
};

/* As of reduce_max: ties share the derivative. */
static void jvp_extremum(const cxi_rule *r, const cx *in, const cx *dx, cx *out,
                         cx *dout) {
  const cxi_names axes = *axes_of(r->params);
  const cxi_type type = r->in_types[0];
  const cx here = cxi_compare(CXI_PRIM_eq, in[0], out[0]);
  const cx ties = cxi_collective(CXI_PRIM_psum,
                                 cxi_convert(here, cxi_type_dtype(type)), axes);
  const cx tangents = cxi_select(here, cxi_zeros(type), dx[0]);
  dout[0] = cxi_div(cxi_collective(CXI_PRIM_psum, tangents, axes), ties);
}

const cxi_row cxi_row_pmax = {
  .prim = CXI_PRIM_pmax,
  .form = CXI_FORM_NEVER,
  .formula = "greatest of x over the lanes of axes",
  .infer = infer_ordered,
  .jvp = jvp_extremum,
  .batch = batch_reduction,
  .evaluate = cxi_evaluate_collective,
  .no_transpose = "not linear",
  .examples = no_examples,
};

const cxi_row cxi_row_pmin = {
  .prim = CXI_PRIM_pmin,
  .form = CXI_FORM_NEVER,
  .formula = "least of x over the lanes of axes",
  .infer = infer_ordered,
  .jvp = jvp_extremum,
  .batch = batch_reduction,
  .evaluate = cxi_evaluate_collective,
  .no_transpose = "not linear",
  .examples = no_examples,
};

/* -- axis_index(; axes): the lane's number --------------------------------- */

static bool infer_axis_index(cxi_infer *c) {
  return cxi_infer_count(c, 0) && cxi_infer_axis_names(c, true) &&
         cxi_infer_result(c, cxi_type_scalar(CX_I32));
}

static void batch_axis_index(const cxi_rule *r, const cx *in, const int *axis,
                             int64_t size, cx *out, int *out_axis) {
  (void)r, (void)in, (void)axis;
  out[0] = cxi_iota(CX_I32, (cx_dims){ 1, { size } }, 0);
  out_axis[0] = 0;
}

const cxi_row cxi_row_axis_index = {
  .prim = CXI_PRIM_axis_index,
  .form = CXI_FORM_NEVER,
  .formula = "number of the lane of axes",
  .infer = infer_axis_index,
  .batch = batch_axis_index,
  .evaluate = cxi_evaluate_collective,
  .no_jvp = "no operands",
  .no_transpose = "no operands",
  .examples = no_examples,
};

/* -- pbroadcast(x; axes, source): what lane `source` has ------------------- */

static bool infer_pbroadcast(cxi_infer *c) {
  const cxi_pbroadcast_params *p = c->params;
  if (!cxi_infer_count(c, 1) || !cxi_infer_axis_names(c, true)) return false;
  if (p->source < 0)
    return cxi_infer_fail(c, CX_EINDEX, "there is no lane %" PRId64, p->source);
  return cxi_infer_result(c, c->in[0]);
}

static void batch_pbroadcast(const cxi_rule *r, const cx *in, const int *axis,
                             int64_t size, cx *out, int *out_axis) {
  const cxi_pbroadcast_params *p = r->params;
  if (!cxi_collective_is_here(r)) {
    out[0] = cxi_pbroadcast(in[0], p->axes.d[0], p->source);
    out_axis[0] = axis[0];
    return;
  }
  if (p->source >= size)
    out[0] = cxi_fail(CX_EINDEX,
                      "pbroadcast: there is no lane %" PRId64 " of the %" PRId64
                      " along \"%.60s\"",
                      p->source, size, cxi_name_text(r->axis_name));
  else if (axis[0] < 0)
    out[0] = in[0];
  else
    out[0] =
        cxi_squeeze(cxi_slice_axis(in[0], axis[0], p->source, p->source + 1),
                    (cx_dims){ 1, { axis[0] } });
  out_axis[0] = -1;
}

/* Lane `source` gets the sum of all cotangents, the others nothing. */
static void transpose_pbroadcast(const cxi_rule *r, const cx *in, const cx *ct,
                                 cx *acc) {
  (void)in;
  const cxi_pbroadcast_params *p = r->params;
  const cx all = cxi_collective(CXI_PRIM_psum, ct[0], p->axes);
  const cx here = cxi_compare(CXI_PRIM_eq, cxi_axis_index(p->axes.d[0]),
                              cxi_integer(CX_I32, p->source));
  acc[0] =
      cxi_sum_given(acc[0], cxi_select(here, cxi_zeros(r->in_types[0]), all));
}

const cxi_row cxi_row_pbroadcast = {
  .prim = CXI_PRIM_pbroadcast,
  .form = CXI_FORM_NEVER,
  .formula = "x of the lane `source` of axes",
  .infer = infer_pbroadcast,
  .jvp = cxi_jvp_linear,
  .transpose = transpose_pbroadcast,
  .batch = batch_pbroadcast,
  .evaluate = cxi_evaluate_collective,
  .examples = no_examples,
};

/* -- ppermute(x; axes, from, to): lane to[i] gets x of lane from[i] -------- */

static bool distinct(const cxi_ints *lanes) {
  for (uint32_t i = 0; i < lanes->n; i++)
    for (uint32_t k = 0; k < i; k++)
      if (lanes->d[i] == lanes->d[k]) return false;
  return true;
}

static bool infer_ppermute(cxi_infer *c) {
  const cxi_ppermute_params *p = c->params;
  if (!cxi_infer_count(c, 1) || !cxi_infer_axis_names(c, true)) return false;
  if (p->from.n != p->to.n)
    return cxi_infer_fail(c, CX_EUSER, "%u lanes send, %u receive", p->from.n,
                          p->to.n);
  for (uint32_t i = 0; i < p->from.n; i++)
    if (p->from.d[i] < 0 || p->to.d[i] < 0)
      return cxi_infer_fail(c, CX_EINDEX, "a negative lane");
  if (!distinct(&p->from) || !distinct(&p->to))
    return cxi_infer_fail(c, CX_EUSER, "a lane sends or receives twice");
  return cxi_infer_result(c, c->in[0]);
}

/* source[lane]: where it gets its value, -1: nowhere. NULL after reporting. */
static int64_t *sources(const cxi_rule *r, int64_t size) {
  const cxi_ppermute_params *p = r->params;
  int64_t *source = cxi_scratch((size_t)size * sizeof *source + 1);
  if (!source) {
    cxi_fail(CX_EMEMORY, "out of memory");
    return NULL;
  }
  for (int64_t i = 0; i < size; i++) source[i] = -1;
  for (uint32_t i = 0; i < p->from.n; i++) {
    const int64_t from = p->from.d[i], to = p->to.d[i];
    if (from >= size || to >= size) {
      cxi_fail(CX_EINDEX,
               "ppermute: from lane %" PRId64 " to %" PRId64
               ", along \"%.60s\" there are %" PRId64,
               from, to, cxi_name_text(r->axis_name), size);
      return NULL;
    }
    source[to] = from;
  }
  return source;
}

/* Lanes lo..hi-1, from `first` on, or zeros. */
static cx lanes(cx x, int axis, int64_t first, int64_t n) {
  if (first >= 0) return cxi_slice_axis(x, axis, first, first + n);
  const cx_dims shape = cxi_shape_at(x);
  cx_dims part = cxi_dims_without(shape, axis);
  part = cxi_dims_with(part, axis, n);
  return cxi_zeros(cxi_type_make(cxi_dtype_at(x), part));
}

static void batch_ppermute(const cxi_rule *r, const cx *in, const int *axis,
                           int64_t size, cx *out, int *out_axis) {
  const cxi_ppermute_params *p = r->params;
  out_axis[0] = axis[0];
  if (!cxi_collective_is_here(r)) {
    out[0] = cxi_ppermute(in[0], p->axes.d[0], p->from, p->to);
    return;
  }
  const int64_t *source = sources(r, size);
  cx *part = cxi_scratch((size_t)size * sizeof *part + 1);
  if (!source || !part) return;
  if (axis[0] < 0 && p->to.n == (uint64_t)size) {
    out[0] = in[0];
    return;
  }
  const int at = axis[0] < 0 ? 0 : axis[0];
  const cx x = cxi_batch_to(in[0], axis[0], at, size);
  uint32_t n = 0;
  for (int64_t i = 0, k; i < size; i = k) {
    k = i + 1;
    while (k < size && source[k] == (source[i] < 0 ? -1 : source[i] + (k - i)))
      k++;
    part[n++] = lanes(x, at, source[i], k - i);
  }
  out[0] = n ? cxi_concatenate(at, n, part) : x;
  out_axis[0] = at;
}

static void transpose_ppermute(const cxi_rule *r, const cx *in, const cx *ct,
                               cx *acc) {
  (void)in;
  const cxi_ppermute_params *p = r->params;
  acc[0] =
      cxi_sum_given(acc[0], cxi_ppermute(ct[0], p->axes.d[0], p->to, p->from));
}

const cxi_row cxi_row_ppermute = {
  .prim = CXI_PRIM_ppermute,
  .form = CXI_FORM_NEVER,
  .formula = "x of the lane from[i] in the lane to[i], else 0",
  .infer = infer_ppermute,
  .jvp = cxi_jvp_linear,
  .transpose = transpose_ppermute,
  .batch = batch_ppermute,
  .evaluate = cxi_evaluate_collective,
  .examples = no_examples,
};
