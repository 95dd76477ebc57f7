/* special_test.c - special functions: values in 40 digits, identities,
 * derivatives, gamma variates, wrong use. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/math.h"
#include "calx/testing.h"
#include "support/group.h"

/* -- the number functions -------------------------------------------------- */

/* Computed by mpmath with 50 digits. `room`: the error allowed, in 2^-53 of
 * the value; the sums of several hundred terms lose a little more. */
typedef enum function {
  lgamma_,
  digamma,
  bessel_i0e,
  bessel_i1e,
  zeta,
  polygamma,
  igamma,
  igammac,
  igamma_grad_a,
  random_gamma_grad,
  regularized_incomplete_beta
} function;
typedef struct reference {
  const char *name;
  function f;
  double in[3];
  long double value;
} reference;
#define ROW(name) #name, name
#define lgamma lgamma_
static const reference references[] = {
  { ROW(lgamma), { 0.001, 0, 0 }, 6.907178885383853661684L },
  { ROW(lgamma), { 0.7, 0, 0 }, 0.2608672465316665685657L },
  { ROW(lgamma), { 1.25, 0, 0 }, -0.09827183642181316146385L },
  { ROW(lgamma), { 3.5, 0, 0 }, 1.200973602347074224816L },
  { ROW(lgamma), { 42, 0, 0 }, 114.0342117814617032329L },
  { ROW(lgamma), { 10000.0, 0, 0 }, 82099.71749644237727265L },
  { ROW(lgamma), { -0.5, 0, 0 }, 1.265512123484645396489L },
  { ROW(lgamma), { -3.75, 0, 0 }, -1.31726794244636367385L },
  { ROW(lgamma), { -20.25, 0, 0 }, -41.60096191534052430187L },
  { ROW(digamma), { 0.001, 0, 0 }, -1000.575571931810279655L },
  { ROW(digamma), { 0.5, 0, 0 }, -1.963510026021423479441L },
  { ROW(digamma), { 1.25, 0, 0 }, -0.2274535333762654080895L },
  { ROW(digamma), { 1.4375, 0, 0 }, -0.02361354400529789914173L },
  { ROW(digamma), { 1.5, 0, 0 }, 0.03648997397857652055902L },
  { ROW(digamma), { 2, 0, 0 }, 0.4227843350984671393935L },
  { ROW(digamma), { 7.5, 0, 0 }, 1.946757484246086788069L },
  { ROW(digamma), { 100, 0, 0 }, 4.600161852738087400199L },
  { ROW(digamma), { 1000000.0, 0, 0 }, 13.81551005796419077077L },
  { ROW(digamma), { -0.5, 0, 0 }, 0.03648997397857652055902L },
  { ROW(digamma), { -3.75, 0, 0 }, -1.692388598311330343154L },
  { ROW(digamma), { -20.25, 0, 0 }, 6.174235633614483769169L },
  { ROW(bessel_i0e), { 0, 0, 0 }, 1.0L },
  { ROW(bessel_i0e), { 0.01, 0, 0 }, 0.9900745851497074988033L },
  { ROW(bessel_i0e), { 1, 0, 0 }, 0.4657596075936404365019L },
  { ROW(bessel_i0e), { -3.5, 0, 0 }, 0.2228024380107791633127L },
  { ROW(bessel_i0e), { 7.75, 0, 0 }, 0.1458122743089143077817L },
  { ROW(bessel_i0e), { 8, 0, 0 }, 0.1434317818568503107109L },
  { ROW(bessel_i0e), { 8.5, 0, 0 }, 0.1390018430548475968153L },
  { ROW(bessel_i0e), { 40, 0, 0 }, 0.06327827987523533026242L },
  { ROW(bessel_i0e), { -700, 0, 0 }, 0.01508129565153135758699L },
  { ROW(bessel_i1e), { 0.01, 0, 0 }, 0.00495031104711827570757L },
  { ROW(bessel_i1e), { 1, 0, 0 }, 0.2079104153497084488694L },
  { ROW(bessel_i1e), { -3.5, 0, 0 }, -0.1873999766030499873677L },
  { ROW(bessel_i1e), { 7.75, 0, 0 }, 0.1360511000803391091397L },
  { ROW(bessel_i1e), { 8, 0, 0 }, 0.1341424932926981783069L },
  { ROW(bessel_i1e), { 8.5, 0, 0 }, 0.1305493550945958550915L },
  { ROW(bessel_i1e), { 40, 0, 0 }, 0.06248222907444206074765L },
  { ROW(bessel_i1e), { -700, 0, 0 }, -0.01507051944471684694926L },
  { ROW(zeta), { 1.5, 1, 0 }, 2.612375348685488343349L },
  { ROW(zeta), { 2, 0.25, 0 }, 17.19732915450711073927L },
  { ROW(zeta), { 3, 10, 0 }, 0.005524917485401033731052L },
  { ROW(zeta), { 8.5, 2.5, 0 }, 0.0004417166695262770840955L },
  { ROW(zeta), { 30, 0.75, 0 }, 5599.665672280513167752L },
  { ROW(zeta), { 2, 100, 0 }, 0.01005016666333357139525L },
  { ROW(zeta), { 4, -2.5, 0 }, 32.45797936986460373694L },
  { ROW(zeta), { 3, -0.25, 0 }, -61.34868339183118018428L },
  { ROW(zeta), { 2.25, 0.5, 0 }, 5.485765496430414903L },
  { ROW(zeta), { 53.5, 39.125, 0 }, 8.626385883885930243817e-86L },
  { ROW(zeta), { 64, 44.25, 0 }, 6.049347525449897150952e-106L },
  { ROW(zeta), { 100, -3.625, 0 }, 3.952512273801159033451e+42L },
  { ROW(zeta), { 150.5, 0.01, 0 }, 9.999999999999968670894e+300L },
  { ROW(polygamma), { 1, 0.1, 0 }, 101.4332991507927477047L },
  { ROW(polygamma), { 1, 2.5, 0 }, 0.4903577561002348649728L },
  { ROW(polygamma), { 2, 7, 0 }, -0.02353047298585523746614L },
  { ROW(polygamma), { 5, 0.5, 0 }, 7691.113548602435496242L },
  { ROW(polygamma), { 12, 20, 0 }, -1.298290151762041029958e-8L },
  { ROW(polygamma), { 188, 109.75, 0 }, -7.599419456813253085381e-39L },
  { ROW(polygamma), { 811, 419.5, 0 }, 1.846283049604073232631e-121L },
  { ROW(polygamma), { 1, -1.5, 0 }, 9.379246644989123753862L },
  { ROW(polygamma), { 3, -4.25, 0 }, 1558.527193402683053559L },
  { ROW(igamma), { 0.5, 0.25, 0 }, 0.5204998778130465376827L },
  { ROW(igamma), { 1, 3, 0 }, 0.9502129316321360570207L },
  { ROW(igamma), { 3.5, 1, 0 }, 0.04015963126989844288337L },
  { ROW(igamma), { 10, 14, 0 }, 0.8906006303572609965858L },
  { ROW(igamma), { 100, 90, 0 }, 0.158220989186430168105L },
  { ROW(igamma), { 0.01, 5, 0 }, 0.9999882464805872491511L },
  { ROW(igamma), { 2500, 2600, 0 }, 0.9761810019792593454898L },
  { ROW(igammac), { 0.5, 4, 0 }, 0.004677734981047265837931L },
  { ROW(igammac), { 1, 3, 0 }, 0.04978706836786394297934L },
  { ROW(igammac), { 3.5, 9, 0 }, 0.01197000235402955130517L },
  { ROW(igammac), { 10, 14, 0 }, 0.1093993696427390034142L },
  { ROW(igammac), { 100, 130, 0 }, 0.002750408367306526276986L },
  { ROW(igammac), { 2500, 2600, 0 }, 0.02381899802074065451021L },
  { ROW(igammac), { 1e-20, 0.4, 0 }, 7.023801188656624028521e-21L },
  { ROW(igammac), { 1e-07, 1e-05, 0 }, 0.000001093571390279310685538L },
  { ROW(igammac), { 0.001, 1.0, 0 }, 0.0002196083575855563962893L },
  { ROW(igammac), { 0.25, 1e-12, 0 }, 0.9988967373486793834006L },
  { ROW(igammac), { 0.5, 0.7, 0 }, 0.2367235706378573752566L },
  { ROW(igamma_grad_a), { 0.5, 0.25, 0 }, -0.7979473167832229405114L },
  { ROW(igamma_grad_a), { 1e-20, 0.5, 0 }, -0.559773594776160812L },
  { ROW(igamma_grad_a), { 1e-07, 0.01, 0 }, -4.0379281085566595L },
  { ROW(igamma_grad_a), { 0.01, 0.25, 0 }, -1.0453366350748019L },
  { ROW(igamma_grad_a), { 1, 3, 0 }, -0.09648294199134635263984L },
  { ROW(igamma_grad_a), { 3.5, 1, 0 }, -0.05798531565773292009068L },
  { ROW(igamma_grad_a), { 10, 14, 0 }, -0.05669099771532572932475L },
  { ROW(igamma_grad_a), { 60, 55, 0 }, -0.04318705572706601155002L },
  { ROW(random_gamma_grad), { 0.5, 0.25, 0 }, 0.9080144917641113172239L },
  { ROW(random_gamma_grad), { 1, 3, 0 }, 1.93791169382496104819L },
  { ROW(random_gamma_grad), { 3.5, 1, 0 }, 0.5238280085704623264707L },
  { ROW(random_gamma_grad), { 10, 14, 0 }, 1.197422897773949580448L },
  { ROW(random_gamma_grad), { 60, 55, 0 }, 0.9597873477236202390902L },
  { ROW(random_gamma_grad), { 0.3, 0.001, 0 }, 0.02248114091459129394798L },
  { ROW(regularized_incomplete_beta),
    { 0.5, 0.5, 0.25 },
    0.3333333333333333333333L },
  { ROW(regularized_incomplete_beta), { 2, 3, 0.75 }, 0.94921875L },
  { ROW(regularized_incomplete_beta),
    { 10, 0.5, 0.875 },
    0.1064963496159124434504L },
  { ROW(regularized_incomplete_beta),
    { 40, 60, 0.375 },
    0.3087821967608014939616L },
  { ROW(regularized_incomplete_beta),
    { 0.25, 8, 0.5 },
    0.9996504970775848920736L },
};
#undef lgamma
#undef ROW
static const double room[] = { 2, 2, 4, 8, 2, 2, 16, 16, 32, 32, 16 };

static double evaluate(const reference *r) {
  const double a = r->in[0], b = r->in[1], c = r->in[2];
  switch (r->f) {
  case lgamma_:
    return cxi_lgamma_f64(a);
  case digamma:
    return cxi_digamma_f64(a);
  case bessel_i0e:
    return cxi_bessel_i0e_f64(a);
  case bessel_i1e:
    return cxi_bessel_i1e_f64(a);
  case zeta:
    return cxi_zeta_f64(a, b);
  case polygamma:
    return cxi_polygamma_f64(a, b);
  case igamma:
    return cxi_igamma_f64(a, b);
  case igammac:
    return cxi_igammac_f64(a, b);
  case igamma_grad_a:
    return cxi_igamma_grad_a_f64(a, b);
  case random_gamma_grad:
    return cxi_random_gamma_grad_f64(a, b);
  default:
    return cxi_regularized_incomplete_beta_f64(a, b, c);
  }
}

static void values(void **state) {
  (void)state;
  double worst[sizeof room / sizeof *room] = { 0 };
  for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
    const reference *r = &references[i];
    const double got = evaluate(r);
    const double error =
        (double)(fabsl((long double)got - r->value) / fabsl(r->value)) * 0x1p53;
    if (error > worst[r->f]) worst[r->f] = error;
    if (!(error <= room[r->f]))
      fail_msg("%s(%g, %g, %g) is %.17g: %.1f units away", r->name, r->in[0],
               r->in[1], r->in[2], got, error);
  }
  for (size_t i = 0; i < sizeof worst / sizeof *worst; i++)
    print_message("  function %zu: %.2f units\n", i, worst[i]);
}

static void edges(void **state) {
  (void)state;
  assert_true(cxi_lgamma_f64(-2) == INFINITY && isnan(cxi_digamma_f64(-2)));
  assert_true(cxi_digamma_f64(0) == -INFINITY);
  assert_true(cxi_digamma_f64(-0.0) == -INFINITY);
  assert_true(cxi_digamma_f64(INFINITY) == INFINITY);
  assert_true(cxi_zeta_f64(1, 2) == INFINITY && isnan(cxi_zeta_f64(0.5, 2)));
  assert_true(cxi_zeta_f64(2, -3) == INFINITY && isnan(cxi_zeta_f64(3, -3)));
  assert_true(isnan(cxi_zeta_f64(2.5, -1.5)) && isnan(cxi_zeta_f64(1, NAN)));
  assert_true(cxi_zeta_f64(2, INFINITY) == 0 && isnan(cxi_zeta_f64(0, -1)));
  assert_true(cxi_polygamma_f64(1, INFINITY) == 0);
  assert_true(cxi_polygamma_f64(1, -2) == INFINITY);
  assert_true(isnan(cxi_polygamma_f64(0.5, 1)));
  assert_true(isnan(cxi_polygamma_f64(-1, 1)));
  assert_true(cxi_polygamma_f64(0, 2.5) == cxi_digamma_f64(2.5));
  assert_true(cxi_igamma_f64(2, 0) == 0 && cxi_igamma_f64(2, INFINITY) == 1);
  assert_true(cxi_igammac_f64(2, 0) == 1 && cxi_igammac_f64(2, INFINITY) == 0);
  assert_true(isnan(cxi_igamma_f64(0, 1)) && isnan(cxi_igamma_f64(1, -1)));
  assert_true(isnan(cxi_igammac_f64(-1, 1)) && isnan(cxi_igammac_f64(1, NAN)));
  assert_true(isnan(cxi_regularized_incomplete_beta_f64(1, 0, 0.5)));
  assert_true(isnan(cxi_regularized_incomplete_beta_f64(1, 1, 1.5)));
  assert_true(cxi_regularized_incomplete_beta_f64(2, 3, 1) == 1);
  assert_true(cxi_bessel_i0e_f64(INFINITY) == 0 && cxi_bessel_i1e_f64(0) == 0);
}

/* P + Q is 1 across the branches, the step to the normal form included. */
static void sums(void **state) {
  (void)state;
  for (int i = 0; i < 400; i++) {
    const double a = 0.05 * pow(1.05, i), x = a * (0.5 + 0.0025 * i);
    assert_true(fabs(cxi_igamma_f64(a, x) + cxi_igammac_f64(a, x) - 1) < 1e-12);
  }
  const double below = cxi_igamma_f64(1e6, 1000500);
  const double above = cxi_igamma_f64(nextafter(1e6, 2e6), 1000500);
  assert_true(fabs(below - above) < 1e-9);
  /* Both tails of the normal form are small, not what is left of 1. */
  const double low = cxi_igamma_f64(1.1e6, 1084268) / 1.24379483329756521e-51;
  const double high = cxi_igammac_f64(1.1e6, 1110488) / 1.04549392147019978e-23;
  assert_true(fabs(low - 1) < 1e-9 && fabs(high - 1) < 1e-9);
}

/* -- the operations -------------------------------------------------------- */

CX_DEF(angles, x) {
  cx inside = cx_mul(0.8, cx_sin(x));
  return cx_add(cx_asin(inside), cx_acos(cx_mul(0.5, inside)), cx_atan(x),
                cx_tan(inside), cx_atan2(inside, cx_add(x, 3)));
}
CX_DEF(hyperbolas, x) {
  cx inside = cx_mul(0.8, cx_sin(x));
  return cx_add(cx_sinh(x), cx_cosh(x), cx_asinh(x),
                cx_acosh(cx_add(cx_square(x), 1.5)), cx_atanh(inside));
}
CX_DEF(powers, x) {
  cx y = cx_add(cx_square(x), 0.5);
  return cx_add(cx_exp2(x), cx_log2(y), cx_log10(y), cx_cbrt(y), cx_erfc(x),
                cx_hypot(x, y), cx_logaddexp2(x, y), cx_deg2rad(x),
                cx_rad2deg(x));
}
CX_DEF(gammas, x) {
  cx y = cx_add(cx_square(x), 0.5);
  return cx_add(cx_lgamma(y), cx_digamma(y), cx_polygamma(2, y),
                cx_zeta(2.5, y), cx_igamma(1.5, y), cx_igammac(2.5, y),
                cx_betaln(y, cx_mul(9, y)));
}
CX_DEF(densities, x) {
  cx y = cx_sigmoid(x);
  return cx_add(cx_betainc(1.5, 2.5, y), cx_ndtr(x), cx_logit(y), cx_entr(y),
                cx_xlogy(x, y), cx_xlog1py(x, y), cx_i0(x), cx_i1(x),
                cx_add(cx_i0e(cx_add(x, 9)), cx_i1e(cx_add(x, 9))));
}
CX_DEF(sincs, x) {
  return cx_sinc(x);
}
CX_DEF(tails, x) {
  return cx_log_ndtr(x);
}
CX_DEF(shape_parameter, a) {
  return cx_igamma(a, cx_array(double, 0.3, 1, 4));
}

static void derivatives(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(double, -1.3, -0.4, 0.2, 0.9, 1.6);
  cx_assert(cx_check_grads(CX_FN(angles), (x), .order = 2));
  cx_assert(cx_check_grads(CX_FN(hyperbolas), (x), .order = 2));
  cx_assert(cx_check_grads(CX_FN(powers), (x), .order = 2));
  cx_assert(cx_check_grads(CX_FN(gammas), (x), .order = 2));
  cx_assert(cx_check_grads(CX_FN(densities), (x), .order = 2));
  cx_assert(cx_check_grads(CX_FN(sincs), (cx_array(double, 0, 0.1, -2.5, 1)),
                           .order = 2));
  cx_assert(cx_check_grads(
      CX_FN(tails), (cx_array(double, -40, -14, -11, -3, 2)), .order = 2));
  cx_assert(
      cx_check_grads(CX_FN(shape_parameter), (cx_array(double, 0.7, 1.4, 3))));
  cx_assert(cx_check_jit(CX_FN(gammas), (x)));
  cx_assert(cx_check_vmap(CX_FN(densities), (x)));
}

/* One operation at x (and y) is `want` but for `tolerance` of it. */
static void near(cx got, double want, double tolerance) {
  const double value = cx_item(got);
  if (!(fabs(value - want) <= tolerance * fabs(want)) &&
      !(isnan(value) && isnan(want)) && value != want)
    fail_msg("got %.17g, wanted %.17g", value, want);
}
static cx f64(double x) {
  return cx_scalar(x, CX_F64);
}

static void compositions(void **state) {
  (void)state;
  CX_SCOPE;
  near(cx_hypot(f64(3e200), f64(-4e200)), 5e200, 1e-15);
  near(cx_hypot(f64(0), f64(0)), 0, 0);
  near(cx_hypot(f64(INFINITY), f64(NAN)), INFINITY, 0);
  near(cx_logaddexp2(f64(1000), f64(1000)), 1001, 0);
  near(cx_logaddexp2(f64(-INFINITY), f64(-INFINITY)), -INFINITY, 0);
  near(cx_xlogy(f64(0), f64(0)), 0, 0);
  near(cx_xlogy(f64(0), f64(NAN)), NAN, 0);
  near(cx_xlogy(f64(0), f64(-2)), 0, 0);
  near(cx_xlogy(f64(2), f64(3)), 2 * log(3), 1e-15);
  near(cx_xlog1py(f64(0), f64(-1)), 0, 0);
  near(cx_xlog1py(f64(2), f64(1e-20)), 2e-20, 1e-15);
  near(cx_entr(f64(0)), 0, 0);
  near(cx_entr(f64(-1)), -INFINITY, 0);
  near(cx_ndtr(f64(-20)), 2.753624118606234e-89, 1e-13);
  near(cx_log_ndtr(f64(-20)), -203.91715537109726, 1e-14);
  near(cx_log_ndtr(f64(9)), -1.1285884059538406e-19, 1e-13);
  near(cx_log_ndtr(f64(NAN)), NAN, 0);
  near(cx_log_ndtr(cx_scalar(-20, CX_F16)), -203.917, 1e-3);
  near(cx_log_ndtr(cx_scalar(-8, CX_F16)), -35.0134, 1e-3);
  near(cx_log_ndtr(cx_scalar(-4, CX_F16)), -10.3601, 1e-3);
  near(cx_call(cx_grad(CX_FN(tails)), cx_scalar(-5, CX_F16)), 5.18650, 4e-3);
  near(cx_log_ndtr(cx_scalar(-20, CX_BF16)), -203.917, 8e-3);
  near(cx_call(cx_grad(CX_FN(tails)), cx_scalar(0.5, CX_F16)), 0.50916, 4e-3);
  near(cx_sinc(f64(0)), 1, 0);
  near(cx_sinc(f64(0.5)), 0.63661977236758134, 1e-15);
  near(cx_betaln(f64(2), f64(1e10)), -46.051701859980914, 1e-14);
  near(cx_betaln(f64(0.5), f64(0.5)), 1.1447298858494002, 1e-14);
  near(cx_i0(f64(700)), 1.5295933476718737e+302, 1e-12);
  near(cx_logit(f64(0.25)), log(1.0 / 3.0), 1e-15);
  near(cx_log10(f64(1000)), 3, 1e-15);
  near(cx_betainc(f64(2), f64(2), f64(0.5)), 0.5, 1e-14);
  const cx table = cx_ones(CX_F32, 3, 1), row = cx_ones(CX_F32, 2);
  assert_int_equal(cx_dim(cx_betainc(table, 2, row), 1), 2);
  assert_int_equal(cx_dim(cx_hypot(table, row), 0), 3);
  assert_int_equal(cx_type(cx_lgamma(cx_ones(CX_BF16, 2))), CX_BF16);
}

/* -- gamma variates -------------------------------------------------------- */

CX_DEF(variates, a) {
  return cx_mean(cx_gamma(cx_key(7), a, CX_F32, 20000));
}
CX_DEF(log_variates, a) {
  return cx_mean(cx_exp(cx_loggamma(cx_key(7), a, CX_F32, 20000)));
}

/* Their mean is a, and so 1 its derivative; variance a bounds the error. */
static void gamma_means(void **state) {
  (void)state;
  CX_SCOPE;
  const double shapes[] = { 0.3, 1, 4.5 };
  for (int i = 0; i < 3; i++) {
    cx a = cx_scalar(shapes[i], CX_F32);
    near(cx_call(CX_FN(variates), a), shapes[i], 0.04 / sqrt(shapes[i]));
    near(cx_call(cx_grad(CX_FN(variates)), a), 1, 0.04 / sqrt(shapes[i]));
    near(cx_call(cx_grad(CX_FN(log_variates)), a), 1, 0.04 / sqrt(shapes[i]));
  }
  cx a = cx_array(float, 0.5, 2, 7);
  cx_assert(cx_check_jit(CX_FN(variates), (cx_scalar(2, CX_F32))));
  assert_true(cx_item(cx_min(cx_gamma(cx_key(1), a, CX_F32, 4, 3))) > 0);
}

/* -- wrong use ------------------------------------------------------------- */

static void refused(cx result, cx_code code, const char *part) {
  (void)result;
  cx_assert(cx_check_error(code, part));
}
CX_DEF(of_order, n) {
  return cx_sum(cx_polygamma(n, cx_ones(CX_F32, 2)));
}
CX_DEF(of_exponent, s) {
  return cx_sum(cx_zeta(s, cx_ones(CX_F32, 2)));
}
CX_DEF(of_a, a) {
  return cx_sum(cx_betainc(a, 2, 0.5));
}
CX_DEF(slope_of_a, a) {
  return cx_sum(cx_igamma_grad_a(a, 2));
}
CX_DEF(slope_of_x, a) {
  return cx_sum(cx_random_gamma_grad(a, 2));
}

static void wrong_use(void **state) {
  (void)state;
  CX_SCOPE;
  cx whole = cx_ones(CX_I32, 2), half = cx_ones(CX_F32, 2);
  refused(cx_asin(whole), CX_EDTYPE, "asin");
  refused(cx_sinc(whole), CX_EDTYPE, "sinc: needs a floating dtype");
  refused(cx_atan2(whole, whole), CX_EDTYPE, "atan2: needs floating dtypes");
  refused(cx_hypot(half, cx_ones(CX_F64, 2)), CX_EDTYPE, "hypot");
  refused(cx_betainc(whole, whole, whole), CX_EDTYPE, "betainc");
  refused(cx_betainc(half, half, cx_ones(CX_F32, 3)), CX_ESHAPE, "betainc");
  refused(cx_igamma(half, cx_ones(CX_F32, 3)), CX_ESHAPE, "igamma");
  refused(cx_call(cx_grad(CX_FN(of_order)), half), CX_ENORULE, "order n");
  refused(cx_call(cx_grad(CX_FN(of_exponent)), half), CX_ENORULE, "exponent s");
  refused(cx_call(cx_grad(CX_FN(of_a)), half), CX_ENORULE, "a and b");
  refused(cx_call(cx_grad(CX_FN(slope_of_a)), half), CX_ENORULE, "second");
  refused(cx_call(cx_grad(CX_FN(slope_of_x)), half), CX_ENORULE, "second");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(values),       cmocka_unit_test(edges),
    cmocka_unit_test(sums),         cmocka_unit_test(derivatives),
    cmocka_unit_test(compositions), cmocka_unit_test(gamma_means),
    cmocka_unit_test(wrong_use),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
