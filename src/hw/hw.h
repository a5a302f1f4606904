/* hw.h: every device of this host behind one list.
 *
 * Opens the back ends, keeps going when one fails, and remembers why. Device ids are indices into
 * hw_devices() of this instance; keys are what is stored.
 */
#ifndef WATTLAW_HW_HW_H
#define WATTLAW_HW_HW_H

#include "hw/backend.h"

struct hw;

/* How long a driver may take to open, answer about a knob or set one before it is given up. A back
 * end that was given up answers ST_TIMEOUT from then on. WATTLAW_DRIVER_TIMEOUT changes it (tests).
 */
#define HW_CALL_TIMEOUT_NS (5 * NS_PER_S)

/* Open all back ends (or those named in `only`, comma-separated, NULL = all). Fails only for
 * lack of memory: a machine without any sensor is a machine with an empty list.
 *
 * Threads: one hw is used by one thread at a time, except that hw_read of different back ends may
 * run in parallel. A keeper that samples and sets at once opens two: one to read, one for control.
 */
enum status hw_open(
	const struct backend_env *env, const char *only, struct hw **out, struct err *e);
void hw_close(struct hw *hw);
/* env from the process: root from WATTLAW_ROOT or "/", nvml from WATTLAW_NVML. */
enum status hw_env_default(struct backend_env *env, struct err *e);

size_t hw_n_devices(const struct hw *hw);
const struct device *hw_device(const struct hw *hw, size_t id);
const struct backend *hw_backend(const struct hw *hw, size_t id); /* which back end it belongs to */
/* -1 when there is none. Accepts a key, a unique key prefix, or a PCI address. */
int hw_find(const struct hw *hw, const char *key);
/* Direct: blocks as long as the driver does. For samplers, which have a thread to lose. */
enum status hw_read(struct hw *hw, size_t id, uint64_t channels, struct sample *out);
/* As hw_read, but gives up after HW_CALL_TIMEOUT_NS. So do all knob calls below. */
enum status hw_read_guarded(struct hw *hw, size_t id, uint64_t channels, struct sample *out);
enum status hw_knob_range(
	struct hw *hw, size_t id, enum knob k, struct knob_range *out, struct err *e);
enum status hw_knob_get(struct hw *hw, size_t id, enum knob k, struct knob_val *out, struct err *e);
/* May this process set it? On refusal e says why and fix (size bytes) how to change that. */
enum status hw_knob_check(
	struct hw *hw, size_t id, enum knob k, struct err *e, char *fix, size_t size);
/* For src/hw/control.c alone. */
enum status hw_knob_set(
	struct hw *hw, size_t id, enum knob k, const struct knob_val *v, struct err *e);
/* Look for devices that appeared (CPU groups of ranks, a job's process). Ids stay; new ones are
 * appended. */
enum status hw_rescan(struct hw *hw, struct err *e);
/* Take a rank's CPU group by its path (struct device.where), whatever run and place it belongs to,
 * into the list: what a journal names must be found from any login session. Its id, or -1. */
int hw_adopt_group(struct hw *hw, const char *where);
/* The job's root process: its CPU time, memory and I/O become the channels of device "job". */
void hw_watch_job(struct hw *hw, int64_t pid);
const struct backend_env *hw_env(const struct hw *hw);
/* What could not be opened, for probe and for warnings. */
size_t hw_n_missing(const struct hw *hw);
const struct hw_missing *hw_missing_at(const struct hw *hw, size_t i);
/* The devices of one back end, so that the keeper can give each back end its own thread. */
size_t hw_n_backends(const struct hw *hw);
void hw_backend_devices(const struct hw *hw, size_t backend, size_t *first, size_t *n);

#endif
