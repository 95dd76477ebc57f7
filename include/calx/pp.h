/* pp.h - counting and mapping macro arguments.
 *
 * A user calls nothing here. Lists hold 1 to 32 items; a longer one stops
 * the compiler at a name that ends in TOO_MANY. Every macro but CX_ANY
 * is called with at least one argument, as ISO C11 asks.
 */
#ifndef CALX_PP_H
#define CALX_PP_H

#define CX_CAT_(a, b) a##b
#define CX_CAT(a, b) CX_CAT_(a, b)
#define CX_STR_(...) #__VA_ARGS__
#define CX_STR(...) CX_STR_(__VA_ARGS__)

/* The number of arguments: 1 to 32. What is pasted into a name starts with a
 * digit: a word could be a macro of the user's. */
#define CX_NARG(...) CX_NARG_(__VA_ARGS__, \
  33_OR_MORE_ARE_TOO_MANY, 33_OR_MORE_ARE_TOO_MANY, 33_OR_MORE_ARE_TOO_MANY, \
  33_OR_MORE_ARE_TOO_MANY, 33_OR_MORE_ARE_TOO_MANY, 33_OR_MORE_ARE_TOO_MANY, \
  33_OR_MORE_ARE_TOO_MANY, 33_OR_MORE_ARE_TOO_MANY, 33_OR_MORE_ARE_TOO_MANY, \
  33_OR_MORE_ARE_TOO_MANY, 33_OR_MORE_ARE_TOO_MANY, 33_OR_MORE_ARE_TOO_MANY, \
  33_OR_MORE_ARE_TOO_MANY, 33_OR_MORE_ARE_TOO_MANY, 33_OR_MORE_ARE_TOO_MANY, \
  33_OR_MORE_ARE_TOO_MANY, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, \
  20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CX_NARG_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
  a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, \
  a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, \
  a42, a43, a44, a45, a46, a47, a48, n, ...) n

/* 1 for a single argument, 2_OR_MORE for more. */
#define CX_MANY(...) CX_NARG_(__VA_ARGS__, \
  2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, \
  2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, \
  2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, \
  2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, \
  2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, \
  2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, \
  2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, \
  2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 2_OR_MORE, 1, 0)

/* 0 for an empty list, 1_OR_MORE for others: only of nothing does an appended
 * () make a call of CX_COMMA. */
#define CX_ANY(...)                                                       \
  CX_ANY_(CX_MANY(__VA_ARGS__), CX_MANY(CX_COMMA __VA_ARGS__),            \
          CX_MANY(__VA_ARGS__()), CX_MANY(CX_COMMA __VA_ARGS__()))
#define CX_COMMA(...) ,
#define CX_ANY_(a, b, c, d) CX_ANY_OF(a, b, c, d)
#define CX_ANY_OF(a, b, c, d) \
  CX_SECOND(CX_ANY_##a##_##b##_##c##_##d, 1_OR_MORE, 0)
#define CX_ANY_1_1_1_2_OR_MORE 0, 0
#define CX_SECOND(...) CX_SECOND_(__VA_ARGS__)
#define CX_SECOND_(a, b, ...) b

/* m(a), m(b), ... */
#define CX_MAP(m, ...) CX_CAT(CX_MAP_, CX_NARG(__VA_ARGS__))(m, __VA_ARGS__)
#define CX_MAP_1(m, a) m(a)
#define CX_MAP_2(m, a, ...) m(a), CX_MAP_1(m, __VA_ARGS__)
#define CX_MAP_3(m, a, ...) m(a), CX_MAP_2(m, __VA_ARGS__)
#define CX_MAP_4(m, a, ...) m(a), CX_MAP_3(m, __VA_ARGS__)
#define CX_MAP_5(m, a, ...) m(a), CX_MAP_4(m, __VA_ARGS__)
#define CX_MAP_6(m, a, ...) m(a), CX_MAP_5(m, __VA_ARGS__)
#define CX_MAP_7(m, a, ...) m(a), CX_MAP_6(m, __VA_ARGS__)
#define CX_MAP_8(m, a, ...) m(a), CX_MAP_7(m, __VA_ARGS__)
#define CX_MAP_9(m, a, ...) m(a), CX_MAP_8(m, __VA_ARGS__)
#define CX_MAP_10(m, a, ...) m(a), CX_MAP_9(m, __VA_ARGS__)
#define CX_MAP_11(m, a, ...) m(a), CX_MAP_10(m, __VA_ARGS__)
#define CX_MAP_12(m, a, ...) m(a), CX_MAP_11(m, __VA_ARGS__)
#define CX_MAP_13(m, a, ...) m(a), CX_MAP_12(m, __VA_ARGS__)
#define CX_MAP_14(m, a, ...) m(a), CX_MAP_13(m, __VA_ARGS__)
#define CX_MAP_15(m, a, ...) m(a), CX_MAP_14(m, __VA_ARGS__)
#define CX_MAP_16(m, a, ...) m(a), CX_MAP_15(m, __VA_ARGS__)
#define CX_MAP_17(m, a, ...) m(a), CX_MAP_16(m, __VA_ARGS__)
#define CX_MAP_18(m, a, ...) m(a), CX_MAP_17(m, __VA_ARGS__)
#define CX_MAP_19(m, a, ...) m(a), CX_MAP_18(m, __VA_ARGS__)
#define CX_MAP_20(m, a, ...) m(a), CX_MAP_19(m, __VA_ARGS__)
#define CX_MAP_21(m, a, ...) m(a), CX_MAP_20(m, __VA_ARGS__)
#define CX_MAP_22(m, a, ...) m(a), CX_MAP_21(m, __VA_ARGS__)
#define CX_MAP_23(m, a, ...) m(a), CX_MAP_22(m, __VA_ARGS__)
#define CX_MAP_24(m, a, ...) m(a), CX_MAP_23(m, __VA_ARGS__)
#define CX_MAP_25(m, a, ...) m(a), CX_MAP_24(m, __VA_ARGS__)
#define CX_MAP_26(m, a, ...) m(a), CX_MAP_25(m, __VA_ARGS__)
#define CX_MAP_27(m, a, ...) m(a), CX_MAP_26(m, __VA_ARGS__)
#define CX_MAP_28(m, a, ...) m(a), CX_MAP_27(m, __VA_ARGS__)
#define CX_MAP_29(m, a, ...) m(a), CX_MAP_28(m, __VA_ARGS__)
#define CX_MAP_30(m, a, ...) m(a), CX_MAP_29(m, __VA_ARGS__)
#define CX_MAP_31(m, a, ...) m(a), CX_MAP_30(m, __VA_ARGS__)
#define CX_MAP_32(m, a, ...) m(a), CX_MAP_31(m, __VA_ARGS__)

/* m(c, a) m(c, b) ...: no commas, a context first. */
#define CX_EACH(m, c, ...) \
  CX_CAT(CX_EACH_, CX_NARG(__VA_ARGS__))(m, c, __VA_ARGS__)
#define CX_EACH_1(m, c, a) m(c, a)
#define CX_EACH_2(m, c, a, ...) m(c, a) CX_EACH_1(m, c, __VA_ARGS__)
#define CX_EACH_3(m, c, a, ...) m(c, a) CX_EACH_2(m, c, __VA_ARGS__)
#define CX_EACH_4(m, c, a, ...) m(c, a) CX_EACH_3(m, c, __VA_ARGS__)
#define CX_EACH_5(m, c, a, ...) m(c, a) CX_EACH_4(m, c, __VA_ARGS__)
#define CX_EACH_6(m, c, a, ...) m(c, a) CX_EACH_5(m, c, __VA_ARGS__)
#define CX_EACH_7(m, c, a, ...) m(c, a) CX_EACH_6(m, c, __VA_ARGS__)
#define CX_EACH_8(m, c, a, ...) m(c, a) CX_EACH_7(m, c, __VA_ARGS__)
#define CX_EACH_9(m, c, a, ...) m(c, a) CX_EACH_8(m, c, __VA_ARGS__)
#define CX_EACH_10(m, c, a, ...) m(c, a) CX_EACH_9(m, c, __VA_ARGS__)
#define CX_EACH_11(m, c, a, ...) m(c, a) CX_EACH_10(m, c, __VA_ARGS__)
#define CX_EACH_12(m, c, a, ...) m(c, a) CX_EACH_11(m, c, __VA_ARGS__)
#define CX_EACH_13(m, c, a, ...) m(c, a) CX_EACH_12(m, c, __VA_ARGS__)
#define CX_EACH_14(m, c, a, ...) m(c, a) CX_EACH_13(m, c, __VA_ARGS__)
#define CX_EACH_15(m, c, a, ...) m(c, a) CX_EACH_14(m, c, __VA_ARGS__)
#define CX_EACH_16(m, c, a, ...) m(c, a) CX_EACH_15(m, c, __VA_ARGS__)
#define CX_EACH_17(m, c, a, ...) m(c, a) CX_EACH_16(m, c, __VA_ARGS__)
#define CX_EACH_18(m, c, a, ...) m(c, a) CX_EACH_17(m, c, __VA_ARGS__)
#define CX_EACH_19(m, c, a, ...) m(c, a) CX_EACH_18(m, c, __VA_ARGS__)
#define CX_EACH_20(m, c, a, ...) m(c, a) CX_EACH_19(m, c, __VA_ARGS__)
#define CX_EACH_21(m, c, a, ...) m(c, a) CX_EACH_20(m, c, __VA_ARGS__)
#define CX_EACH_22(m, c, a, ...) m(c, a) CX_EACH_21(m, c, __VA_ARGS__)
#define CX_EACH_23(m, c, a, ...) m(c, a) CX_EACH_22(m, c, __VA_ARGS__)
#define CX_EACH_24(m, c, a, ...) m(c, a) CX_EACH_23(m, c, __VA_ARGS__)
#define CX_EACH_25(m, c, a, ...) m(c, a) CX_EACH_24(m, c, __VA_ARGS__)
#define CX_EACH_26(m, c, a, ...) m(c, a) CX_EACH_25(m, c, __VA_ARGS__)
#define CX_EACH_27(m, c, a, ...) m(c, a) CX_EACH_26(m, c, __VA_ARGS__)
#define CX_EACH_28(m, c, a, ...) m(c, a) CX_EACH_27(m, c, __VA_ARGS__)
#define CX_EACH_29(m, c, a, ...) m(c, a) CX_EACH_28(m, c, __VA_ARGS__)
#define CX_EACH_30(m, c, a, ...) m(c, a) CX_EACH_29(m, c, __VA_ARGS__)
#define CX_EACH_31(m, c, a, ...) m(c, a) CX_EACH_30(m, c, __VA_ARGS__)
#define CX_EACH_32(m, c, a, ...) m(c, a) CX_EACH_31(m, c, __VA_ARGS__)

/* m(name, value), m(name, value), ...: pairs of arguments. */
#define CX_PAIRS(m, ...) \
  CX_CAT(CX_PAIRS_, CX_NARG(__VA_ARGS__))(m, __VA_ARGS__)
#define CX_PAIRS_1(m, n) m(n, CX_A_VALUE_IS_MISSING)
#define CX_PAIRS_2(m, n, v) m(n, v)
#define CX_PAIRS_3(m, n, v, ...) m(n, v), CX_PAIRS_1(m, __VA_ARGS__)
#define CX_PAIRS_4(m, n, v, ...) m(n, v), CX_PAIRS_2(m, __VA_ARGS__)
#define CX_PAIRS_5(m, n, v, ...) m(n, v), CX_PAIRS_3(m, __VA_ARGS__)
#define CX_PAIRS_6(m, n, v, ...) m(n, v), CX_PAIRS_4(m, __VA_ARGS__)
#define CX_PAIRS_7(m, n, v, ...) m(n, v), CX_PAIRS_5(m, __VA_ARGS__)
#define CX_PAIRS_8(m, n, v, ...) m(n, v), CX_PAIRS_6(m, __VA_ARGS__)
#define CX_PAIRS_9(m, n, v, ...) m(n, v), CX_PAIRS_7(m, __VA_ARGS__)
#define CX_PAIRS_10(m, n, v, ...) m(n, v), CX_PAIRS_8(m, __VA_ARGS__)
#define CX_PAIRS_11(m, n, v, ...) m(n, v), CX_PAIRS_9(m, __VA_ARGS__)
#define CX_PAIRS_12(m, n, v, ...) m(n, v), CX_PAIRS_10(m, __VA_ARGS__)
#define CX_PAIRS_13(m, n, v, ...) m(n, v), CX_PAIRS_11(m, __VA_ARGS__)
#define CX_PAIRS_14(m, n, v, ...) m(n, v), CX_PAIRS_12(m, __VA_ARGS__)
#define CX_PAIRS_15(m, n, v, ...) m(n, v), CX_PAIRS_13(m, __VA_ARGS__)
#define CX_PAIRS_16(m, n, v, ...) m(n, v), CX_PAIRS_14(m, __VA_ARGS__)
#define CX_PAIRS_17(m, n, v, ...) m(n, v), CX_PAIRS_15(m, __VA_ARGS__)
#define CX_PAIRS_18(m, n, v, ...) m(n, v), CX_PAIRS_16(m, __VA_ARGS__)
#define CX_PAIRS_19(m, n, v, ...) m(n, v), CX_PAIRS_17(m, __VA_ARGS__)
#define CX_PAIRS_20(m, n, v, ...) m(n, v), CX_PAIRS_18(m, __VA_ARGS__)
#define CX_PAIRS_21(m, n, v, ...) m(n, v), CX_PAIRS_19(m, __VA_ARGS__)
#define CX_PAIRS_22(m, n, v, ...) m(n, v), CX_PAIRS_20(m, __VA_ARGS__)
#define CX_PAIRS_23(m, n, v, ...) m(n, v), CX_PAIRS_21(m, __VA_ARGS__)
#define CX_PAIRS_24(m, n, v, ...) m(n, v), CX_PAIRS_22(m, __VA_ARGS__)
#define CX_PAIRS_25(m, n, v, ...) m(n, v), CX_PAIRS_23(m, __VA_ARGS__)
#define CX_PAIRS_26(m, n, v, ...) m(n, v), CX_PAIRS_24(m, __VA_ARGS__)
#define CX_PAIRS_27(m, n, v, ...) m(n, v), CX_PAIRS_25(m, __VA_ARGS__)
#define CX_PAIRS_28(m, n, v, ...) m(n, v), CX_PAIRS_26(m, __VA_ARGS__)
#define CX_PAIRS_29(m, n, v, ...) m(n, v), CX_PAIRS_27(m, __VA_ARGS__)
#define CX_PAIRS_30(m, n, v, ...) m(n, v), CX_PAIRS_28(m, __VA_ARGS__)
#define CX_PAIRS_31(m, n, v, ...) m(n, v), CX_PAIRS_29(m, __VA_ARGS__)
#define CX_PAIRS_32(m, n, v, ...) m(n, v), CX_PAIRS_30(m, __VA_ARGS__)

/* a[0], a[1], ...: as many as there are arguments. */
#define CX_SPREAD(...) CX_CAT(CX_SPREAD_, CX_NARG(__VA_ARGS__))
#define CX_SPREAD_1 a_[0]
#define CX_SPREAD_2 CX_SPREAD_1, a_[1]
#define CX_SPREAD_3 CX_SPREAD_2, a_[2]
#define CX_SPREAD_4 CX_SPREAD_3, a_[3]
#define CX_SPREAD_5 CX_SPREAD_4, a_[4]
#define CX_SPREAD_6 CX_SPREAD_5, a_[5]
#define CX_SPREAD_7 CX_SPREAD_6, a_[6]
#define CX_SPREAD_8 CX_SPREAD_7, a_[7]
#define CX_SPREAD_9 CX_SPREAD_8, a_[8]
#define CX_SPREAD_10 CX_SPREAD_9, a_[9]
#define CX_SPREAD_11 CX_SPREAD_10, a_[10]
#define CX_SPREAD_12 CX_SPREAD_11, a_[11]
#define CX_SPREAD_13 CX_SPREAD_12, a_[12]
#define CX_SPREAD_14 CX_SPREAD_13, a_[13]
#define CX_SPREAD_15 CX_SPREAD_14, a_[14]
#define CX_SPREAD_16 CX_SPREAD_15, a_[15]
#define CX_SPREAD_17 CX_SPREAD_16, a_[16]
#define CX_SPREAD_18 CX_SPREAD_17, a_[17]
#define CX_SPREAD_19 CX_SPREAD_18, a_[18]
#define CX_SPREAD_20 CX_SPREAD_19, a_[19]
#define CX_SPREAD_21 CX_SPREAD_20, a_[20]
#define CX_SPREAD_22 CX_SPREAD_21, a_[21]
#define CX_SPREAD_23 CX_SPREAD_22, a_[22]
#define CX_SPREAD_24 CX_SPREAD_23, a_[23]
#define CX_SPREAD_25 CX_SPREAD_24, a_[24]
#define CX_SPREAD_26 CX_SPREAD_25, a_[25]
#define CX_SPREAD_27 CX_SPREAD_26, a_[26]
#define CX_SPREAD_28 CX_SPREAD_27, a_[27]
#define CX_SPREAD_29 CX_SPREAD_28, a_[28]
#define CX_SPREAD_30 CX_SPREAD_29, a_[29]
#define CX_SPREAD_31 CX_SPREAD_30, a_[30]
#define CX_SPREAD_32 CX_SPREAD_31, a_[31]

#endif
