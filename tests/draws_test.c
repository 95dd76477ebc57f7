/* draws_test.c - the public random functions against recorded draws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calx/testing.h"
#include "records.h"

typedef struct draws {
  int uniform, normal, truncated, gumbel, bernoulli, randint, categorical, bits,
      splits, folds;
} draws;

/* -- recorded arrays -------------------------------------------------------------------- */

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
    { "bool", CX_BOOL },   { "int32", CX_I32 },     { "uint32", CX_U32 },
    { "uint8", CX_U8 },    { "uint16", CX_U16 },    { "float32", CX_F32 },
    { "float16", CX_F16 }, { "bfloat16", CX_BF16 }, { "key<fry>", CX_KEY },
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

/* -- comparing --------------------------------------------------------------------------- */

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
/* randint/SEED/LO_HI_int32 */
static void check_randint(const json_t *record, const char *name, cx key,
                          cx_dims shape, draws *d) {
  int seed, lo, hi;
  if (sscanf(name, "random/randint/%d/%d_%d_int32", &seed, &lo, &hi) != 3 ||
      !strstr(name, "_int32"))
    return;
  if (cx_type(recorded(json_array_get(json_object_get(record, "out"), 0))) !=
      CX_I32)
    return;
  same(record, cx_randint(key, lo, hi, shape), 0, &d->randint);
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
  if (sscanf(name, "random/bernoulli/%d/%lf", &seed, &p) == 2)
    same(record, cx_bernoulli(key, p, shape), 0, &d->bernoulli);
  if (starts(name, "random/randint/"))
    check_randint(record, name, key, shape, d);
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
  assert_true(d.bernoulli > 4 && d.randint > 5 && d.categorical >= 2);
  assert_true(d.bits > 50 && d.splits >= 3 && d.folds >= 2);
}

/* -- what no record holds --------------------------------------------------------------------- */

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
static void far_tail_is_refused(void **state) {
  (void)state;
  CX_SCOPE;
  cx r = cx_truncated_normal(cx_key(1), 5.5, 1e6, CX_F32, 10);
  (void)r;
  cx_assert(cx_check_error(CX_EUSER, "holds no mass"));
  cx logits = cx_zeros(CX_F32, 4096, 8);
  cx counts =
      cx_sum(cx_one_hot(cx_categorical(cx_key(3), logits), 8, CX_F32), 0);
  assert_true(cx_item(cx_min(counts)) > 412 && cx_item(cx_max(counts)) < 612);
}

static int open_context(void **state) {
  *state = cx_open("cpu");
  return *state == NULL;
}
static int close_context(void **state) {
  cx_close(*state);
  return 0;
}
int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(recorded_draws),
    cmocka_unit_test(keys_and_nothing),
    cmocka_unit_test(dropout_scales),
    cmocka_unit_test(far_tail_is_refused),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
