#include "store/import_series.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

#define MAX_LENGTH_NS (INT64_C(366) * 86400 * NS_PER_S)

static bool number_time(const char *text, int64_t *t_ns)
{
	double v;

	if (!str_to_double(text, &v) || v < 0)
		return false;
	/* 1e11 s is the year 5138; the same digits as ms are 1973. */
	v *= v < 1e11 ? 1e9 : v < 1e14 ? 1e6 : v < 1e17 ? 1e3 : 1;
	if (!(v < 9.2e18))
		return false;
	*t_ns = (int64_t)v;
	return true;
}

/* Up to `most` digits, at least one. */
static bool take_int(const char **p, int most, int *out)
{
	int n = 0;

	for (*out = 0; n < most && **p >= '0' && **p <= '9'; n++, ++*p)
		*out = *out * 10 + (**p - '0');
	return n > 0;
}

static bool take_char(const char **p, const char *any)
{
	if (!**p || !strchr(any, **p))
		return false;
	++*p;
	return true;
}

/* ".483+02:00" → fraction and offset from UTC */
static bool tail_time(const char *p, int64_t *ns)
{
	int64_t unit = NS_PER_S / 10;
	int hours, minutes;
	bool west;

	*ns = 0;
	if (take_char(&p, ".,")) {
		for (; *p >= '0' && *p <= '9'; p++, unit /= 10)
			*ns += (*p - '0') * unit;
	}
	while (*p == ' ')
		p++;
	if (!*p || !strcmp(p, "Z") || !strcmp(p, "UTC"))
		return true;
	west = *p == '-';
	if (!take_char(&p, "+-") || !take_int(&p, 2, &hours) || !take_char(&p, ":") ||
		!take_int(&p, 2, &minutes) || *p)
		return false;
	*ns -= (west ? -1 : 1) * ((int64_t)hours * 60 + minutes) * 60 * NS_PER_S;
	return true;
}

bool import_time(const char *text, int64_t *t_ns)
{
	struct tm tm = {0};
	const char *p = text;
	int64_t tail;

	if (number_time(text, t_ns))
		return true;
	if (!take_int(&p, 4, &tm.tm_year) || !take_char(&p, "-/") || !take_int(&p, 2, &tm.tm_mon) ||
		!take_char(&p, "-/") || !take_int(&p, 2, &tm.tm_mday) || !take_char(&p, " T") ||
		!take_int(&p, 2, &tm.tm_hour) || !take_char(&p, ":") ||
		!take_int(&p, 2, &tm.tm_min) || !take_char(&p, ":") ||
		!take_int(&p, 2, &tm.tm_sec) || !tail_time(p, &tail))
		return false;
	if (tm.tm_year < 1970 || tm.tm_year > 2200 || tm.tm_mon < 1 || tm.tm_mon > 12 ||
		tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 ||
		tm.tm_sec > 60)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*t_ns = (int64_t)timegm(&tm) * NS_PER_S + tail;
	return true;
}

int import_device(struct run_rec *r, const char *key, const char *name, enum dev_kind kind)
{
	struct dev_rec *d;

	for (size_t i = 0; i < r->n_devs; i++) {
		if (!strcmp(r->devs[i].key, key))
			return (int)i;
	}
	d = run_rec_dev(r);
	if (!d)
		return -1;
	if (!rec_set(&d->key, key) || !rec_set(&d->name, name)) {
		mem_free(d->key);
		r->n_devs--;
		return -1;
	}
	d->kind = kind;
	d->counted = true;
	return (int)r->n_devs - 1;
}

bool import_sample(struct run_rec *r, int dev, enum channel ch, int64_t t_ns, int64_t value)
{
	struct sample_rec s = {dev, (int32_t)ch, t_ns, value, ST_OK};

	return run_rec_sample(r, &s);
}

static int compare_samples(const void *pa, const void *pb)
{
	const struct sample_rec *a = pa, *b = pb;

	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	if (a->channel != b->channel)
		return a->channel < b->channel ? -1 : 1;
	return a->t_ns < b->t_ns ? -1 : a->t_ns > b->t_ns;
}

static int compare_i64(const void *pa, const void *pb)
{
	const int64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

static struct qty mean_of(const struct sample_rec *s, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)s[i].value;
	return QTY((int64_t)(sum / (double)n + 0.5));
}

static struct qty max_of(const struct sample_rec *s, size_t n)
{
	struct qty max = QTY(s[0].value);

	for (size_t i = 1; i < n; i++)
		max.v = s[i].value > max.v ? s[i].value : max.v;
	return max;
}

/* v[i], sorted: the value that a share of them does not exceed. */
static bool quantile(int64_t *v, size_t n, double share, int64_t *out)
{
	if (!n)
		return false;
	qsort(v, n, sizeof(*v), compare_i64);
	*out = v[(size_t)(share * (double)(n - 1) + 0.5)];
	return true;
}

/* Trapezoid: 1 mW for 1 ns is 1e-6 uJ. */
static bool integrate(struct dev_rec *d, const struct sample_rec *s, size_t n, int64_t length_ns)
{
	int64_t *work = mem_calloc(n, sizeof(*work)), period = 0;
	double energy = 0, covered = 0;
	size_t gaps = 0;

	if (!work)
		return false;
	for (size_t i = 0; i < n; i++)
		work[i] = s[i].value;
	quantile(work, n, 0.95, &d->p95_mw.v);
	d->p95_mw.st = ST_OK;
	d->max_mw = max_of(s, n);
	for (size_t i = 1; i < n; i++)
		work[i - 1] = s[i].t_ns - s[i - 1].t_ns;
	if (n > 1)
		quantile(work, n - 1, 0.5, &period);
	for (size_t i = 1; i < n; i++) {
		int64_t dt = s[i].t_ns - s[i - 1].t_ns;

		if (dt > 5 * period && dt > NS_PER_S) {
			gaps++;
			continue;
		}
		energy += 0.5 * ((double)s[i].value + (double)s[i - 1].value) * (double)dt * 1e-6;
		covered += (double)dt;
	}
	mem_free(work);
	if (covered <= 0)
		return true;
	d->energy_integral_uj = import_outside(UNIT_NONE, energy);
	d->mean_mw = import_outside(UNIT_NONE, energy * 1e6 / covered);
	d->coverage_ppm = import_outside(UNIT_NONE, covered * 1e6 / (double)length_ns);
	return gaps ? rec_set(&d->note, "holes in the log were not bridged") : true;
}

static void use_counter(struct dev_rec *d, const struct sample_rec *s, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		/* It went back: what was counted before is lost. */
		if (s[i].value < s[i - 1].value)
			return;
	}
	if (n > 1 && s[n - 1].value > s[0].value)
		d->energy_counter_uj = QTY(s[n - 1].value - s[0].value);
}

static bool use_channel(struct dev_rec *d, const struct sample_rec *s, size_t n, int64_t length_ns)
{
	switch (s[0].channel) {
	case CH_POWER:
		return integrate(d, s, n, length_ns);
	case CH_ENERGY:
		use_counter(d, s, n);
		break;
	case CH_UTIL:
		d->util_ppm = mean_of(s, n);
		break;
	case CH_MEM_UTIL:
		d->mem_util_ppm = mean_of(s, n);
		break;
	case CH_CLOCK:
		d->clock_khz = mean_of(s, n);
		break;
	case CH_MEM_CLOCK:
		d->mem_clock_khz = mean_of(s, n);
		break;
	case CH_MEM_USED:
		d->mem_used_max_bytes = max_of(s, n);
		break;
	case CH_TEMP:
		d->temp_start_mdegc = QTY(s[0].value);
		d->temp_end_mdegc = QTY(s[n - 1].value);
		d->temp_max_mdegc = max_of(s, n);
		break;
	default:
		break;
	}
	return true;
}

static bool choose_energy(struct dev_rec *d)
{
	bool counter = d->energy_counter_uj.st == ST_OK;

	d->energy_uj = counter ? d->energy_counter_uj : d->energy_integral_uj;
	d->method = d->energy_uj.st != ST_OK ? ENERGY_NONE : ENERGY_IMPORTED;
	if (d->method == ENERGY_NONE)
		return d->note || rec_set(&d->note, "the log has no power or energy of it");
	return d->note ||
	       rec_set(&d->note, counter ? "counter in the log" : "integral of power in the log");
}

enum status import_series_finish(struct run_rec *r, const char *file, struct err *e)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < r->n_samples; i++) {
		first = r->samples[i].t_ns < first ? r->samples[i].t_ns : first;
		last = r->samples[i].t_ns > last ? r->samples[i].t_ns : last;
	}
	if (!r->n_samples || first == last)
		return err_set(
			e, ST_INVALID, "%s: a log needs readings at two moments at least", file);
	if (first < 0 || last - first > MAX_LENGTH_NS)
		return err_set(e, ST_RANGE, "%s: its times span more than a year", file);
	r->start_realtime_ns = first;
	r->wall_ns = QTY(last - first);
	for (size_t i = 0; i < r->n_samples; i++)
		r->samples[i].t_ns -= first;
	qsort(r->samples, r->n_samples, sizeof(*r->samples), compare_samples);
	for (size_t i = 0, n; i < r->n_samples; i += n) {
		const struct sample_rec *s = &r->samples[i];

		for (n = 1;
			i + n < r->n_samples && s[n].dev == s->dev && s[n].channel == s->channel;)
			n++;
		if (!use_channel(&r->devs[s->dev], s, n, last - first))
			return import_no_memory(e);
	}
	for (size_t i = 0; i < r->n_devs; i++) {
		if (!choose_energy(&r->devs[i]))
			return import_no_memory(e);
	}
	return run_rec_total(r) ? ST_OK : import_no_memory(e);
}
