/* kernels.c - the driver that cuts views into runs. */
#include "primitives/kernels.h"

cxi_kernel cxi_kernel_of(cxi_prim prim, cx_dtype type) {
  const cxi_kernel *table = cxi_dtype_is_float(type)
                                ? cxi_float_kernels(type)
                                : cxi_integer_kernels(type);
  return table ? table[prim] : NULL;
}

void cxi_kernel_run(cxi_kernel kernel, const void *params, uint32_t n_in,
                    const cxi_view *in, const cxi_view *out) {
  const cx_dims *shape = &out->type.shape;
  const int64_t count = cxi_dims_count(shape);
  if (count == 0) return;
  bool one_run = true;
  for (uint32_t k = 0; k < n_in; k++)
    if (in[k].type.shape.n > 0 && !cxi_view_is_dense(&in[k])) one_run = false;

  const int last = shape->n - 1;
  cxi_run run = { .params = params, .n = one_run ? count : shape->d[last] };
  size_t bytes[CXI_KERNEL_OPERANDS];
  for (uint32_t k = 0; k < n_in; k++) {
    bytes[k] = cxi_dtype_bytes(in[k].type.type);
    if (in[k].type.shape.n > 0) run.step[k] = one_run ? 1 : in[k].strides[last];
  }

  /* One run for each place in the outer axes; the inner index stays 0. */
  cx_dims outer = *shape;
  if (one_run)
    outer.n = 0;
  else
    outer.d[last] = 1;
  int64_t index[CX_MAX_DIMS] = { 0 };
  run.out = out->data;
  do {
    for (uint32_t k = 0; k < n_in; k++)
      run.in[k] = cxi_view_element(&in[k], index, bytes[k]);
    kernel(&run);
    run.out =
        (char *)run.out + run.n * (int64_t)cxi_dtype_bytes(out->type.type);
  } while (cxi_index_next(&outer, index));
}

bool cxi_evaluate_elementwise(cxi_eval *eval, const cxi_view *in,
                              cxi_view *out) {
  cxi_kernel kernel = cxi_kernel_of(eval->row->prim, in[0].type.type);
  if (!kernel)
    return cxi_error_set(eval->error, CX_EDTYPE, "%s: no kernel for %s",
                         cxi_prim_name(eval->row->prim),
                         cxi_dtype_name(in[0].type.type));
  cxi_kernel_run(kernel, eval->params, eval->n_in, in, out);
  return true;
}
