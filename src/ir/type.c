/* type.c - the process-wide table of types: append-only, read without locks.
 *
 * Types live in chunks that never move, so that an id is found with two loads.
 * A hash table of ids finds the id of a type; it is replaced by a larger one
 * when it is half full, and the old one stays, since a reader may be in it. */
#include "ir/type.h"

#include <string.h>

#include "base/alloc.h"
#include "base/mutex.h"

enum { CHUNK = CXI_TYPE_CHUNK, MAX_CHUNKS = 1 << 14, FIRST_SLOTS = 1 << 11 };

/* Types of rank 0 have their dtype's number, so that they cost nothing. */
static cx_aval first_chunk[CHUNK] = { [0] = { .type = CX_F32 },
#define SCALAR(NAME, text, storage, kind) [CX_##NAME] = { .type = CX_##NAME },
                                      CXI_DTYPES(SCALAR)
#undef SCALAR
};
cx_aval *cxi_type_chunks[MAX_CHUNKS] = { first_chunk };

/* Open addressing; a slot holds an id, 0 is free. */
typedef struct table {
  uint32_t mask;
  struct table *smaller; /* the one before: kept for its readers */
  uint32_t slots[];
} table;

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static table *current;                  /* published with release */
static uint32_t n_types = CXI_N_DTYPES; /* under the lock */

/* A multiply and a shift for each size; the low bits pick the slot. */
static uint32_t hash_of(cx_dtype dtype, const cx_dims *shape) {
  uint64_t h = (uint64_t)dtype * 0x9e3779b97f4a7c15u + (uint64_t)shape->n;
  for (int i = 0; i < shape->n; i++) {
    h = (h ^ (uint64_t)shape->d[i]) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return (uint32_t)h;
}

static bool is_type(cxi_type type, cx_dtype dtype, const cx_dims *shape) {
  const cx_aval *aval = cxi_type_aval(type);
  bool same = aval->type == dtype && aval->shape.n == shape->n;
  for (int i = 0; same && i < shape->n; i++)
    same = aval->shape.d[i] == shape->d[i];
  return same;
}

/* The id, or 0. A reader that comes during an insertion may miss it. */
static cxi_type find(const table *t, uint32_t hash, cx_dtype dtype,
                     const cx_dims *shape) {
  if (!t) return 0;
  for (uint32_t i = hash & t->mask;; i = (i + 1) & t->mask) {
    cxi_type type = __atomic_load_n(&t->slots[i], __ATOMIC_ACQUIRE);
    if (!type || is_type(type, dtype, shape)) return type;
  }
}

static void put(table *t, cxi_type type) {
  const cx_aval *aval = cxi_type_aval(type);
  uint32_t i = hash_of(aval->type, &aval->shape) & t->mask;
  while (t->slots[i]) i = (i + 1) & t->mask;
  __atomic_store_n(&t->slots[i], type, __ATOMIC_RELEASE);
}

/* The table with room for one more type; NULL without memory. */
static table *table_with_room(void) {
  uint32_t n = current ? current->mask + 1 : 0;
  if (current && n_types < n / 2) return current;
  n = n ? n * 2 : FIRST_SLOTS;
  table *t = cxi_alloc_zeroed(1, sizeof *t + n * sizeof t->slots[0]);
  if (!t) return NULL;
  t->mask = n - 1;
  t->smaller = current;
  for (cxi_type type = CXI_N_DTYPES; type < n_types; type++) put(t, type);
  __atomic_store_n(&current, t, __ATOMIC_RELEASE);
  return t;
}

/* Under the lock. */
static cxi_type append(cx_dtype dtype, const cx_dims *shape) {
  table *t = table_with_room();
  uint32_t c = n_types >> CXI_TYPE_CHUNK_BITS;
  if (!t || c >= MAX_CHUNKS) return 0;
  if (!cxi_type_chunks[c]) {
    cx_aval *chunk = cxi_alloc_zeroed(CHUNK, sizeof *chunk);
    if (!chunk) return 0;
    __atomic_store_n(&cxi_type_chunks[c], chunk, __ATOMIC_RELEASE);
  }
  cx_aval *aval = &cxi_type_chunks[c][n_types & (CHUNK - 1)];
  aval->type = dtype;
  aval->shape.n = shape->n;
  memcpy(aval->shape.d, shape->d, (size_t)shape->n * sizeof shape->d[0]);
  put(t, n_types);
  return n_types++;
}

static cxi_type intern(cx_dtype dtype, const cx_dims *shape) {
  if (!cxi_dtype_valid((int)dtype) || shape->n < 0 || shape->n > CX_MAX_DIMS)
    return 0;
  if (shape->n == 0) return (cxi_type)dtype;
  uint32_t hash = hash_of(dtype, shape);
  const table *seen = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
  cxi_type type = find(seen, hash, dtype, shape);
  if (type) return type;
  cx_aval aval = { dtype, *shape };
  if (!cxi_dims_valid(shape) || cxi_aval_bytes(&aval) < 0) return 0;
  cxi_mutex_lock(&lock);
  type = find(current, hash, dtype, shape);
  if (!type) type = append(dtype, shape);
  cxi_mutex_unlock(&lock);
  return type;
}

cxi_type cxi_type_of(const cx_aval *aval) {
  return intern(aval->type, &aval->shape);
}

cxi_type cxi_type_make(cx_dtype dtype, cx_dims shape) {
  return intern(dtype, &shape);
}

cxi_type cxi_type_scalar(cx_dtype dtype) {
  return cxi_dtype_valid((int)dtype) ? (cxi_type)dtype : 0;
}

cxi_type cxi_type_with_dtype(cxi_type type, cx_dtype dtype) {
  return type ? intern(dtype, cxi_type_shape(type)) : 0;
}

cxi_type cxi_type_with_shape(cxi_type type, cx_dims shape) {
  return type ? intern(cxi_type_dtype(type), &shape) : 0;
}

bool cxi_type_is_float(cxi_type type) {
  return type && cxi_dtype_is_float(cxi_type_dtype(type));
}
