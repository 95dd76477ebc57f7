/* digits.c - a random digit as a function of a key. */
#include "digits.h"

enum { POINTS = 13, BATCH = 64 };

/* Strokes in a box of 10 x 14, y downwards; the last point is repeated. */
static const int8_t strokes[DIGITS_CLASSES][POINTS][2] = {
  { { 5, 1 },
    { 7, 2 },
    { 8, 4 },
    { 9, 7 },
    { 8, 10 },
    { 7, 12 },
    { 5, 13 },
    { 3, 12 },
    { 2, 10 },
    { 1, 7 },
    { 2, 4 },
    { 3, 2 },
    { 5, 1 } },
  { { 3, 3 },
    { 5, 1 },
    { 5, 4 },
    { 5, 7 },
    { 5, 10 },
    { 5, 13 },
    { 5, 13 },
    { 5, 13 },
    { 5, 13 },
    { 5, 13 },
    { 5, 13 },
    { 5, 13 },
    { 5, 13 } },
  { { 1, 4 },
    { 2, 2 },
    { 5, 1 },
    { 8, 2 },
    { 9, 4 },
    { 8, 6 },
    { 5, 9 },
    { 1, 13 },
    { 5, 13 },
    { 9, 13 },
    { 9, 13 },
    { 9, 13 },
    { 9, 13 } },
  { { 1, 2 },
    { 4, 1 },
    { 7, 1 },
    { 9, 3 },
    { 8, 6 },
    { 5, 7 },
    { 8, 8 },
    { 9, 10 },
    { 8, 12 },
    { 5, 13 },
    { 1, 12 },
    { 1, 12 },
    { 1, 12 } },
  { { 7, 13 },
    { 7, 9 },
    { 7, 5 },
    { 7, 1 },
    { 4, 5 },
    { 1, 9 },
    { 5, 9 },
    { 9, 9 },
    { 9, 9 },
    { 9, 9 },
    { 9, 9 },
    { 9, 9 },
    { 9, 9 } },
  { { 9, 1 },
    { 5, 1 },
    { 2, 1 },
    { 2, 4 },
    { 1, 6 },
    { 5, 5 },
    { 8, 7 },
    { 9, 10 },
    { 7, 12 },
    { 4, 13 },
    { 1, 12 },
    { 1, 12 },
    { 1, 12 } },
  { { 8, 1 },
    { 4, 3 },
    { 2, 6 },
    { 1, 10 },
    { 3, 13 },
    { 7, 13 },
    { 9, 10 },
    { 7, 7 },
    { 4, 7 },
    { 1, 10 },
    { 1, 10 },
    { 1, 10 },
    { 1, 10 } },
  { { 1, 1 },
    { 5, 1 },
    { 9, 1 },
    { 7, 4 },
    { 6, 7 },
    { 5, 10 },
    { 4, 13 },
    { 4, 13 },
    { 4, 13 },
    { 4, 13 },
    { 4, 13 },
    { 4, 13 },
    { 4, 13 } },
  { { 5, 7 },
    { 2, 5 },
    { 2, 2 },
    { 5, 1 },
    { 8, 2 },
    { 8, 5 },
    { 5, 7 },
    { 2, 9 },
    { 1, 11 },
    { 4, 13 },
    { 7, 13 },
    { 9, 11 },
    { 5, 7 } },
  { { 9, 4 },
    { 6, 7 },
    { 2, 6 },
    { 1, 3 },
    { 4, 1 },
    { 8, 1 },
    { 9, 4 },
    { 9, 9 },
    { 7, 13 },
    { 7, 13 },
    { 7, 13 },
    { 7, 13 },
    { 7, 13 } },
};

/* The polyline (13, 2) of a hand: jitter, then a linear map, then a shift. */
static cx write_points(cx points, cx key) {
  cx jitter, form, place;
  cx_split(key, &jitter, &form, &place);
  cx centre = cx_stack(0, cx_scalar(5.0, CX_F32), cx_scalar(7.0, CX_F32));
  points = cx_add(cx_sub(points, centre),
                  cx_mul(0.4, cx_normal(jitter, CX_F32, POINTS, 2)));
  cx turn, slant, wide, high;
  cx_unpack(cx_unstack(cx_normal(form, CX_F32, 4), 0), &turn, &slant, &wide,
            &high);
  turn = cx_mul(0.15, turn), slant = cx_mul(0.2, slant);
  wide = cx_mul(1.35, cx_exp(cx_mul(0.12, wide)));
  high = cx_mul(1.35, cx_exp(cx_mul(0.08, high)));
  cx x = cx_mul(wide, cx_index(points, CX_ALL, 0));
  cx y = cx_mul(high, cx_index(points, CX_ALL, 1));
  x = cx_sub(x, cx_mul(slant, y));
  cx c = cx_cos(turn), s = cx_sin(turn);
  cx shift = cx_add(DIGITS_SIDE / 2.0, cx_normal(place, CX_F32, 2));
  return cx_add(cx_stack(1, cx_sub(cx_mul(c, x), cx_mul(s, y)),
                         cx_add(cx_mul(s, x), cx_mul(c, y))),
                shift);
}
/* The distance of each pixel from the polyline: (28, 28) */
static cx distance(cx points) {
  cx a = cx_expand(cx_index(points, CX_TO(-1)), 2, 3); /* (12, 2, 1, 1) */
  cx b = cx_expand(cx_index(points, CX_FROM(1)), 2, 3);
  cx along = cx_sub(b, a), centres = cx_arange(0.5, DIGITS_SIDE, 1, CX_F32);
  cx dx = cx_index(along, CX_ALL, 0), dy = cx_index(along, CX_ALL, 1);
  cx px = cx_sub(centres, cx_index(a, CX_ALL, 0));
  cx py = cx_sub(cx_expand(centres, 1), cx_index(a, CX_ALL, 1));
  cx length2 = cx_add(cx_square(dx), cx_square(dy), 1e-6);
  cx t = cx_div(cx_add(cx_mul(px, dx), cx_mul(py, dy)), length2);
  t = cx_clip(t, 0, 1); /* the nearest point of the segment is a + t (b - a) */
  cx d2 = cx_add(cx_square(cx_sub(px, cx_mul(t, dx))),
                 cx_square(cx_sub(py, cx_mul(t, dy))));
  return cx_sqrt(cx_min(d2, 0));
}
CX_DEF(one, table, key) { /* -> (label, image) */
  cx which, hand, pen;
  cx_split(key, &which, &hand, &pen);
  cx label = cx_randint(which, 0, DIGITS_CLASSES, CX_SCALAR);
  cx width = cx_add(1.2, cx_mul(0.25, cx_normal(pen, CX_F32, CX_SCALAR)));
  cx points = write_points(cx_index(table, label), hand);
  return cx_tuple(label,
                  cx_clip(cx_sub(width, cx_sub(distance(points), 0.5)), 0, 1));
}

CX_STRUCT(size_env, (int64_t, n));
CX_STRUCT(table_env, (cx, table));
CX_DEF_ENV(some, table_env, e, keys) {
  return cx_call(cx_vmap(CX_FN(one), .in = { CX_NONE, 0 }), e->table, keys);
}
/* Some at a time, so that the distances of few are in memory. */
CX_DEF_ENV(all, size_env, e, table, key) {
  cx keys = cx_reshape(cx_split_n(key, e->n), -1, BATCH);
  cx labels, images;
  cx_unpack(cx_map(CX_BIND(some, .table = table), keys), &labels, &images);
  return cx_tuple(cx_reshape(labels, -1),
                  cx_reshape(images, -1, DIGITS_SIDE, DIGITS_SIDE));
}
cx digits(cx key, int64_t n) {
  cx table = cx_cast(cx_from(strokes[0][0], DIGITS_CLASSES, POINTS, 2), CX_F32);
  return cx_call(cx_jit(CX_BIND(all, .n = n)), table, key);
}
