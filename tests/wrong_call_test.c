/* wrong_call_test.c - wrong functions, loops, branches, values while tracing,
 * texts. */
#include "support/wrong.h"

static cx ones(int64_t n) {
  return cx_ones(CX_F32, n);
}
static cx ints(int64_t n) {
  return cx_zeros(CX_I32, n);
}

/* -- functions ------------------------------------------------------------ */

CX_DEF(two, x, y) {
  return cx_mul(x, y);
}
CX_DEF(one, x) {
  return cx_mul(x, x);
}
CX_DEF(forever, x) {
  return cx_call(CX_FN(forever), x);
}
CX_DEF(returns_nothing, x) {
  (void)x;
  return (cx){ 0 };
}
static cx too_few(void) {
  return cx_call(CX_FN(two), 1.0);
}
static cx too_many(void) {
  return cx_call(CX_FN(one), 1.0, 2.0);
}
static cx op_arity(void) {
  return cx_call(CX_OP(sin), 1.0, 2.0);
}
static cx unknown_op(void) {
  return cx_call(CX_OP(sinn), 1.0);
}
static cx no_function(void) {
  return cx_call(NULL, 1.0);
}
static cx cycle(void) {
  return cx_call(CX_FN(forever), 1.0);
}
static cx nothing_returned(void) {
  return cx_call(CX_FN(returns_nothing), 1.0);
}
static cx nothing_given(void) {
  return cx_add((cx){ 0 }, 1);
}
static cx none_given(void) {
  return cx_sin(cx_matmul(cx_none(), ones(2)));
}
static cx grad_of_ints(void) {
  return cx_call(cx_grad(CX_FN(one)), 3);
}
static cx grad_vector(void) {
  return cx_call(cx_grad(CX_FN(one)), ones(2));
}
static cx vmap_scalar(void) {
  return cx_call(cx_vmap(CX_FN(one)), 1.0);
}
static cx vmap_sizes(void) {
  return cx_call(cx_vmap(CX_FN(two)), ones(2), ones(3));
}
static cx jacobian_of_ints(void) {
  return cx_call(cx_jacfwd(CX_FN(one)), ints(2));
}
static cx jvp_count(void) {
  return cx_call(cx_jvp(CX_FN(two)), cx_tuple(1.0, 2.0), cx_tuple(1.0));
}
static cx donate_beyond(void) {
  return cx_call(cx_jit(CX_FN(one), .donate = CX_ARGS(3)), ones(2));
}

/* -- more axes than there can be ------------------------------------------ */

CX_DEF(eight_axes, x) {
  return cx_broadcast_to(x, 1, 1, 1, 1, 1, 1, 1, 1);
}
CX_DEF(eight_axes_inside, x) {
  return cx_sum(eight_axes(x));
}
CX_DEF(eight_axes_out, c, x) {
  return cx_tuple(c, eight_axes(x));
}
static cx vmap_rank(void) {
  return cx_call(cx_vmap(CX_FN(eight_axes)), ones(3));
}
static cx vmap_rank_inside(void) {
  return cx_call(cx_vmap(CX_FN(eight_axes_inside)), ones(3));
}
static cx vmap_size(void) {
  return cx_call(
      cx_vmap(CX_FN(one), .in = { CX_NONE }, .axis_size = INT64_C(1) << 62),
      ones(4));
}
static cx jacobian_rank(void) {
  return cx_call(cx_jacrev(CX_FN(one)), cx_ones(CX_F32, 1, 1, 2, 1, 2));
}
static cx hessian_rank(void) {
  return cx_call(cx_hessian(CX_FN(eight_axes_inside)), ones(1));
}
static cx scan_rank(void) {
  return cx_scan(CX_FN(eight_axes_out), 0.0, ones(3));
}
static cx map_rank(void) {
  return cx_map(CX_FN(eight_axes), ones(3));
}

/* -- tracing -------------------------------------------------------------- */

static cx table;
CX_DEF(uses_table, x) {
  return cx_add(x, table);
}
CX_DEF(uses_value, x) {
  return cx_mul(x, cx_item_int(cx_argmax(x, 0)));
}
CX_DEF(uses_data, x) {
  return cx_data(x) ? x : x;
}
CX_DEF(uses_read, x) {
  float f[1];
  cx_read(x, f, 1);
  return x;
}
static cx global_array(void) {
  table = cx_ones(CX_F32, 1000);
  return cx_call(CX_FN(uses_table), 1.0);
}
static cx value_while_tracing(void) {
  return cx_call(CX_FN(uses_value), ones(2));
}
static cx data_while_tracing(void) {
  return cx_call(CX_FN(uses_data), ones(2));
}
static cx read_while_tracing(void) {
  return cx_call(CX_FN(uses_read), ones(2));
}
static cx item_of_many(void) {
  cx_item(ones(2));
  return cx_none();
}

/* -- control flow --------------------------------------------------------- */

CX_DEF(pair, c, x) {
  return cx_tuple(c, x);
}
CX_DEF(grows, c, x) {
  return cx_tuple(cx_concat(0, c, c), x);
}
CX_DEF(retypes, c, x) {
  return cx_tuple(cx_cast(c, CX_F64), x);
}
CX_DEF(no_pair, c, x) {
  return cx_add(c, cx_sum(x));
}
CX_DEF(below, s) {
  return cx_lt(cx_sum(s), 10);
}
CX_DEF(not_bool, s) {
  return cx_sum(s);
}
CX_DEF(vector_below, s) {
  return cx_lt(s, 10);
}
CX_DEF(wider, s) {
  return cx_concat(0, s, s);
}
CX_DEF(doubled, s) {
  return cx_mul(s, 2);
}
CX_DEF(as_ints, s) {
  return cx_cast(s, CX_I32);
}
CX_DEF(summed, s) {
  return cx_sum(s);
}
CX_DEF(loop_sum, x) {
  return cx_sum(cx_while(CX_FN(below), CX_FN(doubled), x));
}

static cx scan_lengths(void) {
  return cx_scan(CX_FN(pair), 0.0, cx_tuple(ones(3), ones(4)));
}
static cx scan_no_length(void) {
  return cx_scan(CX_FN(pair), 0.0, cx_none());
}
static cx scan_other_length(void) {
  return cx_scan(CX_FN(pair), 0.0, ones(3), .length = 4);
}
static cx scan_scalar(void) {
  return cx_scan(CX_FN(pair), 0.0, 1.0);
}
static cx scan_grows(void) {
  return cx_scan(CX_FN(grows), ones(2), ones(3));
}
static cx scan_retypes(void) {
  return cx_scan(CX_FN(retypes), ones(2), ones(3));
}
static cx scan_no_pair(void) {
  return cx_scan(CX_FN(no_pair), 0.0, ones(3));
}
static cx while_not_bool(void) {
  return cx_while(CX_FN(not_bool), CX_FN(doubled), ones(2));
}
static cx while_vector(void) {
  return cx_while(CX_FN(vector_below), CX_FN(doubled), ones(2));
}
static cx while_grows(void) {
  return cx_while(CX_FN(below), CX_FN(wider), ones(2));
}
static cx while_reverse(void) {
  return cx_call(cx_grad(CX_FN(loop_sum)), ones(2));
}
static cx branches_shape(void) {
  return cx_cond(true, CX_FN(doubled), CX_FN(summed), ones(2));
}
static cx branches_dtype(void) {
  return cx_cond(true, CX_FN(doubled), CX_FN(as_ints), ones(2));
}
static cx cond_vector(void) {
  return cx_cond(cx_gt(ones(2), 0), CX_FN(doubled), CX_FN(doubled), ones(2));
}
static cx switch_float(void) {
  return cx_switch(0.5, (CX_FN(doubled), CX_FN(doubled)), ones(2));
}
static cx fori_float(void) {
  return cx_fori(0.5, 3, CX_FN(two), 1.0);
}

/* -- texts ---------------------------------------------------------------- */

static cx parse(const char *text) {
  return cx_parse(text) ? cx_none() : (cx){ 0, 1 };
}
static cx parse_nothing(void) {
  return parse("");
}
static cx parse_prim(void) {
  return parse(
      "program @main(%0: f32[2]) {\n  %1: f32[2] = sinn %0\n  return %1\n}\n");
}
static cx parse_type(void) {
  return parse(
      "program @main(%0: f32[2]) {\n  %1: f32[3] = sin %0\n  return %1\n}\n");
}
static cx parse_name(void) {
  return parse("program @main(%0: f32[2]) {\n  return %3\n}\n");
}

static const wrong functions[] = {
  { too_few, CX_ETREE, "two takes 2 arguments (x, y), got 1" },
  { too_many, CX_ETREE, "one takes 1 argument (x), got 2" },
  { op_arity, CX_ETREE, "sin takes 1 argument, got 2" },
  { unknown_op, CX_ETREE, "sinn" },
  { no_function, CX_ETREE, "call: " },
  { cycle, CX_ETRACE, "forever -> forever" },
  { nothing_returned, CX_ETREE, "returns_nothing returned nothing" },
  { nothing_given, CX_ETREE, "add: needs an array, got nothing" },
  { none_given, CX_ETREE, "matmul: " },
  { grad_of_ints, CX_EDTYPE,
    "must return a scalar of a floating dtype, got i32[]" },
  { grad_vector, CX_ESHAPE, "grad(one): must return a scalar, got f32[2]" },
  { vmap_scalar, CX_EINDEX, "vmap(one): " },
  { vmap_sizes, CX_ESHAPE,
    "argument 0 \"x\" has 2 along axis 0, argument 1 \"y\" has 3" },
  { jacobian_of_ints, CX_EDTYPE, "jacfwd(one): " },
  { jvp_count, CX_ETREE, "jvp(two): " },
  { donate_beyond, CX_ETREE,
    "jit(one) has 1 arguments, .donate names one beyond" },
};

static const wrong ranks[] = {
  { vmap_rank, CX_ESHAPE, "has no room for a batch of 3" },
  { vmap_rank_inside, CX_ESHAPE, "has no room for a batch of 3" },
  { vmap_size, CX_ESHAPE, "vmap(one): " },
  { jacobian_rank, CX_ESHAPE, "the result would have more than 8 axes" },
  { hessian_rank, CX_ESHAPE, "has no room for a batch of 1" },
  { scan_rank, CX_ESHAPE, "has no room for an axis of 3 steps" },
  { map_rank, CX_ESHAPE, "map(eight_axes): " },
};

static const wrong traces[] = {
  { global_array, CX_ETRACE,
    "f32[1000] is used by uses_table but is neither its argument nor in its"
    " environment: pass it" },
  { value_while_tracing, CX_ETRACE, "is not known while tracing uses_value" },
  { data_while_tracing, CX_ETRACE, "is not known while tracing uses_data" },
  { read_while_tracing, CX_ETRACE, "is not known while tracing uses_read" },
  { item_of_many, CX_ESHAPE, "item: one number is needed, this is f32[2]" },
};

static const wrong control[] = {
  { scan_lengths, CX_ESHAPE, "\"xs.1\" is f32[4], of another length than 3" },
  { scan_no_length, CX_ESHAPE, ".length" },
  { scan_other_length, CX_ESHAPE,
    "\"xs\" is f32[3], of another length than 4" },
  { scan_scalar, CX_ESHAPE, "\"xs\" is f32[], which has no axis" },
  { scan_grows, CX_ESHAPE, "carry \"c\" enters as f32[2], leaves as f32[4]" },
  { scan_retypes, CX_EDTYPE, "carry \"c\" enters as f32[2], leaves as f64[2]" },
  { scan_no_pair, CX_ETREE, "scan(no_pair): " },
  { while_not_bool, CX_EDTYPE, "not_bool" },
  { while_vector, CX_EDTYPE, "vector_below" },
  { while_grows, CX_ESHAPE, "enters as f32[2], leaves as f32[4]" },
  { while_reverse, CX_ENORULE, "max_steps" },
  { branches_shape, CX_ETREE,
    "cond: summed returns f32[], doubled returns f32[2]" },
  { branches_dtype, CX_ETREE, "as_ints returns i32[2]" },
  { cond_vector, CX_EDTYPE, "the predicate is bool[2], not bool[]" },
  { switch_float, CX_EDTYPE, "switch: " },
  { fori_float, CX_EDTYPE, "fori" },
};

static const wrong texts[] = {
  { parse_nothing, CX_EIO, "1:1: expected program, found the end" },
  { parse_prim, CX_EIO, "2:16: there is no primitive sinn" },
  { parse_type, CX_ESHAPE, "2:3: the type of %1 is f32[2]" },
  { parse_name, CX_EIO, "2:10: %3 is used, which is not defined" },
};

static void wrong_functions(void **state) {
  (void)state;
  CHECK(functions);
}
static void too_many_axes(void **state) {
  (void)state;
  CHECK(ranks);
}
static void wrong_in_a_trace(void **state) {
  (void)state;
  CHECK(traces);
}
static void wrong_control(void **state) {
  (void)state;
  CHECK(control);
}
static void wrong_texts(void **state) {
  (void)state;
  CHECK(texts);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(wrong_functions),  cmocka_unit_test(too_many_axes),
    cmocka_unit_test(wrong_in_a_trace), cmocka_unit_test(wrong_control),
    cmocka_unit_test(wrong_texts),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
