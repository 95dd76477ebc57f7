/* random_count.c - Poisson, binomial and multinomial numbers, by the loops of
 * JAX: one key for each turn, turns until every element has its number. */
#include <math.h>

#include "ops/axes.h"
#include "ops/random.h"

/* A number or an array of numbers as a parameter of dtype t that broadcasts to
 * the shape; no derivative goes through it. */
static bool parameter(const char *op, cx given, cx_dtype t, cx_dims shape,
                      cx *out, cx *out_poison) {
  cx a = cxi_strong(op, given, t);
  if (!cxi_operand(op, &a, out_poison)) return false;
  if (cxi_dtype_at(a) != CX_KEY) a = cxi_convert(cxi_stop_gradient(a), t);
  if (!cxi_random_parameter(op, a, t, shape, out, out_poison)) return false;
  *out = cxi_broadcast_to(*out, shape);
  return true;
}
static cx both(cx a, cx b) {
  return cxi_binary(CXI_PRIM_and, a, b);
}
static cx either(cx a, cx b) {
  return cxi_binary(CXI_PRIM_or, a, b);
}
static cx compare(cxi_prim prim, cx x, double number) {
  return cxi_compare(prim, x, cxi_number_like(x, number));
}
static cx unary(cxi_prim prim, cx x) {
  return cxi_unary(prim, x);
}
static cx full_like(cx x, double number) {
  return cxi_full(cxi_type_at(x), number);
}
static cx any(cx flags) {
  const int rank = cxi_rank_at(flags);
  cx_dims all = { .n = rank };
  for (int i = 0; i < rank; i++) all.d[i] = i;
  return cxi_reduce(CXI_PRIM_reduce_or, flags, all);
}
static cx uniform_like(cx key, cx x) {
  const cx_dtype t = cxi_dtype_at(x);
  return cxi_random_uniform(key, t, cxi_shape_at(x), cxi_number(t, 0),
                            cxi_number(t, 1));
}
static void split3(cx key, cx out[3]) {
  cx_split_(key, (cx *[]){ &out[0], &out[1], &out[2], NULL }, NULL);
}
/* Of a carry (numbers, accepted, key): whether an element has none yet. */
static void some_open(void *user, const cx *carry, cx *out) {
  (void)user;
  out[0] = any(unary(CXI_PRIM_not, carry[1]));
}
/* Numbers that a step (consts, numbers, accepted, key) accepts, from -1. */
static cx accepted_numbers(const char *name, cxi_write *step, cx key,
                           uint32_t n_consts, const cx *consts) {
  cx in[16], out[3];
  for (uint32_t i = 0; i < n_consts; i++) in[i] = consts[i];
  in[n_consts] = full_like(consts[0], -1);
  in[n_consts + 1] = cxi_zeros(cxi_type_make(CX_BOOL, cxi_shape_at(consts[0])));
  in[n_consts + 2] = key;
  cxi_while_of(name, some_open, step, NULL, n_consts, 3, in, out);
  return out[0];
}

/* -- Poisson --------------------------------------------------------------- */

/* Carry: the count, the logarithm of a product of uniform numbers, -lam, a
 * key. The count of factors until the product falls to e^-lam is one more than
 * the draw. */
static void knuth_more(void *user, const cx *carry, cx *out) {
  (void)user;
  out[0] = any(cxi_compare(CXI_PRIM_gt, carry[1], carry[2]));
}
static void knuth_step(void *user, const cx *in, cx *out) {
  (void)user;
  cx key;
  cx_split_(in[3], (cx *[]){ &out[3], &key, NULL }, NULL);
  const cx open = cxi_compare(CXI_PRIM_gt, in[1], in[2]);
  out[0] = cxi_select(open, in[0], cxi_offset(in[0], 1));
  out[1] = cxi_add(in[1], unary(CXI_PRIM_log, uniform_like(key, in[1])));
  out[2] = in[2];
}
static cx poisson_small(cx key, cx lam, cx_dtype t) {
  const cx in[4] = { cxi_zeros(cxi_type_make(t, cxi_shape_at(lam))),
                     full_like(lam, 0), cxi_neg(lam), key };
  cx out[4];
  cxi_while_of("poisson_knuth", knuth_more, knuth_step, NULL, 0, 4, in, out);
  return cxi_sub(out[0], cxi_integer(t, 1)); /* wraps, if unsigned */
}

enum { LAM, LOG_LAM, A, B, INVERSE_ALPHA, V_R, N_PTRS };

static void ptrs_step(void *user, const cx *in, cx *out) {
  (void)user;
  const cx lam = in[LAM], a = in[A], b = in[B];
  cx keys[3];
  split3(in[N_PTRS + 2], keys);
  const cx u = cxi_offset(uniform_like(keys[1], lam), -0.5);
  const cx v = uniform_like(keys[2], lam);
  const cx us = cxi_sub(cxi_number_like(u, 0.5), unary(CXI_PRIM_abs, u));
  cx k = cxi_mul(cxi_add(cxi_div(cxi_scale(a, 2), us), b), u);
  k = unary(CXI_PRIM_floor, cxi_offset(cxi_add(k, lam), 0.43));
  const cx hat = cxi_add(cxi_div(a, cxi_mul(us, us)), b);
  const cx s = unary(CXI_PRIM_log, cxi_div(cxi_mul(v, in[INVERSE_ALPHA]), hat));
  const cx t = cxi_sub(cxi_sub(cxi_mul(k, in[LOG_LAM]), lam),
                       unary(CXI_PRIM_lgamma, cxi_offset(k, 1)));
  const cx inside = both(compare(CXI_PRIM_ge, us, 0.07),
                         cxi_compare(CXI_PRIM_le, v, in[V_R]));
  const cx reject =
      either(compare(CXI_PRIM_lt, k, 0), both(compare(CXI_PRIM_lt, us, 0.013),
                                              cxi_compare(CXI_PRIM_gt, v, us)));
  const cx accept = either(inside, both(unary(CXI_PRIM_not, reject),
                                        cxi_compare(CXI_PRIM_le, s, t)));
  out[0] = cxi_select(accept, in[N_PTRS], k);
  out[1] = either(in[N_PTRS + 1], accept);
  out[2] = keys[0];
}
static cx poisson_large(cx key, cx lam) {
  cx c[N_PTRS];
  c[LAM] = lam;
  c[LOG_LAM] = unary(CXI_PRIM_log, lam);
  c[B] = cxi_offset(cxi_scale(unary(CXI_PRIM_sqrt, lam), 2.53), 0.931);
  c[A] = cxi_offset(cxi_scale(c[B], 0.02483), -0.059);
  c[INVERSE_ALPHA] = cxi_offset(
      cxi_div(cxi_number_like(lam, 1.1328), cxi_offset(c[B], -3.4)), 1.1239);
  c[V_R] = cxi_sub(cxi_number_like(lam, 0.9277),
                   cxi_div(cxi_number_like(lam, 3.6224), cxi_offset(c[B], -2)));
  return accepted_numbers("poisson_ptrs", ptrs_step, key, N_PTRS, c);
}

static bool is_integer(cx_dtype t) {
  return cxi_dtype_valid(t) &&
         (cxi_dtype_kind(t) == CXI_SIGNED || cxi_dtype_kind(t) == CXI_UNSIGNED);
}
cx cx_poisson_(cx key, cx lam, cx_dtype t, cx_dims shape, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!is_integer(t))
    return cxi_leave(before, cxi_fail(CX_EDTYPE,
                                      "poisson: needs an integer dtype, "
                                      "got %s",
                                      cxi_dtype_name(t)));
  if (!cxi_random_draw("poisson", &key, CX_F32, shape, &poison) ||
      !parameter("poisson", lam, CX_F32, shape, &lam, &poison))
    return cxi_leave(before, poison);
  const cx small =
      either(cxi_compare(CXI_PRIM_ne, lam, lam), compare(CXI_PRIM_lt, lam, 10));
  const cx few = cxi_select(small, full_like(lam, 0), lam);
  const cx many = cxi_select(small, lam, full_like(lam, 1e5));
  const cx result = cxi_select(small, cxi_convert(poisson_large(key, many), t),
                               poisson_small(key, few, t));
  return cxi_leave(before, cxi_select(compare(CXI_PRIM_eq, lam, 0), result,
                                      full_like(result, 0)));
}

/* -- binomial -------------------------------------------------------------- */

/* Carry: the count, the sum of geometric numbers, a key; the count of those
 * until the sum is above n is one more than the draw. */
static void inversion_more(void *user, const cx *carry, cx *out) {
  (void)user;
  out[0] = any(cxi_compare(CXI_PRIM_le, carry[1], carry[2]));
}
static void inversion_step(void *user, const cx *in, cx *out) {
  (void)user;
  cx key;
  cx_split_(in[4], (cx *[]){ &key, &out[3], NULL }, NULL);
  const cx open = cxi_compare(CXI_PRIM_le, in[2], in[3]);
  const cx log_u = unary(CXI_PRIM_log, uniform_like(key, in[1]));
  const cx trials = unary(CXI_PRIM_ceil, cxi_div(log_u, in[0]));
  out[0] = cxi_select(open, in[1], cxi_offset(in[1], 1));
  out[1] = cxi_add(in[2], trials);
  out[2] = in[3];
}
static cx binomial_small(cx key, cx n, cx p) {
  const cx none = full_like(p, 0);
  const cx in[5] = { unary(CXI_PRIM_log1p, cxi_neg(p)), none, none, n, key };
  cx out[4];
  cxi_while_of("binomial_inversion", inversion_more, inversion_step, NULL, 1, 4,
               in, out);
  return cxi_offset(out[0], -1);
}

/* What Stirling's formula leaves of log k!; k up to 9 from the table. */
static cx stirling_table(cx_dtype t) {
  static const double rests[] = { 0.0810614667953272,  0.0413406959554092,
                                  0.0276779256849983,  0.02079067210376509,
                                  0.0166446911898211,  0.0138761288230707,
                                  0.0118967099458917,  0.0104112652619720,
                                  0.00925546218271273, 0.00833056343336287 };
  cx items[10];
  for (int i = 0; i < 10; i++) items[i] = cxi_number(t, rests[i]);
  return cxi_stack(0, 10, items);
}
static cx stirling_rest(cx k, cx table) {
  const cx next = cxi_offset(k, 1), square = cxi_mul(next, next);
  cx rest = cxi_div(cxi_number_like(k, 1.0 / 1260), square);
  rest = cxi_sub(cxi_number_like(k, 1.0 / 360), rest);
  rest = cxi_sub(cxi_number_like(k, 1.0 / 12), cxi_div(rest, square));
  const cx exact = cxi_element(table, cxi_convert(k, CX_I32));
  return cxi_select(compare(CXI_PRIM_le, k, 9), cxi_div(rest, next), exact);
}

enum {
  N,
  BA,
  BB,
  BC,
  BV_R,
  ODDS,
  ALPHA,
  MODE,
  AT_MODE,
  REST_M,
  REST_N_M,
  TABLE,
  N_BTRS
};

/* The logarithm of the probability of k over that of the mode, scaled. */
static cx btrs_bound(const cx *c, cx k) {
  const cx after = cxi_offset(cxi_sub(c[N], k), 1);
  cx ratio = cxi_div(cxi_offset(cxi_sub(c[N], c[MODE]), 1), after);
  cx sum = cxi_add(c[AT_MODE],
                   cxi_mul(cxi_offset(c[N], 1), unary(CXI_PRIM_log, ratio)));
  ratio = cxi_div(cxi_mul(c[ODDS], after), cxi_offset(k, 1));
  sum = cxi_add(sum, cxi_mul(cxi_offset(k, 0.5), unary(CXI_PRIM_log, ratio)));
  sum = cxi_add(cxi_add(sum, c[REST_M]), c[REST_N_M]);
  sum = cxi_sub(sum, stirling_rest(k, c[TABLE]));
  return cxi_sub(sum, stirling_rest(cxi_sub(c[N], k), c[TABLE]));
}
static void btrs_step(void *user, const cx *in, cx *out) {
  (void)user;
  const cx a = in[BA], b = in[BB];
  cx keys[3];
  split3(in[N_BTRS + 2], keys);
  const cx u = cxi_offset(uniform_like(keys[1], a), -0.5);
  const cx v = uniform_like(keys[2], a);
  const cx us = cxi_sub(cxi_number_like(u, 0.5), unary(CXI_PRIM_abs, u));
  cx k = cxi_mul(cxi_add(cxi_div(cxi_scale(a, 2), us), b), u);
  k = unary(CXI_PRIM_floor, cxi_add(k, in[BC]));
  const cx inside = both(compare(CXI_PRIM_ge, us, 0.07),
                         cxi_compare(CXI_PRIM_le, v, in[BV_R]));
  const cx reject =
      either(compare(CXI_PRIM_lt, k, 0), cxi_compare(CXI_PRIM_gt, k, in[N]));
  const cx hat = cxi_add(cxi_div(a, cxi_mul(us, us)), b);
  const cx s = unary(CXI_PRIM_log, cxi_div(cxi_mul(v, in[ALPHA]), hat));
  const cx below = cxi_compare(CXI_PRIM_le, s, btrs_bound(in, k));
  const cx accept = either(inside, both(unary(CXI_PRIM_not, reject), below));
  out[0] = cxi_select(accept, in[N_BTRS], k);
  out[1] = either(in[N_BTRS + 1], accept);
  out[2] = keys[0];
}
static cx binomial_large(cx key, cx n, cx p) {
  cx c[N_BTRS];
  const cx q = cxi_sub(cxi_number_like(p, 1), p), mean = cxi_mul(n, p);
  const cx deviation = unary(CXI_PRIM_sqrt, cxi_mul(mean, q));
  c[N] = n;
  c[BB] = cxi_offset(cxi_scale(deviation, 2.53), 1.15);
  c[BA] = cxi_add(cxi_offset(cxi_scale(c[BB], 0.0248), -0.0873),
                  cxi_scale(p, 0.01));
  c[BC] = cxi_offset(mean, 0.5);
  c[BV_R] = cxi_sub(cxi_number_like(p, 0.92),
                    cxi_div(cxi_number_like(p, 4.2), c[BB]));
  c[ODDS] = cxi_div(p, q);
  c[ALPHA] = cxi_mul(cxi_offset(cxi_div(cxi_number_like(p, 5.1), c[BB]), 2.83),
                     deviation);
  c[MODE] = unary(CXI_PRIM_floor, cxi_mul(cxi_offset(n, 1), p));
  c[TABLE] = stirling_table(cxi_dtype_at(p));
  const cx rest = cxi_sub(n, c[MODE]);
  const cx ratio =
      cxi_div(cxi_offset(c[MODE], 1), cxi_mul(c[ODDS], cxi_offset(rest, 1)));
  c[AT_MODE] = cxi_mul(cxi_offset(c[MODE], 0.5), unary(CXI_PRIM_log, ratio));
  c[REST_M] = stirling_rest(c[MODE], c[TABLE]);
  c[REST_N_M] = stirling_rest(rest, c[TABLE]);
  return accepted_numbers("binomial_btrs", btrs_step, key, N_BTRS, c);
}

/* n and p of one dtype and shape. Of p above 1/2 the failures are drawn. */
static cx binomial(cx key, cx n, cx p) {
  const cx flipped = compare(CXI_PRIM_ge, p, 0.5);
  cx q = cxi_select(flipped, p, cxi_sub(cxi_number_like(p, 1), p));
  /* written so that NaN counts as wrong */
  const cx right = both(compare(CXI_PRIM_ge, q, 0), compare(CXI_PRIM_ge, n, 0));
  const cx infinite = compare(CXI_PRIM_eq, n, INFINITY);
  q = cxi_select(right, full_like(q, 0.01), q);
  n = cxi_select(either(unary(CXI_PRIM_not, right), infinite), n,
                 full_like(n, 0));
  const cx small = compare(CXI_PRIM_le, cxi_mul(n, q), 10);
  n = unary(CXI_PRIM_floor, n);
  const cx few = cxi_select(small, full_like(n, 0), n);
  const cx many = cxi_select(small, n, full_like(n, 1e4));
  const cx half = cxi_select(small, q, full_like(q, 0.5));
  cx result = cxi_select(small, binomial_large(key, many, half),
                         binomial_small(key, few, q));
  result = cxi_select(flipped, result, cxi_sub(n, result));
  result = cxi_select(infinite, result, full_like(n, INFINITY));
  return cxi_select(right, full_like(n, (double)NAN), result);
}
/* The dtype of p; of a number, t's and at least f32. */
static cx_dtype dtype_of_p(cx p, cx_dtype t) {
  const cx_dtype wide = t == CX_F64 ? CX_F64 : CX_F32;
  const cx a = cxi_given(p) ? cxi_strong("binomial", p, wide) : p;
  return cxi_given(a) ? cxi_dtype_at(a) : wide;
}
static bool floating(const char *op, cx x, cx *out_poison) {
  const cx a = cxi_given(x) ? cxi_strong(op, x, CX_F32) : x;
  if (!cxi_given(a) || cxi_dtype_is_float(cxi_dtype_at(a))) return true;
  *out_poison = cxi_fail(CX_EDTYPE, "%s: p must be floating, got %s", op,
                         cxi_shown_of(a).text);
  return false;
}
cx cx_binomial_(cx key, cx n, cx p, cx_dtype t, cx_dims shape, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_random_draw("binomial", &key, t, shape, &poison) ||
      !floating("binomial", p, &poison))
    return cxi_leave(before, poison);
  const cx_dtype wide = dtype_of_p(p, t);
  if (!parameter("binomial", n, wide, shape, &n, &poison) ||
      !parameter("binomial", p, wide, shape, &p, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, cxi_convert(binomial(key, n, p), t));
}

/* -- multinomial ----------------------------------------------------------- */

/* (left; part of what is left, key) -> (left - count; count) */
static void class_step(void *user, const cx *in, cx *out) {
  (void)user;
  const cx p =
      cxi_clamp(cxi_number_like(in[1], 0), in[1], cxi_number_like(in[1], 1));
  out[1] = binomial(in[2], in[0], p);
  out[0] = cxi_sub(in[0], out[1]);
}
static cx multinomial(cx key, cx n, cx p) {
  const int last = cxi_rank_at(p) - 1;
  const cx parts = cxi_move_axis(p, last, 0);
  const int64_t k = cxi_shape_at(parts).d[0];
  const cx left = cxi_cumulate(CXI_PRIM_cumsum, parts, 0, true);
  const cx none = compare(CXI_PRIM_eq, left, 0);
  const cx in[3] = { n,
                     cxi_div(parts, cxi_select(none, left, full_like(left, 1))),
                     cxi_random_split(key, cx_dims_one_(k)) };
  const cxi_loop loop = {
    .name = "multinomial", .length = k, .n_carry = 1, .n_xs = 2, .n_ys = 1
  };
  cx out[2];
  cxi_scan_of(&loop, class_step, NULL, in, out);
  return cxi_move_axis(out[1], 0, last);
}
cx cx_multinomial_(cx key, cx n, cx p, cx_dtype t, cx_dims shape,
                   const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_random_draw("multinomial", &key, t, shape, &poison))
    return cxi_leave(before, poison);
  if (shape.n == 0)
    return cxi_leave(before, cxi_fail(CX_ESHAPE, "multinomial: needs a shape "
                                                 "(..., k)"));
  const cx_dtype wide = dtype_of_p(p, t);
  const cx_dims rows = cxi_dims_without(shape, shape.n - 1);
  if (!floating("multinomial", p, &poison) ||
      !parameter("multinomial", n, wide, rows, &n, &poison) ||
      !parameter("multinomial", p, wide, shape, &p, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, cxi_convert(multinomial(key, n, p), t));
}
