/* stage.h - programs and executables. */
#ifndef CALX_STAGE_H
#define CALX_STAGE_H

#include "calx/function.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- 19. Stages -------------------------------------------------------------
 * An executable needs no context: any thread, raw pointers, no allocation.
 * Its functions return the code; there is no kept error.
 */
typedef struct cx_program cx_program;
typedef struct cx_exe cx_exe;
#define cx_trace(f, ...) cx_trace_((f), CX_AS(__VA_ARGS__), CX_AT)
#define cx_compile(f, ...) cx_compile_((f), CX_AS(__VA_ARGS__), CX_AT)
/* The program that f is on arguments like the specs; NULL after an error. */
CX_API cx_program *cx_trace_(cx_fn f, int n, const cx *specs, const char *at);
CX_API void cx_program_free(cx_program *program);
/* Its text (docs/program-text.md), which lives as long as it. */
CX_API const char *cx_program_text(const cx_program *program);
/* A program from text, checked; NULL after an error with line and column. */
#define cx_program_parse(text) cx_program_parse_((text), CX_AT)
CX_API cx_program *cx_program_parse_(const char *text, const char *at);
/* The program as a function of its inputs; a tuple if it returns several. */
#define cx_program_fn(program) cx_program_fn_((program), CX_AT)
CX_API cx_fn cx_program_fn_(const cx_program *program, const char *at);
#define cx_parse(text) cx_parse_((text), CX_AT) /* both at once */
CX_API cx_fn cx_parse_(const char *text, const char *at);

/* Compiled for arguments like the specs; NULL after an error. Leaves of
 * argument trees are inputs in order, those of the result outputs. */
CX_API cx_exe *cx_compile_(cx_fn f, int n, const cx *specs, const char *at);
CX_API void cx_exe_free(cx_exe *exe);
CX_API int cx_exe_inputs(const cx_exe *exe);
CX_API int cx_exe_outputs(const cx_exe *exe);
CX_API cx_buf cx_exe_input(const cx_exe *exe, int i);   /* data NULL */
CX_API cx_buf cx_exe_output(const cx_exe *exe, int i);
CX_API size_t cx_exe_workspace(const cx_exe *exe);      /* bytes, 64-aligned */
/* in and out: a pointer to the dense data of each; workspace 64-byte aligned.
 * Calls may run at once, each with its own workspace. */
CX_API cx_code cx_exe_run(const cx_exe *exe, const void *const *in,
                          void *const *out, void *workspace);
CX_API const char *cx_exe_plan(const cx_exe *exe);      /* buffers and sites */

#ifdef __cplusplus
}
#endif
#endif
