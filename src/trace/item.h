/* item.h - what handles stand for: numbers, arrays, tracers, trees.
 *
 * An item is a tagged pointer of 16 bytes. Arrays and trees are counted
 * objects; an item owns a reference where its comment says so. Trees are
 * immutable: a dict holds its entries in the order of its keys (numbers by
 * value, then text by bytes), so that equal content is equal structure. */
#ifndef CXI_ITEM_H
#define CXI_ITEM_H

#include "base/name.h"
#include "ir/emit.h"
#include "trace/block.h"

typedef struct cxi_array cxi_array;
typedef struct cxi_tree cxi_tree;

typedef enum cxi_item_kind {
  CXI_ITEM_NOTHING, /* {0}: an option left out */
  CXI_ITEM_POISON,  /* handle: the poison */
  CXI_ITEM_NONE,    /* the empty tree */
  CXI_ITEM_NUMBER,  /* bits of a scalar of `type`; weak: a C number
                                 (as bool, i64, u64 or f64) */
  CXI_ITEM_SPEC,    /* a type without data */
  CXI_ITEM_ARRAY,
  CXI_ITEM_TRACER, /* handle: a value of a trace in progress */
  CXI_ITEM_TREE
} cxi_item_kind;

typedef struct cxi_item {
  uint8_t kind;
  bool weak;     /* a C number, which has no dtype yet */
  bool was_weak; /* it has one now, by default */
  cxi_type type; /* of a leaf */
  union {
    uint64_t bits;
    cx handle;
    cxi_array *array;
    cxi_tree *tree;
  } as;
} cxi_item;

static inline bool cxi_item_is_leaf(cxi_item a) {
  return a.kind >= CXI_ITEM_NUMBER && a.kind <= CXI_ITEM_TRACER;
}
cxi_item cxi_item_retain(cxi_item a);
void cxi_item_release(cxi_item a);

/* -- arrays --------------------------------------------------------------- */

/* One buffer: dense, row-major, 64-byte aligned unless foreign. */
struct cxi_array {
  uint32_t refs;
  cxi_type type;
  void *data;      /* NULL once donated */
  size_t capacity; /* of the elements' own block; 0: foreign, or joined */
  cxi_account *account;
  void (*release)(void *user);
  void *user;
  cxi_name site;       /* where it was made */
  cxi_name donated_at; /* the call that took the buffer, or 0 */
  cxi_name donated_to; /* its function */
  bool pinned;         /* cx_data has shown the address */
  uint32_t mark;       /* of the call that looks for it twice */
  uint32_t joined;     /* capacity of the block of elements and head, or 0 */
  void *block;         /* which that is */
};
/* A new array with one reference, its elements not set. NULL without memory
 * or beyond the limit of the account. */
cxi_array *cxi_array_make(cxi_type type, cxi_account *account);
/* Without a copy; release may be NULL. */
cxi_array *cxi_array_foreign(cxi_type type, void *data,
                             void (*release)(void *user), void *user);
cxi_array *cxi_array_retain(cxi_array *a);
void cxi_array_release(cxi_array *a); /* NULL: nothing */
/* Ends the array for all handles; its elements become the heir's, which was
 * made hollow, or are freed (NULL). */
void cxi_array_donate(cxi_array *a, cxi_array *heir, cxi_name site,
                      cxi_name function);
cxi_array *cxi_array_hollow(cxi_type type); /* without elements yet */
static inline size_t cxi_array_bytes(const cxi_array *a) {
  return (size_t)cxi_aval_bytes(cxi_type_aval(a->type));
}

/* -- structures: the shape of a tree, with the types of its leaves -------- */

/* A leaf's is its type * 2; a tree's is odd. 0: not known. Process-wide. */
typedef uint32_t cxi_sig;

typedef struct cxi_structure {
  cxi_sig sig;
  bool is_dict, is_none;
  uint32_t n, n_leaves, depth;
  const cxi_name *names; /* of a dict */
  const cxi_sig *items;
} cxi_structure;
static inline bool cxi_sig_is_leaf(cxi_sig sig) {
  return !(sig & 1);
}
static inline cxi_sig cxi_sig_of_type(cxi_type type) {
  return type << 1;
}
static inline cxi_type cxi_sig_type(cxi_sig sig) {
  return sig >> 1;
}
const cxi_structure *cxi_structure_of(cxi_sig tree);
uint32_t cxi_sig_leaves(cxi_sig sig);
void cxi_sig_types(cxi_sig sig, cxi_type *out); /* of all leaves, in order */
/* The interned structure; 0 without memory. */
cxi_sig cxi_sig_tuple(uint32_t n, const cxi_sig *items);
cxi_sig cxi_sig_dict(uint32_t n, const cxi_name *names, const cxi_sig *items);
cxi_sig cxi_sig_none(void);
/* The same structure with other types for its leaves; type 0: none there. */
cxi_sig cxi_sig_with_types(cxi_sig sig, const cxi_type *types);
/* 0 for what has no type: poison, nothing. */
cxi_sig cxi_sig_of(cxi_item a);
/* "f32[3]", "(f32[3], {w: f32[2]})"; as snprintf. */
int cxi_sig_print(char *out, size_t room, cxi_sig sig);
/* The path of leaf i: "layers.3.weight"; "" of a leaf alone. */
int cxi_sig_path(char *out, size_t room, cxi_sig sig, uint32_t leaf);

/* -- trees ---------------------------------------------------------------- */

enum { CXI_TREE_DEPTH_MOST = 512 };

struct cxi_tree {
  uint32_t refs;
  uint32_t n, n_leaves;
  uint16_t depth;
  bool is_dict;
  cxi_sig sig;      /* when asked for first */
  size_t capacity;  /* of its block */
  cxi_tree *base;   /* of one that cx_put left unfinished: tree_put.c */
  cxi_name *names;  /* of a dict, in order */
  cxi_item items[]; /* own their references */
};
/* Room for n items, to be filled, then finished: names sorted, leaves counted.
 * NULL without memory. */
cxi_tree *cxi_tree_make(uint32_t n, bool is_dict);
typedef enum cxi_tree_fault {
  CXI_TREE_GOOD,
  CXI_TREE_TWICE,
  CXI_TREE_DEEP,
  CXI_TREE_MEMORY
} cxi_tree_fault;
/* TWICE: *out_name is the key that stands twice. */
cxi_tree_fault cxi_tree_finish(cxi_tree *t, cxi_name *out_name);
void cxi_tree_release(cxi_tree *t);
/* A tree that cx_put left unfinished, merged: a reference of its own. NULL
 * without memory. */
cxi_tree *cxi_tree_merge(const cxi_tree *t);
/* The place of a key; -1: not there. */
int64_t cxi_tree_find(const cxi_tree *t, cxi_name name);
int cxi_key_compare(cxi_name a, cxi_name b); /* the order of keys */

/* For public functions (tree.c): the item of an entry, numbers under their
 * default dtype; false with poison for poison and for what is not given. */
bool cxi_tree_entry(const char *what, cx a, cxi_item *out, cx *out_poison);
cx cxi_tree_report(const char *what, cxi_tree_fault fault, cxi_name name);

uint32_t cxi_item_leaves(cxi_item a); /* 0 of none, 1 of a leaf */
/* The leaves in order, borrowed. */
void cxi_item_flatten(cxi_item a, cxi_item *out);
/* Builds sig's tree from its leaves, taking their references (also if it
 * fails: kind NOTHING without memory). */
cxi_item cxi_item_build(cxi_sig sig, const cxi_item *leaves);

#endif
