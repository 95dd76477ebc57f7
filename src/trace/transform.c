/* transform.c - cx_grad, cx_vmap, cx_jit and the like: new codes over old. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/ops.h"
#include "trace/function.h"
#include "trace/path.h"

/* -- what they share ------------------------------------------------------ */

/* A code over others being made, with its key and its captures. */
typedef struct making {
  cxi_code code;
  cxi_bytes key;
  uint32_t n;
  cxi_item *captures; /* NULL: none */
} making;

/* False for a transform of NULL, and without memory. */
static bool start(making *m, cxi_code_kind kind, const char *name, uint32_t n,
                  const cx_fn *inner) {
  cxi_code_draft(&m->code, kind, name);
  m->key = (cxi_bytes){ 0 };
  m->n = 0;
  m->captures = NULL;
  for (uint32_t i = 0; i < n; i++) {
    if (!inner[i] || !cxi_fn_check(inner[i])) return false;
    m->code.inner[i] = inner[i]->code;
    m->n += inner[i]->n_captures;
  }
  m->code.n_inner = n;
  m->code.n_captures = m->n;
  if (m->n == 0) return true;
  m->captures = cxi_alloc(m->n * sizeof *m->captures);
  if (!m->captures) {
    cxi_report_memory();
    return false;
  }
  cxi_item *at = m->captures;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < inner[i]->n_captures; k++)
      *at++ = inner[i]->captures[k];
  return true;
}

static cx_fn finish(making *m) {
  const cxi_code *code = cxi_code_intern(&m->code, &m->key);
  cx_fn f = cxi_fn_bind(code, m->n, m->captures);
  cxi_free(m->captures);
  return f;
}

static cx_fn give_up(making *m) {
  cxi_bytes_free(&m->key);
  cxi_code_discard(&m->code);
  cxi_free(m->captures);
  return NULL;
}

/* -- grad ----------------------------------------------------------------- */

static cx_fn grad(cxi_code_kind kind, const char *name, cx_fn f,
                  cx_grad_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  making m;
  cx_fn made = NULL;
  if (start(&m, kind, name, 1, &f)) {
    m.code.as.grad.wrt = opt.wrt.bits ? opt.wrt.bits : 1;
    m.code.as.grad.has_aux = opt.has_aux;
    m.code.as.grad.allow_int = opt.allow_int;
    cxi_bytes_add_u64(&m.key, m.code.as.grad.wrt);
    cxi_bytes_add_u32(&m.key,
                      (uint32_t)opt.has_aux | (uint32_t)opt.allow_int << 1);
    made = finish(&m);
  }
  cxi_site_use(before);
  return made;
}

cx_fn cx_grad_(cx_fn f, cx_grad_opt opt, const char *at) {
  return grad(CXI_CODE_GRAD, "grad", f, opt, at);
}

cx_fn cx_value_and_grad_(cx_fn f, cx_grad_opt opt, const char *at) {
  return grad(CXI_CODE_VALUE_AND_GRAD, "value_and_grad", f, opt, at);
}

/* -- vmap ----------------------------------------------------------------- */

/* A tree of axes with every none replaced by a leaf: its structure and the
 * axes of its leaves. */
typedef struct axes {
  cxi_arena *arena;
  uint32_t n, cap;
  int *axis; /* grows by doubling in the arena */
  bool failed, no_memory;
} axes;

static void add_axis(axes *a, int axis) {
  if (a->n == a->cap) {
    const uint32_t cap = a->cap ? 2 * a->cap : 16;
    int *more = cxi_arena_alloc(a->arena, cap * sizeof *more);
    if (!more) {
      a->no_memory = true;
      return;
    }
    if (a->n) memcpy(more, a->axis, a->n * sizeof *more);
    a->axis = more;
    a->cap = cap;
  }
  a->axis[a->n++] = axis;
}

static cxi_sig axes_of(axes *a, cxi_item item) {
  const cxi_sig leaf = cxi_sig_of_type(cxi_type_scalar(CX_I32));
  if (item.kind == CXI_ITEM_NONE) {
    add_axis(a, CX_NONE);
    return leaf;
  }
  if (item.kind == CXI_ITEM_NUMBER &&
      !cxi_dtype_is_float(cxi_type_dtype(item.type))) {
    add_axis(
        a, (int)cxi_element_get_int(cxi_type_dtype(item.type), &item.as.bits));
    return leaf;
  }
  if (item.kind != CXI_ITEM_TREE) {
    a->failed = true;
    return leaf;
  }
  const cxi_tree *t = item.as.tree;
  cxi_sig *items = cxi_alloc((t->n + 1) * sizeof *items);
  cxi_sig sig = 0;
  for (uint32_t i = 0; items && i < t->n; i++)
    items[i] = axes_of(a, t->items[i]);
  if (items)
    sig = t->is_dict ? cxi_sig_dict(t->n, t->names, items)
                     : cxi_sig_tuple(t->n, items);
  cxi_free(items);
  if (!sig) a->no_memory = true;
  return sig;
}

static bool fill_axes(making *m, cx tree, const char *what, bool *has,
                      cxi_sig *sig, uint32_t *n, const int **axis) {
  const cxi_item item = cxi_item_for("vmap", tree);
  if (item.kind == CXI_ITEM_NOTHING) return true;
  if (item.kind == CXI_ITEM_POISON) return false;
  axes a = { .arena = &m->code.arena };
  *sig = axes_of(&a, item);
  if (a.no_memory || (!a.failed && !*sig)) return cxi_report_memory(), false;
  if (a.failed) {
    cxi_reportf(CX_ETREE, "vmap: %s is no tree of integers and cx_none()",
                what);
    return false;
  }
  *has = true;
  *n = a.n;
  *axis = a.axis;
  cxi_bytes_add_u32(&m->key, *sig);
  if (a.n) cxi_bytes_add(&m->key, a.axis, a.n * sizeof *a.axis);
  return true;
}

cx_fn cx_vmap_(cx_fn f, cx_vmap_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  making m;
  cx_fn made = NULL;
  if (start(&m, CXI_CODE_VMAP, "vmap", 1, &f)) {
    cxi_vmap_options *v = &m.code.as.vmap;
    memcpy(v->in, opt.in, sizeof v->in);
    memcpy(v->out, opt.out, sizeof v->out);
    v->axis_size = opt.axis_size;
    v->axis_name = opt.axis_name ? cxi_name_of(opt.axis_name) : 0;
    cxi_bytes_add(&m.key, v->in, sizeof v->in);
    cxi_bytes_add(&m.key, v->out, sizeof v->out);
    cxi_bytes_add_u64(&m.key, (uint64_t)opt.axis_size);
    cxi_bytes_add_u32(&m.key, v->axis_name);
    cxi_bytes_add_u32(&m.key, (uint32_t)(opt.in_tree.index != 0) |
                                  (uint32_t)(opt.out_tree.index != 0) << 1);
    const bool good = fill_axes(&m, opt.in_tree, "in_tree", &v->has_in_tree,
                                &v->in_sig, &v->n_in_axes, &v->in_axes) &&
                      fill_axes(&m, opt.out_tree, "out_tree", &v->has_out_tree,
                                &v->out_sig, &v->n_out_axes, &v->out_axes);
    made = good ? finish(&m) : give_up(&m);
  }
  cxi_site_use(before);
  return made;
}

/* -- jit ------------------------------------------------------------------ */

cx_fn cx_jit_(cx_fn f, cx_jit_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  making m;
  cx_fn made = NULL;
  if (start(&m, CXI_CODE_JIT, "jit", 1, &f)) {
    cxi_jit_options *j = &m.code.as.jit;
    j->donate = opt.donate.bits;
    j->device = opt.device ? cxi_name_of(opt.device) : 0;
    j->cache_max = opt.cache_max > 0 ? opt.cache_max : 64;
    cxi_bytes_add_u64(&m.key, j->donate);
    cxi_bytes_add_u32(&m.key, j->device);
    cxi_bytes_add_u32(&m.key, (uint32_t)j->cache_max);
    made = finish(&m);
  }
  cxi_site_use(before);
  return made;
}

/* -- checkpoint ----------------------------------------------------------- */

static const char *policy_name(cx_policy policy) {
  switch (policy) {
  case CX_SAVE_NOTHING:
    return "nothing";
  case CX_SAVE_DOTS:
    return "dots";
  case CX_SAVE_DOTS_NO_BATCH:
    return "dots_no_batch";
  case CX_SAVE_NAMES:
    return "names";
  case CX_SAVE_ALL_BUT_NAMES:
    return "all_but_names";
  case CX_SAVE_EVERYTHING:
    return "everything";
  case CX_SAVE_OTHER_NAMES:
    return "other_names";
  case CX_OFFLOAD:
    cxi_report(CX_ENORULE,
               "checkpoint: CX_OFFLOAD would move values to the host's memory, "
               "where they are already; keep less by .names or .budget");
    return NULL;
  }
  cxi_reportf(CX_EUSER, "checkpoint: there is no policy %d", (int)policy);
  return NULL;
}

/* "budget:4096", the policy that keeps within so many bytes. */
static const char *budget_name(const cx_checkpoint_opt *opt, char *out,
                               size_t room) {
  if (opt->policy != CX_SAVE_NOTHING || opt->save) {
    cxi_reportf(CX_EUSER, "checkpoint: .budget and %s are given, one decides",
                opt->save ? ".save" : ".policy");
    return NULL;
  }
  snprintf(out, room, "budget:%zu", opt->budget);
  return out;
}

static bool fill_names(making *m, const char *const *names) {
  cxi_checkpoint_options *c = &m->code.as.checkpoint;
  uint32_t n = 0;
  while (names && names[n]) n++;
  cxi_name *ids = cxi_arena_alloc(&m->code.arena, (n + 1) * sizeof *ids);
  if (!ids) return cxi_report_memory(), false;
  for (uint32_t i = 0; i < n; i++) {
    ids[i] = cxi_name_of(names[i]);
    cxi_bytes_add_u32(&m->key, ids[i]);
  }
  c->names = (cxi_names){ n, ids };
  return true;
}

cx_fn cx_checkpoint_(cx_fn f, cx_checkpoint_opt opt, const char *at) {
  const cxi_name before = cxi_enter(at);
  making m;
  cx_fn made = NULL;
  if (start(&m, CXI_CODE_CHECKPOINT, "checkpoint", 1, &f)) {
    char budget[40];
    const char *policy = opt.budget ? budget_name(&opt, budget, sizeof budget)
                                    : policy_name(opt.policy);
    const bool good = policy && fill_names(&m, opt.names);
    cxi_checkpoint_options *c = &m.code.as.checkpoint;
    c->policy = policy ? cxi_name_of(policy) : 0;
    c->save = opt.save;
    c->user = opt.user;
    cxi_bytes_add_u32(&m.key, c->policy);
    cxi_bytes_add(&m.key, &c->save, sizeof c->save);
    cxi_bytes_add(&m.key, &c->user, sizeof c->user);
    made = good ? finish(&m) : give_up(&m);
  }
  cxi_site_use(before);
  return made;
}

/* -- jvp, vjp, Jacobians -------------------------------------------------- */

static cx_fn with_aux(cxi_code_kind kind, const char *name, cx_fn f,
                      cx_aux_opt opt, const char *at) {
  return grad(kind, name, f, (cx_grad_opt){ .has_aux = opt.has_aux }, at);
}

cx_fn cx_jvp_(cx_fn f, cx_aux_opt opt, const char *at) {
  return with_aux(CXI_CODE_JVP, "jvp", f, opt, at);
}
cx_fn cx_vjp_(cx_fn f, cx_aux_opt opt, const char *at) {
  return with_aux(CXI_CODE_VJP, "vjp", f, opt, at);
}
cx_fn cx_jacfwd_(cx_fn f, cx_grad_opt opt, const char *at) {
  return grad(CXI_CODE_JACFWD, "jacfwd", f, opt, at);
}
cx_fn cx_jacrev_(cx_fn f, cx_grad_opt opt, const char *at) {
  return grad(CXI_CODE_JACREV, "jacrev", f, opt, at);
}
cx_fn cx_hessian_(cx_fn f, cx_grad_opt opt, const char *at) {
  return cx_jacfwd_(cx_jacrev_(f, opt, at), opt, at);
}

cx_fn cx_checkify_(cx_fn f, cx_checkify_opt opt, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  making m;
  if (!start(&m, CXI_CODE_CHECKIFY, "checkify", 1, &f)) return NULL;
  if (opt.errors & ~(unsigned)CX_CHECK_ALL) {
    cxi_reportf(CX_EUSER, "checkify: there are no errors %u", opt.errors);
    return give_up(&m);
  }
  m.code.as.check_kinds = opt.errors ? opt.errors : CX_CHECK_USER;
  cxi_bytes_add_u32(&m.key, m.code.as.check_kinds);
  return finish(&m);
}

cx_fn cx_custom_jvp_(cx_fn f, cx_fn rule, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  making m;
  return start(&m, CXI_CODE_CUSTOM_JVP, "custom_jvp", 2,
               (const cx_fn[]){ f, rule })
             ? finish(&m)
             : NULL;
}

cx_fn cx_custom_vmap_(cx_fn f, cx_fn rule, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  making m;
  return start(&m, CXI_CODE_CUSTOM_VMAP, "custom_vmap", 2,
               (const cx_fn[]){ f, rule })
             ? finish(&m)
             : NULL;
}

cx_fn cx_sequential_vmap_(cx_fn f, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  making m;
  return start(&m, CXI_CODE_CUSTOM_VMAP, "sequential_vmap", 1, &f) ? finish(&m)
                                                                  : NULL;
}

cx_fn cx_custom_vjp_(cx_fn f, cx_fn fwd, cx_fn bwd, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  making m;
  return start(&m, CXI_CODE_CUSTOM_VJP, "custom_vjp", 3,
               (const cx_fn[]){ f, fwd, bwd })
             ? finish(&m)
             : NULL;
}
