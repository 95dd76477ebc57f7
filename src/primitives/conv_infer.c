/* conv_infer.c - the type of a convolution's result, or what is wrong. */
#include <inttypes.h>

#include "ir/conv.h"
#include "primitives/conv.h"
#include "primitives/dot.h"
#include "primitives/moves.h"

typedef cxi_conv_general_dilated_params params;

/* Both operands and the axes of all three arrays have one rank. */
static bool infer_axes(cxi_infer *c, const params *p) {
  const int rank = cxi_type_rank(c->in[0]);
  if (rank < 2 || cxi_type_rank(c->in[1]) != rank)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "%s and %s: want one rank, of at least 2 dimensions",
                          cxi_show_type(c->in[0]).s, cxi_show_type(c->in[1]).s);
  static const char *const names[] = { "lhs_axes", "rhs_axes", "out_axes" };
  const cx_dims *const axes[] = { &p->lhs_axes, &p->rhs_axes, &p->out_axes };
  for (int i = 0; i < 3; i++)
    if (axes[i]->n != rank || !cxi_axes_valid(axes[i], rank))
      return cxi_infer_fail(c, CX_ESHAPE, "%s %s: not the %d axes, each once",
                            names[i], cxi_show_list(axes[i]).s, rank);
  return true;
}

/* A number for each spatial dimension: padding, or what is at least 1. */
static bool infer_list(cxi_infer *c, const char *name, const cx_dims *list,
                       bool padding) {
  const int n = cxi_type_rank(c->in[0]) - 2;
  bool valid = list->n == n;
  for (int i = 0; valid && i < n; i++)
    valid = padding ? cxi_size_near(list->d[i]) : list->d[i] >= 1;
  if (valid) return true;
  if (!padding)
    return cxi_infer_fail(c, CX_ESHAPE, "%s %s: want %d, none below 1", name,
                          cxi_show_list(list).s, n);
  return cxi_infer_fail(c, CX_ESHAPE, "padding %s %s: want %d", name,
                        cxi_show_list(list).s, n);
}

static bool infer_lists(cxi_infer *c, const params *p) {
  return infer_list(c, "strides", &p->strides, false) &&
         infer_list(c, "lhs_dilation", &p->lhs_dilation, false) &&
         infer_list(c, "rhs_dilation", &p->rhs_dilation, false) &&
         infer_list(c, "low", &p->low, true) &&
         infer_list(c, "high", &p->high, true);
}

static bool infer_groups(cxi_infer *c, const params *p) {
  const cx_dims *lhs = cxi_type_shape(c->in[0]),
                *rhs = cxi_type_shape(c->in[1]);
  const int64_t batch = lhs->d[p->lhs_axes.d[0]],
                channels = lhs->d[p->lhs_axes.d[1]],
                features = rhs->d[p->rhs_axes.d[0]],
                of_group = rhs->d[p->rhs_axes.d[1]];
  const int64_t f = p->feature_groups, b = p->batch_groups;
  if (f < 1 || b < 1 || (f > 1 && b > 1))
    return cxi_infer_fail(c, CX_ESHAPE,
                          "feature_groups %" PRId64 " and batch_groups %" PRId64
                          ": want positive numbers, one of them 1",
                          f, b);
  if (cxi_size_mul(of_group, f) != channels)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "%s has %" PRId64
                          " channels, the kernel %s takes %" PRId64
                          " in each of %" PRId64 " feature groups",
                          cxi_show_type(c->in[0]).s, channels,
                          cxi_show_type(c->in[1]).s, of_group, f);
  if (features % (f * b) != 0)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "the kernel %s has %" PRId64
                          " features, not a multiple of %" PRId64 " groups",
                          cxi_show_type(c->in[1]).s, features, f * b);
  if (batch % b != 0)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "%s has a batch of %" PRId64
                          ", not a multiple of %" PRId64 " batch groups",
                          cxi_show_type(c->in[0]).s, batch, b);
  return true;
}

/* Positions of the kernel along spatial dimension i; -1 after an error. */
static int64_t infer_count(cxi_infer *c, const params *p, int i) {
  const int64_t size = cxi_type_shape(c->in[0])->d[p->lhs_axes.d[i + 2]];
  const int64_t window = cxi_type_shape(c->in[1])->d[p->rhs_axes.d[i + 2]];
  const int64_t dilated = cxi_size_dilated(size, p->lhs_dilation.d[i]);
  const int64_t reach = cxi_size_dilated(window, p->rhs_dilation.d[i]);
  if (dilated < 0 || reach < 0 || !cxi_size_near(dilated) ||
      !cxi_size_near(reach)) {
    cxi_infer_fail(c, CX_ESHAPE, "%s and %s: a dilated size overflows",
                   cxi_show_type(c->in[0]).s, cxi_show_type(c->in[1]).s);
    return -1;
  }
  const int64_t padded = dilated + p->low.d[i] + p->high.d[i];
  if (padded < 0) {
    cxi_infer_fail(
        c, CX_ESHAPE,
        "%s: padding (%" PRId64 ",%" PRId64 ") takes more than the %" PRId64
        " elements of spatial dimension %d",
        cxi_show_type(c->in[0]).s, p->low.d[i], p->high.d[i], dilated, i);
    return -1;
  }
  return padded < reach ? 0 : 1 + (padded - reach) / p->strides.d[i];
}

bool cxi_conv_infer(cxi_infer *c) {
  const params *p = c->params;
  if (!cxi_infer_count(c, 2) || !cxi_dot_infer_dtypes(c, p->type) ||
      !infer_axes(c, p) || !infer_lists(c, p) || !infer_groups(c, p))
    return false;
  cx_dims shape = { .n = p->out_axes.n };
  shape.d[p->out_axes.d[0]] =
      cxi_type_shape(c->in[0])->d[p->lhs_axes.d[0]] / p->batch_groups;
  shape.d[p->out_axes.d[1]] = cxi_type_shape(c->in[1])->d[p->rhs_axes.d[0]];
  for (int i = 0; i < shape.n - 2; i++) {
    const int64_t count = infer_count(c, p, i);
    if (count < 0) return false;
    shape.d[p->out_axes.d[i + 2]] = count;
  }
  const cx_aval aval = { p->type, shape };
  if (cxi_aval_bytes(&aval) < 0)
    return cxi_infer_fail(c, CX_ESHAPE, "%s%s: its size overflows",
                          cxi_dtype_name(p->type), cxi_show_list(&shape).s);
  return cxi_infer_result(c, cxi_type_make(p->type, shape));
}
