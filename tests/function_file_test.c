/* function_file_test.c - functions written to files and read again. */
#include <stdlib.h>
#include <unistd.h>

#include "support/calls.h"

static char folder[] = "/tmp/calx-function-XXXXXX";
static char path[96], beside[96];

static int make_folder(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/f.calx", folder);
  snprintf(beside, sizeof beside, "%s/f.safetensors", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  unlink(beside);
  return rmdir(folder);
}

static void write_file(const char *to, const char *text) {
  FILE *f = fopen(to, "w");
  assert_non_null(f);
  fputs(text, f);
  assert_int_equal(fclose(f), 0);
}

/* -- there and back ------------------------------------------------------- */

CX_STRUCT(affine, (cx, table), (cx, offset));
CX_DEF_ENV(look, affine, e, params, x) {
  cx y = cx_matmul(x, cx_get(params, "dense.w"));
  y = cx_add(cx_tanh(y), cx_mul(e->table, e->offset));
  return cx_dict("sum", cx_sum(cx_mul(y, cx_get(params, "scale"))), "y", y);
}
CX_DEF_ENV(loss, affine, e, params, x) {
  return cx_get(look(e, params, x), "sum");
}

static cx params_of(void) {
  return cx_dict("dense", cx_dict("w", cx_linspace(-1, 1, 6, CX_F32)), "scale",
                 cx_scalar(0.5, CX_F32));
}

static cx shaped(void) {
  return cx_put(params_of(), cx_reshape(cx_linspace(-1, 1, 6, CX_F32), 3, 2),
                "dense.w");
}

static cx x_of(void) {
  return cx_reshape(cx_linspace(0, 2, 12, CX_F32), 4, 3);
}

static void test_comes_back(void **state) {
  (void)state;
  cx table = cx_linspace(3, 4, 2, CX_F32), params = shaped(), x = x_of();
  cx_fn f = CX_BIND(look, .table = table, .offset = cx_scalar(2, CX_F32));
  assert_true(cx_save_fn(path, f, params, x));
  cx_fn g = cx_load_fn(path);
  assert_good();
  assert_same_bits(cx_call(g, params, x), cx_call(f, params, x));
  assert_same_bits(cx_call(cx_jit(g), params, x), cx_call(f, params, x));
  /* and once more, from what was read */
  assert_true(cx_save_fn(path, g, params, x));
  assert_same_bits(cx_call(cx_load_fn(path), params, x), cx_call(f, params, x));
}

/* Loaded, it is differentiated, batched, checkpointed like the original. */
static void test_transforms(void **state) {
  (void)state;
  cx table = cx_linspace(3, 4, 2, CX_F32), params = shaped(), x = x_of();
  cx_fn f = CX_BIND(loss, .table = table, .offset = cx_scalar(2, CX_F32));
  assert_true(cx_save_fn(path, f, params, x));
  cx_fn g = cx_load_fn(path);
  cx_args both = CX_ARGS(0, 1);
  assert_same_bits(cx_call(cx_grad(g, .wrt = both), params, x),
                   cx_call(cx_grad(f, .wrt = both), params, x));
  assert_same_bits(cx_call(cx_grad(cx_checkpoint(g)), params, x),
                   cx_call(cx_grad(f), params, x));
  cx xs = cx_stack(0, x, cx_mul(x, 2));
  cx_fn batched = cx_vmap(cx_grad(g), .in = { CX_NONE, 0 });
  cx_fn wanted = cx_vmap(cx_grad(f), .in = { CX_NONE, 0 });
  assert_same_bits(cx_call(cx_jit(batched), params, xs),
                   cx_call(wanted, params, xs));
}

CX_DEF(stable, x) {
  return cx_log(cx_add(1, cx_exp(x)));
}
CX_DEF(stable_rule, primals, tangents) {
  cx x = cx_nth(primals, 0);
  return cx_tuple(stable(x), cx_mul(cx_sigmoid(x), cx_nth(tangents, 0)));
}

/* A rule of one's own is part of the file. */
static void test_keeps_rules(void **state) {
  (void)state;
  cx_fn f = cx_custom_jvp(CX_FN(stable), CX_FN(stable_rule));
  assert_true(cx_save_fn(path, f, cx_scalar(0, CX_F32)));
  cx slope = cx_call(cx_grad(cx_load_fn(path)), cx_scalar(100, CX_F32));
  assert_true(cx_item(slope) == 1);
}

static void test_tells_its_arguments(void **state) {
  (void)state;
  cx table = cx_linspace(3, 4, 2, CX_F32);
  cx_fn f = CX_BIND(look, .table = table, .offset = cx_scalar(2, CX_F32));
  assert_true(cx_save_fn(path, f, shaped(), x_of()));
  cx_program *p = cx_program_load(path);
  assert_int_equal(cx_program_args(p), 2);
  assert_string_equal(cx_program_arg_name(p, 0), "params");
  assert_string_equal(cx_program_arg_name(p, 1), "x");
  assert_string_equal(cx_program_arg_name(p, 2), "");
  assert_string_equal(cx_show(cx_program_arg(p, 0)),
                      "{dense: {w: f32[3,2]}, scale: f32[]}");
  cx_fn g = cx_program_fn(p);
  cx wrong = cx_call(g, shaped(), cx_zeros(CX_F32, 4, 2));
  assert_true(cx_size(wrong) >= 0);
  assert_error(CX_ESHAPE, "look: argument 1 x is f32[4,2], not f32[4,3]");
  assert_true(cx_program_save(p, path));
  cx_program_free(p);
  p = cx_program_load(path);
  assert_string_equal(cx_program_arg_name(p, 1), "x");
  cx none = cx_program_arg(p, 2);
  (void)none;
  assert_error(CX_EINDEX, "argument 2 of 2");
  cx_program_free(p);
}

/* Trees of every kind, keys that are no words. */
static void test_signatures(void **state) {
  (void)state;
  static const char text[] =
      "function \"odd name\"(a: {1: f32[2], 10: (f32, ()), \"x \\\"y\\\"\": "
      "none, z: {}},\n  b: ({}, (i32[3],))) -> {r: (f32[2])}\n"
      "program @p(%0: f32[2], %1: f32[], %2: i32[3]) {\n"
      "  %3: f32[2] = neg %0\n  return %3\n}\n";
  write_file(path, text);
  cx_fn f = cx_load_fn(path);
  (void)f;
  assert_error(CX_EIO, "2:19: expected");
  char *fixed = strdup(text);
  memcpy(strstr(fixed, ",)"), ") ", 2);
  write_file(path, fixed);
  free(fixed);
  cx_program *p = cx_program_load(path);
  assert_good();
  assert_string_equal(cx_show(cx_program_arg(p, 0)),
                      "{1: f32[2], 10: (f32[], ()), x \"y\": none, z: {}}");
  assert_true(cx_program_save(p, path));
  cx_program_free(p);
  p = cx_program_load(path);
  assert_good();
  assert_string_equal(cx_show(cx_program_arg(p, 1)), "({}, (i32[3]))");
  cx_program_free(p);
}

/* -- what is refused ------------------------------------------------------ */

static const struct {
  const char *text;
  cx_code code;
  const char *message;
} refused[] = {
  { "", CX_EIO, "1:1: expected program" },
  { "nothing at all", CX_EIO, "1:1: expected program, found nothing" },
  { "function f(x: f32[2]) -> f32[2]", CX_EIO, "expected program" },
  { "function f(x: f32[2]) -> f33[2]", CX_EDTYPE, "1:26: unknown dtype f33" },
  { "function f(x: f32[2] -> f32[2]", CX_EIO, "1:22: expected ')'" },
  { "function f(x: f32[2], x: f32) -> f32", CX_EIO, "\"x\" stands twice" },
  { "function f(x: {b: f32, a: f32}) -> f32", CX_EIO,
    "the key \"a\" does not come after \"b\"" },
  { "function f(x: {a.b: f32}) -> f32", CX_EIO, "a key has a dot" },
  { "function f(x: {\"\": f32}) -> f32", CX_EIO, "a name is empty" },
  { "function f(x: f32[3]) -> f32[2]\n"
    "program @p(%0: f32[2]) { return %0 }",
    CX_ESHAPE, "the signature's input 0 is f32[3], the program's f32[2]" },
  { "function f(x: f32[2]) -> f32[3]\n"
    "program @p(%0: f32[2]) { return %0 }",
    CX_ESHAPE, "output 0" },
  { "function f(x: f32[2], y: f32) -> f32[2]\n"
    "program @p(%0: f32[2]) { return %0 }",
    CX_ETREE, "the signature has 2 inputs, the program 1" },
  { "function f(x: f32[2]) -> ()\nprogram @p(%0: f32[2]) { return %0 }",
    CX_ETREE, "the signature has 0 outputs, the program 1" },
  { "function f(x: f32[2]) -> f32[2]\n"
    "program @p(%0: f32[2]) {\n  %1: f32[2] = nag %0\n  return %1\n}",
    CX_EIO, "3:16: there is no primitive nag" },
  { "function f(x: f32[2]) -> f32[2]\nconstants (c: f32[2])\n"
    "program @p(%0: f32[2], %1: f32[2]) { return %0 }",
    CX_EIO, "f.safetensors: cannot open" },
};
enum { N_REFUSED = sizeof refused / sizeof *refused };

static void test_refused(void **state) {
  (void)state;
  unlink(beside);
  for (int i = 0; i < N_REFUSED; i++) {
    write_file(path, refused[i].text);
    assert_null(cx_load_fn(path));
    assert_error(refused[i].code, refused[i].message);
  }
  assert_null(cx_parse(refused[N_REFUSED - 1].text));
  assert_error(CX_EIO, "cx_load_fn reads both");
}

static void test_constants_must_fit(void **state) {
  (void)state;
  static const char text[] =
      "function f(x: f32[2]) -> f32[2]\nconstants (c: f32[2])\n"
      "program @p(%0: f32[2], %1: f32[2]) {\n"
      "  %2: f32[2] = add %0, %1\n  return %2\n}";
  write_file(path, text);
  assert_true(cx_save(beside, cx_dict("d", cx_zeros(CX_F32, 2))));
  assert_null(cx_load_fn(path));
  assert_error(CX_ETREE, "the constant \"c\" is in no file");
  assert_true(cx_save(beside, cx_dict("c", cx_zeros(CX_F32, 3))));
  assert_null(cx_load_fn(path));
  assert_error(CX_ESHAPE, "the constant \"c\" is f32[3], not f32[2]");
  assert_true(cx_save(beside, cx_dict("c", cx_ones(CX_F32, 2))));
  cx y = cx_call(cx_load_fn(path), cx_ones(CX_F32, 2));
  assert_true(cx_item(cx_index(y, 0)) == 2);
}

/* A tree a thousand levels deep. */
static void test_too_deep(void **state) {
  (void)state;
  char text[2100] = "function f(x: ";
  memset(text + strlen(text), '(', 1000);
  write_file(path, text);
  assert_null(cx_load_fn(path));
  assert_error(CX_EIO, "a tree is too deep");
}

CX_STRUCT(keyed, (cx, key));
CX_DEF_ENV(noise, keyed, e, x) {
  return cx_add(x, cx_uniform(e->key, CX_F32, 3));
}

static void test_wrong_calls(void **state) {
  (void)state;
  assert_null(cx_load_fn("model.txt"));
  assert_error(CX_EIO, "model.txt: its suffix must be .calx");
  assert_null(cx_load_fn(NULL));
  assert_error(CX_EIO, "no path");
  assert_null(cx_load_fn("/nowhere/f.calx"));
  assert_error(CX_EIO, "/nowhere/f.calx: cannot open");
  assert_false(cx_save_fn("f.txt", CX_FN(stable), cx_scalar(0, CX_F32)));
  assert_error(CX_EIO, "f.txt: its suffix must be .calx");
  assert_false(
      cx_save_fn("/nowhere/f.calx", CX_FN(stable), cx_scalar(0, CX_F32)));
  assert_error(CX_EIO, "/nowhere/f.calx: cannot");
  assert_false(cx_save_fn(path, NULL, cx_scalar(0, CX_F32)));
  assert_true(!cx_ok());
  cx_error(NULL);
  assert_false(cx_program_save(NULL, path));
  assert_error(CX_EUSER, "no program");
  assert_false(
      cx_save_fn(path, CX_BIND(noise, .key = cx_key(1)), cx_spec(CX_F32, 3)));
  assert_error(CX_EDTYPE, "key");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    TEST(test_comes_back),         TEST(test_transforms),
    TEST(test_keeps_rules),        TEST(test_tells_its_arguments),
    TEST(test_signatures),         TEST(test_refused),
    TEST(test_constants_must_fit), TEST(test_too_deep),
    TEST(test_wrong_calls),
#undef TEST
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
