/* while_batch.c - a while over a batch, whose lanes may stop apart. */
#include <string.h>

#include "ops/lax.h"
#include "primitives/control.h"

/* The batched loop; each mask starts from what is batched and grows. */
typedef struct batching {
  const cxi_program *cond, *body;
  bool *cond_in, *body_in; /* constants, then carries */
  bool by_lane;            /* the predicate depends on the batch */
} batching;

/* If the predicate depends on the batch, so do all carries, since each lane
 * stops at its own time. False after reporting. */
static bool find_batched(const cxi_rule *r, int64_t size, batching *b) {
  const cxi_while_params *p = r->params;
  const cxi_while_sizes n = cxi_while_sizes_of(p);
  bool ok = true, grown = true;
  bool *left = cxi_array(n.carry, sizeof *left, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return false;
  }
  bool *carry = b->body_in + n.body_consts;
  while (grown) {
    b->body = r->transforms->batch(p->body, b->body_in, size, carry, left);
    if (!b->body) return false;
    grown = cxi_join(n.carry, carry, left);
    memcpy(b->cond_in + n.cond_consts, carry, n.carry * sizeof *carry);
    b->cond =
        r->transforms->batch(p->cond, b->cond_in, size, NULL, &b->by_lane);
    if (!b->cond) return false;
    for (uint32_t i = 0; b->by_lane && i < n.carry; i++) {
      grown = grown || !carry[i];
      carry[i] = true;
    }
  }
  return true;
}

/* (consts, active, carry) -> any lane active */
static const cxi_program *any_active(const cxi_program *like, uint32_t n_in,
                                     const cxi_type *types) {
  bool ok = true;
  cx *in = cxi_array(n_in, sizeof *in, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return NULL;
  }
  cxi_builder b;
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < n_in; i++) in[i] = cxi_builder_input(&b, types[i]);
  const cx any = cxi_reduce(CXI_PRIM_reduce_or, in[0], cxi_dims_range(0, 1));
  return cxi_body_finish(&b, like, n_in, in, 1, &any);
}

/* The body might not end on what a finished lane carries, if there is another
 * loop in it: such lanes repeat what one that is active computes. */
static void follow_active(const batching *b, const cxi_while_sizes *n,
                          cx active, cx *args) {
  bool ok = true;
  if (cxi_shape_at(active).d[0] == 0) return; /* no lane */
  if (!cxi_may_not_end(b->body, &ok)) {
    if (!ok) cxi_rule_no_memory(0, NULL);
    return;
  }
  const cx lane = cxi_argmax(active, 0, CX_I32);
  for (uint32_t i = 0; i < n->body_in; i++)
    if (b->body_in[i])
      args[i] = cxi_select(cxi_per_lane(active, args[i]),
                           cxi_repeat_lane(args[i], lane), args[i]);
}

/* (body consts, cond consts, active, carry) -> active, carry: a step of the
 * lanes that are active. */
static const cxi_program *lane_step(const batching *b, const cxi_while_sizes *n,
                                    uint32_t n_in, const cxi_type *types) {
  bool ok = true;
  const uint32_t at = n->body_consts + n->cond_consts;
  cx *in = cxi_array(n_in, sizeof *in, &ok);
  cx *args = cxi_array(n_in, sizeof *args, &ok);
  cx *out = cxi_array(n->carry + (size_t)1, sizeof *out, &ok);
  if (!ok) {
    cxi_rule_no_memory(0, NULL);
    return NULL;
  }
  cxi_builder builder;
  cxi_builder_open(&builder);
  for (uint32_t i = 0; i < n_in; i++)
    in[i] = cxi_builder_input(&builder, types[i]);
  const cx active = in[at], *carry = in + at + 1;
  memcpy(args, in, n->body_consts * sizeof *args);
  memcpy(args + n->body_consts, carry, n->carry * sizeof *args);
  follow_active(b, n, active, args);
  cxi_replay(b->body, args, out + 1);
  for (uint32_t i = 0; i < n->carry; i++)
    out[1 + i] =
        cxi_select(cxi_per_lane(active, carry[i]), carry[i], out[1 + i]);
  memcpy(args, in + n->body_consts, n->cond_consts * sizeof *args);
  memcpy(args + n->cond_consts, out + 1, n->carry * sizeof *args);
  cx more;
  cxi_replay(b->cond, args, &more);
  out[0] = cxi_binary(CXI_PRIM_and, active, more);
  return cxi_body_finish(&builder, b->body, n_in, in, n->carry + 1, out);
}

/* Runs until no lane is left. Which lanes are active is a carry of its own, so
 * that the predicate is computed once a step; finished lanes keep their
 * carries, whatever the body makes of them. */
static void batch_by_lane(const batching *b, const cxi_while_sizes *n,
                          const cx *args, cx *out) {
  bool ok = true;
  const uint32_t n_in = n->in + 1, n_consts = n->start_carry;
  cx *in = cxi_array(n_in, sizeof *in, &ok);
  cx *cond_in = cxi_array(b->cond->n_in, sizeof *cond_in, &ok);
  cx *results = cxi_array(n->carry + (size_t)1, sizeof *results, &ok);
  cxi_type *types = cxi_array(n_in, sizeof *types, &ok);
  if (!ok) {
    cxi_rule_no_memory(n->carry, out);
    return;
  }
  memcpy(cond_in, args, n->cond_consts * sizeof *args);
  memcpy(cond_in + n->cond_consts, args + n_consts, n->carry * sizeof *args);
  memcpy(in, args + n->cond_consts, n->body_consts * sizeof *args);
  memcpy(in + n->body_consts, args, n->cond_consts * sizeof *args);
  cxi_replay(b->cond, cond_in, &in[n_consts]);
  memcpy(in + n_consts + 1, args + n_consts, n->carry * sizeof *args);
  for (uint32_t i = 0; i < n_in; i++) types[i] = cxi_type_at(in[i]);
  const cxi_while_params s = {
    .cond = any_active(b->cond, n->carry + 1, types + n_consts),
    .body = lane_step(b, n, n_in, types),
    .n_cond_consts = 0,
    .n_body_consts = n_consts,
  };
  if (!s.cond || !s.body) {
    cxi_rule_stop(n->carry, out);
    return;
  }
  cxi_while(&s, in, results);
  memcpy(out, results + 1, n->carry * sizeof *out);
}

/* A loop inside that lanes repeat for others (follow_active) cannot join the
 * lanes: whose values would those be? False after reporting. */
static bool may_repeat(const cxi_rule *r, const batching *b) {
  const cxi_while_params *p = r->params;
  bool ok = true;
  if (!b->by_lane || !r->axis_name ||
      !cxi_names_have(&p->body->axes, r->axis_name) ||
      !cxi_may_not_end(p->body, &ok))
    return true;
  cxi_fail(CX_ENORULE,
           "while: the lanes along \"%.60s\" stop apart, so no loop inside it "
           "may join them",
           cxi_name_text(r->axis_name));
  return false;
}

void cxi_while_batch(const cxi_rule *r, const cx *in, const int *axis,
                     int64_t size, cx *out, int *out_axis) {
  const cxi_while_params *p = r->params;
  const cxi_while_sizes n = cxi_while_sizes_of(p);
  bool ok = true;
  batching b = {
    .cond_in = cxi_array(p->cond->n_in, sizeof(bool), &ok),
    .body_in = cxi_array(n.body_in, sizeof(bool), &ok),
  };
  cx *args = cxi_array(n.in, sizeof *args, &ok);
  if (!ok) {
    cxi_rule_no_memory(n.carry, out);
    return;
  }
  for (uint32_t i = 0; i < n.cond_consts; i++) b.cond_in[i] = axis[i] >= 0;
  for (uint32_t i = 0; i < n.body_in; i++)
    b.body_in[i] = axis[n.cond_consts + i] >= 0;
  if (!find_batched(r, size, &b) || !may_repeat(r, &b)) {
    cxi_rule_stop(n.carry, out);
    return;
  }
  for (uint32_t i = 0; i < n.in; i++) {
    const bool batched =
        i < n.cond_consts ? b.cond_in[i] : b.body_in[i - n.cond_consts];
    args[i] = batched ? cxi_batched_at(in[i], axis[i], size, 0) : in[i];
  }
  if (b.by_lane) {
    batch_by_lane(&b, &n, args, out);
  } else {
    cxi_while_params s = *p;
    s.cond = b.cond;
    s.body = b.body;
    cxi_while(&s, args, out);
  }
  for (uint32_t i = 0; i < n.carry; i++)
    out_axis[i] = b.body_in[n.body_consts + i] ? 0 : -1;
}
