/* record.h - records of JSON lines, plain or gzip; their arrays. */
#ifndef TOOLS_RECORD_H
#define TOOLS_RECORD_H

#include <jansson.h>

#include "calx/calx.h"

/* Calls each(record, user) for every line; it may take a reference. False,
 * with *why, if the file or a line cannot be read. */
bool record_each(const char *path, bool (*each)(json_t *record, void *user),
                 void *user, char *why, size_t room);

/* The bytes of an array {"dtype", "shape", "b64"}, to be freed; NULL if it is
 * none or its size is not right. */
unsigned char *record_bytes(const json_t *array, size_t *out_n);
/* The array itself; poison after an error. */
cx record_array(const json_t *array);

#endif
