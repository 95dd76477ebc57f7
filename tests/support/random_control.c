/* random_control.c - random loops, branches and transforms inside. */
#include "support/random_function.h"

static uint32_t draw(pool *p, uint32_t n) {
  return chance_draw(&p->chance, n);
}

/* A body: its operations come from the seed, its result is like `carry`. It
 * captures one array. */
CX_STRUCT(body_env, (uint64_t, seed), (int, depth), (int, dtype),
          (int64_t, most), (cx, captured));

static cx grown(const body_env *e, int n, const cx *from, cx like) {
  pool p = { .chance = { e->seed },
             .depth = e->depth,
             .most = e->most,
             .main = (cx_dtype)e->dtype };
  for (int i = 0; i < n; i++) p.values[p.n++] = from[i];
  pool_grow(&p, 1 + (int)draw(&p, 3));
  for (int i = p.n - 1; i >= 0; i--)
    if (pool_kind_of(p.values[i]) != A_KEY)
      return cx_sin(pool_coerce(p.values[i], cx_type(like), cx_shape(like)));
  return like;
}

CX_DEF_ENV(body_of_two, body_env, e, x, y) {
  return grown(e, 3, (const cx[]){ x, y, e->captured }, x);
}
CX_DEF_ENV(body_of_scan, body_env, e, carry, x) {
  cx next = grown(e, 3, (const cx[]){ carry, x, e->captured }, carry);
  return cx_tuple(next, cx_mul(next, 2));
}
CX_DEF_ENV(body_of_fori, body_env, e, i, carry) {
  return grown(e, 3, (const cx[]){ carry, i, e->captured }, carry);
}
CX_DEF_ENV(loss, body_env, e, x, y) {
  return cx_sum(cx_sin(grown(e, 3, (const cx[]){ x, y, e->captured }, x)));
}
CX_DEF(goes_on, s) {
  return cx_and(cx_lt(cx_nth(s, 0), 3), cx_lt(cx_sum(cx_nth(s, 1)), 1e6));
}
CX_DEF_ENV(body_of_while, body_env, e, s) {
  cx x = cx_nth(s, 1);
  return cx_tuple(cx_add(cx_nth(s, 0), 1),
                  grown(e, 2, (const cx[]){ x, e->captured }, x));
}

static body_env body_from(pool *p) {
  const uint64_t seed = ((uint64_t)draw(p, 1u << 30) << 30) + draw(p, 1u << 30);
  return (body_env){ .seed = seed,
                     .depth = p->depth - 1,
                     .dtype = p->main,
                     .most = p->most,
                     .captured = pool_pick(p, A_NUMBER | A_BOOL, 0) };
}

/* -- control flow --------------------------------------------------------- */

static cx scanned(pool *p) {
  const body_env e = body_from(p);
  cx carry = pool_float(p), xs = pool_pick(p, A_NUMBER | A_BOOL, 1);
  if (!xs.index)
    return cx_scan(CX_BIND_TO(body_of_scan, &e), carry,
                   cx_arange(0, 3, 1, CX_I32));
  return cx_scan(CX_BIND_TO(body_of_scan, &e), carry, xs, .reverse = draw(p, 2),
                 .unroll = 1 + (int)draw(p, 2));
}

static cx counted(pool *p) {
  const body_env e = body_from(p);
  return cx_fori(0, (int)draw(p, 4), CX_BIND_TO(body_of_fori, &e),
                 pool_float(p));
}

static cx branched(pool *p) {
  const body_env e = body_from(p), f = body_from(p), g = body_from(p);
  cx x = pool_float(p), y = pool_pick(p, A_NUMBER, 0);
  cx_fn one = CX_BIND_TO(body_of_two, &e), two = CX_BIND_TO(body_of_two, &f);
  if (draw(p, 2))
    return cx_cond(cx_any(pool_pick(p, A_BOOL, 0)), one, two, x, y);
  cx i = cx_cast(
      cx_rem(cx_sum(cx_cast(pool_pick(p, AN_INTEGER, 0), CX_I32)), 4), CX_I32);
  return cx_switch(i, (one, two, CX_BIND_TO(body_of_two, &g)), x, y);
}

static cx repeated(pool *p) {
  const body_env e = body_from(p);
  return cx_while(CX_FN(goes_on), CX_BIND_TO(body_of_while, &e),
                  cx_tuple(cx_scalar(0, CX_I32), pool_float(p)),
                  .max_steps = 4);
}

/* -- transforms ----------------------------------------------------------- */

static cx called(pool *p) {
  const body_env e = body_from(p);
  cx_fn f = CX_BIND_TO(body_of_two, &e);
  if (draw(p, 2)) f = cx_checkpoint(f, .policy = CX_SAVE_DOTS);
  if (draw(p, 2)) f = cx_jit(f);
  return cx_call(f, pool_float(p), pool_pick(p, A_NUMBER, 0));
}

static cx differentiated(pool *p) {
  const body_env e = body_from(p);
  return cx_call(cx_grad(CX_BIND_TO(loss, &e)), pool_float(p),
                 pool_pick(p, A_NUMBER, 0));
}

static cx pushed(pool *p) {
  const body_env e = body_from(p);
  cx x = pool_float(p);
  return cx_call(cx_jvp(CX_BIND_TO(body_of_two, &e)),
                 cx_tuple(x, cx_scalar(1, CX_I32)),
                 cx_tuple(cx_cos(x), cx_none()));
}

static cx mapped(pool *p) {
  const body_env e = body_from(p);
  cx x = pool_float(p), y = pool_pick(p, A_NUMBER, 0);
  if (cx_ndim(x) == 0 || cx_dim(x, 0) == 0) return (cx){ 0 };
  const int axis = (int)draw(p, (uint32_t)cx_ndim(x));
  if (cx_dim(x, axis) == 0) return (cx){ 0 };
  return cx_call(cx_vmap(CX_BIND_TO(body_of_two, &e), .in = { axis, CX_NONE }),
                 x, y);
}

static cx linearized(pool *p) {
  const body_env e = body_from(p);
  cx x = pool_float(p), value;
  cx_fn pull = cx_pullback(CX_BIND_TO(body_of_two, &e),
                           cx_tuple(x, cx_scalar(2, CX_I32)), &value);
  return cx_nth(cx_call(pull, cx_cos(value)), 0);
}

static const random_maker makers[] = {
  scanned, scanned,        counted, branched, branched,   repeated,
  called,  differentiated, pushed,  mapped,   linearized,
};
const random_makers random_control = { (int)(sizeof makers / sizeof *makers),
                                       makers };
