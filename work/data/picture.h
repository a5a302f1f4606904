/* picture.h: JPEG and PNG to pixels, and pixels to a network's input.
 *
 * Hides libjpeg and libpng and their way of reporting errors. No globals: any thread may call. A
 * picture owns its pixels.
 */
#ifndef WORK_DATA_PICTURE_H
#define WORK_DATA_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ops/fault.h"

#define PICTURE_SIDE   16384 /* largest side, in pixels */
#define PICTURE_PIXELS ((int64_t)1 << 26) /* largest area */

struct picture {
	int height, width;
	uint8_t *rgb; /* (H,W,3) */
};

/* Decodes bytes, which are told apart by how they begin. Grey becomes RGB, a palette is looked up,
 * 16 bits become 8, CMYK becomes RGB, alpha is dropped. A JPEG may be given smaller by a power of
 * two as long as both sides stay at least `least`. name is for messages. */
int picture_decode(const char *name, const uint8_t *bytes, size_t len, int least, struct picture *p,
	struct fault *f);
void picture_release(struct picture *p);

/* What a network sees of a picture: a square of `side` source pixels at (y, x). */
struct window {
	double y, x, side;
	bool flip; /* left and right */
};
/* The window that `draw` picks: `part` of the shorter side, anywhere and flipped at random, or the
 * middle when !train. */
struct window picture_window(int height, int width, double part, bool train, uint64_t draw);
/* Where rows of pixels come from: row y as floats (width, channels). */
struct rows {
	void (*get)(const void *arg, int y, float *row);
	const void *arg;
	int height, width, channels;
};
/* planes (channels,out,out): the window resized (linear, averaging when it shrinks), less mean,
 * over dev. −1: out of memory. */
int window_resize(const struct rows *r, const struct window *w, int out, const float *mean,
	const float *dev, float *planes);
/* The same of a picture's three channels. */
int picture_resize(const struct picture *p, const struct window *w, int out, const float mean[3],
	const float dev[3], float *planes);

#endif
