/* cache.c - calx cache show | verify | clear. */
#include <stdio.h>
#include <string.h>

#include "calx/calx.h"
#include "commands.h"

static const char usage[] =
    "usage: calx cache show | verify | clear\n\n"
    "The directory of generated code (CALX_CACHE_DIR, else calx in\n"
    "$XDG_CACHE_HOME or ~/.cache): lists its entries, the last used first;\n"
    "reads each, says of which build it is and removes what is broken; or\n"
    "removes all. `verify` ends with 1 if something was broken.\n";

static int show(bool check) {
  const char *text = cx_cache_entries(check);
  fputs(text, stdout);
  return check && !strstr(text, " 0 broken") && !strstr(text, "no entries:");
}

static int clear(void) {
  const int64_t n = cx_cache_clear();
  if (n < 0)
    fputs(cx_cache_entries(false), stdout);
  else
    printf("%lld entries removed\n", (long long)n);
  return 0;
}

int command_cache(int argc, char **argv) {
  const char *what = argc == 2 ? argv[1] : "";
  const bool asked = !strcmp(what, "--help") || !strcmp(what, "-h");
  const bool shows = !strcmp(what, "show"), checks = !strcmp(what, "verify");
  if (!shows && !checks && strcmp(what, "clear") != 0) {
    fputs(usage, asked ? stdout : stderr);
    return asked ? 0 : 2;
  }
  cx_ctx *ctx = cx_open("cpu");
  if (!ctx) return command_status();
  int status = shows || checks ? show(checks) : clear();
  if (command_status()) status = 1;
  cx_close(ctx);
  return status;
}
