/* execute.c - programs from text, run by the reference and by the CPU. */
#include "support/execute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "support/rows.h"

static char message[4096];

static double uniform(uint64_t *state) {
  return (double)(random_next(state) >> 11) * 0x1p-53;
}

static void draw(cxi_view *v, double lo, double hi, uint64_t *state) {
  const cx_dtype type = v->type.type;
  const int64_t n = cxi_dims_count(&v->type.shape);
  const size_t bytes = cxi_dtype_bytes(type);
  for (int64_t i = 0; i < n; i++) {
    void *at = (char *)v->data + (size_t)i * bytes;
    if (type == CX_KEY) {
      const uint64_t key = random_next(state);
      memcpy(at, &key, sizeof key);
    } else if (!cxi_dtype_is_float(type)) {
      cxi_element_set_int(type, at, (int64_t)(random_next(state) % 10));
    } else if (lo == 0 && hi == 0) {
      double sum = -6;
      for (int k = 0; k < 12; k++) sum += uniform(state);
      cxi_element_set(type, at, sum);
    } else {
      cxi_element_set(type, at, lo + (hi - lo) * uniform(state));
    }
  }
}

const char *execution_open(execution *x, const char *text, double lo, double hi,
                           uint64_t seed) {
  *x = (execution){ 0 };
  cxi_error error = { 0 };
  x->program = cxi_program_parse(text, strlen(text), &error);
  if (!x->program) {
    snprintf(message, sizeof message, "%s\n%s", error.text, text);
    return message;
  }
  const cxi_program *p = x->program;
  x->in = calloc(p->n_in + 1, sizeof *x->in);
  x->want = calloc(p->n_out + 1, sizeof *x->want);
  for (uint32_t i = 0; i < p->n_in; i++) {
    const cx_aval *type = cxi_type_aval(p->values[i].type);
    void *buffer = cxi_buffer_take((size_t)cxi_aval_bytes(type));
    x->in[i] = cxi_view_dense(*type, buffer);
    draw(&x->in[i], lo, hi, &seed);
  }
  if (cxi_reference_run(p, x->in, NULL, x->want, &error)) return NULL;
  snprintf(message, sizeof message, "reference: %s\n%s", error.text, text);
  return message;
}

void execution_close(execution *x) {
  for (uint32_t i = 0; x->in && i < x->program->n_in; i++)
    cxi_buffer_free(x->in[i].data);
  for (uint32_t i = 0; x->want && i < x->program->n_out; i++)
    cxi_buffer_free(x->want[i].data);
  cxi_program_release(x->program);
  free(x->in);
  free(x->want);
}

static bool close_enough(cx_dtype type, const void *a, const void *b,
                         double tolerance) {
  if (tolerance == 0 || !cxi_dtype_is_float(type)) return false;
  const double x = cxi_element_get(type, a), y = cxi_element_get(type, b);
  return fabs(x - y) <= tolerance * (1 + fabs(x));
}

/* The first element that differs; NULL: none. */
static const char *compare(const execution *x, uint32_t j, const void *got,
                           double tolerance) {
  const cxi_view *want = &x->want[j];
  const cx_dtype type = want->type.type;
  const size_t bytes = cxi_dtype_bytes(type);
  const int64_t n = cxi_dims_count(&want->type.shape);
  for (int64_t i = 0; i < n; i++) {
    const char *a = (const char *)want->data + (size_t)i * bytes;
    const char *b = (const char *)got + (size_t)i * bytes;
    if (!memcmp(a, b, bytes) || close_enough(type, a, b, tolerance)) continue;
    char *text = cxi_program_print(x->program, (cxi_text_options){ 0 });
    snprintf(message, sizeof message,
             "output %u differs at %lld: reference %.17g, cpu %.17g\n%s", j,
             (long long)i, type == CX_KEY ? 0 : cxi_element_get(type, a),
             type == CX_KEY ? 0 : cxi_element_get(type, b), text ? text : "");
    cxi_free(text);
    return message;
  }
  return NULL;
}

/* Asked for each request to an arena or to scratch memory while a run goes on,
 * which makes none. */
static _Atomic bool asked_an_arena;
static bool note(void) {
  asked_an_arena = true;
  return false;
}

static bool run_without_allocation(cxi_executable *exe, const void **in,
                                   void **out, void *workspace, int threads,
                                   cxi_error *error) {
  asked_an_arena = false;
  cxi_arena_fail_if(note);
  const uint64_t before = cxi_alloc_now().calls;
  const bool done = cxi_executable_run(exe, in, out, workspace, threads, error);
  const bool allocated = cxi_alloc_now().calls != before || asked_an_arena;
  cxi_arena_fail_if(NULL);
  if (!done || !allocated) return done;
  return cxi_error_set(error, CX_EMEMORY, "it allocated memory");
}

static const char *run(const execution *x, cxi_executable *exe, int threads,
                       double tolerance) {
  const cxi_program *p = x->program;
  const size_t bytes = cxi_executable_workspace(exe);
  char *workspace = cxi_buffer_take(bytes + 64);
  memset(workspace, 0xab, bytes + 64);
  const void **in = calloc(p->n_in + 1, sizeof *in);
  void **out = calloc(p->n_out + 1, sizeof *out);
  for (uint32_t i = 0; i < p->n_in; i++) in[i] = x->in[i].data;
  for (uint32_t j = 0; j < p->n_out; j++)
    out[j] = cxi_buffer_take((size_t)cxi_aval_bytes(&x->want[j].type));
  cxi_error error = { 0 };
  const char *failure = NULL;
  if (!run_without_allocation(exe, in, out, workspace, threads, &error)) {
    char *text = cxi_program_print(p, (cxi_text_options){ 0 });
    snprintf(message, sizeof message, "run: %s\n%s", error.text,
             text ? text : "");
    cxi_free(text);
    failure = message;
  }
  for (uint32_t j = 0; !failure && j < p->n_out; j++)
    failure = compare(x, j, out[j], tolerance);
  for (int i = 0; !failure && i < 64; i++)
    if (workspace[bytes + (size_t)i] != (char)0xab)
      failure = "the run wrote beyond its workspace";
  for (uint32_t j = 0; j < p->n_out; j++) cxi_buffer_free(out[j]);
  cxi_buffer_free(workspace);
  free(in);
  free(out);
  return failure;
}

const char *execution_compare(const execution *x, int threads,
                              double tolerance) {
  cxi_error error = { 0 };
  cxi_executable *exe = cxi_compile(x->program, &cxi_cpu_backend,
                                    (cxi_compile_options){ 0 }, &error);
  if (!exe) {
    snprintf(message, sizeof message, "compile: %s", error.text);
    return message;
  }
  const char *failure = run(x, exe, threads, tolerance);
  cxi_executable_release(exe);
  return failure;
}
