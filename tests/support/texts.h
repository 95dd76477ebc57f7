/* texts.h - for tests of transforms: small programs of each kind. */
#ifndef TESTS_TEXTS_H
#define TESTS_TEXTS_H

#define DOT                                                        \
  "dot_general[lhs_contract=(1), rhs_contract=(0), lhs_batch=(), " \
  "rhs_batch=(), type=f64]"

static const char plain[] =
    "program @main(%0: f64[3,4], %1: f64[2,3], %2: f64[4], %3: i32[]) {\n"
    "  %4: f64[2,4] = " DOT " %1, %0\n"
    "  %5: f64[2,4] = sin %4\n"
    "  %6: f64[2,4] = mul %5, %4\n"
    "  %7: f64[2,4] = broadcast_in_dim[shape=(2,4), map=(1)] %2\n"
    "  %8: f64[2,4] = add %6, %7\n"
    "  %9: f64[4,2] = transpose[permutation=(1,0)] %8\n"
    "  %10: f64[4] = reduce_sum[axes=(1)] %9\n"
    "  %11: f64[4] = mul %10, %10\n"
    "  %12: f64[] = reduce_sum[axes=(0)] %11\n"
    "  %13: i32[] = add %3, 1:i32\n"
    "  return %12, %13, %12, %2\n"
    "}\n";

/* A value that is an input, an output twice, an operand twice. */
static const char forwarding[] = "program @main(%0: f64[3], %1: f64[]) {\n"
                                 "  %2: f64[3] = add %0, %0\n"
                                 "  %3: f64[3] = mul %0, %1\n"
                                 "  return %0, %2, %3, %0, 2.5:f64\n"
                                 "}\n";

static const char calls[] =
    "program @inner(%0: f64[3], %1: f64[3]) {\n"
    "  %2: f64[3] = tanh %0\n"
    "  %3: f64[3] = mul %2, %1\n"
    "  return %3, %1, %2\n"
    "}\n"
    "program @outer(%0: f64[3], %1: f64[3], %2: i32[]) {\n"
    "  %3: f64[3], %4: f64[3], %5: f64[3] = jit[body=@inner] %0, %1\n"
    "  %6: f64[3], %7: f64[3], %8: f64[3] = jit[body=@inner] %3, %4\n"
    "  return %6, %8, %2, %0\n"
    "}\n"
    "program @main(%0: f64[3], %1: f64[3], %2: i32[]) {\n"
    "  %3: f64[3], %4: f64[3], %5: i32[], %6: f64[3] = jit[body=@outer] "
    "%0, %1, %2\n"
    "  %7: f64[3] = mul %6, %3\n"
    "  return %7, %4, %5\n"
    "}\n";

static const char loop[] =
    "program @step(%0: f64[2,2], %1: f64[2], %2: f64[2]) {\n"
    "  %3: f64[2] = " DOT " %0, %1\n"
    "  %4: f64[2] = add %3, %2\n"
    "  %5: f64[2] = tanh %4\n"
    "  %6: f64[2] = mul %5, %2\n"
    "  return %5, %6\n"
    "}\n"
    "program @main(%0: f64[2,2], %1: f64[2], %2: f64[4,2]) {\n"
    "  %3: f64[2], %4: f64[4,2] = scan[body=@step, length=4, reverse=false, "
    "unroll=1, n_consts=1, n_carry=1] %0, %1, %2\n"
    "  return %3, %4\n"
    "}\n";

static const char branches[] =
    "program @a(%0: f64[2], %1: f64[2]) {\n"
    "  %2: f64[2] = sin %0\n"
    "  %3: f64[2] = mul %2, %1\n"
    "  return %3\n"
    "}\n"
    "program @b(%0: f64[2], %1: f64[2]) {\n"
    "  %2: f64[2] = mul %1, 3.0:f64\n"
    "  return %2\n"
    "}\n"
    "program @main(%0: f64[2], %1: f64[2], %2: i32[]) {\n"
    "  %3: i32[] = clamp 0:i32, %2, 1:i32\n"
    "  %4: f64[2] = cond[branches=(@a,@b)] %3, %0, %1\n"
    "  return %4\n"
    "}\n";

#endif
