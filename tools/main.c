/* main.c - calx: one command with subcommands. */
#include <stdio.h>
#include <string.h>

#include "calx/calx.h"
#include "commands.h"

static const struct {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} commands[] = {
  { "bench", "time work that other libraries do too", command_bench },
  { "cache", "show, check or clear the directory of generated code",
    command_cache },
  { "conform", "run recorded programs and compare with their results",
    command_conform },
  { "embed", "turn lines of text into vectors", command_embed },
  { "import", "make a program of a function recorded from JAX",
    command_import },
  { "inspect", "list the arrays of a checkpoint", command_inspect },
  { "jaxpr", "parse, check and print a program", command_jaxpr },
  { "run", "run a program on the arrays of a file", command_run },
  { "xl", "train a Transformer-XL on a text, and write text with it",
    command_xl },
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *out) {
  fprintf(out, "usage: calx COMMAND [ARGUMENTS]\n\n");
  for (int i = 0; i < N_COMMANDS; i++)
    fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
  fprintf(out, "\ncalx COMMAND --help describes a command.\n");
}
int command_status(void) {
  const char *message;
  if (cx_error(&message) == CX_OK) return 0;
  fprintf(stderr, "calx: %s\n", message);
  return 1;
}
int main(int argc, char **argv) {
  if (argc < 2) {
    help(stderr);
    return 2;
  }
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
      !strcmp(argv[1], "help")) {
    help(stdout);
    return 0;
  }
  for (int i = 0; i < N_COMMANDS; i++)
    if (!strcmp(argv[1], commands[i].name))
      return commands[i].run(argc - 1, argv + 1);
  fprintf(stderr, "calx: no command \"%s\"; calx --help lists them\n", argv[1]);
  return 2;
}
