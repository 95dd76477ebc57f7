/* call.h - what the rows that apply a program share. */
#ifndef CXI_CALL_H
#define CXI_CALL_H

#include "ir/builder.h"
#include "ir/row.h"

/* Scratch memory for n items; NULL after reporting to the current emitter. */
void *cxi_call_array(size_t n, size_t size);

/* Operands are the body's inputs, results its outputs. */
bool cxi_call_infer(cxi_infer *c, const cxi_program *body);
bool cxi_call_evaluate(cxi_eval *c, const cxi_program *body, const cxi_view *in,
                       cxi_view *out);

/* Applies the body to `in`: by a checkpoint like `like`, or by a jit call if
 * that is NULL. Only what there is to compute is called: outputs that are
 * inputs or filled with a literal are forwarded, equal ones returned once,
 * operands not needed dropped. False after reporting. */
bool cxi_call_apply(const cxi_transforms *t, const cxi_checkpoint_params *like,
                    const cxi_program *body, const cx *in, cx *out);
/* The output is zero everywhere, whatever the inputs. */
bool cxi_call_is_zero(const cxi_program *body, uint32_t output);

/* The rules of a call of `body`, which emit calls by cxi_call_apply. */
void cxi_call_jvp(const cxi_rule *r, const cxi_checkpoint_params *like,
                  const cxi_program *body, const cx *in, const cx *dx, cx *out,
                  cx *dout);
void cxi_call_transpose(const cxi_rule *r, const cxi_checkpoint_params *like,
                        const cxi_program *body, const cx *in, const cx *ct,
                        cx *acc);
void cxi_call_batch(const cxi_rule *r, const cxi_checkpoint_params *like,
                    const cxi_program *body, const cx *in, const int *axis,
                    int64_t size, cx *out, int *out_axis);
void cxi_call_dce(const cxi_rule *r, const cxi_checkpoint_params *like,
                  const cxi_program *body, const cx *in, const bool *used,
                  cx *out);

/* Batched operands with the batch at axis 0, the others as they are. */
cx *cxi_call_to_front(const cxi_rule *r, const cx *in, const int *axis);

/* Closes the builder of a program that a rule writes: held, or NULL after
 * reporting to the emitter around it. */
const cxi_program *cxi_call_finish(cxi_builder *b, cxi_name name, uint32_t n_in,
                                   const cx *in, uint32_t n_out, const cx *out);

#endif
