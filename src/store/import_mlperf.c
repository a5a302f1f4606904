/* import_mlperf.c: a node's power log of MLPerf Training: ":::MLLOG {…}" lines with power_reading
 * in W and wall-clock milliseconds. One file is one run on one node. */
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "store/import_series.h"

struct mlperf {
	const char *file;
	int line;
	struct run_rec *r;
	int dev;
};

static enum status read_reading(struct mlperf *m, json_t *j, struct err *e)
{
	json_t *time = json_object_get(j, "time_ms"), *value = json_object_get(j, "value");
	struct qty power;
	int64_t t_ns;

	if (!json_is_number(time) || json_number_value(time) < 0 || json_number_value(time) > 9e12)
		return err_at(e, m->file, m->line, 0,
			"field 'time_ms': expected milliseconds since 1970");
	if (!json_is_number(value) || json_number_value(value) < 0)
		return err_at(e, m->file, m->line, 0, "field 'value': expected watts");
	power = import_outside(UNIT_POWER, json_number_value(value));
	if (power.st)
		return err_at(e, m->file, m->line, 0, "field 'value': out of range");
	/* Milliseconds since 1970 times 1e6 need more digits than a double has. */
	t_ns = json_is_integer(time) ? (int64_t)json_integer_value(time) * NS_PER_MS
				     : (int64_t)(json_real_value(time) * (double)NS_PER_MS);
	return import_sample(m->r, m->dev, CH_POWER, t_ns, power.v) ? ST_OK : import_no_memory(e);
}

static enum status read_line(struct mlperf *m, const char *line, size_t n, struct err *e)
{
	json_error_t why;
	json_t *j = json_loadb(line, n, 0, &why);
	const char *key;
	enum status st = ST_OK;

	if (!json_is_object(j)) {
		const bool is_json = j != NULL;

		json_decref(j);
		return err_at(e, m->file, m->line, 0, "after ':::MLLOG': %s",
			is_json ? "expected an object" : why.text);
	}
	key = json_string_value(json_object_get(j, "key"));
	if (!key)
		st = err_at(e, m->file, m->line, 0, "field 'key': expected a string");
	else if (!strcmp(key, "power_reading"))
		st = read_reading(m, j, e);
	json_decref(j);
	return st;
}

static enum status read_mlperf(const char *file, const char *text, size_t len,
	const struct import_opts *o, struct import_sink *sink, struct err *e)
{
	static const char mark[] = ":::MLLOG ";
	struct run_rec r;
	struct mlperf m = {.file = file, .r = &r};
	enum status st = import_begin(&r, "mlperf", o, e);

	if (st)
		return st;
	m.dev = import_device(&r, "node", "node power meter", DEV_NODE);
	if (m.dev < 0)
		st = import_no_memory(e);
	for (size_t at = 0; at < len && !st;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : len - at;
		const char *found = memmem(text + at, n, mark, strlen(mark));

		m.line++;
		if (found)
			st = read_line(&m, found + strlen(mark),
				n - (size_t)(found - text - (ptrdiff_t)at) - strlen(mark), e);
		at += n + 1;
	}
	if (!st && !r.n_samples)
		st = err_set(e, ST_INVALID, "%s: holds no 'power_reading' of MLPerf", file);
	if (!st)
		st = import_series_finish(&r, file, e);
	if (!st)
		return import_end(&r, sink, e);
	run_rec_release(&r);
	return st;
}

const struct import_format import_mlperf = {
	.name = "mlperf",
	.what = "a node's power log of MLPerf Training (:::MLLOG … power_reading)",
	.read = read_mlperf,
};
