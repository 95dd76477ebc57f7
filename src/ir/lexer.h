/* lexer.h - a place in a program text: blanks, words, errors. */
#ifndef CXI_LEXER_H
#define CXI_LEXER_H

#include "base/error.h"

typedef struct cxi_lexer {
  const char *at, *end;
  const char *line_start;
  uint32_t line;              /* from 1 */
  cxi_error *error;
} cxi_lexer;                  /* a copy of it is a place to return to */

/* A stretch of the text. */
typedef struct cxi_word {
  const char *text;
  size_t length;
} cxi_word;

/* Reports "line:column: text" at this place; returns false. */
bool cxi_lexer_fail(cxi_lexer *lexer, cx_code code, const char *format, ...)
    CX_PRINTF(3, 4);

/* Skips blanks and comments; the character that follows, 0 at the end. */
char cxi_lexer_next(cxi_lexer *lexer);
/* Takes c if it is next. */
bool cxi_lexer_accept(cxi_lexer *lexer, char c);
/* Takes c or reports. */
bool cxi_lexer_expect(cxi_lexer *lexer, char c);
/* Takes letters, digits and any of _ . - +, at most 255 of them; what names
 * it in the report if there are none. */
bool cxi_lexer_word(cxi_lexer *lexer, const char *what, cxi_word *out);
/* Takes this word or reports. */
bool cxi_lexer_keyword(cxi_lexer *lexer, const char *keyword);
bool cxi_word_is(cxi_word word, const char *text);

#endif
