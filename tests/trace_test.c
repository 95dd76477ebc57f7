/* trace_test.c - contexts, scopes, numbers, compiled calls, memory limits,
 * threads, short memory. */
#include <float.h>
#include <math.h>
#include <pthread.h>

#include "base/alloc.h"
#include "runtime/executables.h"
#include "support/calls.h"
#include "trace/call.h"
#include "transforms/transforms.h"

/* -- numbers -------------------------------------------------------------- */

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static void numbers_are_exact(void **state) {
  (void)state;
  const double floats[] = { 0.0,      -0.0,      1,       -1,      0.1,
                            1e300,    -1e-300,   DBL_MAX, DBL_MIN, DBL_TRUE_MIN,
                            INFINITY, -INFINITY, 3.4e38,  1e-40,   0x1p511,
                            -0x1p512, 0x1.8p-511 };
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
    const cxi_item item = cxi_number_item(cx_lit_f(floats[i]));
    assert_true(item.as.bits == bits_of(floats[i]));
    assert_false(cx_is_none(cx_lit_f(floats[i])));
  }
  for (int e = -1022; e < 1024; e++) {
    const double x = ldexp(-1.999999999999, e);
    assert_true(cxi_number_item(cx_lit_f(x)).as.bits == bits_of(x));
  }
  const cxi_item nan = cxi_number_item(cx_lit_f(NAN));
  assert_true(isnan(cxi_element_get(CX_F64, &nan.as.bits)));
  const long long whole[] = {
    0, 1, -1, INT64_MAX, INT64_MIN, 1ll << 59, -(1ll << 59), (1ll << 59) - 1
  };
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    assert_true((long long)cxi_number_item(cx_lit_i(whole[i])).as.bits ==
                whole[i]);
  const unsigned long long natural[] = { 0, UINT64_MAX, 1ull << 60,
                                         1ull << 63 };
  for (size_t i = 0; i < 4; i++)
    assert_true(cxi_number_item(cx_lit_u(natural[i])).as.bits == natural[i]);
}

/* -- scopes --------------------------------------------------------------- */

static cx made_inside(void) {
  CX_SCOPE;
  cx a = cx_add(cx_ones(CX_F32, 2), 1), b = cx_mul(a, 2);
  return cx_escape(cx_tuple(a, b));
}

static void scopes_release(void **state) {
  (void)state;
  const cx_ctx *ctx = *state;
  const size_t live = ctx->account->live;
  {
    CX_SCOPE;
    cx t = made_inside();
    assert_true(cx_item(cx_sum(cx_nth(t, 1))) == 8);
    for (int i = 0; i < 10; i++) {
      CX_SCOPE;
      cx big = cx_zeros(CX_F32, 1000);
      if (i == 5) continue;
      if (i == 8) break;
      assert_int_equal(cx_size(big), 1000);
    }
    cx kept = cx_keep(t);
    cx again = cx_keep(kept);
    cx_drop(kept);
    assert_int_equal(cx_len(again), 2);
    cx_swap(&again, cx_ones(CX_F32, 5));
    assert_int_equal(cx_dim(again, 0), 5);
    cx_drop(again);
  }
  assert_true(ctx->account->live == live);
  assert_good();
}

static void released(void *user) {
  ++*(int *)user;
}

static void borrowed_memory_is_released(void **state) {
  (void)state;
  static _Alignas(64) float x[4] = { 1, 2, 3, 4 };
  int n = 0;
  {
    CX_SCOPE;
    cx a = cx_borrow(x, CX_F32, CX_SHAPE(4), released, &n);
    assert_ptr_equal(cx_data(a), x);
    assert_true(cx_item(cx_sum(a)) == 10);
    assert_int_equal(n, 0);
  }
  assert_int_equal(n, 1);
  {
    CX_SCOPE;
    cx a = cx_borrow(x + 1, CX_F32, CX_SHAPE(3), released, &n); /* copied */
    assert_int_equal(n, 2);
    assert_true(cx_item(cx_sum(a)) == 9);
  }
  assert_good();
}

static void reading(void **state) {
  (void)state;
  CX_SCOPE;
  cx a = cx_array(int32_t, 1, 2, 3);
  float f[3];
  assert_false(cx_read(a, f, 3));
  assert_error(CX_EDTYPE, "read: i32[3] into a buffer of f32");
  int32_t i[3] = { 0, 0, 7 };
  assert_true(cx_read(a, i, 2));
  assert_int_equal(i[1], 2);
  assert_int_equal(i[2], 7);
  assert_true(isnan(cx_item(a)));
  assert_error(CX_ESHAPE, "item: one number is needed, this is i32[3]");
  assert_int_equal(*(const int32_t *)cx_data(cx_scalar(3, CX_I32)), 3);
  const unsigned char bytes[2] = { 0, 1 };
  cx b = cx_from(bytes, 2);
  assert_int_equal(cx_type(b), CX_U8);
  int64_t n = 9, m = 9;
  cx_sizes(cx_zeros(CX_F32, 2, 3), &n, &m);
  assert_true(n == 2 && m == 3);
  cx_sizes(b, &n, &m);
  assert_error(CX_ESHAPE, "sizes: u8[2] has 1 axes, not 2");
  assert_true(n == 1 && m == 1);
  assert_int_equal(cx_dim(b, 5), 1);
  assert_error(CX_EINDEX, "dim: axis 5 is out of range for u8[2]");
  (void)cx_size(cx_from(f, CX_SHAPE(1, 2, 3, 4, 5, 6, 7, 8, 9)));
  assert_error(CX_ESHAPE, "from: more than 8 axes");
}

/* -- compiled calls ------------------------------------------------------- */

CX_DEF(wave, x, y) {
  cx z = cx_add(cx_sin(x), cx_mul(y, 0.5));
  return cx_sum(cx_mul(z, cx_exp(cx_neg(cx_square(z)))));
}
CX_DEF(rows, w, x) {
  return cx_tanh(cx_matmul(x, w));
}
CX_DEF(update, state, x) {
  cx w = cx_get(state, "w");
  return cx_dict("w", cx_sub(w, cx_mul(0.1, x)), "t",
                 cx_add(cx_get(state, "t"), 1));
}

static void jit_gives_the_bits_of_plain_calls(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_normal(cx_key(1), CX_F32, 40), y = cx_normal(cx_key(2), CX_F32, 40);
  cx_fn fs[] = { CX_FN(wave), cx_grad(CX_FN(wave)),
                 cx_value_and_grad(CX_FN(wave), .wrt = CX_ARGS(0, 1)),
                 cx_grad(cx_checkpoint(CX_FN(wave))),
                 cx_jit(cx_grad(cx_jit(CX_FN(wave)))) };
  for (size_t i = 0; i < sizeof fs / sizeof *fs; i++)
    assert_same_bits(cx_call(cx_jit(fs[i]), x, y), cx_call(fs[i], x, y));
  assert_same_bits(cx_call(cx_jit(CX_FN(wave)), x, y), wave(x, y));
  assert_same_bits(cx_call(cx_grad(CX_FN(wave)), x, y),
                   cx_call(cx_grad(cx_jit(cx_checkpoint(CX_FN(wave)))), x, y));
}

static void vmap_is_a_loop(void **state) {
  (void)state;
  CX_SCOPE;
  cx w = cx_normal(cx_key(1), CX_F32, 7, 3, 4);
  cx x = cx_normal(cx_key(2), CX_F32, 3, 7);
  cx all = cx_call(cx_vmap(CX_FN(rows), .in = { 0, -1 }, .out = { -1 }), w, x);
  assert_string_equal(cx_show(all), "f32[4,7]");
  for (int i = 0; i < 7; i++)
    assert_same_bits(cx_index(all, CX_ALL, i),
                     rows(cx_index(w, i), cx_index(x, CX_ALL, i)));
  cx jac = cx_call(cx_vmap(cx_jacrev(CX_FN(rows)), .in = { CX_NONE, 1 }),
                   cx_index(w, 0), x);
  assert_string_equal(cx_show(jac), "f32[7,4,3,4]");
  cx axes = cx_tuple(cx_dict("w", 0, "t", cx_none()), 0);
  cx s = cx_dict("w", w, "t", 3);
  cx u = cx_call(cx_jit(cx_vmap(CX_FN(update), .in_tree = axes,
                                .out_tree = cx_dict("w", 1, "t", cx_none()))),
                 s, cx_ones(CX_F32, 7));
  assert_string_equal(cx_show(u), "{t: i32[], w: f32[3,7,4]}");
  assert_good();
}

static void hessians_are_symmetric(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_normal(cx_key(1), CX_F64, 5), y = cx_normal(cx_key(2), CX_F64, 5);
  cx h = cx_call(cx_hessian(CX_FN(wave)), x, y);
  cx other = cx_call(cx_jacrev(cx_jacfwd(CX_FN(wave))), x, y);
  assert_true(cx_item(cx_max(cx_abs(cx_sub(h, cx_t(h))))) < 1e-12);
  assert_true(cx_item(cx_max(cx_abs(cx_sub(h, other)))) < 1e-12);
  assert_good();
}

CX_DEF(blend, x, y) {
  return cx_sum(cx_add(x, cx_mul(y, x)));
}

static void numbers_that_change_compile_nothing(void **state) {
  (void)state;
  CX_SCOPE;
  cx_fn f = cx_jit(CX_FN(blend));
  cx x = cx_ones(CX_F32, 3);
  (void)cx_item(cx_call(f, x, 0.5));
  const uint64_t compiled = cxi_executables_now().compiled;
  for (int i = 0; i < 5; i++) (void)cx_item(cx_call(f, x, 0.1 * i));
  assert_true(cxi_executables_now().compiled == compiled);
  (void)cx_item(cx_call(f, cx_ones(CX_F32, 4), 1.0));
  const char *report = cx_cache_report(f);
  assert_non_null(strstr(report, "jit(blend): 2 compiled, 5 hits"));
  assert_non_null(strstr(report,
                         "jit(blend): compiled again (2nd time): argument"
                         " 0 \"x\" changed f32[3] -> f32[4]"));
  assert_good();
}

CX_STRUCT(decay, (double, rate), (int, steps, [2]));
CX_STRUCT(rates, (double, lr), (float, clip), (int64_t, every), (bool, on),
          (cx_str, name), (cx_fn, of), (cx, mean), (decay, decay));
CX_DEF_ENV(scaled, rates, h, x) {
  cx y = cx_mul(x, h->lr);
  if (h->on) y = cx_mul(y, h->clip);
  if (h->mean.index) y = cx_sub(y, h->mean);
  return h->of ? cx_call(h->of, y) : y;
}
CX_DEF(twice_it, x) {
  return cx_mul(x, 2);
}

/* Each setting on its own: the report names the field and the two values. */
static void settings_that_change_are_named(void **state) {
  (void)state;
  static const rates base = { .lr = 0.1, .clip = 2, .name = "a" };
  rates other[9];
  for (int i = 0; i < 9; i++) other[i] = base;
  other[0].lr = 0.2;
  other[1].clip = 0.5f;
  other[2].every = -7;
  other[3].on = true;
  other[4].name = "b";
  other[5].of = CX_FN(twice_it);
  other[6].mean = cx_lit_f(0.5);
  other[7].decay.rate = 1e-3;
  other[8].decay.steps[1] = 4;
  static const char *const said[] = {
    "static lr changed 0.1 -> 0.2: declare it as cx",
    "static clip changed 2 -> 0.5: declare it as cx",
    "static every changed 0 -> -7: declare it as cx",
    "static on changed false -> true: declare it as cx",
    "static name changed \"a\" -> \"b\"",
    "static of changed none -> twice_it",
    "static mean changed: a number in a cx of the settings is static,",
    "static decay.rate changed 0 -> 0.001: declare it as cx",
    "static decay.steps[1] changed 0 -> 4: declare it as cx",
  };
  for (int i = 0; i < 9; i++) {
    CX_SCOPE;
    cx x = cx_ones(CX_F32, 3 + i);
    /* another chain of transforms each time: functions compiled for the first
     * time, the one after the other */
    cx_fn first = cx_jit(CX_BIND_TO(scaled, &base), .cache_max = 20 + i);
    cx_fn second = cx_jit(CX_BIND_TO(scaled, &other[i]), .cache_max = 20 + i);
    (void)cx_data(cx_call(first, x));
    (void)cx_data(cx_call(second, x));
    assert_good();
    if (!strstr(cx_cache_report(second), said[i]))
      fail_msg("%s\n%s", said[i], cx_cache_report(second));
  }
  assert_good();
}

static void a_steady_state_allocates_nothing(void **state) {
  (void)state;
  CX_SCOPE;
  cx_fn f = cx_jit(CX_FN(update), .donate = CX_ARGS(0));
  cx s = cx_keep(cx_dict("w", cx_ones(CX_F32, 3000), "t", 0));
  cx x = cx_ones(CX_F32, 3000);
  uint64_t calls = 0, fresh = 0;
  for (int i = 0; i < 20; i++) {
    CX_SCOPE;
    if (i == 10) {
      calls = cxi_alloc_now().calls;
      fresh = cxi_blocks_now().fresh;
    }
    cx_swap(&s, cx_call(f, s, x));
  }
  /* a call makes the tree of its result, one node; nothing else */
  assert_true(cxi_alloc_now().calls - calls <= 10);
  assert_true(cxi_blocks_now().fresh == fresh);
  assert_int_equal(cx_item_int(cx_get(s, "t")), 20);
  cx_drop(s);
  assert_good();
}

static void donation_reuses_the_buffer(void **state) {
  (void)state;
  CX_SCOPE;
  const cx_ctx *ctx = *state;
  cx_fn f = cx_jit(CX_FN(update), .donate = CX_ARGS(0));
  cx s = cx_dict("w", cx_ones(CX_F32, 1 << 16), "t", cx_scalar(0, CX_I32));
  cx x = cx_scalar(1, CX_F32);
  const size_t before = ctx->account->live;
  cx t = cx_call(f, s, x);
  assert_true(ctx->account->live < before + (1 << 16));
  assert_int_equal(cx_item_int(cx_get(t, "t")), 1);
  (void)cx_size(cx_add(cx_get(s, "w"), 1));
  assert_error(CX_ELIFETIME, "was donated to update");
}

/* -- memory limits -------------------------------------------------------- */

CX_DEF(wasteful, x) {
  return cx_sum(cx_matmul(cx_t(x), cx_exp(x)));
}

static void a_limit_is_kept(void **state) {
  cx_ctx *mine = *state;
  cx_ctx *ctx = cx_open("cpu", .memory_limit = 1 << 20, .threads = 1);
  {
    CX_SCOPE;
    cx big = cx_zeros(CX_F32, 1 << 20);
    assert_error(CX_EMEMORY, "limit 1048576 bytes");
    cx x = cx_zeros(CX_F32, 16, 600);
    assert_good();
    big = cx_call(cx_jit(CX_FN(wasteful)), x);
    assert_error(CX_EMEMORY, "the largest buffers");
    (void)big;
    assert_true(cx_item(cx_sum(cx_zeros(CX_F32, 8, 8))) == 0);
  }
  assert_good();
  assert_true(ctx->account->live == 0);
  cx_close(ctx);
  cx_use(mine);
}

/* -- NaN ------------------------------------------------------------------ */

CX_DEF(logs, x) {
  CX_NAMED("deep");
  return cx_log(cx_sub(x, 2));
}
CX_DEF(uses_logs, x) {
  return cx_sum(cx_call(CX_FN(logs), cx_mul(x, x)));
}

static void checks_find_the_first_nan(void **state) {
  (void)state;
  CX_SCOPE;
  cx_checks(true);
  cx x = cx_ones(CX_F32, 3), r;
  r = cx_log(cx_neg(x));
  assert_error(CX_ENAN, "log: the result f32[3] has a NaN");
  r = cx_call(cx_jit(CX_FN(uses_logs)), x);
  assert_error(CX_ENAN, "log: the result f32[3] has a NaN, the operands have"
                        " none in deep");
  r = cx_call(cx_grad(CX_FN(uses_logs)), cx_mul(x, 2));
  assert_good();
  r = cx_log(cx_mul(x, (double)NAN)); /* it was there before */
  assert_good();
  cx_checks(false);
  r = cx_call(cx_jit(CX_FN(uses_logs)), x);
  assert_true(isnan(cx_item(r)));
  assert_good();
}

/* -- what a checkpoint saves ---------------------------------------------- */

static bool save_tanh(const cx_eqn *e, void *user) {
  ++*(int *)user;
  return !strcmp(e->primitive, "tanh");
}
CX_DEF(two_tanh, x) {
  return cx_sum(cx_exp(cx_tanh(cx_sin(cx_tanh(x)))));
}

static void a_function_chooses_what_is_saved(void **state) {
  (void)state;
  CX_SCOPE;
  static int asked;
  cx x = cx_normal(cx_key(1), CX_F32, 5);
  cx_fn some =
      cx_checkpoint(CX_FN(two_tanh), .save = save_tanh, .user = &asked);
  cx_fn none = cx_checkpoint(CX_FN(two_tanh));
  const char *saved = cx_saved_residuals(some, x);
  assert_true(asked > 0);
  const char *kept = cx_saved_residuals(none, x);
  assert_ptr_equal(strstr(kept, "f32[5] from argument 0 \"x\", 20 bytes"),
                   kept);
  assert_non_null(strstr(kept, "\n20 bytes in all\n"));
  int tanhs = 0;
  for (const char *at = saved; (at = strstr(at, "f32[5] from tanh")); at++)
    tanhs++;
  assert_int_equal(tanhs, 2);
  assert_same_bits(cx_call(cx_grad(some), x), cx_call(cx_grad(none), x));
}

/* -- threads -------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 12 };

CX_DEF(shared_step, p, x) {
  cx v, g;
  cx_unpack(cx_call(cx_value_and_grad(CX_FN(wave)), p, x), &v, &g);
  return cx_tuple(cx_sub(p, cx_mul(0.1, g)), v);
}

static void *work(void *out) {
  cx_ctx *ctx = cx_open("cpu", .threads = 1);
  double sum = 0;
  for (int i = 0; i < ROUNDS; i++) {
    CX_SCOPE;
    const int n = 3 + i % 4;
    cx p = cx_ones(CX_F32, n), x = cx_full(0.25, CX_F32, n), v;
    cx_fn f = cx_jit(CX_FN(shared_step), .donate = CX_ARGS(0));
    cx_unpack(cx_call(f, p, x), &p, &v);
    cx many = cx_call(cx_vmap(CX_FN(shared_step)), cx_ones(CX_F32, 2, n),
                      cx_ones(CX_F32, 2, n));
    sum += cx_item(v) + cx_item(cx_sum(p)) + cx_item(cx_sum(cx_nth(many, 1)));
    if (!cx_ok()) sum = NAN;
  }
  cx_close(ctx);
  *(double *)out = sum;
  return NULL;
}

static void threads_share_what_is_compiled(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  double sums[THREADS];
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, &sums[i]);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    assert_false(isnan(sums[i]));
    assert_true(bits_of(sums[i]) == bits_of(sums[0]));
  }
}

/* -- short memory --------------------------------------------------------- */

CX_DEF(body, h, x) {
  h = cx_tanh(cx_add(h, x));
  return cx_tuple(h, cx_dict("h", h));
}
CX_DEF(total, p, xs) {
  cx ys = cx_get(cx_nth(cx_scan(CX_FN(body), cx_get(p, "h0"), xs), 1), "h");
  return cx_sum(cx_mul(ys, cx_array(float, 1, 2)));
}

static void clear_caches(void) {
  cxi_resolves_clear();
  cxi_memos_clear();
  cxi_executables_clear();
}

/* Every way to fail ends as an error or as the right answer. */
static bool scenario(void) {
  cx_ctx *ctx = cx_open("cpu", .threads = 1);
  if (!ctx) return cx_error(NULL) == CX_EMEMORY;
  bool good = true;
  {
    CX_SCOPE;
    cx p = cx_put(cx_none(), cx_zeros(CX_F32, 2), "h0");
    cx xs = cx_ones(CX_F32, 3, 2);
    cx g = cx_call(cx_jit(cx_value_and_grad(CX_FN(total))), p, xs);
    cx v = cx_call(cx_vmap(CX_FN(wave)), xs, xs);
    cx kept = cx_keep(v);
    const double sum = cx_item(cx_nth(g, 0)) + cx_item(cx_sum(kept));
    cx_drop(kept);
    const char *message;
    const cx_code code = cx_error(&message);
    good = code == CX_EMEMORY || (code == CX_OK && !isnan(sum));
    if (!good) print_error("%s %g\n", message, sum);
  }
  cx_close(ctx);
  return good;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  assert_true(scenario());
  clear_caches();
  const uint64_t before = cxi_alloc_now().calls;
  assert_true(scenario());
  const uint64_t n = cxi_alloc_now().calls - before;
  /* all of the first ones, then a sample that differs in its steps */
  for (uint64_t i = 0; i < n + 2; i += i < 60 ? 1 : 1 + i % 13) {
    clear_caches();
    cxi_alloc_fail_after(i);
    const bool good = scenario();
    cxi_alloc_fail_after(UINT64_MAX);
    if (!good)
      fail_msg("allocation %llu of %llu", (unsigned long long)i,
               (unsigned long long)n);
  }
  assert_true(scenario());
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_are_exact),
    cmocka_unit_test(scopes_release),
    cmocka_unit_test(borrowed_memory_is_released),
    cmocka_unit_test(reading),
    cmocka_unit_test(jit_gives_the_bits_of_plain_calls),
    cmocka_unit_test(vmap_is_a_loop),
    cmocka_unit_test(hessians_are_symmetric),
    cmocka_unit_test(numbers_that_change_compile_nothing),
    cmocka_unit_test(settings_that_change_are_named),
    cmocka_unit_test(a_steady_state_allocates_nothing),
    cmocka_unit_test(donation_reuses_the_buffer),
    cmocka_unit_test(a_limit_is_kept),
    cmocka_unit_test(checks_find_the_first_nan),
    cmocka_unit_test(a_function_chooses_what_is_saved),
    cmocka_unit_test(threads_share_what_is_compiled),
    cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
