/* text.h - programs as text: printer, parser, checker.
 *
 *   program @body(%0: f32[3], %1: f32[3]) {
 *     %2: f32[3] = mul %0, 2.0:f32
 *     %3: f32[3] = add %2, %1
 *     return %3, %3
 *   }
 *   program @main(%0: f32[3], %1: f32[5,3]) {
 *     %2: f32[3], %3: f32[5,3] = scan[body=@body, length=5, reverse=false, unroll=1,
 *       n_consts=0, n_carry=1] %0, %1
 *     return %3
 *   }
 *
 * Programs stand before those that use them; the last is the whole. Names
 * are made distinct by a suffix. Literals carry their dtype: 1.5:f32, nan:f32,
 * -inf:f64, true:bool, 7:i32; a NaN with other bits than the default quiet
 * one is written 0x7fc00001:f32. Every parameter is written. Line breaks are
 * blanks; "//" starts a comment. docs/program-text.md has the grammar. */
#ifndef CXI_TEXT_H
#define CXI_TEXT_H

#include "ir/program.h"

typedef struct cxi_text_options {
  bool sites;                 /* after an equation: // train.c:41 layer.3 */
} cxi_text_options;

/* Allocated with cxi_alloc, to be freed with cxi_free; NULL without memory. */
char *cxi_program_print(const cxi_program *p, cxi_text_options options);

/* Reads text into a program with a reference; NULL with an error that names
 * line and column. Text of any depth and length; never recursive. */
const cxi_program *cxi_program_parse(const char *text, size_t length,
                                     cxi_error *error);

/* Verifies every invariant: numbering, types against infer, sub-programs. */
bool cxi_program_check(const cxi_program *p, cxi_error *error);

#endif
