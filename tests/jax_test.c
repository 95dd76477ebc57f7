/* jax_test.c - functions that jax2calx wrote, as C loads them: results and
 * gradients are those that JAX computed (tests/jax/make.py records them). */
#include <math.h>
#include <stdlib.h>

#include "support/calls.h"

enum { MOST_LEAVES = 256 };

typedef struct function {
  const char *name;
  double tolerance; /* relative to the greatest element */
} function;
/* f32 sums and products in another order than XLA's; Cholesky, LU and
 * triangular systems lose some digits more in XLA, which computes in f32; the
 * second derivative of sinc is a difference of near numbers, and both are off
 * from its value in f64. */
static const function functions[] = {
  { "mlp_loss", 2e-6 },
  { "gru", 2e-6 },
  { "clipped", 1e-6 },
  { "rule_with_constants", 2e-6 },
  { "stable_softplus", 1e-6 },
  { "rule_of_itself", 1e-6 },
  { "newton", 1e-6 },
  { "branches", 1e-6 },
  { "checkpointed", 5e-6 },
  { "jitted_vmap_of_grad", 1e-5 },
  { "dropout", 1e-6 },
  { "trees", 0 },
  { "dtypes", 0 },
  { "rounded", 0 },
  { "pulled_past_integers", 1e-6 },
  { "solved", 5e-6 },
  { "sequential", 1e-6 },
  { "rule_stays_in_python", 1e-6 },
  { "rule_was_applied", 1e-6 },
  { "rooted", 1e-6 },
  { "linear_system", 5e-6 },
  { "approximate_best", 1e-6 },
  { "gradient_of_ones_own", 1e-6 },
  { "arguments_without_slope", 1e-6 },
  { "rule_for_remat", 1e-6 },
  { "rules_by_argument", 1e-6 },
  { "every_policy", 5e-6 },
  { "calls_by_name", 1e-6 },
  { "flax_dense", 5e-6 },
  { "flax_cnn", 2e-5 },
  { "flax_transformer", 5e-6 },
  { "flax_lstm", 2e-6 },
  { "flax_embed", 2e-6 },
  { "optax_step", 2e-6 },
  { "optax_losses", 2e-6 },
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static char path[256];
static const char *path_of(const char *name, const char *suffix) {
  snprintf(path, sizeof path, "tests/data/jax/%s%s", name, suffix);
  return path;
}

/* -- arguments ------------------------------------------------------------ */

/* Two words as a key. */
static cx as_key(cx words) {
  return cx_call(cx_parse("program @wrap(%0: u32[2]) {\n"
                          "  %1: key[] = random_wrap %0\n"
                          "  return %1\n"
                          "}"),
                 words);
}

/* The argument's structure with the arrays that stand at its name. */
static cx argument(const cx_program *p, int i, cx inputs) {
  cx like = cx_program_arg(p, i), leaves[MOST_LEAVES];
  const int n = cx_leaf_count(like);
  assert_true(n <= MOST_LEAVES);
  for (int k = 0; k < n; k++) {
    const char *at = cx_leaf_path(like, k);
    cx leaf =
        cx_get(inputs, "%s%s%s", cx_program_arg_name(p, i), *at ? "." : "", at);
    leaves[k] = cx_type(cx_leaf(like, k)) == CX_KEY ? as_key(leaf) : leaf;
  }
  return cx_unflatten(like, n, leaves);
}

static int arguments(const cx_program *p, const char *name, cx *out) {
  cx inputs = cx_load(path_of(name, ".in.safetensors"));
  const int n = cx_program_args(p);
  for (int i = 0; i < n; i++) out[i] = argument(p, i, inputs);
  assert_good();
  return n;
}

/* -- comparing ------------------------------------------------------------ */

static void compare(const function *f, const char *what, cx got, cx want) {
  cx_dims shape = cx_shape(want);
  if (cx_type(got) != cx_type(want) || shape.n != cx_ndim(got))
    fail_msg("%s: %s is %s", f->name, what, cx_show(got));
  if (f->tolerance == 0) {
    assert_same_bits(got, want);
    return;
  }
  got = cx_cast(got, CX_F64), want = cx_cast(want, CX_F64);
  const double scale =
      cx_size(want) ? cx_item(cx_max(cx_abs(want), CX_ALL_AXES)) : 0;
  const double most =
      cx_size(want) ? cx_item(cx_max(cx_abs(cx_sub(got, want)), CX_ALL_AXES))
                    : 0;
  assert_good();
  /* Some gradients are zero but for rounding: those of attention's keys. */
  if (!(most <= f->tolerance * fmax(scale, 1e-2)))
    fail_msg("%s: %s is off by %g of %g", f->name, what, most, scale);
}

/* Against a file, whose arrays have the paths of the result's leaves. */
static void compare_tree(const function *f, cx got, const char *suffix) {
  cx want = cx_load(path_of(f->name, suffix));
  const int n = cx_leaf_count(got);
  assert_good();
  if (n != cx_leaf_count(want))
    fail_msg("%s: %d leaves, not %d", f->name, n, cx_leaf_count(want));
  for (int i = 0; i < n; i++) {
    CX_SCOPE;
    const char *at = cx_leaf_path(got, i);
    compare(f, at, cx_leaf(got, i), cx_get(want, "%s", *at ? at : "array"));
  }
}

/* -- value, gradient, checkpoint, tangent, batch -------------------------- */

static cx_args differentiated(const char *name) {
  unsigned long long bits = 0;
  FILE *file = fopen(path_of(name, ".wrt"), "r");
  for (int i; file && fscanf(file, "%d", &i) == 1;) bits |= 1ull << i;
  if (file) fclose(file);
  return (cx_args){ .bits = bits };
}

static bool recorded(const function *f, const char *suffix) {
  FILE *file = fopen(path_of(f->name, suffix), "r");
  if (file) fclose(file);
  return file != NULL;
}

/* Other values of the argument's floats: x / 2, and for tangents 1 - x / 2. */
static cx halves(cx x) {
  cx leaves[MOST_LEAVES];
  const int n = cx_leaf_count(x);
  for (int i = 0; i < n; i++) {
    leaves[i] = cx_leaf(x, i);
    if (cx_type(leaves[i]) >= CX_F16 && cx_type(leaves[i]) <= CX_F64)
      leaves[i] = cx_mul(0.5, leaves[i]);
  }
  return cx_unflatten(x, n, leaves);
}

/* With respect to the marked arguments; the others have zeros. A function
 * without forward mode says so by its name. */
static void check_tangent(const function *f, cx_fn g, cx_args wrt, int n,
                          const cx *args) {
  cx tangents[CX_MAX_ARGS];
  char name[64];
  for (int i = 0; i < n; i++)
    tangents[i] = (wrt.bits >> i & 1) ? cx_sub(1, halves(args[i]))
                                      : cx_zeros_like(args[i]);
  cx out = cx_call(cx_jvp(g), cx_tuple_n(n, args), cx_tuple_n(n, tangents));
  if (recorded(f, ".jvp.safetensors")) {
    compare_tree(f, out, ".jvp.safetensors");
    return;
  }
  FILE *file = fopen(path_of(f->name, ".jvp.refused"), "r");
  assert_int_equal(fscanf(file, "%63s", name), 1);
  fclose(file);
  char want[96];
  snprintf(want, sizeof want, "custom_vjp of \"%s\"", name);
  assert_error(CX_ENORULE, want);
}

/* Two lanes: the arguments, and half of their floats. */
static void check_batch(const function *f, cx_fn g, int n, const cx *args) {
  cx both[CX_MAX_ARGS];
  for (int i = 0; i < n; i++) both[i] = cx_stack(0, args[i], halves(args[i]));
  compare_tree(f, cx_call_n(cx_vmap(g), n, both), ".vmap.safetensors");
}

static void check(const function *f) {
  CX_SCOPE;
  cx args[CX_MAX_ARGS];
  cx_program *p = cx_program_load(path_of(f->name, ".calx"));
  assert_good();
  const int n = arguments(p, f->name, args);
  cx_fn g = cx_program_fn(p);
  cx value = cx_call_n(g, n, args);
  assert_good();
  compare_tree(f, value, ".out.safetensors");
  cx jitted = cx_call_n(cx_jit(g), n, args);
  for (int i = 0; i < cx_leaf_count(value); i++)
    assert_same_bits(cx_leaf(jitted, i), cx_leaf(value, i));
  const cx_args wrt = differentiated(f->name);
  if (recorded(f, ".jvp.safetensors") || recorded(f, ".jvp.refused"))
    check_tangent(f, g, wrt, n, args);
  if (recorded(f, ".vmap.safetensors")) check_batch(f, g, n, args);
  if (recorded(f, ".grad.safetensors")) {
    cx plain = cx_call_n(cx_value_and_grad(g, .wrt = wrt), n, args);
    assert_good();
    compare_tree(f, plain, ".grad.safetensors");
    cx again =
        cx_call_n(cx_value_and_grad(cx_checkpoint(g), .wrt = wrt), n, args);
    for (int i = 0; i < cx_leaf_count(plain); i++)
      assert_same_bits(cx_leaf(again, i), cx_leaf(plain, i));
  }
  cx_program_free(p);
}

/* The rule of custom_vmap that JAX would ask stayed in Python. */
static void test_rule_elsewhere(void **state) {
  (void)state;
  CX_SCOPE;
  cx_fn g = cx_load_fn(path_of("rule_stays_in_python", ".calx"));
  cx x = cx_ones(CX_F32, 2, 3);
  assert_good();
  cx_call(cx_vmap(g), x);
  assert_error(CX_ENORULE, "vmap of \"batched_scale\": its batching rule");
  cx_call(cx_vmap(cx_grad(g)), x);
  assert_error(CX_ENORULE, "vmap of \"batched_scale\": its batching rule");
}

static void test_functions(void **state) {
  (void)state;
  for (int i = 0; i < N_FUNCTIONS; i++) check(&functions[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_functions, setup, teardown),
    cmocka_unit_test_setup_teardown(test_rule_elsewhere, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
