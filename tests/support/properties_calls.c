/* properties_calls.c - what must hold of a program that is called, under stacks
 * of transforms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/text.h"
#include "support/stacks.h"
#include "support/verdict.h"

enum { MOST_LEAVES = 40 };

/* f(x, (), z): the floating inputs are x, the others z. */
CX_STRUCT(sorted_env, (cx_fn, f), (int, n), (int, first_mask));

static bool is_floating(cx a) {
  return cx_type(a) >= CX_F16 && cx_type(a) <= CX_F64;
}

CX_DEF_ENV(sorted, sorted_env, e, x, y, z) {
  cx in[MOST_LEAVES];
  (void)y;
  for (int i = 0, a = 0, b = 0; i < e->n; i++)
    in[i] = e->first_mask >> i & 1 ? cx_leaf(x, a++) : cx_leaf(z, b++);
  return cx_call_n(e->f, e->n, in);
}

/* A program, parsed and given arguments in the current context. */
typedef struct calling {
  cx_fn f;
  cx args[3];
} calling;

static calling calling_of(const char *text, const arrays *in) {
  cx x[MOST_LEAVES], z[MOST_LEAVES];
  int n_x = 0, n_z = 0, mask = 0;
  for (uint32_t i = 0; i < in->n; i++) {
    const cx_aval type = in->at[i].type;
    cx a = cx_from_(in->at[i].data, type.type, type.shape, CX_AT);
    if (is_floating(a)) {
      x[n_x++] = a;
      mask |= 1 << i;
    } else {
      z[n_z++] = a;
    }
  }
  calling c = { .args = { cx_tuple_n(n_x, x), cx_tuple_n(0, NULL),
                          cx_tuple_n(n_z, z) } };
  c.f =
      CX_BIND(sorted, .f = cx_parse(text), .n = (int)in->n, .first_mask = mask);
  return c;
}

static snapshot call(cx_ctx *context, const cxi_program *p, const char *text,
                     const arrays *in, const char *stack, const char *plain,
                     verdict *v) {
  cx_use(context);
  CX_SCOPE;
  const calling c = calling_of(text, in);
  cx_fn f = stack_make(c.f, stack, plain);
  snapshot s = snapshot_of(cx_call(f, c.args[0], c.args[1], c.args[2]));
  const char *message = "";
  const cx_code code = cx_error(&message);
  cxi_error error = { .code = code };
  snprintf(error.text, sizeof error.text, "%s", message);
  if (code != CX_OK && !may_be_refused(p, &error))
    refute(v, "under \"%s\": %s", stack, message);
  return s;
}

static void same(const char *stack, const char *what, const snapshot *want,
                 snapshot got, verdict *v) {
  const char *difference = snapshot_compare(want, &got, 0);
  if (difference && want->types && got.types)
    refute(v, "under \"%s\", %s: %s", stack, what, difference);
  snapshot_free(&got);
}

/* Compiled, without the letters of C, and by the reference: the same bits. */
static void check_stack(const cxi_program *p, const char *text,
                        const arrays *in, const char *stack, verdict *v) {
  snapshot want = call(properties_cpu, p, text, in, stack, "", v);
  if (want.types && !v->failed) {
    same(stack, "called again", &want,
         call(properties_cpu, p, text, in, stack, "", v), v);
    const char *leave = stack_splits_sums(stack) ? "J" : "JC";
    same(stack, "without jit and checkpoint", &want,
         call(properties_cpu, p, text, in, stack, leave, v), v);
    same(stack, "by the reference", &want,
         call(properties_reference, p, text, in, stack, "", v), v);
  }
  if (want.types && !v->failed && strspn(stack, "JCVWS") == strlen(stack))
    same(stack, "in loops of C", &want,
         call(properties_cpu, p, text, in, stack, "JCVWS", v), v);
  snapshot_free(&want);
}

static bool has_any_float(const cxi_program *p) {
  bool *floats = floating_in(p), any = false;
  for (uint32_t i = 0; i < p->n_in; i++) any = any || floats[i];
  free(floats);
  return any;
}

static void stacks(const cxi_program *p, uint64_t seed, verdict *v) {
  static const char letters[] = "GTVWJCS";
  char stack[4] = { 0 };
  if (p->n_in > 20 || !has_any_float(p)) return;
  arrays in = inputs_of(p, seed);
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  for (uint64_t k = 0; text && k < 2 && !v->failed; k++) {
    const uint64_t n = 1 + mixed(seed, 300 + k) % 3;
    for (uint64_t i = 0; i < 4; i++)
      stack[i] = i < n ? letters[mixed(seed, 310 + 10 * k + i) % 7] : 0;
    check_stack(p, text, &in, stack, v);
  }
  cxi_free(text);
  arrays_free(&in);
}

/* -- linear functions ------------------------------------------------------- */

/* The floating results as a tuple, of x alone. */
CX_STRUCT(of_x_env, (cx_fn, f), (cx, y), (cx, z));
CX_DEF_ENV(of_x, of_x_env, e, x) {
  cx floats[MOST_LEAVES];
  int n = 0;
  cx out = cx_call(e->f, x, e->y, e->z);
  for (int i = 0; i < cx_leaf_count(out) && n < MOST_LEAVES; i++)
    if (is_floating(cx_leaf(out, i))) floats[n++] = cx_leaf(out, i);
  return cx_tuple_n(n, floats);
}

/* Its derivative in every form in which it can be asked for. */
typedef struct linear_calls {
  snapshot jvp, tangents; /* cx_jvp, cx_linearize */
  snapshot vjp, grads;    /* cx_vjp, cx_pullback */
  snapshot transposed;    /* cx_linear_transpose of what cx_linearize made */
  snapshot twice;         /* the transpose of the transpose, on the tangents */
} linear_calls;

static void keep(snapshot *out, cx result) {
  if (cx_ok()) *out = snapshot_of(result);
}

static void call_linear(linear_calls *s, const char *text, const arrays *in) {
  const calling c = calling_of(text, in);
  cx_fn f = CX_BIND(of_x, .f = c.f, .y = c.args[1], .z = c.args[2]);
  cx x = cx_tuple(c.args[0]), dx = cx_tuple(cx_cos(c.args[0])), out;
  cx_fn pull = cx_pullback(f, x, &out);
  cx ct = cx_cos(out);
  keep(&s->grads, cx_call(pull, ct));
  keep(&s->vjp, cx_nth(cx_call(cx_vjp(f), x, ct), 1));
  /* forward mode last: some functions have none */
  cx_fn forth = cx_linearize(f, x, NULL);
  keep(&s->tangents, cx_call(forth, dx));
  keep(&s->jvp, cx_nth(cx_call(cx_jvp(f), x, dx), 1));
  cx_fn back = cx_linear_transpose(forth, cx_tuple(dx));
  keep(&s->transposed, cx_nth(cx_call(back, ct), 0));
  cx_fn again = cx_linear_transpose(back, cx_tuple(ct));
  keep(&s->twice, cx_nth(cx_call(again, cx_tuple(dx)), 0));
}

static void pair(const char *what, const snapshot *a, const snapshot *b,
                 double tolerance, verdict *v) {
  const char *difference = snapshot_compare(a, b, tolerance);
  if (difference && a->types && b->types) refute(v, "%s: %s", what, difference);
}

static void linear(const cxi_program *p, uint64_t seed, verdict *v) {
  if (!has_any_float(p) || p->n_in > 20) return;
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  if (!text) return;
  arrays in = inputs_of(p, seed);
  linear_calls s = { 0 };
  cx_use(properties_cpu);
  {
    CX_SCOPE;
    const char *message = "";
    call_linear(&s, text, &in);
    cxi_error error = { .code = cx_error(&message) };
    snprintf(error.text, sizeof error.text, "%s", message);
    if (error.code != CX_OK && !may_be_refused(p, &error))
      refute(v, "%s", message);
  }
  pair("jvp and linearize", &s.jvp, &s.tangents, 0, v);
  pair("vjp and pullback", &s.vjp, &s.grads, 0, v);
  /* a composite's backward is another formula than its tangents */
  if (!has_primitive(p, CXI_PRIM_composite))
    pair("pullback and linear_transpose", &s.grads, &s.transposed, 0, v);
  /* the same map, whose sums are added in another order */
  if (!strstr(text, "f32[") && !strstr(text, "f16[") &&
      snapshot_finite(&s.tangents) && snapshot_finite(&s.twice))
    pair("linearize and transposed twice", &s.tangents, &s.twice, 1e-9, v);
  cxi_free(text);
  arrays_free(&in);
  snapshot *const all[] = { &s.jvp,   &s.tangents,   &s.vjp,
                            &s.grads, &s.transposed, &s.twice };
  for (int i = 0; i < 6; i++) snapshot_free(all[i]);
}

const property properties_of_calls[] = { { "stacks", stacks },
                                         { "linear", linear },
                                         { 0 } };
