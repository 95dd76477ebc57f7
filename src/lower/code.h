/* code.h - loops as generated code: what a generator takes and gives back.
 *
 * The code runs all steps that are left of a scan or while and gives the bits
 * that the thunks of its bodies give. It works on the bases of the bodies
 * (schedule.h), as those stand before a step: the body's carries are read
 * where its inputs' bases say, may be written where its outputs' bases say,
 * and are left where its inputs' bases say afterwards. */
#ifndef CXI_CODE_H
#define CXI_CODE_H

#include <stdbool.h>
#include <stdint.h>

struct cxi_unit;
struct cxi_running;

/* `cond` is NULL and `steps` counts for a scan; a while looks for itself.
 * other[k] is the buffer with which carry k's output swaps. False with an
 * error in `running`. */
typedef bool cxi_code_run(char **body, char **cond, char *const *other,
                          int64_t steps, struct cxi_running *running,
                          const void *const *table);

typedef struct cxi_code {
  cxi_code_run *run;        /* NULL: this loop is not worth any */
  const void *const *table; /* what the code calls */
  void *owner;              /* the generator's */
  const char *report;       /* what became of each unit, a line each */
} cxi_code;

typedef struct cxi_coder {
  /* How many thunks a loop runs before code is worth making: 0, at once;
   * INT64_MAX, never. */
  int64_t (*patience)(void);
  /* False: none can be made now, since another thread is at it. */
  bool (*generate)(const struct cxi_unit *loop, cxi_code *out);
  void (*release)(cxi_code *code);
} cxi_coder;

#endif
