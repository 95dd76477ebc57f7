/* rows.c - what tests of single rows share. */
#include "support/rows_inside.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "backends/reference/reference.h"
#include "base/alloc.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "transforms/transforms.h"

/* -- arrays --------------------------------------------------------------- */

/* splitmix64 */
uint64_t random_next(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

cxi_view row_array(cx_aval type) {
  const int64_t bytes = cxi_aval_bytes(&type);
  assert_true(bytes >= 0);
  void *data = cxi_buffer_take((size_t)bytes);
  assert_non_null(data);
  memset(data, 0, (size_t)bytes);
  return cxi_view_dense(type, data);
}

void *row_element(const cxi_view *v, int64_t i) {
  return (char *)v->data + i * (int64_t)cxi_dtype_bytes(v->type.type);
}

int64_t row_count(const cxi_view *v) {
  return cxi_dims_count(&v->type.shape);
}

cxi_view array_random(cx_aval type, uint64_t *state) {
  cxi_view v = row_array(type);
  const cxi_kind kind = cxi_dtype_kind(type.type);
  for (int64_t i = 0; i < row_count(&v); i++) {
    const uint64_t bits = random_next(state);
    if (kind == CXI_FLOAT)
      cxi_element_set(type.type, row_element(&v, i),
                      (double)(bits >> 11) * 0x1p-51 - 2);
    else if (kind == CXI_RANDOM_KEY)
      memcpy(row_element(&v, i), &bits, sizeof bits);
    else if (kind == CXI_BOOLEAN)
      cxi_element_set_int(type.type, row_element(&v, i), (int64_t)(bits & 1));
    else /* a few of them are no valid index */
      cxi_element_set_int(type.type, row_element(&v, i),
                          (int64_t)(bits % 8) - (kind == CXI_SIGNED) * 2);
  }
  return v;
}

void array_free(cxi_view *array) {
  cxi_buffer_free(array->data);
}

void row_free_all(cxi_view *arrays, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) array_free(&arrays[i]);
}

double array_get(const cxi_view *array, int64_t i) {
  return cxi_element_get(array->type.type, row_element(array, i));
}

/* -- programs ------------------------------------------------------------- */

const cxi_program *row_parse(const char *text) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  if (!p) print_error("%s\n%s\n", text, error.text);
  assert_non_null(p);
  return p;
}

/* Fails with the program's text unless it is so. */
void row_check(bool so, const char *what, const cxi_program *p) {
  if (so) return;
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  print_error("%s\n%s\n", what, text ? text : "");
  cxi_free(text);
  fail();
}

void row_run(const cxi_program *p, const cxi_view *in, cxi_view *out) {
  cxi_error error = { 0 };
  const bool ok = cxi_reference_run(p, in, NULL, out, &error);
  row_check(ok, error.text, p);
}

void run_text(const char *text, const cxi_view *in, cxi_view *out) {
  const cxi_program *p = row_parse(text);
  row_run(p, in, out);
  cxi_program_release(p);
}

/* -- values --------------------------------------------------------------- */

/* Reads the elements of v from *at, which moves behind the ";". */
static void read_array(const char **at, cxi_view *v) {
  for (int64_t i = 0; i < row_count(v); i++) {
    char *end;
    const double x = strtod(*at, &end);
    assert_ptr_not_equal(end, *at);
    *at = end;
    if (cxi_dtype_is_float(v->type.type))
      cxi_element_set(v->type.type, row_element(v, i), x);
    else
      cxi_element_set_int(v->type.type, row_element(v, i), (int64_t)x);
  }
  *at += strspn(*at, " ");
  *at += **at == ';';
}

static bool same(const cxi_view *a, const cxi_view *b) {
  for (int64_t i = 0; i < row_count(a); i++) {
    const double x = array_get(a, i), y = array_get(b, i);
    if (!(x == y && signbit(x) == signbit(y)) && !(isnan(x) && isnan(y)))
      return false;
  }
  return true;
}

static void print_array(const char *what, const cxi_view *v) {
  print_error("%s:", what);
  for (int64_t i = 0; i < row_count(v); i++)
    print_error(" %g", array_get(v, i));
  print_error("\n");
}

void check_values(const row_values *cases, size_t n) {
  for (size_t k = 0; k < n; k++) {
    const cxi_program *p = row_parse(cases[k].text);
    const char *in_text = cases[k].in, *out_text = cases[k].out;
    cxi_view in[MOST], out[MOST];
    for (uint32_t i = 0; i < p->n_in; i++) {
      in[i] = row_array(*cxi_type_aval(p->values[i].type));
      read_array(&in_text, &in[i]);
    }
    row_run(p, in, out);
    for (uint32_t i = 0; i < p->n_out; i++) {
      cxi_view wanted = row_array(out[i].type);
      read_array(&out_text, &wanted);
      if (!same(&out[i], &wanted)) {
        print_array("is", &out[i]);
        print_array("should be", &wanted);
        row_check(false, "values", p);
      }
      array_free(&wanted);
    }
    assert_int_equal(*out_text, 0);
    row_free_all(in, p->n_in);
    row_free_all(out, p->n_out);
    cxi_program_release(p);
  }
}

void check_errors(const row_error *cases, size_t n) {
  for (size_t k = 0; k < n; k++) {
    cxi_error error = { 0 };
    const cxi_program *p =
        cxi_program_parse(cases[k].text, strlen(cases[k].text), &error);
    if (p || !strstr(error.text, cases[k].message))
      print_error("%s\nis \"%s\", should contain \"%s\"\n", cases[k].text,
                  error.text, cases[k].message);
    assert_null(p);
    assert_non_null(strstr(error.text, cases[k].message));
  }
}
