/* site_trace.h: reads job traces and class curves for the site what-if.
 *
 * A trace is either a CSV with the columns submit, gpus, runtime and optionally start, class, job
 * (times in seconds or as 2026-01-31T12:00:00, UTC), or what `sacct -P` prints with at
 * least Submit, Elapsed or ElapsedRaw, and AllocTRES (or NGPUS): Start and JobName are used when
 * there; job steps, jobs without GPUs and jobs that never started are left out and counted.
 */
#ifndef WATTLAW_SIM_SITE_TRACE_H
#define WATTLAW_SIM_SITE_TRACE_H

#include "sim/site.h"

struct site_trace {
	struct site_job *jobs;
	size_t n, cap;
	char (*classes)[64]; /* names in order of appearance */
	size_t n_classes, cap_classes;
	size_t n_left_out;
	bool has_starts;
	double t0_s; /* subtracted from every time, so that doubles keep their precision */
};

/* Errors name file:line and the column. */
enum status site_trace_read(const char *path, struct site_trace *out, struct err *e);
enum status site_trace_parse(
	const char *file, const char *text, size_t len, struct site_trace *out, struct err *e);
void site_trace_release(struct site_trace *t);

/* Class curves: an INI file with sections
 *   [class resnet50]   power_limit = 100W, …, 250W   time = 1.9, …, 1   power = 95W, …   p95 = …
 * "class *" is for classes without a section. out has trace->n_classes entries on success. */
enum status site_classes_read(
	const char *path, const struct site_trace *trace, struct site_class *out, struct err *e);
enum status site_classes_parse(const char *file, const char *text, size_t len,
	const struct site_trace *trace, struct site_class *out, struct err *e);
#endif
