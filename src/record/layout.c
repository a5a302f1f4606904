#include "record/layout.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "record/record.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* Every enum of a record is read and written as an int. */
_Static_assert(sizeof(enum run_state) == sizeof(int), "enums are ints");

#define AT(s, m) .name = #m, .off = offsetof(struct s, m)
#define STR(s, m)                                                                                  \
	{                                                                                          \
		.type = FIELD_STR, AT(s, m)                                                        \
	}
#define QTYF(s, m)                                                                                 \
	{                                                                                          \
		.type = FIELD_QTY, AT(s, m)                                                        \
	}
#define I64(s, m)                                                                                  \
	{                                                                                          \
		.type = FIELD_I64, AT(s, m)                                                        \
	}
#define INT(s, m, min, max)                                                                        \
	{                                                                                          \
		.type = FIELD_INT, AT(s, m), .lo = (min), .hi = (max)                              \
	}
#define ENUM(s, m, count, w)                                                                       \
	{                                                                                          \
		.type = FIELD_INT, AT(s, m), .hi = (count)-1, .word = (w)                          \
	}
#define BOOL(s, m)                                                                                 \
	{                                                                                          \
		.type = FIELD_BOOL, AT(s, m)                                                       \
	}
#define F64(s, m)                                                                                  \
	{                                                                                          \
		.type = FIELD_F64, AT(s, m)                                                        \
	}
#define TEXT(s, m, size)                                                                           \
	{                                                                                          \
		.type = FIELD_TEXT, AT(s, m), .hi = (size)                                         \
	}
#define STRS(s, m, nm, max)                                                                        \
	{                                                                                          \
		.type = FIELD_STRS, AT(s, m), .n_off = offsetof(struct s, nm), .hi = (max)         \
	}
#define ONE(s, m, l)                                                                               \
	{                                                                                          \
		.type = FIELD_ONE, AT(s, m), .sub = &(l)                                           \
	}
#define MANY(s, m, nm, l, max)                                                                     \
	{                                                                                          \
		.type = FIELD_MANY, AT(s, m), .n_off = offsetof(struct s, nm), .hi = (max),        \
		.sub = &(l)                                                                        \
	}
#define LAYOUT(name, s, min)                                                                       \
	const struct layout layout_##name = {                                                      \
		sizeof(struct s), (min), name##_fields, COUNT_OF(name##_fields)}

static const char *word_unit(int v)
{
	return unit_name((enum unit)v);
}

static const char *word_kind(int v)
{
	return dev_kind_name((enum dev_kind)v);
}

static const char *word_method(int v)
{
	return energy_method_name((enum energy_method)v);
}

static const char *word_state(int v)
{
	return run_state_name((enum run_state)v);
}

static const char *word_status(int v)
{
	return status_name((enum status)v);
}

static const struct field axis_fields[] = {
	STR(axis_val, name),
	STR(axis_val, text),
	ENUM(axis_val, unit, UNIT_COUNT, word_unit),
	QTYF(axis_val, value),
};
LAYOUT(axis, axis_val, 13);

static const struct field knob_fields[] = {
	STR(knob_rec, name),
	ENUM(knob_rec, unit, UNIT_COUNT, word_unit),
	QTYF(knob_rec, found),
	QTYF(knob_rec, requested),
	QTYF(knob_rec, enforced),
};
LAYOUT(knob, knob_rec, 11);

static const struct field dev_fields[] = {
	STR(dev_rec, host),
	STR(dev_rec, key),
	STR(dev_rec, name),
	ENUM(dev_rec, kind, DEV_KIND_COUNT, word_kind),
	STR(dev_rec, parent),
	BOOL(dev_rec, counted),
	QTYF(dev_rec, energy_uj),
	QTYF(dev_rec, energy_counter_uj),
	QTYF(dev_rec, energy_integral_uj),
	QTYF(dev_rec, net_uj),
	QTYF(dev_rec, idle_mw),
	ENUM(dev_rec, method, ENERGY_METHOD_COUNT, word_method),
	QTYF(dev_rec, resolution_ppm),
	QTYF(dev_rec, coverage_ppm),
	QTYF(dev_rec, refresh_ns),
	QTYF(dev_rec, window_ns),
	QTYF(dev_rec, mean_mw),
	QTYF(dev_rec, p95_mw),
	QTYF(dev_rec, max_mw),
	QTYF(dev_rec, clock_khz),
	QTYF(dev_rec, mem_clock_khz),
	QTYF(dev_rec, util_ppm),
	QTYF(dev_rec, mem_util_ppm),
	QTYF(dev_rec, mem_used_max_bytes),
	QTYF(dev_rec, temp_start_mdegc),
	QTYF(dev_rec, temp_end_mdegc),
	QTYF(dev_rec, temp_max_mdegc),
	QTYF(dev_rec, throttle_power_cap_ppm),
	QTYF(dev_rec, throttle_thermal_ppm),
	QTYF(dev_rec, throttle_hw_ppm),
	QTYF(dev_rec, throttle_other_ppm),
	MANY(dev_rec, knobs, n_knobs, layout_knob, 64),
	ENUM(dev_rec, st, ST_COUNT, word_status),
	STR(dev_rec, note),
};
LAYOUT(dev, dev_rec, 32);

static const struct field phase_fields[] = {
	STR(phase_rec, name),
	I64(phase_rec, start_ns),
	I64(phase_rec, end_ns),
	QTYF(phase_rec, energy_uj),
	I64(phase_rec, steps),
	I64(phase_rec, samples),
};
LAYOUT(phase, phase_rec, 37);

static const struct field train_fields[] = {
	INT(train_rec, n_ranks, 0, INT_MAX),
	BOOL(train_rec, from_marks),
	QTYF(train_rec, steps),
	QTYF(train_rec, samples),
	QTYF(train_rec, epochs),
	QTYF(train_rec, window_ns),
	QTYF(train_rec, window_steps),
	QTYF(train_rec, window_samples),
	QTYF(train_rec, step_p10_ns),
	QTYF(train_rec, step_median_ns),
	QTYF(train_rec, step_p90_ns),
	QTYF(train_rec, step_mean_ns),
	QTYF(train_rec, step_sd_ns),
	QTYF(train_rec, batch_per_rank),
	QTYF(train_rec, global_batch),
	QTYF(train_rec, gradient_bytes),
	BOOL(train_rec, has_loss),
	F64(train_rec, loss_first),
	F64(train_rec, loss_last),
	BOOL(train_rec, steady),
};
LAYOUT(train, train_rec, 32);

static const struct field sample_fields[] = {
	INT(sample_rec, dev, 0, INT_MAX),
	INT(sample_rec, channel, 0, INT_MAX),
	I64(sample_rec, t_ns),
	I64(sample_rec, value),
	ENUM(sample_rec, st, ST_COUNT, word_status),
};
LAYOUT(sample, sample_rec, 28);

static const struct field mark_fields[] = {
	INT(mark_rec, rank, INT_MIN, INT_MAX),
	INT(mark_rec, kind, 0, INT_MAX),
	I64(mark_rec, t_ns),
	F64(mark_rec, value),
	TEXT(mark_rec, text, 24),
};
LAYOUT(mark, mark_rec, 48);

static const struct field run_fields[] = {
	STR(run_rec, run_id),
	STR(run_rec, campaign),
	STR(run_rec, workload),
	STR(run_rec, domain),
	STR(run_rec, task),
	STR(run_rec, host),
	STRS(run_rec, command, n_command, 1 << 20),
	STR(run_rec, version),
	STR(run_rec, options),
	BOOL(run_rec, simulated),
	STR(run_rec, source),
	MANY(run_rec, axes, n_axes, layout_axis, 256),
	INT(run_rec, repeat, 0, INT_MAX),
	INT(run_rec, order, 0, INT_MAX),
	STR(run_rec, launch),
	BOOL(run_rec, baseline),
	ENUM(run_rec, state, RUN_STATE_COUNT, word_state),
	INT(run_rec, exit_code, INT_MIN, INT_MAX),
	I64(run_rec, start_realtime_ns),
	I64(run_rec, start_mono_ns),
	QTYF(run_rec, wall_ns),
	ENUM(run_rec, method, ENERGY_METHOD_COUNT, word_method),
	QTYF(run_rec, energy_uj),
	QTYF(run_rec, net_uj),
	QTYF(run_rec, resolution_ppm),
	QTYF(run_rec, coverage_ppm),
	STR(run_rec, scope),
	STR(run_rec, energy_note),
	BOOL(run_rec, shared_node),
	ONE(run_rec, train, layout_train),
	MANY(run_rec, devs, n_devs, layout_dev, 1 << 16),
	MANY(run_rec, phases, n_phases, layout_phase, 1 << 16),
	MANY(run_rec, samples, n_samples, layout_sample, 1 << 26),
	MANY(run_rec, marks, n_marks, layout_mark, 1 << 26),
	STRS(run_rec, warnings, n_warnings, 1 << 16),
	INT(run_rec, hosts_expected, 0, INT_MAX),
	INT(run_rec, hosts_seen, 0, INT_MAX),
};
LAYOUT(run, run_rec, 64);

void layout_init(const struct layout *l, void *p)
{
	memset(p, 0, l->size);
	for (size_t i = 0; i < l->n; i++) {
		const struct field *f = &l->fields[i];
		char *at = (char *)p + f->off;

		if (f->type == FIELD_QTY)
			*(struct qty *)(void *)at = QTY_NONE(ST_UNKNOWN);
		else if (f->type == FIELD_F64)
			*(double *)(void *)at = NAN;
		else if (f->type == FIELD_ONE)
			layout_init(f->sub, at);
	}
}

static void release_many(const struct layout *sub, char *items, size_t n)
{
	for (size_t i = 0; items && i < n; i++)
		layout_release(sub, items + i * sub->size);
	mem_free(items);
}

void layout_release(const struct layout *l, void *p)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct field *f = &l->fields[i];
		void *at = (char *)p + f->off;
		size_t n = 0;

		if (f->type == FIELD_STRS || f->type == FIELD_MANY)
			n = *(size_t *)(void *)((char *)p + f->n_off);
		switch (f->type) {
		case FIELD_STR:
			mem_free(*(char **)at);
			break;
		case FIELD_STRS:
			for (size_t k = 0; *(char ***)at && k < n; k++)
				mem_free((*(char ***)at)[k]);
			mem_free(*(char ***)at);
			break;
		case FIELD_ONE:
			layout_release(f->sub, at);
			break;
		case FIELD_MANY:
			release_many(f->sub, *(char **)at, n);
			break;
		default:
			break;
		}
	}
}
