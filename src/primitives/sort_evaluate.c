/* sort_evaluate.c - sort and top_k in plain C: keys as unsigned integers,
 * sorted digit by digit.
 *
 * Several keys are sorted one after the other, the least significant first,
 * each time without changing the order of equal ones. */
#include <string.h>

#include "base/dtype.h"
#include "primitives/sort.h"

enum {
  DIGITS = 256,
  FEW = 64,     /* elements up to which merging is the faster way */
  SELECTED = 32 /* results up to which top_k keeps a list instead of sorting */
};

/* An element of a line: where it stands and what it counts for. */
typedef struct item {
  uint64_t key;
  int64_t index;
} item;

/* Two arrays of n items in one block. */
typedef struct items {
  item *at, *room;
  int64_t n;
} items;

static int64_t items_bytes(int64_t n) {
  return cxi_size_mul(n, 2 * (int64_t)sizeof(item));
}

static items items_in(void *workspace, int64_t n) {
  item *at = workspace;
  return (items){ at, at + n, n };
}

/* -- keys ------------------------------------------------------------------ */

/* A dtype's bits: the highest, all of them, those of infinity (0: no float),
 * and whether the highest is a sign. */
typedef struct format {
  uint64_t sign, all, infinity;
  bool is_signed;
} format;

static format format_of(cx_dtype type) {
  const uint64_t sign = (uint64_t)1 << (8 * cxi_dtype_bytes(type) - 1);
  format f = { sign, sign | (sign - 1), 0, cxi_dtype_kind(type) == CXI_SIGNED };
  if (cxi_dtype_is_float(type))
    cxi_element_set(type, &f.infinity, __builtin_inf());
  return f;
}

/* Unsigned integers in the order of the elements. That of sort takes NaNs as
 * equal and last, zeros as equal; the `total` one of top_k is IEEE 754's: by
 * the sign first, also of NaNs and zeros. */
static inline uint64_t key_of(const format *f, uint64_t bits, bool total) {
  if (!f->infinity) return f->is_signed ? bits ^ f->sign : bits;
  const uint64_t magnitude = bits & ~f->sign;
  if (!total && magnitude > f->infinity) return f->all;
  if (!total && magnitude == 0) return f->sign;
  return bits & f->sign ? ~bits & f->all : bits | f->sign;
}

static inline uint64_t bits_at(const char *at, size_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, at, bytes);
  return bits;
}

/* The keys of the items' elements in the line that begins at `line`. Those of
 * top_k are in the opposite order. */
static inline __attribute__((always_inline)) void
read_sized(items *s, const format *f, const char *line, int64_t stride,
           bool top, size_t bytes) {
  const uint64_t flip = top ? f->all : 0;
  for (int64_t i = 0; i < s->n; i++) {
    const char *at = line + s->at[i].index * stride * (int64_t)bytes;
    s->at[i].key = key_of(f, bits_at(at, bytes), top) ^ flip;
  }
}

static void read_keys(items *s, cx_dtype type, const char *line, int64_t stride,
                      bool top) {
  const format f = format_of(type);
  switch (cxi_dtype_bytes(type)) {
  case 1:
    read_sized(s, &f, line, stride, top, 1);
    break;
  case 2:
    read_sized(s, &f, line, stride, top, 2);
    break;
  case 4:
    read_sized(s, &f, line, stride, top, 4);
    break;
  default:
    read_sized(s, &f, line, stride, top, 8);
    break;
  }
}

/* -- sorting --------------------------------------------------------------- */

/* Inserts x into the sorted items [0, n), after its equals. */
static inline void insert(item *sorted, int64_t n, item x) {
  for (; n > 0 && sorted[n - 1].key > x.key; n--) sorted[n] = sorted[n - 1];
  sorted[n] = x;
}

/* One pass: to room in the order of one digit; counts[] of each digit. */
static void scatter_digit(items *s, const int64_t *counts, int shift) {
  int64_t place[DIGITS], sum = 0;
  for (int d = 0; d < DIGITS; d++) place[d] = sum, sum += counts[d];
  for (int64_t i = 0; i < s->n; i++)
    s->room[place[s->at[i].key >> shift & (DIGITS - 1)]++] = s->at[i];
  item *sorted = s->room;
  s->room = s->at;
  s->at = sorted;
}

/* Two sorted runs, [a, b) and [b, end), as one; of equal items a's are first.
 * Which is next is a choice of address: it could not be predicted. */
static void merge(const item *a, const item *b, const item *end, item *to) {
  const item *const a_end = b;
  while (a < a_end && b < end) {
    const bool second = b->key < a->key;
    *to++ = *(second ? b : a);
    b += second;
    a += !second;
  }
  memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
  memcpy(to + (a_end - a), b, (size_t)(end - b) * sizeof *b);
}

/* A few items: what is in order already is merged run by run. */
static void merge_runs(items *s) {
  int64_t ends[FEW + 1] = { 0 }; /* ends[i]: of run i - 1 */
  int n = 0;
  for (int64_t i = 1; i < s->n; i++)
    if (s->at[i].key < s->at[i - 1].key) ends[++n] = i;
  ends[++n] = s->n;
  while (n > 1) {
    int merged = 0;
    for (int i = 0; i < n; i += 2) {
      const int64_t end = ends[i + 2 < n ? i + 2 : n];
      merge(s->at + ends[i], s->at + ends[i + 1], s->at + end,
            s->room + ends[i]);
      ends[++merged] = end;
    }
    n = merged;
    item *sorted = s->room;
    s->room = s->at;
    s->at = sorted;
  }
}

/* By keys of so many bytes, in linear time, equal ones as they are. */
static void sort_items(items *s, size_t bytes) {
  if (s->n <= FEW) {
    merge_runs(s);
    return;
  }
  int64_t counts[8][DIGITS] = { { 0 } };
  for (int64_t i = 0; i < s->n; i++)
    for (size_t b = 0; b < bytes; b++)
      counts[b][s->at[i].key >> 8 * b & (DIGITS - 1)]++;
  for (size_t b = 0; b < bytes; b++) {
    const int shift = 8 * (int)b;
    const uint64_t digit = s->at[0].key >> shift & (DIGITS - 1);
    if (counts[b][digit] < s->n) scatter_digit(s, counts[b], shift);
  }
}

static void number_items(items *s) {
  for (int64_t i = 0; i < s->n; i++) s->at[i].index = i;
}

/* -- lines ----------------------------------------------------------------- */

/* The shape of what is left if a line along `axis` counts as one place. */
static cx_dims places_of(const cx_dims *shape, int64_t axis) {
  cx_dims places = *shape;
  places.d[axis] = 1;
  return places;
}

static inline __attribute__((always_inline)) void
pick_sized(const item *order, int64_t n, char *to, int64_t to_step,
           const char *from, int64_t from_step, size_t bytes) {
  for (int64_t i = 0; i < n; i++)
    memcpy(to + i * to_step * (int64_t)bytes,
           from + order[i].index * from_step * (int64_t)bytes, bytes);
}

/* to[i] = from[order[i]] in the lines at `place`. */
static void pick(const item *order, int64_t n, const cxi_view *to,
                 const cxi_view *from, int64_t axis, const int64_t *place) {
  const size_t bytes = cxi_dtype_bytes(to->type.type);
  char *t = cxi_view_element(to, place, bytes);
  const char *f = cxi_view_element(from, place, bytes);
  const int64_t ts = to->strides[axis], fs = from->strides[axis];
  switch (bytes) {
  case 1:
    pick_sized(order, n, t, ts, f, fs, 1);
    break;
  case 2:
    pick_sized(order, n, t, ts, f, fs, 2);
    break;
  case 4:
    pick_sized(order, n, t, ts, f, fs, 4);
    break;
  default:
    pick_sized(order, n, t, ts, f, fs, 8);
    break;
  }
}

int64_t cxi_sort_workspace(const cxi_eval *e, const cxi_view *in,
                           const cxi_view *out) {
  (void)out;
  const cxi_sort_params *p = e->params;
  return items_bytes(in[0].type.shape.d[p->axis]);
}

bool cxi_evaluate_sort(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_sort_params *p = e->params;
  const cx_dims *shape = &in[0].type.shape;
  if (cxi_dims_count(shape) == 0) return true;
  const cx_dims places = places_of(shape, p->axis);
  int64_t place[CX_MAX_DIMS] = { 0 };
  items s = items_in(e->workspace, shape->d[p->axis]);
  do {
    number_items(&s);
    for (int64_t k = p->n_keys - 1; k >= 0; k--) {
      const cx_dtype type = in[k].type.type;
      const size_t bytes = cxi_dtype_bytes(type);
      read_keys(&s, type, cxi_view_element(&in[k], place, bytes),
                in[k].strides[p->axis], false);
      sort_items(&s, bytes);
    }
    for (uint32_t i = 0; i < e->n_in; i++)
      pick(s.at, s.n, &out[i], &in[i], p->axis, place);
  } while (cxi_index_next(&places, place));
  return true;
}

/* The first k >= 1 of the sorted items, in a list of their own. */
static void select_items(items *s, int64_t k) {
  int64_t kept = 0;
  for (int64_t i = 0; i < s->n; i++) {
    if (kept == k && s->room[k - 1].key <= s->at[i].key) continue;
    insert(s->room, kept < k ? kept++ : k - 1, s->at[i]);
  }
  item *first = s->room;
  s->room = s->at;
  s->at = first;
}

/* Leaves the items that may be among the first k in order: those whose highest
 * digit is no greater than that of the item in place k. */
static void keep_first(items *s, int64_t k, size_t bytes) {
  const int shift = 8 * ((int)bytes - 1);
  int64_t counts[DIGITS] = { 0 }, before = 0, kept = 0;
  for (int64_t i = 0; i < s->n; i++) counts[s->at[i].key >> shift]++;
  uint64_t last = 0;
  while (before + counts[last] < k) before += counts[last++];
  for (int64_t i = 0; i < s->n; i++)
    if (s->at[i].key >> shift <= last) s->at[kept++] = s->at[i];
  s->n = kept;
}

int64_t cxi_top_k_workspace(const cxi_eval *e, const cxi_view *in,
                            const cxi_view *out) {
  (void)out;
  const cxi_top_k_params *p = e->params;
  return items_bytes(in[0].type.shape.d[p->axis]);
}

bool cxi_evaluate_top_k(cxi_eval *e, const cxi_view *in, cxi_view *out) {
  const cxi_top_k_params *p = e->params;
  const cx_dtype type = in[0].type.type;
  const size_t bytes = cxi_dtype_bytes(type);
  if (cxi_dims_count(&out[0].type.shape) == 0) return true;
  const cx_dims places = places_of(&out[0].type.shape, p->axis);
  int64_t place[CX_MAX_DIMS] = { 0 };
  const int64_t n = in[0].type.shape.d[p->axis];
  items s = items_in(e->workspace, n);
  do {
    s.n = n;
    number_items(&s);
    read_keys(&s, type, cxi_view_element(&in[0], place, bytes),
              in[0].strides[p->axis], true);
    if (p->k <= SELECTED) {
      select_items(&s, p->k);
    } else {
      keep_first(&s, p->k, bytes);
      sort_items(&s, bytes);
    }
    pick(s.at, p->k, &out[0], &in[0], p->axis, place);
    int32_t *index = cxi_view_element(&out[1], place, sizeof *index);
    for (int64_t i = 0; i < p->k; i++)
      index[i * out[1].strides[p->axis]] = (int32_t)s.at[i].index;
  } while (cxi_index_next(&places, place));
  return true;
}
