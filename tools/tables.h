/* tables.h - the recorded table of special values, as records. */
#ifndef TOOLS_TABLES_H
#define TOOLS_TABLES_H

#include <jansson.h>
#include <stdbool.h>

/* Whether the document is the table of special values. */
bool table_is_special(const json_t *document);
/* Calls each(record, user) for every row: a primal record, with "text" beside
 * its "jaxpr" if JAX has a function and no primitive of the name, or a record
 * of kind "grad" with the program of its function as "function".
 * False without memory, or as each. */
bool table_each(const json_t *document,
                bool (*each)(json_t *record, void *user), void *user);

#endif
