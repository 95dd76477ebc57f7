/* calx.h - forwards to calx/calx.h, so that #include "calx.h" works too. */
#include "calx/calx.h"
