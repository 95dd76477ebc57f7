/* jaxpr_random.c - the recorded primitives of random keys. */
#include <string.h>

#include "jaxpr_text.h"

static void write_bits(jaxpr_program *p, jaxpr_equation *e) {
  *e->out = jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                       "random_bits[type=%s, shape=%s]",
                       jaxpr_dtype_text(e->out->dtype),
                       jaxpr_ints(jaxpr_param(e, "shape")));
}

static void write_random_split(jaxpr_program *p, jaxpr_equation *e) {
  *e->out =
      jaxpr_emit(p, e->out->dtype, e->out->shape, 1, e->in,
                 "random_split[shape=%s]", jaxpr_ints(jaxpr_param(e, "shape")));
}

static void write_threefry(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims shape = { .n = 0 };
  for (int i = 0; i < e->n_in; i++)
    if (e->in[i].shape.n > shape.n) shape = e->in[i].shape;
  for (int i = 0; i < e->n_out; i++)
    if (e->out[i].dtype) shape = e->out[i].shape;
  for (int i = 0; i < e->n_in; i++) e->in[i] = jaxpr_fill(p, e->in[i], shape);
  for (int i = 0; i < e->n_out; i++)
    e->out[i] = (ref){ .dtype = CX_U32, .shape = shape };
  jaxpr_emit_n(p, e->n_out, e->out, e->n_in, e->in, "threefry2x32");
}

static void write_iota_2x32(jaxpr_program *p, jaxpr_equation *e) {
  cx_dims shape = jaxpr_dims(jaxpr_param(e, "shape"));
  for (int i = 0; i < e->n_out; i++)
    e->out[i] = (ref){ .dtype = CX_U32, .shape = shape };
  jaxpr_emit_n(p, e->n_out, e->out, 0, NULL, "iota_2x32[shape=%s]",
               jaxpr_list(shape));
}

static void write_random_gamma(jaxpr_program *p, jaxpr_equation *e) {
  *e->out =
      jaxpr_emit(p, e->out->dtype, e->out->shape, 2, e->in,
                 "random_gamma[log_space=%s]", jaxpr_truth(e, "log_space"));
}

/* -- the table ------------------------------------------------------------ */

static const jaxpr_row rows[] = {
  { "random_bits", write_bits },
  { "random_split", write_random_split },
  { "random_gamma", write_random_gamma },
  { "threefry2x32", write_threefry },
  { "iota_2x32_shape", write_iota_2x32 },
};
jaxpr_handler *jaxpr_random_handler(const char *primitive) {
  return jaxpr_find(rows, sizeof rows / sizeof *rows, primitive);
}
