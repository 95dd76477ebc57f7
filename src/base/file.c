/* file.c - files mapped, files replaced as a whole. */
#define _GNU_SOURCE
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

/* "cannot open: No such file or directory"; callers name the file. */
static bool fail(cxi_error *error, const char *verb, int number) {
  char room[128];
  return cxi_error_set(error, CX_EIO, "cannot %s: %s", verb,
                       strerror_r(number, room, sizeof room));
}

/* -- Reading -------------------------------------------------------------- */

static bool map_open_file(int fd, cxi_file *out, cxi_error *error) {
  struct stat info;
  if (fstat(fd, &info) != 0) return fail(error, "read", errno);
  if (S_ISDIR(info.st_mode)) return fail(error, "read", EISDIR);
  if (!S_ISREG(info.st_mode)) return fail(error, "map", ENODEV);
  if (info.st_size == 0) return true;
  void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return fail(error, "map", errno);
  out->data = data;
  out->size = (size_t)info.st_size;
  return true;
}

bool cxi_file_map(const char *path, cxi_file *out, cxi_error *error) {
  *out = (cxi_file){ 0 };
  /* Without waiting for a writer, should it be a pipe. */
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(error, "open", errno);
  const bool mapped = map_open_file(fd, out, error);
  close(fd);
  return mapped;
}

void cxi_file_unmap(cxi_file *file) {
  if (file->data) munmap((void *)file->data, file->size);
  *file = (cxi_file){ 0 };
}

/* -- Writing -------------------------------------------------------------- */

enum { BUFFER_BYTES = 1 << 16, TEMPORARY_BYTES = 48 };

struct cxi_writer {
  char *path, *temporary;
  int fd;
  int error;   /* errno of the first failure */
  size_t used; /* bytes of the buffer */
  unsigned char buffer[BUFFER_BYTES];
};

/* A new file beside `path`, with the rights of the file that it replaces. */
static int create_temporary(const char *path, char *out, size_t room) {
  static _Atomic unsigned serial;
  struct stat old;
  for (int attempt = 0; attempt < 100; attempt++) {
    snprintf(out, room, "%s.%ld-%u.tmp", path, (long)getpid(),
             atomic_fetch_add(&serial, 1));
    const int fd = open(out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    /* Where rights cannot be set, those of a new file serve. */
    if (fd >= 0 && stat(path, &old) == 0 && fchmod(fd, old.st_mode & 0777) != 0)
      errno = 0;
    return fd;
  }
  return -1;
}

static void writer_free(cxi_writer *w) {
  if (w->fd >= 0) close(w->fd);
  cxi_free(w->temporary);
  cxi_free(w->path);
  cxi_free(w);
}

cxi_writer *cxi_writer_open(const char *path, cxi_error *error) {
  const size_t room = strlen(path) + TEMPORARY_BYTES;
  cxi_writer *w = cxi_alloc(sizeof *w);
  if (!w) goto no_memory;
  w->fd = -1;
  w->error = 0;
  w->used = 0;
  w->path = cxi_copy_string(path);
  w->temporary = w->path ? cxi_alloc(room) : NULL;
  if (!w->temporary) goto no_memory;
  w->fd = create_temporary(w->path, w->temporary, room);
  if (w->fd >= 0) return w;
  fail(error, "write", errno);
  writer_free(w);
  return NULL;

no_memory:
  cxi_error_set(error, CX_EMEMORY, "out of memory");
  if (w) writer_free(w);
  return NULL;
}

static void write_out(cxi_writer *w, const unsigned char *bytes, size_t n) {
  while (n && !w->error) {
    const ssize_t written = write(w->fd, bytes, n);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      w->error = written < 0 ? errno : EIO;
      return;
    }
    bytes += written;
    n -= (size_t)written;
  }
}

static void flush(cxi_writer *w) {
  write_out(w, w->buffer, w->used);
  w->used = 0;
}

void cxi_writer_add(cxi_writer *w, const void *bytes, size_t n) {
  if (n > BUFFER_BYTES - w->used) flush(w);
  if (n >= BUFFER_BYTES) {
    write_out(w, bytes, n);
  } else if (n) {
    memcpy(w->buffer + w->used, bytes, n);
    w->used += n;
  }
}

/* So that the new name survives a crash; a file system that cannot do it has
 * no more to offer. */
static void sync_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  char *folder = cxi_copy_string(slash ? path : ".");
  if (!folder) return;
  if (slash) folder[slash == path ? 1 : slash - path] = 0;
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    fsync(fd);
    close(fd);
  }
  cxi_free(folder);
}

/* A written file takes the place of `path`; after a failure it is removed. */
static bool settle(const char *temporary, const char *path, int failure,
                   cxi_error *error) {
  if (!failure && rename(temporary, path) != 0) failure = errno;
  if (failure) {
    unlink(temporary);
    return fail(error, "write", failure);
  }
  sync_folder(path);
  return true;
}

bool cxi_writer_commit(cxi_writer *w, cxi_error *error) {
  flush(w);
  if (!w->error && fsync(w->fd) != 0) w->error = errno;
  if (close(w->fd) != 0 && !w->error) w->error = errno;
  w->fd = -1;
  const bool good = settle(w->temporary, w->path, w->error, error);
  writer_free(w);
  return good;
}

void cxi_writer_abandon(cxi_writer *w) {
  if (!w) return;
  unlink(w->temporary);
  writer_free(w);
}

/* -- Writing by name ------------------------------------------------------ */

char *cxi_file_temporary(const char *path, cxi_error *error) {
  const size_t room = strlen(path) + TEMPORARY_BYTES;
  char *name = cxi_alloc(room);
  const int fd = name ? create_temporary(path, name, room) : -1;
  if (fd >= 0) {
    close(fd);
    return name;
  }
  if (name)
    fail(error, "write", errno);
  else
    cxi_error_set(error, CX_EMEMORY, "out of memory");
  cxi_free(name);
  return NULL;
}
bool cxi_file_replace(const char *temporary, const char *path,
                      cxi_error *error) {
  const int fd = open(temporary, O_RDONLY | O_CLOEXEC);
  const int failure = fd < 0 || fsync(fd) != 0 ? errno : 0;
  if (fd >= 0) close(fd);
  return settle(temporary, path, failure, error);
}
bool cxi_file_discard(const char *temporary) {
  unlink(temporary);
  return false;
}
