/* export_json.c: every run as wattlaw.run/1, in one document or one a line. */
#include "record/record_json.h"
#include "store/export_format.h"

struct lines {
	struct str *out;
	bool array, first, failed;
};

static bool each_run(void *arg, const struct run_rec *r)
{
	struct lines *l = arg;

	if (l->array && !l->first)
		str_addc(l->out, ',');
	l->first = false;
	l->failed = !json_line(run_rec_json(r), l->out);
	return !l->failed;
}

static enum status write_lines(struct store *s, int64_t campaign_id, struct str *out, struct err *e)
{
	struct lines l = {out, false, true, false};
	enum status st = store_each_run(s, campaign_id, each_run, &l, e);

	out->failed |= l.failed;
	return export_done(out, st, e);
}

static enum status write_document(
	struct store *s, int64_t campaign_id, struct str *out, struct err *e)
{
	struct lines l = {out, true, true, false};
	enum status st;

	str_add(out, "{\"schema\":\"wattlaw.export/1\",\"version\":\"" WATTLAW_VERSION
		     "\",\"runs\":[\n");
	st = store_each_run(s, campaign_id, each_run, &l, e);
	str_add(out, "]}\n");
	out->failed |= l.failed;
	return export_done(out, st, e);
}

const struct export_format export_json = {
	.name = "json",
	.what = "one JSON document with every run",
	.write = write_document,
};

const struct export_format export_jsonl = {
	.name = "jsonl",
	.what = "JSON Lines: one wattlaw.run/1 document a line",
	.write = write_lines,
};
