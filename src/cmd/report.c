/* report.c: `wattlaw report`: the page. */
#include "cmd/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/report_data.h"
#include "cmd/rows.h"
#include "record/record_json.h"
#include "report/report.h"

struct report_cmd {
	const char *db, *output;
	int64_t last;
	bool json;
};

#define AT(m) .offset = offsetof(struct report_cmd, m)

static const struct opt table[] = {
	ROW_DB(offsetof(struct report_cmd, db)),
	{.type = OPT_TEXT,
		.short_name = 'o',
		.name = "output",
		AT(output),
		.def = "report.html",
		.arg = "FILE",
		.help = "where to write the page, - for standard output",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_INT,
		.short_name = 'l',
		.name = "last",
		AT(last),
		.min = 1,
		.max = 1000,
		.arg = "N",
		.help = "the N latest campaigns, on one page",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_FLAG,
		.name = "json",
		AT(json),
		.help = "print the document behind the page instead",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw report [-o FILE] [CAMPAIGN...]",
	.summary = "Write one page with plots, laws and settings of campaigns (the latest; \"all\" "
		   "for every run).",
	.more = "The page is one file and loads nothing from the network.",
};

static bool add_campaign(
	struct store *s, const struct campaign_info *c, json_t *parts, struct err *e)
{
	json_t *part = report_part(s, c, e);

	if (part && json_array_append_new(parts, part))
		err_set(e, ST_NOMEM, "report: out of memory");
	return part && !e->st;
}

static bool add_named(struct store *s, const char *name, json_t *parts, struct err *e)
{
	struct campaign_info c = {.id = 0};
	bool good;

	if (!(name && !strcmp(name, "all")) && store_campaign_find(s, name, &c, e))
		return false;
	good = add_campaign(s, &c, parts, e);
	campaign_info_release(&c);
	return good;
}

struct latest {
	struct store *s;
	json_t *parts;
	struct err *e;
	int64_t skip; /* older ones to pass over */
	bool failed;
};

static bool count_campaign(void *arg, const struct campaign_info *c)
{
	(void)c;
	++*(int64_t *)arg;
	return true;
}

static bool add_latest(void *arg, const struct campaign_info *c)
{
	struct latest *l = arg;

	if (l->skip-- > 0)
		return true;
	l->failed = !add_campaign(l->s, c, l->parts, l->e);
	return !l->failed;
}

static bool add_last(struct store *s, int64_t n, json_t *parts, struct err *e)
{
	struct latest l = {s, parts, e, 0, false};
	int64_t all = 0;

	if (store_each_campaign(s, count_campaign, &all, e))
		return false;
	l.skip = all - n;
	return all ? !store_each_campaign(s, add_latest, &l, e) && !l.failed
		   : add_named(s, NULL, parts, e);
}

/* Six digits are more than a plot or a table of it shows, and half the page. */
static bool compact(json_t *doc, struct str *out)
{
	char *text = doc ? json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;

	json_decref(doc);
	if (!text)
		return false;
	str_addf(out, "%s\n", text);
	free(text);
	return !out->failed;
}

static int write_report(const struct report_cmd *o, char **names, int n)
{
	struct str text = STR_INIT, page = STR_INIT;
	struct store *s = NULL;
	struct err e = ERR_INIT;
	json_t *parts = json_array();
	bool good = !store_open(store_default_path(o->db), false, &s, &e);
	int code;

	if (good && !n)
		good = add_last(s, o->last ? o->last : 1, parts, &e);
	for (int i = 0; good && i < n; i++)
		good = add_named(s, names[i], parts, &e);
	if (!good) {
		json_decref(parts);
		code = cmd_fail(&e);
		goto out;
	}
	if (!compact(report_document(parts), &text) ||
		(!o->json && !report_page(str_cstr(&text), &page))) {
		err_set(&e, ST_NOMEM, "report: out of memory");
		code = cmd_fail(&e);
	} else if (o->json) {
		code = cmd_write(NULL, str_cstr(&text), text.len);
	} else {
		code = cmd_write(o->output, str_cstr(&page), page.len);
		if (!code && strcmp(o->output, "-"))
			printf("Wrote %s\n", o->output);
	}
out:
	store_close(s);
	str_release(&text);
	str_release(&page);
	return code;
}

int cmd_report(int argc, char **argv)
{
	struct opt_set *opts = opt_set_new();
	struct report_cmd o = {0};
	int i, code = CMD_DONE;

	if (cmd_parse(opts, &help, table, &o, argc, argv, &i, &code))
		code = write_report(&o, argv + i, argc - i);
	opt_set_free(opts);
	return code;
}
