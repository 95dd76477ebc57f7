/* signature.c - signatures of functions: text to trees of types and back.
 *
 * The text comes from anywhere: reading it keeps its own stack. */
#include "trace/signature.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/parser.h"

/* -- trees being read ----------------------------------------------------- */

/* A tuple or dict that is open: where its items and names begin. */
typedef struct frame {
  bool is_dict;
  uint32_t first_item, first_name;
} frame;

/* Items and names of all that is open; a finished tree takes its items off. */
typedef struct reader {
  cxi_parser ps; /* its lexer alone is used */
  frame *frames;
  uint32_t n_frames, cap_frames;
  cxi_sig *items;
  uint32_t n_items, cap_items;
  cxi_name *names;
  uint32_t n_names, cap_names;
} reader;

static void reader_free(reader *r) {
  cxi_free(r->frames);
  cxi_free(r->items);
  cxi_free(r->names);
}

static bool fail(reader *r, const char *text) {
  return cxi_lexer_fail(&r->ps.lexer, CX_EIO, "%s", text);
}

static bool push_item(reader *r, cxi_sig sig) {
  if (!sig || !cxi_grow(&r->items, &r->cap_items, r->n_items + (size_t)1,
                        sizeof *r->items))
    return cxi_parser_out_of_memory(&r->ps);
  r->items[r->n_items++] = sig;
  return true;
}

static bool push_frame(reader *r, bool is_dict) {
  if (r->n_frames == CXI_TREE_DEPTH_MOST) return fail(r, "a tree is too deep");
  if (!cxi_grow(&r->frames, &r->cap_frames, r->n_frames + (size_t)1,
                sizeof *r->frames))
    return cxi_parser_out_of_memory(&r->ps);
  r->frames[r->n_frames++] = (frame){ is_dict, r->n_items, r->n_names };
  return true;
}

/* A word or quoted text that names something. */
static bool read_name(reader *r, cxi_name *out) {
  cxi_word word;
  if (cxi_lexer_next(&r->ps.lexer) == '"') {
    if (!cxi_parser_text(&r->ps, out)) return false;
  } else {
    if (!cxi_lexer_word(&r->ps.lexer, "a name", &word)) return false;
    *out = cxi_name_of_n(word.text, word.length);
    if (!*out) return cxi_parser_out_of_memory(&r->ps);
  }
  return *out || fail(r, "a name is empty");
}

/* "key:" of an open dict, where keys stand in order. */
static bool read_key(reader *r, const frame *f) {
  cxi_name name;
  if (!read_name(r, &name)) return false;
  const char *text = cxi_name_text(name);
  if (strchr(text, '.')) return fail(r, "a key has a dot");
  if (r->n_names > f->first_name &&
      cxi_key_compare(r->names[r->n_names - 1], name) >= 0)
    return cxi_lexer_fail(&r->ps.lexer, CX_EIO,
                          "the key \"%.60s\" does not come after \"%.60s\"",
                          text, cxi_name_text(r->names[r->n_names - 1]));
  if (!cxi_grow(&r->names, &r->cap_names, r->n_names + (size_t)1,
                sizeof *r->names))
    return cxi_parser_out_of_memory(&r->ps);
  r->names[r->n_names++] = name;
  return cxi_lexer_expect(&r->ps.lexer, ':');
}

/* A leaf or "none". */
static bool read_leaf(reader *r) {
  cxi_lexer look = r->ps.lexer;
  cxi_error ignored = { 0 };
  cxi_word word;
  cxi_type type;
  look.error = &ignored;
  if (cxi_lexer_word(&look, "", &word) && cxi_word_is(word, "none")) {
    look.error = r->ps.lexer.error;
    r->ps.lexer = look;
    return push_item(r, cxi_sig_none());
  }
  return cxi_parser_type(&r->ps, &type) && push_item(r, cxi_sig_of_type(type));
}

/* Ends the innermost tree: its items become one. */
static bool close_frame(reader *r) {
  const frame f = r->frames[--r->n_frames];
  const uint32_t n = r->n_items - f.first_item;
  const cxi_sig *items = r->items ? r->items + f.first_item : NULL;
  const cxi_name *names = r->names ? r->names + f.first_name : NULL;
  const cxi_sig made =
      f.is_dict ? cxi_sig_dict(n, names, items) : cxi_sig_tuple(n, items);
  r->n_items = f.first_item;
  r->n_names = f.first_name;
  return push_item(r, made);
}

/* What opens next: opens trees down to the first leaf. True with *empty if a
 * tree without items was opened, which then is to be closed. */
static bool read_down(reader *r, bool *empty) {
  *empty = false;
  for (;;) {
    const bool is_dict = cxi_lexer_next(&r->ps.lexer) == '{';
    if (!cxi_lexer_accept(&r->ps.lexer, '{') &&
        !cxi_lexer_accept(&r->ps.lexer, '('))
      return read_leaf(r);
    if (!push_frame(r, is_dict)) return false;
    *empty = cxi_lexer_next(&r->ps.lexer) == (is_dict ? '}' : ')');
    if (*empty) return true;
    if (is_dict && !read_key(r, &r->frames[r->n_frames - 1])) return false;
  }
}

static bool read_tree(reader *r, cxi_sig *out) {
  bool empty;
  if (!read_down(r, &empty)) return false;
  while (r->n_frames) {
    const frame f = r->frames[r->n_frames - 1];
    if (!empty && cxi_lexer_accept(&r->ps.lexer, ',')) {
      if (f.is_dict && !read_key(r, &f)) return false;
      if (!read_down(r, &empty)) return false;
      continue;
    }
    empty = false;
    if (!cxi_lexer_expect(&r->ps.lexer, f.is_dict ? '}' : ')') ||
        !close_frame(r))
      return false;
  }
  *out = r->items[--r->n_items];
  return true;
}

/* -- lists ---------------------------------------------------------------- */

/* "name:" of entry n, into the list of names. */
static bool read_entry(reader *r, uint32_t n, cxi_name **names, uint32_t *cap) {
  cxi_name name;
  if (!read_name(r, &name) || !cxi_lexer_expect(&r->ps.lexer, ':'))
    return false;
  if (!cxi_grow(names, cap, n + (size_t)1, sizeof **names))
    return cxi_parser_out_of_memory(&r->ps);
  (*names)[n] = name;
  return true;
}

static bool stands_twice(reader *r, const cxi_signature *s) {
  const cxi_name name = s->arg_names[s->n_args];
  for (uint32_t i = 0; i < s->n_args; i++)
    if (s->arg_names[i] == name)
      return !cxi_lexer_fail(&r->ps.lexer, CX_EIO, "\"%.60s\" stands twice",
                             cxi_name_text(name));
  return false;
}

static bool read_args(reader *r, cxi_signature *s) {
  uint32_t cap_names = 0, cap_args = 0;
  if (!cxi_lexer_expect(&r->ps.lexer, '(')) return false;
  if (cxi_lexer_accept(&r->ps.lexer, ')')) return true;
  do {
    if (s->n_args == CX_MAX_ARGS) return fail(r, "too many arguments");
    if (!read_entry(r, s->n_args, &s->arg_names, &cap_names) ||
        stands_twice(r, s))
      return false;
    if (!cxi_grow(&s->args, &cap_args, s->n_args + (size_t)1, sizeof *s->args))
      return cxi_parser_out_of_memory(&r->ps);
    if (!read_tree(r, &s->args[s->n_args])) return false;
    s->n_args++;
  } while (cxi_lexer_accept(&r->ps.lexer, ','));
  return cxi_lexer_expect(&r->ps.lexer, ')');
}

static bool read_constants(reader *r, cxi_signature *s) {
  uint32_t cap_names = 0, cap_types = 0;
  if (!cxi_lexer_expect(&r->ps.lexer, '(')) return false;
  do {
    if (!read_entry(r, s->n_constants, &s->constant_names, &cap_names))
      return false;
    if (!cxi_grow(&s->constants, &cap_types, s->n_constants + (size_t)1,
                  sizeof *s->constants))
      return cxi_parser_out_of_memory(&r->ps);
    if (!cxi_parser_type(&r->ps, &s->constants[s->n_constants])) return false;
    s->n_constants++;
  } while (cxi_lexer_accept(&r->ps.lexer, ','));
  return cxi_lexer_expect(&r->ps.lexer, ')');
}

/* -- the whole ------------------------------------------------------------ */

/* Takes the word if it is next. */
static bool accept_word(cxi_lexer *lexer, const char *text) {
  cxi_error ignored = { 0 };
  cxi_lexer look = *lexer;
  cxi_word word;
  look.error = &ignored;
  if (!cxi_lexer_word(&look, "", &word) || !cxi_word_is(word, text))
    return false;
  look.error = lexer->error;
  *lexer = look;
  return true;
}

bool cxi_signature_stands(const char *text, size_t length) {
  cxi_error ignored = { 0 };
  cxi_lexer lexer = { text, text + length, text, 1, &ignored };
  return accept_word(&lexer, "function");
}

static bool read_signature(reader *r, cxi_signature *s) {
  if (!cxi_lexer_keyword(&r->ps.lexer, "function") || !read_name(r, &s->name))
    return false;
  return read_args(r, s) && cxi_lexer_keyword(&r->ps.lexer, "-") &&
         cxi_lexer_expect(&r->ps.lexer, '>') && read_tree(r, &s->out) &&
         (!accept_word(&r->ps.lexer, "constants") || read_constants(r, s));
}

bool cxi_signature_parse(const char *text, size_t length, cxi_signature *out,
                         size_t *out_end, cxi_error *error) {
  cxi_error first = { 0 };
  reader r = { .ps = { .lexer = { text, text + length, text, 1, &first },
                       .length = length } };
  *out = (cxi_signature){ 0 };
  const bool ok = read_signature(&r, out);
  *out_end = (size_t)(r.ps.lexer.at - text);
  reader_free(&r);
  if (!ok) cxi_error_set(error, first.code, "%s", first.text);
  return ok;
}

void cxi_signature_free(cxi_signature *s) {
  cxi_free(s->arg_names);
  cxi_free(s->constant_names);
  cxi_free(s->args);
  cxi_free(s->constants);
  *s = (cxi_signature){ 0 };
}

/* -- against a program ---------------------------------------------------- */

static bool differ(cxi_error *error, const char *what, uint32_t i,
                   cxi_type told, cxi_type has) {
  char a[160], b[160];
  cxi_aval_print(a, sizeof a, cxi_type_aval(told));
  cxi_aval_print(b, sizeof b, cxi_type_aval(has));
  return cxi_error_set(error, CX_ESHAPE,
                       "the signature's %s %u is %s, the program's %s", what, i,
                       a, b);
}

static bool counts_differ(cxi_error *error, const char *what, uint32_t told,
                          uint32_t has) {
  return cxi_error_set(error, CX_ETREE,
                       "the signature has %u %s, the program %u", told, what,
                       has);
}

static uint32_t count_leaves(uint32_t n, const cxi_sig *sigs) {
  uint32_t leaves = 0;
  for (uint32_t i = 0; i < n; i++) leaves += cxi_sig_leaves(sigs[i]);
  return leaves;
}

bool cxi_signature_fits(const cxi_signature *s, const cxi_program *p,
                        cxi_error *error) {
  const uint32_t n_in = s->n_constants + count_leaves(s->n_args, s->args);
  const uint32_t n_out = cxi_sig_leaves(s->out);
  if (n_in != p->n_in) return counts_differ(error, "inputs", n_in, p->n_in);
  if (n_out != p->n_out)
    return counts_differ(error, "outputs", n_out, p->n_out);
  cxi_type *in = cxi_alloc((n_in + (size_t)n_out + 1) * sizeof *in), *at = in;
  if (!in) return cxi_error_set(error, CX_EMEMORY, "out of memory");
  for (uint32_t i = 0; i < s->n_constants; i++) *at++ = s->constants[i];
  for (uint32_t i = 0; i < s->n_args; i++) {
    cxi_sig_types(s->args[i], at);
    at += cxi_sig_leaves(s->args[i]);
  }
  cxi_sig_types(s->out, at);
  bool fits = true;
  for (uint32_t i = 0; i < n_in && fits; i++)
    if (in[i] != p->values[i].type)
      fits = differ(error, "input", i, in[i], p->values[i].type);
  for (uint32_t i = 0; i < n_out && fits; i++)
    if (at[i] != cxi_output_type(p, i))
      fits = differ(error, "output", i, at[i], cxi_output_type(p, i));
  cxi_free(in);
  return fits;
}

/* -- printing ------------------------------------------------------------- */

static void put(cxi_bytes *out, const char *text) {
  cxi_bytes_add(out, text, strlen(text));
}

/* As a word where it is one, else quoted. */
static void put_name(cxi_bytes *out, cxi_name name) {
  const char *text = cxi_name_text(name);
  const char *const word = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx"
                           "yz0123456789_.-+";
  if (*text && strspn(text, word) == strlen(text) && strlen(text) < 256) {
    put(out, text);
    return;
  }
  put(out, "\"");
  for (const char *c = text; *c; c++) {
    char escape[8] = { *c };
    if (*c == '"' || *c == '\\')
      snprintf(escape, sizeof escape, "\\%c", *c);
    else if ((unsigned char)*c < ' ' || *c == 127)
      snprintf(escape, sizeof escape, "\\x%02x", (unsigned)(unsigned char)*c);
    put(out, escape);
  }
  put(out, "\"");
}

static void put_type(cxi_bytes *out, cxi_type type) {
  char text[256];
  cxi_aval_print(text, sizeof text, cxi_type_aval(type));
  put(out, text);
}

/* As deep as trees may be. */
static void put_sig(cxi_bytes *out, cxi_sig sig) {
  if (cxi_sig_is_leaf(sig)) {
    put_type(out, cxi_sig_type(sig));
    return;
  }
  const cxi_structure *s = cxi_structure_of(sig);
  put(out, s->is_none ? "none" : s->is_dict ? "{" : "(");
  for (uint32_t i = 0; i < s->n; i++) {
    if (i) put(out, ", ");
    if (s->is_dict) put_name(out, s->names[i]), put(out, ": ");
    put_sig(out, s->items[i]);
  }
  if (!s->is_none) put(out, s->is_dict ? "}" : ")");
}

void cxi_signature_print(const cxi_signature *s, cxi_bytes *out) {
  put(out, "function ");
  put_name(out, s->name);
  put(out, "(");
  for (uint32_t i = 0; i < s->n_args; i++) {
    if (i) put(out, ", ");
    put_name(out, s->arg_names[i]);
    put(out, ": ");
    put_sig(out, s->args[i]);
  }
  put(out, ") -> ");
  put_sig(out, s->out);
  put(out, "\n");
  if (!s->n_constants) return;
  put(out, "constants (");
  for (uint32_t i = 0; i < s->n_constants; i++) {
    if (i) put(out, ", ");
    put_name(out, s->constant_names[i]);
    put(out, ": ");
    put_type(out, s->constants[i]);
  }
  put(out, ")\n");
}
