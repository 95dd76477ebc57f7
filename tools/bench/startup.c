/* startup.c - group J: from the start of a process to its first result. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "calx/models/bert.h"

extern char **environ;

CX_DEF(plus_one, x) {
  return cx_add(x, 1.0);
}
static double first_sum(bool jitted) {
  cx x = cx_scalar(1.0, CX_F32);
  return cx_item(jitted ? cx_call(cx_jit(CX_FN(plus_one)), x) : cx_add(x, 1.0));
}
CX_DEF_ENV(encode, bert_config, c, params, ids) {
  return bert_encode(c, params, ids, cx_none(), cx_none(), cx_none(),
                     cx_none());
}
/* Weights for the processes to load; removed at the end. */
static const char *weights_path(void) {
  static char path[256];
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/calx-bench-bert-base-%ld.safetensors",
           folder ? folder : "/tmp", (long)getuid());
  return path;
}
static double first_encoding(void) {
  const bench_bert_size *s = bench_bert_find("bert-base");
  bert_config config = bench_bert_config(s);
  cx params = cx_load(weights_path());
  cx ids = bench_integers("ids", (uint32_t)s->vocabulary, 1, 16);
  cx y = cx_call(cx_jit(CX_BIND_TO(encode, &config)), params, ids);
  return cx_item(cx_mean(cx_abs(y)));
}
int bench_start(const char *name, int threads) {
  cx_ctx *ctx = cx_open("cpu", .threads = threads);
  double value = 0;
  if (!strcmp(name, "jit_x+1"))
    value = first_sum(true);
  else if (!strcmp(name, "eager_x+1"))
    value = first_sum(false);
  else if (!strcmp(name, "bert-base_1x16"))
    value = first_encoding();
  printf("%.9g\n", value);
  fflush(stdout);
  const bool ok = ctx && cx_ok();
  cx_close(ctx);
  return !ok;
}

typedef struct start {
  const char *name;
  char threads[16];
  double value, peak_mb;
} start;

/* Seconds from the start of another calx to the first line it prints. */
static bool take_time(double *out_seconds, void *state) {
  start *s = state;
  int ends[2];
  if (pipe(ends)) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  char *argv[] = { (char *)"calx",
                   (char *)"bench",
                   (char *)"--threads",
                   s->threads,
                   (char *)"--only-start",
                   (char *)s->name,
                   NULL };
  pid_t child;
  const double begin = bench_now();
  const int failed =
      posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  FILE *out = fdopen(ends[0], "r");
  char text[64] = "";
  const bool told = !failed && out && fgets(text, sizeof text, out);
  *out_seconds = bench_now() - begin;
  if (out) fclose(out);
  int status = 1;
  struct rusage usage;
  if (!failed) wait4(child, &status, 0, &usage);
  if (!told || status) return false;
  s->value = strtod(text, NULL);
  s->peak_mb = (double)usage.ru_maxrss / 1024;
  return true;
}
static void tell(bench_line *line, void *state) {
  const start *s = state;
  line->value_name = "result";
  line->value[0] = s->value;
  line->n_values = 1;
  line->peak_mb = s->peak_mb;
}
static void end(void *state) {
  unlink(weights_path());
  free(state);
}
static void make(const bench_case *c, bench_work *w) {
  start *s = calloc(1, sizeof *s);
  if (!s) {
    cx_fail_(CX_AT, CX_EMEMORY, "bench: no memory");
    return;
  }
  s->name = c->text;
  snprintf(s->threads, sizeof s->threads, "%d", w->threads);
  if (c->k)
    cx_save(weights_path(),
            bench_bert_params(bench_bert_find("bert-base"), false, false));
  *w = (bench_work){ .time = take_time,
                     .tell = tell,
                     .end = end,
                     .state = s,
                     .least = c->k ? 4 : 6,
                     .most = 6,
                     .seconds = 0.1 };
}
static const bench_case cases[] = {
  { "startup/jit_x+1", make, 0, 0, 0, 0, CX_F32, "jit_x+1" },
  { "startup/eager_x+1", make, 0, 0, 0, 0, CX_F32, "eager_x+1" },
  { "startup/bert-base_1x16", make, 0, 0, 0, 1, CX_F32, "bert-base_1x16" },
};
const bench_group bench_startup = { 'J', "process starts", cases,
                                    sizeof cases / sizeof *cases };
