/* csv.c: every row keeps within its header, and numbers are finite. */
#include "fuzz.h"

#include <math.h>

#include "base/csv.h"

static void row(const struct csv *c)
{
	for (int col = -1; col <= (int)c->n_head; col++) {
		struct err e = ERR_INIT;
		enum status st;
		int64_t i = 0;
		double d = 0;

		must(csv_text(c, col));
		st = csv_double(c, col, &d, &e);
		must(st != ST_OK || isfinite(d));
		must(st != ST_OK || !csv_missing(c, col));
		must(st != ST_INVALID || !strncmp(e.msg, "f:", 2));
		csv_int(c, col, &i, &e);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	char unit[8];
	struct csv c;
	enum status st;
	int col;

	st = csv_open_text(&c, "f", (const char *)data, size, 0, &e);
	if (st) {
		must(e.st == st && e.msg[0]);
		return 0;
	}
	must(c.n_head >= 1);
	for (size_t i = 0; i < c.n_head; i++) {
		col = csv_column(&c, c.head[i]);
		must(col < (int)c.n_head);
		csv_column_unit(&c, (int)i, unit, sizeof(unit));
	}
	csv_need(&c, "power.draw", &col, &e);
	while ((st = csv_next(&c, &e)) == ST_OK) {
		must(c.n_row <= c.n_head && c.line >= 1);
		row(&c);
	}
	must(st == ST_NOT_FOUND || (e.st == st && e.msg[0]));
	csv_release(&c);
	return 0;
}
