/* safetensors.h - the header of a safetensors file, checked and written.
 *
 * A file is an 8-byte little-endian length, that many bytes of JSON, the data.
 * Every rule of the format's reference reader is enforced: see safetensors.c. */
#ifndef CXI_SAFETENSORS_H
#define CXI_SAFETENSORS_H

#include "base/error.h"
#include "base/size.h"

typedef struct cxi_tensor_entry {
  char *name;
  char dtype[12];      /* as the file names it: "BF16" */
  cx_aval type;        /* .type is 0 if Calx has no such dtype */
  uint64_t begin, end; /* bytes, from the start of the file */
  const void *data;    /* when writing: not owned */
} cxi_tensor_entry;

typedef struct cxi_safetensors {
  uint32_t n;
  cxi_tensor_entry *entries; /* in the order of their data */
} cxi_safetensors;

/* Reads and checks the header of a whole file in memory. */
bool cxi_safetensors_parse(const unsigned char *file, size_t size,
                           cxi_safetensors *out, cxi_error *error);
void cxi_safetensors_free(cxi_safetensors *list);

/* The header for tensors that the caller then writes in the order of the
 * list, which is sorted here (by descending size of the dtype, then by name)
 * and gets its begin and end. Allocated with cxi_alloc. */
unsigned char *cxi_safetensors_header(cxi_safetensors *list, size_t *out_bytes,
                                      cxi_error *error);

#endif
