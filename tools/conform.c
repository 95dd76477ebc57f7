/* conform.c - calx conform: recorded programs, run and compared. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "compare.h"
#include "derive.h"
#include "jaxpr_text.h"
#include "primals.h"
#include "promotion.h"
#include "record.h"
#include "tables.h"
#include "train.h"

typedef enum mode { MODE_EVAL, MODE_GRAD, MODE_VMAP, MODE_TEXT } mode;

/* Why records were left out, with counts. */
typedef struct reason {
  char what[96];
  int n;
} reason;
/* A record that differs for a reason that is known: --known. */
typedef struct known {
  char name[320], kind[32], why[96];
} known;
typedef struct conform {
  mode mode;
  bool verbose, digests;
  uint64_t digest; /* of all results so far */
  const char *file;
  int passed, failed, skipped;
  reason reasons[128];
  int n_reasons;
  known known[64];
  int n_known;
  primals primals, given; /* of the file; of --functions */
  const char *doubt; /* why a difference would tell nothing; NULL: it would */
} conform;

static const char *text_of(const json_t *record, const char *name) {
  const char *s = json_string_value(json_object_get(record, name));
  return s ? s : "?";
}

static void count(conform *c, const char *what) {
  c->skipped++;
  for (int i = 0; i < c->n_reasons; i++)
    if (!strcmp(c->reasons[i].what, what)) {
      c->reasons[i].n++;
      return;
    }
  if (c->n_reasons == sizeof c->reasons / sizeof *c->reasons) return;
  reason *r = &c->reasons[c->n_reasons++];
  snprintf(r->what, sizeof r->what, "%s", what);
  r->n = 1;
}

static void skip(conform *c, const json_t *record, const char *what) {
  count(c, what);
  if (c->verbose)
    printf("left out %s (%s): %s\n", text_of(record, "name"),
           text_of(record, "kind"), what);
}

static const char *known_reason(const conform *c, const json_t *record) {
  for (int i = 0; i < c->n_known; i++)
    if (!strcmp(c->known[i].name, text_of(record, "name")) &&
        !strcmp(c->known[i].kind, text_of(record, "kind")))
      return c->known[i].why;
  return NULL;
}

/* Cases whose value is a choice or a goal count as left out if they differ,
 * as do those that are known to differ. */
static void fail(conform *c, const json_t *record, const char *why) {
  const char *status = text_of(record, "status");
  const char *excuse = known_reason(c, record);
  if (!excuse && !strncmp(status, "choice", 6)) excuse = "a choice";
  if (!excuse && !strncmp(status, "goal", 4)) excuse = "an accuracy goal";
  if (!excuse) excuse = c->doubt;
  bool open = excuse != NULL;
  if (open)
    count(c, excuse);
  else
    c->failed++;
  if (!open || c->verbose)
    printf("%s %s (%s): %s\n", open ? "differs" : "FAILED",
           text_of(record, "name"), text_of(record, "kind"), why);
}

static void pass(conform *c, const json_t *record) {
  c->passed++;
  if (c->verbose)
    printf("passed %s (%s)\n", text_of(record, "name"),
           text_of(record, "kind"));
}

/* An error that is kept says more than why. */
static void judge(conform *c, const json_t *record, bool ok, const char *why) {
  const char *message;
  if (cx_error(&message) != CX_OK)
    fail(c, record, message);
  else if (!ok)
    fail(c, record, why);
  else
    pass(c, record);
}

/* -- comparing ------------------------------------------------------------ */

/* FNV-1a, 64 bits. */
static void digest(conform *c, const void *bytes, size_t n) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < n; i++)
    c->digest = (c->digest ^ at[i]) * UINT64_C(1099511628211);
}

static void digest_result(conform *c, cx result) {
  for (int i = 0; i < cx_leaf_count(result); i++) {
    const cx x = cx_leaf(result, i);
    static const size_t sizes[] = {
      0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8
    }; /* by cx_dtype */
    const void *data = cx_data(x);
    if (data) digest(c, data, (size_t)cx_size(x) * sizes[cx_type(x)]);
  }
}

static void check_outputs(conform *c, const json_t *record, cx result) {
  const double tol = json_number_value(json_object_get(record, "tol"));
  char why[256] = "";
  if (c->digests && cx_ok()) digest_result(c, result);
  judge(c, record,
        cx_ok() && compare_outputs(result, json_object_get(record, "out"), tol,
                                   why, sizeof why),
        why);
}

/* -- running -------------------------------------------------------------- */

/* The constants of the program, then the recorded inputs. */
static int inputs_of(const json_t *jaxpr, const json_t *record, cx *in,
                     int most) {
  const json_t *lists[2] = { json_object_get(jaxpr, "consts"),
                             json_object_get(record, "in") };
  int n = 0;
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < json_array_size(lists[k]); i++)
      if (n < most) in[n++] = record_array(json_array_get(lists[k], i));
  return n;
}

static void print_text(const conform *c, const char *text) {
  if (c->verbose) printf("%s", text);
}

static void run_eval(conform *c, const json_t *record, const char *text) {
  cx in[JAXPR_MAX];
  int n = inputs_of(json_object_get(record, "jaxpr"), record, in, JAXPR_MAX);
  print_text(c, text);
  check_outputs(c, record, cx_call_n(cx_jit(cx_parse(text)), n, in));
}

/* Printed, parsed and printed again; then the second program runs. */
static void run_text(conform *c, const json_t *record, const char *text) {
  cx in[JAXPR_MAX];
  cx_program *first = cx_program_parse(text);
  cx_program *second = first ? cx_program_parse(cx_program_text(first)) : NULL;
  const char *message;
  if (!second) {
    cx_error(&message);
    fail(c, record, message);
  } else if (strcmp(cx_program_text(first), cx_program_text(second)) != 0) {
    fail(c, record, "its text changes when it is parsed and printed again");
  } else {
    int n = inputs_of(json_object_get(record, "jaxpr"), record, in, JAXPR_MAX);
    check_outputs(c, record, cx_call_n(cx_program_fn(second), n, in));
  }
  cx_program_free(first);
  cx_program_free(second);
}

/* -- derived kinds -------------------------------------------------------- */

/* Steps of Adam on the primal program's loss. */
static void run_training(conform *c, const json_t *record, cx_fn f) {
  char why[256] = "";
  judge(c, record, train_matches(f, record, why, sizeof why), why);
}

/* The jaxpr of a derived record is what JAX made; only its results count. */
static void run_derived(conform *c, json_t *record, const char *kind) {
  const json_t *in = json_object_get(record, "in");
  cx items[JAXPR_MAX];
  char why[96];
  origin o;
  bool handled;
  if (!strncmp(text_of(record, "status"), "jax_wrong", 9)) {
    skip(c, record, "jax_wrong: the primal program is JAX's formula");
    return;
  }
  if (!primals_origin(&c->primals, &c->given, record, &o, why, sizeof why)) {
    skip(c, record, why);
    free(o.text);
    return;
  }
  print_text(c, o.text);
  free(o.text);
  if (!strcmp(kind, "adam_step") || !strcmp(kind, "trajectory")) {
    run_training(c, record, o.f);
    return;
  }
  cx_fn f = derive_kind(o.f, o.kind, o.specs, record, &handled);
  if (!handled) {
    snprintf(why, sizeof why, "kind %.60s", kind);
    cx_error(NULL);
    skip(c, record, why);
    return;
  }
  int n = 0;
  for (size_t i = 0; i < json_array_size(in) && n < JAXPR_MAX; i++)
    items[n++] = record_array(json_array_get(in, i));
  if (o.told)
    c->doubt = "differs from the function it tells: a custom rule may be lost";
  check_outputs(c, record, cx_call(cx_jit(f), cx_tuple_n(n, items)));
  c->doubt = NULL;
}

/* -- files ---------------------------------------------------------------- */

static void run_program(conform *c, const json_t *record, const char *text,
                        const jaxpr_writer *w) {
  if (!text && w->missing[0])
    skip(c, record, w->missing);
  else if (!text)
    fail(c, record, w->error);
  else if (c->mode == MODE_TEXT)
    run_text(c, record, text);
  else
    run_eval(c, record, text);
}

static void each_promotion(const json_t *record, const char *why, void *user) {
  judge(user, record, !*why, why);
}

static bool each_record(json_t *record, void *user) {
  conform *c = user;
  CX_SCOPE;
  if (table_is_special(record)) return table_each(record, each_record, c);
  if (table_is_promotion(record))
    return c->mode != MODE_EVAL || promotion_each(record, each_promotion, c);
  const char *kind = text_of(record, "kind");
  if (!strcmp(kind, "?")) {
    fprintf(stderr, "calx: %s: not records of programs, passed over\n",
            c->file);
    return true;
  }
  const bool derived = c->mode == MODE_GRAD || c->mode == MODE_VMAP;
  jaxpr_writer w = { 0 };
  char *text = derived ? NULL : primals_text(record, &w);
  cx_error(NULL);
  if (!derived) {
    /* Without a program of its own it belongs to the derived modes alone. */
    if (text || json_object_get(record, "jaxpr"))
      run_program(c, record, text, &w);
    else if (w.missing[0])
      skip(c, record, w.missing);
  } else {
    if (!primals_add(&c->primals, record)) return false;
    if (strcmp(kind, "primal") != 0 && strcmp(kind, "fwd") != 0 &&
        derive_is_vmap(kind) == (c->mode == MODE_VMAP))
      run_derived(c, record, kind);
  }
  cx_error(NULL);
  free(text);
  return true;
}

static bool each_function(json_t *record, void *user) {
  conform *c = user;
  return primals_add(&c->given, record);
}

/* Lines of name, kind and reason between tabs; '#' begins a comment. */
static bool read_known(conform *c, const char *path) {
  FILE *f = fopen(path, "r");
  char line[512];
  if (!f) return false;
  while (fgets(line, sizeof line, f)) {
    known *k = &c->known[c->n_known];
    if (line[0] == '#' || c->n_known == sizeof c->known / sizeof *c->known)
      continue;
    if (sscanf(line, "%319[^\t]\t%31[^\t]\t%95[^\n]", k->name, k->kind,
               k->why) == 3)
      c->n_known++;
  }
  fclose(f);
  return true;
}

static void help(FILE *out) {
  fprintf(
      out,
      "usage: calx conform [OPTIONS] FILE...\n\n"
      "Runs recorded programs (JSON lines, plain or gzip) and compares with\n"
      "the recorded results, each to its own tolerance.\n\n"
      "  --executor reference|cpu   what runs them (default: cpu)\n"
      "  --mode eval|grad|vmap|text (default: eval)\n"
      "      eval   every recorded program\n"
      "      text   the same, printed and parsed again before it runs\n"
      "      grad   own jvp, vjp, grad of the primal programs\n"
      "      vmap   own vmap of the primal programs, and their derivatives\n"
      "  --known FILE               records that differ, with the reasons\n"
      "  --functions FILE           primal programs of records that have none\n"
      "  --threads N                (default: as many as there are)\n"
      "  --digest                   a hash of all results' bits, at the end\n"
      "  --verbose                  each record, and the programs as text\n");
}

static int by_count(const void *a, const void *b) {
  return ((const reason *)b)->n - ((const reason *)a)->n;
}

static bool set_mode(conform *c, const char *name) {
  static const char *const names[] = { "eval", "grad", "vmap", "text" };
  for (int i = 0; i < 4; i++)
    if (!strcmp(name, names[i])) return c->mode = (mode)i, true;
  return false;
}

int command_conform(int argc, char **argv) {
  static const struct option options[] = {
    { "executor", required_argument, NULL, 'e' },
    { "mode", required_argument, NULL, 'm' },
    { "known", required_argument, NULL, 'k' },
    { "functions", required_argument, NULL, 'f' },
    { "threads", required_argument, NULL, 't' },
    { "digest", no_argument, NULL, 'd' },
    { "verbose", no_argument, NULL, 'v' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  conform c = { .mode = MODE_EVAL, .digest = UINT64_C(14695981039346656037) };
  const char *executor = "cpu";
  int threads = 0;
  char why[512];
  bool ok = true;
  for (int option;
       (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
    if (option == 'h') return help(stdout), 0;
    if (option == 'e')
      executor = optarg;
    else if (option == 'v')
      c.verbose = true;
    else if (option == 'd')
      c.digests = true;
    else if (option == 't' && atoi(optarg) > 0)
      threads = atoi(optarg);
    else if (option == 'k') {
      if (read_known(&c, optarg)) continue;
      fprintf(stderr, "calx: %s cannot be opened\n", optarg);
      return 1;
    } else if (option == 'f') {
      if (record_each(optarg, each_function, &c, why, sizeof why)) continue;
      fprintf(stderr, "calx: %s\n", why);
      return 1;
    } else if (option != 'm' || !set_mode(&c, optarg))
      return help(stderr), 2;
  }
  if (optind == argc) return help(stderr), 2;
  cx_ctx *ctx = cx_open(executor, .threads = threads);
  if (!ctx) return command_status();
  cx_promotion(CX_PROMOTE_JAX);
  for (int i = optind; i < argc; i++) {
    c.file = argv[i];
    const char *name = strrchr(argv[i], '/') ? strrchr(argv[i], '/') : argv[i];
    if (!strstr(name, ".json")) {
      fprintf(stderr, "calx: %s: not JSON, passed over\n", argv[i]);
      continue;
    }
    if (!record_each(argv[i], each_record, &c, why, sizeof why)) {
      fprintf(stderr, "calx: %s\n", why);
      ok = false;
    }
    primals_forget(&c.primals);
  }
  primals_free(&c.primals);
  primals_free(&c.given);
  cx_close(ctx);
  qsort(c.reasons, (size_t)c.n_reasons, sizeof *c.reasons, by_count);
  for (int i = 0; i < c.n_reasons; i++)
    printf("skipped %5d: %s\n", c.reasons[i].n, c.reasons[i].what);
  if (c.digests) printf("digest %016llx\n", (unsigned long long)c.digest);
  printf("%d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped);
  return ok && c.failed == 0 ? 0 : 1;
}
