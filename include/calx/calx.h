/* calx.h - composable transformations of array programs, in C.
 *
 * A function is a plain C function of handles. Transforms take a function and
 * return one; inside cx_jit everything is compiled. The headers below are the
 * manual; read them in the order in which they stand.
 *
 * A name in capitals is a macro that declares something or stands for a list
 * or a constant; a name ending in _ is the plain function behind a macro, for
 * C++ and bindings. Three conventions hold for every call:
 *   - arrays come first, then at most one list of integers (axes or a shape,
 *     written as plain numbers or as one cx_dims), then options by name:
 *       cx_reshape(x, 2, -1)    cx_sum(x, -1, .keepdims = true)
 *   - where an array is expected, a C number may stand (a weak scalar);
 *   - an error returns poison and is kept: see context.h.
 *
 * C11 with GCC or Clang, quiet under -Wpedantic and -Wshadow. The macros say
 * `struct cx`, so that a variable may be called cx.
 */
#ifndef CALX_CALX_H
#define CALX_CALX_H

#include "calx/value.h"        /* 1. handles, dtypes, shapes */
#include "calx/context.h"      /* 2. contexts and scopes, 3. errors */
#include "calx/literal.h"      /* 4. numbers and lists of integers */
#include "calx/struct.h"       /* 5. described structs */
#include "calx/function.h"     /* 6. functions and calls */
#include "calx/transform.h"    /* 7. grad, vmap, jit, custom rules */
#include "calx/collective.h"   /* 7a. across the lanes of a vmap */
#include "calx/control.h"      /* 8. scan, while, cond */
#include "calx/tree.h"         /* 9. tuples and dicts */
#include "calx/array.h"        /* 10. arrays in and out */
#include "calx/elementwise.h"  /* 11. elementwise operations */
#include "calx/special.h"      /* special functions, elementwise too */
#include "calx/reduce.h"       /* 12. reductions */
#include "calx/window.h"       /* windows, pooling */
#include "calx/shape.h"        /* 13. reshaping, joining, padding */
#include "calx/product.h"      /* 14. matrix products, einsum */
#include "calx/conv.h"         /* 14a. convolutions */
#include "calx/index.h"        /* 15. indexing and updates */
#include "calx/nn.h"           /* 16. softmax, layer norm, attention, loss */
#include "calx/random.h"       /* 17. random numbers */
#include "calx/effect.h"       /* 18. callbacks, debug prints, names */
#include "calx/stage.h"        /* 19. programs and executables */
#include "calx/inspect.h"      /* 20. what a function records and saves */
#include "calx/file.h"         /* 21. reading and writing trees */
#include "calx/linalg.h"       /* 22. linear algebra */
#include "calx/implicit.h"     /* 23. implicit solutions */
#include "calx/sort.h"         /* 24. sorting, searching, counting */
#include "calx/compose.h"      /* 25. compositions of the above */

#endif
