/* families.c - which part of the emitter takes a unit. */
#include "backends/llvm/emit.h"

enum { MOST_DEPTH = 16 }; /* of loops and branches in one function */

static const cxi_family *const families[] = {
  &cxi_family_pass,   &cxi_family_reduce, &cxi_family_dot,    &cxi_family_move,
  &cxi_family_window, &cxi_family_index,  &cxi_family_random,
};

const cxi_family *cxi_family_of(const cxi_codegen *e, const cxi_unit *unit) {
  if (unit->kind == CXI_UNIT_NONE) return NULL;
  if (e->depth < MOST_DEPTH && cxi_family_control.takes(e, unit))
    return &cxi_family_control;
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (families[i]->takes(e, unit)) return families[i];
  return NULL;
}
