/* laws.h - whether draws follow a law. */
#ifndef CXI_TEST_LAWS_H
#define CXI_TEST_LAWS_H

#include "calx/calx.h"

/* The distance of Kolmogorov and Smirnov between n numbers, drawn independently,
 * and a distribution function; beyond 2.3 / sqrt(n), which it is once in 20000
 * times, the test fails. */
void check_law(const char *what, cx draws, double (*law)(double));
/* Chi square of whole numbers against the probabilities p(0), p(1), ..,
 * p(n - 1); values that are expected less than 5 times are taken together. */
void check_counts(const char *what, cx draws, int n, double (*p)(int));

#endif
