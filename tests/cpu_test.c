/* cpu_test.c - the CPU executor against the reference, bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "support/execute.h"

static void check(const char *text, double lo, double hi, uint64_t seed,
                  double tolerance) {
  execution x;
  const char *failure = execution_open(&x, text, lo, hi, seed);
  if (failure) fail_msg("%s", failure);
  for (int threads = 1; threads <= 2; threads++) {
    failure = execution_compare(&x, threads, tolerance);
    if (failure) fail_msg("%d threads: %s", threads, failure);
  }
  execution_close(&x);
}

/* Every example of every row. */
static void test_rows(void **state) {
  (void)state;
  int n = 0;
  for (int prim = CXI_PRIM_NONE + 1; prim < CXI_N_PRIMS; prim++) {
    const cxi_row *row = cxi_row_of((cxi_prim)prim);
    if (!row || !row->examples || row->form == CXI_FORM_NEVER) continue;
    for (const char *const *e = row->examples; *e; e++, n++)
      check(*e, row->lo, row->hi, (uint64_t)n, 0);
  }
  assert_true(n > 100);
}

/* The program's one equation at once, if there is a short way for it. */
static bool check_direct(const char *text, double lo, double hi) {
  execution x;
  const char *failure = execution_open(&x, text, lo, hi, 1);
  if (failure) fail_msg("%s", failure);
  const cxi_program *p = x.program;
  const cxi_equation *e = &p->equations[0];
  cxi_view in[8], out = x.want[0];
  bool done = p->n_equations == 1 && e->n_in <= 8 && p->n_literals == 0;
  for (uint32_t k = 0; done && k < e->n_in; k++)
    in[k] = x.in[cxi_operands_of(p, e)[k]];
  const size_t bytes = (size_t)cxi_aval_bytes(&out.type);
  out.data = cxi_buffer_take(bytes);
  done = done && cxi_cpu_evaluate(cxi_row_of((cxi_prim)e->prim), e->params,
                                  e->n_in, in, e->n_out, &out, 2);
  if (done && bytes && memcmp(out.data, x.want[0].data, bytes) != 0)
    fail_msg("at once it differs: %s", text);
  cxi_buffer_free(out.data);
  execution_close(&x);
  return done;
}

static void test_direct(void **state) {
  (void)state;
  int n = 0;
  for (int prim = CXI_PRIM_NONE + 1; prim < CXI_N_PRIMS; prim++) {
    const cxi_row *row = cxi_row_of((cxi_prim)prim);
    if (!row || row->form != CXI_FORM_ELEMENTWISE) continue;
    for (const char *const *e = row->examples; e && *e; e++)
      n += check_direct(*e, row->lo, row->hi);
  }
  assert_true(n > 60);
  /* several blocks and tasks, a scalar, f16 and bf16 */
  assert_true(check_direct("program @f(%0: f32[150001], %1: f32[]) {"
                           " %2: f32[150001] = mul %0, %1 return %2 }",
                           0, 0));
  assert_true(check_direct("program @f(%0: bf16[], %1: bf16[70003]) {"
                           " %2: bf16[70003] = sub %0, %1 return %2 }",
                           0, 0));
  assert_true(check_direct("program @f(%0: f16[2049], %1: f16[2049]) {"
                           " %2: bool[2049] = lt %0, %1 return %2 }",
                           0, 0));
}

static const char *const programs[] = {
  /* softmax: a row kept in L1 */
  "program @f(%0: f32[7,50]) { %1: f32[7] = reduce_max[axes=(1)] %0"
  " %2: f32[7,50] = broadcast_in_dim[shape=(7,50), map=(0)] %1"
  " %3: f32[7,50] = sub %0, %2 %4: f32[7,50] = exp %3"
  " %5: f32[7] = reduce_sum[axes=(1)] %4"
  " %6: f32[7,50] = broadcast_in_dim[shape=(7,50), map=(0)] %5"
  " %7: f32[7,50] = div %4, %6 return %7 }",
  /* layer norm with a row and a column repeated, in bf16 */
  "program @f(%0: bf16[9,130], %1: bf16[130], %2: bf16[130]) {"
  " %3: f32[9,130] = convert[type=f32] %0"
  " %4: f32[9] = reduce_sum[axes=(1)] %3 %5: f32[9] = div %4, 130.0:f32"
  " %6: f32[9,130] = broadcast_in_dim[shape=(9,130), map=(0)] %5"
  " %7: f32[9,130] = sub %3, %6 %8: f32[9,130] = square %7"
  " %9: f32[9] = reduce_sum[axes=(1)] %8 %10: f32[9] = div %9, 130.0:f32"
  " %11: f32[9] = add %10, 1e-05:f32 %12: f32[9] = rsqrt %11"
  " %13: f32[9,130] = broadcast_in_dim[shape=(9,130), map=(0)] %12"
  " %14: f32[9,130] = mul %7, %13 %15: bf16[9,130] = convert[type=bf16] %14"
  " %16: bf16[9,130] = broadcast_in_dim[shape=(9,130), map=(1)] %1"
  " %17: bf16[9,130] = mul %15, %16"
  " %18: bf16[9,130] = broadcast_in_dim[shape=(9,130), map=(1)] %2"
  " %19: bf16[9,130] = add %17, %18 return %19, %12 }",
  /* long rows, cut into parts; a row repeated down the columns */
  "program @f(%0: f32[3,5000], %1: f32[5000], %2: f32[3]) {"
  " %3: f32[3,5000] = broadcast_in_dim[shape=(3,5000), map=(1)] %1"
  " %4: f32[3,5000] = broadcast_in_dim[shape=(3,5000), map=(0)] %2"
  " %5: f32[3,5000] = add %0, %3 %6: f32[3,5000] = mul %5, %4"
  " %7: f32[3,5000] = tanh %6 return %7, %5 }",
  /* transposed, reversed and sliced operands */
  "program @f(%0: f32[40,30], %1: f32[30,40]) {"
  " %2: f32[30,40] = transpose[permutation=(1,0)] %0"
  " %3: f32[30,40] = rev[axes=(1)] %1 %4: f32[30,40] = sub %2, %3"
  " %5: f32[10,20] = slice[start=(3,1), limit=(23,40), strides=(2,2)] %4"
  " %6: f32[200] = reshape[shape=(200)] %5 %7: f32[200] = neg %6"
  " return %7, %4, %3 }",
  /* outputs that are inputs, literals, views, or equal */
  "program @f(%0: f32[4,3]) { %1: f32[4,3] = exp %0"
  " %2: f32[3,4] = transpose[permutation=(1,0)] %1"
  " %3: f32[2,3] = slice[start=(1,0), limit=(3,3), strides=(1,1)] %1"
  " %4: f32[5] = broadcast_in_dim[shape=(5), map=()] 2.5:f32"
  " return %0, %0, %1, %1, %2, %3, %4, 7:i32 }",
  /* several results of one pass, chains that end in outputs */
  "program @f(%0: f32[3000], %1: f32[3000]) { %2: f32[3000] = mul %0, %1"
  " %3: f32[3000] = add %2, %0 %4: bool[3000] = gt %3, %1"
  " %5: f32[3000] = select %4, %2, %3 %6: i32[3000] = convert[type=i32] %5"
  " %7: f32[] = reduce_sum[axes=(0)] %5 return %3, %5, %6, %7, %4 }",
  /* f16 rounds after each equation */
  "program @f(%0: f16[777], %1: f16[777]) { %2: f16[777] = mul %0, %1"
  " %3: f16[777] = add %2, %1 %4: f16[777] = exp %3 %5: f16[777] = sub %4, %0"
  " %6: i16[777] = bitcast[type=i16] %5 return %5, %6 }",
  /* a loop with carries in place, swapped and handed through; xs and ys */
  "program @body(%0: f32[4], %1: f32[4], %2: f32[4], %3: f32[4], %4: f32[4]) {"
  " %5: f32[4] = mul %1, %0 %6: f32[4] = add %5, %4"
  " return %6, %3, %2, %1, %6, %4 }"
  "program @main(%0: f32[4], %1: f32[4], %2: f32[4], %3: f32[4], %4: f32[5,4])"
  " { %5: f32[4], %6: f32[4], %7: f32[4], %8: f32[5,4], %9: f32[5,4],"
  " %10: f32[5,4] = scan[body=@body, length=5, reverse=true, unroll=1,"
  " n_consts=1, n_carry=3] %0, %1, %2, %3, %4"
  " return %5, %6, %7, %8, %9, %10 }",
  /* while: the carry is counted up and an array grows */
  "program @cond(%0: i32[], %1: f32[6]) { %2: bool[] = lt %0, 7:i32 return %2 }"
  "program @body(%0: f32[6], %1: i32[], %2: f32[6]) { %3: i32[] = add %1, 1:i32"
  " %4: f32[6] = mul %2, %0 return %3, %4 }"
  "program @main(%0: i32[], %1: f32[6], %2: f32[6]) { %3: i32[], %4: f32[6] ="
  " while[cond=@cond, body=@body, n_cond_consts=0, n_body_consts=1]"
  " %1, %0, %2 return %3, %4 }",
  NULL
};

static void test_programs(void **state) {
  (void)state;
  for (int i = 0; programs[i]; i++) check(programs[i], 0, 0, (uint64_t)i, 0);
}

static void check_product(const char *in, const char *out, int64_t batch,
                          int64_t m, int64_t n, int64_t k, bool a_turned,
                          bool b_turned, bool add) {
  char text[1024], a[64], b[64], c[64], addend[80] = "";
  const long long B = batch, M = m, N = n, K = k;
  snprintf(a, sizeof a, "%s[%lld,%lld,%lld]", in, B, a_turned ? K : M,
           a_turned ? M : K);
  snprintf(b, sizeof b, "%s[%lld,%lld,%lld]", in, B, b_turned ? N : K,
           b_turned ? K : N);
  snprintf(c, sizeof c, "%s[%lld,%lld,%lld]", out, B, M, N);
  if (add) snprintf(addend, sizeof addend, ", %%2: %s", c);
  snprintf(text, sizeof text,
           "program @f(%%0: %s, %%1: %s%s) { %%%d: %s = dot_general["
           "lhs_contract=(%d), rhs_contract=(%d), lhs_batch=(0), "
           "rhs_batch=(0), type=%s] %%0, %%1%s return %%%d }",
           a, b, addend, add ? 3 : 2, c, a_turned ? 1 : 2, b_turned ? 2 : 1,
           out, add ? ", %2" : "", add ? 3 : 2);
  check(text, 0, 0, (uint64_t)(m + n + k), 0);
}

/* Products of all layouts, sizes around those of tiles and blocks. */
static void test_products(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {
    { 1, 1, 1 },       { 1, 64, 70 },   { 70, 1, 33 },   { 8, 8, 8 },
    { 5, 17, 3 },      { 32, 32, 32 },  { 17, 49, 100 }, { 130, 97, 20 },
    { 20, 500, 1100 }, { 300, 48, 64 }, { 9, 47, 257 },  { 300, 3, 3 },
    { 2, 1000, 40 },   { 50, 1000, 2 }, { 8, 8, 513 },   { 33, 16, 256 }
  };
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int form = 0; form < 8; form++)
      for (int type = 0; type < 9; type++) {
        static const char *const in[] = { "f32", "f64", "bf16", "f16", "i32",
                                          "u32", "i8",  "i8",   "u16" };
        static const char *const out[] = { "f32", "f64", "bf16", "f32", "i32",
                                           "u32", "i8",  "i32",  "u16" };
        if (type > 0 && (i + (size_t)type) % 3 != 1) continue;
        check_product(in[type], out[type], 1 + (int64_t)(i % 3), sizes[i][0],
                      sizes[i][1], sizes[i][2], form & 1, form & 2, form & 4);
      }
}

/* A sum for each item of a batch, and matrices by vectors: several sums in a
 * vector, whose last is not full, along k in parts, the last not whole. */
static void test_dots(void **state) {
  (void)state;
  static const char *const types[] = { "f32", "f64", "bf16" };
  static const int64_t sizes[][4] = {
    { 5, 1, 1, 3 },    { 16, 1, 1, 16 },  { 37, 1, 1, 50 },  { 300, 1, 1, 700 },
    { 3, 1, 21, 37 },  { 2, 40, 1, 19 },  { 1, 1, 1, 511 },  { 1, 1, 1, 512 },
    { 1, 1, 1, 4096 }, { 2, 1, 1, 4097 }, { 1, 3, 1, 8191 }, { 1, 1, 2, 4352 }
  };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int form = 0; form < 8; form++)
      for (int type = 0; type < 3; type++)
        check_product(types[type], types[type], sizes[i][0], sizes[i][1],
                      sizes[i][2], sizes[i][3], form & 1, form & 2, form & 4);
  /* the batch side by side */
  check("program @f(%0: f32[50,37], %1: f32[50,37], %2: f32[50,37]) {"
        " %3: f32[37] = dot_general[lhs_contract=(0), rhs_contract=(0),"
        " lhs_batch=(1), rhs_batch=(1), type=f32] %0, %1"
        " %4: f32[37,50] = transpose[permutation=(1,0)] %2"
        " %5: f32[37] = dot_general[lhs_contract=(1), rhs_contract=(0),"
        " lhs_batch=(0), rhs_batch=(1), type=f32] %4, %1 return %3, %5 }",
        0, 0, 1, 0);
}

static void test_reductions(void **state) {
  (void)state;
  static const char *const prims[] = { "sum", "max", "min" };
  static const char *const types[] = { "f32", "f64", "i32", "u8", "bf16" };
  static const char *const axes[] = { "0",   "1",   "2",    "0,1",
                                      "1,2", "0,2", "0,1,2" };
  static const char *const shapes[] = { "100,131", "3,131", "3,100", "131",
                                        "3",       "100",   "" };
  for (int prim = 0; prim < 3; prim++)
    for (int type = 0; type < 5; type++)
      for (int i = 0; i < 7; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "program @f(%%0: %s[3,100,131]) { %%1: %s[%s] = "
                 "reduce_%s[axes=(%s)] %%0 return %%1 }",
                 types[type], types[type], shapes[i], prims[prim], axes[i]);
        check(text, 0, 0, (uint64_t)i, 0);
      }
}

/* -- random programs ------------------------------------------------------- */

enum { N_SHAPES = 6, MAX_VALUES = 60 };
static const char *const dtypes[] = { "f32", "f64", "bf16", "f16", "i32" };

typedef struct generator {
  uint64_t state;
  char text[16384];
  size_t used;
  int n, type[MAX_VALUES], shape[MAX_VALUES];
  bool read[MAX_VALUES];
  char shapes[N_SHAPES][40]; /* (r,n), (r), (n), (), (n,r), (r,n,r) */
} generator;

static int pick(generator *g, int n) {
  g->state = g->state * 6364136223846793005u + 1442695040888963407u;
  return (int)((g->state >> 33) % (uint64_t)n);
}

static void say(generator *g, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g->used += (size_t)vsnprintf(g->text + g->used, sizeof g->text - g->used,
                               format, arguments);
  va_end(arguments);
}

/* Starts the equation of a new value; the primitive follows. */
static void define(generator *g, int type, int shape) {
  g->type[g->n] = type;
  g->shape[g->n] = shape;
  g->read[g->n] = false;
  say(g, " %%%d: %s[%s] = ", g->n++, dtypes[type], g->shapes[shape]);
}

/* A value of the type and shape, or -1. */
static int find(generator *g, int type, int shape) {
  const int start = pick(g, g->n);
  for (int i = 0; i < g->n; i++) {
    const int v = (start + i) % g->n;
    if (g->type[v] != type || g->shape[v] != shape) continue;
    g->read[v] = true;
    return v;
  }
  return -1;
}

static void add_unary(generator *g, int x) {
  static const char *const floats[] = { "tanh", "sin",      "neg",   "abs",
                                        "erf",  "logistic", "floor", "sign" };
  static const char *const integers[] = { "neg", "abs", "sign", "square" };
  define(g, g->type[x], g->shape[x]);
  say(g, "%s %%%d", g->type[x] == 4 ? integers[pick(g, 4)] : floats[pick(g, 8)],
      x);
}

static void add_binary(generator *g, int x) {
  static const char *const names[] = { "add", "sub", "max", "min", "mul" };
  const int y = find(g, g->type[x], g->shape[x]);
  define(g, g->type[x], g->shape[x]);
  say(g, "%s %%%d, %%%d", names[pick(g, 5)], x, y);
}

static void add_conversion(generator *g, int x) {
  const int to = (g->type[x] + 1 + pick(g, 4)) % 5;
  define(g, to, g->shape[x]);
  say(g, "convert[type=%s] %%%d", dtypes[to], x);
}

static void add_reduction(generator *g, int x) {
  static const char *const names[] = { "sum", "max", "min" };
  if (g->shape[x] != 0) return;
  const int axis = pick(g, 2);
  define(g, g->type[x], axis ? 1 : 2);
  say(g, "reduce_%s[axes=(%d)] %%%d", names[pick(g, 3)], axis, x);
}

static void add_broadcast(generator *g, int x) {
  const int shape = g->shape[x];
  if (shape == 1 || shape == 2) {
    define(g, g->type[x], 0);
    say(g, "broadcast_in_dim[shape=(%s), map=(%d)] %%%d", g->shapes[0],
        shape - 1, x);
  } else if (shape == 0) {
    define(g, g->type[x], 5);
    say(g, "broadcast_in_dim[shape=(%s), map=(0,1)] %%%d", g->shapes[5], x);
  } else if (shape == 3) {
    define(g, g->type[x], 1);
    say(g, "broadcast_in_dim[shape=(%s), map=()] %%%d", g->shapes[1], x);
  }
}

static void add_transpose(generator *g, int x) {
  if (g->shape[x] != 0 && g->shape[x] != 4) return;
  define(g, g->type[x], 4 - g->shape[x]);
  say(g, "transpose[permutation=(1,0)] %%%d", x);
}

static void add_product(generator *g, int x) {
  const int y = find(g, g->type[x], 2);
  if (g->shape[x] != 0 || g->type[x] == 4 || y < 0) return;
  define(g, g->type[x], 1);
  say(g,
      "dot_general[lhs_contract=(1), rhs_contract=(0), lhs_batch=(),"
      " rhs_batch=(), type=%s] %%%d, %%%d",
      dtypes[g->type[x]], x, y);
}

static void add_barrier(generator *g, int x) {
  const int y = pick(g, g->n);
  define(g, g->type[x], g->shape[x]);
  g->used -= 2;
  say(g, ",");
  define(g, g->type[y], g->shape[y]);
  say(g, "optimization_barrier %%%d, %%%d", x, y);
}

static void generate(generator *g, uint64_t seed) {
  static void (*const add[])(generator *, int) = {
    add_unary,     add_binary,    add_binary,  add_conversion, add_reduction,
    add_broadcast, add_transpose, add_product, add_barrier,    add_broadcast
  };
  g->state = seed * 2654435761u + 1;
  g->used = 0;
  g->n = 0;
  const int r = 2 + pick(g, 20), n = seed % 4 ? 2 + pick(g, 90) : 1500;
  snprintf(g->shapes[0], 40, "%d,%d", r, n);
  snprintf(g->shapes[1], 40, "%d", r);
  snprintf(g->shapes[2], 40, "%d", n);
  g->shapes[3][0] = 0;
  snprintf(g->shapes[4], 40, "%d,%d", n, r);
  snprintf(g->shapes[5], 40, "%d,%d,%d", r, n, r);
  say(g, "program @f(");
  for (int i = 0; i < 5; i++) {
    g->type[i] = i == 4 ? 4 : pick(g, 4);
    g->shape[i] = i == 4 ? 0 : i;
    say(g, "%s%%%d: %s[%s]", i ? ", " : "", i, dtypes[g->type[i]],
        g->shapes[g->shape[i]]);
    g->n++;
  }
  say(g, ") {");
  const int length = 5 + pick(g, 40);
  for (int i = 0; i < length && g->n < MAX_VALUES - 2; i++) {
    const int x = pick(g, g->n), before = g->n;
    add[pick(g, 10)](g, x);
    g->read[x] |= g->n > before;
  }
  /* what nothing has read, and one value more */
  say(g, " return %%%d", pick(g, g->n));
  for (int v = 5; v < g->n; v++)
    if (!g->read[v]) say(g, ", %%%d", v);
  say(g, " }");
}

static void test_random_programs(void **state) {
  (void)state;
  static generator g;
  for (uint64_t seed = 0; seed < 300; seed++) {
    generate(&g, seed);
    check(g.text, -1, 1, seed, 0);
  }
}

/* Transposes of all permutations, alone, joined and padded. */
static void test_moves(void **state) {
  (void)state;
  static const char *const types[] = { "f32", "u8", "f64", "bf16" };
  static const int orders[][3] = {
    { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 }
  };
  static const int sizes[] = { 37, 70, 45 };
  for (int type = 0; type < 4; type++)
    for (int i = 0; i < 5; i++) {
      char text[900];
      const int *o = orders[i], a = sizes[o[0]], b = sizes[o[1]],
                c = sizes[o[2]];
      const char *t = types[type];
      snprintf(text, sizeof text,
               "program @f(%%0: %s[37,70,45], %%1: %s[], %%2: i32[]) {"
               " %%3: %s[%d,%d,%d] = transpose[permutation=(%d,%d,%d)] %%0"
               " %%4: %s[%d,%d,%d] = concatenate[axis=1] %%3, %%3"
               " %%5: %s[%d,%d,%d] = pad[low=(1,0,2), high=(0,3,0),"
               " interior=(0,0,1)] %%3, %%1"
               " %%6: %s[%d,%d,5] = dynamic_slice[sizes=(%d,%d,5)] %%3, %%2,"
               " %%2, %%2 %%7: %s[%d,%d,%d] = dynamic_update_slice %%3, %%6,"
               " %%2, %%2, %%2 return %%3, %%4, %%5, %%6, %%7 }",
               t, t, t, a, b, c, o[0], o[1], o[2], t, a, 2 * b, c, t, a + 1,
               b + 3, 2 * c + 1, t, a, b, a, b, t, a, b, c);
      check(text, 0, 0, (uint64_t)i, 0);
    }
}

/* Indices and random bits are made within the pass that reads them. */
static void test_generators(void **state) {
  (void)state;
  static const char *const types[] = { "i8",  "u8",   "i16", "u16",
                                       "i32", "u32",  "i64", "u64",
                                       "f16", "bf16", "f32", "f64" };
  char text[900];
  for (int type = 0; type < 12; type++)
    for (int axis = 0; axis < 3; axis++) {
      const char *t = types[type];
      snprintf(text, sizeof text,
               "program @f(%%0: %s[30,20,9], %%1: key[]) {"
               " %%2: %s[30,20,9] = iota[type=%s, shape=(30,20,9), axis=%d]"
               " %%3: bool[30,20,9] = lt %%0, %%2"
               " %%4: %s[30,20,9] = select %%3, %%2, %%0 return %%4, %%2 }",
               t, t, t, axis, t);
      check(text, 0, 0, (uint64_t)axis, 0);
    }
  for (int type = 1; type < 8; type += 2) { /* twice from one key; its child */
    const char *t = types[type];
    snprintf(text, sizeof text,
             "program @f(%%0: key[], %%1: u32[]) {"
             " %%2: %s[70,90] = random_bits[type=%s, shape=(70,90)] %%0"
             " %%3: key[] = random_fold_in %%0, %%1"
             " %%4: %s[70,90] = random_bits[type=%s, shape=(70,90)] %%3"
             " %%5: %s[6300] = random_bits[type=%s, shape=(6300)] %%0"
             " %%6: %s[70,90] = reshape[shape=(70,90)] %%5"
             " %%7: %s[70,90] = xor %%2, %%4 %%8: %s[70,90] = and %%7, %%6"
             " %%9: %s[1] = random_bits[type=%s, shape=(1)] %%3"
             " return %%8, %%9 }",
             t, t, t, t, t, t, t, t, t, t, t);
    check(text, 0, 0, 1, 0);
  }
  /* one for each row of a pass over rows */
  check("program @f(%0: key[], %1: f32[70,90]) {"
        " %2: u32[70] = random_bits[type=u32, shape=(70)] %0"
        " %3: f32[70] = convert[type=f32] %2"
        " %4: i32[70,90] = iota[type=i32, shape=(70,90), axis=1]"
        " %5: f32[70,90] = convert[type=f32] %4"
        " %6: f32[70,90] = mul %5, %1 %7: f32[70] = reduce_sum[axes=(1)] %6"
        " %8: f32[70] = mul %7, %3"
        " %9: f32[70,90] = broadcast_in_dim[shape=(70,90), map=(0)] %8"
        " %10: f32[70,90] = sub %1, %9 return %10 }",
        0, 0, 1, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_direct),
    cmocka_unit_test(test_programs),
    cmocka_unit_test(test_products),
    cmocka_unit_test(test_dots),
    cmocka_unit_test(test_reductions),
    cmocka_unit_test(test_moves),
    cmocka_unit_test(test_generators),
    cmocka_unit_test(test_random_programs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
