/* row.h - a primitive is a row: all its mathematics in one place. */
#ifndef CXI_ROW_H
#define CXI_ROW_H

#include "base/view.h"
#include "ir/emit.h"

/* -- infer: result types from operand types ------------------------------- */

typedef struct cxi_infer {
  const void *params;
  uint32_t n_in;
  const cxi_type *in;
  uint32_t n_out, cap_out;
  cxi_type *out;              /* grows: cxi_infer_result; scratch memory */
  cxi_error error;
} cxi_infer;
bool cxi_infer_result(cxi_infer *c, cxi_type type); /* true; 0 is an error */
bool cxi_infer_fail(cxi_infer *c, cx_code code, const char *format, ...)
    CX_PRINTF(3, 4);          /* false; the driver prefixes the primitive */

/* -- transforms that rules of rows with sub-programs may ask for ---------- */

typedef struct cxi_split cxi_split; /* two programs written side by side */

typedef struct cxi_partial {
  const cxi_program *known;   /* known ins -> known outs, residuals */
  const cxi_program *unknown; /* unknown ins, residuals -> unknown outs */
  uint32_t n_residuals;
} cxi_partial;

/* All return NULL or false after reporting to the current emitter. Programs
 * are held (cxi_hold). Masks are arrays of bool, one per input or output;
 * NULL for "none". */
typedef struct cxi_transforms {
  /* (ins, nonzero tangents) -> (outs, nonzero out tangents) */
  const cxi_program *(*jvp)(const cxi_program *, const bool *nonzero_in,
                            const bool *instantiate_out, bool linearizing,
                            bool *nonzero_out);
  bool (*partial_eval)(const cxi_program *, const bool *unknown_in,
                       const bool *force_unknown_out, cxi_partial *out,
                       bool *unknown_out);
  /* (ins not linear, cotangents in mask, accumulators in mask) -> a cotangent
   * for each linear in */
  const cxi_program *(*transpose)(const cxi_program *, const bool *linear_in,
                                  const bool *cotangent_out,
                                  const bool *accumulator_in);
  /* (ins not in wrt, cotangents of the floating outs) -> a cotangent for each
   * in in wrt; what does not depend on these is split off first */
  const cxi_program *(*transpose_part)(const cxi_program *, const bool *wrt);
  /* (ins, cotangents in mask) -> (outs, a cotangent for each in in wrt) */
  const cxi_program *(*vjp)(const cxi_program *, const bool *wrt,
                            const bool *cotangent_out);
  /* Batched at axis 0, in and out. */
  const cxi_program *(*batch)(const cxi_program *, const bool *batched_in,
                              int64_t size, const bool *force_out,
                              bool *batched_out);
  /* The same program with input i taken from place in[i] (NULL: all in
   * order) and the outputs out[0..n_out-1] (NULL: all). */
  const cxi_program *(*select)(const cxi_program *, const uint32_t *in,
                               uint32_t n_out, const uint32_t *out);
  /* The outputs in used_out (NULL: all) and only the inputs that they and the
   * effects need, which used_in then names. */
  const cxi_program *(*narrow)(const cxi_program *, const bool *used_out,
                               bool *used_in);
  /* The same, without effects whose results are not needed. */
  const cxi_program *(*narrow_quiet)(const cxi_program *, const bool *used_out,
                                     bool *used_in);
  /* Inside a partial_eval rule: which side emits; a known value's handle on
   * the unknown side. */
  void (*into_known)(cxi_split *);
  void (*into_unknown)(cxi_split *);
  cx (*residual)(cxi_split *, cx known);
} cxi_transforms;

/* -- rules ---------------------------------------------------------------- */

typedef struct cxi_row cxi_row;
typedef struct cxi_rule {
  const cxi_transforms *transforms;
  const cxi_row *row;
  const void *params;
  uint32_t n_in, n_out;
  const cxi_type *in_types, *out_types;
  bool linearizing;           /* jvp only: the tangents will be transposed */
  cxi_name axis_name;         /* batch only: of the axis; 0: it has none */
} cxi_rule;

/* -- evaluate: the plain C reference -------------------------------------- */

typedef struct cxi_eval cxi_eval;
struct cxi_eval {
  const cxi_row *row;
  const void *params;
  uint32_t n_in, n_out;
  /* Runs a sub-program. Inputs marked `give` are owned buffers, each given
   * once: the run reuses or frees them, also when it fails. Each result is an
   * owned buffer of its own. */
  bool (*run)(cxi_eval *, const cxi_program *, const cxi_view *in,
              const bool *give, cxi_view *out);
  void (*release)(cxi_eval *, cxi_view *owned); /* frees an owned buffer */
  void *workspace;            /* as many bytes as the row says, or a
                                 place; 64-aligned */
  cxi_error *error;
};

/* -- the row -------------------------------------------------------------- */

/* What a scheduler needs to know of a primitive. */
typedef enum cxi_form {
  CXI_FORM_ELEMENTWISE = 1,   /* each element from those at its place */
  CXI_FORM_MOVE,              /* the same elements at other places */
  CXI_FORM_INDEX,             /* places known only when running */
  CXI_FORM_REDUCE,
  CXI_FORM_PRODUCT,           /* and what is none of the others */
  CXI_FORM_SOURCE,            /* no array operands: iota, random */
  CXI_FORM_CALL,              /* a body that may stand in its place */
  CXI_FORM_CONTROL,           /* loops and branches */
  CXI_FORM_HOST,              /* calls a function of the host */
  CXI_FORM_NEVER              /* evaluate is the error if it is left at last */
} cxi_form;

struct cxi_row {
  cxi_prim prim;
  cxi_form form;
  const char *formula;        /* for the table in docs: "x + y" */

  /* Result types, or an error text. */
  bool (*infer)(cxi_infer *);

  /* Tangents: dx[i] is none where there is none; sets dout[i], none before.
   * The driver has emitted the primal equation, out[], unless jvp_emits. */
  void (*jvp)(const cxi_rule *, const cx *in, const cx *dx, cx *out, cx *dout);
  bool jvp_emits;

  /* Cotangents: in[i] is none where the equation is linear in operand i.
   * There acc[i] enters as the accumulator or none and leaves with this
   * equation's contribution added (none: still nothing). ct[i] may be none. */
  void (*transpose)(const cxi_rule *, const cx *in, const cx *ct, cx *acc);

  /* axis[i] is operand i's batch axis or -1; sets out and out_axis (-1: the
   * result does not depend on the batch). */
  void (*batch)(const cxi_rule *, const cx *in, const int *axis, int64_t size,
                cx *out, int *out_axis);

  /* Only rows with sub-programs. known[i] or unknown[i] is given, the other
   * none; sets one of known_out[i], unknown_out[i]. */
  void (*partial_eval)(const cxi_rule *, cxi_split *, const cx *known,
                       const cx *unknown, cx *known_out, cx *unknown_out);
  /* Only rows with sub-programs: emits what is left when the results not in
   * `used` are not wanted; sets out[i] of the used ones. */
  void (*dce)(const cxi_rule *, const cx *in, const bool *used, cx *out);

  /* Only rows that are short for others: emits those, with the bits that the
   * row is to have. Executors run them in its place. */
  void (*expand)(const cxi_rule *, const cx *in, cx *out);

  /* Results are dense buffers to be filled; false with eval->error. */
  bool (*evaluate)(cxi_eval *, const cxi_view *in, cxi_view *out);
  /* The bytes of workspace for operands and results of these types and strides,
   * whose elements are not there yet; -1: more than there can be. NULL: none. */
  int64_t (*workspace)(const cxi_eval *, const cxi_view *in,
                       const cxi_view *out);
  /* Emits bool[]: whether the operands are such that the result is what was
   * meant; none if they always are. `invalid` says what is wrong if not. */
  cx (*valid)(const cxi_rule *, const cx *in);
  const char *invalid;

  /* Effects of the equation itself; NULL: none. */
  uint16_t (*effects)(const void *params);
  /* Operand + 1 whose buffer result 0 may take: where that is dense, has as
   * many bytes and is no other operand too. */
  int in_place;

  /* Floating-point operations. NULL: by form, see cxi_program_flops. */
  double (*flops)(const cxi_rule *);

  const char *no_jvp, *no_transpose, *no_batch; /* the reason for a NULL */

  /* Program texts that drive the generated tests, ending with NULL, and the
   * interval their floating inputs are drawn from (both 0: normal). */
  const char *const *examples;
  double lo, hi;
};
const cxi_row *cxi_row_of(cxi_prim prim);
/* The row's evaluate with a workspace that is allocated for it; or in one of as
 * many bytes as cxi_workspace() says, 64-aligned, NULL for none. */
bool cxi_evaluate(cxi_eval *e, const cxi_view *in, cxi_view *out);
bool cxi_evaluate_in(cxi_eval *e, const cxi_view *in, cxi_view *out,
                     void *workspace);
int64_t cxi_workspace(const cxi_eval *e, const cxi_view *in,
                      const cxi_view *out);
/* The row's expansion as a program from operands to results, with a
 * reference; NULL with *error. */
const cxi_program *cxi_row_expand(const cxi_rule *r, cxi_error *error);

/* The floating-point operations of each of p's equations: what its row says,
 * else by form: none of moves and indexing, the operand's elements of a
 * reduction, the body's of a call, its steps' together of a scan, one step's of
 * a while, the dearest branch's of a cond, the result's elements of all others.
 * False without memory. */
bool cxi_program_flops(const cxi_program *p, double *out);

#define PRIMITIVE(n) extern const cxi_row cxi_row_##n;
#define FIELD(n, kind, field)
#define END(n)
#include "ir/primitives.def"
#undef PRIMITIVE
#undef FIELD
#undef END

#endif
