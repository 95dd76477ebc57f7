/* hash.c - XXH3 of bytes, inlined for the sake of short keys. */
#include "base/hash.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/alloc.h"

cxi_hash cxi_hash_bytes(const void *bytes, size_t n) {
  const XXH128_hash_t h = XXH3_128bits(bytes, n);
  return (cxi_hash){ h.low64, h.high64 };
}

void cxi_bytes_add(cxi_bytes *bytes, const void *data, size_t n) {
  if (bytes->failed || n == 0) return;
  if (!cxi_grow(&bytes->data, &bytes->cap, bytes->n + n, 1)) {
    bytes->failed = true;
    return;
  }
  memcpy(bytes->data + bytes->n, data, n);
  bytes->n += (uint32_t)n;
}

void cxi_bytes_add_u32(cxi_bytes *bytes, uint32_t x) {
  cxi_bytes_add(bytes, &x, sizeof x);
}

void cxi_bytes_add_u64(cxi_bytes *bytes, uint64_t x) {
  cxi_bytes_add(bytes, &x, sizeof x);
}

void cxi_bytes_add_text(cxi_bytes *bytes, const char *text) {
  cxi_bytes_add(bytes, text, strlen(text) + 1);
}

void cxi_bytes_free(cxi_bytes *bytes) {
  cxi_free(bytes->data);
  *bytes = (cxi_bytes){ 0 };
}
