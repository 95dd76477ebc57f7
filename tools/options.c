/* options.c - reads options, prints their page. */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_default(const option *o) {
  const char *text =
      o->kind == OPTION_TEXT ? *(const char *const *)o->value : NULL;
  if (text) printf(" (%s)", text);
  if (o->kind == OPTION_COUNT) printf(" (%d)", *(const int *)o->value);
  if (o->kind == OPTION_NUMBER) printf(" (%g)", *(const double *)o->value);
}
static void print_page(const char *usage, const option *options, int n) {
  printf("%s\n", usage);
  for (int i = 0; i < n; i++) {
    printf("  --%s %s", options[i].name, options[i].help);
    print_default(&options[i]);
    putchar('\n');
  }
}
static const option *find(const char *argument, const option *options, int n) {
  if (strncmp(argument, "--", 2) != 0) return NULL;
  for (int i = 0; i < n; i++)
    if (!strcmp(argument + 2, options[i].name)) return &options[i];
  return NULL;
}
static bool in_range(const option *o, double x) {
  return x >= o->least && x <= o->most;
}
static bool read_value(const option *o, const char *text) {
  char *end;
  errno = 0;
  if (o->kind == OPTION_TEXT) {
    *(const char **)o->value = text;
    return true;
  }
  if (o->kind == OPTION_COUNT) {
    long long x = strtoll(text, &end, 10);
    if (end == text || *end || errno || x < INT_MIN || x > INT_MAX ||
        !in_range(o, (double)x))
      return false;
    *(int *)o->value = (int)x;
    return true;
  }
  double x = strtod(text, &end);
  if (end == text || *end || !in_range(o, x)) return false;
  *(double *)o->value = x;
  return true;
}
static bool wrong(const char *command, const char *what, const char *name) {
  fprintf(stderr, "calx %s: %s %s; --help lists the options\n", command, what,
          name);
  return false;
}
/* Reads the option at argv[*i] and moves to the next; bit k of *given: option k
 * was there. */
static bool read_option(const char *command, int argc, char **argv, int *i,
                        const option *options, int n, uint64_t *given) {
  const option *o = find(argv[*i], options, n);
  if (!o) return wrong(command, "no option", argv[*i]);
  const uint64_t bit = UINT64_C(1) << (o - options);
  if (*given & bit) return wrong(command, "more than one", argv[*i]);
  *given |= bit;
  if (o->kind == OPTION_FLAG) {
    *(bool *)o->value = true;
    ++*i;
    return true;
  }
  if (*i + 1 >= argc)
    return wrong(command, "a value is missing after", argv[*i]);
  if (!read_value(o, argv[*i + 1])) {
    fprintf(stderr, "calx %s: --%s %s: wants %s from %g to %g\n", command,
            o->name, argv[*i + 1],
            o->kind == OPTION_COUNT ? "an integer" : "a number", o->least,
            o->most);
    return false;
  }
  *i += 2;
  return true;
}
bool options_read(const char *command, int argc, char **argv, const char *usage,
                  const option *options, int n, int *out_status) {
  *out_status = 0;
  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
      print_page(usage, options, n);
      return false;
    }
  *out_status = 2;
  uint64_t given = 0;
  for (int i = 1; i < argc;)
    if (!read_option(command, argc, argv, &i, options, n, &given)) return false;
  return true;
}
