/* parse.c - text to program. docs/program-text.md describes the form.
 *
 * The text comes from anywhere: nothing recurses, every number is bounded by
 * the length of the text, and each equation goes through a builder, which
 * checks it as it checks those of a trace. */
#include "ir/text.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/number.h"
#include "ir/parser.h"

bool cxi_parser_out_of_memory(cxi_parser *ps) {
  return cxi_lexer_fail(&ps->lexer, CX_EMEMORY, "out of memory");
}

const cxi_program *cxi_parser_program(cxi_parser *ps, cxi_word name) {
  cxi_label *label = cxi_labels_find(&ps->names, name.text, name.length);
  if (label) return ps->programs[label->number];
  cxi_lexer_fail(&ps->lexer, CX_EIO, "there is no program @%.*s before this",
                 (int)name.length, name.text);
  return NULL;
}

/* Reports at the place `at`, which has been passed. */
static bool fail_at(const cxi_lexer *at, cx_code code, const char *text) {
  cxi_lexer place = *at;
  cxi_lexer_next(&place);
  return cxi_lexer_fail(&place, code, "%s", text);
}

/* -- lists of values ------------------------------------------------------ */

typedef struct handles {
  cx *items;
  uint32_t n, cap;
} handles;

static bool add_handle(cxi_parser *ps, handles *to, cx a) {
  if (!cxi_grow(&to->items, &to->cap, to->n + (size_t)1, sizeof *to->items))
    return cxi_parser_out_of_memory(ps);
  to->items[to->n++] = a;
  return true;
}

/* "%2: f32[3]" */
typedef struct declared {
  uint32_t number;
  cxi_type type;
} declared;

typedef struct declarations {
  declared *items;
  uint32_t n, cap;
} declarations;

/* The digits after '%'. There are fewer values than characters in the text,
 * which bounds the table of values. */
static bool parse_value_number(cxi_parser *ps, uint32_t *out) {
  cxi_lexer before = ps->lexer;
  cxi_word word;
  uint64_t number;
  if (!cxi_lexer_expect(&ps->lexer, '%') ||
      !cxi_lexer_word(&ps->lexer, "the number of a value", &word))
    return false;
  const char *wrong = cxi_number_parse(word.text, word.length, CX_U32, &number);
  if (!wrong && number >= ps->length) wrong = "is too large for this text";
  *out = wrong ? 0 : (uint32_t)number;
  return !wrong || fail_at(&before, CX_EIO, wrong);
}

bool cxi_parser_type(cxi_parser *ps, cxi_type *out) {
  cxi_lexer before = ps->lexer;
  cx_aval aval = { 0 };
  if (!cxi_parser_dtype(ps, &aval.type)) return false;
  if (cxi_lexer_next(&ps->lexer) == '[' &&
      !cxi_parser_dims(ps, '[', ']', &aval.shape))
    return false;
  *out = cxi_type_of(&aval);
  return *out || fail_at(&before, CX_ESHAPE,
                         "a size is negative or the type is too large");
}

static bool parse_declarations(cxi_parser *ps, declarations *to) {
  do {
    declared item;
    if (!parse_value_number(ps, &item.number) ||
        !cxi_lexer_expect(&ps->lexer, ':') || !cxi_parser_type(ps, &item.type))
      return false;
    if (!cxi_grow(&to->items, &to->cap, to->n + (size_t)1, sizeof *to->items))
      return cxi_parser_out_of_memory(ps);
    to->items[to->n++] = item;
  } while (cxi_lexer_accept(&ps->lexer, ','));
  return true;
}

/* Gives a value its number. */
static bool define(cxi_parser *ps, uint32_t number, cx value) {
  const uint32_t before = ps->cap_values;
  if (!cxi_grow(&ps->values, &ps->cap_values, number + (size_t)1,
                sizeof *ps->values))
    return cxi_parser_out_of_memory(ps);
  if (ps->cap_values > before)
    memset(ps->values + before, 0,
           (ps->cap_values - before) * sizeof *ps->values);
  if (cxi_builder_owns(&ps->builder, ps->values[number]))
    return cxi_lexer_fail(&ps->lexer, CX_EIO, "%%%u is defined twice",
                          (unsigned)number);
  ps->values[number] = value;
  return true;
}

static bool parse_literal(cxi_parser *ps, cx *out) {
  cxi_lexer before = ps->lexer;
  cxi_word word;
  cx_dtype dtype;
  uint64_t bits;
  if (!cxi_lexer_word(&ps->lexer, "a value or a number", &word) ||
      !cxi_lexer_expect(&ps->lexer, ':') || !cxi_parser_dtype(ps, &dtype))
    return false;
  const char *wrong = cxi_number_parse(word.text, word.length, dtype, &bits);
  if (wrong) {
    ps->lexer = before;
    cxi_lexer_next(&ps->lexer);
    return cxi_lexer_fail(&ps->lexer, CX_EIO, "%.*s:%s %s", (int)word.length,
                          word.text, cxi_dtype_name(dtype), wrong);
  }
  *out = cxi_literal_bits(dtype, bits);
  return !cxi_is_poison(*out) || cxi_parser_out_of_memory(ps);
}

static bool parse_operand(cxi_parser *ps, handles *to) {
  cx a;
  uint32_t number;
  cxi_lexer before = ps->lexer;
  if (cxi_lexer_next(&ps->lexer) != '%')
    return parse_literal(ps, &a) && add_handle(ps, to, a);
  if (!parse_value_number(ps, &number)) return false;
  if (number < ps->cap_values &&
      cxi_builder_owns(&ps->builder, ps->values[number]))
    return add_handle(ps, to, ps->values[number]);
  char text[64];
  snprintf(text, sizeof text, "%%%u is used, which is not defined", number);
  return fail_at(&before, CX_EIO, text);
}

/* Whether an operand stands next, and not the next equation: a number of a
 * value that no type follows, or a word with a dtype. */
static bool operand_follows(const cxi_parser *ps) {
  cxi_error ignored = { 0 };
  cxi_lexer look = ps->lexer;
  cxi_word word;
  look.error = &ignored;
  const bool value = cxi_lexer_accept(&look, '%');
  if (!cxi_lexer_word(&look, "", &word)) return value;
  return (cxi_lexer_next(&look) == ':') != value;
}

static bool parse_operands(cxi_parser *ps, handles *to) {
  if (!operand_follows(ps)) return true;
  do {
    if (!parse_operand(ps, to)) return false;
  } while (cxi_lexer_accept(&ps->lexer, ','));
  return true;
}

/* -- equations ------------------------------------------------------------ */

/* Room for one equation, used again by the next. */
typedef struct equation {
  declarations results;
  handles operands, values;
} equation;

static uint32_t least(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* How many characters to insert, remove or replace, for short words. */
static uint32_t distance(cxi_word word, const char *name) {
  uint32_t row[32], n = (uint32_t)strlen(name);
  for (uint32_t k = 0; k <= n; k++) row[k] = k;
  for (uint32_t i = 0; i < word.length; i++) {
    uint32_t diagonal = row[0];
    row[0] = i + 1;
    for (uint32_t k = 0; k < n; k++) {
      uint32_t replaced = diagonal + (word.text[i] != name[k]);
      diagonal = row[k + 1];
      row[k + 1] = least(replaced, least(row[k], row[k + 1]) + 1);
    }
  }
  return row[n];
}

/* The primitive whose name is nearest to the word; NONE if none is near. */
static cxi_prim nearest(cxi_word word) {
  cxi_prim best = CXI_PRIM_NONE;
  uint32_t best_distance = 4;
  if (word.length > 31) return best;
  for (int i = CXI_PRIM_NONE + 1; i < CXI_N_PRIMS; i++) {
    const char *name = cxi_prim_name((cxi_prim)i);
    uint32_t d = strlen(name) < 32 ? distance(word, name) : best_distance;
    if (d < best_distance && d < word.length) {
      best = (cxi_prim)i;
      best_distance = d;
    }
  }
  return best;
}

static bool parse_primitive(cxi_parser *ps, cxi_prim *out) {
  cxi_lexer before = ps->lexer;
  cxi_word word;
  if (!cxi_lexer_word(&ps->lexer, "a primitive", &word)) return false;
  *out = cxi_prim_find(word.text, word.length);
  if (*out != CXI_PRIM_NONE) return true;
  char text[400];
  cxi_prim near = nearest(word);
  snprintf(text, sizeof text, "there is no primitive %.*s%s%s%s",
           (int)word.length, word.text, near ? ": is it " : "",
           near ? cxi_prim_name(near) : "", near ? "?" : "");
  return fail_at(&before, CX_EIO, text);
}

/* Errors in infer are those of the builder, with their code. */
static bool emit(cxi_parser *ps, const cxi_lexer *at, equation *e,
                 cxi_prim prim, const void *params) {
  if (!cxi_grow(&e->values.items, &e->values.cap, e->results.n + (size_t)1,
                sizeof *e->values.items))
    return cxi_parser_out_of_memory(ps);
  if (cxi_emit(prim, params, e->operands.n, e->operands.items, e->results.n,
               e->values.items))
    return true;
  return fail_at(at, ps->builder.error.code, ps->builder.error.text);
}

static bool define_results(cxi_parser *ps, const cxi_lexer *at,
                           const equation *e) {
  for (uint32_t i = 0; i < e->results.n; i++) {
    cxi_type type = cxi_type_at(e->values.items[i]);
    if (type == e->results.items[i].type) {
      if (!define(ps, e->results.items[i].number, e->values.items[i]))
        return false;
      continue;
    }
    char has[200], text[300];
    cxi_aval_print(has, sizeof has, cxi_type_aval(type));
    snprintf(text, sizeof text, "the type of %%%u is %s",
             (unsigned)e->results.items[i].number, has);
    return fail_at(at, CX_ESHAPE, text);
  }
  return true;
}

/* [results =] primitive [parameters] operands */
static bool parse_equation(cxi_parser *ps, equation *e) {
  cxi_prim prim;
  const void *params;
  char site[32];
  cxi_lexer start = ps->lexer;
  const bool has_results = cxi_lexer_next(&ps->lexer) == '%';
  snprintf(site, sizeof site, "text:%u", (unsigned)ps->lexer.line);
  cxi_site_use(cxi_name_of(site));
  e->results.n = e->operands.n = 0;
  if (has_results && (!parse_declarations(ps, &e->results) ||
                      !cxi_lexer_expect(&ps->lexer, '=')))
    return false;
  cxi_mark mark = cxi_scratch_mark();
  bool ok = parse_primitive(ps, &prim) &&
            cxi_parser_params(ps, prim, &params) &&
            parse_operands(ps, &e->operands) &&
            emit(ps, &start, e, prim, params) && define_results(ps, &start, e);
  cxi_scratch_reset(mark);
  return ok;
}

/* Whether "return" stands next; takes it. */
static bool accept_return(cxi_parser *ps) {
  cxi_error ignored = { 0 };
  cxi_lexer look = ps->lexer;
  cxi_word word;
  look.error = &ignored;
  if (!cxi_lexer_word(&look, "", &word) || !cxi_word_is(word, "return"))
    return false;
  look.error = ps->lexer.error;
  ps->lexer = look;
  return true;
}

/* -- programs ------------------------------------------------------------- */

static bool parse_inputs(cxi_parser *ps, equation *e, handles *in) {
  if (!cxi_lexer_expect(&ps->lexer, '(')) return false;
  if (cxi_lexer_accept(&ps->lexer, ')')) return true;
  e->results.n = 0;
  if (!parse_declarations(ps, &e->results) ||
      !cxi_lexer_expect(&ps->lexer, ')'))
    return false;
  for (uint32_t i = 0; i < e->results.n; i++) {
    cx a = cxi_builder_input(&ps->builder, e->results.items[i].type);
    if (cxi_is_poison(a)) return cxi_parser_out_of_memory(ps);
    if (!define(ps, e->results.items[i].number, a) || !add_handle(ps, in, a))
      return false;
  }
  return true;
}

/* (inputs) { equations return outputs } with the builder open. */
static bool parse_body(cxi_parser *ps, handles *in, handles *out) {
  equation e = { 0 };
  bool ok = parse_inputs(ps, &e, in) && cxi_lexer_expect(&ps->lexer, '{');
  while (ok && !accept_return(ps)) ok = parse_equation(ps, &e);
  ok = ok && (cxi_lexer_next(&ps->lexer) == '}' || parse_operands(ps, out)) &&
       cxi_lexer_expect(&ps->lexer, '}');
  cxi_free(e.results.items);
  cxi_free(e.operands.items);
  cxi_free(e.values.items);
  return ok;
}

/* Keeps a program under its name; takes the reference. */
static bool add_program(cxi_parser *ps, cxi_word name, const cxi_program *p) {
  if (!cxi_grow(&ps->programs, &ps->cap_programs, ps->n_programs + (size_t)1,
                sizeof(const cxi_program *))) {
    cxi_program_release(p);
    return cxi_parser_out_of_memory(ps);
  }
  ps->programs[ps->n_programs++] = p;
  return cxi_labels_add(&ps->names, name.text, name.length,
                        ps->n_programs - 1) ||
         cxi_parser_out_of_memory(ps);
}

/* program @name(inputs) { ... } */
static bool parse_program(cxi_parser *ps) {
  cxi_word name;
  handles in = { 0 }, out = { 0 };
  cxi_lexer start = ps->lexer;
  if (!cxi_lexer_keyword(&ps->lexer, "program") ||
      !cxi_lexer_expect(&ps->lexer, '@') ||
      !cxi_lexer_word(&ps->lexer, "a name", &name))
    return false;
  if (cxi_labels_find(&ps->names, name.text, name.length))
    return fail_at(&start, CX_EIO, "a program of this name stands before");
  cxi_builder_open(&ps->builder);
  const cxi_program *p = NULL;
  if (parse_body(ps, &in, &out)) {
    cxi_error error = { 0 };
    p = cxi_builder_finish(&ps->builder, cxi_name_of_n(name.text, name.length),
                           in.n, in.items, out.n, out.items, &error);
    if (!p) fail_at(&start, error.code, error.text);
  } else {
    cxi_builder_abandon(&ps->builder);
  }
  cxi_free(in.items);
  cxi_free(out.items);
  return p && add_program(ps, name, p);
}

/* The last program, with its reference; the others are released. */
static const cxi_program *close_parser(cxi_parser *ps, bool ok) {
  const cxi_program *result = NULL;
  if (ok) result = ps->programs[--ps->n_programs];
  for (uint32_t i = 0; i < ps->n_programs; i++)
    cxi_program_release(ps->programs[i]);
  cxi_free(ps->programs);
  cxi_free(ps->values);
  cxi_labels_free(&ps->names);
  return result;
}

const cxi_program *cxi_program_parse(const char *text, size_t length,
                                     cxi_error *error) {
  cxi_error first = { 0 };
  cxi_parser ps = {
    .lexer = { text, text + length, text, 1, &first },
    .length = length,
  };
  cxi_name site = cxi_site_now(), scope = cxi_scope_use(0);
  bool ok = true;
  do ok = parse_program(&ps);
  while (ok && (cxi_lexer_next(&ps.lexer) || ps.lexer.at < ps.lexer.end));
  cxi_site_use(site);
  cxi_scope_use(scope);
  if (!ok) cxi_error_set(error, first.code, "%s", first.text);
  return close_parser(&ps, ok);
}
