/* nest.h - a program with all programs inside it, each once. */
#ifndef CXI_NEST_H
#define CXI_NEST_H

#include "ir/program.h"

/* Programs stand before those that use them; the whole is the last. */
typedef struct cxi_nest {
  const cxi_program **programs;
  uint32_t n, cap;
  uint32_t *slots, mask;      /* hash table: place plus 1 */
} cxi_nest;
/* False without memory; to be freed either way. */
bool cxi_nest_of(const cxi_program *p, cxi_nest *out);
/* The place of a program that is in the nest. */
uint32_t cxi_nest_find(const cxi_nest *nest, const cxi_program *p);
void cxi_nest_free(cxi_nest *nest);

#endif
