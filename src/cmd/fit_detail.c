/* fit_detail.c: see fit_detail.h. */
#include "cmd/fit_detail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/combine.h"
#include "model/model.h"
#include "record/record_json.h"

const char *fit_verdict(const struct selection *sel, char *buf, size_t size)
{
	if (sel->verdict == VERDICT_UNDETERMINED && sel->repeats_needed)
		snprintf(buf, size, "undetermined: about %u runs a setting would settle it",
			sel->repeats_needed);
	else
		snprintf(buf, size, "%s", verdict_name(sel->verdict));
	return buf;
}

static void number(struct str *out, double v, int width)
{
	if (isnan(v))
		str_addf(out, "  %*s", width, "-");
	else
		str_addf(out, "  %*.2f", width, v);
}

static void parameters(const struct fit *f, struct str *out)
{
	for (unsigned i = 0; i < f->law->n_shown; i++) {
		str_addf(out, "%s%s=%.4g", i ? " " : "", f->law->params[i], f->sh.p[i]);
		if (isfinite(f->ci95[i][0]))
			str_addf(out, " [%.4g, %.4g]", f->ci95[i][0], f->ci95[i][1]);
	}
	if (f->sh.n_knots)
		str_addf(out, "%u knots", f->sh.n_knots);
	if (*f->note)
		str_addf(out, " (%s)", f->note);
}

void fit_compare(const struct law_series *s, struct str *out)
{
	const struct selection *sel = s->sel;
	char verdict[96];

	str_addf(out, "    %-16s  %6s  %6s  %6s  %7s  %6s  %s\n", "family", "LOO %", "MAPE %", "R2",
		"AICc", "weight", "parameters, 95 % intervals");
	for (unsigned k = 0; k < sel->n_fits; k++) {
		const struct fit *f = &sel->fits[k];

		str_addf(out, "  %c %-16s", (int)k == sel->best ? '>' : ' ', f->law->name);
		if (f->st != ST_OK) {
			str_addf(out, "  not fitted: %s\n", f->note);
			continue;
		}
		number(out, f->loo_pct, 6);
		number(out, f->mape_pct, 6);
		number(out, f->r2_log, 6);
		number(out, f->aicc, 7);
		number(out, sel->weight[k], 6);
		str_add(out, "  ");
		parameters(f, out);
		str_addc(out, '\n');
	}
	str_addf(out, "    %-16s", "combined");
	number(out, sel->combined_loo_pct, 6);
	str_addf(out, "\n    %s", fit_verdict(sel, verdict, sizeof(verdict)));
	if (isfinite(sel->effect_lo))
		str_addf(out, "; largest change over the range %+.1f to %+.1f %% (90 %%)",
			100 * sel->effect_lo, 100 * sel->effect_hi);
	str_addc(out, '\n');
	if (isfinite(sel->series.floor_w))
		str_addf(out,
			"    the device drew up to %.4g W under lower limits: these count as "
			"that\n",
			sel->series.floor_w);
}

#define PLOT_W 60
#define PLOT_H 14

struct frame {
	char cell[PLOT_H][PLOT_W + 1];
	double x0, x1, y0, y1; /* ln */
};

static void put(struct frame *f, double lx, double ly, char c)
{
	double col = (lx - f->x0) / (f->x1 - f->x0) * (PLOT_W - 1);
	double row = (f->y1 - ly) / (f->y1 - f->y0) * (PLOT_H - 1);

	if (!(col > -0.5 && col < PLOT_W - 0.5 && row > -0.5 && row < PLOT_H - 0.5))
		return;
	f->cell[(int)lround(row)][(int)lround(col)] = c;
}

static void frame_range(struct frame *f, const struct selection *sel)
{
	const struct series *d = &sel->series;

	f->x0 = d->lx[0];
	f->x1 = d->lx[d->n - 1];
	f->y0 = INFINITY;
	f->y1 = -INFINITY;
	for (unsigned i = 0; i < d->n; i++) {
		f->y0 = fmin(f->y0, d->ly[i]);
		f->y1 = fmax(f->y1, d->ly[i]);
	}
	/* a flat law shall look flat, not like its noise */
	if (f->y1 - f->y0 < 0.1) {
		double mid = 0.5 * (f->y0 + f->y1);

		f->y0 = mid - 0.05;
		f->y1 = mid + 0.05;
	}
	f->y0 -= 0.04 * (f->y1 - f->y0);
	f->y1 += 0.04 * (f->y1 - f->y0);
}

void fit_plot(const struct law_series *s, struct str *out)
{
	static const char *const units[QTY_COUNT] = {"s", "W", "J"};
	const struct selection *sel = s->sel;
	const struct fit *power = sel->power >= 0 ? &sel->fits[sel->power] : NULL;
	struct frame f;
	char lo[32], hi[32];

	if (sel->series.n < 2)
		return;
	frame_range(&f, sel);
	for (int r = 0; r < PLOT_H; r++) {
		memset(f.cell[r], ' ', PLOT_W);
		f.cell[r][PLOT_W] = '\0';
	}
	for (int c = 0; c < 2 * PLOT_W; c++) {
		double lx = f.x0 + (f.x1 - f.x0) * c / (2 * PLOT_W - 1);

		if (power)
			put(&f, lx, log(law_eval(power->law, &power->sh, exp(lx))), '.');
	}
	for (int c = 0; c < 2 * PLOT_W; c++) {
		double lx = f.x0 + (f.x1 - f.x0) * c / (2 * PLOT_W - 1);

		put(&f, lx, combine_log(sel, exp(lx), NULL), '*');
	}
	for (unsigned i = 0; i < sel->series.n; i++)
		put(&f, sel->series.lx[i], sel->series.ly[i], 'o');
	for (int r = 0; r < PLOT_H; r++) {
		if (r == 0 || r == PLOT_H - 1 || r == PLOT_H / 2)
			str_addf(out, "  %9.4g %-2s|%s\n",
				exp(f.y1 + (f.y0 - f.y1) * r / (PLOT_H - 1)), units[s->quantity],
				f.cell[r]);
		else
			str_addf(out, "  %12s|%s\n", "", f.cell[r]);
	}
	str_addf(out, "  %12s+", "");
	for (int c = 0; c < PLOT_W; c++)
		str_addc(out, '-');
	str_addf(out, "\n  %12s %-*s%s\n", "",
		PLOT_W - (int)strlen(factor_text(s->factor, exp(f.x1), hi, sizeof(hi))),
		factor_text(s->factor, exp(f.x0), lo, sizeof(lo)), hi);
	str_addf(out, "  %12s o %s  * combined law  . power law  (%s against %s, log-log)\n", "",
		s->group->label, quantity_name(s->quantity), factor_axis(s->factor));
}

static struct model *group_model(const struct law_group *g)
{
	const struct model_opts opts = {.scaling = SCALING_MIXED, .quantities = QTY_BIT(QTY_TIME)};
	struct model *m = NULL;

	if (model_fit_workload(g->obs, g->n, &opts, &m, NULL) != ST_OK)
		return NULL;
	if (m->has_joint)
		return m;
	model_release(m);
	return NULL;
}

void fit_joint(const struct law_group *g, struct str *out)
{
	struct model *m = group_model(g);

	if (!m)
		return;
	str_addf(out, "  joint law of time, %u settings, off by %.1f %%:", m->joint.n,
		100 * m->joint.rms_time);
	for (unsigned i = 0; i < JOINT_PARAMS; i++)
		if (m->joint.free[i] && i < JOINT_P0)
			str_addf(out, " %s=%.4g", joint_param_name((enum joint_param)i),
				m->joint.p[i]);
	if (m->joint.rest_time.n)
		str_addf(out, "; what it leaves over is a surface, then off by %.1f %%",
			100 * m->joint.rest_time.loo_rms);
	if (isfinite(m->joint_loo_pct))
		str_addf(out,
			"; left-out settings: joint %.1f %%, product of separate laws %.1f %%",
			m->joint_loo_pct, m->product_loo_pct);
	str_addc(out, '\n');
	model_release(m);
}

json_t *fit_joint_json(const struct law_group *g)
{
	struct model *m = group_model(g);
	json_t *j, *params;

	if (!m)
		return NULL;
	params = json_object();
	for (unsigned i = 0; i < JOINT_PARAMS; i++)
		if (m->joint.free[i])
			json_object_set_new(params, joint_param_name((enum joint_param)i),
				json_number(m->joint.p[i]));
	j = json_pack("{s:o,s:o,s:o,s:o,s:i,s:o,s:o,s:o,s:o}", "workload", json_text(g->workload),
		"group", json_text(g->where), "label", json_text(g->label), "params", params, "n",
		(int)m->joint.n, "rms_pct", json_number(100 * m->joint.rms_time), "surface_loo_pct",
		json_number(m->joint.rest_time.n ? 100 * m->joint.rest_time.loo_rms : NAN),
		"loo_pct", json_number(m->joint_loo_pct), "product_loo_pct",
		json_number(m->product_loo_pct));
	model_release(m);
	return j;
}
