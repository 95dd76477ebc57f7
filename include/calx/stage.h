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
#define cx_trace(...) cx_trace_(CX_WITH(__VA_ARGS__), CX_AT)
#define cx_compile(...) cx_compile_(CX_WITH(__VA_ARGS__), CX_AT)
/* The program that f is on arguments like the specs; NULL after an error. */
CX_API cx_program *cx_trace_(cx_fn f, int n, const cx *specs, const char *at);
CX_API void cx_program_free(cx_program *program);
/* Its text (docs/program-text.md), which lives as long as it. */
CX_API const char *cx_program_text(const cx_program *program);
/* A program from text, checked; NULL after an error with line and column. It
 * may have a signature (docs/program-text.md). */
#define cx_program_parse(text) cx_program_parse_((text), CX_AT)
CX_API cx_program *cx_program_parse_(const char *text, const char *at);
/* The program as a function of its inputs; a tuple if it returns several. */
#define cx_program_fn(program) cx_program_fn_((program), CX_AT)
CX_API cx_fn cx_program_fn_(const cx_program *program, const char *at);
#define cx_parse(text) cx_parse_((text), CX_AT) /* both at once */
CX_API cx_fn cx_parse_(const char *text, const char *at);

/* Functions as files: NAME.calx is the text, with a line in front that tells
 * what the function takes and gives; arrays that it captured stand beside it
 * in NAME.safetensors. What was loaded is a function as any other: it is
 * differentiated, batched, checkpointed, jitted; it takes the arguments that
 * it was saved for, and its captured arrays are constants. JAX programs come
 * in this form from tools/jax2calx (docs/porting.md).
 *
 * Saves f on arguments like the specs: cx_save_fn("f.calx", f, w, x). False
 * after an error: CX_EIO, CX_EDTYPE for a captured key. */
#define cx_save_fn(path, ...) \
  cx_save_fn_((path), CX_WITH(__VA_ARGS__), CX_AT)
CX_API bool cx_save_fn_(const char *path, cx_fn f, int n, const cx *specs,
                        const char *at);
/* NULL after an error: CX_EIO with line and column for what is no program,
 * CX_ESHAPE or CX_ETREE where signature, program and constants do not fit. */
#define cx_load_fn(path) cx_load_fn_((path), CX_AT)
CX_API cx_fn cx_load_fn_(const char *path, const char *at);
/* The same, with the program in between. */
#define cx_program_load(path) cx_program_load_((path), CX_AT)
#define cx_program_save(program, path) \
  cx_program_save_((program), (path), CX_AT)
CX_API cx_program *cx_program_load_(const char *path, const char *at);
CX_API bool cx_program_save_(const cx_program *program, const char *path,
                             const char *at);
/* The number of its arguments; the name of one, "" if it has none; a tree of
 * specs like it: cx_tree_match(cx_program_arg(p, 0), cx_load(path), NULL)
 * gives a file's arrays the argument's structure. */
CX_API int cx_program_args(const cx_program *program);
CX_API const char *cx_program_arg_name(const cx_program *program, int i);
#define cx_program_arg(program, i) cx_program_arg_((program), (i), CX_AT)
CX_API CX_USED cx cx_program_arg_(const cx_program *program, int i,
                                  const char *at);

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
