/* plan.h: from a sweep file or from axes on the command line to points in a fixed order.
 *
 * Pure but for reading the file: knows no hardware, so `--dry-run` shows exactly what would be run.
 * A plan owns everything it points to; plan_init, fill (plan_read_* or plan_add_*), plan_finish,
 * use, plan_release.
 *
 * Axes are of two kinds. Launch axes (workers, nodes and every axis of the user's own) change the
 * command, so each of their combinations is a launch. Stepped axes (power_limit, clock_max,
 * memory_clock, cpu_rate) can change while a job runs: their combinations are stepped inside one
 * launch, in random order, with the machine's default setting visited first, in the middle and
 * last, unless `relaunch` asks for a launch a point.
 */
#ifndef WATTLAW_SWEEP_PLAN_H
#define WATTLAW_SWEEP_PLAN_H

#include "base/str.h"
#include "exec/exec.h"

#define PLAN_MAX_AXES   16
#define PLAN_MAX_VALUES 1024
#define PLAN_MAX_POINTS 1000000

struct plan_value {
	char *text; /* as printed and as it replaces {axis}: "200W", "default", "32" */
	struct qty value; /* base unit; ST_UNKNOWN for "default", ST_UNSUPPORTED for text */
	bool is_default;
};

struct plan_axis {
	char *name; /* without "axis." */
	enum unit unit; /* UNIT_NONE for counts and the user's own */
	bool known, stepped;
	const char *site; /* set by the site's command: its template, of plan_knob; else NULL */
	struct plan_value *values;
	size_t n, cap;
	int line; /* in the file, 0 = command line */
};

struct plan_job {
	char *name, *domain, *task, *launch, *command, *progress;
	int line;
};

/* A knob set by the site's own command instead of by us: "knob.power_limit = helper {value}" is put
 * in front of the launch, with the value as a plain number (W, MHz); one that begins with '-' is an
 * option and is added to the launch. Every setting is then a launch of its own, and what is in
 * force is read back. At "default" the command is not used. */
struct plan_knob {
	char *name, *command;
	int line, col;
};

enum plan_order { PLAN_RANDOM, PLAN_GIVEN };

struct plan_point {
	uint32_t job;
	uint32_t
		value[PLAN_MAX_AXES]; /* index into the axis's values; UINT32_MAX = default visit */
	int repeat, visit; /* visit: 0 the planned one; 1, 2, 3 = baseline first, middle, last */
	int order; /* place in the campaign, from 0 */
	uint64_t group; /* points of one launch, consecutive in order */
	bool baseline; /* every stepped axis at its default */
};

struct plan {
	char *file; /* for messages; "command line" without a file */
	char *text; /* the sweep file as it was read, or the axes as given: stored with the campaign
		     */
	char *name;
	int repeats;
	enum plan_order order;
	bool have_seed, relaunch;
	int64_t seed, point_time_ns, warmup_ns, settle_ns, timeout_ns;
	double interval; /* relative half width at which holding a point may stop, 0 = never early
			  */
	double max_gpu_hours; /* 0 = no bound */
	struct plan_axis axes[PLAN_MAX_AXES];
	size_t n_axes;
	struct plan_job *jobs;
	size_t n_jobs, cap_jobs;
	struct plan_knob *knobs;
	size_t n_knobs, cap_knobs;
	struct plan_point *points; /* made by plan_finish */
	size_t n_points, cap_points;
	size_t n_groups;
};

void plan_init(struct plan *p); /* the defaults: 3 repeats, random, 10 s a point, 3 s warm-up */
void plan_release(struct plan *p);

/* Every mistake is "file:line:column: …" with what was expected and the nearest valid name. */
enum status plan_read_file(struct plan *p, const char *path, struct err *e);
enum status plan_read_text(
	struct plan *p, const char *file, const char *text, size_t len, struct err *e);
/* From the command line: "power_limit=250W,200W"; min, max, step in the axis's unit. An axis given
 * again replaces the file's. */
enum status plan_add_axis(struct plan *p, const char *name_eq_list, struct err *e);
enum status plan_add_range(struct plan *p, const char *name, const char *min, const char *max,
	const char *step, struct err *e);
/* The job of `wattlaw sweep … -- CMD`; name is made from the command's last path component. */
enum status plan_add_command(struct plan *p, const char *const *argv, struct err *e);

/* Check the whole (a job, a command, every axis used, {names} known, one value of each) and lay out
 * the points. fallback_seed is used, and stored in p->seed, when the file gives none. */
enum status plan_finish(struct plan *p, int64_t fallback_seed, struct err *e);

/* Everything exec.h wants to know about a point. The strings are owned by buf: keep it while the
 * point is used, then plan_point_release. */
struct plan_buf {
	struct str command, launch;
	struct axis_val axes[PLAN_MAX_AXES];
};
enum status plan_point(
	const struct plan *p, size_t i, struct plan_buf *buf, struct point *out, struct err *e);
void plan_point_release(struct plan_buf *buf);

/* "resnet18 workers=2 cpu_rate=60% #1": unique in the plan without the launch order, so a resumed
 * sweep finds what is done; also what a person reads. visit > 0 adds " (default 1)". */
void plan_point_key(const struct plan *p, size_t i, struct str *out);
/* Estimated length: holding, warm-up and settling of every point, and start_ns a launch. */
int64_t plan_length_ns(const struct plan *p, int64_t start_ns);
/* The largest value of "workers", 1 without that axis. */
int64_t plan_max_workers(const struct plan *p);

#endif
