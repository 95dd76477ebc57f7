/* store_test.c - the directory of small files by key: what comes back is what
 * was put, whatever is done to the directory in between. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/store.h"

static char root[64], path[96];
static const char stamp[] = "build 1";
static char why[160];

/* A directory that is not there yet. */
static int begin(void **state) {
  (void)state;
  snprintf(root, sizeof root, "/tmp/calx-store-XXXXXX");
  if (!mkdtemp(root)) return -1;
  snprintf(path, sizeof path, "%s/deep/er", root);
  setenv("CALX_CACHE_DIR", path, 1);
  unsetenv("CALX_CACHE");
  unsetenv("CALX_CACHE_MAX");
  return 0;
}

static int end(void **state) {
  (void)state;
  char command[160];
  snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", root, root);
  return system(command);
}

static cxi_hash key_of(uint64_t i) {
  return cxi_hash_bytes(&i, sizeof i);
}

/* Content of n bytes that tells keys apart. */
static unsigned char *content(uint64_t i, size_t n) {
  static unsigned char bytes[1 << 16];
  for (size_t k = 0; k < n; k++) bytes[k] = (unsigned char)(i * 31 + k * 7);
  return bytes;
}

static bool put(uint64_t i, size_t n) {
  return cxi_store_put(key_of(i), stamp, content(i, n), n, why);
}

static cxi_stored get(uint64_t i, size_t n) {
  cxi_bytes bytes = { 0 };
  const cxi_stored result = cxi_store_get(key_of(i), stamp, &bytes, why);
  if (result == CXI_STORED_FOUND) {
    assert_int_equal(bytes.n, n);
    assert_memory_equal(bytes.data, content(i, n), n);
  } else {
    assert_int_equal(bytes.n, 0);
  }
  cxi_bytes_free(&bytes);
  return result;
}

static char *file_of(uint64_t i) {
  static char name[160];
  const cxi_hash key = key_of(i);
  snprintf(name, sizeof name, "%s/%016llx%016llx", path,
           (unsigned long long)key.hi, (unsigned long long)key.lo);
  return name;
}

static void count(const cxi_store_entry *e, void *user) {
  *(uint64_t *)user += e->bytes;
}

static uint64_t bytes_of_all(int64_t *n) {
  uint64_t bytes = 0;
  *n = cxi_store_each(false, count, &bytes, why);
  return bytes;
}

static void test_round(void **state) {
  (void)state;
  struct stat s;
  assert_int_equal(get(1, 0), CXI_STORED_ABSENT);
  assert_true(put(1, 1000));
  assert_true(put(2, 0));
  assert_int_equal(get(1, 1000), CXI_STORED_FOUND);
  assert_int_equal(get(2, 0), CXI_STORED_FOUND);
  assert_int_equal(get(3, 0), CXI_STORED_ABSENT);
  assert_non_null(strstr(why, "no entry"));
  assert_int_equal(stat(path, &s), 0);
  assert_int_equal(s.st_mode & 0777, 0700);
  assert_int_equal(stat(file_of(1), &s), 0);
  assert_int_equal(s.st_mode & 0777, 0600);
  assert_true(put(1, 500)); /* again: replaced */
  assert_int_equal(get(1, 500), CXI_STORED_FOUND);
  int64_t n;
  bytes_of_all(&n);
  assert_int_equal(n, 2);
  assert_int_equal(cxi_store_clear(why), 2);
  assert_int_equal(get(1, 0), CXI_STORED_ABSENT);
}

/* -- damage ---------------------------------------------------------------- */

static void expect_rejected(uint64_t i, size_t n, const char *reason) {
  const uint64_t before = cxi_store_now().rejected;
  assert_int_equal(get(i, n), CXI_STORED_REJECTED);
  if (!strstr(why, reason)) fail_msg("%s, not: %s", reason, why);
  assert_int_equal(cxi_store_now().rejected, before + 1);
  assert_int_equal(access(file_of(i), F_OK), -1); /* it is gone */
  assert_int_equal(get(i, n), CXI_STORED_ABSENT);
  assert_true(put(i, n));
  assert_int_equal(get(i, n), CXI_STORED_FOUND);
}

/* Each bit of each byte of a small entry; each length of it. */
static void test_bits(void **state) {
  (void)state;
  struct stat s;
  assert_true(put(1, 40));
  assert_int_equal(stat(file_of(1), &s), 0);
  for (off_t at = 0; at < s.st_size; at++) {
    unsigned char byte;
    int file = open(file_of(1), O_RDWR);
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= (unsigned char)(1 << at % 8);
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    close(file);
    expect_rejected(1, 40, "entry");
  }
  for (off_t size = 0; size < s.st_size; size++) {
    assert_int_equal(truncate(file_of(1), size), 0);
    expect_rejected(1, 40, "not whole");
  }
  const int file = open(file_of(1), O_WRONLY | O_APPEND);
  assert_int_equal(write(file, "x", 1), 1);
  close(file);
  expect_rejected(1, 40, "not whole");
}

static void test_other_files(void **state) {
  (void)state;
  assert_true(put(1, 40));
  assert_true(put(2, 40));
  char two[160]; /* another key's entry under this name */
  snprintf(two, sizeof two, "%s", file_of(2));
  assert_int_equal(rename(two, file_of(1)), 0);
  expect_rejected(1, 40, "another key");
  /* no entry at all, but large: it is not read */
  assert_int_equal(truncate(file_of(1), (off_t)1 << 40), 0);
  expect_rejected(1, 40, "too large");
  /* another build's */
  assert_true(cxi_store_put(key_of(1), "build 2", content(1, 40), 40, why));
  expect_rejected(1, 40, "another build");
  /* not files */
  assert_int_equal(unlink(file_of(1)), 0);
  assert_int_equal(symlink("/etc/passwd", file_of(1)), 0);
  expect_rejected(1, 40, "symbolic link");
  assert_int_equal(access("/etc/passwd", F_OK), 0);
  assert_int_equal(unlink(file_of(1)), 0);
  assert_int_equal(mkfifo(file_of(1), 0600), 0);
  expect_rejected(1, 40, "no file");
  assert_int_equal(unlink(file_of(1)), 0);
  assert_int_equal(mkdir(file_of(1), 0700), 0);
  expect_rejected(1, 40, "no file");
  assert_int_equal(chmod(file_of(1), 0666), 0);
  expect_rejected(1, 40, "others can write it");
  if (geteuid() == 0) {
    assert_int_equal(chown(file_of(1), 12345, 12345), 0);
    expect_rejected(1, 40, "another user's");
  }
}

/* A link in the place of what is about to be written is not written through. */
static void test_put_over_link(void **state) {
  (void)state;
  char other[128];
  struct stat s;
  snprintf(other, sizeof other, "%s/other", root);
  assert_true(put(1, 40));
  assert_int_equal(unlink(file_of(1)), 0);
  assert_int_equal(symlink(other, file_of(1)), 0);
  assert_true(put(1, 40));
  assert_int_equal(access(other, F_OK), -1);
  assert_int_equal(lstat(file_of(1), &s), 0);
  assert_true(S_ISREG(s.st_mode));
  assert_int_equal(get(1, 40), CXI_STORED_FOUND);
}

/* -- the directory --------------------------------------------------------- */

static void refuse(const char *reason) {
  if (get(1, 0) == CXI_STORED_FOUND) fail_msg("found in spite of: %s", reason);
  if (!strstr(why, reason)) fail_msg("%s, not: %s", reason, why);
  assert_false(put(1, 40));
  if (!strstr(why, reason)) fail_msg("%s, not: %s", reason, why);
}

static void test_directory(void **state) {
  (void)state;
  assert_true(put(1, 40));
  static const mode_t open_to_others[] = { 0777, 0770, 0755, 0701 };
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(chmod(path, open_to_others[i]), 0);
    refuse("chmod 700");
  }
  assert_int_equal(chmod(path, 0700), 0);
  assert_int_equal(get(1, 40), CXI_STORED_FOUND);
  if (geteuid() == 0) {
    assert_int_equal(chown(path, 12345, 12345), 0);
    refuse("another user's");
    assert_int_equal(chown(path, 0, 0), 0);
  }
  char link[128];
  snprintf(link, sizeof link, "%s/link", root);
  assert_int_equal(symlink(path, link), 0);
  setenv("CALX_CACHE_DIR", link, 1);
  refuse(""); /* a link, or what follows it is no directory */
  setenv("CALX_CACHE_DIR", "/dev/null", 1);
  refuse("/dev/null");
  setenv("CALX_CACHE_DIR", "/dev/null/calx", 1);
  refuse("/dev/null/calx");
  setenv("CALX_CACHE_DIR", "/proc/calx", 1); /* nothing can be made there */
  refuse("/proc/calx");
  setenv("CALX_CACHE_DIR", "here", 1);
  refuse("no absolute path");
  setenv("CALX_CACHE_DIR", path, 1);
  setenv("CALX_CACHE", "off", 1);
  refuse("off");
  unsetenv("CALX_CACHE");
  assert_int_equal(get(1, 40), CXI_STORED_FOUND);
}

/* As another user, where the tests are run by one who can become so. */
static void test_not_writable(void **state) {
  (void)state;
  assert_true(put(1, 40));
  assert_int_equal(chmod(path, 0500), 0);
  char deep[80];
  snprintf(deep, sizeof deep, "%s/deep", root);
  assert_int_equal(chmod(deep, 0711), 0);
  const pid_t child = fork();
  if (child == 0) {
    int status = 0;
    if (geteuid() == 0) {
      status = chmod(root, 0711) || chown(path, 12345, 12345) ||
               chown(file_of(1), 12345, 12345) || setuid(12345);
    }
    cxi_bytes bytes = { 0 };
    if (cxi_store_get(key_of(1), stamp, &bytes, why) != CXI_STORED_FOUND)
      status |= 2;
    if (put(2, 40) || !strstr(why, "Permission denied")) status |= 4;
    _exit(status);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* A limit on the size of files stands for a full disk. */
static void test_full(void **state) {
  (void)state;
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit little = { 500, before.rlim_max };
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
  const uint64_t failed = cxi_store_now().failed;
  const bool good = put(1, 1000);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  assert_false(good);
  assert_non_null(strstr(why, strerror(EFBIG)));
  assert_int_equal(cxi_store_now().failed, failed + 1);
  assert_int_equal(get(1, 0), CXI_STORED_ABSENT);
  assert_int_equal(rmdir(path), 0); /* nothing is left in it */
  assert_true(put(1, 1000));
}

static void test_places(void **state) {
  (void)state;
  char place[4096];
  uint64_t limit;
  unsetenv("CALX_CACHE_DIR");
  setenv("XDG_CACHE_HOME", "/x/y", 1);
  assert_true(cxi_store_place(place, sizeof place, &limit, why));
  assert_string_equal(place, "/x/y/calx");
  assert_int_equal(limit, 256 << 20);
  setenv("XDG_CACHE_HOME", "relative", 1); /* the specification ignores it */
  const char *home = getenv("HOME");
  char *before = home ? strdup(home) : NULL;
  setenv("HOME", "/h", 1);
  assert_true(cxi_store_place(place, sizeof place, &limit, why));
  assert_string_equal(place, "/h/.cache/calx");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  assert_false(cxi_store_place(place, sizeof place, &limit, why));
  assert_non_null(strstr(why, "no home"));
  if (before) setenv("HOME", before, 1);
  free(before);
  setenv("CALX_CACHE_DIR", path, 1);
  static const struct {
    const char *text;
    uint64_t bytes; /* 0: no size */
  } sizes[] = { { "1000", 1000 },
                { "3K", 3072 },
                { "2M", 2 << 20 },
                { "1G", 1 << 30 },
                { "x", 0 },
                { "-1", 0 },
                { "1T", 0 },
                { "1KB", 0 },
                { " 1", 0 },
                { "99999999999999999999", 0 },
                { "99999999999999999G", 0 } };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    setenv("CALX_CACHE_MAX", sizes[i].text, 1);
    const bool good = cxi_store_place(place, sizeof place, &limit, why);
    assert_int_equal(good, sizes[i].bytes != 0);
    if (good)
      assert_int_equal(limit, sizes[i].bytes);
    else
      assert_non_null(strstr(why, "CALX_CACHE_MAX"));
  }
}

/* -- the bound ------------------------------------------------------------- */

static void set_age(uint64_t i, time_t seconds) {
  const struct timespec t = { time(NULL) - seconds, 0 };
  const struct timespec times[] = { t, t };
  assert_int_equal(utimensat(AT_FDCWD, file_of(i), times, 0), 0);
}

static void test_bound(void **state) {
  (void)state;
  int64_t n;
  setenv("CALX_CACHE_MAX", "10K", 1);
  for (uint64_t i = 0; i < 8; i++) {
    assert_true(put(i, 1000));
    set_age(i, 1000 - (time_t)i);
  }
  assert_int_equal(get(0, 1000), CXI_STORED_FOUND); /* used: not the oldest */
  const uint64_t before = cxi_store_now().evicted;
  for (uint64_t i = 8; i < 12; i++) assert_true(put(i, 1000));
  assert_true(bytes_of_all(&n) <= 10 << 10);
  assert_true(cxi_store_now().evicted > before);
  assert_int_equal(get(0, 1000), CXI_STORED_FOUND);
  assert_int_equal(get(1, 1000), CXI_STORED_ABSENT);
  assert_int_equal(get(11, 1000), CXI_STORED_FOUND);
  setenv("CALX_CACHE_MAX", "1K", 1); /* one entry is larger than that */
  assert_false(put(20, 2000));
  assert_non_null(strstr(why, "CALX_CACHE_MAX"));
  assert_true(put(21, 100));
  assert_true(bytes_of_all(&n) <= 1 << 10);
  setenv("CALX_CACHE_MAX", "0", 1);
  assert_false(put(22, 1));
}

/* What a writer that was killed left is removed once it is old. */
static void test_stale(void **state) {
  (void)state;
  char old[160], young[160];
  assert_true(put(1, 10));
  snprintf(old, sizeof old, "%s/.new-1-1", path);
  snprintf(young, sizeof young, "%s/.new-2-2", path);
  assert_true(close(creat(old, 0600)) == 0 && close(creat(young, 0600)) == 0);
  const struct timespec t = { time(NULL) - 3600, 0 };
  const struct timespec times[] = { t, t };
  assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
  assert_true(put(2, 10));
  assert_int_equal(access(old, F_OK), -1);
  assert_int_equal(access(young, F_OK), 0);
}

/* -- many processes -------------------------------------------------------- */

enum { PROCESSES = 8, ROUNDS = 150, KEYS = 24, ENTRY = 3000 };

/* Puts, gets, damages and removes what all others do too. Whatever comes back
 * is whole: get() compares. */
static void race(int who) {
  uint64_t x = (uint64_t)who * 977 + 1;
  for (int i = 0; i < ROUNDS; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const uint64_t k = (x >> 33) % KEYS;
    switch ((x >> 20) % 8) {
    case 0:
      if (truncate(file_of(k), (off_t)((x >> 40) % ENTRY)))
        assert_int_equal(errno, ENOENT);
      break;
    case 1:
      unlink(file_of(k));
      break;
    case 2:
    case 3:
    case 4:
      put(k, ENTRY);
      break;
    default:
      get(k, ENTRY);
    }
  }
}

static void test_race(void **state) {
  (void)state;
  pid_t children[PROCESSES];
  setenv("CALX_CACHE_MAX", "40K", 1);
  for (int i = 0; i < PROCESSES; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      race(i); /* a failed check ends in exit, status not 0 */
      _exit(0);
    }
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  int64_t n;
  assert_true(put(1, ENTRY)); /* at rest the bound holds */
  assert_true(bytes_of_all(&n) <= 40 << 10);
  assert_int_equal(get(1, ENTRY), CXI_STORED_FOUND);
}

/* Each allocation of a get and a put made to fail: an answer, and no leak. */
static void test_memory(void **state) {
  (void)state;
  assert_true(put(1, 100));
  for (uint64_t i = 0; i < 12; i++) {
    const size_t before = cxi_alloc_now().live_bytes;
    cxi_bytes bytes = { 0 };
    cxi_alloc_fail_after(i);
    const bool kept =
        cxi_store_put(key_of(1), stamp, content(1, 100), 100, why);
    const cxi_stored got = cxi_store_get(key_of(1), stamp, &bytes, why);
    cxi_alloc_fail_after(UINT64_MAX);
    if (got == CXI_STORED_FOUND && !bytes.failed)
      assert_memory_equal(bytes.data, content(1, 100), 100);
    if (i == 0) assert_false(kept);
    cxi_bytes_free(&bytes);
    assert_int_equal(cxi_alloc_now().live_bytes, before);
  }
  assert_true(put(1, 100));
  assert_int_equal(get(1, 100), CXI_STORED_FOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_round, begin, end),
    cmocka_unit_test_setup_teardown(test_bits, begin, end),
    cmocka_unit_test_setup_teardown(test_other_files, begin, end),
    cmocka_unit_test_setup_teardown(test_put_over_link, begin, end),
    cmocka_unit_test_setup_teardown(test_directory, begin, end),
    cmocka_unit_test_setup_teardown(test_not_writable, begin, end),
    cmocka_unit_test_setup_teardown(test_full, begin, end),
    cmocka_unit_test_setup_teardown(test_places, begin, end),
    cmocka_unit_test_setup_teardown(test_bound, begin, end),
    cmocka_unit_test_setup_teardown(test_stale, begin, end),
    cmocka_unit_test_setup_teardown(test_race, begin, end),
    cmocka_unit_test_setup_teardown(test_memory, begin, end)
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
