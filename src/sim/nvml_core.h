/* nvml_core.h: what the files of the look-alike share: the world, handles, and the life of a call.
 *
 * Every entry point is CALL(fn, dev) … return call_end(&c, code). call_begin counts the call, acts
 * out the scenario's faults (sleep, hang, error), and holds this process's copy of the world;
 * call_end lets it go. Thread-safe like the real library.
 */
#ifndef WATTLAW_SIM_NVML_CORE_H
#define WATTLAW_SIM_NVML_CORE_H

#include <stdbool.h>

#include "sim/nvml_abi.h"
#include "sim/world.h"

struct nv_handle {
	int gpu;
	int mig; /* instance number, -1 = the device itself */
};

struct call {
	struct world_map *map;
	const struct world *w; /* carried to now */
	const struct scenario *scn;
	const struct sim_dev *d; /* NULL for calls of the host */
	const struct sim_gpu_cfg *cfg;
	int gpu, mig;
	bool has_value; /* the scenario says what the answer is */
	unsigned long long value;
};

/* NV_OK with the world held, or the code to return. need_device: a bad handle is an error. */
nv_ret_t call_begin(struct call *c, enum nvml_call fn, nv_dev_t dev, bool need_device);
nv_ret_t call_end(struct call *c, nv_ret_t ret);
/* A fault scripted for a field of this device: true with *ret, or *value when *ret is NV_OK. */
bool call_field_fault(const struct call *c, int field, nv_ret_t *ret, unsigned long long *value);
/* May this process change knobs? */
bool call_may_set(const struct call *c);
/* Change the shared world with f under its lock. The call's copy is let go first. */
nv_ret_t call_change(struct call *c,
	enum status (*f)(struct world *w, const struct scenario *s, int gpu, int64_t a, int64_t b),
	int64_t a, int64_t b);

nv_dev_t handle_of(int gpu, int mig);

nv_ret_t core_init(void);
nv_ret_t core_shutdown(void);

#define CALL(fn, dev)                                                                              \
	struct call c;                                                                             \
	nv_ret_t begin_ = call_begin(&c, CALL_##fn, dev, true);                                    \
	if (begin_)                                                                                \
	return begin_

#define HOST_CALL(fn)                                                                              \
	struct call c;                                                                             \
	nv_ret_t begin_ = call_begin(&c, CALL_##fn, NULL, false);                                  \
	if (begin_)                                                                                \
	return begin_

/* Answer one number, or what the scenario says instead. */
#define ANSWER(ptr, expr)                                                                          \
	do {                                                                                       \
		if (!(ptr))                                                                        \
			return call_end(&c, NV_INVALID);                                           \
		*(ptr) = c.has_value ? (__typeof__(*(ptr)))c.value : (__typeof__(*(ptr)))(expr);   \
		return call_end(&c, NV_OK);                                                        \
	} while (0)

#endif
