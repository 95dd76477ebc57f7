/* failure.c - what a checked program may find wrong, by number. */
#include "base/failure.h"

#include "base/alloc.h"
#include "base/mutex.h"

typedef struct failure {
  cx_code code;
  cxi_name text;
} failure;

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static failure *failures;
static uint32_t n_failures, cap_failures;

int32_t cxi_failure_number(cx_code code, cxi_name text) {
  cxi_mutex_lock(&lock);
  uint32_t i = 0;
  while (i < n_failures &&
         (failures[i].code != code || failures[i].text != text))
    i++;
  bool ok = i < n_failures;
  if (!ok && n_failures < INT32_MAX - 1 &&
      cxi_grow(&failures, &cap_failures, n_failures + (size_t)1,
               sizeof *failures)) {
    failures[n_failures++] = (failure){ code, text };
    ok = true;
  }
  cxi_mutex_unlock(&lock);
  return ok ? (int32_t)i + 1 : 0;
}

bool cxi_failure_find(int32_t number, cx_code *code, cxi_name *text) {
  cxi_mutex_lock(&lock);
  const bool known = number > 0 && (uint32_t)number <= n_failures;
  if (known) {
    *code = failures[number - 1].code;
    *text = failures[number - 1].text;
  }
  cxi_mutex_unlock(&lock);
  return known;
}
