/* hw.h: every device of this host behind one list.
 *
 * Opens the back ends, keeps going when one fails, and remembers why. Device ids are indices into
 * hw_devices() of this instance; keys are what is stored.
 */
#ifndef WATTLAW_HW_HW_H
#define WATTLAW_HW_HW_H

#include "hw/backend.h"

struct hw;

struct hw_missing {
	char what[64], why[192], fix[256];
};

/* Open all back ends (or those named in `only`, comma-separated, NULL = all). Fails only for
 * lack of memory: a machine without any sensor is a machine with an empty list. */
enum status hw_open(const struct backend_env *env, const char *only, struct hw **out, struct err *e);
void hw_close(struct hw *hw);
/* env from the process: root from WATTLAW_ROOT or "/", nvml from WATTLAW_NVML. */
enum status hw_env_default(struct backend_env *env, struct err *e);

size_t hw_n_devices(const struct hw *hw);
const struct device *hw_device(const struct hw *hw, size_t id);
const struct backend *hw_backend(const struct hw *hw, size_t id); /* which back end it belongs to */
/* -1 when there is none. Accepts a key, a unique key prefix, or a PCI address. */
int hw_find(const struct hw *hw, const char *key);
enum status hw_read(struct hw *hw, size_t id, uint64_t channels, struct sample *out);
enum status hw_knob_range(struct hw *hw, size_t id, enum knob k, struct knob_range *out, struct err *e);
enum status hw_knob_get(struct hw *hw, size_t id, enum knob k, struct knob_val *out, struct err *e);
/* What could not be opened, for probe and for warnings. */
size_t hw_n_missing(const struct hw *hw);
const struct hw_missing *hw_missing(const struct hw *hw, size_t i);
/* The devices of one back end, so that the keeper can give each back end its own thread. */
size_t hw_n_backends(const struct hw *hw);
void hw_backend_devices(const struct hw *hw, size_t backend, size_t *first, size_t *n);

#endif
