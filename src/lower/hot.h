/* hot.h - loops and passes that have run for long get generated code.
 *
 * Each compiled loop counts the thunks that its steps ran, each pass those
 * that its elements are worth, and asks the coder as the count grows. Once the
 * code is there the loop goes on with it, from one step to the next, the pass
 * from its next run on; later runs begin with it. The bits are the same, so
 * that nobody sees when this happens. */
#ifndef CXI_HOT_H
#define CXI_HOT_H

#include "lower/schedule.h"

enum {
  CXI_HOT_STEPS = 64, /* of a loop between two looks at the count */
  CXI_HOT_ELEMENTS =
      256 /* taken through one equation: a thunk's worth, 0.1 us */
};

typedef struct cxi_hot cxi_hot;

/* Of a scan or while whose bodies keep their schedules, or of a fused unit, of
 * which it keeps a copy; in the arena, before *list, which it becomes; NULL
 * without memory. */
cxi_hot *cxi_hot_make(const cxi_unit *unit, const cxi_coder *coder,
                      cxi_arena *arena, cxi_hot **list);
/* `text`, in the arena, and a line for each unit of the list whose code is
 * there: its equations, source line and scope; NULL without memory. */
const char *cxi_hot_report(const cxi_hot *list, cxi_arena *arena,
                           const char *text);
/* Gives back the code of all in the list. */
void cxi_hot_release(cxi_hot *list);

/* The unit's code, if it is there; NULL: go on with the thunks, of which
 * `thunks` more ran, or begin, since the last look. */
const cxi_code *cxi_hot_code(cxi_hot *hot, int64_t thunks,
                             const cxi_running *running);

#endif
