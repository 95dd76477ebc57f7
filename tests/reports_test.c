/* reports_test.c - faults that users of other libraries reported, as far as
 * they are no recorded programs: files, interfaces, and the choices. */
#include <math.h>

#include "records.h"
#include "support/calls.h"

/* -- files ----------------------------------------------------------------- */

/* What has a leaf, or holds none rightly, was read. */
static void files_are_read_or_refused(void **state) {
  (void)state;
  FILE *f = fopen("tests/data/reports/files.tsv", "r");
  char line[512], name[128], verdict[32], path[256];
  int accepted = 0, refused = 0;
  assert_non_null(f);
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, "%127s %31s", name, verdict) != 2 ||
        strncmp(name, "files/", 6) != 0)
      continue;
    CX_SCOPE;
    snprintf(path, sizeof path, "tests/data/reports/%s", name);
    const cx tree = cx_load(path);
    const char *message = "";
    const cx_code code = cx_error(&message);
    const bool accept = strcmp(verdict, "accept") == 0;
    if (accept != (code == CX_OK)) fail_msg("%s: %s", path, message);
    if (accept && cx_leaf_count(tree) == 0) fail_msg("%s: nothing", path);
    accepted += accept, refused += !accept;
  }
  fclose(f);
  assert_int_equal(accepted, 5);
  assert_int_equal(refused, 20);
}

/* -- choices --------------------------------------------------------------- */

static char *whole(const char *path) {
  FILE *f = fopen(path, "r");
  char *text = calloc(1, 1 << 16);
  assert_non_null(f);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
  fclose(f);
  return text;
}

typedef struct deciding {
  const char *page;
  int open;
} deciding;

static void decide(const json_t *record, void *user) {
  deciding *d = user;
  const char *status = json_string_value(json_object_get(record, "status"));
  const char *name = json_string_value(json_object_get(record, "name"));
  char quoted[128];
  if (strcmp(status, "ok") == 0) return;
  snprintf(quoted, sizeof quoted, "`%s`", name);
  if (!strstr(d->page, quoted)) fail_msg("%s (%s) is undecided", name, status);
  d->open++;
}

/* Each record that leaves a choice, or where JAX is wrong, is in the table. */
static void choices_are_decided(void **state) {
  (void)state;
  char *page = whole("docs/decisions/0026-choices-of-the-reports.md");
  deciding d = { .page = page };
  assert_true(records_each("reports/reports.jsonl.gz", decide, &d) > 160);
  assert_int_equal(d.open, 6);
  free(page);
}

/* 6, 16, 18, 20, 10: what the table says. */
CX_DEF(largest, a, b) {
  return cx_sum(cx_maximum(a, b));
}
CX_DEF(smallest, a, b) {
  return cx_sum(cx_minimum(a, b));
}
CX_DEF(to_the_zero, x) {
  return cx_sum(cx_power(x, cx_zeros_like(x)));
}
CX_DEF(naive, x) {
  return cx_sum(cx_where(cx_gt(x, 0), cx_sqrt(x), 0));
}
CX_DEF(guarded, x) {
  cx safe = cx_where(cx_gt(x, 0), x, 1);
  return cx_sum(cx_where(cx_gt(x, 0), cx_sqrt(safe), x));
}
CX_DEF(lse, x) {
  return cx_logsumexp(x);
}

static void the_choices_hold(void **state) {
  (void)state;
  CX_SCOPE;
  cx a = cx_array(float, 1, 2, 3), b = cx_array(float, 1, 5, 0);
  assert_same_bits(cx_call(cx_grad(CX_FN(largest)), a, b),
                   cx_array(float, 0.5, 0, 1));
  assert_same_bits(cx_call(cx_grad(CX_FN(smallest)), a, b),
                   cx_array(float, 0.5, 1, 0));
  cx zero = cx_array(float, 0, 2);
  assert_same_bits(cx_call(cx_grad(CX_FN(to_the_zero)), zero),
                   cx_array(float, 0, 0));
  assert_same_bits(cx_power(cx_array(int32_t, 256, 3), cx_array(int32_t, 4, 4)),
                   cx_array(int32_t, 0, 81));
  const float *g = cx_data(cx_call(cx_grad(CX_FN(naive)), zero));
  assert_true(isnan(g[0]) && !isnan(g[1]));
  g = cx_data(cx_call(cx_grad(CX_FN(guarded)), zero));
  assert_true(g[0] == 1);
  cx none = cx_full(-INFINITY, CX_F32, 2);
  assert_true(cx_item(cx_logsumexp(none)) == -INFINITY);
  g = cx_data(cx_call(cx_grad(CX_FN(lse)), none));
  assert_true(isnan(g[0]) && isnan(g[1]));
  assert_good();
}

/* 12: the derivative by a weight that is zero. */
CX_DEF(weighted, w, x) {
  cx most = cx_stop_gradient(cx_max(x));
  return cx_add(cx_log(cx_sum(cx_mul(w, cx_exp(cx_sub(x, most))))), most);
}

static void zero_weights_have_a_derivative(void **state) {
  (void)state;
  CX_SCOPE;
  cx w = cx_array(double, 0, 3, 4), x = cx_array(double, 2, 2, 2);
  const double *g = cx_data(cx_call(cx_grad(CX_FN(weighted)), w, x));
  for (int i = 0; i < 3; i++) assert_true(fabs(g[i] - 1. / 7) < 1e-15);
}

/* -- interfaces ------------------------------------------------------------ */

/* 32: D(x -> x D(y -> x y, 1), 4) is 8 in all combinations of modes. */
CX_DEF(times, y, x) {
  return cx_mul(x, y);
}
/* The derivative of f by its first argument at y. */
static cx slope(bool forward, cx_fn f, cx y, cx x) {
  if (!forward) return cx_call(cx_grad(f), y, x);
  return cx_nth(cx_call(cx_jvp(f), cx_tuple(y, x),
                        cx_tuple(cx_ones_like(y), cx_zeros_like(x))),
                1);
}
CX_STRUCT(inner_mode, (bool, forward));
CX_DEF_ENV(nested, inner_mode, e, x, unused) {
  (void)unused;
  return cx_mul(x, slope(e->forward, CX_FN(times), cx_ones_like(x), x));
}

static void nested_derivatives_are_told_apart(void **state) {
  (void)state;
  CX_SCOPE;
  cx four = cx_scalar(4, CX_F32);
  for (int inner = 0; inner < 2; inner++)
    for (int outer = 0; outer < 2; outer++)
      assert_true(cx_item(slope(outer, CX_BIND(nested, .forward = inner), four,
                                four)) == 8);
  assert_good();
}

/* 52: one buffer as both operands, one of them donated: refused, and b is still
 * there. */
CX_DEF(sum_of_two, a, b) {
  return cx_add(a, b);
}

static void one_buffer_donated_and_read(void **state) {
  (void)state;
  CX_SCOPE;
  cx_fn f = cx_jit(CX_FN(sum_of_two), .donate = CX_ARGS(0));
  cx b = cx_array(float, 1, 2, 3);
  cx r = cx_call(f, b, b);
  assert_error(CX_ELIFETIME, "donate: \"a\" is \"b\" too: donate a copy");
  r = cx_mul(b, 2);
  assert_same_bits(r, cx_array(float, 2, 4, 6));
}

/* 90: a draw within a compiled program falls on all classes alike. */
CX_DEF(draw, key) {
  return cx_categorical(key, cx_zeros(CX_F32, 4096, 8));
}

static void draws_fall_on_all_classes(void **state) {
  (void)state;
  CX_SCOPE;
  const int32_t *drawn = cx_data(cx_call(cx_jit(CX_FN(draw)), cx_key(1)));
  int count[8] = { 0 };
  assert_non_null(drawn);
  for (int i = 0; i < 4096; i++) {
    assert_in_range(drawn[i], 0, 7);
    count[drawn[i]]++;
  }
  for (int k = 0; k < 8; k++) assert_in_range(count[k], 412, 612);
}

/* 88: far in the tail. */
static void tails_stay_in_their_bounds(void **state) {
  (void)state;
  CX_SCOPE;
  const float *x =
      cx_data(cx_truncated_normal(cx_key(1), 5.5, 1e6, CX_F32, 1000));
  assert_non_null(x);
  for (int i = 0; i < 1000; i++) assert_true(x[i] >= 5.5f && x[i] < 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(files_are_read_or_refused),
    cmocka_unit_test(choices_are_decided),
    cmocka_unit_test(the_choices_hold),
    cmocka_unit_test(zero_weights_have_a_derivative),
    cmocka_unit_test(nested_derivatives_are_told_apart),
    cmocka_unit_test(one_buffer_donated_and_read),
    cmocka_unit_test(draws_fall_on_all_classes),
    cmocka_unit_test(tails_stay_in_their_bounds),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
