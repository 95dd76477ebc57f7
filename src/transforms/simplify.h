/* simplify.h - between simplify.c and simplify_rules.c. */
#ifndef CXI_SIMPLIFY_H
#define CXI_SIMPLIFY_H

#include "transforms/walk.h"

/* An equation about to be emitted, with one result of the type. */
typedef struct cxi_simplify_site {
  const cxi_builder *b; /* the current emitter */
  cxi_prim prim;
  const void *params;
  uint32_t n_in;
  const cx *in;
  cxi_type type;
} cxi_simplify_site;

/* What the result is already, or the shorter way to it; {0} if the rule says
 * nothing. Bits never change. */
typedef struct cxi_simplify_rule {
  cxi_prim prim;
  const char *name; /* what it says */
  cx (*apply)(const cxi_simplify_site *s);
} cxi_simplify_rule;
extern const cxi_simplify_rule cxi_simplify_rules[];
extern const uint32_t cxi_n_simplify_rules;

/* By the first rule of the table that says something. */
cx cxi_simplify_equation(const cxi_simplify_site *s);

#endif
