/* direct.c - one elementwise equation at once, without a schedule. */
#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"
#include "base/pool.h"

enum { BLOCK = 1024, TASK = 1 << 16 };

typedef struct operation {
  const cxi_cpu_kernels *kernels;
  cxi_cpu_kernel kernel;
  int64_t n, number;
  uint32_t n_in;
  bool wide, repeated[3];
  cx_dtype types[3], type;
  const char *in[3];
  char *out;
} operation;

/* Operand k for elements first..first+n-1: where it lies, or in `room`, as f32
 * if the kernel wants that. */
static const void *operand(const operation *o, uint32_t k, int64_t first,
                           int64_t n, uint64_t *room) {
  const cx_dtype type = o->types[k];
  const int size = cxi_cpu_log2_bytes(type);
  const char *from = o->in[k] + (o->repeated[k] ? 0 : first << size);
  const bool half = o->wide && cxi_cpu_is_half(type);
  if (o->repeated[k]) {
    float wide;
    if (half) o->kernels->widen[type](1, &wide, from, NULL, NULL, 0);
    o->kernels->fill[half ? 2 : size](n, room,
                                      half ? (const void *)&wide : from);
    return room;
  }
  if (!half) return from;
  o->kernels->widen[type](n, room, from, NULL, NULL, 0);
  return room;
}

static void run_task(void *argument, int64_t i) {
  const operation *o = argument;
  const int64_t end = (i + 1) * TASK < o->n ? (i + 1) * TASK : o->n;
  const bool narrow = o->wide && cxi_cpu_is_half(o->type);
  uint64_t room[4][BLOCK];
  const void *in[3] = { NULL };
  for (int64_t first = i * TASK; first < end; first += BLOCK) {
    const int64_t n = end - first < BLOCK ? end - first : BLOCK;
    for (uint32_t k = 0; k < o->n_in; k++)
      if (!o->repeated[k] || first == i * TASK)
        in[k] = operand(o, k, first, n, room[k]);
    char *out = o->out + (first << cxi_cpu_log2_bytes(o->type));
    o->kernel(n, narrow ? (void *)room[3] : out, in[0], in[1], in[2],
              o->number);
    if (narrow) o->kernels->narrow[o->type](n, out, room[3], NULL, NULL, 0);
  }
}

/* Its kernel and how that reads the operands, all but where they lie. */
static bool find_operation(const cxi_row *row, uint32_t n_in,
                           const cxi_view *in, uint32_t n_out,
                           const cx_aval *out, operation *o) {
  if (row->form != CXI_FORM_ELEMENTWISE || n_in == 0 || n_in > 3 || n_out != 1)
    return false;
  o->kernels = cxi_cpu_kernels_now();
  o->n_in = n_in;
  o->type = out->type;
  o->n = cxi_dims_count(&out->shape);
  o->wide = false;
  for (uint32_t k = 0; k < n_in; k++) {
    o->repeated[k] = in[k].type.shape.n == 0 && o->n != 1;
    o->types[k] = in[k].type.type;
    if (in[k].type.shape.n != 0 &&
        (!cxi_dims_equal(&in[k].type.shape, &out->shape) ||
         !cxi_view_is_dense(&in[k])))
      return false;
  }
  o->kernel = cxi_cpu_find_kernel(o->kernels, row->prim, n_in, o->types,
                                  o->type, &o->wide);
  return o->kernel != NULL;
}

bool cxi_cpu_evaluates(const cxi_row *row, uint32_t n_in, const cxi_view *in,
                       uint32_t n_out, const cx_aval *out) {
  operation o;
  return find_operation(row, n_in, in, n_out, out, &o);
}

bool cxi_cpu_evaluate(const cxi_row *row, const void *params, uint32_t n_in,
                      const cxi_view *in, uint32_t n_out, cxi_view *out,
                      int threads) {
  operation o;
  if (n_out != 1 || !find_operation(row, n_in, in, n_out, &out[0].type, &o))
    return false;
  o.number = cxi_cpu_kernel_number(row->prim, params);
  o.out = out[0].data;
  for (uint32_t k = 0; k < n_in; k++) o.in[k] = in[k].data;
  if (o.n <= TASK)
    run_task(&o, 0);
  else
    cxi_parallel(threads, cxi_divide_up(o.n, TASK), run_task, &o);
  return true;
}
