/* record.h - described structs as environments of functions.
 *
 * Frozen, an environment is a template: a copy of the struct with its strings
 * interned, its functions replaced by their codes' plain ones, and a mark in
 * place of each captured handle. Thawed, the captures of the call stand in
 * their places again. */
#ifndef CXI_RECORD_H
#define CXI_RECORD_H

#include "ops/ops.h"
#include "trace/function.h"

/* Items captured from an environment, in the order of its fields. */
typedef struct cxi_captures {
  uint32_t n, cap;
  cxi_item *items; /* borrowed */
  cx poison;       /* a field that is poison; else {0} */
  bool failed;     /* no memory, or a function that has ended */
} cxi_captures;
void cxi_captures_add(cxi_captures *c, const cxi_item *items, uint32_t n);

/* Appends what is static to the key, what is an array to the captures, and
 * fills the template, rec->size zeroed bytes. */
void cxi_record_freeze(const cx_rec *rec, const void *env, void *out_template,
                       cxi_bytes *key, cxi_captures *captures);
/* The struct for a call: out is a copy of the template; the captures become
 * handles, which the current trace owns. False without memory, reported. */
bool cxi_record_thaw(const cx_rec *rec, void *out, const cxi_item *captures,
                     uint32_t n_captures);
/* Of two templates, the first field that differs, as a sentence: "static lr
 * changed 0.1 -> 0.2: declare it as cx". False if none does. */
bool cxi_record_difference(const cx_rec *rec, const void *was, const void *is,
                           char *out, size_t room);

#endif
