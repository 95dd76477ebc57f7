/* parse_params.c - the parameters of an equation, from text. */
#include "ir/parser.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/number.h"

/* -- lists of any length, in scratch memory ------------------------------- */

typedef struct list {
  void *items;
  uint32_t n, cap;
} list;

/* The place of a new item; NULL, reported, without memory. */
static void *append(cxi_parser *ps, list *to, size_t size) {
  if (to->n == to->cap) {
    uint32_t cap = to->cap * 2 + 8;
    void *items = cxi_scratch(cap * size);
    if (!items) {
      cxi_parser_out_of_memory(ps);
      return NULL;
    }
    if (to->n) memcpy(items, to->items, to->n * size);
    to->items = items;
    to->cap = cap;
  }
  return (char *)to->items + to->n++ * size;
}

/* "(item,item)": reads each with `item` into the place it is given. */
static bool parse_list(cxi_parser *ps, size_t size,
                       bool (*item)(cxi_parser *, void *), list *out) {
  *out = (list){ 0 };
  if (!cxi_lexer_expect(&ps->lexer, '(')) return false;
  if (cxi_lexer_accept(&ps->lexer, ')')) return true;
  do {
    void *at = append(ps, out, size);
    if (!at || !item(ps, at)) return false;
  } while (cxi_lexer_accept(&ps->lexer, ','));
  return cxi_lexer_expect(&ps->lexer, ')');
}

/* -- single values -------------------------------------------------------- */

static bool parse_number(cxi_parser *ps, const char *what, cx_dtype dtype,
                         uint64_t *out) {
  cxi_lexer before = ps->lexer;
  cxi_word word;
  if (!cxi_lexer_word(&ps->lexer, what, &word)) return false;
  const char *wrong = cxi_number_parse(word.text, word.length, dtype, out);
  if (!wrong) return true;
  ps->lexer = before;
  cxi_lexer_next(&ps->lexer);
  return cxi_lexer_fail(&ps->lexer, CX_EIO, "%.*s %s", (int)word.length,
                        word.text, wrong);
}

static bool parse_integer(cxi_parser *ps, void *out) {
  uint64_t bits;
  if (!parse_number(ps, "an integer", CX_I64, &bits)) return false;
  memcpy(out, &bits, sizeof bits);
  return true;
}

static bool parse_real(cxi_parser *ps, void *out) {
  uint64_t bits;
  if (!parse_number(ps, "a number", CX_F64, &bits)) return false;
  memcpy(out, &bits, sizeof bits);
  return true;
}

static bool parse_bool(cxi_parser *ps, cxi_field_bool *out) {
  uint64_t bits;
  if (!parse_number(ps, "true or false", CX_BOOL, &bits)) return false;
  *out = bits != 0;
  return true;
}

bool cxi_parser_dtype(cxi_parser *ps, cx_dtype *out) {
  cxi_lexer before = ps->lexer;
  cxi_word word;
  if (!cxi_lexer_word(&ps->lexer, "a dtype", &word)) return false;
  *out = cxi_dtype_parse(word.text, word.length);
  if (*out) return true;
  ps->lexer = before;
  cxi_lexer_next(&ps->lexer);
  return cxi_lexer_fail(&ps->lexer, CX_EDTYPE, "unknown dtype %.*s",
                        (int)word.length, word.text);
}

bool cxi_parser_dims(cxi_parser *ps, char open, char close, cx_dims *out) {
  *out = (cx_dims){ 0 };
  if (!cxi_lexer_expect(&ps->lexer, open)) return false;
  if (cxi_lexer_accept(&ps->lexer, close)) return true;
  do {
    if (out->n == CX_MAX_DIMS)
      return cxi_lexer_fail(&ps->lexer, CX_ESHAPE, "more than %d integers",
                            CX_MAX_DIMS);
    if (!parse_integer(ps, &out->d[out->n++])) return false;
  } while (cxi_lexer_accept(&ps->lexer, ','));
  return cxi_lexer_expect(&ps->lexer, close);
}

static bool parse_mode(cxi_parser *ps, cx_mode *out) {
  cxi_word word;
  if (!cxi_lexer_word(&ps->lexer, "a mode", &word)) return false;
  if (cxi_mode_find(word.text, word.length, out)) return true;
  return cxi_lexer_fail(&ps->lexer, CX_EIO,
                        "unknown mode %.*s: default, clip, drop, fill and "
                        "in_bounds are known",
                        (int)word.length, word.text);
}

/* -- quoted text ---------------------------------------------------------- */

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* One character, or an escape: \" \\ \x0a. The length read, 0: not valid. */
static size_t read_char(const char *at, const char *end, char *out) {
  if (*at != '\\') {
    *out = *at;
    return *at == '\n' || *at == 0 ? 0 : 1;
  }
  if (end - at >= 2 && (at[1] == '"' || at[1] == '\\')) {
    *out = at[1];
    return 2;
  }
  if (end - at < 4 || at[1] != 'x') return 0;
  int hi = hex_digit(at[2]), lo = hex_digit(at[3]);
  if (hi < 0 || lo < 0 || hi + lo == 0) return 0;
  *out = (char)(hi * 16 + lo);
  return 4;
}

bool cxi_parser_text(cxi_parser *ps, cxi_name *out) {
  cxi_lexer *lexer = &ps->lexer;
  if (!cxi_lexer_expect(lexer, '"')) return false;
  list text = { 0 };
  while (lexer->at < lexer->end && *lexer->at != '"') {
    char *c = append(ps, &text, 1);
    if (!c) return false;
    size_t n = read_char(lexer->at, lexer->end, c);
    if (n == 0)
      return cxi_lexer_fail(lexer, CX_EIO, "not a character of a quoted text");
    lexer->at += n;
  }
  if (!cxi_lexer_expect(lexer, '"')) return false;
  cxi_name name = text.n ? cxi_name_of_n(text.items, text.n) : 0;
  if (text.n && !name) return cxi_parser_out_of_memory(ps);
  *out = name;
  return true;
}

static bool parse_text(cxi_parser *ps, void *out) {
  return cxi_parser_text(ps, out);
}

/* -- programs ------------------------------------------------------------- */

static bool parse_program(cxi_parser *ps, void *out) {
  const cxi_program *p = NULL;
  cxi_word name;
  const bool given = cxi_lexer_accept(&ps->lexer, '@');
  if (given) {
    if (!cxi_lexer_word(&ps->lexer, "the name of a program", &name))
      return false;
    p = cxi_parser_program(ps, name);
    if (!p) return false;
  } else if (!cxi_lexer_keyword(&ps->lexer, "none")) {
    return false;
  }
  memcpy(out, &p, sizeof p);
  return true;
}

/* -- fields --------------------------------------------------------------- */

static bool parse_field(cxi_parser *ps, cxi_field_kind kind, void *at) {
  list items;
  switch (kind) {
  case CXI_FIELD_int:
    return parse_integer(ps, at);
  case CXI_FIELD_bool:
    return parse_bool(ps, at);
  case CXI_FIELD_real:
    return parse_real(ps, at);
  case CXI_FIELD_dims:
    return cxi_parser_dims(ps, '(', ')', at);
  case CXI_FIELD_dtype:
    return cxi_parser_dtype(ps, at);
  case CXI_FIELD_name:
    return parse_text(ps, at);
  case CXI_FIELD_mode:
    return parse_mode(ps, at);
  case CXI_FIELD_program:
    return parse_program(ps, at);
  case CXI_FIELD_ints:
    if (!parse_list(ps, sizeof(int64_t), parse_integer, &items)) return false;
    *(cxi_ints *)at = (cxi_ints){ items.n, items.items };
    return true;
  case CXI_FIELD_names:
  case CXI_FIELD_axis_names:
    if (!parse_list(ps, sizeof(cxi_name), parse_text, &items)) return false;
    *(cxi_names *)at = (cxi_names){ items.n, items.items };
    return true;
  case CXI_FIELD_programs:
    if (!parse_list(ps, sizeof(cxi_program *), parse_program, &items))
      return false;
    *(cxi_programs *)at = (cxi_programs){ items.n, items.items };
    return true;
  }
  return false;
}

static const cxi_field *find_field(const cxi_schema *schema, cxi_word name) {
  for (const cxi_field *x = schema->fields; x->name; x++)
    if (cxi_word_is(name, x->name)) return x;
  return NULL;
}

/* name=value; a bit for each field that was read is set in *seen. */
static bool parse_named_field(cxi_parser *ps, const cxi_schema *schema,
                              char *params, uint64_t *seen) {
  cxi_lexer before = ps->lexer;
  cxi_word name;
  if (!cxi_lexer_word(&ps->lexer, "the name of a parameter", &name))
    return false;
  const cxi_field *x = find_field(schema, name);
  const uint64_t bit = x ? UINT64_C(1) << (x - schema->fields) : 0;
  if (!x || (*seen & bit)) {
    ps->lexer = before;
    cxi_lexer_next(&ps->lexer);
    return cxi_lexer_fail(&ps->lexer, CX_EIO, "%s: parameter %.*s is %s",
                          schema->name, (int)name.length, name.text,
                          x ? "given twice" : "not known");
  }
  *seen |= bit;
  return cxi_lexer_expect(&ps->lexer, '=') &&
         parse_field(ps, x->kind, params + x->offset);
}

bool cxi_parser_params(cxi_parser *ps, cxi_prim prim, const void **out) {
  const cxi_schema *schema = cxi_schema_of(prim);
  char *params = cxi_scratch(schema->size);
  uint64_t seen = 0;
  if (!params) return cxi_parser_out_of_memory(ps);
  *out = params;
  if (cxi_lexer_accept(&ps->lexer, '[') && !cxi_lexer_accept(&ps->lexer, ']')) {
    do {
      if (!parse_named_field(ps, schema, params, &seen)) return false;
    } while (cxi_lexer_accept(&ps->lexer, ','));
    if (!cxi_lexer_expect(&ps->lexer, ']')) return false;
  }
  for (const cxi_field *x = schema->fields; x->name; x++)
    if (!(seen >> (x - schema->fields) & 1))
      return cxi_lexer_fail(&ps->lexer, CX_EIO, "%s: parameter %s is missing",
                            schema->name, x->name);
  return true;
}
