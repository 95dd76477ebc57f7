/* host.h - functions of the host that programs call, by number; where debug
 * prints go. */
#ifndef CXI_HOST_H
#define CXI_HOST_H

#include "calx/effect.h"

/* Programs hold a number, so that text which is read back cannot name a place
 * in memory. Equal pairs have one number, for the life of the process; 0
 * without memory. */
typedef struct cxi_host {
  cx_host_fn f;
  void *user;
} cxi_host;
uint32_t cxi_host_number(cx_host_fn f, void *user);
bool cxi_host_find(int64_t number, cxi_host *out); /* false: none has it */

/* Hands a line to what cx_debug_output set, or to stdout. */
void cxi_debug_write(const char *text);

#endif
