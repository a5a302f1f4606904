/* sensors.c: see sensors.h. */
#include "exec/sensors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "base/mem.h"
#include "exec/once.h"
#include "measure/select.h"

#define STOP_NS    (300 * NS_PER_MS)
#define UNITS_MAX  16
#define DRAIN_STEP 512

#define ENERGY_CHANNELS                                                                            \
	(UINT64_C(1) << CH_ENERGY | UINT64_C(1) << CH_POWER | UINT64_C(1) << CH_POWER_AVERAGE |    \
		UINT64_C(1) << CH_POWER_INSTANT | UINT64_C(1) << CH_POWER_MODULE)

struct reader { /* one back end */
	struct sampler *sampler;
	const char *name;
};

/* What the knobs of a device stand at when we come: a run under somebody else's cap must say so. */
struct found {
	struct knob_val v[KNOB_COUNT];
};

struct sensors {
	char *devices, *only, *run_id;
	int64_t period_ns, job_pid;
	pthread_t opener;
	_Atomic bool opened, simulated;
	bool begun, joined;
	/* Written by the opener before `opened` is set. */
	struct hw *hw;
	enum status open_st;
	struct err open_err;
	struct found *found; /* knobs as they stand, by device */
	struct selection sel;
	size_t first_dev, n_on, n_integrated;
	struct reader units[UNITS_MAX];
	size_t n_units;
	uint64_t reported_lost;
	struct once *once;
	size_t elsewhere; /* devices that another rank of this job counts */
};

static void look_at_knobs(struct sensors *s)
{
	size_t n = hw_n_devices(s->hw);

	s->found = mem_calloc(n + 1, sizeof *s->found);
	for (size_t i = 0; i < n && s->found; i++)
		for (int k = 0; k < KNOB_COUNT; k++) {
			struct knob_val *v = &s->found[i].v[k];
			struct err e = ERR_INIT;

			if (!(hw_device(s->hw, i)->knobs & 1u << k) ||
				hw_knob_get(s->hw, i, (enum knob)k, v, &e) != ST_OK)
				v->from = KV_UNKNOWN;
		}
}

static void *open_all(void *arg)
{
	struct sensors *s = arg;
	struct backend_env env;

	s->open_st = hw_env_default(&env, &s->open_err);
	env.flags |= BACKEND_READ_ONLY;
	env.simulated = &s->simulated;
	env.run_id = s->run_id;
	if (s->open_st == ST_OK)
		s->open_st = hw_open(&env, s->only, &s->hw, &s->open_err);
	if (s->open_st == ST_OK)
		look_at_knobs(s);
	atomic_store(&s->opened, true);
	return NULL;
}

enum status sensors_start(const char *devices, const char *only, const char *run_id,
	int64_t period_ns, struct sensors **out, struct err *e)
{
	struct sensors *s = mem_calloc(1, sizeof *s);

	*out = NULL;
	if (!s)
		return err_set(e, ST_NOMEM, "out of memory");
	s->period_ns = period_ns;
	s->devices = devices ? mem_strdup(devices) : NULL;
	s->only = only ? mem_strdup(only) : NULL;
	s->run_id = mem_strdup(run_id);
	if ((devices && !s->devices) || (only && !s->only) || !s->run_id ||
		pthread_create(&s->opener, NULL, open_all, s)) {
		mem_free(s->devices);
		mem_free(s->only);
		mem_free(s->run_id);
		mem_free(s);
		return err_set(e, ST_NOMEM, "cannot start a thread");
	}
	*out = s;
	return ST_OK;
}

bool sensors_opened(const struct sensors *s)
{
	return atomic_load(&s->opened);
}

bool sensors_simulated(const struct sensors *s)
{
	return atomic_load(&s->simulated);
}

static void start_unit(struct sensors *s, size_t backend, struct str *warn)
{
	struct sampler_config cfg = {.period_ns = s->period_ns,
		.selected = s->sel.on,
		.edge_ns = SAMPLER_EDGE_NS,
		.fine_ns = SAMPLER_FINE_NS};
	struct reader *u = &s->units[s->n_units];
	struct err e = ERR_INIT;
	bool any = false;

	hw_backend_devices(s->hw, backend, &cfg.first, &cfg.n);
	for (size_t i = 0; i < cfg.n; i++)
		any |= s->sel.on[cfg.first + i] && hw_device(s->hw, cfg.first + i)->channels;
	if (!any || s->n_units == UNITS_MAX)
		return;
	u->name = hw_backend(s->hw, cfg.first)->name;
	switch (sampler_start(s->hw, &cfg, &u->sampler, &e)) {
	case ST_OK:
		s->n_units++;
		break;
	case ST_NOT_FOUND: /* knobs without sensors, such as CPU groups: nothing to say */
		break;
	default:
		str_addf(warn, "%s cannot be sampled: %s\n", u->name, e.msg);
	}
}

enum status sensors_begin(
	struct sensors *s, struct build *b, size_t first_dev, struct str *warn, struct err *e)
{
	enum status st;
	size_t n;

	pthread_join(s->opener, NULL);
	s->joined = true;
	if (s->open_st != ST_OK)
		return err_set(e, s->open_st, "%s", s->open_err.msg);
	st = select_devices(s->hw, s->devices, NULL, NULL, &s->sel, e);
	if (st != ST_OK)
		return st;
	if (s->sel.warning[0])
		str_addf(warn, "%s\n", s->sel.warning);
	s->once = once_open();
	n = hw_n_devices(s->hw);
	s->first_dev = first_dev;
	for (size_t i = 0; i < n; i++) {
		const struct device *d = hw_device(s->hw, i);
		struct device told = *d;
		size_t first, count;
		int parent = -1;

		/* A device's parent is an index within its own back end. */
		for (size_t k = 0; k < hw_n_backends(s->hw) && d->parent >= 0; k++) {
			hw_backend_devices(s->hw, k, &first, &count);
			if (i >= first && i < first + count)
				parent = (int)(first_dev + first) + d->parent;
		}
		if (s->sel.on[i] && d->counted && d->channels & ENERGY_CHANNELS &&
			!once_claim(s->once, d->key)) {
			told.counted = false;
			s->elsewhere++;
		}
		st = build_device(b, &told, s->sel.on[i], parent);
		if (st != ST_OK)
			return err_set(e, st, "out of memory");
		if (!s->sel.on[i] || !(d->channels & ENERGY_CHANNELS))
			continue;
		s->n_on++;
		s->n_integrated += !(d->channels & UINT64_C(1) << CH_ENERGY);
	}
	if (s->elsewhere)
		build_shared(b, "devices of this host are counted by another rank of this job");
	hw_watch_job(s->hw, s->job_pid);
	for (size_t k = 0; k < hw_n_backends(s->hw); k++)
		start_unit(s, k, warn);
	s->begun = true;
	return ST_OK;
}

void sensors_job(struct sensors *s, int64_t pid)
{
	s->job_pid = pid;
	if (s->begun)
		hw_watch_job(s->hw, pid);
}

size_t sensors_n_on(const struct sensors *s)
{
	return s->n_on;
}

bool sensors_all_count(const struct sensors *s)
{
	return !s->n_integrated;
}

const struct hw *sensors_hw(const struct sensors *s)
{
	return s->begun ? s->hw : NULL;
}

bool sensors_on(const struct sensors *s, size_t i)
{
	return i < s->sel.n && s->sel.on[i];
}

struct knob_val sensors_found(const struct sensors *s, size_t i, enum knob k)
{
	return s->begun && s->found && i < hw_n_devices(s->hw)
		       ? s->found[i].v[k]
		       : (struct knob_val){.from = KV_UNKNOWN};
}

void sensors_why(const struct sensors *s, struct str *out)
{
	size_t n;

	if (!s->begun) {
		str_add(out, sensors_opened(s) ? "the sensors could not be opened"
					       : "the drivers did not answer");
		return;
	}
	if (s->elsewhere) {
		str_add(out, "the devices of this host are counted by another rank of this job");
		return;
	}
	if (s->n_on) {
		str_add(out, "no selected device told its energy or power");
		return;
	}
	str_add(out, "no energy sensor was found");
	n = out->len;
	for (size_t i = 0; i < hw_n_missing(s->hw); i++) {
		const struct hw_missing *m = hw_missing_at(s->hw, i);

		if (!m->knob)
			str_addf(out, "%s %s: %s", out->len > n ? ";" : ":", m->what, m->why);
	}
	for (size_t i = 0; i < hw_n_devices(s->hw); i++)
		if (!s->sel.on[i] && hw_device(s->hw, i)->channels & ENERGY_CHANNELS)
			str_addf(out, "%s %s is not selected", out->len > n ? ";" : ":",
				hw_device(s->hw, i)->key);
}

void sensors_drain(
	struct sensors *s, void (*fn)(void *arg, const struct tagged_sample *ts), void *arg)
{
	struct tagged_sample buf[DRAIN_STEP];

	for (size_t i = 0; i < s->n_units; i++) {
		size_t n;

		while ((n = sampler_drain(s->units[i].sampler, buf, DRAIN_STEP)))
			for (size_t k = 0; k < n; k++) {
				buf[k].device += (int32_t)s->first_dev;
				fn(arg, &buf[k]);
			}
	}
}

void sensors_kick(struct sensors *s)
{
	for (size_t i = 0; i < s->n_units; i++)
		sampler_kick(s->units[i].sampler);
}

bool sensors_fresh(const struct sensors *s, int64_t t_ns)
{
	for (size_t i = 0; i < s->n_units; i++)
		if (sampler_beat_ns(s->units[i].sampler) < t_ns)
			return false;
	return true;
}

const char *sensors_stuck(const struct sensors *s, int64_t now_ns, int64_t age_ns)
{
	for (size_t i = 0; i < s->n_units; i++)
		if (now_ns - sampler_beat_ns(s->units[i].sampler) > age_ns)
			return s->units[i].name;
	return NULL;
}

void sensors_unclaim(struct sensors *s)
{
	if (!s)
		return;
	once_close(s->once);
	s->once = NULL;
}

size_t sensors_stop(struct sensors *s)
{
	size_t stuck = 0;

	if (!s)
		return 0;
	for (size_t i = 0; i < s->n_units; i++)
		stuck += sampler_stop(s->units[i].sampler, STOP_NS) == ST_TIMEOUT;
	s->n_units = 0;
	sensors_unclaim(s);
	if (!s->joined && sensors_opened(s)) {
		pthread_join(s->opener, NULL);
		s->joined = true;
	}
	/* An opener or sampler still inside a driver holds hw, and s. */
	if (!s->joined || stuck)
		return stuck + !s->joined;
	if (s->begun)
		selection_release(&s->sel);
	hw_close(s->hw);
	mem_free(s->found);
	mem_free(s->devices);
	mem_free(s->only);
	mem_free(s->run_id);
	mem_free(s);
	return 0;
}
