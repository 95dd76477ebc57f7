/* dlpack.h - the structs of DLPack 1, as its specification lays them out
 * (dmlc.github.io/dlpack/latest/c_api.html), with Calx's names inside. */
#ifndef CXI_DLPACK_H
#define CXI_DLPACK_H

#include <stdint.h>

enum { CXI_DL_MAJOR = 1, CXI_DL_MINOR = 0, CXI_DL_CPU = 1 };
enum cxi_dl_code {
  CXI_DL_INT = 0,
  CXI_DL_UINT = 1,
  CXI_DL_FLOAT = 2,
  CXI_DL_BFLOAT = 4,
  CXI_DL_BOOL = 6
};
enum { CXI_DL_READ_ONLY = 1 }; /* of flags */

typedef struct cxi_dl_tensor {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides; /* strides in elements; NULL: dense */
  uint64_t byte_offset;
} cxi_dl_tensor;

struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void *manager;
  void (*deleter)(struct DLManagedTensorVersioned *self); /* may be NULL */
  uint64_t flags;
  cxi_dl_tensor tensor;
};

#endif
