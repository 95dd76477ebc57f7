/* generate.c - random typed programs in which every row of the table occurs. */
#include "support/generate.h"

#include <stdlib.h>
#include <string.h>

#include "ir/text.h"

/* -- chance --------------------------------------------------------------- */

uint32_t gen_draw(gen *g, uint32_t n) {
  return n ? chance_draw(g->chance, n) : 0;
}

bool gen_one_in(gen *g, uint32_t n) {
  return gen_draw(g, n) == 0;
}

cx_dtype gen_float(gen *g) {
  static const cx_dtype types[] = { CX_F32, CX_F32,  CX_F64, CX_F64,
                                    CX_F64, CX_BF16, CX_F16 };
  return g->options.sharp ? CX_F64 : types[gen_draw(g, 7)];
}

cx_dtype gen_dtype(gen *g, unsigned accept) {
  static const cx_dtype types[] = { CX_I32, CX_I32, CX_BOOL, CX_U32,
                                    CX_I64, CX_U64, CX_I8,   CX_U8,
                                    CX_I16, CX_U16, CX_KEY };
  for (int tries = 0; tries < 60; tries++) {
    const cx_dtype type =
        gen_draw(g, 2) ? gen_float(g) : types[gen_draw(g, 11)];
    if (accept >> cxi_dtype_kind(type) & 1) return type;
  }
  return gen_float(g);
}

int64_t gen_size(gen *g) {
  static const int64_t sizes[] = { 1, 2, 3, 3, 4, 2, 5, 1, 2, 3, 4, 7 };
  return gen_one_in(g, 40) ? 0 : sizes[gen_draw(g, 12)];
}

int64_t gen_most(const gen *g) {
  return g->options.vast ? 150000 : g->options.wide ? 6000 : 240;
}

cx_dims gen_shape(gen *g, int least, int most) {
  static const int64_t large[] = { 17, 64, 70, 130, 513, 1030 };
  static const int64_t vast[] = { 65537, 70000, 131075 };
  int rank = (int)gen_draw(g, 4);
  if (gen_one_in(g, 25)) rank = 4 + (int)gen_draw(g, 5);
  if (rank < least) rank = least;
  if (rank > most) rank = most;
  cx_dims shape = { .n = rank };
  int64_t count = 1;
  for (int i = 0; i < rank; i++) {
    shape.d[i] = gen_size(g);
    if (count * shape.d[i] > gen_most(g) / 2) shape.d[i] = 1;
    count *= shape.d[i] ? shape.d[i] : 1;
  }
  if (g->options.wide && rank > 0 && rank < 4 && count < 12 && gen_draw(g, 2))
    shape.d[gen_draw(g, (uint32_t)rank)] = large[gen_draw(g, 6)];
  if (g->options.vast && rank > 0 && rank < 4 && count < 3 && gen_draw(g, 2))
    shape.d[gen_draw(g, (uint32_t)rank)] = vast[gen_draw(g, 3)];
  return shape;
}

cx_dims gen_axes(gen *g, int rank) {
  cx_dims axes = { 0 };
  for (int i = 0; i < rank; i++)
    if (gen_draw(g, 2)) axes.d[axes.n++] = i;
  return axes;
}

cx_dims gen_order(gen *g, int rank) {
  cx_dims order = { .n = rank };
  for (int i = 0; i < rank; i++) {
    const int k = (int)gen_draw(g, (uint32_t)i + 1);
    order.d[i] = order.d[k];
    order.d[k] = i;
  }
  return order;
}

/* -- values --------------------------------------------------------------- */

void gen_put(gen *g, cx value) {
  const cxi_type type = cxi_type_at(value);
  if (!type || g->n == GEN_ROOM) return;
  if (cxi_dims_count(cxi_type_shape(type)) > 3 * gen_most(g)) return;
  g->values[g->n++] = value;
}

static cx new_input(gen *g, cxi_type type) {
  cx x = cxi_builder_input(&g->builder, type);
  g->in[g->n_in++] = x;
  gen_put(g, x);
  return x;
}

/* One of the values that fit, rather a late one; {0}: none does. */
static cx one_of(gen *g, uint32_t n, const cx *fit) {
  if (n == 0) return (cx){ 0 };
  const uint32_t late = n > 3 && gen_draw(g, 2) ? n - 3 : 0;
  return fit[late + gen_draw(g, n - late)];
}

static cx find(gen *g, unsigned accept, int least_rank, cxi_type exactly) {
  cx fit[GEN_ROOM];
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->n; i++) {
    const cxi_type type = cxi_type_at(g->values[i]);
    if (exactly ? type == exactly
                : (accept >> cxi_dtype_kind(cxi_type_dtype(type)) & 1) &&
                      cxi_type_rank(type) >= least_rank)
      fit[n++] = g->values[i];
  }
  return one_of(g, n, fit);
}

cx gen_pick(gen *g, unsigned accept, int least_rank) {
  cx x = gen_one_in(g, 6) ? (cx){ 0 } : find(g, accept, least_rank, 0);
  if (cxi_given(x)) return x;
  return gen_of(g, gen_dtype(g, accept), gen_shape(g, least_rank, CX_MAX_DIMS));
}

static cx with_dtype(cx x, cx_dtype type) {
  const cx_dtype from = cxi_dtype_at(x);
  if (from == type) return x;
  if (from == CX_KEY) x = cxi_random_unwrap(x);
  if (type == CX_KEY) {
    x = cxi_convert(x, CX_U32);
    return cxi_random_seed(x);
  }
  return cxi_convert(x, type);
}

/* x's elements in this shape: the first of them, with zeros behind if they are
 * too few, or one of them everywhere. */
static cx with_shape(gen *g, cx x, cx_dims shape) {
  const cx_dims from = cxi_shape_at(x);
  const int64_t have = cxi_dims_count(&from), want = cxi_dims_count(&shape);
  if (have == want) return cxi_reshape(x, shape);
  x = cxi_flatten(x);
  if (have > want) return cxi_reshape(cxi_slice_axis(x, 0, 0, want), shape);
  const cx_dtype type = cxi_dtype_at(x);
  if (have > 0 && gen_draw(g, 2)) {
    x = cxi_reshape(cxi_slice_axis(x, 0, have - 1, have), (cx_dims){ 0 });
    return cxi_broadcast_scalar(x, shape);
  }
  const cx_dims low = { 1, { 0 } }, high = { 1, { want - have } };
  return cxi_reshape(cxi_pad(x, cxi_integer(type, 0), low, high, low), shape);
}

/* From a value of any type. */
static cx made(gen *g, cxi_type type) {
  cx x = find(g, CXI_ACCEPT_ORDERED, 0, 0);
  if (!cxi_given(x) || gen_one_in(g, 12))
    x = cxi_type_dtype(type) == CX_KEY || gen_one_in(g, 3)
            ? cxi_zeros(type)
            : cxi_full(type, (double)gen_draw(g, 4));
  x = with_dtype(x, cxi_type_dtype(type));
  return with_shape(g, x, *cxi_type_shape(type));
}

cx gen_want(gen *g, cxi_type type) {
  cx x = find(g, 0, 0, type);
  if (cxi_given(x) && gen_draw(g, 8)) return x;
  if (g->n_in < g->room && gen_draw(g, 3)) return new_input(g, type);
  x = made(g, type);
  gen_put(g, x);
  return x;
}

cx gen_of(gen *g, cx_dtype type, cx_dims shape) {
  return gen_want(g, cxi_type_make(type, shape));
}

cx gen_squash(cx x, double lo, double hi) {
  return cxi_offset(cxi_scale(cxi_unary(CXI_PRIM_logistic, x), hi - lo), lo);
}

cx gen_between(gen *g, cx_dtype type, cx_dims shape, double lo, double hi) {
  return gen_squash(gen_of(g, type, shape), lo, hi);
}

/* -- equations ------------------------------------------------------------ */

/* How many results there are; -1: it does not type, or one is too large. */
static int n_results(const gen *g, cxi_prim prim, const void *params,
                     uint32_t n, const cxi_type *types) {
  const int64_t most = g->options.vast ? 3 * gen_most(g) : 20000;
  cxi_mark mark = cxi_scratch_mark();
  cxi_infer c = { .params = params, .n_in = n, .in = types };
  const bool valid =
      cxi_params_valid(prim, params, &c.error) && cxi_row_of(prim)->infer(&c);
  int n_out = valid ? (int)c.n_out : -1;
  for (uint32_t i = 0; valid && i < c.n_out; i++)
    if (cxi_dims_count(cxi_type_shape(c.out[i])) > most) n_out = -1;
  cxi_scratch_reset(mark);
  return n_out;
}

/* Now and then brought back into (-1, 1), so that nothing overflows. */
static void keep(gen *g, cx value) {
  if (cxi_type_is_float(cxi_type_at(value)) && gen_one_in(g, 3)) {
    gen_put(g, cxi_unary(gen_draw(g, 2) ? CXI_PRIM_sin : CXI_PRIM_tanh, value));
    if (gen_draw(g, 2)) return;
  }
  gen_put(g, value);
}

bool gen_emit(gen *g, cxi_prim prim, const void *params, uint32_t n_in,
              const cx *in) {
  cxi_type types[GEN_ROOM];
  cx out[64];
  for (uint32_t i = 0; i < n_in; i++) types[i] = cxi_type_at(in[i]);
  const int n_out = n_results(g, prim, params, n_in, types);
  if (n_out < 0 || n_out > 64) return false;
  if (!cxi_emit(prim, params, n_in, in, (uint32_t)n_out, out)) return false;
  for (int i = 0; i < n_out; i++) keep(g, out[i]);
  return true;
}

/* -- from examples -------------------------------------------------------- */

typedef struct example {
  const cxi_program *program; /* with a reference */
  const cxi_equation *e;
} example;

static example example_of(gen *g, cxi_prim prim) {
  const char *const *texts = cxi_row_of(prim)->examples;
  uint32_t n = 0;
  while (texts[n]) n++;
  if (!n) return (example){ 0 };
  const char *text = texts[gen_draw(g, n)];
  cxi_error error;
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  for (uint32_t i = p ? p->n_equations : 0; i-- > 0;)
    if (p->equations[i].prim == (uint16_t)prim)
      return (example){ p, &p->equations[i] };
  cxi_program_release(p);
  return (example){ 0 };
}

/* Operands with respect to which a row says it has no derivative. */
static bool is_held(cxi_prim prim, uint32_t operand) {
  switch (prim) {
  case CXI_PRIM_nextafter:
    return true;
  case CXI_PRIM_zeta:
  case CXI_PRIM_polygamma:
    return operand == 0;
  case CXI_PRIM_regularized_incomplete_beta:
    return operand < 2;
  default:
    return false;
  }
}

/* An operand for a row whose floats come from an interval. */
static cx in_domain(gen *g, cxi_prim prim, uint32_t operand, cxi_type type) {
  const cxi_row *row = cxi_row_of(prim);
  cx x = gen_want(g, type);
  if (!cxi_type_is_float(type)) return x;
  if (is_held(prim, operand)) x = cxi_stop_gradient(x);
  if (row->lo == 0 && row->hi == 0) return x;
  return gen_one_in(g, 8) ? x : gen_squash(x, row->lo, row->hi);
}

bool gen_from_example(gen *g, cxi_prim prim) {
  const example x = example_of(g, prim);
  if (!x.program) return false;
  const uint32_t *operands = cxi_operands_of(x.program, x.e);
  cx in[GEN_ROOM];
  for (uint32_t i = 0; i < x.e->n_in; i++)
    in[i] = in_domain(g, prim, i, x.program->values[operands[i]].type);
  const bool made_it = gen_emit(g, prim, x.e->params, x.e->n_in, in);
  cxi_program_release(x.program);
  return made_it;
}

/* An elementwise row takes any shape, and any dtype for that of its last
 * operand in the example, as far as it types. */
static bool elementwise(gen *g, cxi_prim prim) {
  const example x = example_of(g, prim);
  if (!x.program) return false;
  const uint32_t *operands = cxi_operands_of(x.program, x.e), n = x.e->n_in;
  cxi_type types[16];
  bool found = false;
  for (int tries = 0; tries < 40 && !found && n > 0 && n < 16; tries++) {
    const cx_dims shape = gen_shape(g, 0, CX_MAX_DIMS);
    const cx_dtype type = gen_dtype(g, CXI_ACCEPT_ANY);
    const cx_dtype last =
        cxi_type_dtype(x.program->values[operands[n - 1]].type);
    for (uint32_t i = 0; i < n; i++) {
      const cx_dtype is = cxi_type_dtype(x.program->values[operands[i]].type);
      types[i] =
          cxi_type_make(is == last ? type : is,
                        n > 1 && gen_one_in(g, 6) ? (cx_dims){ 0 } : shape);
    }
    found = n_results(g, prim, x.e->params, n, types) >= 0;
  }
  cx in[16];
  for (uint32_t i = 0; found && i < n; i++)
    in[i] = in_domain(g, prim, i, types[i]);
  found = found && gen_emit(g, prim, x.e->params, n, in);
  cxi_program_release(x.program);
  return found;
}

/* -- programs ------------------------------------------------------------- */

gen_maker *gen_maker_of(cxi_prim prim) {
  gen_maker *m = gen_elementwise_of(prim);
  if (!m && cxi_row_of(prim)->form == CXI_FORM_ELEMENTWISE) m = elementwise;
  if (!m) m = gen_move_of(prim);
  if (!m) m = gen_index_of(prim);
  if (!m) m = gen_reduce_of(prim);
  if (!m) m = gen_product_of(prim);
  if (!m) m = gen_control_of(prim);
  return m;
}

const char *generate_never(cxi_prim prim) {
  if (cxi_row_of(prim)->form == CXI_FORM_NEVER)
    return "it runs in a batch or in reverse mode alone";
  if (prim == CXI_PRIM_callback || prim == CXI_PRIM_debug_print)
    return "it calls C, which no text can name";
  if (prim == CXI_PRIM_check) return "an error is all that it gives";
  return NULL;
}

/* Draws a primitive that may stand here, and emits it. */
static bool grow(gen *g, cxi_prim prim) {
  if (prim == CXI_PRIM_NONE)
    prim = (cxi_prim)(1 + gen_draw(g, CXI_N_PRIMS - 1));
  const cxi_form form = cxi_row_of(prim)->form;
  const bool inside = form == CXI_FORM_CALL || form == CXI_FORM_CONTROL;
  if (generate_never(prim) || (inside && g->depth == 0)) return false;
  if (prim == CXI_PRIM_while && !g->options.whiles && !g->options.want)
    return false;
  gen_maker *m = gen_maker_of(prim);
  return m ? m(g, prim) : gen_from_example(g, prim);
}

static void grow_by(gen *g, uint32_t n) {
  for (uint32_t tries = 0; n > 0 && tries < 200; tries++) {
    cxi_prim prim = CXI_PRIM_NONE;
    if (g->depth > 0 && gen_one_in(g, 6))
      prim = (cxi_prim[]){ CXI_PRIM_scan,       CXI_PRIM_cond,
                           CXI_PRIM_jit,        CXI_PRIM_checkpoint,
                           CXI_PRIM_custom_vjp, CXI_PRIM_custom_jvp,
                           CXI_PRIM_custom_vmap }[gen_draw(g, 7)];
    if (grow(g, prim)) n--;
  }
}

const cxi_program *gen_body(gen *g, uint32_t *n_in, cxi_type *in,
                            uint32_t n_out, const cxi_type *out) {
  gen *b = calloc(1, sizeof *b);
  if (!b) return NULL;
  cx results[16];
  cxi_error error = { 0 };
  b->chance = g->chance;
  b->options = g->options;
  b->options.want = CXI_PRIM_NONE;
  b->depth = g->depth - 1;
  b->room = *n_in + gen_draw(g, 3);
  if (b->room > GEN_INPUTS) b->room = GEN_INPUTS;
  cxi_builder_open(&b->builder);
  for (uint32_t i = 0; i < *n_in; i++) new_input(b, in[i]);
  grow_by(b, 1 + gen_draw(g, 4));
  for (uint32_t i = 0; i < n_out; i++)
    results[i] = out ? gen_want(b, out[i]) : gen_pick(b, CXI_ACCEPT_ANY, 0);
  for (uint32_t i = *n_in; i < b->n_in; i++) in[i] = cxi_type_at(b->in[i]);
  *n_in = b->n_in;
  const cxi_program *p = cxi_builder_finish(
      &b->builder, cxi_name_of("body"), b->n_in, b->in, n_out, results, &error);
  free(b);
  return p;
}

generate_options generate_options_of(uint64_t seed) {
  return (generate_options){ .sharp = seed % 2 == 0,
                             .whiles = seed % 4 == 1,
                             .wide = seed % 8 == 3 || seed % 16 == 6,
                             .vast = seed % 128 == 37,
                             .longer = seed % 32 == 12 || seed % 32 == 21 };
}

/* The last values, and one or two more. */
static uint32_t results_of(gen *g, cx *out) {
  uint32_t n = 0;
  for (uint32_t i = g->n; i-- > 0 && n < 2;) out[n++] = g->values[i];
  for (uint32_t more = gen_draw(g, 3); more > 0 && g->n > 0; more--)
    out[n++] = g->values[gen_draw(g, g->n)];
  return n;
}

const cxi_program *generate(uint64_t seed, const generate_options *options,
                            cxi_error *error) {
  gen *g = calloc(1, sizeof *g);
  if (!g) return NULL;
  chance c = { (seed * 16 + 5) * 0x9e3779b97f4a7c15u };
  cx out[8];
  chance_draw(&c, 2);
  g->chance = &c;
  g->options = *options;
  g->depth = options->longer ? 3 : 2;
  g->room = 2 + gen_draw(g, 5);
  cxi_builder_open(&g->builder);
  new_input(g, cxi_type_make(gen_float(g), gen_shape(g, 1, 3)));
  grow_by(g, 1 + gen_draw(g, 6));
  for (int tries = 0; options->want && tries < 50; tries++) {
    g->room = g->n_in + 3 < GEN_INPUTS ? g->n_in + 3 : GEN_INPUTS;
    if (grow(g, options->want)) break;
  }
  if (!options->want) grow_by(g, (options->longer ? 20 : 1) + gen_draw(g, 8));
  const uint32_t n = results_of(g, out);
  const cxi_program *p = cxi_builder_finish(&g->builder, cxi_name_of("main"),
                                            g->n_in, g->in, n, out, error);
  free(g);
  return p;
}
