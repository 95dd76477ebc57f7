/* nn.h - operations of neural networks. */
#ifndef CALX_NN_H
#define CALX_NN_H

#include "calx/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 16. Neural networks ------------------------------------------------- */
#define cx_relu(a) CX_U(CX_OP_RELU, a)
#define cx_sigmoid(a) CX_U(CX_OP_SIGMOID, a)
#define cx_silu(a) CX_U(CX_OP_SILU, a)
#define cx_softplus(a) CX_U(CX_OP_SOFTPLUS, a)
#define cx_gelu(a) CX_U(CX_OP_GELU, a)           /* erf form */
#define cx_gelu_tanh(a) CX_U(CX_OP_GELU_TANH, a) /* tanh form, jax.nn.gelu's */
/* x above 0; below: e^x - 1; the same times 1.6733, all times 1.0507; a e^(x/a)
 * - a, a = 1; x / 100. */
#define cx_elu(a) CX_U(CX_OP_ELU, a)
#define cx_selu(a) CX_U(CX_OP_SELU, a) /* Klambauer et al. arXiv:1706.02515 */
#define cx_celu(a) CX_U(CX_OP_CELU, a)
#define cx_leaky_relu(a) CX_U(CX_OP_LEAKY_RELU, a)
#define cx_log_sigmoid(a) CX_U(CX_OP_LOG_SIGMOID, a) /* log(sigmoid(x)) */
/* x clipped to 0 .. 6, to -1 .. 1; relu6(x + 3) / 6, and times x */
#define cx_relu6(a) CX_U(CX_OP_RELU6, a)
#define cx_hard_tanh(a) CX_U(CX_OP_HARD_TANH, a)
#define cx_hard_sigmoid(a) CX_U(CX_OP_HARD_SIGMOID, a)
#define cx_hard_silu(a) CX_U(CX_OP_HARD_SILU, a)
#define cx_soft_sign(a) CX_U(CX_OP_SOFT_SIGN, a) /* x / (1 + |x|) */
#define cx_mish(a) CX_U(CX_OP_MISH, a)           /* x tanh(softplus(x)) */
#define cx_squareplus(a) CX_U(CX_OP_SQUAREPLUS, a) /* (x + sqrt(x^2 + 4)) / 2 */
/* 0 below -1, (x + 1)^2 / 4 to 1, then x; and its slope */
#define cx_sparse_plus(a) CX_U(CX_OP_SPARSE_PLUS, a)
#define cx_sparse_sigmoid(a) CX_U(CX_OP_SPARSE_SIGMOID, a)
/* cx_softmax(x): over the last axis; cx_softmax(x, axis) */
#define cx_softmax(...) CX_LAST(cx_softmax_, __VA_ARGS__, -1, )
#define cx_log_softmax(...) CX_LAST(cx_log_softmax_, __VA_ARGS__, -1, )
#define CX_LAST(fn, a, axis, ...) fn((a), (axis), CX_AT)
#define cx_one_hot(labels, n, t) cx_one_hot_((labels), (n), (t), CX_AT)
CX_API CX_USED cx cx_softmax_(cx a, int axis, const char *at);
CX_API CX_USED cx cx_log_softmax_(cx a, int axis, const char *at);
CX_API CX_USED cx cx_one_hot_(cx labels, int64_t n, cx_dtype t, const char *at);
typedef struct cx_norm_opt {
  CX_OPTIONS;
  double eps;              /* 0: 1e-5 */
} cx_norm_opt;
/* Layer normalisation over the last axis.
 *   x (..., n) float; gamma, beta (n) of x's dtype or cx_none().
 *   cx_layer_norm(x, gamma, beta, .eps = 1e-12)
 *   Returns (..., n), statistics in f32. CX_ESHAPE if gamma or beta is not (n).
 * Ba, Kiros & Hinton 2016, arXiv:1607.06450, eq. 4. */
#define cx_layer_norm(...) CX_ABC(cx_layer_norm_, cx_norm_opt, __VA_ARGS__, )
typedef struct cx_attention_opt {
  CX_OPTIONS;
  cx mask;                 /* bool, true = attend; broadcast to (b, h, q, k) */
  cx bias;                 /* added to the scores */
  double scale;            /* 0: 1/sqrt(d) */
  bool causal;
  double dropout;          /* needs key */
  cx key;
} cx_attention_opt;
/* cx_attention(q, k, v, .mask, ...): q (b, q, h, d), k and v (b, k, h, d) */
#define cx_attention(...) CX_ABC(cx_attention_, cx_attention_opt, __VA_ARGS__, )
#define CX_ABC(fn, T, a, b, c, ...) \
  fn((a), (b), (c), CX_OPT(T, __VA_ARGS__), CX_AT)
CX_API CX_USED cx cx_layer_norm_(cx x, cx gamma, cx beta, cx_norm_opt opt,
                                const char *at);
CX_API CX_USED cx cx_attention_(cx q, cx k, cx v, cx_attention_opt opt,
                               const char *at);
/* Mean over valid labels; logits (..., n), labels (...) integers, `ignore`
 * marks those left out. */
#define cx_cross_entropy(logits, labels, ignore) \
  cx_cross_entropy_((logits), (labels), (ignore), CX_AT)
CX_API CX_USED cx cx_cross_entropy_(cx logits, cx labels, int64_t ignore,
                                    const char *at);
/* key == cx_none(): no dropout (evaluation). */
#define cx_dropout(x, rate, key) cx_dropout_((x), (rate), (key), CX_AT)
CX_API CX_USED cx cx_dropout_(cx x, double rate, cx key, const char *at);

#ifdef __cplusplus
}
#endif
#endif
