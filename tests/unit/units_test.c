#include "random.h"
#include "tap.h"

#include <stdint.h>

#include "base/clock.h"
#include "base/units.h"

static void reads(enum unit u, const char *text, int64_t want)
{
	struct err e = ERR_INIT;
	int64_t got = -77;
	enum status st = unit_parse(u, text, &got, &e);

	ok(st == ST_OK && got == want, "'%s' is %lld as a %s", text, (long long)want, unit_name(u));
	if (st || got != want)
		printf("# got %lld, %s\n", (long long)got, e.msg);
}

static void refused(enum unit u, const char *text, enum status want)
{
	struct err e = ERR_INIT;
	int64_t got = -77;
	enum status st = unit_parse(u, text, &got, &e);

	ok(st == want && got == -77 && strlen(e.msg) > 10, "'%s' is refused as a %s", text,
		unit_name(u));
	if (st != want || got != -77)
		printf("# got %s %lld, %s\n", status_name(st), (long long)got, e.msg);
}

static void test_parse(void)
{
	reads(UNIT_POWER, "200W", 200000);
	reads(UNIT_POWER, "200", 200000);
	reads(UNIT_POWER, " 0.2 kW ", 200000);
	reads(UNIT_POWER, "200000mW", 200000);
	reads(UNIT_POWER, "40 kW", 40000000);
	reads(UNIT_POWER, "1.5MW", 1500000000);
	reads(UNIT_POWER, "200w", 200000);
	reads(UNIT_POWER, "2e2W", 200000);
	reads(UNIT_POWER, "+.5W", 500);
	reads(UNIT_ENERGY, "1 kWh", INT64_C(3600000000000));
	reads(UNIT_ENERGY, "0.1J", 100000);
	reads(UNIT_FREQ, "1.2 GHz", 1200000);
	reads(UNIT_FREQ, "1380", 1380000);
	reads(UNIT_FREQ, "1500000Hz", 1500);
	reads(UNIT_FREQ, "1380mhz", 1380000);
	reads(UNIT_TIME, "100ms", 100000000);
	reads(UNIT_TIME, "1.5h", INT64_C(5400000000000));
	reads(UNIT_TIME, "10", INT64_C(10000000000));
	reads(UNIT_TIME, "3\xc2\xb5s", 3000);
	reads(UNIT_RATIO, "5%", 50000);
	reads(UNIT_RATIO, "5", 50000);
	reads(UNIT_RATIO, "-5%", -50000);
	reads(UNIT_RATIO, "250ppm", 250);
	reads(UNIT_BYTES, "1.5KiB", 1536);
	reads(UNIT_BYTES, "64kB", 64000);
	reads(UNIT_TEMP, "-3.5degC", -3500);
	reads(UNIT_TEMP, "65", 65000);
	reads(UNIT_NONE, "-12", -12);
	reads(UNIT_NONE, "2.0", 2);
	reads(UNIT_NONE, "9223372036854775807", INT64_MAX);
	reads(UNIT_POWER, "0", 0);
	reads(UNIT_POWER, "0.00000000000000000000000000000000000MW", 0);
}

static void test_refused(void)
{
	refused(UNIT_POWER, "12 parsecs", ST_INVALID);
	refused(UNIT_POWER, "", ST_INVALID);
	refused(UNIT_POWER, "W", ST_INVALID);
	refused(UNIT_POWER, "200mw", ST_INVALID);
	refused(UNIT_POWER, "-200W", ST_INVALID);
	refused(UNIT_POWER, "200W 3", ST_INVALID);
	refused(UNIT_POWER, "1,5W", ST_INVALID);
	refused(UNIT_POWER, "nan", ST_INVALID);
	refused(UNIT_POWER, "inf", ST_INVALID);
	refused(UNIT_POWER, "0x10W", ST_INVALID);
	refused(UNIT_POWER, "200J", ST_INVALID);
	refused(UNIT_ENERGY, "5mj", ST_INVALID);
	refused(UNIT_TIME, "1m", ST_INVALID);
	refused(UNIT_TIME, "1 2s", ST_INVALID);
	refused(UNIT_FREQ, "5%", ST_INVALID);
	refused(UNIT_NONE, "2.5", ST_INVALID);
	refused(UNIT_NONE, "2W", ST_INVALID);
	refused(UNIT_NONE, "9223372036854775808", ST_RANGE);
	refused(UNIT_POWER, "1e30W", ST_RANGE);
	refused(UNIT_POWER, "1e99999999999W", ST_RANGE);
	refused(UNIT_POWER, "1e-30W", ST_RANGE);
	refused(UNIT_TIME, "1e-99999999999s", ST_RANGE);
	refused(UNIT_ENERGY, "99999999999999999999999999999999999999999999999999J", ST_RANGE);
	struct err e = ERR_INIT;
	int64_t v;

	unit_parse(UNIT_POWER, "12 parsecs", &v, &e);
	is_str(e.msg, "'12 parsecs' is not a power; write it as 200W, 0.2kW or 200000mW",
		"the message says which forms are accepted");
	ok(unit_parse(UNIT_POWER, "x", &v, NULL) == ST_INVALID, "an err is not needed");
}

static void test_format(void)
{
	static const struct {
		enum unit u;
		int64_t v;
		const char *want;
	} t[] = {{UNIT_POWER, 200000, "200W"}, {UNIT_POWER, 0, "0W"}, {UNIT_POWER, 500, "0.5W"},
		{UNIT_POWER, 1, "1mW"}, {UNIT_POWER, 40000000, "40kW"},
		{UNIT_FREQ, 1380000, "1.38GHz"}, {UNIT_FREQ, 877000, "877MHz"},
		{UNIT_TIME, 100000000, "0.1s"}, {UNIT_TIME, NS_PER_S * 90, "90s"},
		{UNIT_TIME, NS_PER_S * 3600, "1h"}, {UNIT_RATIO, 50000, "5%"},
		{UNIT_RATIO, -50000, "-5%"}, {UNIT_BYTES, 1 << 20, "1MiB"},
		{UNIT_ENERGY, INT64_C(3600000000), "3.6kJ"}, {UNIT_NONE, -12, "-12"},
		{UNIT_TEMP, 65000, "65degC"}};
	char buf[64];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		is_str(unit_format(t[i].u, t[i].v, buf, sizeof(buf)), t[i].want, t[i].want);
	unit_format(UNIT_NONE, INT64_MIN, buf, sizeof(buf));
	is_str(buf, "-9223372036854775808", "the smallest integer is written right");
	is_str(unit_format(UNIT_POWER, 200000, buf, 3), "20", "a small buffer is never overrun");
}

/* What unit_format writes, unit_parse reads back, for values of every size. */
static void test_round_trip(void)
{
	uint64_t x = 88172645463325252ULL;
	long bad = 0;

	for (int u = 0; u < UNIT_COUNT; u++)
		for (int i = 0; i < 4000; i++) {
			char buf[64];
			int64_t v, back = -1;

			v = (int64_t)((random_bits(&x) & INT64_MAX) >> (i % 63));
			if (i % 4 == 0)
				v = v % 1000000 * 1000; /* round values take the short forms */
			unit_format((enum unit)u, v, buf, sizeof(buf));
			if (unit_parse((enum unit)u, buf, &back, NULL) || back != v) {
				if (!bad++)
					printf("# %s %lld -> '%s' -> %lld\n",
						unit_name((enum unit)u), (long long)v, buf,
						(long long)back);
			}
		}
	is_int(bad, 0, "32,000 values of every unit and size read back exactly");
}

static void test_short(void)
{
	char buf[64];

	is_str(unit_format_short(UNIT_POWER, 1234567.0, 3, buf, sizeof(buf)), "1.23kW", "3 digits");
	is_str(unit_format_short(UNIT_POWER, 199999.0, 3, buf, sizeof(buf)), "200W",
		"rounded, no false places");
	is_str(unit_format_short(UNIT_POWER, 999960.0, 4, buf, sizeof(buf)), "1.000kW",
		"a carry takes the next suffix");
	is_str(unit_format_short(UNIT_TIME, 1.23456e7, 3, buf, sizeof(buf)), "12.3ms",
		"milliseconds");
	is_str(unit_format_short(UNIT_RATIO, -12345.0, 2, buf, sizeof(buf)), "-1.2%", "negative");
	is_str(unit_format_short(UNIT_POWER, 0.0, 3, buf, sizeof(buf)), "0W",
		"zero in the usual unit");
	is_str(unit_format_short(UNIT_POWER, NAN, 3, buf, sizeof(buf)), "unknown",
		"NAN is not a number of watts");
	is_str(unit_format_short(UNIT_BYTES, 17.0, 4, buf, sizeof(buf)), "17B",
		"no fractions of a byte");
	is_str(unit_format_short(UNIT_ENERGY, 0.25, 2, buf, sizeof(buf)), "0.25uJ",
		"below the base unit");
}

static void test_outside(void)
{
	is_near(unit_to_outside(UNIT_POWER, 200500), 200.5, 0, "mW to W");
	is_near(unit_to_outside(UNIT_TIME, 1500000000), 1.5, 0, "ns to s");
	is_near(unit_to_outside(UNIT_RATIO, 50000), 5, 0, "ppm to percent");
	is_near(unit_to_outside(UNIT_FREQ, 1380000), 1380, 0, "kHz to MHz");
	is_int(unit_from_outside(UNIT_POWER, 200.5), 200500, "W to mW");
	is_int(unit_from_outside(UNIT_POWER, -0.0006), -1, "rounds to nearest");
	ok(unit_from_outside(UNIT_TIME, 1e300) == INT64_MAX, "too large is limited");
	ok(unit_from_outside(UNIT_TIME, -1e300) == INT64_MIN, "too small is limited");
}

int main(void)
{
	test_parse();
	test_refused();
	test_format();
	test_round_trip();
	test_short();
	test_outside();
	return tap_done();
}
