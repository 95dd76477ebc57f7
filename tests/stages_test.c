/* stages_test.c - docs/architecture.md shows one function at each stage.
 *
 * With the argument --write it writes that part of the page, which otherwise
 * must be what it would write. */
#include "backends/cpu/cpu.h"
#include "base/alloc.h"
#include "ir/nest.h"
#include "ir/text.h"
#include "lower/plan.h"
#include "support/calls.h"
#include "support/page.h"
#include "transforms/transforms.h"

CX_DEF(loss, w, x) {
  return cx_sum(cx_tanh(cx_einsum("ij,j->i", x, w)));
}

/* -- programs ------------------------------------------------------------- */

/* What the C function records on (3) and (4, 3). */
static const cxi_program *recorded(void) {
  cxi_error error = { 0 };
  cx_program *traced =
      cx_trace(CX_FN(loss), cx_spec(CX_F32, 3), cx_spec(CX_F32, 4, 3));
  assert_good();
  const char *text = cx_program_text(traced);
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  cx_program_free(traced);
  assert_non_null(p);
  return p;
}

static void add_program(cxi_bytes *to, const char *title,
                        const cxi_program *p) {
  assert_non_null(p);
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  assert_non_null(text);
  page_add(to, "%s\n```\n", title);
  cxi_bytes_add(to, text, strlen(text));
  page_add(to, "```\n");
  cxi_free(text);
}

/* -- the schedule --------------------------------------------------------- */

static void add_operands(cxi_bytes *to, uint32_t n, const cxi_operand *all) {
  for (uint32_t i = 0; i < n; i++)
    page_add(to, "%s v%u", i ? "," : "", all[i].value);
}
static void add_unit(cxi_bytes *to, uint32_t number, const cxi_unit *u) {
  page_add(to, "unit %u:", number);
  add_operands(to, u->n_results, u->results);
  page_add(to, " <-");
  if (u->kind == CXI_UNIT_FUSED)
    for (uint32_t i = 0; i < u->n_ops; i++)
      page_add(to, "%s %s%s", i ? "," : "", cxi_prim_name(u->ops[i].row->prim),
               u->ops[i].per_row ? " (per row)" : "");
  else if (u->kind == CXI_UNIT_ONE)
    page_add(to, " %s", cxi_prim_name(u->row->prim));
  page_add(to, " of");
  add_operands(to, u->n_operands, u->operands);
  if (u->kind == CXI_UNIT_FUSED && u->n)
    page_add(to, "; one pass over %d rows of %d", (int)u->rows, (int)u->n);
  else if (u->kind == CXI_UNIT_FUSED)
    page_add(to, "; one pass over %d elements", (int)u->rows);
  page_add(to, "\n");
}
static void add_schedule(cxi_bytes *to, const cxi_program *p) {
  cxi_error error = { 0 };
  const cxi_donation donation = { NULL, -1 };
  cxi_schedule s = { 0 };
  assert_true(cxi_graph_fill(&s.graph, p, cxi_cpu_backend.reads_views, &error));
  assert_true(cxi_plan_outputs(&s.graph, &donation));
  assert_true(cxi_units_make(&s, &cxi_cpu_backend, &error) &&
              cxi_units_order(&s, &error));
  for (uint32_t u = 0; u < s.n_units; u++) add_unit(to, u, &s.units[u]);
  cxi_schedule_free(&s);
}

/* -- the page ------------------------------------------------------------- */

static void add_stages(cxi_bytes *to) {
  cxi_error error = { 0 };
  const bool wrt[] = { true, false }, yes[] = { true };
  bool reached[1];
  cxi_hold_enter();
  const cxi_program *p = recorded();
  add_program(to,
              "**trace** runs the C function once; each operation appends "
              "an equation.",
              p);
  const cxi_program *jvp = cxi_jvp(p, wrt, NULL, false, reached, &error);
  add_program(to, "**jvp** carries a tangent `%2` of `w` along.", jvp);
  cxi_partial parts;
  assert_true(cxi_linearize(p, wrt, &parts, reached, &error));
  add_program(to,
              "**linearize** is the same walk, written into two programs. "
              "The known one\ncomputes the value and the residuals,",
              parts.known);
  add_program(to, "the other is linear in the tangent.", parts.unknown);
  const bool linear[] = { true, false, false };
  add_program(to,
              "**transpose** walks the linear program backwards: from the "
              "cotangent of the\nresult to that of `w`.",
              cxi_transpose_program(parts.unknown, linear, yes, NULL, &error));
  const cxi_program *vjp = cxi_vjp(p, wrt, yes, &error);
  add_program(to,
              "**vjp** joins the known program and the transposed one: "
              "value and gradient.",
              vjp);
  const bool batched[] = { false, true, false };
  bool batched_out[2];
  const cxi_program *batch =
      cxi_batch(vjp, batched, 5, NULL, batched_out, &error);
  add_program(to,
              "**batch** gives every value that depends on the batch an "
              "axis more: five `x`,\none `w`.",
              batch);
  const cxi_program *simple = cxi_simplify(batch, &error);
  add_program(to,
              "**simplify** drops what is dead or computed twice, with the "
              "same bits.",
              simple);
  page_add(to,
           "**lower** makes units of it, each one pass or one library call, "
           "in an order that\nneeds little memory (the plan of buffers "
           "follows). `vN` are values of the flat\ngraph, inputs first.\n"
           "```\n");
  add_schedule(to, simple);
  page_add(to, "```\n");
  cxi_hold_leave();
  cxi_program_release(p);
}

static bool write;
static void the_page_shows_each_stage(void **state) {
  (void)state;
  CX_SCOPE;
  cxi_bytes text = { 0 };
  add_stages(&text);
  assert_false(text.failed);
  const char *wrong = page_part("docs/architecture.md", "stages", &text, write);
  if (wrong) fail_msg("%s", wrong);
  cxi_bytes_free(&text);
}

int main(int argc, char **argv) {
  write = argc > 1 && strcmp(argv[1], "--write") == 0;
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_page_shows_each_stage),
  };
  return cmocka_run_group_tests_name("stages", tests, setup, teardown);
}
