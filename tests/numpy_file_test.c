/* numpy_file_test.c - .npy and .npz files in and out, sound and hostile. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "support/calls.h"

static char folder[] = "/tmp/calx-numpy-XXXXXX";
static char npy[64], npz[64];

static int make_folder(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  snprintf(npy, sizeof npy, "%s/a.npy", folder);
  snprintf(npz, sizeof npz, "%s/a.npz", folder);
  return 0;
}
static int remove_folder(void **state) {
  (void)state;
  unlink(npy), unlink(npz);
  return rmdir(folder); /* fails if a temporary was left */
}

/* -- files by hand -------------------------------------------------------- */

static void put(const char *path, const void *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}
/* A file of NumPy's: version, the dict, the elements. */
static size_t make_npy(unsigned char *out, int version, const char *dict,
                       const void *data, size_t bytes) {
  const size_t n = strlen(dict) + 1, prefix = version == 1 ? 10 : 12;
  memset(out, 0, prefix);
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (unsigned char)version;
  out[8] = (unsigned char)n, out[9] = (unsigned char)(n >> 8);
  memcpy(out + prefix, dict, n - 1);
  out[prefix + n - 1] = '\n';
  if (bytes) memcpy(out + prefix + n, data, bytes);
  return prefix + n + bytes;
}
static void put_npy(int version, const char *dict, const void *data,
                    size_t bytes) {
  unsigned char *file = malloc(strlen(dict) + 16 + bytes);
  put(npy, file, make_npy(file, version, dict, data, bytes));
  free(file);
}
static void put_npz(int n, const char *const *names,
                    const unsigned char *const *data, const size_t *bytes,
                    bool packed) {
  int code;
  zip_t *zip = zip_open(npz, ZIP_CREATE | ZIP_TRUNCATE, &code);
  assert_non_null(zip);
  for (int i = 0; i < n; i++) {
    zip_source_t *s = zip_source_buffer(zip, data[i], bytes[i], 0);
    zip_int64_t at = zip_file_add(zip, names[i], s, 0);
    assert_true(at >= 0);
    zip_set_file_compression(zip, (zip_uint64_t)at,
                             packed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  assert_int_equal(zip_close(zip), 0);
}
static void assert_no_load(const char *path, cx_code code, const char *part) {
  cx tree = cx_load(path);
  assert_int_equal(cx_leaf_count(tree), 0);
  assert_error(code, part);
}
static void assert_refused(const char *path, cx_code code, const char *part) {
  assert_no_load(path, code, part);
  assert_string_equal(cx_inspect(path), "");
  assert_error(code, part);
}

/* -- sound files ---------------------------------------------------------- */

static cx numbers(cx_dtype t) {
  return t == CX_BOOL ? cx_gt(cx_arange(0, 6, 1, CX_I32), 2)
                      : cx_cast(cx_arange(0, 6, 1, CX_I32), t);
}
static void test_every_dtype_comes_back(void **state) {
  (void)state;
  cx tree = cx_dict("start", cx_zeros(CX_F32, 0, 3));
  for (cx_dtype t = CX_BOOL; t <= CX_F64; t++) {
    if (t == CX_BF16) continue;
    cx x = cx_reshape(numbers(t), 3, 1, 2);
    assert_true(cx_save(npy, x));
    assert_same_bits(cx_load(npy), x);
    char name[16];
    snprintf(name, sizeof name, "part.d%d", (int)t);
    tree = cx_put(tree, x, "%s", name);
  }
  tree = cx_put(tree, cx_scalar(2.5, CX_F64), "scalar");
  assert_true(cx_save(npz, tree));
  cx back = cx_load(npz);
  assert_true(cx_ok());
  assert_int_equal(cx_leaf_count(back), cx_leaf_count(tree));
  for (int i = 0; i < cx_leaf_count(tree); i++)
    assert_same_bits(cx_get(back, "%s", cx_leaf_path(tree, i)), cx_leaf(tree, i));
  assert_non_null(strstr(cx_inspect(npz), "part.d12 <f4[3,1,2] 24 bytes\n"));
  assert_true(cx_save(npy, cx_zeros(CX_I64, 0)));
  assert_string_equal(cx_inspect(npy), "array <i8[0] 0 bytes\n");
}
static void test_orders(void **state) {
  (void)state;
  const unsigned char big[12] = { 0, 0, 0, 1, 0, 0, 0, 2, 255, 255, 255, 253 };
  put_npy(1, "{'descr': '>i4', 'fortran_order': False, 'shape': (3,), }", big,
          12);
  assert_same_bits(cx_load(npy), cx_array(int32_t, 1, 2, -3));
  const int16_t columns[6] = { 1, 4, 2, 5, 3, 6 };
  put_npy(2, "{\"shape\":(2,3),\"fortran_order\":True,\"descr\":\"<i2\"}",
          columns, 12);
  cx rows = cx_reshape(cx_cast(cx_arange(1, 7, 1, CX_I32), CX_I16), 2, 3);
  assert_same_bits(cx_load(npy), rows);
  const unsigned char both[12] = { 0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6 };
  put_npy(3, "{'descr': '>i2', 'fortran_order': True, 'shape': (2L, 3L)}", both,
          12);
  assert_same_bits(cx_load(npy), rows);
  put_npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': ()}", "\x07",
          1);
  assert_true(cx_item(cx_load(npy)) == 1);
}
static void test_archives_of_others(void **state) {
  (void)state;
  unsigned char a[256], b[256];
  const float x[4] = { 1, 2, 3, 4 };
  const size_t bytes[2] = {
    make_npy(a, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", x,
             16),
    make_npy(b, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2,2)}", x,
             16),
  };
  put_npz(2, (const char *[]){ "layer.0.w.npy", "layer.0.b.npy" },
          (const unsigned char *[]){ a, b }, bytes, true);
  cx tree = cx_load(npz);
  assert_same_bits(cx_get(tree, "layer.0.w"), cx_array(float, 1, 2, 3, 4));
  assert_same_bits(cx_get(tree, "layer.0.b"),
                   cx_reshape(cx_array(float, 1, 3, 2, 4), 2, 2));
}

/* -- hostile files -------------------------------------------------------- */

static void test_hostile_headers(void **state) {
  (void)state;
  static const struct {
    const char *dict, *message;
    cx_code code;
  } cases[] = {
    { "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "pickles",
      CX_EDTYPE },
    { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
      "records", CX_EDTYPE },
    { "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "neither",
      CX_EIO },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}", "no tuple",
      CX_EIO },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "no tuple",
      CX_EIO },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
      "no tuple", CX_EIO },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999,)}",
      "no tuple", CX_EIO },
    { "{'descr': '<f4', 'fortran_order': False, "
      "'shape': (0, 281474976710655, 281474976710655)}",
      "overflows", CX_EIO },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000,)}",
      "the shape says 4000000000", CX_EIO },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
      "the shape says 4", CX_EIO },
    { "{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", "twice", CX_EIO },
    { "{'descr': '<f4', 'shape': (1,)}", "lacks", CX_EIO },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}x", "after",
      CX_EIO },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}",
      "unknown key", CX_EIO },
    { "{'descr': '', 'fortran_order': False, 'shape': (1,)}", "no dtype",
      CX_EIO },
    { "{'descr': '<f99999999999', 'fortran_order': False, 'shape': (1,)}",
      "no dtype", CX_EIO },
    { "__import__('os').system('true')", "no dict", CX_EIO },
    { "", "no dict", CX_EIO },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    put_npy(1, cases[i].dict, "12345678", 8);
    assert_refused(npy, cases[i].code, cases[i].message);
  }
  /* Sound, but no dtype of ours: it can be looked at. */
  put_npy(1, "{'descr': '<V2', 'fortran_order': False, 'shape': (4,)}",
          "12345678", 8);
  assert_string_equal(cx_inspect(npy), "array <V2[4] 8 bytes\n");
  assert_no_load(npy, CX_EDTYPE, "unsupported dtype <V2");
}
static void test_cut_off_anywhere(void **state) {
  (void)state;
  unsigned char file[128];
  const size_t n = make_npy(
      file, 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
      "12345678", 8);
  for (size_t k = 0; k < n; k++) {
    put(npy, file, k);
    assert_no_load(npy, CX_EIO, "npy: ");
  }
  file[11] = 0x7f; /* a header of 2 GB */
  put(npy, file, n);
  assert_refused(npy, CX_EIO, "longer than 65536");
  file[6] = 4;
  put(npy, file, n);
  assert_refused(npy, CX_EIO, "version 4.0");
}
static void test_hostile_archives(void **state) {
  (void)state;
  unsigned char a[256] = { 0 };
  const size_t n =
      make_npy(a, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
               "12345678", 8);
  put_npz(1, (const char *[]){ "code.py" }, (const unsigned char *[]){ a }, &n,
          false);
  assert_refused(npz, CX_EIO, "no .npy file");
  const size_t longer = n + 1;
  put_npz(1, (const char *[]){ "x.npy" }, (const unsigned char *[]){ a },
          &longer, false);
  assert_refused(npz, CX_EIO, "not that of its shape");
  put_npz(2, (const char *[]){ "a.npy", "a.b.npy" },
          (const unsigned char *[]){ a, a }, (size_t[]){ n, n }, false);
  assert_no_load(npz, CX_ETREE, "a");
  /* One bit of the elements: the sum tells. */
  put_npz(1, (const char *[]){ "x.npy" }, (const unsigned char *[]){ a }, &n,
          false);
  FILE *f = fopen(npz, "r+b");
  unsigned char all[512];
  const size_t total = fread(all, 1, sizeof all, f);
  fclose(f);
  unsigned char *at = memmem(all, total, "12345678", 8);
  assert_non_null(at);
  *at ^= 1;
  put(npz, all, total);
  assert_no_load(npz, CX_EIO, "damaged");
  for (size_t k = 0; k < total; k++) {
    put(npz, all, k);
    assert_no_load(npz, CX_EIO, "npz: ");
  }
}
/* Two GiB of zeros in two MB. */
static void test_bomb(void **state) {
  (void)state;
  const size_t bytes = (size_t)1 << 21;
  unsigned char *zeros = calloc(bytes, 1);
  int code;
  zip_t *zip = zip_open(npz, ZIP_CREATE | ZIP_TRUNCATE, &code);
  zip_source_t *s = zip_source_buffer(zip, zeros, bytes, 0);
  assert_true(zip_file_add(zip, "x.npy", s, 0) >= 0);
  assert_int_equal(zip_close(zip), 0);
  free(zeros);
  /* The directory's size of the member, at 24 bytes of its entry. */
  FILE *f = fopen(npz, "r+b");
  unsigned char all[4096];
  const size_t total = fread(all, 1, sizeof all, f);
  assert_true(total < sizeof all);
  unsigned char *entry = memmem(all, total, "PK\1\2", 4);
  assert_non_null(entry);
  memcpy(entry + 24, "\0\0\0\x7f", 4);
  memcpy(all + 22, "\0\0\0\x7f", 4);
  rewind(f);
  fwrite(all, 1, total, f);
  fclose(f);
  assert_refused(npz, CX_EIO, "npz: ");
}

/* The files of the reports about other libraries: read or refused as they say. */
static void test_reported_files(void **state) {
  (void)state;
  FILE *f = fopen("tests/data/reports/files.tsv", "r");
  char line[512], name[128], verdict[32], path[256];
  int count = 0;
  assert_non_null(f);
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, "%127s %31s", name, verdict) != 2 ||
        strncmp(name, "files/np", 8) != 0)
      continue;
    snprintf(path, sizeof path, "tests/data/reports/%s", name);
    cx tree = cx_load(path);
    const bool read = cx_error(NULL) == CX_OK && cx_leaf_count(tree) > 0;
    if (read != (strcmp(verdict, "accept") == 0)) fail_msg("%s", path);
    count++;
  }
  fclose(f);
  assert_true(count >= 8);
}

/* -- wrong use ------------------------------------------------------------ */

static void test_errors(void **state) {
  (void)state;
  cx two = cx_tuple(cx_ones(CX_F32, 2), cx_ones(CX_F32, 2));
  assert_true(cx_save(npy, cx_ones(CX_F32, 2)));
  assert_false(cx_save(npy, two));
  assert_error(CX_ETREE, ".npz holds several");
  assert_false(cx_save(npy, cx_ones(CX_BF16, 2)));
  assert_error(CX_EDTYPE, "NumPy has no bf16");
  assert_true(cx_save(npz, cx_dict("a", cx_ones(CX_F32, 2))));
  assert_false(cx_save(npz, cx_dict("a", cx_key(1))));
  assert_error(CX_EDTYPE, "NumPy has no key");
  assert_false(cx_save("/nowhere/at/all.npz", two));
  assert_error(CX_EIO, "save: /nowhere/at/all.npz: cannot write: No such");
  /* The files are as they were. */
  assert_true(cx_item(cx_sum(cx_load(npy))) == 2);
  assert_true(cx_item(cx_sum(cx_get(cx_load(npz), "a"))) == 2);
  assert_no_load("/nowhere/at/all.npz", CX_EIO, "No such file");
  put(npz, "not a zip", 9);
  assert_refused(npz, CX_EIO, "npz: ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_every_dtype_comes_back, setup,
                                    teardown),
    cmocka_unit_test_setup_teardown(test_orders, setup, teardown),
    cmocka_unit_test_setup_teardown(test_archives_of_others, setup, teardown),
    cmocka_unit_test_setup_teardown(test_hostile_headers, setup, teardown),
    cmocka_unit_test_setup_teardown(test_cut_off_anywhere, setup, teardown),
    cmocka_unit_test_setup_teardown(test_hostile_archives, setup, teardown),
    cmocka_unit_test_setup_teardown(test_reported_files, setup, teardown),
    cmocka_unit_test_setup_teardown(test_bomb, setup, teardown),
    cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
