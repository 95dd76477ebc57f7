/* properties_calls.c - what must hold of a program that is called, under stacks
 * of transforms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/text.h"
#include "support/calling.h"

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
  if (!calling_suits(p)) return;
  arrays in = inputs_of(p, seed);
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  for (uint64_t k = 0; text && k < 2 && !v->failed; k++) {
    const calling_stack stack = calling_stack_of(seed, 300 + k);
    check_stack(p, text, &in, stack.letters, v);
  }
  cxi_free(text);
  arrays_free(&in);
}

const property properties_of_calls[] = { { "stacks", stacks }, { 0 } };
