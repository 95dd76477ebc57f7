/* caches.c - what the caches of the process hold and did. */
#include <stdio.h>
#include <string.h>

#include "backends/cpu/code.h"
#include "base/alloc.h"
#include "base/store.h"
#include "calx/inspect.h"
#include "runtime/executables.h"
#include "trace/context.h"

cx_cache_stats cx_cache_now(void) {
  const cxi_executables_stats kept = cxi_executables_kept();
  const cxi_code_stats code = cxi_code_now();
  const cxi_store_stats disk = cxi_store_now();
  return (cx_cache_stats){ .hits = kept.hits,
                           .misses = kept.misses,
                           .entries = kept.entries,
                           .bytes = kept.bytes,
                           .loops = code.loops,
                           .passes = code.passes,
                           .refused = code.refused,
                           .shared = code.shared,
                           .read = code.read,
                           .made = code.made,
                           .failed = code.failed,
                           .code_entries = code.kept,
                           .code_bytes = code.bytes,
                           .made_ms = 1e-6 * (double)code.making_ns,
                           .read_ms = 1e-6 * (double)code.reading_ns,
                           .disk_hits = disk.found,
                           .disk_misses = disk.absent,
                           .disk_rejected = disk.rejected,
                           .disk_written = disk.written,
                           .disk_failed = disk.failed,
                           .disk_evicted = disk.evicted,
                           .disk_bytes_read = disk.bytes_read,
                           .disk_bytes_written = disk.bytes_written };
}

static unsigned long long n(uint64_t x) {
  return x;
}

static size_t print_directory(char *text, size_t room) {
  char path[4096], why[160];
  uint64_t limit;
  if (!cxi_store_place(path, sizeof path, &limit, why))
    return (size_t)snprintf(text, room, "directory: none: %s\n", why);
  return (size_t)snprintf(text, room, "directory: %s, at most %llu bytes\n",
                          path, n(limit));
}

const char *cx_cache_summary(void) {
  char text[8192];
  if (!cxi_context_need()) return "";
  const cx_cache_stats s = cx_cache_now();
  const cxi_code_stats code = cxi_code_now();
  size_t at = (size_t)snprintf(
      text, sizeof text,
      "compiled functions: %llu hits, %llu misses, %llu kept, %llu bytes\n"
      "code: %s; loops with it %llu, passes %llu, refused %llu; shared %llu,"
      " read %llu (%.1f ms),"
      " made %llu (%.1f ms), failed %llu; %llu kept, %llu bytes\n",
      n(s.hits), n(s.misses), n(s.entries), n(s.bytes), cxi_code_when(),
      n(s.loops), n(s.passes), n(s.refused), n(s.shared), n(s.read), s.read_ms,
      n(s.made), s.made_ms, n(s.failed), n(s.code_entries), n(s.code_bytes));
  at += print_directory(text + at, sizeof text - at);
  at += (size_t)snprintf(
      text + at, sizeof text - at,
      "entries: %llu hits, %llu misses, %llu rejected, %llu written, %llu not"
      " written, %llu evicted; %llu bytes read, %llu written\n",
      n(s.disk_hits), n(s.disk_misses), n(s.disk_rejected), n(s.disk_written),
      n(s.disk_failed), n(s.disk_evicted), n(s.disk_bytes_read),
      n(s.disk_bytes_written));
  if (code.why[0])
    snprintf(text + at, sizeof text - at, "last miss: %s\n", code.why);
  return cxi_string(text);
}

/* -- the directory --------------------------------------------------------- */

typedef struct lines {
  cxi_bytes text;
  uint64_t bytes;
  uint64_t broken;
} lines;

static void add_line(const cxi_store_entry *e, void *user) {
  lines *l = user;
  char line[400];
  const int length =
      snprintf(line, sizeof line, "%s %8llu bytes %8lld s%s%s\n", e->name,
               n(e->bytes), (long long)e->age, e->fault || e->stamp ? "  " : "",
               e->fault   ? e->fault
               : e->stamp ? e->stamp
                          : "");
  cxi_bytes_add(&l->text, line, (size_t)length);
  l->bytes += e->bytes;
  l->broken += e->fault != NULL;
}

const char *cx_cache_entries(bool check) {
  char why[160], line[4400];
  lines l = { 0 };
  if (!cxi_context_need()) return "";
  const int64_t count = cxi_store_each(check, add_line, &l, why);
  size_t at = print_directory(line, sizeof line);
  if (count < 0)
    snprintf(line + at, sizeof line - at, "no entries: %s\n", why);
  else
    snprintf(line + at, sizeof line - at,
             "%lld entries, %llu bytes, %llu broken and removed\n",
             (long long)count, n(l.bytes), n(l.broken));
  cxi_bytes_add_text(&l.text, line);
  if (l.text.failed) cxi_report_memory();
  const char *shown =
      l.text.failed ? "" : cxi_string((const char *)l.text.data);
  cxi_bytes_free(&l.text);
  return shown;
}

int64_t cx_cache_clear(void) {
  char why[160];
  cxi_executables_clear();
  cxi_code_forget();
  return cxi_store_clear(why);
}
