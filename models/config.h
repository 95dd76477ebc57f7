/* config.h - config.json of published models. */
#ifndef MODELS_CONFIG_H
#define MODELS_CONFIG_H

#include <jansson.h>

#include "calx/calx.h"

/* path, or path/name if path is a folder; in room if need be. */
const char *cxi_inside_folder(const char *path, const char *name, char *room,
                              size_t bytes);
/* The object in a file, or in config.json of a folder; NULL after CX_EIO or
 * CX_ETREE. `model` begins the messages. */
json_t *cxi_config_read(const char *model, const char *path);
/* Reports that a file is no JSON: CX_ETREE, or CX_EMEMORY where jansson tells
 * that memory ran out. */
void cxi_config_no_json(const char *what, const char *path,
                        const json_error_t *error);
/* Reports a field; false. */
bool cxi_config_bad(const char *model, const char *name, const char *why);

/* A field, or `otherwise` where it is absent or null; false after CX_ETREE. A
 * size is a positive integer, a number lies in 0..most, a flag is a bool. */
bool cxi_config_size(const char *model, const json_t *root, const char *name,
                     int otherwise, int *out);
bool cxi_config_number(const char *model, const json_t *root, const char *name,
                       double otherwise, double most, double *out);
bool cxi_config_flag(const char *model, const json_t *root, const char *name,
                     bool otherwise, bool *out);

#endif
