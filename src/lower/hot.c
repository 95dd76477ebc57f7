/* hot.c - loops that have run for long get generated code. */
#include "lower/hot.h"

#include <stdatomic.h>

struct cxi_hot {
  const cxi_coder *coder;
  cxi_unit loop; /* its primitive, parameters and bodies */
  atomic_int_fast64_t ran;
  _Atomic(const cxi_code *) ready;
  atomic_bool making;
  cxi_code code;
  cxi_hot *next;
};

cxi_hot *cxi_hot_make(const cxi_unit *loop, const cxi_coder *coder,
                      cxi_arena *arena, cxi_hot **list) {
  cxi_hot *hot = cxi_arena_alloc(arena, sizeof *hot);
  if (!hot) return NULL;
  hot->coder = coder;
  hot->loop = (cxi_unit){ .kind = loop->kind,
                          .row = loop->row,
                          .params = loop->params,
                          .n_operands = loop->n_operands,
                          .n_results = loop->n_results,
                          .n_bodies = loop->n_bodies,
                          .bodies = loop->bodies };
  atomic_init(&hot->ran, 0);
  atomic_init(&hot->ready, NULL);
  atomic_init(&hot->making, false);
  hot->next = *list;
  *list = hot;
  return hot;
}

void cxi_hot_release(cxi_hot *list) {
  for (cxi_hot *hot = list; hot; hot = hot->next)
    if (atomic_load(&hot->ready)) hot->coder->release(&hot->code);
}

/* One thread makes the code; others run thunks meanwhile. A child process
 * that was forked in between does so for good. */
static void make(cxi_hot *hot) {
  if (atomic_exchange(&hot->making, true)) return;
  if (hot->coder->generate(&hot->loop, &hot->code))
    atomic_store(&hot->ready, &hot->code);
  else
    atomic_store(&hot->making, false);
}

const cxi_code *cxi_hot_code(cxi_hot *hot, int64_t thunks) {
  const int64_t patience = hot->coder->patience();
  if (patience == INT64_MAX) return NULL;
  const cxi_code *code =
      atomic_load_explicit(&hot->ready, memory_order_acquire);
  if (!code) {
    const int64_t ran =
        atomic_fetch_add_explicit(&hot->ran, thunks, memory_order_relaxed);
    if (ran + thunks < patience) return NULL;
    make(hot);
    code = atomic_load(&hot->ready);
  }
  return code && code->run ? code : NULL;
}
