/* safetensors_fuzz.c - any bytes as a file: refused, or ranges that fill it;
 * what is written from them is read as the same. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "io/safetensors.h"

/* The tensors, in the order of their offsets, end where the file does. */
static void check_list(const cxi_safetensors *list, size_t size) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < list->n; i++) {
    const cxi_tensor_entry *e = &list->entries[i];
    require(e->name && e->begin <= e->end && e->end <= size);
    require(i == 0 || e->begin == at);
    at = e->end;
  }
  require(list->n == 0 || at == size);
}

/* By name: where tensors are empty the order of offsets leaves a choice. */
static const cxi_tensor_entry *named(const cxi_safetensors *list,
                                     const char *name) {
  for (uint32_t i = 0; i < list->n; i++)
    if (!strcmp(list->entries[i].name, name)) return &list->entries[i];
  return NULL;
}

/* Writes the header, with zeros for the elements, and reads it. */
static void check_written(cxi_safetensors *list) {
  size_t bytes;
  cxi_error error = { 0 };
  unsigned char *header = cxi_safetensors_header(list, &bytes, &error);
  require(header && bytes % 8 == 0);
  const size_t size = bytes + (list->n ? list->entries[list->n - 1].end : 0);
  unsigned char *file = calloc(1, size);
  if (file) {
    cxi_safetensors again;
    memcpy(file, header, bytes);
    require(cxi_safetensors_parse(file, size, &again, &error));
    require(again.n == list->n);
    check_list(&again, size);
    for (uint32_t i = 0; i < list->n; i++) {
      const cxi_tensor_entry *e = &list->entries[i];
      const cxi_tensor_entry *read = named(&again, e->name);
      require(read && cxi_aval_equal(&read->type, &e->type));
    }
    cxi_safetensors_free(&again);
  }
  free(file);
  cxi_free(header);
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
  if (known) check_written(&list);
  cxi_safetensors_free(&list);
  return 0;
}
