/* units.c: text to integers in a base unit and back, exactly. */
#include "base/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"

struct suffix {
	const char *text;
	int64_t factor; /* base units in one; 0 = a thousandth of the base unit */
	bool print; /* used for output */
};

struct unit_info {
	const char *name;
	const char *article_name; /* for messages: "is not a power" */
	const char *forms; /* examples for messages */
	int64_t bare; /* base units in a number without suffix */
	bool negative; /* may be below zero */
	struct suffix suffixes[12];
};

/* clang-format off */
static const struct unit_info units[UNIT_COUNT] = {
	[UNIT_NONE] = {"number", "a whole number", "12", 1, true, {{"", 1, true}}},
	[UNIT_POWER] = {"power", "a power", "200W, 0.2kW or 200000mW", 1000, false, {
		{"mW", 1, true}, {"W", 1000, true}, {"kW", 1000000, true}, {"MW", 1000000000, true}}},
	[UNIT_ENERGY] = {"energy", "an energy", "500J, 0.5kJ or 1.2kWh", 1000000, false, {
		{"uJ", 1, true}, {"mJ", 1000, true}, {"J", 1000000, true}, {"kJ", 1000000000, true},
		{"MJ", INT64_C(1000000000000), true}, {"GJ", INT64_C(1000000000000000), true},
		{"mWh", INT64_C(3600000), false}, {"Wh", INT64_C(3600000000), false},
		{"kWh", INT64_C(3600000000000), false}, {"MWh", INT64_C(3600000000000000), false}}},
	[UNIT_FREQ] = {"frequency", "a frequency", "1200MHz, 1.2GHz or 1200000kHz", 1000, false, {
		{"Hz", 0, false}, {"kHz", 1, true}, {"MHz", 1000, true}, {"GHz", 1000000, true}}},
	[UNIT_TIME] = {"time", "a time", "90s, 100ms or 1.5min", NS_PER_S, false, {
		{"ns", 1, true}, {"us", NS_PER_US, true}, {"\xc2\xb5s", NS_PER_US, false},
		{"ms", NS_PER_MS, true}, {"s", NS_PER_S, true}, {"min", 60 * NS_PER_S, true},
		{"h", 3600 * NS_PER_S, true}, {"d", 86400 * NS_PER_S, true}}},
	[UNIT_RATIO] = {"ratio", "a percentage", "5%, 0.5% or 500ppm", 10000, true, {
		{"ppm", 1, true}, {"%", 10000, true}}},
	[UNIT_BYTES] = {"size", "a size", "4096, 64kB or 1.5GiB", 1, false, {
		{"B", 1, true}, {"kB", 1000, true}, {"MB", 1000000, true}, {"GB", 1000000000, true},
		{"TB", INT64_C(1000000000000), true}, {"KiB", 1 << 10, true}, {"MiB", 1 << 20, true},
		{"GiB", 1 << 30, true}, {"TiB", INT64_C(1) << 40, true}}},
	[UNIT_TEMP] = {"temperature", "a temperature", "65degC", 1000, true, {
		{"mdegC", 1, true}, {"degC", 1000, true}, {"C", 1000, false}, {"\xc2\xb0""C", 1000, false}}},
};
/* clang-format on */

static const struct unit_info *info(enum unit u)
{
	return &units[(unsigned)u < UNIT_COUNT ? u : UNIT_NONE];
}

/* A suffix as written, or in other capitals when that fits one only: "mw" could be mW or MW. */
static const struct suffix *suffix_find(const struct unit_info *i, const char *text, size_t n)
{
	const struct suffix *loose = NULL;
	int n_loose = 0;

	for (const struct suffix *s = i->suffixes; s->text; s++) {
		if (strlen(s->text) != n)
			continue;
		if (!memcmp(s->text, text, n))
			return s;
		if (!strncasecmp(s->text, text, n)) {
			loose = s;
			n_loose++;
		}
	}
	return n_loose == 1 ? loose : NULL;
}

/* digits · 10^exp10, as written */
struct decimal {
	bool negative;
	unsigned __int128 digits;
	int exp10;
};

#define DIGITS_MAX 30

/* Read a decimal number; returns the first character after it, or NULL when there is none. Digits
 * after the 30th significant one are dropped. */
static const char *decimal_read(const char *p, struct decimal *d)
{
	bool any = false, fraction = false;
	int significant = 0;

	*d = (struct decimal){false, 0, 0};
	if (*p == '+' || *p == '-')
		d->negative = *p++ == '-';
	for (; (*p >= '0' && *p <= '9') || (*p == '.' && !fraction); p++) {
		if (*p == '.') {
			fraction = true;
			continue;
		}
		any = true;
		if (significant < DIGITS_MAX) {
			d->digits = d->digits * 10 + (unsigned)(*p - '0');
			significant += d->digits != 0;
			d->exp10 -= fraction;
		} else if (!fraction && d->exp10 < 1000) {
			d->exp10++;
		}
	}
	if (!any)
		return NULL;
	if (*p == 'e' || *p == 'E') {
		const char *q = p + 1;
		bool minus = *q == '-';
		int exp = 0;

		q += *q == '+' || *q == '-';
		if (*q < '0' || *q > '9')
			return p; /* the "e" of a suffix */
		for (; *q >= '0' && *q <= '9'; q++)
			if (exp < 10000)
				exp = exp * 10 + (*q - '0');
		d->exp10 += minus ? -exp : exp;
		p = q;
	}
	return p;
}

/* Round d · mul / div to an int64; false on overflow, and when a number that is not 0 would
 * become 0. */
static bool decimal_scale(const struct decimal *d, int64_t mul, int64_t div, int64_t *out)
{
	unsigned __int128 v = d->digits, half = 0, unit = (unsigned __int128)div;
	int e = d->exp10;

	if (v == 0) {
		*out = 0;
		return true;
	}
	/* take zeros off first, so that 2000000000000000000000e-20 keeps its room */
	while (v % 10 == 0 && e < 0) {
		v /= 10;
		e++;
	}
	if (__builtin_mul_overflow(v, (unsigned __int128)mul, &v))
		return false;
	for (; e > 0; e--)
		if (__builtin_mul_overflow(v, (unsigned __int128)10, &v))
			return false;
	for (; e < 0; e++)
		if (__builtin_mul_overflow(unit, (unsigned __int128)10, &unit))
			return false;
	half = unit / 2;
	if (v > ~(unsigned __int128)0 - half)
		return false;
	v = (v + half) / unit;
	if (v == 0 || v > (unsigned __int128)INT64_MAX)
		return false;
	*out = d->negative ? -(int64_t)v : (int64_t)v;
	return true;
}

/* The text as given, cut when it is too long for a message. */
static enum status refuse(const struct unit_info *i, const char *text, struct err *e)
{
	return err_set(e, ST_INVALID, "'%.80s%s' is not %s; write it as %s", text,
		strlen(text) > 80 ? "..." : "", i->article_name, i->forms);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

enum status unit_parse(enum unit u, const char *text, int64_t *out, struct err *e)
{
	const struct unit_info *i = info(u);
	int64_t factor = i->bare, div = 1;
	const struct suffix *s;
	struct decimal d;
	const char *p = text, *end;

	while (is_blank(*p))
		p++;
	p = decimal_read(p, &d);
	if (!p)
		return refuse(i, text, e);
	while (is_blank(*p))
		p++;
	end = p + strlen(p);
	while (end > p && is_blank(end[-1]))
		end--;
	if (end > p) {
		s = suffix_find(i, p, (size_t)(end - p));
		if (!s)
			return refuse(i, text, e);
		factor = s->factor;
	}
	if (factor == 0) {
		factor = 1;
		div = 1000;
	}
	if (u == UNIT_NONE && d.digits) {
		/* a plain integer is not rounded: 2.5 workers is a mistake */
		while (d.exp10 < 0 && d.digits % 10 == 0) {
			d.digits /= 10;
			d.exp10++;
		}
		if (d.exp10 < 0)
			return refuse(i, text, e);
	}
	if (d.negative && d.digits && !i->negative)
		return err_set(e, ST_INVALID, "'%.80s' is below zero; %s is not; write it as %s",
			text, i->article_name, i->forms);
	if (!decimal_scale(&d, factor, div, out))
		return err_set(e, ST_RANGE, "'%.80s' is too %s for %s", text,
			d.exp10 < 0 ? "small or too large" : "large", i->article_name);
	return ST_OK;
}

/* value / factor as an exact decimal; false when it does not end within 18 places. */
static bool exact_decimal(
	uint64_t value, uint64_t factor, bool negative, const char *suffix, char *buf, size_t size)
{
	char frac[24];
	uint64_t rest = value % factor;
	size_t n = 0;
	int len;

	while (rest && n < 18) {
		unsigned __int128 t = (unsigned __int128)rest * 10;

		frac[n++] = (char)('0' + (int)(t / factor));
		rest = (uint64_t)(t % factor);
	}
	if (rest)
		return false;
	frac[n] = '\0';
	len = snprintf(buf, size, "%s%llu%s%s%s", negative ? "-" : "",
		(unsigned long long)(value / factor), n ? "." : "", frac, suffix);
	return len > 0 && (size_t)len < size;
}

const char *unit_format(enum unit u, int64_t value, char *buf, size_t size)
{
	const struct unit_info *i = info(u);
	uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	char best[64] = "", text[64];

	for (const struct suffix *s = i->suffixes; s->text; s++) {
		/* nothing is 0 nanoseconds: 0 is written in the usual unit */
		if (!s->print || (value == 0 && s->factor != i->bare))
			continue;
		if (exact_decimal(magnitude, (uint64_t)s->factor, value < 0, s->text, text,
			    sizeof(text)) &&
			(!best[0] || strlen(text) <= strlen(best)))
			memcpy(best, text, sizeof(best));
	}
	if (size)
		snprintf(buf, size, "%s", best);
	return buf;
}

/* The largest suffix of which there is at least one, else the smallest; 0 takes the usual one. */
static const struct suffix *suffix_for(const struct unit_info *i, double magnitude, int digits)
{
	const struct suffix *pick = i->suffixes;

	/* a suffix below the base unit (Hz) is for input only */
	while (!pick->print)
		pick++;
	for (const struct suffix *s = i->suffixes; s->text; s++) {
		/* rounding may carry into the next suffix: 999.96 W in 4 digits is 1.000kW */
		double edge = (double)s->factor * (1.0 - 0.5 * pow(10.0, -digits));

		if (!s->print)
			continue;
		if (magnitude == 0.0 ? s->factor == i->bare
				     : magnitude >= edge && s->factor > pick->factor)
			pick = s;
	}
	return pick;
}

const char *unit_format_short(enum unit u, double value, int digits, char *buf, size_t size)
{
	const struct unit_info *i = info(u);
	const struct suffix *pick;
	double shown, magnitude = fabs(value);
	char sci[64];
	int places;

	if (digits < 1)
		digits = 1;
	if (digits > 17)
		digits = 17;
	if (!isfinite(value)) {
		if (size)
			snprintf(buf, size, "unknown");
		return buf;
	}
	pick = suffix_for(i, magnitude, digits);
	shown = value / (double)pick->factor;
	/* the exponent after rounding, which may have carried */
	snprintf(sci, sizeof(sci), "%.*e", digits - 1, shown);
	places = digits - 1 - (int)strtol(strchr(sci, 'e') + 1, NULL, 10);
	if (shown == 0.0)
		places = 0;
	/* half a byte does not exist; nor do digits of a plain count */
	if (places < 0 || (pick->factor == 1 && (u == UNIT_BYTES || u == UNIT_NONE)))
		places = 0;
	if (places > 12)
		places = 12;
	if (size)
		snprintf(buf, size, "%.*f%s", places, shown, pick->text);
	return buf;
}

const char *unit_name(enum unit u)
{
	return info(u)->name;
}

double unit_to_outside(enum unit u, int64_t value)
{
	return (double)value / (double)info(u)->bare;
}

int64_t unit_from_outside(enum unit u, double value)
{
	double v = round(value * (double)info(u)->bare);

	if (isnan(v))
		return INT64_MIN;
	if (v >= 0x1p63)
		return INT64_MAX;
	if (v <= -0x1p63)
		return INT64_MIN;
	return (int64_t)v;
}
