/* field.h: values of an INI section into the members of a struct, by a table.
 *
 * One row a key; what a key may hold, its unit and its bounds are in the row, and every error has
 * its place. Profiles, clusters and scenarios are read with it.
 */
#ifndef WATTLAW_SIM_FIELD_H
#define WATTLAW_SIM_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ini.h"
#include "base/status.h"
#include "base/units.h"

/* Kinds D_* are kept as double: D_UNIT in mW, kHz, s, degC, bytes or as a fraction. */
enum field_kind { F_TEXT, F_INT, F_I64, F_YES, D_PLAIN, D_UNIT, F_OWN };

struct field {
	const char *key;
	enum field_kind kind;
	enum unit unit;
	size_t offset, size; /* size of a text */
	bool required;
	double min, max; /* as kept; max 0 = field_bound alone */
	/* F_OWN: reads the value into the member (the struct itself at offset 0) */
	enum status (*own)(
		const struct ini *ini, const struct ini_entry *en, void *at, struct err *e);
};

/* The row of a member; further designators follow. */
#define FIELD(TYPE, KEY, KIND, UNIT, MEMBER, ...)                                                  \
	{                                                                                          \
		.key = KEY, .kind = KIND, .unit = UNIT, .offset = offsetof(TYPE, MEMBER),          \
		.size = sizeof(((TYPE *)0)->MEMBER), __VA_ARGS__                                   \
	}

/* The largest quantity that makes sense in profiles and scenarios (1 MW, 100 days, 100 GHz, 1000
 * degC, 1e12 J); beyond it sums would overflow. */
int64_t field_bound(enum unit u);

/* One entry into its member of base. ST_INVALID with file:line:column. */
enum status field_set(const struct ini *ini, const struct ini_entry *en, const struct field *f,
	void *base, struct err *e);
/* Every row's entry of the section, where there is one; a required one that lacks is an error. */
enum status fields_set(const struct ini *ini, struct ini_section *s, const struct field *fields,
	size_t n, void *base, struct err *e);

#endif
