/* train.h - the recorded steps of Adam, made with own gradients. */
#ifndef TOOLS_TRAIN_H
#define TOOLS_TRAIN_H

#include <jansson.h>

#include "calx/calx.h"

/* A record of kind "adam_step" or "trajectory" against steps with the gradient
 * of f, a function of a tuple (parameters, batch) that returns a tuple whose
 * first item is the loss. False with *why, or after an error. */
bool train_matches(cx_fn f, const json_t *record, char *why, size_t room);

#endif
