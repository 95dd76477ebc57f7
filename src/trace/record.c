/* record.c - described structs: environments, cx_pack, cx_as. */
#include "trace/record.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "trace/path.h"

/* -- the leaf types ------------------------------------------------------- */

const cx_rec cx_rec_cx = { "cx", sizeof(cx), 0, NULL };
const cx_rec cx_rec_cx_fn = { "cx_fn", sizeof(cx_fn), 0, NULL };
const cx_rec cx_rec_cx_str = { "cx_str", sizeof(cx_str), 0, NULL };
const cx_rec cx_rec_cx_dtype = { "cx_dtype", sizeof(cx_dtype), 0, NULL };
const cx_rec cx_rec_cx_dims = { "cx_dims", sizeof(cx_dims), 0, NULL };
const cx_rec cx_rec_int = { "int", sizeof(int), 0, NULL };
const cx_rec cx_rec_unsigned = { "unsigned", sizeof(unsigned), 0, NULL };
const cx_rec cx_rec_int32_t = { "int32_t", sizeof(int32_t), 0, NULL };
const cx_rec cx_rec_uint32_t = { "uint32_t", sizeof(uint32_t), 0, NULL };
const cx_rec cx_rec_int64_t = { "int64_t", sizeof(int64_t), 0, NULL };
const cx_rec cx_rec_uint64_t = { "uint64_t", sizeof(uint64_t), 0, NULL };
const cx_rec cx_rec_size_t = { "size_t", sizeof(size_t), 0, NULL };
const cx_rec cx_rec_float = { "float", sizeof(float), 0, NULL };
const cx_rec cx_rec_double = { "double", sizeof(double), 0, NULL };
const cx_rec cx_rec__Bool = { "_Bool", sizeof(_Bool), 0, NULL };
const cx_rec cx_rec_bool = { "bool", sizeof(bool), 0, NULL };

/* -- walking the fields --------------------------------------------------- */

typedef struct cursor cursor;
/* Called for each leaf field; `offset` from the start of the struct. */
typedef void visit(cursor *, const cx_rec *leaf, size_t offset);
struct cursor {
  visit *visit;
  const char *from; /* the struct that is read */
  char *to;         /* the one that is written */
  cxi_bytes *key;
  cxi_captures *captures;
  const cxi_item *items;
  uint32_t n_items;
  bool failed;
};

/* Recursion follows the nesting of C types. */
static void walk(cursor *c, const cx_rec *rec, size_t offset) {
  if (rec->n_fields == 0) {
    c->visit(c, rec, offset);
    return;
  }
  for (int i = 0; i < rec->n_fields; i++) {
    const cx_field *f = &rec->fields[i];
    for (size_t at = 0; at + f->type->size <= f->size; at += f->type->size)
      walk(c, f->type, offset + f->offset + at);
  }
}

/* -- freezing ------------------------------------------------------------- */

void cxi_captures_add(cxi_captures *c, const cxi_item *items, uint32_t n) {
  if (!cxi_grow(&c->items, &c->cap, (size_t)c->n + n, sizeof *items)) {
    c->failed = true;
    return;
  }
  if (n) memcpy(c->items + c->n, items, n * sizeof *items);
  c->n += n;
}

/* How a handle stands in a template and in the key. */
enum { NOT_GIVEN, STATIC_NUMBER, CAPTURED };
static const cx captured_mark = { 0, UINT32_MAX };

static void freeze_handle(cursor *c, cx a, cx *out) {
  const cxi_item item = cxi_item_for("bind", a);
  *out = a;
  if (item.kind == CXI_ITEM_NOTHING) {
    cxi_bytes_add_u32(c->key, NOT_GIVEN);
  } else if (item.kind == CXI_ITEM_NUMBER && cxi_is_number(a)) {
    cxi_bytes_add_u32(c->key, STATIC_NUMBER);
    cxi_bytes_add(c->key, &a, sizeof a);
  } else {
    if (item.kind == CXI_ITEM_POISON && !c->captures->poison.generation)
      c->captures->poison = item.as.handle;
    cxi_bytes_add_u32(c->key, CAPTURED);
    cxi_captures_add(c->captures, &item, 1);
    *out = captured_mark;
  }
}

static void freeze_function(cursor *c, cx_fn f, cx_fn *out) {
  *out = NULL;
  if (!f) {
    cxi_bytes_add_u64(c->key, 0);
    return;
  }
  if (!cxi_fn_check(f)) {
    c->captures->failed = true;
    return;
  }
  cxi_bytes_add_u64(c->key, (uint64_t)(uintptr_t)f->code);
  if (f->poison.generation && !c->captures->poison.generation)
    c->captures->poison = f->poison;
  cxi_captures_add(c->captures, f->captures, f->n_captures);
  *out = &f->code->plain;
}

static void freeze(cursor *c, const cx_rec *leaf, size_t offset) {
  const char *from = c->from + offset;
  char *to = c->to + offset;
  if (leaf == &cx_rec_cx) {
    freeze_handle(c, *(const cx *)(const void *)from, (cx *)(void *)to);
  } else if (leaf == &cx_rec_cx_fn) {
    freeze_function(c, *(const cx_fn *)(const void *)from, (cx_fn *)(void *)to);
  } else if (leaf == &cx_rec_cx_str) {
    const char *text = *(const cx_str *)(const void *)from;
    cxi_bytes_add_u32(c->key, text != NULL);
    if (text) cxi_bytes_add_text(c->key, text);
    *(cx_str *)(void *)to = text ? cxi_name_text(cxi_name_of(text)) : NULL;
  } else if (leaf == &cx_rec_cx_dims) {
    const cx_dims *dims = (const cx_dims *)(const void *)from;
    const int n = dims->n > 0 && dims->n <= CX_MAX_DIMS ? dims->n : 0;
    cxi_bytes_add_u32(c->key, (uint32_t)dims->n);
    cxi_bytes_add(c->key, dims->d, (size_t)n * sizeof *dims->d);
    *(cx_dims *)(void *)to = *dims;
  } else { /* a number: one word, without padding */
    cxi_bytes_add(c->key, from, leaf->size);
    memcpy(to, from, leaf->size);
  }
}

void cxi_record_freeze(const cx_rec *rec, const void *env, void *out_template,
                       cxi_bytes *key, cxi_captures *captures) {
  cursor c = { .visit = freeze,
               .from = env,
               .to = out_template,
               .key = key,
               .captures = captures };
  walk(&c, rec, 0);
}

/* -- what differs --------------------------------------------------------- */

static void print_number(const cx_rec *leaf, const void *at, char *out,
                         size_t room) {
  if (leaf == &cx_rec_double)
    snprintf(out, room, "%.9g", *(const double *)at);
  else if (leaf == &cx_rec_float)
    snprintf(out, room, "%.9g", (double)*(const float *)at);
  else if (leaf == &cx_rec_uint64_t || leaf == &cx_rec_size_t)
    snprintf(out, room, "%llu", (unsigned long long)*(const uint64_t *)at);
  else if (leaf == &cx_rec_int64_t)
    snprintf(out, room, "%lld", (long long)*(const int64_t *)at);
  else if (leaf == &cx_rec_unsigned || leaf == &cx_rec_uint32_t)
    snprintf(out, room, "%u", *(const uint32_t *)at);
  else if (leaf->size == sizeof(int32_t))
    snprintf(out, room, "%d", *(const int32_t *)at);
  else
    snprintf(out, room, "%s", *(const bool *)at ? "true" : "false");
}

static void print_difference(const cx_rec *leaf, const char *name,
                             const void *was, const void *is, char *out,
                             size_t room) {
  char before[80], after[80];
  if (leaf == &cx_rec_cx) {
    snprintf(out, room,
             "static %s changed: a number in a cx of the settings is"
             " static, cx_scalar makes an array of it",
             name);
  } else if (leaf == &cx_rec_cx_str) {
    const cx_str a = *(const cx_str *)was, b = *(const cx_str *)is;
    snprintf(out, room, "static %s changed \"%.80s\" -> \"%.80s\"", name,
             a ? a : "", b ? b : "");
  } else if (leaf == &cx_rec_cx_fn) {
    const cx_fn a = *(const cx_fn *)was, b = *(const cx_fn *)is;
    snprintf(out, room, "static %s changed %.80s -> %.80s", name,
             a ? a->code->name : "none", b ? b->code->name : "none");
  } else if (leaf == &cx_rec_cx_dims || leaf == &cx_rec_cx_dtype) {
    snprintf(out, room, "static %s changed", name);
  } else {
    print_number(leaf, was, before, sizeof before);
    print_number(leaf, is, after, sizeof after);
    snprintf(out, room, "static %s changed %s -> %s: declare it as cx", name,
             before, after);
  }
}

/* Only bytes that a template fills count. */
static bool leaf_differs(const cx_rec *leaf, const char *was, const char *is) {
  if (leaf != &cx_rec_cx_dims) return memcmp(was, is, leaf->size) != 0;
  return !cxi_dims_equal((const cx_dims *)(const void *)was,
                         (const cx_dims *)(const void *)is);
}

/* As in walk, with the path of the field. */
static bool differs(const cx_rec *rec, const char *path, const char *was,
                    const char *is, char *out, size_t room) {
  if (rec->n_fields == 0) {
    if (!leaf_differs(rec, was, is)) return false;
    print_difference(rec, path, was, is, out, room);
    return true;
  }
  for (int i = 0; i < rec->n_fields; i++) {
    const cx_field *f = &rec->fields[i];
    const size_t size = f->type->size;
    for (size_t at = 0; at + size <= f->size; at += size) {
      char name[200], index[24] = "";
      if (f->size > size) snprintf(index, sizeof index, "[%zu]", at / size);
      snprintf(name, sizeof name, "%.120s%s%.40s%s", path, path[0] ? "." : "",
               f->name, index);
      if (differs(f->type, name, was + f->offset + at, is + f->offset + at, out,
                  room))
        return true;
    }
  }
  return false;
}

bool cxi_record_difference(const cx_rec *rec, const void *was, const void *is,
                           char *out, size_t room) {
  return differs(rec, "", was, is, out, room);
}

/* -- thawing -------------------------------------------------------------- */

static void thaw(cursor *c, const cx_rec *leaf, size_t offset) {
  char *to = c->to + offset;
  if (leaf == &cx_rec_cx) {
    cx *a = (cx *)(void *)to;
    if (a->index != captured_mark.index ||
        a->generation != captured_mark.generation || !c->n_items)
      return;
    *a = cxi_handle(cxi_item_retain(*c->items++));
    c->n_items--;
    if (cxi_is_poison(*a)) c->failed = true;
  } else if (leaf == &cx_rec_cx_fn) {
    cx_fn *f = (cx_fn *)(void *)to;
    if (!*f || (*f)->code->n_captures == 0) return;
    const uint32_t n = (*f)->code->n_captures;
    if (n > c->n_items) return;
    *f = cxi_fn_bind((*f)->code, n, c->items);
    if (!*f) c->failed = true;
    c->items += n;
    c->n_items -= n;
  }
}

bool cxi_record_thaw(const cx_rec *rec, void *out, const cxi_item *captures,
                     uint32_t n_captures) {
  cursor c = {
    .visit = thaw, .to = out, .items = captures, .n_items = n_captures
  };
  walk(&c, rec, 0);
  return !c.failed;
}

/* -- cx_pack: a struct as a tree ------------------------------------------ */

static cxi_item pack(const cx_rec *rec, const char *from, cx *out_poison);

static cxi_item pack_leaf(const cx_rec *rec, const char *from, cx *out_poison) {
  cxi_item item = { .kind = CXI_ITEM_NOTHING };
  if (rec != &cx_rec_cx) {
    *out_poison = cxi_reportf(CX_ETREE, "pack: a field of type %s is no array",
                              rec->name);
    return item;
  }
  item = cxi_item_for("pack", *(const cx *)(const void *)from);
  if (item.kind == CXI_ITEM_POISON) *out_poison = item.as.handle;
  if (item.kind == CXI_ITEM_NOTHING) item.kind = CXI_ITEM_NONE;
  return cxi_item_retain(cxi_number_strong(item));
}

/* [n] makes a tuple. */
static cxi_item pack_field(const cx_field *f, const char *from,
                           cx *out_poison) {
  const uint32_t n = (uint32_t)(f->size / f->type->size);
  if (n == 1) return pack(f->type, from, out_poison);
  cxi_tree *t = cxi_tree_make(n, false);
  if (!t) {
    *out_poison = cxi_report_memory();
    return (cxi_item){ .kind = CXI_ITEM_NONE };
  }
  cxi_name unused;
  for (uint32_t i = 0; i < n; i++)
    t->items[i] = pack(f->type, from + i * f->type->size, out_poison);
  cxi_tree_finish(t, &unused);
  return (cxi_item){ .kind = CXI_ITEM_TREE, .as.tree = t };
}

static cxi_item pack(const cx_rec *rec, const char *from, cx *out_poison) {
  if (rec->n_fields == 0) return pack_leaf(rec, from, out_poison);
  cxi_tree *t = cxi_tree_make((uint32_t)rec->n_fields, true);
  if (!t) {
    *out_poison = cxi_report_memory();
    return (cxi_item){ .kind = CXI_ITEM_NONE };
  }
  cxi_name twice = 0;
  for (int i = 0; i < rec->n_fields; i++) {
    t->names[i] = cxi_name_of(rec->fields[i].name);
    t->items[i] =
        pack_field(&rec->fields[i], from + rec->fields[i].offset, out_poison);
  }
  if (cxi_tree_finish(t, &twice) == CXI_TREE_MEMORY)
    *out_poison = cxi_report_memory();
  return (cxi_item){ .kind = CXI_ITEM_TREE, .as.tree = t };
}

cx cx_pack_(const cx_rec *rec, const void *value, const char *at) {
  const cxi_name before = cxi_enter(at);
  cx poison = { 0, 0 };
  if (!rec || !value)
    return cxi_leave(before, cxi_report(CX_EUSER, "pack: NULL"));
  const cxi_item item = pack(rec, value, &poison);
  cx result = poison;
  if (poison.generation)
    cxi_item_release(item);
  else
    result = cxi_handle(item);
  return cxi_leave(before, result);
}

/* -- cx_as: a tree as a struct -------------------------------------------- */

/* The path to the field that is being filled, "enc.weight". */
typedef struct place {
  const cx_rec *root;
  char path[256];
  size_t n;
  cx poison;
} place;

static size_t place_enter(place *p, const char *name) {
  const size_t before = p->n;
  const size_t room = sizeof p->path - p->n;
  const int n = snprintf(p->path + p->n, room, "%s%s", p->n ? "." : "", name);
  p->n += (size_t)n < room ? (size_t)n : room - 1;
  return before;
}

static void place_leave(place *p, size_t before) {
  p->n = before;
  p->path[before] = 0;
}

static void unpack(place *p, const cx_rec *rec, cxi_item item, char *to);

/* Every field of the struct in the tree, and none but those. */
static bool check_names(place *p, const cx_rec *rec, const cxi_tree *t) {
  for (uint32_t i = 0; i < t->n; i++) {
    const char *name = cxi_name_text(t->names[i]);
    int k = 0;
    while (k < rec->n_fields && strcmp(rec->fields[k].name, name) != 0) k++;
    if (k < rec->n_fields) continue;
    place_enter(p, name);
    p->poison = cxi_reportf(CX_ETREE, "as(%s): \"%s\" is no field of %s%s",
                            p->root->name, p->path, rec->name,
                            cxi_nearest_field(rec, name).text);
    return false;
  }
  return true;
}

static void unpack_tuple(place *p, const cx_field *f, uint32_t n, cxi_item item,
                         char *to) {
  const bool fits = item.kind == CXI_ITEM_TREE && item.as.tree->n == n;
  if (!fits) {
    p->poison = cxi_reportf(CX_ETREE, "as(%s): \"%s\" is not a tuple of %u",
                            p->root->name, p->path, n);
    return;
  }
  for (uint32_t i = 0; i < n && !p->poison.generation; i++) {
    char number[16];
    snprintf(number, sizeof number, "%u", i);
    const size_t before = place_enter(p, number);
    unpack(p, f->type, item.as.tree->items[i], to + i * f->type->size);
    place_leave(p, before);
  }
}

static void unpack_fields(place *p, const cx_rec *rec, const cxi_tree *t,
                          char *to) {
  for (int i = 0; i < rec->n_fields && !p->poison.generation; i++) {
    const cx_field *f = &rec->fields[i];
    const size_t before = place_enter(p, f->name);
    const int64_t k = cxi_tree_find(t, cxi_name_of(f->name));
    const uint32_t n = (uint32_t)(f->size / f->type->size);
    if (k < 0)
      p->poison =
          cxi_reportf(CX_ETREE, "as(%s): the tree has no \"%s\"%s",
                      p->root->name, p->path, cxi_nearest(t, f->name).text);
    else if (n > 1)
      unpack_tuple(p, f, n, t->items[k], to + f->offset);
    else
      unpack(p, f->type, t->items[k], to + f->offset);
    place_leave(p, before);
  }
}

static void unpack(place *p, const cx_rec *rec, cxi_item item, char *to) {
  if (rec->n_fields == 0) {
    if (rec != &cx_rec_cx)
      p->poison = cxi_reportf(CX_ETREE, "as(%s): \"%s\" of type %s is no array",
                              p->root->name, p->path, rec->name);
    else
      *(cx *)(void *)to = cxi_handle(cxi_item_retain(item));
    return;
  }
  if (item.kind != CXI_ITEM_TREE || !item.as.tree->is_dict) {
    p->poison = cxi_reportf(CX_ETREE,
                            "as(%s): \"%s\" is no dict with the"
                            " fields of %s",
                            p->root->name, p->path, rec->name);
    return;
  }
  if (check_names(p, rec, item.as.tree))
    unpack_fields(p, rec, item.as.tree, to);
}

static void poison_all(cursor *c, const cx_rec *leaf, size_t offset) {
  if (leaf == &cx_rec_cx)
    *(cx *)(void *)(c->to + offset) = *(const cx *)(const void *)c->from;
}

const void *cx_as_(const cx_rec *rec, cx tree, void *out, const char *at) {
  const cxi_name before = cxi_enter(at);
  if (!rec || !out) {
    cxi_leave(before, cxi_report(CX_EUSER, "as: NULL"));
    return out;
  }
  const cxi_item item = cxi_item_for("as", tree);
  place p = { .root = rec };
  if (item.kind == CXI_ITEM_POISON)
    p.poison = item.as.handle;
  else
    unpack(&p, rec, item, out);
  if (p.poison.generation) {
    cursor c = { .visit = poison_all,
                 .from = (const char *)&p.poison,
                 .to = out };
    walk(&c, rec, 0);
  }
  cxi_leave(before, p.poison);
  return out;
}
