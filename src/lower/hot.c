/* hot.c - loops and passes that have run for long get generated code. */
#include "lower/hot.h"

struct cxi_hot {
  const cxi_coder *coder;
  cxi_unit unit; /* what the coder may look at */
  atomic_int_fast64_t ran;
  cxi_coding coding;
  cxi_hot *next;
};

static void keep_loop(cxi_unit *to, const cxi_unit *loop) {
  *to = (cxi_unit){ .kind = loop->kind,
                    .site = loop->site,
                    .scope = loop->scope,
                    .row = loop->row,
                    .params = loop->params,
                    .n_operands = loop->n_operands,
                    .n_results = loop->n_results,
                    .n_bodies = loop->n_bodies,
                    .bodies = loop->bodies };
}

/* Its schedule goes once the program is compiled. */
static bool keep_pass(cxi_unit *to, const cxi_unit *pass, cxi_arena *arena) {
  size_t n_sources = 0;
  for (uint32_t i = 0; i < pass->n_ops; i++) n_sources += pass->ops[i].n_in;
  *to = (cxi_unit){ .kind = pass->kind,
                    .site = pass->site,
                    .scope = pass->scope,
                    .n_operands = pass->n_operands,
                    .n_results = pass->n_results,
                    .n_ops = pass->n_ops,
                    .rows = pass->rows,
                    .n = pass->n };
  to->operands = cxi_arena_copy(arena, pass->operands,
                                pass->n_operands * sizeof *to->operands);
  to->results = cxi_arena_copy(arena, pass->results,
                               pass->n_results * sizeof *to->results);
  to->ops = cxi_arena_copy(arena, pass->ops, pass->n_ops * sizeof *to->ops);
  to->sources =
      cxi_arena_copy(arena, pass->sources, n_sources * sizeof *to->sources);
  return to->operands && to->results && to->ops && to->sources;
}

cxi_hot *cxi_hot_make(const cxi_unit *unit, const cxi_coder *coder,
                      cxi_arena *arena, cxi_hot **list) {
  cxi_hot *hot = cxi_arena_alloc(arena, sizeof *hot);
  if (!hot) return NULL;
  hot->coder = coder;
  if (unit->kind == CXI_UNIT_FUSED) {
    if (!keep_pass(&hot->unit, unit, arena)) return NULL;
  } else {
    keep_loop(&hot->unit, unit);
  }
  atomic_init(&hot->ran, 0);
  atomic_init(&hot->coding.ready, NULL);
  atomic_init(&hot->coding.stage, 0);
  hot->coding.unit = &hot->unit;
  hot->next = *list;
  *list = hot;
  return hot;
}

static const char *report_unit(const cxi_unit *u, cxi_arena *arena,
                               const char *text) {
  const char *site = cxi_name_text(u->site), *scope = cxi_name_text(u->scope);
  text = cxi_arena_print(arena, "%scode:", text);
  if (u->kind != CXI_UNIT_FUSED)
    text = text ? cxi_arena_print(arena, "%s %s", text,
                                  cxi_prim_name(u->row->prim))
                : NULL;
  for (uint32_t i = 0; text && i < u->n_ops; i++)
    text = cxi_arena_print(arena, "%s %s", text,
                           cxi_prim_name(u->ops[i].row->prim));
  return text ? cxi_arena_print(arena, "%s%s%s%s%s\n", text, *site ? ", " : "",
                                site, *scope ? " " : "", scope)
              : NULL;
}

/* The list begins with the last. */
const char *cxi_hot_report(const cxi_hot *list, cxi_arena *arena,
                           const char *text) {
  if (!list || !text) return text;
  text = cxi_hot_report(list->next, arena, text);
  const cxi_code *code =
      atomic_load_explicit(&list->coding.ready, memory_order_acquire);
  return text && code && code->entry ? report_unit(&list->unit, arena, text)
                                     : text;
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
  return code && code->entry ? code : NULL;
}
