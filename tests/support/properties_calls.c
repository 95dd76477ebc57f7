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

static void stacks(const cxi_program *p, uint64_t seed, verdict *v) {
  static const char letters[] = "GTVWJCS";
  char stack[4] = { 0 };
  bool *floats = floating_in(p), any = false;
  for (uint32_t i = 0; i < p->n_in; i++) any = any || floats[i];
  free(floats);
  if (p->n_in > 20 || !any) return;
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

const property properties_of_calls[] = { { "stacks", stacks }, { 0 } };
