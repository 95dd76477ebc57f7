/* shrink.c - a failing program made small. */
#include "support/shrink.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "ops/lax.h"
#include "support/batching.h"

/* -- a program written again with one change ------------------------------ */

typedef enum kind {
  AN_INPUT,   /* the results become inputs */
  ZEROS,      /* the results become zeros */
  AN_OPERAND, /* the first result becomes an operand of its type */
  ITS_BODY,   /* the equations of its body instead */
  A_PART,     /* a sub-program becomes another one */
  PLAIN,      /* loops forward, not unrolled */
  N_CHANGES
} kind;

typedef struct edit {
  kind change;
  uint32_t at;             /* the equation; beyond the last: no change */
  uint32_t part;           /* A_PART: which sub-program of it */
  const cxi_program *with; /* A_PART: what comes in its place */
  const bool *keep_in, *keep_out;
} edit;

/* Which sub-program of the parameters, counted over their fields. */
static const cxi_program *const *part_of(cxi_prim prim, const void *params,
                                         uint32_t which) {
  const cxi_field *f = cxi_schema_of(prim)->fields;
  for (; params && f->name; f++) {
    if (f->kind == CXI_FIELD_program) {
      const cxi_program *const *p = cxi_field_at(params, f);
      if (*p && which-- == 0) return p;
    } else if (f->kind == CXI_FIELD_programs) {
      const cxi_programs *list = cxi_field_at(params, f);
      if (which < list->n) return &list->d[which];
      which -= list->n;
    }
  }
  return NULL;
}

static bool with_part(const cxi_equation *e, const edit *x, cxi_arena *arena,
                      const void **out) {
  void *params = cxi_params_copy((cxi_prim)e->prim, e->params, arena);
  const cxi_program *const *at =
      params ? part_of((cxi_prim)e->prim, params, x->part) : NULL;
  if (!at) return false;
  memcpy((void *)(uintptr_t)at, &x->with, sizeof x->with);
  if (e->prim == CXI_PRIM_custom_vmap) {
    cxi_custom_vmap_params *vmap = params;
    vmap->rule = batching_renumber(vmap->rule, x->with);
  }
  *out = params;
  return true;
}

static bool plain(const cxi_equation *e, cxi_arena *arena, const void **out) {
  if (e->prim != CXI_PRIM_scan) return false;
  cxi_scan_params *params = cxi_params_copy(CXI_PRIM_scan, e->params, arena);
  if (!params || (params->unroll == 1 && !params->reverse)) return false;
  params->unroll = 1;
  params->reverse = false;
  *out = params;
  return true;
}

typedef struct rewriting {
  const cxi_program *p;
  const edit *x;
  cxi_builder builder;
  cxi_arena arena;
  cx *values, *in;
  uint32_t n_in;
} rewriting;

static bool change_equation(rewriting *r, const cxi_equation *e,
                            const cx *operands) {
  const cxi_value *results = &r->p->values[e->out];
  cx *out = &r->values[e->out];
  const void *params = e->params;
  switch (r->x->change) {
  case AN_INPUT:
    for (uint32_t i = 0; i < e->n_out; i++)
      out[i] = r->in[r->n_in++] =
          cxi_builder_input(&r->builder, results[i].type);
    return true;
  case ZEROS:
    for (uint32_t i = 0; i < e->n_out; i++) out[i] = cxi_zeros(results[i].type);
    return e->n_in > 0;
  case AN_OPERAND:
    for (uint32_t i = 0; i < e->n_in; i++)
      if (e->n_out == 1 && cxi_type_at(operands[i]) == results[0].type) {
        out[0] = operands[i];
        return true;
      }
    return false;
  case ITS_BODY: {
    const cxi_program *body = cxi_params_body((cxi_prim)e->prim, e->params);
    return body && cxi_replay(body, operands, out);
  }
  case A_PART:
    if (!with_part(e, r->x, &r->arena, &params)) return false;
    break;
  default:
    if (!plain(e, &r->arena, &params)) return false;
  }
  return cxi_emit((cxi_prim)e->prim, params, e->n_in, operands, e->n_out, out);
}

static bool rewrite_equations(rewriting *r) {
  const cxi_program *p = r->p;
  cx operands[256];
  for (uint32_t i = 0; i < p->n_equations; i++) {
    const cxi_equation *e = &p->equations[i];
    if (e->n_in > 256) return false;
    for (uint32_t k = 0; k < e->n_in; k++)
      operands[k] = r->values[cxi_operands_of(p, e)[k]];
    if (i == r->x->at ? !change_equation(r, e, operands)
                      : !cxi_emit((cxi_prim)e->prim, e->params, e->n_in,
                                  operands, e->n_out, &r->values[e->out]))
      return false;
  }
  return true;
}

/* NULL: the change is not possible. */
static const cxi_program *rewrite(const cxi_program *p, const edit *x) {
  rewriting r = { .p = p, .x = x };
  cxi_error error = { 0 };
  cx *out = calloc(p->n_out + (size_t)1, sizeof *out);
  uint32_t n_out = 0;
  r.values = calloc(p->n_values + (size_t)1, sizeof *r.values);
  r.in = calloc(p->n_values + (size_t)1, sizeof *r.in);
  cxi_builder_open(&r.builder);
  for (uint32_t i = 0; i < p->n_in; i++)
    if (!x->keep_in || x->keep_in[i])
      r.values[i] = r.in[r.n_in++] =
          cxi_builder_input(&r.builder, p->values[i].type);
  for (uint32_t i = 0; i < p->n_literals; i++)
    r.values[p->n_in + i] = cxi_literal_bits(
        cxi_type_dtype(p->values[p->n_in + i].type), p->literals[i]);
  const bool done = rewrite_equations(&r);
  for (uint32_t j = 0; j < p->n_out; j++)
    if (!x->keep_out || x->keep_out[j]) out[n_out++] = r.values[p->outputs[j]];
  const cxi_program *q = NULL;
  if (done)
    q = cxi_builder_finish(&r.builder, p->name, r.n_in, r.in, n_out, out,
                           &error);
  else
    cxi_builder_abandon(&r.builder);
  cxi_arena_free(&r.arena);
  free(out);
  free(r.values);
  free(r.in);
  return q;
}

/* -- one round of changes ------------------------------------------------- */

typedef struct shrinking {
  shrink_test *fails;
  void *user;
  bool progress;
} shrinking;

/* q, which is consumed, instead of *p if it fails too. */
static bool try_it(shrinking *s, const cxi_program **p, const cxi_program *q) {
  if (!q) return false;
  if (q == *p || !s->fails(q, s->user)) {
    cxi_program_release(q);
    return false;
  }
  cxi_program_release(*p);
  *p = q;
  s->progress = true;
  return true;
}

static void drop_outputs(shrinking *s, const cxi_program **p) {
  for (uint32_t j = (*p)->n_out; j-- > 0 && (*p)->n_out > 1;) {
    bool *keep = calloc((*p)->n_out, sizeof *keep);
    for (uint32_t i = 0; i < (*p)->n_out; i++) keep[i] = i != j;
    const edit x = { .at = UINT32_MAX, .keep_out = keep };
    try_it(s, p, rewrite(*p, &x));
    free(keep);
  }
}

static void drop_inputs(shrinking *s, const cxi_program **p) {
  bool *keep = calloc((*p)->n_in + (size_t)1, sizeof *keep);
  for (uint32_t k = 0; k < (*p)->n_operands; k++)
    if ((*p)->operands[k] < (*p)->n_in) keep[(*p)->operands[k]] = true;
  for (uint32_t j = 0; j < (*p)->n_out; j++)
    if ((*p)->outputs[j] < (*p)->n_in) keep[(*p)->outputs[j]] = true;
  const edit x = { .at = UINT32_MAX, .keep_in = keep };
  try_it(s, p, rewrite(*p, &x));
  free(keep);
}

/* A sub-program, whose inputs and outputs stay, and the way to it. */
typedef struct nesting {
  shrink_test *fails;
  void *user;
  const cxi_program *outer;
  uint32_t at, part;
} nesting;

static bool fails_inside(const cxi_program *q, void *user) {
  const nesting *n = user;
  const edit x = { .change = A_PART, .at = n->at, .part = n->part, .with = q };
  const cxi_program *whole = rewrite(n->outer, &x);
  const bool fails = whole && n->fails(whole, n->user);
  cxi_program_release(whole);
  return fails;
}

static void change_equations(shrinking *s, const cxi_program **p, bool inside);

static void change_parts(shrinking *s, const cxi_program **p, uint32_t at) {
  /* one of its programs is the derivative of the other */
  if ((*p)->equations[at].prim == CXI_PRIM_custom_vmap_derivative) return;
  for (uint32_t part = 0;; part++) {
    const cxi_equation *e = &(*p)->equations[at];
    const cxi_program *const *is = part_of((cxi_prim)e->prim, e->params, part);
    if (!is) return;
    nesting n = { s->fails, s->user, *p, at, part };
    shrinking deeper = { fails_inside, &n, false };
    const cxi_program *q = cxi_program_retain(*is);
    change_equations(&deeper, &q, true);
    const edit x = { .change = A_PART, .at = at, .part = part, .with = q };
    if (deeper.progress) try_it(s, p, rewrite(*p, &x));
    cxi_program_release(q);
    if (at >= (*p)->n_equations) return;
  }
}

/* The last equation first: what it alone needed falls away with it. */
static void change_equations(shrinking *s, const cxi_program **p, bool inside) {
  for (uint32_t i = (*p)->n_equations; i-- > 0;) {
    for (int k = AN_INPUT; k < N_CHANGES; k++) {
      if (i >= (*p)->n_equations) break;
      if (k == A_PART) {
        change_parts(s, p, i);
      } else if (k != AN_INPUT || !inside) {
        const edit x = { .change = (kind)k, .at = i };
        if (try_it(s, p, rewrite(*p, &x))) break;
      }
    }
  }
}

/* -- sizes: by text ------------------------------------------------------- */

/* Whether a size or a place among sizes begins here. */
static bool is_size(const char *text, const char *at) {
  if (at == text || !strchr("[(,=", at[-1])) return false;
  while (isdigit((unsigned char)*at)) at++;
  return strchr("]),", *at) != NULL;
}

/* The text with `from` become `to` wherever it is a size. */
static char *with_size(const char *text, long from, long to) {
  char *out = malloc(strlen(text) + 1), *end = out;
  for (const char *at = text; *at;) {
    if (!isdigit((unsigned char)*at) || !is_size(text, at)) {
      *end++ = *at++;
      continue;
    }
    char *after;
    const long is = strtol(at, &after, 10);
    if (is == from) {
      end += sprintf(end, "%ld", to);
    } else {
      memcpy(end, at, (size_t)(after - at));
      end += after - at;
    }
    at = after;
  }
  *end = 0;
  return out;
}

static void change_size(shrinking *s, const cxi_program **p, long from,
                        long to) {
  cxi_error error = { 0 };
  char *text = cxi_program_print(*p, (cxi_text_options){ 0 });
  char *other = with_size(text, from, to);
  if (strcmp(text, other) != 0)
    try_it(s, p, cxi_program_parse(other, strlen(other), &error));
  free(other);
  cxi_free(text);
}

static void change_sizes(shrinking *s, const cxi_program **p) {
  static const long from[] = { 1030, 513, 130, 70, 64, 17, 7, 6, 5, 4, 3, 2 };
  for (size_t i = 0; i < sizeof from / sizeof *from; i++)
    for (long to = 1; to <= 3; to++)
      if (to < from[i]) change_size(s, p, from[i], to);
}

const cxi_program *shrink(const cxi_program *p, shrink_test *fails,
                          void *user) {
  shrinking s = { fails, user, true };
  cxi_program_retain(p);
  for (int round = 0; s.progress && round < 8; round++) {
    s.progress = false;
    drop_outputs(&s, &p);
    change_equations(&s, &p, false);
    drop_inputs(&s, &p);
    change_sizes(&s, &p);
  }
  return p;
}
