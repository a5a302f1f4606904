/* nvml_core.c: start, stop, handles and faults of the NVML look-alike. */
#include "sim/nvml_core.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One library per process, reference-counted like the real one. A world stays mapped after the
 * last shutdown, so that a call still running in another thread keeps its ground. */
static pthread_mutex_t core_lock = PTHREAD_MUTEX_INITIALIZER;
static struct world_map *_Atomic core_map;
static char core_path[4096];
static atomic_int core_users;
static struct nv_handle handles[SIM_GPUS][SIM_MIG + 1];

/* Who loads this library can tell that its devices are simulated, whatever else they look like. */
EXPORT extern const int wl_sim_marker;
EXPORT const int wl_sim_marker = 1;

nv_dev_t handle_of(int gpu, int mig)
{
	struct nv_handle *h = &handles[gpu][mig + 1];

	h->gpu = gpu;
	h->mig = mig;
	return h;
}

static bool handle_valid(nv_dev_t dev)
{
	uintptr_t p = (uintptr_t)dev, base = (uintptr_t)handles;

	return p >= base && p < base + sizeof(handles) && (p - base) % sizeof(handles[0][0]) == 0;
}

static nv_ret_t open_world(void)
{
	const char *path = getenv("WATTLAW_SIM_STATE");
	struct world_map *m;

	if (!path || !*path || strlen(path) >= sizeof(core_path))
		return NV_NO_DRIVER;
	if (core_map && !strcmp(path, core_path))
		return NV_OK;
	if (world_open(path, &m, NULL))
		return NV_NO_DRIVER;
	strcpy(core_path, path);
	atomic_store(&core_map, m); /* a former world is left mapped on purpose, see above */
	return NV_OK;
}

nv_ret_t core_init(void)
{
	struct call c;
	nv_ret_t ret;

	pthread_mutex_lock(&core_lock);
	ret = open_world();
	if (!ret)
		atomic_fetch_add(&core_users, 1);
	pthread_mutex_unlock(&core_lock);
	if (ret)
		return ret;
	/* Faults of nvmlInit come after there is a world to ask. */
	ret = call_begin(&c, CALL_Init, NULL, false);
	if (!ret)
		return call_end(&c, NV_OK);
	atomic_fetch_sub(&core_users, 1);
	return ret;
}

nv_ret_t core_shutdown(void)
{
	HOST_CALL(Shutdown);
	atomic_fetch_sub(&core_users, 1);
	return call_end(&c, NV_OK);
}

static void sleep_ns(int64_t ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};

	while (nanosleep(&ts, &ts))
		;
}

/* Process lists hold a lock of the driver for milliseconds (4.5 ms reported): a client that asks
 * for them while it measures shall notice. */
static int64_t inherent_delay(enum nvml_call fn)
{
	switch (fn) {
	case CALL_DeviceGetComputeRunningProcesses:
	case CALL_DeviceGetGraphicsRunningProcesses:
	case CALL_DeviceGetMPSComputeRunningProcesses:
	case CALL_DeviceGetProcessUtilization:
		return 5000000;
	default:
		return 0;
	}
}

static bool fault_applies(const struct sim_fault *f, int gpu, int64_t since, uint32_t nth)
{
	if (f->gpu >= 0 && f->gpu != gpu)
		return false;
	return since >= f->from_ns && since < f->to_ns && (f->nth == 0 || f->nth == nth);
}

/* Act out what the scenario says about this call; the world is not held meanwhile. */
static nv_ret_t act_faults(struct call *c, enum nvml_call fn, uint32_t nth)
{
	const struct scenario *s = c->scn;
	struct timespec ts;
	int64_t since;
	nv_ret_t ret = NV_OK;

	if (!s->n_faults)
		return NV_OK;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	since = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec - world_start_ns(c->map);
	for (int i = 0; i < s->n_faults; i++) {
		const struct sim_fault *f = &s->fault[i];

		if (f->call != (int32_t)fn || !fault_applies(f, c->gpu, since, nth))
			continue;
		switch (f->kind) {
		case FAULT_HANG:
			for (;;)
				pause();
		case FAULT_SLOW:
			sleep_ns(f->value);
			break;
		case FAULT_VALUE:
			c->has_value = true;
			c->value = (unsigned long long)f->value;
			break;
		default:
			ret = f->code;
		}
	}
	return ret;
}

static bool is_identity(enum nvml_call fn)
{
	/* What the library still knows of a device that fell off the bus. */
	return fn == CALL_DeviceGetIndex || fn == CALL_DeviceGetHandleByIndex;
}

nv_ret_t call_begin(struct call *c, enum nvml_call fn, nv_dev_t dev, bool need_device)
{
	int64_t delay = inherent_delay(fn);
	uint32_t nth;
	nv_ret_t ret;

	memset(c, 0, sizeof(*c));
	c->gpu = c->mig = -1;
	c->map = atomic_load(&core_map);
	if (!c->map || atomic_load(&core_users) <= 0)
		return NV_UNINITIALIZED;
	c->scn = world_scenario(c->map);
	nth = world_count_call(c->map, fn);
	if (need_device) {
		if (!handle_valid(dev) || dev->gpu < 0 || dev->gpu >= c->scn->n_gpus)
			return NV_INVALID;
		c->gpu = dev->gpu;
		c->mig = dev->mig;
		c->cfg = &c->scn->gpu[c->gpu];
	}
	ret = act_faults(c, fn, nth);
	if (ret)
		return ret;
	if (delay)
		sleep_ns(delay);
	c->w = world_begin(c->map);
	if (c->gpu >= 0) {
		c->d = &c->w->dev[c->gpu];
		if (c->d->lost && !is_identity(fn))
			return call_end(c, NV_LOST);
	}
	return NV_OK;
}

nv_ret_t call_end(struct call *c, nv_ret_t ret)
{
	world_end(c->map);
	return ret;
}

bool call_field_fault(const struct call *c, int field, nv_ret_t *ret, unsigned long long *value)
{
	int64_t since = c->w->t_ns - world_start_ns(c->map);
	bool found = false;

	for (int i = 0; i < c->scn->n_faults; i++) {
		const struct sim_fault *f = &c->scn->fault[i];

		if (f->call != -1 || f->field != field || !fault_applies(f, c->gpu, since, 0))
			continue;
		found = true;
		*ret = f->kind == FAULT_CODE ? f->code : NV_OK;
		*value = (unsigned long long)f->value;
	}
	return found;
}

bool call_may_set(const struct call *c)
{
	const char *root = getenv("WATTLAW_SIM_ROOT");

	if (c->scn->setters == SETTERS_NOBODY)
		return false;
	if (c->scn->setters == SETTERS_ANYONE)
		return true;
	if (root && *root)
		return !strcmp(root, "1");
	return geteuid() == 0;
}

nv_ret_t call_change(struct call *c,
	enum status (*f)(struct world *w, const struct scenario *s, int gpu, int64_t a, int64_t b),
	int64_t a, int64_t b)
{
	struct world *w;
	enum status st;
	int gpu = c->gpu;
	bool may = call_may_set(c);

	call_end(c, NV_OK);
	if (c->mig >= 0)
		return NV_NOT_SUPPORTED;
	if (!may)
		return NV_NO_PERMISSION;
	if (world_lock(c->map, &w, NULL))
		return NV_UNKNOWN;
	st = f(w, c->scn, gpu, a, b);
	if (st)
		world_abort(c->map);
	else
		world_commit(c->map);
	return st == ST_OK ? NV_OK : st == ST_RANGE ? NV_INVALID : NV_UNKNOWN;
}
