/* stage.h - a program as an object of the user. */
#ifndef CXI_RUNTIME_STAGE_H
#define CXI_RUNTIME_STAGE_H

#include "calx/stage.h"
#include "trace/item.h"

/* With its trees; text when asked for. */
struct cx_program {
  const cxi_program *p; /* a reference */
  const char *name;
  uint32_t n_args;
  cxi_sig *args;
  cxi_name *arg_names; /* 0: none */
  cxi_sig out;
  uint32_t n_leading; /* captures and extras, before the arguments */
  cxi_item *leading;  /* arrays; own their references */
  char *text;
};

/* An object for p, of which it takes a reference, with room for its lists:
 * names are 0, there are no leading arrays yet. NULL without memory,
 * reported. */
cx_program *cxi_program_object(const cxi_program *p, const char *name,
                               uint32_t n_args, uint32_t n_leading);

#endif
