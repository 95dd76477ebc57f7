/* memory.c - /proc/self/status of Linux. */
#include "memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* A line "VmRSS:  123 kB". */
static size_t field(const char *name) {
  char line[256];
  unsigned long long kilobytes = 0;
  FILE *f = fopen("/proc/self/status", "r");
  if (!f) return 0;
  while (fgets(line, sizeof line, f))
    if (!strncmp(line, name, strlen(name))) {
      sscanf(line + strlen(name), ": %llu", &kilobytes);
      break;
    }
  fclose(f);
  return (size_t)kilobytes * 1024;
}
size_t memory_resident(void) {
  return field("VmRSS");
}
size_t memory_peak(void) {
  return field("VmHWM");
}
size_t memory_restart(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  FILE *f = fopen("/proc/self/clear_refs", "w");
  bool ok = f && fputs("5", f) >= 0; /* 5: the peak is what is resident */
  if (f && fclose(f) != 0) ok = false;
  return ok ? memory_resident() : 0;
}
