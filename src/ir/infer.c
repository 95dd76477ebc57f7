/* infer.c - what a row's infer reports: result types, or an error. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/row.h"

/* No equation has more results; texts from outside could ask for any number
 * (one for each index of an axis), and each takes memory. */
enum { MAX_RESULTS = 1 << 20 };

bool cxi_infer_result(cxi_infer *c, cxi_type type) {
  if (!type)
    return cxi_infer_fail(c, CX_ESHAPE,
                          "the result's shape is not valid or "
                          "too large");
  if (c->n_out == MAX_RESULTS)
    return cxi_infer_fail(c, CX_ESHAPE, "more than %d results", MAX_RESULTS);
  if (c->n_out == c->cap_out) {
    uint32_t cap = c->cap_out * 2 + 8;
    cxi_type *out = cxi_scratch(cap * sizeof *out);
    if (!out) return cxi_infer_fail(c, CX_EMEMORY, "out of memory");
    if (c->n_out) memcpy(out, c->out, c->n_out * sizeof *out);
    c->out = out;
    c->cap_out = cap;
  }
  c->out[c->n_out++] = type;
  return true;
}

bool cxi_infer_fail(cxi_infer *c, cx_code code, const char *format, ...) {
  if (c->error.code != CX_OK) return false;
  va_list arguments;
  va_start(arguments, format);
  c->error.code = code;
  vsnprintf(c->error.text, sizeof c->error.text, format, arguments);
  va_end(arguments);
  return false;
}
