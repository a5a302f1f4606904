/* export.c: `wattlaw export FORMAT`. */
#include "cmd/commands.h"

#include <string.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/rows.h"
#include "store/export.h"

struct export_cmd {
	const char *db, *output;
};

#define AT(m) .offset = offsetof(struct export_cmd, m)

static const struct opt table[] = {
	ROW_DB(offsetof(struct export_cmd, db)),
	{.type = OPT_TEXT,
		.short_name = 'o',
		.name = "output",
		AT(output),
		.arg = "FILE",
		.help = "write there instead of to standard output; replaced whole or not at all",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static int unknown_format(const char *name)
{
	const char *names[32];
	size_t n = 0;

	for (; export_formats()[n] && n < 32; n++)
		names[n] = export_formats()[n]->name;
	return cmd_unknown("format", name, names, n);
}

static bool there_is_one(void *arg, const struct run_rec *r)
{
	(void)r;
	*(bool *)arg = true;
	return false;
}

/* c->id stays 0 for every run: asked for as "all", or nothing but runs of `wattlaw run` is there.
 */
static enum status choose(struct store *s, const char *name, struct campaign_info *c, struct err *e)
{
	struct err none = ERR_INIT;
	bool runs = false;
	enum status st;

	if (name && !strcmp(name, "all"))
		return ST_OK;
	st = store_campaign_find(s, name, c, e);
	if (st == ST_NOT_FOUND && !name &&
		store_each_run(s, 0, there_is_one, &runs, &none) == ST_OK && runs) {
		*e = ERR_INIT;
		return ST_OK;
	}
	return st;
}

int cmd_export(int argc, char **argv)
{
	struct opt_set *set = opt_set_new();
	struct str more = STR_INIT, text = STR_INIT;
	struct opt_help help = {
		.usage = "wattlaw export [options] FORMAT [CAMPAIGN]",
		.summary = "Write the runs of a campaign (the latest; \"all\" for every run) in "
			   "another format.",
	};
	struct export_cmd o = {0};
	struct campaign_info c = {.id = 0};
	const struct export_format *f;
	struct store *s = NULL;
	struct err e = ERR_INIT;
	int i, code = CMD_DONE;

	str_add(&more, "Formats:\n");
	for (size_t k = 0; export_formats()[k]; k++)
		str_addf(&more, "  %-16s %s\n", export_formats()[k]->name,
			export_formats()[k]->what);
	help.more = str_cstr(&more);
	if (!cmd_parse(set, &help, table, &o, argc, argv, &i, &code))
		goto out;
	if (argc - i < 1 || argc - i > 2) {
		code = cmd_usage("expected FORMAT and perhaps CAMPAIGN");
		goto out;
	}
	f = export_find(argv[i]);
	if (!f) {
		code = unknown_format(argv[i]);
		goto out;
	}
	if (store_open(store_default_path(o.db), false, &s, &e) ||
		choose(s, argc - i > 1 ? argv[i + 1] : NULL, &c, &e) ||
		f->write(s, c.id, &text, &e)) {
		code = cmd_fail(&e);
		goto out;
	}
	code = cmd_write(o.output, str_cstr(&text), text.len);
out:
	campaign_info_release(&c);
	store_close(s);
	str_release(&text);
	str_release(&more);
	opt_set_free(set);
	return code;
}
