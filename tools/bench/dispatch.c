/* dispatch.c - group F: what a call costs beside its work. */
#include <stdlib.h>

#include "bench/bench.h"

enum { MANY = 100, CHAIN = 1000 };

CX_DEF(plus_one, x) {
  return cx_add(x, 1.0);
}
CX_DEF(chain, x, y) {
  for (int i = 0; i < CHAIN; i++) x = cx_add(x, y);
  return x;
}
/* A tuple of MANY scalars is one argument. */
CX_DEF(total, many) {
  cx sum = cx_nth(many, 0);
  for (int i = 1; i < MANY; i++) sum = cx_add(sum, cx_nth(many, i));
  return sum;
}
CX_DEF(each_plus_one, many) {
  return cx_add(many, 1.0);
}

typedef struct operands {
  cx x, y;
  cx_fn f;
  cx_exe *exe;
  const void *in[2];
  void *out[2], *workspace;
} operands;

static bool calls(int inner, void *state) {
  const operands *o = state;
  CX_SCOPE;
  for (int i = 0; i < inner; i++) cx_wait(cx_call(o->f, o->x));
  return cx_ok();
}
static bool runs(int inner, void *state) {
  const operands *o = state;
  for (int i = 0; i < inner; i++)
    if (cx_exe_run(o->exe, o->in, o->out, o->workspace) != CX_OK) return false;
  return true;
}
static bool adds(int inner, void *state) {
  const operands *o = state;
  CX_SCOPE;
  for (int i = 0; i < inner; i++) (void)!cx_ndim(cx_add(o->x, o->y));
  return cx_ok();
}
static bool adds_one(int inner, void *state) {
  const operands *o = state;
  CX_SCOPE;
  for (int i = 0; i < inner; i++) (void)!cx_ndim(cx_add(o->x, 1.0));
  return cx_ok();
}
static void drop(const operands *o) {
  cx_drop(o->x);
  cx_drop(o->y);
  cx_exe_free(o->exe);
  free(o->out[0]);
  free(o->workspace);
}
static void end(void *state) {
  drop(state);
  free(state);
}
static void made(bench_work *w, bool (*turns)(int, void *), operands o,
                 int inner) {
  operands *kept = malloc(sizeof *kept);
  o.x = cx_keep(o.x), o.y = cx_keep(o.y);
  if (!kept) {
    drop(&o);
    cx_fail_(CX_AT, CX_EMEMORY, "bench: no memory");
    return;
  }
  *kept = o;
  *w = (bench_work){ .turns = turns,
                     .end = end,
                     .state = kept,
                     .inner = inner,
                     .least = 7,
                     .seconds = 0.5 };
}
static void scalar_call(const bench_case *c, bench_work *w) {
  (void)c;
  operands o = { .x = cx_scalar(1.0, CX_F32), .y = cx_none() };
  o.f = cx_jit(CX_FN(plus_one));
  made(w, calls, o, 1000);
}
static void executable(const bench_case *c, bench_work *w) {
  (void)c;
  static const float one = 1;
  operands o = { .x = cx_none(), .y = cx_none(), .in = { &one } };
  o.exe = cx_compile(CX_FN(plus_one), cx_spec(CX_F32, CX_SCALAR));
  o.out[0] = malloc(64);
  const size_t bytes = cx_exe_workspace(o.exe);
  o.workspace = aligned_alloc(64, bytes ? bytes : 64);
  made(w, runs, o, 1000);
}
static void many_arguments(const bench_case *c, bench_work *w) {
  cx leaves[MANY], like = cx_none();
  for (int i = 0; i < MANY; i++) {
    leaves[i] = cx_scalar((double)i, CX_F32);
    like = cx_put(like, leaves[i], "a%02d", i);
  }
  operands o = { .x = cx_unflatten(like, MANY, leaves), .y = cx_none() };
  o.f = cx_jit(c->k ? CX_FN(each_plus_one) : CX_FN(total));
  made(w, calls, o, 200);
}
static void chained(const bench_case *c, bench_work *w) {
  cx x = c->n > 1 ? cx_ones(CX_F32, c->n) : cx_scalar(1.0, CX_F32);
  *w = (bench_work){ .f = CX_FN(chain),
                     .args = { x, cx_mul(x, 1e-3) },
                     .n_args = 2,
                     .inner = 20,
                     .least = 7,
                     .seconds = 0.5 };
}
static void eager(const bench_case *c, bench_work *w) {
  cx x = c->n > 1 ? cx_ones(CX_F32, c->n) : cx_scalar(1.0, CX_F32);
  cx y = c->n > 1 ? x : cx_scalar(2.0, CX_F32);
  made(w, c->k ? adds_one : adds, (operands){ .x = x, .y = y }, 500);
}
#define CASE(name, make, n, k) \
  { "dispatch/" name, make, 0, 0, n, k, CX_F32, "" }
static const bench_case cases[] = {
  CASE("jit_scalar_add", scalar_call, 1, 0),
  CASE("aot_scalar_add", executable, 1, 0),
  CASE("jit_100_args_sum", many_arguments, 1, 0),
  CASE("jit_100_args_100_outs", many_arguments, 1, 1),
  CASE("chain1000_add_scalar", chained, 1, 0),
  CASE("chain1000_add_vec1024", chained, 1024, 0),
  CASE("eager_add", eager, 1, 0),
  CASE("eager_x_plus_1", eager, 1, 1),
  CASE("eager_add_vec1024", eager, 1024, 0),
};
const bench_group bench_dispatch = { 'F', "calls", cases,
                                     sizeof cases / sizeof *cases };
