/* named.c - names for the operations of a block. */
#include <stdarg.h>
#include <stdio.h>

#include "calx/effect.h"
#include "ir/emit.h"

/* "encoder/layer.3": blocks within blocks. The handle is the name before. */
cx_scope cx_named_push_(const char *format, ...) {
  char name[200], path[512];
  va_list arguments;
  va_start(arguments, format);
  if (!format || vsnprintf(name, sizeof name, format, arguments) < 0)
    name[0] = 0;
  va_end(arguments);
  const cxi_name outer = cxi_scope_now();
  if (outer)
    snprintf(path, sizeof path, "%.300s/%s", cxi_name_text(outer), name);
  else
    snprintf(path, sizeof path, "%s", name);
  return (cx_scope){ cxi_scope_use(cxi_name_of(path)) };
}

void cx_named_pop_(cx_scope *name) {
  if (name) cxi_scope_use(name->id);
}
