/* code_object.h - code that lies anywhere: as bytes for a cache, as memory
 * that runs, and the table that it is called with. */
#ifndef CXI_CPU_CODE_OBJECT_H
#define CXI_CPU_CODE_OBJECT_H

#include "base/hash.h"
#include "lower/code.h"

/* By the structure of a loop or pass and what its code is made by; the same in
 * every process. False without memory. `llvm` is a version. */
bool cxi_code_key(const struct cxi_unit *unit, const char *llvm, cxi_hash *out);
/* Who makes code: build, version of LLVM, instruction set; stamp[200]. */
void cxi_code_stamp(const char *llvm, char *stamp);

/* Appends the object; and back: the object points into the bytes. False if
 * they are none. */
void cxi_object_write(cxi_bytes *out, const cxi_object *object);
bool cxi_object_read(const unsigned char *bytes, size_t n, cxi_object *out);

/* Code in memory that is not written any more; `entry` is NULL for a unit that
 * is not worth any. */
typedef struct cxi_loaded {
  cxi_code_entry *entry;
  void *pages;
  size_t bytes; /* of the pages */
  uint32_t n_imports;
  cxi_import *imports;
} cxi_loaded;
bool cxi_object_load(const cxi_object *object, cxi_loaded *out,
                     const char **why);
void cxi_loaded_free(cxi_loaded *loaded);

/* What the code finds in its table when it runs this unit, to be freed; NULL
 * without memory, or if an import is of nothing there. */
const void **cxi_loaded_table(const cxi_loaded *loaded,
                              const struct cxi_unit *unit);

#endif
