/* number.h - literals and parameters as text, for printer and parser. */
#ifndef CXI_NUMBER_H
#define CXI_NUMBER_H

#include "base/dtype.h"

enum { CXI_NUMBER_ROOM = 40 };

/* The shortest text that reads back as the same bits: "0.1", "7", "true",
 * "nan", "0x7fc00001" for other NaNs and for keys. */
void cxi_number_print(char out[CXI_NUMBER_ROOM], cx_dtype dtype,
                      uint64_t bits);

/* Reads all of text[0..length-1]. NULL, or what is wrong with it. */
const char *cxi_number_parse(const char *text, size_t length, cx_dtype dtype,
                             uint64_t *out_bits);

#endif
