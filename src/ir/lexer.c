/* lexer.c - blanks, words and errors of program texts. */
#include "ir/lexer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WORD = 255 };

bool cxi_lexer_fail(cxi_lexer *lexer, cx_code code, const char *format, ...) {
  char text[sizeof lexer->error->text];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return cxi_error_set(lexer->error, code, "%u:%u: %s", (unsigned)lexer->line,
                       (unsigned)(lexer->at - lexer->line_start) + 1, text);
}

char cxi_lexer_next(cxi_lexer *lexer) {
  bool comment = false;
  for (; lexer->at < lexer->end; lexer->at++) {
    char c = *lexer->at;
    if (c == '\n') {
      comment = false;
      lexer->line++;
      lexer->line_start = lexer->at + 1;
    } else if (comment || c == ' ' || c == '\t' || c == '\r') {
      continue;
    } else if (c == '/' && lexer->end - lexer->at > 1 && lexer->at[1] == '/') {
      comment = true;
    } else {
      return c;
    }
  }
  return 0;
}

bool cxi_lexer_accept(cxi_lexer *lexer, char c) {
  if (cxi_lexer_next(lexer) != c || lexer->at == lexer->end) return false;
  lexer->at++;
  return true;
}

/* What stands at this place, for a report. */
static bool report_found(cxi_lexer *lexer, const char *expected) {
  char c = cxi_lexer_next(lexer);
  if (lexer->at == lexer->end)
    return cxi_lexer_fail(lexer, CX_EIO,
                          "expected %s, found the end of the "
                          "text",
                          expected);
  if (c < ' ' || c > '~')
    return cxi_lexer_fail(lexer, CX_EIO, "expected %s, found the byte 0x%02x",
                          expected, (unsigned)(unsigned char)c);
  return cxi_lexer_fail(lexer, CX_EIO, "expected %s, found '%c'", expected, c);
}

bool cxi_lexer_expect(cxi_lexer *lexer, char c) {
  if (cxi_lexer_accept(lexer, c)) return true;
  return report_found(lexer, (char[]){ '\'', c, '\'', 0 });
}

static bool is_word_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '+';
}

bool cxi_lexer_word(cxi_lexer *lexer, const char *what, cxi_word *out) {
  cxi_lexer_next(lexer);
  const char *at = lexer->at;
  while (at < lexer->end && is_word_char(*at)) at++;
  *out = (cxi_word){ lexer->at, (size_t)(at - lexer->at) };
  if (out->length == 0) return report_found(lexer, what);
  if (out->length > MAX_WORD)
    return cxi_lexer_fail(lexer, CX_EIO, "a word is longer than %d characters",
                          MAX_WORD);
  lexer->at = at;
  return true;
}

bool cxi_lexer_keyword(cxi_lexer *lexer, const char *keyword) {
  cxi_lexer before = *lexer;
  cxi_word word;
  if (!cxi_lexer_word(lexer, keyword, &word)) return false;
  if (cxi_word_is(word, keyword)) return true;
  *lexer = before;
  cxi_lexer_next(lexer);
  return cxi_lexer_fail(lexer, CX_EIO, "expected %s, found %.*s", keyword,
                        (int)word.length, word.text);
}

bool cxi_word_is(cxi_word word, const char *text) {
  return strncmp(word.text, text, word.length) == 0 && !text[word.length];
}
