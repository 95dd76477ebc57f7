/* random.c - keys and draws, bit for bit those of JAX.
 *
 * Threefry-2x32 with 20 rounds (Salmon et al. 2011, "Parallel random numbers:
 * as easy as 1, 2, 3") in JAX's partitionable form. */
#include "calx/random.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/float_bits.h"
#include "calx/tree.h"
#include "ops/random.h"

static bool is_nothing(cx key) {
  return cx_is_none(key) || cxi_is_poison(key);
}
static bool key_operand(const char *op, cx *key, cx *out_poison) {
  if (!cxi_operand(op, key, out_poison)) return false;
  if (cxi_dtype_at(*key) == CX_KEY) return true;
  *out_poison = cxi_fail(CX_EDTYPE, "%s: needs a random key, got %s", op,
                         cxi_shown_of(*key).text);
  return false;
}
bool cxi_random_key(const char *op, cx *key, cx *out_poison) {
  if (!key_operand(op, key, out_poison)) return false;
  if (cxi_rank_at(*key) == 0) return true;
  *out_poison =
      cxi_fail(CX_ESHAPE, "%s: needs one key, got %s (vmap over keys)", op,
               cxi_shown_of(*key).text);
  return false;
}
bool cxi_random_shape(const char *op, cx_dims shape, cx *out_poison) {
  if (cxi_dims_valid(&shape) && cxi_dims_count(&shape) >= 0) return true;
  *out_poison = cxi_fail(CX_ESHAPE, "%s: no such shape: %s", op,
                         cxi_shown_dims(shape).text);
  return false;
}
static bool check_float(const char *op, cx_dtype t, cx *out_poison) {
  if (cxi_dtype_valid(t) && cxi_dtype_is_float(t)) return true;
  *out_poison = cxi_fail(CX_EDTYPE, "%s: needs a floating dtype, got %s", op,
                         cxi_dtype_name(t));
  return false;
}

/* -- keys ----------------------------------------------------------------- */

cx cx_key_(uint64_t seed, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cx number = seed >> 32 ? cxi_literal_bits(CX_U64, seed)
                         : cxi_integer(CX_U32, (int64_t)seed);
  return cxi_random_seed(number);
}
cx cx_fold_in_(cx key, cx data, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (is_nothing(key)) return cxi_leave(before, key);
  if (!key_operand("fold", &key, &poison)) return cxi_leave(before, poison);
  if (!cxi_operand("fold", &data, &poison)) return cxi_leave(before, poison);
  cxi_kind kind = cxi_dtype_kind(cxi_dtype_at(data));
  if (kind != CXI_SIGNED && kind != CXI_UNSIGNED)
    return cxi_leave(before, cxi_fail(CX_EDTYPE,
                                      "fold: data must be integers, "
                                      "got %s",
                                      cxi_shown_of(data).text));
  data = cxi_broadcast_to(cxi_convert(data, CX_U32), cxi_shape_at(key));
  return cxi_leave(before, cxi_random_fold_in(key, data));
}
cx cx_split_n_(cx key, cx_dims shape, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cx poison;
  if (is_nothing(key)) return key;
  if (!cxi_random_key("split", &key, &poison) ||
      !cxi_random_shape("split", shape, &poison))
    return poison;
  return cxi_random_split(key, shape);
}
void cx_split_(cx key, cx **out_keys, const char *at) {
  cxi_name before = cxi_enter(at);
  int64_t n = 0;
  while (out_keys && out_keys[n]) n++;
  cx keys = cx_split_n_(key, cx_dims_one_(n), NULL);
  bool given = cxi_given(keys);
  for (int64_t i = 0; i < n; i++)
    *out_keys[i] = given ? cxi_squeeze(cxi_slice_axis(keys, 0, i, i + 1),
                                       (cx_dims){ .n = 1, .d = { 0 } })
                         : keys;
  cxi_site_use(before);
}
cx cx_split_like_(cx key, cx tree, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  int n = cx_leaf_count(tree);
  cx keys = cx_split_n_(key, cx_dims_one_(n), NULL);
  cxi_mark mark = cxi_scratch_mark();
  cx *leaves = cxi_scratch((size_t)(n + 1) * sizeof *leaves), result = keys;
  if (!leaves)
    result = cxi_fail(CX_EMEMORY, "split_like: out of memory");
  else if (!cxi_is_poison(keys)) {
    for (int i = 0; i < n; i++)
      leaves[i] = cx_is_none(keys)
                      ? keys
                      : cxi_squeeze(cxi_slice_axis(keys, 0, i, i + 1),
                                    (cx_dims){ .n = 1, .d = { 0 } });
    result = cx_unflatten_(NULL, tree, n, leaves);
  }
  cxi_scratch_reset(mark);
  return result;
}

cx cx_key_data_(cx keys, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!key_operand("key_data", &keys, &poison))
    return cxi_leave(before, poison);
  if (cxi_rank_at(keys) == CX_MAX_DIMS)
    return cxi_leave(before,
                     cxi_fail(CX_ESHAPE, "key_data: at most %d axes, got %s",
                              CX_MAX_DIMS - 1, cxi_shown_of(keys).text));
  return cxi_leave(before, cxi_random_unwrap(keys));
}

/* Their two words each, in one hash. */
static cx hash_words(int n, const cx *words) {
  cx four[4], two[2], poison;
  cx_dims shape;
  if (n != 4 || !words)
    return cxi_fail(CX_ETREE, "threefry2x32: k0, k1, x0, x1 are needed");
  for (int i = 0; i < 4; i++) {
    four[i] = cxi_strong("threefry2x32", words[i], CX_U32);
    if (!cxi_operand("threefry2x32", &four[i], &poison)) return poison;
    if (cxi_dtype_at(four[i]) != CX_U32)
      return cxi_fail(CX_EDTYPE, "threefry2x32: needs u32, got %s",
                      cxi_shown_of(four[i]).text);
  }
  if (!cxi_broadcast_shape("threefry2x32", 4, four, &shape, &poison))
    return poison;
  for (int i = 0; i < 4; i++) four[i] = cxi_broadcast_to(four[i], shape);
  cxi_threefry2x32(four, two);
  return cx_tuple_(2, two, NULL);
}
cx cx_threefry2x32_(int n, const cx *words, const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(before, hash_words(n, words));
}
cx cx_iota_2x32_(cx_dims shape, const char *at) {
  cxi_name before = cxi_enter(at);
  cx two[2];
  cxi_iota_2x32(cxi_dims_given(shape), two);
  return cxi_leave(before,
                   cxi_is_poison(two[0]) ? two[0] : cx_tuple_(2, two, NULL));
}

cx cx_wrap_key_data_(cx words, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_operand("wrap_key_data", &words, &poison))
    return cxi_leave(before, poison);
  const cx_dims shape = cxi_shape_at(words);
  if (cxi_dtype_at(words) != CX_U32)
    return cxi_leave(before,
                     cxi_fail(CX_EDTYPE, "wrap_key_data: needs u32, got %s",
                              cxi_shown_of(words).text));
  if (shape.n == 0 || shape.d[shape.n - 1] != 2)
    return cxi_leave(before, cxi_fail(CX_ESHAPE,
                                      "wrap_key_data: needs words (..., 2), "
                                      "got %s",
                                      cxi_shown_of(words).text));
  return cxi_leave(before, cxi_random_wrap(words));
}

/* -- bits and uniform numbers --------------------------------------------- */

cx cx_bits_(cx key, cx_dtype t, cx_dims shape, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_random_key("bits", &key, &poison) ||
      !cxi_random_shape("bits", shape, &poison))
    return cxi_leave(before, poison);
  if (!cxi_dtype_valid(t) || cxi_dtype_kind(t) != CXI_UNSIGNED)
    return cxi_leave(before, cxi_fail(CX_EDTYPE,
                                      "bits: needs an unsigned dtype, "
                                      "got %s",
                                      cxi_dtype_name(t)));
  return cxi_leave(before, cxi_random_bits(key, t, shape));
}

/* The layout of a floating dtype: random bits become the fraction of a number
 * in [1, 2). bf16 has so few of them that 8 bits are drawn, as JAX does. */
typedef struct layout {
  cx_dtype drawn, bits;
  int drawn_width, fraction;
  uint64_t one;
} layout;
static layout layout_of(cx_dtype t) {
  return t == CX_F64   ? (layout){ CX_U64, CX_U64, 64, 52, 0x3ff0000000000000u }
         : t == CX_F32 ? (layout){ CX_U32, CX_U32, 32, 23, 0x3f800000u }
         : t == CX_BF16 ? (layout){ CX_U8, CX_U16, 8, 7, 0x3f80u }
                        : (layout){ CX_U16, CX_U16, 16, 10, 0x3c00u };
}
int cxi_random_fraction(cx_dtype t) {
  return layout_of(t).fraction;
}
/* In [0, 1), never -0. */
static cx unit_uniform(cx key, cx_dtype t, cx_dims shape) {
  layout l = layout_of(t);
  cx bits = cxi_convert(cxi_random_bits(key, l.drawn, shape), l.bits);
  bits = cxi_binary(CXI_PRIM_shift_right_logical, bits,
                    cxi_integer(l.bits, l.drawn_width - l.fraction));
  bits = cxi_binary(CXI_PRIM_or, bits, cxi_literal_bits(l.bits, l.one));
  return cxi_offset(cxi_bitcast(bits, t), -1);
}
cx cxi_random_uniform(cx key, cx_dtype t, cx_dims shape, cx lo, cx hi) {
  cx unit = unit_uniform(key, t, shape);
  cx scaled = cxi_add(cxi_mul(unit, cxi_sub(hi, lo)), lo);
  return cxi_max(lo, scaled);
}
static double rounded(cx_dtype t, double x) {
  uint64_t bits = 0;
  cxi_element_set(t, &bits, x);
  return cxi_element_get(t, &bits);
}
/* The same bits where the bounds are known, lo < hi and both of dtype t: a
 * factor of 1 and a term of 0 change nothing, and rounding is monotone, so that
 * no sum is below lo. */
static cx uniform_between(cx key, cx_dtype t, cx_dims shape, double lo,
                          double hi) {
  const double range = rounded(t, hi - lo);
  cx x = unit_uniform(key, t, shape);
  if (range != 1) x = cxi_mul(x, cxi_number(t, range));
  return lo == 0 ? x : cxi_add(x, cxi_number(t, lo));
}
bool cxi_random_draw(const char *op, cx *key, cx_dtype t, cx_dims shape,
                     cx *out_poison) {
  return cxi_random_key(op, key, out_poison) &&
         check_float(op, t, out_poison) &&
         cxi_random_shape(op, shape, out_poison);
}
cx cx_uniform_(cx key, cx_dtype t, cx_dims shape, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_random_draw("uniform", &key, t, shape, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, uniform_between(key, t, shape, 0, 1));
}
/* The number of dtype t beside x, towards `to`. */
static double next_number(cx_dtype t, double x, double to) {
  uint64_t infinity = 0, from = 0, end = 0;
  cxi_element_set(t, &infinity, INFINITY);
  cxi_element_set(t, &from, x);
  cxi_element_set(t, &end, to);
  const cxi_float_format format =
      cxi_float_format_of(infinity, 8 * (int)cxi_dtype_bytes(t));
  const uint64_t bits = cxi_nextafter_bits(&format, from, end);
  return cxi_element_get(t, &bits);
}
double cxi_random_above_minus_one(cx_dtype t) {
  return next_number(t, -1, 0);
}
double cxi_random_least_normal(cx_dtype t) {
  return t == CX_F64 ? DBL_MIN : t == CX_F16 ? 0x1p-14 : (double)FLT_MIN;
}
cx cx_normal_(cx key, cx_dtype t, cx_dims shape, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_random_draw("normal", &key, t, shape, &poison))
    return cxi_leave(before, poison);
  cx u = uniform_between(key, t, shape, cxi_random_above_minus_one(t), 1);
  cx z = cxi_unary(CXI_PRIM_erf_inv, u);
  return cxi_leave(before, cxi_mul(cxi_number(t, M_SQRT2), z));
}
/* By inverting erf between its values at both ends; they must differ by enough
 * numbers of the dtype. */
static cx between(cx key, cx_dtype t, cx_dims shape, double lo, double hi) {
  cx root = cxi_number(t, M_SQRT2);
  cx from = cxi_unary(CXI_PRIM_erf, cxi_div(cxi_number(t, lo), root));
  cx to = cxi_unary(CXI_PRIM_erf, cxi_div(cxi_number(t, hi), root));
  cx u = cxi_random_uniform(key, t, shape, from, to);
  return cxi_mul(root, cxi_unary(CXI_PRIM_erf_inv, u));
}
cx cx_truncated_normal_(cx key, double lo, double hi, cx_dtype t, cx_dims shape,
                        const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_random_draw("truncated_normal", &key, t, shape, &poison))
    return cxi_leave(before, poison);
  double inner_lo = next_number(t, lo, INFINITY);
  double inner_hi = next_number(t, hi, -INFINITY);
  if (!(lo < hi) || !(inner_lo <= inner_hi))
    return cxi_leave(before, cxi_fail(CX_EUSER,
                                      "truncated_normal: [%g, %g] holds no "
                                      "number that %s resolves",
                                      lo, hi, cxi_dtype_name(t)));
  double unit = ldexp(1, -1 - layout_of(t).fraction);
  double mass = erf(hi / M_SQRT2) - erf(lo / M_SQRT2);
  cx z = mass > 16 * unit ? between(key, t, shape, lo, hi)
                          : cxi_random_tail(key, t, shape, lo, hi);
  return cxi_leave(
      before, cxi_clamp(cxi_number(t, inner_lo), z, cxi_number(t, inner_hi)));
}

/* -- others --------------------------------------------------------------- */

cx cx_bernoulli_(cx key, cx p, cx_dims shape, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_random_key("bernoulli", &key, &poison) ||
      !cxi_random_shape("bernoulli", shape, &poison) ||
      !cxi_operand("bernoulli", &p, &poison))
    return cxi_leave(before, poison);
  cx_dtype t = cxi_dtype_at(p);
  if (!cxi_dtype_is_float(t)) p = cxi_convert(p, t = CX_F32);
  cx u = uniform_between(key, t, shape, 0, 1);
  cx two[2] = { u, p };
  cx_dims both;
  if (!cxi_broadcast_shape("bernoulli", 2, two, &both, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, cxi_compare(CXI_PRIM_lt, u, cxi_spread(p, shape)));
}
/* A bound as an array of the dtype that draws, which for 8 and 16 bits is i32:
 * numbers of C are cut to what t holds. An upper one above that is remembered,
 * since the bound itself is never drawn. */
static bool bound(cx given, cx_dtype t, cx_dims shape, cx *out, bool *out_above,
                  cx *out_poison) {
  const int width = 8 * (int)cxi_dtype_bytes(t);
  const cx_dtype drawn = width < 32 ? CX_I32 : t;
  cxi_info info;
  cxi_emitter *e = cxi_emitter_now();
  *out_above = false;
  if (cxi_given(given) && e->info(e, given, &info) && info.weak &&
      cxi_dtype_kind(cxi_type_dtype(info.type)) == CXI_SIGNED) {
    const bool is_signed = cxi_dtype_kind(t) == CXI_SIGNED;
    const uint64_t all = UINT64_MAX >> (64 - width + is_signed);
    const int64_t most = all > INT64_MAX ? INT64_MAX : (int64_t)all;
    const int64_t least = is_signed ? -most - 1 : 0;
    int64_t x;
    memcpy(&x, &info.bits, sizeof x);
    *out_above = x > most;
    x = x > most ? most : x < least ? least : x;
    given = cxi_integer(drawn, x);
  } else if (cxi_given(given) && cxi_dtype_at(given) == t) {
    given = cxi_convert(cxi_strong("randint", given, t), drawn);
  }
  return cxi_random_parameter("randint", given, drawn, shape, out, out_poison);
}
/* Two words modulo the span, the first times 2^width modulo it. A span of 0 is
 * that of all words: x rem 0 is x. */
static cx offset_below(cx key, cx span, cx_dims shape) {
  const cx_dtype word = cxi_dtype_at(span);
  const int width = 8 * (int)cxi_dtype_bytes(word);
  cx k[2];
  cx_split_(key, (cx *[]){ &k[0], &k[1], NULL }, NULL);
  cx half = cxi_integer(word, (int64_t)1 << width / 2);
  cx factor = cxi_binary(CXI_PRIM_rem, half, span);
  factor = cxi_binary(CXI_PRIM_rem, cxi_mul(factor, factor), span);
  cx high = cxi_binary(CXI_PRIM_rem, cxi_random_bits(k[0], word, shape), span);
  cx low = cxi_binary(CXI_PRIM_rem, cxi_random_bits(k[1], word, shape), span);
  return cxi_binary(CXI_PRIM_rem, cxi_add(cxi_mul(high, factor), low), span);
}
static cx integers(cx key, cx_dtype t, cx lo, cx hi, cx_dims shape) {
  cx poison;
  bool low_above, above;
  if (!cxi_random_key("randint", &key, &poison) ||
      !cxi_random_shape("randint", shape, &poison))
    return poison;
  if (!cxi_dtype_valid(t) ||
      (cxi_dtype_kind(t) != CXI_SIGNED && cxi_dtype_kind(t) != CXI_UNSIGNED))
    return cxi_fail(CX_EDTYPE, "randint: needs an integer dtype, got %s",
                    cxi_dtype_name(t));
  if (!bound(lo, t, shape, &lo, &low_above, &poison) ||
      !bound(hi, t, shape, &hi, &above, &poison))
    return poison;
  const cx_dtype word = cxi_dtype_bytes(t) == 8 ? CX_U64 : CX_U32;
  cx empty = cxi_compare(CXI_PRIM_le, hi, lo);
  cx span = cxi_convert(cxi_sub(hi, lo), word);
  if (above) span = cxi_offset(span, 1);
  span = cxi_select(empty, span, cxi_full(cxi_type_at(span), 1));
  cx offset = cxi_convert(offset_below(key, span, shape), cxi_dtype_at(lo));
  return cxi_convert(cxi_add(lo, offset), t);
}
cx cx_randint_as_(cx key, cx_dtype t, cx lo, cx hi, cx_dims shape,
                  const char *at) {
  cxi_name before = cxi_enter(at);
  return cxi_leave(before, integers(key, t, lo, hi, shape));
}
/* The dtype of the bounds that are arrays, i32 of numbers alone. */
cx cx_randint_(cx key, cx lo, cx hi, cx_dims shape, const char *at) {
  cxi_name before = cxi_enter(at);
  cx_dtype t = CX_I32;
  for (int i = 0; i < 2; i++) {
    cx b = cxi_strong("randint", i ? hi : lo, CX_I32), poison;
    cxi_info info;
    cxi_emitter *e = cxi_emitter_now();
    if (!cxi_operand("randint", &b, &poison)) return cxi_leave(before, poison);
    if (e->info(e, i ? hi : lo, &info) && !info.weak) t = cxi_dtype_at(b);
  }
  return cxi_leave(before, integers(key, t, lo, hi, shape));
}
/* -log(-log(u)), u uniform in [the least normal number, 1) */
cx cxi_random_gumbel(cx key, cx_dtype t, cx_dims shape) {
  cx u = uniform_between(key, t, shape, cxi_random_least_normal(t), 1);
  cx inner = cxi_neg(cxi_unary(CXI_PRIM_log, u));
  return cxi_neg(cxi_unary(CXI_PRIM_log, inner));
}
cx cx_gumbel_(cx key, cx_dtype t, cx_dims shape, const char *at) {
  cxi_name before = cxi_enter(at);
  cx poison;
  if (!cxi_random_draw("gumbel", &key, t, shape, &poison))
    return cxi_leave(before, poison);
  return cxi_leave(before, cxi_random_gumbel(key, t, shape));
}
