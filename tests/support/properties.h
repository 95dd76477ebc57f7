/* properties.h - what must hold of every program. */
#ifndef TEST_PROPERTIES_H
#define TEST_PROPERTIES_H

#include "calx.h"
#include "ir/program.h"

/* The first property that does not hold, and how: "vmap: output 1 ...". */
typedef struct verdict {
  bool failed;
  char text[1200];
} verdict;

typedef struct property {
  const char *name;
  /* seed: of the inputs and of what is chosen */
  void (*check)(const cxi_program *p, uint64_t seed, verdict *v);
} property;

/* All of them, or the one of that name (NULL: all), in order up to the first
 * that fails. */
verdict properties_check(const cxi_program *p, uint64_t seed,
                         const char *only);

/* The contexts in which programs are called; false: one does not open. */
bool properties_open(void);
void properties_close(void);

#endif
