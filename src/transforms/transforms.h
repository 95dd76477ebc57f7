/* transforms.h - program -> program, memoised.
 *
 * Each function returns programs that are held (cxi_hold): alive until the
 * outermost walk of the thread ends; callers that keep one retain it, callers
 * that make several stand between cxi_hold_enter and cxi_hold_leave. NULL or
 * false: *error says why. Masks are arrays of bool; NULL is "none". */
#ifndef CXI_TRANSFORMS_H
#define CXI_TRANSFORMS_H

#include "ir/builder.h"
#include "ir/row.h"

/* The tables given to rules: in the quiet one narrow is cxi_narrow_quiet. */
extern const cxi_transforms cxi_transforms_table, cxi_transforms_quiet;

/* Forward mode: (ins, nonzero tangents) -> (outs, nonzero out tangents). */
const cxi_program *cxi_jvp(const cxi_program *p, const bool *nonzero_in,
                           const bool *instantiate_out, bool linearizing,
                           bool *nonzero_out, cxi_error *error);

/* known(primals) -> (outs, residuals); unknown(nonzero tangents, residuals)
 * -> nonzero out tangents, linear in the tangents. */
bool cxi_linearize(const cxi_program *p, const bool *nonzero_in,
                   cxi_partial *out, bool *nonzero_out, cxi_error *error);

/* known(known ins) -> (known outs, residuals); unknown(unknown ins,
 * residuals) -> unknown outs. */
bool cxi_partial_eval(const cxi_program *p, const bool *unknown_in,
                      const bool *force_unknown_out, cxi_partial *out,
                      bool *unknown_out, cxi_error *error);

/* p without what its outputs do not need, sub-programs too: what a program is
 * before it is transposed. What a loop or a branch does with a tangent for
 * nothing would give it a cotangent of zeros, which is not none: 0 * inf. */
const cxi_program *cxi_live_part(const cxi_program *p, cxi_error *error);
/* (ins not linear, cotangents in mask, accumulators in mask) -> a cotangent
 * for each linear in, zeros where nothing reaches it. */
const cxi_program *cxi_transpose_program(const cxi_program *p,
                                         const bool *linear_in,
                                         const bool *cotangent_out,
                                         const bool *accumulator_in,
                                         cxi_error *error);

/* The same of the live part of p, linear in its first ins; cotangents of the
 * outs in mask (NULL: of the floating ones). */
const cxi_program *cxi_transpose_linear(const cxi_program *p, uint32_t n_linear,
                                        const bool *cotangent_out,
                                        cxi_error *error);
/* (ins not in wrt, cotangents of the floating outs) -> a cotangent of each in
 * in wrt, of any p that is linear in these: what does not depend on them is
 * split off first. */
const cxi_program *cxi_transpose_part(const cxi_program *p, const bool *wrt,
                                      cxi_error *error);

/* (ins, cotangents of the outs in mask) -> (outs, cotangents of ins in wrt).
 * Integer outs have no cotangent. The base of grad, vjp, value_and_grad. */
const cxi_program *cxi_vjp(const cxi_program *p, const bool *wrt,
                           const bool *cotangent_out, cxi_error *error);
/* The same into b, the current emitter, without a program of p's own in between:
 * on p's ins and the cotangents in `in`, out gets what the program returns.
 * False with *error; b is then to be abandoned. */
bool cxi_vjp_into(cxi_builder *b, const cxi_program *p, const bool *wrt,
                  const bool *cotangent_out, const cx *in, cx *out,
                  cxi_error *error);

/* Batched inputs carry the batch at axis 0, as do batched outputs. */
const cxi_program *cxi_batch(const cxi_program *p, const bool *batched_in,
                             int64_t size, const bool *force_out,
                             bool *batched_out, cxi_error *error);
/* Over an axis with a name: resolves the collectives that have it (0: none). */
const cxi_program *cxi_batch_named(const cxi_program *p, cxi_name name,
                                   const bool *batched_in, int64_t size,
                                   const bool *force_out, bool *batched_out,
                                   cxi_error *error);
/* For rules: a sub-program over the axis of the batch that they are part of. */
const cxi_program *cxi_batch_within(const cxi_program *p,
                                    const bool *batched_in, int64_t size,
                                    const bool *force_out, bool *batched_out,
                                    cxi_error *error);

/* (ins) -> (error, outs): i32[], 0 or the number (base/failure.h) of what went
 * wrong first. kinds: a set of cx_check_kind. */
const cxi_program *cxi_checkify(const cxi_program *p, unsigned kinds,
                                cxi_error *error);

/* Dead code, common subexpressions, forwarding; the same bits. */
const cxi_program *cxi_simplify(const cxi_program *p, cxi_error *error);

const cxi_program *cxi_select_program(const cxi_program *p, const uint32_t *in,
                                      uint32_t n_out, const uint32_t *out,
                                      cxi_error *error);

/* The outputs in used_out (NULL: all) and only the inputs that they and the
 * effects need; used_in (NULL: keep all inputs) says which those are. Dead code
 * is dropped in sub-programs too. */
const cxi_program *cxi_narrow(const cxi_program *p, const bool *used_out,
                              bool *used_in, cxi_error *error);

/* The same without effects whose results are not needed. */
const cxi_program *cxi_narrow_quiet(const cxi_program *p, const bool *used_out,
                                    bool *used_in, cxi_error *error);

/* The source line at which the last transform of this thread failed, 0: not
 * known. */
cxi_name cxi_transform_error_site(void);

/* How many times a transform ran on a program (not found in the memo), by
 * name: "jvp", "linearize", "partial_eval", "transpose", "batch", "vjp",
 * "select", "narrow", "simplify", "checkify". */
typedef struct cxi_memo_stats {
  uint64_t hits, misses, entries;
} cxi_memo_stats;
cxi_memo_stats cxi_memos_now(const char *transform); /* NULL: all */
void cxi_memos_clear(void);
void cxi_memos_limit(size_t entries); /* beyond it the oldest go */

#endif
