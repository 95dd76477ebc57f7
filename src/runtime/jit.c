/* jit.c - the compiled way of a cx_jit function. */
#include "trace/call.h"

bool cxi_run_compiled(cxi_invocation *call, cxi_item *out, cx *out_poison) {
  return cxi_run_program(call->entry->program, call->operands, out, out_poison);
}
