/* carry.h - trees that enter a loop and leave it, leaf by leaf. */
#ifndef CXI_CARRY_H
#define CXI_CARRY_H

#include "trace/body.h"

/* A carry that enters a loop: its leaves may take the dtype with which they
 * leave if they are C numbers. */
typedef struct cxi_carry {
  cxi_item item; /* borrowed */
  uint32_t n;
  cxi_item *leaves; /* scratch; numbers cast as needed */
  cxi_type *types;
  cxi_sig sig;
} cxi_carry;

/* False with *out_poison. */
bool cxi_carry_enter(cxi_carry *c, const char *what, cx value, cx *out_poison);

/* Resolves a function of the loop `what`, whose argument `argument` is the
 * carry. Where dtypes do not fit in it, the message tells of a carry that
 * started as a C number. */
bool cxi_carry_resolve(const cxi_carry *c, cxi_body *b, cx_fn f,
                       uint32_t n_args, const cxi_sig *args, const char *what,
                       uint32_t argument, cx *out_poison);

typedef enum cxi_agreement {
  CXI_AGREE,
  CXI_AGAIN, /* a number took another dtype: the body must be
                                 resolved anew */
  CXI_DIFFER /* with *out_poison */
} cxi_agreement;
/* Compares how the carry leaves the body. `what` is the loop, `argument` which
 * of the body's it is. */
cxi_agreement cxi_carry_leave(cxi_carry *c, const cxi_body *b, cxi_sig leaving,
                              const char *what, uint32_t argument,
                              cx *out_poison);
void cxi_carry_operands(const cxi_carry *c, cx *out);

#endif
