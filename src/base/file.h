/* file.h - whole files in; files out under a temporary name, then renamed. */
#ifndef CXI_FILE_H
#define CXI_FILE_H

#include "base/error.h"

/* A file mapped read-only; an empty one has data == NULL, size 0. */
typedef struct cxi_file {
  const unsigned char *data;
  size_t size;
} cxi_file;
bool cxi_file_map(const char *path, cxi_file *out, cxi_error *error);
void cxi_file_unmap(cxi_file *file);

/* Writing: bytes go to a temporary file beside `path`; commit syncs and
 * renames, so that readers see the old file or the new one, whole. Abandon
 * removes the temporary. Errors stick: commit reports the first. */
typedef struct cxi_writer cxi_writer;
cxi_writer *cxi_writer_open(const char *path, cxi_error *error);
void cxi_writer_add(cxi_writer *writer, const void *bytes, size_t n);
bool cxi_writer_commit(cxi_writer *writer, cxi_error *error); /* frees */
void cxi_writer_abandon(cxi_writer *writer);                  /* frees */

/* The same for a writer that wants a name: the name of a new, empty file
 * beside `path`, to be freed with cxi_free; then one of replace, which syncs
 * and renames, and discard, which returns false. */
char *cxi_file_temporary(const char *path, cxi_error *error);
bool cxi_file_replace(const char *temporary, const char *path,
                      cxi_error *error);
bool cxi_file_discard(const char *temporary);

#endif
