/* layout.h: the fields of a record as data.
 *
 * One table per struct drives initialising, releasing, encoding, decoding and the columns of the
 * store, so a new field is one row here and one column in schema.sql and cannot be forgotten in one
 * of them. Used by src/record and src/store only.
 *
 * The byte form follows the order of the rows. Rows are only ever appended, with the version of the
 * format that brought them; RECORD_VERSION is the newest.
 */
#ifndef WATTLAW_RECORD_LAYOUT_H
#define WATTLAW_RECORD_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_VERSION 1

enum field_type {
	FIELD_STR, /* char *, owned, may be NULL */
	FIELD_QTY, /* struct qty */
	FIELD_I64, /* int64_t */
	FIELD_INT, /* int or an enum of its size, lo..hi */
	FIELD_BOOL, /* bool */
	FIELD_F64, /* double */
	FIELD_TEXT, /* char[hi], NUL-padded */
	FIELD_STRS, /* char **, count in n_off, at most hi */
	FIELD_ONE, /* a struct described by sub */
	FIELD_MANY /* an owned array of them, count in n_off, at most hi */
};

struct layout;

struct field {
	enum field_type type;
	const char *name; /* of the member; its column in the store */
	size_t off, n_off;
	int64_t lo, hi;
	const struct layout *sub;
	const char *(*word)(int v); /* of an enum: its stable word */
	uint16_t since; /* 0 = the first version */
};

struct layout {
	size_t size;
	size_t min_bytes; /* fewest bytes one can take encoded: bounds a count that is not trusted
			   */
	const struct field *fields;
	size_t n;
};

extern const struct layout layout_run, layout_train, layout_dev, layout_phase, layout_axis,
	layout_knob, layout_sample, layout_mark;

void layout_init(const struct layout *l, void *p);
void layout_release(const struct layout *l, void *p);

#endif
