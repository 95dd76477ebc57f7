/* hash.h - XXH3-128 over bytes, one-shot and streamed. */
#ifndef CXI_HASH_H
#define CXI_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cxi_hash {
  uint64_t lo, hi;
} cxi_hash;
cxi_hash cxi_hash_bytes(const void *bytes, size_t n);
static inline bool cxi_hash_equal(cxi_hash a, cxi_hash b) {
  return a.lo == b.lo && a.hi == b.hi;
}

/* Bytes being collected: keys are built, hashed and compared in this form. */
typedef struct cxi_bytes {
  unsigned char *data;
  uint32_t n, cap;
  bool failed;                /* an append found no memory */
} cxi_bytes;
void cxi_bytes_add(cxi_bytes *bytes, const void *data, size_t n);
void cxi_bytes_add_u32(cxi_bytes *bytes, uint32_t x);
void cxi_bytes_add_u64(cxi_bytes *bytes, uint64_t x);
void cxi_bytes_add_text(cxi_bytes *bytes, const char *text); /* with its 0 */
void cxi_bytes_free(cxi_bytes *bytes);

#endif
