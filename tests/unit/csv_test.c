#include "base/csv.h"
#include "base/mem.h"
#include "tap.h"

static struct csv c;
static struct err e;

static enum status open_str(const char *text)
{
	csv_release(&c);
	return csv_open_text(&c, "t.csv", text, strlen(text), 0, &e);
}

static void finds_columns_by_name(void)
{
	char unit[16];
	double v;

	ok(!open_str("timestamp, power.draw [W], GPU Util (%)\n2023, 56.12 W, 7 %\n"),
		"header is read");
	is_int(csv_column(&c, "power.draw"), 1, "a unit in brackets does not hide a column");
	is_int(csv_column(&c, "gpu_util"), 2, "case and space do not matter");
	is_int(csv_column(&c, "power"), -1, "a prefix is not the column");
	is_str(csv_column_unit(&c, 1, unit, sizeof(unit)), "W", "the unit of a header is found");
	ok(!csv_next(&c, &e), "row is read");
	ok(!csv_double(&c, 1, &v, &e) && v == 56.12, "a unit after the number is ignored");
	is_int(csv_next(&c, &e), ST_NOT_FOUND, "the end is the end");
	is_int(csv_need(&c, "power.drew", &(int){0}, &e), ST_INVALID,
		"a missing column is an error");
	has(e.msg, "did you mean 'power.draw [W]'", "and the nearest one is named");
}

static void reads_quotes_and_breaks(void)
{
	ok(!open_str("a,b\n\"x,\"\"y\"\"\nz\",2\n\n# note\n3,4\r\n"), "opens");
	ok(!csv_next(&c, &e), "first row");
	is_str(csv_text(&c, 0), "x,\"y\"\nz",
		"quotes, separators and line breaks inside quotes are kept");
	ok(!csv_next(&c, &e) && c.line == 6, "blank and comment lines are skipped and counted");
	is_str(csv_text(&c, 1), "4", "CR is not part of a field");
	ok(!open_str("a,b\n\"x,2\n"), "opens");
	is_int(csv_next(&c, &e), ST_INVALID, "an open quote is an error");
	has(e.msg, "t.csv:2", "with file and line");
	ok(!open_str("a,b\n1,2,\n1,2,3\n"), "opens");
	ok(!csv_next(&c, &e), "an empty extra field is harmless");
	is_int(csv_next(&c, &e), ST_INVALID, "an extra value is an error");
}

static void reads_numbers(void)
{
	double v = -1;
	int64_t i = -1;

	ok(!open_str("x;y;z;n\n1,5;[N/A];abc;7\n"), "semicolons are detected");
	ok(!csv_next(&c, &e), "row");
	ok(!csv_double(&c, 0, &v, &e) && v == 1.5,
		"decimal comma is read where it cannot separate");
	is_int(csv_double(&c, 1, &v, &e), ST_UNKNOWN, "[N/A] is unknown, not 0");
	is_int(csv_double(&c, 2, &v, &e), ST_INVALID, "text is not a number");
	is_str(e.msg, "t.csv:2: column 'z': 'abc' is not a number",
		"the error names line and column");
	ok(!csv_int(&c, 3, &i, &e) && i == 7, "whole numbers");
	is_int(csv_int(&c, -1, &i, &e), ST_UNKNOWN, "an absent column is unknown");
	is_int(csv_double(&c, 9, &v, &e), ST_UNKNOWN, "a short row is unknown");
}

static void reads_utf16(void)
{
	static const char le[] = "\xff\xfe"
				 "a\0,\0b\0\n\0"
				 "1\0,\0\xe9\0\n\0";

	csv_release(&c);
	ok(!csv_open_text(&c, "u.csv", le, sizeof(le) - 1, 0, &e), "UTF-16 opens");
	ok(!csv_next(&c, &e), "row");
	is_str(csv_text(&c, 1), "\xc3\xa9", "and becomes UTF-8");
	is_int(open_str(""), ST_INVALID, "an empty file is an error");
	is_int(csv_open_text(&c, "n", "ab\0c\n1", 6, 0, &e), ST_INVALID, "NUL bytes are an error");
}

static void survives_lack_of_memory(void)
{
	enum status st;

	for (unsigned n = 1; n < 1000; n++) {
		csv_release(&c);
		fault_arm("alloc", n);
		st = csv_open_text(&c, "t", "a,b\n1,2\n", 8, 0, &e);
		if (!st)
			st = csv_next(&c, &e);
		if (!fault_fired()) {
			is_int(st, ST_OK, "every allocation may fail, then it works");
			break;
		}
		if (st != ST_NOMEM) {
			ok(false, "allocation %u: expected out of memory, got %s", n,
				status_name(st));
			break;
		}
	}
	fault_arm("alloc", 0);
}

int main(void)
{
	finds_columns_by_name();
	reads_quotes_and_breaks();
	reads_numbers();
	reads_utf16();
	survives_lack_of_memory();
	csv_release(&c);
	return tap_done();
}
