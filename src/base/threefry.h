/* threefry.h - the hash threefry2x32 with 20 rounds.
 *
 * Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * 2011. A key is two words; what is drawn from it is the hash of a 64-bit
 * counter, so that each element is computed alone. */
#ifndef CXI_THREEFRY_H
#define CXI_THREEFRY_H

#include <stdint.h>

typedef struct cxi_word_pair {
  uint32_t a, b;
} cxi_word_pair;

static inline uint32_t cxi_rotate(uint32_t x, int by) {
  return x << by | x >> (32 - by);
}

/* Five groups of four rounds; after each the key is added, in turn, with the
 * number of the group. */
static inline cxi_word_pair cxi_threefry(cxi_word_pair key, cxi_word_pair x) {
  static const int by[2][4] = { { 13, 15, 26, 6 }, { 17, 29, 16, 24 } };
  const uint32_t schedule[3] = { key.a, key.b, key.a ^ key.b ^ 0x1bd11bda };
  x.a += schedule[0];
  x.b += schedule[1];
  for (uint32_t group = 0; group < 5; group++) {
    for (int i = 0; i < 4; i++) {
      x.a += x.b;
      x.b = cxi_rotate(x.b, by[group & 1][i]) ^ x.a;
    }
    x.a += schedule[(group + 1) % 3];
    x.b += schedule[(group + 2) % 3] + group + 1;
  }
  return x;
}

static inline cxi_word_pair cxi_counter(uint64_t i) {
  return (cxi_word_pair){ (uint32_t)(i >> 32), (uint32_t)i };
}

#endif
