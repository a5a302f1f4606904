/* rows.h: options that several subcommands have, described once. `at` is the offset in the caller's
 * struct. */
#ifndef WATTLAW_CMD_ROWS_H
#define WATTLAW_CMD_ROWS_H

#include "base/clock.h"
#include "base/opt.h"

#define ROW_DB(at)                                                                                 \
	{                                                                                          \
		.type = OPT_TEXT, .name = "db", .offset = (at), .arg = "FILE",                     \
		.help = "the store; default: WATTLAW_DB, else wattlaw.db"                          \
	}

/* What is measured, and how often: for strings, strings and int64_t of ns. */
#define ROW_DEVICES(at)                                                                            \
	{                                                                                          \
		.type = OPT_TEXT, .name = "devices", .offset = (at), .arg = "LIST",                \
		.help = "all, none, gpu, cpu, or keys; default: those the job may use"             \
	}
#define ROW_SENSORS(at)                                                                            \
	{                                                                                          \
		.type = OPT_TEXT, .name = "sensors", .offset = (at), .arg = "LIST",                \
		.help = "back ends to open (nvml, rapl, ...); default: all"                        \
	}
#define ROW_PERIOD(at)                                                                             \
	{                                                                                          \
		.type = OPT_UNIT, .unit = UNIT_TIME, .name = "period", .offset = (at),             \
		.def = "100ms", .min = NS_PER_MS, .max = 60 * NS_PER_S, .arg = "TIME",             \
		.help = "time between samples"                                                     \
	}

#define ROW_NVML(at)                                                                               \
	{                                                                                          \
		.type = OPT_TEXT, .name = "nvml", .offset = (at), .arg = "FILE",                   \
		.help = "NVIDIA's management library, or one that simulates it",                   \
		.flags = OPT_NO_CWD                                                                \
	}

/* Which of the runs in the store. */
#define ROW_WORKLOAD(at)                                                                           \
	{                                                                                          \
		.type = OPT_TEXT, .short_name = 'w', .name = "workload", .offset = (at),           \
		.arg = "NAME", .help = "only this workload", .flags = OPT_NO_CONFIG                \
	}
#define ROW_AXES(at)                                                                               \
	{                                                                                          \
		.type = OPT_TEXT, .name = "at", .offset = (at), .arg = "AXES",                     \
		.help = "only runs with these other axes: \"batch=32 gpu=V100\"",                  \
		.flags = OPT_NO_CONFIG                                                             \
	}

#endif
