/* executable.c - from a program to a list of thunks. */
#include "lower/executable.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/fpu.h"
#include "lower/loop.h"

enum { MAX_DEPTH = 500 };

/* The schedule of a loop's body. */
typedef struct body_schedule {
  cxi_schedule s;
  struct body_schedule *next;
} body_schedule;

/* What lives as long as the executable, besides its arena. */
typedef struct keeping {
  cxi_expansions expansions;
  body_schedule *schedules;
  cxi_hot *hots;
} keeping;

struct cxi_executable {
  atomic_uint refs;
  const cxi_program *program;
  keeping kept;
  cxi_arena arena; /* of the plans */
  cxi_plan plan;
};

static atomic_uint_fast64_t compiled, live, bytes;

static bool compile_program(const cxi_program *p, const cxi_backend *backend,
                            const cxi_donation *donation, int depth,
                            keeping *kept, cxi_arena *arena, cxi_plan *out,
                            cxi_error *error);

/* The bodies of a loop or branch; their carries may be updated in place. */
static bool compile_bodies(cxi_unit *unit, const cxi_backend *backend,
                           int depth, keeping *kept, cxi_arena *arena,
                           cxi_error *error) {
  const uint32_t n = cxi_loop_bodies(unit->row->prim, unit->params);
  const cxi_plan **bodies =
      cxi_arena_alloc(arena, (n + (size_t)1) * sizeof *bodies);
  if (!bodies) return cxi_error_set(error, CX_EMEMORY, "no memory to compile");
  bool ok = true;
  for (uint32_t i = 0; ok && i < n; i++) {
    int64_t carry, n_carry;
    const cxi_program *body =
        cxi_loop_body(unit->row->prim, unit->params, i, &carry, &n_carry);
    const cxi_mark mark = cxi_scratch_mark();
    bool *inputs = cxi_scratch(body->n_in + (size_t)1);
    cxi_plan *plan = cxi_arena_alloc(arena, sizeof *plan);
    if (!inputs || !plan) {
      ok = cxi_error_set(error, CX_EMEMORY, "no memory to compile");
    } else {
      for (int64_t k = 0; k < n_carry; k++) inputs[carry + k] = true;
      const cxi_donation donation = { inputs, carry };
      ok = compile_program(body, backend, &donation, depth + 1, kept, arena,
                           plan, error);
      bodies[i] = plan;
    }
    cxi_scratch_reset(mark);
  }
  unit->n_bodies = n;
  unit->bodies = bodies;
  return ok;
}

static bool compile_units(cxi_schedule *s, const cxi_backend *backend,
                          keeping *kept, cxi_arena *arena, cxi_plan *out,
                          cxi_error *error) {
  cxi_thunk *thunks =
      cxi_arena_alloc(arena, (s->n_units + (size_t)1) * sizeof *thunks);
  if (!thunks) return cxi_error_set(error, CX_EMEMORY, "no memory to compile");
  uint32_t n = 0;
  for (uint32_t u = 0; u < s->n_units; u++) {
    cxi_unit *unit = &s->units[u];
    if (unit->kind == CXI_UNIT_NONE) continue;
    if (unit->kind == CXI_UNIT_FUSED && backend->coder &&
        backend->coder->may_pay(unit)) {
      unit->hot = cxi_hot_make(unit, backend->coder, arena, &kept->hots);
      if (!unit->hot)
        return cxi_error_set(error, CX_EMEMORY, "no memory to compile");
    }
    const bool loop =
        unit->kind == CXI_UNIT_ONE && cxi_is_loop(unit->row->prim);
    if (!(loop ? cxi_loop_compile(unit, backend, arena, &kept->hots, &thunks[n],
                                  error)
               : backend->compile(unit, arena, &thunks[n], error)))
      return false;
    n++;
  }
  out->thunks = thunks;
  out->n_thunks = n;
  return true;
}

/* Generated code is made from the schedules of bodies. */
static bool keep_schedule(cxi_schedule *s, keeping *kept, cxi_arena *arena,
                          cxi_plan *out, cxi_error *error) {
  body_schedule *own = cxi_arena_alloc(arena, sizeof *own);
  if (!own) {
    cxi_schedule_free(s);
    return cxi_error_set(error, CX_EMEMORY, "no memory to compile");
  }
  own->s = *s;
  own->next = kept->schedules;
  kept->schedules = own;
  out->schedule = &own->s;
  return true;
}

/* As programs after each pass: in builds for development every plan. */
static bool check_plan(const cxi_schedule *s, const cxi_plan *plan,
                       const cxi_donation *donation, cxi_error *error) {
#ifndef NDEBUG
  return cxi_plan_check(s, plan, donation, error);
#else
  (void)s, (void)plan, (void)donation, (void)error;
  return true;
#endif
}

static bool compile_program(const cxi_program *p, const cxi_backend *backend,
                            const cxi_donation *donation, int depth,
                            keeping *kept, cxi_arena *arena, cxi_plan *out,
                            cxi_error *error) {
  if (depth > MAX_DEPTH)
    return cxi_error_set(error, CX_EMEMORY,
                         "loops or branches nest more than %d deep", MAX_DEPTH);
  cxi_schedule s = { .graph.expansions = &kept->expansions };
  bool ok = cxi_graph_fill(&s.graph, p, backend->reads_views, error);
  if (ok && !cxi_plan_outputs(&s.graph, donation))
    ok = cxi_error_set(error, CX_EMEMORY, "no memory to compile");
  ok = ok && cxi_units_make(&s, backend, error) && cxi_units_order(&s, error);
  for (uint32_t u = 0; ok && u < s.n_units; u++)
    if (s.units[u].kind == CXI_UNIT_ONE && cxi_is_loop(s.units[u].row->prim))
      ok = compile_bodies(&s.units[u], backend, depth, kept, arena, error);
  ok = ok && cxi_plan_buffers(&s, backend, donation, arena, out, error) &&
       check_plan(&s, out, donation, error) &&
       compile_units(&s, backend, kept, arena, out, error);
  if (!ok || depth == 0 || !backend->coder) {
    cxi_schedule_free(&s);
    return ok;
  }
  return keep_schedule(&s, kept, arena, out, error);
}

static void release_kept(keeping *kept) {
  cxi_hot_release(kept->hots);
  for (body_schedule *b = kept->schedules; b; b = b->next)
    cxi_schedule_free(&b->s);
  cxi_expansions_release(&kept->expansions);
}

cxi_executable *cxi_compile(const cxi_program *p, const cxi_backend *backend,
                            cxi_compile_options options, cxi_error *error) {
  cxi_executable *exe = cxi_alloc_zeroed(1, sizeof *exe);
  if (!exe) {
    cxi_error_set(error, CX_EMEMORY, "no memory to compile");
    return NULL;
  }
  const cxi_donation donation = { options.donate, -1 };
  if (!compile_program(p, backend, &donation, 0, &exe->kept, &exe->arena,
                       &exe->plan, error)) {
    release_kept(&exe->kept);
    cxi_arena_free(&exe->arena);
    cxi_free(exe);
    return NULL;
  }
  atomic_store(&exe->refs, 1);
  exe->program = cxi_program_retain(p);
  atomic_fetch_add(&compiled, 1);
  atomic_fetch_add(&live, 1);
  atomic_fetch_add(&bytes, exe->arena.bytes);
  return exe;
}

cxi_executable *cxi_executable_retain(cxi_executable *exe) {
  atomic_fetch_add(&exe->refs, 1);
  return exe;
}

void cxi_executable_release(cxi_executable *exe) {
  if (!exe || atomic_fetch_sub(&exe->refs, 1) != 1) return;
  atomic_fetch_sub(&live, 1);
  atomic_fetch_sub(&bytes, exe->arena.bytes);
  release_kept(&exe->kept); /* first: code may be being made of the program */
  cxi_program_release(exe->program);
  cxi_arena_free(&exe->arena);
  cxi_free(exe);
}

const cxi_program *cxi_executable_program(const cxi_executable *exe) {
  return exe->program;
}

size_t cxi_executable_workspace(const cxi_executable *exe) {
  return exe->plan.bytes;
}

int cxi_executable_alias(const cxi_executable *exe, uint32_t j) {
  return exe->plan.alias[j];
}

const char *cxi_executable_plan(const cxi_executable *exe) {
  return exe->plan.report;
}

const char *cxi_executable_report(const cxi_executable *exe, cxi_arena *arena) {
  return cxi_hot_report(exe->kept.hots, arena, exe->plan.report);
}

size_t cxi_executable_peak(const cxi_executable *exe) {
  return exe->plan.peak_bytes;
}

size_t cxi_executable_bytes(const cxi_executable *exe) {
  return sizeof *exe + exe->arena.bytes;
}

uint32_t cxi_executable_steps(const cxi_executable *exe) {
  return exe->plan.n_thunks;
}

bool cxi_executable_run(const cxi_executable *exe, const void *const *in,
                        void *const *out, void *workspace, int threads,
                        cxi_error *error) {
  return cxi_executable_run_with(exe, in, out, workspace, threads,
                                 CX_LOOPS_DEFAULT, error);
}

bool cxi_executable_run_with(const cxi_executable *exe, const void *const *in,
                             void *const *out, void *workspace, int threads,
                             cx_loops loops, cxi_error *error) {
  const cxi_plan *plan = &exe->plan;
  char **bases = cxi_plan_bases(plan, workspace);
  for (uint32_t i = 0; i < plan->n_in; i++)
    bases[CXI_BASE_FIRST + i] = (char *)(uintptr_t)in[i];
  for (uint32_t j = 0; j < plan->n_out; j++)
    bases[CXI_BASE_FIRST + plan->n_in + j] = out[j];
  cxi_running running = { threads, loops, error };
  const cxi_fpu mode = cxi_fpu_enter();
  const bool ok = cxi_plan_run(plan, bases, &running);
  cxi_fpu_leave(mode);
  return ok;
}

cxi_compile_stats cxi_executables_now(void) {
  return (cxi_compile_stats){ atomic_load(&compiled), atomic_load(&live),
                              atomic_load(&bytes) };
}
