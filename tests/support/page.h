/* page.h - pages of docs/ with parts that tests write.
 *
 * A part stands between the lines "<!-- NAME: ... -->" and "<!-- end -->". */
#ifndef TEST_PAGE_H
#define TEST_PAGE_H

#include <stdbool.h>

#include "base/hash.h"

void page_add(cxi_bytes *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* NULL if the part `name` of the page is this text; else what is wrong.
 * With `write` it is made so. */
const char *page_part(const char *path, const char *name, const cxi_bytes *text,
                      bool write);

#endif
