/* evaluate.c - a row's evaluate with a workspace of its own. */
#include "base/alloc.h"
#include "ir/row.h"

bool cxi_evaluate(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const int64_t bytes = e->row->workspace ? e->row->workspace(e, in, out) : 0;
  e->workspace = bytes > 0 ? cxi_alloc_aligned((size_t)bytes) : NULL;
  if (bytes && !e->workspace)
    return cxi_error_set(e->error, CX_EMEMORY, "%s: out of memory",
                         cxi_prim_name(e->row->prim));
  const bool done = e->row->evaluate(e, in, out);
  cxi_free(e->workspace);
  e->workspace = NULL;
  return done;
}
