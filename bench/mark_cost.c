/* mark_cost: what a mark costs the training program, beside a bare clock read.
 *
 * One JSON line; nanoseconds, medians over many short windows (a shared machine is noisy). The
 * bound is two clock reads and 20 ns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "measure/marks.h"
#include "wattlaw/mark.h"

enum { WINDOWS = 401, CALLS = 2000 };

static double ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, WINDOWS, sizeof(*v), by_value);
	return v[WINDOWS / 2];
}

int main(void)
{
	static double clock_read[WINDOWS], step[WINDOWS], loss[WINDOWS], off[WINDOWS];
	struct err e = ERR_INIT;
	struct timespec ts;
	struct marks *m;
	double c, s, l, o = 0;
	int fd[2];

	/* The no-op in a process of its own: a process decides once. */
	if (pipe(fd))
		return 1;
	unsetenv("WATTLAW_MARKS");
	if (!fork()) {
		for (int w = 0; w < WINDOWS; w++) {
			double t = ns();

			for (int i = 0; i < CALLS; i++)
				wl_step(1);
			off[w] = (ns() - t) / CALLS;
		}
		o = median(off);
		_exit(write(fd[1], &o, sizeof(o)) != (ssize_t)sizeof(o));
	}
	if (read(fd[0], &o, sizeof(o)) != (ssize_t)sizeof(o))
		return 1;
	wait(NULL);
	if (marks_open(NULL, &m, &e) != ST_OK) {
		fprintf(stderr, "mark_cost: %s\n", e.msg);
		return 1;
	}
	setenv("WATTLAW_MARKS", marks_dir(m), 1);
	for (int w = 0; w < WINDOWS; w++) {
		double t = ns();

		for (int i = 0; i < CALLS; i++)
			clock_gettime(CLOCK_MONOTONIC, &ts);
		clock_read[w] = (ns() - t) / CALLS;
		t = ns();
		for (int i = 0; i < CALLS; i++)
			wl_step(1);
		step[w] = (ns() - t) / CALLS;
		t = ns();
		for (int i = 0; i < CALLS; i++)
			wl_loss(1.0);
		loss[w] = (ns() - t) / CALLS;
	}
	marks_close(m);
	c = median(clock_read);
	s = median(step);
	l = median(loss);
	printf("{\"bench\":\"mark_cost\",\"clock_read_ns\":%.2f,\"step_ns\":%.2f,\"loss_ns\":%.2f,"
	       "\"noop_ns\":%.2f,"
	       "\"step_beyond_one_clock_read_ns\":%.2f,\"within_bound\":%s}\n",
		c, s, l, o, s - c, s <= 2 * c + 20 ? "true" : "false");
	return s <= 2 * c + 20 ? 0 : 1;
}
