/* options.h - options of a command, "--name value", from one table. */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include <stdbool.h>

typedef enum option_kind {
  OPTION_TEXT,   /* const char *: as it stands on the command line */
  OPTION_COUNT,  /* int in least..most */
  OPTION_NUMBER, /* double in least..most */
  OPTION_FLAG    /* bool: true if it is there; takes no value */
} option_kind;

typedef struct option {
  const char *name; /* without the "--" */
  option_kind kind;
  void *value; /* holds what applies if it is not given */
  double least, most;
  const char *help; /* starts with the value's name, "FILE  the text" */
} option;

/* Reads argv[1...] of a command ("xl train") into the values. False if the
 * command is not to run, with its exit status: 0 after --help, whose page goes
 * to stdout; 2 after a wrong option or one that is there twice, which stderr
 * names. n <= 64. */
bool options_read(const char *command, int argc, char **argv, const char *usage,
                  const option *options, int n, int *out_status);

#endif
