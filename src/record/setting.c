/* setting.c: axes of a run as text and as numbers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record/record.h"

bool axis_is_knob(const char *name)
{
	static const char *const knobs[] = {"power_limit", "clock_max", "memory_clock", "cpu_rate"};

	for (size_t i = 0; i < sizeof(knobs) / sizeof(knobs[0]); i++) {
		if (!strcmp(name, knobs[i]))
			return true;
	}
	return false;
}

const char *axis_column(const char *name, enum unit unit, char *buf, size_t size)
{
	static const char *const suffixes[UNIT_COUNT] = {
		[UNIT_POWER] = "_w",
		[UNIT_ENERGY] = "_j",
		[UNIT_FREQ] = "_mhz",
		[UNIT_TIME] = "_s",
		[UNIT_RATIO] = "_pct",
		[UNIT_BYTES] = "_bytes",
		[UNIT_TEMP] = "_c",
	};
	const char *suffix = (unsigned)unit < UNIT_COUNT ? suffixes[unit] : NULL;

	snprintf(buf, size, "%s%s", name, suffix ? suffix : "");
	return buf;
}

double axis_number(const struct axis_val *a)
{
	double v;

	if (a->value.st == ST_OK)
		return unit_to_outside(a->unit, a->value.v);
	return a->unit == UNIT_NONE && a->text && str_to_double(a->text, &v) ? v : NAN;
}

/* "default" stays what it is even once the value behind it is known: a resumed sweep asks for it by
 * that word. */
static void add_value(const struct axis_val *a, struct str *out)
{
	char buf[64];

	if (a->value.st == ST_OK && !(a->text && !strcmp(a->text, "default")))
		str_add(out, unit_format(a->unit, a->value.v, buf, sizeof(buf)));
	else if (a->text)
		str_add(out, a->text);
	else
		str_add(out, "?");
}

void setting_text(const struct axis_val *axes, size_t n, enum setting_part part, struct str *out)
{
	const struct axis_val *last = NULL;
	bool first = true;

	/* Selection by name: a setting has a handful of axes, with different names. */
	for (;;) {
		const struct axis_val *next = NULL;

		for (size_t i = 0; i < n; i++) {
			if (last && strcmp(axes[i].name, last->name) <= 0)
				continue;
			if (!next || strcmp(axes[i].name, next->name) < 0)
				next = &axes[i];
		}
		if (!next)
			return;
		last = next;
		if (part == SETTING_BLOCK && axis_is_knob(next->name))
			continue;
		if (!first)
			str_addc(out, ' ');
		first = false;
		str_addf(out, "%s=", next->name);
		add_value(next, out);
	}
}
