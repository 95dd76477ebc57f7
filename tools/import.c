/* import.c - calx import RECORD PROGRAM: a function recorded by jax2calx. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calx/calx.h"
#include "commands.h"
#include "jaxpr_text.h"

static int fail(const char *path, const char *why) {
  fprintf(stderr, "calx: %s: %s\n", path, why);
  return 1;
}

/* "constants (c0: f32[3], ...)", the names of what stands in the file beside;
 * false with why. */
static bool write_constants(FILE *out, const json_t *jaxpr, const char **why) {
  const json_t *consts = json_object_get(jaxpr, "consts");
  jaxpr_writer w = { 0 };
  size_t i;
  json_t *x;
  json_array_foreach(consts, i, x) {
    const char *name = json_string_value(json_object_get(x, "name"));
    const ref t = jaxpr_binding(&w, x);
    if (!name || !*name ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyz_.-"
                          "0123456789")]) {
      *why = "a constant has no name";
      return false;
    }
    fprintf(out, "%s%s: %s", i ? ", " : "constants (", name,
            jaxpr_type(t.dtype, t.shape));
  }
  if (json_array_size(consts)) fputs(")\n", out);
  return true;
}

/* Behind the name of a signature; NULL: it has none. */
static const char *behind_name(const char *signature) {
  static const char function[] = "function ";
  if (strncmp(signature, function, sizeof function - 1) != 0) return NULL;
  const char *at = signature + sizeof function - 1;
  if (*at != '"') return strchr(at, '(');
  for (at++; *at && *at != '"'; at++)
    if (*at == '\\' && at[1]) at++;
  return *at ? at + 1 : NULL;
}

/* Whether signature and program fit: the constants are an argument more. */
static bool fits(const char *signature, const json_t *jaxpr,
                 const char *program) {
  const char *args = behind_name(signature);
  const json_t *consts = json_object_get(jaxpr, "consts");
  jaxpr_writer w = { 0 };
  char *text = NULL;
  size_t bytes, i;
  json_t *x;
  FILE *to = args ? open_memstream(&text, &bytes) : NULL;
  if (!to) return false;
  fputs("function check(constants: (", to);
  json_array_foreach(consts, i, x) {
    const ref t = jaxpr_binding(&w, x);
    fprintf(to, "%s%s", i ? ", " : "", jaxpr_type(t.dtype, t.shape));
  }
  while (*args == '(' || *args == ' ') args++;
  fprintf(to, ")%s%s\n%s", *args == ')' ? "" : ", ", args, program);
  fclose(to);
  cx_program *p = cx_program_parse(text);
  const bool good = p != NULL;
  cx_program_free(p);
  free(text);
  return good;
}

/* Signature, constants, the program in its canonical form. False with why, or
 * NULL if an error is kept. */
static bool write_program(FILE *out, const json_t *record, const char *text,
                          const char **why) {
  const char *signature =
      json_string_value(json_object_get(record, "signature"));
  const json_t *jaxpr = json_object_get(record, "jaxpr");
  if (!signature || strchr(signature, '\n') || !behind_name(signature)) {
    *why = "no signature";
    return false;
  }
  cx_program *p = cx_program_parse(text);
  bool ok = p && fits(signature, jaxpr, cx_program_text(p));
  if (ok) {
    fprintf(out, "%s\n", signature);
    ok = write_constants(out, jaxpr, why);
  }
  if (ok) fputs(cx_program_text(p), out);
  cx_program_free(p);
  return ok;
}

/* Under another name first, so that no half of a file is left. */
static int write_file(const char *source, const char *path,
                      const json_t *record, const char *text) {
  char part[4096];
  const char *why = NULL;
  if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
    return fail(path, "the path is too long");
  FILE *out = fopen(part, "w");
  if (!out) return fail(part, "cannot be written");
  bool ok = write_program(out, record, text, &why);
  if (fclose(out) && ok) ok = false, why = "cannot be written";
  if (ok && rename(part, path)) ok = false, why = "cannot be written";
  if (ok) return 0;
  remove(part);
  if (why) return fail(source, why);
  fprintf(stderr, "calx: %s:\n", source);
  return command_status();
}

static int import(const char *source, const char *path) {
  json_error_t where;
  json_t *record = json_load_file(source, 0, &where);
  if (!record) return fail(source, where.text);
  const json_t *jaxpr = json_object_get(record, "jaxpr");
  jaxpr_writer w = { 0 };
  char *text = json_is_object(jaxpr) ? jaxpr_to_text(jaxpr, &w) : NULL,
       why[256];
  int status = 1;
  if (text)
    status = write_file(source, path, record, text);
  else if (w.missing[0]) {
    snprintf(why, sizeof why, "Calx has nothing for %s", w.missing);
    fail(source, why);
  } else
    fail(source, w.error[0] ? w.error : "no record of a function");
  free(text);
  json_decref(record);
  return status;
}

int command_import(int argc, char **argv) {
  const bool asked =
      argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
  if (asked || argc != 3) {
    fprintf(asked ? stdout : stderr,
            "usage: calx import RECORD.jaxpr.json PROGRAM.calx\n\n"
            "Makes a program of a function that jax2calx recorded from JAX.\n"
            "jax2calx calls this by itself where it finds calx; the arrays\n"
            "that it left beside the record stand beside the program.\n");
    return asked ? 0 : 2;
  }
  cx_ctx *ctx = cx_open("cpu");
  const int status = ctx ? import(argv[1], argv[2]) : command_status();
  cx_close(ctx);
  return status;
}
