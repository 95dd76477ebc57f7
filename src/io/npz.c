/* npz.c - archives of arrays through libzip. */
#include "io/npz.h"

#include <stdio.h>
#include <string.h>
#include <zip.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/file.h"

/* Members of an archive, and the bytes that they may hold together: so many
 * times the file's size, and in any case a GiB. Zeros compress to a thousandth;
 * a file that grows beyond this is made to exhaust memory. */
enum { MAX_MEMBERS = 1000000, MAX_GROWTH = 256 };
static const uint64_t FREE_BYTES = (uint64_t)1 << 30;

struct cxi_npz {
  zip_t *zip;
  uint32_t n;
};

static bool refuse(cxi_error *error, const char *name, const char *why) {
  return cxi_error_set(error, CX_EIO, "npz: \"%.120s\": %s", name, why);
}
/* "cannot write: No such file or directory"; callers name the file. */
static bool no_zip(cxi_error *error, const char *what, int code) {
  zip_error_t why;
  zip_error_init_with_code(&why, code);
  cxi_error_set(error, CX_EIO, "%s: %s", what, zip_error_strerror(&why));
  zip_error_fini(&why);
  return false;
}
static bool no_memory(cxi_error *error) {
  return cxi_error_set(error, CX_EMEMORY, "npz: out of memory");
}

/* -- the members ---------------------------------------------------------- */

/* What the directory says of a member, as far as it can be believed. */
static bool stat_member(zip_t *zip, uint32_t i, zip_stat_t *out,
                        cxi_error *error) {
  const zip_uint64_t needed =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  zip_stat_init(out);
  if (zip_stat_index(zip, i, 0, out) != 0 || (out->valid & needed) != needed)
    return cxi_error_set(error, CX_EIO, "npz: member %u cannot be read", i);
  const size_t n = strlen(out->name);
  if (n <= 4 || strcmp(out->name + n - 4, ".npy") != 0)
    return refuse(error, out->name, "no .npy file");
  if ((out->valid & ZIP_STAT_ENCRYPTION_METHOD) && out->encryption_method)
    return refuse(error, out->name, "encrypted");
  if (out->comp_method != ZIP_CM_STORE && out->comp_method != ZIP_CM_DEFLATE)
    return refuse(error, out->name, "neither stored nor deflated");
  if (out->comp_method == ZIP_CM_STORE && out->comp_size != out->size)
    return refuse(error, out->name, "stored with two sizes");
  return true;
}
/* Members that overlap, or that grow beyond measure. */
static bool check_members(const cxi_npz *npz, uint64_t file_bytes,
                          cxi_error *error) {
  uint64_t packed = 0, total = 0;
  for (uint32_t i = 0; i < npz->n; i++) {
    zip_stat_t s;
    if (!stat_member(npz->zip, i, &s, error)) return false;
    if (s.comp_size > file_bytes || (packed += s.comp_size) > file_bytes)
      return refuse(error, s.name, "the members overlap");
    if (s.size >> 48 || (total += s.size) >> 60)
      return refuse(error, s.name, "the size is no size");
  }
  if (total > FREE_BYTES && total / MAX_GROWTH > file_bytes)
    return cxi_error_set(
        error, CX_EIO, "npz: %llu bytes grow to %llu: more than %d times",
        (unsigned long long)file_bytes, (unsigned long long)total, MAX_GROWTH);
  return true;
}

/* -- reading -------------------------------------------------------------- */

cxi_npz *cxi_npz_open(const char *path, cxi_error *error) {
  cxi_file file;
  if (!cxi_file_map(path, &file, error)) return NULL;
  const uint64_t bytes = file.size;
  cxi_file_unmap(&file);
  int code = 0;
  zip_t *zip = zip_open(path, ZIP_RDONLY | ZIP_CHECKCONS, &code);
  if (!zip) {
    no_zip(error, "npz", code);
    return NULL;
  }
  const zip_int64_t n = zip_get_num_entries(zip, 0);
  cxi_npz *npz = cxi_alloc(sizeof *npz);
  if (npz) *npz = (cxi_npz){ zip, (uint32_t)n };
  if (npz && n >= 0 && n <= MAX_MEMBERS && check_members(npz, bytes, error))
    return npz;
  if (!npz)
    no_memory(error);
  else
    cxi_error_set(error, CX_EIO, "npz: more than %d members", MAX_MEMBERS);
  zip_discard(zip);
  cxi_free(npz);
  return NULL;
}
void cxi_npz_close(cxi_npz *npz) {
  if (!npz) return;
  zip_discard(npz->zip);
  cxi_free(npz);
}
uint32_t cxi_npz_count(const cxi_npz *npz) {
  return npz->n;
}

/* Up to n bytes; fewer only at the end, and -1 if they are damaged. */
static int64_t read_bytes(zip_file_t *f, unsigned char *to, uint64_t n) {
  uint64_t at = 0;
  while (at < n) {
    const zip_int64_t got = zip_fread(f, to + at, n - at);
    if (got < 0) return -1;
    if (got == 0) break;
    at += (uint64_t)got;
  }
  return (int64_t)at;
}
/* The first bytes hold the header; the elements must fill the rest. */
static bool read_header(zip_file_t *f, const zip_stat_t *s, cxi_npy *out,
                        cxi_error *error) {
  const uint64_t room =
      s->size < CXI_NPY_MAX_HEADER ? s->size : CXI_NPY_MAX_HEADER;
  unsigned char *start = cxi_alloc(room + 1);
  if (!start) return no_memory(error);
  const int64_t got = read_bytes(f, start, room);
  bool ok = got >= 0;
  if (!ok)
    refuse(error, s->name, "damaged");
  else
    ok = cxi_npy_parse(start, (size_t)got, out, error);
  cxi_free(start);
  if (ok && s->size - out->offset != out->bytes)
    ok = refuse(error, s->name, "its size is not that of its shape");
  return ok;
}
bool cxi_npz_header(cxi_npz *npz, uint32_t i, char **out_name, cxi_npy *out,
                    cxi_error *error) {
  zip_stat_t s;
  *out_name = NULL;
  if (!stat_member(npz->zip, i, &s, error)) return false;
  zip_file_t *f = zip_fopen_index(npz->zip, i, 0);
  if (!f) return refuse(error, s.name, "damaged");
  const bool ok = read_header(f, &s, out, error);
  zip_fclose(f);
  if (!ok) return false;
  *out_name = cxi_copy_string(s.name);
  if (!*out_name) return no_memory(error);
  (*out_name)[strlen(s.name) - 4] = 0;
  return true;
}
unsigned char *cxi_npz_read(cxi_npz *npz, uint32_t i, const cxi_npy *header,
                            cxi_error *error) {
  const uint64_t bytes = header->offset + header->bytes;
  unsigned char *data = cxi_alloc(bytes + 1);
  if (!data) {
    no_memory(error);
    return NULL;
  }
  /* Reading beyond the end is what compares the sum. */
  zip_file_t *f = zip_fopen_index(npz->zip, i, 0);
  const bool whole = f && read_bytes(f, data, bytes + 1) == (int64_t)bytes;
  if (f) zip_fclose(f);
  if (whole) return data;
  refuse(error, zip_get_name(npz->zip, i, 0), "damaged");
  cxi_free(data);
  return NULL;
}

/* -- writing -------------------------------------------------------------- */

typedef struct member {
  unsigned char header[CXI_NPY_HEADER];
  zip_buffer_fragment_t parts[2];
} member;

static bool add_member(zip_t *zip, const cxi_npz_item *item, member *m,
                       cxi_error *error) {
  size_t bytes;
  if (!cxi_npy_header(item->type, m->header, &bytes, error)) return false;
  const size_t room = strlen(item->name) + 5;
  char *name = cxi_alloc(room);
  if (!name) return no_memory(error);
  snprintf(name, room, "%s.npy", item->name);
  m->parts[0] = (zip_buffer_fragment_t){ m->header, bytes };
  m->parts[1] =
      (zip_buffer_fragment_t){ (zip_uint8_t *)(uintptr_t)item->data,
                               (zip_uint64_t)cxi_aval_bytes(&item->type) };
  const zip_uint64_t n_parts = m->parts[1].length ? 2 : 1;
  zip_source_t *source = zip_source_buffer_fragment(zip, m->parts, n_parts, 0);
  const zip_int64_t at =
      source ? zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
  cxi_free(name);
  if (at < 0) {
    if (source) zip_source_free(source);
    return cxi_error_set(error, CX_EIO, "npz: \"%.120s\": %s", item->name,
                         zip_strerror(zip));
  }
  return zip_set_file_compression(zip, (zip_uint64_t)at, ZIP_CM_STORE, 0) == 0;
}
static bool write_zip(const char *path, uint32_t n, const cxi_npz_item *items,
                      member *members, cxi_error *error) {
  int code = 0;
  zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!zip) return no_zip(error, "cannot write", code);
  bool ok = true;
  for (uint32_t i = 0; ok && i < n; i++)
    ok = add_member(zip, &items[i], &members[i], error);
  if (ok && zip_close(zip) == 0) return true;
  cxi_error_set(error, CX_EIO, "cannot write: %s", zip_strerror(zip));
  zip_discard(zip);
  return false;
}
/* libzip writes under a name of its own, which then is the temporary one. */
bool cxi_npz_write(const char *path, uint32_t n, const cxi_npz_item *items,
                   cxi_error *error) {
  member *members = cxi_alloc_zeroed((size_t)n + 1, sizeof *members);
  char *temporary = members ? cxi_file_temporary(path, error) : NULL;
  bool ok = temporary && write_zip(temporary, n, items, members, error);
  if (!members) no_memory(error);
  if (temporary)
    ok = ok ? cxi_file_replace(temporary, path, error)
            : cxi_file_discard(temporary);
  cxi_free(temporary);
  cxi_free(members);
  return ok;
}
