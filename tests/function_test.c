/* function_test.c - functions, captures, calls: what is traced and how often. */
#include "ir/program.h"
#include "support/calls.h"
#include "trace/call.h"
#include "transforms/transforms.h"

CX_DEF(square, x) {
  return cx_mul(x, x);
}
CX_DEF(sum_square, x) {
  return cx_sum(cx_mul(x, x));
}

static uint64_t traces(void) {
  return cxi_resolves_now().traces;
}

static void equal_functions_are_one(void **state) {
  (void)state;
  CX_SCOPE;
  assert_ptr_equal(CX_FN(square), CX_FN(square));
  assert_ptr_equal(cx_jit(cx_vmap(cx_grad(CX_FN(square)))),
                   cx_jit(cx_vmap(cx_grad(CX_FN(square)))));
  assert_ptr_not_equal(cx_grad(CX_FN(square)),
                       cx_grad(CX_FN(square), .wrt = CX_ARGS(1)));
  assert_ptr_not_equal(cx_vmap(CX_FN(square)),
                       cx_vmap(CX_FN(square), .in = { 1 }));
  assert_ptr_equal(CX_OP(add), CX_OP(add));
  assert_ptr_not_equal(CX_OP(add), CX_OP(sub));
  assert_null(cx_grad(NULL));
  assert_null(cx_jit(cx_vmap(NULL)));
  assert_good();
  assert_null(CX_OP(frobnicate));
  assert_error(CX_ETREE, "no elementwise operation is called \"frobnicate\"");
}

CX_STRUCT(scaled_env, (double, factor), (cx, shift), (cx_str, mode), (cx_fn, f),
          (int, sizes, [3]));
CX_DEF_ENV(scaled, scaled_env, e, x) {
  if (!strcmp(e->mode, "minus")) x = cx_neg(x);
  x = cx_mul(e->factor, e->f ? cx_call(e->f, x) : x);
  return cx_add(cx_add(x, e->shift), e->sizes[2]);
}

static void settings_are_static_and_arrays_inputs(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(float, 1, 2), s = cx_array(float, 10, 20);
  cx_fn f = CX_BIND(scaled, .factor = 2, .shift = s, .mode = "plus",
                    .f = CX_FN(square), .sizes = { 0, 0, 1 });
  char mode[] = "plus";
  cx_fn same = CX_BIND(scaled, .factor = 2, .shift = s, .mode = mode,
                       .f = CX_FN(square), .sizes = { 0, 0, 1 });
  assert_ptr_equal(f, same);
  mode[0] = '?';
  float y[2];
  assert_true(cx_read(cx_call(f, x), y, 2));
  assert_true(y[0] == 13 && y[1] == 29);
  const uint64_t before = traces();
  cx_fn other =
      CX_BIND(scaled, .factor = 2, .shift = cx_array(float, 0, 0),
              .mode = "plus", .f = CX_FN(square), .sizes = { 0, 0, 1 });
  assert_true(cx_read(cx_call(other, x), y, 2));
  assert_true(y[0] == 3 && y[1] == 9);
  assert_true(traces() == before); /* other arrays, the same program */
  cx_fn minus = CX_BIND(scaled, .factor = 2, .shift = s, .mode = "minus");
  assert_true(cx_read(cx_call(minus, x), y, 2));
  assert_true(y[0] == 8 && y[1] == 16);
  assert_true(traces() == before + 1);
  assert_good();
}

/* The function in the settings has captures of its own. */
CX_STRUCT(outer_env, (cx_fn, first), (cx, w), (cx_fn, second));
CX_DEF_ENV(outer, outer_env, e, x) {
  return cx_add(cx_call(e->first, x), cx_mul(e->w, cx_call(e->second, x)));
}

static void captures_nest(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(float, 1, 2);
  cx_fn a = CX_BIND(scaled, .factor = 1, .shift = cx_array(float, 100, 200),
                    .mode = "plus");
  cx_fn b = CX_BIND(scaled, .factor = 1, .shift = cx_array(float, 5, 6),
                    .mode = "plus");
  cx_fn f = CX_BIND(outer, .first = a, .w = cx_scalar(10, CX_F32), .second = b);
  float y[2];
  assert_true(cx_read(cx_call(cx_jit(f), x), y, 2));
  assert_true(y[0] == 101 + 60 && y[1] == 202 + 80);
  cx g = cx_call(cx_vmap(cx_grad(f)), x); /* captures are not mapped */
  assert_error(CX_ESHAPE, "must return a scalar, got f32[2]");
  assert_int_equal(cx_size(g), 0);
}

CX_DEF(two_args, a, b) {
  return cx_sub(a, b);
}

static void calls_are_checked(void **state) {
  (void)state;
  CX_SCOPE;
  (void)cx_size(cx_call(CX_FN(two_args), 1));
  assert_error(CX_ETREE, "two_args takes 2 arguments (a, b), got 1");
  (void)cx_size(cx_call(NULL, 1));
  assert_error(CX_ETREE, "call: no function is given");
  cx p = cx_fail(CX_EUSER, "mine %d", 7);
  cx q = cx_call(CX_FN(two_args), p, 1);
  assert_error(CX_EUSER, "mine 7");
  assert_int_equal(q.generation, p.generation);
  assert_true(cx_item(cx_call(CX_FN(two_args), 3, 1)) == 2);
  assert_true(cx_item(cx_call(CX_OP(maximum), 3, 4)) == 4);
  assert_good();
}

static void shapes_without_data(void **state) {
  (void)state;
  CX_SCOPE;
  cx s = cx_call(cx_grad(CX_FN(sum_square)), cx_spec(CX_F32, 3, 4));
  assert_string_equal(cx_show(s), "f32[3,4]");
  s = cx_call(CX_FN(two_args), cx_spec(CX_F64, 5), cx_spec(CX_F64, CX_SCALAR));
  assert_string_equal(cx_show(s), "f64[5]");
  assert_good();
  (void)cx_item(cx_sum(s));
  assert_error(CX_ETREE, "a spec has no value");
}

/* -- arrays made inside, values from outside ------------------------------ */

static int runs;
CX_DEF(with_table, x) {
  runs++;
  return cx_mul(x, cx_array(float, 1, 2, 3));
}
CX_DEF(loss_with_table, x) {
  return cx_sum(
      cx_add(cx_call(CX_FN(with_table), x), cx_call(CX_FN(with_table), x)));
}

static void arrays_made_inside_are_constants(void **state) {
  (void)state;
  CX_SCOPE;
  runs = 0;
  float g[3];
  for (int i = 0; i < 3; i++) {
    CX_SCOPE;
    cx x = cx_ones(CX_F32, 3);
    assert_true(
        cx_read(cx_call(cx_jit(cx_grad(CX_FN(loss_with_table))), x), g, 3));
    assert_true(g[0] == 2 && g[1] == 4 && g[2] == 6);
  }
  assert_int_equal(runs, 1);
  cx xs = cx_ones(CX_F32, 4, 3);
  cx y = cx_call(cx_vmap(CX_FN(with_table)), xs);
  assert_true(cx_item(cx_sum(y)) == 24);
  assert_good();
}

static cx global;
CX_DEF(uses_global, x) {
  return cx_add(x, global);
}
CX_DEF(sets_global, x) {
  global = cx_mul(10, x);
  return cx_call(CX_FN(uses_global), x);
}
CX_DEF(deeper, x) {
  return cx_call(CX_FN(uses_global), cx_mul(2, x));
}
CX_DEF(sets_and_goes_deeper, x) {
  global = cx_mul(10, x);
  return cx_call(cx_jit(CX_FN(deeper)), x);
}

static void values_of_an_outer_trace_are_lifted(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_array(float, 1, 2);
  float y[2];
  for (int i = 0; i < 2; i++) { /* nothing is remembered wrongly */
    assert_true(cx_read(cx_call(CX_FN(sets_global), x), y, 2));
    assert_true(y[0] == 11 && y[1] == 22);
    assert_true(cx_read(cx_call(CX_FN(sets_and_goes_deeper), x), y, 2));
    assert_true(y[0] == 12 && y[1] == 24);
  }
  cx g = cx_call(cx_vmap(cx_grad(CX_FN(sets_and_goes_deeper))), x);
  assert_true(cx_read(g, y, 2));
  assert_true(y[0] == 12 && y[1] == 12);
  assert_good();
  global = x;
  (void)cx_size(cx_call(CX_FN(uses_global), x));
  assert_error(CX_ETRACE, "f32[2] is used by uses_global but is neither its"
                          " argument nor in its environment: pass it");
}

/* -- recursion ------------------------------------------------------------ */

CX_DECLARE(ping, x);
CX_DEFINE(pong, x) {
  return cx_call(CX_FN(ping), x);
}
CX_DECLARE(pong, x);
CX_DEFINE(ping, x) {
  return cx_call(CX_FN(pong), cx_add(x, 1));
}
/* Ends: each level has one element less. */
CX_DECLARE(triangle, x);
CX_DEFINE(triangle, x) {
  if (cx_dim(x, 0) == 1) return cx_sum(x);
  return cx_add(cx_sum(x), cx_call(CX_FN(triangle), cx_index(x, CX_FROM(1))));
}

static void recursion_needs_other_types(void **state) {
  (void)state;
  CX_SCOPE;
  (void)cx_size(cx_call(CX_FN(ping), 1.0));
  assert_error(CX_ETRACE, "ping -> pong -> ping");
  assert_true(cx_item(cx_call(CX_FN(triangle), cx_ones(CX_F32, 5))) == 15);
  assert_good();
  (void)cx_size(cx_call(CX_FN(triangle), cx_ones(CX_F32, 300)));
  assert_error(CX_ETRACE, "calls nest deeper than 200");
}

/* -- hidden state --------------------------------------------------------- */

CX_DEF(counts, x) {
  static int n;
  return cx_mul(x, (double)n++);
}

static void checks_find_hidden_state(void **state) {
  (void)state;
  CX_SCOPE;
  cx_checks(true);
  (void)cx_size(cx_call(CX_FN(counts), 1.0));
  assert_error(CX_ETRACE, "it recorded two programs");
  assert_true(cx_item(cx_call(cx_grad(CX_FN(sum_square)), 3.0)) == 6);
  cx_checks(false);
  assert_good();
}

/* A tower of functions, each of which finds the value of the one around it
 * elsewhere than in its arguments and environment. */
static int tower_runs, tower_state;
static cx around;
CX_STRUCT(floors, (int, left));
CX_DEF_ENV(tower, floors, e, x) {
  const cx y = cx_add(cx_mul(x, 2), around);
  around = y;
  if (e->left > 0) return cx_call(CX_BIND(tower, .left = e->left - 1), x);
  tower_runs++;
  return tower_state ? cx_mul(y, (double)tower_state++) : y;
}
CX_DEF(towers, x) {
  around = cx_sin(x);
  return cx_call(CX_BIND(tower, .left = 12), x);
}
static void checks_trace_what_is_within_as_often(void **state) {
  (void)state;
  CX_SCOPE;
  cx_checks(true);
  tower_runs = tower_state = 0;
  (void)cx_size(cx_call(CX_FN(towers), 1.0));
  assert_good();
  assert_true(tower_runs <= 2);
  tower_state = 1;
  (void)cx_size(cx_call(CX_FN(towers), cx_ones(CX_F32, 2)));
  assert_error(CX_ETRACE, "it recorded two programs");
  cx_checks(false);
}

/* -- twelve equal layers -------------------------------------------------- */

static int layer_runs;
CX_DEF(layer, p, x) {
  layer_runs++;
  return cx_tanh(cx_add(cx_matmul(x, cx_get(p, "w")), cx_get(p, "b")));
}
CX_DEF(network, p, x) {
  for (int i = 0; i < 12; i++) {
    CX_NAMED("layer.%d", i);
    x = cx_call(CX_FN(layer), cx_get(p, "%d", i), x);
  }
  return cx_sum(x);
}

static cx parameters(void) {
  cx p = cx_none();
  for (int i = 0; i < 12; i++) {
    p = cx_put(p, cx_full(0.01, CX_F32, 4, 4), "%d.w", i);
    p = cx_put(p, cx_full(0.02, CX_F32, 4), "%d.b", i);
  }
  return p;
}

static void equal_layers_are_traced_and_transformed_once(void **state) {
  (void)state;
  CX_SCOPE;
  layer_runs = 0;
  cxi_memos_clear();
  const uint64_t transposed = cxi_memos_now("transpose").misses;
  cx g = cx_call(cx_grad(CX_FN(network)), parameters(), cx_ones(CX_F32, 2, 4));
  assert_int_equal(cx_leaf_count(g), 24);
  assert_int_equal(layer_runs, 1);
  /* the network itself and one layer for each mask: the first layer's x has
   * no gradient */
  assert_true(cxi_memos_now("transpose").misses - transposed <= 4);
  const char *text =
      cx_jaxpr(CX_FN(network), parameters(), cx_ones(CX_F32, 2, 4));
  assert_non_null(strstr(text, "@layer"));
  assert_null(strstr(strstr(text, "program @layer") + 10, "program @layer"));
  assert_good();
}

static void scopes_name_the_calls(void **state) {
  (void)state;
  CX_SCOPE;
  cx p = cx_call(CX_FN(network), parameters(), cx_ones(CX_F32, 2, 4));
  (void)p;
  const cxi_code *code = CX_FN(network)->code;
  const cxi_sig args[2] = { cxi_sig_of(cxi_item_of(parameters())),
                            cxi_sig_of(cxi_item_of(cx_ones(CX_F32, 2, 4))) };
  cxi_request q = { .code = code, .n_args = 2, .args = args };
  cxi_entry *e = cxi_resolve(&q);
  assert_non_null(e);
  int found = 0;
  for (uint32_t i = 0; i < e->program->n_equations; i++)
    if (!strcmp(cxi_name_text(e->program->equations[i].scope), "layer.7"))
      found++;
  assert_int_equal(found, 1);
  cxi_entry_release(e);
  assert_good();
}

/* -- programs as objects -------------------------------------------------- */

static void programs_print_parse_and_run(void **state) {
  (void)state;
  CX_SCOPE;
  cx_program *p = cx_trace(cx_grad(CX_FN(sum_square)), cx_spec(CX_F32, 3));
  assert_non_null(p);
  cx_fn f = cx_parse(cx_program_text(p));
  cx x = cx_array(float, 1, 2, 3);
  assert_same_bits(cx_call(f, x), cx_call(cx_grad(CX_FN(sum_square)), x));
  assert_same_bits(cx_call(cx_jit(cx_program_fn(p)), x), cx_call(f, x));
  cx again = cx_call(cx_jacfwd(f), x);
  assert_string_equal(cx_show(again), "f32[3,3]");
  cx_program_free(p);
  assert_good();
  (void)cx_size(cx_call(f, cx_ones(CX_F32, 4)));
  assert_error(CX_ESHAPE, "argument 0 is f32[4], not f32[3]");
  assert_null(cx_parse("program @x(%0: f32[) {"));
  assert_error(CX_EIO, "parse: ");
}

static void executables_run_anywhere(void **state) {
  (void)state;
  CX_SCOPE;
  cx_fn f = CX_BIND(scaled, .factor = 2, .shift = cx_array(float, 10, 20),
                    .mode = "plus");
  cx_exe *exe = cx_compile(f, cx_spec(CX_F32, 2));
  assert_non_null(exe);
  assert_int_equal(cx_exe_inputs(exe), 1);
  assert_int_equal(cx_exe_outputs(exe), 1);
  assert_int_equal(cx_exe_input(exe, 0).shape.d[0], 2);
  float x[2] = { 1, 2 }, y[2];
  cx space = cx_zeros(CX_U8, (int64_t)cx_exe_workspace(exe));
  union {
    const void *from;
    void *to;
  } workspace = { cx_data(space) };
  assert_int_equal(
      cx_exe_run(exe, (const void *[]){ x }, (void *[]){ y }, workspace.to),
      CX_OK);
  assert_true(y[0] == 12 && y[1] == 24);
  assert_non_null(strstr(cx_exe_plan(exe), "peak"));
  cx_exe_free(exe);
  assert_good();
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(equal_functions_are_one),
    cmocka_unit_test(settings_are_static_and_arrays_inputs),
    cmocka_unit_test(captures_nest),
    cmocka_unit_test(calls_are_checked),
    cmocka_unit_test(shapes_without_data),
    cmocka_unit_test(arrays_made_inside_are_constants),
    cmocka_unit_test(values_of_an_outer_trace_are_lifted),
    cmocka_unit_test(recursion_needs_other_types),
    cmocka_unit_test(checks_find_hidden_state),
    cmocka_unit_test(checks_trace_what_is_within_as_often),
    cmocka_unit_test(equal_layers_are_traced_and_transformed_once),
    cmocka_unit_test(scopes_name_the_calls),
    cmocka_unit_test(programs_print_parse_and_run),
    cmocka_unit_test(executables_run_anywhere),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
