/* config.c - config.json of published models. */
#include "config.h"

#include <stdio.h>
#include <sys/stat.h>

const char *cxi_inside_folder(const char *path, const char *name, char *room,
                              size_t bytes) {
  struct stat s;
  if (stat(path, &s) != 0 || !S_ISDIR(s.st_mode)) return path;
  return snprintf(room, bytes, "%s/%s", path, name) < (int)bytes ? room : path;
}
bool cxi_config_bad(const char *model, const char *name, const char *why) {
  cx_fail(CX_ETREE, "%s config: \"%s\" %s", model, name, why);
  return false;
}
/* Where its lexer runs out of memory jansson leaves the text empty. */
void cxi_config_no_json(const char *what, const char *path,
                        const json_error_t *error) {
  if (error->text[0] == 0 || json_error_code(error) == json_error_out_of_memory)
    cx_fail(CX_EMEMORY, "%s: %s: out of memory", what, path);
  else
    cx_fail(CX_ETREE, "%s: %s:%d: %s", what, path, error->line, error->text);
}
json_t *cxi_config_read(const char *model, const char *path) {
  char room[4096];
  json_error_t error;
  path = cxi_inside_folder(path, "config.json", room, sizeof room);
  FILE *f = fopen(path, "rb");
  if (!f) {
    cx_fail(CX_EIO, "%s config: %s cannot be opened", model, path);
    return NULL;
  }
  json_t *root = json_loadf(f, JSON_REJECT_DUPLICATES, &error);
  fclose(f);
  if (!root) {
    char what[64];
    snprintf(what, sizeof what, "%s config", model);
    cxi_config_no_json(what, path, &error);
  }
  if (root && !json_is_object(root)) {
    cx_fail(CX_ETREE, "%s config: %s holds no object", model, path);
    json_decref(root);
    root = NULL;
  }
  return root;
}
static const json_t *field(const json_t *root, const char *name) {
  const json_t *x = json_object_get(root, name);
  return json_is_null(x) ? NULL : x;
}
bool cxi_config_size(const char *model, const json_t *root, const char *name,
                     int otherwise, int *out) {
  const json_t *x = field(root, name);
  *out = otherwise;
  if (!x) return true;
  json_int_t value = json_is_integer(x) ? json_integer_value(x) : 0;
  if (value < 1 || value > 1 << 28)
    return cxi_config_bad(model, name, "is no positive size");
  *out = (int)value;
  return true;
}
bool cxi_config_number(const char *model, const json_t *root, const char *name,
                       double otherwise, double most, double *out) {
  const json_t *x = field(root, name);
  *out = otherwise;
  if (!x) return true;
  *out = json_number_value(x);
  if (!json_is_number(x) || !(*out >= 0 && *out <= most))
    return cxi_config_bad(model, name, "is out of range");
  return true;
}
bool cxi_config_flag(const char *model, const json_t *root, const char *name,
                     bool otherwise, bool *out) {
  const json_t *x = field(root, name);
  *out = x ? json_is_true(x) : otherwise;
  return !x || json_is_boolean(x) || cxi_config_bad(model, name, "is no bool");
}
