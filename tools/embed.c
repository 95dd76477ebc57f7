/* embed.c - calx embed: sentences to vectors, with the weights of a published
 * model. */
#include "embed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "calx/calx.h"
#include "calx/models/sentence.h"
#include "commands.h"

static const char help[] =
    "usage: calx embed --model DIR [OPTIONS] < lines > embeddings.jsonl\n\n"
    "Reads texts in UTF-8, one a line, and writes their vectors in the same\n"
    "order: {\"embedding\": [...]} a line. DIR is a sentence model as it is\n"
    "published: config.json, model.safetensors, tokenizer.json or vocab.txt,\n"
    "and, if there, 1_Pooling/config.json, modules.json,\n"
    "sentence_bert_config.json.\n\n"
    "  --model DIR       the folder of the model\n"
    "  --jsonl           the lines are JSON objects with a \"text\"\n"
    "  --output FILE     write FILE.npy (float32, (lines, width)) or "
    "FILE.jsonl\n"
    "  --normalize       vectors of length 1; --no-normalize: as they come;\n"
    "                    without either as the folder says\n"
    "  --max-length N    cut texts to N tokens, [CLS] and [SEP] among them\n"
    "  --batch N         texts computed at a time (32)\n"
    "  --threads N       threads (as many as the process may use)\n"
    "  --dtype f32       type of the numbers inside: f32\n\n"
    "Bytes that are no UTF-8 count as U+FFFD; an empty line is an empty text.\n"
    "Lines are read in portions: memory does not grow with their number.\n";

typedef struct arguments {
  const char *model, *output, *dtype;
  bool json, asked_help;
  int threads;
  sentence_options options;
} arguments;

/* -- the command line --------------------------------------------------------------- */

static bool used_wrongly(const char *format, const char *what) {
  fprintf(stderr, "calx embed: ");
  fprintf(stderr, format, what);
  fprintf(stderr, "; calx embed --help lists the options\n");
  return false;
}
static bool read_count(const char *name, const char *value, int *out) {
  char *end;
  const long n = strtol(value, &end, 10);
  if (*value && !*end && n > 0 && n <= 1 << 20) return *out = (int)n, true;
  return used_wrongly("%s needs a positive number", name);
}
static bool read_flag(const char *name, arguments *a) {
  if (!strcmp(name, "--help") || !strcmp(name, "-h"))
    return a->asked_help = true;
  if (!strcmp(name, "--jsonl")) return a->json = true;
  if (!strcmp(name, "--normalize")) return a->options.normalize = 1, true;
  if (!strcmp(name, "--no-normalize")) return a->options.normalize = -1, true;
  return false;
}
static bool read_value(const char *name, const char *value, arguments *a) {
  static const char *const names[] = { "--model", "--output",  "--dtype",
                                       "--batch", "--threads", "--max-length" };
  int i = 0;
  while (i < 6 && strcmp(name, names[i])) i++;
  if (i == 6) return used_wrongly("no option \"%s\"", name);
  if (!value) return used_wrongly("%s needs a value", name);
  switch (i) {
  case 0:
    return a->model = value, true;
  case 1:
    return a->output = value, true;
  case 2:
    return a->dtype = value, true;
  case 3:
    return read_count(name, value, &a->options.batch);
  case 4:
    return read_count(name, value, &a->threads);
  default:
    return read_count(name, value, &a->options.max_length);
  }
}
static bool read_arguments(int argc, char **argv, arguments *a) {
  *a = (arguments){ .dtype = "f32" };
  for (int i = 1; i < argc; i++) {
    if (read_flag(argv[i], a)) continue;
    if (!read_value(argv[i], i + 1 < argc ? argv[i + 1] : NULL, a))
      return false;
    i++;
  }
  if (a->asked_help) return true;
  if (strcmp(a->dtype, "f32"))
    return used_wrongly("dtype \"%s\" is not known; f32 is", a->dtype);
  return a->model || used_wrongly("%s is missing", "--model DIR");
}

/* -- portions of the input ------------------------------------------------------------ */

enum { PORTION = 2048, PORTION_BYTES = 8 << 20 };

typedef struct portion {
  int64_t n;
  char *texts[PORTION];
  size_t bytes[PORTION];
} portion;

/* Up to PORTION texts; what ended it. */
static text_result fill(portion *p, text_reader *r) {
  size_t total = 0;
  p->n = 0;
  while (p->n < PORTION && total < PORTION_BYTES) {
    const text_result result = text_next(r, &p->texts[p->n], &p->bytes[p->n]);
    if (result != TEXT_READ) return result;
    total += p->bytes[p->n++];
  }
  return TEXT_READ;
}
static void empty(portion *p) {
  while (p->n > 0) free(p->texts[--p->n]);
}
/* Texts before a bad line are still embedded. */
static bool embed_all(const sentence_model *m, const arguments *a,
                      text_reader *r, vector_writer *w) {
  portion *p = calloc(1, sizeof *p);
  float *vectors = malloc((size_t)PORTION * (size_t)w->width * sizeof *vectors);
  text_result result = TEXT_READ;
  bool ok = p && vectors;
  if (!ok) fputs("calx embed: out of memory\n", stderr);
  while (ok && result == TEXT_READ) {
    result = fill(p, r);
    ok = sentence_encode(m, p->n, (const char *const *)p->texts, p->bytes,
                         a->options, vectors) &&
         vector_write(w, vectors, p->n);
    empty(p);
  }
  free(p);
  free(vectors);
  return ok && result == TEXT_END;
}
static bool embed(const arguments *a) {
  sentence_model *m = sentence_load(a->model);
  if (!m) return false;
  text_reader r = { .file = stdin, .json = a->json };
  vector_writer w;
  bool ok = vector_writer_open(&w, a->output, sentence_width(m));
  if (ok) {
    ok = embed_all(m, a, &r, &w);
    ok = vector_writer_close(&w, ok) && ok;
  }
  text_reader_close(&r);
  sentence_free(m);
  return ok;
}
int command_embed(int argc, char **argv) {
  arguments a;
  if (!read_arguments(argc, argv, &a)) return 2;
  if (a.asked_help) {
    fputs(help, stdout);
    return 0;
  }
  cx_ctx *ctx = cx_open("cpu", .threads = a.threads);
  if (!ctx) return command_status();
  const bool ok = embed(&a);
  const int status = command_status();
  cx_close(ctx);
  return ok ? status : 1;
}
