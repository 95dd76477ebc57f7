/* check.h - what the checks share: the text of a failure, tolerances, leaves.
 *
 * src/testing is written on the public headers alone, like a user's tests. */
#ifndef CXI_CHECK_H
#define CXI_CHECK_H

#include "calx/testing.h"

/* Keeps the text of a failure for this thread; returns it. */
const char *cxi_check_fail(const char *at, const char *format, ...)
    CX_PRINTF(2, 3);
/* The kept error as a failure, NULL if there is none; takes the error. */
const char *cxi_check_kept_error(const char *at, const char *what);

/* A leaf that has derivatives. */
bool cxi_check_is_float(cx leaf);
/* f64 copies of floating leaves are compared and summed. */
double cxi_check_dot(cx a, cx b);

typedef struct cxi_tolerance {
  double eps;        /* the step of central differences */
  double rtol, atol; /* of derivatives against differences */
  double close;      /* of values that are computed in two ways */
} cxi_tolerance;
cxi_tolerance cxi_check_tolerance(cx_dtype type);
/* The narrowest floating dtype among the leaves; f64 if there is none. */
cx_dtype cxi_check_narrowest(cx tree);

/* Leaf by leaf; rtol < 0: bit for bit. NULL or the failure's text. */
const char *cxi_check_compare(const char *at, const char *what, cx got, cx want,
                              double rtol, double atol);

#endif
