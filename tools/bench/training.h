/* training.h - one step of training, which two groups time. */
#ifndef TOOLS_BENCH_TRAINING_H
#define TOOLS_BENCH_TRAINING_H

#include "calx/models/bert.h"

/* (params, state of Adam, ids, labels, weights (b, s)) -> (params, state,
 * loss) */
CX_DECLARE_ENV(bench_train_step, bert_config, c, params, adam, ids, labels,
               weights);

#endif
