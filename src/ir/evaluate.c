/* evaluate.c - a row's evaluate with a workspace of its own. */
#include "base/alloc.h"
#include "ir/row.h"

/* A workspace of no bytes is a place, too. */
static _Alignas(64) char nothing[64];

bool cxi_evaluate(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const int64_t bytes = e->row->workspace ? e->row->workspace(e, in, out) : 0;
  char *room = bytes > 0 ? cxi_alloc_aligned((size_t)bytes) : NULL;
  if (bytes && !room)
    return cxi_error_set(e->error, CX_EMEMORY, "%s: out of memory",
                         cxi_prim_name(e->row->prim));
  e->workspace = room ? room : nothing;
  const bool done = e->row->evaluate(e, in, out);
  cxi_free(room);
  e->workspace = NULL;
  return done;
}
