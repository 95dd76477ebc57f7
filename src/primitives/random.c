/* random.c - rows of random keys and bits: threefry2x32 with 20 rounds. */
#include <string.h>

#include "ops/axes.h"
#include "primitives/families.h"
#include "primitives/kernels.h"
#include "base/threefry.h"

static cxi_word_pair key_at(const cxi_view *keys, const int64_t *index) {
  cxi_word_pair key;
  memcpy(&key, cxi_view_element(keys, index, sizeof key), sizeof key);
  return key;
}

/* -- shared infer and batch ------------------------------------------------ */

static bool infer_keys(cxi_infer *c) {
  if (cxi_type_dtype(c->in[0]) == CX_KEY) return true;
  return cxi_infer_fail(c, CX_EDTYPE, "needs random keys, got %s",
                        cxi_show_type(c->in[0]).s);
}

/* The keys' shape, then `shape`. */
static bool infer_drawn(cxi_infer *c, cx_dtype type, const cx_dims *shape) {
  cx_dims all = *cxi_type_shape(c->in[0]);
  if (!cxi_dims_valid(shape) || all.n + shape->n > CX_MAX_DIMS)
    return cxi_infer_fail(c, CX_ESHAPE, "keys %s with shape %s: %s",
                          cxi_show_type(c->in[0]).s, cxi_show_list(shape).s,
                          cxi_dims_valid(shape) ? "more than 8 dimensions"
                                                : "not a shape");
  for (int i = 0; i < shape->n; i++) all = cxi_dims_append(all, shape->d[i]);
  return cxi_infer_result(c, cxi_type_make(type, all));
}

/* The results' first axes are the operand's, so the batch stays in place. */
static void batch_in_place(const cxi_rule *r, const cx *in, const int *axis,
                           int64_t size, cx *out, int *out_axis) {
  (void)size;
  out[0] = cxi_emit1(r->row->prim, r->params, 1, in);
  out_axis[0] = axis[0];
}

/* -- random_seed: the key of an integer ------------------------------------ */
static bool infer_random_seed(cxi_infer *c) {
  return cxi_infer_elementwise(c, 1, CXI_ACCEPT_INTEGER, CX_KEY);
}

/* (high word, low word); shorter seeds have no high word. */
static bool evaluate_random_seed(cxi_eval *eval, const cxi_view *in,
                                 cxi_view *out) {
  (void)eval;
  const cx_dtype type = in[0].type.type;
  const size_t bytes = cxi_dtype_bytes(type);
  if (cxi_dims_count(&in[0].type.shape) == 0) return true;
  int64_t index[CX_MAX_DIMS] = { 0 };
  cxi_word_pair *key = out[0].data;
  do {
    const void *at = cxi_view_element(&in[0], index, bytes);
    *key = cxi_counter((uint64_t)cxi_element_get_int(type, at));
    if (bytes < sizeof(uint64_t)) key->a = 0;
    key++;
  } while (cxi_index_next(&in[0].type.shape, index));
  return true;
}
static const char *const examples_random_seed[] = {
  "program @f(%0: i32[]) { %1: key[] = random_seed %0 return %1 }",
  "program @f(%0: u64[2,3]) { %1: key[2,3] = random_seed %0 return %1 }",
  "program @f(%0: i64[0]) { %1: key[0] = random_seed %0 return %1 }", NULL
};
const cxi_row cxi_row_random_seed = {
  .prim = CXI_PRIM_random_seed,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the key (high word, low word) of an integer",
  .infer = infer_random_seed,
  .no_jvp = "integers and keys have no tangent",
  .no_transpose = "integers and keys have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = evaluate_random_seed,
  .examples = examples_random_seed,
};

/* -- random_wrap: u32 (..., 2) as keys ------------------------------------- */
static bool infer_random_wrap(cxi_infer *c) {
  if (!cxi_infer_count(c, 1)) return false;
  cx_dims shape = *cxi_type_shape(c->in[0]);
  if (cxi_type_dtype(c->in[0]) != CX_U32 || shape.n == 0 ||
      shape.d[shape.n - 1] != 2)
    return cxi_infer_fail(c, CX_ESHAPE, "needs u32[...,2], got %s",
                          cxi_show_type(c->in[0]).s);
  shape = cxi_dims_without(shape, shape.n - 1);
  return cxi_infer_result(c, cxi_type_make(CX_KEY, shape));
}

static void batch_random_wrap(const cxi_rule *r, const cx *in, const int *axis,
                              int64_t size, cx *out, int *out_axis) {
  (void)r, (void)size;
  out[0] = cxi_random_wrap(cxi_move_axis(in[0], axis[0], 0));
  out_axis[0] = 0;
}

static bool evaluate_random_wrap(cxi_eval *eval, const cxi_view *in,
                                 cxi_view *out) {
  (void)eval;
  const cxi_view words_of_keys = cxi_view_dense(in[0].type, out[0].data);
  cxi_view_copy(&words_of_keys, &in[0]);
  return true;
}
static const char *const examples_random_wrap[] = {
  "program @f(%0: u32[2]) { %1: key[] = random_wrap %0 return %1 }",
  "program @f(%0: u32[3,2]) { %1: key[3] = random_wrap %0 return %1 }",
  "program @f(%0: u32[0,2]) { %1: key[0] = random_wrap %0 return %1 }", NULL
};
const cxi_row cxi_row_random_wrap = {
  .prim = CXI_PRIM_random_wrap,
  .form = CXI_FORM_MOVE,
  .formula = "pairs of words as keys",
  .infer = infer_random_wrap,
  .no_jvp = "integers and keys have no tangent",
  .no_transpose = "integers and keys have no cotangent",
  .batch = batch_random_wrap,
  .evaluate = evaluate_random_wrap,
  .examples = examples_random_wrap,
};

/* -- random_unwrap: keys as u32 (..., 2) ----------------------------------- */
static bool infer_random_unwrap(cxi_infer *c) {
  const cx_dims pair = { .n = 1, .d = { 2 } };
  return cxi_infer_count(c, 1) && infer_keys(c) &&
         infer_drawn(c, CX_U32, &pair);
}

static bool evaluate_random_unwrap(cxi_eval *eval, const cxi_view *in,
                                   cxi_view *out) {
  (void)eval;
  const cxi_view keys = cxi_view_dense(in[0].type, out[0].data);
  cxi_view_copy(&keys, &in[0]);
  return true;
}
static const char *const examples_random_unwrap[] = {
  "program @f(%0: key[]) { %1: u32[2] = random_unwrap %0 return %1 }",
  "program @f(%0: key[3]) { %1: u32[3,2] = random_unwrap %0 return %1 }",
  "program @f(%0: key[0]) { %1: u32[0,2] = random_unwrap %0 return %1 }", NULL
};
const cxi_row cxi_row_random_unwrap = {
  .prim = CXI_PRIM_random_unwrap,
  .form = CXI_FORM_MOVE,
  .formula = "keys as pairs of words",
  .infer = infer_random_unwrap,
  .no_jvp = "integers and keys have no tangent",
  .no_transpose = "integers and keys have no cotangent",
  .batch = batch_in_place,
  .evaluate = evaluate_random_unwrap,
  .examples = examples_random_unwrap,
};

/* -- random_split: new keys from each key ---------------------------------- */
static bool infer_random_split(cxi_infer *c) {
  const cxi_random_split_params *p = c->params;
  return cxi_infer_count(c, 1) && infer_keys(c) &&
         infer_drawn(c, CX_KEY, &p->shape);
}

/* New key i is the hash of i. */
static bool evaluate_random_split(cxi_eval *eval, const cxi_view *in,
                                  cxi_view *out) {
  const cxi_random_split_params *p = eval->params;
  const int64_t n = cxi_dims_count(&p->shape);
  if (cxi_dims_count(&out[0].type.shape) == 0) return true;
  int64_t index[CX_MAX_DIMS] = { 0 };
  cxi_word_pair *to = out[0].data;
  do {
    const cxi_word_pair key = key_at(&in[0], index);
    for (int64_t i = 0; i < n; i++) *to++ = cxi_threefry(key, cxi_counter((uint64_t)i));
  } while (cxi_index_next(&in[0].type.shape, index));
  return true;
}
static const char *const examples_random_split[] = {
  "program @f(%0: key[]) { %1: key[2] = random_split[shape=(2)] %0 "
  "return %1 }",
  "program @f(%0: key[3]) { %1: key[3,2,2] = random_split[shape=(2,2)] %0 "
  "return %1 }",
  "program @f(%0: key[2]) { %1: key[2] = random_split[shape=()] %0 "
  "return %1 }",
  "program @f(%0: key[]) { %1: key[0] = random_split[shape=(0)] %0 "
  "return %1 }",
  NULL
};
const cxi_row cxi_row_random_split = {
  .prim = CXI_PRIM_random_split,
  .form = CXI_FORM_SOURCE,
  .formula = "new keys: the hash of 0, 1, ...",
  .infer = infer_random_split,
  .no_jvp = "integers and keys have no tangent",
  .no_transpose = "integers and keys have no cotangent",
  .batch = batch_in_place,
  .evaluate = evaluate_random_split,
  .examples = examples_random_split,
};

/* -- random_fold_in: a key of a key and a number --------------------------- */
static bool infer_random_fold_in(cxi_infer *c) {
  cx_dims shape;
  if (!cxi_infer_count(c, 2) || !infer_keys(c)) return false;
  if (cxi_type_dtype(c->in[1]) != CX_U32)
    return cxi_infer_fail(c, CX_EDTYPE, "folds in u32, got %s",
                          cxi_show_type(c->in[1]).s);
  return cxi_infer_shape(c, &shape) &&
         cxi_infer_result(c, cxi_type_make(CX_KEY, shape));
}

static void fold_in_run(const cxi_run *run) {
  const cxi_word_pair *keys = run->in[0];
  const uint32_t *data = run->in[1];
  cxi_word_pair *out = run->out;
  for (int64_t i = 0; i < run->n; i++)
    out[i] =
        cxi_threefry(keys[i * run->step[0]],
                     (cxi_word_pair){ 0, data[i * run->step[1]] });
}

static bool evaluate_random_fold_in(cxi_eval *eval, const cxi_view *in,
                                    cxi_view *out) {
  cxi_kernel_run(fold_in_run, eval->params, 2, in, out);
  return true;
}
static const char *const examples_random_fold_in[] = {
  "program @f(%0: key[], %1: u32[]) { "
  "%2: key[] = random_fold_in %0, %1 return %2 }",
  "program @f(%0: key[3], %1: u32[3]) { "
  "%2: key[3] = random_fold_in %0, %1 return %2 }",
  "program @f(%0: key[], %1: u32[2]) { "
  "%2: key[2] = random_fold_in %0, %1 return %2 }",
  "program @f(%0: key[0], %1: u32[]) { "
  "%2: key[0] = random_fold_in %0, %1 return %2 }",
  NULL
};
const cxi_row cxi_row_random_fold_in = {
  .prim = CXI_PRIM_random_fold_in,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the hash of a number as a key",
  .infer = infer_random_fold_in,
  .no_jvp = "integers and keys have no tangent",
  .no_transpose = "integers and keys have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = evaluate_random_fold_in,
  .in_place = 1,
  .examples = examples_random_fold_in,
};

/* -- random_bits: uniform integers from each key --------------------------- */
static bool infer_random_bits(cxi_infer *c) {
  const cxi_random_bits_params *p = c->params;
  if (!cxi_infer_count(c, 1) || !infer_keys(c)) return false;
  if (!cxi_dtype_valid(p->type) || cxi_dtype_kind(p->type) != CXI_UNSIGNED)
    return cxi_infer_fail(c, CX_EDTYPE, "draws u8, u16, u32 or u64, not %s",
                          cxi_dtype_name(p->type));
  return infer_drawn(c, p->type, &p->shape);
}

/* Element i is the hash of i: both words for 64 bits, else the low bits of
 * one xor the other. */
static bool evaluate_random_bits(cxi_eval *eval, const cxi_view *in,
                                 cxi_view *out) {
  const cxi_random_bits_params *p = eval->params;
  const int64_t n = cxi_dims_count(&p->shape);
  const size_t bytes = cxi_dtype_bytes(p->type);
  if (cxi_dims_count(&out[0].type.shape) == 0) return true;
  int64_t index[CX_MAX_DIMS] = { 0 };
  char *to = out[0].data;
  do {
    const cxi_word_pair key = key_at(&in[0], index);
    for (int64_t i = 0; i < n; i++, to += bytes) {
      const cxi_word_pair y = cxi_threefry(key, cxi_counter((uint64_t)i));
      const uint64_t bits = bytes == sizeof bits ? (uint64_t)y.a << 32 | y.b
                                                 : (uint64_t)(y.a ^ y.b);
      cxi_element_set_int(p->type, to, (int64_t)bits);
    }
  } while (cxi_index_next(&in[0].type.shape, index));
  return true;
}
static const char *const examples_random_bits[] = {
  "program @f(%0: key[]) { %1: u32[5] = random_bits[type=u32, shape=(5)] %0 "
  "return %1 }",
  "program @f(%0: key[2]) { "
  "%1: u8[2,3,2] = random_bits[type=u8, shape=(3,2)] %0 return %1 }",
  "program @f(%0: key[]) { %1: u16[4] = random_bits[type=u16, shape=(4)] %0 "
  "return %1 }",
  "program @f(%0: key[]) { %1: u64[] = random_bits[type=u64, shape=()] %0 "
  "return %1 }",
  "program @f(%0: key[2]) { "
  "%1: u32[2,0] = random_bits[type=u32, shape=(0)] %0 return %1 }",
  NULL
};
const cxi_row cxi_row_random_bits = {
  .prim = CXI_PRIM_random_bits,
  .form = CXI_FORM_SOURCE,
  .formula = "uniform integers: the hash of 0, 1, ...",
  .infer = infer_random_bits,
  .no_jvp = "integers and keys have no tangent",
  .no_transpose = "integers and keys have no cotangent",
  .batch = batch_in_place,
  .evaluate = evaluate_random_bits,
  .examples = examples_random_bits,
};

/* -- threefry2x32: the hash itself ----------------------------------------- */
static bool infer_threefry2x32(cxi_infer *c) {
  cx_dims shape;
  if (!cxi_infer_count(c, 4)) return false;
  for (uint32_t i = 0; i < 4; i++)
    if (cxi_type_dtype(c->in[i]) != CX_U32)
      return cxi_infer_fail(c, CX_EDTYPE, "needs u32, got %s",
                            cxi_show_type(c->in[i]).s);
  if (!cxi_infer_shape(c, &shape)) return false;
  const cxi_type type = cxi_type_make(CX_U32, shape);
  return cxi_infer_result(c, type) && cxi_infer_result(c, type);
}

static bool evaluate_threefry2x32(cxi_eval *eval, const cxi_view *in,
                                  cxi_view *out) {
  (void)eval;
  if (cxi_dims_count(&out[0].type.shape) == 0) return true;
  int64_t index[CX_MAX_DIMS] = { 0 };
  uint32_t *a = out[0].data, *b = out[1].data;
  do {
    uint32_t x[4];
    for (int i = 0; i < 4; i++)
      memcpy(&x[i], cxi_view_element(&in[i], index, sizeof *x), sizeof *x);
    const cxi_word_pair key = { x[0], x[1] };
    const cxi_word_pair y = cxi_threefry(key, (cxi_word_pair){ x[2], x[3] });
    *a++ = y.a;
    *b++ = y.b;
  } while (cxi_index_next(&out[0].type.shape, index));
  return true;
}
static const char *const examples_threefry2x32[] = {
  "program @f(%0: u32[], %1: u32[], %2: u32[3], %3: u32[3]) { "
  "%4: u32[3], %5: u32[3] = threefry2x32 %0, %1, %2, %3 return %4, %5 }",
  "program @f(%0: u32[2,2], %1: u32[2,2], %2: u32[], %3: u32[2,2]) { "
  "%4: u32[2,2], %5: u32[2,2] = threefry2x32 %0, %1, %2, %3 "
  "return %4, %5 }",
  "program @f(%0: u32[0], %1: u32[], %2: u32[], %3: u32[]) { "
  "%4: u32[0], %5: u32[0] = threefry2x32 %0, %1, %2, %3 return %4, %5 }",
  NULL
};
const cxi_row cxi_row_threefry2x32 = {
  .prim = CXI_PRIM_threefry2x32,
  .form = CXI_FORM_ELEMENTWISE,
  .formula = "the threefry2x32 hash of (x0, x1) under the key (k0, k1)",
  .infer = infer_threefry2x32,
  .no_jvp = "integers and keys have no tangent",
  .no_transpose = "integers and keys have no cotangent",
  .batch = cxi_batch_elementwise,
  .evaluate = evaluate_threefry2x32,
  .examples = examples_threefry2x32,
};

/* -- iota_2x32: the words of the flat index -------------------------------- */
static bool infer_iota_2x32(cxi_infer *c) {
  const cxi_iota_2x32_params *p = c->params;
  const cxi_type type = cxi_type_make(CX_U32, p->shape);
  return cxi_infer_count(c, 0) && cxi_infer_result(c, type) &&
         cxi_infer_result(c, type);
}

static bool evaluate_iota_2x32(cxi_eval *eval, const cxi_view *in,
                               cxi_view *out) {
  (void)eval, (void)in;
  const int64_t n = cxi_dims_count(&out[0].type.shape);
  uint32_t *high = out[0].data, *low = out[1].data;
  for (int64_t i = 0; i < n; i++) {
    const cxi_word_pair at = cxi_counter((uint64_t)i);
    high[i] = at.a;
    low[i] = at.b;
  }
  return true;
}
static const char *const examples_iota_2x32[] = {
  "program @f() { %0: u32[2,3], %1: u32[2,3] = iota_2x32[shape=(2,3)] "
  "return %0, %1 }",
  "program @f() { %0: u32[], %1: u32[] = iota_2x32[shape=()] "
  "return %0, %1 }",
  NULL
};
const cxi_row cxi_row_iota_2x32 = {
  .prim = CXI_PRIM_iota_2x32,
  .form = CXI_FORM_SOURCE,
  .formula = "the high and the low word of the flat index",
  .infer = infer_iota_2x32,
  .no_jvp = "integers and keys have no tangent",
  .no_transpose = "integers and keys have no cotangent",
  .no_batch = "no operands",
  .evaluate = evaluate_iota_2x32,
  .examples = examples_iota_2x32,
};
