/* labels.h - a map from text to a number, for printer and parser. */
#ifndef CXI_LABELS_H
#define CXI_LABELS_H

#include "base/arena.h"
#include "base/hash.h"

typedef struct cxi_label {
  const char *text;           /* with a 0 at its end */
  size_t length;
  cxi_hash hash;
  uint32_t number;
} cxi_label;
typedef struct cxi_labels {
  cxi_label *items;
  uint32_t n, cap;
  uint32_t *slots, mask;      /* hash table: place plus 1 */
  cxi_arena arena;            /* the texts */
} cxi_labels;                 /* {0} is an empty one */

cxi_label *cxi_labels_find(const cxi_labels *labels, const char *text,
                           size_t length); /* NULL: not there */
/* Of a text that is not there; NULL without memory. */
cxi_label *cxi_labels_add(cxi_labels *labels, const char *text, size_t length,
                          uint32_t number);
void cxi_labels_free(cxi_labels *labels);

#endif
