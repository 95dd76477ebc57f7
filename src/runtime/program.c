/* program.c - programs read from text and files, and written. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "calx/file.h"
#include "ir/text.h"
#include "ops/ops.h"
#include "runtime/stage.h"
#include "trace/call.h"
#include "trace/path.h"
#include "trace/signature.h"

/* -- files beside each other ---------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static bool path_valid(const char *what, const char *path) {
  if (path && ends_with(path, ".calx")) return true;
  cxi_reportf(CX_EIO, "%s: %s: its suffix must be .calx", what,
              path ? path : "no path");
  return false;
}

/* "model.calx" -> "model.safetensors", to be freed; NULL without memory,
 * reported. */
static char *path_of_constants(const char *path) {
  const size_t n = strlen(path) - strlen(".calx");
  char *out = cxi_alloc(n + sizeof ".safetensors");
  if (!out) {
    cxi_report_memory();
    return NULL;
  }
  memcpy(out, path, n);
  strcpy(out + n, ".safetensors");
  return out;
}

/* -- reading -------------------------------------------------------------- */

/* A text being read. What has been reported leaves error.code 0. */
typedef struct source {
  const char *text;
  size_t length;
  const char *path; /* whose constants stand beside it; NULL: none can */
  cxi_error error;
} source;

/* Every input is an argument, the results one array or a tuple. */
static cx_program *without_signature(const cxi_program *p) {
  cx_program *made = cxi_program_object(p, cxi_name_text(p->name), p->n_in, 0);
  cxi_sig *outs = cxi_scratch(p->n_out * sizeof *outs + 1);
  if (made && outs) {
    for (uint32_t i = 0; i < p->n_in; i++)
      made->args[i] = cxi_sig_of_type(p->values[i].type);
    for (uint32_t i = 0; i < p->n_out; i++)
      outs[i] = cxi_sig_of_type(cxi_output_type(p, i));
    made->out = p->n_out == 1 ? outs[0] : cxi_sig_tuple(p->n_out, outs);
    if (made->out) return made;
  }
  cxi_report_memory();
  cx_program_free(made);
  return NULL;
}

/* The constants beside the file; poison, reported or with an error. */
static cx load_constants(source *s, const cxi_signature *signature) {
  if (signature->n_constants == 0) return cx_none();
  if (!s->path) {
    cxi_error_set(&s->error, CX_EIO,
                  "its constants stand in a file beside it: cx_load_fn reads "
                  "both");
    return (cx){ 0, 1 };
  }
  char *path = path_of_constants(s->path);
  const cx tree = path ? cx_load_(path, NULL) : cxi_poison_last();
  cxi_free(path);
  return tree;
}

static bool take_constants(cx_program *program, const cxi_signature *signature,
                           cx constants, cxi_error *error) {
  const cxi_item tree = cxi_item_peek(constants);
  for (uint32_t i = 0; i < signature->n_constants; i++) {
    const char *name = cxi_name_text(signature->constant_names[i]);
    const cxi_type told = signature->constants[i];
    cxi_item leaf;
    if (!cxi_path_find(tree, name, &leaf) || leaf.kind != CXI_ITEM_ARRAY)
      return cxi_error_set(error, CX_ETREE,
                           "the constant \"%.100s\" is in no file", name);
    if (leaf.type != told) {
      char a[160], b[160];
      cxi_aval_print(a, sizeof a, cxi_type_aval(leaf.type));
      cxi_aval_print(b, sizeof b, cxi_type_aval(told));
      return cxi_error_set(error, CX_ESHAPE,
                           "the constant \"%.100s\" is %s, not %s", name, a, b);
    }
    program->leading[program->n_leading++] = cxi_item_retain(leaf);
  }
  return true;
}

static cx_program *with_signature(source *s, const cxi_program *p,
                                  const cxi_signature *signature) {
  if (!cxi_signature_fits(signature, p, &s->error)) return NULL;
  const cx constants = load_constants(s, signature);
  if (cxi_is_poison(constants)) return NULL;
  cx_program *made =
      cxi_program_object(p, cxi_name_text(signature->name), signature->n_args,
                         signature->n_constants);
  if (!made) return NULL;
  made->out = signature->out;
  for (uint32_t i = 0; i < signature->n_args; i++) {
    made->args[i] = signature->args[i];
    made->arg_names[i] = signature->arg_names[i];
  }
  if (take_constants(made, signature, constants, &s->error)) return made;
  cx_program_free(made);
  return NULL;
}

/* The program behind a signature of n bytes, whose place is left blank, so
 * that lines and columns stay. */
static const cxi_program *parse_behind(source *s, size_t n) {
  char *copy = cxi_alloc(s->length + 1);
  if (!copy) {
    cxi_error_set(&s->error, CX_EMEMORY, "out of memory");
    return NULL;
  }
  memcpy(copy, s->text, s->length);
  for (size_t i = 0; i < n; i++)
    if (copy[i] != '\n') copy[i] = ' ';
  const cxi_program *p = cxi_program_parse(copy, s->length, &s->error);
  cxi_free(copy);
  return p;
}

static cx_program *read_signed(source *s) {
  cxi_signature signature;
  cx_program *made = NULL;
  size_t n;
  if (cxi_signature_parse(s->text, s->length, &signature, &n, &s->error)) {
    const cxi_program *p = parse_behind(s, n);
    if (p) made = with_signature(s, p, &signature);
    cxi_program_release(p);
  }
  cxi_signature_free(&signature);
  return made;
}

static cx_program *read_plain(source *s) {
  const cxi_program *p = cxi_program_parse(s->text, s->length, &s->error);
  cx_program *made = p ? without_signature(p) : NULL;
  cxi_program_release(p);
  return made;
}

/* Reports as "WHAT: error". */
static cx_program *read_source(source *s, const char *what) {
  const cxi_mark mark = cxi_scratch_mark();
  cx_program *made =
      cxi_signature_stands(s->text, s->length) ? read_signed(s) : read_plain(s);
  cxi_scratch_reset(mark);
  if (!made && s->error.code) cxi_report_error(what, &s->error);
  return made;
}

cx_program *cx_program_parse_(const char *text, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  if (!cxi_context_need()) return NULL;
  if (!text) {
    cxi_report(CX_EUSER, "parse: no text");
    return NULL;
  }
  source s = { .text = text, .length = strlen(text) };
  return read_source(&s, "parse");
}

/* The function, which outlives the program. */
static cx_fn fn_of(cx_program *program) {
  const cx_fn f = cx_program_fn_(program, NULL);
  cx_program_free(program);
  return f;
}

cx_fn cx_parse_(const char *text, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  return fn_of(cx_program_parse_(text, NULL));
}

/* "load_fn: PATH"; the path may be of any length, the error is cut. */
static const char *said(char room[300], const char *what, const char *path) {
  snprintf(room, 300, "%s: %.280s", what, path);
  return room;
}

static cx_program *load(const char *op, const char *path) {
  char room[300];
  cxi_file file;
  source s = { .path = path };
  if (!cxi_context_need() || !path_valid(op, path)) return NULL;
  const char *what = said(room, op, path);
  if (!cxi_file_map(path, &file, &s.error)) {
    cxi_report_error(what, &s.error);
    return NULL;
  }
  s.text = file.data ? (const char *)file.data : "";
  s.length = file.size;
  cx_program *made = read_source(&s, what);
  cxi_file_unmap(&file);
  return made;
}

cx_program *cx_program_load_(const char *path, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  return load("program_load", path);
}

cx_fn cx_load_fn_(const char *path, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  return fn_of(load("load_fn", path));
}

/* -- what it takes -------------------------------------------------------- */

int cx_program_args(const cx_program *program) {
  return program ? (int)program->n_args : 0;
}

static bool has_arg(const cx_program *program, int i) {
  return program && i >= 0 && (uint32_t)i < program->n_args;
}

const char *cx_program_arg_name(const cx_program *program, int i) {
  return has_arg(program, i) ? cxi_name_text(program->arg_names[i]) : "";
}

cx cx_program_arg_(const cx_program *program, int i, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  if (!has_arg(program, i))
    return cxi_reportf(CX_EINDEX, "program_arg: argument %d of %d", i,
                       cx_program_args(program));
  const cxi_sig sig = program->args[i];
  const uint32_t n = cxi_sig_leaves(sig);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_type *types = cxi_scratch(n * sizeof *types + 1);
  cxi_item *leaves = cxi_scratch(n * sizeof *leaves + 1);
  cxi_item tree = { .kind = CXI_ITEM_NOTHING };
  if (types && leaves) {
    cxi_sig_types(sig, types);
    for (uint32_t k = 0; k < n; k++)
      leaves[k] = (cxi_item){ .kind = CXI_ITEM_SPEC, .type = types[k] };
    tree = cxi_item_build(sig, leaves);
  }
  cxi_scratch_reset(mark);
  return tree.kind == CXI_ITEM_NOTHING ? cxi_report_memory() : cxi_handle(tree);
}

/* -- writing -------------------------------------------------------------- */

/* Leading arrays by their names in the file, "c0", "c1", ... */
static bool save_constants(const cx_program *program, const char *path) {
  CX_SCOPE;
  if (program->n_leading == 0) return true;
  cx tree = cx_none();
  for (uint32_t i = 0; i < program->n_leading; i++)
    tree = cx_put_(NULL, tree, cxi_handle(cxi_item_retain(program->leading[i])),
                   "c%u", i);
  char *beside = path_of_constants(path);
  const bool saved = beside && cx_save_(beside, tree, NULL);
  cxi_free(beside);
  return saved;
}

/* Names are given to arguments without one, as "x1". */
static bool fill_signature(const cx_program *program, cxi_signature *out) {
  const uint32_t n = program->n_args, n_constants = program->n_leading;
  char name[24];
  *out = (cxi_signature){
    .name = cxi_name_of(program->name),
    .n_args = n,
    .n_constants = n_constants,
    .arg_names = cxi_scratch(n * sizeof(cxi_name) + 1),
    .args = program->args,
    .constant_names = cxi_scratch(n_constants * sizeof(cxi_name) + 1),
    .constants = cxi_scratch(n_constants * sizeof(cxi_type) + 1),
    .out = program->out,
  };
  if (!out->arg_names || !out->constant_names || !out->constants) return false;
  for (uint32_t i = 0; i < n; i++) {
    snprintf(name, sizeof name, "x%u", i + 1);
    const cxi_name own = program->arg_names[i];
    out->arg_names[i] = own ? own : cxi_name_of(name);
  }
  for (uint32_t i = 0; i < n_constants; i++) {
    snprintf(name, sizeof name, "c%u", i);
    out->constant_names[i] = cxi_name_of(name);
    out->constants[i] = program->leading[i].type;
  }
  return true;
}

static bool save_text(const cx_program *program, const char *path,
                      cxi_error *error) {
  const cxi_mark mark = cxi_scratch_mark();
  cxi_signature signature;
  cxi_bytes head = { 0 };
  char *body = cxi_program_print(program->p, (cxi_text_options){ 0 });
  cxi_writer *w = NULL;
  bool ok = body && fill_signature(program, &signature);
  if (ok) cxi_signature_print(&signature, &head);
  ok = ok && !head.failed;
  if (ok)
    w = cxi_writer_open(path, error);
  else
    cxi_error_set(error, CX_EMEMORY, "out of memory");
  if (w) {
    cxi_writer_add(w, head.data, head.n);
    cxi_writer_add(w, body, strlen(body));
    ok = cxi_writer_commit(w, error);
  }
  cxi_bytes_free(&head);
  cxi_free(body);
  cxi_scratch_reset(mark);
  return ok && w;
}

static bool save(const char *op, const cx_program *program, const char *path) {
  char room[300];
  cxi_error error = { 0 };
  if (!cxi_context_need() || !path_valid(op, path)) return false;
  if (!save_constants(program, path)) return false;
  if (save_text(program, path, &error)) return true;
  cxi_report_error(said(room, op, path), &error);
  return false;
}

bool cx_program_save_(const cx_program *program, const char *path,
                      const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  if (program) return save("program_save", program, path);
  cxi_report(CX_EUSER, "program_save: no program");
  return false;
}

bool cx_save_fn_(const char *path, cx_fn f, int n, const cx *specs,
                 const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cx_program *program = cx_trace_(f, n, specs, NULL);
  const bool saved = program && save("save_fn", program, path);
  cx_program_free(program);
  return saved;
}
