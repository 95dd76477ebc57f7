/* views.h - for tests: programs from text, run by the reference executor on
 * arrays made from a seed. Include after cmocka.h. */
#ifndef TESTS_VIEWS_H
#define TESTS_VIEWS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/reference/reference.h"
#include "base/alloc.h"
#include "ir/text.h"
#include "transforms/transforms.h"

/* A program that the test releases. */
static inline const cxi_program *parse(const char *text) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  if (!p) fail_msg("%s\nin\n%s", error.text, text);
  return p;
}

static inline void print_program(const cxi_program *p) {
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  print_error("%s\n", text ? text : "(no text)");
  cxi_free(text);
}

static inline double uniform(uint64_t *seed) { /* [0, 1) */
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(*seed >> 11) / 9007199254740992.0;
}

/* An array of the type: floats in [-1, 1), integers in 0..2. */
static inline cxi_view array_of(cxi_type type, uint64_t *seed) {
  const cx_aval *aval = cxi_type_aval(type);
  const int64_t n = cxi_dims_count(&aval->shape);
  const size_t bytes = cxi_dtype_bytes(aval->type);
  cxi_view view = cxi_view_dense(*aval, cxi_buffer_take((size_t)n * bytes));
  for (int64_t i = 0; i < n; i++) {
    const double u = uniform(seed);
    cxi_element_set(aval->type, (char *)view.data + (size_t)i * bytes,
                    cxi_dtype_is_float(aval->type) ? 2 * u - 1 : floor(3 * u));
  }
  return view;
}

static inline cxi_view *inputs_of(const cxi_program *p, uint64_t seed) {
  cxi_view *in = calloc(p->n_in + (size_t)1, sizeof *in);
  assert_non_null(in);
  for (uint32_t i = 0; i < p->n_in; i++)
    in[i] = array_of(p->values[i].type, &seed);
  return in;
}

static inline cxi_view *run(const cxi_program *p, const cxi_view *in) {
  cxi_error error = { 0 };
  cxi_view *out = calloc(p->n_out + (size_t)1, sizeof *out);
  assert_non_null(out);
  if (!cxi_reference_run(p, in, NULL, out, &error)) {
    print_program(p);
    fail_msg("%s", error.text);
  }
  return out;
}

static inline void free_views(cxi_view *views, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) cxi_buffer_free(views[i].data);
  free(views);
}

static inline int64_t count_of(const cxi_view *v) {
  return cxi_dims_count(&v->type.shape);
}

static inline double element(const cxi_view *v, int64_t i) {
  return cxi_element_get(v->type.type,
                         (const char *)v->data +
                             (size_t)i * cxi_dtype_bytes(v->type.type));
}

static inline bool is_float(const cxi_view *v) {
  return cxi_dtype_is_float(v->type.type);
}

static inline bool same_bits(const cxi_view *a, const cxi_view *b) {
  return cxi_aval_equal(&a->type, &b->type) &&
         memcmp(a->data, b->data, (size_t)cxi_aval_bytes(&a->type)) == 0;
}

static inline double dot(const cxi_view *a, const cxi_view *b) {
  double sum = 0;
  for (int64_t i = 0; i < count_of(a); i++)
    sum += element(a, i) * element(b, i);
  return sum;
}

static inline uint32_t count_prim(const cxi_program *p, cxi_prim prim) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_equations; i++)
    n += p->equations[i].prim == prim;
  return n;
}

#endif
