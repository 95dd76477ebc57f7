/* compiling.c - group G: tracing functions and making executables of them. Each
 * time it is another program, so that nothing is found in a cache. */
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/training.h"
#include "calx/models/optimizer.h"

typedef enum stage { TRACE, COMPILE } stage;
typedef enum what { FORWARD, TRAIN, SINES, SINES_GRAD, SINES_VMAP } what;

/* -- functions --------------------------------------------------------------- */

CX_DEF_ENV(forward, bert_config, c, params, ids, mask) {
  return bert_encode(c, params, ids, cx_none(), mask, cx_none(), cx_none());
}
CX_STRUCT(chain, (int, length));
CX_DEF_ENV(sines, chain, e, x) {
  for (int i = 0; i < e->length; i++) x = cx_sin(x);
  return x;
}
CX_DEF_ENV(sum_of_sines, chain, e, x) {
  return cx_sum(sines(e, x));
}

typedef struct job {
  what what;
  stage stage;
  int length; /* of a chain */
  int number; /* of functions made */
  const bench_bert_size *size;
  cx args[5]; /* specs, kept */
  int n_args;
} job;

/* Another program each time: a longer chain, another number in every layer. */
static cx_fn next_function(job *j) {
  const chain sequence = { .length = j->length + j->number };
  bert_config bert = { 0 };
  if (j->size) bert = bench_bert_config(j->size);
  bert.layer_norm_eps *= 1 + 1e-3 * j->number;
  j->number++;
  switch (j->what) {
  case FORWARD:
    return CX_BIND_TO(forward, &bert);
  case TRAIN:
    return CX_BIND_TO(bench_train_step, &bert);
  case SINES:
    return CX_BIND_TO(sines, &sequence);
  case SINES_GRAD:
    return cx_grad(CX_BIND_TO(sum_of_sines, &sequence));
  default:
    return cx_vmap(CX_BIND_TO(sines, &sequence));
  }
}
/* Seconds of tracing, or of making an executable of what was traced. */
static bool take_time(double *out_seconds, void *state) {
  job *j = state;
  CX_SCOPE;
  cx_fn f = next_function(j);
  double start = bench_now();
  cx_program *program = cx_trace_(f, j->n_args, j->args, CX_AT);
  if (j->stage == COMPILE) {
    start = bench_now();
    cx_exe_free(cx_compile_(f, j->n_args, j->args, CX_AT));
  }
  *out_seconds = bench_now() - start;
  cx_program_free(program);
  return cx_ok();
}
static void end(void *state) {
  job *j = state;
  for (int i = 0; i < j->n_args; i++) cx_drop(j->args[i]);
  free(j);
}
static cx adam_spec(cx params) {
  return cx_dict("m", params, "t", cx_spec(CX_I32, CX_SCALAR), "v", params);
}
static void arguments(job *j) {
  cx ids = cx_spec(CX_I32, j->what == TRAIN ? 4 : 8, 128);
  if (j->size) j->args[0] = bench_bert_params(j->size, j->what == TRAIN, true);
  switch (j->what) {
  case FORWARD:
    j->args[1] = ids, j->args[2] = ids;
    j->n_args = 3;
    break;
  case TRAIN:
    j->args[1] = adam_spec(j->args[0]);
    j->args[2] = ids, j->args[3] = ids, j->args[4] = cx_spec(CX_F32, 4, 128);
    j->n_args = 5;
    break;
  case SINES_VMAP:
    j->args[0] = cx_spec(CX_F32, 4, 16), j->n_args = 1;
    break;
  default:
    j->args[0] = cx_spec(CX_F32, 16), j->n_args = 1;
  }
  for (int i = 0; i < j->n_args; i++) j->args[i] = cx_keep(j->args[i]);
}
static void make(const bench_case *c, bench_work *w) {
  job *j = calloc(1, sizeof *j);
  if (!j) {
    cx_fail_(CX_AT, CX_EMEMORY, "bench: no memory");
    return;
  }
  j->what = (what)c->m, j->stage = (stage)c->k, j->length = (int)c->n;
  if (j->what <= TRAIN) j->size = bench_bert_find("bert-base");
  arguments(j);
  *w = (bench_work){ .time = take_time,
                     .end = end,
                     .state = j,
                     .least = 3,
                     .most = 7,
                     .seconds = 3 };
}
#define STAGES(name, what, length)                                            \
  {                                                                           \
    "trace_compile/" name "/trace", make, 0, what, length, TRACE, CX_F32, ""  \
  },                                                                          \
  {                                                                           \
    "trace_compile/" name "/compile", make, 0, what, length, COMPILE, CX_F32, \
        ""                                                                    \
  }
static const bench_case cases[] = {
  STAGES("bert-base-fwd/unrolled", FORWARD, 0),
  STAGES("bert-base-train/unrolled", TRAIN, 0),
  STAGES("sin-chain-1000", SINES, 1000),
  STAGES("sin-chain-10000/fn", SINES, 10000),
  STAGES("sin-chain-10000/grad", SINES_GRAD, 10000),
  STAGES("sin-chain-10000/vmap", SINES_VMAP, 10000),
};
const bench_group bench_compiling = { 'G', "tracing and compiling", cases,
                                      sizeof cases / sizeof *cases };
