/* import.h: measurements that others made, as records.
 *
 * A format is one row of a table and one file import_<name>.c: pure on text, bytes in, records out.
 * Nothing in a file is trusted. Every number keeps its source label ("import:zeus_trace"); what a
 * format does not hold stays unknown. store_import puts one file into one new campaign in one
 * transaction: on any error nothing is imported.
 */
#ifndef WATTLAW_STORE_IMPORT_H
#define WATTLAW_STORE_IMPORT_H

#include "store/store.h"

struct import_opts {
	const char *campaign; /* NULL = the file's name without directory and suffix */
	const char *workload; /* for formats that do not name one; NULL = the campaign's name */
	const char *domain; /* may be NULL */
	const char *const *map; /* "THEIRS=OURS": a column by another name */
	size_t n_map;
	/* POWER or CLOCK=VALUE … axes that hold for the whole file: "power_limit=200W" */
	const char *const *axes;
	size_t n_axes;
};

/* Where the records go. run() borrows r; NULL only counts them. */
struct import_sink {
	enum status (*run)(void *arg, const struct run_rec *r, struct err *e);
	void *arg;
	int64_t n; /* records so far */
	bool has_repeats; /* set by the format: the file numbers its repeats itself */
	struct str ignored; /* columns that mean nothing here, ", "-separated */
};

struct import_format {
	const char *name; /* "csv" */
	const char *what; /* one line for --help */
	/* file is the name used in messages, o->workload is set. Errors are ST_INVALID with line
	 * and field and what was expected. */
	enum status (*read)(const char *file, const char *text, size_t len,
		const struct import_opts *o, struct import_sink *sink, struct err *e);
};

/* All formats, NULL-terminated. */
const struct import_format *const *import_formats(void);
/* NULL when there is none of that name. */
const struct import_format *import_find(const char *name);

struct import_result {
	struct campaign_info campaign;
	int64_t runs;
	char *ignored; /* columns that were not used, or NULL */
};
void import_result_release(struct import_result *r);

/* Reads the file as store_import would and keeps nothing: a file with a mistake is refused before a
 * store is made for it. */
enum status import_check(const struct import_format *f, const char *path,
	const struct import_opts *opts, struct err *e);

enum status store_import(struct store *s, const struct import_format *f, const char *path,
	const struct import_opts *o, struct import_result *out, struct err *e);

#endif
