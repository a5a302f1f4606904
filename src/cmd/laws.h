/* laws.h: from the runs of a campaign to fitted laws: what fit, predict, advise and report share.
 *
 * Runs are put into groups that may be compared: one workload, one kind of figure (measured,
 * simulated, imported), one unit of work, and equal in every axis that is not a factor of a law.
 * Within a group a series is time, power or energy against one factor while the other factors stay
 * as they are.
 */
#ifndef WATTLAW_CMD_LAWS_H
#define WATTLAW_CMD_LAWS_H

#include "model/select.h"
#include "store/store.h"

struct law_group {
	char *workload, *domain;
	char *where; /* the other axes: "batch=32 gpu=V100", "" when there are none */
	char *label; /* "measured", "simulated", "imported" */
	char *source; /* of the first run; NULL when measured here */
	char *work_unit; /* "sample", "step", "epoch", "run" */
	char *device; /* kind of device: "V100"; NULL unknown */
	struct obs *obs; /* one a run */
	size_t n, cap;
	size_t n_energy; /* of them with known energy */
	char *energy_note; /* why the first one without energy has none */
	char *scope; /* what the energy covers */
};

/* One curve. sel is NULL when nothing could be fitted; why says so. */
struct law_series {
	const struct law_group *group;
	enum factor factor;
	enum quantity quantity;
	char *where; /* the other factors: "workers=2" */
	bool at_baseline; /* the other factors are at the default setting */
	struct obs *obs; /* the runs of this slice */
	size_t n;
	bool skipped; /* not asked for, see law_set_fit */
	struct selection *sel;
	enum status st; /* ST_INVALID: the runs contradict each other, why names them */
	char why[160];
};

struct law_set {
	struct law_group *groups;
	size_t n_groups, cap_groups;
	struct law_series *series;
	size_t n_series, cap_series;
	char *host; /* of the runs; "3 hosts" when several */
	size_t n_runs, n_workloads;
	unsigned threads; /* that fit; 0 = one a CPU. The result is the same, to the last bit */
};

/* Read the usable runs of a campaign (0 = all) into groups. */
enum status law_set_read(struct store *s, int64_t campaign_id, struct law_set *out, struct err *e);
/* The same with the power of the GPUs alone, without hosts; a run that has none of it has no power.
 */
enum status law_set_read_gpus(
	struct store *s, int64_t campaign_id, struct law_set *out, struct err *e);
/* Fit every series: each factor that takes at least three values in a slice, and those with two
 * where the other factors are at the default. Of a kind (group, factor, quantity) with more than
 * max_slices slices only those at the default are fitted, the others are marked skipped; 0 = all.
 */
enum status law_set_fit(struct law_set *set, size_t max_slices, struct err *e);
/* How many slices there are of the kind of s. */
size_t law_set_slices(const struct law_set *set, const struct law_series *s);
void law_set_release(struct law_set *set);
/* workload NULL = any; every word of where ("batch=32 gpu=V100", NULL = any) is one of its axes. */
bool law_group_matches(const struct law_group *g, const char *workload, const char *where);
/* That some group matches. ST_NOT_FOUND names the nearest workload, or what there is. */
enum status law_set_expect(
	const struct law_set *set, const char *workload, const char *where, struct err *e);
/* The slice of a group in which f takes most values, as one series. */
enum status law_group_series(
	const struct law_group *g, enum factor f, enum quantity q, struct series *out);

/* "power_limit", "workers", "clock_max", "cpu_rate": the axis of a factor, and back (-1). */
const char *factor_axis(enum factor f);
int factor_of_axis(const char *axis);
/* "200W", "60%", "4": a value of a factor for people. Returns buf. */
const char *factor_text(enum factor f, double x, char *buf, size_t size);

#endif
