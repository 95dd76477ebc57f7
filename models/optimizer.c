/* optimizer.c - sgd, momentum, Adam, clipping, schedules. */
#include "calx/models/optimizer.h"

#include <math.h>

cx sgd_update(cx params, cx grads, cx lr) {
  return cx_sub(params, cx_mul(lr, grads));
}

cx momentum_init(cx params) {
  return cx_zeros_like(params);
}
void momentum_update(cx params, cx grads, cx velocity, cx lr, double decay,
                     bool nesterov, cx *out_params, cx *out_velocity) {
  cx v = cx_add(cx_mul(decay, velocity), grads);
  cx step = nesterov ? cx_add(grads, cx_mul(decay, v)) : v;
  *out_params = cx_sub(params, cx_mul(lr, step));
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
void adam_update(cx params, cx grads, cx state, cx lr, adam_options o,
                 cx *out_params, cx *out_state) {
  double b1 = o.b1 ? o.b1 : 0.9, b2 = o.b2 ? o.b2 : 0.999;
  double eps = o.eps ? o.eps : 1e-8;
  cx m = cx_add(cx_mul(b1, cx_get(state, "m")), cx_mul(1 - b1, grads));
  cx v =
      cx_add(cx_mul(b2, cx_get(state, "v")), cx_mul(1 - b2, cx_square(grads)));
  cx t = cx_add(cx_get(state, "t"), 1), steps = cx_cast(t, CX_F32);
  cx m_hat = cx_div(m, cx_sub(1, cx_power(b1, steps)));
  cx v_hat = cx_div(v, cx_sub(1, cx_power(b2, steps)));
  cx step = cx_div(m_hat, cx_add(cx_sqrt(v_hat), eps));
  if (o.weight_decay != 0) step = with_decay(step, params, &o);
  *out_params = cx_sub(params, cx_mul(lr, step));
  *out_state = cx_dict("m", m, "v", v, "t", t);
}

/* Over all leaves, those of 16 bits in f32. */
static cx sum_of_squares(cx tree) {
  cx sum = cx_scalar(0, CX_F32);
  for (int i = 0; i < cx_leaf_count(tree); i++) {
    cx leaf = cx_leaf(tree, i);
    if (cx_type(leaf) == CX_F16 || cx_type(leaf) == CX_BF16)
      leaf = cx_cast(leaf, CX_F32);
    cx square = cx_sum(cx_square(leaf));
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
  return cx_mul(grads, scale);
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
