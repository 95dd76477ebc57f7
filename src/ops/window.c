/* window.c - reductions of windows, pooling. */
#include "ops/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ops/axes.h"

/* The list, or ones if it is not given (rank 0). */
static cx_dims or_ones(cx_dims list, int rank) {
  return list.n == 0 ? cxi_dims_repeat(rank, 1) : list;
}

/* "1,1;0,2": a pair for each axis. */
static bool parse_pairs(const char *text, cxi_window *w) {
  for (int i = 0; i < w->window.n; i++) {
    char *end;
    w->low.d[i] = strtoll(text, &end, 10);
    if (end == text || *end != ',') return false;
    text = end + 1;
    w->high.d[i] = strtoll(text, &end, 10);
    if (end == text || *end != (i == w->window.n - 1 ? '\0' : ';'))
      return false;
    text = end + 1;
  }
  return true;
}

/* Results for ceil(size / stride) windows. */
static void pad_same(cxi_window *w, const cx_dims *shape) {
  for (int i = 0; i < w->window.n; i++) {
    const int64_t size = cxi_size_dilated(shape->d[i], w->base_dilation.d[i]);
    const int64_t span =
        cxi_size_dilated(w->window.d[i], w->window_dilation.d[i]);
    const int64_t n = size ? (size - 1) / w->strides.d[i] + 1 : 0;
    const int64_t need = (n - 1) * w->strides.d[i] + span - size;
    w->low.d[i] = need > 0 ? need / 2 : 0;
    w->high.d[i] = need > 0 ? need - need / 2 : 0;
  }
}

static bool set_padding(const char *op, const char *padding, cxi_window *w,
                        const cx_dims *shape, cx *out_poison) {
  if (!padding || !strcasecmp(padding, "valid")) return true;
  if (!strcasecmp(padding, "same")) return pad_same(w, shape), true;
  if (w->window.n > 0 && parse_pairs(padding, w)) return true;
  *out_poison = cxi_fail(CX_EUSER,
                         "%s: .padding is \"valid\", \"same\" or a pair for "
                         "each axis as \"1,1;0,2\", not \"%s\"",
                         op, padding);
  return false;
}

bool cxi_window_make(const char *op, cx x, cx_dims sizes,
                     const cx_window_opt *opt, cxi_window *out,
                     cx *out_poison) {
  const cx_dims shape = cxi_shape_at(x);
  *out = cxi_window_plain(cxi_dims_given(sizes));
  out->strides = or_ones(opt->strides, shape.n);
  out->base_dilation = or_ones(opt->input_dilation, shape.n);
  out->window_dilation = or_ones(opt->dilation, shape.n);
  if (sizes.n == shape.n && cxi_window_shape(out, &shape).n >= 0)
    return set_padding(op, opt->padding, out, &shape, out_poison);
  *out_poison = cxi_fail(CX_ESHAPE,
                         "%s: window %s, strides %s of %s: needs %d sizes, "
                         "all at least 1",
                         op, cxi_shown_dims(sizes).text,
                         cxi_shown_dims(out->strides).text,
                         cxi_shown_of(x).text, shape.n);
  return false;
}

static cx mean_of(const char *op, cx x, const cxi_window *w, bool exclude) {
  const cx_dtype type = cxi_dtype_at(x);
  if (!cxi_dtype_is_float(type))
    return cxi_fail(CX_EDTYPE, "%s: the mean needs a floating dtype, got %s",
                    op, cxi_shown_of(x).text);
  const bool half = type == CX_F16 || type == CX_BF16;
  const cx wide = cxi_convert(x, half ? CX_F32 : type);
  const cx sum = cxi_reduce_window(CXI_PRIM_reduce_window_sum, wide, w);
  double n = 1;
  for (int i = 0; i < w->window.n; i++) n *= (double)w->window.d[i];
  cx count = cxi_number_like(sum, n);
  if (exclude)
    count = cxi_reduce_window(CXI_PRIM_reduce_window_sum,
                              cxi_full(cxi_type_at(wide), 1), w);
  return cxi_convert(cxi_div(sum, count), type);
}

static cx reduce(const char *op, cx_red kind, cx x, cx_dims window,
                 const cx_window_opt *opt) {
  cxi_window w;
  cx poison;
  if (!cxi_window_make(op, x, window, opt, &w, &poison)) return poison;
  switch (kind) {
  case CX_RED_SUM:
    return cxi_reduce_window(CXI_PRIM_reduce_window_sum, x, &w);
  case CX_RED_MAX:
    return cxi_reduce_window(CXI_PRIM_reduce_window_max, x, &w);
  case CX_RED_MIN:
    return cxi_reduce_window(CXI_PRIM_reduce_window_min, x, &w);
  case CX_RED_MEAN:
    return mean_of(op, x, &w, opt->exclude_padding);
  default:
    return cxi_fail(CX_EUSER, "%s: no reduction of windows has number %d", op,
                    (int)kind);
  }
}

cx cx_reduce_window_(cx_red kind, cx a, cx_dims window, cx_window_opt opt,
                     const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("reduce_window", &a, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, reduce("reduce_window", kind, a, window, &opt));
}

/* With `neutral` for the axes that are not spatial; `behind` of these are the
 * last ones. */
static cx_dims all_axes(cx_dims spatial, int rank, int behind,
                        int64_t neutral) {
  cx_dims all = cxi_dims_repeat(rank, neutral);
  for (int i = 0; i < spatial.n; i++)
    all.d[rank - behind - spatial.n + i] = spatial.d[i];
  return all;
}

cx cx_pool_(cx_red kind, cx a, cx_dims window, cx_window_opt opt,
            const char *at) {
  static const char op[] = "pool";
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand(op, &a, &poison)) return cxi_leave(before, poison);
  const cx_dims shape = cxi_shape_at(a);
  const int n = cxi_dims_given(window).n, rank = shape.n;
  const int behind = opt.channels_first ? 0 : 1;
  if (n < 0 || n >= rank)
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "%s: window %s of %s: %s axis is that of "
                                      "the channels",
                                      op, cxi_shown_dims(window).text,
                                      cxi_shown_of(a).text,
                                      behind ? "the last" : "an"));
  cx_dims *lists[] = { &opt.strides, &opt.dilation, &opt.input_dilation };
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    if (lists[i]->n != 0 && lists[i]->n != n)
      return cxi_leave(before,
                       cxi_fail(CX_ESHAPE, "%s: window %s, but a list %s", op,
                                cxi_shown_dims(window).text,
                                cxi_shown_dims(*lists[i]).text));
    *lists[i] = all_axes(or_ones(*lists[i], n), rank, behind, 1);
  }
  const char *padding = opt.padding;
  cxi_window pairs = cxi_window_plain(window);
  char text[512];
  if (padding && strcasecmp(padding, "same") != 0 &&
      strcasecmp(padding, "valid") != 0) {
    const cx_dims spatial = cxi_dims_repeat(n, 1);
    if (!set_padding(op, padding, &pairs, &spatial, &poison))
      return cxi_leave(before, poison);
    size_t used = 0;
    const cx_dims low = all_axes(pairs.low, rank, behind, 0);
    const cx_dims high = all_axes(pairs.high, rank, behind, 0);
    for (int i = 0; i < rank; i++)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld,%lld",
                               i ? ";" : "", (long long)low.d[i],
                               (long long)high.d[i]);
    opt.padding = text;
  }
  return cxi_leave(
      before, reduce(op, kind, a, all_axes(window, rank, behind, 1), &opt));
}
