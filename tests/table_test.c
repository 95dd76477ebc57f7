/* table_test.c - every row of the table of primitives, by its examples.
 *
 * With the argument --write it writes docs/primitives.md, which otherwise must
 * be what it would write. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "support/matrix.h"
#include "support/programs.h"

static const char MATRIX_FILE[] = "docs/primitives.md";
static const double TOLERANCE = 1e-6;

/* -- examples -------------------------------------------------------------- */

/* Calls f for every example, with a name for its failures. */
static void each_example(void (*f)(const cxi_row *, const cxi_program *)) {
  for (int prim = CXI_PRIM_NONE + 1; prim < CXI_N_PRIMS; prim++) {
    const cxi_row *row = cxi_row_of((cxi_prim)prim);
    for (const char *const *text = row->examples; text && *text; text++) {
      const cxi_program *p = program_parse(*text);
      f(row, p);
      cxi_program_release(p);
    }
  }
}

/* Integers below this are indices in range, counts of shifts, ... */
static int64_t integer_limit(const cxi_row *row) {
  switch (row->form) {
  case CXI_FORM_CALL:
  case CXI_FORM_CONTROL:
    return 2;
  case CXI_FORM_INDEX:
    return 4;
  default:
    return 200;
  }
}

/* Inputs from the interval of the row. */
static arrays inputs_of(const cxi_row *row, const cxi_program *p,
                        uint64_t seed) {
  arrays in = arrays_random(p, seed, integer_limit(row));
  if (row->lo == row->hi) return in;
  for (uint32_t i = 0; i < in.n; i++) {
    const cxi_view *v = &in.at[i];
    const cx_dtype type = v->type.type;
    if (!cxi_dtype_is_float(type)) continue;
    char *at = v->data;
    for (int64_t k = cxi_dims_count(&v->type.shape); k > 0; k--) {
      const double unit = (cxi_element_get(type, at) + 1) / 2;
      cxi_element_set(type, at, row->lo + unit * (row->hi - row->lo));
      at += cxi_dtype_bytes(type);
    }
  }
  return in;
}

/* -- rows and text --------------------------------------------------------- */

static void test_rows_are_complete(void **state) {
  (void)state;
  for (int prim = CXI_PRIM_NONE + 1; prim < CXI_N_PRIMS; prim++) {
    const cxi_row *row = cxi_row_of((cxi_prim)prim);
    const char *name = cxi_prim_name((cxi_prim)prim);
    if (!row || row->prim != (cxi_prim)prim) fail_msg("%s: no row", name);
    if (!row->form || !row->formula) fail_msg("%s: no form, formula", name);
    if (!row->infer) fail_msg("%s: no infer", name);
    if (!row->evaluate && row->form != CXI_FORM_NEVER)
      fail_msg("%s: no evaluate", name);
    if (!row->jvp == !row->no_jvp) fail_msg("%s: jvp or a reason", name);
    if (!row->transpose == !row->no_transpose)
      fail_msg("%s: transpose or a reason", name);
    if (!row->batch == !row->no_batch) fail_msg("%s: batch or a reason", name);
    const bool example = row->examples && row->examples[0];
    if (!example && row->form != CXI_FORM_NEVER && row->form != CXI_FORM_HOST)
      fail_msg("%s: no example", name);
  }
}

static void check_text(const cxi_row *row, const cxi_program *p) {
  (void)row;
  cxi_error error = { CX_OK, "" };
  check_ok(cxi_program_check(p, &error), &error, p);
  char *text = program_text(p);
  const cxi_program *q = program_parse(text);
  char *again = program_text(q);
  assert_true(cxi_hash_equal(p->hash, q->hash));
  assert_string_equal(again, text);
  cxi_program_release(q);
  cxi_free(again);
  cxi_free(text);
}
static void test_text(void **state) {
  (void)state;
  each_example(check_text);
}

/* The example is of the row that has it. */
static void check_subject(const cxi_row *row, const cxi_program *p) {
  for (uint32_t i = 0; i < p->n_equations; i++)
    if (p->equations[i].prim == row->prim) return;
  char *text = program_text(p);
  print_error("an example of %s without it:\n%s\n", cxi_prim_name(row->prim),
              text);
  cxi_free(text);
  fail();
}
static void test_subjects(void **state) {
  (void)state;
  each_example(check_subject);
}

/* -- derivatives ----------------------------------------------------------- */

static bool has_float_input(const cxi_program *p) {
  for (uint32_t i = 0; i < p->n_in; i++)
    if (cxi_type_is_float(p->values[i].type)) return true;
  return false;
}

/* The example with f64 for f32; NULL if that is no program, or if there are
 * floats of other dtypes, in which differences mean nothing. */
static const cxi_program *in_f64(const char *example) {
  char *text = cxi_copy_string(example);
  assert_non_null(text);
  for (char *at = text; (at = strstr(at, "f32")) != NULL; at += 3) {
    const bool word = at == text || !strchr("bui", at[-1]);
    if (word) memcpy(at, "f64", 3);
  }
  cxi_error error = { CX_OK, "" };
  const cxi_program *p = NULL;
  if (!strstr(text, "f16")) p = cxi_program_parse(text, strlen(text), &error);
  cxi_free(text);
  if (p && has_float_input(p)) return p;
  cxi_program_release(p);
  return NULL;
}

/* Whether reverse mode is possible at all; if not the row says why. */
static bool is_reversible(const cxi_row *row, const cxi_program *p) {
  cxi_error error = { CX_OK, "" };
  bool *in = calloc(p->n_in + 1u, sizeof *in);
  bool *out = calloc(p->n_out + 1u, sizeof *out);
  assert_true(in && out);
  for (uint32_t i = 0; i < p->n_in; i++)
    in[i] = cxi_type_is_float(p->values[i].type);
  for (uint32_t i = 0; i < p->n_out; i++)
    out[i] = cxi_type_is_float(cxi_output_type(p, i));
  cxi_hold_enter();
  const bool done = cxi_vjp(p, in, out, &error) != NULL;
  cxi_hold_leave();
  free(in);
  free(out);
  if (!done && (error.code != CX_ENORULE || !row->no_transpose))
    check_ok(false, &error, p);
  return done;
}

/* Whether differences mean something: no infinity or NaN comes out. */
static bool is_regular(const cxi_program *p, const arrays *in) {
  arrays out = program_run(p, in);
  bool regular = true;
  for (uint32_t i = 0; i < out.n; i++) {
    const cxi_view *v = &out.at[i];
    const char *at = v->data;
    for (int64_t k = cxi_dims_count(&v->type.shape); k > 0; k--) {
      const cx_dtype type = v->type.type;
      if (cxi_dtype_is_float(type) && !isfinite(cxi_element_get(type, at)))
        regular = false;
      at += cxi_dtype_bytes(type);
    }
  }
  arrays_free(&out);
  return regular;
}

/* The directions in which an example can be differentiated. */
typedef struct modes {
  bool forward, reverse;
} modes;

static void check_slopes(const cxi_row *row, const cxi_program *p, modes can,
                         double tolerance) {
  arrays in = inputs_of(row, p, 5);
  if (!is_regular(p, &in)) {
    /* differences of infinities */
  } else if (can.forward) {
    check_derivatives(p, &in, can.reverse, tolerance);
  } else {
    check_reverse(p, &in, tolerance);
  }
  arrays_free(&in);
}

/* Order 1, and with that the orders up to `most` of the derivative's own
 * programs. */
static void check_orders(const cxi_row *row, const cxi_program *p, modes can,
                         double tolerance, int most) {
  check_slopes(row, p, can, tolerance);
  if (most == 1) return;
  if (can.forward) {
    const cxi_program *jvp = program_jvp(p);
    check_orders(row, jvp, can, tolerance * 10, most - 1);
    cxi_program_release(jvp);
  }
  if (can.reverse) {
    const cxi_program *vjp = program_vjp(p);
    check_orders(row, vjp, can, tolerance * 10, most - 1);
    cxi_program_release(vjp);
  }
}

static void test_derivatives(void **state) {
  (void)state;
  for (int prim = CXI_PRIM_NONE + 1; prim < CXI_N_PRIMS; prim++) {
    const cxi_row *row = cxi_row_of((cxi_prim)prim);
    /* What stop_gradient is for is not to be the derivative. */
    if (!row->jvp || !row->examples || prim == CXI_PRIM_stop_gradient) continue;
    for (const char *const *text = row->examples; *text; text++) {
      const cxi_program *p = in_f64(*text);
      if (!p) continue;
      /* A backward program of one's own has no forward mode. */
      const bool forward = !strstr(*text, "fwd=@");
      cxi_hold_enter();
      check_orders(row, p, (modes){ forward, is_reversible(row, p) }, TOLERANCE,
                   3);
      cxi_hold_leave();
      cxi_program_release(p);
    }
  }
}

/* -- batches --------------------------------------------------------------- */

static void check_batches(const cxi_row *row, const cxi_program *p) {
  enum { SUBSETS = 16 };
  if (!row->batch || p->n_in == 0) return;
  cxi_hold_enter();
  check_batch(p, 11, integer_limit(row), SUBSETS);
  cxi_hold_leave();
}
static void test_batches(void **state) {
  (void)state;
  each_example(check_batches);
}

/* -- memory that runs out -------------------------------------------------- */

typedef struct transform {
  const char *name;
  const cxi_program *(*apply)(const cxi_program *, const bool *in,
                              const bool *out, bool *out_mask, cxi_error *);
} transform;

static const cxi_program *apply_jvp(const cxi_program *p, const bool *in,
                                    const bool *out, bool *out_mask,
                                    cxi_error *error) {
  (void)out;
  return cxi_jvp(p, in, NULL, false, out_mask, error);
}
static const cxi_program *apply_vjp(const cxi_program *p, const bool *in,
                                    const bool *out, bool *out_mask,
                                    cxi_error *error) {
  (void)out_mask;
  return cxi_vjp(p, in, out, error);
}
static const cxi_program *apply_batch(const cxi_program *p, const bool *in,
                                      const bool *out, bool *out_mask,
                                      cxi_error *error) {
  (void)out;
  return cxi_batch(p, in, 2, NULL, out_mask, error);
}

static const cxi_program *attempt(const transform *t, const cxi_program *p,
                                  const bool *in, const bool *out,
                                  uint64_t successes, cxi_error *error) {
  bool *mask = calloc(p->n_out + 1u, sizeof *mask);
  assert_non_null(mask);
  cxi_memos_clear();
  cxi_hold_enter();
  cxi_alloc_fail_after(successes);
  const cxi_program *q = t->apply(p, in, out, mask, error);
  cxi_alloc_fail_after(UINT64_MAX);
  cxi_hold_leave();
  cxi_memos_clear();
  free(mask);
  return q;
}

/* The bytes held, but for scratch memory that is kept and not in use. */
static size_t held_bytes(void) {
  if (!cxi_scratch_mark().used) cxi_scratch_free();
  return cxi_alloc_now().live_bytes;
}

static const char *subject = ""; /* the example, for messages */

/* An assertion of the library says which line, not which row led there. */
static void name_subject(int number) {
  (void)number;
  const ssize_t written = write(STDERR_FILENO, subject, strlen(subject)) +
                          write(STDERR_FILENO, "\n", 1);
  (void)written;
}

/* Makes the first, second, ... allocation fail until none does: each time the
 * transform reports it and leaves nothing behind. */
static void starve(const transform *t, const cxi_program *p, const bool *in,
                   const bool *out) {
  cxi_error error = { CX_OK, "" };
  attempt(t, p, in, out, UINT64_MAX, &error); /* names and types are kept */
  if (error.code == CX_ENORULE) return;
  const size_t live = held_bytes();
  const uint64_t programs = cxi_programs_now().live;
  const cxi_mark mark = cxi_scratch_mark();
  for (uint64_t n = 0;; n++) {
    error = (cxi_error){ CX_OK, "" };
    if (attempt(t, p, in, out, n, &error)) break;
    if (error.code != CX_EMEMORY)
      fail_msg("%s\n%s, allocation %d fails: %s", subject, t->name, (int)n,
               error.text);
    const cxi_mark after = cxi_scratch_mark();
    if (after.chunk != mark.chunk || after.used != mark.used)
      fail_msg("%s\n%s, allocation %d fails: scratch memory is left", subject,
               t->name, (int)n);
    const size_t now = held_bytes();
    if (now > live)
      fail_msg("%s\n%s, allocation %d fails: %d bytes are left, %d programs",
               subject, t->name, (int)n, (int)(now - live),
               (int)(cxi_programs_now().live - programs));
  }
}

static void test_memory(void **state) {
  (void)state;
  static const transform transforms[] = { { "jvp", apply_jvp },
                                          { "vjp", apply_vjp },
                                          { "batch", apply_batch } };
  void (*const before)(int) = signal(SIGABRT, name_subject);
  for (int prim = CXI_PRIM_NONE + 1; prim < CXI_N_PRIMS; prim++) {
    const char *const *examples = cxi_row_of((cxi_prim)prim)->examples;
    if (!examples || !examples[0]) continue;
    const cxi_program *p = program_parse(subject = examples[0]);
    bool *all = calloc(p->n_in + 1u, sizeof *all);
    bool *in = calloc(p->n_in + 1u, sizeof *in);
    bool *out = calloc(p->n_out + 1u, sizeof *out);
    assert_true(all && in && out);
    for (uint32_t i = 0; i < p->n_in; i++) {
      all[i] = true;
      in[i] = cxi_type_is_float(p->values[i].type);
    }
    for (uint32_t i = 0; i < p->n_out; i++)
      out[i] = cxi_type_is_float(cxi_output_type(p, i));
    for (int i = 0; i < 3; i++)
      if (p->n_in > 0) starve(&transforms[i], p, i == 2 ? all : in, out);
    free(all);
    free(in);
    free(out);
    cxi_program_release(p);
  }
  signal(SIGABRT, before);
  cxi_memos_clear();
}

/* -- the matrix of rules --------------------------------------------------- */

static void test_matrix_is_current(void **state) {
  (void)state;
  cxi_bytes want = primitive_matrix();
  FILE *file = fopen(MATRIX_FILE, "rb");
  if (!file) fail_msg("%s is missing", MATRIX_FILE);
  char *is = malloc(want.n + 1u);
  assert_non_null(is);
  const size_t n = fread(is, 1, want.n + 1u, file);
  fclose(file);
  if (n != want.n || memcmp(is, want.data, n) != 0)
    fail_msg("%s is old: run table_test --write", MATRIX_FILE);
  free(is);
  cxi_bytes_free(&want);
}

static int write_matrix(void) {
  cxi_bytes text = primitive_matrix();
  FILE *file = fopen(MATRIX_FILE, "wb");
  if (!file) return perror(MATRIX_FILE), 1;
  const bool written = fwrite(text.data, 1, text.n, file) == text.n;
  cxi_bytes_free(&text);
  return fclose(file) == 0 && written ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--write") == 0) return write_matrix();
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows_are_complete),
    cmocka_unit_test(test_text),
    cmocka_unit_test(test_subjects),
    cmocka_unit_test(test_derivatives),
    cmocka_unit_test(test_batches),
    cmocka_unit_test(test_memory),
    cmocka_unit_test(test_matrix_is_current),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
