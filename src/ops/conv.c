/* conv.c - convolutions. */
#include "calx/conv.h"

#include <string.h>
#include <strings.h>

#include "calx/array.h"
#include "ops/axes.h"
#include "ops/ops.h"

typedef cxi_conv_general_dilated_params params;

/* -- layouts --------------------------------------------------------------- */

static const char SPATIAL[] = "HWDEFG"; /* of layouts that are not given */

/* The letters of x, kernel and result. */
typedef struct layout {
  char axes[3][CX_MAX_DIMS + 1];
} layout;

static layout layout_of_rank(int rank) {
  layout l;
  memset(&l, 0, sizeof l);
  for (int k = 0; k < 3; k++) {
    memcpy(l.axes[k], k == 1 ? "OI" : "NC", 2);
    memcpy(l.axes[k] + 2, SPATIAL, (size_t)(rank - 2));
  }
  return l;
}

/* "NHWC,HWIO->NHWC"; false if there are not three lists of `rank` letters. */
static bool read_layout(const char *text, int rank, layout *out) {
  memset(out, 0, sizeof *out);
  for (int k = 0; k < 3; k++) {
    const size_t n = strcspn(text, ",-");
    if (n != (size_t)rank) return false;
    memcpy(out->axes[k], text, n);
    text += n;
    if (k < 2 && text[0] == ',')
      text++;
    else if (k < 2 && text[0] == '-' && text[1] == '>')
      text += 2;
    else if (k < 2)
      return false;
  }
  return *text == 0;
}

/* The place of each letter of `of` among `axes`; false if one is missing. */
static bool find_axes(const char *of, const char *axes, cx_dims *out) {
  out->n = 0;
  for (; *of; of++) {
    const char *at = strchr(axes, *of);
    if (!at || strchr(of + 1, *of)) return false;
    out->d[out->n++] = at - axes;
  }
  return true;
}

/* The spatial letters are those of the kernel, in its order. */
static bool set_axes(const layout *l, params *p) {
  char of_array[CX_MAX_DIMS + 1] = "NC", of_kernel[CX_MAX_DIMS + 1] = "OI";
  size_t n = 2;
  for (const char *at = l->axes[1]; *at; at++)
    if (*at != 'O' && *at != 'I' && n < CX_MAX_DIMS)
      of_array[n] = of_kernel[n] = *at, n++;
  return n == strlen(l->axes[1]) &&
         find_axes(of_array, l->axes[0], &p->lhs_axes) &&
         find_axes(of_kernel, l->axes[1], &p->rhs_axes) &&
         find_axes(of_array, l->axes[2], &p->out_axes);
}

/* -- options --------------------------------------------------------------- */

static bool fill_list(const char *op, const char *name, cx_dims given, int n,
                      int64_t number, cx_dims *out, cx *out_poison) {
  *out = cxi_dims_given(given);
  if (out->n == 0) *out = cxi_dims_repeat(n, number);
  if (out->n == n) return true;
  *out_poison = cxi_fail(CX_ESHAPE, "%s: .%s %s: want %d numbers", op, name,
                         cxi_shown_dims(*out).text, n);
  return false;
}

/* The parameters but for padding. */
static bool set_params(const char *op, const cx *two, const cx_conv_opt *opt,
                       params *p, cx *out_poison) {
  const int rank = cxi_rank_at(two[0]), n = rank - 2;
  layout l;
  *p = (params){ .feature_groups = opt->groups ? opt->groups : 1,
                 .batch_groups = opt->batch_groups ? opt->batch_groups : 1,
                 .type = opt->out ? opt->out : cxi_dtype_at(two[0]) };
  if (rank < 2 || cxi_rank_at(two[1]) != rank) {
    *out_poison = cxi_fail(
        CX_ESHAPE, "%s: %s and %s: want one rank, of at least 2 dimensions", op,
        cxi_shown_of(two[0]).text, cxi_shown_of(two[1]).text);
    return false;
  }
  if (!opt->layout) l = layout_of_rank(rank);
  if ((opt->layout && !read_layout(opt->layout, rank, &l)) ||
      !set_axes(&l, p)) {
    *out_poison = cxi_fail(CX_ESHAPE,
                           "%s: layout \"%s\" of %s and %s: want %d letters "
                           "for each of x, kernel and result, such as "
                           "\"NHWC,HWIO,NHWC\"",
                           op, opt->layout, cxi_shown_of(two[0]).text,
                           cxi_shown_of(two[1]).text, rank);
    return false;
  }
  return fill_list(op, "strides", opt->strides, n, 1, &p->strides,
                   out_poison) &&
         fill_list(op, "dilation", opt->dilation, n, 1, &p->rhs_dilation,
                   out_poison) &&
         fill_list(op, "input_dilation", opt->input_dilation, n, 1,
                   &p->lhs_dilation, out_poison) &&
         fill_list(op, "low", opt->low, n, 0, &p->low, out_poison) &&
         fill_list(op, "high", opt->high, n, 0, &p->high, out_poison);
}

typedef enum padding { GIVEN, VALID, SAME, SAME_LOWER, UNKNOWN } padding;

static padding padding_of(const cx_conv_opt *opt) {
  if (!opt->padding) return opt->low.n || opt->high.n ? GIVEN : VALID;
  if (opt->low.n || opt->high.n) return UNKNOWN;
  if (!strcasecmp(opt->padding, "VALID")) return VALID;
  if (!strcasecmp(opt->padding, "SAME")) return SAME;
  return strcasecmp(opt->padding, "SAME_LOWER") ? UNKNOWN : SAME_LOWER;
}

static cx no_padding(const char *op, const cx_conv_opt *opt) {
  return cxi_fail(CX_ESHAPE,
                  "%s: .padding \"%s\": want \"VALID\", \"SAME\", "
                  "\"SAME_LOWER\", or .low and .high instead",
                  op, opt->padding);
}

/* The reach of the kernel along spatial axis i; 0 if it has no taps or the
 * number is too large. */
static int64_t reach_of(const params *p, cx kernel, int i) {
  const int64_t window = cxi_shape_at(kernel).d[p->rhs_axes.d[i + 2]];
  const int64_t gaps =
      window > 0 ? cxi_size_mul(window - 1, p->rhs_dilation.d[i]) : -1;
  return gaps < 0 || gaps > INT32_MAX ? 0 : gaps + 1;
}

/* Zeros for results of size ceil(n / stride). */
static void pad_same(const cx *two, bool lower, params *p) {
  for (int i = 0; i < p->strides.n; i++) {
    const int64_t size = cxi_shape_at(two[0]).d[p->lhs_axes.d[i + 2]];
    const int64_t stride = p->strides.d[i] < 1 ? 1 : p->strides.d[i];
    const int64_t count = size / stride + (size % stride != 0);
    const int64_t reach = reach_of(p, two[1], i);
    int64_t zeros = (count - 1) * stride + reach - size;
    if (zeros < 0) zeros = 0;
    p->low.d[i] = lower ? zeros - zeros / 2 : zeros / 2;
    p->high.d[i] = zeros - p->low.d[i];
  }
}

/* -- cx_conv --------------------------------------------------------------- */

static bool operands(const char *op, const cx *two, cx *out, cx *out_poison) {
  if (!cxi_list_given(op, 2, two, out_poison)) return false;
  out[0] = two[0], out[1] = two[1];
  return cxi_promote(op, 2, out, out_poison);
}

static cx convolved(const cx *two, const cx_conv_opt *opt) {
  const char *op = "conv";
  cx xk[2], poison;
  params p;
  if (!operands(op, two, xk, &poison) || !set_params(op, xk, opt, &p, &poison))
    return poison;
  const padding kind = padding_of(opt);
  if (kind == UNKNOWN) return no_padding(op, opt);
  if (opt->transpose_kernel)
    return cxi_fail(CX_EUSER, "%s: .transpose_kernel is for cx_conv_transpose",
                    op);
  if (kind == SAME || kind == SAME_LOWER) {
    for (int i = 0; i < p.lhs_dilation.n; i++)
      if (p.lhs_dilation.d[i] != 1)
        return cxi_fail(CX_ESHAPE,
                        "%s: .padding \"%s\" with .input_dilation: give .low "
                        "and .high, or use cx_conv_transpose",
                        op, opt->padding);
    pad_same(xk, kind == SAME_LOWER, &p);
  }
  return cxi_conv_general_dilated(xk[0], xk[1], &p);
}

cx cx_conv_(const cx *two, cx_conv_opt opt, const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(before, convolved(two, &opt));
}

/* -- cx_conv_transpose ----------------------------------------------------- */

/* The zeros around x for which a result is what a convolution with stride s
 * and a kernel that reaches over k would make x of. */
static void pad_transposed(int64_t k, int64_t s, bool same, int64_t *low,
                           int64_t *high) {
  const int64_t all = k + s - 2 + (!same && k > s ? k - s : 0);
  *low = same && s <= k - 1 ? (all + 1) / 2 : k - 1;
  *high = all - *low;
}

/* Turned around, features and channels exchanged. */
static cx turned(cx kernel, const params *p) {
  cx_dims axes = { .n = p->strides.n }, order;
  for (int i = 0; i < axes.n; i++) axes.d[i] = p->rhs_axes.d[i + 2];
  order = cxi_dims_range(0, axes.n + 2);
  order.d[p->rhs_axes.d[0]] = p->rhs_axes.d[1];
  order.d[p->rhs_axes.d[1]] = p->rhs_axes.d[0];
  return cxi_transpose(cxi_rev(kernel, axes), order);
}

static cx transposed(const cx *two, const cx_conv_opt *opt) {
  const char *op = "conv_transpose";
  cx xk[2], poison;
  params p;
  if (!operands(op, two, xk, &poison) || !set_params(op, xk, opt, &p, &poison))
    return poison;
  const padding kind = padding_of(opt);
  if (kind == UNKNOWN || kind == SAME_LOWER) return no_padding(op, opt);
  if (opt->input_dilation.n)
    return cxi_fail(CX_EUSER, "%s: .strides are the dilation of x", op);
  for (int i = 0; kind != GIVEN && i < p.strides.n; i++) {
    const int64_t s = p.strides.d[i] < INT32_MAX ? p.strides.d[i] : INT32_MAX;
    pad_transposed(reach_of(&p, xk[1], i), s, kind == SAME, &p.low.d[i],
                   &p.high.d[i]);
  }
  p.lhs_dilation = p.strides;
  p.strides = cxi_dims_repeat(p.strides.n, 1);
  if (opt->transpose_kernel) xk[1] = turned(xk[1], &p);
  return cxi_conv_general_dilated(xk[0], xk[1], &p);
}

cx cx_conv_transpose_(const cx *two, cx_conv_opt opt, const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(before, transposed(two, &opt));
}

/* -- cx_conv_patches ------------------------------------------------------- */

/* A kernel for each tap, 1 there, in as many groups as there are channels. */
static cx tap_kernel(cx_dtype type, int64_t channels, cx_dims window) {
  const int64_t taps = cxi_dims_count(&window);
  const cx_dims square = { 2, { taps, taps } };
  const cx one = cxi_compare(CXI_PRIM_eq, cxi_iota(CX_I64, square, 0),
                             cxi_iota(CX_I64, square, 1));
  const cx all = cxi_insert_axis(cxi_convert(one, type), 0, channels);
  cx_dims shape = cxi_dims_insert(window, 0, 1);
  return cxi_reshape(all, cxi_dims_insert(shape, 0, channels * taps));
}

static cx patches(cx x, cx_dims window, cx_conv_opt opt) {
  const char *op = "conv_patches";
  cx poison;
  layout l;
  if (!cxi_operand(op, &x, &poison)) return poison;
  const int rank = cxi_rank_at(x);
  const int64_t taps = cxi_dims_valid(&window) ? cxi_dims_count(&window) : -1;
  if (opt.groups || opt.batch_groups)
    return cxi_fail(CX_EUSER, "%s: no .groups, .batch_groups", op);
  if (rank < 2 || window.n != rank - 2 || taps < 0 || taps > 1 << 15)
    return cxi_fail(CX_ESHAPE, "%s: %s needs %d sizes of a kernel, got %s", op,
                    cxi_shown_of(x).text, rank < 2 ? 0 : rank - 2,
                    cxi_shown_dims(window).text);
  if (opt.layout && !read_layout(opt.layout, rank, &l))
    return cxi_fail(CX_ESHAPE, "%s: layout \"%s\" of %s", op, opt.layout,
                    cxi_shown_of(x).text);
  /* the kernel made here has its own order */
  char text[3 * CX_MAX_DIMS + 3], kernel[CX_MAX_DIMS + 1] = "OI";
  if (opt.layout) {
    size_t n = 2, letters = (size_t)rank;
    for (const char *c = l.axes[1]; *c; c++)
      if (*c != 'O' && *c != 'I' && n < letters) kernel[n++] = *c;
    memcpy(text, l.axes[0], letters);
    memcpy(text + letters + 1, kernel, letters);
    memcpy(text + 2 * letters + 2, l.axes[2], letters);
    text[letters] = text[2 * letters + 1] = ',';
    text[3 * letters + 2] = 0;
  }
  const char *at = opt.layout ? strchr(l.axes[0], 'C') : NULL;
  const int axis = at ? (int)(at - l.axes[0]) : 1;
  if (opt.layout) opt.layout = text;
  const int64_t channels = cxi_shape_at(x).d[axis];
  opt.groups = channels ? channels : 1;
  const cx two[2] = { x, tap_kernel(cxi_dtype_at(x), channels, window) };
  return cxi_is_poison(two[1]) ? two[1] : convolved(two, &opt);
}

cx cx_conv_patches_(cx x, cx_dims window, cx_conv_opt opt, const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(before, patches(x, window, opt));
}

/* -- vectors --------------------------------------------------------------- */

static cx vectors(const char *op, const cx *two, const char *mode,
                  bool convolve) {
  cx av[2], poison;
  params p;
  if (!operands(op, two, av, &poison)) return poison;
  const cx_dims m = cxi_shape_at(av[0]), n = cxi_shape_at(av[1]);
  if (m.n != 1 || n.n != 1 || m.d[0] == 0 || n.d[0] == 0)
    return cxi_fail(CX_ESHAPE, "%s: wants two vectors, not empty: %s and %s",
                    op, cxi_shown_of(av[0]).text, cxi_shown_of(av[1]).text);
  const bool full = !strcmp(mode, "full"), same = !strcmp(mode, "same");
  if (!full && !same && strcmp(mode, "valid") != 0)
    return cxi_fail(CX_EUSER,
                    "%s: .mode \"%s\": want \"full\", \"same\" or \"valid\"",
                    op, mode);
  const bool swap = m.d[0] < n.d[0];
  cx longer = av[swap], shorter = av[!swap];
  const int64_t size = cxi_shape_at(shorter).d[0];
  const cx_conv_opt none = { 0 };
  if (convolve) shorter = cxi_rev(shorter, cxi_dims_range(0, 1));
  const cx xk[2] = { cxi_expand_dims(longer, cxi_dims_range(0, 2)),
                     cxi_expand_dims(shorter, cxi_dims_range(0, 2)) };
  if (!cxi_given(xk[0]) || !cxi_given(xk[1])) return xk[!cxi_given(xk[1])];
  if (!set_params(op, xk, &none, &p, &poison)) return poison;
  p.low.d[0] = full ? size - 1 : same ? size / 2 : 0;
  p.high.d[0] = full ? size - 1 : same ? size - size / 2 - 1 : 0;
  const cx y = cxi_squeeze(cxi_conv_general_dilated(xk[0], xk[1], &p),
                           cxi_dims_range(0, 2));
  return swap && !convolve ? cxi_rev(y, cxi_dims_range(0, 1)) : y;
}

cx cx_convolve_(const cx *two, cx_convolve_opt opt, const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(
      before, vectors("convolve", two, opt.mode ? opt.mode : "full", true));
}

cx cx_correlate_(const cx *two, cx_convolve_opt opt, const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(
      before, vectors("correlate", two, opt.mode ? opt.mode : "valid", false));
}
