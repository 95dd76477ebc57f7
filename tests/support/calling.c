/* calling.c - a program as a function that is called. */
#include "support/calling.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ir/text.h"

CX_STRUCT(sorted_env, (cx_fn, f), (int, n), (int, first_mask));
CX_STRUCT(of_x_env, (cx_fn, f), (cx, y), (cx, z));

CX_DEF_ENV(sorted, sorted_env, e, x, y, z) {
  cx in[CALLING_LEAVES];
  (void)y;
  for (int i = 0, a = 0, b = 0; i < e->n; i++)
    in[i] = e->first_mask >> i & 1 ? cx_leaf(x, a++) : cx_leaf(z, b++);
  return cx_call_n(e->f, e->n, in);
}

bool calling_suits(const cxi_program *p) {
  bool *floats = floating_in(p), any = false;
  for (uint32_t i = 0; i < p->n_in; i++) any = any || floats[i];
  free(floats);
  return any && p->n_in <= 20;
}

calling calling_make(const char *text, const arrays *in) {
  cx x[CALLING_LEAVES], z[CALLING_LEAVES];
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

CX_DEF_ENV(of_x, of_x_env, e, x) {
  cx floats[CALLING_LEAVES];
  int n = 0;
  cx out = cx_call(e->f, x, e->y, e->z);
  for (int i = 0; i < cx_leaf_count(out) && n < CALLING_LEAVES; i++)
    if (is_floating(cx_leaf(out, i))) floats[n++] = cx_leaf(out, i);
  return cx_tuple_n(n, floats);
}

cx_fn calling_of_x(const calling *c) {
  return CX_BIND(of_x, .f = c->f, .y = c->args[1], .z = c->args[2]);
}

void calling_with(const cxi_program *p, uint64_t seed, calling_check *check,
                  verdict *v) {
  if (!calling_suits(p)) return;
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  if (!text) return;
  arrays in = inputs_of(p, seed);
  cx_use(properties_cpu);
  {
    CX_SCOPE;
    const calling c = calling_make(text, &in);
    check(p, &c, v);
  }
  cxi_free(text);
  arrays_free(&in);
}

calling_stack calling_stack_of(uint64_t seed, uint64_t stream) {
  static const char letters[] = "GTVWJCS";
  calling_stack s = { { 0 } };
  const uint64_t n = 1 + mixed(seed, stream) % 3;
  for (uint64_t i = 0; i < n; i++)
    s.letters[i] = letters[mixed(seed, stream + 10 * (i + 1)) % 7];
  return s;
}

void calling_keep(snapshot *out, cx result) {
  if (cx_ok()) *out = snapshot_of(result);
}

void calling_compare(const char *what, const snapshot *a, const snapshot *b,
                     double tolerance, verdict *v) {
  const char *difference = snapshot_compare(a, b, tolerance);
  if (difference && a->types && b->types) refute(v, "%s: %s", what, difference);
}

void calling_refusal(const cxi_program *p, const char *what, verdict *v) {
  const char *message = "";
  cxi_error error = { .code = cx_error(&message) };
  if (error.code == CX_OK) return;
  snprintf(error.text, sizeof error.text, "%s", message);
  if (!may_be_refused(p, &error)) refute(v, "%s: %s", what, message);
}
