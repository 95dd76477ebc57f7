/* literal.c - C numbers as handles.
 *
 * A number is encoded in the handle itself, so that it takes no slot, has no
 * owner and cannot end. By the top four bits of the index:
 *   8..f  a double with an exponent of -511..511: 63 bits of it
 *   7     a double that is a float: its 32 bits
 *   5, 4  a signed, an unsigned integer of 60 bits
 *   6     with the next four bits: 0 double, 1 signed, 2 unsigned by its text,
 *         interned as a name; 3 bool */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpu.h"
#include "calx/literal.h"
#include "trace/context.h"

static const uint64_t LOW_60 = ((uint64_t)1 << 60) - 1;

static cx encode(uint32_t top, uint64_t bits) {
  return (cx){ top | (uint32_t)(bits >> 32), (uint32_t)bits };
}

static cx encode_text(uint32_t which, const char *text) {
  return (cx){ 0x60000000u | which << 24, cxi_name_of(text) };
}

/* Exponents are kept with a bias of 512, so that the highest value, which
 * would look like none, is not in use. */
cx cx_lit_f(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  if (exponent >= -511 && exponent <= 510) {
    const uint64_t kept = (bits >> 63) << 62 |
                          (uint64_t)(exponent + 511) << 52 |
                          (bits & (((uint64_t)1 << 52) - 1));
    return encode(0x80000000u, kept);
  }
  const cxi_fpu mode = cxi_fpu_enter();
  const float f = (float)x;
  const bool is_float = !((double)f < x) && !((double)f > x); /* or NaN */
  cxi_fpu_leave(mode);
  if (is_float) {
    uint32_t low;
    memcpy(&low, &f, sizeof low);
    return (cx){ 0x70000000u, low };
  }
  char text[48];
  snprintf(text, sizeof text, "%a", x);
  return encode_text(0, text);
}

cx cx_lit_i(long long x) {
  if (x >= -(1ll << 59) && x < 1ll << 59)
    return encode(0x50000000u, (uint64_t)x & LOW_60);
  char text[32];
  snprintf(text, sizeof text, "%lld", x);
  return encode_text(1, text);
}

cx cx_lit_u(unsigned long long x) {
  if (x <= LOW_60) return encode(0x40000000u, x);
  char text[32];
  snprintf(text, sizeof text, "%llu", x);
  return encode_text(2, text);
}

cx cx_lit_b(bool x) {
  return (cx){ 0x63000000u, x };
}

static cxi_item number(cx_dtype type, uint64_t bits) {
  return (cxi_item){ .kind = CXI_ITEM_NUMBER,
                     .weak = true,
                     .type = cxi_type_scalar(type),
                     .as.bits = bits };
}

static cxi_item number_of_double(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return number(CX_F64, bits);
}

static cxi_item number_of_text(cx a) {
  const char *text = cxi_name_text(a.generation);
  switch (a.index >> 24 & 0xf) {
  case 0:
    return number_of_double(strtod(text, NULL));
  case 1:
    return number(CX_I64, (uint64_t)strtoll(text, NULL, 10));
  case 2:
    return number(CX_U64, strtoull(text, NULL, 10));
  default:
    return number(CX_BOOL, a.generation & 1);
  }
}

cxi_item cxi_number_item(cx a) {
  uint64_t bits = (uint64_t)a.index << 32 | a.generation;
  switch (a.index >> 28) {
  case 4:
    return number(CX_U64, bits & LOW_60);
  case 5: /* bit 59 is the sign */
    bits &= LOW_60;
    return number(CX_I64, bits >> 59 ? bits | ~LOW_60 : bits);
  case 6:
    return number_of_text(a);
  case 7: {
    float f;
    memcpy(&f, &a.generation, sizeof f);
    return number_of_double((double)f);
  }
  default: {
    const uint64_t exponent = (bits >> 52 & 0x3ff) - 511 + 1023;
    return number(CX_F64, (bits >> 62 & 1) << 63 | exponent << 52 |
                              (bits & (((uint64_t)1 << 52) - 1)));
  }
  }
}

cx cxi_number_weak(cx_dtype type, uint64_t bits) {
  double x;
  switch (type) {
  case CX_BOOL:
    return cx_lit_b(bits & 1);
  case CX_I64:
    return cx_lit_i((int64_t)bits);
  case CX_U64:
    return cx_lit_u(bits);
  default:
    x = cxi_element_get(type, &bits);
    return cx_lit_f(x);
  }
}

cxi_item cxi_number_cast(cxi_item a, cx_dtype type) {
  const cx_dtype from = cxi_type_dtype(a.type);
  uint64_t bits = 0;
  const cxi_fpu mode = cxi_fpu_enter();
  if (from == type)
    bits = a.as.bits;
  else if (cxi_dtype_is_float(from))
    cxi_element_set(type, &bits, cxi_element_get(from, &a.as.bits));
  else if (from == CX_U64 && cxi_dtype_is_float(type))
    cxi_element_set(type, &bits, (double)a.as.bits);
  else
    cxi_element_set_int(type, &bits, cxi_element_get_int(from, &a.as.bits));
  cxi_fpu_leave(mode);
  return (cxi_item){ .kind = CXI_ITEM_NUMBER,
                     .was_weak = a.weak || a.was_weak,
                     .type = cxi_type_scalar(type),
                     .as.bits = bits };
}

cxi_item cxi_number_strong(cxi_item a) {
  if (a.kind != CXI_ITEM_NUMBER || !a.weak) return a;
  return cxi_number_cast(a, cxi_type_dtype(cxi_sig_type(cxi_sig_of(a))));
}
