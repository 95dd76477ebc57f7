/* stages.c - a fused unit as loops over a row, one after the other.
 *
 * What reads a row's sum must wait until the row was summed: that is another
 * loop over it. A value per element that a later loop reads crosses. */
#include "lower/schedule.h"

/* The first stage in which a source exists. */
static uint32_t exists_in(const cxi_unit *u, const cxi_source *s,
                          const uint32_t *stages) {
  return s->fused ? stages[s->index] + u->ops[s->index].reduces : 0;
}

uint32_t cxi_unit_stages(const cxi_unit *u, uint32_t *stages,
                         uint32_t *crossing, uint32_t *out_n_crossing) {
  uint32_t n = 0, n_crossing = 0;
  for (uint32_t i = 0; i < u->n_ops; i++) {
    const cxi_op *op = &u->ops[i];
    stages[i] = 0;
    for (uint32_t k = 0; k < op->n_in; k++) {
      const uint32_t from = exists_in(u, &u->sources[op->in + k], stages);
      if (from > stages[i]) stages[i] = from;
    }
    if (stages[i] + op->reduces + 1 > n) n = stages[i] + op->reduces + 1;
    crossing[i] = 0;
    for (uint32_t k = 0; k < op->n_in; k++) {
      const cxi_source *s = &u->sources[op->in + k];
      if (s->fused && !u->ops[s->index].per_row && !crossing[s->index] &&
          stages[s->index] < stages[i])
        crossing[s->index] = ++n_crossing;
    }
  }
  if (out_n_crossing) *out_n_crossing = n_crossing;
  return n;
}

/* An operand's place may be taken by the result of an equation that comes after
 * its last reader: in loops one after the other that must be so still. */
bool cxi_unit_stages_keep(const cxi_unit *u, const uint32_t *stages) {
  for (uint32_t i = 0; i < u->n_ops; i++)
    for (uint32_t j = i + 1; j < u->n_ops; j++)
      if (u->ops[j].result >= 0 && !u->ops[j].per_row && stages[j] < stages[i])
        return false;
  return true;
}
