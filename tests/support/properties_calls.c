/* properties_calls.c - what must hold of a program that is called, under stacks
 * of transforms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/text.h"
#include "support/calling.h"
#include "support/stacks.h"
#include "support/verdict.h"

static snapshot call(cx_ctx *context, const cxi_program *p, const char *text,
                     const arrays *in, const char *stack, const char *plain,
                     verdict *v) {
  cx_use(context);
  CX_SCOPE;
  const calling c = calling_make(text, in);
  cx_fn f = stack_make(c.f, stack, plain);
  snapshot s = snapshot_of(cx_call(f, c.args[0], c.args[1], c.args[2]));
  char what[24];
  snprintf(what, sizeof what, "under \"%s\"", stack);
  calling_refusal(p, what, v);
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

static void stacks(const cxi_program *p, uint64_t seed, verdict *v) {
  static const char letters[] = "GTVWJCS";
  char stack[4] = { 0 };
  if (!calling_suits(p)) return;
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

/* Its derivative in every form in which it can be asked for. */
typedef struct linear_calls {
  snapshot jvp, tangents; /* cx_jvp, cx_linearize */
  snapshot vjp, grads;    /* cx_vjp, cx_pullback */
  snapshot transposed;    /* cx_linear_transpose of what cx_linearize made */
  snapshot twice;         /* the transpose of the transpose, on the tangents */
} linear_calls;

static void call_linear(linear_calls *s, const char *text, const arrays *in) {
  const calling c = calling_make(text, in);
  cx_fn f = calling_of_x(&c);
  cx x = cx_tuple(c.args[0]), dx = cx_tuple(cx_cos(c.args[0])), out;
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

static void linear(const cxi_program *p, uint64_t seed, verdict *v) {
  if (!calling_suits(p)) return;
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  if (!text) return;
  arrays in = inputs_of(p, seed);
  linear_calls s = { 0 };
  cx_use(properties_cpu);
  {
    CX_SCOPE;
    call_linear(&s, text, &in);
    calling_refusal(p, "linear", v);
  }
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
  cxi_free(text);
  arrays_free(&in);
  snapshot *const all[] = { &s.jvp,   &s.tangents,   &s.vjp,
                            &s.grads, &s.transposed, &s.twice };
  for (int i = 0; i < 6; i++) snapshot_free(all[i]);
}

const property properties_of_calls[] = { { "stacks", stacks },
                                         { "linear", linear },
                                         { 0 } };
