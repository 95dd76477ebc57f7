/* calls.c - what a cx_jit function has compiled, and why. */
#include "runtime/calls.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/mutex.h"
#include "calx/inspect.h"
#include "trace/record.h"

enum { REASONS = 8 };

/* Statistics of one function and its compiled signatures. */
typedef struct cxi_calls {
  const cxi_code *code;
  uint64_t hits, compiled, clock;
  uint32_t n_kept, room;
  cxi_compiled **kept; /* at most cache_max of them; references */
  uint32_t n_sigs;     /* of the signature compiled last */
  cxi_sig *sigs;
  char reasons[REASONS][1024];
  struct cxi_calls *next; /* of all functions */
} cxi_calls;

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static cxi_calls *all;

/* -- compiled signatures, under the lock ---------------------------------- */

static void drop(cxi_compiled *c) {
  if (--c->refs) return;
  cxi_executable_release(c->exe);
  cxi_free(c);
}

static void compiled_free(struct cxi_compiled *c) {
  cxi_mutex_lock(&lock);
  cxi_executable_release(c->exe);
  c->exe = NULL;
  drop(c);
  cxi_mutex_unlock(&lock);
}

static cxi_calls *calls_of(const cxi_code *code) {
  if (code->calls) return code->calls;
  cxi_calls *calls = cxi_alloc_zeroed(1, sizeof *calls);
  if (!calls) return NULL;
  calls->code = code;
  calls->next = all;
  all = calls;
  ((cxi_code *)code)->calls = calls; /* the one field that changes */
  cxi_compiled_free = compiled_free;
  return calls;
}

/* A place in the list, the least used one's if it is full or memory is short;
 * NULL if there is none. */
static cxi_compiled **place_for(cxi_calls *calls) {
  const uint32_t most = (uint32_t)calls->code->as.jit.cache_max;
  uint32_t least = 0;
  for (uint32_t i = 0; i < calls->n_kept; i++) {
    if (!calls->kept[i]->exe) {
      least = i;
      break;
    }
    if (calls->kept[i]->used < calls->kept[least]->used) least = i;
  }
  if (calls->n_kept < most && (calls->n_kept == 0 || calls->kept[least]->exe) &&
      cxi_grow(&calls->kept, &calls->room, calls->n_kept + (size_t)1,
               sizeof *calls->kept))
    return &calls->kept[calls->n_kept++];
  if (!calls->n_kept) return NULL;
  cxi_compiled *old = calls->kept[least];
  cxi_executable_release(old->exe);
  old->exe = NULL;
  drop(old);
  return &calls->kept[least];
}

/* -- reasons -------------------------------------------------------------- */

static const char *ordinal(uint64_t n) {
  const uint64_t tens = n % 100;
  if (tens >= 11 && tens <= 13) return "th";
  return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}

static const cxi_code *innermost(const cxi_code *code) {
  while (code->n_inner) code = code->inner[0];
  return code;
}

/* The same C function with other settings, compiled last; NULL: none. */
static const cxi_code *other_settings(const cxi_calls *calls) {
  const cxi_code *mine = innermost(calls->code);
  for (const cxi_calls *c = all; c; c = c->next) {
    const cxi_code *other = innermost(c->code);
    if (c != calls && c->compiled && mine->def && other != mine &&
        other->def == mine->def)
      return other;
  }
  return NULL;
}

static void describe_settings(const cxi_calls *calls, char *out, size_t room) {
  const cxi_code *mine = innermost(calls->code), *other = other_settings(calls);
  if (!other)
    snprintf(out, room, "first call");
  else if (!mine->env || !other->env ||
           !cxi_record_difference(mine->def->env, other->env, mine->env, out,
                                  room))
    snprintf(out, room, "other settings");
}

/* What differs from the signature compiled last. */
static void describe_change(const cxi_calls *calls, const cxi_invocation *call,
                            char *out, size_t room) {
  const cxi_sig *sigs = call->sigs + call->f->n_captures;
  const cxi_sig *last = calls->sigs;
  if (calls->compiled == 0) {
    describe_settings(calls, out, room);
    return;
  }
  if (calls->n_sigs != call->n_args) {
    snprintf(out, room, "%u arguments, before %u", call->n_args, calls->n_sigs);
    return;
  }
  for (uint32_t i = 0; i < call->n_args; i++) {
    if (sigs[i] == last[i]) continue;
    const uint32_t n = cxi_sig_leaves(sigs[i]);
    char was[128], is[128];
    uint32_t k = 0, before = 0;
    if (cxi_sig_leaves(last[i]) == n) {
      cxi_type a[64], b[64];
      if (n <= 64) {
        cxi_sig_types(last[i], a);
        cxi_sig_types(sigs[i], b);
        while (k < n && a[k] == b[k]) k++;
        if (k < n && cxi_sig_with_types(last[i], b) == sigs[i]) {
          for (uint32_t j = 0; j < i; j++) before += cxi_sig_leaves(sigs[j]);
          cxi_aval_print(was, sizeof was, cxi_type_aval(a[k]));
          cxi_aval_print(is, sizeof is, cxi_type_aval(b[k]));
          snprintf(out, room, "%s changed %s -> %s",
                   cxi_leaf_name_of(calls->code, call->n_args, sigs, before + k)
                       .text,
                   was, is);
          return;
        }
      }
    }
    cxi_sig_print(was, sizeof was, last[i]);
    cxi_sig_print(is, sizeof is, sigs[i]);
    snprintf(out, room, "argument %u \"%s\" changed %s -> %s", i,
             cxi_argument_name(calls->code, i).name, was, is);
    return;
  }
  snprintf(out, room,
           "captured arrays, settings of the context, or the cache"
           " was full");
}

static void note_miss(cxi_calls *calls, const cxi_invocation *call) {
  char change[640];
  describe_change(calls, call, change, sizeof change);
  char *line = calls->reasons[calls->compiled % REASONS];
  const cxi_name site = cxi_site_now();
  calls->compiled++;
  if (calls->compiled == 1)
    snprintf(line, sizeof calls->reasons[0], "%s%s%s: compiled: %s",
             cxi_name_text(site), site ? ": " : "", calls->code->name, change);
  else
    snprintf(line, sizeof calls->reasons[0],
             "%s%s%s: compiled again (%llu%s time): %s", cxi_name_text(site),
             site ? ": " : "", calls->code->name,
             (unsigned long long)calls->compiled, ordinal(calls->compiled),
             change);
  cxi_sig *sigs = cxi_alloc((call->n_args + 1) * sizeof *sigs);
  if (!sigs) return;
  memcpy(sigs, call->sigs + call->f->n_captures, call->n_args * sizeof *sigs);
  cxi_free(calls->sigs);
  calls->sigs = sigs;
  calls->n_sigs = call->n_args;
}

/* -- the executable of a call --------------------------------------------- */

static void remember(const cxi_invocation *call, cxi_executable *exe) {
  cxi_compiled *made = cxi_alloc_zeroed(1, sizeof *made);
  cxi_mutex_lock(&lock);
  /* Another thread may have remembered one since. */
  cxi_compiled *old = call->entry->compiled;
  cxi_calls *calls = calls_of(call->f->code);
  if (calls) {
    note_miss(calls, call);
    cxi_compiled **place = made ? place_for(calls) : NULL;
    if (!place) {
      cxi_free(made);
    } else {
      *made = (cxi_compiled){ .refs = 2,
                              .exe = cxi_executable_retain(exe),
                              .used = ++calls->clock };
      *place = made;
      if (old) drop(old);
      __atomic_store_n(&call->entry->compiled, made, __ATOMIC_RELEASE);
    }
  } else {
    cxi_free(made);
  }
  cxi_mutex_unlock(&lock);
}

cxi_executable *cxi_calls_kept(const cxi_invocation *call) {
  cxi_mutex_lock(&lock);
  const cxi_compiled *kept = call->entry->compiled;
  cxi_executable *exe =
      kept && kept->exe ? cxi_executable_retain(kept->exe) : NULL;
  cxi_mutex_unlock(&lock);
  return exe;
}

cxi_executable *cxi_calls_executable(const cxi_invocation *call,
                                     const struct cxi_backend *backend,
                                     const bool *donate, cxi_error *error) {
  const cxi_code *code = call->f->code;
  cxi_mutex_lock(&lock);
  cxi_compiled *kept = call->entry->compiled;
  cxi_executable *exe =
      kept && kept->exe ? cxi_executable_retain(kept->exe) : NULL;
  if (exe) {
    code->calls->hits++;
    kept->used = ++code->calls->clock;
  }
  cxi_mutex_unlock(&lock);
  if (exe) return exe;
  exe = cxi_executable_for(call->entry->program, backend, donate, NULL, error);
  if (exe) remember(call, exe);
  return exe;
}

/* -- the report ----------------------------------------------------------- */

static const char *report(const cxi_calls *calls) {
  char text[REASONS * 1024 + 256];
  size_t n = (size_t)snprintf(
      text, sizeof text, "%s: %llu compiled, %llu hits\n", calls->code->name,
      (unsigned long long)calls->compiled, (unsigned long long)calls->hits);
  const uint64_t first =
      calls->compiled > REASONS ? calls->compiled - REASONS : 0;
  for (uint64_t i = first; i < calls->compiled && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s\n",
                          calls->reasons[i % REASONS]);
  return cxi_string(text);
}

const char *cx_cache_report(cx_fn f) {
  char text[160];
  if (!f || !cxi_context_need() || !cxi_fn_check(f)) return "";
  cxi_mutex_lock(&lock);
  const char *shown = f->code->calls ? report(f->code->calls) : NULL;
  cxi_mutex_unlock(&lock);
  if (shown) return shown;
  snprintf(text, sizeof text, "%.120s: nothing compiled\n", f->code->name);
  return cxi_string(text);
}
