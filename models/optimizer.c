/* optimizer.c - sgd, momentum, Adam, clipping, schedules. */
#include "calx/models/optimizer.h"

#include <math.h>

/* A factor as the dtype of each leaf that it meets: lr, an argument, is f32
 * beside parameters of any dtype. */
CX_STRUCT(factor, (cx, number));
CX_DEF_ENV(times, factor, e, leaf) {
  return cx_mul(cx_cast(e->number, cx_type(leaf)), leaf);
}
static cx scaled(cx number, cx tree) {
  number = cx_cast(number, CX_F64); /* exact, also of a C number */
  return cx_tree_map(CX_BIND(times, .number = number), tree);
}

static bool same_shape(cx a, cx b) {
  bool same = cx_ndim(a) == cx_ndim(b);
  for (int i = 0; same && i < cx_ndim(a); i++)
    same = cx_dim(a, i) == cx_dim(b, i);
  return same;
}
/* A tree beside the parameters; poison where a leaf has not its parameter's
 * shape, which broadcasting would hide. Other differences are found by what
 * follows. */
static cx like_params(const char *op, cx params, const char *what, cx tree) {
  if (!cx_ok() || cx_leaf_count(params) != cx_leaf_count(tree)) return tree;
  for (int i = 0; i < cx_leaf_count(params); i++) {
    cx p = cx_leaf(params, i), x = cx_leaf(tree, i);
    if (same_shape(p, x)) continue;
    return cx_fail(CX_ESHAPE, "%s: parameter \"%s\" is %s, its %s %s", op,
                   cx_leaf_path(params, i), cx_show(p), what, cx_show(x));
  }
  return tree;
}

cx sgd_update(cx params, cx grads, cx lr) {
  grads = like_params("sgd_update", params, "gradient", grads);
  return cx_sub(params, scaled(lr, grads));
}

cx momentum_init(cx params) {
  return cx_zeros_like(params);
}
void momentum_update(cx params, cx grads, cx velocity, cx lr, double decay,
                     bool nesterov, cx *out_params, cx *out_velocity) {
  grads = like_params("momentum_update", params, "gradient", grads);
  velocity = like_params("momentum_update", params, "velocity", velocity);
  cx v = cx_add(cx_mul(decay, velocity), grads);
  cx step = nesterov ? cx_add(grads, cx_mul(decay, v)) : v;
  *out_params = cx_sub(params, scaled(lr, step));
  *out_velocity = v;
}

cx adam_init(cx params) {
  return cx_dict("m", cx_zeros_like(params), "v", cx_zeros_like(params), "t",
                 cx_zeros(CX_I32, CX_SCALAR));
}
/* The fields of a parameter's update that its mask leaves. */
static cx with_decay(cx step, cx params, const adam_options *o) {
  cx decay = cx_mul(o->weight_decay, params);
  if (o->decay_mask.index)
    decay = cx_where(o->decay_mask, decay, cx_zeros_like(decay));
  return cx_add(step, decay);
}
/* m / (1 - b^t), the power in f32, or f64 for a moment of f64 */
CX_STRUCT(moment, (double, b), (cx, t));
CX_DEF_ENV(unbiased, moment, e, m) {
  cx_dtype type = cx_type(m);
  cx steps = cx_cast(e->t, type == CX_F64 ? CX_F64 : CX_F32);
  return cx_div(m, cx_cast(cx_sub(1, cx_power(e->b, steps)), type));
}
void adam_update(cx params, cx grads, cx state, cx lr, adam_options o,
                 cx *out_params, cx *out_state) {
  double b1 = o.b1 ? o.b1 : 0.9, b2 = o.b2 ? o.b2 : 0.999;
  double eps = o.eps ? o.eps : 1e-8;
  grads = like_params("adam_update", params, "gradient", grads);
  cx m = like_params("adam_update", params, "m", cx_get(state, "m"));
  cx v = like_params("adam_update", params, "v", cx_get(state, "v"));
  m = cx_add(cx_mul(b1, m), cx_mul(1 - b1, grads));
  v = cx_add(cx_mul(b2, v), cx_mul(1 - b2, cx_square(grads)));
  cx t = cx_add(cx_get(state, "t"), 1);
  cx m_hat = cx_tree_map(CX_BIND(unbiased, .b = b1, .t = t), m);
  cx v_hat = cx_tree_map(CX_BIND(unbiased, .b = b2, .t = t), v);
  cx step = cx_div(m_hat, cx_add(cx_sqrt(v_hat), eps));
  if (o.weight_decay != 0) step = with_decay(step, params, &o);
  *out_params = cx_sub(params, scaled(lr, step));
  *out_state = cx_dict("m", m, "v", v, "t", t);
}

/* Over all leaves, in f32, or in f64 if one of them is. */
static cx sum_of_squares(cx tree) {
  cx_dtype type = CX_F32;
  for (int i = 0; i < cx_leaf_count(tree); i++)
    if (cx_type(cx_leaf(tree, i)) == CX_F64) type = CX_F64;
  cx sum = cx_scalar(0, type);
  for (int i = 0; i < cx_leaf_count(tree); i++) {
    cx square = cx_sum(cx_square(cx_cast(cx_leaf(tree, i), type)));
    sum = i ? cx_add(sum, square) : square;
  }
  return sum;
}
cx clip_by_global_norm(cx grads, double limit, cx *out_norm) {
  cx sum = sum_of_squares(grads), norm = cx_sqrt(sum);
  cx inside = cx_le(norm, limit);
  /* The root's slope at 0 is infinite, and a product with 0 would be NaN. */
  cx safe = cx_sqrt(cx_where(inside, 1, sum));
  cx scale = cx_where(inside, 1.0, cx_div(limit, safe));
  if (out_norm) *out_norm = norm;
  return scaled(scale, grads);
}

static double warmup_part(double peak, int64_t warmup, int64_t step) {
  return peak * (double)step / (double)warmup;
}
static double progress(int64_t warmup, int64_t total, int64_t step) {
  if (step >= total || total <= warmup) return 1;
  return (double)(step - warmup) / (double)(total - warmup);
}
double schedule_linear(double peak, int64_t warmup, int64_t total,
                       int64_t step) {
  if (step < warmup) return warmup_part(peak, warmup, step);
  return peak * (1 - progress(warmup, total, step));
}
double schedule_cosine(double peak, int64_t warmup, int64_t total, double floor,
                       int64_t step) {
  if (step < warmup) return warmup_part(peak, warmup, step);
  double wave = 0.5 * (1 + cos(M_PI * progress(warmup, total, step)));
  return floor + (peak - floor) * wave;
}
