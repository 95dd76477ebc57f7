/* properties_forms.c - forms in which the same function can be asked for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/text.h"
#include "support/calling.h"
#include "support/written.h"

/* -- compiled ahead of the call -------------------------------------------- */

static void *room_of(cx_buf buf) {
  return calloc(
      (size_t)cxi_dims_count(&buf.shape) * cxi_dtype_bytes(buf.type) + 64, 1);
}

/* The results of an executable in place of the leaves of `like`. */
static cx run_exe(const cx_exe *exe, cx args, cx like) {
  const int n_in = cx_exe_inputs(exe), n_out = cx_exe_outputs(exe);
  const void *in[2 * CALLING_LEAVES];
  void *out[2 * CALLING_LEAVES], *workspace = NULL;
  cx leaves[2 * CALLING_LEAVES];
  if (n_in != cx_leaf_count(args) || n_out > 2 * CALLING_LEAVES ||
      n_out != cx_leaf_count(like))
    return cx_fail(CX_EUSER, "exe: %d inputs, %d outputs", n_in, n_out);
  for (int i = 0; i < n_in; i++) in[i] = cx_data(cx_leaf(args, i));
  for (int i = 0; i < n_out; i++) out[i] = room_of(cx_exe_output(exe, i));
  if (posix_memalign(&workspace, 64, cx_exe_workspace(exe) + 64)) return like;
  const cx_code code = cx_exe_run(exe, in, out, workspace);
  for (int i = 0; i < n_out; i++) {
    const cx_buf buf = cx_exe_output(exe, i);
    leaves[i] = cx_from_(out[i], buf.type, buf.shape, CX_AT);
    free(out[i]);
  }
  free(workspace);
  if (code != CX_OK) return cx_fail(code, "exe: it does not run");
  return cx_unflatten(like, n_out, leaves);
}

static void compiled_or_checked(const cxi_program *p, const calling *c,
                                verdict *v) {
  snapshot plain = { 0 }, exe = { 0 }, checked = { 0 };
  const cx all = cx_tuple(c->args[0], c->args[1], c->args[2]);
  const cx out = cx_call_n(c->f, 3, c->args);
  calling_keep(&plain, out);
  cx_exe *compiled = cx_compile_(c->f, 3, c->args, CX_AT);
  if (compiled) calling_keep(&exe, run_exe(compiled, all, out));
  cx_exe_free(compiled);
  calling_refusal(p, "compiled", v);
  const cx_fn f = cx_checkify(c->f, .errors = CX_CHECK_ALL);
  const cx both = cx_call_n(f, 3, c->args);
  /* after an error a while has stopped */
  if (cx_item(cx_nth(both, 0)) == 0) calling_keep(&checked, cx_nth(both, 1));
  calling_refusal(p, "checkified", v);
  calling_compare("compiled ahead", &plain, &exe, 0, v);
  calling_compare("checkified", &plain, &checked, 0, v);
  snapshot_free(&plain);
  snapshot_free(&exe);
  snapshot_free(&checked);
}

static void forms(const cxi_program *p, uint64_t seed, verdict *v) {
  if (mixed(seed, 8) % 8 == 0) calling_with(p, seed, compiled_or_checked, v);
}

/* -- linear functions ------------------------------------------------------- */

/* Its derivative in every form in which it can be asked for. */
typedef struct linear_calls {
  snapshot jvp, tangents; /* cx_jvp, cx_linearize */
  snapshot vjp, grads;    /* cx_vjp, cx_pullback */
  snapshot transposed;    /* cx_linear_transpose of what cx_linearize made */
  snapshot twice;         /* the transpose of the transpose, on the tangents */
} linear_calls;

static void call_linear(linear_calls *s, const calling *c) {
  cx_fn f = calling_of_x(c);
  cx x = cx_tuple(c->args[0]), dx = cx_tuple(cx_cos(c->args[0])), out;
  cx_fn pull = cx_pullback(f, x, &out);
  cx ct = cx_cos(out);
  calling_keep(&s->grads, cx_call(pull, ct));
  calling_keep(&s->vjp, cx_nth(cx_call(cx_vjp(f), x, ct), 1));
  /* forward mode last: some functions have none */
  cx_fn forth = cx_linearize(f, x, NULL);
  calling_keep(&s->tangents, cx_call(forth, dx));
  calling_keep(&s->jvp, cx_nth(cx_call(cx_jvp(f), x, dx), 1));
  cx_fn back = cx_linear_transpose(forth, cx_tuple(dx));
  calling_keep(&s->transposed, cx_nth(cx_call(back, ct), 0));
  cx_fn again = cx_linear_transpose(back, cx_tuple(ct));
  calling_keep(&s->twice, cx_nth(cx_call(again, cx_tuple(dx)), 0));
}

static void compare_linear(const cxi_program *p, const calling *c, verdict *v) {
  linear_calls s = { 0 };
  call_linear(&s, c);
  calling_refusal(p, "a derivative", v);
  calling_compare("jvp and linearize", &s.jvp, &s.tangents, 0, v);
  calling_compare("vjp and pullback", &s.vjp, &s.grads, 0, v);
  /* a composite's backward is another formula than its tangents */
  if (!has_primitive(p, CXI_PRIM_composite))
    calling_compare("pullback and linear_transpose", &s.grads, &s.transposed, 0,
                    v);
  /* the same map, whose sums are added in another order */
  if (properties_epsilon(p) < 0x1p-50 && snapshot_finite(&s.tangents) &&
      snapshot_finite(&s.twice))
    calling_compare("linearize and transposed twice", &s.tangents, &s.twice,
                    1e-9, v);
  snapshot *const all[] = { &s.jvp,   &s.tangents,   &s.vjp,
                            &s.grads, &s.transposed, &s.twice };
  for (int i = 0; i < 6; i++) snapshot_free(all[i]);
}

static void linear(const cxi_program *p, uint64_t seed, verdict *v) {
  calling_with(p, seed, compare_linear, v);
}

/* -- batches along other axes ---------------------------------------------- */

static cx two_of(cx tree, int axis) {
  cx leaves[CALLING_LEAVES];
  const int n = cx_leaf_count(tree);
  for (int i = 0; i < n; i++) {
    const cx a = cx_leaf(tree, i);
    leaves[i] = cx_stack(axis, a, cx_cos(a));
  }
  return cx_unflatten(tree, n, leaves);
}

/* One result, so that one axis is that of all. */
CX_STRUCT(one_env, (cx_fn, f));
CX_DEF_ENV(one, one_env, e, x) {
  return cx_tuple(cx_call(e->f, x));
}

static void along_axes(const cxi_program *p, const calling *c, verdict *v) {
  snapshot first = { 0 }, last = { 0 };
  cx leaves[CALLING_LEAVES];
  const cx_fn f = CX_BIND(one, .f = calling_of_x(c));
  calling_keep(&first, cx_call(cx_vmap(f), two_of(c->args[0], 0)));
  const cx out =
      cx_call(cx_vmap(f, .in = { -1 }, .out = { -1 }), two_of(c->args[0], -1));
  const int n = cx_leaf_count(out);
  for (int i = 0; i < n; i++) leaves[i] = cx_move_axis(cx_leaf(out, i), -1, 0);
  calling_keep(&last, cx_unflatten(out, n, leaves));
  calling_refusal(p, "vmap", v);
  calling_compare("vmap along the last axis", &first, &last, 0, v);
  snapshot_free(&first);
  snapshot_free(&last);
}

static void axes(const cxi_program *p, uint64_t seed, verdict *v) {
  calling_with(p, seed, along_axes, v);
}

/* -- Jacobians ------------------------------------------------------------- */

static int64_t elements(cx tree) {
  int64_t n = 0;
  for (int i = 0; i < cx_leaf_count(tree); i++) n += cx_size(cx_leaf(tree, i));
  return n;
}

static int most_axes(cx tree) {
  int most = 0;
  for (int i = 0; i < cx_leaf_count(tree); i++)
    if (cx_ndim(cx_leaf(tree, i)) > most) most = cx_ndim(cx_leaf(tree, i));
  return most;
}

static void jacobians_agree(const cxi_program *p, const calling *c,
                            verdict *v) {
  snapshot forward = { 0 }, reverse = { 0 };
  const cx_fn f = calling_of_x(c);
  const cx out = cx_call(f, c->args[0]);
  if (cx_ok() && elements(out) * elements(c->args[0]) < 20000 &&
      most_axes(out) + most_axes(c->args[0]) <= CX_MAX_DIMS) {
    calling_keep(&reverse, cx_call(cx_jacrev(f), c->args[0]));
    calling_refusal(p, "jacrev", v);
    calling_keep(&forward, cx_call(cx_jacfwd(f), c->args[0]));
    if (snapshot_finite(&forward) && snapshot_finite(&reverse))
      calling_compare("jacfwd and jacrev", &forward, &reverse, 1e-7, v);
  }
  calling_refusal(p, "jacfwd", v);
  snapshot_free(&forward);
  snapshot_free(&reverse);
}

static void jacobians(const cxi_program *p, uint64_t seed, verdict *v) {
  /* two formulas; two roundings */
  if (properties_epsilon(p) < 0x1p-50 &&
      !has_primitive(p, CXI_PRIM_composite) &&
      !has_primitive(p, CXI_PRIM_reduce_precision))
    calling_with(p, seed, jacobians_agree, v);
}

/* -- effects --------------------------------------------------------------- */

/* The first leaf; NaNs print by their sign, which may be either. */
static cx first_of(cx tree) {
  const cx a = cx_leaf(tree, 0);
  return is_floating(a) ? cx_where(cx_is_nan(a), 0, a) : a;
}

CX_DEF_ENV(loud, one_env, e, x, y, z) {
  cx_debug_print("in {}", first_of(x));
  const cx out = cx_call(e->f, x, y, z);
  if (cx_leaf_count(out) > 0) cx_debug_print("out {}", first_of(out));
  return out;
}

/* What a call under a stack prints, to be freed; NULL if it failed. */
static char *print_under(cx_ctx *context, const cxi_program *p,
                         const char *text, const arrays *in, const char *stack,
                         const char *plain, verdict *v) {
  cx_use(context);
  CX_SCOPE;
  const calling c = calling_make(text, in);
  const cx_fn f = stack_make(CX_BIND(loud, .f = c.f), stack, plain);
  written_forget();
  cx_wait(cx_call_n(f, 3, c.args));
  const bool good = cx_ok();
  calling_refusal(p, stack, v);
  return good ? strdup(written_text()) : NULL;
}

static void same_print(const char *stack, const char *what, const char *want,
                       char *got, verdict *v) {
  if (got && strcmp(want, got) != 0)
    refute(v, "under \"%s\", %s: prints \"%.200s\", not \"%.200s\"", stack,
           what, got, want);
  free(got);
}

/* Compiled, without jit and checkpoint, and by the reference: the same lines in
 * the same order. */
static void effects(const cxi_program *p, uint64_t seed, verdict *v) {
  if (mixed(seed, 9) % 4 || !calling_suits(p)) return;
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  if (!text) return;
  const calling_stack drawn = calling_stack_of(seed, 400);
  const char *stack = drawn.letters;
  arrays in = inputs_of(p, seed);
  written_begin();
  char *want = print_under(properties_cpu, p, text, &in, stack, "", v);
  if (want && !v->failed) {
    same_print(stack, "called again", want,
               print_under(properties_cpu, p, text, &in, stack, "", v), v);
    same_print(stack, "without jit and checkpoint", want,
               print_under(properties_cpu, p, text, &in, stack, "JC", v), v);
    same_print(stack, "by the reference", want,
               print_under(properties_reference, p, text, &in, stack, "", v),
               v);
  }
  written_end();
  free(want);
  cxi_free(text);
  arrays_free(&in);
}

const property properties_of_forms[] = {
  { "forms", forms },         { "linear", linear },   { "axes", axes },
  { "jacobians", jacobians }, { "effects", effects }, { 0 }
};
