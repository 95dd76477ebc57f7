/* number.c - numbers to text and back, independent of the locale. */
#include "ir/number.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the C locale, for this thread, while a decimal point is at stake ----- */

static locale_t c_locale;

static void make_locale(void) {
  c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t enter_c_locale(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_locale);
  return c_locale ? uselocale(c_locale) : (locale_t)0;
}

static void leave_c_locale(locale_t before) {
  if (before) uselocale(before);
}

/* -- floating numbers ----------------------------------------------------- */

static uint64_t bits_of_text(cx_dtype dtype, const char *text) {
  uint64_t bits = 0;
  if (dtype == CX_F32) {
    float x = strtof(text, NULL);
    memcpy(&bits, &x, sizeof x);
  } else {
    cxi_element_set(dtype, &bits, strtod(text, NULL));
  }
  return bits;
}

/* The bits of the NaN that is written "nan". */
static uint64_t quiet_nan(cx_dtype dtype) {
  switch (dtype) {
  case CX_F16:
    return 0x7e00;
  case CX_BF16:
    return 0x7fc0;
  case CX_F32:
    return 0x7fc00000;
  default:
    return UINT64_C(0x7ff8000000000000);
  }
}

static void print_hex(char *out, cx_dtype dtype, uint64_t bits) {
  snprintf(out, CXI_NUMBER_ROOM, "0x%0*" PRIx64,
           (int)cxi_dtype_bytes(dtype) * 2, bits);
}

/* Makes "2" and "1e+10" look like what they are. */
static void add_point(char *text) {
  if (!strpbrk(text, ".e")) strcat(text, ".0");
}

/* The shortest of 1, 2, ... digits; the first few are skipped for the wider
 * types, so that 128 is not written 1e+02. */
static void print_finite(char *out, cx_dtype dtype, uint64_t bits, double x) {
  const int first = dtype == CX_F64 ? 15 : dtype == CX_F32 ? 6 : 1;
  if (fabs(x) < 1e6 && x == trunc(x)) {
    snprintf(out, CXI_NUMBER_ROOM, "%.1f", x);
    return;
  }
  for (int digits = first; digits <= 17; digits++) {
    snprintf(out, CXI_NUMBER_ROOM, "%.*g", digits, x);
    if (bits_of_text(dtype, out) == bits) break;
  }
  add_point(out);
}

static void print_float(char *out, cx_dtype dtype, uint64_t bits) {
  double x = cxi_element_get(dtype, &bits);
  if (isnan(x) && bits != quiet_nan(dtype)) {
    print_hex(out, dtype, bits);
  } else if (isnan(x)) {
    snprintf(out, CXI_NUMBER_ROOM, "nan");
  } else if (isinf(x)) {
    snprintf(out, CXI_NUMBER_ROOM, x > 0 ? "inf" : "-inf");
  } else {
    locale_t before = enter_c_locale();
    print_finite(out, dtype, bits, x);
    leave_c_locale(before);
  }
}

void cxi_number_print(char out[CXI_NUMBER_ROOM], cx_dtype dtype,
                      uint64_t bits) {
  switch (cxi_dtype_kind(dtype)) {
  case CXI_FLOAT:
    print_float(out, dtype, bits);
    break;
  case CXI_BOOLEAN:
    snprintf(out, CXI_NUMBER_ROOM, bits ? "true" : "false");
    break;
  case CXI_SIGNED:
    snprintf(out, CXI_NUMBER_ROOM, "%" PRId64,
             cxi_element_get_int(dtype, &bits));
    break;
  case CXI_UNSIGNED:
    snprintf(out, CXI_NUMBER_ROOM, "%" PRIu64, bits);
    break;
  default:
    print_hex(out, dtype, bits);
    break;
  }
}

/* -- reading -------------------------------------------------------------- */

static const char *skip_digits(const char *at) {
  while (*at >= '0' && *at <= '9') at++;
  return at;
}

/* [-] digits [. digits] [e [sign] digits]: no more than strtod reads. */
static bool is_decimal(const char *text) {
  const char *at = text + (*text == '-');
  const char *end = skip_digits(at);
  if (end == at) return false;
  if (*end == '.') end = skip_digits(end + 1);
  if (*end == 'e' || *end == 'E') {
    at = end + 1 + (end[1] == '-' || end[1] == '+');
    end = skip_digits(at);
    if (end == at) return false;
  }
  return *end == 0;
}

static bool is_integer(const char *text) {
  const char *at = text + (*text == '-');
  return *at && *skip_digits(at) == 0;
}

static const char *parse_hex(const char *digits, cx_dtype dtype,
                             uint64_t *out_bits) {
  size_t n = strlen(digits);
  if (n == 0 || n > cxi_dtype_bytes(dtype) * 2 ||
      digits[strspn(digits, "0123456789abcdefABCDEF")])
    return "is not the bits of a number of its dtype";
  *out_bits = strtoull(digits, NULL, 16);
  return NULL;
}

static const char *parse_float(const char *text, cx_dtype dtype,
                               uint64_t *out_bits) {
  const bool negative = *text == '-';
  if (strcmp(text, "nan") == 0) {
    *out_bits = quiet_nan(dtype);
    return NULL;
  }
  if (strcmp(text + negative, "inf") == 0) {
    *out_bits = 0;
    cxi_element_set(dtype, out_bits, negative ? -INFINITY : INFINITY);
    return NULL;
  }
  if (!is_decimal(text)) return "is not a number";
  locale_t before = enter_c_locale();
  *out_bits = bits_of_text(dtype, text);
  leave_c_locale(before);
  if (isinf(cxi_element_get(dtype, out_bits)))
    return "does not fit into its dtype";
  return NULL;
}

static const char *parse_signed(const char *text, cx_dtype dtype,
                                uint64_t *out_bits) {
  if (!is_integer(text)) return "is not an integer";
  errno = 0;
  int64_t x = strtoll(text, NULL, 10);
  *out_bits = 0;
  cxi_element_set_int(dtype, out_bits, x);
  if (errno || cxi_element_get_int(dtype, out_bits) != x)
    return "does not fit into its dtype";
  return NULL;
}

static const char *parse_unsigned(const char *text, cx_dtype dtype,
                                  uint64_t *out_bits) {
  if (!is_integer(text)) return "is not an integer";
  errno = 0;
  *out_bits = strtoull(text, NULL, 10);
  size_t bytes = cxi_dtype_bytes(dtype);
  if (errno || *text == '-' || (bytes < 8 && *out_bits >> 8 * bytes))
    return "does not fit into its dtype";
  return NULL;
}

static const char *parse_bool(const char *text, uint64_t *out_bits) {
  *out_bits = strcmp(text, "true") == 0;
  return *out_bits || strcmp(text, "false") == 0 ? NULL
                                                 : "is not true or false";
}

const char *cxi_number_parse(const char *text, size_t length, cx_dtype dtype,
                             uint64_t *out_bits) {
  char copy[64];
  if (length >= sizeof copy) return "is too long for a number";
  memcpy(copy, text, length);
  copy[length] = 0;
  const bool hex = strncmp(copy, "0x", 2) == 0;
  const cxi_kind kind = cxi_dtype_kind(dtype);
  if (hex && (kind == CXI_FLOAT || kind == CXI_RANDOM_KEY))
    return parse_hex(copy + 2, dtype, out_bits);
  switch (kind) {
  case CXI_FLOAT:
    return parse_float(copy, dtype, out_bits);
  case CXI_SIGNED:
    return parse_signed(copy, dtype, out_bits);
  case CXI_UNSIGNED:
    return parse_unsigned(copy, dtype, out_bits);
  case CXI_BOOLEAN:
    return parse_bool(copy, out_bits);
  default:
    return "is not the bits of a key";
  }
}
