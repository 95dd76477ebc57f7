/* linalg.c - what the rows of matrix factorisations share. */
#include "primitives/linalg.h"

#include <string.h>

#include "primitives/linalg_kernels.h"
#include "primitives/moves.h"

/* -- infer ----------------------------------------------------------------- */

bool cxi_infer_matrices(cxi_infer *c, uint32_t n) {
  if (!cxi_infer_count(c, n)) return false;
  const cx_dims *first = cxi_type_shape(c->in[0]);
  for (uint32_t i = 0; i < n; i++) {
    if (!cxi_infer_kind(c, i, CXI_ACCEPT_FLOAT)) return false;
    const cx_dims *shape = cxi_type_shape(c->in[i]);
    if (shape->n < 2)
      return cxi_infer_fail(c, CX_ESHAPE,
                            "needs a matrix in the last two axes, got %s",
                            cxi_show_type(c->in[i]).s);
    bool same = shape->n == first->n;
    for (int k = 0; same && k < shape->n - 2; k++)
      same = cxi_size_equal(shape->d[k], first->d[k]);
    if (!same)
      return cxi_infer_fail(c, CX_ESHAPE, "batch axes differ: %s and %s",
                            cxi_show_type(c->in[0]).s,
                            cxi_show_type(c->in[i]).s);
  }
  return cxi_infer_one_dtype(c, 0, n);
}

bool cxi_infer_square(cxi_infer *c, uint32_t operand) {
  const cx_dims *shape = cxi_type_shape(c->in[operand]);
  if (cxi_size_equal(shape->d[shape->n - 1], shape->d[shape->n - 2]))
    return true;
  return cxi_infer_fail(c, CX_ESHAPE, "needs square matrices, got %s",
                        cxi_show_type(c->in[operand]).s);
}

bool cxi_infer_block(cxi_infer *c, cx_dtype type, int rank, int64_t m,
                     int64_t n) {
  cx_dims shape = *cxi_type_shape(c->in[0]);
  shape.n -= 2;
  shape = cxi_dims_append(shape, m);
  if (rank == 2) shape = cxi_dims_append(shape, n);
  return cxi_infer_result(c, cxi_type_make(type, shape));
}

/* -- batch ----------------------------------------------------------------- */

void cxi_batch_linalg(const cxi_rule *r, const cx *in, const int *axis,
                      int64_t size, cx *out, int *out_axis) {
  cx operands[2];
  for (uint32_t i = 0; i < r->n_in; i++)
    operands[i] = cxi_batch_to(in[i], axis[i], 0, size);
  cxi_emit(r->row->prim, r->params, r->n_in, operands, r->n_out, out);
  for (uint32_t i = 0; i < r->n_out; i++) out_axis[i] = 0;
}

/* -- evaluate -------------------------------------------------------------- */

enum { MOST = 3 }; /* operands or results */

static cxi_block block_of(const cxi_view *v, int batch) {
  const cx_dims *s = &v->type.shape;
  return (cxi_block){ s->n > batch ? s->d[batch] : 1,
                      s->n > batch + 1 ? s->d[batch + 1] : 1, NULL };
}

/* Where a matrix's elements are, strides in bytes. */
typedef struct matrix {
  cx_dtype type;
  char *first;
  int64_t down, right;
} matrix;

static matrix matrix_at(const cxi_view *v, int batch, const int64_t *index) {
  const int64_t bytes = (int64_t)cxi_dtype_bytes(v->type.type);
  const int rank = v->type.shape.n - batch;
  int64_t offset = 0;
  for (int k = 0; k < batch; k++) offset += index[k] * v->strides[k];
  return (matrix){ v->type.type, (char *)v->data + offset * bytes,
                   rank > 0 ? v->strides[batch] * bytes : 0,
                   rank > 1 ? v->strides[batch + 1] * bytes : 0 };
}

/* The elements to b. In a loop of small matrices this is most of the work, so
 * that the usual dtypes, of matrices and of pivots, have loops of their own. */
static void load_block(matrix from, const cxi_block *b) {
  double *to = b->at;
  for (int64_t i = 0; i < b->m; i++, to += b->n, from.first += from.down) {
    const char *at = from.first;
    switch (from.type) {
    case CX_F64:
      if (from.right == (int64_t)sizeof(double)) {
        memcpy(to, at, (size_t)b->n * sizeof(double));
        break;
      }
      for (int64_t j = 0; j < b->n; j++, at += from.right)
        memcpy(&to[j], at, sizeof(double));
      break;
    case CX_F32:
      if (from.right == (int64_t)sizeof(float)) {
        const float *row = (const float *)(const void *)at;
        for (int64_t j = 0; j < b->n; j++) to[j] = row[j];
        break;
      }
      for (int64_t j = 0; j < b->n; j++, at += from.right)
        to[j] = *(const float *)(const void *)at;
      break;
    default:
      for (int64_t j = 0; j < b->n; j++, at += from.right)
        to[j] = cxi_element_get(from.type, at);
    }
  }
}

/* The elements from b; those of integers are row numbers. */
static void store_block(const cxi_block *b, matrix to) {
  const double *from = b->at;
  for (int64_t i = 0; i < b->m; i++, from += b->n, to.first += to.down) {
    char *at = to.first;
    switch (to.type) {
    case CX_F64:
      if (to.right == (int64_t)sizeof(double)) {
        memcpy(at, from, (size_t)b->n * sizeof(double));
        break;
      }
      for (int64_t j = 0; j < b->n; j++, at += to.right)
        memcpy(at, &from[j], sizeof(double));
      break;
    case CX_F32:
      if (to.right == (int64_t)sizeof(float)) {
        float *row = (float *)(void *)at;
        for (int64_t j = 0; j < b->n; j++) row[j] = (float)from[j];
        break;
      }
      for (int64_t j = 0; j < b->n; j++, at += to.right)
        *(float *)(void *)at = (float)from[j];
      break;
    case CX_I32:
      for (int64_t j = 0; j < b->n; j++, at += to.right)
        *(int32_t *)(void *)at = (int32_t)from[j];
      break;
    default:
      for (int64_t j = 0; j < b->n; j++, at += to.right)
        cxi_element_set(to.type, at, from[j]);
    }
  }
}

int64_t cxi_reflect_work(int64_t m, int64_t n, int64_t c) {
  if ((m < n ? m : n) <= CXI_REFLECT_FEW) return 0;
  const int64_t both = cxi_size_mul(2, cxi_size_add(m, c > n ? c : n));
  return cxi_size_mul(CXI_REFLECT_PANEL, cxi_size_add(both, CXI_REFLECT_PANEL));
}

int64_t cxi_blocks_workspace(const cxi_eval *e, const cxi_view *in,
                             const cxi_view *out, int rank, int64_t work) {
  const int batch = in[0].type.shape.n - rank;
  int64_t total = work;
  for (uint32_t i = 0; i < e->n_in + e->n_out; i++) {
    const cxi_block b =
        block_of(i < e->n_in ? &in[i] : &out[i - e->n_in], batch);
    total = cxi_size_add(total, cxi_size_mul(b.m, b.n));
  }
  return cxi_size_mul(total, 8);
}

bool cxi_evaluate_blocks(cxi_eval *e, const cxi_view *in, cxi_view *out,
                         int rank, cxi_block_rule *f) {
  const int batch = in[0].type.shape.n - rank;
  cx_dims shape = in[0].type.shape;
  int64_t index[CX_MAX_DIMS] = { 0 };
  cxi_block blocks[2 * MOST];
  shape.n = batch;
  if (cxi_dims_count(&shape) == 0) return true;
  for (uint32_t i = 0; i < e->n_in; i++) blocks[i] = block_of(&in[i], batch);
  cxi_block *results = blocks + e->n_in;
  for (uint32_t i = 0; i < e->n_out; i++) results[i] = block_of(&out[i], batch);
  double *at = e->workspace;
  for (uint32_t i = 0; i < e->n_in + e->n_out; i++) {
    blocks[i].at = at;
    at += blocks[i].m * blocks[i].n;
  }
  do {
    for (uint32_t i = 0; i < e->n_in; i++)
      load_block(matrix_at(&in[i], batch, index), &blocks[i]);
    f(e->params, blocks, results, at);
    for (uint32_t i = 0; i < e->n_out; i++)
      store_block(&results[i], matrix_at(&out[i], batch, index));
  } while (cxi_index_next(&shape, index));
  return true;
}
