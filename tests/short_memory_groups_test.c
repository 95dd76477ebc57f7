/* short_memory_groups_test.c - each group of the public interface with every
 * allocation failing: plain, compiled, differentiated, in a batch. */
#include "support/faults.h"

#include <stdlib.h>
#include <unistd.h>

#include "calx/testing.h"
#include "runtime/dlpack.h"

/* -- functions and what is done with them ---------------------------------- */

/* (f(x), compiled, the batch of two). */
static cx ways(cx_fn f, cx x) {
  return cx_tuple(cx_call(f, x), cx_call(cx_jit(f), x),
                  cx_call(cx_jit(cx_vmap(f)), cx_stack(0, x, x)));
}
/* The same of a function with a gradient, and that of its sum. */
CX_STRUCT(of_function, (cx_fn, f));
CX_DEF_ENV(summed, of_function, e, x) {
  const cx y = cx_call(e->f, x);
  cx sum = cx_lit_f(0);
  for (int i = 0; i < cx_leaf_count(y); i++)
    sum = cx_add(sum, cx_sum(cx_leaf(y, i)));
  return sum;
}
static cx ways_and_slopes(cx_fn f, cx x) {
  const cx_fn sum = CX_BIND(summed, .f = f);
  return cx_tuple(ways(f, x), cx_call(cx_jit(cx_grad(sum)), x),
                  cx_call(cx_jit(cx_vmap(cx_grad(sum))), cx_stack(0, x, x)));
}
static cx row_of_numbers(void) {
  return cx_array(float, 0.5f, 2, 0.25f, 1.5f, 3, 0.75f);
}
static cx square_matrix(void) {
  return cx_reshape(cx_array(double, 4, 1, 0.5, 1, 5, 1, 0.5, 1, 3), 3, 3);
}

/* -- linalg.h -------------------------------------------------------------- */

CX_DEF(factors, a) {
  return cx_tuple(cx_cholesky(a), cx_qr(a), cx_eigh(a), cx_svd(a));
}
CX_DEF(pivots, a) {
  const cx lu = cx_lu(a);
  return cx_tuple(lu, cx_lu_pivots_to_permutation(cx_nth(lu, 1), 3));
}
CX_DEF(solutions, a) {
  const cx b = cx_index(a, 0);
  return cx_tuple(cx_solve(a, b), cx_inv(a), cx_pinv(a),
                  cx_solve_triangular(a, b, .lower = true));
}
CX_DEF(numbers_of, a) {
  return cx_tuple(cx_det(a), cx_matrix_trace(a),
                  cx_matrix_norm(a, CX_NORM_FROBENIUS), cx_matrix_power(a, 3),
                  cx_diagonal(a, 0), cx_multi_dot(a, a, a),
                  cx_diag(cx_index(a, 0)));
}
CX_DEF(ranks, a) {
  return cx_tuple(cx_matrix_rank(a), cx_lstsq(a, a), cx_slogdet(a));
}
static cx linalg_factors(void) {
  return ways_and_slopes(CX_FN(factors), square_matrix());
}
static cx linalg_pivots(void) {
  return ways(CX_FN(pivots), square_matrix());
}
static cx linalg_solutions(void) {
  return ways_and_slopes(CX_FN(solutions), square_matrix());
}
static cx linalg_numbers(void) {
  return ways_and_slopes(CX_FN(numbers_of), square_matrix());
}
static cx linalg_ranks(void) {
  return ways(CX_FN(ranks), square_matrix());
}

/* -- sort.h ---------------------------------------------------------------- */

CX_DEF(orders, x) {
  return cx_tuple(cx_argsort(x, 0), cx_lexsort(0, x, x), cx_unique(x, 4),
                  cx_nonzero(cx_gt(x, 1), 3, 0),
                  cx_bincount(cx_cast(x, CX_I32), 4));
}
CX_DEF(sorted, x) {
  return cx_tuple(cx_sort(x, 0), cx_nth(cx_top_k(x, 2), 0), cx_median(x, 0),
                  cx_quantile(x, 0.3, 0));
}
CX_DEF(found, x) {
  const cx edges = cx_linspace(0, 3, 4, CX_F32);
  return cx_tuple(cx_searchsorted(edges, x), cx_digitize(x, edges),
                  cx_histogram(x, edges), cx_interp(x, edges, edges));
}
static cx sort_orders(void) {
  return ways(CX_FN(orders), row_of_numbers());
}
static cx sort_sorted(void) {
  return ways_and_slopes(CX_FN(sorted), row_of_numbers());
}
static cx sort_found(void) {
  return ways(CX_FN(found), row_of_numbers());
}

/* -- special.h ------------------------------------------------------------- */

CX_DEF(specials, x) {
  return cx_tuple(cx_lgamma(x), cx_digamma(x), cx_igamma(x, 1),
                  cx_betainc(x, 2, 0.5), cx_i0e(x), cx_log_ndtr(x),
                  cx_xlogy(x, x), cx_zeta(cx_add(x, 1), 2), cx_sinc(x));
}
static cx special_values(void) {
  return ways(CX_FN(specials), row_of_numbers());
}
CX_DEF(smooth, x) {
  return cx_tuple(cx_lgamma(x), cx_digamma(x), cx_i1e(x), cx_ndtr(x),
                  cx_logit(cx_div(x, 4)), cx_hypot(x, 2), cx_entr(x));
}
static cx special_slopes(void) {
  return ways_and_slopes(CX_FN(smooth), row_of_numbers());
}

/* -- conv.h, window.h ------------------------------------------------------ */

CX_DEF(convolved, x) { /* f32[1,2,4,4] */
  const cx w = cx_ones(CX_F32, 2, 2, 3, 3);
  return cx_tuple(cx_conv(x, w, .padding = "SAME", .strides = CX_SHAPE(2, 1)),
                  cx_conv_transpose(x, w, .padding = "SAME"),
                  cx_conv_patches(x, CX_SHAPE(2, 2)));
}
CX_DEF(convolved_rows, x) {
  return cx_tuple(cx_convolve(x, x), cx_correlate(x, x, .mode = "same"));
}
CX_DEF(convolved_f16, x) {
  return cx_conv(cx_cast(x, CX_F16), cx_ones(CX_F16, 2, 2, 3, 3));
}
CX_DEF(pooled, x) {
  const cx_dims two = CX_SHAPE(2, 2);
  return cx_tuple(cx_max_pool(x, two, .strides = two), cx_min_pool(x, two),
                  cx_avg_pool(x, two, .padding = "same"),
                  cx_reduce_window(CX_RED_SUM, x, CX_SHAPE(1, 2, 2, 1)));
}
CX_DEF(pooled_f16, x) {
  return pooled(cx_cast(x, CX_F16));
}
static cx image(void) {
  return cx_reshape(cx_linspace(-1, 1, 32, CX_F32), 1, 2, 4, 4);
}
static cx conv_images(void) {
  return ways_and_slopes(CX_FN(convolved), image());
}
static cx conv_vectors(void) {
  return cx_tuple(ways_and_slopes(CX_FN(convolved_rows), row_of_numbers()),
                  ways(CX_FN(convolved_f16), image()));
}
static cx windows(void) {
  return ways_and_slopes(CX_FN(pooled), image());
}
static cx windows_f16(void) {
  return ways_and_slopes(CX_FN(pooled_f16), image());
}

/* -- random.h -------------------------------------------------------------- */

CX_DEF(draws, k) {
  const cx two = cx_full(2, CX_F32, 2);
  return cx_tuple(cx_uniform(k, CX_F32, 2), cx_normal(k, CX_F64, 2),
                  cx_bernoulli(k, 0.5, 3), cx_randint(k, 0, 9, 3),
                  cx_truncated_normal(k, -1, 1, CX_F32, 2),
                  cx_bits(k, CX_U8, 3), cx_categorical(k, two));
}
CX_DEF(distributions, k) {
  const cx two = cx_full(2, CX_F32, 2);
  return cx_tuple(cx_gamma(k, two, CX_F32, 2), cx_beta(k, 2, 3, CX_F32, 2),
                  cx_dirichlet(k, two, CX_F32, 1),
                  cx_student_t(k, 3, CX_F32, 2), cx_wald(k, 2, CX_F32, 2),
                  cx_geometric(k, 0.5, CX_I32, 2), cx_laplace(k, CX_F32, 2));
}
static cx random_draws(void) {
  return ways(CX_FN(draws), cx_fold(cx_key(1), 2));
}
static cx random_distributions(void) {
  return ways(CX_FN(distributions), cx_index(cx_split_n(cx_key(1), 2), 1));
}

/* -- implicit.h, the budget of cx_checkpoint -------------------------------- */

CX_DEF(matvec, a, x) {
  return cx_matmul(a, x);
}
CX_DEF(solve, a, b) {
  return cx_solve(a, b);
}
CX_DEF(solved, a) {
  const cx b = cx_index(a, 0);
  return cx_tuple(cx_custom_linear_solve(CX_FN(matvec), CX_FN(solve), a, b,
                                         .symmetric = true),
                  cx_cg(CX_FN(matvec), a, b));
}
CX_DEF(square_less, c, x) {
  return cx_sub(cx_mul(x, x), c);
}
CX_DEF(square_root, c, x) {
  (void)x;
  return cx_sqrt(c);
}
CX_DEF(roots, c) {
  return cx_custom_root(CX_FN(square_less), CX_FN(square_root), c,
                        cx_ones_like(c));
}
static cx implicit_solutions(void) {
  return ways_and_slopes(CX_FN(solved), square_matrix());
}
static cx implicit_roots(void) {
  return ways_and_slopes(CX_FN(roots), row_of_numbers());
}
CX_DEF(deep, x) {
  for (int i = 0; i < 3; i++) x = cx_sin(cx_mul(cx_tanh(x), x));
  return x;
}
static cx budgets(void) {
  const cx x = row_of_numbers();
  return ways_and_slopes(cx_checkpoint(CX_FN(deep), .budget = 60), x);
}

/* -- control.h, function.h, inspect.h, testing.h --------------------------- */

CX_DEF(joined, one, other) {
  return cx_add(one, cx_mul(other, one));
}
CX_DEF(below, x) {
  return cx_lt(cx_sum(x), 100);
}
CX_DEF(controls, x) {
  return cx_tuple(cx_associative_scan(CX_FN(joined), x),
                  cx_reduce(CX_FN(joined), x, 1.0, CX_AXES(0)),
                  cx_while(CX_FN(below), CX_FN(deep), x, .max_steps = 3),
                  cx_map(CX_FN(deep), x, .batch = 4), cx_cumsum(x, 0));
}
static cx control(void) {
  return ways(CX_FN(controls), row_of_numbers());
}
static cx derivatives(void) {
  const cx x = row_of_numbers();
  cx y, z;
  const cx_fn linear = cx_linearize(CX_FN(deep), cx_tuple(x), &y);
  const cx_fn back = cx_pullback(CX_FN(deep), cx_tuple(x), &z);
  return cx_tuple(y, z, cx_call(linear, cx_tuple(x)), cx_call(back, x),
                  cx_call(cx_jacfwd(CX_FN(deep)), x),
                  cx_call(cx_jacrev(CX_FN(deep)), x));
}
static cx says(const char *text) {
  return unless_failed(text && text[0], cx_lit_i(1));
}
static cx texts(void) {
  const cx x = row_of_numbers();
  return cx_tuple(says(cx_jaxpr(cx_jacfwd(CX_FN(deep)), x)),
                  says(cx_plan(CX_FN(deep), x)),
                  says(cx_saved_residuals(CX_FN(deep), x)), says(cx_show(x)));
}
static cx checks(void) {
  const cx x = row_of_numbers();
  cx_checks(true);
  const cx y = cx_call(cx_jit(CX_FN(controls)), x);
  cx_checks(false);
  return y;
}

/* -- stage.h --------------------------------------------------------------- */

static cx stages(void) {
  const cx x = row_of_numbers();
  cx_program *p = cx_trace(CX_FN(deep), x);
  cx_program *again = p ? cx_program_parse(cx_program_text(p)) : NULL;
  const cx_fn f = again ? cx_program_fn(again) : NULL;
  cx_exe *exe = f ? cx_compile(f, x) : NULL;
  float y[6] = { 0 };
  bool good = exe != NULL;
  void *workspace = good ? aligned_alloc(64, cx_exe_workspace(exe) + 64) : NULL;
  if (good && workspace)
    good = cx_exe_run(exe, (const void *[]){ cx_data(x) }, (void *[]){ y },
                      workspace) == CX_OK;
  else if (good) /* the test's own, not the library's */
    good = false, cx_fail(CX_EMEMORY, "memory of the test");
  free(workspace);
  const cx r = f ? cx_tuple(cx_call(f, x), cx_from(y, 6)) : (cx){ 0, 1 };
  cx_exe_free(exe);
  cx_program_free(again);
  cx_program_free(p);
  return unless_failed(good, r);
}

/* -- file.h, array.h ------------------------------------------------------- */

static cx round_trip(const char *path, cx tree) {
  const bool saved = cx_save(path, tree);
  const cx r =
      saved ? cx_tuple(cx_load(path), says(cx_inspect(path))) : (cx){ 0, 1 };
  unlink(path);
  return r;
}
static cx some_tree(void) {
  return cx_dict("a", cx_arange(0, 4, 1, CX_I32), "b",
                 cx_dict("c", row_of_numbers()));
}
static cx file_npy(void) {
  return round_trip("/tmp/calx-faults.npy", row_of_numbers());
}
static cx file_npz(void) {
  return round_trip("/tmp/calx-faults.npz", some_tree());
}
static cx file_safetensors(void) {
  return round_trip("/tmp/calx-faults.safetensors", some_tree());
}

static float shared[6] = { 1, 2, 3, 4, 5, 6 };
static int n_deleted;
static void count_deletion(struct DLManagedTensorVersioned *self) {
  (void)self;
  n_deleted++;
}
/* A tensor that must be copied comes in, one goes out; each is deleted. */
static cx dlpack(void) {
  int64_t shape[] = { 2, 3 }, strides[] = { 1, 2 };
  struct DLManagedTensorVersioned t = { .version = { 1, 0 },
                                        .deleter = count_deletion };
  t.tensor.data = shared;
  t.tensor.device.type = CXI_DL_CPU;
  t.tensor.ndim = 2;
  t.tensor.dtype.code = CXI_DL_FLOAT;
  t.tensor.dtype.bits = 32;
  t.tensor.dtype.lanes = 1;
  t.tensor.shape = shape;
  t.tensor.strides = strides;
  n_deleted = 0;
  const cx in = cx_from_dlpack(&t);
  assert_int_equal(n_deleted, 1);
  struct DLManagedTensorVersioned *out = cx_to_dlpack(row_of_numbers());
  const cx back = out ? cx_from_dlpack(out) : (cx){ 0, 1 };
  return cx_tuple(in, back);
}
static void set_to_one(void *user) {
  *(int *)user += 1;
}
static cx borrowed(void) {
  int released = 0;
  cx copy;
  bool good;
  {
    CX_SCOPE;
    const cx in = cx_borrow(shared, CX_F32, CX_SHAPE(6), set_to_one, &released);
    good = cx_ok();
    copy = cx_escape(cx_add(in, 0));
  }
  assert_int_equal(released, good); /* on an error not at all */
  return copy;
}

/* -- tests ----------------------------------------------------------------- */

static const workload workloads[] = {
#define W(name) \
  { #name, name }
  W(linalg_factors),
  W(linalg_pivots),
  W(linalg_solutions),
  W(linalg_numbers),
  W(linalg_ranks),
  W(sort_orders),
  W(sort_sorted),
  W(sort_found),
  W(special_values),
  W(special_slopes),
  W(conv_images),
  W(conv_vectors),
  W(windows),
  W(windows_f16),
  W(random_draws),
  W(random_distributions),
  W(implicit_solutions),
  W(implicit_roots),
  W(budgets),
  W(control),
  W(derivatives),
  W(texts),
  W(checks),
  W(stages),
  W(file_npy),
  W(file_npz),
  W(file_safetensors),
  W(dlpack),
  W(borrowed),
#undef W
};

static void groups(void **state) {
  (void)state;
  sweep_workloads(workloads, sizeof workloads / sizeof *workloads);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(groups) };
  return cmocka_run_group_tests(tests, setup, teardown);
}
