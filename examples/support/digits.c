/* digits.c - a random digit as a function of a key. */
#include "digits.h"
#include <stdlib.h>

enum { POINTS = 13, BATCH = 64 };

/* Strokes in a box of 10 x 14: x and, downwards, y of each point in
 * hexadecimal. */
static const char *const strokes[DIGITS_CLASSES] = {
  "51 72 84 97 8a 7c 5d 3c 2a 17 24 32 51",
  "33 51 54 57 5a 5d",
  "14 22 51 82 94 86 59 1d 5d 9d",
  "12 41 71 93 86 57 88 9a 8c 5d 1c",
  "7d 79 75 71 45 19 59 99",
  "91 51 21 24 16 55 87 9a 7c 4d 1c",
  "81 43 26 1a 3d 7d 9a 77 47 1a",
  "11 51 91 74 67 5a 4d",
  "57 25 22 51 82 85 57 29 1b 4d 7d 9b 57",
  "94 67 26 13 41 81 94 99 7d",
};

/* Points of each stroke (10, 13, 2); the last one is repeated. */
static cx table(void) {
  static float points[DIGITS_CLASSES][POINTS][2];
  for (int digit = 0; digit < DIGITS_CLASSES; digit++) {
    const char *at = strokes[digit];
    for (int i = 0; i < POINTS; i++) {
      const long both = strtol(at, NULL, 16);
      points[digit][i][0] = (float)(both / 16);
      points[digit][i][1] = (float)(both % 16);
      if (at[2]) at += 3;
    }
  }
  return cx_from(points[0][0], DIGITS_CLASSES, POINTS, 2);
}

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
  return cx_call(cx_jit(CX_BIND(all, .n = n)), table(), key);
}
