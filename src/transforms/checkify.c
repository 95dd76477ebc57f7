/* checkify.c - a program that also returns what went wrong in it first.
 *
 * The error is an i32: 0, or the number of a failure (base/failure.h). The walk
 * carries it through the equations; whatever is found later leaves it as it is.
 * Loops carry it, branches and calls return it. A row says itself when its
 * operands are wrong (`valid`). What is within a custom rule, a solver or a
 * function that joins elements is looked at as one operation. */
#include <stdio.h>

#include "base/failure.h"
#include "calx/transform.h"
#include "ops/lax.h"
#include "transforms/walk.h"

typedef struct checking {
  cxi_walk w;
  unsigned kinds;
  cx error; /* so far: i32[], poison after a failure */
  cx *nan;  /* by value: whether it has a NaN; {0}: not known yet */
} checking;

static const cxi_program *checked(const cxi_program *p, unsigned kinds);

/* -- the error ------------------------------------------------------------- */

static cx none_yet(void) {
  return cxi_integer(CX_I32, 0);
}

/* The first of two. */
static cx first_of(cx a, cx b) {
  return cxi_select(cxi_compare(CXI_PRIM_eq, a, none_yet()), a, b);
}

/* Where `good`, bool[], does not hold, the failure, if it is the first. */
static void require(checking *c, const cxi_equation *e, cx good, cx_code code,
                    const char *what) {
  char text[480];
  const char *site = cxi_name_text(e->site);
  snprintf(text, sizeof text, "%.120s%s%s: %.240s%s%.80s", site,
           *site ? ": " : "", cxi_prim_name((cxi_prim)e->prim), what,
           e->scope ? " in " : "", cxi_name_text(e->scope));
  const int32_t number = cxi_failure_number(code, cxi_name_of(text));
  if (!number) {
    cxi_fail(CX_EMEMORY, "checkify: out of memory");
    return;
  }
  const cx found = cxi_select(good, cxi_integer(CX_I32, number), none_yet());
  c->error = first_of(c->error, found);
}

/* -- NaN ------------------------------------------------------------------- */

/* bool[]: whether an element of x is a NaN. */
static cx any_nan(cx x) {
  const cx is = cxi_compare(CXI_PRIM_ne, x, x);
  return cxi_reduce(CXI_PRIM_reduce_or, is, cxi_dims_range(0, cxi_rank_at(x)));
}

static cx has_nan(checking *c, uint32_t value) {
  if (!cxi_given(c->nan[value])) c->nan[value] = any_nan(c->w.env[value]);
  return c->nan[value];
}

/* A result has one and no operand has. */
static void check_nan(checking *c, const cxi_equation *e) {
  const cxi_program *p = c->w.p;
  cx made = { 0, 0 }, had = { 0, 0 };
  for (uint32_t k = 0; k < e->n_out; k++)
    if (cxi_type_is_float(p->values[e->out + k].type)) {
      const cx here = has_nan(c, e->out + k);
      made = cxi_given(made) ? cxi_binary(CXI_PRIM_or, made, here) : here;
    }
  if (!cxi_given(made)) return;
  for (uint32_t k = 0; k < e->n_in; k++) {
    const uint32_t v = cxi_operands_of(p, e)[k];
    if (!cxi_type_is_float(p->values[v].type)) continue;
    const cx here = has_nan(c, v);
    had = cxi_given(had) ? cxi_binary(CXI_PRIM_or, had, here) : here;
  }
  cx good = cxi_unary(CXI_PRIM_not, made);
  if (cxi_given(had)) good = cxi_binary(CXI_PRIM_or, good, had);
  require(c, e, good, CX_ENAN, "the result has a NaN, the operands have none");
}

/* -- equations without sub-programs that are looked into ------------------- */

static unsigned kind_of(cxi_prim prim) {
  if (prim == CXI_PRIM_check) return CX_CHECK_USER;
  return prim == CXI_PRIM_div || prim == CXI_PRIM_rem ? CX_CHECK_DIVISION
                                                      : CX_CHECK_INDEX;
}

static void check_plain(checking *c, const cxi_equation *e) {
  const cxi_rule rule = cxi_walk_rule(&c->w, e);
  const unsigned kind = kind_of((cxi_prim)e->prim);
  if (rule.row->valid && (c->kinds & kind)) {
    const char *what = rule.row->invalid;
    if (e->prim == CXI_PRIM_check)
      what = cxi_name_text(((const cxi_check_params *)e->params)->message);
    const cx good = rule.row->valid(&rule, c->w.args);
    if (cxi_given(good))
      require(c, e, good, kind == CX_CHECK_INDEX ? CX_EINDEX : CX_EUSER, what);
  }
  if (e->prim == CXI_PRIM_check && (c->kinds & CX_CHECK_USER)) return;
  cxi_walk_emit(&c->w, e);
  if (c->kinds & CX_CHECK_NAN) check_nan(c, e);
}

/* -- calls, branches ------------------------------------------------------- */

/* (error, results) of an equation in the place of e. */
static void take(checking *c, const cxi_equation *e, const cx *results) {
  c->error = first_of(c->error, results[0]);
  for (uint32_t k = 0; k < e->n_out; k++) c->w.env[e->out + k] = results[k + 1];
}

static void check_call(checking *c, const cxi_equation *e,
                       const cxi_program *body) {
  const cxi_program *q = checked(body, c->kinds);
  cx *results = cxi_walk_scratch(e->n_out + (size_t)1, sizeof *results);
  if (!q || !results) return;
  if (e->prim == CXI_PRIM_checkpoint) {
    cxi_checkpoint_params p = *(const cxi_checkpoint_params *)e->params;
    p.body = q;
    cxi_emit(CXI_PRIM_checkpoint, &p, e->n_in, c->w.args, q->n_out, results);
  } else {
    cxi_call(q, c->w.args, results);
  }
  take(c, e, results);
}

static void check_cond(checking *c, const cxi_equation *e) {
  const cxi_programs branches = ((const cxi_cond_params *)e->params)->branches;
  const cxi_program **bodies = cxi_walk_scratch(branches.n, sizeof *bodies);
  cx *results = cxi_walk_scratch(e->n_out + (size_t)1, sizeof *results);
  if (!bodies || !results) return;
  for (uint32_t k = 0; k < branches.n; k++)
    if (!(bodies[k] = checked(branches.d[k], c->kinds))) return;
  cxi_cond((cxi_programs){ branches.n, bodies }, c->w.args[0], c->w.args + 1,
           results);
  take(c, e, results);
}

/* -- loops ----------------------------------------------------------------- */

/* The inputs of a loop's body with the error before input `at`; in[] without
 * it. Returns the error's handle. */
static cx open_body(cxi_builder *b, const cxi_program *body, uint32_t at,
                    cx *all, cx *in) {
  cxi_builder_open(b);
  uint32_t n = 0;
  for (uint32_t i = 0; i <= body->n_in; i++) {
    if (i == at) all[n++] = cxi_builder_input(b, cxi_type_scalar(CX_I32));
    if (i == body->n_in) break;
    all[n++] = in[i] = cxi_builder_input(b, body->values[i].type);
  }
  return all[at];
}

static const cxi_program *close_body(cxi_builder *b, cxi_name name,
                                     uint32_t n_in, const cx *in,
                                     uint32_t n_out, const cx *out) {
  cxi_error error = { 0 };
  const cxi_program *p =
      cxi_builder_finish(b, name, n_in, in, n_out, out, &error);
  const cxi_program *held = cxi_hold(p);
  cxi_program_release(p);
  if (!held) cxi_fail(error.code ? error.code : CX_EMEMORY, "%s", error.text);
  return held;
}

/* The error is the first carry. */
static void check_scan(checking *c, const cxi_equation *e) {
  cxi_scan_params s = *(const cxi_scan_params *)e->params;
  const cxi_program *q = checked(s.body, c->kinds), *body = s.body;
  const uint32_t n = e->n_in + 1, at = (uint32_t)s.n_consts;
  cx *all = cxi_walk_scratch(n, sizeof *all);
  cx *in = cxi_walk_scratch(n, sizeof *in);
  cx *out = cxi_walk_scratch(e->n_out + (size_t)1, sizeof *out);
  if (!q || !all || !in || !out) return;
  cxi_builder b;
  const cx error = open_body(&b, body, at, all, in);
  cxi_replay(q, in, out);
  out[0] = first_of(error, out[0]);
  s.body = close_body(&b, body->name, n, all, e->n_out + 1, out);
  if (!s.body) return;
  s.n_carry++;
  for (uint32_t i = 0, k = 0; i < n; i++)
    all[i] = i == at ? c->error : c->w.args[k++];
  cxi_scan(&s, all, out);
  c->error = out[0];
  for (uint32_t k = 0; k < e->n_out; k++) c->w.env[e->out + k] = out[k + 1];
}

/* (cond consts, error, carries) -> whether to go on: not after an error. */
static const cxi_program *while_cond(const cxi_while_params *p,
                                     const cxi_program *q) {
  const uint32_t n = p->cond->n_in + 1;
  cx *all = cxi_walk_scratch(n, sizeof *all);
  cx *in = cxi_walk_scratch(n, sizeof *in);
  cx out[2];
  if (!all || !in) return NULL;
  cxi_builder b;
  const cx error = open_body(&b, p->cond, (uint32_t)p->n_cond_consts, all, in);
  cxi_replay(q, in, out);
  const cx good = cxi_compare(CXI_PRIM_eq, error, none_yet());
  out[1] = cxi_binary(CXI_PRIM_and, good, out[1]);
  return close_body(&b, p->cond->name, n, all, 1, out + 1);
}

/* (cond consts, body consts, error, carries) -> error, carries: a step, and
 * what is wrong in the condition after it. */
static const cxi_program *while_body(const cxi_while_params *p,
                                     const cxi_program *cond,
                                     const cxi_program *body) {
  const uint32_t n_cond = (uint32_t)p->n_cond_consts;
  const uint32_t n_body = (uint32_t)p->n_body_consts;
  const uint32_t n_carry = p->body->n_out, n = n_cond + n_body + 1 + n_carry;
  cx *all = cxi_walk_scratch(n, sizeof *all);
  cx *out = cxi_walk_scratch(n_carry + (size_t)1, sizeof *out);
  cx *in = cxi_walk_scratch(n, sizeof *in);
  cx test[2];
  if (!all || !out || !in) return NULL;
  cxi_builder b;
  cxi_builder_open(&b);
  uint32_t k = 0;
  for (uint32_t i = 0; i < n_cond; i++)
    all[k++] = cxi_builder_input(&b, p->cond->values[i].type);
  for (uint32_t i = 0; i < n_body; i++)
    all[k++] = cxi_builder_input(&b, p->body->values[i].type);
  const cx error = all[k++] = cxi_builder_input(&b, cxi_type_scalar(CX_I32));
  for (uint32_t i = 0; i < n_carry; i++)
    all[k++] = cxi_builder_input(&b, p->body->values[n_body + i].type);
  for (uint32_t i = 0; i < n_body; i++) in[i] = all[n_cond + i];
  for (uint32_t i = 0; i < n_carry; i++)
    in[n_body + i] = all[n_cond + n_body + 1 + i];
  cxi_replay(body, in, out);
  out[0] = first_of(error, out[0]);
  for (uint32_t i = 0; i < n_cond; i++) in[i] = all[i];
  for (uint32_t i = 0; i < n_carry; i++) in[n_cond + i] = out[1 + i];
  cxi_replay(cond, in, test);
  out[0] = first_of(out[0], test[0]);
  return close_body(&b, p->body->name, n, all, n_carry + 1, out);
}

static void check_while(checking *c, const cxi_equation *e) {
  cxi_while_params s = *(const cxi_while_params *)e->params;
  const cxi_program *cond = checked(s.cond, c->kinds);
  const cxi_program *body = cond ? checked(s.body, c->kinds) : NULL;
  const uint32_t n_cond = (uint32_t)s.n_cond_consts;
  const uint32_t n_body = (uint32_t)s.n_body_consts, n_carry = e->n_out;
  const uint32_t n = 2 * n_cond + n_body + 1 + n_carry;
  cx *in = cxi_walk_scratch(n, sizeof *in);
  cx *out = cxi_walk_scratch(n_carry + (size_t)1, sizeof *out);
  const cxi_program *test = body ? while_cond(&s, cond) : NULL;
  const cxi_program *step = test ? while_body(&s, cond, body) : NULL;
  if (!in || !out || !step) return;
  const cx *args = c->w.args, *carries = args + n_cond + n_body;
  cx first[2];
  for (uint32_t i = 0; i < n_cond; i++) in[i] = args[i];
  for (uint32_t i = 0; i < n_carry; i++) in[n_cond + i] = carries[i];
  cxi_replay(cond, in, first);
  uint32_t k = 0;
  for (uint32_t i = 0; i < n_cond; i++) in[k++] = args[i];
  for (uint32_t i = 0; i < n_cond + n_body; i++) in[k++] = args[i];
  in[k++] = first_of(c->error, first[0]);
  for (uint32_t i = 0; i < n_carry; i++) in[k++] = carries[i];
  s.cond = test;
  s.body = step;
  s.n_body_consts = n_cond + n_body;
  cxi_while(&s, in, out);
  c->error = out[0];
  for (uint32_t i = 0; i < n_carry; i++) c->w.env[e->out + i] = out[i + 1];
}

/* -- the walk --------------------------------------------------------------- */

static void check_equation(checking *c, const cxi_equation *e) {
  switch ((cxi_prim)e->prim) {
  case CXI_PRIM_jit:
  case CXI_PRIM_composite:
  case CXI_PRIM_checkpoint:
    check_call(c, e, cxi_params_body((cxi_prim)e->prim, e->params));
    break;
  case CXI_PRIM_scan:
    check_scan(c, e);
    break;
  case CXI_PRIM_while:
    check_while(c, e);
    break;
  case CXI_PRIM_cond:
    check_cond(c, e);
    break;
  default:
    check_plain(c, e);
  }
}

static const cxi_program *check(cxi_task *task, unsigned kinds) {
  const cxi_program *p = task->p;
  cxi_builder b;
  cxi_builder_open(&b);
  checking c = { .kinds = kinds };
  cx *in = cxi_walk_scratch(p->n_in, sizeof *in);
  cx *out = cxi_walk_scratch(p->n_out + (size_t)1, sizeof *out);
  c.nan = cxi_walk_scratch(p->n_values, sizeof *c.nan);
  if (in && out && c.nan && cxi_walk_begin(&c.w, p, &b.error, NULL)) {
    for (uint32_t i = 0; i < p->n_in; i++)
      in[i] = c.w.env[i] = cxi_builder_input(&b, p->values[i].type);
    c.error = none_yet();
    for (uint32_t i = 0; i < p->n_equations && !cxi_walk_failed(&c.w); i++) {
      const cxi_mark mark = cxi_scratch_mark();
      check_equation(&c, cxi_walk_at(&c.w, i));
      cxi_scratch_reset(mark);
    }
    cxi_walk_end(&c.w);
    out[0] = c.error;
    for (uint32_t i = 0; i < p->n_out; i++) out[i + 1] = c.w.env[p->outputs[i]];
  }
  return cxi_task_finish(task, &b, "_checked", p->n_in, in, p->n_out + 1, out);
}

const cxi_program *cxi_checkify(const cxi_program *p, unsigned kinds,
                                cxi_error *error) {
  cxi_task task;
  cxi_task_begin(&task, CXI_CHECKIFY, p, NULL, 0, error);
  cxi_bytes_add_u32(&task.key, kinds);
  if (!cxi_task_found(&task)) {
    task.memo.a = check(&task, kinds);
    cxi_task_keep(&task, task.memo.a != NULL);
  }
  cxi_task_end(&task);
  return task.memo.a;
}

/* Of a sub-program; NULL after reporting to the current emitter. */
static const cxi_program *checked(const cxi_program *p, unsigned kinds) {
  cxi_error error = { 0 };
  const cxi_program *q = cxi_checkify(p, kinds, &error);
  if (!q) cxi_fail(error.code, "%s", error.text);
  return q;
}
