/* text_test.c - programs as text: printed and parsed. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "calx/literal.h"
#include "ir/builder.h"
#include "ir/number.h"
#include "ir/text.h"
#include "support/printed.h"
#include "support/rows.h"

/* -- what is printed is read ---------------------------------------------- */

static void test_samples(void **state) {
  (void)state;
  for (int i = 0; i < n_printed_samples; i++) {
    const cxi_program *p = parse_printed(printed_samples[i]);
    char *text = print_program(p);
    assert_string_equal(text, printed_samples[i]);
    cxi_free(text);
    check_printed(p);
    cxi_program_release(p);
  }
}

/* The programs in the page that describes the form. */
static void test_page(void **state) {
  (void)state;
  static char page[1 << 16];
  FILE *file = fopen("docs/program-text.md", "rb");
  assert_non_null(file);
  size_t n = fread(page, 1, sizeof page - 1, file);
  fclose(file);
  assert_true(n > 0 && n < sizeof page - 1);
  int found = 0;
  for (char *at = page; (at = strstr(at, "```\nprogram @")); found++) {
    char *text = at + 4, *end = strstr(text, "```");
    assert_non_null(end);
    *end = 0;
    const cxi_program *p = parse_printed(text);
    char *printed = print_program(p);
    assert_string_equal(printed, text);
    cxi_free(printed);
    cxi_program_release(p);
    at = end + 3;
  }
  assert_true(found >= 5);
}

static void test_freedom(void **state) {
  (void)state;
  /* Other numbers, order of parameters, blanks, comments; dead equations. */
  const cxi_program *p = parse_printed(
      "program @g(%7: f32[ 3 ]) { // in\n"
      "%9:f32[3]=neg %7 %2: f32[3] = add\n%7 , %7\n"
      "%3: i32[3] = iota[shape=(3),axis=0,type=i32] return%2,%3 } // end");
  const cxi_program *q =
      parse_printed("program @main(%0: f32[3]) {\n"
                    "  %1: f32[3] = add %0, %0\n"
                    "  %2: i32[3] = iota[type=i32, shape=(3), axis=0]\n"
                    "  return %1, %2\n"
                    "}\n");
  assert_true(cxi_hash_equal(p->hash, q->hash));
  cxi_program_release(p);
  cxi_program_release(q);
}

/* -- numbers -------------------------------------------------------------- */

static uint64_t random_state = 1;

static void check_number(cx_dtype dtype, uint64_t bits) {
  char text[CXI_NUMBER_ROOM];
  uint64_t again = 0;
  cxi_number_print(text, dtype, bits);
  const char *wrong = cxi_number_parse(text, strlen(text), dtype, &again);
  if (wrong || again != bits)
    fail_msg("%s %s %s", cxi_dtype_name(dtype), text, wrong ? wrong : "");
}

static void test_numbers(void **state) {
  (void)state;
  for (int dtype = CX_BOOL; dtype <= CX_KEY; dtype++) {
    const size_t bytes = cxi_dtype_bytes((cx_dtype)dtype);
    const uint64_t mask = dtype == CX_BOOL ? 1 : UINT64_MAX >> (64 - 8 * bytes);
    for (int i = 0; i < 20000; i++) {
      uint64_t bits =
          random_next(&random_state) >> (random_next(&random_state) % 64);
      check_number((cx_dtype)dtype, bits & mask);
      check_number((cx_dtype)dtype, ~bits & mask);
    }
  }
  for (uint64_t bits = 0; bits < 65536; bits++) {
    check_number(CX_F16, bits);
    check_number(CX_BF16, bits);
  }
}

static void check_text(cx_dtype dtype, double x, const char *text) {
  char printed[CXI_NUMBER_ROOM];
  uint64_t bits = 0;
  cxi_element_set(dtype, &bits, x);
  cxi_number_print(printed, dtype, bits);
  assert_string_equal(printed, text);
}

static void test_short_numbers(void **state) {
  (void)state;
  check_text(CX_F32, 0.1, "0.1");
  check_text(CX_F64, 0.1, "0.1");
  check_text(CX_F64, 1.0 / 3, "0.3333333333333333");
  check_text(CX_BF16, 0.1, "0.1");
  check_text(CX_F32, 100, "100.0");
  check_text(CX_F32, 1e-5, "1e-05");
  check_text(CX_F32, 1e30, "1e+30");
  check_text(CX_F32, -1.0 / 0.0, "-inf");
  check_text(CX_I8, -128, "-128");
}

static void test_locale(void **state) {
  (void)state;
  const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8" };
  const char *found = NULL;
  for (int i = 0; i < 3 && !found; i++) found = setlocale(LC_NUMERIC, names[i]);
  if (!found) {
    print_message("no locale with a decimal comma is installed\n");
    skip();
  }
  check_text(CX_F32, 0.5, "0.5");
  check_number(CX_F64, UINT64_C(0x3fb999999999999a));
  setlocale(LC_NUMERIC, "C");
}

/* -- names and sites ------------------------------------------------------ */

static cx add(cx a, cx b) {
  return cxi_emit1(CXI_PRIM_add, NULL, 2, (cx[]){ a, b });
}

static const cxi_program *doubled(const char *name, const char *site,
                                  const char *scope) {
  cxi_builder b;
  cxi_builder_open(&b);
  cxi_name old_site = cxi_site_use(cxi_name_of(site));
  cxi_name old_scope = cxi_scope_use(cxi_name_of(scope));
  cx x = cxi_builder_input(&b, cxi_type_scalar(CX_F32)), y = add(x, x);
  cxi_site_use(old_site);
  cxi_scope_use(old_scope);
  return cxi_builder_finish(&b, cxi_name_of(name), 1, &x, 1, &y, NULL);
}

static void test_names(void **state) {
  (void)state;
  const cxi_program *p = doubled("my fn()", "a.c:1", "layer.3");
  assert_non_null(p);
  char *text = print_program(p);
  assert_memory_equal(text, "program @my_fn__(", 17);
  cxi_free(text);
  text = cxi_program_print(p, (cxi_text_options){ .sites = true });
  assert_non_null(strstr(text, "add %0, %0 // a.c:1 layer.3\n"));
  const cxi_program *q = parse_printed(text);
  assert_true(cxi_hash_equal(p->hash, q->hash));
  assert_string_equal(cxi_name_text(q->equations[0].site), "text:2");
  cxi_free(text);
  cxi_program_release(p);
  cxi_program_release(q);
}

/* Programs named "f", "f.1", "f", "", "f": each its own name. */
static void test_distinct_names(void **state) {
  (void)state;
  const char *const names[] = { "f", "f.1", "f", "", "f" };
  const cxi_program *body[5];
  for (int i = 0; i < 5; i++) {
    char site[16];
    snprintf(site, sizeof site, "n.c:%d", i);
    body[i] = doubled(names[i], site, "");
  }
  cxi_builder b;
  cxi_builder_open(&b);
  cx x = cxi_builder_input(&b, cxi_type_scalar(CX_F32)), y = x;
  for (int i = 0; i < 5; i++)
    y = cxi_emit1(CXI_PRIM_jit, &(cxi_jit_params){ .body = body[i] }, 1, &y);
  const cxi_program *p =
      cxi_builder_finish(&b, cxi_name_of("f"), 1, &x, 1, &y, NULL);
  assert_non_null(p);
  check_printed(p);
  char *text = print_program(p);
  assert_non_null(strstr(text, "program @f(%0"));
  assert_non_null(strstr(text, "program @f.1("));
  assert_non_null(strstr(text, "program @f.2("));
  assert_non_null(strstr(text, "program @p("));
  assert_non_null(strstr(text, "program @f.4("));
  cxi_free(text);
  for (int i = 0; i < 5; i++) cxi_program_release(body[i]);
  cxi_program_release(p);
}

static void test_wrapping(void **state) {
  (void)state;
  cxi_builder b;
  cxi_builder_open(&b);
  cx in[40], out[40];
  for (int i = 0; i < 40; i++)
    in[i] = cxi_builder_input(&b, cxi_type_make(CX_F32, CX_SHAPE(i, 8)));
  cxi_emit(CXI_PRIM_optimization_barrier, NULL, 40, in, 40, out);
  const cxi_program *p = cxi_builder_finish(&b, 0, 40, in, 40, out, NULL);
  assert_non_null(p);
  check_printed(p);
  char *text = print_program(p);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    assert_true(strlen(line) <= 80);
  cxi_free(text);
  cxi_program_release(p);
}

/* -- errors --------------------------------------------------------------- */

#define F "program @f(%0: f32[3]) {\n"
static const struct {
  const char *text, *error;
} wrong[] = {
  { "", "1:1: expected program, found the end" },
  { "prog", "1:1: expected program, found prog" },
  { "program f", "1:9: expected '@', found 'f'" },
  { "program @f(%0: f33) {}", "1:16: unknown dtype f33" },
  { "program @f(%0: f32[-1]) {}", "1:16: a size is negative" },
  { "program @f(%0: f32[1,1,1,1,1,1,1,1,1]) {}", "more than 8" },
  { "program @f(%0: f32, %0: f32) { return }", "%0 is defined twice" },
  { "program @f(%99999999: f32) { return }", "is too large for this text" },
  { F "  %1: f32[3] = ad %0, %0\n",
    "2:16: there is no primitive ad: is it add?" },
  { F "  %1: f32[3] = transposd %0\n", "is it transpose?" },
  { F "  %1: f32[3] = xyzzy %0\n", "there is no primitive xyzzy" },
  { F "  %1: f32[3] = add %0, %4\n", "2:24: %4 is used" },
  { F "  %1: f32[3] = add %1, %1\n", "%1 is used, which is not defined" },
  { F "  %1: f32[4] = add %0, %0\n", "2:3: the type of %1 is f32[3]" },
  { F "  %1: f32[3], %2: f32[3] = add %0, %0\n", "add: has 1 results, not 2" },
  { F "  %1: f32[3] = round %0\n", "round: parameter away is missing" },
  { F "  %1: f32[3] = round[away=1] %0\n", "1 is not true or false" },
  { F "  %1: f32[3] = round[up=true] %0\n",
    "2:22: round: parameter up is not" },
  { F "  %1: f32[3] = round[away=true,away=true] %0\n", "away is given twice" },
  { F "  %1: f32[3] = jit[body=@g] %0\n", "there is no program @g" },
  { F "  return 1.5:i32 }", "2:10: 1.5:i32 is not an integer" },
  { F "  return 300:u8 }", "300:u8 does not fit" },
  { F "  return -1:u8 }", "does not fit" },
  { F "  return 1e999:f64 }", "does not fit" },
  { F "  return 0x1ff:bf8 }", "unknown dtype bf8" },
  { F "  return 0x12345:f16 }", "is not the bits" },
  { F "  return %0 ) }", "2:13: expected '}', found ')'" },
  { F "  %1: f32[3] = name[name=\"\\q\"] %0\n", "not a character" },
  { F "  %1: f32[3] = name[name=\"a\n\"] %0\n", "not a character" },
  { F "  return }\n" F "  return }", "a program of this name stands before" },
  { F "  return } x", "3" },
};

static void test_errors(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    cxi_error error = { 0 };
    const char *text = wrong[i].text;
    assert_null(cxi_program_parse(text, strlen(text), &error));
    if (!strstr(error.text, wrong[i].error) && strlen(wrong[i].error) > 1)
      fail_msg("%s\ngives   %s\ninstead of %s", text, error.text,
               wrong[i].error);
    assert_int_not_equal(error.code, CX_OK);
  }
  assert_null(cxi_program_parse("", 0, NULL));
}

/* -- size ----------------------------------------------------------------- */

static void test_long_chain(void **state) {
  (void)state;
  cxi_builder b;
  cxi_builder_open(&b);
  cx x = cxi_builder_input(&b, cxi_type_make(CX_F32, CX_SHAPE(3))), y = x;
  for (int i = 0; i < 100000; i++) y = add(y, cxi_number(CX_F32, i % 100));
  const cxi_program *p = cxi_builder_finish(&b, 0, 1, &x, 1, &y, NULL);
  assert_non_null(p);
  assert_int_equal(p->n_equations, 100000);
  assert_int_equal(p->n_literals, 100);
  check_printed(p);
  cxi_program_release(p);
}

static void test_deep_nest(void **state) {
  (void)state;
  const cxi_program *p = doubled("f", "", "");
  for (int i = 0; i < 10000; i++) {
    cxi_builder b;
    cxi_builder_open(&b);
    cx x = cxi_builder_input(&b, cxi_type_scalar(CX_F32));
    cxi_jit_params params = { .body = p };
    cx y = cxi_emit1(CXI_PRIM_jit, &params, 1, &x);
    const cxi_program *outer =
        cxi_builder_finish(&b, cxi_name_of("f"), 1, &x, 1, &y, NULL);
    cxi_program_release(p);
    p = outer;
  }
  check_printed(p);
  cxi_program_release(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_samples),       cmocka_unit_test(test_page),
    cmocka_unit_test(test_freedom),       cmocka_unit_test(test_numbers),
    cmocka_unit_test(test_short_numbers), cmocka_unit_test(test_locale),
    cmocka_unit_test(test_names),         cmocka_unit_test(test_distinct_names),
    cmocka_unit_test(test_wrapping),      cmocka_unit_test(test_errors),
    cmocka_unit_test(test_long_chain),    cmocka_unit_test(test_deep_nest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
