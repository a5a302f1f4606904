/* nvml_power.c: power, energy, limits, clocks and what holds them down. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "sim/nvml_core.h"

/* Power and energy belong to the whole device; an instance has none. */
#define DEVICE_ONLY()                                                                              \
	do {                                                                                       \
		if (c.mig >= 0)                                                                    \
			return call_end(&c, NV_NOT_SUPPORTED);                                     \
	} while (0)

EXPORT nv_ret_t nvmlDeviceGetPowerUsage(nv_dev_t dev, unsigned *mw);
EXPORT nv_ret_t nvmlDeviceGetPowerUsage(nv_dev_t dev, unsigned *mw)
{
	int64_t v = 0;
	CALL(DeviceGetPowerUsage, dev);

	DEVICE_ONLY();
	if (!gpu_read_power(&c.d->g, GPU_READ_DEFAULT, &v))
		return call_end(&c, NV_NOT_SUPPORTED);
	ANSWER(mw, v);
}

/* mJ since the driver was loaded. */
static bool read_energy(const struct call *c, unsigned long long *mj)
{
	double uj;

	if (!gpu_read_counter(&c->d->g, &uj))
		return false;
	uj += c->d->counter_offset_uj;
	if (c->cfg->counter_wrap_uj > 0)
		uj = fmod(uj, (double)c->cfg->counter_wrap_uj);
	*mj = (unsigned long long)(uj / 1000);
	return true;
}

EXPORT nv_ret_t nvmlDeviceGetTotalEnergyConsumption(nv_dev_t dev, unsigned long long *mj);
EXPORT nv_ret_t nvmlDeviceGetTotalEnergyConsumption(nv_dev_t dev, unsigned long long *mj)
{
	unsigned long long v = 0;
	CALL(DeviceGetTotalEnergyConsumption, dev);

	DEVICE_ONLY();
	if (!read_energy(&c, &v))
		return call_end(&c, NV_NOT_SUPPORTED);
	ANSWER(mj, v);
}

EXPORT nv_ret_t nvmlDeviceGetPowerManagementMode(nv_dev_t dev, unsigned *mode);
EXPORT nv_ret_t nvmlDeviceGetPowerManagementMode(nv_dev_t dev, unsigned *mode)
{
	CALL(DeviceGetPowerManagementMode, dev);
	DEVICE_ONLY();
	ANSWER(mode, 1);
}

EXPORT nv_ret_t nvmlDeviceGetPowerManagementLimit(nv_dev_t dev, unsigned *mw);
EXPORT nv_ret_t nvmlDeviceGetPowerManagementLimit(nv_dev_t dev, unsigned *mw)
{
	CALL(DeviceGetPowerManagementLimit, dev);
	DEVICE_ONLY();
	ANSWER(mw, c.d->g.limit_mw);
}

EXPORT nv_ret_t nvmlDeviceGetEnforcedPowerLimit(nv_dev_t dev, unsigned *mw);
EXPORT nv_ret_t nvmlDeviceGetEnforcedPowerLimit(nv_dev_t dev, unsigned *mw)
{
	CALL(DeviceGetEnforcedPowerLimit, dev);
	DEVICE_ONLY();
	ANSWER(mw, gpu_limit(&c.d->g));
}

EXPORT nv_ret_t nvmlDeviceGetPowerManagementDefaultLimit(nv_dev_t dev, unsigned *mw);
EXPORT nv_ret_t nvmlDeviceGetPowerManagementDefaultLimit(nv_dev_t dev, unsigned *mw)
{
	CALL(DeviceGetPowerManagementDefaultLimit, dev);
	DEVICE_ONLY();
	ANSWER(mw, c.cfg->prof.limit_def_mw);
}

EXPORT nv_ret_t nvmlDeviceGetPowerManagementLimitConstraints(
	nv_dev_t dev, unsigned *min, unsigned *max);
EXPORT nv_ret_t nvmlDeviceGetPowerManagementLimitConstraints(
	nv_dev_t dev, unsigned *min, unsigned *max)
{
	CALL(DeviceGetPowerManagementLimitConstraints, dev);
	DEVICE_ONLY();
	if (!min || !max)
		return call_end(&c, NV_INVALID);
	*min = (unsigned)c.cfg->prof.limit_min_mw;
	*max = (unsigned)c.cfg->prof.limit_max_mw;
	return call_end(&c, NV_OK);
}

static enum status change_limit(
	struct world *w, const struct scenario *s, int gpu, int64_t mw, int64_t unused)
{
	(void)unused;
	return world_set_limit(w, s, gpu, mw);
}

EXPORT nv_ret_t nvmlDeviceSetPowerManagementLimit(nv_dev_t dev, unsigned mw);
EXPORT nv_ret_t nvmlDeviceSetPowerManagementLimit(nv_dev_t dev, unsigned mw)
{
	CALL(DeviceSetPowerManagementLimit, dev);
	return call_change(&c, change_limit, mw, 0);
}

EXPORT nv_ret_t nvmlDeviceGetPerformanceState(nv_dev_t dev, unsigned *state);
EXPORT nv_ret_t nvmlDeviceGetPerformanceState(nv_dev_t dev, unsigned *state)
{
	CALL(DeviceGetPerformanceState, dev);
	ANSWER(state, c.d->g.throttle & GPU_THR_IDLE ? 8 : 0);
}

EXPORT nv_ret_t nvmlDeviceGetPowerState(nv_dev_t dev, unsigned *state);
EXPORT nv_ret_t nvmlDeviceGetPowerState(nv_dev_t dev, unsigned *state)
{
	CALL(DeviceGetPowerState, dev);
	ANSWER(state, c.d->g.throttle & GPU_THR_IDLE ? 8 : 0);
}

/* Throttle reasons */

static unsigned long long throttle_bits(const struct sim_dev *d)
{
	unsigned t = d->g.throttle;

	return (t & GPU_THR_IDLE ? NV_THR_IDLE : 0) | (t & GPU_THR_CLOCK_SET ? NV_THR_APP : 0) |
	       (t & GPU_THR_POWER ? NV_THR_POWER : 0) |
	       (t & GPU_THR_THERMAL_SW ? NV_THR_THERMAL_SW : 0) |
	       (t & GPU_THR_THERMAL_HW ? NV_THR_THERMAL_HW | NV_THR_HW : 0) |
	       (t & GPU_THR_BRAKE ? NV_THR_POWER_BRAKE | NV_THR_HW : 0);
}

EXPORT nv_ret_t nvmlDeviceGetCurrentClocksThrottleReasons(nv_dev_t dev, unsigned long long *bits);
EXPORT nv_ret_t nvmlDeviceGetCurrentClocksThrottleReasons(nv_dev_t dev, unsigned long long *bits)
{
	CALL(DeviceGetCurrentClocksThrottleReasons, dev);
	DEVICE_ONLY();
	ANSWER(bits, throttle_bits(c.d));
}

EXPORT nv_ret_t nvmlDeviceGetSupportedClocksThrottleReasons(nv_dev_t dev, unsigned long long *bits);
EXPORT nv_ret_t nvmlDeviceGetSupportedClocksThrottleReasons(nv_dev_t dev, unsigned long long *bits)
{
	CALL(DeviceGetSupportedClocksThrottleReasons, dev);
	DEVICE_ONLY();
	ANSWER(bits, NV_THR_ALL);
}

/* The new names of the same two (driver 535 and newer). */
EXPORT nv_ret_t nvmlDeviceGetCurrentClocksEventReasons(nv_dev_t dev, unsigned long long *bits);
EXPORT nv_ret_t nvmlDeviceGetCurrentClocksEventReasons(nv_dev_t dev, unsigned long long *bits)
{
	CALL(DeviceGetCurrentClocksEventReasons, dev);
	DEVICE_ONLY();
	ANSWER(bits, throttle_bits(c.d));
}

EXPORT nv_ret_t nvmlDeviceGetSupportedClocksEventReasons(nv_dev_t dev, unsigned long long *bits);
EXPORT nv_ret_t nvmlDeviceGetSupportedClocksEventReasons(nv_dev_t dev, unsigned long long *bits)
{
	CALL(DeviceGetSupportedClocksEventReasons, dev);
	DEVICE_ONLY();
	ANSWER(bits, NV_THR_ALL);
}

static unsigned long long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (unsigned long long)ts.tv_sec * 1000000 + (unsigned long long)ts.tv_nsec / 1000;
}

EXPORT nv_ret_t nvmlDeviceGetViolationStatus(nv_dev_t dev, unsigned policy, struct nv_violation *v);
EXPORT nv_ret_t nvmlDeviceGetViolationStatus(nv_dev_t dev, unsigned policy, struct nv_violation *v)
{
	const struct gpu_state *g;
	double ns;
	CALL(DeviceGetViolationStatus, dev);

	DEVICE_ONLY();
	if (!v)
		return call_end(&c, NV_INVALID);
	g = &c.d->g;
	switch (policy) {
	case 0: /* power */
		ns = g->viol_power_ns;
		break;
	case 1: /* thermal */
		ns = g->viol_thermal_ns;
		break;
	case 3: /* board limit */
		ns = g->viol_hw_ns;
		break;
	case 2: /* sync boost */
	case 4: /* low utilisation */
	case 5: /* reliability */
		ns = 0;
		break;
	default:
		return call_end(&c, NV_NOT_SUPPORTED);
	}
	v->reference_us = now_us();
	v->violation_ns = c.has_value ? c.value : (unsigned long long)ns;
	return call_end(&c, NV_OK);
}

/* One field of nvmlDeviceGetFieldValues; NV_NOT_SUPPORTED for what this generation lacks. */
static nv_ret_t read_field(const struct call *c, struct nv_field *f)
{
	const struct gpu_state *g = &c->d->g;
	int64_t mw = 0;

	f->type = NV_ULL;
	/* Scopes other than the device itself (whole module, memory) came with later generations.
	 */
	if (f->scope != 0 && f->id >= NV_FI_POWER_AVERAGE && f->id <= NV_FI_LIMIT_REQUESTED)
		return NV_NOT_SUPPORTED;
	switch (f->id) {
	case NV_FI_POLICY_POWER:
		f->v.ull = (unsigned long long)g->viol_power_ns;
		return NV_OK;
	case NV_FI_POLICY_THERMAL:
	case NV_FI_EVENT_THERMAL_SW:
		f->v.ull = (unsigned long long)g->viol_thermal_ns;
		return NV_OK;
	case NV_FI_POLICY_BOARD:
	case NV_FI_EVENT_BRAKE:
		f->v.ull = (unsigned long long)g->viol_hw_ns;
		return NV_OK;
	case NV_FI_POLICY_SYNC:
	case NV_FI_POLICY_LOW_UTIL:
	case NV_FI_POLICY_RELIABILITY:
	case NV_FI_POLICY_APP:
	case NV_FI_POLICY_BASE:
	case NV_FI_EVENT_THERMAL_HW:
		f->v.ull = 0;
		return NV_OK;
	case NV_FI_MEMORY_TEMP:
		f->type = NV_UINT;
		f->v.ui = (unsigned)(g->temp_c + 5);
		return NV_OK;
	case NV_FI_ENERGY:
		return read_energy(c, &f->v.ull) ? NV_OK : NV_NOT_SUPPORTED;
	case NV_FI_POWER_AVERAGE:
		f->type = NV_UINT;
		if (!gpu_read_power(g, GPU_READ_AVERAGE, &mw))
			return NV_NOT_SUPPORTED;
		break;
	case NV_FI_POWER_INSTANT:
		f->type = NV_UINT;
		/* The pair came with the 1 s average; Volta has neither. */
		if (c->cfg->prof.cc_major < 8 || !gpu_read_power(g, GPU_READ_INSTANT, &mw))
			return NV_NOT_SUPPORTED;
		break;
	case NV_FI_LIMIT_MIN:
		f->type = NV_UINT;
		mw = c->cfg->prof.limit_min_mw;
		break;
	case NV_FI_LIMIT_MAX:
		f->type = NV_UINT;
		mw = c->cfg->prof.limit_max_mw;
		break;
	case NV_FI_LIMIT_DEFAULT:
		f->type = NV_UINT;
		mw = c->cfg->prof.limit_def_mw;
		break;
	case NV_FI_LIMIT_CURRENT:
		f->type = NV_UINT;
		mw = gpu_limit(g);
		break;
	case NV_FI_LIMIT_REQUESTED:
		f->type = NV_UINT;
		mw = g->limit_mw;
		break;
	default:
		return NV_NOT_SUPPORTED;
	}
	f->v.ui = (unsigned)mw;
	return NV_OK;
}

EXPORT nv_ret_t nvmlDeviceGetFieldValues(nv_dev_t dev, int count, struct nv_field *fields);
EXPORT nv_ret_t nvmlDeviceGetFieldValues(nv_dev_t dev, int count, struct nv_field *fields)
{
	CALL(DeviceGetFieldValues, dev);
	DEVICE_ONLY();
	if (count < 1 || !fields)
		return call_end(&c, NV_INVALID);
	for (int i = 0; i < count; i++) {
		struct nv_field *f = &fields[i];
		unsigned long long value = 0;
		nv_ret_t ret;

		f->time_us = (long long)now_us();
		f->latency_us = 1;
		f->v.ull = 0;
		f->ret = read_field(&c, f);
		if (call_field_fault(&c, (int)f->id, &ret, &value)) {
			f->ret = ret;
			f->v.ull = value;
		}
	}
	return call_end(&c, NV_OK);
}

/* Never filled by this library: clients must live without samples. */
EXPORT nv_ret_t nvmlDeviceGetSamples(nv_dev_t dev, unsigned type, unsigned long long since,
	unsigned *value_type, unsigned *count, void *samples);
EXPORT nv_ret_t nvmlDeviceGetSamples(nv_dev_t dev, unsigned type, unsigned long long since,
	unsigned *value_type, unsigned *count, void *samples)
{
	(void)type;
	(void)since;
	(void)value_type;
	(void)count;
	(void)samples;
	CALL(DeviceGetSamples, dev);
	return call_end(&c, NV_NOT_SUPPORTED);
}
