/* jaxpr_text.c - the writer: programs, equations, operands. */
#include "jaxpr_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

bool jaxpr_ok(const jaxpr_writer *w) {
  return !w->missing[0] && !w->error[0];
}

ref jaxpr_fail(jaxpr_writer *w, const char *what) {
  if (jaxpr_ok(w)) snprintf(w->error, sizeof w->error, "%s", what);
  return (ref){ .text = "?", .dtype = CX_F32 };
}

ref jaxpr_missing(jaxpr_writer *w, const char *primitive) {
  if (jaxpr_ok(w)) snprintf(w->missing, sizeof w->missing, "%s", primitive);
  return (ref){ .text = "?", .dtype = CX_F32 };
}

/* -- room for operands ---------------------------------------------------- */

/* Rooms stand in a list; those made since a mark are freed at its end. */
typedef struct jaxpr_room {
  struct jaxpr_room *before;
  ref refs[];
} jaxpr_room;

/* Handlers read three operands and write two results without asking how many
 * a record has: those that are missing are empty. */
enum { MOST_REFS = 1 << 20, LEAST_REFS = 3, DEEPEST = 256 };

ref *jaxpr_refs(jaxpr_writer *w, size_t n) {
  static ref none;
  jaxpr_room *room = NULL;
  if (n < MOST_REFS)
    room = calloc(1, sizeof *room + (n + LEAST_REFS) * sizeof(ref));
  if (!room) {
    jaxpr_fail(w, "out of memory, or too many operands");
    return &none;
  }
  room->before = w->rooms;
  w->rooms = room;
  return room->refs;
}

static void free_rooms(jaxpr_writer *w, const jaxpr_room *mark) {
  while (w->rooms != mark) {
    jaxpr_room *before = w->rooms->before;
    free(w->rooms);
    w->rooms = before;
  }
}

/* -- equations ------------------------------------------------------------ */

static ref fresh(jaxpr_program *p, cx_dtype dtype, cx_dims shape) {
  ref r = { .dtype = dtype, .shape = shape };
  snprintf(r.text, sizeof r.text, "%%%d", p->n_values++);
  return r;
}

static void write_equation(jaxpr_program *p, int n_out, const ref *out, int n,
                           const ref *in, const char *call, va_list args) {
  for (int i = 0; i < n; i++)
    if (!*in[i].text) jaxpr_fail(p->w, "an operand is missing");
  for (int i = 0; i < n_out; i++)
    fprintf(p->body, "%s%s: %s", i ? ", " : "  ", out[i].text,
            jaxpr_type(out[i].dtype, out[i].shape));
  fprintf(p->body, " = ");
  vfprintf(p->body, call, args);
  for (int i = 0; i < n; i++)
    fprintf(p->body, "%s%s", i ? ", " : " ", in[i].text);
  fprintf(p->body, "\n");
}

ref jaxpr_emit(jaxpr_program *p, cx_dtype dtype, cx_dims shape, int n,
               const ref *in, const char *call, ...) {
  ref out = fresh(p, dtype, shape);
  va_list args;
  va_start(args, call);
  write_equation(p, 1, &out, n, in, call, args);
  va_end(args);
  return out;
}

void jaxpr_emit_n(jaxpr_program *p, int n_out, ref *out, int n, const ref *in,
                  const char *call, ...) {
  va_list args;
  if (n_out == 0) return; /* nothing is wanted of it */
  for (int i = 0; i < n_out; i++) out[i] = fresh(p, out[i].dtype, out[i].shape);
  va_start(args, call);
  write_equation(p, n_out, out, n, in, call, args);
  va_end(args);
}

ref jaxpr_number(cx_dtype dtype, double x) {
  ref r = { .dtype = dtype };
  if (dtype == CX_BOOL)
    snprintf(r.text, sizeof r.text, "%s:bool", x != 0 ? "true" : "false");
  else
    snprintf(r.text, sizeof r.text, "%.17g:%s", x, jaxpr_dtype_text(dtype));
  return r;
}

ref jaxpr_full(jaxpr_program *p, cx_dtype dtype, cx_dims shape, double x) {
  ref number = jaxpr_number(dtype, x);
  return jaxpr_emit(p, dtype, shape, 1, &number,
                    "broadcast_in_dim[shape=%s, map=()]", jaxpr_list(shape));
}

static bool same_dims(cx_dims a, cx_dims b) {
  return a.n == b.n && memcmp(a.d, b.d, sizeof a.d[0] * (size_t)a.n) == 0;
}

static cx_dims counting(int n) {
  cx_dims dims = { .n = n };
  for (int i = 0; i < n; i++) dims.d[i] = i;
  return dims;
}

ref jaxpr_spread(jaxpr_program *p, ref x, cx_dims shape) {
  if (x.shape.n == 0 || same_dims(x.shape, shape)) return x;
  return jaxpr_emit(p, x.dtype, shape, 1, &x,
                    "broadcast_in_dim[shape=%s, map=%s]", jaxpr_list(shape),
                    jaxpr_list(counting(x.shape.n)));
}

ref jaxpr_fill(jaxpr_program *p, ref x, cx_dims shape) {
  if (x.shape.n || !shape.n) return jaxpr_spread(p, x, shape);
  return jaxpr_emit(p, x.dtype, shape, 1, &x,
                    "broadcast_in_dim[shape=%s, map=()]", jaxpr_list(shape));
}

ref jaxpr_convert(jaxpr_program *p, ref x, cx_dtype dtype) {
  if (x.dtype == dtype) return x;
  return jaxpr_emit(p, dtype, x.shape, 1, &x, "convert[type=%s]",
                    jaxpr_dtype_text(dtype));
}

/* -- literals and constants ----------------------------------------------- */

/* Element i of an array's bytes as a literal. */
static ref element(cx_dtype dtype, const unsigned char *bytes, size_t i) {
  ref r = { .dtype = dtype };
  char number[40];
  float f;
  double d;
  int64_t s = 0;
  uint64_t u = 0;
  size_t size = dtype == CX_BOOL || dtype == CX_I8 || dtype == CX_U8 ? 1
                : dtype == CX_I16 || dtype == CX_U16 || dtype == CX_F16 ||
                        dtype == CX_BF16
                    ? 2
                : dtype == CX_I32 || dtype == CX_U32 || dtype == CX_F32 ? 4
                                                                        : 8;
  memcpy(&u, bytes + i * size, size);
  switch (dtype) {
  case CX_BOOL:
    snprintf(number, sizeof number, u ? "true" : "false");
    break;
  case CX_F32:
    memcpy(&f, &u, sizeof f);
    if (isnan(f))
      snprintf(number, sizeof number, "nan");
    else
      snprintf(number, sizeof number, "%.9g", (double)f);
    break;
  case CX_F64:
    memcpy(&d, &u, sizeof d);
    if (isnan(d))
      snprintf(number, sizeof number, "nan");
    else
      snprintf(number, sizeof number, "%.17g", d);
    break;
  case CX_F16:
  case CX_BF16:
    snprintf(number, sizeof number, "0x%04llx", (unsigned long long)u);
    break;
  case CX_U8:
  case CX_U16:
  case CX_U32:
  case CX_U64:
    snprintf(number, sizeof number, "%llu", (unsigned long long)u);
    break;
  default: /* signed: extend */
    s = (int64_t)(u << (64 - 8 * size)) >> (64 - 8 * size);
    snprintf(number, sizeof number, "%lld", (long long)s);
  }
  snprintf(r.text, sizeof r.text, "%s:%s", number, jaxpr_dtype_text(dtype));
  return r;
}

static ref literal(jaxpr_program *p, const json_t *atom) {
  const json_t *array = json_object_get(atom, "lit");
  ref r = jaxpr_binding(p->w, array);
  size_t n;
  unsigned char *bytes = record_bytes(array, &n);
  if (bytes && r.dtype && r.shape.n == 0 && n > 0)
    r = element(r.dtype, bytes, 0);
  else
    r = jaxpr_fail(p->w, "a literal that is no number");
  free(bytes);
  return r;
}

enum { STACKED = 256 }; /* elements of one equation */

/* `count` elements as one axis: rows of them stacked, the rows joined. */
static ref stacked(jaxpr_program *p, cx_dtype dtype, const unsigned char *bytes,
                   int64_t count) {
  ref *parts = jaxpr_refs(p->w, STACKED);
  ref *rows = jaxpr_refs(p->w, (size_t)(count / STACKED + 1));
  int n_rows = 0;
  if (!jaxpr_ok(p->w)) return (ref){ .dtype = 0 };
  for (int64_t i = 0; i < count; i += STACKED) {
    const int64_t left = count - i, n = left < STACKED ? left : STACKED;
    for (int64_t k = 0; k < n; k++)
      parts[k] = element(dtype, bytes, (size_t)(i + k));
    rows[n_rows++] = jaxpr_emit(p, dtype, (cx_dims){ .n = 1, .d = { n } },
                                (int)n, parts, "stack[axis=0]");
  }
  if (n_rows == 1) return rows[0];
  return jaxpr_emit(p, dtype, (cx_dims){ .n = 1, .d = { count } }, n_rows, rows,
                    "concatenate[axis=0]");
}

/* An array of a nested jaxpr, written as its elements; a key as its words. */
static ref constant(jaxpr_program *p, const json_t *array) {
  const ref r = jaxpr_binding(p->w, array);
  const bool is_key = r.dtype == CX_KEY;
  const cx_dtype dtype = is_key ? CX_U32 : r.dtype;
  cx_dims shape = r.shape;
  size_t n;
  unsigned char *bytes = record_bytes(array, &n);
  int64_t count = is_key ? 2 : 1;
  for (int i = 0; i < shape.n; i++) count *= shape.d[i];
  if (is_key && shape.n < CX_MAX_DIMS) shape.d[shape.n++] = 2;
  if (!bytes || count > STACKED * JAXPR_MAX) {
    free(bytes);
    return jaxpr_missing(p->w, "a very large constant in a nested jaxpr");
  }
  ref x =
      count ? stacked(p, dtype, bytes, count) : jaxpr_full(p, dtype, shape, 0);
  free(bytes);
  if (count)
    x = jaxpr_emit(p, dtype, shape, 1, &x, "reshape[shape=%s]",
                   jaxpr_list(shape));
  return is_key ? jaxpr_emit(p, CX_KEY, r.shape, 1, &x, "random_wrap") : x;
}

/* -- jaxprs --------------------------------------------------------------- */

static void bind_var(jaxpr_program *p, const json_t *binding, ref r) {
  size_t v = (size_t)json_integer_value(json_object_get(binding, "v"));
  if (v >= 1 << 24) {
    jaxpr_fail(p->w, "a variable's number is too large");
    return;
  }
  if (v >= p->n_vars) {
    size_t n = 2 * v + 16;
    ref *more = realloc(p->vars, n * sizeof *more);
    if (!more) {
      jaxpr_fail(p->w, "out of memory");
      return;
    }
    memset(more + p->n_vars, 0, (n - p->n_vars) * sizeof *more);
    p->vars = more, p->n_vars = n;
  }
  p->vars[v] = r;
}

static ref operand(jaxpr_program *p, const json_t *atom) {
  if (!json_is_integer(atom)) return literal(p, atom);
  size_t v = (size_t)json_integer_value(atom);
  if (v < p->n_vars && p->vars[v].dtype) return p->vars[v];
  return jaxpr_fail(p->w, "a variable is used before it is bound");
}

jaxpr_handler *jaxpr_find(const jaxpr_row *rows, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(rows[i].name, name)) return rows[i].handle;
  return NULL;
}

static jaxpr_handler *handler_of(const char *primitive) {
  static jaxpr_handler *(*const families[])(const char *) = {
    jaxpr_elementwise_handler, jaxpr_shape_handler,   jaxpr_index_handler,
    jaxpr_reduce_handler,      jaxpr_random_handler,  jaxpr_linalg_handler,
    jaxpr_call_handler,        jaxpr_control_handler,
  };
  jaxpr_handler *handle = NULL;
  for (size_t i = 0; !handle && i < sizeof families / sizeof *families; i++)
    handle = families[i](primitive);
  return handle;
}

static void equation(jaxpr_program *p, const json_t *eqn) {
  static const char *const none = "no primitive is named";
  const json_t *ins = json_object_get(eqn, "i"),
               *outs = json_object_get(eqn, "o");
  const jaxpr_room *mark = p->w->rooms;
  jaxpr_equation e = {
    .name = json_string_value(json_object_get(eqn, "p")),
    .k = json_object_get(eqn, "k"),
    .n_in = (int)json_array_size(ins),
    .n_out = (int)json_array_size(outs),
    .in = jaxpr_refs(p->w, json_array_size(ins)),
    .out = jaxpr_refs(p->w, json_array_size(outs)),
  };
  if (!e.name) jaxpr_fail(p->w, none);
  for (int i = 0; i < e.n_in && jaxpr_ok(p->w); i++)
    e.in[i] = operand(p, json_array_get(ins, (size_t)i));
  for (int i = 0; i < e.n_out && jaxpr_ok(p->w); i++) {
    const json_t *b = json_array_get(outs, (size_t)i);
    e.out[i] = (ref){ .dtype = 0 };
    if (!json_is_null(b)) e.out[i] = jaxpr_binding(p->w, b);
  }
  jaxpr_handler *handle = e.name ? handler_of(e.name) : NULL;
  if (e.name && !handle) jaxpr_missing(p->w, e.name);
  if (handle && jaxpr_ok(p->w)) handle(p, &e);
  for (int i = 0; i < e.n_out && jaxpr_ok(p->w); i++) {
    const json_t *b = json_array_get(outs, (size_t)i);
    if (!json_is_null(b)) bind_var(p, b, e.out[i]);
  }
  free_rooms(p->w, mark);
}

static void write_jaxpr(jaxpr_program *p, const json_t *jaxpr,
                        const ref *consts, const ref *in, ref *out) {
  size_t i;
  json_t *x;
  ref *vars = p->vars;
  size_t n_vars = p->n_vars;
  p->vars = NULL, p->n_vars = 0; /* nested numbers begin anew */
  if (++p->w->depth > DEEPEST) jaxpr_fail(p->w, "jaxprs are nested too deep");
  json_array_foreach(json_object_get(jaxpr, "consts"), i, x)
      bind_var(p, x, consts ? consts[i] : constant(p, x));
  json_array_foreach(json_object_get(jaxpr, "in"), i, x) bind_var(p, x, in[i]);
  json_array_foreach(json_object_get(jaxpr, "eqns"), i, x) {
    if (!jaxpr_ok(p->w)) break;
    equation(p, x);
  }
  json_array_foreach(json_object_get(jaxpr, "out"), i, x) if (jaxpr_ok(p->w))
      out[i] = operand(p, x);
  free(p->vars);
  p->vars = vars, p->n_vars = n_vars;
  p->w->depth--;
}

void jaxpr_inline(jaxpr_program *p, const json_t *jaxpr, const ref *in,
                  ref *out) {
  write_jaxpr(p, jaxpr, NULL, in, out);
}

void jaxpr_open(jaxpr_program *p, jaxpr_writer *w) {
  *p = (jaxpr_program){ .w = w };
  p->body = open_memstream(&p->text, &p->bytes);
  if (!p->body) jaxpr_fail(w, "out of memory");
}

ref jaxpr_input(jaxpr_program *p, cx_dtype dtype, cx_dims shape) {
  return fresh(p, dtype, shape);
}

int jaxpr_close(jaxpr_program *p, int n_in, const ref *in, int n_out,
                const ref *out) {
  FILE *to = p->w->out;
  if (p->body) fclose(p->body);
  fprintf(to, "program @p%d(", p->w->n_programs);
  for (int i = 0; i < n_in; i++)
    fprintf(to, "%s%s: %s", i ? ", " : "", in[i].text,
            jaxpr_type(in[i].dtype, in[i].shape));
  fprintf(to, ") {\n%s  return", p->text ? p->text : "");
  for (int i = 0; i < n_out; i++)
    fprintf(to, "%s%s", i ? ", " : " ", out[i].text);
  fprintf(to, "\n}\n");
  free(p->text);
  free(p->vars);
  return p->w->n_programs++;
}

static int write_program(jaxpr_writer *w, const json_t *jaxpr, bool lift) {
  const jaxpr_room *mark = w->rooms;
  const json_t *consts = json_object_get(jaxpr, "consts");
  const json_t *ins = json_object_get(jaxpr, "in");
  const json_t *outs = json_object_get(jaxpr, "out");
  const size_t n_consts = lift ? json_array_size(consts) : 0;
  ref *in = jaxpr_refs(w, n_consts + json_array_size(ins));
  ref *out = jaxpr_refs(w, json_array_size(outs));
  size_t i, n = n_consts;
  json_t *x;
  jaxpr_program p;
  jaxpr_open(&p, w);
  for (size_t k = 0; k < n_consts && jaxpr_ok(w); k++) {
    ref t = jaxpr_binding(w, json_array_get(consts, k));
    in[k] = jaxpr_input(&p, t.dtype, t.shape);
  }
  json_array_foreach(ins, i, x) {
    if (!jaxpr_ok(w)) break;
    ref t = jaxpr_binding(w, x);
    in[n++] = jaxpr_input(&p, t.dtype, t.shape);
  }
  if (jaxpr_ok(w)) write_jaxpr(&p, jaxpr, lift ? in : NULL, in + n_consts, out);
  const bool ok = jaxpr_ok(w);
  const int id = jaxpr_close(&p, ok ? (int)n : 0, in,
                             ok ? (int)json_array_size(outs) : 0, out);
  free_rooms(w, mark);
  return id;
}

int jaxpr_nested(jaxpr_writer *w, const json_t *object) {
  const json_t *jaxpr = json_object_get(object, "jaxpr");
  if (!json_is_object(jaxpr)) jaxpr_fail(w, "a nested jaxpr is missing");
  return write_program(w, jaxpr, false);
}

char *jaxpr_to_text(const json_t *jaxpr, jaxpr_writer *w) {
  char *text = NULL;
  size_t bytes = 0;
  *w = (jaxpr_writer){ 0 };
  w->out = open_memstream(&text, &bytes);
  if (!w->out) return NULL;
  write_program(w, jaxpr, true);
  free_rooms(w, NULL);
  fclose(w->out);
  if (jaxpr_ok(w)) return text;
  free(text);
  return NULL;
}
