/* cpus.c - how many threads this process may use: affinity, then the quotas
 * of the control groups it is in. */
#define _GNU_SOURCE
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int cpus_of_affinity(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  /* More processors than a cpu_set_t holds. */
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

/* The first line of a small file. */
static bool read_line(const char *path, char *out, int room) {
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const bool read = fgets(out, room, file) != NULL;
  fclose(file);
  return read;
}

/* CPUs that a quota allows, rounded up; `most` if it names none. */
static int cpus_of_quota(long long quota, long long period, int most) {
  if (quota <= 0 || period <= 0) return most;
  const long long cpus = (quota + period - 1) / period;
  return cpus < most ? (int)cpus : most;
}

/* Version 2: "max 100000" or "150000 100000" in cpu.max. */
static int cpus_of_group2(const char *folder, int most) {
  char path[600], line[64];
  long long quota, period;
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (!read_line(path, line, sizeof line) ||
      sscanf(line, "%lld %lld", &quota, &period) != 2)
    return most;
  return cpus_of_quota(quota, period, most);
}

/* Version 1: two files, the quota -1 if there is none. */
static int cpus_of_group1(const char *folder, int most) {
  char path[600], line[64];
  long long quota, period;
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &quota) != 1)
    return most;
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
  if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &period) != 1)
    return most;
  return cpus_of_quota(quota, period, most);
}

/* The group and all above it: the least of their quotas holds. */
static int cpus_of_groups(const char *mount, const char *group, int most,
                          int (*cpus_of)(const char *, int)) {
  char folder[512];
  const int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
  if (length < 0 || length >= (int)sizeof folder) return most;
  const size_t root = strlen(mount);
  for (;;) {
    most = cpus_of(folder, most);
    char *slash = strrchr(folder + root, '/');
    if (!slash) return most;
    *slash = 0;
  }
}

/* Whether `item` is one of a list between commas. */
static bool list_has(const char *list, const char *item) {
  const size_t n = strlen(item);
  for (const char *at = list; at; at = strchr(at, ',')) {
    if (*at == ',') at++;
    if (strncmp(at, item, n) == 0 && (at[n] == ',' || at[n] == 0)) return true;
  }
  return false;
}

/* The lines of /proc/self/cgroup are "number:controllers:/group"; version 2
 * has number 0 and no controllers. */
static int cpus_of_cgroups(int most) {
  FILE *file = fopen("/proc/self/cgroup", "r");
  if (!file) return most;
  char line[512];
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(++controllers, ':') : NULL;
    if (!group) continue;
    *group++ = 0;
    if (*controllers == 0)
      most = cpus_of_groups("/sys/fs/cgroup", group, most, cpus_of_group2);
    else if (list_has(controllers, "cpu"))
      most = cpus_of_groups("/sys/fs/cgroup/cpu", group, most, cpus_of_group1);
  }
  fclose(file);
  return most;
}

static int max_threads;

static void count_cpus(void) {
  const int cpus = cpus_of_cgroups(cpus_of_affinity());
  max_threads = cpus > 0 ? cpus : 1;
}

int cxi_pool_max_threads(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, count_cpus);
  return max_threads;
}
