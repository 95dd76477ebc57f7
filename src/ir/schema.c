/* schema.c - the tables made from primitives.def; parameters by field. */
#include <string.h>

#include "base/alloc.h"
#include "ir/program.h"
#include "ir/row.h"

#define PRIMITIVE(n) static const cxi_field n##_fields[] = {
#define FIELD(n, kind, field) \
  { #field, CXI_FIELD_##kind, offsetof(cxi_##n##_params, field) },
#define END(n)                   \
  { NULL, (cxi_field_kind)0, 0 } \
  }                              \
  ;
#include "ir/primitives.def"
#undef PRIMITIVE
#undef FIELD
#undef END

static const cxi_schema schemas[CXI_N_PRIMS] = {
  [CXI_PRIM_NONE] = { "none", 1,
                      &(const cxi_field){ NULL, (cxi_field_kind)0, 0 }, 0 },
/* clang-format off */
#define PRIMITIVE(n)                                                  \
  [CXI_PRIM_##n] = { #n, sizeof(cxi_##n##_params), n##_fields, (0u
#define FIELD(n, kind, field) | 1u << CXI_FIELD_##kind
#define END(n) ) },
/* clang-format on */
#include "ir/primitives.def"
#undef PRIMITIVE
#undef FIELD
#undef END
};

const cxi_schema *cxi_schema_of(cxi_prim prim) {
  return &schemas[(unsigned)prim < CXI_N_PRIMS ? prim : CXI_PRIM_NONE];
}

cxi_prim cxi_prim_find(const char *name, size_t length) {
  for (int i = CXI_PRIM_NONE + 1; i < CXI_N_PRIMS; i++)
    if (strncmp(schemas[i].name, name, length) == 0 && !schemas[i].name[length])
      return (cxi_prim)i;
  return CXI_PRIM_NONE;
}

static const char *const mode_names[] = { "default", "clip", "drop", "fill",
                                          "in_bounds" };

const char *cxi_mode_name(cx_mode mode) {
  return (unsigned)mode <= CX_IN_BOUNDS ? mode_names[mode] : "?";
}

bool cxi_mode_find(const char *name, size_t length, cx_mode *out) {
  for (int i = CX_DEFAULT; i <= CX_IN_BOUNDS; i++)
    if (strncmp(mode_names[i], name, length) == 0 && !mode_names[i][length]) {
      *out = (cx_mode)i;
      return true;
    }
  return false;
}

void cxi_params_each_program(cxi_prim prim, const void *params,
                             void (*f)(const cxi_program *, void *),
                             void *user) {
  const cxi_schema *schema = cxi_schema_of(prim);
  if (!cxi_schema_has_programs(schema)) return;
  for (const cxi_field *x = schema->fields; x->name; x++) {
    if (x->kind == CXI_FIELD_program) {
      const cxi_field_program *p = cxi_field_at(params, x);
      if (*p) f(*p, user);
    } else if (x->kind == CXI_FIELD_programs) {
      const cxi_programs *list = cxi_field_at(params, x);
      for (uint32_t i = 0; i < list->n; i++) f(list->d[i], user);
    }
  }
}

void cxi_program_each_part(const cxi_program *p,
                           void (*f)(const cxi_program *, void *), void *user) {
  if (!p->has_parts) return;
  for (uint32_t i = 0; i < p->n_equations; i++)
    cxi_params_each_program((cxi_prim)p->equations[i].prim,
                            p->equations[i].params, f, user);
}

bool cxi_names_have(const cxi_names *list, cxi_name name) {
  uint32_t i = 0;
  while (i < list->n && list->d[i] != name) i++;
  return i < list->n;
}

typedef struct each_axis {
  void (*f)(cxi_name, void *);
  void *user;
} each_axis;

static void axes_of_part(const cxi_program *p, void *user) {
  const each_axis *each = user;
  for (uint32_t i = 0; i < p->axes.n; i++) each->f(p->axes.d[i], each->user);
}

void cxi_params_each_axis(cxi_prim prim, const void *params,
                          void (*f)(cxi_name, void *), void *user) {
  const cxi_schema *schema = cxi_schema_of(prim);
  each_axis each = { f, user };
  if (schema->kinds < 1u << CXI_FIELD_axis_names) return;
  for (const cxi_field *x = schema->fields; x->name; x++) {
    if (x->kind != CXI_FIELD_axis_names) continue;
    const cxi_names *list = cxi_field_at(params, x);
    for (uint32_t i = 0; i < list->n; i++) f(list->d[i], user);
  }
  cxi_params_each_program(prim, params, axes_of_part, &each);
}

/* Replaces the list at *list (n items, then a pointer to them) by a copy. */
static bool copy_items(cxi_arena *arena, const void **items, uint32_t n,
                       size_t size) {
  if (n == 0) {
    *items = NULL;
    return true;
  }
  *items = cxi_arena_copy(arena, *items, n * size);
  return *items != NULL;
}

static bool copy_list(cxi_arena *arena, const cxi_field *field, void *params) {
  void *at = (char *)params + field->offset;
  const void *items = NULL;
  bool ok = true;
  if (field->kind == CXI_FIELD_ints) {
    cxi_ints *list = at;
    items = list->d;
    ok = copy_items(arena, &items, list->n, sizeof list->d[0]);
    list->d = items;
  } else if (field->kind == CXI_FIELD_names ||
             field->kind == CXI_FIELD_axis_names) {
    cxi_names *list = at;
    items = list->d;
    ok = copy_items(arena, &items, list->n, sizeof list->d[0]);
    list->d = items;
  } else if (field->kind == CXI_FIELD_programs) {
    cxi_programs *list = at;
    items = list->d;
    ok = copy_items(arena, &items, list->n, sizeof list->d[0]);
    list->d = items;
  }
  return ok;
}

void *cxi_params_copy(cxi_prim prim, const void *params, cxi_arena *arena) {
  const cxi_schema *schema = cxi_schema_of(prim);
  void *copy = cxi_arena_copy(arena, params, schema->size);
  if (!copy) return NULL;
  for (const cxi_field *x = schema->fields; x->name; x++)
    if (!copy_list(arena, x, copy)) return NULL;
  return copy;
}

static bool items_equal(const void *a, const void *b, uint32_t n, size_t size) {
  return n == 0 || memcmp(a, b, n * size) == 0;
}

/* Numbers compare by bits, so that a NaN equals itself and -0 is not 0. */
static bool field_equal(cxi_field_kind kind, const void *a, const void *b) {
  switch (kind) {
  case CXI_FIELD_int:
    return memcmp(a, b, sizeof(cxi_field_int)) == 0;
  case CXI_FIELD_bool:
    return *(const cxi_field_bool *)a == *(const cxi_field_bool *)b;
  case CXI_FIELD_real:
    return memcmp(a, b, sizeof(cxi_field_real)) == 0;
  case CXI_FIELD_dims:
    return cxi_dims_equal(a, b);
  case CXI_FIELD_dtype:
    return memcmp(a, b, sizeof(cxi_field_dtype)) == 0;
  case CXI_FIELD_name:
    return memcmp(a, b, sizeof(cxi_field_name)) == 0;
  case CXI_FIELD_mode:
    return memcmp(a, b, sizeof(cxi_field_mode)) == 0;
  case CXI_FIELD_program:
    return memcmp(a, b, sizeof(cxi_field_program)) == 0;
  case CXI_FIELD_ints: {
    const cxi_ints *x = a, *y = b;
    return x->n == y->n && items_equal(x->d, y->d, x->n, sizeof x->d[0]);
  }
  case CXI_FIELD_names:
  case CXI_FIELD_axis_names: {
    const cxi_names *x = a, *y = b;
    return x->n == y->n && items_equal(x->d, y->d, x->n, sizeof x->d[0]);
  }
  case CXI_FIELD_programs: {
    const cxi_programs *x = a, *y = b;
    return x->n == y->n && items_equal(x->d, y->d, x->n, sizeof x->d[0]);
  }
  }
  return false;
}

bool cxi_params_equal(cxi_prim prim, const void *a, const void *b) {
  if (a == b) return true;
  for (const cxi_field *x = cxi_schema_of(prim)->fields; x->name; x++)
    if (!field_equal(x->kind, cxi_field_at(a, x), cxi_field_at(b, x)))
      return false;
  return true;
}

static bool dims_valid(const cx_dims *dims) {
  return dims->n >= 0 && dims->n <= CX_MAX_DIMS;
}

static bool programs_valid(const cxi_programs *list) {
  for (uint32_t i = 0; i < list->n; i++)
    if (!list->d[i]) return false;
  return true;
}

bool cxi_params_valid(cxi_prim prim, const void *params, cxi_error *error) {
  for (const cxi_field *x = cxi_schema_of(prim)->fields; x->name; x++) {
    const void *at = cxi_field_at(params, x);
    if (x->kind == CXI_FIELD_dims && !dims_valid(at))
      return cxi_error_set(error, CX_ESHAPE,
                           "%s is not a list of 0 to %d items", x->name,
                           CX_MAX_DIMS);
    if (x->kind == CXI_FIELD_dtype &&
        !cxi_dtype_valid((int)*(const cxi_field_dtype *)at))
      return cxi_error_set(error, CX_EDTYPE, "%s is not a dtype", x->name);
    if (x->kind == CXI_FIELD_mode &&
        (unsigned)*(const cxi_field_mode *)at > CX_IN_BOUNDS)
      return cxi_error_set(error, CX_EINDEX, "%s is not a mode", x->name);
    if (x->kind == CXI_FIELD_programs && !programs_valid(at))
      return cxi_error_set(error, CX_ETRACE, "%s lacks a program", x->name);
  }
  return true;
}

const cxi_program *cxi_params_body(cxi_prim prim, const void *params) {
  switch (prim) {
  case CXI_PRIM_jit:
    return ((const cxi_jit_params *)params)->body;
  case CXI_PRIM_composite:
    return ((const cxi_composite_params *)params)->body;
  case CXI_PRIM_checkpoint:
    return ((const cxi_checkpoint_params *)params)->body;
  case CXI_PRIM_custom_jvp:
    return ((const cxi_custom_jvp_params *)params)->body;
  case CXI_PRIM_custom_vjp:
    return ((const cxi_custom_vjp_params *)params)->body;
  case CXI_PRIM_custom_vmap:
    return ((const cxi_custom_vmap_params *)params)->body;
  case CXI_PRIM_custom_vmap_derivative:
    return ((const cxi_custom_vmap_derivative_params *)params)->body;
  case CXI_PRIM_linear_solve:
    return ((const cxi_linear_solve_params *)params)->solve;
  case CXI_PRIM_root:
    return ((const cxi_root_params *)params)->solve;
  default:
    return NULL;
  }
}
