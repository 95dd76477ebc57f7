/* item.c - arrays and trees as counted objects. */
#include "trace/item.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* -- arrays --------------------------------------------------------------- */

/* The array and its elements are two blocks, so that a donation can take the
 * elements while handles still name the array. Few elements stand before the
 * array in one block, which then lives as long as either is used. */
enum { JOINED_MOST = 512 }; /* bytes of elements */

static cxi_array *head_make(void) {
  size_t capacity;
  return cxi_block_take(sizeof(cxi_array), NULL, &capacity);
}

static void head_free(cxi_array *a) {
  if (a->joined)
    cxi_block_give(a->block, a->joined, a->account);
  else
    cxi_block_give(a, sizeof *a, NULL);
}

static cxi_array *make_joined(cxi_type type, size_t bytes,
                              cxi_account *account) {
  const size_t before = cxi_aligned(bytes);
  size_t capacity;
  char *block = cxi_block_take(before + sizeof(cxi_array), account, &capacity);
  if (!block) return NULL;
  cxi_array *a = (cxi_array *)(void *)(block + before);
  *a = (cxi_array){ .refs = 1,
                    .type = type,
                    .data = block,
                    .account = account,
                    .site = cxi_site_now(),
                    .joined = (uint32_t)capacity,
                    .block = block };
  return a;
}

cxi_array *cxi_array_make(cxi_type type, cxi_account *account) {
  const int64_t bytes = cxi_aval_bytes(cxi_type_aval(type));
  size_t capacity;
  if (!type || bytes < 0) return NULL;
  if (bytes <= JOINED_MOST) return make_joined(type, (size_t)bytes, account);
  void *data = cxi_block_take((size_t)bytes, account, &capacity);
  cxi_array *a = data ? head_make() : NULL;
  if (!a) {
    if (data) cxi_block_give(data, capacity, account);
    return NULL;
  }
  *a = (cxi_array){ .refs = 1,
                    .type = type,
                    .data = data,
                    .capacity = capacity,
                    .account = account,
                    .site = cxi_site_now() };
  return a;
}

cxi_array *cxi_array_foreign(cxi_type type, void *data,
                             void (*release)(void *user), void *user) {
  cxi_array *a = head_make();
  if (!a) return NULL;
  *a = (cxi_array){ .refs = 1,
                    .type = type,
                    .data = data,
                    .release = release,
                    .user = user,
                    .site = cxi_site_now(),
                    .pinned = true };
  return a;
}

cxi_array *cxi_array_retain(cxi_array *a) {
  __atomic_add_fetch(&a->refs, 1, __ATOMIC_RELAXED);
  return a;
}

static void array_free(cxi_array *a) {
  if (a->capacity) cxi_block_give(a->data, a->capacity, a->account);
  if (a->release) a->release(a->user);
  head_free(a);
}

void cxi_array_release(cxi_array *a) {
  if (!a) return;
  /* The last owner needs no atomic write: nobody else can be counting. */
  if (__atomic_load_n(&a->refs, __ATOMIC_ACQUIRE) == 1 ||
      __atomic_sub_fetch(&a->refs, 1, __ATOMIC_ACQ_REL) == 0)
    array_free(a);
}

static void release_donor(void *donor) {
  cxi_array_release(donor);
}

void cxi_array_donate(cxi_array *a, cxi_array *heir, cxi_name site,
                      cxi_name function) {
  if (heir) {
    heir->data = a->data;
    heir->capacity = a->capacity;
    heir->account = a->account;
    heir->release = a->joined ? release_donor : a->release;
    heir->user = a->joined ? cxi_array_retain(a) : a->user;
  } else if (a->capacity) {
    cxi_block_give(a->data, a->capacity, a->account);
  } else if (a->release) {
    a->release(a->user);
  }
  a->release = NULL;
  a->data = NULL;
  a->capacity = 0;
  a->donated_at = site ? site : cxi_name_of("?");
  a->donated_to = function;
}

cxi_array *cxi_array_hollow(cxi_type type) {
  cxi_array *a = head_make();
  if (!a) return NULL;
  *a = (cxi_array){ .refs = 1, .type = type, .site = cxi_site_now() };
  return a;
}

/* -- items ---------------------------------------------------------------- */

cxi_item cxi_item_retain(cxi_item a) {
  if (a.kind == CXI_ITEM_ARRAY) cxi_array_retain(a.as.array);
  if (a.kind == CXI_ITEM_TREE)
    __atomic_add_fetch(&a.as.tree->refs, 1, __ATOMIC_RELAXED);
  return a;
}

void cxi_item_release(cxi_item a) {
  if (a.kind == CXI_ITEM_ARRAY) cxi_array_release(a.as.array);
  if (a.kind == CXI_ITEM_TREE) cxi_tree_release(a.as.tree);
}

uint32_t cxi_item_leaves(cxi_item a) {
  if (a.kind == CXI_ITEM_TREE) return a.as.tree->n_leaves;
  return cxi_item_is_leaf(a) ? 1 : 0;
}

/* Recursion here and below is bounded by CXI_TREE_DEPTH_MOST. */
static cxi_item *flatten(cxi_item a, cxi_item *out) {
  if (cxi_item_is_leaf(a)) *out++ = a;
  if (a.kind != CXI_ITEM_TREE) return out;
  for (uint32_t i = 0; i < a.as.tree->n; i++)
    out = flatten(a.as.tree->items[i], out);
  return out;
}

void cxi_item_flatten(cxi_item a, cxi_item *out) {
  flatten(a, out);
}

/* -- trees ---------------------------------------------------------------- */

cxi_tree *cxi_tree_make(uint32_t n, bool is_dict) {
  const size_t head = sizeof(cxi_tree) + n * sizeof(cxi_item);
  const size_t bytes = head + (is_dict ? n * sizeof(cxi_name) : 0);
  size_t capacity;
  cxi_tree *t = cxi_block_take(bytes, NULL, &capacity);
  if (!t) return NULL;
  memset(t, 0, bytes);
  t->refs = 1;
  t->capacity = capacity;
  t->n = n;
  t->is_dict = is_dict;
  if (is_dict) t->names = (cxi_name *)(void *)((char *)t + head);
  return t;
}

/* Decimal without a leading zero, at most 9 digits. */
static bool is_number(const char *text, long *out) {
  const size_t length = strspn(text, "0123456789");
  if (length == 0 || length > 9 || text[length]) return false;
  if (text[0] == '0' && length > 1) return false;
  *out = strtol(text, NULL, 10);
  return true;
}

int cxi_key_compare(cxi_name a, cxi_name b) {
  if (a == b) return 0;
  const char *s = cxi_name_text(a), *t = cxi_name_text(b);
  long x, y;
  const bool s_number = is_number(s, &x), t_number = is_number(t, &y);
  if (s_number && t_number) return x < y ? -1 : x > y;
  if (s_number != t_number) return s_number ? -1 : 1;
  return strcmp(s, t);
}

typedef struct entry {
  cxi_name name;
  cxi_item item;
} entry;

static int entry_compare(const void *a, const void *b) {
  const entry *x = a, *y = b;
  return cxi_key_compare(x->name, y->name);
}

static bool in_order(const cxi_tree *t) {
  for (uint32_t i = 1; i < t->n; i++)
    if (cxi_key_compare(t->names[i - 1], t->names[i]) > 0) return false;
  return true;
}

static bool sort_entries(cxi_tree *t) {
  if (in_order(t)) return true;
  entry *entries = cxi_alloc(t->n * sizeof *entries);
  if (!entries) return false;
  for (uint32_t i = 0; i < t->n; i++)
    entries[i] = (entry){ t->names[i], t->items[i] };
  qsort(entries, t->n, sizeof *entries, entry_compare);
  for (uint32_t i = 0; i < t->n; i++) {
    t->names[i] = entries[i].name;
    t->items[i] = entries[i].item;
  }
  cxi_free(entries);
  return true;
}

cxi_tree_fault cxi_tree_finish(cxi_tree *t, cxi_name *out_name) {
  if (t->is_dict && !sort_entries(t)) return CXI_TREE_MEMORY;
  uint32_t depth = 0;
  for (uint32_t i = 0; i < t->n; i++) {
    if (t->is_dict && i && t->names[i] == t->names[i - 1]) {
      *out_name = t->names[i];
      return CXI_TREE_TWICE;
    }
    t->n_leaves += cxi_item_leaves(t->items[i]);
    if (t->items[i].kind == CXI_ITEM_TREE && t->items[i].as.tree->depth > depth)
      depth = t->items[i].as.tree->depth;
  }
  if (depth + 1 > CXI_TREE_DEPTH_MOST) return CXI_TREE_DEEP;
  t->depth = (uint16_t)(depth + 1);
  return CXI_TREE_GOOD;
}

void cxi_tree_release(cxi_tree *t) {
  if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL)) return;
  for (uint32_t i = 0; i < t->n; i++) cxi_item_release(t->items[i]);
  cxi_tree_release(t->base); /* which has no base itself */
  cxi_block_give(t, t->capacity, NULL);
}

int64_t cxi_tree_find(const cxi_tree *t, cxi_name name) {
  if (!t->is_dict) return -1;
  if (t->n <= 16) {
    for (uint32_t i = 0; i < t->n; i++)
      if (t->names[i] == name) return i;
    return -1;
  }
  uint32_t lo = 0, hi = t->n;
  while (lo < hi) {
    const uint32_t mid = lo + (hi - lo) / 2;
    const int c = cxi_key_compare(t->names[mid], name);
    if (c == 0) return mid;
    if (c < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return -1;
}

static cxi_item build(cxi_sig sig, const cxi_item **leaves, bool *failed) {
  if (cxi_sig_is_leaf(sig)) return *(*leaves)++;
  const cxi_structure *s = cxi_structure_of(sig);
  if (s->is_none) return (cxi_item){ .kind = CXI_ITEM_NONE };
  cxi_tree *t = cxi_tree_make(s->n, s->is_dict);
  if (!t) {
    for (uint32_t i = 0; i < s->n_leaves; i++) cxi_item_release(*(*leaves)++);
    *failed = true;
    return (cxi_item){ .kind = CXI_ITEM_NONE };
  }
  for (uint32_t i = 0; i < s->n; i++) {
    t->items[i] = build(s->items[i], leaves, failed);
    if (s->is_dict) t->names[i] = s->names[i];
  }
  t->n_leaves = s->n_leaves;
  t->depth = (uint16_t)s->depth;
  t->sig = sig;
  return (cxi_item){ .kind = CXI_ITEM_TREE, .as.tree = t };
}

cxi_item cxi_item_build(cxi_sig sig, const cxi_item *leaves) {
  bool failed = false;
  cxi_item a = build(sig, &leaves, &failed);
  if (!failed) return a;
  cxi_item_release(a);
  return (cxi_item){ .kind = CXI_ITEM_NOTHING };
}
