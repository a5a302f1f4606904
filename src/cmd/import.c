/* import.c: `wattlaw import FORMAT FILE`. */
#include "cmd/commands.h"

#include <stdio.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/rows.h"
#include "record/record_json.h"
#include "store/import.h"

struct import_cmd {
	const char *db, *campaign, *workload, *domain;
	struct opt_strings map, axes;
	bool json;
};

#define AT(m) .offset = offsetof(struct import_cmd, m)

static const struct opt table[] = {
	ROW_DB(offsetof(struct import_cmd, db)),
	{.type = OPT_TEXT,
		.short_name = 'n',
		.name = "name",
		AT(campaign),
		.arg = "CAMPAIGN",
		.help = "name of the new campaign (the file's name)",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_LIST,
		.short_name = 'm',
		.name = "map",
		AT(map),
		.arg = "THEIRS=OURS",
		.help = "a column that has another name, e.g. --map runtime=time_s",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_LIST,
		.short_name = 'L',
		.name = "axis",
		AT(axes),
		.arg = "NAME=VALUE",
		.help = "a factor that holds for the whole file, e.g. -L power_limit=200W",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_TEXT,
		.name = "workload",
		AT(workload),
		.arg = "NAME",
		.help = "workload, where the file does not say",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_TEXT,
		.name = "domain",
		AT(domain),
		.arg = "NAME",
		.help = "domain, where the file does not say",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_FLAG,
		.name = "json",
		AT(json),
		.help = "print a JSON document",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static void list_formats(struct str *out)
{
	str_add(out, "Formats:\n");
	for (size_t i = 0; import_formats()[i]; i++)
		str_addf(out, "  %-16s %s\n", import_formats()[i]->name, import_formats()[i]->what);
	str_add(out, "\nA file becomes one new campaign, whole or not at all. Imported figures "
		     "keep that label "
		     "everywhere. The highest value of each knob stands for the default setting.");
}

static int unknown_format(const char *name)
{
	const char *names[32];
	size_t n = 0;

	for (; import_formats()[n] && n < 32; n++)
		names[n] = import_formats()[n]->name;
	return cmd_unknown("format", name, names, n);
}

static int print_json(const struct import_result *r)
{
	struct str out = STR_INIT;
	json_t *doc = json_object();
	int code = CMD_DONE;

	json_object_set_new(doc, "schema", json_string("wattlaw.import/1"));
	json_object_set_new(doc, "campaign", json_text(r->campaign.name));
	json_object_set_new(doc, "runs", json_integer(r->runs));
	json_object_set_new(doc, "ignored_columns", json_text(r->ignored));
	if (json_line(doc, &out)) {
		fputs(str_cstr(&out), stdout);
	} else {
		cmd_error("out of memory");
		code = CMD_FAILED;
	}
	str_release(&out);
	return code;
}

int cmd_import(int argc, char **argv)
{
	struct opt_set *set = opt_set_new();
	struct str more = STR_INIT;
	struct opt_help help = {
		.usage = "wattlaw import [options] FORMAT FILE",
		.summary = "Bring measurements of others into the store.",
	};
	struct import_cmd o = {0};
	struct import_opts opts;
	struct import_result result = {.runs = 0};
	const struct import_format *f;
	struct store *s = NULL;
	struct err e = ERR_INIT;
	int i, code = CMD_DONE;

	list_formats(&more);
	help.more = str_cstr(&more);
	if (!cmd_parse(set, &help, table, &o, argc, argv, &i, &code))
		goto out;
	if (argc - i != 2) {
		code = cmd_usage("expected FORMAT and FILE");
		goto out;
	}
	f = import_find(argv[i]);
	if (!f) {
		code = unknown_format(argv[i]);
		goto out;
	}
	opts = (struct import_opts){
		o.campaign, o.workload, o.domain, o.map.v, o.map.n, o.axes.v, o.axes.n};
	const char *db = store_default_path(o.db);

	if ((access(db, F_OK) && import_check(f, argv[i + 1], &opts, &e)) ||
		store_open(db, true, &s, &e) ||
		store_import(s, f, argv[i + 1], &opts, &result, &e)) {
		code = cmd_fail(&e);
		goto out;
	}
	if (result.ignored)
		cmd_warn("columns without a meaning here were left out: %s", result.ignored);
	if (o.json)
		code = print_json(&result);
	else
		printf("Imported %lld run%s as campaign '%s'. Next: wattlaw fit %s\n",
			(long long)result.runs, result.runs == 1 ? "" : "s", result.campaign.name,
			result.campaign.name);
out:
	import_result_release(&result);
	store_close(s);
	str_release(&more);
	opt_set_free(set);
	return code;
}
