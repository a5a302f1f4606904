/* nvml.c: NVIDIA GPUs: their list and their readings.
 *
 * Each reading is asked for by itself, so that one that is not supported takes no other with it. No
 * process list is ever asked for: it holds a driver lock that the job needs.
 */
#include "hw/nvml.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "hw/backends.h"
#include "hw/sysfs.h"

#define BIT(ch)  (UINT64_C(1) << (ch))
#define MAX_GPUS 1024
#define TIMED_BITS                                                                                 \
	(BIT(CH_ENERGY) | BIT(CH_POWER) | BIT(CH_POWER_AVERAGE) | BIT(CH_POWER_INSTANT) |          \
		BIT(CH_POWER_MODULE))

static void add_why(struct device *d, const char *text)
{
	size_t n = strlen(d->why_not);

	snprintf(d->why_not + n, sizeof(d->why_not) - n, "%s%s", n ? "; " : "", text);
}

/* v by pointer: it is filled by the very call whose return value is the first argument. */
static enum status read_u32(int ret, const uint32_t *v, int64_t scale, int64_t *out)
{
	enum status st = nvml_status(ret);

	if (st == ST_OK)
		st = value_status(*v, false);
	if (st == ST_OK)
		*out = (int64_t)*v * scale;
	return st;
}

static enum status read_energy(struct nvml *nv, struct nvml_gpu *g, int64_t *out)
{
	uint64_t mj = 0;
	enum status st = nvml_status(NVML_CALL(&nv->api, energy, g->h, &mj));

	if (st != ST_OK)
		return st;
	if (mj > INT64_MAX)
		return ST_UNKNOWN;
	st = value_status((int64_t)mj, true);
	if (st == ST_OK && __builtin_mul_overflow((int64_t)mj, INT64_C(1000), out))
		st = ST_CORRUPT;
	return st;
}

static enum status read_power(struct nvml *nv, struct nvml_gpu *g, int64_t *out)
{
	uint32_t mw = 0;
	enum status st = read_u32(NVML_CALL(&nv->api, power, g->h, &mw), &mw, 1, out);

	/* No board draws nothing: 0 is what some drivers say instead of "not supported". */
	return st == ST_OK && mw == 0 ? ST_UNKNOWN : st;
}

static enum status read_clock(struct nvml *nv, struct nvml_gpu *g, int type, int64_t *out)
{
	uint32_t mhz = 0;

	return read_u32(NVML_CALL(&nv->api, clock, g->h, type, &mhz), &mhz, 1000, out);
}

static enum status percent(uint32_t v, int64_t *out)
{
	if (v == UINT32_MAX)
		return ST_UNKNOWN;
	if (v > 100)
		return ST_CORRUPT;
	*out = (int64_t)v * 10000;
	return ST_OK;
}

static void read_util(struct nvml *nv, struct nvml_gpu *g, struct sample *util, struct sample *mem)
{
	struct nvml_utilization u = {0, 0};
	enum status st = nvml_status(NVML_CALL(&nv->api, util, g->h, &u));

	util->st = st == ST_OK ? percent(u.gpu, &util->value) : st;
	mem->st = st == ST_OK ? percent(u.memory, &mem->value) : st;
}

static enum status read_memory(struct nvml *nv, struct nvml_gpu *g, int64_t *out)
{
	struct nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2};
	struct nvml_memory v1 = {0, 0, 0};
	uint64_t used;
	int ret;

	/* v1 counts what the driver reserves as used, v2 does not. */
	if (g->memory_v2) {
		ret = NVML_CALL(&nv->api, memory_v2, g->h, &v2);
		used = v2.used;
	} else {
		ret = NVML_CALL(&nv->api, memory, g->h, &v1);
		used = v1.used;
	}
	if (ret != NVML_SUCCESS)
		return nvml_status(ret);
	if (used > INT64_MAX)
		return ST_UNKNOWN;
	*out = (int64_t)used;
	return value_status(*out, true);
}

static enum status read_temp(struct nvml *nv, struct nvml_gpu *g, int64_t *out)
{
	uint32_t c = 0;
	enum status st = read_u32(
		NVML_CALL(&nv->api, temperature, g->h, NVML_TEMPERATURE_GPU, &c), &c, 1000, out);

	return st == ST_OK && c > 200 ? ST_CORRUPT : st;
}

static enum status read_throttle(struct nvml *nv, struct nvml_gpu *g, int64_t *out)
{
	static const struct {
		uint64_t reason;
		int bit;
	} map[] = {
		{NVML_REASON_IDLE, THROTTLE_IDLE},
		{NVML_REASON_APP_CLOCKS, THROTTLE_CLOCK_SET},
		{NVML_REASON_SW_POWER, THROTTLE_POWER_CAP},
		{NVML_REASON_HW_SLOWDOWN, THROTTLE_HW},
		{NVML_REASON_SYNC_BOOST, THROTTLE_OTHER},
		{NVML_REASON_SW_THERMAL, THROTTLE_THERMAL},
		{NVML_REASON_HW_THERMAL, THROTTLE_THERMAL},
		{NVML_REASON_HW_BRAKE, THROTTLE_HW},
		{NVML_REASON_DISPLAY, THROTTLE_CLOCK_SET},
	};
	uint64_t r = 0, known = 0;
	int64_t bits = 0;
	enum status st = nvml_status(NVML_CALL(&nv->api, reasons, g->h, &r));

	if (st != ST_OK)
		return st;
	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		known |= map[i].reason;
		if (r & map[i].reason)
			bits |= map[i].bit;
	}
	if (r & ~known)
		bits |= THROTTLE_OTHER;
	*out = bits;
	return ST_OK;
}

static enum status read_violation(struct nvml *nv, struct nvml_gpu *g, int policy, int64_t *out)
{
	struct nvml_violation v = {0, 0};
	enum status st = nvml_status(NVML_CALL(&nv->api, violation, g->h, policy, &v));

	if (st != ST_OK)
		return st;
	if (v.violation_ns > INT64_MAX)
		return ST_UNKNOWN;
	*out = (int64_t)v.violation_ns;
	return value_status(*out, true);
}

/* All field values asked for in one driver call. Two fields of one channel add up. */
static void read_fields(struct nvml *nv, struct nvml_gpu *g, uint64_t wanted, struct sample *out)
{
	struct nvml_field f[NVML_MAX_FIELDS];
	const struct nvml_want *w[NVML_MAX_FIELDS];
	uint64_t seen = 0;
	int n = 0, ret;

	memset(f, 0, sizeof(f));
	for (size_t i = 0; i < g->n_fields; i++) {
		if (!(wanted >> g->fields[i].ch & 1))
			continue;
		w[n] = &g->fields[i];
		f[n].id = w[n]->id;
		f[n].scope = w[n]->scope;
		f[n].ret = NVML_UNKNOWN;
		n++;
	}
	if (n == 0)
		return;
	ret = NVML_CALL(&nv->api, fields, g->h, n, f);
	for (int i = 0; i < n; i++) {
		struct sample *s = &out[w[i]->ch];
		int64_t v = 0;
		enum status st =
			ret == NVML_SUCCESS ? nvml_field_value(&f[i], &v) : nvml_status(ret);

		if (st == ST_OK && __builtin_mul_overflow(v, w[i]->scale, &v))
			st = ST_CORRUPT;
		if (st == ST_OK && v == 0 && channel_info(w[i]->ch)->unit == UNIT_POWER)
			st = ST_UNKNOWN;
		if (!(seen >> w[i]->ch & 1)) {
			s->st = st;
			s->value = v;
		} else if (s->st == ST_OK) {
			s->st = st;
			s->value += v;
		}
		seen |= BIT(w[i]->ch);
	}
}

static int64_t now(struct nvml *nv)
{
	return nv->env.clock->now(nv->env.clock);
}

/* Read one channel that has a call of its own. */
static void read_one(struct nvml *nv, struct nvml_gpu *g, enum channel ch, struct sample *out)
{
	struct sample *s = &out[ch];

	switch (ch) {
	case CH_ENERGY:
		s->st = read_energy(nv, g, &s->value);
		break;
	case CH_POWER:
		s->st = read_power(nv, g, &s->value);
		break;
	case CH_CLOCK:
		s->st = read_clock(nv, g, g->clock_type, &s->value);
		break;
	case CH_MEM_CLOCK:
		s->st = read_clock(nv, g, NVML_CLOCK_MEM, &s->value);
		break;
	case CH_UTIL:
	case CH_MEM_UTIL:
		read_util(nv, g, &out[CH_UTIL], &out[CH_MEM_UTIL]);
		break;
	case CH_MEM_USED:
		s->st = read_memory(nv, g, &s->value);
		break;
	case CH_TEMP:
		s->st = read_temp(nv, g, &s->value);
		break;
	case CH_THROTTLE:
		s->st = read_throttle(nv, g, &s->value);
		break;
	case CH_VIOL_POWER:
		s->st = read_violation(nv, g, NVML_POLICY_POWER, &s->value);
		break;
	case CH_VIOL_THERMAL:
		s->st = read_violation(nv, g, NVML_POLICY_THERMAL, &s->value);
		break;
	case CH_VIOL_HW:
		s->st = read_violation(nv, g, NVML_POLICY_BOARD_LIMIT, &s->value);
		break;
	default:
		break;
	}
}

/* The channels of this GPU that come as field values. */
static uint64_t field_channels(const struct nvml_gpu *g)
{
	uint64_t m = 0;

	for (size_t i = 0; i < g->n_fields; i++)
		m |= BIT(g->fields[i].ch);
	return m;
}

static enum status nvml_read(void *self, size_t dev, uint64_t channels, struct sample *out)
{
	struct nvml *nv = self;
	struct nvml_gpu *g;
	uint64_t by_field, todo, rest;
	int64_t t0, t1;

	if (dev >= nv->n)
		return ST_NOT_FOUND;
	g = &nv->gpus[dev];
	t0 = now(nv);
	samples_init(out, channels, t0, ST_UNSUPPORTED);
	if (!g->h) {
		samples_init(out, channels, t0, ST_LOST);
		return ST_LOST;
	}
	todo = channels & nv->devs[dev].channels;
	by_field = g->n_fields ? todo & field_channels(g) : 0;
	/* Energy and power are integrated over time: each has that of its own call. The others are
	 * read in one go and share its middle: asking the clock costs as much as asking them. */
	for (uint64_t left = todo & ~by_field & TIMED_BITS; left; left &= left - 1) {
		int ch = __builtin_ctzll(left);

		read_one(nv, g, (enum channel)ch, out);
		t1 = now(nv);
		out[ch].t_ns = t0 + (t1 - t0) / 2;
		t0 = t1;
	}
	rest = todo & ~by_field & ~TIMED_BITS;
	if (rest & BIT(CH_UTIL))
		rest &= ~BIT(CH_MEM_UTIL); /* comes with it */
	for (uint64_t left = rest; left; left &= left - 1)
		read_one(nv, g, (enum channel)__builtin_ctzll(left), out);
	if (rest) {
		t1 = now(nv);
		for (uint64_t left = todo & ~by_field & ~TIMED_BITS; left; left &= left - 1)
			out[__builtin_ctzll(left)].t_ns = t0 + (t1 - t0) / 2;
		t0 = t1;
	}
	if (by_field) {
		read_fields(nv, g, by_field, out);
		t1 = now(nv);
		for (uint64_t left = by_field; left; left &= left - 1)
			out[__builtin_ctzll(left)].t_ns = t0 + (t1 - t0) / 2;
	}
	return samples_worst(out, channels);
}

/* Keep the fields that answer. Where the newer throttle counters do, they replace the older call.
 */
static void probe_fields(struct nvml *nv, struct nvml_gpu *g)
{
	static const struct nvml_want all[NVML_MAX_FIELDS] = {
		{NVML_FI_POWER_AVERAGE, NVML_SCOPE_GPU, CH_POWER_AVERAGE, 1},
		{NVML_FI_POWER_INSTANT, NVML_SCOPE_GPU, CH_POWER_INSTANT, 1},
		{NVML_FI_POWER_INSTANT, NVML_SCOPE_MODULE, CH_POWER_MODULE, 1},
		{NVML_FI_POLICY_POWER, 0, CH_VIOL_POWER, 1},
		{NVML_FI_SW_THERMAL, 0, CH_VIOL_THERMAL, 1},
		{NVML_FI_HW_THERMAL, 0, CH_VIOL_THERMAL, 1},
		{NVML_FI_HW_POWER_BRAKE, 0, CH_VIOL_HW, 1},
		{NVML_FI_POLICY_BOARD, 0, CH_VIOL_HW, 1},
		{NVML_FI_PCIE_TX, 0, CH_PCIE_TX, 1},
		{NVML_FI_PCIE_RX, 0, CH_PCIE_RX, 1},
		{NVML_FI_NVLINK_TX, NVML_SCOPE_ALL_LINKS, CH_NVLINK_TX, 1024},
		{NVML_FI_NVLINK_RX, NVML_SCOPE_ALL_LINKS, CH_NVLINK_RX, 1024},
	};
	const size_t n = sizeof(all) / sizeof(all[0]);
	struct nvml_field f[NVML_MAX_FIELDS];
	int64_t v;

	memset(f, 0, sizeof(f));
	for (size_t i = 0; i < n; i++) {
		f[i].id = all[i].id;
		f[i].scope = all[i].scope;
		f[i].ret = NVML_UNKNOWN;
	}
	g->n_fields = 0;
	if (NVML_CALL(&nv->api, fields, g->h, (int)n, f) != NVML_SUCCESS)
		return;
	for (size_t i = 0; i < n; i++) {
		if (nvml_field_value(&f[i], &v) != ST_OK)
			continue;
		/* A module field that answers 0 is a board without a module sensor. */
		if (v == 0 && channel_info(all[i].ch)->unit == UNIT_POWER)
			continue;
		g->fields[g->n_fields++] = all[i];
	}
}

/* Which power the default reading is: a 1 s average on Ampere and newer except GA100 (compute
 * capability 8.0), else the latest short window. NVIDIA's documentation of nvmlDeviceGetPowerUsage.
 */
static void probe_sensor(struct nvml *nv, struct nvml_gpu *g, struct device *d)
{
	int major = 0, minor = 0;

	if (NVML_CALL(&nv->api, cuda_cc, g->h, &major, &minor) != NVML_SUCCESS)
		return;
	d->power_kind =
		major > 8 || (major == 8 && minor > 0) ? POWER_KIND_AVERAGE : POWER_KIND_INSTANT;
	if (major == 7 && minor == 0)
		d->refresh_ns = 20 * NS_PER_MS;
	else if ((major == 8 && minor == 0) || (major == 9 && minor == 0))
		d->refresh_ns = 100 * NS_PER_MS;
}

/* Try every channel once. */
static void probe_channels(struct nvml *nv, struct nvml_gpu *g, struct device *d)
{
	static const enum channel calls[] = {CH_ENERGY, CH_POWER, CH_CLOCK, CH_MEM_CLOCK, CH_UTIL,
		CH_MEM_USED, CH_TEMP, CH_THROTTLE, CH_VIOL_POWER, CH_VIOL_THERMAL, CH_VIOL_HW};
	struct nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2};
	struct sample s[CH_COUNT];
	int64_t v;

	g->memory_v2 = NVML_CALL(&nv->api, memory_v2, g->h, &v2) == NVML_SUCCESS;
	if (g->mig) {
		if (read_memory(nv, g, &v) == ST_OK)
			d->channels |= BIT(CH_MEM_USED);
		add_why(d, "power and energy belong to the whole GPU");
		return;
	}
	g->clock_type = NVML_CLOCK_SM;
	if (read_clock(nv, g, NVML_CLOCK_SM, &v) != ST_OK)
		g->clock_type = NVML_CLOCK_GRAPHICS;
	probe_fields(nv, g);
	d->channels = field_channels(g);
	samples_init(s, ~UINT64_C(0), 0, ST_UNSUPPORTED);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		enum channel ch = calls[i];

		if (d->channels & BIT(ch))
			continue; /* a field value */
		read_one(nv, g, ch, s);
		/* A reading without data now may come later; one that is not supported will not. */
		if (s[ch].st == ST_OK || s[ch].st == ST_UNKNOWN || s[ch].st == ST_TIMEOUT ||
			s[ch].st == ST_IO)
			d->channels |= BIT(ch);
	}
	if (s[CH_MEM_UTIL].st == ST_OK)
		d->channels |= BIT(CH_MEM_UTIL);
	if (!(d->channels & BIT(CH_ENERGY)))
		add_why(d, d->channels & BIT(CH_POWER) ? "no energy counter: power is integrated"
						       : "neither energy nor power is reported");
	probe_sensor(nv, g, d);
}

static bool grow(struct nvml *nv)
{
	void *devs = nv->devs, *gpus = nv->gpus;

	if (!mem_grow(&devs, &nv->cap_devs, nv->n + 1, sizeof(*nv->devs), MAX_GPUS))
		return false;
	nv->devs = devs;
	if (!mem_grow(&gpus, &nv->cap_gpus, nv->n + 1, sizeof(*nv->gpus), MAX_GPUS))
		return false;
	nv->gpus = gpus;
	return true;
}

/* Who is it? */
static void identify(struct nvml *nv, struct nvml_gpu *g, struct device *d)
{
	struct nvml_pci pci;

	memset(&pci, 0, sizeof(pci));
	if (NVML_CALL(&nv->api, pci, g->h, &pci) == NVML_SUCCESS)
		snprintf(d->pci, sizeof(d->pci), "%04" PRIx32 ":%02" PRIx32 ":%02" PRIx32 ".0",
			pci.domain & 0xffffffu, pci.bus & 0xffu, pci.device & 0xffu);
	if (NVML_CALL(&nv->api, name, g->h, d->name, sizeof(d->name)) != NVML_SUCCESS)
		snprintf(d->name, sizeof(d->name), "NVIDIA GPU");
	d->name[sizeof(d->name) - 1] = '\0';
	snprintf(d->model, sizeof(d->model), "%.63s", d->name);
	if (NVML_CALL(&nv->api, uuid, g->h, d->key, sizeof(d->key)) != NVML_SUCCESS || !d->key[0]) {
		if (d->pci[0])
			snprintf(d->key, sizeof(d->key), "%s", d->pci);
		else
			snprintf(d->key, sizeof(d->key), "nvml:%d", d->index);
	}
	d->key[sizeof(d->key) - 1] = '\0';
}

static enum status add_gpu(struct nvml *nv, nvml_device h, int index, int parent)
{
	struct nvml_gpu *g;
	struct device *d;

	if (!grow(nv))
		return ST_NOMEM;
	d = &nv->devs[nv->n];
	g = &nv->gpus[nv->n];
	memset(d, 0, sizeof(*d));
	memset(g, 0, sizeof(*g));
	nv->n++;
	g->h = h;
	g->mig = parent >= 0;
	d->kind = DEV_GPU;
	d->index = index;
	d->parent = parent;
	d->counted = parent < 0;
	d->simulated = nv->api.simulated;
	identify(nv, g, d);
	probe_channels(nv, g, d);
	if (!g->mig)
		nvml_knob_probe(nv, nv->n - 1);
	return ST_OK;
}

/* The instances of a GPU in MIG mode: they share its sensor, so only the parent is counted. */
static enum status add_migs(struct nvml *nv, nvml_device h, int parent)
{
	uint32_t current = 0, pending = 0, max = 0;
	enum status st = ST_OK;

	if (NVML_CALL(&nv->api, mig_mode, h, &current, &pending) != NVML_SUCCESS || !current)
		return ST_OK;
	if (NVML_CALL(&nv->api, mig_max, h, &max) != NVML_SUCCESS)
		return ST_OK;
	for (uint32_t i = 0; i < max && i < 64 && st == ST_OK; i++) {
		nvml_device child = NULL;

		if (NVML_CALL(&nv->api, mig_by_index, h, i, &child) == NVML_SUCCESS && child)
			st = add_gpu(nv, child, (int)i, parent);
	}
	return st;
}

static enum status list(struct nvml *nv, struct err *e)
{
	uint32_t n = 0;
	int ret = NVML_CALL(&nv->api, count, &n);

	if (ret != NVML_SUCCESS)
		return err_set(e, nvml_status(ret), "NVML cannot count the GPUs: %s",
			nvml_text(&nv->api, ret));
	if (n == 0)
		hw_note(nv->env.notes, "NVIDIA GPUs", "the driver is loaded but sees no GPU",
			"check that the job was given GPUs (CUDA_VISIBLE_DEVICES does not hide "
			"them "
			"from NVML; a container or a device cgroup does)");
	for (uint32_t i = 0; i < n && i < MAX_GPUS; i++) {
		nvml_device h = NULL;
		size_t parent = nv->n;
		char why[192];

		ret = NVML_CALL(&nv->api, by_index, i, &h);
		if (ret != NVML_SUCCESS || !h) {
			snprintf(why, sizeof(why), "GPU %u does not answer: %s", i,
				nvml_text(&nv->api, ret));
			hw_note(nv->env.notes, "an NVIDIA GPU", why,
				nvml_status(ret) == ST_NO_PERMISSION
					? "give this user access to its /dev/nvidia* device"
					: "reset the GPU or restart the machine");
			continue;
		}
		if (add_gpu(nv, h, (int)i, -1) != ST_OK || add_migs(nv, h, (int)parent) != ST_OK)
			return err_set(e, ST_NOMEM, "no memory for the list of GPUs");
	}
	return ST_OK;
}

static void nvml_close(void *self)
{
	struct nvml *nv = self;

	for (size_t i = 0; i < nv->n; i++) {
		mem_free(nv->gpus[i].clock_grid);
		mem_free(nv->gpus[i].mem_grid);
	}
	mem_free(nv->devs);
	mem_free(nv->gpus);
	nvml_unload(&nv->api);
	mem_free(nv);
}

static enum status nvml_open(const struct backend_env *env, void **self, struct err *e)
{
	struct nvml *nv;
	enum status st;

	/* A recorded machine has no driver of ours. */
	if (!env->nvml_path && !sysfs_is_real_root(env->root_fd))
		return ST_UNSUPPORTED;
	nv = mem_calloc(1, sizeof(*nv));
	if (!nv)
		return err_set(e, ST_NOMEM, "no memory for the NVML back end");
	nv->env = *env;
	st = nvml_load(&nv->api, env, e);
	if (st == ST_OK)
		st = list(nv, e);
	if (st != ST_OK) {
		nvml_close(nv);
		/* nvml_load has noted why: nothing more to say. */
		return st == ST_NOMEM ? st : ST_UNSUPPORTED;
	}
	*self = nv;
	return ST_OK;
}

static const struct device *nvml_devices(void *self, size_t *n)
{
	struct nvml *nv = self;

	*n = nv->n;
	return nv->devs;
}

const struct backend backend_nvml = {
	.name = "nvml",
	.open = nvml_open,
	.devices = nvml_devices,
	.read = nvml_read,
	.knob_range = nvml_knob_range,
	.knob_get = nvml_knob_get,
	.knob_check = nvml_knob_check,
	.knob_set = nvml_knob_set,
	.close = nvml_close,
};
