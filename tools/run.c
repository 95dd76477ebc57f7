/* run.c - calx run PROGRAM: a program on the arrays of a file. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "calx/calx.h"
#include "commands.h"
#include "options.h"

typedef struct run {
  const char *path;
  const char *inputs, *outputs, *executor, *grad;
  int times;
  bool plan;
} run;

static int wrong(const char *what, const char *more) {
  fprintf(stderr, "calx run: %s%s\n", what, more);
  return 2;
}

/* -- arguments ------------------------------------------------------------ */

/* "params.dense.bias: f32[4]", a line for each leaf that is missing. */
static void print_takes(const cx_program *p) {
  for (int i = 0; i < cx_program_args(p); i++)
    fprintf(stderr, "  %s: %s\n", cx_program_arg_name(p, i),
            cx_show(cx_program_arg(p, i)));
}

/* A key as its two words: random keys stand in no file. */
static cx as_key(cx words) {
  cx_dims shape = cx_shape(words);
  char text[640], dims[240] = "";
  int at = 0;
  for (int i = 0; i + 1 < shape.n; i++)
    at += snprintf(dims + at, sizeof dims - (size_t)at, "%s%lld", i ? "," : "",
                   (long long)shape.d[i]);
  snprintf(text, sizeof text,
           "program @wrap(%%0: u32[%s%s2]) { %%1: key[%s] = random_wrap %%0 "
           "return %%1 }",
           dims, *dims ? "," : "", dims);
  return cx_call(cx_parse(text), words);
}

static cx leaf_like(cx like, cx leaf) {
  return cx_type(like) == CX_KEY && cx_type(leaf) == CX_U32 ? as_key(leaf)
                                                            : leaf;
}

/* The argument from the file's tree: what stands at its name. */
static cx argument_of(const cx_program *p, int i, cx tree) {
  const char *name = cx_program_arg_name(p, i);
  cx like = cx_program_arg(p, i), leaves[1024];
  const int n = cx_leaf_count(like);
  if (n > 1024) return cx_tree_match(like, cx_get(tree, "%s", name), NULL);
  for (int k = 0; k < n; k++) {
    const char *path = cx_leaf_path(like, k);
    leaves[k] = leaf_like(cx_leaf(like, k),
                          cx_get(tree, "%s%s%s", name, *path ? "." : "", path));
  }
  return cx_unflatten(like, n, leaves);
}

/* Arguments without names: the file's arrays in order. */
static bool arguments_of(const cx_program *p, const run *r, cx *args) {
  const int n = cx_program_args(p);
  if (!r->inputs && n) {
    wrong("--inputs is missing; it takes", "");
    print_takes(p);
    return false;
  }
  cx tree = r->inputs ? cx_load(r->inputs) : cx_none();
  if (!cx_ok()) return false;
  for (int i = 0; i < n; i++)
    args[i] =
        *cx_program_arg_name(p, i) ? argument_of(p, i, tree) : cx_leaf(tree, i);
  if (cx_ok()) return true;
  fprintf(stderr, "calx run: %s takes\n", r->path);
  print_takes(p);
  return false;
}

/* -- running -------------------------------------------------------------- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of the argument that is named; -1: there is none. */
static int place_of(const cx_program *p, const char *name) {
  for (int i = 0; i < cx_program_args(p); i++)
    if (!strcmp(cx_program_arg_name(p, i), name)) return i;
  return -1;
}

static void print_leaf(cx tree, int i) {
  const char *path = cx_leaf_path(tree, i);
  printf("%s%s", path, *path ? ": " : "");
  cx_print(cx_leaf(tree, i));
}

static bool give(const run *r, cx result) {
  if (r->outputs) return cx_save(r->outputs, result);
  for (int i = 0; i < cx_leaf_count(result); i++) print_leaf(result, i);
  return cx_ok();
}

static cx timed_call(const run *r, cx_fn f, int n, const cx *args) {
  double begin = now();
  cx result = cx_call_n(f, n, args);
  cx_wait(result);
  if (r->times && cx_ok())
    fprintf(stderr, "first call %.3f ms\n", 1e3 * (now() - begin));
  double best = 1e30;
  for (int i = 0; i < r->times && cx_ok(); i++) {
    CX_SCOPE;
    begin = now();
    cx_wait(cx_call_n(f, n, args));
    if (now() - begin < best) best = now() - begin;
  }
  if (r->times && cx_ok())
    fprintf(stderr, "best of %d more %.3f ms\n", r->times, 1e3 * best);
  return result;
}

static int run_program(const run *r, const cx_program *p) {
  cx args[CX_MAX_ARGS];
  const int n = cx_program_args(p);
  if (n > CX_MAX_ARGS) return wrong(r->path, ": too many arguments");
  if (!arguments_of(p, r, args)) return command_status() ? 1 : 2;
  cx_fn f = cx_program_fn(p);
  if (r->grad) {
    const int place = place_of(p, r->grad);
    if (place < 0) return wrong("no argument is called ", r->grad);
    f = cx_value_and_grad(f, .wrt = CX_ARGS(place));
  }
  f = cx_jit(f);
  if (r->plan) {
    cx_exe *exe = cx_compile_(f, n, args, CX_AT);
    if (exe) fputs(cx_exe_plan(exe), stdout);
    cx_exe_free(exe);
    return command_status();
  }
  give(r, timed_call(r, f, n, args));
  return command_status();
}

int command_run(int argc, char **argv) {
  run r = { .executor = "cpu" };
  const option options[] = {
    { "inputs", OPTION_TEXT, &r.inputs, 0, 0,
      "FILE  its arguments: a tree with their names" },
    { "outputs", OPTION_TEXT, &r.outputs, 0, 0,
      "FILE  where its result goes; without it, it is printed" },
    { "grad", OPTION_TEXT, &r.grad, 0, 0,
      "ARGUMENT  value and gradient with respect to it" },
    { "executor", OPTION_TEXT, &r.executor, 0, 0,
      "reference|cpu  what runs it" },
    { "time", OPTION_COUNT, &r.times, 1, 1e6,
      "N  runs it N times more and prints times" },
    { "plan", OPTION_FLAG, &r.plan, 0, 0, " prints its buffers, runs nothing" },
  };
  int status;
  const int given = argc > 1 && argv[1][0] != '-'; /* the program */
  if (!options_read(
          "run", argc - given, argv + given,
          "usage: calx run PROGRAM [OPTIONS]\n\n"
          "Runs a program (.calx, docs/porting.md) on the arrays of a "
          "file.\n",
          options, (int)(sizeof options / sizeof *options), &status))
    return status;
  if (!given) return wrong("a program is missing", "; --help");
  r.path = argv[1];
  cx_ctx *ctx = cx_open(r.executor);
  cx_program *p = ctx ? cx_program_load(r.path) : NULL;
  status = p ? run_program(&r, p) : command_status();
  cx_program_free(p);
  cx_close(ctx);
  return status;
}
