/* report.h - lines of results, and the values that they are checked by. */
#ifndef TOOLS_BENCH_REPORT_H
#define TOOLS_BENCH_REPORT_H

#include "bench/bench.h"

/* Values recorded for cases, in lines "name <tab> tolerance <tab> value ..."
 * ('#': a comment). NULL, with a message on stderr, if the file cannot be read.
 */
typedef struct bench_checks bench_checks;
bench_checks *bench_checks_load(const char *path);
void bench_checks_free(bench_checks *checks);

#endif
