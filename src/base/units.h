/* units.h: quantities as integers in a base unit, read and written with a suffix.
 *
 * Inside, a number is an int64 in the base unit of its enum (mW, uJ, kHz, ns, ppm, bytes). A user
 * may write "200W", "1.2 GHz", "100ms", "5%", "40 kW", or a bare number in the usual unit
 * (W, J, MHz, s, %); output always carries a suffix.
 */
#ifndef WATTLAW_BASE_UNITS_H
#define WATTLAW_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

enum unit {
	UNIT_NONE, /* plain integer */
	UNIT_POWER, /* mW; bare = W */
	UNIT_ENERGY, /* uJ; bare = J; Wh and kWh accepted */
	UNIT_FREQ, /* kHz; bare = MHz */
	UNIT_TIME, /* ns; bare = s; ns us ms s min h d */
	UNIT_RATIO, /* ppm; bare and % = percent */
	UNIT_BYTES, /* bytes; bare = bytes; kB MB GB and KiB MiB GiB */
	UNIT_TEMP, /* mdegC; bare = degC */
	UNIT_COUNT
};

/* Parse text, rounding to the nearest base unit (plain integers are not rounded). Capitals of a
 * suffix matter only where they decide ("mW", "MW"). Only ratios, temperatures and plain integers
 * may be negative. On failure *out is untouched and it is ST_INVALID (or ST_RANGE on overflow) and
 * e->msg says which forms are accepted, e.g. "'12 parsecs' is not a power; write it as 200W, 0.2kW
 * or 200000mW". */
enum status unit_parse(enum unit u, const char *text, int64_t *out, struct err *e);
/* Print with a suffix, shortest form that reads back to the same value: "200W", "1.38GHz". Of
 * equally short forms the one with the larger unit. 64 bytes always suffice. Returns buf. */
const char *unit_format(enum unit u, int64_t value, char *buf, size_t size);
/* For tables: value in the base unit, rounded to `digits` significant digits, always with suffix;
 * "unknown" for NAN. Returns buf. */
const char *unit_format_short(enum unit u, double value, int digits, char *buf, size_t size);
/* "power", "frequency", ...: for messages and help. */
const char *unit_name(enum unit u);
/* Value in the outside unit (W, J, MHz, s, %, bytes, degC) as a double, for JSON and the model. */
double unit_to_outside(enum unit u, int64_t value);
/* Rounded; limited to the range of int64_t, NAN gives INT64_MIN. */
int64_t unit_from_outside(enum unit u, double value);

#endif
