/* digits.h - handwritten-looking digits, drawn by Calx: what the examples
 * learn from in place of MNIST, with nothing to fetch.
 *
 * Each image is a digit's polyline of 13 points whose points are moved about,
 * turned, slanted, scaled and shifted at random, drawn by a pen of random
 * width: ink is a function of the distance to the nearest segment. */
#ifndef EXAMPLES_DIGITS_H
#define EXAMPLES_DIGITS_H

#include "calx.h"

enum { DIGITS_SIDE = 28, DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE };
enum { DIGITS_CLASSES = 10 };

/* n images: a tuple (labels i32 (n), images f32 (n, 28, 28) from 0, paper, to
 * 1, ink). Equal keys give equal images. n is a multiple of 64. */
cx digits(cx key, int64_t n);

#endif
