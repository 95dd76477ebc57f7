/* code_kept.c - the code of this process by structure. */
#include "backends/cpu/code_kept.h"

#include "base/alloc.h"

enum { BUCKETS = 256, MOST_IDLE = 256 };

static cxi_kept_code *buckets[BUCKETS], *newest, *oldest;
static uint32_t n_idle;
static cxi_kept_stats stats;

cxi_kept_code *cxi_kept_find(cxi_hash key) {
  cxi_kept_code *k = buckets[key.lo % BUCKETS];
  while (k && !cxi_hash_equal(k->key, key)) k = k->next;
  return k;
}

cxi_kept_code *cxi_kept_add(cxi_hash key) {
  cxi_kept_code *k = cxi_alloc_zeroed(1, sizeof *k);
  if (!k) return NULL;
  k->key = key;
  k->making = true;
  k->refs = 1;
  k->next = buckets[key.lo % BUCKETS];
  buckets[key.lo % BUCKETS] = k;
  stats.entries++;
  return k;
}

static void leave_idle(cxi_kept_code *k) {
  *(k->newer ? &k->newer->older : &newest) = k->older;
  *(k->older ? &k->older->newer : &oldest) = k->newer;
  k->newer = k->older = NULL;
  n_idle--;
}

static void enter_idle(cxi_kept_code *k) {
  k->older = newest;
  *(newest ? &newest->newer : &oldest) = k;
  newest = k;
  n_idle++;
}

static void remove_kept(cxi_kept_code *k) {
  cxi_kept_code **at = &buckets[k->key.lo % BUCKETS];
  while (*at != k) at = &(*at)->next;
  *at = k->next;
  stats.entries--;
  cxi_loaded_free(&k->loaded);
  cxi_free(k);
}

void cxi_kept_hold(cxi_kept_code *k) {
  if (k->refs++ == 0) leave_idle(k);
}

static void trim(uint32_t most) {
  while (n_idle > most) {
    cxi_kept_code *k = oldest;
    leave_idle(k);
    remove_kept(k);
  }
}

void cxi_kept_drop(cxi_kept_code *k) {
  if (--k->refs) return;
  if (k->making) {
    remove_kept(k);
    return;
  }
  enter_idle(k);
  trim(MOST_IDLE);
}

void cxi_kept_clear(void) {
  trim(0);
}

cxi_kept_stats cxi_kept_now(void) {
  stats.bytes = 0;
  for (int i = 0; i < BUCKETS; i++)
    for (const cxi_kept_code *k = buckets[i]; k; k = k->next)
      stats.bytes += k->loaded.bytes;
  return stats;
}
