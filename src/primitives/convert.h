/* convert.h - elements of one dtype as another. */
#ifndef CXI_CONVERT_H
#define CXI_CONVERT_H

#include "base/view.h"

/* Fills `to`, dense and of the same shape, with the elements of `from`: float
 * to integer truncates, saturates and makes 0 of NaN; integers wrap; to bool
 * is x != 0; to a float rounds once. */
void cxi_convert_view(const cxi_view *from, const cxi_view *to);

#endif
