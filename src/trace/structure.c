/* structure.c - structures of trees, interned for the process. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "trace/item.h"

/* Structures stand in chunks that never move, so that reading takes no lock:
 * whoever holds an id got it after the entry was written. */
enum { CHUNK = 256, CHUNKS = 1 << 14 };

typedef struct known {
  cxi_structure structure;
  cxi_hash hash;
  uint32_t next; /* in its bucket; 0: none */
} known;

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static known *chunks[CHUNKS];
static uint32_t n_known = 1, n_buckets, *buckets;

static known *known_at(uint32_t id) {
  return &__atomic_load_n(&chunks[id / CHUNK], __ATOMIC_ACQUIRE)[id % CHUNK];
}

const cxi_structure *cxi_structure_of(cxi_sig tree) {
  return &known_at(tree >> 1)->structure;
}

/* -- interning ------------------------------------------------------------ */

static cxi_hash hash_of(const cxi_structure *s, cxi_bytes *bytes) {
  cxi_bytes_add_u32(bytes, (uint32_t)s->is_dict | (uint32_t)s->is_none << 1);
  cxi_bytes_add_u32(bytes, s->n);
  if (s->n) cxi_bytes_add(bytes, s->items, s->n * sizeof *s->items);
  if (s->n && s->is_dict)
    cxi_bytes_add(bytes, s->names, s->n * sizeof *s->names);
  return cxi_hash_bytes(bytes->data, bytes->n);
}

static bool equal(const cxi_structure *a, const cxi_structure *b) {
  if (a->n != b->n || a->is_dict != b->is_dict || a->is_none != b->is_none)
    return false;
  if (!a->n) return true;
  return !memcmp(a->items, b->items, a->n * sizeof *a->items) &&
         (!a->is_dict || !memcmp(a->names, b->names, a->n * sizeof *a->names));
}

static bool more_buckets(void) {
  if (n_known < n_buckets) return true;
  const uint32_t n = n_buckets ? 2 * n_buckets : 256;
  uint32_t *table = cxi_alloc_zeroed(n, sizeof *table);
  if (!table) return n_buckets > 0;
  for (uint32_t id = 1; id < n_known; id++) {
    known *k = known_at(id);
    k->next = table[k->hash.lo % n];
    table[k->hash.lo % n] = id;
  }
  cxi_free(buckets);
  buckets = table;
  n_buckets = n;
  return true;
}

/* A copy with arrays of its own; false without memory. */
static bool fill(known *k, const cxi_structure *s, cxi_hash hash) {
  const size_t items = s->n * sizeof *s->items;
  const size_t names = s->is_dict ? s->n * sizeof *s->names : 0;
  char *memory = cxi_alloc(items + names + 1);
  if (!memory) return false;
  if (items) memcpy(memory, s->items, items);
  if (names) memcpy(memory + items, s->names, names);
  *k = (known){ .structure = *s, .hash = hash };
  k->structure.items = (cxi_sig *)(void *)memory;
  k->structure.names = (cxi_name *)(void *)(memory + items);
  return true;
}

static cxi_sig append(const cxi_structure *s, cxi_hash hash) {
  const uint32_t id = n_known, chunk = id / CHUNK;
  if (chunk >= CHUNKS || !more_buckets()) return 0;
  if (!chunks[chunk]) {
    known *memory = cxi_alloc_zeroed(CHUNK, sizeof *memory);
    if (!memory) return 0;
    __atomic_store_n(&chunks[chunk], memory, __ATOMIC_RELEASE);
  }
  known *k = known_at(id);
  if (!fill(k, s, hash)) return 0;
  k->structure.sig = id << 1 | 1;
  k->next = buckets[hash.lo % n_buckets];
  buckets[hash.lo % n_buckets] = id;
  n_known++;
  return k->structure.sig;
}

static cxi_sig intern(cxi_structure s) {
  for (uint32_t i = 0; i < s.n; i++) {
    if (!s.items[i]) return 0;
    s.n_leaves += cxi_sig_leaves(s.items[i]);
    if (!cxi_sig_is_leaf(s.items[i])) {
      const uint32_t depth = cxi_structure_of(s.items[i])->depth;
      if (depth > s.depth) s.depth = depth;
    }
  }
  s.depth += !s.is_none;
  cxi_bytes bytes = { 0 };
  const cxi_hash hash = hash_of(&s, &bytes);
  const bool failed = bytes.failed;
  cxi_bytes_free(&bytes);
  if (failed) return 0;
  cxi_mutex_lock(&lock);
  cxi_sig sig = 0;
  for (uint32_t id = n_buckets ? buckets[hash.lo % n_buckets] : 0; id && !sig;
       id = known_at(id)->next) {
    const known *k = known_at(id);
    if (cxi_hash_equal(k->hash, hash) && equal(&k->structure, &s))
      sig = k->structure.sig;
  }
  if (!sig) sig = append(&s, hash);
  cxi_mutex_unlock(&lock);
  return sig;
}

cxi_sig cxi_sig_tuple(uint32_t n, const cxi_sig *items) {
  return intern((cxi_structure){ .n = n, .items = items });
}

cxi_sig cxi_sig_dict(uint32_t n, const cxi_name *names, const cxi_sig *items) {
  return intern((cxi_structure){
      .is_dict = true, .n = n, .names = names, .items = items });
}

cxi_sig cxi_sig_none(void) {
  return intern((cxi_structure){ .is_none = true });
}

/* -- of items ------------------------------------------------------------- */

/* The type under which a C number enters a tree or a call. */
static cxi_type number_type(cxi_item a) {
  if (!a.weak) return a.type;
  const cx_dtype t = cxi_type_dtype(a.type);
  if (t == CX_F64) return cxi_type_scalar(CX_F32);
  if (t == CX_BOOL) return cxi_type_scalar(CX_BOOL);
  const int64_t x = (int64_t)a.as.bits;
  if (t == CX_I64 && x >= INT32_MIN && x <= INT32_MAX)
    return cxi_type_scalar(CX_I32);
  if (t == CX_U64 && a.as.bits <= INT32_MAX) return cxi_type_scalar(CX_I32);
  if (t == CX_U64 && a.as.bits > INT64_MAX) return cxi_type_scalar(CX_U64);
  return cxi_type_scalar(CX_I64);
}

static cxi_sig tree_sig(cxi_tree *t) {
  cxi_sig sig = __atomic_load_n(&t->sig, __ATOMIC_RELAXED);
  if (sig) return sig;
  cxi_sig few[16], *items = few;
  if (t->n > 16 && !(items = cxi_alloc(t->n * sizeof *items))) return 0;
  bool known_all = true;
  for (uint32_t i = 0; i < t->n && known_all; i++) {
    items[i] = cxi_sig_of(t->items[i]);
    known_all = items[i] != 0;
  }
  if (known_all)
    sig = t->is_dict ? cxi_sig_dict(t->n, t->names, items)
                     : cxi_sig_tuple(t->n, items);
  if (items != few) cxi_free(items);
  __atomic_store_n(&t->sig, sig, __ATOMIC_RELAXED);
  return sig;
}

cxi_sig cxi_sig_of(cxi_item a) {
  if (a.kind == CXI_ITEM_NUMBER) return cxi_sig_of_type(number_type(a));
  if (cxi_item_is_leaf(a)) return cxi_sig_of_type(a.type);
  if (a.kind == CXI_ITEM_NONE) return cxi_sig_none();
  return a.kind == CXI_ITEM_TREE ? tree_sig(a.as.tree) : 0;
}

/* -- leaves --------------------------------------------------------------- */

uint32_t cxi_sig_leaves(cxi_sig sig) {
  return cxi_sig_is_leaf(sig) ? 1 : cxi_structure_of(sig)->n_leaves;
}

static cxi_type *types_of(cxi_sig sig, cxi_type *out) {
  if (cxi_sig_is_leaf(sig)) {
    *out = cxi_sig_type(sig);
    return out + 1;
  }
  const cxi_structure *s = cxi_structure_of(sig);
  for (uint32_t i = 0; i < s->n; i++) out = types_of(s->items[i], out);
  return out;
}

void cxi_sig_types(cxi_sig sig, cxi_type *out) {
  types_of(sig, out);
}

static cxi_sig with_types(cxi_sig sig, const cxi_type **types) {
  if (cxi_sig_is_leaf(sig)) {
    const cxi_type type = *(*types)++;
    return type ? cxi_sig_of_type(type) : cxi_sig_none();
  }
  const cxi_structure *s = cxi_structure_of(sig);
  if (s->is_none) return sig;
  cxi_sig few[16], *items = few;
  if (s->n > 16 && !(items = cxi_alloc(s->n * sizeof *items))) return 0;
  for (uint32_t i = 0; i < s->n; i++) items[i] = with_types(s->items[i], types);
  const cxi_sig made = s->is_dict ? cxi_sig_dict(s->n, s->names, items)
                                  : cxi_sig_tuple(s->n, items);
  if (items != few) cxi_free(items);
  return made;
}

cxi_sig cxi_sig_with_types(cxi_sig sig, const cxi_type *types) {
  return with_types(sig, &types);
}

/* -- text ----------------------------------------------------------------- */

/* A writer that counts what does not fit, as snprintf does. */
typedef struct text {
  char *at;
  size_t room;
  int n;
} text;

static void put(text *t, const char *s) {
  const int n = snprintf(t->at, t->room, "%s", s);
  const size_t used = (size_t)n < t->room ? (size_t)n : t->room;
  t->at += used;
  t->room -= used;
  t->n += n;
}

static void print(text *t, cxi_sig sig) {
  if (t->room <= 1 && t->n) return; /* what is cut off needs no walk */
  char leaf[128];
  if (cxi_sig_is_leaf(sig)) {
    cxi_aval_print(leaf, sizeof leaf, cxi_type_aval(cxi_sig_type(sig)));
    put(t, leaf);
    return;
  }
  const cxi_structure *s = cxi_structure_of(sig);
  put(t, s->is_none ? "none" : s->is_dict ? "{" : "(");
  for (uint32_t i = 0; i < s->n; i++) {
    if (i) put(t, ", ");
    if (s->is_dict) {
      put(t, cxi_name_text(s->names[i]));
      put(t, ": ");
    }
    print(t, s->items[i]);
  }
  if (!s->is_none) put(t, s->is_dict ? "}" : ")");
}

int cxi_sig_print(char *out, size_t room, cxi_sig sig) {
  text t = { out, room, 0 };
  if (room) *out = 0;
  print(&t, sig);
  return t.n;
}

int cxi_sig_path(char *out, size_t room, cxi_sig sig, uint32_t leaf) {
  text t = { out, room, 0 };
  if (room) *out = 0;
  while (!cxi_sig_is_leaf(sig)) {
    const cxi_structure *s = cxi_structure_of(sig);
    uint32_t i = 0;
    while (i + 1 < s->n && leaf >= cxi_sig_leaves(s->items[i]))
      leaf -= cxi_sig_leaves(s->items[i++]);
    if (i >= s->n) break;
    char number[16];
    snprintf(number, sizeof number, "%u", i);
    if (t.n) put(&t, ".");
    put(&t, s->is_dict ? cxi_name_text(s->names[i]) : number);
    sig = s->items[i];
  }
  return t.n;
}
