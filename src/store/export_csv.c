/* export_csv.c: one run a row; `wattlaw import csv` reads it back without a mapping. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "store/export_format.h"

#define MAX_AXES 256

struct table {
	struct str *out;
	char *axes[MAX_AXES]; /* columns, in order of first use */
	size_t n_axes;
	bool failed;
	enum { FIND_AXES, WRITE_ROWS } pass;
};

static void cell(struct str *out, const char *text)
{
	str_addc(out, ',');
	if (!text)
		return;
	/* Quotes also where a spreadsheet would run a formula: a field is text, never a program. */
	if (!strpbrk(text, ",\"\r\n") && !strchr("=+-@#", *text)) {
		str_add(out, text);
		return;
	}
	str_addc(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			str_addc(out, '"');
		str_addc(out, *text);
	}
	str_addc(out, '"');
}

static void cell_number(struct str *out, double v)
{
	str_addc(out, ',');
	export_number(out, v);
}

static void cell_qty(struct str *out, struct qty q, enum unit unit)
{
	cell_number(out, q.st == ST_OK ? unit_to_outside(unit, q.v) : NAN);
}

/* Known factors have a column with a unit; the others are "axis.NAME". */
static const char *column_of(const struct axis_val *a, char *buf, size_t size)
{
	struct str s = STR_INIT;

	if (axis_is_knob(a->name))
		return axis_column(a->name, a->unit, buf, size);
	if (!strcmp(a->name, "workers") || !strcmp(a->name, "nodes"))
		str_add(&s, a->name);
	else
		str_addf(&s, "axis.%s", a->name);
	strncpy(buf, str_cstr(&s), size - 1);
	buf[size - 1] = '\0';
	str_release(&s);
	return buf;
}

static void find_axes(struct table *t, const struct run_rec *r)
{
	char buf[128];

	for (size_t i = 0; i < r->n_axes; i++) {
		const char *name = column_of(&r->axes[i], buf, sizeof(buf));
		size_t k = 0;

		while (k < t->n_axes && strcmp(t->axes[k], name))
			k++;
		if (k < t->n_axes || t->n_axes == MAX_AXES)
			continue;
		t->axes[k] = mem_strdup(name);
		if (!t->axes[k]) {
			t->failed = true;
			return;
		}
		t->n_axes++;
	}
}

static void axis_cells(struct table *t, const struct run_rec *r)
{
	char buf[128];

	for (size_t k = 0; k < t->n_axes; k++) {
		const struct axis_val *a = NULL;

		for (size_t i = 0; i < r->n_axes && !a; i++) {
			if (!strcmp(column_of(&r->axes[i], buf, sizeof(buf)), t->axes[k]))
				a = &r->axes[i];
		}
		if (a && axis_is_knob(a->name) && a->value.st == ST_OK)
			cell_qty(t->out, a->value, a->unit);
		else
			cell(t->out, a ? a->text : NULL);
	}
}

static bool each_run(void *arg, const struct figures *f)
{
	struct table *t = arg;
	const struct run_rec *r = f->run;
	struct str *out = t->out;

	if (t->pass == FIND_AXES) {
		find_axes(t, r);
		return !t->failed;
	}
	str_add(out, r->run_id);
	cell(out, r->campaign);
	cell(out, f->label);
	cell(out, r->source);
	cell(out, r->domain);
	cell(out, r->task);
	cell(out, r->workload);
	cell(out, r->host);
	axis_cells(t, r);
	cell_number(out, r->repeat);
	cell_number(out, r->baseline);
	cell_number(out, r->simulated);
	cell(out, run_state_name(r->state));
	cell_qty(out, r->wall_ns, UNIT_TIME);
	cell_qty(out, r->train.window_ns, UNIT_TIME);
	cell_qty(out, r->train.window_steps, UNIT_NONE);
	cell_qty(out, r->train.window_samples, UNIT_NONE);
	cell_qty(out, r->train.steps, UNIT_NONE);
	cell_qty(out, r->train.samples, UNIT_NONE);
	cell_qty(out, r->train.epochs, UNIT_NONE);
	cell_qty(out, r->train.batch_per_rank, UNIT_NONE);
	cell_qty(out, r->train.global_batch, UNIT_NONE);
	cell(out, f->work_unit);
	cell_number(out, f->time_s);
	cell_number(out, f->energy_j);
	cell_qty(out, r->energy_uj, UNIT_ENERGY);
	cell_qty(out, r->net_uj, UNIT_ENERGY);
	cell_number(out, f->mean_w);
	cell(out, energy_method_name(r->method));
	cell(out, r->scope);
	cell(out, r->energy_note);
	str_addc(out, '\n');
	return !out->failed;
}

static enum status write_csv(struct store *s, int64_t campaign_id, struct str *out, struct err *e)
{
	struct table t = {.out = out, .pass = FIND_AXES};
	enum status st = store_each_figures(s, FIGURES_RUN, campaign_id, each_run, &t, e);

	str_add(out, "run_id,campaign,label,source,domain,task,workload,host");
	for (size_t i = 0; i < t.n_axes; i++)
		cell(out, t.axes[i]);
	str_add(out, ",repeat,baseline,simulated,state,time_s,window_s,window_steps,window_samples,"
		     "steps,samples,epochs,batch_per_rank,global_batch,work_unit,time_per_work_s,"
		     "energy_per_work_j,energy_j,net_j,mean_power_w,energy_method,energy_scope,"
		     "energy_note\n");
	t.pass = WRITE_ROWS;
	if (!st && t.failed)
		st = err_set(e, ST_NOMEM, "export: out of memory");
	if (!st)
		st = store_each_figures(s, FIGURES_RUN, campaign_id, each_run, &t, e);
	for (size_t i = 0; i < t.n_axes; i++)
		mem_free(t.axes[i]);
	return export_done(out, st, e);
}

const struct export_format export_csv = {
	.name = "csv",
	.what = "one usable run a row, with its figures; import csv reads it back",
	.write = write_csv,
};
