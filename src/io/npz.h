/* npz.h - NumPy's archive of arrays: a zip file whose members are .npy files.
 *
 * libzip reads and writes the container. Whatever a member says of its size is
 * checked against its own header before there is memory for it. */
#ifndef CXI_NPZ_H
#define CXI_NPZ_H

#include "io/npy.h"

typedef struct cxi_npz cxi_npz;
cxi_npz *cxi_npz_open(const char *path, cxi_error *error);
void cxi_npz_close(cxi_npz *npz);
uint32_t cxi_npz_count(const cxi_npz *npz);
/* The name of member i without .npy, to be freed with cxi_free, and its
 * header; false if it is no sound array. */
bool cxi_npz_header(cxi_npz *npz, uint32_t i, char **out_name, cxi_npy *out,
                    cxi_error *error);
/* All bytes of member i, header and elements, to be freed with cxi_free. */
unsigned char *cxi_npz_read(cxi_npz *npz, uint32_t i, const cxi_npy *header,
                            cxi_error *error);

/* One array of those written; nothing is owned. */
typedef struct cxi_npz_item {
  const char *name;
  cx_aval type;
  const void *data;
} cxi_npz_item;
bool cxi_npz_write(const char *path, uint32_t n, const cxi_npz_item *items,
                   cxi_error *error);

#endif
