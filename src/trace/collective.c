/* collective.c - the axes of the vmaps around a trace, and collectives. */
#include "calx/collective.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ops/axes.h"
#include "ops/ops.h"
#include "trace/axes.h"
#include "trace/tree_map.h"

/* -- the axes around ------------------------------------------------------- */

static _Thread_local const cxi_named_axis *innermost;

const cxi_named_axis *cxi_named_axes_now(void) {
  return innermost;
}
const cxi_named_axis *cxi_named_axes_use(const cxi_named_axis *axes) {
  const cxi_named_axis *before = innermost;
  innermost = axes;
  return before;
}

/* The names there are, for a message: `"i", "j"`. */
static void list_names(char *out, size_t room) {
  size_t n = 0;
  out[0] = 0;
  for (const cxi_named_axis *a = innermost; a && n + 80 < room; a = a->outer)
    n += (size_t)snprintf(out + n, room - n, "%s\"%.60s\"", n ? ", " : "",
                          cxi_name_text(a->name));
}

/* NULL after reporting. */
static const cxi_named_axis *find_axis(const char *op, const char *name) {
  if (!name || !*name) {
    cxi_reportf(CX_EUSER, "%s: the axis has no name", op);
    return NULL;
  }
  const cxi_named_axis *a = innermost;
  while (a && strcmp(cxi_name_text(a->name), name) != 0) a = a->outer;
  if (a) return a;
  char names[400];
  list_names(names, sizeof names);
  cxi_reportf(CX_ETRACE,
              "%s: no vmap around it has the axis name \"%.60s\"%s%s", op, name,
              *names ? "; there are " : "", names);
  return NULL;
}

/* The axes of n names, none twice. */
typedef struct named {
  const char *op;
  cxi_names names;
  int64_t size; /* of all together */
  int axis, second;
  cx_tiled_opt opt;
} named;

enum { MOST_NAMES = 16 };

static bool find_names(named *c, int n, const char *const *names, cxi_name *out,
                       const cxi_named_axis **axes) {
  if (n < 1 || n > MOST_NAMES || !names) {
    cxi_reportf(CX_EUSER, "%s: %d axis names, wants 1 to %d", c->op, n,
                MOST_NAMES);
    return false;
  }
  c->size = 1;
  for (int i = 0; i < n; i++) {
    axes[i] = find_axis(c->op, names[i]);
    if (!axes[i]) return false;
    const cxi_names before = { (uint32_t)i, out };
    if (cxi_names_have(&before, axes[i]->name)) {
      cxi_reportf(CX_EUSER, "%s: the axis \"%.60s\" is named twice", c->op,
                  names[i]);
      return false;
    }
    out[i] = axes[i]->name;
    if (__builtin_mul_overflow(c->size, axes[i]->size, &c->size)) {
      cxi_reportf(CX_ESHAPE, "%s: the axes have too many lanes", c->op);
      return false;
    }
  }
  c->names = (cxi_names){ (uint32_t)n, out };
  return true;
}

/* The operation `op` on each leaf, over these names. */
static cx map_named(named *c, cx tree, int n, const char *const *names,
                    cxi_leaf_op *leaf, const char *at) {
  const cxi_name before = cxi_enter(at);
  cxi_name found[MOST_NAMES];
  const cxi_named_axis *axes[MOST_NAMES];
  if (!find_names(c, n, names, found, axes))
    return cxi_leave(before, cxi_poison_last());
  return cxi_leave(before, cxi_tree_map(c->op, false, 1, &tree, leaf, c));
}

/* -- psum, pmean, pmax, pmin ----------------------------------------------- */

typedef struct reduction {
  named c; /* first */
  cx_coll kind;
} reduction;

static cx summed(const named *c, cx x) {
  if (cxi_dtype_at(x) == CX_BOOL) x = cxi_convert(x, CX_I32);
  return cxi_collective(CXI_PRIM_psum, x, c->names);
}

static cx averaged(const named *c, cx x) {
  const cx sum = summed(c, x);
  const cx total = cxi_convert(sum, cxi_inexact_jax(cxi_dtype_at(sum)));
  return cxi_div(total, cxi_number_like(total, (double)c->size));
}

static cx reduce_leaf(const cx *leaves, void *user) {
  const reduction *r = user;
  cx x = leaves[0], poison;
  if (!cxi_operand(r->c.op, &x, &poison)) return poison;
  switch (r->kind) {
  case CX_PSUM:
    return summed(&r->c, x);
  case CX_PMEAN:
    return averaged(&r->c, x);
  default:
    return cxi_collective(r->kind == CX_PMAX ? CXI_PRIM_pmax : CXI_PRIM_pmin, x,
                          r->c.names);
  }
}

cx cx_collective_(cx_coll kind, cx tree, int n, const char *const *names,
                  const char *at) {
  static const char *const ops[] = { "psum", "pmean", "pmax", "pmin" };
  if ((unsigned)kind > CX_PMIN) {
    const cxi_name before = cxi_enter(at);
    return cxi_leave(
        before, cxi_reportf(CX_EUSER, "collective: %d is none", (int)kind));
  }
  reduction r = { { .op = ops[kind] }, kind };
  return map_named(&r.c, tree, n, names, reduce_leaf, at);
}

/* -- axis_index, axis_size ------------------------------------------------- */

cx cx_axis_index_(int n, const char *const *names, const char *at) {
  const cxi_name before = cxi_enter(at);
  named c = { .op = "axis_index" };
  cxi_name found[MOST_NAMES];
  const cxi_named_axis *axes[MOST_NAMES];
  if (!find_names(&c, n, names, found, axes))
    return cxi_leave(before, cxi_poison_last());
  cx index = cxi_axis_index(found[0]);
  for (int i = 1; i < n; i++)
    index = cxi_add(cxi_mul(index, cxi_integer(CX_I32, axes[i]->size)),
                    cxi_axis_index(found[i]));
  return cxi_leave(before, index);
}

int64_t cx_axis_size_(int n, const char *const *names, const char *at) {
  cxi_name before __attribute__((cleanup(cxi_left), unused)) = cxi_enter(at);
  named c = { .op = "axis_size" };
  cxi_name found[MOST_NAMES];
  const cxi_named_axis *axes[MOST_NAMES];
  return find_names(&c, n, names, found, axes) ? c.size : 1;
}

/* -- pbroadcast, ppermute, pshuffle ---------------------------------------- */

/* A lane of the axis; false after reporting. */
static bool check_lane(const named *c, int64_t lane) {
  if (lane >= 0 && lane < c->size) return true;
  cxi_reportf(CX_EINDEX,
              "%s: there is no lane %" PRId64 " of the %" PRId64
              " along \"%.60s\"",
              c->op, lane, c->size, cxi_name_text(c->names.d[0]));
  return false;
}

static cx broadcast_leaf(const cx *leaves, void *user) {
  const named *c = user;
  cx x = leaves[0], poison;
  if (!cxi_operand(c->op, &x, &poison)) return poison;
  if (!check_lane(c, c->axis)) return cxi_poison_last();
  return cxi_pbroadcast(x, c->names.d[0], c->axis);
}

cx cx_pbroadcast_(cx tree, const char *name, int source, const char *at) {
  named c = { .op = "pbroadcast", .axis = source };
  return map_named(&c, tree, 1, &name, broadcast_leaf, at);
}

typedef struct permutation {
  named c; /* first */
  cxi_ints from, to;
} permutation;

static cx permute_leaf(const cx *leaves, void *user) {
  const permutation *p = user;
  cx x = leaves[0], poison;
  if (!cxi_operand(p->c.op, &x, &poison)) return poison;
  for (uint32_t i = 0; i < p->from.n; i++)
    if (!check_lane(&p->c, p->from.d[i]) || !check_lane(&p->c, p->to.d[i]))
      return cxi_poison_last();
  return cxi_ppermute(x, p->c.names.d[0], p->from, p->to);
}

/* ppermute, or with pairs == NULL pshuffle. */
static cx permute(const char *op, cx tree, const char *name, int n,
                  const int (*pairs)[2], const int *from, const char *at) {
  const cxi_mark mark = cxi_scratch_mark();
  const uint32_t count = n > 0 ? (uint32_t)n : 0;
  int64_t *lanes = cxi_scratch(2 * (size_t)count * sizeof *lanes + 1);
  permutation p = { { .op = op }, { count, lanes }, { count, NULL } };
  cx result;
  if (!lanes) {
    result = cxi_report_memory();
  } else if (count && !pairs && !from) {
    const cxi_name before = cxi_enter(at);
    result = cxi_leave(before, cxi_reportf(CX_EUSER, "%s: no lanes", op));
  } else {
    p.to.d = lanes + count;
    for (uint32_t i = 0; i < count; i++) {
      lanes[i] = pairs ? pairs[i][0] : from[i];
      lanes[count + i] = pairs ? pairs[i][1] : (int)i;
    }
    result = map_named(&p.c, tree, 1, &name, permute_leaf, at);
  }
  cxi_scratch_reset(mark);
  return result;
}

cx cx_ppermute_(cx tree, const char *name, int n, const int (*pairs)[2],
                const char *at) {
  return permute("ppermute", tree, name, n, pairs, NULL, at);
}

cx cx_pshuffle_(cx tree, const char *name, int n, const int *from,
                const char *at) {
  const cxi_name before = cxi_enter(at);
  const cxi_named_axis *axis = find_axis("pshuffle", name);
  cx result;
  if (!axis)
    result = cxi_poison_last();
  else if (n != axis->size)
    result = cxi_reportf(CX_EUSER,
                         "pshuffle: %d lanes are listed, along \"%.60s\" there"
                         " are %" PRId64,
                         n, name, axis->size);
  else
    result = permute("pshuffle", tree, name, n, NULL, from, at);
  return cxi_leave(before, result);
}

/* -- all_gather, psum_scatter, all_to_all ---------------------------------- */

/* An axis of an array of this rank, from 0; -1 after reporting. */
static int place(const named *c, cx x, int axis, int rank) {
  const int at = axis < 0 ? axis + rank : axis;
  if (at >= 0 && at < rank) return at;
  cxi_reportf(CX_EINDEX, "%s: axis %d is out of range for %s", c->op, axis,
              cxi_shown_of(x).text);
  return -1;
}

static cx one_axis(cx x, int axis) {
  return cxi_expand_dims(x, (cx_dims){ 1, { axis } });
}

/* The axis that is cut: of the size of the lanes if it then goes. */
static bool check_cut(const named *c, cx x, int axis) {
  const int64_t size = cxi_shape_at(x).d[axis];
  if (c->opt.tiled ? size % c->size == 0 : size == c->size) return true;
  cxi_reportf(
      CX_ESHAPE,
      "%s: axis %d of %s is not %s%" PRId64 ", the lanes along \"%.60s\"",
      c->op, axis, cxi_shown_of(x).text, c->opt.tiled ? "a multiple of " : "",
      c->size, cxi_name_text(c->names.d[0]));
  return false;
}

static cx gather_leaf(const cx *leaves, void *user) {
  const named *c = user;
  cx x = leaves[0], poison;
  if (!cxi_operand(c->op, &x, &poison)) return poison;
  const int axis = place(c, x, c->axis, cxi_rank_at(x) + !c->opt.tiled);
  if (axis < 0) return cxi_poison_last();
  return cxi_all_gather(c->opt.tiled ? x : one_axis(x, axis), c->names.d[0],
                        c->size, axis);
}

cx cx_all_gather_(cx tree, const char *name, int axis, cx_tiled_opt opt,
                  const char *at) {
  named c = { .op = "all_gather", .axis = axis, .opt = opt };
  return map_named(&c, tree, 1, &name, gather_leaf, at);
}

static cx scatter_leaf(const cx *leaves, void *user) {
  const named *c = user;
  cx x = leaves[0], poison;
  if (!cxi_operand(c->op, &x, &poison)) return poison;
  if (cxi_dtype_at(x) == CX_BOOL) x = cxi_convert(x, CX_I32);
  const int axis = place(c, x, c->axis, cxi_rank_at(x));
  if (axis < 0 || !check_cut(c, x, axis)) return cxi_poison_last();
  const cx part = cxi_reduce_scatter(x, c->names.d[0], c->size, axis);
  return c->opt.tiled ? part : cxi_squeeze(part, (cx_dims){ 1, { axis } });
}

cx cx_psum_scatter_(cx tree, const char *name, int axis, cx_tiled_opt opt,
                    const char *at) {
  named c = { .op = "psum_scatter", .axis = axis, .opt = opt };
  return map_named(&c, tree, 1, &name, scatter_leaf, at);
}

/* Without .tiled `concat` counts axes after `split` went: an axis of 1 stands
 * there meanwhile. */
static cx to_all_leaf(const cx *leaves, void *user) {
  const named *c = user;
  cx x = leaves[0], poison;
  if (!cxi_operand(c->op, &x, &poison)) return poison;
  int split = place(c, x, c->axis, cxi_rank_at(x));
  int concat = split < 0 ? -1 : place(c, x, c->second, cxi_rank_at(x));
  if (concat < 0 || !check_cut(c, x, split)) return cxi_poison_last();
  if (c->opt.tiled || split == concat)
    return cxi_all_to_all(x, c->names.d[0], c->size, split, concat);
  if (split < concat)
    concat++;
  else
    split++;
  x = cxi_all_to_all(one_axis(x, concat), c->names.d[0], c->size, split,
                     concat);
  return cxi_squeeze(x, (cx_dims){ 1, { split } });
}

cx cx_all_to_all_(cx tree, const char *name, int split, int concat,
                  cx_tiled_opt opt, const char *at) {
  named c = { .op = "all_to_all", .axis = split, .second = concat, .opt = opt };
  return map_named(&c, tree, 1, &name, to_all_leaf, at);
}
