/* loops.c - group H: loops with little work a step. */
#include "bench/bench.h"

/* -- P <- F P F' + Q in f64 -------------------------------------------------- */

CX_STRUCT(riccati, (cx, f), (cx, q), (bool, stacked));
CX_DEF_ENV(riccati_step, riccati, e, p, i) {
  (void)i;
  p = cx_matmul(cx_matmul(e->f, p), cx_transpose(e->f, 1, 0));
  p = cx_add(p, e->q);
  return cx_tuple(p, e->stacked ? p : cx_none());
}
CX_STRUCT(kept, (bool, all));
CX_DEF_ENV(riccati_steps, kept, e, p, f, q) {
  cx_fn step = CX_BIND(riccati_step, .f = f, .q = q, .stacked = e->all);
  cx result = cx_scan(step, p, cx_none(), .length = 10000);
  if (!e->all) return cx_nth(result, 0);
  cx all = cx_nth(result, 1);
  return cx_tuple(cx_index(all, -1), all);
}
CX_DEF(riccati_sum, f, p, q) {
  return cx_sum(riccati_steps(&(kept){ false }, p, f, q));
}
static void riccati_of(const bench_case *c, bench_work *w) {
  cx f = cx_cast(bench_uniform("loop.A", 1, 3, 3), CX_F64);
  f = cx_add(cx_mul(f, 0.25), cx_mul(cx_eye(CX_F64, 3), 0.6));
  cx q = cx_mul(cx_eye(CX_F64, 3), 0.01), p = cx_eye(CX_F64, 3);
  if (c->k)
    *w = (bench_work){ .f = cx_grad(CX_FN(riccati_sum)), .args = { f, p, q } };
  else
    *w = (bench_work){ .f = CX_BIND(riccati_steps, .all = c->m != 0),
                       .args = { p, f, q } };
  w->n_args = 3;
  w->value = BENCH_FIRST_3;
}

/* -- the logistic map; a while loop; Fibonacci numbers ----------------------- */

CX_STRUCT(logistic, (cx, r), (bool, stacked));
CX_DEF_ENV(logistic_step, logistic, e, x, i) {
  (void)i;
  x = cx_mul(cx_mul(e->r, x), cx_sub(1, x));
  return cx_tuple(x, e->stacked ? x : cx_none());
}
CX_DEF_ENV(logistic_map, kept, e, x, r) {
  cx_fn step = CX_BIND(logistic_step, .r = r, .stacked = e->all);
  cx result = cx_scan(step, x, cx_none(), .length = 100000);
  if (!e->all) return cx_nth(result, 0);
  return cx_tuple(cx_index(cx_nth(result, 1), -1), cx_nth(result, 1));
}
static void logistic_of(const bench_case *c, bench_work *w) {
  *w = (bench_work){ .f = CX_BIND(logistic_map, .all = c->m != 0),
                     .args = { cx_scalar(0.3, CX_F32), cx_scalar(3.7, CX_F32) },
                     .n_args = 2,
                     .value = BENCH_FIRST_3 };
}
CX_STRUCT(bound, (cx, n));
CX_DEF_ENV(below, bound, e, s) {
  return cx_and(cx_lt(cx_nth(s, 0), e->n), cx_lt(cx_nth(s, 1), 1e30));
}
CX_DEF(affine_step, s) {
  cx x = cx_add(cx_mul(cx_nth(s, 1), 0.999999), 0.5);
  return cx_tuple(cx_add(cx_nth(s, 0), 1), x);
}
CX_DEF(affine, x, n) {
  cx start = cx_tuple(cx_scalar(0, CX_I32), x);
  return cx_nth(cx_while(CX_BIND(below, .n = n), CX_FN(affine_step), start), 1);
}
static void while_of(const bench_case *c, bench_work *w) {
  *w = (bench_work){ .f = CX_FN(affine),
                     .args = { cx_scalar(0, CX_F32), cx_scalar(c->n, CX_I32) },
                     .n_args = 2,
                     .value = BENCH_FIRST_3 };
}
CX_DEF(fibonacci_step, i, s) {
  (void)i;
  return cx_tuple(cx_nth(s, 1), cx_add(cx_nth(s, 0), cx_nth(s, 1)));
}
CX_DEF(fibonacci, n) {
  cx start = cx_tuple(cx_scalar(0, CX_U32), cx_scalar(1, CX_U32));
  return cx_nth(cx_fori(0, n, CX_FN(fibonacci_step), start), 0);
}
static void fibonacci_of(const bench_case *c, bench_work *w) {
  *w = (bench_work){ .f = CX_FN(fibonacci),
                     .args = { cx_scalar(c->n, CX_I32) },
                     .n_args = 1,
                     .value = BENCH_FIRST_3 };
}

/* -- a recurrent network (Cho et al. 2014, arXiv:1406.1078) ------------------ */

CX_STRUCT(gru, (cx, w), (cx, u), (cx, b));
CX_DEF_ENV(gru_step, gru, p, h, x) {
  cx az, ar, an, bz, br, bn;
  cx_unpack(cx_split_axis(cx_add(cx_matmul(x, p->w), p->b), 3, -1), &az, &ar,
            &an);
  cx_unpack(cx_split_axis(cx_matmul(h, p->u), 3, -1), &bz, &br, &bn);
  cx z = cx_sigmoid(cx_add(az, bz)), r = cx_sigmoid(cx_add(ar, br));
  cx n = cx_tanh(cx_add(an, cx_mul(r, bn)));
  return cx_tuple(cx_add(cx_mul(cx_sub(1, z), n), cx_mul(z, h)), cx_none());
}
CX_DEF(gru_run, params, xs) {
  gru p = cx_as(gru, params);
  cx h = cx_zeros(CX_F32, cx_dim(xs, 1), cx_dim(p.u, 0));
  return cx_nth(cx_scan(CX_BIND_TO(gru_step, &p), h, xs), 0);
}
CX_DEF(gru_squares, params, xs) {
  return cx_sum(cx_square(gru_run(params, xs)));
}
static cx gru_params(int64_t width, bool wide) {
  const double a = wide ? 0.05 : 0.1;
  return cx_pack(
      gru, .w = bench_uniform(wide ? "gru2.W" : "gru.W", a, width, 3 * width),
      .u = bench_uniform(wide ? "gru2.U" : "gru.U", a, width, 3 * width),
      .b = bench_uniform(wide ? "gru2.b" : "gru.b", a, 3 * width));
}
static void gru_of(const bench_case *c, bench_work *w) {
  const bool wide = c->n > 32;
  cx xs = bench_uniform(wide ? "gru2.x" : "gru.x", 1, c->m, c->b, c->n);
  cx_fn f = CX_FN(gru_run);
  if (c->k)
    f = wide ? cx_grad(CX_FN(gru_squares))
             : cx_grad(CX_FN(gru_squares), .wrt = CX_ARGS(0, 1));
  *w = (bench_work){ .f = f,
                     .args = { gru_params(c->n, wide), xs },
                     .n_args = 2,
                     .value = BENCH_FIRST_3,
                     .leaf = c->k ? 1 : 0 }; /* the gradient of u */
}

/* -- Lotka and Volterra by Runge and Kutta's scheme of order 4 ---------------- */

static cx rates(cx theta, cx y) {
  cx y0 = cx_index(y, 0), y1 = cx_index(y, 1);
  cx t[4];
  for (int i = 0; i < 4; i++) t[i] = cx_index(theta, i);
  cx meeting = cx_mul(cx_mul(t[1], y0), y1);
  cx eaten = cx_mul(cx_mul(t[3], y0), y1);
  return cx_stack(0, cx_sub(cx_mul(t[0], y0), meeting),
                  cx_add(cx_mul(cx_neg(t[2]), y1), eaten));
}
CX_STRUCT(ode, (cx, theta));
CX_DEF_ENV(rk4_step, ode, e, y, i) {
  (void)i;
  const double dt = (double)0.01f;
  cx half = cx_mul(0.5, cx_full(dt, CX_F32, CX_SCALAR));
  cx whole = cx_full(dt, CX_F32, CX_SCALAR);
  cx k1 = rates(e->theta, y);
  cx k2 = rates(e->theta, cx_add(y, cx_mul(half, k1)));
  cx k3 = rates(e->theta, cx_add(y, cx_mul(half, k2)));
  cx k4 = rates(e->theta, cx_add(y, cx_mul(whole, k3)));
  cx sum = cx_add(k1, cx_mul(2, k2), cx_mul(2, k3), k4);
  y = cx_add(y, cx_mul(cx_div(whole, 6), sum));
  return cx_tuple(y, cx_none());
}
CX_STRUCT(length, (int64_t, steps));
CX_DEF_ENV(rk4, length, e, y, theta) {
  return cx_nth(cx_scan(CX_BIND(rk4_step, .theta = theta), y, cx_none(),
                        .length = e->steps),
                0);
}
CX_DEF_ENV(rk4_sum, length, e, theta, y) {
  return cx_sum(rk4(e, y, theta));
}
static void rk4_of(const bench_case *c, bench_work *w) {
  cx theta = cx_array(float, 1.5f, 1, 3, 1), y = cx_array(float, 1, 1);
  cx_fn f = CX_BIND(rk4, .steps = c->n);
  if (c->m > 1) {
    cx first = cx_add(1, cx_div(cx_arange(0, c->m, 1, CX_F32), 64));
    y = cx_stack(1, first, cx_ones(CX_F32, c->m));
    f = cx_vmap(f, .in = { 0, CX_NONE });
  }
  *w = (bench_work){
    .f = f, .args = { y, theta }, .n_args = 2, .value = BENCH_FIRST_3
  };
  if (c->k)
    *w = (bench_work){ .f = cx_grad(CX_BIND(rk4_sum, .steps = c->n)),
                       .args = { theta, y },
                       .n_args = 2,
                       .value = BENCH_FIRST_3 };
}

/* -- bodies with a product, a branch, random bits, a solve, updates, a sort --- */

CX_STRUCT(dense, (cx, m), (cx, x));
CX_DEF_ENV(dense_step, dense, e, c, i) {
  (void)i;
  return cx_tuple(cx_tanh(cx_add(cx_matmul(c, e->m), e->x)), cx_none());
}
CX_DEF(dense_loop, x, m) {
  cx_fn step = CX_BIND(dense_step, .m = m, .x = x);
  return cx_nth(cx_scan(step, cx_zeros_like(x), cx_none(), .length = 2000), 0);
}
static void dense_of(const bench_case *c, bench_work *w) {
  (void)c;
  *w = (bench_work){ .f = CX_FN(dense_loop),
                     .args = { bench_uniform("loop.X", 1, 64, 64),
                               bench_uniform("loop.M", 0.1, 64, 64) },
                     .n_args = 2,
                     .value = BENCH_FIRST_3 };
}
CX_DEF(above, c) {
  return cx_add(cx_mul(c, 0.3), cx_sin(c));
}
CX_DEF(under, c) {
  return cx_add(cx_mul(c, 1.7), 0.1);
}
CX_DEF(branch_step, c, i) {
  (void)i;
  return cx_tuple(cx_cond(cx_gt(c, 0.5), CX_FN(above), CX_FN(under), c),
                  cx_none());
}
CX_DEF(branch_loop, x) {
  return cx_nth(cx_scan(CX_FN(branch_step), x, cx_none(), .length = 10000), 0);
}
static void branch_of(const bench_case *c, bench_work *w) {
  (void)c;
  *w = (bench_work){ .f = CX_FN(branch_loop),
                     .args = { cx_scalar(0.3, CX_F32) },
                     .n_args = 1,
                     .value = BENCH_FIRST_3 };
}
CX_DEF(walk_step, s, i) {
  (void)i;
  cx key, now;
  cx_split(cx_nth(s, 0), &key, &now);
  cx x = cx_add(cx_nth(s, 1), cx_normal(now, CX_F32, CX_SCALAR));
  return cx_tuple(cx_tuple(key, x), cx_none());
}
CX_DEF(walk, key) {
  cx start = cx_tuple(key, cx_scalar(0, CX_F32));
  cx end = cx_scan(CX_FN(walk_step), start, cx_none(), .length = 10000);
  return cx_nth(cx_nth(end, 0), 1);
}
static void walk_of(const bench_case *c, bench_work *w) {
  (void)c;
  *w = (bench_work){
    .f = CX_FN(walk), .args = { cx_key(0) }, .n_args = 1, .value = BENCH_FIRST_3
  };
}
/* Kalman 1960: 4 states, 2 observations. */
CX_STRUCT(filter, (cx, f), (cx, h), (cx, q), (cx, r));
CX_DEF_ENV(filter_step, filter, e, s, y) {
  cx x = cx_matmul(e->f, cx_nth(s, 0));
  cx p = cx_matmul(cx_matmul(e->f, cx_nth(s, 1)), cx_transpose(e->f, 1, 0));
  p = cx_add(p, e->q);
  cx hp = cx_matmul(e->h, p);
  cx spread = cx_add(cx_matmul(hp, cx_transpose(e->h, 1, 0)), e->r);
  cx gain = cx_transpose(cx_solve(spread, hp), 1, 0);
  x = cx_add(x, cx_matmul(gain, cx_sub(y, cx_matmul(e->h, x))));
  p = cx_sub(p, cx_matmul(cx_matmul(gain, e->h), p));
  return cx_tuple(cx_tuple(x, p), x);
}
CX_DEF(kalman, x, p, model, ys) {
  filter m = cx_as(filter, model);
  cx xs = cx_nth(cx_scan(CX_BIND_TO(filter_step, &m), cx_tuple(x, p), ys), 1);
  return cx_index(xs, -1);
}
static void kalman_of(const bench_case *c, bench_work *w) {
  (void)c;
  cx f = cx_at_set(cx_eye(CX_F64, 4), (0, 2), 0.1);
  f = cx_at_set(f, (1, 3), 0.1);
  cx model = cx_pack(filter, .f = f, .h = cx_index(cx_eye(CX_F64, 4), CX_TO(2)),
                     .q = cx_mul(cx_eye(CX_F64, 4), 0.01),
                     .r = cx_mul(cx_eye(CX_F64, 2), 0.1));
  cx ys = cx_cast(bench_uniform("kf.y", 1, 2000, 2), CX_F64);
  *w = (bench_work){ .f = CX_FN(kalman),
                     .args = { cx_zeros(CX_F64, 4), cx_eye(CX_F64, 4), model,
                               ys },
                     .n_args = 4,
                     .value = BENCH_FIRST_3 };
}
enum { CELLS = 100000 };
CX_DEF(cell_step, i, cells) {
  cx value = cx_add(cx_mul(cx_index(cells, i), 0.5), 1);
  return cx_at_set(cells, (cx_rem(cx_mul(i, 7919), CELLS)), value);
}
CX_DEF(cell_loop, cells) {
  return cx_fori(0, CELLS, CX_FN(cell_step), cells);
}
static void cells_of(const bench_case *c, bench_work *w) {
  (void)c;
  *w = (bench_work){ .f = CX_FN(cell_loop),
                     .args = { cx_zeros(CX_F32, CELLS) },
                     .n_args = 1,
                     .value = BENCH_FIRST_3 };
}
CX_DEF(sort_step, c, i) {
  (void)i;
  cx y = cx_add(cx_mul(c, 1.37), 0.11);
  return cx_tuple(cx_sort(cx_sub(y, cx_floor(y)), 0), cx_none());
}
CX_DEF(sort_loop, x) {
  return cx_nth(cx_scan(CX_FN(sort_step), x, cx_none(), .length = 2000), 0);
}
static void sort_of(const bench_case *c, bench_work *w) {
  (void)c;
  *w = (bench_work){ .f = CX_FN(sort_loop),
                     .args = { bench_uniform("loop.S", 1, 64) },
                     .n_args = 1,
                     .value = BENCH_FIRST_3 };
}

#define CASE(name, make, b, m, n, k) \
  { "loops/" name, make, b, m, n, k, CX_F32, "" }
static const bench_case cases[] = {
  CASE("scan10k_3x3_f64", riccati_of, 0, 0, 0, 0),
  CASE("scan10k_3x3_f64_stacked", riccati_of, 0, 1, 0, 0),
  CASE("scan10k_3x3_f64_grad", riccati_of, 0, 0, 0, 1),
  CASE("scan100k_logistic_f32", logistic_of, 0, 0, 0, 0),
  CASE("scan100k_logistic_f32_stacked", logistic_of, 0, 1, 0, 0),
  CASE("while1e6_scalar_f32", while_of, 0, 0, 1000000, 0),
  CASE("gru1000_fwd_b1", gru_of, 1, 1000, 32, 0),
  CASE("gru1000_grad_b1", gru_of, 1, 1000, 32, 1),
  CASE("rk4_lv_10k", rk4_of, 0, 1, 10000, 0),
  CASE("rk4_lv_10k_vmap64", rk4_of, 0, 64, 10000, 0),
  CASE("rk4_lv_1k_grad", rk4_of, 0, 1, 1000, 1),
  CASE("scan2k_64x64_matmul_tanh", dense_of, 0, 0, 0, 0),
  CASE("scan10k_cond_scalar", branch_of, 0, 0, 0, 0),
  CASE("scan10k_random_walk_threefry", walk_of, 0, 0, 0, 0),
  CASE("kalman_4x2_f64_2k_solve", kalman_of, 0, 0, 0, 0),
  CASE("gru256_b16_200_grad", gru_of, 16, 200, 256, 1),
  CASE("fori100k_gather_set_1e5", cells_of, 0, 0, 0, 0),
  CASE("scan2k_sort64", sort_of, 0, 0, 0, 0),
  CASE("fori1e6_fib_u32", fibonacci_of, 0, 0, 1000000, 0),
};
const bench_group bench_loops = { 'H', "loops", cases,
                                  sizeof cases / sizeof *cases };
