/* subscript.h - x[i, 1:, ::2, ..., None, ids] taken apart. */
#ifndef CXI_SUBSCRIPT_H
#define CXI_SUBSCRIPT_H

#include "calx/index.h"
#include "ops/ops.h"

/* What a list of indices asks of an operand, in two steps: a basic one
 * (strided slice, axes dropped and added), then one index array for some of
 * the axes of its result. */
typedef struct cxi_subscript {
  /* basic: for each axis of the operand */
  cx_dims start, count, step; /* step < 0: from start downwards */
  cx_dims dropped;            /* axes of a C integer, of size 1 here */
  cx_dims added;              /* axes of size 1 in the basic result */
  cx_dims basic;              /* shape of the basic result */
  bool whole;                 /* the basic step takes all, in order */
  /* arrays */
  int n_arrays;
  int axis[CX_MAX_DIMS]; /* of the basic result, ascending */
  cx array[CX_MAX_DIMS]; /* integers, broadcast to `shape` */
  cx_dims shape;         /* of the index arrays together */
  int place;             /* where `shape` stands in the result */
  cx_dims result;
} cxi_subscript;

/* False after an error, with *out_poison. Negative indices count from the
 * end, those of arrays too. Bool arrays are not taken. */
bool cxi_subscript_of(const char *op, cx a, int n, const cx_ix *index,
                      cxi_subscript *out, cx *out_poison);
cx cxi_subscript_basic(const cxi_subscript *s, cx a);
/* The index vectors of all arrays: (shape..., n_arrays). */
cx cxi_subscript_indices(const cxi_subscript *s);
/* The axes of the result that are not those of the index arrays. */
cx_dims cxi_subscript_window(const cxi_subscript *s);

/* Both steps; mode says what an array's index out of bounds gives, fill the
 * number for CX_FILL, NaN: the dtype's own. */
cx cxi_subscript_read(const cxi_subscript *s, cx a, cx_mode mode, double fill);

/* (before, along, after): three axes in place of any number. */
cx_dims cxi_dims_around(cx_dims shape, int axis);

/* a with the basic result replaced. */
cx cxi_subscript_write(const cxi_subscript *s, cx a, cx region);

/* What is outside: updates are dropped unless the mode says otherwise. */
cx_mode cxi_update_mode(cx_mode mode);

/* One of cx_mode. */
bool cxi_is_mode(const char *op, cx_mode mode, cx *out_poison);

/* An operand that holds integers. */
bool cxi_integer_operand(const char *op, cx *i, cx *out_poison);

/* i + size where i < 0, as i32 or i64. */
cx cxi_index_from_end(cx i, int64_t size);

/* A start for each axis of a, of one dtype, counted from the front: n integers
 * of rank 0, or one array with all of them. False after an error. */
bool cxi_starts(const char *op, cx a, int n, const cx *given, cx *out_starts,
                cx *out_poison);

#endif
