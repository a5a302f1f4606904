/* profile.h: devices and workloads of the simulator, as data.
 *
 * Profiles are INI files built into the program (src/sim/profiles); a path may be given wherever a
 * name is accepted. A workload holds one load for each device it was measured on; on any
 * other device it is carried over by throughput and memory bandwidth, and marked estimated.
 */
#ifndef WATTLAW_SIM_PROFILE_H
#define WATTLAW_SIM_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ini.h"
#include "base/status.h"
#include "base/str.h"
#include "base/units.h"
#include "sim/gpu.h"

/* Made by profiles/table.py; ended by a NULL name. */
struct embed {
	const char *name, *text;
	size_t size;
};

#define WORKLOAD_LOADS 8

struct workload {
	char name[48], domain[24], task[32];
	char source[160]; /* of the figures, for a person */
	bool estimated; /* from counted operations, not from measured runs */
	int64_t batch; /* samples a step on one device */
	int64_t gradient_bytes; /* all-reduced in a step */
	double loader_s; /* a node's loader needs this for a sample, whatever its GPUs do; 0 = never
			  * the limit */
	double noise; /* of the step time from run to run, relative standard deviation */
	int n_loads;
	struct {
		char device[32];
		struct gpu_load load;
	} loads[WORKLOAD_LOADS];
};

/* name: a built-in ("v100-pcie-32gb", or a unique beginning: "v100") or the path of a file that
 * holds a '/' or ends in ".ini". Unknown names give ST_NOT_FOUND with the nearest one and the list.
 */
enum status profile_gpu(const char *name, struct gpu_profile *out, struct err *e);
enum status profile_workload(const char *name, struct workload *out, struct err *e);

/* The same from text; file is used in messages. */
enum status profile_gpu_text(
	const char *file, const char *text, size_t len, struct gpu_profile *out, struct err *e);
enum status profile_workload_text(
	const char *file, const char *text, size_t len, struct workload *out, struct err *e);

/* Names of the built-ins, one a line. */
void profile_list(struct str *out, bool workloads);

/* The load of that workload on that device. *estimated (may be NULL) says that it was carried over
 * from another device or never measured. */
void workload_load(const struct workload *w, const struct gpu_profile *p, struct gpu_load *out,
	bool *estimated);

/* Write a workload as a profile file that profile_workload_text reads back. */
void workload_format(struct str *out, const struct workload *w);

#endif
