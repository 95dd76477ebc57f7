/* table.c - the transforms as rules see them: errors go to the emitter that
 * the rule writes to, at the source line where they arose. */
#include "transforms/split.h"

static void report(const cxi_error *error) {
  const cxi_name line = cxi_transform_error_site();
  const cxi_name before = cxi_site_now();
  if (line) cxi_site_use(line);
  cxi_fail(error->code, "%s", error->text);
  cxi_site_use(before);
}

static const cxi_program *jvp(const cxi_program *p, const bool *nonzero_in,
                              const bool *instantiate_out, bool linearizing,
                              bool *nonzero_out) {
  cxi_error error = { 0 };
  const cxi_program *q =
      cxi_jvp(p, nonzero_in, instantiate_out, linearizing, nonzero_out, &error);
  if (!q) report(&error);
  return q;
}

static bool partial_eval(const cxi_program *p, const bool *unknown_in,
                         const bool *force_unknown_out, cxi_partial *out,
                         bool *unknown_out) {
  cxi_error error = { 0 };
  if (cxi_partial_eval(p, unknown_in, force_unknown_out, out, unknown_out,
                       &error))
    return true;
  report(&error);
  return false;
}

static const cxi_program *transpose(const cxi_program *p, const bool *linear_in,
                                    const bool *cotangent_out,
                                    const bool *accumulator_in) {
  cxi_error error = { 0 };
  const cxi_program *q = cxi_transpose_program(p, linear_in, cotangent_out,
                                               accumulator_in, &error);
  if (!q) report(&error);
  return q;
}

static const cxi_program *transpose_part(const cxi_program *p,
                                         const bool *wrt) {
  cxi_error error = { 0 };
  const cxi_program *q = cxi_transpose_part(p, wrt, &error);
  if (!q) report(&error);
  return q;
}

static const cxi_program *vjp(const cxi_program *p, const bool *wrt,
                              const bool *cotangent_out) {
  cxi_error error = { 0 };
  const cxi_program *q = cxi_vjp(p, wrt, cotangent_out, &error);
  if (!q) report(&error);
  return q;
}

static const cxi_program *batch(const cxi_program *p, const bool *batched_in,
                                int64_t size, const bool *force_out,
                                bool *batched_out) {
  cxi_error error = { 0 };
  const cxi_program *q =
      cxi_batch_within(p, batched_in, size, force_out, batched_out, &error);
  if (!q) report(&error);
  return q;
}

static const cxi_program *select_(const cxi_program *p, const uint32_t *in,
                                  uint32_t n_out, const uint32_t *out) {
  cxi_error error = { 0 };
  const cxi_program *q = cxi_select_program(p, in, n_out, out, &error);
  if (!q) report(&error);
  return q;
}

static const cxi_program *narrow(const cxi_program *p, const bool *used_out,
                                 bool *used_in) {
  cxi_error error = { 0 };
  const cxi_program *q = cxi_narrow(p, used_out, used_in, &error);
  if (!q) report(&error);
  return q;
}

static const cxi_program *narrow_quiet(const cxi_program *p,
                                       const bool *used_out, bool *used_in) {
  cxi_error error = { 0 };
  const cxi_program *q = cxi_narrow_quiet(p, used_out, used_in, &error);
  if (!q) report(&error);
  return q;
}

#define TABLE(narrow_)                                                     \
  {                                                                        \
    .jvp = jvp, .partial_eval = partial_eval, .transpose = transpose,      \
    .transpose_part = transpose_part, .vjp = vjp, .batch = batch,          \
    .select = select_, .narrow = (narrow_), .narrow_quiet = narrow_quiet,  \
    .into_known = cxi_split_into_known,                                    \
    .into_unknown = cxi_split_into_unknown, .residual = cxi_split_residual \
  }
const cxi_transforms cxi_transforms_table = TABLE(narrow);
const cxi_transforms cxi_transforms_quiet = TABLE(narrow_quiet);
