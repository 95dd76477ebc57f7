/* embed.h - the parts of calx embed: texts in, vectors out. */
#ifndef TOOLS_EMBED_H
#define TOOLS_EMBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* -- texts: a line each, or the "text" of a JSON object a line ------------ */

typedef struct text_reader {
  FILE *file;
  bool json;
  int64_t line; /* the number of the last one read; 1 is the first */
  char *room;
  size_t cap;
} text_reader;

typedef enum text_result { TEXT_READ, TEXT_END, TEXT_BAD } text_result;
/* The next text, to be freed. TEXT_BAD has printed what is wrong with which
 * line. */
text_result text_next(text_reader *r, char **out_text, size_t *out_bytes);
void text_reader_close(text_reader *r);

/* -- vectors: {"embedding": [...]} a line, or an array of NumPy's --------- */

typedef struct vector_writer {
  FILE *file;
  const char *path; /* NULL: JSON lines on the standard output */
  char *partial;    /* what the file is called until it is whole */
  bool npy;
  int width;
  int64_t count;
} vector_writer;

/* By the path's suffix, .npy or .jsonl. All print what went wrong and return
 * false then. */
bool vector_writer_open(vector_writer *w, const char *path, int width);
bool vector_write(vector_writer *w, const float *vectors, int64_t n);
/* Gives the file its name if all is well; else deletes it. */
bool vector_writer_close(vector_writer *w, bool whole);

/* The shortest decimal number that reads back as x, "null" if there is none;
 * at most NUMBER_BYTES, without a 0 at the end. Returns the end. */
enum { NUMBER_BYTES = 24 };
char *number_put(char *at, float x);

#endif
