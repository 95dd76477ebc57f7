/* store.c - a directory of small files by key, shared by many processes. */
#define _GNU_SOURCE /* secure_getenv, O_NOFOLLOW */
#include "base/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

enum {
  WHY = 160,
  NAME = 33,              /* 32 digits of the key */
  STAMP = 200,            /* at most, of a stamp */
  STALE_SECONDS = 15 * 60 /* of a temporary file whose writer has gone */
};
static const char temporary[] = ".new-";

/* What a file begins with; then stamp and content. */
typedef struct header {
  char magic[8];
  cxi_hash key, sum;       /* of all that follows `sum`, and the key */
  uint64_t stamp, content; /* bytes */
} header;
static const char magic[8] = "CALXKEPT";

static atomic_uint_fast64_t found, absent, rejected, written, not_written,
    evicted, bytes_read, bytes_written;

/* -- where ----------------------------------------------------------------- */

static bool read_limit(uint64_t *out, char *why) {
  const char *text = secure_getenv("CALX_CACHE_MAX");
  *out = (uint64_t)256 << 20;
  if (!text || !*text) return true;
  char *end;
  errno = 0;
  const unsigned long long n = strtoull(text, &end, 10);
  const char *suffix = "KMG", *unit = *end ? strchr(suffix, *end) : NULL;
  const int shift = unit ? 10 * (int)(unit - suffix + 1) : 0;
  if (text[0] < '0' || text[0] > '9' || errno || end[unit != NULL] ||
      n > UINT64_MAX >> shift) {
    snprintf(why, WHY, "CALX_CACHE_MAX is no size: %.40s", text);
    return false;
  }
  *out = n << shift;
  return true;
}

bool cxi_store_place(char *path, size_t room, uint64_t *out_limit, char *why) {
  const char *state = secure_getenv("CALX_CACHE");
  const char *named = secure_getenv("CALX_CACHE_DIR");
  const char *base = secure_getenv("XDG_CACHE_HOME"), *middle = "";
  if (state && strcmp(state, "off") == 0) {
    snprintf(why, WHY, "CALX_CACHE is off");
    return false;
  }
  if (!read_limit(out_limit, why)) return false;
  if (!base || base[0] != '/') {
    base = secure_getenv("HOME");
    middle = "/.cache";
  }
  int n = -1;
  if (named && *named)
    n = snprintf(path, room, "%s", named);
  else if (base && base[0] == '/')
    n = snprintf(path, room, "%s%s/calx", base, middle);
  if (n > 0 && (size_t)n < room && path[0] == '/') return true;
  snprintf(why, WHY,
           named && *named ? "CALX_CACHE_DIR is no absolute path"
                           : "there is no home directory for a cache");
  return false;
}

/* Makes the directory and those above it. */
static void make_directories(char *path) {
  for (char *at = path + 1; *at; at++) {
    if (*at != '/') continue;
    *at = 0;
    mkdir(path, 0700);
    *at = '/';
  }
  mkdir(path, 0700);
}

typedef struct place {
  char path[4096];
  uint64_t limit;
  int directory;
} place;

static cxi_stored open_place(place *p, bool make, char *why) {
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  struct stat s;
  if (!cxi_store_place(p->path, sizeof p->path, &p->limit, why))
    return CXI_STORED_OFF;
  p->directory = open(p->path, flags);
  if (p->directory < 0 && errno == ENOENT && make) {
    make_directories(p->path);
    p->directory = open(p->path, flags);
  }
  if (p->directory < 0) {
    const bool none = errno == ENOENT;
    snprintf(why, WHY, none ? "there is no directory %.100s" : "%.100s: %s",
             p->path, strerror(errno));
    return none ? CXI_STORED_ABSENT : CXI_STORED_REJECTED;
  }
  const char *fault = NULL;
  if (fstat(p->directory, &s))
    fault = "it cannot be looked at";
  else if (s.st_uid != geteuid())
    fault = "it is another user's";
  else if (s.st_mode & 077)
    fault = "others have access to it (chmod 700 it)";
  if (!fault) return CXI_STORED_FOUND;
  snprintf(why, WHY, "%.90s: %s", p->path, fault);
  close(p->directory);
  return CXI_STORED_REJECTED;
}

static void name_of(cxi_hash key, char *name) {
  snprintf(name, NAME, "%016llx%016llx", (unsigned long long)key.hi,
           (unsigned long long)key.lo);
}

static bool key_of(const char *name, cxi_hash *out) {
  if (strlen(name) != NAME - 1 || strspn(name, "0123456789abcdef") != NAME - 1)
    return false;
  char high[17] = { 0 };
  memcpy(high, name, 16);
  out->hi = strtoull(high, NULL, 16);
  out->lo = strtoull(name + 16, NULL, 16);
  return true;
}

/* -- reading --------------------------------------------------------------- */

static bool read_all(int file, unsigned char *to, size_t n) {
  while (n) {
    const ssize_t got = read(file, to, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    n -= (size_t)got;
  }
  return true;
}

/* Of the bytes of a whole file. */
static cxi_hash sum_of(const unsigned char *bytes, size_t n) {
  const size_t start = offsetof(header, stamp);
  header h;
  memcpy(&h, bytes, sizeof h);
  const cxi_hash rest = cxi_hash_bytes(bytes + start, n - start);
  const uint64_t both[] = { h.key.lo, h.key.hi, rest.lo, rest.hi };
  return cxi_hash_bytes(both, sizeof both);
}

/* NULL: the bytes are what the header says. */
static const char *fault_of(const unsigned char *bytes, size_t n,
                            cxi_hash key) {
  header h;
  memcpy(&h, bytes, sizeof h);
  if (memcmp(h.magic, magic, sizeof magic)) return "it is no entry of a cache";
  if (h.stamp > STAMP || h.content > n || sizeof h + h.stamp + h.content != n)
    return "it is not whole";
  if (!cxi_hash_equal(h.sum, sum_of(bytes, n)))
    return "its checksum is another";
  if (!cxi_hash_equal(h.key, key)) return "it is of another key";
  return NULL;
}

/* What may be otherwise the next time: the entry stays. */
static const char not_now[] = "it cannot be read now";

/* Only a file of ours that nobody else writes is read; through no link. */
static const char *read_file(int file, unsigned char **out, size_t *out_n) {
  struct stat s;
  if (fstat(file, &s)) return "it cannot be looked at";
  if (!S_ISREG(s.st_mode)) return "it is no file";
  if (s.st_uid != geteuid()) return "it is another user's";
  if (s.st_mode & 022) return "others can write it";
  if (s.st_size < (off_t)sizeof(header)) return "it is not whole";
  if (s.st_size > CXI_STORE_LARGEST) return "it is too large";
  unsigned char *bytes = cxi_alloc((size_t)s.st_size);
  if (!bytes) return not_now;
  if (!read_all(file, bytes, (size_t)s.st_size)) {
    cxi_free(bytes);
    return "it cannot be read";
  }
  *out = bytes;
  *out_n = (size_t)s.st_size;
  return NULL;
}

/* The bytes of a sound entry, to be freed; NULL with *fault, which is NULL if
 * there is none. */
static unsigned char *read_entry(int directory, const char *name, cxi_hash key,
                                 size_t *out_n, const char **fault) {
  unsigned char *bytes = NULL;
  const int file =
      openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  *fault = NULL;
  if (file < 0) {
    if (errno != ENOENT)
      *fault = errno == ELOOP ? "it is a symbolic link" : not_now;
    return NULL;
  }
  *fault = read_file(file, &bytes, out_n);
  if (!*fault) *fault = fault_of(bytes, *out_n, key);
  if (!*fault) futimens(file, NULL); /* used now */
  close(file);
  if (!*fault) return bytes;
  cxi_free(bytes);
  return NULL;
}

static void remove_entry(int directory, const char *name) {
  if (unlinkat(directory, name, 0)) unlinkat(directory, name, AT_REMOVEDIR);
}

static cxi_stored get(cxi_hash key, const char *stamp, cxi_bytes *out,
                      char *why) {
  place p;
  char name[NAME];
  size_t n;
  const cxi_stored open = open_place(&p, false, why);
  if (open != CXI_STORED_FOUND) return open;
  const char *fault;
  name_of(key, name);
  unsigned char *bytes = read_entry(p.directory, name, key, &n, &fault);
  header h = { .stamp = 0 };
  if (bytes) memcpy(&h, bytes, sizeof h);
  if (bytes &&
      (h.stamp != strlen(stamp) || memcmp(bytes + sizeof h, stamp, h.stamp)))
    fault = "it is of another build";
  if (fault && fault != not_now) remove_entry(p.directory, name);
  close(p.directory);
  cxi_stored result = CXI_STORED_FOUND;
  if (fault) {
    snprintf(why, WHY, "entry %s: %s", name, fault);
    result = CXI_STORED_REJECTED;
  } else if (!bytes) {
    snprintf(why, WHY, "no entry %s", name);
    result = CXI_STORED_ABSENT;
  } else {
    cxi_bytes_add(out, bytes + sizeof h + h.stamp, h.content);
    atomic_fetch_add(&bytes_read, n);
  }
  cxi_free(bytes);
  return result;
}

cxi_stored cxi_store_get(cxi_hash key, const char *stamp, cxi_bytes *out,
                         char *why) {
  const cxi_stored result = get(key, stamp, out, why);
  if (result == CXI_STORED_FOUND) atomic_fetch_add(&found, 1);
  if (result == CXI_STORED_ABSENT) atomic_fetch_add(&absent, 1);
  if (result == CXI_STORED_REJECTED) atomic_fetch_add(&rejected, 1);
  return result;
}

/* -- all of them ----------------------------------------------------------- */

typedef struct listed {
  char name[NAME];
  uint64_t bytes;
  struct timespec used;
} listed;

typedef struct listing {
  listed *d;
  uint32_t n, cap;
  uint64_t bytes;
} listing;

static int newest_first(const void *a, const void *b) {
  const listed *x = a, *y = b;
  if (x->used.tv_sec != y->used.tv_sec)
    return x->used.tv_sec > y->used.tv_sec ? -1 : 1;
  if (x->used.tv_nsec != y->used.tv_nsec)
    return x->used.tv_nsec > y->used.tv_nsec ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* Entries by age; what writers that have gone left is removed. */
static bool list_entries(int directory, listing *out) {
  *out = (listing){ 0 };
  const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = again < 0 ? NULL : fdopendir(again);
  if (!d) {
    if (again >= 0) close(again);
    return false;
  }
  const time_t now = time(NULL);
  bool ok = true;
  for (struct dirent *e; ok && (e = readdir(d));) {
    struct stat s;
    cxi_hash key;
    if (fstatat(directory, e->d_name, &s, AT_SYMLINK_NOFOLLOW)) continue;
    if (!strncmp(e->d_name, temporary, sizeof temporary - 1) &&
        now - s.st_mtime > STALE_SECONDS)
      unlinkat(directory, e->d_name, 0);
    if (!key_of(e->d_name, &key)) continue;
    ok = cxi_grow(&out->d, &out->cap, out->n + (size_t)1, sizeof *out->d);
    if (!ok) break;
    listed *l = &out->d[out->n++];
    memcpy(l->name, e->d_name, NAME);
    l->bytes = (uint64_t)s.st_size;
    l->used = s.st_mtim;
    out->bytes += l->bytes;
  }
  closedir(d);
  if (!ok) cxi_free(out->d);
  if (ok && out->n) qsort(out->d, out->n, sizeof *out->d, newest_first);
  return ok;
}

/* Another process may do the same: who removes a file first counts it. */
static void evict(const place *p) {
  listing all;
  if (!list_entries(p->directory, &all)) return;
  while (all.n && all.bytes > p->limit) {
    const listed *last = &all.d[--all.n];
    all.bytes -= last->bytes;
    if (!unlinkat(p->directory, last->name, 0)) atomic_fetch_add(&evicted, 1);
  }
  cxi_free(all.d);
}

int64_t cxi_store_each(bool check, void (*f)(const cxi_store_entry *, void *),
                       void *user, char *why) {
  place p;
  listing all;
  if (open_place(&p, false, why) != CXI_STORED_FOUND) return -1;
  const bool ok = list_entries(p.directory, &all);
  const time_t now = time(NULL);
  for (uint32_t i = 0; ok && i < all.n; i++) {
    const listed *l = &all.d[i];
    cxi_store_entry e = { l->name, l->bytes, (int64_t)(now - l->used.tv_sec),
                          NULL, NULL };
    char stamp[STAMP + 1] = "";
    unsigned char *bytes = NULL;
    if (check) {
      cxi_hash key;
      size_t n;
      header h;
      key_of(l->name, &key);
      bytes = read_entry(p.directory, l->name, key, &n, &e.fault);
      if (bytes) {
        memcpy(&h, bytes, sizeof h);
        memcpy(stamp, bytes + sizeof h, h.stamp);
        e.stamp = stamp;
        cxi_free(bytes);
      } else if (e.fault && e.fault != not_now) {
        remove_entry(p.directory, l->name);
      }
    }
    f(&e, user);
  }
  close(p.directory);
  if (!ok) snprintf(why, WHY, "%.100s cannot be listed", p.path);
  const int64_t n = ok ? (int64_t)all.n : -1;
  if (ok) cxi_free(all.d);
  return n;
}

int64_t cxi_store_clear(char *why) {
  place p;
  listing all;
  if (open_place(&p, false, why) != CXI_STORED_FOUND) return -1;
  const bool ok = list_entries(p.directory, &all);
  int64_t n = 0;
  for (uint32_t i = 0; ok && i < all.n; i++) {
    remove_entry(p.directory, all.d[i].name);
    n++;
  }
  close(p.directory);
  if (!ok) snprintf(why, WHY, "%.100s cannot be listed", p.path);
  if (ok) cxi_free(all.d);
  return ok ? n : -1;
}

/* -- writing --------------------------------------------------------------- */

static bool write_all(int file, const unsigned char *from, size_t n) {
  while (n) {
    const ssize_t put = write(file, from, n);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    from += put;
    n -= (size_t)put;
  }
  return true;
}

static unsigned char *make_entry(cxi_hash key, const char *stamp,
                                 const void *content, size_t n, size_t *out_n) {
  header h = { .key = key, .stamp = strlen(stamp), .content = n };
  memcpy(h.magic, magic, sizeof magic);
  *out_n = sizeof h + h.stamp + n;
  unsigned char *bytes = cxi_alloc(*out_n);
  if (!bytes) return NULL;
  memcpy(bytes, &h, sizeof h);
  memcpy(bytes + sizeof h, stamp, h.stamp);
  memcpy(bytes + sizeof h + h.stamp, content, n);
  h.sum = sum_of(bytes, *out_n);
  memcpy(bytes, &h, sizeof h);
  return bytes;
}

/* A checksum tells a file that a crash cut short, so nothing is synced. */
static bool write_entry(int directory, const char *name,
                        const unsigned char *bytes, size_t n) {
  static atomic_uint count;
  char other[64];
  snprintf(other, sizeof other, "%s%ld-%u", temporary, (long)getpid(),
           atomic_fetch_add(&count, 1));
  unlinkat(directory, other, 0); /* of a process that had this number */
  const int file =
      openat(directory, other,
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool good = write_all(file, bytes, n);
  good = close(file) == 0 && good;
  good = good && renameat(directory, other, directory, name) == 0;
  if (good) return true;
  const int error = errno;
  unlinkat(directory, other, 0);
  errno = error;
  return false;
}

/* *off: nothing is to be kept at all. */
static bool put(cxi_hash key, const char *stamp, const void *content, size_t n,
                bool *off, char *why) {
  place p;
  char name[NAME];
  if (strlen(stamp) > STAMP || n > CXI_STORE_LARGEST - sizeof(header) - STAMP) {
    snprintf(why, WHY, "it is too large");
    return false;
  }
  const cxi_stored open = open_place(&p, true, why);
  *off = open == CXI_STORED_OFF;
  if (open != CXI_STORED_FOUND) return false;
  size_t size;
  unsigned char *bytes = make_entry(key, stamp, content, n, &size);
  name_of(key, name);
  bool good = false;
  if (!bytes) {
    snprintf(why, WHY, "there is no memory for it");
  } else if (size > p.limit) {
    snprintf(why, WHY, "it is larger than CALX_CACHE_MAX");
  } else {
    good = write_entry(p.directory, name, bytes, size);
    if (!good)
      snprintf(why, WHY, "%.100s: %s", p.path, strerror(errno));
    else
      evict(&p);
  }
  if (good) atomic_fetch_add(&bytes_written, size);
  cxi_free(bytes);
  close(p.directory);
  return good;
}

bool cxi_store_put(cxi_hash key, const char *stamp, const void *content,
                   size_t n, char *why) {
  bool off = false;
  const bool good = put(key, stamp, content, n, &off, why);
  if (!off) atomic_fetch_add(good ? &written : &not_written, 1);
  return good;
}

cxi_store_stats cxi_store_now(void) {
  return (cxi_store_stats){
    atomic_load(&found),       atomic_load(&absent),
    atomic_load(&rejected),    atomic_load(&written),
    atomic_load(&not_written), atomic_load(&evicted),
    atomic_load(&bytes_read),  atomic_load(&bytes_written)
  };
}
