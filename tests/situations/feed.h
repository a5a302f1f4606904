/* feed.h: made-up devices for the situations: steady streams into a meter or a record. One program
 * includes it once. Power in mW, times in ns, energy in uJ. */
#ifndef WATTLAW_TESTS_FEED_H
#define WATTLAW_TESTS_FEED_H

#include "base/clock.h"
#include "measure/meter.h"
#include "measure/record_build.h"
#include "tap.h"

#define MS   NS_PER_MS
#define S    NS_PER_S
#define FEED __attribute__((unused)) static

FEED struct meter *meter_of(int64_t refresh, enum power_kind kind)
{
	struct meter_config cfg = {.max_power_mw = 1000000,
		.refresh_ns = refresh,
		.power_kind = kind,
		.period_ns = 100 * MS};
	struct meter *m;

	if (meter_new(&cfg, &m) != ST_OK)
		abort();
	return m;
}

FEED void push(struct meter *m, enum channel ch, int64_t t, int64_t v, enum status st)
{
	meter_push(m, ch, &(struct sample){.value = v, .t_ns = t, .st = st});
}

FEED struct meter_energy ask(const struct meter *m, int64_t t0, int64_t t1)
{
	struct meter_energy e;

	meter_energy(m, t0, t1, &e);
	return e;
}

FEED int64_t uj_of(int64_t mw, int64_t dt_ns)
{
	return (int64_t)((double)mw * (double)dt_ns / 1e6);
}

/* ---- records ---- */

FEED struct device a_gpu(const char *key)
{
	struct device d = {.kind = DEV_GPU,
		.parent = -1,
		.counted = true,
		.max_power_mw = 1000000,
		.refresh_ns = 20 * MS,
		.power_kind = POWER_KIND_INSTANT};

	snprintf(d.key, sizeof(d.key), "%s", key);
	snprintf(d.name, sizeof(d.name), "%s", key);
	return d;
}

FEED struct build *a_build(void)
{
	struct build_config cfg = {.host = "n1", .period_ns = 100 * MS};
	struct build *b;

	if (build_new(&cfg, &b) != ST_OK)
		abort();
	return b;
}

FEED void give(struct build *b, int dev, enum channel ch, int64_t t, int64_t v)
{
	struct tagged_sample s = {
		.device = dev, .channel = ch, .s = {.value = v, .t_ns = t, .st = ST_OK}};

	build_sample(b, &s);
}

/* Power and, when counter, energy of a device that draws mw over [t0, t1), each 100 ms; *uj goes
 * on. */
FEED void draws(
	struct build *b, int dev, int64_t t0, int64_t t1, int64_t mw, bool counter, int64_t *uj)
{
	for (int64_t t = t0; t < t1; t += 100 * MS) {
		give(b, dev, CH_POWER, t, mw);
		if (counter)
			give(b, dev, CH_ENERGY, t, *uj + uj_of(mw, t - t0));
	}
	*uj += uj_of(mw, t1 - t0);
}

FEED void step(struct build *b, int64_t pid, uint64_t number, int64_t t)
{
	struct mark_rank r = {.pid = pid, .rank = (int)pid, .n_ranks = 8, .steps = number};
	struct mark_event ev = {.t_ns = (uint64_t)t, .kind = MARK_STEP | number << 8, .value = 1};

	build_mark(b, &r, &ev);
}

static struct run_rec rec;

FEED void record(struct build *b, int64_t t0, int64_t t1, int64_t warmup_steps)
{
	struct build_window w = {.t0_ns = t0, .t1_ns = t1, .warmup_steps = warmup_steps};
	struct err e = ERR_INIT;

	run_rec_release(&rec);
	run_rec_init(&rec);
	rec.state = RUN_DONE;
	if (build_record(b, &w, &rec, &e) != ST_OK)
		abort();
}

FEED bool warned(const char *part)
{
	for (size_t i = 0; i < rec.n_warnings; i++)
		if (strstr(rec.warnings[i], part))
			return true;
	return false;
}

FEED const struct phase_rec *phase(const char *name)
{
	for (size_t i = 0; i < rec.n_phases; i++)
		if (!strcmp(rec.phases[i].name, name))
			return &rec.phases[i];
	return NULL;
}

FEED double mean_of(const struct phase_rec *p)
{
	return p ? (double)p->energy_uj.v / (double)(p->end_ns - p->start_ns) * 1e6 : -1;
}

#endif
