/* report.c: `wattlaw report`: the page. */
#include "cmd/commands.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/report_data.h"
#include "record/record_json.h"
#include "report/report.h"

struct report_cmd {
	const char *db, *output;
	bool json;
};

#define AT(m) .offset = offsetof(struct report_cmd, m)

static const struct opt table[] = {
	{.type = OPT_TEXT, .name = "db", AT(db), .arg = "FILE", .help = "the store (wattlaw.db)"},
	{.type = OPT_TEXT,
		.short_name = 'o',
		.name = "output",
		AT(output),
		.def = "report.html",
		.arg = "FILE",
		.help = "where to write the page, - for standard output (report.html)",
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

static bool add_part(struct store *s, const char *name, json_t *parts, struct err *e)
{
	struct campaign_info c = {.id = 0};
	json_t *part;

	if (!(name && !strcmp(name, "all")) && store_campaign_find(s, name, &c, e))
		return false;
	part = report_part(s, &c, e);
	campaign_info_release(&c);
	if (part && json_array_append_new(parts, part))
		err_set(e, ST_NOMEM, "report: out of memory");
	return part && !e->st;
}

static int write_report(const struct report_cmd *o, char **names, int n)
{
	struct str text = STR_INIT, page = STR_INIT;
	struct store *s = NULL;
	struct err e = ERR_INIT;
	json_t *parts = json_array();
	bool good = !store_open(store_default_path(o->db), false, &s, &e);
	int code;

	for (int i = 0; good && i < (n ? n : 1); i++)
		good = add_part(s, n ? names[i] : NULL, parts, &e);
	if (!good) {
		json_decref(parts);
		code = cmd_fail(&e);
		goto out;
	}
	if (!json_line(report_document(parts), &text) ||
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
