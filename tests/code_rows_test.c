/* code_rows_test.c - every example of every row as the body of a loop that is
 * generated code: the bits of the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/axes.h"
#include "support/loops.h"

enum { STEPS = 3, TEXT = 1 << 16 };

typedef struct text {
  char s[TEXT];
  size_t n;
} text;

static void add(text *t, const char *format, ...) CX_PRINTF(2, 3);
static void add(text *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(t->s + t->n, TEXT - t->n, format, arguments);
  va_end(arguments);
  assert_in_range(n, 0, TEXT - t->n - 1);
  t->n += (size_t)n;
}

/* The type of STEPS results in a row; 0: it has too many axes. */
static cxi_type stacked(cxi_type type) {
  const cx_dims shape = cxi_dims_insert(*cxi_type_shape(type), 0, STEPS);
  return shape.n < 0 ? 0 : cxi_type_make(cxi_type_dtype(type), shape);
}

/* Writes the example as the body of a scan without carries, all its inputs
 * constants. False if that is no program. */
static bool write_loop(text *t, const char *example, const cxi_program *p) {
  t->n = 0;
  add(t, "%s\n", example);
  add(t, "program @all(");
  for (uint32_t i = 0; i < p->n_in; i++)
    add(t, "%s%%%u: %s", i ? ", " : "", i, cxi_show_type(p->values[i].type).s);
  add(t, ") { ");
  for (uint32_t i = 0; i < p->n_out; i++) {
    const cxi_type type = stacked(p->values[p->outputs[i]].type);
    if (!type) return false;
    add(t, "%s%%%u: %s", i ? ", " : "", p->n_in + i, cxi_show_type(type).s);
  }
  add(t,
      " = scan[body=@%s, length=%d, reverse=false, n_consts=%u, "
      "n_carry=0, unroll=1]",
      cxi_name_text(p->name), STEPS, p->n_in);
  for (uint32_t i = 0; i < p->n_in; i++) add(t, "%s %%%u", i ? "," : "", i);
  add(t, " return");
  for (uint32_t i = 0; i < p->n_out; i++)
    add(t, "%s %%%u", i ? "," : "", p->n_in + i);
  add(t, " }");
  return p->n_out > 0;
}

typedef struct counts {
  int run, differ;
} counts;

static void check_text(const char *source, counts *n) {
  for (uint64_t seed = 1; seed <= 2; seed++) {
    execution x;
    const char *wrong = execution_open(&x, source, 0, 0, seed);
    if (wrong) fail_msg("%s\n%s", wrong, source);
    wrong = execution_compare(&x, 1, 0);
    if (wrong) print_error("%s\n%s\n", wrong, source);
    execution_close(&x);
    n->differ += wrong != NULL;
  }
  n->run++;
}

static void check_example(const char *example, counts *n) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(example, strlen(example), &error);
  if (!p) fail_msg("%s\n%s", error.text, example);
  text *t = malloc(sizeof *t);
  assert_non_null(t);
  if (!p->effects && !p->axes.n && write_loop(t, example, p))
    check_text(t->s, n);
  free(t);
  cxi_program_release(p);
}

static void test_rows(void **state) {
  (void)state;
  if (!loops_there()) skip();
  const cx_loops before = cxi_code_set(CX_LOOPS_NOW);
  const uint64_t loops_before = cxi_code_now().loops;
  counts n = { 0 };
  for (int prim = 1; prim < CXI_N_PRIMS; prim++) {
    const char *const *e = cxi_row_of((cxi_prim)prim)->examples;
    for (; e && *e; e++) check_example(*e, &n);
  }
  const uint64_t generated = cxi_code_now().loops - loops_before;
  print_message("%d examples, %d differ, %d loops generated\n", n.run, n.differ,
                (int)generated);
  assert_int_equal(n.differ, 0);
  assert_true(generated > (uint64_t)n.run / 2);
  cxi_code_set(before);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
