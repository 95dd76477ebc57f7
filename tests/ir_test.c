/* ir_test.c - types, parameters, builders, interning, emitters. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "calx/literal.h"
#include "ir/builder.h"
#include "ir/text.h"

static cxi_type f32_of(int64_t n) {
  return cxi_type_make(CX_F32, CX_SHAPE(n));
}

static cx add(cx a, cx b) {
  return cxi_emit1(CXI_PRIM_add, NULL, 2, (cx[]){ a, b });
}

static cx mul(cx a, cx b) {
  return cxi_emit1(CXI_PRIM_mul, NULL, 2, (cx[]){ a, b });
}

static const cxi_program *finish1(cxi_builder *b, const char *name, cx in,
                                  cx out) {
  cxi_error error = { 0 };
  const cxi_program *p =
      cxi_builder_finish(b, cxi_name_of(name), 1, &in, 1, &out, &error);
  if (!p) print_message("%s\n", error.text);
  assert_non_null(p);
  assert_true(cxi_program_check(p, &error));
  return p;
}

/* -- types
 * ---------------------------------------------------------------------- */

static void test_types(void **state) {
  (void)state;
  cxi_type a = cxi_type_make(CX_F32, CX_SHAPE(3, 4));
  assert_int_not_equal(a, 0);
  assert_int_equal(a, cxi_type_make(CX_F32, CX_SHAPE(3, 4)));
  assert_int_not_equal(a, cxi_type_make(CX_F64, CX_SHAPE(3, 4)));
  assert_int_not_equal(a, cxi_type_make(CX_F32, CX_SHAPE(4, 3)));
  assert_int_equal(cxi_type_dtype(a), CX_F32);
  assert_int_equal(cxi_type_shape(a)->d[1], 4);
  assert_int_equal(cxi_type_with_dtype(a, CX_F64),
                   cxi_type_make(CX_F64, CX_SHAPE(3, 4)));
  assert_int_equal(cxi_type_with_shape(a, CX_SCALAR), cxi_type_scalar(CX_F32));
  assert_int_equal(cxi_type_rank(cxi_type_scalar(CX_KEY)), 0);
  assert_true(cxi_type_is_float(a));
  assert_false(cxi_type_is_float(cxi_type_scalar(CX_I32)));
}

static void test_invalid_types(void **state) {
  (void)state;
  const int64_t big = INT64_C(1) << 40;
  assert_int_equal(cxi_type_make(CX_F32, CX_SHAPE(-1)), 0);
  assert_int_equal(cxi_type_make(CX_F32, CX_SHAPE(big, big)), 0);
  assert_int_equal(cxi_type_make((cx_dtype)0, CX_SHAPE(1)), 0);
  assert_int_equal(cxi_type_make((cx_dtype)99, CX_SCALAR), 0);
  assert_int_equal(cxi_type_make(CX_F32, (cx_dims){ .n = -1 }), 0);
  assert_int_equal(cxi_type_make(CX_F32, (cx_dims){ .n = 9 }), 0);
  assert_int_not_equal(cxi_type_make(CX_F32, CX_SHAPE(0, 3)), 0);
  /* Items beyond the rank are not part of a type. */
  cx_dims dims = { .n = 1, .d = { 3, 77 } };
  assert_int_equal(cxi_type_make(CX_F32, dims), f32_of(3));
  assert_int_equal(cxi_type_rank(0), 0);
}

enum { N_TYPES = 5000, N_THREADS = 4 };
static cxi_type type_ids[N_THREADS][N_TYPES];

static void *make_types(void *ids) {
  for (int i = 0; i < N_TYPES; i++)
    ((cxi_type *)ids)[i] = cxi_type_make(CX_I32, CX_SHAPE(i, 7));
  return NULL;
}

static void test_types_from_threads(void **state) {
  (void)state;
  pthread_t threads[N_THREADS];
  for (int i = 0; i < N_THREADS; i++)
    pthread_create(&threads[i], NULL, make_types, type_ids[i]);
  for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < N_TYPES; i++) {
    assert_int_equal(cxi_type_shape(type_ids[0][i])->d[0], i);
    for (int k = 1; k < N_THREADS; k++)
      assert_int_equal(type_ids[k][i], type_ids[0][i]);
  }
}

/* -- parameters
 * -------------------------------------------------------------------- */

static void test_schema(void **state) {
  (void)state;
  for (int i = 1; i < CXI_N_PRIMS; i++) {
    const char *name = cxi_prim_name((cxi_prim)i);
    assert_int_equal(cxi_prim_find(name, strlen(name)), i);
    assert_int_equal(cxi_prim_find(name, strlen(name) - 1) == (cxi_prim)i, 0);
  }
  assert_int_equal(cxi_prim_find("no_such", 7), CXI_PRIM_NONE);
  assert_int_equal(cxi_prim_find("none", 4), CXI_PRIM_NONE);
}

static void test_params(void **state) {
  (void)state;
  cxi_arena arena = { 0 };
  int64_t sizes[] = { 2, 3 }, others[] = { 2, 4 };
  cxi_split_params a = { .sizes = { 2, sizes }, .axis = 1 }, b = a;
  cxi_split_params *copy = cxi_params_copy(CXI_PRIM_split, &a, &arena);
  assert_non_null(copy);
  assert_ptr_not_equal(copy->sizes.d, sizes);
  assert_true(cxi_params_equal(CXI_PRIM_split, copy, &a));
  b.sizes.d = others;
  assert_false(cxi_params_equal(CXI_PRIM_split, copy, &b));
  /* Reals are compared by bits; what dims hold beyond n is not looked at. */
  cxi_gather_params g = { .fill = (double)NAN }, h = g;
  h.sizes.d[3] = 5;
  assert_true(cxi_params_equal(CXI_PRIM_gather, &g, &h));
  g.fill = 0.0, h.fill = -0.0;
  assert_false(cxi_params_equal(CXI_PRIM_gather, &g, &h));
  cxi_arena_free(&arena);
}

static void test_invalid_params(void **state) {
  (void)state;
  cxi_error error = { 0 };
  cxi_reshape_params shape = { .shape = { .n = -1 } };
  assert_false(cxi_params_valid(CXI_PRIM_reshape, &shape, &error));
  assert_int_equal(error.code, CX_ESHAPE);
  cxi_convert_params type = { .type = (cx_dtype)77 };
  error.code = CX_OK;
  assert_false(cxi_params_valid(CXI_PRIM_convert, &type, &error));
  assert_int_equal(error.code, CX_EDTYPE);
  const cxi_program *hole[1] = { NULL };
  cxi_cond_params cond = { .branches = { 1, hole } };
  assert_false(cxi_params_valid(CXI_PRIM_cond, &cond, NULL));
}

/* -- builders
 * ---------------------------------------------------------------------- */

/* (2x + 1) + (x 2), its halves emitted in either order. */
static const cxi_program *sum_of_halves(bool swapped, cxi_name site) {
  cxi_builder b;
  cxi_builder_open(&b);
  cxi_name before = cxi_site_use(site);
  cx x = cxi_builder_input(&b, f32_of(3)), left, right;
  cx dead = mul(x, x);
  (void)dead;
  if (swapped) right = mul(x, cxi_number(CX_F32, 2));
  left = add(mul(x, cxi_number(CX_F32, 2)), cxi_number(CX_F32, 1));
  if (!swapped) right = mul(x, cxi_number(CX_F32, 2));
  cx sum = add(left, right);
  cxi_site_use(before);
  return finish1(&b, "halves", x, sum);
}

static void test_order(void **state) {
  (void)state;
  const cxi_program *p = sum_of_halves(false, 0);
  const cxi_program *q = sum_of_halves(true, 0);
  assert_ptr_equal(p, q);
  assert_int_equal(p->n_equations, 4); /* the dead one is gone */
  assert_int_equal(p->n_literals, 2);  /* 2 once, in order of first use */
  float two;
  memcpy(&two, &p->literals[0], sizeof two);
  assert_true(two == 2.0f);
  assert_int_equal(p->equations[3].prim, CXI_PRIM_add);
  cxi_program_release(p);
  cxi_program_release(q);
}

/* The write waits for the read that does not depend on it; a read that does
 * has nothing to move. */
static void test_order_of_writes(void **state) {
  (void)state;
  static const char text[] =
      "program @main(%0: f32[4], %1: f32[1], %2: i32[]) {"
      " %3: f32[4] = dynamic_update_slice %0, %1, %2"
      " %4: f32[1] = dynamic_slice[sizes=(1)] %0, %2"
      " %5: f32[4] = update_slice_add %3, %4, %2"
      " %6: f32[1] = dynamic_slice[sizes=(1)] %3, %2"
      " return %5, %6 }";
  static const cxi_prim order[] = { CXI_PRIM_dynamic_slice,
                                    CXI_PRIM_dynamic_update_slice,
                                    CXI_PRIM_dynamic_slice,
                                    CXI_PRIM_update_slice_add };
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, sizeof text - 1, &error);
  assert_non_null(p);
  assert_int_equal(p->n_equations, 4);
  for (uint32_t i = 0; i < 4; i++)
    assert_int_equal(p->equations[i].prim, order[i]);
  cxi_program_release(p);
}

/* Equal literals are one value only in the program that is done: what is
 * written into one waits for nothing, so that the order stays when read again. */
static void test_order_of_writes_into_numbers(void **state) {
  (void)state;
  static const char text[] = "program @main(%0: f64[], %1: f64[]) {"
                             " %2: f64[] = update_slice_add 0.0:f64, %0"
                             " %3: f64[] = update_slice_add 0.0:f64, %1"
                             " return %2, %3 }";
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, sizeof text - 1, &error);
  assert_non_null(p);
  assert_true(cxi_program_check(p, &error));
  assert_int_equal(p->operands[p->equations[0].in + 1], 0);
  cxi_program_release(p);
}

static void test_identity(void **state) {
  (void)state;
  cxi_program_stats before = cxi_programs_now();
  const cxi_program *p = sum_of_halves(false, 0);
  const cxi_program *q = sum_of_halves(false, cxi_name_of("a.c:1"));
  assert_ptr_not_equal(p, q);
  assert_true(cxi_hash_equal(p->hash, q->hash));
  assert_false(cxi_hash_equal(p->identity, q->identity));
  assert_int_equal(cxi_programs_now().live, before.live + 2);
  cxi_program_release(cxi_program_retain(p));
  cxi_program_release(p);
  cxi_program_release(q);
  assert_int_equal(cxi_programs_now().live, before.live);
  assert_int_equal(cxi_programs_now().bytes, before.bytes);
  cxi_program_release(NULL);
}

static void test_outputs(void **state) {
  (void)state;
  cxi_builder b;
  cxi_builder_open(&b);
  cx in[] = { cxi_builder_input(&b, f32_of(3)),
              cxi_builder_input(&b, f32_of(4)) };
  cx one = b.emitter.literal(&b.emitter, CX_I32, true, UINT64_MAX);
  cx out[] = { in[1], one, in[1], cxi_integer(CX_I32, -1) };
  const cxi_program *p = cxi_builder_finish(&b, 0, 2, in, 4, out, NULL);
  assert_non_null(p);
  assert_true(cxi_program_check(p, NULL));
  assert_int_equal(p->n_literals, 1); /* a weak one is no other */
  assert_int_equal(p->literals[0], UINT32_MAX);
  assert_int_equal(p->outputs[0], 1);
  assert_int_equal(p->outputs[1], 2);
  assert_int_equal(p->outputs[3], 2);
  cxi_program_release(p);
}

static void test_literals(void **state) {
  (void)state;
  cxi_builder b;
  cxi_builder_open(&b);
  cxi_info info;
  assert_true(b.emitter.info(&b.emitter, cxi_number(CX_BF16, 1.0), &info));
  assert_true(info.literal && !info.weak && info.bits == 0x3f80);
  assert_true(b.emitter.info(&b.emitter, cxi_number(CX_U8, 300), &info));
  assert_int_equal(info.bits, 255);
  assert_true(
      b.emitter.info(&b.emitter, cxi_integer(CX_I64, INT64_MIN), &info));
  assert_true(info.bits == UINT64_C(1) << 63);
  assert_true(b.emitter.info(&b.emitter, cxi_literal_bits(CX_BOOL, 8), &info));
  assert_int_equal(info.bits, 1);
  assert_int_equal(cxi_dtype_at(cxi_integer(CX_KEY, 7)), CX_KEY);
  cxi_builder_abandon(&b);
}

/* -- errors
 * ------------------------------------------------------------------------ */

static void test_errors(void **state) {
  (void)state;
  cxi_builder outer, b;
  cxi_builder_open(&outer);
  cx foreign = cxi_builder_input(&outer, f32_of(2));
  cxi_builder_open(&b);
  cx x = cxi_builder_input(&b, f32_of(2)), y = cxi_builder_input(&b, f32_of(3));
  cxi_name site = cxi_site_use(cxi_name_of("bad.c:7"));
  cx bad = add(x, y);
  cxi_site_use(cxi_name_of("later.c:8"));
  assert_true(cxi_is_poison(bad));
  assert_int_equal(b.error.code, CX_ESHAPE);
  assert_memory_equal(b.error.text, "add: ", 5);
  assert_non_null(strstr(b.error.text, "f32[2]"));
  assert_string_equal(cxi_name_text(b.error_site), "bad.c:7");
  cxi_error first = b.error;
  /* What others give comes through; what is not given is an error of its own,
   * but the first one is kept. */
  cx poison = { 0, 33 };
  assert_int_equal(add(x, poison).generation, 33);
  assert_int_equal(add((cx){ 0 }, poison).generation, 33);
  assert_true(cxi_is_poison(add(x, foreign)));
  assert_true(cxi_is_poison(add(x, cx_none())));
  assert_true(cxi_given(add(x, x)));
  assert_string_equal(b.error.text, first.text);
  cxi_site_use(site);
  cxi_error error = { 0 };
  assert_null(cxi_builder_finish(&b, 0, 1, &x, 1, &x, &error));
  assert_string_equal(error.text, first.text);
  assert_ptr_equal(cxi_emitter_now(), &outer.emitter);
  cxi_builder_abandon(&outer);
  assert_ptr_equal(cxi_emitter_now(), &cxi_emitter_nowhere);
}

/* The error that an operand gives. */
static cxi_error error_of_operand(cx a) {
  cxi_builder b;
  cxi_builder_open(&b);
  cx x = cxi_builder_input(&b, f32_of(2));
  assert_true(cxi_is_poison(add(x, a)));
  cxi_error error = b.error;
  cxi_builder_abandon(&b);
  return error;
}

static void test_operand_errors(void **state) {
  (void)state;
  assert_string_equal(error_of_operand((cx){ 0 }).text,
                      "add: operand 1 is not given");
  assert_string_equal(error_of_operand(cx_none()).text,
                      "add: operand 1 is none");
  assert_string_equal(error_of_operand((cx){ 1, UINT32_MAX }).text,
                      "add: operand 1 is a value of another program");
  assert_int_equal(error_of_operand((cx){ 0, 9 }).code, CX_OK);
}

static void test_finish_errors(void **state) {
  (void)state;
  cxi_error error = { 0 };
  cxi_builder b;
  cxi_builder_open(&b);
  cx x = cxi_builder_input(&b, f32_of(2)), y = add(x, x);
  assert_null(cxi_builder_finish(&b, cxi_name_of("f"), 1, &y, 1, &y, &error));
  assert_string_equal(error.text, "f: input 0 is not an input");
  cxi_builder_open(&b);
  x = cxi_builder_input(&b, f32_of(2));
  error.code = CX_OK;
  assert_null(cxi_builder_finish(&b, 0, 2, (cx[]){ x, x }, 0, NULL, &error));
  cxi_builder_open(&b);
  x = cxi_builder_input(&b, f32_of(2));
  error.code = CX_OK;
  assert_null(cxi_builder_finish(&b, 0, 0, NULL, 1, &x, &error));
  assert_int_equal(error.code, CX_ETRACE);
  cxi_builder_open(&b);
  x = cx_none();
  error.code = CX_OK;
  assert_null(cxi_builder_finish(&b, cxi_name_of("f"), 0, NULL, 1, &x, &error));
  assert_string_equal(error.text, "f: output 0 is none");
}

static void test_no_emitter(void **state) {
  (void)state;
  assert_ptr_equal(cxi_emitter_now(), &cxi_emitter_nowhere);
  assert_true(cxi_is_poison(cxi_fail(CX_EUSER, "nobody %s", "hears")));
  assert_true(cxi_is_poison(cxi_number(CX_F32, 1)));
  assert_true(cxi_is_poison(add((cx){ 1, 1 }, (cx){ 1, 1 })));
  assert_int_equal(cxi_type_at((cx){ 1, 1 }), 0);
}

/* -- sub-programs
 * -------------------------------------------------------------------- */

/* A program that calls `body`, of one f32[3]. */
static const cxi_program *call_of(const cxi_program *body, const char *name) {
  cxi_builder b;
  cxi_error error = { 0 };
  cxi_builder_open(&b);
  cx x = cxi_builder_input(&b, f32_of(3));
  cxi_jit_params params = { .body = body };
  cx y = cxi_emit1(CXI_PRIM_jit, &params, 1, &x);
  return cxi_builder_finish(&b, cxi_name_of(name), 1, &x, 1, &y, &error);
}

static void test_subprograms(void **state) {
  (void)state;
  uint64_t live = cxi_programs_now().live;
  const cxi_program *body = sum_of_halves(false, 0);
  const cxi_program *p = call_of(body, "outer");
  assert_non_null(p);
  cxi_program_release(body); /* p keeps it */
  assert_int_equal(cxi_programs_now().live, live + 2);
  assert_true(cxi_program_check(p, NULL));
  body = sum_of_halves(true, 0);
  assert_int_equal(cxi_programs_now().live, live + 2);
  cxi_program_release(body);
  cxi_program_release(p);
  assert_int_equal(cxi_programs_now().live, live);
}

static void test_deep_nest(void **state) {
  (void)state;
  uint64_t live = cxi_programs_now().live;
  const cxi_program *p = sum_of_halves(false, 0);
  for (int i = 0; i < 20000; i++) {
    const cxi_program *outer = call_of(p, "f");
    assert_non_null(outer);
    cxi_program_release(p);
    p = outer;
  }
  assert_int_equal(cxi_programs_now().live, live + 20001);
  assert_true(cxi_program_check(p, NULL));
  cxi_program_release(p);
  assert_int_equal(cxi_programs_now().live, live);
}

static void test_hold(void **state) {
  (void)state;
  uint64_t live = cxi_programs_now().live;
  cxi_hold_enter();
  cxi_hold_enter();
  const cxi_program *p = sum_of_halves(false, 0);
  assert_ptr_equal(cxi_hold(p), p);
  cxi_program_release(p);
  assert_null(cxi_hold(NULL));
  cxi_hold_leave();
  assert_int_equal(cxi_programs_now().live, live + 1);
  cxi_hold_leave();
  assert_int_equal(cxi_programs_now().live, live);
}

static void test_replay(void **state) {
  (void)state;
  const cxi_program *p = sum_of_halves(false, cxi_name_of("f.c:3"));
  cxi_builder b;
  cxi_builder_open(&b);
  cx x = cxi_builder_input(&b, f32_of(3)), y;
  assert_true(cxi_replay(p, &x, &y));
  const cxi_program *q = finish1(&b, "halves", x, y);
  assert_ptr_equal(p, q);
  /* Poison stops it. */
  cxi_builder_open(&b);
  x = (cx){ 0, 5 };
  assert_false(cxi_replay(p, &x, &y));
  assert_int_equal(y.generation, 5);
  cxi_builder_abandon(&b);
  cxi_program_release(p);
  cxi_program_release(q);
}

static void *intern_and_release(void *unused) {
  (void)unused;
  for (int i = 0; i < 300; i++) {
    const cxi_program *p = sum_of_halves(i % 2, 0), *q = call_of(p, "g");
    cxi_program_release(p);
    cxi_program_release(q);
  }
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  uint64_t live = cxi_programs_now().live;
  pthread_t threads[N_THREADS];
  for (int i = 0; i < N_THREADS; i++)
    pthread_create(&threads[i], NULL, intern_and_release, NULL);
  for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(cxi_programs_now().live, live);
}

/* -- the checker
 * ------------------------------------------------------------------------ */

/* Programs with one thing wrong. */
static void test_checker(void **state) {
  (void)state;
  const cxi_program *p = sum_of_halves(false, 0);
  cxi_equation equations[4];
  cxi_value values[8];
  uint32_t operands[16], outputs[1];
  assert_true(p->n_values <= 8 && p->n_operands <= 16);
  for (int wrong = 0; wrong <= 9; wrong++) {
    cxi_program q = *p;
    memcpy(equations, p->equations, sizeof equations);
    memcpy(values, p->values, p->n_values * sizeof *values);
    memcpy(operands, p->operands, p->n_operands * sizeof *operands);
    outputs[0] = p->outputs[0];
    q.equations = equations, q.values = values;
    q.operands = operands, q.outputs = outputs;
    switch (wrong) {
    case 1:
      operands[1] = p->n_values - 1;
      break;
    case 2:
      outputs[0] = p->n_values;
      break;
    case 3:
      values[4].type = f32_of(4);
      break;
    case 4:
      values[0].source = CXI_LITERAL;
      break;
    case 5:
      values[5].source = 0;
      break;
    case 6:
      equations[2].in = 0;
      break;
    case 7:
      equations[1].prim = CXI_N_PRIMS;
      break;
    case 8:
      outputs[0] = 3;
      break; /* equations that nothing needs */
    case 9:
      q.hash.lo++;
      break;
    default:
      break;
    }
    cxi_error error = { 0 };
    assert_int_equal(cxi_program_check(&q, &error), wrong == 0);
    assert_int_equal(error.code != CX_OK, wrong != 0);
  }
  cxi_program_release(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_types),
    cmocka_unit_test(test_invalid_types),
    cmocka_unit_test(test_types_from_threads),
    cmocka_unit_test(test_schema),
    cmocka_unit_test(test_params),
    cmocka_unit_test(test_invalid_params),
    cmocka_unit_test(test_order),
    cmocka_unit_test(test_order_of_writes),
    cmocka_unit_test(test_order_of_writes_into_numbers),
    cmocka_unit_test(test_identity),
    cmocka_unit_test(test_outputs),
    cmocka_unit_test(test_literals),
    cmocka_unit_test(test_errors),
    cmocka_unit_test(test_operand_errors),
    cmocka_unit_test(test_finish_errors),
    cmocka_unit_test(test_no_emitter),
    cmocka_unit_test(test_subprograms),
    cmocka_unit_test(test_deep_nest),
    cmocka_unit_test(test_hold),
    cmocka_unit_test(test_replay),
    cmocka_unit_test(test_threads),
    cmocka_unit_test(test_checker),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
