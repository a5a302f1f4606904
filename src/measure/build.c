/* build.c: taking in. See record_build.h. */
#include "measure/build_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

enum status build_new(const struct build_config *cfg, struct build **out)
{
	struct build *b = mem_calloc(1, sizeof(*b));

	*out = NULL;
	if (!b)
		return ST_NOMEM;
	b->cfg = *cfg;
	b->cfg.host = NULL;
	b->loss_stride = 1;
	b->host = mem_strdup(cfg->host ? cfg->host : "");
	if (!b->host) {
		build_free(b);
		return ST_NOMEM;
	}
	*out = b;
	return ST_OK;
}

void build_free(struct build *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n_dev; i++) {
		meter_free(b->dev[i].meter);
		for (int ch = 0; ch < CH_COUNT; ch++)
			track_release(&b->dev[i].track[ch]);
	}
	for (size_t i = 0; i < b->n_rank; i++)
		mem_free(b->rank[i].end);
	for (size_t i = 0; i < b->n_warning; i++)
		mem_free(b->warning[i]);
	mem_free(b->dev);
	mem_free(b->knob);
	mem_free(b->rank);
	mem_free(b->phase);
	mem_free(b->loss);
	mem_free(b->epoch);
	mem_free(b->host);
	mem_free(b);
}

/* Is there a selected device that contains dev? */
static bool inside_another(const struct build *b, const struct build_dev *dev)
{
	int up = dev->parent;

	for (size_t guard = 0; up >= 0 && (size_t)up < b->n_dev && guard < b->n_dev; guard++) {
		if (b->dev[up].on)
			return true;
		up = b->dev[up].parent;
	}
	return false;
}

enum status build_device(struct build *b, const struct device *dev, bool on, int parent)
{
	struct meter_config cfg = {.energy_wrap = dev->energy_wrap,
		.max_power_mw = dev->max_power_mw,
		.refresh_ns = dev->refresh_ns,
		.period_ns = b->cfg.period_ns,
		.power_kind = dev->power_kind};
	struct build_dev *d;

	if (dev->kind ==
		DEV_GPU) { /* a part-time sensor is a GPU board's; CPU counters see everything */
		cfg.lag_ns = b->cfg.lag_ns;
		cfg.window_ns = b->cfg.window_ns;
		cfg.gain_ppm = b->cfg.gain_ppm;
	}
	if (!mem_grow((void **)&b->dev, &b->cap_dev, b->n_dev + 1, sizeof(*b->dev), BUILD_DEVICES))
		return ST_NOMEM;
	d = &b->dev[b->n_dev];
	memset(d, 0, sizeof(*d));
	d->d = *dev;
	d->on = on;
	d->parent = parent;
	d->idle_mw = QTY_NONE(ST_UNKNOWN);
	for (int ch = 0; ch < CH_COUNT; ch++) {
		d->track[ch].st = ST_UNKNOWN;
		/* Slow channels come each tenth tick; twice that and a little is stale. */
		d->track[ch].max_hold_ns = b->cfg.period_ns ? 25 * b->cfg.period_ns : 0;
	}
	if (on) {
		enum status st = meter_new(&cfg, &d->meter);

		if (st != ST_OK)
			return st;
	}
	d->counted = on && dev->counted && !inside_another(b, d);
	b->n_dev++;
	return ST_OK;
}

void build_idle(struct build *b, int64_t t0_ns, int64_t t1_ns)
{
	b->idle_t0 = t0_ns;
	b->idle_t1 = t1_ns;
	for (size_t i = 0; i < b->n_dev; i++)
		if (b->dev[i].meter) {
			meter_pin(b->dev[i].meter, t0_ns);
			meter_pin(b->dev[i].meter, t1_ns);
		}
}

void build_idle_power(struct build *b, size_t dev, struct qty idle_mw)
{
	if (dev < b->n_dev)
		b->dev[dev].idle_mw = idle_mw;
}

void build_knob(struct build *b, size_t dev, enum knob k, struct qty found, struct qty requested,
	struct qty enforced)
{
	build_knob_at(b, b->now_ns, dev, k, found, requested, enforced);
}

void build_knob_at(struct build *b, int64_t t_ns, size_t dev, enum knob k, struct qty found,
	struct qty requested, struct qty enforced)
{
	struct knob_time kt = {.t_ns = t_ns,
		.dev = dev,
		.knob = k,
		.found = found,
		.requested = requested,
		.enforced = enforced};

	if (dev >= b->n_dev)
		return;
	if (!mem_grow((void **)&b->knob, &b->cap_knob, b->n_knob + 1, sizeof(*b->knob),
		    BUILD_KNOBS)) {
		b->no_memory = true;
		return;
	}
	b->knob[b->n_knob++] = kt;
	/* Settings begin and end here: keep the meter sharp around it. */
	if (b->dev[dev].meter && t_ns)
		meter_pin(b->dev[dev].meter, t_ns);
}

void build_sample(struct build *b, const struct tagged_sample *s)
{
	struct build_dev *d;

	if (s->device < 0 || (size_t)s->device >= b->n_dev || s->channel < 0 ||
		s->channel >= CH_COUNT)
		return;
	d = &b->dev[s->device];
	if (s->s.t_ns > b->now_ns)
		b->now_ns = s->s.t_ns;
	if (d->meter)
		meter_push(d->meter, (enum channel)s->channel, &s->s);
	if (s->s.st != ST_OK) {
		if (!d->track[s->channel].n)
			d->track[s->channel].st = s->s.st;
		return;
	}
	if (s->channel != CH_ENERGY && !track_push(&d->track[s->channel], s->s.t_ns, s->s.value))
		b->no_memory = true;
}

static struct build_rank *rank_of(struct build *b, int64_t pid)
{
	struct build_rank *r;

	for (size_t i = 0; i < b->n_rank; i++)
		if (b->rank[i].pid == pid)
			return &b->rank[i];
	if (!mem_grow((void **)&b->rank, &b->cap_rank, b->n_rank + 1, sizeof(*b->rank),
		    BUILD_RANKS)) {
		b->no_memory = true;
		return NULL;
	}
	r = &b->rank[b->n_rank++];
	*r = (struct build_rank){.pid = pid, .rank = -1, .stride = 1};
	return r;
}

/* Keep every second of the kept ends: those whose number the doubled stride divides. */
static void halve(struct build_rank *r)
{
	size_t n = 0;

	r->stride *= 2;
	for (size_t i = 0; i < r->n; i++)
		if (r->end[i].steps % r->stride == 0)
			r->end[n++] = r->end[i];
	r->n = n;
}

static void step_ended(
	struct build *b, struct build_rank *r, int64_t t_ns, uint64_t steps, uint64_t samples)
{
	if (r->last_ns && t_ns < r->last_ns)
		return;
	if (!r->first_ns)
		r->first_ns = t_ns;
	r->last_ns = t_ns;
	r->steps = steps;
	r->samples += samples;
	if (steps % r->stride)
		return;
	if (!mem_grow((void **)&r->end, &r->cap, r->n + 1, sizeof(*r->end), BUILD_ENDS)) {
		halve(r);
		if (r->n >= r->cap || steps % r->stride) {
			b->no_memory |= r->n >= r->cap;
			return;
		}
	}
	r->end[r->n++] = (struct step_end){t_ns, steps, r->samples};
}

static void phase_mark(struct build *b, const struct mark_event *ev, bool begin)
{
	int64_t t = (int64_t)ev->t_ns;

	if (begin) {
		struct build_phase ph = {
			.t0_ns = t, .t1_ns = INT64_MAX, .depth = (int)(ev->value & 0xff)};

		if (!mem_grow((void **)&b->phase, &b->cap_phase, b->n_phase + 1, sizeof(ph),
			    BUILD_PHASES)) {
			b->phases_dropped++;
			return;
		}
		snprintf(ph.name, sizeof(ph.name), "%.23s", ev->text);
		b->phase[b->n_phase++] = ph;
		for (size_t i = 0; i < b->n_dev; i++)
			if (b->dev[i].meter && b->n_phase < METER_PINS / 4)
				meter_pin(b->dev[i].meter, t);
		return;
	}
	for (size_t i = b->n_phase; i-- > 0;)
		if (b->phase[i].t1_ns == INT64_MAX &&
			b->phase[i].depth == (int)(ev->value & 0xff)) {
			b->phase[i].t1_ns = t;
			return;
		}
}

static void loss_mark(struct build *b, int64_t t_ns, uint64_t bits)
{
	struct build_point pt = {.t_ns = t_ns};

	memcpy(&pt.value, &bits, sizeof(bits));
	if (!isfinite(pt.value)) /* a diverged loss is not a number to report as the last */
		return;
	if (b->losses++ % b->loss_stride)
		return;
	if (!mem_grow((void **)&b->loss, &b->cap_loss, b->n_loss + 1, sizeof(pt), BUILD_LOSSES)) {
		for (size_t i = 1; 2 * i < b->n_loss; i++)
			b->loss[i] = b->loss[2 * i];
		b->n_loss = (b->n_loss + 1) / 2;
		b->loss_stride *= 2;
		if (b->n_loss >= b->cap_loss) {
			b->no_memory = true;
			return;
		}
	}
	b->loss[b->n_loss++] = pt;
}

void build_mark(void *arg, const struct mark_rank *mr, const struct mark_event *ev)
{
	struct build *b = arg;
	struct build_rank *r = rank_of(b, mr->pid);
	uint64_t number = ev->kind >> 8;
	struct build_point pt = {.t_ns = (int64_t)ev->t_ns};

	if (!r)
		return;
	if ((int64_t)ev->t_ns > b->now_ns)
		b->now_ns = (int64_t)ev->t_ns;
	if (mr->rank >= 0) {
		r->rank = mr->rank;
		r->n_ranks = mr->n_ranks;
	}
	r->gradient_bytes = mr->gradient_bytes ? mr->gradient_bytes : r->gradient_bytes;
	r->batch_per_rank = mr->batch_per_rank ? mr->batch_per_rank : r->batch_per_rank;
	r->global_batch = mr->global_batch ? mr->global_batch : r->global_batch;
	if ((ev->kind & 0xff) == MARK_STEP) {
		/* A program that execs itself counts from one again. */
		if (number + r->restarted <= r->steps && number == 1)
			r->restarted = r->steps;
		number += r->restarted;
		if (number > r->steps + 1 && r->steps)
			b->events_lost += number - r->steps - 1;
		step_ended(b, r, (int64_t)ev->t_ns, number, ev->value);
		return;
	}
	/* Phases, epochs and losses are told by every rank; one speaks for all: rank 0 as soon as
	 * it is seen. */
	if (r != first_rank(b))
		return;
	if (b->speaker != r->pid) {
		b->n_phase = b->n_loss = b->n_epoch = 0;
		b->speaker = r->pid;
	}
	switch (ev->kind & 0xff) {
	case MARK_PHASE_BEGIN:
	case MARK_PHASE_END:
		phase_mark(b, ev, (ev->kind & 0xff) == MARK_PHASE_BEGIN);
		break;
	case MARK_LOSS:
		loss_mark(b, (int64_t)ev->t_ns, ev->value);
		break;
	case MARK_EPOCH:
		if (mem_grow((void **)&b->epoch, &b->cap_epoch, b->n_epoch + 1, sizeof(pt),
			    BUILD_ENDS))
			b->epoch[b->n_epoch++] = pt;
		break;
	default:
		break;
	}
}

void build_progress(struct build *b, int64_t t_ns, uint64_t total_steps, uint64_t samples)
{
	struct build_rank *r;

	/* Marks are exact; what the output says is used only where there are none. */
	if (b->n_rank && !b->progress)
		return;
	b->progress = true;
	r = rank_of(b, 0);
	if (!r)
		return;
	if (t_ns > b->now_ns)
		b->now_ns = t_ns;
	if (total_steps > r->steps || !r->n) {
		/* A line may tell of several steps at once: its number need not be a multiple of
		 * the stride. */
		uint64_t stride = r->stride;

		if (total_steps % stride)
			r->stride = 1;
		step_ended(b, r, t_ns, total_steps, samples);
		if (r->stride == 1)
			r->stride = stride;
	} else {
		r->samples += samples;
	}
}

void build_warn(struct build *b, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < b->n_warning; i++)
		if (!strcmp(b->warning[i], text))
			return;
	if (b->n_warning == BUILD_WARNINGS)
		return;
	b->warning[b->n_warning] = mem_strdup(text);
	if (b->warning[b->n_warning])
		b->n_warning++;
	else
		b->no_memory = true;
}

void build_shared(struct build *b, const char *why)
{
	b->cfg.shared_node = true;
	build_warn(b, "%s", why);
}

const struct build_rank *first_rank(const struct build *b)
{
	for (size_t i = 0; i < b->n_rank; i++)
		if (b->rank[i].rank == 0)
			return &b->rank[i];
	return b->n_rank ? &b->rank[0] : NULL;
}

void rank_window(const struct build_rank *r, int64_t t0, int64_t t1, size_t *from, size_t *to)
{
	size_t lo = 0, hi = r->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->end[mid].t_ns < t0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*from = lo;
	for (hi = r->n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->end[mid].t_ns <= t1)
			lo = mid + 1;
		else
			hi = mid;
	}
	*to = lo;
}

const struct build_rank *slowest_rank(const struct build *b, int64_t t0, int64_t t1)
{
	const struct build_rank *slowest = NULL;
	double most = -1;

	for (size_t i = 0; i < b->n_rank; i++) {
		const struct build_rank *r = &b->rank[i];
		size_t from, to;
		double per_step;

		rank_window(r, t0, t1, &from, &to);
		if (to < from + 2)
			continue;
		per_step = (double)(r->end[to - 1].t_ns - r->end[from].t_ns) /
			   (double)(r->end[to - 1].steps - r->end[from].steps);
		if (per_step > most) {
			most = per_step;
			slowest = r;
		}
	}
	return slowest;
}

void rank_stats(const struct build_rank *r, int64_t t0, int64_t t1, struct step_stats *out)
{
	size_t from, to;
	int64_t *t;
	double steps;

	step_stats(NULL, 0, out);
	rank_window(r, t0, t1, &from, &to);
	if (to < from + 2)
		return;
	t = mem_alloc((to - from) * sizeof(*t));
	if (!t)
		return;
	for (size_t i = from; i < to; i++)
		t[i - from] = r->end[i].t_ns;
	step_stats(t, to - from, out);
	mem_free(t);
	/* Thinned or progress lines: an interval is several steps; the figures become those of
	 * their means. */
	steps = (double)(r->end[to - 1].steps - r->end[from].steps) / (double)(to - 1 - from);
	out->n = (int64_t)(r->end[to - 1].steps - r->end[from].steps);
	out->mean_ns /= steps;
	out->sd_ns /= steps;
	out->p10_ns /= steps;
	out->median_ns /= steps;
	out->p90_ns /= steps;
	out->min_ns /= steps;
	out->max_ns /= steps;
}
