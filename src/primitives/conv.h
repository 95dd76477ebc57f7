/* conv.h - what the files of conv_general_dilated share. */
#ifndef CXI_CONV_ROW_H
#define CXI_CONV_ROW_H

#include "ir/row.h"

bool cxi_conv_infer(cxi_infer *c);
void cxi_conv_transpose(const cxi_rule *r, const cx *in, const cx *ct, cx *acc);
void cxi_conv_batch(const cxi_rule *r, const cx *in, const int *axis,
                    int64_t size, cx *out, int *out_axis);

/* One order: each element is fma(x, w, sum) over the taps in row-major order
 * and, of each, the channels of the group, from 0, in the wide dtype (see
 * cxi_dot_wide); the zeros in which the operand goes on take part, gaps
 * between its elements do not. The result is rounded once. */
bool cxi_conv_evaluate(cxi_eval *e, const cxi_view *in, cxi_view *out);
int64_t cxi_conv_workspace(const cxi_eval *e, const cxi_view *in,
                           const cxi_view *out);

#endif
