/* report.c - the kept error: the first one, with its source line. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "trace/tracer.h"

/* What threads without a context report, why cx_open failed for one. */
static _Thread_local cxi_kept_error homeless;
static _Thread_local uint32_t n_homeless;

static cxi_kept_error *kept_now(void) {
  cx_ctx *ctx = cxi_context_now();
  return ctx ? &ctx->error : &homeless;
}

/* Poison with the number of its error, never 0. */
static cx next_poison(cx_ctx *ctx) {
  uint32_t *n = ctx ? &ctx->n_errors : &n_homeless;
  if (++*n == 0) ++*n;
  return (cx){ 0, *n };
}

cx cxi_poison_last(void) {
  const cx_ctx *ctx = cxi_context_now();
  const uint32_t n = ctx ? ctx->n_errors : n_homeless;
  return (cx){ 0, n ? n : 1 };
}

/* " (in encoder/layer.7)": the named blocks around what failed, those around
 * the calls being traced first; at most the innermost eight. */
static void describe_scopes(const cx_ctx *ctx, char *out, size_t room) {
  cxi_name names[8];
  int count = 0;
  size_t n = 0;
  if (cxi_scope_now()) names[count++] = cxi_scope_now();
  for (const cxi_trace *t = ctx ? ctx->trace : NULL; t && count < 8;
       t = t->outer)
    if (t->outer_scope) names[count++] = t->outer_scope;
  out[0] = 0;
  for (int i = count - 1; i >= 0 && n < room; i--)
    n += (size_t)snprintf(out + n, room - n, "%s%s%s",
                          i == count - 1 ? " (in " : "/",
                          cxi_name_text(names[i]), i == 0 ? ")" : "");
}

/* The line of the call that failed, else of the one that is being traced. */
static cxi_name site_of(const cx_ctx *ctx) {
  cxi_name site = cxi_site_now();
  for (const cxi_trace *t = ctx ? ctx->trace : NULL; t && !site; t = t->outer)
    site = t->site;
  return site;
}

static _Thread_local cxi_dtype_hint dtype_hint;
cxi_dtype_hint cxi_dtype_hint_use(cxi_dtype_hint hint) {
  const cxi_dtype_hint before = dtype_hint;
  dtype_hint = hint;
  return before;
}
/* "f16" is named in "f16[3]", not in "bf16[3]". */
static bool names(const char *text, const char *word) {
  for (const char *at = text; (at = strstr(at, word)); at++)
    if ((at == text || !isalnum((unsigned char)at[-1])) &&
        !isalnum((unsigned char)at[strlen(word)]))
      return true;
  return false;
}
static void write_hint(cx_code code, const char *text, char *out, size_t size) {
  *out = 0;
  if (code != CX_EDTYPE || !dtype_hint.write) return;
  for (int k = 0; k < CXI_N_DTYPES; k++)
    if (names(text, cxi_dtype_name((cx_dtype)k)) &&
        dtype_hint.write(dtype_hint.user, (cx_dtype)k, out, size))
      return;
}

cx cxi_report(cx_code code, const char *text) {
  cx_ctx *ctx = cxi_context_now();
  const cxi_name site = site_of(ctx);
  char message[sizeof homeless.text], scopes[160], hint[400];
  describe_scopes(ctx, scopes, sizeof scopes);
  write_hint(code, text, hint, sizeof hint);
  if (site)
    snprintf(message, sizeof message, "%s: %s%s%s", cxi_name_text(site), text,
             hint, scopes);
  else
    snprintf(message, sizeof message, "%s%s%s", text, hint, scopes);
  cxi_kept_error *kept = kept_now();
  if (kept->code == CX_OK) {
    kept->code = code;
    memcpy(kept->text, message, sizeof message);
  }
  const cx poison = next_poison(ctx);
  cxi_trace_fail(ctx ? ctx->trace : NULL, poison);
  if (ctx && ctx->on_error) ctx->on_error(code, message, ctx->user);
  return poison;
}

cx cxi_reportf(cx_code code, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return cxi_report(code, text);
}

cx cxi_report_error(const char *prefix, const cxi_error *error) {
  const cx_code code = error->code ? error->code : CX_EMEMORY;
  const char *text = error->code ? error->text : "out of memory";
  return prefix ? cxi_reportf(code, "%s: %s", prefix, text)
                : cxi_report(code, text);
}

cx cxi_report_memory(void) {
  cx_ctx *ctx = cxi_context_now();
  if (ctx && ctx->memory_limit)
    return cxi_reportf(CX_EMEMORY,
                       "out of memory (limit %zu bytes, arrays hold %zu)",
                       ctx->memory_limit, ctx->account->live);
  return cxi_report(CX_EMEMORY, "out of memory");
}

/* -- public --------------------------------------------------------------- */

bool cx_ok(void) {
  return kept_now()->code == CX_OK;
}

cx_code cx_error(const char **out_message) {
  cxi_kept_error *kept = kept_now();
  const cx_code code = kept->code;
  memcpy(kept->taken, kept->text, sizeof kept->taken);
  if (code == CX_OK) kept->taken[0] = 0;
  kept->code = CX_OK;
  if (out_message) *out_message = kept->taken;
  return code;
}

const char *cx_code_name(cx_code code) {
  static const char *const names[] = {
    "CX_OK",      "CX_ESHAPE", "CX_EDTYPE",    "CX_ETREE", "CX_EINDEX",
    "CX_ENORULE", "CX_ETRACE", "CX_ELIFETIME", "CX_ENAN",  "CX_EMEMORY",
    "CX_EDEVICE", "CX_EIO",    "CX_EUSER",
  };
  const bool known = code >= 0 && (size_t)code < sizeof names / sizeof *names;
  return known ? names[code] : "?";
}

cx cx_fail_(const char *at, cx_code code, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  if (!format || vsnprintf(text, sizeof text, format, arguments) < 0)
    snprintf(text, sizeof text, "%s", cx_code_name(code));
  va_end(arguments);
  const cxi_name before = cxi_site_now();
  if (at) cxi_site_use(cxi_name_of_static(at)); /* else that of the caller */
  /* Without a context there is no emitter to take it. */
  const cx poison =
      cxi_context_now() ? cxi_fail(code, "%s", text) : cxi_report(code, text);
  cxi_site_use(before);
  return poison;
}
