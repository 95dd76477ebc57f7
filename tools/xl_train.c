/* xl_train.c - calx xl train: a character model from a text. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calx/models/nn.h"
#include "calx/models/optimizer.h"
#include "commands.h"
#include "xl.h"
#include "memory.h"
#include "options.h"
#include "xl_model.h"

typedef struct settings {
  const char *text, *output, *resume;
  double seconds, lr, warmup, clip, dropout;
  int steps, stop;
  int layers, width, heads, inner, memory, segment, batch, seed, threads;
  bool checkpoint;
} settings;

static const char usage[] =
    "usage: calx xl train --text FILE --output FILE [OPTION VALUE]...\n\n"
    "Trains a Transformer-XL on the bytes of a text, plain or gzip: on its\n"
    "first 90 %, and evaluates on its last 5 %. The output (.safetensors) is\n"
    "what `calx xl generate` reads. It ends after --steps steps, or without\n"
    "that after --seconds; with --steps, equal settings give equal bits with\n"
    "any number of threads, also if the run was stopped and resumed.\n";

static settings read_settings(int argc, char **argv, bool *out_go,
                              int *out_status) {
  settings s = { .seconds = 60,
                 .lr = 2e-3,
                 .warmup = 0.05,
                 .clip = 0.25,
                 .layers = 2,
                 .width = 128,
                 .heads = 4,
                 .inner = 512,
                 .memory = 64,
                 .segment = 32,
                 .batch = 16 };
  const option options[] = {
    { "text", OPTION_TEXT, &s.text, 0, 0, "FILE  the text" },
    { "output", OPTION_TEXT, &s.output, 0, 0, "FILE  the trained model" },
    { "seconds", OPTION_NUMBER, &s.seconds, 1, 1e6, "N  time to train" },
    { "steps", OPTION_COUNT, &s.steps, 0, 1e9, "N  steps to train instead" },
    { "stop", OPTION_COUNT, &s.stop, 0, 1e9,
      "N  save after this one of --steps, to be resumed" },
    { "resume", OPTION_TEXT, &s.resume, 0, 0,
      "FILE  go on from this model; its sizes hold" },
    { "layers", OPTION_COUNT, &s.layers, 1, CX_MAX_ARGS, "N" },
    { "width", OPTION_COUNT, &s.width, 2, 8192, "N  numbers of a position" },
    { "heads", OPTION_COUNT, &s.heads, 1, 128, "N  that share the width" },
    { "inner", OPTION_COUNT, &s.inner, 1, 65536, "N  of the feed-forward" },
    { "memory", OPTION_COUNT, &s.memory, 1, 65536,
      "N  earlier positions that are seen" },
    { "segment", OPTION_COUNT, &s.segment, 1, 65536, "N  positions of a step" },
    { "batch", OPTION_COUNT, &s.batch, 1, 65536, "N  streams side by side" },
    { "lr", OPTION_NUMBER, &s.lr, 0, 10, "X  highest learning rate" },
    { "warmup", OPTION_NUMBER, &s.warmup, 0, 1,
      "X  share of the run until it is reached" },
    { "clip", OPTION_NUMBER, &s.clip, 0, 1e9,
      "X  largest norm of a gradient; 0: any" },
    { "dropout", OPTION_NUMBER, &s.dropout, 0, 0.99, "X" },
    { "seed", OPTION_COUNT, &s.seed, 0, 2147483647, "N" },
    { "threads", OPTION_COUNT, &s.threads, 0, 4096,
      "N  0: as many as there are" },
    { "checkpoint", OPTION_FLAG, &s.checkpoint, 0, 0,
      "  recompute each layer in the backward pass, for less memory" },
  };
  *out_go = options_read("xl train", argc, argv, usage, options,
                         sizeof options / sizeof *options, out_status);
  if (!*out_go) return s;
  const char *wrong = NULL;
  if (!s.text)
    wrong = "--text is missing";
  else if (!s.output)
    wrong = "--output is missing";
  else if (s.width % s.heads)
    wrong = "--width is no multiple of --heads";
  else if (s.width % 2)
    wrong = "--width is odd";
  else if (s.stop && (!s.steps || s.stop > s.steps))
    wrong = "--stop needs --steps of at least as many";
  else if (strlen(s.output) < 13 ||
           strcmp(s.output + strlen(s.output) - 12, ".safetensors") != 0)
    wrong = "--output does not end in .safetensors";
  if (wrong) {
    fprintf(stderr, "calx xl train: %s; --help lists the options\n", wrong);
    *out_go = false, *out_status = 2;
  }
  return s;
}

/* -- one run -------------------------------------------------------------- */

typedef struct run {
  settings s;
  xl_text text;
  xl_streams train, test;
  int64_t segments; /* of the training text */
  xl_model model;
  cx_fn step;
  /* measurements */
  double start, shown; /* seconds */
  double bits;         /* sum since the last line */
  int since;           /* steps since the last line */
  int first;           /* step of this run */
  size_t planned, before;
} run;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double mib(size_t bytes) {
  return (double)bytes / 1048576;
}
static bool fail(const char *path, const char *why) {
  fprintf(stderr, "calx xl train: %s: %s\n", path, why);
  return false;
}
/* Known before a minute is spent. */
static bool check_output(const char *path) {
  char folder[4096];
  struct stat s;
  const char *slash = strrchr(path, '/');
  int n = slash ? (int)(slash - path) : 0;
  if (stat(path, &s) == 0 && S_ISDIR(s.st_mode))
    return fail(path, "is a folder");
  if (slash && n == 0) n = 1; /* the root */
  if (snprintf(folder, sizeof folder, "%.*s", n, path) >= (int)sizeof folder)
    return fail(path, "the name is too long");
  if (access(n ? folder : ".", W_OK | X_OK) != 0)
    return fail(path, strerror(errno));
  return true;
}
static bool open_text(run *r) {
  const settings *s = &r->s;
  char why[160];
  if (!xl_text_read(s->text, &r->text)) return false;
  const xl_text *t = &r->text;
  r->train = xl_streams_of(t->tokens, t->n_train, s->batch, s->segment);
  r->test = xl_streams_of(t->tokens + t->test_start, t->n - t->test_start,
                          s->batch, s->segment);
  r->segments = xl_streams_count(&r->train);
  if (r->segments > 0 && xl_streams_count(&r->test) > 0) return true;
  snprintf(why, sizeof why, "%lld bytes; --batch %d and --segment %d need %lld",
           (long long)t->n, s->batch, s->segment,
           20LL * s->batch * (s->segment + 1));
  return fail(s->text, why);
}
static txl_config config_of(const run *r) {
  const settings *s = &r->s;
  return (txl_config){ .vocab_size = r->text.vocabulary.size,
                       .d_model = s->width,
                       .n_head = s->heads,
                       .d_head = s->width / s->heads,
                       .d_inner = s->inner,
                       .n_layer = s->layers,
                       .mem_len = s->memory,
                       .untie_r = true,
                       .dropout = s->dropout,
                       .layer_norm_epsilon = 1e-5,
                       .checkpoint_layers = s->checkpoint };
}
static bool start_fresh(run *r) {
  CX_SCOPE;
  r->model =
      (xl_model){ .config = config_of(r), .vocabulary = r->text.vocabulary };
  const txl_config *c = &r->model.config;
  cx params = txl_init(c, cx_key((uint64_t)r->s.seed));
  r->model.state = cx_keep(txl_train_init(c, params, r->s.batch));
  return cx_ok();
}
static bool start_from(run *r, const char *path) {
  CX_SCOPE;
  if (!xl_model_load(path, &r->model)) return false;
  r->model.config.checkpoint_layers = r->s.checkpoint;
  if (r->model.vocabulary.size != r->text.vocabulary.size ||
      memcmp(r->model.vocabulary.bytes, r->text.vocabulary.bytes,
             (size_t)r->text.vocabulary.size) != 0)
    return fail(path, "its vocabulary is not the text's");
  if (cx_dim(cx_get(r->model.state, "mems.0"), 0) != r->s.batch)
    return fail(path, "it was trained with another --batch");
  r->model.state = cx_keep(r->model.state);
  return true;
}
static bool start(run *r) {
  bool ok = r->s.resume ? start_from(r, r->s.resume) : start_fresh(r);
  if (!ok) return false;
  r->first = r->model.steps;
  r->step = cx_jit(
      CX_BIND(txl_train_step, .model = r->model.config, .clip = r->s.clip),
      .donate = CX_ARGS(0));
  return true;
}

/* -- steps ---------------------------------------------------------------- */

/* The memory of a new pass over the text starts with zeros. */
static void forget(run *r) {
  CX_SCOPE;
  cx state = r->model.state;
  cx mems =
      txl_init_mems(&r->model.config, r->s.batch, r->model.config.mem_len);
  state = cx_put(state, mems, "mems");
  cx_swap(&r->model.state, state);
}
static double learning_rate(const run *r, double done) {
  enum { WHOLE = 1000000 };
  return schedule_cosine(r->s.lr, (int64_t)(r->s.warmup * WHOLE), WHOLE,
                         0.01 * r->s.lr, (int64_t)(done * WHOLE));
}
static cx dropout_key(const run *r) {
  if (r->s.dropout == 0) return cx_none();
  return cx_fold(cx_key((uint64_t)r->s.seed + 1), r->model.steps);
}
/* One step; `done` is the share of the run that lies behind. */
static bool take_step(run *r, double done) {
  CX_SCOPE;
  int64_t segment = r->model.steps % r->segments;
  cx ids, targets, state, loss, norm;
  if (segment == 0 && r->model.steps > 0) forget(r);
  xl_streams_get(&r->train, segment, &ids, &targets);
  cx_unpack(cx_call(r->step, r->model.state, ids, targets, dropout_key(r),
                    learning_rate(r, done)),
            &state, &loss, &norm);
  cx_swap(&r->model.state, state);
  double nats = cx_item(loss);
  if (!cx_ok()) return false;
  if (!isfinite(nats)) {
    fprintf(stderr,
            "calx xl train: the loss is %g after %d steps; a lower "
            "--lr may help\n",
            nats, r->model.steps);
    return false;
  }
  r->bits += nats / M_LN2;
  r->since++;
  r->model.steps++;
  return true;
}
static void show_progress(run *r, bool last) {
  double t = now(), passed = t - r->shown;
  if (r->since == 0 || (passed < 2 && !last)) return;
  double characters = (double)r->since * r->s.batch * r->s.segment;
  printf("%6.1f s  step %5d  %.3f bits per character  %6.0f characters/s  "
         "peak %.0f MiB\n",
         t - r->start, r->model.steps, r->bits / r->since, characters / passed,
         mib(memory_peak()));
  fflush(stdout);
  r->shown = t, r->bits = 0, r->since = 0;
}
/* The share of the run that is done; from 1 on it ends. */
static double share_done(const run *r) {
  if (r->s.steps) return (double)r->model.steps / r->s.steps;
  return (now() - r->start) / r->s.seconds;
}
static bool train(run *r) {
  r->start = r->shown = now();
  for (;;) {
    double done = share_done(r);
    if (done >= 1 || (r->s.stop && r->model.steps >= r->s.stop)) break;
    if (!take_step(r, done)) return false;
    show_progress(r, false);
  }
  show_progress(r, true);
  return true;
}

/* -- memory: planned and measured ----------------------------------------- */

static size_t bytes_of(cx tree) {
  return 4 * (size_t)nn_count(tree); /* f32, and i32 for the step count */
}
/* Compiles the step, and notes what it will hold beside its arguments: the
 * plan's peak, and the results that cannot take an argument's place. */
static bool plan_step(run *r) {
  CX_SCOPE;
  cx ids = cx_spec(CX_I32, r->s.batch, r->s.segment);
  cx key = r->s.dropout == 0 ? cx_none() : cx_spec(CX_KEY, CX_SCALAR);
  const char *plan =
      cx_plan(r->step, cx_spec_like(r->model.state), ids, ids, key, 0.0);
  unsigned long long peak = 0, results = 0;
  if (!cx_ok()) return false;
  sscanf(plan, "peak %llu bytes, results %llu bytes", &peak, &results);
  r->planned = (size_t)(peak + results);
  printf("%lld parameters; a step holds %.1f MiB of arguments and, by the "
         "plan,\nat most %.1f MiB beside them\n",
         (long long)nn_count(cx_get(r->model.state, "params")),
         mib(bytes_of(r->model.state)), mib(r->planned));
  fflush(stdout);
  return true;
}
static void show_memory(const run *r) {
  size_t planned = r->planned, peak = memory_peak();
  if (!r->before || peak < r->before) return;
  size_t measured = peak - r->before;
  printf("memory of a step: planned %.1f MiB, measured %.1f MiB (%+.1f %%)\n",
         mib(planned), mib(measured),
         100 * ((double)measured / (double)planned - 1));
}

/* -- the text held out ---------------------------------------------------- */

/* Bits per character, the memory carried from segment to segment. */
static double evaluate(const run *r, int64_t *out_n) {
  txl_config c = r->model.config;
  c.dropout = 0;
  cx_fn loss = cx_jit(CX_BIND_TO(txl_loss, &c));
  cx mems = cx_keep(txl_init_mems(&c, r->s.batch, c.mem_len));
  int64_t n = xl_streams_count(&r->test);
  double nats = 0;
  for (int64_t i = 0; i < n && cx_ok(); i++) {
    CX_SCOPE;
    cx ids, targets, value, next;
    xl_streams_get(&r->test, i, &ids, &targets);
    cx_unpack(cx_call(loss, cx_get(r->model.state, "params"), mems, ids,
                      targets, cx_none()),
              &value, &next);
    nats += cx_item(value);
    cx_swap(&mems, next);
  }
  cx_drop(mems);
  *out_n = n * r->s.batch * r->s.segment;
  return nats / (double)n / M_LN2;
}

/* -- the command ---------------------------------------------------------- */

static bool finish(run *r) {
  int64_t n;
  double bits = evaluate(r, &n);
  if (!cx_ok()) return false;
  printf("held out: %.3f bits per character over %lld characters\n", bits,
         (long long)n);
  if (!xl_model_save(r->s.output, &r->model)) return false;
  printf("saved %s\n", r->s.output);
  return true;
}
static int train_model(run *r) {
  if (!check_output(r->s.output) || !open_text(r)) return 1;
  printf("%s: %lld characters, %d different\n", r->s.text, (long long)r->text.n,
         r->text.vocabulary.size);
  bool ok = start(r) && plan_step(r);
  if (ok) {
    r->before = memory_restart();
    ok = train(r);
  }
  if (ok) {
    show_memory(r);
    ok = finish(r);
  }
  cx_drop(r->model.state);
  int status = command_status();
  return ok ? status : 1;
}
int xl_train(int argc, char **argv) {
  run r = { 0 };
  bool go;
  int status;
  r.s = read_settings(argc, argv, &go, &status);
  if (!go) return status;
  cx_ctx *ctx = cx_open("cpu", .threads = r.s.threads);
  status = ctx ? train_model(&r) : command_status();
  xl_text_free(&r.text);
  cx_close(ctx);
  return status;
}
