/* total.c: from devices to the whole run, and from hosts to one run. */
#include <string.h>

#include "base/mem.h"
#include "record/record.h"

/* What the counted devices of one kind add up to. */
struct kind_sum {
	size_t n, known;
	enum status why; /* of the first one that is missing */
	const char *note;
};

static bool has_value(struct qty q)
{
	return q.st == ST_OK || q.st == ST_PARTIAL;
}

static void kinds_count(const struct run_rec *r, struct kind_sum kinds[DEV_KIND_COUNT])
{
	memset(kinds, 0, DEV_KIND_COUNT * sizeof(*kinds));
	for (size_t i = 0; i < r->n_devs; i++) {
		const struct dev_rec *d = &r->devs[i];
		struct kind_sum *k = &kinds[d->kind];

		if (!d->counted)
			continue;
		k->n++;
		if (has_value(d->energy_uj)) {
			k->known++;
		} else if (!k->why) {
			k->why = d->energy_uj.st;
			k->note = d->note;
		}
	}
}

static void scope_add(struct str *s, enum dev_kind kind, const struct kind_sum *k)
{
	static const char *const words[DEV_KIND_COUNT] = {
		"GPUs", "CPU", "DRAM", "node", "job", "other"};

	if (s->len)
		str_add(s, " + ");
	str_add(s, kind == DEV_GPU && k->n == 1 ? "GPU" : words[kind]);
}

static void note_missing(struct str *s, const char *what, const struct kind_sum *k)
{
	if (s->len)
		str_add(s, "; ");
	str_addf(s, "%s: %s", what, status_name(k->why));
	if (k->note && *k->note)
		str_addf(s, " (%s)", k->note);
}

/* Sums in double: 2^53 uJ is 9 GJ, beyond which the last uJ does not matter. */
struct sums {
	double energy, net, error, coverage;
	size_t n;
	bool net_known, error_known, coverage_known, partial, method_set;
	enum energy_method method;
};

static void sums_add(struct sums *s, const struct dev_rec *d)
{
	s->n++;
	if (!has_value(d->energy_uj)) {
		s->partial = true;
		return; /* covers nothing */
	}
	s->energy += (double)d->energy_uj.v;
	if (d->energy_uj.st == ST_PARTIAL || d->st == ST_LOST)
		s->partial = true;
	if (d->net_uj.st == ST_OK)
		s->net += (double)d->net_uj.v;
	else
		s->net_known = false;
	if (d->resolution_ppm.st == ST_OK)
		s->error += (double)d->resolution_ppm.v * (double)d->energy_uj.v;
	else
		s->error_known = false;
	if (d->coverage_ppm.st == ST_OK)
		s->coverage += (double)d->coverage_ppm.v;
	else
		s->coverage_known = false;
	if (!s->method_set)
		s->method = d->method;
	else if (s->method != d->method)
		s->method = ENERGY_MIXED;
	s->method_set = true;
}

static struct qty qty_round(double v, enum status st)
{
	return v >= -9.2e18 && v <= 9.2e18 ? (struct qty){(int64_t)(v < 0 ? v - 0.5 : v + 0.5), st}
					   : QTY_NONE(ST_RANGE);
}

static bool set_text(char **field, struct str *s)
{
	bool good = !s->failed && rec_set(field, s->len ? str_cstr(s) : NULL);

	str_release(s);
	return good;
}

bool run_rec_total(struct run_rec *r)
{
	struct kind_sum kinds[DEV_KIND_COUNT];
	struct sums s = {.net_known = true, .error_known = true, .coverage_known = true};
	struct str scope = STR_INIT, note = STR_INIT;
	enum status why = ST_UNKNOWN;
	bool good;

	kinds_count(r, kinds);
	for (int k = 0; k < DEV_KIND_COUNT; k++) {
		const struct kind_sum *ks = &kinds[k];

		if (ks->known)
			scope_add(&scope, (enum dev_kind)k, ks);
		if (ks->known < ks->n) {
			note_missing(&note, dev_kind_name((enum dev_kind)k), ks);
			why = ks->why;
		}
	}
	for (size_t i = 0; i < r->n_devs; i++) {
		const struct dev_rec *d = &r->devs[i];

		if (d->counted && kinds[d->kind].known)
			sums_add(&s, d);
	}
	if (r->hosts_seen < r->hosts_expected) {
		s.partial = true;
		if (note.len)
			str_add(&note, "; ");
		str_addf(&note, "%d of %d hosts reported", r->hosts_seen, r->hosts_expected);
	}
	if (s.n) {
		enum status st = s.partial ? ST_PARTIAL : ST_OK;

		r->energy_uj = qty_round(s.energy, st);
		r->net_uj = s.net_known ? qty_round(s.net, st) : QTY_NONE(ST_UNKNOWN);
		r->resolution_ppm = s.error_known && s.energy > 0
					    ? qty_round(s.error / s.energy, ST_OK)
					    : QTY_NONE(ST_UNKNOWN);
		r->coverage_ppm = s.coverage_known ? qty_round(s.coverage / (double)s.n, ST_OK)
						   : QTY_NONE(ST_UNKNOWN);
		r->method = s.method;
	} else {
		r->energy_uj = r->net_uj = QTY_NONE(why);
		r->resolution_ppm = r->coverage_ppm = QTY_NONE(ST_UNKNOWN);
		r->method = ENERGY_NONE;
	}
	if (s.partial && r->state == RUN_DONE)
		r->state = RUN_PARTIAL;
	good = set_text(&r->scope, &scope);
	/* A reason the caller gave (no sensor at all) stays when there is nothing better to say. */
	if (note.len || s.n)
		good &= set_text(&r->energy_note, &note);
	return good;
}

static int state_rank(enum run_state s)
{
	static const int rank[RUN_STATE_COUNT] = {[RUN_DONE] = 0,
		[RUN_DISTURBED] = 1,
		[RUN_PARTIAL] = 2,
		[RUN_INTERRUPTED] = 3,
		[RUN_FAILED] = 4};

	return rank[s];
}

static struct qty qty_sum(struct qty a, struct qty b)
{
	struct qty sum = QTY_NONE(ST_UNKNOWN);

	if (a.st != ST_OK)
		return has_value(b) ? (struct qty){b.v, ST_PARTIAL} : b;
	if (b.st != ST_OK)
		return (struct qty){a.v, ST_PARTIAL};
	if (!__builtin_add_overflow(a.v, b.v, &sum.v))
		sum.st = ST_OK;
	return sum;
}

/* Steps and step times are those of rank 0's host (r, or other when r has no marks); samples add.
 */
static bool merge_train(struct run_rec *r, const struct train_rec *o)
{
	struct train_rec *t = &r->train;
	int ranks;

	if (!o->from_marks)
		return true;
	if (!t->from_marks) {
		*t = *o;
		return true;
	}
	if (__builtin_add_overflow(t->n_ranks, o->n_ranks, &ranks))
		ranks = t->n_ranks;
	t->n_ranks = ranks;
	t->samples = qty_sum(t->samples, o->samples);
	t->window_samples = qty_sum(t->window_samples, o->window_samples);
	t->steady = t->steady && o->steady;
	if (t->steps.st == ST_OK && o->steps.st == ST_OK && t->steps.v != o->steps.v)
		return run_rec_warn(r, "hosts disagree about the number of steps: %lld and %lld",
			(long long)t->steps.v, (long long)o->steps.v);
	return true;
}

static bool copy_knobs(struct dev_rec *d, const struct dev_rec *from)
{
	for (size_t i = 0; i < from->n_knobs; i++) {
		const struct knob_rec *k = &from->knobs[i];
		struct knob_rec *mine = dev_rec_knob(d, k->name, k->unit);

		if (!mine)
			return false;
		mine->found = k->found;
		mine->requested = k->requested;
		mine->enforced = k->enforced;
	}
	return true;
}

static bool copy_dev(struct run_rec *r, const struct dev_rec *from)
{
	struct dev_rec *d = run_rec_dev(r);
	struct dev_rec made;

	if (!d)
		return false;
	made = *from;
	made.host = made.key = made.name = made.parent = made.note = NULL;
	made.knobs = NULL;
	made.n_knobs = 0;
	*d = made;
	return rec_set(&d->host, from->host) && rec_set(&d->key, from->key) &&
	       rec_set(&d->name, from->name) && rec_set(&d->parent, from->parent) &&
	       rec_set(&d->note, from->note) && copy_knobs(d, from);
}

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* Index in r of the same device on the same host, or -1. */
static long find_dev(const struct run_rec *r, const struct dev_rec *d)
{
	for (size_t i = 0; i < r->n_devs; i++) {
		if (same_text(r->devs[i].host, d->host) && same_text(r->devs[i].key, d->key))
			return (long)i;
	}
	return -1;
}

static bool merge_phase(struct run_rec *r, const struct phase_rec *p, int64_t shift)
{
	struct phase_rec *mine;

	for (size_t i = 0; i < r->n_phases; i++) {
		mine = &r->phases[i];
		if (!same_text(mine->name, p->name))
			continue;
		mine->energy_uj = qty_sum(mine->energy_uj, p->energy_uj);
		if (__builtin_add_overflow(mine->samples, p->samples, &mine->samples))
			mine->samples = 0;
		return true;
	}
	mine = run_rec_phase(r);
	if (!mine || !rec_set(&mine->name, p->name))
		return false;
	mine->start_ns = p->start_ns + shift;
	mine->end_ns = p->end_ns + shift;
	mine->energy_uj = p->energy_uj;
	mine->steps = p->steps;
	mine->samples = p->samples;
	return true;
}

static bool merge_series(
	struct run_rec *r, const struct run_rec *o, const int32_t *dev_of, int64_t shift)
{
	for (size_t i = 0; i < o->n_samples; i++) {
		struct sample_rec s = o->samples[i];

		if (s.dev < 0 || (size_t)s.dev >= o->n_devs)
			continue;
		s.dev = dev_of[s.dev];
		s.t_ns += shift;
		if (s.dev >= 0 && !run_rec_sample(r, &s))
			return false;
	}
	for (size_t i = 0; i < o->n_marks; i++) {
		struct mark_rec m = o->marks[i];

		m.t_ns += shift;
		if (!run_rec_mark(r, &m))
			return false;
	}
	return true;
}

enum status run_rec_merge(struct run_rec *r, const struct run_rec *o, struct err *e)
{
	int64_t shift;
	int32_t *dev_of = NULL;
	bool good = false;

	if (!same_text(r->run_id, o->run_id))
		return err_set(e, ST_INVALID, "cannot merge run %s into run %s",
			o->run_id ? o->run_id : "?", r->run_id ? r->run_id : "?");
	if (__builtin_sub_overflow(o->start_realtime_ns, r->start_realtime_ns, &shift) ||
		shift > INT64_MAX / 4 || shift < INT64_MIN / 4)
		return err_set(e, ST_CORRUPT, "run %s: start times of its hosts cannot be true",
			r->run_id);
	dev_of = mem_calloc(o->n_devs + 1, sizeof(*dev_of));
	if (!dev_of)
		goto out;
	for (size_t i = 0; i < o->n_devs; i++) {
		bool seen = find_dev(r, &o->devs[i]) >= 0;

		/* A second keeper on the same host must not count its devices twice. */
		dev_of[i] = seen ? -1 : (int32_t)r->n_devs;
		if (!seen && !copy_dev(r, &o->devs[i]))
			goto out;
	}
	for (size_t i = 0; i < o->n_phases; i++) {
		if (!merge_phase(r, &o->phases[i], shift))
			goto out;
	}
	for (size_t i = 0; i < o->n_warnings; i++) {
		if (!run_rec_warn(r, "%s", o->warnings[i]))
			goto out;
	}
	if (!merge_train(r, &o->train) || !merge_series(r, o, dev_of, shift))
		goto out;
	if (o->wall_ns.st == ST_OK &&
		(r->wall_ns.st != ST_OK || o->wall_ns.v + shift > r->wall_ns.v))
		r->wall_ns = QTY(o->wall_ns.v + shift);
	if (state_rank(o->state) > state_rank(r->state))
		r->state = o->state;
	r->hosts_seen += !same_text(r->host, o->host);
	if (o->hosts_expected > r->hosts_expected)
		r->hosts_expected = o->hosts_expected;
	good = run_rec_total(r);
out:
	mem_free(dev_of);
	return good ? ST_OK : err_set(e, ST_NOMEM, "merging run %s: out of memory", r->run_id);
}
