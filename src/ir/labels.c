/* labels.c - a map from text to a number. */
#include "ir/labels.h"

#include <string.h>

#include "base/alloc.h"

static bool is_label(const cxi_label *a, const cxi_label *b) {
  return cxi_hash_equal(a->hash, b->hash) && a->length == b->length &&
         memcmp(a->text, b->text, a->length) == 0;
}

static uint32_t *slot_of(const cxi_labels *labels, const cxi_label *label) {
  uint32_t i = (uint32_t)label->hash.lo & labels->mask;
  while (labels->slots[i] &&
         !is_label(&labels->items[labels->slots[i] - 1], label))
    i = (i + 1) & labels->mask;
  return &labels->slots[i];
}

static bool make_slots(cxi_labels *labels) {
  if (labels->slots && 2 * labels->n < labels->mask) return true;
  uint32_t n = labels->slots ? (labels->mask + 1) * 2 : 16;
  uint32_t *slots = cxi_alloc_zeroed(n, sizeof *slots);
  if (!slots) return false;
  cxi_free(labels->slots);
  labels->slots = slots;
  labels->mask = n - 1;
  for (uint32_t i = 0; i < labels->n; i++)
    *slot_of(labels, &labels->items[i]) = i + 1;
  return true;
}

cxi_label *cxi_labels_find(const cxi_labels *labels, const char *text,
                           size_t length) {
  if (!labels->slots) return NULL;
  cxi_label label = { text, length, cxi_hash_bytes(text, length), 0 };
  uint32_t at = *slot_of(labels, &label);
  return at ? &labels->items[at - 1] : NULL;
}

cxi_label *cxi_labels_add(cxi_labels *labels, const char *text, size_t length,
                          uint32_t number) {
  char *copy = cxi_arena_alloc(&labels->arena, length + 1);
  if (!copy || !make_slots(labels) ||
      !cxi_grow(&labels->items, &labels->cap, labels->n + (size_t)1,
                sizeof *labels->items))
    return NULL;
  memcpy(copy, text, length);
  cxi_label *label = &labels->items[labels->n++];
  *label = (cxi_label){ copy, length, cxi_hash_bytes(text, length), number };
  *slot_of(labels, label) = labels->n;
  return label;
}

void cxi_labels_free(cxi_labels *labels) {
  cxi_free(labels->items);
  cxi_free(labels->slots);
  cxi_arena_free(&labels->arena);
}
