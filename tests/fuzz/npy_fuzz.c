/* npy_fuzz.c - any bytes as NumPy's file: refused, or elements that fit it. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "io/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cxi_npy npy;
  cxi_error error = { 0 };
  const bool read = cxi_npy_parse(data, size, &npy, &error);
  require(read == (error.code == CX_OK));
  if (!read) return 0;
  require(npy.offset <= size);
  if (!npy.type.type || npy.bytes > size - npy.offset) return 0;
  require((int64_t)npy.bytes == cxi_aval_bytes(&npy.type));
  void *to = cxi_alloc(npy.bytes + 1);
  if (to) cxi_npy_elements(&npy, data + npy.offset, to);
  cxi_free(to);
  /* What is written is read as the same. */
  unsigned char header[CXI_NPY_HEADER];
  size_t bytes;
  cxi_npy again;
  require(cxi_npy_header(npy.type, header, &bytes, &error));
  require(cxi_npy_parse(header, bytes, &again, &error));
  require(cxi_aval_equal(&npy.type, &again.type) && again.bytes == npy.bytes);
  return 0;
}
