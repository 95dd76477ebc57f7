/* optimizer.h - updates of parameters from gradients, and schedules.
 *
 * An optimizer is two functions of trees: init gives its state, update takes
 * gradients and gives new parameters and state. Both are plain functions of
 * handles: use them inside a jitted step. lr may be an array, of any floating
 * dtype, or a number; parameters keep their dtypes. CX_ESHAPE for a gradient
 * or a state that has not its parameter's shape. */
#ifndef CALX_MODELS_OPTIMIZER_H
#define CALX_MODELS_OPTIMIZER_H

#include "calx/calx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* p - lr g */
CX_API CX_USED cx sgd_update(cx params, cx grads, cx lr);

/* v = decay v + g; p - lr v, or p - lr (g + decay v) for Nesterov's form.
 * Sutskever et al. 2013. State: a tree like params. */
CX_API CX_USED cx momentum_init(cx params);
CX_API void momentum_update(cx params, cx grads, cx velocity, cx lr,
                            double decay, bool nesterov, cx *out_params,
                            cx *out_velocity);

/* Adam with bias correction, Kingma & Ba 2015, arXiv:1412.6980, algorithm 1;
 * decoupled weight decay, Loshchilov & Hutter 2019, arXiv:1711.05101, if
 * weight_decay is not 0: p - lr (m_hat / (sqrt(v_hat) + eps) + decay p).
 * State: {m, v, t}, m and v like params, t an i32 step count. */
typedef struct adam_options {
  double b1, b2, eps; /* 0: 0.9, 0.999, 1e-8 */
  double weight_decay;
  cx decay_mask; /* bools like params; {0}: decay all */
} adam_options;
CX_API CX_USED cx adam_init(cx params);
CX_API void adam_update(cx params, cx grads, cx state, cx lr,
                        adam_options options, cx *out_params, cx *out_state);

/* Gradients scaled to a global norm of at most `limit`; the norm before, if
 * out_norm is not NULL. Zero gradients stay zero, also under grad. */
CX_API CX_USED cx clip_by_global_norm(cx grads, double limit, cx *out_norm);

/* -- schedules: C numbers for step 0, 1, ... ------------------------------- */
/* 0 to peak over `warmup` steps, then linearly to 0 at `total`. */
CX_API double schedule_linear(double peak, int64_t warmup, int64_t total,
                              int64_t step);
/* The same rise, then half a cosine down to `floor`. */
CX_API double schedule_cosine(double peak, int64_t warmup, int64_t total,
                              double floor, int64_t step);

#ifdef __cplusplus
}
#endif
#endif
