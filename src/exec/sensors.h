/* sensors.h: the keeper's reading side: every back end opened, selected, sampled.
 *
 * Opening runs in a thread of its own, because a driver may take seconds or for ever; the keeper
 * looks whether it is done. Then there is one sampler per back end. A thread that does not return
 * is abandoned; the process must then leave with _exit. Used from the keeper's main thread.
 */
#ifndef WATTLAW_EXEC_SENSORS_H
#define WATTLAW_EXEC_SENSORS_H

#include "hw/hw.h"
#include "measure/record_build.h"

struct sensors;

/* devices: --devices or NULL; only: back ends or NULL; run_id: whose CPU groups are looked at. The
 * texts are copied. */
enum status sensors_start(const char *devices, const char *only, const char *run_id,
	int64_t period_ns, struct sensors **out, struct err *e);
/* Is the opening over? */
bool sensors_opened(const struct sensors *s);
/* Was a library loaded that simulates? Known even when it hangs before it tells a device. */
bool sensors_simulated(const struct sensors *s);
/* Once, after sensors_opened: tell the builder about the devices (first_dev: the index of the first
 * in it) and start the samplers. Adds a line to warn for everything a person should know. */
enum status sensors_begin(
	struct sensors *s, struct build *b, size_t first_dev, struct str *warn, struct err *e);
/* Selected devices that tell energy or power; 0 before sensors_begin. */
size_t sensors_n_on(const struct sensors *s);
/* Has each of them a counter, so that none is known by its power alone? */
bool sensors_all_count(const struct sensors *s);
/* The devices, in hw order (NULL before sensors_begin), and whether device i is selected. */
const struct hw *sensors_hw(const struct sensors *s);
bool sensors_on(const struct sensors *s, size_t i);
/* What knob k of device i stood at when it was opened; unknown before sensors_begin. */
struct knob_val sensors_found(const struct sensors *s, size_t i, enum knob k);
/* Why nothing can be measured, as far as the back ends said: for a record without energy. */
void sensors_why(const struct sensors *s, struct str *out);
/* Hand every new sample to fn (device numbers shifted to the builder's). */
void sensors_drain(
	struct sensors *s, void (*fn)(void *arg, const struct tagged_sample *ts), void *arg);
void sensors_kick(struct sensors *s);
/* The job's root process: its CPU time, memory and I/O are sampled too. */
void sensors_job(struct sensors *s, int64_t pid);
/* Has every sampler that is not stuck finished a tick after t_ns? */
bool sensors_fresh(const struct sensors *s, int64_t t_ns);
/* Name of a back end whose driver has not answered for longer than age_ns, or NULL. */
const char *sensors_stuck(const struct sensors *s, int64_t now_ns, int64_t age_ns);
/* Other ranks of this job may count the devices from now on (once.h). Before a keeper leaves
 * without sensors_stop. */
void sensors_unclaim(struct sensors *s);
/* Returns how many threads had to be abandoned. */
size_t sensors_stop(struct sensors *s);

#endif
