/* file.c - cx_load, cx_save, cx_inspect: the suffix decides. */
#include "calx/file.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/dtype.h"
#include "calx/array.h"
#include "io/json.h"
#include "io/npz.h"
#include "io/paths.h"
#include "io/safetensors.h"
#include "trace/path.h"

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}
/* The caller's place, which stays if he gives none. */
static cxi_name enter(const char *at) {
  return cxi_site_use(at ? cxi_name_of_static(at) : cxi_site_now());
}
static cx fail_with(const char *op, const char *path, const cxi_error *error) {
  return cx_fail_(NULL, error->code, "%s: %s: %s", op, path, error->text);
}

/* -- reading -------------------------------------------------------------- */

/* Leaves read so far, from one file or several. */
typedef struct leaves {
  cxi_path_leaf *d;
  uint32_t n, cap;
} leaves;

static bool add_tensors(const char *path, const cxi_file *file,
                        const cxi_safetensors *list, leaves *out) {
  if (!cxi_grow(&out->d, &out->cap, (size_t)out->n + list->n, sizeof *out->d)) {
    cx_fail_(NULL, CX_EMEMORY, "load: %s: out of memory", path);
    return false;
  }
  for (uint32_t i = 0; i < list->n; i++) {
    const cxi_tensor_entry *e = &list->entries[i];
    if (!e->type.type) {
      cx_fail_(NULL, CX_EDTYPE, "load: %s: \"%s\" has the unsupported dtype %s",
               path, e->name, e->dtype);
      return false;
    }
    cx leaf =
        cx_from_(file->data + e->begin, e->type.type, e->type.shape, NULL);
    char *name = cxi_copy_string(e->name);
    if (!name || cxi_is_poison(leaf)) {
      cxi_free(name);
      if (!name) cx_fail_(NULL, CX_EMEMORY, "load: %s: out of memory", path);
      return false;
    }
    out->d[out->n++] = (cxi_path_leaf){ name, leaf };
  }
  return true;
}
static bool read_safetensors(const char *path, leaves *out) {
  cxi_file file;
  cxi_safetensors list;
  cxi_error error = { 0 };
  if (!cxi_file_map(path, &file, &error)) {
    fail_with("load", path, &error);
    return false;
  }
  bool ok = cxi_safetensors_parse(file.data, file.size, &list, &error);
  if (!ok)
    fail_with("load", path, &error);
  else {
    ok = add_tensors(path, &file, &list, out);
    cxi_safetensors_free(&list);
  }
  cxi_file_unmap(&file);
  return ok;
}

/* model.safetensors.index.json: {"weight_map": {tensor: file}}. The files stand
 * beside the index; each is read once and whole. */
static bool read_index(const char *path, leaves *out) {
  cxi_file file;
  cxi_error error = { 0 };
  json_error_t where;
  if (!cxi_file_map(path, &file, &error)) {
    fail_with("load", path, &error);
    return false;
  }
  json_t *root = json_loadb((const char *)file.data, file.size,
                            JSON_REJECT_DUPLICATES, &where);
  cxi_file_unmap(&file);
  json_t *map = json_object_get(root, "weight_map"), *seen = json_object();
  bool ok = json_is_object(map) && seen;
  if (!root)
    cx_fail_(NULL, cxi_json_code(&where), "load: %s: %s", path,
             cxi_json_text(&where));
  else if (!seen)
    cx_fail_(NULL, CX_EMEMORY, "load: %s: out of memory", path);
  else if (!ok)
    cx_fail_(NULL, CX_EIO, "load: %s: no weight_map", path);
  const char *tensor, *slash = strrchr(path, '/');
  int folder = slash ? (int)(slash - path) + 1 : 0;
  json_t *value;
  json_object_foreach(map, tensor, value) {
    const char *name = json_string_value(value);
    char shard[4096];
    if (!ok) break;
    if (!name || strchr(name, '/') || !ends_with(name, ".safetensors") ||
        snprintf(shard, sizeof shard, "%.*s%s", folder, path, name) >=
            (int)sizeof shard) {
      cx_fail_(NULL, CX_EIO, "load: %s: \"%s\" is in no file of this folder",
               path, tensor);
      ok = false;
    } else if (json_object_get(seen, name)) {
      continue;
    } else if (json_object_set_new(seen, name, json_true()) != 0) {
      cx_fail_(NULL, CX_EMEMORY, "load: %s: out of memory", path);
      ok = false;
    } else {
      ok = read_safetensors(shard, out);
    }
  }
  json_decref(seen), json_decref(root);
  return ok;
}

/* -- NumPy's files -------------------------------------------------------- */

/* The array whose file, header and elements, stands in memory. */
static cx array_of_npy(const cxi_npy *npy, const unsigned char *file,
                       cxi_error *error) {
  const unsigned char *elements = file + npy->offset;
  if (!npy->type.type) {
    cxi_error_set(error, CX_EDTYPE, "the unsupported dtype %s", npy->dtype);
    return cxi_poison_last();
  }
  if (!npy->fortran && !npy->big)
    return cx_from_(elements, npy->type.type, npy->type.shape, NULL);
  void *ordered = cxi_alloc(npy->bytes + 1);
  if (!ordered) {
    cxi_error_set(error, CX_EMEMORY, "out of memory");
    return cxi_poison_last();
  }
  cxi_npy_elements(npy, elements, ordered);
  cx array = cx_from_(ordered, npy->type.type, npy->type.shape, NULL);
  cxi_free(ordered);
  return array;
}
/* A file of one array, whose elements end with it. */
static bool parse_npy(const cxi_file *file, cxi_npy *out, cxi_error *error) {
  if (!cxi_npy_parse(file->data, file->size, out, error)) return false;
  if (out->bytes == file->size - out->offset) return true;
  return cxi_error_set(error, CX_EIO,
                       "npy: %llu bytes of elements, the shape says %llu",
                       (unsigned long long)(file->size - out->offset),
                       (unsigned long long)out->bytes);
}
static cx load_npy(const char *path) {
  cxi_file file;
  cxi_npy npy;
  cxi_error error = { 0 };
  cx array = { 0 };
  if (cxi_file_map(path, &file, &error)) {
    if (parse_npy(&file, &npy, &error))
      array = array_of_npy(&npy, file.data, &error);
    cxi_file_unmap(&file);
  }
  return error.code ? fail_with("load", path, &error) : array;
}
static bool add_member(cxi_npz *npz, uint32_t i, leaves *out,
                       cxi_error *error) {
  cxi_npy header;
  char *name;
  if (!cxi_npz_header(npz, i, &name, &header, error)) return false;
  unsigned char *file = cxi_npz_read(npz, i, &header, error);
  cx leaf = { 0 };
  if (file) leaf = array_of_npy(&header, file, error);
  cxi_free(file);
  if (error->code || cxi_is_poison(leaf)) {
    cxi_free(name);
    return false;
  }
  out->d[out->n++] = (cxi_path_leaf){ name, leaf };
  return true;
}
static bool read_npz(const char *path, leaves *out) {
  cxi_error error = { 0 };
  cxi_npz *npz = cxi_npz_open(path, &error);
  const uint32_t n = npz ? cxi_npz_count(npz) : 0;
  bool ok = npz != NULL;
  if (ok && !cxi_grow(&out->d, &out->cap, (size_t)n + 1, sizeof *out->d))
    ok = cxi_error_set(&error, CX_EMEMORY, "out of memory");
  for (uint32_t i = 0; ok && i < n; i++) ok = add_member(npz, i, out, &error);
  cxi_npz_close(npz);
  if (error.code) fail_with("load", path, &error);
  return ok;
}

/* -- by suffix ------------------------------------------------------------ */

static cx load(const char *path) {
  leaves list = { 0 };
  bool ok = false;
  cx tree = { 0, 1 };
  if (!path) return cx_fail_(NULL, CX_EIO, "load: no path");
  if (ends_with(path, ".npy")) return load_npy(path);
  if (ends_with(path, ".npz"))
    ok = read_npz(path, &list);
  else if (ends_with(path, ".safetensors"))
    ok = read_safetensors(path, &list);
  else if (ends_with(path, ".index.json"))
    ok = read_index(path, &list);
  else
    cx_fail_(NULL, CX_EIO,
             "load: %s: its suffix must be .safetensors, .index.json, .npy or "
             ".npz",
             path);
  tree = ok ? cxi_tree_of_paths("load", list.n, list.d) : cxi_poison_last();
  for (uint32_t i = 0; i < list.n; i++) cxi_free((char *)list.d[i].path);
  cxi_free(list.d);
  return tree;
}
cx cx_load_(const char *path, const char *at) {
  cxi_name before = enter(at);
  cx tree = load(path);
  cxi_site_use(before);
  return tree;
}

/* -- looking -------------------------------------------------------------- */

static void add_line(cxi_bytes *text, const char *name, const char *dtype,
                     const cx_dims *dims, uint64_t bytes) {
  char line[256], shape[192];
  cxi_dims_print(shape, sizeof shape, dims);
  cxi_bytes_add(text, name, strlen(name));
  int n = snprintf(line, sizeof line, " %s%s %llu bytes\n", dtype, shape,
                   (unsigned long long)bytes);
  cxi_bytes_add(text, line, (size_t)n);
}
static void list_safetensors(const cxi_file *file, cxi_bytes *text,
                             cxi_error *error) {
  cxi_safetensors list;
  if (!cxi_safetensors_parse(file->data, file->size, &list, error)) return;
  for (uint32_t i = 0; i < list.n; i++) {
    const cxi_tensor_entry *e = &list.entries[i];
    add_line(text, e->name, e->dtype, &e->type.shape, e->end - e->begin);
  }
  cxi_safetensors_free(&list);
}
static void list_npy(const cxi_file *file, cxi_bytes *text, cxi_error *error) {
  cxi_npy npy;
  if (parse_npy(file, &npy, error))
    add_line(text, "array", npy.dtype, &npy.type.shape, npy.bytes);
}
static void list_npz(const char *path, cxi_bytes *text, cxi_error *error) {
  cxi_npz *npz = cxi_npz_open(path, error);
  const uint32_t n = npz ? cxi_npz_count(npz) : 0;
  for (uint32_t i = 0; i < n && !error->code; i++) {
    cxi_npy npy;
    char *name;
    if (cxi_npz_header(npz, i, &name, &npy, error))
      add_line(text, name, npy.dtype, &npy.type.shape, npy.bytes);
    cxi_free(name);
  }
  cxi_npz_close(npz);
}
static const char *inspect(const char *path) {
  cxi_file file;
  cxi_error error = { 0 };
  cxi_bytes text = { 0 };
  if (!path) {
    cx_fail_(NULL, CX_EIO, "inspect: no path");
    return cxi_string("");
  }
  if (ends_with(path, ".npz")) {
    list_npz(path, &text, &error);
  } else if (cxi_file_map(path, &file, &error)) {
    (ends_with(path, ".npy") ? list_npy : list_safetensors)(&file, &text,
                                                            &error);
    cxi_file_unmap(&file);
  }
  if (error.code) fail_with("inspect", path, &error);
  cxi_bytes_add(&text, "", 1);
  if (text.failed) cx_fail_(NULL, CX_EMEMORY, "inspect: out of memory");
  const bool shown = !error.code && !text.failed;
  const char *result = cxi_string(shown ? (const char *)text.data : "");
  cxi_bytes_free(&text);
  return result;
}
const char *cx_inspect_(const char *path, const char *at) {
  cxi_name before = cxi_site_use(cxi_name_of_static(at));
  const char *text = inspect(path);
  cxi_site_use(before);
  return text;
}

/* -- writing -------------------------------------------------------------- */

/* The elements of leaf. Unlike cx_data, whose address must stay, this leaves
 * the array free to be donated afterwards. */
static const void *elements_of(cx leaf) {
  const cxi_item item = cxi_item_for("save", leaf);
  if (item.kind == CXI_ITEM_ARRAY && cxi_array_alive(item.as.array))
    return item.as.array->data;
  return cx_data_(leaf, NULL);
}

static bool collect(cx tree, cxi_safetensors *list) {
  int n = cx_leaf_count(tree);
  list->entries = cxi_alloc_zeroed((size_t)n + 1, sizeof *list->entries);
  if (!list->entries) {
    cx_fail_(NULL, CX_EMEMORY, "save: out of memory");
    return false;
  }
  for (int i = 0; i < n; i++) {
    cxi_tensor_entry *e = &list->entries[i];
    cx leaf = cx_leaf_(tree, i, NULL);
    const char *path = cxi_leaf_path(tree, i);
    e->data = elements_of(leaf);
    e->type = (cx_aval){ cx_type_(leaf, NULL), cx_shape_(leaf, NULL) };
    bool empty = cx_size_(leaf, NULL) == 0;
    e->name = path ? cxi_copy_string(*path ? path : "array") : NULL;
    if (!e->name || (!e->data && !empty)) {
      if (path && !e->name) cx_fail_(NULL, CX_EMEMORY, "save: out of memory");
      cxi_free(e->name);
      return false;
    }
    list->n++;
  }
  return true;
}
static bool write_all(const char *path, cxi_safetensors *list) {
  cxi_error error = { 0 };
  size_t bytes;
  unsigned char *header = cxi_safetensors_header(list, &bytes, &error);
  cxi_writer *w = header ? cxi_writer_open(path, &error) : NULL;
  if (w) {
    cxi_writer_add(w, header, bytes);
    for (uint32_t i = 0; i < list->n; i++)
      cxi_writer_add(w, list->entries[i].data,
                     (size_t)(list->entries[i].end - list->entries[i].begin));
  }
  cxi_free(header);
  if (w && cxi_writer_commit(w, &error)) return true;
  fail_with("save", path, &error);
  return false;
}
static bool write_npz(const char *path, const cxi_safetensors *list,
                      cxi_error *error) {
  cxi_npz_item *items = cxi_alloc_zeroed((size_t)list->n + 1, sizeof *items);
  if (!items) return cxi_error_set(error, CX_EMEMORY, "out of memory");
  for (uint32_t i = 0; i < list->n; i++) {
    const cxi_tensor_entry *e = &list->entries[i];
    items[i] = (cxi_npz_item){ e->name, e->type, e->data };
  }
  const bool ok = cxi_npz_write(path, list->n, items, error);
  cxi_free(items);
  return ok;
}
static bool write_npy(const char *path, const cxi_safetensors *list,
                      cxi_error *error) {
  unsigned char header[CXI_NPY_HEADER];
  size_t bytes;
  if (list->n != 1)
    return cxi_error_set(error, CX_ETREE,
                         "one array is needed, got %u; .npz holds several",
                         list->n);
  const cxi_tensor_entry *e = &list->entries[0];
  if (!cxi_npy_header(e->type, header, &bytes, error)) return false;
  cxi_writer *w = cxi_writer_open(path, error);
  if (!w) return false;
  cxi_writer_add(w, header, bytes);
  cxi_writer_add(w, e->data, (size_t)cxi_aval_bytes(&e->type));
  return cxi_writer_commit(w, error);
}
static bool write_numpy(const char *path, const cxi_safetensors *list) {
  cxi_error error = { 0 };
  const bool ok = ends_with(path, ".npy") ? write_npy(path, list, &error)
                                          : write_npz(path, list, &error);
  if (!ok) fail_with("save", path, &error);
  return ok;
}
static bool save(const char *path, cx tree) {
  CX_SCOPE;
  cxi_safetensors list = { 0 };
  if (cxi_is_poison(tree)) return false; /* the file stays as it is */
  const bool numpy =
      path && (ends_with(path, ".npy") || ends_with(path, ".npz"));
  if (!path || (!numpy && !ends_with(path, ".safetensors"))) {
    cx_fail_(NULL, CX_EIO,
             "save: %s: its suffix must be .safetensors, .npy or .npz",
             path ? path : "no path");
    return false;
  }
  bool ok = collect(tree, &list) &&
            (numpy ? write_numpy(path, &list) : write_all(path, &list));
  cxi_safetensors_free(&list);
  return ok;
}
bool cx_save_(const char *path, cx tree, const char *at) {
  cxi_name before = enter(at);
  bool ok = save(path, tree);
  cxi_site_use(before);
  return ok;
}
