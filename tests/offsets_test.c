/* offsets_test.c - buffers alive at the same time do not overlap, and a slab is
 * not much larger than what is alive. */
#include "support/calls.h"

#include <stdlib.h>

#include "lower/plan.h"

static uint64_t state_now;
static uint32_t draw(uint32_t n) {
  state_now = state_now * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state_now >> 33) % n;
}

static cxi_interval *random_intervals(uint32_t n, uint32_t longest) {
  cxi_interval *v = calloc(n + (size_t)1, sizeof *v);
  assert_non_null(v);
  for (uint32_t i = 0; i < n; i++) {
    v[i].first = draw(n + 1);
    v[i].last = v[i].first + draw(longest);
    v[i].bytes = draw(8) ? draw(500) : (size_t)draw(50000);
  }
  return v;
}

static int by_offset(const void *a, const void *b) {
  const cxi_interval *x = a, *y = b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Sorted by offset, only those that start before an interval ends can meet it. */
static void assert_disjoint(cxi_interval *v, uint32_t n) {
  qsort(v, n, sizeof *v, by_offset);
  for (uint32_t i = 0; i < n; i++) {
    assert_int_equal(v[i].offset % 64, 0);
    for (uint32_t k = i + 1; k < n && v[k].offset < v[i].offset + v[i].bytes;
         k++)
      if (v[k].first <= v[i].last && v[i].first <= v[k].last && v[k].bytes)
        fail_msg("[%zu, +%zu) and [%zu, +%zu) meet", v[i].offset, v[i].bytes,
                 v[k].offset, v[k].bytes);
  }
}

/* The most bytes alive at a time, each rounded up to 64. */
static size_t most_alive(const cxi_interval *v, uint32_t n, uint32_t end) {
  size_t *change = calloc(end + (size_t)2, sizeof *change), alive = 0, most = 0;
  assert_non_null(change);
  for (uint32_t i = 0; i < n; i++) {
    const size_t bytes = (v[i].bytes + 63) & ~(size_t)63;
    change[v[i].first] += bytes;
    change[v[i].last + 1] -= bytes; /* wraps, as the sum does */
  }
  for (uint32_t t = 0; t <= end; t++) {
    alive += change[t];
    if (alive > most) most = alive;
  }
  free(change);
  return most;
}

static void check(uint32_t n, uint32_t longest) {
  cxi_interval *v = random_intervals(n, longest);
  const size_t end = cxi_place_intervals(v, n);
  const size_t most = most_alive(v, n, n + longest + 1);
  assert_true(end != SIZE_MAX && end + 63 >= most);
  if ((double)end > 1.6 * (double)most + 4096)
    fail_msg("%u intervals: %zu bytes for %zu alive", n, end, most);
  assert_disjoint(v, n);
  free(v);
}

static void few_and_many(void **state) {
  (void)state;
  for (uint32_t n = 0; n < 40; n++) check(n, 1 + n / 2);
  check(1000, 30);
  check(4096, 300);
  check(4097, 10);
  check(30000, 20);
  check(30000, 500);
}

/* A gradient: each residual lives from i to 2 n - i. */
static void residuals_of_a_chain(void **state) {
  (void)state;
  enum { N = 60000 };
  cxi_interval *v = calloc(N, sizeof *v);
  assert_non_null(v);
  for (uint32_t i = 0; i < N; i++)
    v[i] = (cxi_interval){ .first = i, .last = 2 * N - i, .bytes = 64 };
  assert_int_equal(cxi_place_intervals(v, N), (size_t)N * 64);
  assert_disjoint(v, N);
  free(v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(few_and_many),
    cmocka_unit_test(residuals_of_a_chain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
