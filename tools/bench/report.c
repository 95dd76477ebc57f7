/* report.c - prints lines, compares their values with recorded ones. */
#include "bench/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct recorded {
  char name[96];
  double tolerance, value[BENCH_VALUES];
  int n;
} recorded;
struct bench_checks {
  recorded *rows;
  int n;
};

/* name, tolerance, values */
static bool read_row(char *text, recorded *row) {
  char *rest, *field = strtok_r(text, "\t\n", &rest);
  if (!field || strlen(field) >= sizeof row->name) return false;
  strcpy(row->name, field);
  field = strtok_r(NULL, "\t\n", &rest);
  if (!field) return false;
  row->tolerance = strtod(field, NULL);
  row->n = 0;
  while ((field = strtok_r(NULL, "\t\n", &rest)) && row->n < BENCH_VALUES)
    row->value[row->n++] = strtod(field, NULL);
  return row->n > 0;
}
bench_checks *bench_checks_load(const char *path) {
  FILE *file = fopen(path, "r");
  bench_checks *checks = file ? calloc(1, sizeof *checks) : NULL;
  char text[512];
  bool good = checks != NULL;
  if (!good) perror(path);
  for (int line = 1; good && fgets(text, sizeof text, file); line++) {
    if (text[0] == '#' || text[0] == '\n') continue;
    recorded *rows =
        realloc(checks->rows, ((size_t)checks->n + 1) * sizeof *rows);
    if (rows) checks->rows = rows;
    good = rows && read_row(text, &rows[checks->n]);
    if (good)
      checks->n++;
    else
      fprintf(stderr, "calx bench: %s:%d: not a row of values\n", path, line);
  }
  if (file) fclose(file);
  if (good) return checks;
  bench_checks_free(checks);
  return NULL;
}
void bench_checks_free(bench_checks *checks) {
  if (checks) free(checks->rows);
  free(checks);
}
static bool close_to(double x, double y, double tolerance) {
  return fabs(x - y) <= tolerance * (fabs(y) + 1e-6);
}
/* False if a value is recorded and differs. */
static bool agrees(const bench_checks *checks, const bench_line *line) {
  for (int i = 0; checks && i < checks->n; i++) {
    const recorded *row = &checks->rows[i];
    if (strcmp(row->name, line->name) != 0) continue;
    const int n = line->n_values < row->n ? line->n_values : row->n;
    for (int k = 0; k < n; k++)
      if (!close_to(line->value[k], row->value[k], row->tolerance)) {
        fprintf(stderr, "calx bench: %s: value %d is %.9g, recorded %.9g\n",
                line->name, k, line->value[k], row->value[k]);
        return false;
      }
    if (n) return true;
    fprintf(stderr, "calx bench: %s: has no value\n", line->name);
    return false;
  }
  return true;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double peak_mb(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}
static void print_values(const bench_line *line) {
  if (!line->n_values) return;
  const bool single = !strcmp(line->value_name, "check");
  printf(", \"%s\": %s", line->value_name, single ? "" : "[");
  for (int i = 0; i < line->n_values; i++)
    printf("%s%.9g", i ? ", " : "", line->value[i]);
  if (!single) putchar(']');
}
static void print_json(const bench_options *o, const bench_line *line,
                       double median) {
  printf("{\"bench\": \"%s\", \"peer\": \"calx\", \"threads\": %d, "
         "\"median_ms\": %.6g, \"min_ms\": %.6g, \"n\": %d",
         line->name, o->threads, median * 1e3, line->seconds[0] * 1e3, line->n);
  if (line->gflop > 0) printf(", \"gflops\": %.6g", line->gflop / median);
  if (line->gbytes > 0) printf(", \"gb_per_s\": %.6g", line->gbytes / median);
  print_values(line);
  if (o->quick) printf(", \"quick\": true");
  printf(", \"peak_rss_mb\": %.1f}\n",
         line->peak_mb > 0 ? line->peak_mb : peak_mb());
}
static void print_line(const bench_line *line, double median) {
  printf("%-46s %12.5f ms", line->name, median * 1e3);
  if (line->gflop > 0) printf(" %9.1f GFLOP/s", line->gflop / median);
  if (line->gbytes > 0) printf(" %9.1f GB/s", line->gbytes / median);
  putchar('\n');
}
bool bench_report(const bench_options *o, bench_line *line) {
  qsort(line->seconds, (size_t)line->n, sizeof *line->seconds, by_size);
  const double median = line->seconds[line->n / 2];
  if (o->json)
    print_json(o, line, median);
  else
    print_line(line, median);
  fflush(stdout);
  return agrees(o->checks, line);
}
