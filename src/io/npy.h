/* npy.h - NumPy's file of one array: the header checked and written.
 *
 * "\x93NUMPY", a version, the header's length, a dict of Python as text, the
 * elements. Nothing of it is ever evaluated: see npy.c. */
#ifndef CXI_NPY_H
#define CXI_NPY_H

#include "base/error.h"
#include "base/size.h"

typedef struct cxi_npy {
  char dtype[16];      /* as the file names it: "<f4" */
  cx_aval type;        /* .type is 0 if Calx has no such dtype */
  bool fortran;        /* the first index runs fastest */
  bool big;            /* the elements' bytes are the other way round */
  size_t offset;       /* of the elements, from the start */
  uint64_t bytes;      /* of the elements */
} cxi_npy;

/* The most that a header takes, and more than NumPy's own limit. */
enum { CXI_NPY_MAX_HEADER = 1 << 16 };

/* Reads the header at the start of `size` bytes, which may end before the
 * elements do. */
bool cxi_npy_parse(const unsigned char *file, size_t size, cxi_npy *out,
                   cxi_error *error);
/* The elements in row-major order and this machine's order of bytes. `to` has
 * room for npy->bytes; .type.type is not 0. */
void cxi_npy_elements(const cxi_npy *npy, const unsigned char *elements,
                      void *to);

/* The header of an array, format 1.0, a multiple of 64 bytes. CX_EDTYPE for a
 * dtype that NumPy has no name for (bf16, key). */
enum { CXI_NPY_HEADER = 320 };
bool cxi_npy_header(cx_aval type, unsigned char out[CXI_NPY_HEADER],
                    size_t *out_bytes, cxi_error *error);

#endif
