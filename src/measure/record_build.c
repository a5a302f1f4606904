/* record_build.c: giving out. See record_build.h; every figure is defined in doc/measuring.md. */
#include "measure/build_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

#define BUSY_PPM      50000 /* utilisation above which a machine is not idle */
#define IDLE_ABOVE    1.02
#define DISTURBED_PPM 10000 /* share of thermal or hardware throttling that spoils a run */
#define MAX_PHASES    256 /* of the job's own, in one record */

static double to_s(int64_t ns)
{
	return (double)ns / 1e9;
}

static struct qty qty_of(double v)
{
	return isfinite(v) && fabs(v) < 9.2e18 ? QTY((int64_t)llround(v)) : QTY_NONE(ST_UNKNOWN);
}

static bool has_value(struct qty q)
{
	return q.st == ST_OK || q.st == ST_PARTIAL;
}

/* ---- steps ---- */

/* End of the warm-up: whichever of the three rules is last. */
static int64_t steady_from(
	const struct build *b, const struct build_window *w, const struct build_rank *r)
{
	int64_t from = w->t0_ns + w->warmup_ns;
	size_t i, to;

	for (size_t p = 0; p < b->n_phase; p++)
		if (!strcmp(b->phase[p].name, "warmup") && b->phase[p].t1_ns != INT64_MAX &&
			b->phase[p].t1_ns <= w->t1_ns && b->phase[p].t1_ns > from)
			from = b->phase[p].t1_ns;
	if (r && w->warmup_steps > 0) {
		uint64_t first;

		rank_window(r, w->t0_ns, w->t1_ns, &i, &to);
		first = i < to ? r->end[i].steps : 0;
		while (i < to && r->end[i].steps - first + 1 < (uint64_t)w->warmup_steps)
			i++;
		if (i < to && r->end[i].t_ns > from)
			from = r->end[i].t_ns;
	}
	return from;
}

/* Steps and samples of one rank in the window. The counters are exact where the window holds all of
 * its steps. */
static void rank_totals(
	const struct build_rank *r, int64_t t0, int64_t t1, int64_t *steps, int64_t *samples)
{
	size_t from, to;

	*steps = *samples = 0;
	if (r->first_ns >= t0 && r->last_ns <= t1) {
		*steps = (int64_t)r->steps;
		*samples = (int64_t)r->samples;
		return;
	}
	rank_window(r, t0, t1, &from, &to);
	if (from == to)
		return;
	/* The end before the window tells what the first step in it added. */
	if (from) {
		*steps = (int64_t)(r->end[to - 1].steps - r->end[from - 1].steps);
		*samples = (int64_t)(r->end[to - 1].samples - r->end[from - 1].samples);
	} else {
		*steps = (int64_t)r->end[to - 1].steps;
		*samples = (int64_t)r->end[to - 1].samples;
	}
}

static void fill_totals(const struct build *b, const struct build_window *w, struct train_rec *t)
{
	const struct build_rank *first = first_rank(b);
	int64_t steps, samples, all = 0, epochs = 0;

	for (size_t i = 0; i < b->n_rank; i++) {
		rank_totals(&b->rank[i], w->t0_ns, w->t1_ns, &steps, &samples);
		all += samples;
		if (b->rank[i].n_ranks > t->n_ranks)
			t->n_ranks = b->rank[i].n_ranks;
	}
	if (!t->n_ranks)
		t->n_ranks = (int)b->n_rank;
	rank_totals(first, w->t0_ns, w->t1_ns, &steps, &samples);
	for (size_t i = 0; i < b->n_epoch; i++)
		epochs += b->epoch[i].t_ns >= w->t0_ns && b->epoch[i].t_ns <= w->t1_ns;
	t->steps = QTY(steps);
	t->samples = all ? QTY(all) : QTY_NONE(ST_UNKNOWN);
	t->epochs = b->progress ? QTY_NONE(ST_UNKNOWN) : QTY(epochs);
	if (first->batch_per_rank)
		t->batch_per_rank = QTY((int64_t)first->batch_per_rank);
	if (first->global_batch)
		t->global_batch = QTY((int64_t)first->global_batch);
	if (first->gradient_bytes)
		t->gradient_bytes = QTY((int64_t)first->gradient_bytes);
	for (size_t i = 0; i < b->n_loss; i++) {
		if (b->loss[i].t_ns < w->t0_ns || b->loss[i].t_ns > w->t1_ns)
			continue;
		if (!t->has_loss)
			t->loss_first = b->loss[i].value;
		t->loss_last = b->loss[i].value;
		t->has_loss = true;
	}
}

/* The steady window: from the last end of the warm-up to the last end of a step, of the slowest
 * rank. */
static void fill_train(const struct build *b, const struct build_window *w, struct train_rec *t,
	int64_t *s0, int64_t *s1)
{
	const struct build_rank *slow;
	struct step_stats st;
	int64_t from, samples = 0;
	size_t i, j;

	*s0 = *s1 = 0;
	t->from_marks = b->n_rank && !b->progress;
	if (!b->n_rank)
		return;
	fill_totals(b, w, t);
	from = steady_from(b, w, first_rank(b));
	slow = slowest_rank(b, from, w->t1_ns);
	if (!slow)
		return;
	rank_window(slow, from, w->t1_ns, &i, &j);
	*s0 = slow->end[i].t_ns;
	*s1 = slow->end[j - 1].t_ns;
	rank_stats(slow, from, w->t1_ns, &st);
	t->window_ns = QTY(*s1 - *s0);
	t->window_steps = QTY((int64_t)(slow->end[j - 1].steps - slow->end[i].steps));
	for (size_t k = 0; k < b->n_rank; k++) {
		const struct build_rank *r = &b->rank[k];
		size_t x, y;

		/* Each rank's samples between its own ends of the same stretch. */
		rank_window(r, *s0, *s1, &x, &y);
		if (y >= x + 2)
			samples += (int64_t)llround(
				(double)(r->end[y - 1].samples - r->end[x].samples) /
				(double)(r->end[y - 1].t_ns - r->end[x].t_ns) *
				(double)(*s1 - *s0));
	}
	t->window_samples = samples ? QTY(samples) : QTY_NONE(ST_UNKNOWN);
	t->step_mean_ns = qty_of(st.mean_ns);
	t->step_sd_ns = qty_of(st.sd_ns);
	t->step_p10_ns = qty_of(st.p10_ns);
	t->step_median_ns = qty_of(st.median_ns);
	t->step_p90_ns = qty_of(st.p90_ns);
	t->steady = st.steady;
}

/* ---- devices ---- */

static void note(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct str *s, const char *fmt, ...)
{
	va_list ap;

	if (s->len)
		str_add(s, "; ");
	va_start(ap, fmt);
	str_vaddf(s, fmt, ap);
	va_end(ap);
}

static void note_source(struct str *s, const struct build_dev *d, const struct meter_energy *m)
{
	if (m->method == ENERGY_COUNTER)
		note(s, "energy counter");
	else if (m->method == ENERGY_INTEGRAL)
		note(s, "integral of power");
	if (m->power_channel == CH_POWER_INSTANT ||
		(m->power_channel == CH_POWER && d->d.power_kind == POWER_KIND_INSTANT))
		note(s, "power: instant");
	else if (m->power_channel == CH_POWER_AVERAGE ||
		 (m->power_channel == CH_POWER && d->d.power_kind == POWER_KIND_AVERAGE))
		note(s, "power: 1 s average");
	if (m->flags & METER_CORRECTED)
		note(s, "corrected for a part-time sensor");
}

static void note_flags(struct str *s, const struct meter_energy *m)
{
	static const struct {
		unsigned flag;
		const char *text;
	} words[] = {{METER_WRAPPED, "counter wrapped"}, {METER_RESET, "counter restarted"},
		{METER_GAP, "not read for a while"}, {METER_SPIKE, "impossible readings dropped"},
		{METER_SENTINEL, "blank readings dropped"}, {METER_LOST, "stopped answering"},
		{METER_LOW_RESOLUTION, "window shorter than five refreshes"},
		{METER_DISAGREE, "counter and integral disagree"},
		{METER_STUCK, "counter did not move"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (m->flags & words[i].flag)
			note(s, "%s", words[i].text);
}

/* Idle power: told, or measured before the job, unless the device was busy then (R22). */
static struct qty idle_power(const struct build *b, const struct build_dev *d, struct run_rec *rec)
{
	struct track_stats util;
	struct meter_energy m;
	/* Its last readings may already show the start of the job. */
	int64_t t1 = b->idle_t1 - 2 * (b->cfg.period_ns + d->d.refresh_ns);

	if (d->idle_mw.st == ST_OK)
		return d->idle_mw;
	if (t1 <= b->idle_t0 || meter_energy(d->meter, b->idle_t0, t1, &m) != ST_OK ||
		m.energy_uj.st != ST_OK || (m.flags & (METER_LOW_RESOLUTION | METER_RESET)))
		return QTY_NONE(ST_UNKNOWN);
	track_stats(&d->track[CH_UTIL], b->idle_t0, t1, &util);
	if (util.mean.st == ST_OK && util.mean.v > BUSY_PPM) {
		run_rec_warn(rec,
			"%s was %.0f %% busy before the job: idle power and net energy are unknown",
			d->d.name, (double)util.mean.v / 1e4);
		return QTY_NONE(ST_UNKNOWN);
	}
	return m.mean_mw;
}

/* Share of a window: from the driver's own clock where there is one, else from sampled bits. */
static struct qty throttled(
	const struct build_dev *d, enum channel counter, int bit, int64_t t0, int64_t t1)
{
	struct qty q = track_rate(&d->track[counter], t0, t1);

	if (d->d.channels & (UINT64_C(1) << counter) && q.st == ST_OK)
		return q;
	return track_share(&d->track[CH_THROTTLE], t0, t1, bit);
}

static void fill_channels(const struct build_dev *d, const struct build_window *w, int64_t s0,
	int64_t s1, struct dev_rec *r)
{
	struct track_stats s;
	int64_t t0 = w->t0_ns, t1 = w->t1_ns;

	track_stats(&d->track[CH_TEMP], t0, t1, &s);
	r->temp_start_mdegc = s.start;
	r->temp_end_mdegc = s.end;
	r->temp_max_mdegc = s.max;
	track_stats(&d->track[CH_MEM_USED], t0, t1, &s);
	r->mem_used_max_bytes = s.max;
	/* Clocks and utilisation are those under load: of the steady window where there is one. */
	if (s1 > s0) {
		t0 = s0;
		t1 = s1;
	}
	track_stats(&d->track[CH_CLOCK], t0, t1, &s);
	r->clock_khz = s.mean;
	track_stats(&d->track[CH_MEM_CLOCK], t0, t1, &s);
	r->mem_clock_khz = s.mean;
	track_stats(&d->track[CH_UTIL], t0, t1, &s);
	r->util_ppm = s.mean;
	track_stats(&d->track[CH_MEM_UTIL], t0, t1, &s);
	r->mem_util_ppm = s.mean;
	r->throttle_power_cap_ppm =
		throttled(d, CH_VIOL_POWER, THROTTLE_POWER_CAP, w->t0_ns, w->t1_ns);
	r->throttle_thermal_ppm =
		throttled(d, CH_VIOL_THERMAL, THROTTLE_THERMAL, w->t0_ns, w->t1_ns);
	r->throttle_hw_ppm = throttled(d, CH_VIOL_HW, THROTTLE_HW, w->t0_ns, w->t1_ns);
	r->throttle_other_ppm =
		track_share(&d->track[CH_THROTTLE], w->t0_ns, w->t1_ns, THROTTLE_OTHER);
}

static bool fill_knobs(
	const struct build *b, size_t dev, const struct build_window *w, struct dev_rec *r)
{
	for (int k = 0; k < KNOB_COUNT; k++) {
		const struct knob_time *latest = NULL;
		struct knob_rec *kr;

		for (size_t i = 0; i < b->n_knob; i++)
			if (b->knob[i].dev == dev && b->knob[i].knob == (enum knob)k &&
				b->knob[i].t_ns <= w->t1_ns)
				latest = &b->knob[i];
		if (!latest)
			continue;
		kr = dev_rec_knob(r, knob_info((enum knob)k)->name, knob_info((enum knob)k)->unit);
		if (!kr)
			return false;
		kr->found = latest->found;
		kr->requested = latest->requested;
		kr->enforced = latest->enforced;
	}
	return true;
}

static void fill_energy(const struct build *b, const struct build_dev *d,
	const struct build_window *w, struct run_rec *rec, struct dev_rec *r, struct str *text)
{
	struct meter_energy m;
	double seconds;

	meter_energy(d->meter, w->t0_ns, w->t1_ns, &m);
	r->energy_uj = m.energy_uj;
	r->energy_counter_uj = m.counter_uj;
	r->energy_integral_uj = m.integral_uj;
	r->method = m.method;
	r->resolution_ppm = m.resolution_ppm;
	r->coverage_ppm = m.coverage_ppm;
	r->refresh_ns = m.refresh_ns;
	r->mean_mw = m.mean_mw;
	r->p95_mw = m.p95_mw;
	r->max_mw = m.max_mw;
	if (m.power_channel == CH_POWER_AVERAGE ||
		(m.power_channel == CH_POWER && d->d.power_kind == POWER_KIND_AVERAGE))
		r->window_ns = QTY(METER_AVERAGE_NS);
	r->idle_mw = idle_power(b, d, rec);
	/* Without a utilisation to tell, "idle" above what the job drew was somebody's load. */
	if (r->idle_mw.st == ST_OK && m.mean_mw.st == ST_OK &&
		(double)r->idle_mw.v > IDLE_ABOVE * (double)m.mean_mw.v) {
		run_rec_warn(rec,
			"%s drew more before the job than during it: idle power and net energy are "
			"unknown",
			d->d.name);
		r->idle_mw = QTY_NONE(ST_UNKNOWN);
	}
	if (r->idle_mw.st == ST_OK && has_value(m.energy_uj)) {
		seconds = to_s(w->t1_ns - w->t0_ns) * (double)m.coverage_ppm.v / 1e6;
		r->net_uj = (struct qty){
			m.energy_uj.v - (int64_t)llround((double)r->idle_mw.v * seconds * 1e3),
			m.energy_uj.st};
	}
	r->st = (m.flags & METER_LOST) ? ST_LOST : m.energy_uj.st;
	note_source(text, d, &m);
	note_flags(text, &m);
	if (!has_value(m.energy_uj) && d->d.why_not[0])
		note(text, "%s", d->d.why_not);
	if (m.flags & METER_DISAGREE)
		run_rec_warn(rec,
			"%s: the energy counter says %.1f J, the integral of power %.1f J",
			d->d.name, (double)m.counter_uj.v / 1e6, (double)m.integral_uj.v / 1e6);
	if (m.flags & (METER_RESET | METER_LOST | METER_STUCK))
		run_rec_warn(rec, "%s: %s; %.1f %% of the window is accounted for", d->d.name,
			m.flags & METER_LOST    ? "stopped answering"
			: m.flags & METER_RESET ? "the energy counter restarted"
						: "the energy counter did not move",
			(double)m.coverage_ppm.v / 1e4);
}

static void judge_throttling(struct run_rec *rec, const struct dev_rec *r)
{
	const struct {
		struct qty share;
		const char *what;
	} bad[] = {{r->throttle_thermal_ppm, "thermal throttling"},
		{r->throttle_hw_ppm, "hardware slowdown or power brake"}};

	for (size_t i = 0; i < 2; i++) {
		if (bad[i].share.st != ST_OK || bad[i].share.v < DISTURBED_PPM)
			continue;
		run_rec_warn(rec, "%s: %s for %.1f %% of the time: the run is disturbed", r->name,
			bad[i].what, (double)bad[i].share.v / 1e4);
		if (rec->state == RUN_DONE)
			rec->state = RUN_DISTURBED;
	}
}

/* Inside a MIG parent the shares of its instances cannot be told apart. */
static bool others_inside(const struct build *b, size_t dev)
{
	size_t inside = 0, on = 0;

	for (size_t i = 0; i < b->n_dev; i++)
		if (b->dev[i].parent == (int)dev) {
			inside++;
			on += b->dev[i].on;
		}
	return on && on < inside;
}

static bool fill_devices(const struct build *b, const struct build_window *w, int64_t s0,
	int64_t s1, struct run_rec *rec)
{
	for (size_t i = 0; i < b->n_dev; i++) {
		const struct build_dev *d = &b->dev[i];
		struct str text = STR_INIT;
		struct dev_rec *r;
		bool good;

		if (!d->on)
			continue;
		r = run_rec_dev(rec);
		if (!r)
			return false;
		r->kind = d->d.kind;
		r->counted = d->counted;
		good = rec_set(&r->host, b->host) && rec_set(&r->key, d->d.key) &&
		       rec_set(&r->name, d->d.name);
		if (good && d->parent >= 0 && (size_t)d->parent < b->n_dev)
			good = rec_set(&r->parent, b->dev[d->parent].d.key);
		fill_energy(b, d, w, rec, r, &text);
		fill_channels(d, w, s0, s1, r);
		if (d->counted && others_inside(b, i)) {
			rec->shared_node = true;
			note(&text, "includes instances of others");
		}
		good = good && fill_knobs(b, i, w, r) && !text.failed &&
		       rec_set(&r->note, text.len ? str_cstr(&text) : NULL);
		str_release(&text);
		if (!good)
			return false;
		if (d->counted)
			judge_throttling(rec, r);
		rec->simulated |= d->d.simulated;
	}
	return true;
}

/* ---- phases ---- */

static struct qty energy_of_counted(const struct build *b, int64_t t0_ns, int64_t t1_ns, bool rough)
{
	int64_t sum = 0;
	enum status st = ST_UNKNOWN;
	bool missing = false;

	for (size_t i = 0; i < b->n_dev; i++) {
		struct meter_energy m;

		if (!b->dev[i].counted)
			continue;
		if (rough)
			m.energy_uj = meter_rough(b->dev[i].meter, t0_ns, t1_ns);
		else if (meter_energy(b->dev[i].meter, t0_ns, t1_ns, &m) != ST_OK)
			m.energy_uj = QTY_NONE(ST_UNKNOWN);
		if (!has_value(m.energy_uj) || __builtin_add_overflow(sum, m.energy_uj.v, &sum)) {
			missing = true;
			continue;
		}
		missing |= m.energy_uj.st == ST_PARTIAL;
		st = ST_OK;
	}
	return st == ST_OK ? (struct qty){sum, missing ? ST_PARTIAL : ST_OK} : QTY_NONE(ST_UNKNOWN);
}

struct qty build_energy(const struct build *b, int64_t t0_ns, int64_t t1_ns)
{
	return energy_of_counted(b, t0_ns, t1_ns, true);
}

static bool add_phase(const struct build *b, const struct build_window *w, struct run_rec *rec,
	const char *name, int64_t t0, int64_t t1)
{
	const struct build_rank *first = first_rank(b);
	struct phase_rec *p;

	if (t0 < w->t0_ns)
		t0 = w->t0_ns;
	if (t1 > w->t1_ns)
		t1 = w->t1_ns;
	if (t1 <= t0)
		return true;
	p = run_rec_phase(rec);
	if (!p || !rec_set(&p->name, name))
		return false;
	p->start_ns = t0 - w->t0_ns;
	p->end_ns = t1 - w->t0_ns;
	p->energy_uj = energy_of_counted(b, t0, t1, false);
	p->steps = p->samples = 0;
	for (size_t i = 0; i < b->n_rank; i++) {
		int64_t steps, samples;

		rank_totals(&b->rank[i], t0, t1, &steps, &samples);
		p->samples += samples;
		if (&b->rank[i] == first)
			p->steps = steps;
	}
	return true;
}

static bool derived(const char *name)
{
	return !strcmp(name, "warmup") || !strcmp(name, "steady") || !strcmp(name, "tail");
}

static bool fill_phases(const struct build *b, const struct build_window *w, int64_t s0, int64_t s1,
	struct run_rec *rec)
{
	size_t kept = 0, cut = 0;

	if (s1 > s0 && (!add_phase(b, w, rec, "warmup", w->t0_ns, s0) ||
			       !add_phase(b, w, rec, "steady", s0, s1) ||
			       !add_phase(b, w, rec, "tail", s1, w->t1_ns)))
		return false;
	for (size_t i = 0; i < b->n_phase; i++) {
		const struct build_phase *p = &b->phase[i];
		char name[40];

		if (p->t1_ns <= w->t0_ns || p->t0_ns >= w->t1_ns)
			continue;
		if (kept++ >= MAX_PHASES) {
			cut++;
			continue;
		}
		/* The job's own names never pass for the three derived ones. */
		snprintf(name, sizeof(name), "%s%s", derived(p->name) ? "job:" : "", p->name);
		if (!add_phase(b, w, rec, name, p->t0_ns, p->t1_ns))
			return false;
	}
	if (cut + b->phases_dropped)
		run_rec_warn(rec, "%llu phases beyond the first %d are not recorded",
			(unsigned long long)(cut + b->phases_dropped), MAX_PHASES);
	return true;
}

void build_steps(const struct build *b, int64_t t0_ns, int64_t t1_ns, struct step_stats *out)
{
	const struct build_rank *r = slowest_rank(b, t0_ns, t1_ns);

	if (r)
		rank_stats(r, t0_ns, t1_ns, out);
	else
		step_stats(NULL, 0, out);
}

enum status build_record(
	struct build *b, const struct build_window *w, struct run_rec *rec, struct err *e)
{
	int64_t s0, s1;
	bool good;

	if (w->t1_ns <= w->t0_ns)
		return err_set(e, ST_RANGE, "a record of an empty window");
	rec->start_mono_ns = w->t0_ns;
	rec->wall_ns = QTY(w->t1_ns - w->t0_ns);
	rec->shared_node |= b->cfg.shared_node;
	fill_train(b, w, &rec->train, &s0, &s1);
	good = rec_set(&rec->host, b->host) && fill_devices(b, w, s0, s1, rec) &&
	       fill_phases(b, w, s0, s1, rec);
	if (w->keep_series)
		good = good && build_fill_series(b, w, rec) && build_fill_marks(b, w, rec);
	for (size_t i = 0; i < b->n_warning; i++)
		good = good && run_rec_warn(rec, "%s", b->warning[i]);
	if (b->events_lost)
		good = good &&
		       run_rec_warn(rec, "%llu step marks were overwritten before they were read",
			       (unsigned long long)b->events_lost);
	if (b->no_memory)
		good = good &&
		       run_rec_warn(rec, "out of memory while measuring: some samples are missing");
	return good && run_rec_total(rec)
		       ? ST_OK
		       : err_set(e, ST_NOMEM, "out of memory for the run's record");
}
