/* promotion.h - the recorded table of promotions, row by row. */
#ifndef TOOLS_PROMOTION_H
#define TOOLS_PROMOTION_H

#include <jansson.h>
#include <stdbool.h>

/* Whether the document is the table of promotions. */
bool table_is_promotion(const json_t *document);
/* Calls each(record, why, user) for every row: its name and kind, and what is
 * wrong with it or "". False without memory. The context's promotion must be
 * CX_PROMOTE_JAX. */
bool promotion_each(const json_t *document,
                    void (*each)(const json_t *record, const char *why,
                                 void *user),
                    void *user);

#endif
