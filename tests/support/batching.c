/* batching.c - batching rules for programs, by a number made from the body. */
#include "support/batching.h"

#include <stdlib.h>

#include "ir/batching.h"
#include "ir/builder.h"
#include "transforms/transforms.h"

/* The manner, some bits of the body's hash, one bit that no counter reaches. */
enum { SHIFT = 3, TOP = 45 };
static const int64_t first = (int64_t)1 << TOP;

int64_t batching_number(const cxi_program *body, int manner) {
  const uint64_t bits = body->hash.lo % ((uint64_t)1 << (TOP - SHIFT));
  return first | (int64_t)(bits << SHIFT) | manner;
}

int64_t batching_renumber(int64_t number, const cxi_program *body) {
  if (number < first) return number;
  return batching_number(body, (int)(number % BATCHING_MANNERS));
}

/* -- the bodies that there were ------------------------------------------- */

typedef struct known {
  int64_t number;
  const cxi_program *body; /* a reference, for good */
} known;
static known *all;
static size_t n_all, cap_all;
static const cxi_batching *others;

static const cxi_program *body_of(int64_t number) {
  for (size_t i = 0; i < n_all; i++)
    if (all[i].number == number) return all[i].body;
  return NULL;
}

static bool same_ends(const cxi_program *p, const cxi_program *q) {
  if (p->n_in != q->n_in || p->n_out != q->n_out) return false;
  for (uint32_t i = 0; i < p->n_in; i++)
    if (p->values[i].type != q->values[i].type) return false;
  for (uint32_t i = 0; i < p->n_out; i++)
    if (cxi_output_type(p, i) != cxi_output_type(q, i)) return false;
  return true;
}

/* A body may be another one by now: simplified, say. */
static bool fits(int64_t number, const cxi_program *body) {
  if (number < first) return others && others->fits(number, body);
  const cxi_program *is = body_of(number);
  if (is) return same_ends(is, body);
  if (n_all == cap_all) {
    cap_all = 2 * cap_all + 64;
    known *more = realloc(all, cap_all * sizeof *all);
    if (!more) return false;
    all = more;
  }
  all[n_all++] = (known){ number, cxi_program_retain(body) };
  return true;
}

/* -- the rules ------------------------------------------------------------ */

/* One equation: a function of the same manner whose body is p. */
static const cxi_program *wrapped(const cxi_program *p, int manner,
                                  cxi_error *error) {
  cxi_builder b;
  cx *in = calloc(p->n_in + (size_t)1, sizeof *in);
  cx *out = calloc(p->n_out + (size_t)1, sizeof *out);
  const cxi_custom_vmap_params params = { .body = p,
                                          .rule = batching_number(p, manner),
                                          .name = cxi_name_of("again") };
  cxi_builder_open(&b);
  for (uint32_t i = 0; i < p->n_in; i++)
    in[i] = cxi_builder_input(&b, p->values[i].type);
  cxi_emit(CXI_PRIM_custom_vmap, &params, p->n_in, in, p->n_out, out);
  const cxi_program *q =
      cxi_builder_finish(&b, p->name, p->n_in, in, p->n_out, out, error);
  free(in);
  free(out);
  return q ? cxi_hold(q) : NULL;
}

static const cxi_program *program(int64_t number, int64_t size, bool *batched,
                                  bool *batched_out, uint32_t *out_skip) {
  if (number < first)
    return others->program(number, size, batched, batched_out, out_skip);
  const cxi_program *body = body_of(number), *q = NULL;
  const int manner = (int)(number % BATCHING_MANNERS);
  cxi_error error = { 0 };
  bool *force = calloc(body->n_out + (size_t)1, sizeof *force);
  *out_skip = 0;
  for (uint32_t i = 0; i < body->n_in && manner & BATCHING_ALL; i++)
    batched[i] = true;
  for (uint32_t i = 0; i < body->n_out && manner & BATCHING_RESULTS; i++)
    force[i] = true;
  q = cxi_batch(body, batched, size, force, batched_out, &error);
  free(force);
  if (q && manner & BATCHING_AGAIN) q = wrapped(q, manner, &error);
  if (!q) cxi_fail(error.code, "%s", error.text);
  return q;
}

static const cxi_batching installed = { fits, program };

void batching_install(void) {
  if (cxi_batching_installed == &installed) return;
  others = cxi_batching_installed;
  cxi_batching_installed = &installed;
}
