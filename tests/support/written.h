/* written.h - what debug prints and callbacks of a test wrote. */
#ifndef TEST_WRITTEN_H
#define TEST_WRITTEN_H

/* Debug prints go here from now on; and to stdout again. */
void written_begin(void);
void written_end(void);
void written_add(const char *text);
const char *written_text(void); /* since written_begin or written_forget */
void written_forget(void);

/* Setups of tests that look at it: on the cpu, on the reference; teardown. */
int written_start(void **state);
int written_start_reference(void **state);
int written_stop(void **state);
/* No error, and this since the last time. */
void assert_written(const char *want);

#endif
