/* bench.c - calx bench: chooses cases, calls them, takes times. */
#include "bench/bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/report.h"
#include "commands.h"

enum { MOST_TIMES = 1000 };

static const bench_group *const groups[] = {
  &bench_products,   &bench_encoder,  &bench_training,  &bench_xl,
  &bench_classifier, &bench_dispatch, &bench_compiling, &bench_loops,
  &bench_operations, &bench_startup,  &bench_memory,
};
enum { N_GROUPS = sizeof groups / sizeof *groups };

static clockid_t timer = CLOCK_MONOTONIC;
double bench_now(void) {
  struct timespec t;
  clock_gettime(timer, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* -- one case: work that is called ------------------------------------------ */

typedef struct running {
  const bench_work *work;
  cx_fn f;
  cx args[12]; /* kept */
  double losses[BENCH_VALUES];
  int n_losses;
} running;

static bool begin(running *r, const bench_work *w) {
  uint64_t carried = 0;
  for (int i = 0; i < w->carried; i++) carried |= 1ull << i;
  *r = (running){ .work = w };
  if (w->f) r->f = cx_jit(w->f, .donate = (cx_args){ .bits = carried });
  for (int i = 0; i < w->n_args; i++) r->args[i] = cx_keep(w->args[i]);
  return cx_ok();
}
static void end(running *r) {
  for (int i = 0; i < r->work->n_args; i++) cx_drop(r->args[i]);
  if (r->work->end) r->work->end(r->work->state);
}
static cx result_leaf(const running *r, cx result) {
  return cx_leaf(result, r->work->leaf);
}
/* One call; what is carried becomes the next one's arguments. The result, if
 * `out_result` is given, belongs to the caller's scope. */
static void call(running *r, cx *out_result) {
  const bench_work *w = r->work;
  CX_SCOPE;
  cx result = cx_call_(r->f, w->n_args, r->args, CX_AT);
  cx_wait(result);
  for (int i = 0; i < w->carried; i++) cx_swap(&r->args[i], cx_nth(result, i));
  if (w->value == BENCH_LOSSES && r->n_losses < BENCH_VALUES)
    r->losses[r->n_losses++] = cx_item(result_leaf(r, result));
  if (out_result) *out_result = cx_escape(result);
}
/* `inner` calls, or turns of what the work does itself. */
static bool turn(running *r, int inner) {
  if (r->work->turns) return r->work->turns(inner, r->work->state);
  for (int i = 0; i < inner; i++) call(r, NULL);
  return cx_ok();
}

static double mean_size(cx x, int64_t most) {
  cx flat = cx_reshape(cx_cast(x, CX_F64), -1);
  if (cx_size(flat) > most) flat = cx_index(flat, CX_TO(most));
  return cx_item(cx_mean(cx_abs(flat)));
}
static void take_value(const running *r, cx result, bench_line *line) {
  const bench_value kind = r->work->value;
  line->value_name = kind == BENCH_FIRST_3 ? "result" : "check";
  if (kind == BENCH_MEAN || kind == BENCH_MEAN_1000) {
    line->value[0] = mean_size(result_leaf(r, result),
                               kind == BENCH_MEAN ? INT64_MAX : 1000);
    line->n_values = 1;
  }
  if (kind == BENCH_OWN) {
    line->value[0] = cx_item(r->work->own_value(result, r->work));
    line->n_values = 1;
  }
  if (kind == BENCH_FIRST_3) {
    cx x = cx_reshape(cx_cast(result_leaf(r, result), CX_F64), -1);
    const int64_t n = cx_size(x);
    for (int i = 0; i < 3 && i < n; i++)
      line->value[line->n_values++] = cx_item(cx_index(x, i));
  }
}
static void take_losses(const running *r, bench_line *line) {
  if (r->work->value != BENCH_LOSSES) return;
  line->value_name = "loss";
  line->n_values = r->n_losses;
  memcpy(line->value, r->losses, sizeof line->value);
}

/* Times until `seconds` have passed, at least `least`, at most `most`. */
static bool take_times(running *r, const bench_options *o, bench_line *line) {
  const bench_work *w = r->work;
  const int inner = w->inner ? w->inner : 1;
  int least = o->quick ? 1 : w->least ? w->least : 3;
  int most = o->quick ? 3 : w->most ? w->most : 300;
  double seconds = o->quick ? 0.05 : w->seconds > 0 ? w->seconds : 0.7;
  if (w->value == BENCH_LOSSES && least < BENCH_VALUES) least = BENCH_VALUES;
  if (most < least) most = least;
  const double stop = bench_now() + seconds;
  for (line->n = 0; line->n < most; line->n++) {
    const double start = bench_now();
    if (line->n >= least && start > stop) break;
    double *seconds_of_one = &line->seconds[line->n];
    if (w->time ? !w->time(seconds_of_one, w->state) : !turn(r, inner))
      return false;
    if (!w->time) *seconds_of_one = (bench_now() - start) / inner;
  }
  return true;
}
static bool measure(const bench_case *c, const bench_work *w,
                    const bench_options *o) {
  static double seconds[MOST_TIMES];
  bench_line line = {
    .name = c->name, .seconds = seconds, .gflop = w->gflop, .gbytes = w->gbytes
  };
  running r;
  bool ok = begin(&r, w);
  if (ok && w->f) {
    cx result;
    call(&r, &result);
    take_value(&r, result, &line);
  }
  ok = ok && cx_ok() && take_times(&r, o, &line);
  take_losses(&r, &line);
  if (ok && w->tell) w->tell(&line, w->state);
  end(&r);
  return ok && cx_ok() && bench_report(o, &line);
}

/* A context for each case, so that none finds what another left. */
static bool run_case(const bench_case *c, const bench_options *o) {
  cx_ctx *ctx = cx_open("cpu", .threads = o->threads);
  if (!ctx) return !command_status();
  bench_work work = { .threads = o->threads };
  c->make(c, &work);
  bool ok = measure(c, &work, o);
  const char *message;
  if (cx_error(&message) != CX_OK) {
    fprintf(stderr, "calx bench: %s: %s\n", c->name, message);
    ok = false;
  }
  cx_close(ctx);
  return ok;
}

/* -- the command line ------------------------------------------------------- */

/* A word is the letter of a group, or part of a case's name; "-" before it
 * leaves those out. */
static bool names(const char *word, char letter, const char *name) {
  return (word[0] == letter && !word[1]) || strstr(name, word);
}
static bool chosen(int n, char **words, char letter, const char *name) {
  bool any = false, in = false;
  for (int i = 0; i < n; i++) {
    if (words[i][0] == '-') {
      if (names(words[i] + 1, letter, name)) return false;
      continue;
    }
    any = true;
    in = in || names(words[i], letter, name);
  }
  return in || !any;
}
/* That a word names a case, so that none is passed over for its spelling. */
static bool known(const char *word) {
  if (word[0] == '-') word++;
  for (int g = 0; g < N_GROUPS; g++)
    for (int i = 0; i < groups[g]->n; i++)
      if (names(word, groups[g]->letter, groups[g]->cases[i].name)) return true;
  return false;
}
static bool all_known(int n, char **words) {
  for (int i = 0; i < n; i++)
    if (!known(words[i])) {
      fprintf(stderr, "calx bench: no case \"%s\"; --list names them\n",
              words[i]);
      return false;
    }
  return true;
}
static int help(FILE *out) {
  fputs(
      "usage: calx bench [OPTIONS] [LETTER|NAME|-NAME...]\n\n"
      "Times cases: those of the groups and names given, but for -NAME; all\n"
      "without one. docs/benchmarks.md tells what each does. A name may be a\n"
      "part of one.\n\n"
      "  --threads N    threads (2)\n"
      "  --json         one JSON object a line\n"
      "  --quick        few calls: for the values, not the times\n"
      "  --checks FILE  compares the values with recorded ones\n"
      "  --list         only names the cases\n",
      out);
  return out == stderr ? 2 : 0;
}
static int list(int n, char **words) {
  if (!all_known(n, words)) return 2;
  for (int g = 0; g < N_GROUPS; g++)
    for (int i = 0; i < groups[g]->n; i++)
      if (chosen(n, words, groups[g]->letter, groups[g]->cases[i].name))
        printf("%c %s\n", groups[g]->letter, groups[g]->cases[i].name);
  return 0;
}
static int run(int n, char **words, const bench_options *o) {
  int status = 0, found = 0;
  if (!all_known(n, words)) return 2;
  for (int g = 0; g < N_GROUPS; g++)
    for (int i = 0; i < groups[g]->n; i++) {
      const bench_case *c = &groups[g]->cases[i];
      if (!chosen(n, words, groups[g]->letter, c->name)) continue;
      found++;
      if (!run_case(c, o)) status = 1;
    }
  if (!found) fprintf(stderr, "calx bench: no case is left\n");
  return found ? status : 2;
}
/* The next option, or -1 at the end: words may stand before, between and after
 * options, and move to argv[1...]. A word may begin with one "-". */
static int next_option(int argc, char **argv, const struct option *options,
                       int *n_words) {
  for (bool ended = false; optind < argc;) {
    const char *a = argv[optind];
    if (!ended && a[0] == '-' && (a[1] == '-' || !strcmp(a, "-h"))) {
      const int option = getopt_long(argc, argv, "+h", options, NULL);
      if (option != -1) return option;
      ended = true; /* by "--" */
    } else
      argv[1 + (*n_words)++] = argv[optind++];
  }
  return -1;
}
int command_bench(int argc, char **argv) {
  static const struct option options[] = {
    { "threads", required_argument, NULL, 't' },
    { "own-time", no_argument, NULL, 'o' },
    { "json", no_argument, NULL, 'j' },
    { "quick", no_argument, NULL, 'q' },
    { "checks", required_argument, NULL, 'c' },
    { "list", no_argument, NULL, 'l' },
    { "only-start", required_argument, NULL, 's' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  bench_options o = { .threads = 2 };
  bench_checks *checks = NULL;
  bool list_only = false;
  const char *start = NULL;
  int n_words = 0;
  for (int option;
       (option = next_option(argc, argv, options, &n_words)) != -1;) {
    if (option == 'h') return help(stdout);
    if (option == 'o')
      timer = CLOCK_PROCESS_CPUTIME_ID, o.threads = 1;
    else if (option == 'j')
      o.json = true;
    else if (option == 'q')
      o.quick = true;
    else if (option == 'l')
      list_only = true;
    else if (option == 's')
      start = optarg;
    else if (option == 't' && atoi(optarg) > 0)
      o.threads = atoi(optarg);
    else if (option != 'c' || checks)
      return help(stderr);
    else if (!(o.checks = checks = bench_checks_load(optarg)))
      return 1;
  }
  int status = 0;
  if (start)
    status = bench_start(start, o.threads);
  else if (list_only)
    status = list(n_words, argv + 1);
  else
    status = run(n_words, argv + 1, &o);
  bench_checks_free(checks);
  return status;
}
