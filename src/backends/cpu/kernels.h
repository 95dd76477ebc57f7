/* kernels.h - the vector kernels, compiled once per instruction set.
 *
 * They are plain loops over the element functions of base/math.h, so that
 * their bits are those of the reference on every set. `out` may be the same
 * block as an operand whose elements have its size; nothing overlaps else. */
#ifndef CXI_CPU_KERNELS_H
#define CXI_CPU_KERNELS_H

#include "backends/cpu/product.h"
#include "ir/row.h"
#include "lower/graph.h"

/* n elements side by side; absent operands are NULL. `number` is the
 * parameter of round (away) and integer_pow (y). */
typedef void (*cxi_cpu_kernel)(int64_t n, void *out, const void *a,
                               const void *b, const void *c, int64_t number);
/* Rows of n elements each to one result per row. `number` is the type of the
 * result's elements of argmax and argmin. */
typedef void (*cxi_cpu_row_kernel)(int64_t rows, int64_t n, void *out,
                                   const void *in, int64_t number);

/* Elements start .. start + n - 1 of an index, and of a key's bits. */
typedef struct cxi_cpu_index {
  int64_t inner, size; /* element e is (e / inner) % size */
} cxi_cpu_index;
typedef void (*cxi_cpu_iota)(int64_t start, int64_t n, void *out,
                             const cxi_cpu_index *index);
typedef void (*cxi_cpu_bits)(int64_t start, int64_t n, void *out,
                             const void *key);

/* Up to 64 columns side by side, each reduced over the pattern. */
typedef void (*cxi_cpu_column_kernel)(const cxi_pattern *pattern,
                                      int64_t columns, void *out,
                                      const void *in, int64_t number);
/* A row that comes in parts of whole rounds of the lanes, but for the last,
 * which has an `out`. lanes: room for 64 numbers, kept from part to part. */
typedef void (*cxi_cpu_part_kernel)(int64_t n, void *lanes, const void *in,
                                    bool first, void *out);
typedef struct cxi_cpu_reduction {
  cxi_cpu_row_kernel rows;
  cxi_cpu_column_kernel columns;
  cxi_cpu_part_kernel part; /* NULL: rows come whole */
} cxi_cpu_reduction;

/* Where the windows of n positions begin: each item of an index vector, an
 * i32, moves them. Those that are not inside are moved inside, or -1. */
typedef struct cxi_cpu_item {
  int32_t last, stride; /* the greatest start; elements of a step */
  bool drops;
} cxi_cpu_item;
typedef void (*cxi_cpu_locate)(int64_t n, int32_t *places, const int32_t *index,
                               int64_t step, cxi_cpu_item item);
/* Elements of n places, -1 left out: each joined with one of `from`. */
typedef void (*cxi_cpu_join)(int64_t n, void *whole, const int32_t *places,
                             const void *from, int64_t step);

typedef struct cxi_cpu_kernels {
  /* By dtype of the first operand (of select: of the cases). f16 and bf16 have
   * none: they compute in f32, rounded by the kernel `round`. */
  const cxi_cpu_kernel *elementwise[CXI_N_DTYPES];    /* by cxi_prim */
  cxi_cpu_kernel convert[CXI_N_DTYPES][CXI_N_DTYPES]; /* from, to */
  cxi_cpu_kernel odd[CXI_N_DTYPES]; /* f64, 32 and 64 bits -> f32, to odd */
  cxi_cpu_kernel widen[CXI_N_DTYPES];                 /* f16, bf16 -> f32 */
  cxi_cpu_kernel narrow[CXI_N_DTYPES];                /* f32 -> f16, bf16 */
  cxi_cpu_kernel round[CXI_N_DTYPES]; /* f32 -> f32 with f16's, bf16's bits */
  const cxi_cpu_reduction *reduce[CXI_N_DTYPES]; /* by cxi_prim */
  /* By log2 of the element's bytes. */
  cxi_cpu_kernel copy[4];
  void (*fill[4])(int64_t n, void *out, const void *one);
  void (*spread[4])(int64_t rows, int64_t n, void *out, const void *in);
  void (*gather[4])(const cxi_pattern *pattern, int64_t start, int64_t n,
                    void *out, const void *in);
  /* out[r out_row + c] = in[c in_column + r] */
  void (*turn[4])(int64_t rows, int64_t columns, void *out, int64_t out_row,
                  const void *in, int64_t in_column);
  void (*line[4])(int64_t n, void *out, int64_t out_step, const void *in,
                  int64_t in_step);
  void (*lines[4])(int64_t rows, int64_t n, void *out, int64_t out_row,
                   int64_t out_step, const void *in, int64_t in_row,
                   int64_t in_step);
  void (*ramp)(int64_t n, int32_t *places, int64_t first, int64_t step);
  cxi_cpu_locate locate;
  /* Of an index type other than i32: to i32, saturated. */
  void (*indices[CXI_N_DTYPES])(int64_t n, int32_t *out, const void *in,
                                int64_t step);
  void (*pick[4])(int64_t n, void *out, int64_t step, const void *whole,
                  const int32_t *places, const void *fill); /* fill: of -1 */
  cxi_cpu_join put[4];
  /* By the primitive that joins two elements; NULL: of no such dtype. */
  const cxi_cpu_join *join[CXI_N_DTYPES];
  cxi_cpu_iota iota[CXI_N_DTYPES]; /* but of f16 and bf16 */
  cxi_cpu_bits bits[4];
  cxi_product_kernels product[CXI_N_DTYPES];
} cxi_cpu_kernels;

/* Those of the best instruction set of this machine. */
const cxi_cpu_kernels *cxi_cpu_kernels_now(void);

static inline bool cxi_cpu_is_half(cx_dtype type) {
  return type == CX_F16 || type == CX_BF16;
}
static inline int cxi_cpu_log2_bytes(cx_dtype type) {
  const size_t bytes = cxi_dtype_bytes(type);
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
}

/* The kernel of an elementwise equation, NULL if there is none. *wide: it
 * takes f16 and bf16 operands as f32, and its result, if that is f16 or bf16,
 * is f32 still to be rounded. `number` is then given to it. */
cxi_cpu_kernel cxi_cpu_find_kernel(const cxi_cpu_kernels *kernels,
                                   cxi_prim prim, uint32_t n_in,
                                   const cx_dtype *in, cx_dtype out,
                                   bool *wide);
int64_t cxi_cpu_kernel_number(cxi_prim prim, const void *params);

#endif
