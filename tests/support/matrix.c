/* matrix.c - the table of primitives by rule and executor. */
#include "support/matrix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"
#include "ir/text.h"
#include "lower/loop.h"

/* -- holes and their reasons ----------------------------------------------- */

typedef struct reason {
  cxi_prim prim;
  const char *text;
} reason;

/* Of rows with sub-programs that are not cut in two. */
static const reason no_partial_eval[] = {
  { CXI_PRIM_reduce, "whole: its program joins two elements" },
  { CXI_PRIM_reduce_window, "whole: its program joins two elements" },
  { CXI_PRIM_select_and_scatter, "whole: its programs see single elements" },
  { CXI_PRIM_composite, "whole: jvp leaves forward and backward programs" },
  { CXI_PRIM_custom_jvp, "whole: jvp leaves its rule" },
  { CXI_PRIM_custom_vjp, "whole: jvp leaves fwd and custom_lin" },
  { CXI_PRIM_custom_lin, "whole: linear, all of it is unknown" },
  { CXI_PRIM_custom_vmap, "whole: its derivative is another equation" },
  { CXI_PRIM_custom_vmap_derivative, "whole: linear, all of it is unknown" },
  { CXI_PRIM_linear_solve, "whole: an iteration has no known part" },
  { CXI_PRIM_root, "whole: an iteration has no known part" },
};

static const char *reason_of(const reason *list, size_t n, cxi_prim prim) {
  for (size_t i = 0; i < n; i++)
    if (list[i].prim == prim) return list[i].text;
  return NULL;
}

static bool has_programs(cxi_prim prim) {
  return cxi_schema_has_programs(cxi_schema_of(prim));
}

/* -- cells ----------------------------------------------------------------- */

static const char *form_of(const cxi_row *row) {
  static const char *const names[] = {
    [CXI_FORM_ELEMENTWISE] = "elementwise",
    [CXI_FORM_MOVE] = "move",
    [CXI_FORM_INDEX] = "index",
    [CXI_FORM_REDUCE] = "reduce",
    [CXI_FORM_PRODUCT] = "product",
    [CXI_FORM_SOURCE] = "source",
    [CXI_FORM_CALL] = "call",
    [CXI_FORM_CONTROL] = "control",
    [CXI_FORM_HOST] = "host",
    [CXI_FORM_NEVER] = "never",
  };
  return names[row->form];
}

static const char *reference_of(const cxi_row *row) {
  if (row->form == CXI_FORM_NEVER) return "an error";
  if (row->expand) return "its expansion";
  return "evaluate";
}

/* How the units of a schedule run the primitive; what is better comes first. */
typedef enum way { KERNEL, FUSED, BLOCKS, LOOP, VIEW, INLINE, REFERENCE } way;

static way way_of_op(const cxi_unit *u, const cxi_op *op) {
  const cxi_cpu_kernels *kernels = cxi_cpu_kernels_now();
  cx_dtype types[CXI_FUSED_OPERANDS] = { 0 };
  bool wide;
  for (uint32_t k = 0; k < op->n_in; k++)
    types[k] = cxi_source_type(u, op, k);
  if (op->row->form == CXI_FORM_SOURCE) return FUSED;
  if (!op->reduces)
    return cxi_cpu_find_kernel(kernels, op->row->prim, op->n_in, types,
                               op->type, &wide)
               ? FUSED
               : BLOCKS;
  const cx_dtype number = cxi_cpu_is_half(types[0]) ? CX_F32 : types[0];
  return kernels->reduce[number] && kernels->reduce[number][op->row->prim].rows
             ? FUSED
             : BLOCKS;
}

static way way_of_unit(const cxi_unit *u, const cxi_row *row, way best) {
  way found = REFERENCE;
  bool there = u->kind == CXI_UNIT_ONE && u->row == row;
  for (uint32_t i = 0; u->kind == CXI_UNIT_FUSED && i < u->n_ops; i++)
    if (u->ops[i].row == row) {
      const way one = way_of_op(u, &u->ops[i]);
      there = true;
      if (one < found) found = one;
    }
  if (!there) return best;
  if (cxi_is_loop(row->prim))
    found = LOOP;
  else if (cxi_cpu_move_takes(u) || row->prim == CXI_PRIM_dot_general ||
           row->prim == CXI_PRIM_conv_general_dilated ||
           (row->form == CXI_FORM_REDUCE && u->kind == CXI_UNIT_ONE &&
            cxi_cpu_reduce_takes(u)))
    found = KERNEL; /* products: where the instruction set has them */
  return found < best ? found : best;
}

static way way_in(const cxi_program *p, const cxi_row *row) {
  cxi_expansions kept = { 0 };
  cxi_schedule s = { .graph.expansions = &kept };
  cxi_error error = { CX_OK, "" };
  const cxi_donation none = { NULL, -1 };
  way best = INLINE;
  bool runs = false;
  if (!cxi_graph_fill(&s.graph, p, cxi_cpu_backend.reads_views, &error) ||
      !cxi_plan_outputs(&s.graph, &none) ||
      !cxi_units_make(&s, &cxi_cpu_backend, &error))
    fail_msg("%s: %s", cxi_prim_name(row->prim), error.text);
  for (uint32_t i = 0; i < s.graph.n_nodes; i++) {
    if (s.graph.nodes[i].row != row) continue;
    if (s.graph.nodes[i].kind == CXI_NODE_RUN)
      runs = true;
    else
      best = VIEW;
  }
  if (runs) best = REFERENCE;
  for (uint32_t u = 0; runs && u < s.n_units; u++)
    best = way_of_unit(&s.units[u], row, best);
  cxi_schedule_free(&s);
  cxi_expansions_release(&kept);
  return best;
}

/* By all examples: the first in the order above. */
static const char *cpu_of(const cxi_row *row) {
  static const char *const names[] = {
    [KERNEL] = "kernel",         [FUSED] = "fused kernel",
    [BLOCKS] = "fused evaluate", [LOOP] = "compiled loop",
    [VIEW] = "a view",           [INLINE] = "inlined",
    [REFERENCE] = "evaluate",
  };
  if (row->form == CXI_FORM_NEVER) return "an error";
  if (row->expand) return "its expansion";
  way best = REFERENCE;
  for (const char *const *text = row->examples; text && *text; text++) {
    cxi_error error = { CX_OK, "" };
    const cxi_program *p = cxi_program_parse(*text, strlen(*text), &error);
    if (!p) fail_msg("%s: %s", cxi_prim_name(row->prim), error.text);
    const way one = way_in(p, row);
    if (one < best) best = one;
    cxi_program_release(p);
  }
  return names[best];
}

static const char *partial_eval_of(const cxi_row *row) {
  if (row->partial_eval) return "yes";
  if (!has_programs(row->prim)) return "whole";
  return reason_of(no_partial_eval,
                   sizeof no_partial_eval / sizeof *no_partial_eval, row->prim);
}

/* As cxi_program_flops counts. */
static const char *flops_of(const cxi_row *row) {
  if (row->flops) return "the row's";
  if (row->form == CXI_FORM_NEVER) return "never run";
  switch (row->form) {
  case CXI_FORM_MOVE:
  case CXI_FORM_INDEX:
    return "0";
  case CXI_FORM_REDUCE:
    return "operand";
  case CXI_FORM_CALL:
  case CXI_FORM_CONTROL:
    return has_programs(row->prim) ? "body" : "result";
  default:
    return "result";
  }
}

static const char *text_of(const cxi_row *row) {
  if (row->examples && row->examples[0]) return "yes";
  if (row->prim == CXI_PRIM_callback) return "printed; a C function has none";
  if (row->form == CXI_FORM_HOST) return "yes"; /* printed_samples */
  return row->form == CXI_FORM_NEVER ? "only in dumps" : NULL;
}

/* -- the page -------------------------------------------------------------- */

static void add_text(cxi_bytes *to, const char *text) {
  for (; *text; text++) {
    if (*text == '|') cxi_bytes_add(to, "\\", 1);
    cxi_bytes_add(to, text, 1);
  }
}

static void add_cell(cxi_bytes *to, const cxi_row *row, const char *column,
                     const char *text) {
  if (!text) fail_msg("%s: %s, or a reason", cxi_prim_name(row->prim), column);
  cxi_bytes_add(to, " | ", 3);
  add_text(to, text);
}

static void add_row(cxi_bytes *to, const cxi_row *row) {
  cxi_bytes_add(to, "| `", 3);
  add_text(to, cxi_prim_name(row->prim));
  cxi_bytes_add(to, "`", 1);
  add_cell(to, row, "formula", row->formula);
  add_cell(to, row, "form", form_of(row));
  add_cell(to, row, "jvp", row->jvp ? "yes" : row->no_jvp);
  add_cell(to, row, "transpose", row->transpose ? "yes" : row->no_transpose);
  add_cell(to, row, "batch", row->batch ? "yes" : row->no_batch);
  add_cell(to, row, "partial eval", partial_eval_of(row));
  add_cell(to, row, "reference", reference_of(row));
  add_cell(to, row, "cpu", cpu_of(row));
  add_cell(to, row, "flops", flops_of(row));
  add_cell(to, row, "text", text_of(row));
  cxi_bytes_add(to, " |\n", 3);
}

static const char head[] =
    "# Primitives\n\n"
    "Every primitive with its rules and what runs it, written by "
    "`build/dev/bin/tests/table_test --write`.\n"
    "Where a rule is missing, the reason stands in its place.\n\n"
    "- partial eval: `whole`: an equation is known or unknown as a whole.\n"
    "- reference, cpu: what runs it on the executor, the best of its examples. "
    "A\n  `kernel` is its own; `fused` with its neighbours it goes through "
    "memory "
    "once;\n  `evaluate` is the plain C of the row; a view and what is inlined "
    "cost nothing.\n"
    "- flops: counted by the row, or the elements of the operand or result, "
    "or the\n"
    "  programs inside.\n"
    "- text: printed, parsed and compared.\n\n"
    "| primitive | computes | form | jvp | transpose | batch | partial eval | "
    "reference | cpu | flops | text |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|\n";

cxi_bytes primitive_matrix(void) {
  cxi_bytes out = { 0 };
  cxi_bytes_add(&out, head, sizeof head - 1);
  for (int prim = CXI_PRIM_NONE + 1; prim < CXI_N_PRIMS; prim++)
    add_row(&out, cxi_row_of((cxi_prim)prim));
  assert_false(out.failed);
  return out;
}
