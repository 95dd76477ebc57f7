/* picture.c - drawing with smooth edges on an array of pixels. */
#include "picture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_PNG
#include <png.h>
#endif

enum { MARGIN_LEFT = 44, MARGIN_BELOW = 26, MARGIN = 10 };

struct picture {
  int width, height;
  uint8_t *pixels;       /* (height, width, 3) */
  double x0, x1, y0, y1; /* the window of a plot */
};

static picture *picture_new(int width, int height) {
  picture *p = calloc(1, sizeof *p);
  uint8_t *pixels = malloc((size_t)width * (size_t)height * 3);
  if (!p || !pixels) {
    free(p);
    free(pixels);
    return NULL;
  }
  memset(pixels, 255, (size_t)width * (size_t)height * 3);
  *p = (picture){ .width = width, .height = height, .pixels = pixels };
  return p;
}

/* The numbers of an array, to be freed; NULL on error. */
static double *numbers(cx a, int64_t count) {
  double *values = malloc(sizeof *values * (size_t)count);
  if (!values || cx_size(a) != count ||
      !cx_read(cx_cast(a, CX_F64), values, count)) {
    free(values);
    return NULL;
  }
  return values;
}

/* -- ink --------------------------------------------------------------------- */

/* Lays ink that covers a part of a pixel over it. */
static void cover(picture *p, int x, int y, double part, colour ink) {
  if (x < 0 || y < 0 || x >= p->width || y >= p->height || !(part > 0)) return;
  if (part > 1) part = 1;
  uint8_t *at = p->pixels + 3 * ((size_t)y * (size_t)p->width + (size_t)x);
  const uint8_t to[3] = { ink.red, ink.green, ink.blue };
  for (int c = 0; c < 3; c++)
    at[c] = (uint8_t)lround(at[c] + part * (to[c] - at[c]));
}
/* A stroke from (ax, ay) to (bx, by) with round ends: a pixel is covered by
 * how near its centre is to the segment. */
static void stroke(picture *p, double ax, double ay, double bx, double by,
                   double radius, colour ink) {
  if (!(isfinite(ax) && isfinite(ay) && isfinite(bx) && isfinite(by))) return;
  const double dx = bx - ax, dy = by - ay, reach = radius + 1;
  const double length2 = dx * dx + dy * dy;
  const int top = (int)fmax(0, fmin(ay, by) - reach);
  const int bottom = (int)fmin(p->height - 1, fmax(ay, by) + reach);
  const int left = (int)fmax(0, fmin(ax, bx) - reach);
  const int right = (int)fmin(p->width - 1, fmax(ax, bx) + reach);
  for (int y = top; y <= bottom; y++)
    for (int x = left; x <= right; x++) {
      const double px = x + 0.5 - ax, py = y + 0.5 - ay;
      double t = length2 > 0 ? (px * dx + py * dy) / length2 : 0;
      t = fmin(1, fmax(0, t));
      cover(p, x, y, radius + 0.5 - hypot(px - t * dx, py - t * dy), ink);
    }
}

/* Digits, point and minus of 3 x 5 pixels, a row in three bits, top first. */
static void write_number(picture *p, double value, int x, int y, bool centred) {
  static const char letters[] = "0123456789.-";
  static const uint16_t shapes[] = { 075557, 026227, 071747, 071717,
                                     055711, 074717, 074757, 071111,
                                     075757, 075717, 000002, 000700 };
  char text[32];
  snprintf(text, sizeof text, "%g", value);
  const int length = (int)strlen(text), step = 8;
  x -= centred ? length * step / 2 : length * step;
  for (int i = 0; i < length; i++) {
    const char *at = strchr(letters, text[i]);
    for (int bit = 0; at && bit < 15; bit++)
      if (shapes[at - letters] >> (14 - bit) & 1)
        for (int part = 0; part < 4; part++)
          cover(p, x + i * step + 2 * (bit % 3) + part % 2,
                y + 2 * (bit / 3) + part / 2, 1, BLACK);
  }
}

/* -- plots --------------------------------------------------------------------- */

static double right(const picture *p) {
  return p->width - MARGIN;
}
static double below(const picture *p) {
  return p->height - MARGIN_BELOW;
}
/* Pixels of a point of the window */
static double across(const picture *p, double x) {
  return MARGIN_LEFT + (x - p->x0) / (p->x1 - p->x0) * (right(p) - MARGIN_LEFT);
}
static double down(const picture *p, double y) {
  return below(p) - (y - p->y0) / (p->y1 - p->y0) * (below(p) - MARGIN);
}

/* 1, 2 or 5 times a power of ten that parts a length in 4 to 9. */
static double mark_step(double length) {
  const double power = pow(10, floor(log10(length / 4)));
  const double ratio = length / 4 / power;
  return power * (ratio >= 5 ? 5 : ratio >= 2 ? 2 : 1);
}
static void frame(picture *p) {
  const double left = MARGIN_LEFT, top = MARGIN;
  stroke(p, left, top, left, below(p), 0.5, BLACK);
  stroke(p, left, below(p), right(p), below(p), 0.5, BLACK);
  double step = mark_step(p->x1 - p->x0);
  for (int i = (int)ceil(p->x0 / step); i * step <= p->x1 + 1e-9; i++) {
    const double at = across(p, i * step);
    stroke(p, at, below(p), at, below(p) + 4, 0.5, BLACK);
    write_number(p, i * step, (int)at, (int)below(p) + 9, true);
  }
  step = mark_step(p->y1 - p->y0);
  for (int i = (int)ceil(p->y0 / step); i * step <= p->y1 + 1e-9; i++) {
    const double at = down(p, i * step);
    stroke(p, left - 4, at, left, at, 0.5, BLACK);
    write_number(p, i * step, (int)left - 7, (int)at - 5, false);
  }
}
picture *plot_new(int width, int height, double x0, double x1, double y0,
                  double y1) {
  picture *p = picture_new(width, height);
  if (!p) return NULL;
  p->x0 = x0, p->x1 = x1, p->y0 = y0, p->y1 = y1;
  frame(p);
  return p;
}

void plot_curve(picture *p, cx x, cx y, colour ink) {
  const int64_t n = cx_size(x);
  double *xs = numbers(x, n), *ys = numbers(y, n);
  for (int64_t i = 1; p && xs && ys && i < n; i++)
    stroke(p, across(p, xs[i - 1]), down(p, ys[i - 1]), across(p, xs[i]),
           down(p, ys[i]), 1, ink);
  free(xs);
  free(ys);
}
void plot_dots(picture *p, cx x, cx y, colour ink) {
  const int64_t n = cx_size(x);
  double *xs = numbers(x, n), *ys = numbers(y, n);
  for (int64_t i = 0; p && xs && ys && i < n; i++)
    stroke(p, across(p, xs[i]), down(p, ys[i]), across(p, xs[i]),
           down(p, ys[i]), 2.5, ink);
  free(xs);
  free(ys);
}
/* Each column of pixels from the lower to the upper curve, between two points
 * of which both are straight. */
static void fill(picture *p, const double *x, const double *low,
                 const double *high, int64_t n, colour ink) {
  int64_t i = 0;
  for (int column = MARGIN_LEFT + 1; column < right(p); column++) {
    const double at = p->x0 + (column + 0.5 - MARGIN_LEFT) /
                                  (right(p) - MARGIN_LEFT) * (p->x1 - p->x0);
    while (i + 2 < n && x[i + 1] < at) i++;
    if (i + 1 >= n || at < x[i] || at > x[i + 1]) continue;
    const double t = (at - x[i]) / (x[i + 1] - x[i]);
    const double top = down(p, high[i] + t * (high[i + 1] - high[i]));
    const double bottom = down(p, low[i] + t * (low[i + 1] - low[i]));
    for (int y = MARGIN; y < below(p); y++)
      cover(p, column, y, fmin(bottom, y + 1) - fmax(top, y), ink);
  }
}
void plot_band(picture *p, cx x, cx low, cx high, colour ink) {
  const int64_t n = cx_size(x);
  double *xs = numbers(x, n), *lows = numbers(low, n);
  double *highs = numbers(high, n);
  if (p && xs && lows && highs) fill(p, xs, lows, highs, n, ink);
  free(xs);
  free(lows);
  free(highs);
}

/* Where the level crosses an edge of a cell, as a part of the edge; false if it
 * does not. */
static bool crossing(double a, double b, double level, double *out) {
  if ((a < level) == (b < level)) return false;
  *out = (level - a) / (b - a);
  return true;
}
/* The line through the cell with the corner (row, column): the crossings of
 * its four edges, joined in pairs. */
static void contour_cell(picture *p, const double *z, int rows, int columns,
                         int row, int column, double level, colour ink) {
  static const int corner[5][2] = {
    { 0, 0 }, { 0, 1 }, { 1, 1 }, { 1, 0 }, { 0, 0 }
  };
  double x[4], y[4], t;
  int n = 0;
  for (int edge = 0; edge < 4; edge++) {
    const int *from = corner[edge], *to = corner[edge + 1];
    if (!crossing(z[(row + from[0]) * columns + column + from[1]],
                  z[(row + to[0]) * columns + column + to[1]], level, &t))
      continue;
    const double r = row + from[0] + t * (to[0] - from[0]);
    const double c = column + from[1] + t * (to[1] - from[1]);
    x[n] = across(p, p->x0 + c / (columns - 1) * (p->x1 - p->x0));
    y[n++] = down(p, p->y0 + r / (rows - 1) * (p->y1 - p->y0));
  }
  for (int i = 0; i + 1 < n; i += 2)
    stroke(p, x[i], y[i], x[i + 1], y[i + 1], 0.7, ink);
}
void plot_contour(picture *p, cx z, double level, colour ink) {
  int64_t rows, columns;
  cx_sizes(z, &rows, &columns);
  double *values = numbers(z, rows * columns);
  for (int r = 0; p && values && r + 1 < (int)rows; r++)
    for (int c = 0; c + 1 < (int)columns; c++)
      contour_cell(p, values, (int)rows, (int)columns, r, c, level, ink);
  free(values);
}

/* -- images -------------------------------------------------------------------- */

picture *tiles_new(cx images, int zoom) {
  int64_t rows, columns, high, wide;
  cx_sizes(images, &rows, &columns, &high, &wide);
  double *values = numbers(images, rows * columns * high * wide);
  const int step_y = (int)high * zoom + 2, step_x = (int)wide * zoom + 2;
  picture *p =
      values ? picture_new((int)columns * step_x + 2, (int)rows * step_y + 2)
             : NULL;
  const int64_t count = p ? rows * columns * high * wide : 0;
  for (int64_t i = 0; i < count; i++) {
    const int x = (int)(i % wide), y = (int)(i / wide % high);
    const int column = (int)(i / wide / high % columns);
    const int row = (int)(i / wide / high / columns);
    const uint8_t grey = (uint8_t)lround(255 * fmin(1, fmax(0, values[i])));
    for (int part = 0; part < zoom * zoom; part++)
      cover(p, 2 + column * step_x + x * zoom + part % zoom,
            2 + row * step_y + y * zoom + part / zoom, 1,
            (colour){ grey, grey, grey });
  }
  free(values);
  return p;
}

/* -- files --------------------------------------------------------------------- */

#ifdef HAVE_PNG
static bool write_png(const picture *p, const char *path) {
  png_image image = { .version = PNG_IMAGE_VERSION,
                      .width = (png_uint_32)p->width,
                      .height = (png_uint_32)p->height,
                      .format = PNG_FORMAT_RGB };
  if (png_image_write_to_file(&image, path, 0, p->pixels, 0, NULL)) return true;
  fprintf(stderr, "%s: %s\n", path, image.message);
  return false;
}
#else
static bool write_png(const picture *p, const char *path) {
  (void)p;
  fprintf(stderr, "%s is not written: built without libpng\n", path);
  return true;
}
#endif
bool picture_save(picture *p, const char *path) {
  if (!p) {
    fprintf(stderr, "no picture: out of memory, or an array is missing\n");
    return false;
  }
  const bool written = !path || write_png(p, path);
  free(p->pixels);
  free(p);
  return written;
}
