/* signature.h - what a function takes and gives, as text before its program:
 *
 *   function predict(params: {b: f32[4], w: f32[3,4]}, x: f32[8,3]) -> f32[8,4]
 *   constants (table: f32[9,3])
 *
 * The inputs of the program are the constants, then the leaves of the
 * arguments in order; docs/program-text.md has the grammar. */
#ifndef CXI_SIGNATURE_H
#define CXI_SIGNATURE_H

#include "base/hash.h"
#include "trace/item.h"

typedef struct cxi_signature {
  cxi_name name;
  uint32_t n_args, n_constants;
  cxi_name *arg_names, *constant_names;
  cxi_sig *args;
  cxi_type *constants;
  cxi_sig out;
} cxi_signature;

/* Whether a text begins with one. */
bool cxi_signature_stands(const char *text, size_t length);
/* Reads it; *out_end is how much of the text it is. False with an error that
 * names line and column. The arrays are to be freed either way. */
bool cxi_signature_parse(const char *text, size_t length, cxi_signature *out,
                         size_t *out_end, cxi_error *error);
/* Whether a program has the inputs and outputs that it tells of. */
bool cxi_signature_fits(const cxi_signature *signature, const cxi_program *p,
                        cxi_error *error);
void cxi_signature_free(cxi_signature *signature);

void cxi_signature_print(const cxi_signature *signature, cxi_bytes *out);

#endif
