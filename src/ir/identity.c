/* identity.c - the hash of a program's structure, its identity, comparison.
 *
 * The structure is written as bytes without struct padding, ids or pointers:
 * types as dtype and shape, sub-programs as their own hash, names as text.
 * So the hash is the same in every process. The identity, which only the
 * table of this process uses, adds name, source lines and scopes as ids. */
#include "ir/identity.h"

#include <string.h>

#include "base/alloc.h"

/* Room for n more bytes at the end; NULL without memory. */
static unsigned char *room(cxi_bytes *b, size_t n) {
  if (b->cap - b->n < n && !cxi_grow(&b->data, &b->cap, b->n + n, 1)) {
    b->failed = true;
    return NULL;
  }
  return b->data + b->n;
}

static unsigned char *put_u32(unsigned char *at, uint32_t x) {
  memcpy(at, &x, sizeof x);
  return at + sizeof x;
}

static unsigned char *put_u64(unsigned char *at, uint64_t x) {
  memcpy(at, &x, sizeof x);
  return at + sizeof x;
}

void cxi_aval_write(cxi_bytes *b, const cx_aval *aval) {
  const cx_dims *shape = &aval->shape;
  unsigned char *at = room(b, 4 + sizeof shape->d);
  if (!at) return;
  at = put_u32(at, (uint32_t)aval->type | (uint32_t)shape->n << 8);
  for (int i = 0; i < shape->n; i++) at = put_u64(at, (uint64_t)shape->d[i]);
  b->n = (uint32_t)(at - b->data);
}

static void add_type(cxi_bytes *b, cxi_type type) {
  cxi_aval_write(b, cxi_type_aval(type));
}

static void add_dims(cxi_bytes *b, const cx_dims *dims) {
  cxi_bytes_add_u32(b, (uint32_t)dims->n);
  if (dims->n > 0)
    cxi_bytes_add(b, dims->d, (size_t)dims->n * sizeof dims->d[0]);
}

static void add_program(cxi_bytes *b, const cxi_program *p) {
  cxi_bytes_add_u64(b, p ? p->hash.lo : 0);
  cxi_bytes_add_u64(b, p ? p->hash.hi : 0);
}

static void add_field(cxi_bytes *b, cxi_field_kind kind, const void *at) {
  switch (kind) {
  case CXI_FIELD_int:
  case CXI_FIELD_real:
    cxi_bytes_add(b, at, sizeof(int64_t));
    break;
  case CXI_FIELD_bool:
    cxi_bytes_add_u32(b, *(const cxi_field_bool *)at);
    break;
  case CXI_FIELD_dims:
    add_dims(b, at);
    break;
  case CXI_FIELD_dtype:
    cxi_bytes_add_u32(b, *(const cxi_field_dtype *)at);
    break;
  case CXI_FIELD_mode:
    cxi_bytes_add_u32(b, *(const cxi_field_mode *)at);
    break;
  case CXI_FIELD_name:
    cxi_bytes_add_text(b, cxi_name_text(*(const cxi_field_name *)at));
    break;
  case CXI_FIELD_program:
    add_program(b, *(const cxi_field_program *)at);
    break;
  case CXI_FIELD_ints: {
    const cxi_ints *list = at;
    cxi_bytes_add_u32(b, list->n);
    if (list->n) cxi_bytes_add(b, list->d, list->n * sizeof list->d[0]);
    break;
  }
  case CXI_FIELD_names:
  case CXI_FIELD_axis_names: {
    const cxi_names *list = at;
    cxi_bytes_add_u32(b, list->n);
    for (uint32_t i = 0; i < list->n; i++)
      cxi_bytes_add_text(b, cxi_name_text(list->d[i]));
    break;
  }
  case CXI_FIELD_programs: {
    const cxi_programs *list = at;
    cxi_bytes_add_u32(b, list->n);
    for (uint32_t i = 0; i < list->n; i++) add_program(b, list->d[i]);
    break;
  }
  }
}

void cxi_params_write(cxi_bytes *out, cxi_prim prim, const void *params) {
  const cxi_field *x = cxi_schema_of(prim)->fields;
  for (; x->name; x++) add_field(out, x->kind, cxi_field_at(params, x));
}

static void add_equation(cxi_bytes *b, const cxi_program *p,
                         const cxi_equation *e) {
  unsigned char *at = room(b, 12 + (size_t)e->n_in * 4);
  if (!at) return;
  at = put_u32(at, e->prim);
  at = put_u32(at, e->n_in);
  at = put_u32(at, e->n_out);
  const uint32_t *operands = cxi_operands_of(p, e);
  for (uint32_t i = 0; i < e->n_in; i++) at = put_u32(at, operands[i]);
  b->n = (uint32_t)(at - b->data);
  cxi_params_write(b, (cxi_prim)e->prim, e->params);
  for (uint32_t i = 0; i < e->n_out; i++)
    add_type(b, p->values[e->out + i].type);
}

static void add_structure(cxi_bytes *b, const cxi_program *p) {
  cxi_bytes_add_u32(b, p->n_in);
  cxi_bytes_add_u32(b, p->n_literals);
  cxi_bytes_add_u32(b, p->n_equations);
  cxi_bytes_add_u32(b, p->n_out);
  for (uint32_t i = 0; i < p->n_in + p->n_literals; i++)
    add_type(b, p->values[i].type);
  for (uint32_t i = 0; i < p->n_literals; i++)
    cxi_bytes_add_u64(b, p->literals[i]);
  for (uint32_t i = 0; i < p->n_equations; i++)
    add_equation(b, p, &p->equations[i]);
  for (uint32_t i = 0; i < p->n_out; i++) cxi_bytes_add_u32(b, p->outputs[i]);
}

static void add_identity(const cxi_program *sub, void *bytes) {
  cxi_bytes_add_u64(bytes, sub->identity.lo);
  cxi_bytes_add_u64(bytes, sub->identity.hi);
}

/* What identity has beyond the structure. */
static void add_origin(cxi_bytes *b, const cxi_program *p, cxi_hash hash) {
  cxi_bytes_add_u64(b, hash.lo);
  cxi_bytes_add_u64(b, hash.hi);
  cxi_bytes_add_u32(b, p->name);
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    unsigned char *at = room(b, 8);
    if (!at) return;
    put_u32(put_u32(at, e->site), e->scope);
    b->n += 8;
  }
  cxi_program_each_part(p, add_identity, b);
}

bool cxi_program_identify(const cxi_program *p, cxi_hash *out_hash,
                          cxi_hash *out_identity) {
  cxi_bytes b = { 0 };
  add_structure(&b, p);
  if (!b.failed) *out_hash = cxi_hash_bytes(b.data, b.n);
  b.n = 0;
  if (!b.failed) add_origin(&b, p, *out_hash);
  if (!b.failed) *out_identity = cxi_hash_bytes(b.data, b.n);
  const bool done = !b.failed; /* freeing clears it */
  cxi_bytes_free(&b);
  return done;
}

static bool equations_same(const cxi_equation *a, const cxi_equation *b) {
  return a->prim == b->prim && a->effects == b->effects && a->n_in == b->n_in &&
         a->n_out == b->n_out && a->in == b->in && a->out == b->out &&
         a->site == b->site && a->scope == b->scope &&
         cxi_params_equal((cxi_prim)a->prim, a->params, b->params);
}

static bool same_bytes(const void *a, const void *b, uint32_t n, size_t size) {
  return n == 0 || memcmp(a, b, n * size) == 0;
}

bool cxi_program_same(const cxi_program *a, const cxi_program *b) {
  if (!cxi_hash_equal(a->identity, b->identity) || a->name != b->name ||
      a->n_in != b->n_in || a->n_literals != b->n_literals ||
      a->n_values != b->n_values || a->n_equations != b->n_equations ||
      a->n_operands != b->n_operands || a->n_out != b->n_out)
    return false;
  if (!same_bytes(a->values, b->values, a->n_values, sizeof *a->values) ||
      !same_bytes(a->literals, b->literals, a->n_literals,
                  sizeof *a->literals) ||
      !same_bytes(a->operands, b->operands, a->n_operands,
                  sizeof *a->operands) ||
      !same_bytes(a->outputs, b->outputs, a->n_out, sizeof *a->outputs))
    return false;
  for (uint32_t i = 0; i < a->n_equations; i++)
    if (!equations_same(&a->equations[i], &b->equations[i])) return false;
  return true;
}
