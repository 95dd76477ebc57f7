/* nn.c - activations, softmax, layer normalisation, attention. */
#include "calx/nn.h"

#include <math.h>

#include "calx/random.h"
#include "ops/composite.h"

static bool floating(const char *op, cx *x, cx *out_poison) {
  if (!cxi_operand(op, x, out_poison)) return false;
  if (cxi_dtype_is_float(cxi_dtype_at(*x))) return true;
  *out_poison = cxi_fail(CX_EDTYPE, "%s: needs a floating dtype, got %s", op,
                         cxi_shown_of(*x).text);
  return false;
}
static cx unary(cxi_prim prim, cx x) {
  return cxi_unary(prim, x);
}
static cx_dims last_axis(cx x) {
  return (cx_dims){ .n = 1, .d = { cxi_rank_at(x) - 1 } };
}
/* A row value (...) to the shape of x (..., n). */
static cx along_rows(cx row, cx x) {
  cx_dims shape = cxi_shape_at(x);
  return cxi_broadcast_in_dim(row, shape, cxi_dims_range(0, shape.n - 1));
}
static cx row_sum(cx x) {
  return cxi_reduce_sum(x, last_axis(x));
}
/* f16 and bf16 compute in f32. */
static cx widened(cx x) {
  return cxi_dtype_bytes(cxi_dtype_at(x)) == 2 ? cxi_convert(x, CX_F32) : x;
}

/* -- gelu: x Phi(x), Hendrycks & Gimpel 2016, arXiv:1606.08415 ------------ */

static cx normal_cdf(cx x) {
  return cxi_scale(cxi_offset(unary(CXI_PRIM_erf, cxi_scale(x, M_SQRT1_2)), 1),
                   0.5);
}
static void gelu_forward(const cx *in, double number, cx *out) {
  (void)number;
  out[0] = cxi_mul(in[0], normal_cdf(in[0]));
  out[1] = in[0];
}
/* Phi(x) + x exp(-x^2 / 2) / sqrt(2 pi) */
static void gelu_backward(const cx *r, cx ct, double number, cx *ct_in) {
  (void)number;
  cx x = r[0];
  cx density = unary(CXI_PRIM_exp, cxi_scale(unary(CXI_PRIM_square, x), -0.5));
  density = cxi_scale(density, 0.5 * M_2_SQRTPI * M_SQRT1_2);
  ct_in[0] = cxi_mul(ct, cxi_add(normal_cdf(x), cxi_mul(x, density)));
}
cx cxi_gelu(cx x) {
  const cxi_composite c = { "gelu", 0, 1, 1, gelu_forward, gelu_backward };
  return cxi_composite_emit(&c, &x);
}

/* 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the same paper. */
static cx tanh_term(cx x) {
  cx cube = cxi_mul(unary(CXI_PRIM_square, x), x);
  cx inner = cxi_add(x, cxi_scale(cube, 0.044715));
  return unary(CXI_PRIM_tanh, cxi_scale(inner, M_2_SQRTPI * M_SQRT1_2));
}
static void gelu_tanh_forward(const cx *in, double number, cx *out) {
  (void)number;
  out[0] = cxi_mul(in[0], cxi_scale(cxi_offset(tanh_term(in[0]), 1), 0.5));
  out[1] = in[0];
}
static void gelu_tanh_backward(const cx *r, cx ct, double number, cx *ct_in) {
  (void)number;
  cx x = r[0], t = tanh_term(x);
  cx inner = cxi_offset(cxi_scale(unary(CXI_PRIM_square, x), 3 * 0.044715), 1);
  inner = cxi_scale(inner, M_2_SQRTPI * M_SQRT1_2);
  cx slope =
      cxi_mul(cxi_sub(cxi_number_like(t, 1), unary(CXI_PRIM_square, t)), inner);
  cx both = cxi_add(cxi_offset(t, 1), cxi_mul(x, slope));
  ct_in[0] = cxi_mul(ct, cxi_scale(both, 0.5));
}
cx cxi_gelu_tanh(cx x) {
  const cxi_composite c = { "gelu_tanh",       0, 1, 1, gelu_tanh_forward,
                            gelu_tanh_backward };
  return cxi_composite_emit(&c, &x);
}

/* -- softmax, log_softmax over the last axis ------------------------------ */

/* x less its row maximum, through which no derivative flows. */
static cx lowered(cx x) {
  cx top = cxi_reduce(CXI_PRIM_reduce_max, x, last_axis(x));
  return cxi_sub(x, along_rows(cxi_stop_gradient(top), x));
}
static void softmax_forward(const cx *in, double number, cx *out) {
  (void)number;
  cx e = unary(CXI_PRIM_exp, lowered(in[0]));
  out[0] = out[1] = cxi_div(e, along_rows(row_sum(e), e));
}
/* y (ct - sum(y ct)) */
static void softmax_backward(const cx *r, cx ct, double number, cx *ct_in) {
  (void)number;
  cx dot = row_sum(cxi_mul(r[0], ct));
  ct_in[0] = cxi_mul(r[0], cxi_sub(ct, along_rows(dot, ct)));
}
static void log_softmax_forward(const cx *in, double number, cx *out) {
  (void)number;
  cx x = lowered(in[0]);
  cx total = unary(CXI_PRIM_log, row_sum(unary(CXI_PRIM_exp, x)));
  out[0] = out[1] = cxi_sub(x, along_rows(total, x));
}
/* ct - exp(y) sum(ct) */
static void log_softmax_backward(const cx *r, cx ct, double number, cx *ct_in) {
  (void)number;
  cx total = along_rows(row_sum(ct), ct);
  ct_in[0] = cxi_sub(ct, cxi_mul(unary(CXI_PRIM_exp, r[0]), total));
}
static cx over_axis(const cxi_composite *c, cx x, int axis, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!floating(c->name, &x, &poison) || !cxi_axis(c->name, x, &axis, &poison))
    return cxi_leave(before, poison);
  cx_dtype type = cxi_dtype_at(x);
  int last = cxi_rank_at(x) - 1;
  if (cxi_shape_at(x).d[axis] == 0) return cxi_leave(before, x);
  cx moved = widened(cxi_move_axis(x, axis, last));
  cx y = cxi_convert(cxi_composite_emit(c, &moved), type);
  return cxi_leave(before, cxi_move_axis(y, last, axis));
}
cx cx_softmax_(cx a, int axis, const char *at) {
  const cxi_composite c = { "softmax",       0, 1, 1, softmax_forward,
                            softmax_backward };
  return over_axis(&c, a, axis, at);
}
cx cx_log_softmax_(cx a, int axis, const char *at) {
  const cxi_composite c = { "log_softmax",       0, 1, 1, log_softmax_forward,
                            log_softmax_backward };
  return over_axis(&c, a, axis, at);
}

/* -- layer normalisation: Ba, Kiros & Hinton 2016, arXiv:1607.06450, eq. 4 ------------------ */

static cx row_mean(cx x) {
  if (cxi_is_poison(x)) return x;
  double n = (double)cxi_shape_at(x).d[cxi_rank_at(x) - 1];
  cx total = row_sum(x);
  return cxi_div(total, cxi_number_like(total, n));
}
/* A column value (n) to the shape of x (..., n). */
static cx along_columns(cx column, cx x) {
  cx_dims shape = cxi_shape_at(x);
  return cxi_broadcast_in_dim(column, shape,
                              cxi_dims_range(shape.n - 1, shape.n));
}
/* x, gamma, beta -> y; residuals: (x - mean) / std, 1 / std, gamma */
static void layer_norm_forward(const cx *in, double eps, cx *out) {
  cx centred = cxi_sub(in[0], along_rows(row_mean(in[0]), in[0]));
  cx variance = row_mean(unary(CXI_PRIM_square, centred));
  cx scale = unary(CXI_PRIM_rsqrt, cxi_offset(variance, eps));
  cx normal = cxi_mul(centred, along_rows(scale, in[0]));
  out[0] = cxi_add(cxi_mul(normal, along_columns(in[1], in[0])),
                   along_columns(in[2], in[0]));
  out[1] = normal, out[2] = scale, out[3] = in[1];
}
static cx sum_rows(cx x) {
  return cxi_reduce_sum(x, cxi_dims_range(0, cxi_rank_at(x) - 1));
}
static void layer_norm_backward(const cx *r, cx ct, double eps, cx *ct_in) {
  (void)eps;
  cx normal = r[0], scale = r[1], gamma = r[2];
  cx g = cxi_mul(ct, along_columns(gamma, ct));
  cx mean = row_mean(g), slope = row_mean(cxi_mul(g, normal));
  cx centred = cxi_sub(g, along_rows(mean, g));
  centred = cxi_sub(centred, cxi_mul(normal, along_rows(slope, g)));
  ct_in[0] = cxi_mul(centred, along_rows(scale, g));
  ct_in[1] = sum_rows(cxi_mul(ct, normal));
  ct_in[2] = sum_rows(ct);
}
/* gamma or beta as f32 (or x's wider dtype), `neutral` if it is none. */
static bool parameter(cx *p, cx x, double neutral, const char *what,
                      cx *out_poison) {
  cx_dims shape = cxi_shape_at(x);
  cx_dims n = { .n = 1, .d = { shape.d[shape.n - 1] } };
  if (cx_is_none(*p)) {
    *p = cxi_full(cxi_type_make(cxi_dtype_at(widened(x)), n), neutral);
    return true;
  }
  if (!cxi_operand("layer_norm", p, out_poison)) return false;
  cx_dims own = cxi_shape_at(*p);
  if (!cxi_dims_equal(&own, &n)) {
    *out_poison = cxi_fail(
        CX_ESHAPE, "layer_norm: %s must be [%lld] for %s, got %s", what,
        (long long)n.d[0], cxi_shown_of(x).text, cxi_shown_of(*p).text);
    return false;
  }
  if (cxi_dtype_at(*p) != cxi_dtype_at(x) &&
      cxi_promotion_now() == CX_PROMOTE_STRICT) {
    *out_poison = cxi_fail(CX_EDTYPE, "layer_norm: %s is %s beside %s", what,
                           cxi_shown_of(*p).text, cxi_shown_of(x).text);
    return false;
  }
  *p = cxi_convert(*p, cxi_dtype_at(widened(x)));
  return true;
}
cx cx_layer_norm_(cx x, cx gamma, cx beta, cx_norm_opt opt, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison, in[3] = { x, gamma, beta };
  if (!floating("layer_norm", &in[0], &poison))
    return cxi_leave(before, poison);
  if (cxi_rank_at(in[0]) == 0)
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "layer_norm: needs an axis, got "
                                      "%s",
                                      cxi_shown_of(in[0]).text));
  if (!parameter(&in[1], in[0], 1, "gamma", &poison) ||
      !parameter(&in[2], in[0], 0, "beta", &poison))
    return cxi_leave(before, poison);
  cx_dtype type = cxi_dtype_at(in[0]);
  in[0] = widened(in[0]);
  const cxi_composite c = { "layer_norm",       opt.eps ? opt.eps : 1e-5, 3, 3,
                            layer_norm_forward, layer_norm_backward };
  return cxi_leave(before, cxi_convert(cxi_composite_emit(&c, in), type));
}

/* -- attention: softmax(q k^T scale + bias, mask) v, Vaswani et al. 2017, eq. 1 ------------ */

static cx masked_scores(cx scores, cx_attention_opt opt) {
  cx_dims s = cxi_shape_at(scores);
  cx low = cxi_number_like(
      scores, cxi_dtype_at(scores) == CX_F16 ? -65504.0 : -3.4028235e38);
  if (opt.bias.index)
    scores = cxi_op_fold(CX_OP_ADD, 2, (cx[]){ scores, opt.bias });
  if (opt.mask.index && !cx_is_none(opt.mask))
    scores = cxi_op_where(opt.mask, scores, low);
  if (opt.causal) {
    cx_dims plane = { .n = 2, .d = { s.d[2], s.d[3] } };
    cx seen = cxi_triangle(true, cxi_full(cxi_type_make(CX_BOOL, plane), 1),
                           s.d[3] - s.d[2]);
    scores = cxi_op_where(seen, scores, low);
  }
  return scores;
}
cx cx_attention_(cx q, cx k, cx v, cx_attention_opt opt, const char *at) {
  cxi_name before = cxi_enter(at);
  cx qkv[3] = { q, k, v }, poison;
  if (!cxi_promote("attention", 3, qkv, &poison))
    return cxi_leave(before, poison);
  cx_dims s[3];
  for (int i = 0; i < 3; i++) s[i] = cxi_shape_at(qkv[i]);
  bool ok = s[0].n == 4 && s[1].n == 4 && s[2].n == 4 &&
            s[0].d[3] == s[1].d[3] && s[1].d[1] == s[2].d[1];
  for (int i = 1; ok && i < 3; i++)
    ok = s[i].d[0] == s[0].d[0] && s[i].d[2] == s[0].d[2];
  if (!ok || !cxi_dtype_is_float(cxi_dtype_at(qkv[0])))
    return cxi_leave(
        before, cxi_fail(CX_ESHAPE,
                         "attention: needs q (b, q, h, d), k and v "
                         "(b, k, h, d), got %s, %s and %s",
                         cxi_shown_of(qkv[0]).text, cxi_shown_of(qkv[1]).text,
                         cxi_shown_of(qkv[2]).text));
  double scale = opt.scale ? opt.scale : 1 / sqrt((double)s[0].d[3]);
  cx scores = cxi_einsum("bqhd,bkhd->bhqk", 2, qkv);
  cx probs = cx_softmax_(masked_scores(cxi_scale(scores, scale), opt), -1, at);
  if (opt.dropout > 0 && opt.key.index)
    probs = cx_dropout_(probs, opt.dropout, opt.key, at);
  return cxi_leave(before,
                   cxi_einsum("bhqk,bkhd->bqhd", 2, (cx[]){ probs, qkv[2] }));
}

/* -- dropout and one-hot -------------------------------------------------- */

cx cx_dropout_(cx x, double rate, cx key, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (cx_is_none(key)) return cxi_leave(before, x);
  if (cxi_is_poison(key)) return cxi_leave(before, key);
  if (!floating("dropout", &x, &poison)) return cxi_leave(before, poison);
  if (!(rate >= 0 && rate <= 1))
    return cxi_leave(before, cxi_fail(CX_EUSER, "dropout: a rate of %g", rate));
  if (rate == 0) return cxi_leave(before, x);
  cx zeros = cxi_zeros(cxi_type_at(x));
  if (rate == 1) return cxi_leave(before, zeros);
  cx kept = cx_bernoulli_(key, cx_lit_f(1 - rate), cxi_shape_at(x), at);
  cx scaled = cxi_div(x, cxi_number_like(x, 1 - rate));
  return cxi_leave(before, cxi_select(kept, zeros, scaled));
}
cx cx_one_hot_(cx labels, int64_t n, cx_dtype t, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("one_hot", &labels, &poison))
    return cxi_leave(before, poison);
  cx_dims shape = cxi_shape_at(labels);
  cx_dtype type = cxi_dtype_at(labels);
  if (n < 0 || shape.n == CX_MAX_DIMS || type == CX_BOOL || type == CX_KEY ||
      !cxi_dtype_valid(t))
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE,
                              "one_hot: %lld classes of %s as "
                              "dtype %d",
                              (long long)n, cxi_shown_of(labels).text, (int)t));
  cx_dims full = cxi_dims_append(shape, n);
  cx hit = cxi_compare(
      CXI_PRIM_eq,
      cxi_broadcast_in_dim(labels, full, cxi_dims_range(0, shape.n)),
      cxi_iota(type, full, shape.n));
  return cxi_leave(before, cxi_convert(hit, t));
}
