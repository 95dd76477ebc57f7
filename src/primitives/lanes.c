/* lanes.c - an equation by itself, and a batch of it lane by lane. */
#include "ops/lax.h"
#include "primitives/control.h"

const cxi_program *cxi_rule_alone(const cxi_rule *r) {
  bool ok = true;
  cx *in = cxi_array(r->n_in, sizeof *in, &ok);
  cx *out = cxi_array(r->n_out, sizeof *out, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return NULL;
  }
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < r->n_in; i++)
    in[i] = cxi_builder_input(&b, r->in_types[i]);
  cxi_emit(r->row->prim, r->params, r->n_in, in, r->n_out, out);
  cxi_error error = { 0 };
  const cxi_program *p =
      cxi_builder_finish(&b, cxi_name_of(cxi_prim_name(r->row->prim)), r->n_in,
                         in, r->n_out, out, &error);
  const cxi_program *held = cxi_hold(p);
  cxi_program_release(p);
  if (!held) cxi_fail(error.code ? error.code : CX_EMEMORY, "%s", error.text);
  return held;
}

void cxi_batch_lanes(const cxi_rule *r, const cx *in, const int *axis,
                     int64_t size, cx *out, int *out_axis) {
  bool ok = true;
  cx *args = cxi_array(r->n_in, sizeof *args, &ok);
  uint32_t *place = cxi_array(r->n_in, sizeof *place, &ok);
  cxi_type *types = cxi_array(r->n_in, sizeof *types, &ok);
  const cxi_program *body = ok ? cxi_rule_alone(r) : NULL;
  if (!ok) cxi_rule_no_memory(r->n_out, out);
  if (!body) return;
  uint32_t n = 0;
  cxi_scan_params s = { .length = size, .unroll = 1 };
  for (uint32_t i = 0; i < r->n_in; i++) {
    if (axis[i] >= 0) continue;
    args[n] = in[i];
    place[n] = i;
    types[n++] = r->in_types[i];
  }
  s.n_consts = n;
  for (uint32_t i = 0; i < r->n_in; i++) {
    if (axis[i] < 0) continue;
    args[n] = cxi_move_axis(in[i], axis[i], 0);
    place[n] = i;
    types[n++] = r->in_types[i];
  }
  cxi_builder b;
  cx *inner = cxi_array(r->n_in, sizeof *inner, &ok);
  cx *given = cxi_array(r->n_in, sizeof *given, &ok);
  cx *results = cxi_array(r->n_out, sizeof *results, &ok);
  if (!ok) {
    cxi_rule_no_memory(r->n_out, out);
    return;
  }
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n; i++) {
    inner[i] = cxi_builder_input(&b, types[i]);
    given[place[i]] = inner[i];
  }
  cxi_replay(body, given, results);
  s.body = cxi_body_finish(&b, body, n, inner, r->n_out, results);
  if (!s.body) return;
  cxi_scan(&s, args, out);
  for (uint32_t i = 0; i < r->n_out; i++) out_axis[i] = 0;
}
