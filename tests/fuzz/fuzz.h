/* fuzz.h - what each fuzzer begins with. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Called with one input after another; libFuzzer has main. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What does not hold is a finding, as what the sanitizers see is one. */
static inline void require(bool holds) {
  if (!holds) abort();
}

#endif
