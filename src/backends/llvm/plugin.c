/* plugin.c - the library's table: from a loop or pass to a function. */
#include "backends/cpu/plugin.h"

#include <llvm-c/Analysis.h>
#include <stdio.h>
#include <string.h>

#include "backends/llvm/emit.h"
#include "backends/llvm/machine.h"
#include "base/alloc.h"
#include "base/build.h"

static const cxi_plugin_host *host;
static const char function_name[] = "cxi_code";

/* What outlives the making of a function. */
typedef struct owner {
  cxi_arena arena;
  cxi_machine_code code;
} owner;

/* -- the report ------------------------------------------------------------ */

static const char *name_of(const cxi_unit *unit, char *room, size_t size) {
  if (unit->kind != CXI_UNIT_FUSED) return host->prim_name(unit->row->prim);
  size_t at = 0;
  for (uint32_t i = 0; i < unit->n_ops && at + 1 < size; i++)
    at += (size_t)snprintf(room + at, size - at, "%s%s", i ? " " : "",
                           host->prim_name(unit->ops[i].row->prim));
  return room;
}

void cxi_note(cxi_codegen *e, const cxi_unit *unit, const char *how) {
  char room[160];
  if (!e->report) return;
  e->report =
      cxi_arena_print(e->arena, "%s%*s%s: %s\n", e->report, 2 * e->depth, "",
                      how, name_of(unit, room, sizeof room));
}

/* -- the function ---------------------------------------------------------- */

static void set_attribute(const cxi_codegen *e, const char *name,
                          const char *value) {
  LLVMAddAttributeAtIndex(
      e->function, LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(e->c, name, (unsigned)strlen(name), value,
                                (unsigned)strlen(value)));
}

static void open_function(cxi_codegen *e, bool loop) {
  char bits[16];
  e->module = LLVMModuleCreateWithNameInContext(function_name, e->c);
  e->ptr = LLVMPointerTypeInContext(e->c, 0);
  e->i64 = LLVMInt64TypeInContext(e->c);
  e->i32 = LLVMInt32TypeInContext(e->c);
  e->i8 = LLVMInt8TypeInContext(e->c);
  e->i1 = LLVMInt1TypeInContext(e->c);
  LLVMTypeRef of_loop[] = { e->ptr, e->ptr, e->ptr, e->i64, e->ptr, e->ptr };
  LLVMTypeRef of_range[] = { e->ptr, e->i64, e->i64, e->i64,
                             e->i64, e->i64, e->ptr, e->ptr };
  e->function = LLVMAddFunction(
      e->module, function_name,
      loop ? LLVMFunctionType(e->i8, of_loop, 6, false)
           : LLVMFunctionType(LLVMVoidTypeInContext(e->c), of_range, 8, false));
  snprintf(bits, sizeof bits, "%d", (int)(8 * e->vector_bytes));
  set_attribute(e, "prefer-vector-width", bits);
  set_attribute(e, "min-legal-vector-width", bits);
  set_attribute(e, "nounwind", "");
  e->running = loop ? LLVMGetParam(e->function, 4) : NULL;
  e->table = LLVMGetParam(e->function, loop ? 5 : 7);
  e->locals = LLVMCreateBuilderInContext(e->c);
  e->b = LLVMCreateBuilderInContext(e->c);
  LLVMPositionBuilderAtEnd(e->locals, cxi_block(e, "variables"));
  LLVMPositionBuilderAtEnd(e->b, cxi_block(e, "start"));
}

static void close_function(cxi_codegen *e, bool loop) {
  if (loop)
    LLVMBuildRet(e->b, LLVMConstInt(e->i8, 1, false));
  else
    LLVMBuildRetVoid(e->b);
  LLVMBuildBr(e->locals,
              LLVMGetNextBasicBlock(LLVMGetEntryBasicBlock(e->function)));
}

/* Pointers first .. first + n - 1 of an array of pointers. */
static LLVMValueRef *load_pointers(cxi_codegen *e, LLVMValueRef from,
                                   uint32_t first, uint32_t n) {
  LLVMValueRef *p = cxi_values(e, n);
  for (uint32_t i = 0; p && i < n; i++)
    p[i] = LLVMBuildLoad2(
        e->b, e->ptr,
        cxi_after(e, from, (int64_t)sizeof(char *) * (first + (int64_t)i)), "");
  return p;
}

static void emit_loop(cxi_codegen *e, const cxi_unit *loop) {
  const bool scans = loop->row->prim == CXI_PRIM_scan;
  const cxi_plan *body = loop->bodies[scans ? 0 : 1];
  const uint32_t n = cxi_loop_carries(loop);
  const uint32_t consts =
      scans ? (uint32_t)((const cxi_scan_params *)loop->params)->n_consts
            : body->n_in - n;
  const LLVMValueRef memory = LLVMGetParam(e->function, 0);
  const uint32_t in = CXI_BASE_FIRST, out = CXI_BASE_FIRST + body->n_in;
  cxi_steps s = { .unit = loop,
                  .body_memory = memory,
                  .cond_memory = LLVMGetParam(e->function, 1),
                  .steps = LLVMGetParam(e->function, 3),
                  .consts = load_pointers(e, memory, in, consts),
                  .from = load_pointers(e, memory, in + consts, n),
                  .to = load_pointers(e, memory, out, n),
                  .other =
                      load_pointers(e, LLVMGetParam(e->function, 2), 0, n) };
  if (scans) {
    s.xs = load_pointers(e, memory, in + consts + n, body->n_in - consts - n);
    s.ys = load_pointers(e, memory, out + n, body->n_out - n);
  } else {
    s.cond_consts =
        load_pointers(e, s.cond_memory, in, loop->bodies[0]->n_in - n);
  }
  if (e->short_of_memory) return;
  cxi_steps_emit(e, &s);
  for (uint32_t k = 0; k < n; k++)
    LLVMBuildStore(
        e->b, s.from[k],
        cxi_after(e, memory,
                  (int64_t)sizeof(char *) * (in + consts + (int64_t)k)));
}

/* Is there anything in the loop that code would do without a call? A pass is
 * taken as a whole. */
static bool worth_it(cxi_codegen *e, const cxi_unit *loop) {
  if (loop->kind == CXI_UNIT_FUSED) return cxi_range_takes(e, loop);
  for (uint32_t i = 0; i < loop->n_bodies; i++) {
    if (!loop->bodies[i]->schedule) return false;
    const cxi_schedule *s = loop->bodies[i]->schedule;
    for (uint32_t u = 0; u < s->n_units; u++)
      if (cxi_family_of(e, &s->units[u])) return true;
  }
  return false;
}

static bool make_module(cxi_codegen *e, const cxi_unit *unit) {
  const cxi_mark mark = cxi_scratch_mark();
  const bool loop = unit->kind != CXI_UNIT_FUSED;
  e->is_final = !loop;
  open_function(e, loop);
  if (loop)
    emit_loop(e, unit);
  else
    cxi_range_emit(e, unit);
  close_function(e, loop);
  cxi_scratch_reset(mark);
  if (e->short_of_memory || !e->report) return false;
  char *text = NULL;
  const bool valid =
      !LLVMVerifyModule(e->module, LLVMReturnStatusAction, &text);
  if (!valid)
    e->report = cxi_arena_print(e->arena, "%snot valid: %s\n", e->report, text);
  if (text) LLVMDisposeMessage(text);
  return valid;
}

static void dispose(cxi_codegen *e) {
  if (e->b) LLVMDisposeBuilder(e->b);
  if (e->locals) LLVMDisposeBuilder(e->locals);
  if (e->module) LLVMDisposeModule(e->module);
  LLVMContextDispose(e->c);
}

/* -- the table ------------------------------------------------------------- */

static bool open(const cxi_plugin_host *given, const char **out_why) {
  host = given;
  return cxi_machine_open(&given->target, out_why);
}

static void release(cxi_object *object) {
  owner *own = object->owner;
  if (!own) return;
  cxi_machine_free(&own->code);
  cxi_arena arena = own->arena;
  cxi_arena_free(&arena);
  *object = (cxi_object){ 0 };
}

/* A pass has no plans. */
static bool find_plans(cxi_codegen *e, const cxi_unit *unit) {
  return unit->kind == CXI_UNIT_FUSED || cxi_loop_plans(unit, &e->plans);
}

static bool make_object(cxi_codegen *e, const cxi_unit *unit, owner *own,
                        cxi_object *out, const char **why) {
  *why = "no memory";
  if (!find_plans(e, unit)) return false;
  bool good = true;
  if (worth_it(e, unit)) {
    good = make_module(e, unit) &&
           cxi_machine_make(e->module, e->is_final, function_name, &own->code,
                            why);
    out->code = own->code.bytes;
    out->bytes = own->code.size;
    out->entry = own->code.entry;
    out->imports = e->imports;
    out->n_imports = e->n_imports;
  }
  out->report = e->report;
  cxi_free(e->plans.d);
  return good && e->report;
}

static bool generate(const cxi_unit *unit, cxi_object *out, const char **why) {
  *out = (cxi_object){ 0 };
  *why = "no memory";
  cxi_arena arena = { 0 };
  owner *own = cxi_arena_alloc(&arena, sizeof *own);
  if (!own) return false;
  own->arena = arena;
  cxi_codegen e = { .host = host,
                    .vector_bytes = host->target.vector_bytes,
                    .c = LLVMContextCreate(),
                    .arena = &own->arena };
  e.report = cxi_arena_print(e.arena, "%s", "");
  out->owner = own;
  const bool good = make_object(&e, unit, own, out, why);
  dispose(&e);
  cxi_scratch_free();
  if (!good) release(out);
  return good;
}

static char *assemble(const cxi_unit *unit, const cxi_target *target) {
  cxi_arena arena = { 0 };
  char *text = NULL;
  cxi_codegen e = { .host = host,
                    .vector_bytes = target->vector_bytes,
                    .c = LLVMContextCreate(),
                    .arena = &arena };
  e.report = cxi_arena_print(e.arena, "%s", "");
  if (find_plans(&e, unit) && make_module(&e, unit))
    text = cxi_machine_assemble(e.module, e.is_final, target);
  cxi_free(e.plans.d);
  dispose(&e);
  cxi_arena_free(&arena);
  return text;
}

static void free_text(char *text) {
  if (text) LLVMDisposeMessage(text);
}

__attribute__((visibility("default"))) const cxi_plugin *cxi_plugin_table(void);
const cxi_plugin *cxi_plugin_table(void) {
  static cxi_plugin table;
  table = (cxi_plugin){ .version = CXI_PLUGIN_VERSION,
                        .signature = cxi_plugin_signature(),
                        .build = cxi_build_id,
                        .llvm = cxi_machine_version(),
                        .open = open,
                        .generate = generate,
                        .release = release,
                        .assemble = assemble,
                        .free_text = free_text };
  return &table;
}
