/* draws_test.c - the public random functions against recorded draws. */
#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calx/testing.h"
#include "records.h"
#include "support/group.h"
#include "support/laws.h"

typedef struct draws {
  int uniform, normal, truncated, gumbel, bernoulli, randint, categorical, bits,
      splits, folds, others;
} draws;

/* -- recorded arrays ------------------------------------------------------ */

static int digit(int c) {
  const char *all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                    "0123456789+/";
  const char *at = strchr(all, c);
  return c && at ? (int)(at - all) : -1;
}
static cx_dtype dtype_of(const char *name) {
  static const struct {
    const char *name;
    cx_dtype type;
  } known[] = {
    { "bool", CX_BOOL },     { "int32", CX_I32 },    { "uint32", CX_U32 },
    { "uint8", CX_U8 },      { "uint16", CX_U16 },   { "float32", CX_F32 },
    { "int8", CX_I8 },       { "int16", CX_I16 },    { "float16", CX_F16 },
    { "bfloat16", CX_BF16 }, { "key<fry>", CX_KEY },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(name, known[i].name)) return known[i].type;
  return 0;
}
static cx_dims shape_of(const json_t *array) {
  const json_t *shape = json_object_get(array, "shape");
  cx_dims dims = { .n = (int)json_array_size(shape) };
  for (int i = 0; i < dims.n; i++) dims.d[i] = record_at(shape, (size_t)i);
  return dims;
}
static cx recorded(const json_t *array) {
  const char *text = json_string_value(json_object_get(array, "b64"));
  unsigned char *bytes = malloc(strlen(text) + 8);
  size_t n = 0;
  uint32_t word = 0;
  int bits = 0;
  for (; digit(*text) >= 0; text++) {
    word = word << 6 | (uint32_t)digit(*text), bits += 6;
    if (bits >= 8) bytes[n++] = (unsigned char)(word >> (bits -= 8));
  }
  cx a = cx_from_(bytes,
                  dtype_of(json_string_value(json_object_get(array, "dtype"))),
                  shape_of(array), CX_AT);
  free(bytes);
  return a;
}

/* -- comparing ------------------------------------------------------------ */

static bool starts(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}
static void same(const json_t *record, cx got, double tol, int *count) {
  cx want = recorded(json_array_get(json_object_get(record, "out"), 0));
  const char *text = tol > 0
                         ? cx_check_close(got, want, .rtol = tol, .atol = tol)
                         : cx_check_close(got, want, .rtol = 1e-30);
  if (text)
    fail_msg("%s: %s", json_string_value(json_object_get(record, "name")),
             text);
  (*count)++;
}
/* randint/SEED/LO_HI_int8 */
static void check_randint(const json_t *record, const char *name, cx key,
                          cx_dtype t, cx_dims shape, draws *d) {
  int seed;
  long long lo, hi;
  if (sscanf(name, "random/randint/%d/%lld_%lld_", &seed, &lo, &hi) != 3)
    fail_msg("%s", name);
  same(record, cx_randint_as(key, t, lo, hi, shape), 0, &d->randint);
}
/* With the parameters of the record's programs. */
static void check_distribution(const json_t *record, const char *name, cx key,
                               cx_dtype t, cx_dims shape, double tol,
                               draws *d) {
  cx got = { 0 };
  const json_t *in = json_object_get(record, "in");
  cx second = json_array_size(in) > 1 ? recorded(json_array_get(in, 1)) : got;
  if (starts(name, "random/exponential/"))
    got = cx_exponential(key, t, shape);
  else if (starts(name, "random/laplace/"))
    got = cx_laplace(key, t, shape);
  else if (starts(name, "random/logistic/"))
    got = cx_logistic(key, t, shape);
  else if (starts(name, "random/cauchy/"))
    got = cx_cauchy(key, t, shape);
  else if (starts(name, "random/rademacher/"))
    got = cx_rademacher(key, t, shape);
  else if (starts(name, "random/pareto/"))
    got = cx_pareto(key, 2, t, shape);
  else if (starts(name, "random/rayleigh/"))
    got = cx_rayleigh(key, 1.5, t, shape);
  else if (starts(name, "random/weibull/"))
    got = cx_weibull_min(key, 2, 3, t, shape);
  else if (starts(name, "random/geometric/"))
    got = cx_geometric(key, 0.3, t, shape);
  else if (starts(name, "random/gamma/"))
    got = cx_gamma(key, second, t, shape);
  else if (starts(name, "random/t/"))
    got = cx_student_t(key, 4, t, shape);
  else if (starts(name, "random/beta/"))
    got = cx_beta(key, second, 2, t, shape);
  else if (starts(name, "random/dirichlet/"))
    got = cx_dirichlet(key, second, t, CX_SCALAR);
  else
    return;
  same(record, got, tol, &d->others);
}
static void check_float(const json_t *record, const char *name, cx key,
                        cx_dtype t, cx_dims shape, double tol, draws *d) {
  if (starts(name, "random/uniform/"))
    same(record, cx_uniform(key, t, shape), t == CX_F32 ? 0 : tol, &d->uniform);
  else if (starts(name, "random/normal/"))
    same(record, cx_normal(key, t, shape), tol, &d->normal);
  else if (starts(name, "random/truncated_normal/"))
    same(record, cx_truncated_normal(key, -1, 2, t, shape), tol, &d->truncated);
  else if (starts(name, "random/gumbel/"))
    same(record, cx_gumbel(key, t, shape), tol, &d->gumbel);
}
static void check(const json_t *record, void *user) {
  CX_SCOPE;
  draws *d = user;
  const char *name = json_string_value(json_object_get(record, "name"));
  const json_t *in = json_object_get(record, "in");
  const json_t *out = json_array_get(json_object_get(record, "out"), 0);
  if (strcmp(json_string_value(json_object_get(record, "kind")), "primal"))
    return;
  const json_t *first = json_array_get(in, 0);
  if (strcmp(json_string_value(json_object_get(first, "dtype")), "key<fry>"))
    return;
  double p, tol = json_number_value(json_object_get(record, "tol"));
  int seed, n;
  cx_dtype t = dtype_of(json_string_value(json_object_get(out, "dtype")));
  cx_dims shape = shape_of(out);
  cx key = recorded(first);
  if (t) check_float(record, name, key, t, shape, tol, d);
  if (t) check_distribution(record, name, key, t, shape, tol, d);
  if (sscanf(name, "random/bernoulli/%d/%lf", &seed, &p) == 2)
    same(record, cx_bernoulli(key, p, shape), 0, &d->bernoulli);
  if (starts(name, "random/randint/"))
    check_randint(record, name, key, t, shape, d);
  if (starts(name, "random/categorical/"))
    same(record, cx_categorical(key, recorded(json_array_get(in, 1))), 0,
         &d->categorical);
  if (starts(name, "random/bits/"))
    same(record, cx_bits(key, t, shape), 0, &d->bits);
  if (sscanf(name, "random/split_keys/%d", &seed) == 1)
    same(record, cx_split_n(key, shape.d[0]), 0, &d->splits);
  if (sscanf(name, "random/fold_in_u32/%d", &n) == 1)
    same(record, cx_fold(key, recorded(json_array_get(in, 1))), 0, &d->folds);
}
static void recorded_draws(void **state) {
  (void)state;
  draws d = { 0 };
  assert_true(records_each("conformance/driver_random.jsonl.gz", check, &d) >
              0);
  assert_true(cx_ok());
  assert_true(d.uniform > 8 && d.normal > 8 && d.truncated > 5 && d.gumbel > 8);
  assert_true(d.bernoulli > 4 && d.randint > 14 && d.categorical >= 2);
  assert_true(d.others > 60);
  assert_true(d.bits > 50 && d.splits >= 3 && d.folds >= 2);
}

/* -- what no record holds ------------------------------------------------- */

static void keys_and_nothing(void **state) {
  (void)state;
  CX_SCOPE;
  cx k1, k2;
  cx_split(cx_none(), &k1, &k2);
  assert_true(cx_is_none(k1) && cx_is_none(k2));
  assert_true(cx_is_none(cx_fold(cx_none(), 3)));
  cx x = cx_ones(CX_F32, 3);
  cx_assert(cx_check_close(cx_dropout(x, 0.5, cx_none()), x));
  cx_split(cx_key(7), &k1, &k2);
  cx both = cx_split_n(cx_key(7), 2);
  cx_assert(cx_check_close(k2, cx_index(both, 1)));
  cx tree = cx_split_like(cx_key(7), cx_dict("a", x, "b", x));
  cx_assert(cx_check_close(cx_get(tree, "b"), k2));
}
static void dropout_scales(void **state) {
  (void)state;
  CX_SCOPE;
  cx y = cx_dropout(cx_ones(CX_F32, 10000), 0.25, cx_key(1));
  double mean = cx_item(cx_mean(y)), most = cx_item(cx_max(y));
  assert_true(mean > 0.97 && mean < 1.03);
  assert_true(most > 1.3333 && most < 1.3334);
}
static void categories(void **state) {
  (void)state;
  CX_SCOPE;
  cx logits = cx_zeros(CX_F32, 4096, 8);
  cx counts =
      cx_sum(cx_one_hot(cx_categorical(cx_key(3), logits), 8, CX_F32), 0);
  assert_true(cx_item(cx_min(counts)) > 412 && cx_item(cx_max(counts)) < 612);
}

/* -- distributions -------------------------------------------------------- */

enum { N = 4000 };

static double normal_tail(double x) {
  return erfc(x / M_SQRT2) / 2;
}
static double law_exponential(double x) {
  return -expm1(-x);
}
static double law_laplace(double x) {
  return x < 0 ? exp(x) / 2 : 1 - exp(-x) / 2;
}
static double law_logistic(double x) {
  return 1 / (1 + exp(-x));
}
static double law_cauchy(double x) {
  return 0.5 + atan(x) / M_PI;
}
static double law_maxwell(double x) {
  return erf(x / M_SQRT2) - sqrt(2 / M_PI) * x * exp(-x * x / 2);
}
static double law_pareto(double x) {
  return 1 - pow(x, -3);
}
static double law_rayleigh(double x) {
  return -expm1(-x * x / 8);
}
static double law_weibull(double x) {
  return -expm1(-pow(x / 2, 1.5));
}
static double law_lognormal(double x) {
  return normal_tail(-log(x) / 0.5);
}
/* mean 2, scale 1 */
static double law_wald(double x) {
  const double r = sqrt(1 / x);
  return normal_tail(-r * (x / 2 - 1)) + exp(1) * normal_tail(r * (x / 2 + 1));
}
static double law_double_maxwell(double x) {
  const double z = (x - 1) / 3;
  return 0.5 + (z < 0 ? -0.5 : 0.5) * law_maxwell(fabs(z));
}
static double law_triangular(double x) {
  return x < 0 ? (x + 1) * (x + 1) / 3 : 1 - (2 - x) * (2 - x) / 6;
}
static double law_gamma2(double x) {
  return 1 - (1 + x) * exp(-x);
}
static double law_beta21(double x) {
  return x * x;
}
static double law_chisquare2(double x) {
  return -expm1(-x / 2);
}
static double law_f22(double x) {
  return x / (1 + x);
}
static double law_t2(double x) {
  return 0.5 + x / (2 * sqrt(2 + x * x));
}
static double law_halfnormal(double x) { /* exp(-x^2) */
  return (1 + erf(x)) / 2;
}
static void laws(void **state) {
  (void)state;
  for (cx_dtype t = CX_F32; t <= CX_F64; t++) {
    CX_SCOPE;
    cx k = cx_key(17);
    check_law("exponential", cx_exponential(k, t, N), law_exponential);
    check_law("laplace", cx_laplace(k, t, N), law_laplace);
    check_law("logistic", cx_logistic(k, t, N), law_logistic);
    check_law("cauchy", cx_cauchy(k, t, N), law_cauchy);
    check_law("maxwell", cx_maxwell(k, t, N), law_maxwell);
    check_law("pareto", cx_pareto(k, 3, t, N), law_pareto);
    check_law("rayleigh", cx_rayleigh(k, 2, t, N), law_rayleigh);
    check_law("weibull_min", cx_weibull_min(k, 2, 1.5, t, N), law_weibull);
    check_law("lognormal", cx_lognormal(k, 0.5, t, N), law_lognormal);
    check_law("wald", cx_wald(k, 2, t, N), law_wald);
    check_law("double_sided_maxwell", cx_double_sided_maxwell(k, 1, 3, t, N),
              law_double_maxwell);
    check_law("triangular", cx_triangular(k, -1, 0, 2, t, N), law_triangular);
    check_law("gamma", cx_gamma(k, 2, t, N), law_gamma2);
    check_law("loggamma", cx_exp(cx_loggamma(k, 2, t, N)), law_gamma2);
    check_law("beta", cx_beta(k, 2, 1, t, N), law_beta21);
    check_law("chisquare", cx_chisquare(k, 2, t, N), law_chisquare2);
    check_law("f", cx_f(k, 2, 2, t, N), law_f22);
    check_law("t", cx_student_t(k, 2, t, N), law_t2);
    check_law("generalized_normal", cx_generalized_normal(k, 2, t, N),
              law_halfnormal);
    cx parts = cx_dirichlet(k, cx_array(float, 2, 0.5, 0.5), CX_F32, N);
    check_law("dirichlet", cx_index(parts, CX_ALL, 0), law_beta21);
    cx signs = cx_rademacher(k, t, N);
    assert_true(cx_item(cx_min(cx_abs(signs))) == 1);
    assert_true(fabs(cx_item(cx_mean(signs))) < 0.07);
    cx trials = cx_geometric(k, 0.25, CX_I64, N);
    assert_int_equal(cx_item_int(cx_min(trials)), 1);
    assert_true(fabs(cx_item(cx_mean(trials)) - 4) < 0.3);
  }
}
/* f16 and bf16 reject in their own precision: JAX 0.10's draws, its operations
 * run one by one. */
static void gamma_of_16_bits(void **state) {
  (void)state;
  CX_SCOPE;
  static const struct {
    cx_dtype type;
    bool log_space;
    double want[6];
  } cases[] = {
    { CX_BF16,
      false,
      { 0.01043701171875, 3.703125, 0.298828125, 0.2431640625, 6.28125,
        31.25 } },
    { CX_BF16,
      true,
      { -4.5625, 1.3125, -1.2109375, -1.40625, 1.828125, 3.4375 } },
    { CX_F16,
      false,
      { 0.0137176513671875, 0.12286376953125, 0.6533203125, 0.279541015625,
        4.6328125, 43.59375 } },
    { CX_F16,
      true,
      { -4.2890625, -2.09765625, -0.42578125, -1.2744140625, 1.533203125,
        3.775390625 } },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const cx_dtype t = cases[i].type;
    const cx a = cx_cast(cx_array(float, 0.3f, 0.9f, 1, 1.5f, 4, 40), t);
    const cx x = cases[i].log_space ? cx_loggamma(cx_key(5), a, t, 6)
                                    : cx_gamma(cx_key(5), a, t, 6);
    for (int j = 0; j < 6; j++)
      assert_true(cx_item(cx_index(x, j)) == cases[i].want[j]);
  }
}
/* Inside [lo, hi], with the mean that it has, in every dtype. */
static double tail_lo, tail_hi;
static double law_tail(double x) {
  const double all = normal_tail(tail_lo) - normal_tail(tail_hi);
  return (normal_tail(tail_lo) - normal_tail(x)) / all;
}
static void check_tail(double lo, double hi, cx_dtype t) {
  CX_SCOPE;
  cx x = cx_truncated_normal(cx_key(1), lo, hi, t, N);
  const double least = cx_item(cx_min(x)), most = cx_item(cx_max(x));
  assert_true(lo <= least && most <= hi);
  const bool mirrored = hi <= 0;
  tail_lo = mirrored ? -hi : lo, tail_hi = mirrored ? -lo : hi;
  if (mirrored) x = cx_neg(x);
  check_law("truncated_normal", x, law_tail);
}
static void truncated_far_away(void **state) {
  (void)state;
  const double ends[][2] = { { 5.5, 1e6 },  { 5.5, INFINITY }, { 6, 6.25 },
                             { 8, 12 },     { 20, 30 },        { 9, 9.125 },
                             { -1e6, -5.5 } };
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    check_tail(ends[i][0], ends[i][1], CX_F32);
    check_tail(ends[i][0], ends[i][1], CX_F64);
  }
  CX_SCOPE;
  cx x = cx_truncated_normal(cx_key(1), 5.5, 1e6, CX_F32, 1000);
  assert_true(cx_item(cx_min(x)) > 5.5 && cx_item(cx_max(x)) < 8);
  for (cx_dtype t = CX_F16; t <= CX_BF16; t++) {
    x = cx_truncated_normal(cx_key(1), 4, 6, t, 1000);
    assert_true(cx_item(cx_min(x)) >= 4 && cx_item(cx_max(x)) <= 6);
    const double mean = cx_item(cx_mean(cx_cast(x, CX_F32)));
    assert_true(mean > 4.2 && mean < 4.25);
    /* 0 is drawn and becomes the number beside it, which is subnormal. */
    x = cx_truncated_normal(cx_key(1), 0, 2, t, 20000);
    assert_true(cx_item(cx_min(x)) > 0 && cx_item(cx_min(x)) < 1e-7);
  }
  x = cx_truncated_normal(cx_key(1), 5, 5, CX_F32, 3);
  cx_assert(cx_check_error(CX_EUSER, "holds no number"));
  x = cx_truncated_normal(cx_key(1), 1, 1 + 1e-12, CX_F32, 3);
  cx_assert(cx_check_error(CX_EUSER, "holds no number"));
  (void)x;
}
/* Every integer dtype: all values of a small range about equally often, the
 * whole range reached, an empty one gives lo. */
static void integers_of_all_dtypes(void **state) {
  (void)state;
  for (cx_dtype t = CX_I8; t <= CX_U64; t++) {
    CX_SCOPE;
    cx x = cx_randint_as(cx_key(5), t, 3, 11, 4096);
    assert_int_equal(cx_type(x), t);
    cx counts = cx_sum(cx_one_hot(cx_sub(cx_cast(x, CX_I32), 3), 8, CX_F32), 0);
    double chi = 0;
    for (int i = 0; i < 8; i++)
      chi += pow(cx_item(cx_index(counts, i)) - 512, 2) / 512;
    assert_true(chi < 30);
    x = cx_randint_as(cx_key(5), t, 7, 7, 10);
    assert_true(cx_item(cx_min(x)) == 7 && cx_item(cx_max(x)) == 7);
    cx lo = cx_scalar(2, t), hi = cx_scalar(5, t);
    x = cx_randint(cx_key(6), lo, hi, 50);
    assert_int_equal(cx_type(x), t);
    assert_true(cx_item(cx_min(x)) == 2 && cx_item(cx_max(x)) == 4);
  }
  cx x = cx_randint_as(cx_key(5), CX_U8, 0, 256, 4096);
  assert_true(cx_item(cx_min(x)) == 0 && cx_item(cx_max(x)) == 255);
  x = cx_randint_as(cx_key(5), CX_I8, -128, 128, 4096);
  assert_true(cx_item(cx_min(x)) == -128 && cx_item(cx_max(x)) == 127);
}
static void wrong_draws(void **state) {
  (void)state;
  CX_SCOPE;
  cx k = cx_key(1), x = cx_exponential(k, CX_I32, 2);
  cx_assert(cx_check_error(CX_EDTYPE, "exponential: needs a floating dtype"));
  x = cx_pareto(k, cx_ones(CX_F64, 2), CX_F32, 2);
  cx_assert(cx_check_error(CX_EDTYPE, "pareto: a parameter must be f32"));
  x = cx_beta(k, cx_ones(CX_F32, 3), 1, CX_F32, 2);
  cx_assert(cx_check_error(CX_ESHAPE, "beta: a parameter must broadcast"));
  x = cx_triangular(cx_ones(CX_F32, 2), 0, 1, 2, CX_F32, 2);
  cx_assert(cx_check_error(CX_EDTYPE, "triangular: needs a random key"));
  x = cx_maxwell(k, CX_F32, 1, 1, 1, 1, 1, 1, 1, 1);
  cx_assert(cx_check_error(CX_ESHAPE, "maxwell: at most 7 sizes"));
  x = cx_dirichlet(k, cx_ones(CX_F32, 3), CX_F64, 2);
  cx_assert(cx_check_error(CX_EDTYPE, "dirichlet: a parameter must be f64"));
  x = cx_dirichlet(k, cx_scalar(1, CX_F32), CX_F32, 2);
  cx_assert(cx_check_error(CX_ESHAPE, "dirichlet: needs alpha"));
  x = cx_geometric(k, 0.5, CX_F32, 2);
  cx_assert(cx_check_error(CX_EDTYPE, "geometric: needs an integer dtype"));
  x = cx_randint_as(k, CX_F32, 0, 2, 2);
  cx_assert(cx_check_error(CX_EDTYPE, "randint: needs an integer dtype"));
  x = cx_draw_((cx_distribution)99, k, 0, NULL, CX_F32, CX_SHAPE(2), CX_AT);
  cx_assert(cx_check_error(CX_EUSER, "no distribution has number 99"));
  x = cx_draw_(CX_DRAW_BETA, k, 1, &k, CX_F32, CX_SHAPE(2), CX_AT);
  cx_assert(cx_check_error(CX_EUSER, "beta: 2 parameters are needed, got 1"));
  (void)x;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(recorded_draws),
    cmocka_unit_test(keys_and_nothing),
    cmocka_unit_test(dropout_scales),
    cmocka_unit_test(categories),
    cmocka_unit_test(laws),
    cmocka_unit_test(gamma_of_16_bits),
    cmocka_unit_test(truncated_far_away),
    cmocka_unit_test(integers_of_all_dtypes),
    cmocka_unit_test(wrong_draws),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
