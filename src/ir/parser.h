/* parser.h - between parse.c and parse_params.c. */
#ifndef CXI_PARSER_H
#define CXI_PARSER_H

#include "ir/builder.h"
#include "ir/labels.h"
#include "ir/lexer.h"

typedef struct cxi_parser {
  cxi_lexer lexer;
  size_t length;              /* of the text */
  cxi_builder builder;        /* of the program being read */
  cx *values;                 /* by their number in the text */
  uint32_t cap_values;
  const cxi_program **programs; /* read so far, each with a reference */
  uint32_t n_programs, cap_programs;
  cxi_labels names;           /* of programs; number: place in programs */
} cxi_parser;

bool cxi_parser_out_of_memory(cxi_parser *ps);
/* The program of that name, or NULL with an error. */
const cxi_program *cxi_parser_program(cxi_parser *ps, cxi_word name);
bool cxi_parser_dtype(cxi_parser *ps, cx_dtype *out);
bool cxi_parser_type(cxi_parser *ps, cxi_type *out); /* "f32[3]" */
/* Quoted text, in scratch memory meanwhile. */
bool cxi_parser_text(cxi_parser *ps, cxi_name *out);
bool cxi_parser_dims(cxi_parser *ps, char open, char close, cx_dims *out);
/* "[name=value, ...]" if the primitive has parameters; in scratch memory. */
bool cxi_parser_params(cxi_parser *ps, cxi_prim prim, const void **out);

#endif
