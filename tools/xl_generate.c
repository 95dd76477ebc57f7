/* xl_generate.c - calx xl generate: text from a trained model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "xl.h"
#include "options.h"
#include "xl_model.h"

typedef struct settings {
  const char *model, *prompt;
  int length, seed, threads;
  double temperature;
} settings;

static const char usage[] =
    "usage: calx xl generate --model FILE [OPTION VALUE]...\n\n"
    "Writes the prompt and characters that go on from it, drawn one by one,\n"
    "from a model that `calx xl train` wrote.\n";

/* The prompt as tokens (1, n); poison with a message for a byte that the model
 * does not know. Without a prompt, a new line or else token 0. */
static cx tokens_of(const xl_vocabulary *v, const char *prompt) {
  size_t n = strlen(prompt);
  int32_t first = v->token['\n'] < 0 ? 0 : v->token['\n'];
  if (n == 0) return cx_from(&first, 1, 1);
  int32_t *tokens = malloc(n * sizeof *tokens);
  cx result = { 0 };
  if (!tokens) return cx_fail(CX_EMEMORY, "no memory for the prompt");
  for (size_t i = 0; i < n; i++) {
    unsigned char byte = (unsigned char)prompt[i];
    if (v->token[byte] < 0) {
      result = cx_fail(CX_EUSER,
                       "prompt: character %zu, byte 0x%02x, is none of the "
                       "model's",
                       i + 1, byte);
      break;
    }
    tokens[i] = v->token[byte];
    if (i + 1 == n) result = cx_from(tokens, 1, (int64_t)n);
  }
  free(tokens);
  return result;
}
/* The memory after all tokens but the last. */
static cx read_prompt(const xl_model *m, cx tokens) {
  const txl_config *c = &m->config;
  cx mems = txl_init_mems(c, 1, c->mem_len);
  int64_t n = cx_dim(tokens, 1);
  if (n < 2) return mems;
  cx_fn hidden = cx_jit(CX_BIND_TO(txl_hidden, c));
  cx before = cx_index(tokens, CX_ALL, CX_TO(n - 1));
  return cx_nth(
      cx_call(hidden, cx_get(m->state, "params"), mems, before, cx_none()), 1);
}
static bool write_text(const xl_vocabulary *v, const char *prompt, cx tokens) {
  int64_t n = cx_size(tokens);
  const int32_t *token = cx_data(cx_cast(tokens, CX_I32));
  if (!token) return false;
  fputs(prompt, stdout);
  for (int64_t i = 0; i < n; i++) putchar(v->bytes[token[i]]);
  putchar('\n');
  return fflush(stdout) == 0;
}
static bool generate(const settings *s) {
  CX_SCOPE;
  xl_model m;
  if (!xl_model_load(s->model, &m)) return false;
  m.config.dropout = m.config.dropatt = 0;
  cx tokens = tokens_of(&m.vocabulary, s->prompt);
  cx mems = read_prompt(&m, tokens);
  cx_fn f = cx_jit(CX_BIND(txl_generate, .model = m.config, .length = s->length,
                           .temperature = s->temperature));
  cx text = cx_call(f, cx_get(m.state, "params"), mems,
                    cx_index(tokens, CX_ALL, -1), cx_key((uint64_t)s->seed));
  return write_text(&m.vocabulary, s->prompt, cx_nth(text, 0));
}
int xl_generate(int argc, char **argv) {
  settings s = { .prompt = "", .length = 400, .temperature = 0.8 };
  const option options[] = {
    { "model", OPTION_TEXT, &s.model, 0, 0, "FILE  the model" },
    { "length", OPTION_COUNT, &s.length, 1, 1e8, "N  characters to write" },
    { "prompt", OPTION_TEXT, &s.prompt, 0, 0, "TEXT  what to go on from" },
    { "temperature", OPTION_NUMBER, &s.temperature, 0, 1e3,
      "X  0: always the likeliest" },
    { "seed", OPTION_COUNT, &s.seed, 0, 2147483647, "N" },
    { "threads", OPTION_COUNT, &s.threads, 0, 4096,
      "N  0: as many as there are" },
  };
  int status;
  if (!options_read("xl generate", argc, argv, usage, options,
                    sizeof options / sizeof *options, &status))
    return status;
  if (!s.model) {
    fprintf(stderr,
            "calx xl generate: --model is missing; --help lists the options\n");
    return 2;
  }
  cx_ctx *ctx = cx_open("cpu", .threads = s.threads);
  bool ok = ctx && generate(&s);
  status = command_status();
  cx_close(ctx);
  return ok ? status : 1;
}
