/* bar.h: a progress bar with time left, on a terminal only.
 *
 * The bar formats; the caller writes the text to stderr. When not a terminal, or with
 * --quiet, the functions add nothing to their text, so nothing is ever written.
 */
#ifndef WATTLAW_BASE_BAR_H
#define WATTLAW_BASE_BAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/str.h"

struct bar {
	bool on;
	int width; /* columns of the terminal */
	int64_t start_ns; /* monotonic */
	double done, total; /* in any unit of work, e.g. seconds of planned time */
};

/* on only when fd is a terminal, TERM is not "dumb" and quiet is false. */
void bar_init(struct bar *b, int fd, bool quiet, double total, int64_t now_ns);
/* Append "\r[####----]  43 %  12/28  resnet18 200W  ETA 03:12" cut to the width, or nothing when
 * off; i of n is what runs now. ETA is shown once 2 % or 5 s are done. */
void bar_line(const struct bar *b, struct str *out, const char *label, size_t i, size_t n,
	int64_t now_ns);
/* Append what erases the line, so that another message can be written. */
void bar_clear(const struct bar *b, struct str *out);

#endif
