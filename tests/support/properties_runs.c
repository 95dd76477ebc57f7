/* properties_runs.c - one result, whoever runs it: bit for bit. */
#include "support/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "base/alloc.h"

/* -- compiled ------------------------------------------------------------- */

enum { GUARD = 64 };

/* Where the results go: into the buffers of donated inputs, or of their own. */
static arrays places_of(const cxi_program *p, const cxi_executable *exe,
                        const arrays *in) {
  arrays out = arrays_new(p->n_out);
  for (uint32_t j = 0; j < p->n_out; j++) {
    const int alias = cxi_executable_alias(exe, j);
    out.at[j] = alias >= 0 ? in->at[alias]
                           : array_zeros(cxi_type_aval(cxi_output_type(p, j)));
    out.at[j].type = *cxi_type_aval(cxi_output_type(p, j));
  }
  return out;
}

static void free_places(const cxi_executable *exe, arrays *out) {
  for (uint32_t j = 0; j < out->n; j++)
    if (cxi_executable_alias(exe, j) >= 0) out->at[j].data = NULL;
  arrays_free(out);
}

static void run(const cxi_executable *exe, const cxi_program *p,
                const arrays *given, int threads, const arrays *want,
                const char *what, verdict *v) {
  arrays in = arrays_copy(given);
  arrays out = places_of(p, exe, &in);
  const size_t bytes = cxi_executable_workspace(exe);
  char *workspace = cxi_buffer_take(bytes + GUARD);
  const void **from = calloc(in.n + (size_t)1, sizeof *from);
  void **to = calloc(out.n + (size_t)1, sizeof *to);
  cxi_error error = { 0 };
  memset(workspace, 0xab, bytes + GUARD);
  for (uint32_t i = 0; i < in.n; i++) from[i] = in.at[i].data;
  for (uint32_t j = 0; j < out.n; j++) to[j] = out.at[j].data;
  if (made_it(v, cxi_executable_run(exe, from, to, workspace, threads, &error),
              what, &error))
    compare_arrays(what, p->n_out, want->at, out.at, v);
  for (size_t i = 0; i < GUARD; i++)
    if (workspace[bytes + i] != (char)0xab)
      refute(v, "%s: wrote beyond its workspace", what);
  free_places(exe, &out);
  arrays_free(&in);
  cxi_buffer_free(workspace);
  free(from);
  free(to);
}

static void compiled(const cxi_program *p, uint64_t seed, verdict *v) {
  arrays in = inputs_of(p, seed);
  arrays want = outputs_of(p, &in, "reference", v);
  cxi_error error = { 0 };
  bool *donate = calloc(p->n_in + (size_t)1, sizeof *donate);
  for (uint32_t i = 0; i < p->n_in; i++) donate[i] = mixed(seed, i) & 1;
  const cxi_compile_options given[] = { { 0 }, { .donate = donate } };
  static const char *const names[] = { "cpu", "two threads", "donated" };
  for (int k = 0; k < 2 && !v->failed; k++) {
    cxi_executable *exe = cxi_compile(p, &cxi_cpu_backend, given[k], &error);
    if (!made_it(v, exe != NULL, "compile", &error)) break;
    run(exe, p, &in, 1, &want, names[2 * k], v);
    if (k == 0) run(exe, p, &in, 2, &want, names[1], v);
    cxi_executable_release(exe);
  }
  free(donate);
  arrays_free(&in);
  arrays_free(&want);
}

/* -- one equation after the other ----------------------------------------- */

static void eager(const cxi_program *p, uint64_t seed, verdict *v) {
  arrays in = inputs_of(p, seed);
  arrays want = outputs_of(p, &in, "reference", v);
  cx *from = calloc(p->n_in + (size_t)1, sizeof *from);
  cx *to = calloc(p->n_out + (size_t)1, sizeof *to);
  const char *message = "";
  cx_use(properties_cpu);
  CX_SCOPE;
  for (uint32_t i = 0; i < p->n_in; i++)
    from[i] =
        cx_from_(in.at[i].data, in.at[i].type.type, in.at[i].type.shape, CX_AT);
  if (!v->failed && cxi_replay(p, from, to)) {
    arrays out = arrays_new(p->n_out);
    for (uint32_t j = 0; j < p->n_out; j++) {
      out.at[j] = want.at[j];
      out.at[j].data = (void *)(uintptr_t)cx_data(to[j]);
    }
    if (cx_ok()) compare_arrays("eager", p->n_out, want.at, out.at, v);
    free(out.at);
  }
  if (cx_error(&message) != CX_OK) refute(v, "eager: %s", message);
  free(from);
  free(to);
  arrays_free(&in);
  arrays_free(&want);
}

/* -- rewritten ------------------------------------------------------------ */

static void same_results(const cxi_program *p, const cxi_program *q,
                         const char *what, uint64_t seed, verdict *v) {
  arrays in = inputs_of(p, seed);
  arrays want = outputs_of(p, &in, "reference", v);
  arrays got = outputs_of(q, &in, what, v);
  if (!v->failed) compare_arrays(what, p->n_out, want.at, got.at, v);
  arrays_free(&in);
  arrays_free(&want);
  arrays_free(&got);
}

static void simplified(const cxi_program *p, uint64_t seed, verdict *v) {
  cxi_error error = { 0 };
  const cxi_program *q = cxi_simplify(p, &error);
  if (made_it(v, q != NULL, "simplify", &error))
    same_results(p, q, "simplify", seed, v);
  q = cxi_narrow(p, NULL, NULL, &error);
  if (!v->failed && made_it(v, q != NULL, "narrow", &error))
    same_results(p, q, "narrow", seed, v);
}

/* Some inputs are known early: what is left, given the rest, is p. */
static void split(const cxi_program *p, uint64_t seed, verdict *v) {
  cxi_error error = { 0 };
  cxi_partial parts;
  bool *unknown = calloc(p->n_in + (size_t)1, sizeof *unknown);
  bool *unknown_out = calloc(p->n_out + (size_t)1, sizeof *unknown_out);
  for (uint32_t i = 0; i < p->n_in; i++)
    unknown[i] = mixed(seed, 100 + i) % 3 != 0;
  arrays in = inputs_of(p, seed);
  arrays want = outputs_of(p, &in, "reference", v);
  arrays known_in = arrays_new(p->n_in), rest_in = { 0 };
  arrays known = { 0 }, rest = { 0 }, out = arrays_new(p->n_out);
  if (!made_it(v,
               cxi_partial_eval(p, unknown, NULL, &parts, unknown_out, &error),
               "partial evaluation", &error))
    goto done;
  known_in.n = 0;
  rest_in = arrays_new(p->n_in + parts.n_residuals);
  rest_in.n = 0;
  for (uint32_t i = 0; i < p->n_in; i++)
    if (unknown[i])
      rest_in.at[rest_in.n++] = in.at[i];
    else
      known_in.at[known_in.n++] = in.at[i];
  known = outputs_of(parts.known, &known_in, "known part", v);
  if (v->failed) goto done;
  for (uint32_t i = known.n - parts.n_residuals; i < known.n; i++)
    rest_in.at[rest_in.n++] = known.at[i];
  rest = outputs_of(parts.unknown, &rest_in, "unknown part", v);
  for (uint32_t j = 0, a = 0, b = 0; !v->failed && j < p->n_out; j++)
    out.at[j] = unknown_out[j] ? rest.at[b++] : known.at[a++];
  if (!v->failed) compare_arrays("split", p->n_out, want.at, out.at, v);
done:
  free(known_in.at);
  free(rest_in.at);
  free(out.at);
  arrays_free(&known);
  arrays_free(&rest);
  arrays_free(&in);
  arrays_free(&want);
  free(unknown);
  free(unknown_out);
}

/* -- batches -------------------------------------------------------------- */

/* Lane b of the batched arrays, dense. */
static arrays lane_of(const arrays *all, const bool *batched, int64_t b) {
  arrays one = arrays_new(all->n);
  for (uint32_t i = 0; i < all->n; i++) {
    const cxi_view v = batched[i] ? cxi_view_at(&all->at[i], 0, b) : all->at[i];
    one.at[i] = array_zeros(&v.type);
    cxi_view_copy(&one.at[i], &v);
  }
  return one;
}

static void batch_of(const cxi_program *p, const bool *batched, int64_t size,
                     uint64_t seed, verdict *v) {
  cxi_error error = { 0 };
  bool *batched_out = calloc(p->n_out + (size_t)1, sizeof *batched_out);
  const cxi_program *q = cxi_batch(p, batched, size, NULL, batched_out, &error);
  if (!q && strstr(error.text, "no room for a batch")) {
    free(batched_out);
    return;
  }
  if (!made_it(v, q != NULL, "vmap", &error)) {
    free(batched_out);
    return;
  }
  arrays in = inputs_of(q, seed), out = outputs_of(q, &in, "vmap", v);
  for (int64_t b = 0; b < size && !v->failed; b++) {
    arrays one = lane_of(&in, batched, b);
    arrays is = lane_of(&out, batched_out, b);
    arrays want = outputs_of(p, &one, "reference", v);
    if (!v->failed) compare_arrays("vmap", p->n_out, want.at, is.at, v);
    arrays_free(&one);
    arrays_free(&is);
    arrays_free(&want);
  }
  arrays_free(&in);
  arrays_free(&out);
  free(batched_out);
}

/* Over all inputs, and over some. */
static void vmap(const cxi_program *p, uint64_t seed, verdict *v) {
  bool *batched = calloc(p->n_in + (size_t)1, sizeof *batched);
  for (uint32_t i = 0; i < p->n_in; i++) batched[i] = true;
  batch_of(p, batched, mixed(seed, 4) % 8 ? 2 : 0, seed, v);
  for (uint64_t k = 0; k < 2 && !v->failed; k++) {
    for (uint32_t i = 0; i < p->n_in; i++)
      batched[i] = mixed(seed, 200 + 16 * k + i) & 1;
    batch_of(p, batched, 3, seed, v);
  }
  free(batched);
}

const property properties_of_runs[] = {
  { "compiled", compiled },     { "eager", eager }, { "split", split },
  { "simplified", simplified }, { "vmap", vmap },   { 0 },
};
