/* hot.c - loops that have run for long get generated code. */
#include "lower/hot.h"

struct cxi_hot {
  const cxi_coder *coder;
  cxi_unit loop; /* its primitive, parameters and bodies */
  atomic_int_fast64_t ran;
  cxi_coding coding;
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
  atomic_init(&hot->coding.ready, NULL);
  atomic_init(&hot->coding.stage, 0);
  hot->coding.loop = &hot->loop;
  hot->next = *list;
  *list = hot;
  return hot;
}

void cxi_hot_release(cxi_hot *list) {
  for (cxi_hot *hot = list; hot; hot = hot->next)
    hot->coder->release(&hot->coding);
}

const cxi_code *cxi_hot_code(cxi_hot *hot, int64_t thunks,
                             const cxi_running *running) {
  const cx_loops when = hot->coder->when(running->loops);
  if (when == CX_LOOPS_OFF) return NULL;
  const cxi_code *code =
      atomic_load_explicit(&hot->coding.ready, memory_order_acquire);
  if (!code) {
    const int64_t ran = thunks + atomic_fetch_add_explicit(
                                     &hot->ran, thunks, memory_order_relaxed);
    hot->coder->ask(&hot->coding, ran, when);
    code = atomic_load_explicit(&hot->coding.ready, memory_order_acquire);
  }
  return code && code->run ? code : NULL;
}
