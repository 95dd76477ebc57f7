/* code_key.c - what the code of a loop or pass depends on, as a hash.
 *
 * The programs of the bodies say what is computed; how they were lowered
 * follows from them and the build. It is written down all the same, field by
 * field, as the emitter reads it: a plan that came out otherwise is another
 * loop, whatever the reason. The code of a pass is told where its buffers lie
 * and how many elements they have, so that of those there is only what they
 * are to each other. */
#include <stdio.h>

#include "backends/cpu/code_object.h"
#include "base/alloc.h"
#include "base/build.h"
#include "base/isa.h"
#include "ir/identity.h"
#include "lower/loop.h"

static void add_ref(cxi_bytes *b, cxi_ref ref) {
  cxi_bytes_add_u32(b, ref.base);
  cxi_bytes_add_u64(b, (uint64_t)ref.offset);
}

static void add_operand(cxi_bytes *b, const cxi_operand *o) {
  cxi_bytes_add_u32(b, o->value);
  cxi_bytes_add_u32(b, o->root);
  cxi_aval_write(b, &o->type);
  for (int i = 0; i < o->type.shape.n; i++)
    cxi_bytes_add_u64(b, (uint64_t)o->strides[i]);
  cxi_bytes_add_u64(b, (uint64_t)o->offset);
  add_ref(b, o->at);
}

static void add_operands(cxi_bytes *b, const cxi_operand *o, uint32_t n) {
  cxi_bytes_add_u32(b, n);
  for (uint32_t k = 0; k < n; k++) add_operand(b, &o[k]);
}

static void add_op(cxi_bytes *b, const cxi_unit *u, const cxi_op *op) {
  cxi_bytes_add_u32(b, op->row->prim);
  cxi_params_write(b, op->row->prim, op->params);
  cxi_bytes_add_u32(b, op->type);
  cxi_bytes_add_u32(b, (uint32_t)op->per_row | (uint32_t)op->reduces << 1);
  cxi_bytes_add_u32(b, (uint32_t)op->result);
  cxi_bytes_add_u32(b, op->n_in);
  for (uint32_t k = 0; k < op->n_in; k++) {
    cxi_bytes_add_u32(b, u->sources[op->in + k].fused);
    cxi_bytes_add_u32(b, u->sources[op->in + k].index);
  }
}

static void add_unit(cxi_bytes *b, const cxi_unit *u) {
  cxi_bytes_add_u32(b, u->kind);
  cxi_bytes_add_u32(b, u->n_bodies);
  add_operands(b, u->operands, u->n_operands);
  add_operands(b, u->results, u->n_results);
  if (u->kind == CXI_UNIT_ONE) {
    cxi_bytes_add_u32(b, u->row->prim);
    cxi_params_write(b, u->row->prim, u->params);
  }
  cxi_bytes_add_u32(b, u->n_ops);
  for (uint32_t i = 0; i < u->n_ops; i++) add_op(b, u, &u->ops[i]);
  cxi_bytes_add_u64(b, (uint64_t)u->rows);
  cxi_bytes_add_u64(b, (uint64_t)u->n);
  cxi_bytes_add_u64(b, u->workspace_bytes);
  add_ref(b, u->workspace);
}

static void add_graph(cxi_bytes *b, const cxi_graph *g) {
  cxi_bytes_add_u32(b, g->n_values);
  for (uint32_t i = 0; i < g->n_values; i++) {
    const cxi_graph_value *v = &g->values[i];
    cxi_bytes_add_u32(b, v->source);
    cxi_aval_write(b, cxi_type_aval(v->type));
    cxi_bytes_add_u32(b, v->place.root);
    if (v->source == CXI_LITERAL) cxi_bytes_add_u64(b, v->bits);
  }
  cxi_bytes_add_u32(b, g->n_out);
  for (uint32_t j = 0; j < g->n_out; j++) cxi_bytes_add_u32(b, g->outputs[j]);
}

static void add_plan(cxi_bytes *b, const cxi_plan *p) {
  cxi_bytes_add_u32(b, p->n_in);
  cxi_bytes_add_u32(b, p->n_out);
  cxi_bytes_add_u32(b, p->n_thunks);
  cxi_bytes_add_u64(b, p->slab_offset);
  cxi_bytes_add_u64(b, p->bytes);
  for (uint32_t j = 0; j < p->n_out; j++)
    cxi_bytes_add_u32(b, (uint32_t)p->alias[j]);
  add_graph(b, &p->schedule->graph);
  cxi_bytes_add_u32(b, p->schedule->n_units);
  for (uint32_t u = 0; u < p->schedule->n_units; u++)
    add_unit(b, &p->schedule->units[u]);
}

void cxi_code_stamp(const char *llvm, char *stamp) {
  snprintf(stamp, 200, "calx %s, LLVM %.32s, %s", cxi_build_id, llvm,
           cxi_isa_name(cxi_isa_now()));
}

/* The code of a scan is told how many steps there are: one for all lengths. */
static void add_loop(cxi_bytes *b, const cxi_unit *loop) {
  cxi_bytes_add_u32(b, loop->row->prim);
  if (loop->row->prim == CXI_PRIM_scan) {
    cxi_scan_params p = *(const cxi_scan_params *)loop->params;
    p.length = 0;
    cxi_params_write(b, loop->row->prim, &p);
  } else {
    cxi_params_write(b, loop->row->prim, loop->params);
  }
}

static bool add_loop_and_plans(cxi_bytes *b, const cxi_unit *loop) {
  cxi_plans plans;
  if (!cxi_loop_plans(loop, &plans)) return false;
  add_loop(b, loop);
  cxi_bytes_add_u32(b, plans.n);
  for (uint32_t i = 0; i < plans.n; i++) add_plan(b, plans.d[i]);
  cxi_free(plans.d);
  return true;
}

/* An operand as this equation reads it. */
static void add_source(cxi_bytes *b, const cxi_unit *u, const cxi_op *op,
                       const cxi_source *source, int64_t rows, int64_t n) {
  cxi_bytes_add_u32(b, source->fused);
  cxi_bytes_add_u32(b, source->index);
  if (source->fused) return;
  const cxi_operand *o = &u->operands[source->index];
  cxi_bytes_add_u32(b, o->type.type);
  cxi_bytes_add_u32(b, cxi_operand_cover(o, cxi_reads_rows(u, op), rows, n));
}

static void add_pass(cxi_bytes *b, const cxi_unit *u) {
  int64_t rows, n;
  cxi_unit_extents(u, &rows, &n);
  cxi_bytes_add_u32(b, CXI_PRIM_NONE); /* no loop */
  cxi_bytes_add_u32(b, u->n > 0);
  cxi_bytes_add_u32(b, u->n_operands);
  cxi_bytes_add_u32(b, u->n_ops);
  for (uint32_t i = 0; i < u->n_ops; i++) {
    const cxi_op *op = &u->ops[i];
    cxi_bytes_add_u32(b, op->row->prim);
    if (!cxi_generates(op)) cxi_params_write(b, op->row->prim, op->params);
    if (op->row->prim == CXI_PRIM_iota)
      cxi_bytes_add_u32(b, cxi_index_cover(u, op, rows, n));
    cxi_bytes_add_u32(b, op->type);
    cxi_bytes_add_u32(b, (uint32_t)op->per_row | (uint32_t)op->reduces << 1);
    cxi_bytes_add_u32(b, (uint32_t)op->result);
    cxi_bytes_add_u32(b, op->n_in);
    for (uint32_t k = 0; k < op->n_in; k++)
      add_source(b, u, op, &u->sources[op->in + k], rows, n);
  }
}

bool cxi_code_key(const struct cxi_unit *unit, const char *llvm,
                  cxi_hash *out) {
  cxi_bytes b = { 0 };
  char stamp[200];
  bool ok = true;
  cxi_code_stamp(llvm, stamp);
  cxi_bytes_add_text(&b, stamp);
  if (unit->kind == CXI_UNIT_FUSED)
    add_pass(&b, unit);
  else
    ok = add_loop_and_plans(&b, unit);
  ok = ok && !b.failed;
  if (ok) *out = cxi_hash_bytes(b.data, b.n);
  cxi_bytes_free(&b);
  return ok;
}
