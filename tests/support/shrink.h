/* shrink.h - a failing program made small. */
#ifndef TEST_SHRINK_H
#define TEST_SHRINK_H

#include "ir/program.h"

/* Whether a program still fails in the way that is looked for. */
typedef bool shrink_test(const cxi_program *p, void *user);

/* The smallest program found that fails: equations are left out, replaced by
 * an input, by zeros or by an operand, bodies stand in the place of calls and
 * become smaller themselves, sizes shrink. With a reference; p itself if
 * nothing helped. */
const cxi_program *shrink(const cxi_program *p, shrink_test *fails,
                          void *user);

#endif
