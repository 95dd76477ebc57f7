/* conv.c - what the parameters of conv_general_dilated say of two shapes. */
#include "ir/conv.h"

#include "base/size.h"

typedef cxi_conv_general_dilated_params params;

cxi_conv cxi_conv_of(const params *p, const cx_dims *lhs, const cx_dims *rhs,
                     const cx_dims *out) {
  cxi_conv c = { .n = p->strides.n, .phases = 1 };
  cx_dims windows = { .n = c.n }, counts = windows;
  c.groups = p->feature_groups * p->batch_groups;
  c.batch = out->d[p->out_axes.d[0]];
  c.features = rhs->d[p->rhs_axes.d[0]] / c.groups;
  c.channels = rhs->d[p->rhs_axes.d[1]];
  for (int i = 0; i < c.n; i++) {
    cxi_conv_dim *d = &c.dims[i];
    *d = (cxi_conv_dim){ .size = lhs->d[p->lhs_axes.d[i + 2]],
                         .window = rhs->d[p->rhs_axes.d[i + 2]],
                         .count = out->d[p->out_axes.d[i + 2]],
                         .stride = p->strides.d[i],
                         .low = p->low.d[i],
                         .gap = p->lhs_dilation.d[i],
                         .spread = p->rhs_dilation.d[i] };
    d->period = d->gap / cxi_size_divisor(d->stride, d->gap);
    if (d->period > d->count) d->period = d->count;
    windows.d[i] = d->window;
    counts.d[i] = d->count;
  }
  c.taps = cxi_dims_count(&windows);
  c.positions = cxi_dims_count(&counts);
  for (int i = 0; c.positions > 0 && i < c.n; i++) c.phases *= c.dims[i].period;
  return c;
}

static cxi_conv_strides pick(const cx_dims *axes, int outer, int inner,
                             const int64_t *strides) {
  cxi_conv_strides s = { .outer = strides[axes->d[outer]],
                         .inner = strides[axes->d[inner]] };
  for (int i = 2; i < axes->n; i++) s.space[i - 2] = strides[axes->d[i]];
  return s;
}

cxi_conv_strides cxi_conv_of_lhs(const params *p, const cxi_conv *c,
                                 const int64_t *strides) {
  cxi_conv_strides s = pick(&p->lhs_axes, 0, 1, strides);
  s.group = p->batch_groups > 1 ? c->batch * s.outer : c->channels * s.inner;
  return s;
}

cxi_conv_strides cxi_conv_of_rhs(const params *p, const cxi_conv *c,
                                 const int64_t *strides) {
  cxi_conv_strides s = pick(&p->rhs_axes, 0, 1, strides);
  s.group = c->features * s.outer;
  return s;
}

cxi_conv_strides cxi_conv_of_out(const params *p, const cxi_conv *c,
                                 const int64_t *strides) {
  cxi_conv_strides s = pick(&p->out_axes, 0, 1, strides);
  s.group = c->features * s.inner;
  return s;
}

/* Positions `first` modulo the period of d. */
static cxi_conv_line line_of(const cxi_conv_dim *d, int64_t first) {
  const int64_t taps = d->gap / cxi_size_divisor(d->spread, d->gap);
  cxi_conv_line l = { .first = first,
                      .step = d->gap / cxi_size_divisor(d->stride, d->gap),
                      .tap_step = taps,
                      .size = d->size };
  l.count = 1 + (d->count - 1 - first) / l.step;
  l.advance = d->stride / cxi_size_divisor(d->stride, d->gap);
  l.reach = d->spread / cxi_size_divisor(d->spread, d->gap);
  const int64_t place = first * d->stride - d->low;
  for (int64_t t = 0; t < taps && t < d->window; t++) {
    const int64_t at = place + t * d->spread;
    if (at % d->gap != 0) continue;
    l.tap = t;
    l.taps = 1 + (d->window - 1 - t) / taps;
    l.start = at / d->gap;
    break;
  }
  return l;
}

cxi_conv_phase cxi_conv_phase_of(const cxi_conv *c, int64_t i) {
  cxi_conv_phase phase = { .n = c->n, .positions = 1, .taps = 1 };
  for (int k = c->n - 1; k >= 0; k--) {
    phase.lines[k] = line_of(&c->dims[k], i % c->dims[k].period);
    i /= c->dims[k].period;
    phase.positions *= phase.lines[k].count;
    phase.taps *= phase.lines[k].taps;
  }
  return phase;
}
