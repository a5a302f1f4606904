/* csv.h: tables that other people wrote.
 *
 * Reads RFC 4180 text and its relatives: any of , ; tab | as separator (detected from the header
 * unless given), quoted fields with "" and line breaks inside, CRLF, UTF-8 or UTF-16 with or
 * without a mark, blank lines and lines starting with '#' skipped. Columns are found by
 * name, whatever their order, case, surrounding space or unit in brackets. Numbers are read in
 * the C locale; with a separator other than the comma a decimal comma is accepted.
 * Errors carry file:line and the column's name. Limits: 1 MiB a field, 4096 columns.
 */
#ifndef WATTLAW_BASE_CSV_H
#define WATTLAW_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

struct csv {
	char *file; /* for messages; owned */
	char *text; /* whole input as UTF-8; owned */
	size_t len, pos;
	char sep;
	int line; /* line where the current row starts, 1-based */
	int next_line;
	char **head; /* column names as written, trimmed; point into text */
	size_t n_head;
	char **row; /* fields of the current row, NUL-terminated, trimmed; n_row may differ */
	size_t n_row, cap_row;
};

/* sep 0 = detect. Reads the header row. An empty input or a header without a name is an error. */
enum status csv_open_file(struct csv *c, const char *path, char sep, struct err *e);
enum status csv_open_text(
	struct csv *c, const char *file, const char *text, size_t len, char sep, struct err *e);
/* As csv_open_text without a header row: csv_column finds nothing, fields go by position. */
enum status csv_open_headless(
	struct csv *c, const char *file, const char *text, size_t len, char sep, struct err *e);
void csv_release(struct csv *c);

/* Next row. ST_NOT_FOUND at the end. A row with more fields than the header is an error. */
enum status csv_next(struct csv *c, struct err *e);

/* Index of a column, or -1. Compared without case, space, '_' against ' ' and without a trailing
 * unit in [] or (): "power.draw [W]" is found as "power.draw". */
int csv_column(const struct csv *c, const char *name);
/* As csv_column; a missing one is ST_INVALID and names the columns there are and the nearest. */
enum status csv_need(const struct csv *c, const char *name, int *out, struct err *e);
/* The unit in the brackets of a header ("W" of "power.draw [W]"), "" when none, into buf. */
const char *csv_column_unit(const struct csv *c, int col, char *buf, size_t size);

/* Field text of the current row; "" when the column is -1 or the row is short. Borrowed. */
const char *csv_text(const struct csv *c, int col);
/* True for "", "N/A", "[N/A]", "nan", "null", "-", "[Not Supported]", "[Unknown Error]", ... */
bool csv_missing(const struct csv *c, int col);
/* Number of the field; a trailing unit after white space is ignored ("56.12 W"). ST_UNKNOWN when
 * the field is missing (no error set), ST_INVALID with file:line and column name when it is not a
 * number. */
enum status csv_double(const struct csv *c, int col, double *out, struct err *e);
enum status csv_int(const struct csv *c, int col, int64_t *out, struct err *e);
/* ST_INVALID: "file:12: column 'gpus': ..." */
enum status csv_bad(const struct csv *c, int col, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
