/* handle.c - slots, scopes, kept values: what handles are looked up in. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/ops.h"
#include "trace/context.h"
#include "trace/function.h"
#include "trace/tracer.h"

/* -- scopes --------------------------------------------------------------- */

uint32_t cxi_scope_push(cx_ctx *ctx, cxi_scope_kind kind, const char *name) {
  if (!cxi_grow(&ctx->scopes, &ctx->cap_scopes, ctx->n_scopes + 1u,
                sizeof *ctx->scopes))
    return 0;
  const uint32_t serial = cxi_serial_next();
  ctx->scopes[ctx->n_scopes++] = (cxi_scope_entry){
    .serial = serial, .first = ctx->n_slots, .kind = kind, .name = name
  };
  return serial;
}

void cxi_ended_add(cx_ctx *ctx, uint32_t serial, cxi_scope_kind kind,
                   const char *name) {
  ctx->ended[ctx->n_ended++ % CXI_ENDED] = (cxi_ended){ serial, kind, name };
}

static void kept_free(cx_ctx *ctx, uint32_t i) {
  cxi_kept *k = &ctx->kept[i];
  cxi_ended_add(ctx, k->serial, CXI_SCOPE_KEPT, NULL);
  const cxi_item item = k->item;
  *k = (cxi_kept){ .next = ctx->free_kept };
  ctx->free_kept = i + 1;
  cxi_item_release(item);
}

/* Releasing may call a user's release function, which may use the library:
 * the scope is off the stack before. */
static void pop_top(cx_ctx *ctx) {
  cxi_scope_entry s = ctx->scopes[--ctx->n_scopes];
  cxi_ended_add(ctx, s.serial, s.kind, s.name);
  cxi_functions_release(s.functions);
  while (ctx->n_slots > s.first) {
    const cxi_item item = ctx->slots[--ctx->n_slots].item;
    ctx->slots[ctx->n_slots].serial = 0;
    cxi_item_release(item);
  }
  for (uint32_t at = s.escaped; at;) {
    const uint32_t next = ctx->kept[at - 1].next;
    kept_free(ctx, at - 1);
    at = next;
  }
  cxi_arena_free(&s.strings);
}

void cxi_scope_pop(cx_ctx *ctx, uint32_t serial) {
  uint32_t i = ctx->n_scopes;
  while (i > 0 && ctx->scopes[i - 1].serial != serial) i--;
  if (i == 0) return;
  while (ctx->n_scopes >= i) pop_top(ctx);
}

/* Inside a trace, the trace owns all handles. */
cx_scope cx_scope_push_(void) {
  cx_ctx *ctx = cxi_context_now();
  if (!ctx || ctx->trace) return (cx_scope){ 0 };
  const uint32_t serial = cxi_scope_push(ctx, CXI_SCOPE_BLOCK, NULL);
  if (!serial) cxi_report_memory();
  return (cx_scope){ serial };
}

void cx_scope_pop_(cx_scope *scope) {
  cx_ctx *ctx = cxi_context_now();
  if (!scope || !scope->id) return;
  if (!ctx || ctx->n_scopes == 0 ||
      ctx->scopes[ctx->n_scopes - 1].serial != scope->id)
    ctx = cxi_context_of_scope(scope->id);
  if (ctx) cxi_scope_pop(ctx, scope->id);
}

const char *cxi_string_or_null(const char *text) {
  cx_ctx *ctx = cxi_context_now();
  if (!ctx) return "";
  cxi_scope_entry *s = &ctx->scopes[ctx->n_scopes - 1];
  const char *copy = cxi_arena_copy(&s->strings, text, strlen(text) + 1);
  if (!copy) cxi_report_memory();
  return copy;
}

const char *cxi_string(const char *text) {
  const char *copy = cxi_string_or_null(text);
  return copy ? copy : "";
}

/* -- making handles ------------------------------------------------------- */

static cx slot_push(cx_ctx *ctx, cxi_item item) {
  if (ctx->n_slots == ctx->cap_slots &&
      (ctx->n_slots >= CXI_KEPT_FIRST ||
       !cxi_grow(&ctx->slots, &ctx->cap_slots, ctx->n_slots + 1u,
                 sizeof *ctx->slots))) {
    cxi_item_release(item);
    return cxi_report_memory();
  }
  const uint32_t serial = ctx->scopes[ctx->n_scopes - 1].serial;
  ctx->slots[ctx->n_slots++] = (cxi_slot){ item, serial };
  return (cx){ ctx->n_slots, serial };
}

cx cxi_handle(cxi_item item) {
  cx_ctx *ctx = cxi_context_now();
  switch (item.kind) {
  case CXI_ITEM_NOTHING:
    return (cx){ 0, 0 };
  case CXI_ITEM_POISON:
  case CXI_ITEM_TRACER:
    return item.as.handle;
  case CXI_ITEM_NONE:
    return cx_none();
  case CXI_ITEM_NUMBER:
    if (item.weak)
      return cxi_number_weak(cxi_type_dtype(item.type), item.as.bits);
    if (ctx && ctx->trace)
      return cxi_literal_bits(cxi_type_dtype(item.type), item.as.bits);
    break;
  default:
    break;
  }
  if (ctx) return slot_push(ctx, item);
  cxi_item_release(item);
  cxi_context_need();
  return (cx){ 0, 1 };
}

/* -- looking handles up --------------------------------------------------- */

/* The place that holds what a handle of a slot or a kept value stands for. */
static cxi_item *place_of(const cx_ctx *ctx, cx a) {
  const uint32_t i = a.index - 1, k = i - CXI_KEPT_FIRST;
  if (i < ctx->n_slots && ctx->slots[i].serial == a.generation)
    return &ctx->slots[i].item;
  if (k < ctx->n_kept && ctx->kept[k].serial == a.generation)
    return &ctx->kept[k].item;
  return NULL;
}

/* Unfinished trees are only in places, and finished when looked at. */
static bool finish_place(cxi_item *place) {
  if (place->kind != CXI_ITEM_TREE || !place->as.tree->base) return true;
  cxi_tree *merged = cxi_tree_merge(place->as.tree);
  if (!merged) return false;
  cxi_tree_release(place->as.tree);
  place->as.tree = merged;
  return true;
}

static bool find(const cx_ctx *ctx, cx a, cxi_item *out) {
  cxi_item *place = place_of(ctx, a);
  if (!place) return cxi_trace_find(ctx->trace, a, out);
  if (finish_place(place)) {
    *out = *place;
  } else {
    out->kind = CXI_ITEM_POISON;
    out->as.handle = cxi_report_memory();
  }
  return true;
}

cxi_item cxi_item_unfinished(cx a) {
  const cx_ctx *ctx = cxi_context_now();
  const cxi_item *place = ctx ? place_of(ctx, a) : NULL;
  return place ? *place : cxi_item_of(a);
}

cxi_item cxi_item_peek(cx a) {
  const cx_ctx *ctx = cxi_context_now();
  cxi_item item = { .kind = CXI_ITEM_NOTHING };
  if (a.index == 0) {
    item.kind = a.generation ? CXI_ITEM_POISON : CXI_ITEM_NOTHING;
    item.as.handle = a;
  } else if (a.index == UINT32_MAX) {
    item.kind = CXI_ITEM_NONE;
  } else if (cxi_is_number(a)) {
    item = cxi_number_item(a);
  } else if (ctx && !find(ctx, a, &item)) {
    item.kind = CXI_ITEM_NOTHING;
  }
  return item;
}

/* Why a handle is not valid. */
static cx report_invalid(const cx_ctx *ctx, const char *what, cx a) {
  const char *colon = what ? ": " : "";
  if (!what) what = "";
  const uint32_t n = ctx->n_ended < CXI_ENDED ? ctx->n_ended : CXI_ENDED;
  for (uint32_t i = 0; i < n; i++) {
    const cxi_ended *e = &ctx->ended[i];
    if (e->serial != a.generation) continue;
    if (e->kind == CXI_SCOPE_TRACE)
      return cxi_reportf(CX_ELIFETIME, "%s%sthis handle's trace (%s) has ended",
                         what, colon, e->name ? e->name : "?");
    return cxi_reportf(CX_ELIFETIME, "%s%sthis handle%s", what, colon,
                       e->kind == CXI_SCOPE_KEPT ? " has been dropped"
                                                 : "'s scope has ended");
  }
  if (cxi_context_elsewhere(a.generation))
    return cxi_reportf(CX_ELIFETIME,
                       "%s%sthis handle belongs to another context", what,
                       colon);
  return cxi_reportf(CX_ELIFETIME,
                     "%s%sthis handle is not valid here: it ended long ago or"
                     " belongs to another context",
                     what, colon);
}

cxi_item cxi_item_of(cx a) {
  return cxi_item_for(NULL, a);
}

cxi_item cxi_item_for(const char *what, cx a) {
  cxi_item item = cxi_item_peek(a);
  if (item.kind != CXI_ITEM_NOTHING || a.index == 0) return item;
  const cx_ctx *ctx = cxi_context_need();
  item.kind = CXI_ITEM_POISON;
  item.as.handle = ctx ? report_invalid(ctx, what, a) : (cx){ 0, 1 };
  return item;
}

cx cxi_report_tree(const char *what, cxi_item tree) {
  char text[200];
  cxi_sig_print(text, sizeof text, cxi_sig_of(tree));
  return cxi_reportf(CX_ETREE, "%s%san array is needed, this is a tree: %s",
                     what ? what : "", what ? ": " : "", text);
}

bool cxi_array_alive(const cxi_array *a) {
  return a->donated_at == 0;
}

cx cxi_report_donated(const char *what, const cxi_array *a) {
  char type[128];
  cxi_aval_print(type, sizeof type, cxi_type_aval(a->type));
  return cxi_reportf(
      CX_ELIFETIME, "%s%sthis array (%s) was donated to %s at %s",
      what ? what : "", what ? ": " : "", type, cxi_name_text(a->donated_to),
      cxi_name_text(a->donated_at));
}

/* -- lifetimes ------------------------------------------------------------ */

static uint32_t kept_make(cx_ctx *ctx, cxi_item item) {
  uint32_t i;
  if (ctx->free_kept) {
    i = ctx->free_kept - 1;
    ctx->free_kept = ctx->kept[i].next;
  } else {
    if (!cxi_grow(&ctx->kept, &ctx->cap_kept, ctx->n_kept + 1u,
                  sizeof *ctx->kept))
      return UINT32_MAX;
    i = ctx->n_kept++;
  }
  ctx->kept[i] = (cxi_kept){ cxi_item_retain(item), cxi_serial_next(), 0 };
  return i;
}

static cx kept_handle(const cx_ctx *ctx, uint32_t i) {
  return (cx){ i + 1 + CXI_KEPT_FIRST, ctx->kept[i].serial };
}

/* A value that a kept entry may hold. */
static bool keepable(const char *what, cx a, cxi_item *out, cx *out_result) {
  *out = cxi_item_for(what, a);
  *out_result = a;
  if (out->kind == CXI_ITEM_POISON) *out_result = out->as.handle;
  if (out->kind < CXI_ITEM_NUMBER) return false;
  cx_ctx *ctx = cxi_context_need();
  if (!ctx) *out_result = cxi_poison_last();
  if (!ctx) return false;
  if (out->kind == CXI_ITEM_TRACER || ctx->trace) {
    *out_result =
        cxi_reportf(CX_ETRACE, "%s: not inside a traced function", what);
    return false;
  }
  return true;
}

cx cx_keep_(cx a, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cxi_item item;
  cx result;
  if (!keepable("keep", a, &item, &result)) return result;
  cx_ctx *ctx = cxi_context_now();
  const uint32_t i = kept_make(ctx, cxi_number_strong(item));
  return i == UINT32_MAX ? cxi_report_memory() : kept_handle(ctx, i);
}

void cx_drop_(cx a, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cx_ctx *ctx = cxi_context_now();
  const uint32_t k = a.index - 1 - CXI_KEPT_FIRST;
  if (a.index == 0 || cx_is_none(a) || cxi_is_number(a)) return;
  if (ctx && k < ctx->n_kept && ctx->kept[k].serial == a.generation)
    kept_free(ctx, k);
  else if (cxi_item_for("drop", a).kind != CXI_ITEM_POISON)
    cxi_report(CX_ELIFETIME, "drop: this handle was not kept");
}

/* The outermost scope keeps what escapes from it. */
cx cx_escape_(cx a, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  cxi_item item;
  cx result;
  if (cxi_context_now() && cxi_context_now()->trace) return a;
  if (!keepable("escape", a, &item, &result)) return result;
  cx_ctx *ctx = cxi_context_now();
  if (ctx->n_scopes < 2) return a;
  const uint32_t i = kept_make(ctx, cxi_number_strong(item));
  if (i == UINT32_MAX) return cxi_report_memory();
  cxi_scope_entry *outer = &ctx->scopes[ctx->n_scopes - 2];
  ctx->kept[i].next = outer->escaped;
  outer->escaped = i + 1;
  return kept_handle(ctx, i);
}

void cx_swap_(cx *slot, cx a, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  if (!slot) {
    cxi_report(CX_EUSER, "swap: no place");
    return;
  }
  const cx kept = cx_keep_(a, NULL);
  if (cxi_is_poison(kept)) return;
  cx_drop_(*slot, NULL);
  *slot = kept;
}
