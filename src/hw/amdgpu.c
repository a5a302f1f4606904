/* amdgpu.c: AMD GPUs through the amdgpu driver's files.
 *
 * Power and limit from hwmon, energy from gpu_metrics, a clock limit by the driver's determinism
 * mode. Kernel documentation: gpu/amdgpu/thermal.rst, ABI of hwmon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hw/amd_metrics.h"
#include "hw/backends.h"
#include "hw/drm.h"
#include "hw/sysfs.h"

#define BIT(ch)  (UINT64_C(1) << (ch))
#define MAX_GPUS 256
#define LEVEL    "power_dpm_force_performance_level"
#define OD       "pp_od_clk_voltage"

struct amdgpu {
	struct backend_env env;
	struct device *devs;
	struct drm_card *cards;
	size_t n, cap_devs, cap_cards;
};

static int64_t now(struct amdgpu *a)
{
	return a->env.clock->now(a->env.clock);
}

static enum status metrics(struct amdgpu *a, const struct drm_card *c, struct amd_metrics *m)
{
	unsigned char buf[4096];
	char path[128];
	size_t n;
	enum status st;

	snprintf(path, sizeof(path), "%s/gpu_metrics", c->device);
	st = sysfs_read_bytes(a->env.root_fd, path, buf, sizeof(buf), &n, NULL);
	return st == ST_OK ? amd_metrics_parse(buf, n, m) : st;
}

static enum status read_power(struct amdgpu *a, const struct drm_card *c, int64_t *out)
{
	int64_t uw = 0;
	enum status st = drm_i64(a->env.root_fd, c->hwmon, "power1_average", &uw);

	if (st != ST_OK)
		st = drm_i64(a->env.root_fd, c->hwmon, "power1_input", &uw);
	if (st == ST_OK && uw <= 0)
		st = ST_UNKNOWN; /* the second die of a board, or a card asleep */
	*out = uw / 1000;
	return st;
}

/* "1: 1300Mhz *": the line with the star is the clock now. */
static enum status starred_clock(const char *text, int64_t *khz)
{
	const char *star = strchr(text, '*'), *line = star;

	if (!star)
		return ST_UNKNOWN;
	while (line > text && line[-1] != '\n')
		line--;
	line = strchr(line, ':');
	if (!line || line > star)
		return ST_CORRUPT;
	*khz = strtoll(line + 1, NULL, 10) * 1000;
	return *khz > 0 ? ST_OK : ST_UNKNOWN;
}

static enum status read_clock(struct amdgpu *a, const struct drm_card *c, const char *hwmon,
	const char *dpm, int64_t *out)
{
	char buf[1024];
	int64_t hz;
	enum status st = drm_i64(a->env.root_fd, c->hwmon, hwmon, &hz);

	if (st == ST_OK && hz > 0) {
		*out = hz / 1000;
		return ST_OK;
	}
	st = drm_text(a->env.root_fd, c->device, dpm, buf, sizeof(buf));
	return st == ST_OK ? starred_clock(buf, out) : st;
}

static enum status read_percent(
	struct amdgpu *a, const struct drm_card *c, const char *file, int64_t *out)
{
	enum status st = drm_i64(a->env.root_fd, c->device, file, out);

	if (st == ST_OK && (*out < 0 || *out > 100))
		return value_status(*out, false) == ST_OK ? ST_CORRUPT : ST_UNKNOWN;
	*out *= 10000;
	return st;
}

static enum status read_temp(struct amdgpu *a, const struct drm_card *c, int64_t *out)
{
	enum status st = drm_i64(a->env.root_fd, c->hwmon, "temp1_input", out);

	/* Boards for servers have no edge sensor: the junction then. */
	if (st != ST_OK)
		st = drm_i64(a->env.root_fd, c->hwmon, "temp2_input", out);
	return st == ST_OK && (*out < -50000 || *out > 200000) ? ST_CORRUPT : st;
}

static int64_t throttle_bits(uint64_t t)
{
	return (t & UINT64_C(0xffff) ? THROTTLE_POWER_CAP : 0) |
	       (t >> 16 & UINT64_C(0xffff) ? THROTTLE_HW : 0) |
	       (t >> 32 & UINT64_C(0xffff) ? THROTTLE_THERMAL : 0) | (t >> 48 ? THROTTLE_OTHER : 0);
}

static void from_metrics(struct amdgpu *a, const struct drm_card *c, struct sample *out)
{
	struct amd_metrics m;
	enum status st = metrics(a, c, &m);

	out[CH_ENERGY].st = st != ST_OK ? st : m.has_energy ? ST_OK : ST_UNKNOWN;
	out[CH_ENERGY].value = m.energy_uj;
	out[CH_THROTTLE].st = st != ST_OK ? st : m.has_throttle ? ST_OK : ST_UNSUPPORTED;
	out[CH_THROTTLE].value = throttle_bits(m.throttle);
}

static void read_one(
	struct amdgpu *a, const struct drm_card *c, enum channel ch, struct sample *out)
{
	struct sample *s = &out[ch];

	switch (ch) {
	case CH_ENERGY:
	case CH_THROTTLE:
		from_metrics(a, c, out);
		break;
	case CH_POWER:
		s->st = read_power(a, c, &s->value);
		break;
	case CH_CLOCK:
		s->st = read_clock(a, c, "freq1_input", "pp_dpm_sclk", &s->value);
		break;
	case CH_MEM_CLOCK:
		s->st = read_clock(a, c, "freq2_input", "pp_dpm_mclk", &s->value);
		break;
	case CH_UTIL:
		s->st = read_percent(a, c, "gpu_busy_percent", &s->value);
		break;
	case CH_MEM_UTIL:
		s->st = read_percent(a, c, "mem_busy_percent", &s->value);
		break;
	case CH_MEM_USED:
		s->st = drm_i64(a->env.root_fd, c->device, "mem_info_vram_used", &s->value);
		break;
	case CH_TEMP:
		s->st = read_temp(a, c, &s->value);
		break;
	default:
		break;
	}
}

static const enum channel order[] = {CH_ENERGY, CH_THROTTLE, CH_POWER, CH_CLOCK, CH_MEM_CLOCK,
	CH_UTIL, CH_MEM_UTIL, CH_MEM_USED, CH_TEMP};

static enum status amd_read(void *self, size_t dev, uint64_t channels, struct sample *out)
{
	struct amdgpu *a = self;
	const struct drm_card *c = &a->cards[dev];
	uint64_t todo = channels & a->devs[dev].channels;
	int64_t t0 = now(a), t1;

	samples_init(out, channels, t0, ST_UNSUPPORTED);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		enum channel ch = order[i];

		if (!(todo & BIT(ch)) || (ch == CH_THROTTLE && todo & BIT(CH_ENERGY)))
			continue;
		read_one(a, c, ch, out);
		/* The files go when the card does. */
		if (out[ch].st == ST_NOT_FOUND)
			out[ch].st = ST_LOST;
		t1 = now(a);
		out[ch].t_ns = t0 + (t1 - t0) / 2;
		if (ch == CH_ENERGY)
			out[CH_THROTTLE].t_ns = out[ch].t_ns;
		t0 = t1;
	}
	for (int ch = 0; ch < CH_COUNT; ch++)
		if (!(todo & BIT(ch)) && out[ch].st == ST_OK)
			out[ch].st = ST_UNSUPPORTED;
	return samples_worst(out, channels);
}

static void probe(struct amdgpu *a, struct device *d, const struct drm_card *c)
{
	struct sample s[CH_COUNT];
	struct amd_metrics m;
	int64_t cap = 0;

	samples_init(s, ~UINT64_C(0), 0, ST_UNSUPPORTED);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		enum channel ch = order[i];

		if (ch != CH_THROTTLE)
			read_one(a, c, ch, s);
		if (s[ch].st == ST_OK || (s[ch].st == ST_UNKNOWN && ch == CH_POWER) ||
			s[ch].st == ST_IO)
			d->channels |= BIT(ch);
	}
	if (metrics(a, c, &m) == ST_OK)
		d->energy_wrap = m.energy_wrap;
	d->power_kind = drm_has(a->env.root_fd, c->hwmon, "power1_average") ? POWER_KIND_AVERAGE
									    : POWER_KIND_INSTANT;
	if (drm_i64(a->env.root_fd, c->hwmon, "power1_cap_max", &cap) == ST_OK && cap > 0)
		d->max_power_mw = cap / 1000 * 2;
	if (drm_has(a->env.root_fd, c->hwmon, "power1_cap") && cap > 0)
		d->knobs |= 1u << KNOB_POWER_LIMIT;
	if (drm_has(a->env.root_fd, c->device, LEVEL) && drm_has(a->env.root_fd, c->device, OD))
		d->knobs |= 1u << KNOB_CLOCK_MAX;
	if (!(d->channels & BIT(CH_ENERGY)))
		snprintf(d->why_not, sizeof(d->why_not), "no energy counter in gpu_metrics%s",
			d->channels & BIT(CH_POWER) ? ": power is integrated" : "");
}

static enum status add_card(void *arg, const struct drm_card *c)
{
	struct amdgpu *a = arg;
	void *devs = a->devs, *cards = a->cards;
	struct device *d;
	char id[40];

	if (!c->hwmon[0] && !drm_has(a->env.root_fd, c->device, "gpu_busy_percent"))
		return ST_OK; /* another driver has it */
	if (!mem_grow(&devs, &a->cap_devs, a->n + 1, sizeof(*a->devs), MAX_GPUS))
		return ST_NOMEM;
	a->devs = devs;
	if (!mem_grow(&cards, &a->cap_cards, a->n + 1, sizeof(*a->cards), MAX_GPUS))
		return ST_NOMEM;
	a->cards = cards;
	a->cards[a->n] = *c;
	d = &a->devs[a->n];
	memset(d, 0, sizeof(*d));
	/* ROCm names a card "GPU-" and its unique id. */
	if (drm_text(a->env.root_fd, c->device, "unique_id", id, sizeof(id)) == ST_OK && id[0])
		snprintf(d->key, sizeof(d->key), "GPU-%s", id);
	else
		snprintf(d->key, sizeof(d->key), "%s", c->pci[0] ? c->pci : c->card);
	if (drm_text(a->env.root_fd, c->device, "product_name", d->name, sizeof(d->name)) !=
			ST_OK ||
		!d->name[0]) {
		id[0] = '\0';
		drm_text(a->env.root_fd, c->device, "device", id, sizeof(id));
		snprintf(d->name, sizeof(d->name), "AMD GPU %.20s", id);
	}
	snprintf(d->model, sizeof(d->model), "%.63s", d->name);
	snprintf(d->pci, sizeof(d->pci), "%s", c->pci);
	snprintf(d->where, sizeof(d->where), "%s", c->device);
	d->kind = DEV_GPU;
	d->parent = -1;
	d->counted = true;
	d->index = (int)a->n;
	probe(a, d, c);
	a->n++;
	return ST_OK;
}

/* The second die of a two-die board (MI250) says 0 or nothing: the first one speaks for both. It is
 * no error, and not counted. */
static void settle_dies(struct amdgpu *a)
{
	for (size_t i = 1; i < a->n; i++) {
		struct device *d = &a->devs[i], *first = &a->devs[i - 1];
		int64_t mw;

		if (d->channels & BIT(CH_ENERGY) || strcmp(d->name, first->name) ||
			!first->counted || !(first->channels & BIT(CH_ENERGY)) ||
			!strstr(d->name, "MI2"))
			continue;
		if (read_power(a, &a->cards[i], &mw) == ST_OK)
			continue;
		d->counted = false;
		d->parent = (int)i - 1;
		d->channels &= ~BIT(CH_POWER);
		d->knobs &= ~(1u << KNOB_POWER_LIMIT);
		snprintf(d->why_not, sizeof(d->why_not),
			"second die: power and energy are reported by the first, %s", first->pci);
	}
}

static void amd_close(void *self)
{
	struct amdgpu *a = self;

	mem_free(a->devs);
	mem_free(a->cards);
	mem_free(a);
}

static enum status amd_open(const struct backend_env *env, void **self, struct err *e)
{
	struct amdgpu *a = mem_calloc(1, sizeof(*a));
	enum status st;

	if (!a)
		return err_set(e, ST_NOMEM, "no memory for the amdgpu back end");
	a->env = *env;
	st = drm_each(env->root_fd, "0x1002", add_card, a);
	if (st != ST_OK || a->n == 0) {
		amd_close(a);
		return st == ST_OK ? ST_UNSUPPORTED
				   : err_set(e, st, "no memory for the list of AMD GPUs");
	}
	settle_dies(a);
	*self = a;
	return ST_OK;
}

static const struct device *amd_devices(void *self, size_t *n)
{
	struct amdgpu *a = self;

	*n = a->n;
	return a->devs;
}

/* "OD_RANGE:\nSCLK:     500Mhz       1700Mhz" */
static bool od_range(const char *od, int64_t *lo, int64_t *hi)
{
	const char *p = strstr(od, "OD_RANGE");
	long long a, b;

	p = p ? strstr(p, "SCLK:") : NULL;
	if (!p || sscanf(p, "SCLK: %lldMhz %lldMhz", &a, &b) != 2)
		return false;
	*lo = a * 1000;
	*hi = b * 1000;
	return true;
}

static enum status amd_range(
	void *self, size_t dev, enum knob k, struct knob_range *out, struct err *e)
{
	struct amdgpu *a = self;
	const struct drm_card *c = &a->cards[dev];
	char od[2048];
	int64_t v;

	memset(out, 0, sizeof(*out));
	if (k == KNOB_CLOCK_MAX) {
		out->step = 1000;
		if (drm_text(a->env.root_fd, c->device, OD, od, sizeof(od)) != ST_OK ||
			!od_range(od, &out->min, &out->max))
			return err_set(e, ST_UNSUPPORTED, "%s: no range in " OD, c->device);
		return ST_OK;
	}
	out->step = 1000;
	if (drm_i64(a->env.root_fd, c->hwmon, "power1_cap_min", &v) == ST_OK)
		out->min = v / 1000;
	if (drm_i64(a->env.root_fd, c->hwmon, "power1_cap_max", &v) == ST_OK)
		out->max = v / 1000;
	if (drm_i64(a->env.root_fd, c->hwmon, "power1_cap_default", &v) == ST_OK)
		out->def = v / 1000;
	return ST_OK;
}

/* In determinism mode the upper clock is line 1 of OD_SCLK. */
static enum status get_clock(
	struct amdgpu *a, const struct drm_card *c, struct knob_val *out, struct err *e)
{
	char level[40], od[2048], *p;
	enum status st = drm_text(a->env.root_fd, c->device, LEVEL, level, sizeof(level));
	long long mhz;

	if (st != ST_OK)
		return err_set(e, st, "cannot read /%s/" LEVEL, c->device);
	if (!strcmp(level, "auto")) {
		*out = (struct knob_val){0, -1, 0, KV_READ};
		return ST_OK;
	}
	/* Not "unsupported": that would mean "nothing set", and be reset in the end. */
	if (strcmp(level, "perf_determinism"))
		return err_set(e, ST_INVALID,
			"the performance level is '%s', set by somebody else: left alone", level);
	st = drm_text(a->env.root_fd, c->device, OD, od, sizeof(od));
	p = st == ST_OK ? strstr(od, "OD_SCLK:") : NULL;
	p = p ? strstr(p, "\n1:") : NULL;
	if (!p || sscanf(p, "\n1: %lldMhz", &mhz) != 1)
		return err_set(e, ST_CORRUPT, "/%s/" OD " has no upper clock", c->device);
	*out = (struct knob_val){0, mhz * 1000, 0, KV_READ};
	return ST_OK;
}

static enum status amd_get(void *self, size_t dev, enum knob k, struct knob_val *out, struct err *e)
{
	struct amdgpu *a = self;
	const struct drm_card *c = &a->cards[dev];
	int64_t uw;
	enum status st;

	*out = (struct knob_val){0, 0, 0, KV_UNKNOWN};
	if (k == KNOB_CLOCK_MAX)
		return get_clock(a, c, out, e);
	st = drm_i64(a->env.root_fd, c->hwmon, "power1_cap", &uw);
	if (st != ST_OK)
		return err_set(e, st == ST_NOT_FOUND ? ST_LOST : st, "cannot read /%s/power1_cap",
			c->hwmon);
	*out = (struct knob_val){0, uw / 1000, 0, KV_READ};
	return ST_OK;
}

static enum status set_clock(
	struct amdgpu *a, const struct drm_card *c, const struct knob_val *v, struct err *e)
{
	char path[160], cmd[32];
	enum status st;

	snprintf(path, sizeof(path), "%s/" LEVEL, c->device);
	if (v->from == KV_RESET || v->hi < 0)
		return sysfs_write(a->env.root_fd, path, "auto", e);
	st = sysfs_write(a->env.root_fd, path, "perf_determinism", e);
	if (st != ST_OK)
		return st;
	snprintf(path, sizeof(path), "%s/" OD, c->device);
	snprintf(cmd, sizeof(cmd), "s 1 %lld", (long long)(v->hi / 1000));
	st = sysfs_write(a->env.root_fd, path, cmd, e);
	return st == ST_OK ? sysfs_write(a->env.root_fd, path, "c", e) : st;
}

static enum status amd_set(
	void *self, size_t dev, enum knob k, const struct knob_val *v, struct err *e)
{
	struct amdgpu *a = self;
	const struct drm_card *c = &a->cards[dev];
	struct knob_range r;
	int64_t mw = v->hi;

	if (k == KNOB_CLOCK_MAX)
		return set_clock(a, c, v, e);
	if (v->from == KV_RESET) {
		amd_range(self, dev, k, &r, NULL);
		mw = r.def;
	}
	if (mw <= 0 || mw > INT64_MAX / 1000)
		return err_set(e, ST_RANGE, "power limit %lld mW is out of range", (long long)mw);
	return drm_write_i64(a->env.root_fd, c->hwmon, "power1_cap", mw * 1000, e);
}

static enum status amd_check(
	void *self, size_t dev, enum knob k, struct err *e, char *fix, size_t size)
{
	struct amdgpu *a = self;
	const struct drm_card *c = &a->cards[dev];
	bool clock = k == KNOB_CLOCK_MAX;

	if (drm_writable(
		    a->env.root_fd, clock ? c->device : c->hwmon, clock ? LEVEL : "power1_cap"))
		return ST_OK;
	snprintf(fix, size, "run as root, or ask the site to run wattlawd for its users");
	return err_set(e, ST_NO_PERMISSION, "/%s/%s is not writable", clock ? c->device : c->hwmon,
		clock ? LEVEL : "power1_cap");
}

const struct backend backend_amdgpu = {
	.name = "amdgpu",
	.open = amd_open,
	.devices = amd_devices,
	.read = amd_read,
	.knob_range = amd_range,
	.knob_get = amd_get,
	.knob_check = amd_check,
	.knob_set = amd_set,
	.close = amd_close,
};
