/* embed.c - calx embed: sentences to vectors, with the weights of a published
 * model. */
#include "embed.h"

#include <stdlib.h>
#include <string.h>

#include "calx/calx.h"
#include "calx/models/sentence.h"
#include "commands.h"
#include "options.h"

static const char usage[] =
    "usage: calx embed --model DIR [OPTION]... < lines > embeddings.jsonl\n\n"
    "Reads texts in UTF-8, one a line, and writes their vectors in the same\n"
    "order: {\"embedding\": [...]} a line. DIR is a sentence model as it is\n"
    "published: config.json, model.safetensors, tokenizer.json or vocab.txt,\n"
    "and, if there, 1_Pooling/config.json, modules.json,\n"
    "sentence_bert_config.json. Bytes that are no UTF-8 count as U+FFFD; an\n"
    "empty line is an empty text. Lines are read in portions: memory does not\n"
    "grow with their number.\n";

typedef struct settings {
  const char *model, *output, *dtype;
  bool json, normalize, as_they_come;
  int threads;
  sentence_options options;
} settings;

static cx_dtype inner_dtype(const char *name) {
  return !strcmp(name, "f32")    ? CX_F32
         : !strcmp(name, "f16")  ? CX_F16
         : !strcmp(name, "bf16") ? CX_BF16
                                 : 0;
}
static bool read_settings(int argc, char **argv, settings *s, int *out_status) {
  *s = (settings){ .dtype = "f32", .options.batch = 32 };
  const option options[] = {
    { "model", OPTION_TEXT, &s->model, 0, 0, "DIR  the folder of the model" },
    { "jsonl", OPTION_FLAG, &s->json, 0, 0,
      " the lines are JSON objects with a \"text\"" },
    { "output", OPTION_TEXT, &s->output, 0, 0,
      "FILE  .npy, float32 (lines, width), or .jsonl" },
    { "normalize", OPTION_FLAG, &s->normalize, 0, 0, " vectors of length 1" },
    { "no-normalize", OPTION_FLAG, &s->as_they_come, 0, 0,
      " vectors as they come; without either option as the folder says" },
    { "max-length", OPTION_COUNT, &s->options.max_length, 0, 1 << 20,
      "N  tokens of a text, [CLS] and [SEP] among them; 0: the model's" },
    { "batch", OPTION_COUNT, &s->options.batch, 1, 1 << 20,
      "N  texts computed at a time" },
    { "threads", OPTION_COUNT, &s->threads, 0, 4096,
      "N  0: as many as there are" },
    { "dtype", OPTION_TEXT, &s->dtype, 0, 0, 
      "TYPE  of the numbers inside: f32, f16 or bf16; written are f32" },
  };
  if (!options_read("embed", argc, argv, usage, options,
                    sizeof options / sizeof *options, out_status))
    return false;
  s->options.normalize = s->normalize - s->as_they_come;
  *out_status = 2;
  if (!s->model) fputs("calx embed: --model is missing\n", stderr);
  if (!inner_dtype(s->dtype))
    fprintf(stderr,
            "calx embed: dtype \"%s\" is not known; f32, f16 and bf16 are\n",
            s->dtype);
  return s->model && inner_dtype(s->dtype);
}

/* -- portions of the input ------------------------------------------------ */

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
static bool embed_all(const sentence_model *m, const settings *s,
                      text_reader *r, vector_writer *w) {
  portion *p = calloc(1, sizeof *p);
  float *vectors = malloc((size_t)PORTION * (size_t)w->width * sizeof *vectors);
  text_result result = TEXT_READ;
  bool ok = p && vectors;
  if (!ok) fputs("calx embed: out of memory\n", stderr);
  while (ok && result == TEXT_READ) {
    result = fill(p, r);
    ok = sentence_encode(m, p->n, (const char *const *)p->texts, p->bytes,
                         s->options, vectors) &&
         vector_write(w, vectors, p->n);
    empty(p);
  }
  free(p);
  free(vectors);
  return ok && result == TEXT_END;
}
static bool embed(const settings *s) {
  sentence_model *m = sentence_load(s->model);
  if (!m) return false;
  text_reader r = { .file = stdin, .json = s->json };
  vector_writer w;
  const cx_dtype type = inner_dtype(s->dtype);
  bool ok = (type == CX_F32 || sentence_cast(m, type)) &&
            vector_writer_open(&w, s->output, sentence_width(m));
  if (ok) {
    ok = embed_all(m, s, &r, &w);
    ok = vector_writer_close(&w, ok) && ok;
  }
  text_reader_close(&r);
  sentence_free(m);
  return ok;
}
int command_embed(int argc, char **argv) {
  settings s;
  int status;
  if (!read_settings(argc, argv, &s, &status)) return status;
  cx_ctx *ctx = cx_open("cpu", .threads = s.threads);
  if (!ctx) return command_status();
  const bool ok = embed(&s);
  status = command_status();
  cx_close(ctx);
  return ok ? status : 1;
}
