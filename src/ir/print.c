/* print.c - a program as text. docs/program-text.md describes the form. */
#include "ir/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/labels.h"
#include "ir/nest.h"
#include "ir/number.h"

enum { LINE = 79, NAME_LENGTH = 200 }; /* a comma may follow a line */

typedef struct printer {
  char *text;
  uint32_t n, cap;
  uint32_t line; /* where the line begins */
  bool failed;
  cxi_nest nest;
  cxi_labels names;     /* number: the suffix that was used last */
  const char **name_of; /* by place in the nest */
  cxi_text_options options;
} printer;

/* -- text that grows ------------------------------------------------------ */

static void add_n(printer *out, const char *text, size_t length) {
  if (out->cap - out->n < length + 1 &&
      !cxi_grow(&out->text, &out->cap, out->n + length + 1, 1)) {
    out->failed = true;
    return;
  }
  memcpy(out->text + out->n, text, length);
  out->n += (uint32_t)length;
  out->text[out->n] = 0;
}

static void add(printer *out, const char *text) {
  add_n(out, text, strlen(text));
}

static void add_format(printer *out, const char *format, ...) CX_PRINTF(2, 3);

static void add_format(printer *out, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (n > 0) add_n(out, text, (size_t)n < sizeof text ? (size_t)n : 255);
}

static void end_line(printer *out) {
  add(out, "\n");
  out->line = out->n;
}

/* Breaks the line at the blank at `blank` if what follows it is too wide. */
static void wrap(printer *out, uint32_t blank) {
  if (out->failed || out->n - out->line <= LINE || blank <= out->line) return;
  uint32_t rest = out->n - blank - 1;
  add(out, "    ");
  if (out->failed) return;
  memmove(out->text + blank + 5, out->text + blank + 1, rest);
  memcpy(out->text + blank, "\n    ", 5);
  out->line = blank + 1;
}

/* -- names of programs ---------------------------------------------------- */

static bool is_name_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

/* The program's name as an identifier; returns its length. */
static size_t plain_name(char out[NAME_LENGTH], cxi_name name) {
  const char *text = cxi_name_text(name);
  size_t n = 0;
  for (; n < NAME_LENGTH && text[n]; n++)
    out[n] = is_name_char(text[n]) ? text[n] : '_';
  if (n == 0) out[n++] = 'p';
  return n;
}

/* A name that no program before it has: with .1, .2 ... if need be. */
static const char *distinct_name(printer *out, cxi_name name) {
  char text[NAME_LENGTH + 16];
  size_t n = plain_name(text, name), length = n;
  cxi_label *plain = cxi_labels_find(&out->names, text, n);
  if (plain) {
    uint32_t suffix = plain->number;
    do length = n + (size_t)snprintf(text + n, 16, ".%u", (unsigned)++suffix);
    while (cxi_labels_find(&out->names, text, length));
    plain->number = suffix;
  }
  cxi_label *label = cxi_labels_add(&out->names, text, length, 0);
  return label ? label->text : NULL;
}

static bool name_programs(printer *out) {
  out->name_of = cxi_alloc_zeroed(out->nest.n, sizeof *out->name_of);
  if (!out->name_of) return false;
  for (uint32_t i = 0; i < out->nest.n; i++) {
    out->name_of[i] = distinct_name(out, out->nest.programs[i]->name);
    if (!out->name_of[i]) return false;
  }
  return true;
}

/* -- parameters ----------------------------------------------------------- */

static void add_text_field(printer *out, cxi_name name) {
  add(out, "\"");
  for (const char *c = cxi_name_text(name); *c; c++)
    if (*c == '"' || *c == '\\')
      add_format(out, "\\%c", *c);
    else if ((unsigned char)*c < ' ' || *c == 127)
      add_format(out, "\\x%02x", (unsigned)(unsigned char)*c);
    else
      add_n(out, c, 1);
  add(out, "\"");
}

static void add_program_field(printer *out, const cxi_program *p) {
  add(out, p ? "@" : "none");
  if (p) add(out, out->name_of[cxi_nest_find(&out->nest, p)]);
}

static void add_integers(printer *out, uint32_t n, const int64_t *d) {
  add(out, "(");
  for (uint32_t i = 0; i < n; i++)
    add_format(out, "%s%" PRId64, i ? "," : "", d[i]);
  add(out, ")");
}

static void add_names(printer *out, const cxi_names *list) {
  add(out, "(");
  for (uint32_t i = 0; i < list->n; i++) {
    if (i) add(out, ",");
    add_text_field(out, list->d[i]);
  }
  add(out, ")");
}

static void add_programs(printer *out, const cxi_programs *list) {
  add(out, "(");
  for (uint32_t i = 0; i < list->n; i++) {
    if (i) add(out, ",");
    add_program_field(out, list->d[i]);
  }
  add(out, ")");
}

static void add_real(printer *out, const void *at) {
  char text[CXI_NUMBER_ROOM];
  uint64_t bits;
  memcpy(&bits, at, sizeof bits);
  cxi_number_print(text, CX_F64, bits);
  add(out, text);
}

static void add_field(printer *out, cxi_field_kind kind, const void *at) {
  switch (kind) {
  case CXI_FIELD_int:
    add_format(out, "%" PRId64, *(const cxi_field_int *)at);
    break;
  case CXI_FIELD_bool:
    add(out, *(const cxi_field_bool *)at ? "true" : "false");
    break;
  case CXI_FIELD_real:
    add_real(out, at);
    break;
  case CXI_FIELD_dims: {
    const cx_dims *dims = at;
    add_integers(out, (uint32_t)dims->n, dims->d);
    break;
  }
  case CXI_FIELD_ints: {
    const cxi_ints *list = at;
    add_integers(out, list->n, list->d);
    break;
  }
  case CXI_FIELD_dtype:
    add(out, cxi_dtype_name(*(const cxi_field_dtype *)at));
    break;
  case CXI_FIELD_name:
    add_text_field(out, *(const cxi_field_name *)at);
    break;
  case CXI_FIELD_names:
  case CXI_FIELD_axis_names:
    add_names(out, at);
    break;
  case CXI_FIELD_mode:
    add(out, cxi_mode_name(*(const cxi_field_mode *)at));
    break;
  case CXI_FIELD_program:
    add_program_field(out, *(const cxi_field_program *)at);
    break;
  case CXI_FIELD_programs:
    add_programs(out, at);
    break;
  }
}

static void add_params(printer *out, const cxi_equation *e) {
  const cxi_field *x = cxi_schema_of((cxi_prim)e->prim)->fields;
  if (!x->name) return;
  uint32_t blank = 0;
  add(out, "[");
  for (const char *before = ""; x->name; x++, before = ", ") {
    add(out, before);
    if (*before) blank = out->n - 1;
    add_format(out, "%s=", x->name);
    add_field(out, x->kind, cxi_field_at(e->params, x));
    wrap(out, blank);
  }
  add(out, "]");
}

/* -- equations ------------------------------------------------------------ */

/* In text, literals have no number. */
static uint32_t text_number(const cxi_program *p, uint32_t value) {
  return value < p->n_in ? value : value - p->n_literals;
}

static void add_declared(printer *out, const cxi_program *p, uint32_t value) {
  char type[CX_MAX_DIMS * 21 + 16];
  cxi_aval_print(type, sizeof type, cxi_type_aval(p->values[value].type));
  add_format(out, "%%%u: %s", (unsigned)text_number(p, value), type);
}

static void add_used(printer *out, const cxi_program *p, uint32_t value) {
  if (!cxi_is_literal(p, value)) {
    add_format(out, "%%%u", (unsigned)text_number(p, value));
    return;
  }
  char text[CXI_NUMBER_ROOM];
  cx_dtype dtype = cxi_type_dtype(p->values[value].type);
  cxi_number_print(text, dtype, cxi_literal_bits_of(p, value));
  add_format(out, "%s:%s", text, cxi_dtype_name(dtype));
}

static void add_used_list(printer *out, const cxi_program *p, uint32_t n,
                          const uint32_t *values) {
  for (uint32_t i = 0; i < n; i++) {
    uint32_t blank = out->n + (i > 0);
    add(out, i ? ", " : " ");
    add_used(out, p, values[i]);
    wrap(out, blank);
  }
}

static void add_declared_list(printer *out, const cxi_program *p, uint32_t n,
                              uint32_t first) {
  for (uint32_t i = 0; i < n; i++) {
    uint32_t blank = i ? out->n + 1 : 0;
    add(out, i ? ", " : "");
    add_declared(out, p, first + i);
    wrap(out, blank);
  }
}

/* A word of a comment, which ends with its line. */
static void add_remark(printer *out, cxi_name name) {
  add(out, name ? " " : "");
  for (const char *c = cxi_name_text(name); *c; c++)
    add_n(out, *c == '\n' || *c == '\r' ? " " : c, 1);
}

static void add_site(printer *out, const cxi_equation *e) {
  if (!out->options.sites || (!e->site && !e->scope)) return;
  add(out, " //");
  add_remark(out, e->site);
  add_remark(out, e->scope);
}

static void add_equation(printer *out, const cxi_program *p,
                         const cxi_equation *e) {
  add(out, "  ");
  add_declared_list(out, p, e->n_out, e->out);
  if (e->n_out) add(out, " = ");
  add(out, cxi_prim_name((cxi_prim)e->prim));
  add_params(out, e);
  add_used_list(out, p, e->n_in, cxi_operands_of(p, e));
  add_site(out, e);
  end_line(out);
}

static void add_program(printer *out, uint32_t place) {
  const cxi_program *p = out->nest.programs[place];
  add(out, "program @");
  add(out, out->name_of[place]);
  add(out, "(");
  add_declared_list(out, p, p->n_in, 0);
  add(out, ") {");
  end_line(out);
  for (uint32_t i = 0; i < p->n_equations && !out->failed; i++)
    add_equation(out, p, &p->equations[i]);
  add(out, "  return");
  add_used_list(out, p, p->n_out, p->outputs);
  end_line(out);
  add(out, "}");
  end_line(out);
}

char *cxi_program_print(const cxi_program *p, cxi_text_options options) {
  printer out = { .options = options };
  bool ok = cxi_nest_of(p, &out.nest) && name_programs(&out);
  for (uint32_t i = 0; ok && i < out.nest.n && !out.failed; i++)
    add_program(&out, i);
  if (!ok || out.failed) {
    cxi_free(out.text);
    out.text = NULL;
  }
  cxi_free(out.name_of);
  cxi_labels_free(&out.names);
  cxi_nest_free(&out.nest);
  return out.text;
}
