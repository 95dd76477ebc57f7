/* written.c - what debug prints and callbacks of a test wrote. */
#include "support/written.h"

#include "support/calls.h"

static char written[1 << 16];
static size_t n_written;

void written_add(const char *text) {
  const size_t n = strlen(text);
  if (n_written + n >= sizeof written) return;
  memcpy(written + n_written, text, n + 1);
  n_written += n;
}

static void note(const char *text, void *user) {
  (void)user;
  written_add(text);
}

const char *written_text(void) {
  return written;
}

void written_forget(void) {
  n_written = 0;
  written[0] = 0;
}

void written_begin(void) {
  cx_debug_output(note, NULL);
  written_forget();
}

void written_end(void) {
  cx_debug_output(NULL, NULL);
}

int written_start(void **state) {
  written_begin();
  return setup(state);
}

int written_start_reference(void **state) {
  written_begin();
  *state = cx_open("reference");
  return *state == NULL;
}

int written_stop(void **state) {
  written_end();
  return teardown(state);
}

void assert_written(const char *want) {
  assert_good();
  assert_string_equal(written, want);
  written_forget();
}
