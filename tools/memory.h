/* memory.h - the memory of this process, as the system counts it. */
#ifndef TOOLS_MEMORY_H
#define TOOLS_MEMORY_H

#include <stddef.h>

/* Resident now, and at most since the start or memory_restart: bytes, 0 if
 * the system does not say. */
size_t memory_resident(void);
size_t memory_peak(void);
/* Gives free memory back and begins a new peak, so that what comes is
 * measured alone; the resident bytes, 0 where peaks cannot begin anew. */
size_t memory_restart(void);

#endif
