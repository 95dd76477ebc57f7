/* simplify_rules_test.c - each rule of the simplifier: it applies, and keeps
 * every bit of random numbers, infinities, NaNs, zeros of both signs and
 * subnormals, in each dtype that it is for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/views.h"
#include "transforms/simplify.h"

/* T stands for each of the dtypes: of floats, signed, unsigned integers, bool.
 * Everything is f(%0: T[2,3], %1: T[2,3]). */
typedef struct rule_case {
  const char *prim, *name, *dtypes, *text;
} rule_case;

static const rule_case cases[] = {
#define CASE(prim, name, dtypes, text) { #prim, name, dtypes, text }
#define MOVE "fiub"
#define FILLED "%2: T[2,3] = broadcast_in_dim[shape=(2,3), map=()] 1:T "
  CASE(add, "x + (-0.0) = x; of integers x + 0 = x", "fiu",
       "%2: T[2,3] = add %0, -0:T return %2"),
  CASE(add, "x + (-y) = x - y", "fi",
       "%2: T[2,3] = neg %1 %3: T[2,3] = add %0, %2 return %3"),
  CASE(sub, "x - 0.0 = x", "fiu", "%2: T[2,3] = sub %0, 0:T return %2"),
  CASE(sub, "x - (-y) = x + y", "fi",
       "%2: T[2,3] = neg %1 %3: T[2,3] = sub %0, %2 return %3"),
  CASE(mul, "x * 1 = x", "fiu", "%2: T[2,3] = mul 1:T, %0 return %2"),
  CASE(mul, "x * -1 = -x", "fi", "%2: T[2,3] = mul %0, -1:T return %2"),
  CASE(mul, "(-x) * (-y) = x * y", "f",
       "%2: T[2,3] = neg %0 %3: T[2,3] = neg %1 %4: T[2,3] = mul %2, %3 "
       "return %4"),
  CASE(div, "x / 1 = x", "fiu", "%2: T[2,3] = div %0, 1:T return %2"),
  CASE(div, "x / -1 = -x", "f", "%2: T[2,3] = div %0, -1:T return %2"),
  CASE(div, "(-x) / (-y) = x / y", "f",
       "%2: T[2,3] = neg %0 %3: T[2,3] = neg %1 %4: T[2,3] = div %2, %3 "
       "return %4"),
  CASE(neg, "-(-x) = x", "fi",
       "%2: T[2,3] = neg %0 %3: T[2,3] = neg %2 return %3"),
  CASE(not, "not not x = x", "iub",
       "%2: T[2,3] = not %0 %3: T[2,3] = not %2 return %3"),
  CASE(abs, "abs of abs", "fi",
       "%2: T[2,3] = abs %0 %3: T[2,3] = abs %2 return %3"),
  CASE(abs, "abs(-x) = abs x", "fi",
       "%2: T[2,3] = neg %0 %3: T[2,3] = abs %2 return %3"),
  CASE(floor, "floor of floor", "f",
       "%2: T[2,3] = floor %0 %3: T[2,3] = floor %2 return %3"),
  CASE(ceil, "ceil of ceil", "f",
       "%2: T[2,3] = ceil %0 %3: T[2,3] = ceil %2 return %3"),
  CASE(sign, "sign of sign", "fi",
       "%2: T[2,3] = sign %0 %3: T[2,3] = sign %2 return %3"),
  CASE(and, "x and x = x", "iub", "%2: T[2,3] = and %0, %0 return %2"),
  CASE(or, "x or x = x", "iub", "%2: T[2,3] = or %0, %0 return %2"),
  CASE(max, "max(x, x) = x", "fiu", "%2: T[2,3] = max %0, %0 return %2"),
  CASE(min, "min(x, x) = x", "fiu", "%2: T[2,3] = min %0, %0 return %2"),
  CASE(select, "select of equal cases", MOVE,
       "%2: bool[2,3] = eq %0, %1 %3: T[2,3] = select %2, %0, %0 return %3"),
  CASE(select, "select by a constant", MOVE,
       "%2: T[2,3] = select true:bool, %0, %1 %3: T[2,3] = select false:bool, %0, %1 "
       "return %2, %3"),
  CASE(convert, "convert to the same dtype", MOVE,
       "%2: T[2,3] = convert[type=T] %0 return %2"),
  CASE(convert, "convert of a convert that loses nothing", "fiu",
       "%2: W[2,3] = convert[type=W] %0 %3: T[2,3] = convert[type=T] %2 "
       "return %3"),
  CASE(bitcast, "bitcast to the same dtype", "fiu",
       "%2: T[2,3] = bitcast[type=T] %0 return %2"),
  CASE(squeeze, "squeeze of nothing", MOVE,
       "%2: T[2,3] = squeeze[axes=()] %0 return %2"),
  CASE(squeeze, "squeeze back", MOVE,
       "%2: T[2,1,3] = reshape[shape=(2,1,3)] %0 "
       "%3: T[2,3] = squeeze[axes=(1)] %2 return %3"),
  CASE(squeeze, "squeeze of a filled array", MOVE,
       "%2: T[2,1] = broadcast_in_dim[shape=(2,1), map=()] 1:T "
       "%3: T[2] = squeeze[axes=(1)] %2 return %3"),
  CASE(reshape, "reshape to the same shape", MOVE,
       "%2: T[2,3] = reshape[shape=(2,3)] %0 return %2"),
  CASE(reshape, "reshape back", MOVE,
       "%2: T[1,2,1,3] = reshape[shape=(1,2,1,3)] %0 "
       "%3: T[2,3] = squeeze[axes=(0,2)] %2 "
       "%4: T[6] = reshape[shape=(6)] %1 %5: T[2,3] = reshape[shape=(2,3)] %4 "
       "return %3, %5"),
  CASE(reshape, "reshape of reshape", MOVE,
       "%2: T[6] = reshape[shape=(6)] %0 %3: T[3,2] = reshape[shape=(3,2)] %2 "
       "return %3"),
  CASE(reshape, "reshape of a filled array", MOVE,
       FILLED "%3: T[6] = reshape[shape=(6)] %2 return %3"),
  CASE(transpose, "transpose of nothing", MOVE,
       "%2: T[2,3] = transpose[permutation=(0,1)] %0 return %2"),
  CASE(transpose, "transpose of transpose", MOVE,
       "%2: T[3,2] = transpose[permutation=(1,0)] %0 "
       "%3: T[2,3] = transpose[permutation=(1,0)] %2 "
       "%4: T[2,1,3] = reshape[shape=(2,1,3)] %1 "
       "%5: T[1,3,2] = transpose[permutation=(1,2,0)] %4 "
       "%6: T[3,2,1] = transpose[permutation=(1,2,0)] %5 return %3, %6"),
  CASE(transpose, "transpose of a filled array", MOVE,
       FILLED "%3: T[3,2] = transpose[permutation=(1,0)] %2 return %3"),
  CASE(broadcast_in_dim, "broadcast to the same shape", MOVE,
       "%2: T[2,3] = broadcast_in_dim[shape=(2,3), map=(0,1)] %0 return %2"),
  CASE(broadcast_in_dim, "broadcast of broadcast", MOVE,
       "%2: T[4,2,3] = broadcast_in_dim[shape=(4,2,3), map=(1,2)] %0 "
       "%3: T[4,2,5,3] = broadcast_in_dim[shape=(4,2,5,3), map=(0,1,3)] %2 "
       "return %3"),
  CASE(slice, "slice of the whole", MOVE,
       "%2: T[2,3] = slice[start=(0,0), limit=(2,3), strides=(1,1)] %0 "
       "return %2"),
  CASE(slice, "slice of a filled array", MOVE,
       FILLED "%3: T[1,2] = slice[start=(0,1), limit=(1,3), strides=(1,1)] %2 "
              "return %3"),
  CASE(slice, "slice of slice", MOVE,
       "%2: T[2,2] = slice[start=(0,0), limit=(2,3), strides=(1,2)] %0 "
       "%3: T[1,1] = slice[start=(1,1), limit=(2,2), strides=(1,1)] %2 "
       "return %3"),
  CASE(slice, "slice of a part of a concatenation", MOVE,
       "%2: T[2,6] = concatenate[axis=1] %0, %1 "
       "%3: T[2,2] = slice[start=(0,3), limit=(2,6), strides=(1,2)] %2 "
       "%4: T[2,3] = slice[start=(0,0), limit=(2,3), strides=(1,1)] %2 "
       "return %3, %4"),
  CASE(concatenate, "concatenation of one", MOVE,
       "%2: T[2,3] = concatenate[axis=0] %0 return %2"),
  CASE(pad, "pad by nothing", MOVE,
       "%2: T[2,3] = pad[low=(0,0), high=(0,0), interior=(0,0)] %0, 1:T "
       "return %2"),
  CASE(rev, "rev of no axes", MOVE, "%2: T[2,3] = rev[axes=()] %0 return %2"),
  CASE(rev, "rev of rev", MOVE,
       "%2: T[2,3] = rev[axes=(1)] %0 %3: T[2,3] = rev[axes=(1)] %2 return %3"),
  CASE(rev, "rev of a filled array", MOVE,
       FILLED "%3: T[2,3] = rev[axes=(0)] %2 return %3"),
  CASE(reduce_sum, "sum over nothing", "fiu",
       "%2: T[2,3] = reduce_sum[axes=()] %0 return %2"),
  CASE(reduce_prod, "product over nothing", "fiu",
       "%2: T[2,3] = reduce_prod[axes=()] %0 return %2"),
  CASE(reduce_max, "max over nothing", "fiu",
       "%2: T[2,3] = reduce_max[axes=()] %0 return %2"),
  CASE(reduce_max, "max over broadcast axes", "fiu",
       "%2: T[2,4,3] = broadcast_in_dim[shape=(2,4,3), map=(0,2)] %0 "
       "%3: T[2,3] = reduce_max[axes=(1)] %2 return %3"),
  CASE(reduce_min, "min over nothing", "fiu",
       "%2: T[2,3] = reduce_min[axes=()] %0 return %2"),
  CASE(reduce_min, "min over broadcast axes", "fiu",
       "%2: T[2,4,3] = broadcast_in_dim[shape=(2,4,3), map=(0,2)] %0 "
       "%3: T[2,3] = reduce_min[axes=(1)] %2 return %3"),
  CASE(dot_general, "product of a transposed operand", "fiu",
       "%2: T[3,2] = transpose[permutation=(1,0)] %0 "
       "%3: T[3,2] = transpose[permutation=(1,0)] %1 "
       "%4: T[2,2] = dot_general[lhs_contract=(0), rhs_contract=(0), "
       "lhs_batch=(), rhs_batch=(), type=T] %2, %3 return %4"),
#undef CASE
};

/* -- programs -------------------------------------------------------------- */

typedef struct typed {
  char kind;
  const char *dtype, *wider;
} typed;
static const typed dtypes[] = {
  { 'f', "f16", "f32" }, { 'f', "bf16", "f64" }, { 'f', "f32", "f64" },
  { 'f', "f64", NULL },  { 'i', "i8", "i16" },   { 'i', "i16", "i64" },
  { 'i', "i32", "i64" }, { 'i', "i64", NULL },   { 'u', "u8", "u32" },
  { 'u', "u16", "u64" }, { 'u', "u32", "u64" },  { 'u', "u64", NULL },
  { 'b', "bool", NULL },
};

/* The case's text for a dtype; NULL if it needs a wider one and there is none.
 * A number's text is that of its kind. */
static char *text_for(const rule_case *c, const typed *d) {
  static char text[4000];
  size_t n = (size_t)snprintf(
      text, sizeof text, "program @main(%%0: %s[2,3], %%1: %s[2,3]) { ",
      d->dtype, d->dtype);
  for (const char *at = c->text; *at; at++) {
    const char *piece = NULL;
    if (*at == 'T') piece = d->dtype;
    if (*at == 'W') piece = d->wider;
    if (*at == 'W' && !piece) return NULL;
    if (d->kind == 'f' && at[0] == ':' && at[1] == 'T') piece = ".0:";
    if (d->kind == 'b' && strncmp(at, "1:T", 3) == 0) {
      piece = "true:bool";
      at += 2;
    }
    if (d->kind != 'f' && strncmp(at, "-0:T", 4) == 0) piece = "";
    n += piece ? (size_t)snprintf(text + n, sizeof text - n, "%s", piece)
               : (size_t)snprintf(text + n, sizeof text - n, "%c", *at);
  }
  snprintf(text + n, sizeof text - n, "}");
  return text;
}

/* -- inputs ---------------------------------------------------------------- */

static void put_specials(cxi_view *v, uint64_t *seed) {
  static const double specials[] = { INFINITY, -INFINITY, NAN,   0.0,    -0.0,
                                     0x1p-24,  -0x1p-133, 0x1p-149, 0x1p-1070,
                                     1,        -1,        65504,    -1e30 };
  enum { N = sizeof specials / sizeof *specials };
  const size_t bytes = cxi_dtype_bytes(v->type.type);
  for (int64_t i = 0; is_float(v) && i < count_of(v); i++)
    if (uniform(seed) < 0.6)
      cxi_element_set(v->type.type, (char *)v->data + (size_t)i * bytes,
                      specials[(int)(uniform(seed) * N)]);
}

static void put_any_bits(cxi_view *v, uint64_t *seed) {
  const size_t n = (size_t)cxi_aval_bytes(&v->type);
  for (size_t i = 0; !is_float(v) && v->type.type != CX_BOOL && i < n; i++)
    ((uint8_t *)v->data)[i] = (uint8_t)(uniform(seed) * 256);
}

static bool same_elements(const cxi_view *a, const cxi_view *b) {
  const size_t bytes = cxi_dtype_bytes(a->type.type);
  if (!cxi_aval_equal(&a->type, &b->type)) return false;
  for (int64_t i = 0; i < count_of(a); i++)
    if (memcmp((char *)a->data + (size_t)i * bytes,
               (char *)b->data + (size_t)i * bytes, bytes) != 0 &&
        !(is_float(a) && isnan(element(a, i)) && isnan(element(b, i))))
      return false;
  return true;
}

/* -- rules ----------------------------------------------------------------- */

static void check_bits(const cxi_program *p, const cxi_program *q,
                       const char *name) {
  uint64_t seed = 9;
  for (int round = 0; round < 40; round++) {
    cxi_view *in = inputs_of(p, (uint64_t)round);
    for (uint32_t i = 0; i < p->n_in; i++) {
      put_specials(&in[i], &seed);
      put_any_bits(&in[i], &seed);
    }
    cxi_view *want = run(p, in), *got = run(q, in);
    for (uint32_t i = 0; i < p->n_out; i++)
      if (!same_elements(&want[i], &got[i])) {
        print_program(p);
        print_program(q);
        fail_msg("%s: other bits", name);
      }
    free_views(in, p->n_in);
    free_views(want, p->n_out);
    free_views(got, p->n_out);
  }
}

static int check_case(const rule_case *c, const typed *d) {
  const char *text = text_for(c, d);
  if (!strchr(c->dtypes, d->kind) || !text) return 0;
  cxi_error error = { 0 };
  cxi_hold_enter();
  const cxi_program *p = parse(text), *q = cxi_simplify(p, &error);
  if (!q) fail_msg("%s", error.text);
  if (memcmp(&p->hash, &q->hash, sizeof p->hash) == 0)
    fail_msg("%s of %s did nothing", c->name, d->dtype);
  assert_true(q->n_equations <= p->n_equations);
  check_bits(p, q, c->name);
  cxi_program_release(p);
  cxi_hold_leave();
  return 1;
}

static void each_rule(void **state) {
  (void)state;
  for (uint32_t r = 0; r < cxi_n_simplify_rules; r++) {
    const cxi_simplify_rule *rule = &cxi_simplify_rules[r];
    int checked = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++)
        if (strcmp(cases[i].name, rule->name) == 0 &&
            strcmp(cases[i].prim, cxi_prim_name(rule->prim)) == 0)
          checked += check_case(&cases[i], &dtypes[k]);
    if (!checked) fail_msg("no test of the rule \"%s\"", rule->name);
  }
}

/* What looks alike and has other bits stays. */
static void what_is_no_rule(void **state) {
  (void)state;
  static const char *const texts[] = {
    "%2: f32[2,3] = add %0, 0.0:f32 return %2",
    "%2: f32[2,3] = mul %0, 0.0:f32 return %2",
    "%2: f32[2,3] = sub %0, %0 return %2",
    "%2: f32[2,3] = sub %0, -0.0:f32 return %2",
    "%2: f32[2,3] = div %0, %0 return %2",
    "%2: f32[2,3] = sub %0, %1 %3: f32[2,3] = neg %2 return %3",
    "%2: f16[2,3] = convert[type=f16] %0 "
    "%3: f32[2,3] = convert[type=f32] %2 return %3",
    "%2: i32[2,3] = convert[type=i32] %0 "
    "%3: f32[2,3] = convert[type=f32] %2 return %3",
    "%2: f32[2,4,3] = broadcast_in_dim[shape=(2,4,3), map=(0,2)] %0 "
    "%3: f32[2,3] = reduce_sum[axes=(1)] %2 return %3",
    "%2: f32[2,3], %3: f32[2,3] = optimization_barrier %0, %1 "
    "%4: f32[2,3] = exp %2 %5: f32[2,3] = exp %0 return %4, %5, %3",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char text[800];
    snprintf(text, sizeof text,
             "program @main(%%0: f32[2,3], %%1: f32[2,3]) { %s }", texts[i]);
    cxi_error error = { 0 };
    cxi_hold_enter();
    const cxi_program *p = parse(text), *q = cxi_simplify(p, &error);
    assert_non_null(q);
    if (memcmp(&p->hash, &q->hash, sizeof p->hash) != 0) {
      print_program(q);
      fail_msg("changed: %s", texts[i]);
    }
    cxi_program_release(p);
    cxi_hold_leave();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_rule),
    cmocka_unit_test(what_is_no_rule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
