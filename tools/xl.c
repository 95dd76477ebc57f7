/* xl.c - calx xl: Transformer-XL on the characters of a text. */
#include "xl.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"

static void help(FILE *out) {
  fputs("usage: calx xl train --text FILE --output FILE [OPTION VALUE]...\n"
        "       calx xl generate --model FILE [OPTION VALUE]...\n\n"
        "Trains a Transformer-XL on the characters of a text, and writes text\n"
        "with it. --help after either lists its options.\n",
        out);
}
int command_xl(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "train"))
    return xl_train(argc - 1, argv + 1);
  if (argc > 1 && !strcmp(argv[1], "generate"))
    return xl_generate(argc - 1, argv + 1);
  bool asked =
      argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
  if (argc > 1 && !asked)
    fprintf(stderr, "calx xl: no command \"%s\"\n", argv[1]);
  help(asked ? stdout : stderr);
  return asked ? 0 : 2;
}
