/* run.c - calx run PROGRAM: a program on the arrays of a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calx/calx.h"
#include "commands.h"
#include "options.h"

typedef struct run {
  const char *path;
  const char *inputs, *outputs, *executor, *grad;
  char **own; /* ARGUMENT=FILE */
  int n_own, times;
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

/* Random keys stand in files as their two words. */
static cx leaf_like(cx like, cx leaf) {
  return cx_type(like) == CX_KEY && cx_type(leaf) == CX_U32
             ? cx_wrap_key_data(leaf)
             : leaf;
}

/* The leaf of a tree: at NAME.PATH, at PATH without a name; a file of one
 * array calls it "array". */
static cx leaf_at(cx tree, const char *name, const char *path) {
  if (*name) return cx_get(tree, "%s%s%s", name, *path ? "." : "", path);
  return cx_get(tree, "%s", *path ? path : "array");
}

/* An argument from the tree that has it under its name, or is it: "". */
static cx argument_of(cx like, cx tree, const char *name) {
  const int n = cx_leaf_count(like);
  cx *leaves = malloc((size_t)n * sizeof *leaves + 1);
  if (!leaves) return cx_fail(CX_EMEMORY, "out of memory");
  for (int k = 0; k < n && cx_ok(); k++)
    leaves[k] =
        leaf_like(cx_leaf(like, k), leaf_at(tree, name, cx_leaf_path(like, k)));
  const cx made = cx_ok() ? cx_unflatten(like, n, leaves) : cx_none();
  free(leaves);
  return made;
}

/* Of the argument whose name has n characters; -1: there is none. */
static int place_of(const cx_program *p, const char *name, size_t n) {
  for (int i = 0; i < cx_program_args(p); i++) {
    const char *own = cx_program_arg_name(p, i);
    if (n && strlen(own) == n && !memcmp(own, name, n)) return i;
  }
  return -1;
}

/* The files of single arguments; false, said, if one is no argument's. */
static bool own_files(const cx_program *p, const run *r, const char **files) {
  for (int i = 0; i < r->n_own; i++) {
    const char *file = strchr(r->own[i], '=');
    const int place =
        file ? place_of(p, r->own[i], (size_t)(file - r->own[i])) : -1;
    if (place < 0) return wrong("no ARGUMENT=FILE: ", r->own[i]), false;
    if (files[place]) return wrong("twice: ", r->own[i]), false;
    files[place] = file + 1;
  }
  return true;
}

/* Arguments without names: the file's arrays in order. */
static cx argument(const cx_program *p, int i, const char *file, cx rest) {
  const cx like = cx_program_arg(p, i);
  const char *name = cx_program_arg_name(p, i);
  if (file) return argument_of(like, cx_load(file), "");
  return *name ? argument_of(like, rest, name)
               : leaf_like(like, cx_leaf(rest, i));
}

static bool arguments_of(const cx_program *p, const run *r, cx *args) {
  const int n = cx_program_args(p);
  const char *files[CX_MAX_ARGS] = { 0 };
  bool missing = false;
  if (!own_files(p, r, files)) return false;
  for (int i = 0; i < n; i++) missing |= !files[i];
  if (!r->inputs && missing) {
    wrong("--inputs is missing; it takes", "");
    print_takes(p);
    return false;
  }
  cx rest = r->inputs ? cx_load(r->inputs) : cx_none();
  for (int i = 0; i < n && cx_ok(); i++)
    args[i] = argument(p, i, files[i], rest);
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
    const int place = place_of(p, r->grad, strlen(r->grad));
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
  int given = 0; /* the program and files of arguments */
  while (given + 1 < argc && argv[given + 1][0] != '-') given++;
  if (!options_read(
          "run", argc - given, argv + given,
          "usage: calx run PROGRAM [ARGUMENT=FILE ...] [OPTIONS]\n\n"
          "Runs a program (.calx, docs/porting.md) on the arrays of files.\n"
          "Arguments without a file of their own are in --inputs.\n",
          options, (int)(sizeof options / sizeof *options), &status))
    return status;
  if (!given) return wrong("a program is missing", "; --help");
  r.path = argv[1], r.own = argv + 2, r.n_own = given - 1;
  cx_ctx *ctx = cx_open(r.executor);
  cx_program *p = ctx ? cx_program_load(r.path) : NULL;
  status = p ? run_program(&r, p) : command_status();
  cx_program_free(p);
  cx_close(ctx);
  return status;
}
