/* intelgpu.c: Intel GPUs through the hwmon and frequency files of i915 and xe.
 *
 * Kernel ABI: sysfs-driver-intel-i915-hwmon, sysfs-driver-intel-xe-hwmon. A limit of 0 is "no
 * limit".
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "hw/backends.h"
#include "hw/drm.h"
#include "hw/sysfs.h"

#define BIT(ch)  (UINT64_C(1) << (ch))
#define MAX_GPUS 256

struct card {
	struct drm_card drm;
	const char *energy; /* file in hwmon, NULL = none */
	char freq[128]; /* directory of the frequency files, "" = none */
	const char *act, *max, *rp0, *rpn;
};

struct intelgpu {
	struct backend_env env;
	struct device *devs;
	struct card *cards;
	size_t n, cap_devs, cap_cards;
};

static enum status read_one(struct intelgpu *g, const struct card *c, enum channel ch, int64_t *out)
{
	enum status st = ST_UNSUPPORTED;

	if (ch == CH_ENERGY && c->energy) {
		st = drm_i64(g->env.root_fd, c->drm.hwmon, c->energy, out);
		if (st == ST_OK && *out < 0)
			st = ST_CORRUPT;
	} else if (ch == CH_CLOCK && c->freq[0]) {
		st = drm_i64(g->env.root_fd, c->freq, c->act, out);
		if (st == ST_OK)
			*out *= 1000; /* 0 = asleep, which is a clock */
	} else if (ch == CH_TEMP) {
		st = drm_i64(g->env.root_fd, c->drm.hwmon, "temp1_input", out);
	}
	return st;
}

static enum status intel_read(void *self, size_t dev, uint64_t channels, struct sample *out)
{
	static const enum channel order[] = {CH_ENERGY, CH_CLOCK, CH_TEMP};
	struct intelgpu *g = self;
	uint64_t todo = channels & g->devs[dev].channels;
	int64_t t0 = g->env.clock->now(g->env.clock), t1;

	samples_init(out, channels, t0, ST_UNSUPPORTED);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct sample *s = &out[order[i]];

		if (!(todo & BIT(order[i])))
			continue;
		s->st = read_one(g, &g->cards[dev], order[i], &s->value);
		if (s->st == ST_NOT_FOUND)
			s->st = ST_LOST;
		t1 = g->env.clock->now(g->env.clock);
		s->t_ns = t0 + (t1 - t0) / 2;
		t0 = t1;
	}
	return samples_worst(out, channels);
}

/* i915 keeps its files beside the card, xe below its tile. */
static void find_freq(struct intelgpu *g, struct card *c)
{
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/device/tile0/gt0/freq0", c->drm.card);
	if (drm_has(g->env.root_fd, dir, "act_freq")) {
		c->act = "act_freq";
		c->max = "max_freq";
		c->rp0 = "rp0_freq";
		c->rpn = "rpn_freq";
	} else {
		snprintf(dir, sizeof(dir), "%s", c->drm.card);
		if (!drm_has(g->env.root_fd, dir, "gt_act_freq_mhz"))
			return;
		c->act = "gt_act_freq_mhz";
		c->max = "gt_max_freq_mhz";
		c->rp0 = "gt_RP0_freq_mhz";
		c->rpn = "gt_RPn_freq_mhz";
	}
	snprintf(c->freq, sizeof(c->freq), "%s", dir);
}

static enum status add_card(void *arg, const struct drm_card *drm)
{
	struct intelgpu *g = arg;
	void *devs = g->devs, *cards = g->cards;
	struct device *d;
	struct card *c;
	char id[16] = "";
	int64_t v;

	/* Integrated graphics without a sensor of their own are inside the package's energy. */
	if (strcmp(drm->hwmon_name, "i915") && strcmp(drm->hwmon_name, "xe"))
		return ST_OK;
	if (!mem_grow(&devs, &g->cap_devs, g->n + 1, sizeof(*g->devs), MAX_GPUS))
		return ST_NOMEM;
	g->devs = devs;
	if (!mem_grow(&cards, &g->cap_cards, g->n + 1, sizeof(*g->cards), MAX_GPUS))
		return ST_NOMEM;
	g->cards = cards;
	d = &g->devs[g->n];
	c = &g->cards[g->n];
	memset(d, 0, sizeof(*d));
	memset(c, 0, sizeof(*c));
	c->drm = *drm;
	c->energy = drm_has(g->env.root_fd, drm->hwmon, "energy1_input")   ? "energy1_input"
		    : drm_has(g->env.root_fd, drm->hwmon, "energy2_input") ? "energy2_input"
									   : NULL;
	find_freq(g, c);
	drm_text(g->env.root_fd, drm->device, "device", id, sizeof(id));
	snprintf(d->key, sizeof(d->key), "%s", drm->pci[0] ? drm->pci : drm->card);
	snprintf(d->pci, sizeof(d->pci), "%s", drm->pci);
	snprintf(d->name, sizeof(d->name), "Intel GPU %s", id);
	snprintf(d->model, sizeof(d->model), "%.63s", d->name);
	snprintf(d->where, sizeof(d->where), "%s", drm->device);
	d->kind = DEV_GPU;
	d->parent = -1;
	d->counted = true;
	d->index = (int)g->n;
	for (int ch = 0; ch < CH_COUNT; ch++)
		if (read_one(g, c, (enum channel)ch, &v) == ST_OK)
			d->channels |= BIT(ch);
	if (drm_i64(g->env.root_fd, drm->hwmon, "power1_rated_max", &v) == ST_OK && v > 0)
		d->max_power_mw = v / 1000 * 2;
	if (drm_has(g->env.root_fd, drm->hwmon, "power1_max"))
		d->knobs |= 1u << KNOB_POWER_LIMIT;
	if (c->freq[0] && drm_has(g->env.root_fd, c->freq, c->max))
		d->knobs |= 1u << KNOB_CLOCK_MAX;
	if (!(d->channels & BIT(CH_ENERGY)))
		snprintf(d->why_not, sizeof(d->why_not), "the driver reports no energy");
	g->n++;
	return ST_OK;
}

static void intel_close(void *self)
{
	struct intelgpu *g = self;

	mem_free(g->devs);
	mem_free(g->cards);
	mem_free(g);
}

static enum status intel_open(const struct backend_env *env, void **self, struct err *e)
{
	struct intelgpu *g = mem_calloc(1, sizeof(*g));
	enum status st;

	if (!g)
		return err_set(e, ST_NOMEM, "no memory for the Intel GPU back end");
	g->env = *env;
	st = drm_each(env->root_fd, "0x8086", add_card, g);
	if (st != ST_OK || g->n == 0) {
		intel_close(g);
		return st == ST_OK ? ST_UNSUPPORTED
				   : err_set(e, st, "no memory for the list of Intel GPUs");
	}
	*self = g;
	return ST_OK;
}

static const struct device *intel_devices(void *self, size_t *n)
{
	struct intelgpu *g = self;

	*n = g->n;
	return g->devs;
}

static enum status intel_range(
	void *self, size_t dev, enum knob k, struct knob_range *out, struct err *e)
{
	struct intelgpu *g = self;
	const struct card *c = &g->cards[dev];
	int64_t v;

	(void)e;
	*out = (struct knob_range){.step = 1000};
	if (k == KNOB_POWER_LIMIT) {
		if (drm_i64(g->env.root_fd, c->drm.hwmon, "power1_rated_max", &v) == ST_OK && v > 0)
			out->max = out->def = v / 1000;
		return ST_OK;
	}
	if (drm_i64(g->env.root_fd, c->freq, c->rpn, &v) == ST_OK)
		out->min = v * 1000;
	if (drm_i64(g->env.root_fd, c->freq, c->rp0, &v) == ST_OK)
		out->max = out->def = v * 1000;
	return ST_OK;
}

static enum status intel_get(
	void *self, size_t dev, enum knob k, struct knob_val *out, struct err *e)
{
	struct intelgpu *g = self;
	const struct card *c = &g->cards[dev];
	bool power = k == KNOB_POWER_LIMIT;
	int64_t v;
	enum status st = power ? drm_i64(g->env.root_fd, c->drm.hwmon, "power1_max", &v)
			       : drm_i64(g->env.root_fd, c->freq, c->max, &v);

	*out = (struct knob_val){0, 0, 0, KV_UNKNOWN};
	if (st != ST_OK)
		return err_set(e, st == ST_NOT_FOUND ? ST_LOST : st, "%s of %s: %s",
			knob_info(k)->name, g->devs[dev].key, status_name(st));
	*out = (struct knob_val){0, power ? (v > 0 ? v / 1000 : -1) : v * 1000, 0, KV_READ};
	return ST_OK;
}

static enum status intel_set(
	void *self, size_t dev, enum knob k, const struct knob_val *v, struct err *e)
{
	struct intelgpu *g = self;
	const struct card *c = &g->cards[dev];
	struct knob_range r;
	int64_t hi = v->hi;

	if (k == KNOB_POWER_LIMIT)
		return drm_write_i64(g->env.root_fd, c->drm.hwmon, "power1_max",
			v->from == KV_RESET || hi < 0 ? 0 : hi * 1000, e);
	if (v->from == KV_RESET) {
		intel_range(self, dev, k, &r, NULL);
		hi = r.max;
	}
	if (hi <= 0)
		return err_set(e, ST_RANGE, "clock %lld kHz is out of range", (long long)hi);
	return drm_write_i64(g->env.root_fd, c->freq, c->max, hi / 1000, e);
}

static enum status intel_check(
	void *self, size_t dev, enum knob k, struct err *e, char *fix, size_t size)
{
	struct intelgpu *g = self;
	const struct card *c = &g->cards[dev];
	const char *dir = k == KNOB_POWER_LIMIT ? c->drm.hwmon : c->freq;
	const char *file = k == KNOB_POWER_LIMIT ? "power1_max" : c->max;

	if (drm_writable(g->env.root_fd, dir, file))
		return ST_OK;
	snprintf(fix, size, "run as root, or ask the site to run wattlawd for its users");
	return err_set(e, ST_NO_PERMISSION, "/%s/%s is not writable", dir, file);
}

const struct backend backend_intelgpu = {
	.name = "intelgpu",
	.open = intel_open,
	.devices = intel_devices,
	.read = intel_read,
	.knob_range = intel_range,
	.knob_get = intel_get,
	.knob_check = intel_check,
	.knob_set = intel_set,
	.close = intel_close,
};
