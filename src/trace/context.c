/* context.c - contexts: made, entered, left, closed. */
#include "trace/context.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/mutex.h"
#include "ops/ops.h"
#include "trace/device.h"
#include "trace/function.h"
#include "trace/tracer.h"

_Thread_local cx_ctx *cxi_context_current;
static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static cx_ctx *all;

/* -- operations without a context ----------------------------------------- */

static cx fail_nowhere(cxi_emitter *e, cx_code code, const char *text) {
  (void)e, (void)code, (void)text;
  return cxi_report(CX_ELIFETIME, "no context is open in this thread: cx_open");
}

static bool info_nowhere(cxi_emitter *e, cx a, cxi_info *out) {
  (void)e;
  if (!cxi_is_number(a)) return false;
  const cxi_item item = cxi_number_item(a);
  *out = (cxi_info){ item.type, true, item.weak, item.as.bits };
  return true;
}

static cx literal_nowhere(cxi_emitter *e, cx_dtype dtype, bool weak,
                          uint64_t bits) {
  if (weak) return cxi_number_weak(dtype, bits);
  return fail_nowhere(e, CX_ELIFETIME, NULL);
}

static bool emit_nowhere(cxi_emitter *e, cxi_prim prim, const void *params,
                         uint32_t n_in, const cx *in, uint32_t n_out, cx *out) {
  (void)prim, (void)params, (void)n_in, (void)in;
  const cx poison = fail_nowhere(e, CX_ELIFETIME, NULL);
  for (uint32_t i = 0; i < n_out; i++) out[i] = poison;
  return false;
}

cxi_emitter cxi_emitter_nowhere = { info_nowhere, literal_nowhere,
                                    emit_nowhere, fail_nowhere,
                                    NULL,         NULL };

/* -- made and entered ----------------------------------------------------- */

cx_ctx *cxi_context_need(void) {
  if (!cxi_context_current)
    cxi_report(CX_ELIFETIME, "no context is open in this thread: cx_open");
  return cxi_context_current;
}

bool cxi_context_last(void) {
  cxi_mutex_lock(&lock);
  const bool last = !all;
  cxi_mutex_unlock(&lock);
  return last;
}

cx_ctx *cxi_context_make(const cxi_device *device, cx_open_opt opt) {
  cx_ctx *ctx = cxi_alloc_zeroed(1, sizeof *ctx);
  if (!ctx) return NULL;
  ctx->account = cxi_account_open(opt.memory_limit);
  cxi_eager_emitter(&ctx->eager);
  ctx->device = device;
  ctx->threads = opt.threads;
  ctx->loops = opt.loops;
  ctx->memory_limit = opt.memory_limit;
  ctx->on_error = opt.on_error;
  ctx->user = opt.user;
  if (!ctx->account || !cxi_scope_push(ctx, CXI_SCOPE_ROOT, NULL)) {
    cxi_account_close(ctx->account);
    cxi_free(ctx->scopes);
    cxi_free(ctx);
    return NULL;
  }
  cxi_mutex_lock(&lock);
  ctx->next = all;
  all = ctx;
  cxi_mutex_unlock(&lock);
  return ctx;
}

static bool is_listed(const cx_ctx *ctx) { /* under the lock */
  const cx_ctx *at = all;
  while (at && at != ctx) at = at->next;
  return at != NULL;
}
static bool is_open(const cx_ctx *ctx) {
  cxi_mutex_lock(&lock);
  const bool open = is_listed(ctx);
  cxi_mutex_unlock(&lock);
  return open;
}

/* The current context of this thread; a thread that ends leaves it. */
static pthread_key_t at_exit;
static void leave_at_exit(void *unused) {
  (void)unused;
  cx_use(NULL);
}
static void make_key(void) {
  pthread_key_create(&at_exit, leave_at_exit);
}
/* False, and nothing moves, if ctx is closed and this is not its closing. Looked
 * at and entered under one lock: no thread can close it in between. */
static bool move_to(cx_ctx *ctx, bool closing) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static _Thread_local bool watched;
  if (!watched && ctx) {
    pthread_once(&once, make_key);
    watched = pthread_setspecific(at_exit, &watched) == 0;
  }
  cxi_mutex_lock(&lock);
  const bool good = !ctx || closing || is_listed(ctx);
  if (good && cxi_context_current) cxi_context_current->n_inside--;
  if (good && ctx) {
    ctx->n_inside++;
    ctx->thread = pthread_self();
    ctx->entered = true;
  }
  cxi_mutex_unlock(&lock);
  if (good) cxi_context_current = ctx;
  return good;
}

static cx_ctx *use(cx_ctx *ctx, bool closing) {
  cx_ctx *before = cxi_context_current;
  if (ctx != before && !move_to(ctx, closing)) {
    cxi_report(CX_ELIFETIME, "use: this context has been closed");
    return before;
  }
  cxi_emitter_use(ctx ? ctx->trace ? &ctx->trace->emitter : &ctx->eager : NULL);
  cxi_promotion_use(ctx ? ctx->promotion : CX_PROMOTE_STRICT);
  return before;
}

cx_ctx *cx_use(cx_ctx *ctx) {
  return use(ctx, false);
}

/* From the list, unless another thread is in it. */
static bool unlink_context(cx_ctx *ctx) {
  cxi_mutex_lock(&lock);
  const bool alone = ctx->n_inside == (ctx == cxi_context_current);
  for (cx_ctx **at = &all; alone && *at; at = &(*at)->next) {
    if (*at != ctx) continue;
    *at = ctx->next;
    break;
  }
  cxi_mutex_unlock(&lock);
  return alone;
}

void cx_close(cx_ctx *ctx) {
  if (!ctx || !is_open(ctx)) return;
  if (ctx->trace) {
    cxi_report(CX_ETRACE, "close: this context is tracing");
    return;
  }
  if (!unlink_context(ctx)) {
    cxi_report(CX_ELIFETIME, "close: another thread is in this context; it"
                             " must end, or cx_use another");
    return;
  }
  cx_ctx *before = use(ctx, true);
  const cxi_device *device = ctx->device;
  while (ctx->n_scopes) cxi_scope_pop(ctx, ctx->scopes[0].serial);
  for (uint32_t i = 0; i < ctx->n_kept; i++)
    if (ctx->kept[i].serial) cxi_item_release(ctx->kept[i].item);
  cx_use(before == ctx ? NULL : before);
  cxi_account_close(ctx->account);
  cxi_free(ctx->slots);
  cxi_free(ctx->scopes);
  cxi_free(ctx->kept);
  cxi_free(ctx);
  if (!cxi_context_last()) return;
  if (device->settle) device->settle();
  cxi_blocks_trim();
}

/* Contexts that another thread has entered are not looked into. */
bool cxi_context_elsewhere(uint32_t serial) {
  bool found = false;
  cxi_mutex_lock(&lock);
  for (const cx_ctx *c = all; c && !found; c = c->next) {
    if (c == cxi_context_current ||
        (c->entered && !pthread_equal(c->thread, pthread_self())))
      continue;
    for (uint32_t i = 0; i < c->n_scopes && !found; i++)
      found = c->scopes[i].serial == serial;
    for (uint32_t i = 0; i < c->n_kept && !found; i++)
      found = c->kept[i].serial == serial;
  }
  cxi_mutex_unlock(&lock);
  return found;
}

/* The open context of this thread, other than the current one, that has the
 * scope; NULL: none. */
cx_ctx *cxi_context_of_scope(uint32_t serial) {
  cx_ctx *found = NULL;
  cxi_mutex_lock(&lock);
  for (cx_ctx *c = all; c && !found; c = c->next) {
    if (c->entered && !pthread_equal(c->thread, pthread_self())) continue;
    for (uint32_t i = 0; i < c->n_scopes && !found; i++)
      if (c->scopes[i].serial == serial) found = c;
  }
  cxi_mutex_unlock(&lock);
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
