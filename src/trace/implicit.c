/* implicit.c - custom_linear_solve and custom_root: functions as the parts of
 * an equation.
 *
 * The operands are the constants of all functions (what they captured, arrays
 * they made), the leaves of args, those of x; each function's program is
 * wrapped to take those. */
#include "calx/implicit.h"

#include <assert.h>

#include "calx/array.h"
#include "calx/elementwise.h"
#include "calx/linalg.h"
#include "calx/shape.h"
#include "calx/tree.h"
#include "ir/builder.h"
#include "ops/ops.h"
#include "trace/body.h"

typedef struct part {
  const char *what; /* "matvec" */
  cx_fn f;
  uint32_t n_vectors; /* that it takes after args */
  bool has_aux;
  cxi_body body;
  const cxi_program *program; /* wrapped: a reference */
} part;

enum { MOST_PARTS = 4 };

typedef struct equation {
  const char *name;
  uint32_t n_parts, n_resolved;
  part parts[MOST_PARTS]; /* solve first */
  cxi_item items[2];      /* args, x: borrowed */
  cxi_sig sigs[3];        /* args, x, x */
  uint32_t n_args, m;     /* their leaves */
  uint32_t n_consts;
  cxi_type *types; /* of args and x */
} equation;

static void equation_end(equation *e) {
  for (uint32_t k = 0; k < e->n_resolved; k++) {
    cxi_program_release(e->parts[k].program);
    cxi_body_end(&e->parts[k].body);
  }
}

/* The argument's item and structure. */
static bool enter(equation *e, int i, cx value, cx *out_poison) {
  const cxi_item item = cxi_number_strong(cxi_item_for(e->name, value));
  if (item.kind == CXI_ITEM_POISON) return *out_poison = item.as.handle, false;
  e->items[i] = item;
  e->sigs[i] = cxi_sig_of(item);
  if (e->sigs[i]) return true;
  *out_poison = item.kind == CXI_ITEM_NOTHING
                    ? cxi_reportf(CX_ETREE,
                                  "%s: an operand is not given; "
                                  "cx_none() is nothing",
                                  e->name)
                    : cxi_report_memory();
  return false;
}

static bool enter_both(equation *e, cx args, cx x, cx *out_poison) {
  if (!enter(e, 0, args, out_poison) || !enter(e, 1, x, out_poison))
    return false;
  e->sigs[2] = e->sigs[1];
  e->n_args = cxi_sig_leaves(e->sigs[0]);
  e->m = cxi_sig_leaves(e->sigs[1]);
  e->types = cxi_scratch(((size_t)e->n_args + e->m + 1) * sizeof *e->types);
  if (!e->types) return *out_poison = cxi_report_memory(), false;
  cxi_sig_types(e->sigs[0], e->types);
  cxi_sig_types(e->sigs[1], e->types + e->n_args);
  return true;
}

/* -- the functions -------------------------------------------------------- */

/* What the part returns, its numbers converted. */
static cxi_sig returned(const part *k) {
  const cxi_program *p = k->body.p;
  cxi_type *types = cxi_scratch(p->n_out * sizeof *types + 1);
  if (!types) return 0;
  for (uint32_t i = 0; i < p->n_out; i++) types[i] = cxi_output_type(p, i);
  return cxi_sig_with_types(k->body.entry->out, types);
}

/* It returns a tree like x, or a tuple of that and something. */
static bool agrees(equation *e, part *k, cx *out_poison) {
  char got[160], want[160];
  assert(k->body.p); /* resolved */
  if (k->body.p->n_out >= e->m &&
      !cxi_body_convert(&k->body, e->m, e->types + e->n_args, out_poison))
    return false;
  cxi_sig sig = returned(k);
  if (!sig) return *out_poison = cxi_report_memory(), false;
  cxi_sig_print(got, sizeof got, sig);
  if (k->has_aux) {
    const cxi_structure *s =
        cxi_sig_is_leaf(sig) ? NULL : cxi_structure_of(sig);
    sig = s && !s->is_dict && !s->is_none && s->n == 2 ? s->items[0] : 0;
  }
  if (sig == e->sigs[1]) return true;
  cxi_sig_print(want, sizeof want, e->sigs[1]);
  *out_poison =
      cxi_reportf(CX_ETREE, "%s: %s (%s) must return %s%s%s, got %s", e->name,
                  k->what, k->f->code->name, k->has_aux ? "a tuple of " : "",
                  want, k->has_aux ? " and something" : "", got);
  return false;
}

static bool resolve_all(equation *e, cx *out_poison) {
  for (; e->n_resolved < e->n_parts;) {
    part *k = &e->parts[e->n_resolved++];
    if (!cxi_body_resolve(&k->body, k->f, 1 + k->n_vectors, e->sigs,
                          out_poison) ||
        !agrees(e, k, out_poison))
      return false;
    e->n_consts += k->body.n_consts;
  }
  return true;
}

/* Part k on the constants of all, args, and its vectors. */
static const cxi_program *wrap(const equation *e, uint32_t k,
                               cxi_error *error) {
  const part *own = &e->parts[k];
  const cxi_program *p = own->body.p;
  const uint32_t n_vectors = own->n_vectors * e->m;
  const uint32_t n_in = e->n_consts + e->n_args + n_vectors;
  cxi_builder b;
  cx *in = cxi_scratch(n_in * sizeof *in + 1);
  cx *args = cxi_scratch(p->n_in * sizeof *args + 1);
  cx *out = cxi_scratch(p->n_out * sizeof *out + 1);
  if (!in || !args || !out)
    return cxi_error_set(error, CX_EMEMORY, "out of memory"), NULL;
  cxi_builder_open(&b);
  uint32_t at = 0, n = 0;
  for (uint32_t i = 0; i < e->n_parts; i++) {
    const cxi_body *body = &e->parts[i].body;
    for (uint32_t j = 0; j < body->n_consts; j++, at++) {
      in[at] = cxi_builder_input(&b, body->p->values[j].type);
      if (i == k) args[n++] = in[at];
    }
  }
  for (uint32_t j = 0; j < e->n_args + n_vectors; j++) {
    const uint32_t leaf =
        j < e->n_args ? j : e->n_args + (j - e->n_args) % e->m;
    args[n++] = in[at++] = cxi_builder_input(&b, e->types[leaf]);
  }
  cxi_replay(p, args, out);
  return cxi_builder_finish(&b, p->name, n_in, in, p->n_out, out, error);
}

static bool wrap_all(equation *e, cx *out_poison) {
  cxi_error error = { 0 };
  for (uint32_t k = 0; k < e->n_parts; k++) {
    e->parts[k].program = wrap(e, k, &error);
    if (e->parts[k].program) continue;
    *out_poison = cxi_report_error(e->name, &error);
    return false;
  }
  return true;
}

/* -- the equation --------------------------------------------------------- */

/* The tree that solve returns. */
static cx emit(const equation *e, cxi_prim prim, const void *params) {
  const uint32_t n_in = e->n_consts + e->n_args + e->m;
  const uint32_t n_out = e->parts[0].program->n_out;
  cx *in = cxi_scratch(n_in * sizeof *in + 1), *at = in;
  cx *out = cxi_scratch(n_out * sizeof *out + 1);
  const cxi_sig sig = returned(&e->parts[0]);
  if (!in || !out || !sig) return cxi_report_memory();
  for (uint32_t k = 0; k < e->n_parts; k++) {
    cxi_body_consts(&e->parts[k].body, at);
    at += e->parts[k].body.n_consts;
  }
  cxi_leaf_operands(e->items[0], at);
  cxi_leaf_operands(e->items[1], at + e->n_args);
  if (!cxi_emit(prim, params, n_in, in, n_out, out))
    return n_out ? out[0] : cxi_poison_last();
  return cxi_tree_of_handles(sig, out);
}

static cx solve_linear(equation *e, cx args, cx b, bool symmetric) {
  cx result;
  if (!enter_both(e, args, b, &result) || !resolve_all(e, &result) ||
      !wrap_all(e, &result))
    return result;
  const cxi_program *solve = e->parts[0].program;
  const cxi_program *matvec = e->parts[1].program;
  const cxi_linear_solve_params params = {
    .matvec = matvec,
    .vecmat = symmetric ? matvec : NULL,
    .solve = solve,
    .transpose_solve = symmetric ? solve : e->parts[2].program,
  };
  return emit(e, CXI_PRIM_linear_solve, &params);
}

cx cx_custom_linear_solve_(cx_fn matvec, cx_fn solve, cx args, cx b,
                           cx_linear_solve_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  const cx_fn transposed = opt.symmetric ? NULL : opt.transpose_solve;
  equation e = {
    .name = "custom_linear_solve",
    .n_parts = transposed ? 3 : 2,
    .parts = { { "solve", solve, 1, opt.has_aux, { 0 }, NULL },
               { "matvec", matvec, 1, false, { 0 }, NULL },
               { "transpose_solve", transposed, 1, opt.has_aux, { 0 }, NULL } },
  };
  cx result;
  if (!cxi_context_need())
    result = cxi_poison_last();
  else if (!matvec || !solve)
    result = cxi_report(CX_ETREE, "custom_linear_solve: needs the functions "
                                  "matvec and solve");
  else
    result = solve_linear(&e, args, b, opt.symmetric);
  equation_end(&e);
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}

/* -- roots ---------------------------------------------------------------- */

CX_STRUCT(root_env, (cx_fn, f));
CX_STRUCT(at_args_env, (cx_fn, f), (cx, args), (cx, like));

/* The leaves of a tree one after another, as a vector; and back. */
static cx flat(cx tree) {
  const int n = cx_leaf_count(tree);
  cx *leaves = cxi_scratch((size_t)n * sizeof *leaves + 1);
  if (!leaves) return cxi_report_memory();
  for (int i = 0; i < n; i++) leaves[i] = cxi_flatten(cx_leaf(tree, i));
  return cxi_concatenate(0, (uint32_t)n, leaves);
}
static cx like_tree(cx tree, cx vector) {
  const int n = cx_leaf_count(tree);
  cx *leaves = cxi_scratch((size_t)n * sizeof *leaves + 1);
  if (!leaves) return cxi_report_memory();
  int64_t at = 0;
  for (int i = 0; i < n; i++) {
    const cx leaf = cx_leaf(tree, i);
    const int64_t size = cx_size(leaf);
    leaves[i] =
        cxi_reshape(cxi_slice_axis(vector, 0, at, at + size), cx_shape(leaf));
    at += size;
  }
  return cx_unflatten(tree, n, leaves);
}

CX_DEF_ENV(at_args, at_args_env, e, v) {
  return flat(cx_call(e->f, e->args, like_tree(e->like, v)));
}

/* (df/dx) v = b by the matrix of all elements. */
CX_DEF_ENV(solve_dense, root_env, e, args, x, b) {
  const cx_fn of_x = CX_BIND(at_args, .f = e->f, .args = args, .like = x);
  const cx jacobian = cx_call(cx_jacfwd(of_x), flat(x));
  return like_tree(x, cx_solve(jacobian, flat(b)));
}

static cx solve_root(equation *e, cx args, cx x0) {
  cx result;
  if (!enter_both(e, args, x0, &result) || !resolve_all(e, &result) ||
      !wrap_all(e, &result))
    return result;
  const cxi_root_params params = {
    .f = e->parts[1].program,
    .solve = e->parts[0].program,
    .tangent_solve = e->parts[2].program,
    .transpose_solve = e->parts[3].program,
  };
  return emit(e, CXI_PRIM_root, &params);
}

cx cx_custom_root_(cx_fn f, cx_fn solve, cx args, cx x0, cx_root_opt opt,
                   const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  const cx_fn transposed = opt.transpose_solve;
  cx result;
  if (!cxi_context_need()) {
    result = cxi_poison_last();
  } else if (!f || !solve) {
    result = cxi_report(CX_ETREE, "custom_root: needs the functions f and "
                                  "solve");
  } else {
    const cx_fn tangent =
        opt.tangent_solve ? opt.tangent_solve : CX_BIND(solve_dense, .f = f);
    equation e = {
      .name = "custom_root",
      .n_parts = transposed ? 4 : 3,
      .parts = { { "solve", solve, 1, opt.has_aux, { 0 }, NULL },
                 { "f", f, 1, false, { 0 }, NULL },
                 { "tangent_solve", tangent, 2, false, { 0 }, NULL },
                 { "transpose_solve", transposed, 2, false, { 0 }, NULL } },
    };
    result = solve_root(&e, args, x0);
    equation_end(&e);
  }
  cxi_scratch_reset(mark);
  return cxi_leave(before, result);
}
