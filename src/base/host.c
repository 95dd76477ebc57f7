/* host.c - functions of the host that programs call, by number; where debug
 * prints go. */
#include "base/host.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/mutex.h"

static cxi_mutex lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static cxi_host *hosts;
static uint32_t n_hosts, cap_hosts;
static void (*write_text)(const char *text, void *user);
static void *write_user;

uint32_t cxi_host_number(cx_host_fn f, void *user) {
  cxi_mutex_lock(&lock);
  uint32_t i = 0;
  while (i < n_hosts && (hosts[i].f != f || hosts[i].user != user)) i++;
  if (i == n_hosts) {
    if (cxi_grow(&hosts, &cap_hosts, n_hosts + (size_t)1, sizeof *hosts))
      hosts[n_hosts++] = (cxi_host){ f, user };
    else
      i = UINT32_MAX;
  }
  cxi_mutex_unlock(&lock);
  return i + 1;
}

bool cxi_host_find(int64_t number, cxi_host *out) {
  cxi_mutex_lock(&lock);
  const bool known = number > 0 && number <= n_hosts;
  if (known) *out = hosts[number - 1];
  cxi_mutex_unlock(&lock);
  return known;
}

void cx_debug_output(void (*write)(const char *text, void *user), void *user) {
  cxi_mutex_lock(&lock);
  write_text = write;
  write_user = user;
  cxi_mutex_unlock(&lock);
}

void cxi_debug_write(const char *text) {
  cxi_mutex_lock(&lock);
  void (*const write)(const char *, void *) = write_text;
  void *const user = write_user;
  cxi_mutex_unlock(&lock);
  if (write) {
    write(text, user);
    return;
  }
  fputs(text, stdout);
  fflush(stdout);
}
