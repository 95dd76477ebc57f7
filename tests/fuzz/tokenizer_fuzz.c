/* tokenizer_fuzz.c - any bytes as tokenizer.json or vocab.txt, and as a text.
 *
 * The file is what stands before the first 0, the text what stands after. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calx/models/wordpiece.h"

static void write_file(const char *path, const uint8_t *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  require(f && fwrite(bytes, 1, n, f) == n);
  require(fclose(f) == 0);
}

/* Ids are tokens, offsets are rising ranges of the text's bytes. */
static void check_encoding(const wordpiece *w, const wordpiece_encoding *e,
                           size_t bytes) {
  for (int i = 0; i < e->n; i++) {
    const int32_t *at = e->offsets[i];
    require(wordpiece_token(w, e->ids[i]) != NULL);
    require(0 <= at[0] && at[0] <= at[1] && (size_t)at[1] <= bytes);
  }
}

static void encode(const wordpiece *w, const char *text, size_t bytes) {
  wordpiece_encoding e;
  for (int most = 0; most < 6; most += 5) {
    if (!wordpiece_encode(w, text, bytes, most ? text : NULL, most ? bytes : 0,
                          most, WORDPIECE_LONGEST_FIRST, &e))
      continue;
    check_encoding(w, &e, bytes);
    require(most == 0 || e.n <= most);
    free(wordpiece_decode(w, e.ids, e.n, most == 0, most == 0));
    wordpiece_encoding_free(&e);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
  const size_t n = zero ? (size_t)(zero - data) : size;
  char path[64];
  snprintf(path, sizeof path, "/tmp/calx-fuzz-%ld.%s", (long)getpid(),
           n && data[0] == '{' ? "json" : "txt");
  write_file(path, data, n);
  wordpiece *w = wordpiece_load(path, NULL);
  const char *message;
  require((w == NULL) == (cx_error(&message) != CX_OK));
  if (w && zero) encode(w, (const char *)zero + 1, size - n - 1);
  cx_error(NULL);
  wordpiece_free(w);
  unlink(path);
  return 0;
}
