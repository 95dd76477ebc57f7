/* context.c - contexts: made, entered, left, closed. */
#include "trace/context.h"

#include <pthread.h>

#include "base/alloc.h"
#include "ops/ops.h"
#include "trace/device.h"
#include "trace/function.h"
#include "trace/tracer.h"

_Thread_local cx_ctx *cxi_context_current
    __attribute__((tls_model("initial-exec")));
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cx_ctx *all;

cx_ctx *cxi_context_need(void) {
  if (!cxi_context_current)
    cxi_report(CX_ELIFETIME, "no context is open in this thread: cx_open");
  return cxi_context_current;
}

bool cxi_context_last(void) {
  pthread_mutex_lock(&lock);
  const bool last = !all;
  pthread_mutex_unlock(&lock);
  return last;
}

cx_ctx *cxi_context_make(const cxi_device *device, cx_open_opt opt) {
  cx_ctx *ctx = cxi_alloc_zeroed(1, sizeof *ctx);
  if (!ctx) return NULL;
  ctx->account = cxi_account_open(opt.memory_limit);
  cxi_eager_emitter(&ctx->eager);
  ctx->device = device;
  ctx->threads = opt.threads;
  ctx->memory_limit = opt.memory_limit;
  ctx->on_error = opt.on_error;
  ctx->user = opt.user;
  if (!ctx->account || !cxi_scope_push(ctx, CXI_SCOPE_ROOT, NULL)) {
    cxi_account_close(ctx->account);
    cxi_free(ctx->scopes);
    cxi_free(ctx);
    return NULL;
  }
  pthread_mutex_lock(&lock);
  ctx->next = all;
  all = ctx;
  pthread_mutex_unlock(&lock);
  return ctx;
}

cx_ctx *cx_use(cx_ctx *ctx) {
  cx_ctx *before = cxi_context_current;
  cxi_context_current = ctx;
  if (ctx && !(ctx->entered && pthread_equal(ctx->thread, pthread_self()))) {
    pthread_mutex_lock(&lock);
    ctx->thread = pthread_self();
    ctx->entered = true;
    pthread_mutex_unlock(&lock);
  }
  cxi_emitter_use(ctx ? ctx->trace ? &ctx->trace->emitter : &ctx->eager : NULL);
  cxi_promotion_use(ctx ? ctx->promotion : CX_PROMOTE_STRICT);
  return before;
}

static void unlink_context(cx_ctx *ctx) {
  pthread_mutex_lock(&lock);
  for (cx_ctx **at = &all; *at; at = &(*at)->next) {
    if (*at != ctx) continue;
    *at = ctx->next;
    break;
  }
  pthread_mutex_unlock(&lock);
}

static bool is_open(const cx_ctx *ctx) {
  pthread_mutex_lock(&lock);
  const cx_ctx *at = all;
  while (at && at != ctx) at = at->next;
  pthread_mutex_unlock(&lock);
  return at != NULL;
}

void cx_close(cx_ctx *ctx) {
  if (!ctx || !is_open(ctx)) return;
  if (ctx->trace) {
    cxi_report(CX_ETRACE, "close: this context is tracing");
    return;
  }
  unlink_context(ctx);
  cx_ctx *before = cx_use(ctx);
  while (ctx->n_scopes) cxi_scope_pop(ctx, ctx->scopes[0].serial);
  for (uint32_t i = 0; i < ctx->n_kept; i++)
    if (ctx->kept[i].serial) cxi_item_release(ctx->kept[i].item);
  cx_use(before == ctx ? NULL : before);
  cxi_account_close(ctx->account);
  cxi_free(ctx->slots);
  cxi_free(ctx->scopes);
  cxi_free(ctx->kept);
  cxi_free(ctx);
  if (cxi_context_last()) cxi_blocks_trim();
}

/* Contexts that another thread has entered are not looked into. */
bool cxi_context_elsewhere(uint32_t serial) {
  bool found = false;
  pthread_mutex_lock(&lock);
  for (const cx_ctx *c = all; c && !found; c = c->next) {
    if (c == cxi_context_current ||
        (c->entered && !pthread_equal(c->thread, pthread_self())))
      continue;
    for (uint32_t i = 0; i < c->n_scopes && !found; i++)
      found = c->scopes[i].serial == serial;
    for (uint32_t i = 0; i < c->n_kept && !found; i++)
      found = c->kept[i].serial == serial;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

/* The open context of this thread, other than the current one, that has the
 * scope; NULL: none. */
cx_ctx *cxi_context_of_scope(uint32_t serial) {
  cx_ctx *found = NULL;
  pthread_mutex_lock(&lock);
  for (cx_ctx *c = all; c && !found; c = c->next) {
    if (c->entered && !pthread_equal(c->thread, pthread_self())) continue;
    for (uint32_t i = 0; i < c->n_scopes && !found; i++)
      if (c->scopes[i].serial == serial) found = c;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

void cx_promotion(cx_promote rule) {
  if (!cxi_context_need()) return;
  cxi_context_current->promotion = rule;
  cxi_promotion_use(rule);
}

void cx_checks(bool on) {
  if (cxi_context_need()) cxi_context_current->checks = on;
}
