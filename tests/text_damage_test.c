/* text_damage_test.c - texts that are no programs any more, and no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "ir/emit.h"
#include "ir/text.h"
#include "support/printed.h"
#include "support/rows.h"

static uint64_t random_state = 1;

/* -- damage --------------------------------------------------------------- */

static const char *const pieces[] = {
  "%0",     "%1",      "%",    ":",          "f32",
  "f32[3]", ",",       "(",    ")",          "[",
  "]",      "{",       "}",    "=",          "@f",
  "@main",  "add",     "scan", "return",     "\"",
  "//",     "program", "none", "1.0:f32",    "99999999999999999999",
  "-1",     "0",       "\n",   "4294967295", "9223372036854775807",
  "body",   "true",
};

/* Changes, inserts, removes or copies a few bytes; returns the new length. */
static size_t damage(char *text, size_t n, size_t room) {
  for (uint64_t k = random_next(&random_state) % 4 + 1; k && n; k--) {
    size_t at = random_next(&random_state) % n;
    const char *piece =
        pieces[random_next(&random_state) % (sizeof pieces / sizeof pieces[0])];
    size_t length = strlen(piece);
    switch (random_next(&random_state) % 5) {
    case 0:
      text[at] = (char)random_next(&random_state);
      break;
    case 1:
      length = random_next(&random_state) % (n - at) % 16;
      memmove(text + at, text + at + length, n - at - length);
      n -= length;
      break;
    case 2:
      if (n + length > room) break;
      memmove(text + at + length, text + at, n - at);
      memcpy(text + at, piece, length);
      n += length;
      break;
    case 3:
      text[at] = (char)(' ' + random_next(&random_state) % 95);
      break;
    default:
      if (at + length <= n) memcpy(text + at, piece, length);
      break;
    }
  }
  return n;
}

static void try_text(const char *text, size_t n) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, n, &error);
  if (p) {
    check_printed(p);
    cxi_program_release(p);
  } else {
    assert_int_not_equal(error.code, CX_OK);
  }
}

static void test_damaged_texts(void **state) {
  (void)state;
  char text[4096];
  for (int i = 0; i < 60000; i++) {
    const char *sample =
        printed_samples[random_next(&random_state) % n_printed_samples];
    size_t n = strlen(sample);
    memcpy(text, sample, n);
    n = damage(text, n, sizeof text);
    try_text(text, n);
  }
}

static void test_garbage(void **state) {
  (void)state;
  char text[256];
  for (int i = 0; i < 40000; i++) {
    size_t n = 0;
    while (n < 200 && random_next(&random_state) % 40) {
      const char *piece = pieces[random_next(&random_state) %
                                 (sizeof pieces / sizeof pieces[0])];
      memcpy(text + n, piece, strlen(piece));
      n += strlen(piece);
      text[n++] = random_next(&random_state) % 8
                      ? ' '
                      : (char)random_next(&random_state);
    }
    try_text(text, n);
  }
  for (int i = 0; i < n_printed_samples; i++)
    for (size_t n = 0; n < strlen(printed_samples[i]); n++)
      try_text(printed_samples[i], n);
}

/* -- no memory ------------------------------------------------------------ */

static cxi_error last_error;

/* Everything once; false if memory was short. */
static bool whole_cycle(const char *sample) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(sample, strlen(sample), &error);
  if (!p) {
    last_error = error;
    return false;
  }
  char *text = cxi_program_print(p, (cxi_text_options){ .sites = true });
  const cxi_program *q =
      text ? cxi_program_parse(text, strlen(text), &error) : NULL;
  bool ok = q && cxi_program_check(q, &error);
  cxi_free(text);
  cxi_program_release(p);
  cxi_program_release(q);
  if (!ok) last_error = error;
  return ok;
}

static void test_no_memory(void **state) {
  (void)state;
  for (int i = 0; i < n_printed_samples; i++) {
    if (!whole_cycle(printed_samples[i])) fail_msg("%s", last_error.text);
    uint64_t programs = cxi_programs_now().live;
    cxi_scratch_free();
    size_t bytes = cxi_alloc_now().live_bytes;
    bool ok = false;
    for (uint64_t n = 0; !ok; n++) {
      assert_true(n < 10000);
      cxi_alloc_fail_after(n);
      ok = whole_cycle(printed_samples[i]);
      cxi_alloc_fail_after(UINT64_MAX);
      assert_ptr_equal(cxi_emitter_now(), &cxi_emitter_nowhere);
      assert_int_equal(cxi_programs_now().live, programs);
      cxi_scratch_free();
      assert_int_equal(cxi_alloc_now().live_bytes, bytes);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_damaged_texts),
    cmocka_unit_test(test_garbage),
    cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
