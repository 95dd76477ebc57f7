/* random_function.c - functions made of random operations, from a seed. */
#include "support/random_function.h"

#include <string.h>

#include "support/composed.h"

uint32_t chance_draw(chance *c, uint32_t n) {
  c->state = c->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(c->state >> 33) % n;
}

static chance chance_of(uint64_t seed, uint64_t stream) {
  chance c = { (seed * 16 + stream) * 0x9e3779b97f4a7c15u };
  chance_draw(&c, 2);
  return c;
}

/* -- the pool ------------------------------------------------------------- */

random_kind pool_kind_of(cx a) {
  const cx_dtype t = cx_type(a);
  return t == CX_BOOL                 ? A_BOOL
         : t == CX_KEY                ? A_KEY
         : t >= CX_F16 && t <= CX_F64 ? A_FLOAT
                                      : AN_INTEGER;
}

/* What stands for a value that a body does not have. */
static cx made_up(int kinds, int least_rank) {
  if (least_rank > 0 || kinds == A_KEY) return (cx){ 0 };
  if (kinds & AN_INTEGER) return cx_scalar(3, CX_I32);
  return kinds & A_BOOL ? cx_scalar(true, CX_BOOL) : cx_scalar(0.5, CX_F32);
}

cx pool_pick(pool *p, int kinds, int least_rank) {
  cx fit[POOL];
  int n = 0;
  for (int i = 0; i < p->n; i++)
    if ((pool_kind_of(p->values[i]) & kinds) &&
        cx_ndim(p->values[i]) >= least_rank)
      fit[n++] = p->values[i];
  if (n == 0) return made_up(kinds, least_rank);
  const int late = n > 4 && chance_draw(&p->chance, 2) ? n - 4 : 0;
  return fit[late + (int)chance_draw(&p->chance, (uint32_t)(n - late))];
}

cx pool_float(pool *p) {
  for (int tries = 0; tries < 8; tries++) {
    cx a = pool_pick(p, A_FLOAT, 0);
    if (cx_type(a) == p->main) return a;
  }
  return p->values[0];
}

static bool broadcasts(cx a, cx b, int64_t most) {
  const int na = cx_ndim(a), nb = cx_ndim(b);
  for (int i = 1; i <= na && i <= nb; i++) {
    const int64_t u = cx_dim(a, -i), v = cx_dim(b, -i);
    if (u != v && u != 1 && v != 1) return false;
  }
  return cx_size(a) <= 3 * most && cx_size(b) <= 3 * most &&
         cx_size(a) * cx_size(b) <= 5 * most;
}

cx pool_partner(pool *p, cx a) {
  for (int tries = 0; tries < 12; tries++) {
    cx b = pool_pick(p, (int)pool_kind_of(a), 0);
    if (cx_type(b) == cx_type(a) && broadcasts(a, b, p->most)) return b;
  }
  if (cx_type(a) == CX_BOOL) return cx_lit_b(chance_draw(&p->chance, 2));
  if (pool_kind_of(a) == AN_INTEGER)
    return cx_lit_i(1 + (int)chance_draw(&p->chance, 5));
  return cx_lit_f(0.25 + chance_draw(&p->chance, 6) * 0.5);
}

cx pool_coerce(cx a, cx_dtype type, cx_dims shape) {
  if (type == CX_BOOL)
    a = cx_any(cx_ne(cx_cast(a, CX_F32), 0));
  else if (cx_type(a) != type)
    a = cx_cast(cx_stop_gradient(a), type);
  const cx_dims have = cx_shape(a);
  if (have.n == shape.n &&
      !memcmp(have.d, shape.d, (size_t)have.n * sizeof *have.d))
    return a;
  if (have.n > 0)
    a = type == CX_BOOL ? cx_any(a)
                        : cx_max(cx_pad(cx_reshape(a, -1), 0, (1, 0)));
  return cx_broadcast_to(a, shape);
}

void pool_grow(pool *p, int operations) {
  for (int tries = 0; operations > 0 && tries < 200; tries++) {
    const uint32_t which = chance_draw(&p->chance, p->depth > 0 ? 9 : 8);
    const random_makers *m = which < 4   ? &random_arithmetic
                             : which < 8 ? &random_movement
                                         : &random_control;
    cx made = m->make[chance_draw(&p->chance, (uint32_t)m->n)](p);
    if (!made.index && !made.generation) continue;
    for (int i = 0; i < cx_leaf_count(made); i++) {
      cx leaf = cx_leaf(made, i);
      if (p->n < POOL && cx_size(leaf) <= p->most && cx_ndim(leaf) <= 5)
        p->values[p->n++] = leaf;
    }
    operations--;
  }
}

/* -- the function --------------------------------------------------------- */

cx_dtype random_type_of(uint64_t seed) {
  static const cx_dtype even[] = { CX_F32, CX_BF16, CX_F32, CX_F16 };
  return seed % 2 ? CX_F64 : even[seed / 2 % 4];
}

/* Now and then arrays that do not fit into one block of a kernel. */
static bool is_wide(uint64_t seed) {
  return seed / 8 % 4 == 3;
}

CX_STRUCT(random_env, (uint64_t, seed));

CX_DEF_ENV(random_program, random_env, e, x, y, z) {
  pool p = { .chance = chance_of(e->seed, 1),
             .depth = 2,
             .most = is_wide(e->seed) ? 5000 : 200,
             .main = random_type_of(e->seed) };
  const cx all = cx_tuple(x, y, z);
  for (int i = 0; i < cx_leaf_count(all); i++)
    p.values[p.n++] = cx_leaf(all, i);
  pool_grow(&p, 4 + (int)chance_draw(&p.chance, 12));
  cx out[5];
  const int n = 1 + (int)chance_draw(&p.chance, 4);
  out[0] = pool_float(&p);
  for (int i = 1; i <= n; i++) {
    const int back = (int)chance_draw(&p.chance, (uint32_t)(p.n < 6 ? p.n : 6));
    out[i] = p.values[p.n - 1 - back];
  }
  return cx_tuple_n(n + 1, out);
}

cx_fn random_function(uint64_t seed) {
  return CX_BIND(random_program, .seed = seed);
}

cx random_call(uint64_t seed, cx x, cx y, cx z) {
  return random_program(&(const random_env){ .seed = seed }, x, y, z);
}

static cx_dims random_shape(chance *c, bool wide) {
  static const int64_t large[] = { 1, 3, 17, 64, 70, 130, 513, 1030 };
  static const int64_t sizes[] = { 1, 2, 3, 3, 4, 2, 5, 0 };
  cx_dims shape = { .n = (int)chance_draw(c, 4) };
  for (int i = 0; i < shape.n; i++) shape.d[i] = sizes[chance_draw(c, 8)];
  if (wide && shape.n > 0) shape.d[shape.n - 1] = large[chance_draw(c, 8)];
  if (wide && shape.n > 2) shape.d[1] = 2;
  return shape;
}

static cx random_floats(chance *c, cx_dtype type, uint64_t seed) {
  cx items[3];
  const int n = 1 + (int)chance_draw(c, 2);
  for (int i = 0; i < n; i++)
    items[i] = composed_floats(type, seed + (uint64_t)i,
                               random_shape(c, is_wide(seed / 8)));
  return cx_tuple_n(n, items);
}

void random_arguments(uint64_t seed, cx out[3]) {
  chance c = chance_of(seed, 2);
  const cx_dtype type = random_type_of(seed);
  out[0] = random_floats(&c, type, seed * 8);
  out[1] = random_floats(&c, type, seed * 8 + 4);
  cx n = cx_cast(
      cx_mul(composed_floats(CX_F32, seed, random_shape(&c, is_wide(seed))), 9),
      CX_I32);
  cx m =
      cx_gt(composed_floats(CX_F32, seed, random_shape(&c, is_wide(seed))), 0);
  cx u = cx_bits(cx_key(seed), CX_U32, random_shape(&c, is_wide(seed)));
  out[2] = cx_tuple(cx_abs(n), m, u, cx_key(seed));
}
