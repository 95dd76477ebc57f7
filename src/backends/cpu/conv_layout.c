/* conv_layout.c - how a convolution is cut for the CPU. */
#include "backends/cpu/conv.h"

#include "base/size.h"

enum {
  MAX_PHASES = 1024,
  SLOTS = 16,
  K_PART = 512,        /* of k, if there is more than twice as much */
  PATCHES = 96 * 1024, /* elements */
};

/* -- the operands ---------------------------------------------------------- */

/* The operand copied with its axes in the given order: what it is copied from,
 * and its strides then. */
static cxi_pattern copied(const cxi_operand *o, const cx_dims *order,
                          int64_t *strides) {
  cx_dims sizes = { .n = order->n };
  int64_t from[CX_MAX_DIMS], step = 1;
  for (int i = order->n - 1; i >= 0; i--) {
    sizes.d[i] = o->type.shape.d[order->d[i]];
    from[i] = o->strides[order->d[i]];
    strides[order->d[i]] = step;
    step *= sizes.d[i];
  }
  return cxi_pattern_of(&sizes, from);
}

typedef enum inner { CHANNELS, BATCH, SPACE } inner;

/* Which axis the patches are copied along, and whether the operand has to be
 * copied so that its elements lie side by side there. */
static inner choose_inner(const cxi_conv *c, const cxi_conv_strides *x,
                          bool *copy) {
  const bool channels = c->channels >= 4, batch = c->batch >= 8;
  const int last = c->n - 1;
  if (channels && x->inner == 1) return CHANNELS;
  if (batch && x->outer == 1) return BATCH;
  if (c->n && x->space[last] == 1 &&
      c->dims[last].count / c->dims[last].period >= 7)
    return SPACE;
  *copy = true;
  if (batch && c->batch >= c->channels) return BATCH;
  return channels ? CHANNELS : SPACE;
}

static cx_dims order_for(inner last, const cx_dims *axes) {
  cx_dims order = { 0 };
  if (last != BATCH) order.d[order.n++] = axes->d[0];
  if (last != CHANNELS) order.d[order.n++] = axes->d[1];
  for (int i = 2; i < axes->n; i++) order.d[order.n++] = axes->d[i];
  if (last == BATCH) order.d[order.n++] = axes->d[0];
  if (last == CHANNELS) order.d[order.n++] = axes->d[1];
  return order;
}

static void choose_operands(cxi_conv_cut *p,
                            const cxi_conv_general_dilated_params *params) {
  int64_t lhs[CX_MAX_DIMS], rhs[CX_MAX_DIMS];
  p->lhs_copied = p->rhs_copied = cxi_cpu_is_half(p->lhs.type.type);
  p->x = cxi_conv_of_lhs(params, &p->conv, p->lhs.strides);
  const inner last = choose_inner(&p->conv, &p->x, &p->lhs_copied);
  p->positions_are_rows = last == CHANNELS;
  p->batch_inner = last == BATCH;
  if (p->lhs_copied) {
    const cx_dims order = order_for(last, &params->lhs_axes);
    p->lhs_source = copied(&p->lhs, &order, lhs);
    p->x = cxi_conv_of_lhs(params, &p->conv, lhs);
  }
  p->w = cxi_conv_of_rhs(params, &p->conv, p->rhs.strides);
  if (p->rhs_copied) {
    p->rhs_source = copied(&p->rhs, &params->rhs_axes, rhs);
    p->w = cxi_conv_of_rhs(params, &p->conv, rhs);
  }
}

/* -- blocks ---------------------------------------------------------------- */

static void choose_blocks(cxi_conv_cut *p) {
  const cxi_conv *c = &p->conv;
  const int64_t nr = p->product->nr;
  int64_t k = 0, kernel = 0;
  p->kernel_panel = p->positions_are_rows ? nr : p->product->mr;
  const int64_t features =
      cxi_divide_up(c->features, p->kernel_panel) * p->kernel_panel;
  for (int64_t i = 0; i < c->phases; i++) {
    const cxi_conv_phase phase = cxi_conv_phase_of(c, i);
    if (phase.taps * c->channels > k) k = phase.taps * c->channels;
    kernel =
        cxi_size_add(kernel, cxi_size_mul(phase.taps * c->channels, features));
  }
  p->kernel_of_group = kernel;
  p->k_part = k <= 2 * K_PART ? k : K_PART;
  p->block = PATCHES / (p->k_part + 1) / nr * nr;
  p->block = cxi_least(p->block, CXI_CONV_BLOCK / nr * nr);
  p->block =
      cxi_least(p->block, cxi_divide_up(c->positions * c->batch, nr) * nr);
  if (p->block < nr) p->block = nr;
  /* a small convolution still makes a few tasks */
  while (p->block > nr &&
         c->groups * c->phases *
                 cxi_divide_up(c->positions * c->batch / c->phases, p->block) <
             4)
    p->block = cxi_divide_up(p->block / 2, nr) * nr;
  p->blocks_of_group = 0;
  for (int64_t i = 0; i < c->phases; i++)
    p->blocks_of_group +=
        cxi_divide_up(cxi_conv_phase_of(c, i).positions * c->batch, p->block);
  p->blocks = p->blocks_of_group * c->groups;
  p->n_slots = cxi_least(SLOTS, p->blocks);
  p->sums_row = p->positions_are_rows ? features : p->block;
}

static size_t take(cxi_conv_cut *p, int64_t elements) {
  return cxi_cpu_take(&p->bytes, elements, p->width);
}

static void take_memory(cxi_conv_cut *p) {
  if (p->lhs_copied) p->lhs_dense = take(p, cxi_dims_count(&p->lhs.type.shape));
  if (p->rhs_copied) p->rhs_dense = take(p, cxi_dims_count(&p->rhs.type.shape));
  p->kernel = take(p, cxi_size_mul(p->kernel_of_group, p->conv.groups));
  const int64_t rows = p->positions_are_rows ? p->block : p->conv.features;
  cxi_cpu_take(&p->patch_bytes, p->block * p->k_part, p->width);
  cxi_cpu_take(&p->sums_bytes, cxi_size_mul(rows, p->sums_row), p->width);
  p->slots = p->bytes;
  for (int64_t i = 0; i < p->n_slots; i++) {
    cxi_cpu_take(&p->bytes, (int64_t)p->patch_bytes, 1);
    cxi_cpu_take(&p->bytes, (int64_t)p->sums_bytes, 1);
  }
}

/* False if there are no kernels for it. */
static bool layout(const cxi_unit *unit, cxi_conv_cut *p) {
  const cxi_conv_general_dilated_params *params = unit->params;
  const cx_dtype type = unit->results[0].type.type;
  const cx_dtype from = unit->operands[0].type.type;
  const bool wide = from == CX_F64 && type == CX_F64;
  *p = (cxi_conv_cut){ .kernels = cxi_cpu_kernels_now(), .type = type };
  p->number = wide ? CX_F64 : CX_F32;
  p->width = cxi_dtype_bytes(p->number);
  p->product = &p->kernels->product[p->number];
  if (!p->product->mr || p->product->nr > CXI_CONV_PANEL ||
      !cxi_dtype_is_float(type) || (from == CX_F64) != (type == CX_F64))
    return false;
  p->lhs = unit->operands[0];
  p->rhs = unit->operands[1];
  p->result = unit->results[0].at;
  p->memory = unit->workspace;
  p->conv = cxi_conv_of(params, &p->lhs.type.shape, &p->rhs.type.shape,
                        &unit->results[0].type.shape);
  const cxi_conv *c = &p->conv;
  if (c->taps == 0 || c->channels == 0 || c->phases > MAX_PHASES ||
      cxi_dims_count(&p->lhs.type.shape) == 0)
    return false;
  p->y = cxi_conv_of_out(params, c, unit->results[0].strides);
  p->flops = 2.0 * (double)c->groups * (double)c->batch * (double)c->positions *
             (double)c->features * (double)c->channels * (double)c->taps /
             (double)c->phases;
  choose_operands(p, params);
  choose_blocks(p);
  take_memory(p);
  return true;
}

bool cxi_cpu_conv_takes(const cxi_unit *unit) {
  cxi_conv_cut p;
  return layout(unit, &p);
}

size_t cxi_cpu_conv_workspace(const cxi_unit *unit) {
  cxi_conv_cut p;
  return layout(unit, &p) ? p.bytes : 0;
}

bool cxi_cpu_conv(const cxi_unit *unit, cxi_arena *arena, cxi_thunk *out,
                  cxi_error *error) {
  cxi_conv_cut *p = cxi_arena_alloc(arena, sizeof *p);
  if (!p) return cxi_cpu_no_memory(error);
  layout(unit, p);
  cxi_conv_cut_phase *phases =
      cxi_arena_alloc(arena, (size_t)p->conv.phases * sizeof *phases);
  if (!phases) return cxi_cpu_no_memory(error);
  const int64_t features =
      cxi_divide_up(p->conv.features, p->kernel_panel) * p->kernel_panel;
  int64_t kernel = 0;
  for (int64_t i = 0; i < p->conv.phases; i++) {
    const cxi_conv_phase lines = cxi_conv_phase_of(&p->conv, i);
    phases[i] = (cxi_conv_cut_phase){
      lines, cxi_divide_up(lines.positions * p->conv.batch, p->block), kernel
    };
    kernel += lines.taps * p->conv.channels * features;
  }
  p->phases = phases;
  *out = (cxi_thunk){ cxi_cpu_conv_run, p };
  return true;
}
