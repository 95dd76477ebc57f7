/* plan_check_test.c - the checker of plans: what the planner makes is right,
 * and what was moved by hand is found wrong. Every plan of every other test is
 * checked too, in builds for development. */
#include "backends/cpu/cpu.h"
#include "base/alloc.h"
#include "ir/text.h"
#include "lower/plan.h"
#include "support/calls.h"

/* Four products: v3 and v4 live together, as v4 and v5 do. */
static const char chain[] =
#define DOT                                                                    \
  "f32[8,8] = dot_general[lhs_contract=(1), rhs_contract=(0), lhs_batch=(),"   \
  " rhs_batch=(), type=f32] "
    "program @main(%0: f32[8,8], %1: f32[8,8]) {\n"
    "  %2: " DOT "%0, %1\n"
    "  %3: " DOT "%1, %0\n"
    "  %4: " DOT "%2, %3\n"
    "  %5: " DOT "%4, %3\n"
    "  return %5\n"
    "}\n";

typedef struct planned {
  const cxi_program *program;
  cxi_schedule s;
  cxi_arena arena;
  cxi_plan plan;
  cxi_error error;
} planned;

static const cxi_donation none = { NULL, -1 };

static void plan_open(planned *p) {
  *p = (planned){ 0 };
  p->program = cxi_program_parse(chain, strlen(chain), &p->error);
  assert_non_null(p->program);
  const cxi_backend *backend = &cxi_cpu_backend;
  assert_true(cxi_graph_fill(&p->s.graph, p->program, backend->reads_views,
                             &p->error) &&
              cxi_plan_outputs(&p->s.graph, &none) &&
              cxi_units_make(&p->s, backend, &p->error) &&
              cxi_units_order(&p->s, &p->error) &&
              cxi_plan_buffers(&p->s, backend, &none, &p->arena, &p->plan,
                               &p->error));
  assert_int_equal(p->s.n_units, 4);
}

static void plan_close(planned *p) {
  cxi_schedule_free(&p->s);
  cxi_arena_free(&p->arena);
  cxi_program_release(p->program);
}

/* The buffer of unit u's result, wherever it is named. */
static void move(planned *p, uint32_t u, cxi_ref to) {
  const uint32_t root = p->s.units[u].results[0].root;
  for (uint32_t i = 0; i < p->s.n_units; i++) {
    cxi_unit *unit = &p->s.units[i];
    for (uint32_t k = 0; k < unit->n_operands; k++)
      if (unit->operands[k].root == root) unit->operands[k].at = to;
    for (uint32_t k = 0; k < unit->n_results; k++)
      if (unit->results[k].root == root) unit->results[k].at = to;
  }
}

static void assert_wrong(planned *p, const char *why) {
  assert_false(cxi_plan_check(&p->s, &p->plan, &none, &p->error));
  if (!strstr(p->error.text, why))
    fail_msg("\"%s\" is not in \"%s\"", why, p->error.text);
  plan_close(p);
}

static void what_is_planned(void **state) {
  (void)state;
  planned p;
  plan_open(&p);
  if (!cxi_plan_check(&p.s, &p.plan, &none, &p.error))
    fail_msg("%s", p.error.text);
  plan_close(&p);
}

static void what_was_moved(void **state) {
  (void)state;
  planned p;
  plan_open(&p);
  const cxi_ref first = p.s.units[0].results[0].at;
  move(&p, 1, first);
  assert_wrong(&p, "read after it was overwritten");
  plan_open(&p);
  move(&p, 1, (cxi_ref){ first.base, first.offset + 64 });
  assert_wrong(&p, "read after it was overwritten");
  plan_open(&p);
  move(&p, 2, (cxi_ref){ first.base, first.offset + 64 });
  assert_wrong(&p, "over a part of what the step reads");
  plan_open(&p);
  move(&p, 0, (cxi_ref){ CXI_BASE_FIRST + 1, 0 });
  assert_wrong(&p, "over an input that is not donated");
  plan_open(&p);
  move(&p, 0, (cxi_ref){ CXI_BASE_CONSTANTS, 0 });
  assert_wrong(&p, "over a constant");
  plan_open(&p);
  move(&p, 0, (cxi_ref){ CXI_BASE_SLAB, (int64_t)p.plan.peak_bytes - 64 });
  assert_wrong(&p, "beyond the slab");
  plan_open(&p);
  move(&p, 0, (cxi_ref){ CXI_BASE_SLAB, -64 });
  assert_wrong(&p, "before its memory");
  plan_open(&p);
  move(&p, 3, first);
  assert_wrong(&p, "not in its output at the end");
}

/* A workspace over what the step reads, and under its result. */
static void workspaces(void **state) {
  (void)state;
  planned p;
  plan_open(&p);
  cxi_unit *unit = &p.s.units[2];
  unit->workspace_bytes = 64;
  unit->workspace = unit->operands[0].at;
  assert_wrong(&p, "under the step's workspace");
  plan_open(&p);
  unit = &p.s.units[2];
  unit->workspace_bytes = 64;
  unit->workspace = unit->results[0].at;
  assert_wrong(&p, "under a result");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_planned),
    cmocka_unit_test(what_was_moved),
    cmocka_unit_test(workspaces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
