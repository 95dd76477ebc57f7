/* safetensors_fuzz.c - any bytes as a file: refused, or ranges that fill it. */
#include <stdlib.h>

#include "base/alloc.h"
#include "io/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
  if (!holds) abort();
}

/* The tensors, in the order of their offsets, end where the file does, and
 * what is written back is read as the same. */
static void check_list(cxi_safetensors *list, size_t size) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < list->n; i++) {
    const cxi_tensor_entry *e = &list->entries[i];
    require(e->name && e->begin <= e->end && e->end <= size);
    require(i == 0 || e->begin == at);
    at = e->end;
  }
  require(list->n == 0 || at == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cxi_safetensors list;
  cxi_error error = { 0 };
  const bool read = cxi_safetensors_parse(data, size, &list, &error);
  require(read == (error.code == CX_OK));
  if (!read) return 0;
  check_list(&list, size);
  bool known = true;
  for (uint32_t i = 0; i < list.n; i++) known &= list.entries[i].type.type != 0;
  size_t bytes;
  unsigned char *header =
      known ? cxi_safetensors_header(&list, &bytes, &error) : NULL;
  require(!known || (header && bytes % 8 == 0));
  cxi_free(header);
  cxi_safetensors_free(&list);
  return 0;
}
