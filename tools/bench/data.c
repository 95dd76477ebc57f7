/* data.c - the numbers that all libraries work on. */
#include <stdlib.h>

#include "bench/bench.h"

uint32_t bench_name(const char *name) {
  uint32_t h = 2166136261u;
  for (; *name; name++) h = (h ^ (uint8_t)*name) * 16777619u;
  return h;
}
uint32_t bench_hash(uint32_t name, uint32_t i) {
  uint32_t x = i + name;
  x ^= x >> 16, x *= 0x7FEB352Du;
  x ^= x >> 15, x *= 0x846CA68Bu;
  return x ^ x >> 16;
}
static size_t count(cx_dims shape) {
  size_t n = 1;
  for (int i = 0; i < shape.n; i++) n *= (size_t)shape.d[i];
  return n;
}
/* An array of its own, which may be donated. */
static cx hand_over(void *data, cx_dtype type, cx_dims shape) {
  cx a = cx_from_(data, type, shape, CX_AT);
  free(data);
  return a;
}
cx bench_uniform_(const char *name, double a, cx_dims shape) {
  const size_t n = count(shape);
  const uint32_t h = bench_name(name);
  float *x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);
  if (!x) return cx_fail_(CX_AT, CX_EMEMORY, "bench: no memory for %s", name);
  for (size_t i = 0; i < n; i++) {
    float u = (float)(bench_hash(h, (uint32_t)i) >> 8) * 0x1p-23f;
    u -= 1.0f;
    x[i] = u * (float)a;
  }
  return hand_over(x, CX_F32, shape);
}
cx bench_integers_(const char *name, uint32_t below, cx_dims shape) {
  const size_t n = count(shape);
  const uint32_t h = bench_name(name);
  int32_t *x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);
  if (!x) return cx_fail_(CX_AT, CX_EMEMORY, "bench: no memory for %s", name);
  for (size_t i = 0; i < n; i++)
    x[i] = (int32_t)(bench_hash(h, (uint32_t)i) % below);
  return hand_over(x, CX_I32, shape);
}
