/* matrix.h - the table of primitives by rule and executor, for the docs. */
#ifndef CXI_TEST_MATRIX_H
#define CXI_TEST_MATRIX_H

#include "ir/row.h"

/* The page; fails the test for a hole without a reason. The caller frees. */
cxi_bytes primitive_matrix(void);

#endif
