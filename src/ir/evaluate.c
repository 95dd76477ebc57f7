/* evaluate.c - a row's evaluate with a workspace of its own. */
#include "base/alloc.h"
#include "ir/row.h"

/* A workspace of no bytes is a place, too. */
static _Alignas(64) char nothing[64];

int64_t cxi_workspace(const cxi_eval *e, const cxi_view *in,
                      const cxi_view *out) {
  return e->row->workspace ? e->row->workspace(e, in, out) : 0;
}

bool cxi_evaluate_in(cxi_eval *e, const cxi_view *in, cxi_view *out,
                     void *workspace) {
  e->workspace = workspace ? workspace : nothing;
  const bool done = e->row->evaluate(e, in, out);
  e->workspace = NULL;
  return done;
}

bool cxi_evaluate(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const int64_t bytes = cxi_workspace(e, in, out);
  char *room = bytes > 0 ? cxi_alloc_aligned((size_t)bytes) : NULL;
  if (bytes && !room)
    return cxi_error_set(e->error, CX_EMEMORY, "%s: out of memory",
                         cxi_prim_name(e->row->prim));
  const bool done = cxi_evaluate_in(e, in, out, room);
  cxi_free(room);
  return done;
}
