/* store.h - a directory of small files by key, shared by many processes.
 *
 * CALX_CACHE_DIR names it, else it is calx in $XDG_CACHE_HOME or in ~/.cache;
 * CALX_CACHE=off: none. It is the user's alone, mode 0700, and so are its
 * files; one that is anything else is not looked into. A file carries its key,
 * the stamp of who wrote it, and a checksum: one that is not whole, or not
 * what was asked for, is removed. Files are written under another name and
 * renamed. When they exceed CALX_CACHE_MAX bytes (suffixes K, M, G; 256M if
 * unset) those that were not used for longest go. A program that runs with
 * the rights of another user has no store. */
#ifndef CXI_STORE_H
#define CXI_STORE_H

#include "base/hash.h"

enum { CXI_STORE_LARGEST = 16 << 20 }; /* bytes of a file */

typedef enum cxi_stored {
  CXI_STORED_FOUND,
  CXI_STORED_ABSENT,
  CXI_STORED_REJECTED, /* there was one, or a directory, not to be trusted */
  CXI_STORED_OFF
} cxi_stored;

/* The content kept under the key by a writer of this stamp, appended to *out.
 * why[160]: in what way there is none. */
cxi_stored cxi_store_get(cxi_hash key, const char *stamp, cxi_bytes *out,
                         char *why);
/* False if it cannot be kept; why[160] says for what reason. */
bool cxi_store_put(cxi_hash key, const char *stamp, const void *content,
                   size_t n, char *why);

typedef struct cxi_store_stats {
  uint64_t found, absent, rejected, written, failed, evicted;
  uint64_t bytes_read, bytes_written;
} cxi_store_stats;
cxi_store_stats cxi_store_now(void); /* of this process */

/* -- the directory as a whole ---------------------------------------------- */

typedef struct cxi_store_entry {
  const char *name;
  uint64_t bytes;
  int64_t age;       /* seconds since its last use */
  const char *stamp; /* if it was checked and is sound */
  const char *fault; /* if it was checked and is not: it is removed */
} cxi_store_entry;
/* Calls f for each file, the last used first, after reading it if `check`.
 * Returns how many there are, -1 with why[160] if there is no directory. */
int64_t cxi_store_each(bool check, void (*f)(const cxi_store_entry *, void *),
                       void *user, char *why);
/* Removes all files; how many, or -1 with why[160]. */
int64_t cxi_store_clear(char *why);
/* Its path and limit, for people; false, why[160]: it is off. */
bool cxi_store_place(char *path, size_t room, uint64_t *out_limit, char *why);

#endif
