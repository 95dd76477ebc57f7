/* picture.h - pictures of results: plots of curves, points and contours, and
 * images side by side, as PNG.
 *
 * Arrays are handles of any floating dtype. A picture is made, drawn on and
 * saved once, which also frees it; NULL stands for one that could not be made,
 * on which nothing is drawn. */
#ifndef EXAMPLES_PICTURE_H
#define EXAMPLES_PICTURE_H

#include "calx.h"

typedef struct picture picture;
typedef struct colour {
  uint8_t red, green, blue;
} colour;

/* The colours of the plots (Okabe & Ito, readable to the colour-blind). */
#define BLACK ((colour){ 0, 0, 0 })
#define GREY ((colour){ 150, 150, 150 })
#define BLUE ((colour){ 0, 114, 178 })
#define SKY ((colour){ 190, 220, 240 })
#define ORANGE ((colour){ 213, 94, 0 })
#define GREEN ((colour){ 0, 158, 115 })

/* A plot of the window [x0, x1] x [y0, y1], y upwards, with a frame, and
 * numbers at the marks. */
picture *plot_new(int width, int height, double x0, double x1, double y0,
                  double y1);
/* x (n), y (n): a curve, or a dot at each of them. */
void plot_curve(picture *p, cx x, cx y, colour ink);
void plot_dots(picture *p, cx x, cx y, colour ink);
/* x (n), ascending; low (n), high (n): what lies between two curves. */
void plot_band(picture *p, cx x, cx low, cx high, colour ink);
/* z (rows, columns), values at the points of a grid over the whole window, the
 * first row at y0: the lines on which z is `level`. */
void plot_contour(picture *p, cx z, double level, colour ink);

/* Images (rows, columns, side, side) from 0, black, to 1, white, each pixel
 * `zoom` pixels wide. */
picture *tiles_new(cx images, int zoom);

/* Writes and frees p; `path` NULL: only frees it. False, with a message, if it
 * cannot. Built without libpng: true, with a message that there is none. */
bool picture_save(picture *p, const char *path);

#endif
