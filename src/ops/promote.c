/* promote.c - dtypes and shapes of operands: weak numbers, promotion,
 * broadcasting, axes. */
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static _Thread_local cx_promote promotion = CX_PROMOTE_STRICT;

cx_promote cxi_promotion_use(cx_promote rule) {
  cx_promote before = promotion;
  promotion = rule;
  return before;
}
cx_promote cxi_promotion_now(void) {
  return promotion;
}

cxi_name cxi_enter(const char *at) {
  cxi_name before = cxi_site_now();
  if (before == 0 && at) cxi_site_use(cxi_name_of_static(at));
  return before;
}
cx cxi_leave(cxi_name before, cx result) {
  cxi_site_use(before);
  return result;
}

void cxi_left(cxi_name *before) {
  cxi_site_use(*before);
}

cxi_shown cxi_shown_of(cx a) {
  cxi_shown shown;
  cxi_type type = cxi_type_at(a);
  if (type)
    cxi_aval_print(shown.text, sizeof shown.text, cxi_type_aval(type));
  else
    snprintf(shown.text, sizeof shown.text, "nothing");
  return shown;
}
cxi_shown cxi_shown_dims(cx_dims dims) {
  cxi_shown shown;
  cxi_dims_print(shown.text, sizeof shown.text, &dims);
  return shown;
}

/* -- weak numbers --------------------------------------------------------- */

static bool info_of(cx a, cxi_info *out) {
  cxi_emitter *e = cxi_emitter_now();
  return e->info(e, a, out);
}
/* The same, its messages with the operation's name. */
static bool info_for(const char *op, cx a, cxi_info *out) {
  const char *before = cxi_operation_use(op);
  const bool known = info_of(a, out);
  cxi_operation_use(before);
  return known;
}
bool cxi_is_weak(cx a) {
  cxi_info info;
  return cxi_given(a) && info_of(a, &info) && info.weak;
}
/* The kinds in the order in which numbers rise: bool, integer, float. */
static int rank_of_kind(cx_dtype type) {
  cxi_kind kind = cxi_dtype_kind(type);
  return kind == CXI_BOOLEAN      ? 0
         : kind == CXI_FLOAT      ? 2
         : kind == CXI_RANDOM_KEY ? 3
                                  : 1;
}
/* Weak numbers are kept as bool, i64, u64 or f64 (literal.h's four makers). */
static bool fits(cx_dtype from, uint64_t bits, cx_dtype to) {
  if (rank_of_kind(from) != 1 || rank_of_kind(to) != 1) return true;
  uint64_t x = bits;
  int64_t s;
  memcpy(&s, &x, sizeof s);
  bool negative = cxi_dtype_kind(from) == CXI_SIGNED && s < 0;
  int width = 8 * (int)cxi_dtype_bytes(to);
  if (cxi_dtype_kind(to) == CXI_UNSIGNED)
    return !negative && (width == 64 || x >> width == 0);
  if (negative) return width == 64 || s >= -((int64_t)1 << (width - 1));
  return x <= (((uint64_t)1 << (width - 1)) - 1);
}
static double number_of(cx_dtype from, uint64_t bits) {
  return cxi_element_get(from, &bits);
}
static cx report_misfit(const char *op, cxi_info info, cx_dtype type) {
  cx_dtype from = cxi_type_dtype(info.type);
  if (rank_of_kind(from) == 1 && rank_of_kind(type) == 1)
    return cxi_fail(CX_EDTYPE, "%s: the number %.0f does not fit %s", op,
                    number_of(from, info.bits), cxi_dtype_name(type));
  /* 2.0 is written 2 where integers are wanted. */
  const double number = number_of(from, info.bits);
  char integer[40] = "", text[40];
  snprintf(text, sizeof text, "%g", number);
  if (rank_of_kind(from) == 2 && rank_of_kind(type) == 1 &&
      number == floor(number) && fabs(number) < 1e9) {
    const uint64_t bits = (uint64_t)(int64_t)number;
    if (fits(CX_I64, bits, type))
      snprintf(integer, sizeof integer, "write %.0f, or ", number);
    snprintf(text, sizeof text, "%.1f", number);
  }
  return cxi_fail(CX_EDTYPE,
                  "%s: the number %s is no %s (%scast the array first)", op,
                  text, cxi_dtype_name(type), integer);
}
cx cxi_strong(const char *op, cx a, cx_dtype type) {
  cxi_info info;
  if (!cxi_given(a) || !info_for(op, a, &info) || !info.weak) return a;
  cx_dtype from = cxi_type_dtype(info.type);
  bool zero_or_one = rank_of_kind(from) == 1 && info.bits <= 1;
  if (type == CX_BOOL && zero_or_one) return cxi_integer(type, info.bits == 1);
  if (rank_of_kind(from) > rank_of_kind(type) || type == CX_KEY ||
      !fits(from, info.bits, type))
    return report_misfit(op, info, type);
  if (rank_of_kind(from) == 2)
    return cxi_number(type, number_of(from, info.bits));
  if (rank_of_kind(type) == 2 && cxi_dtype_kind(from) == CXI_UNSIGNED)
    return cxi_number(type, (double)info.bits);
  int64_t whole;
  memcpy(&whole, &info.bits, sizeof whole);
  if (from == CX_BOOL) whole = info.bits & 1;
  return cxi_integer(type, whole);
}
/* What a weak number is among weak numbers alone: bool, i32 (i64, u64 if it
 * does not fit), f32. */
static cx_dtype default_dtype(cxi_info info) {
  cx_dtype from = cxi_type_dtype(info.type);
  if (from == CX_BOOL) return CX_BOOL;
  if (rank_of_kind(from) == 2) return CX_F32;
  if (fits(from, info.bits, CX_I32)) return CX_I32;
  return fits(from, info.bits, CX_I64) ? CX_I64 : CX_U64;
}

bool cxi_operand(const char *op, cx *a, cx *out_poison) {
  cxi_info info;
  if (cxi_is_poison(*a)) return *out_poison = *a, false;
  if (cx_is_none(*a) || !cxi_given(*a)) {
    *out_poison = cxi_fail(CX_ETREE, "%s: needs an array, got %s", op,
                           cx_is_none(*a) ? "none" : "nothing");
    return false;
  }
  if (!info_for(op, *a, &info)) {
    *out_poison = cxi_fail(CX_ETREE, "%s: needs an array", op);
    return false;
  }
  if (info.weak) *a = cxi_strong(op, *a, default_dtype(info));
  if (!cxi_is_poison(*a)) return true;
  *out_poison = *a;
  return false;
}

bool cxi_list_given(const char *op, int n, const void *list, cx *out_poison) {
  if (n == 0 || (n > 0 && list)) return true;
  *out_poison =
      n < 0 ? cxi_fail(CX_EUSER, "%s: a list of %d items", op, n)
            : cxi_fail(CX_EUSER, "%s: the list of %d items is NULL", op, n);
  return false;
}

/* -- promotion ------------------------------------------------------------ */

/* JAX's type promotion lattice (its documentation, "Type promotion"). No
 * integer holds u64 and signed numbers; the float of 64 bits stands for them. */
cx_dtype cxi_promote_jax(cx_dtype a, cx_dtype b) {
  if (a == b) return a;
  int ka = rank_of_kind(a), kb = rank_of_kind(b);
  if (ka != kb) return ka > kb ? a : b; /* bool < integer < float */
  size_t wa = cxi_dtype_bytes(a), wb = cxi_dtype_bytes(b);
  if (ka == 2) return wa == wb ? CX_F32 : wa > wb ? a : b; /* f16, bf16: f32 */
  bool sa = cxi_dtype_kind(a) == CXI_SIGNED;
  bool sb = cxi_dtype_kind(b) == CXI_SIGNED;
  if (sa == sb) return wa > wb ? a : b;
  size_t s = sa ? wa : wb, u = sa ? wb : wa;
  if (s > u) return sa ? a : b;
  return u == 1 ? CX_I16 : u == 2 ? CX_I32 : u == 4 ? CX_I64 : CX_F64;
}
cx_dtype cxi_inexact_jax(cx_dtype type) {
  if (cxi_dtype_is_float(type)) return type;
  return type == CX_I64 || type == CX_U64 ? CX_F64 : CX_F32;
}
cx_dtype cx_promote_types(cx_dtype a, cx_dtype b) {
  if (!cxi_dtype_valid(a) || !cxi_dtype_valid(b)) return 0;
  if (a != b && (a == CX_KEY || b == CX_KEY)) return 0;
  return cxi_promote_jax(a, b);
}
static bool report_mixture(const char *op, cx a, cx b, cx *out_poison) {
  const char *want =
      cxi_dtype_name(cxi_promote_jax(cxi_dtype_at(a), cxi_dtype_at(b)));
  *out_poison = cxi_fail(
      CX_EDTYPE, "%s: dtypes differ: %s and %s (write cx_cast(..., CX_%c%s))",
      op, cxi_shown_of(a).text, cxi_shown_of(b).text,
      want[0] >= 'a' ? want[0] - 32 : want[0], want + 1);
  return false;
}
bool cxi_promote(const char *op, int n, cx *operands, cx *out_poison) {
  cx_dtype type = 0, weak_type = 0;
  int first = -1;
  for (int i = 0; i < n; i++) {
    cxi_info info;
    if (cxi_is_poison(operands[i])) return *out_poison = operands[i], false;
    if (!cxi_given(operands[i]) || !info_for(op, operands[i], &info))
      return cxi_operand(op, &operands[i], out_poison);
    if (info.weak) {
      cx_dtype t = default_dtype(info);
      weak_type = weak_type ? cxi_promote_jax(weak_type, t) : t;
      continue;
    }
    cx_dtype t = cxi_type_dtype(info.type);
    if (type && t != type) {
      if (promotion == CX_PROMOTE_STRICT || t == CX_KEY || type == CX_KEY)
        return report_mixture(op, operands[first], operands[i], out_poison);
      t = cxi_promote_jax(type, t);
    }
    if (!type) first = i;
    type = t;
  }
  if (!type)
    type = weak_type;
  else if (promotion == CX_PROMOTE_JAX && weak_type &&
           rank_of_kind(weak_type) > rank_of_kind(type))
    type = weak_type;
  for (int i = 0; i < n; i++) {
    operands[i] = cxi_is_weak(operands[i]) ? cxi_strong(op, operands[i], type)
                                       : cxi_convert(operands[i], type);
    if (cxi_is_poison(operands[i])) return *out_poison = operands[i], false;
  }
  return true;
}

/* -- broadcasting --------------------------------------------------------- */

bool cxi_broadcast_shape(const char *op, int n, const cx *operands,
                         cx_dims *out, cx *out_poison) {
  *out = CX_SCALAR;
  for (int i = 0; i < n; i++) {
    cx_dims s = cxi_shape_at(operands[i]);
    while (out->n < s.n) *out = cxi_dims_with(*out, 0, 1);
    for (int k = 1; k <= s.n; k++) {
      int64_t *d = &out->d[out->n - k], e = s.d[s.n - k];
      if (*d == e || e == 1) continue;
      if (*d == 1) {
        *d = e;
        continue;
      }
      char list[256];
      int at = 0;
      for (int j = 0; j < n && at < 200; j++)
        at += snprintf(list + at, sizeof list - (size_t)at, "%s%s",
                       j ? " and " : "", cxi_shown_of(operands[j]).text);
      *out_poison =
          cxi_fail(CX_ESHAPE, "%s: shapes do not broadcast: %s", op, list);
      return false;
    }
  }
  return true;
}
cx cxi_broadcast_to(cx a, cx_dims shape) {
  cx_dims s = cxi_shape_at(a);
  if (cxi_dims_equal(&s, &shape)) return a;
  return cxi_broadcast_in_dim(a, shape, cxi_dims_range(shape.n - s.n, shape.n));
}
cx cxi_spread(cx a, cx_dims shape) {
  return cxi_rank_at(a) == 0 ? a : cxi_broadcast_to(a, shape);
}
bool cxi_broadcast(const char *op, int n, cx *operands, cx *out_poison) {
  cx_dims shape;
  if (!cxi_broadcast_shape(op, n, operands, &shape, out_poison)) return false;
  for (int i = 0; i < n; i++)
    operands[i] = cxi_broadcast_to(operands[i], shape);
  return true;
}

/* -- axes ----------------------------------------------------------------- */

bool cxi_axis(const char *op, cx a, int *axis, cx *out_poison) {
  int n = cxi_rank_at(a);
  if (*axis < -n || *axis >= n) {
    *out_poison = cxi_fail(CX_EINDEX, "%s: axis %d is out of range for %s", op,
                           *axis, cxi_shown_of(a).text);
    return false;
  }
  if (*axis < 0) *axis += n;
  return true;
}
bool cxi_axes(const char *op, cx a, cx_dims axes, cx_dims *out,
              cx *out_poison) {
  if (axes.n == CX_ALL_AXES.n) {
    *out = cxi_dims_range(0, cxi_rank_at(a));
    return true;
  }
  if (axes.n < 0 || axes.n > CX_MAX_DIMS) {
    *out_poison = cxi_fail(CX_EINDEX, "%s: more than %d axes", op, CX_MAX_DIMS);
    return false;
  }
  *out = (cx_dims){ .n = 0 };
  for (int i = 0; i < axes.n; i++) {
    int axis =
        axes.d[i] > INT_MAX || axes.d[i] < INT_MIN ? INT_MAX : (int)axes.d[i];
    if (!cxi_axis(op, a, &axis, out_poison)) return false;
    if (cxi_dims_has(out, axis)) {
      *out_poison = cxi_fail(CX_EINDEX, "%s: axis %d twice for %s", op, axis,
                             cxi_shown_of(a).text);
      return false;
    }
    out->d[out->n++] = axis;
  }
  return true;
}

bool cxi_is_count(cx given, int64_t *out_n) {
  cxi_info info;
  cxi_emitter *e = cxi_emitter_now();
  if (!cxi_given(given) || !e->info(e, given, &info) || !info.weak)
    return false;
  const cxi_kind kind = cxi_dtype_kind(cxi_type_dtype(info.type));
  if (kind != CXI_SIGNED && kind != CXI_UNSIGNED) return false;
  *out_n = (int64_t)info.bits;
  return true;
}
