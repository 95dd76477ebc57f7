/* stage.c - programs and executables as objects of the user. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "calx/stage.h"
#include "ir/text.h"
#include "ops/ops.h"
#include "runtime/executables.h"
#include "runtime/devices.h"
#include "runtime/stage.h"
#include "trace/call.h"

struct cx_exe {
  cxi_executable *exe; /* a reference */
  int threads;
  uint32_t n_leading;
  cxi_array **leading; /* captured arrays; references */
};

/* -- tracing -------------------------------------------------------------- */

/* Resolves; all leading operands must have values, which the object keeps. */
static bool invoke(cxi_invocation *c, const char *what, cx_fn f, int n,
                   const cx *specs) {
  if (!cxi_invoke(c, f, n, specs)) return false;
  const uint32_t n_leading = c->entry->n_lead + c->entry->n_extras;
  for (uint32_t i = 0; i < n_leading; i++) {
    if (c->operands[i].kind == CXI_ITEM_ARRAY ||
        c->operands[i].kind == CXI_ITEM_NUMBER)
      continue;
    c->poison = cxi_reportf(CX_ETRACE,
                            "%s: %s captured a value that is being"
                            " traced",
                            what, c->f->code->name);
    return false;
  }
  return true;
}

cx_program *cxi_program_object(const cxi_program *p, const char *name,
                               uint32_t n_args, uint32_t n_leading) {
  cx_program *made = cxi_alloc_zeroed(1, sizeof *made);
  cxi_sig *args = cxi_alloc((n_args + (size_t)1) * sizeof *args);
  cxi_name *names = cxi_alloc_zeroed(n_args + (size_t)1, sizeof *names);
  cxi_item *leading = cxi_alloc((n_leading + (size_t)1) * sizeof *leading);
  if (!made || !args || !names || !leading) {
    cxi_free(made);
    cxi_free(args);
    cxi_free(names);
    cxi_free(leading);
    cxi_report_memory();
    return NULL;
  }
  *made = (cx_program){ .p = cxi_program_retain(p),
                        .name = name,
                        .n_args = n_args,
                        .args = args,
                        .arg_names = names,
                        .leading = leading };
  return made;
}

static cx_program *program_of(const cxi_invocation *c) {
  const uint32_t n_leading = c->entry->n_lead + c->entry->n_extras;
  cx_program *made = cxi_program_object(c->entry->program, c->f->code->name,
                                        c->n_args, n_leading);
  if (!made) return NULL;
  made->out = c->entry->out;
  memcpy(made->args, c->sigs + c->f->n_captures,
         c->n_args * sizeof *made->args);
  for (uint32_t i = 0; i < c->n_args; i++)
    made->arg_names[i] = cxi_name_of(cxi_argument_name(c->f->code, i).name);
  for (uint32_t i = 0; i < n_leading; i++)
    made->leading[made->n_leading++] = cxi_item_retain(c->operands[i]);
  return made;
}

cx_program *cx_trace_(cx_fn f, int n, const cx *specs, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_invocation c;
  cx_program *made = NULL;
  if (invoke(&c, "trace", f, n, specs)) made = program_of(&c);
  cxi_invocation_end(&c);
  cxi_scratch_reset(mark);
  cxi_site_use(before);
  return made;
}

void cx_program_free(cx_program *program) {
  if (!program) return;
  for (uint32_t i = 0; i < program->n_leading; i++)
    cxi_item_release(program->leading[i]);
  cxi_program_release(program->p);
  cxi_free(program->args);
  cxi_free(program->arg_names);
  cxi_free(program->leading);
  cxi_free(program->text);
  cxi_free(program);
}

const char *cx_program_text(const cx_program *program) {
  if (!program) return "";
  if (!program->text) {
    char *text = cxi_program_print(program->p, (cxi_text_options){ 0 });
    char *expected = NULL;
    if (!__atomic_compare_exchange_n(&((cx_program *)program)->text, &expected,
                                     text, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
      cxi_free(text);
  }
  if (program->text) return program->text;
  cxi_report_memory();
  return "";
}

cx_fn cx_program_fn_(const cx_program *program, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  if (!program || !cxi_context_need()) return NULL;
  return cxi_fn_of_program(program->p, program->name, program->n_leading,
                           program->leading, program->n_args,
                           program->arg_names, program->args, program->out);
}

/* -- executables ---------------------------------------------------------- */

/* Captured arrays as objects; numbers become arrays. */
static cxi_array *leading_array(cxi_item item) {
  if (item.kind == CXI_ITEM_ARRAY) return cxi_array_retain(item.as.array);
  cxi_array *a = cxi_array_make(item.type, NULL);
  if (a) memcpy(a->data, &item.as.bits, cxi_array_bytes(a));
  return a;
}

static cx_exe *exe_of(const cxi_invocation *c) {
  cxi_error error = { 0 };
  const struct cxi_backend *backend = cxi_context_now()->device->backend;
  if (!backend) backend = cxi_cpu_device.backend;
  cx_exe *made = cxi_alloc_zeroed(1, sizeof *made);
  const uint32_t n = c->entry->n_lead + c->entry->n_extras;
  cxi_array **leading = cxi_alloc_zeroed(n + 1u, sizeof *leading);
  bool good = made && leading;
  if (good) {
    made->leading = leading;
    made->threads = cxi_context_now()->threads;
    for (; made->n_leading < n && good; made->n_leading++) {
      leading[made->n_leading] = leading_array(c->operands[made->n_leading]);
      good = leading[made->n_leading] != NULL;
      if (good) leading[made->n_leading]->pinned = true;
    }
  }
  if (!good) cxi_error_set(&error, CX_EMEMORY, "out of memory");
  if (good)
    made->exe =
        cxi_executable_for(c->entry->program, backend, NULL, NULL, &error);
  if (good && made->exe) return made;
  cxi_report_error(c->f->code->name, &error);
  if (made)
    made->leading = leading;
  else
    cxi_free(leading);
  cx_exe_free(made);
  return NULL;
}

cx_exe *cx_compile_(cx_fn f, int n, const cx *specs, const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_mark mark = cxi_scratch_mark();
  cxi_invocation c;
  cx_exe *made = NULL;
  if (invoke(&c, "compile", f, n, specs)) made = exe_of(&c);
  cxi_invocation_end(&c);
  cxi_scratch_reset(mark);
  cxi_site_use(before);
  return made;
}

void cx_exe_free(cx_exe *exe) {
  if (!exe) return;
  for (uint32_t i = 0; exe->leading && i < exe->n_leading; i++)
    cxi_array_release(exe->leading[i]);
  cxi_executable_release(exe->exe);
  cxi_free(exe->leading);
  cxi_free(exe);
}

static const cxi_program *program_in(const cx_exe *exe) {
  return cxi_executable_program(exe->exe);
}

int cx_exe_inputs(const cx_exe *exe) {
  return exe ? (int)(program_in(exe)->n_in - exe->n_leading) : 0;
}

int cx_exe_outputs(const cx_exe *exe) {
  return exe ? (int)program_in(exe)->n_out : 0;
}

static cx_buf buffer_of(cxi_type type) {
  const cx_aval *aval = cxi_type_aval(type);
  return (cx_buf){ NULL, aval->type, aval->shape };
}

cx_buf cx_exe_input(const cx_exe *exe, int i) {
  if (i < 0 || i >= cx_exe_inputs(exe)) return (cx_buf){ 0 };
  return buffer_of(program_in(exe)->values[exe->n_leading + (uint32_t)i].type);
}

cx_buf cx_exe_output(const cx_exe *exe, int i) {
  if (i < 0 || i >= cx_exe_outputs(exe)) return (cx_buf){ 0 };
  return buffer_of(cxi_output_type(program_in(exe), (uint32_t)i));
}

/* Behind the executable's own workspace stand the input pointers, when
 * captured arrays come before the caller's. */
static size_t pointer_bytes(const cx_exe *exe) {
  if (exe->n_leading == 0) return 0;
  return cxi_aligned(program_in(exe)->n_in * sizeof(void *));
}

size_t cx_exe_workspace(const cx_exe *exe) {
  if (!exe) return 0;
  return cxi_executable_workspace(exe->exe) + pointer_bytes(exe);
}

cx_code cx_exe_run(const cx_exe *exe, const void *const *in, void *const *out,
                   void *workspace) {
  cxi_error error = { 0 };
  if (!exe || (cx_exe_inputs(exe) && !in) || !out || !workspace)
    return CX_EUSER;
  if ((uintptr_t)workspace % 64) return CX_EUSER;
  const void *const *inputs = in;
  if (exe->n_leading) {
    const void **all =
        (const void **)(void *)((char *)workspace +
                                cxi_executable_workspace(exe->exe));
    for (uint32_t i = 0; i < exe->n_leading; i++)
      all[i] = exe->leading[i]->data;
    const int n = cx_exe_inputs(exe);
    if (n > 0) memcpy(all + exe->n_leading, in, (size_t)n * sizeof *all);
    inputs = all;
  }
  const bool good = cxi_executable_run(exe->exe, inputs, out, workspace,
                                       exe->threads, &error);
  return good ? CX_OK : error.code;
}

const char *cx_exe_plan(const cx_exe *exe) {
  return exe ? cxi_executable_plan(exe->exe) : "";
}
