#include "cmd/sweep_out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/cmd.h"

static void print_duration(int64_t ns)
{
	long long s = (ns + NS_PER_S / 2) / NS_PER_S;

	if (s >= 3600)
		printf("%lld h %02lld min", s / 3600, s / 60 % 60);
	else if (s >= 60)
		printf("%lld min %02lld s", s / 60, s % 60);
	else
		printf("%lld s", s);
}

void sweep_print_plan(const struct plan *p, bool simulated)
{
	uint64_t group = 0;

	for (size_t i = 0; i < p->n_points; i++) {
		struct str key = STR_INIT;

		if (p->points[i].group != group) {
			struct plan_buf buf;
			struct point pt;

			group = p->points[i].group;
			if (plan_point(p, i, &buf, &pt, NULL) == ST_OK) {
				printf("launch %llu: %s%s%s\n", (unsigned long long)group,
					pt.launch ? pt.launch : "", pt.launch ? " " : "",
					pt.command);
				plan_point_release(&buf);
			}
		}
		plan_point_key(p, i, &key);
		printf("  %4d  %s\n", p->points[i].order + 1, str_cstr(&key));
		str_release(&key);
	}
	printf("%zu points in %zu launches, seed %lld, about ", p->n_points, p->n_groups,
		(long long)p->seed);
	print_duration(plan_length_ns(p, SWEEP_START_NS));
	printf("%s\n", simulated ? " of virtual time (simulated)" : "");
}

/* The table of settings: widths are known before the first line is printed. */
struct table {
	int workload, setting; /* widths */
	bool head, labelled;
};

static bool measure_figures(void *arg, const struct figures *f)
{
	struct table *t = arg;
	int w = (int)strlen(f->workload), s = (int)strlen(f->setting);

	t->workload = w > t->workload ? w : t->workload;
	t->setting = s > t->setting ? s : t->setting;
	t->labelled |= strcmp(f->label, "measured") != 0;
	return true;
}

static bool print_figures(void *arg, const struct figures *f)
{
	struct table *t = arg;
	char time[32] = "-", power[32] = "-", energy[32] = "-", slow[32] = "-", save[32] = "-";

	if (!t->head)
		printf("%-*s  %-*s %10s %10s %10s %9s %9s%s\n", t->workload, "workload", t->setting,
			"setting", "time", "energy", "power", "slowdown", "saving",
			t->labelled ? "  label" : "");
	t->head = true;
	if (isfinite(f->time_s))
		unit_format_short(UNIT_TIME, f->time_s * 1e9, 4, time, sizeof time);
	if (isfinite(f->energy_j))
		unit_format_short(UNIT_ENERGY, f->energy_j * 1e6, 4, energy, sizeof energy);
	if (isfinite(f->mean_w))
		unit_format_short(UNIT_POWER, f->mean_w * 1e3, 4, power, sizeof power);
	if (isfinite(f->slowdown_pct))
		snprintf(slow, sizeof slow, "%+.1f %%", f->slowdown_pct);
	if (isfinite(f->saving_pct))
		snprintf(save, sizeof save, "%+.1f %%", f->saving_pct);
	printf("%-*s  %-*s %10s %10s %10s %9s %9s%s%s\n", t->workload, f->workload, t->setting,
		f->setting, time, energy, power, slow, save, t->labelled ? "  " : "",
		t->labelled ? f->label : "");
	return true;
}

void sweep_print_table(struct store *s, int64_t campaign)
{
	struct table t = {.workload = 8, .setting = 7};
	struct err e = ERR_INIT;

	if (store_each_figures(s, FIGURES_SETTING, campaign, measure_figures, &t, &e) ||
		store_each_figures(s, FIGURES_SETTING, campaign, print_figures, &t, &e))
		cmd_warn("%s", e.msg);
	if (t.head)
		printf("time and energy are for one unit of work (a sample where the job tells "
		       "them, else a step)\n");
}
