/* inspect.c - calx inspect FILE, calx jaxpr FILE. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calx/calx.h"
#include "commands.h"

static bool wants_help(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return true;
  return false;
}
int command_inspect(int argc, char **argv) {
  bool asked = wants_help(argc, argv);
  if (asked || argc < 2) {
    fprintf(asked ? stdout : stderr,
            "usage: calx inspect FILE...\n\n"
            "Lists each array of a checkpoint (.safetensors, .npz, .npy):\n"
            "name, dtype and shape, bytes. Ends with 0 if every file is\n"
            "sound.\n");
    return asked ? 0 : 2;
  }
  cx_ctx *ctx = cx_open("cpu");
  int status = 0;
  for (int i = 1; ctx && i < argc; i++) {
    fputs(cx_inspect(argv[i]), stdout);
    if (command_status()) status = 1;
  }
  if (!ctx) status = command_status();
  cx_close(ctx);
  return status;
}

/* The text of a file; "-" is the standard input. */
static char *read_text(const char *path) {
  FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
  size_t n = 0, cap = 1 << 16;
  char *text = f ? malloc(cap + 1) : NULL;
  while (text) {
    n += fread(text + n, 1, cap - n, f);
    if (n < cap) break;
    char *more = realloc(text, 2 * cap + 1);
    if (!more) free(text);
    text = more, cap *= 2;
  }
  if (text) text[n] = 0;
  if (f && f != stdin) fclose(f);
  return text;
}
/* Prints the program as the parser understood it. */
static int print_program(const char *text) {
  cx_program *p = cx_program_parse(text);
  if (p) fputs(cx_program_text(p), stdout);
  cx_program_free(p);
  return command_status();
}
int command_jaxpr(int argc, char **argv) {
  bool asked = wants_help(argc, argv);
  if (asked || argc != 2) {
    fprintf(
        asked ? stdout : stderr,
        "usage: calx jaxpr FILE\n\n"
        "Parses a program (docs/program-text.md), checks it, and prints it\n"
        "in its canonical form. FILE may be - for the standard input.\n");
    return asked ? 0 : 2;
  }
  char *text = read_text(argv[1]);
  if (!text) {
    fprintf(stderr, "calx: %s cannot be read\n", argv[1]);
    return 1;
  }
  cx_ctx *ctx = cx_open("cpu");
  int status = ctx ? print_program(text) : command_status();
  cx_close(ctx);
  free(text);
  return status;
}
