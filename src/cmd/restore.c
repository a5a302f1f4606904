/* restore.c: `wattlaw restore`: put every knob back that a dead wattlaw left changed. Idempotent.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "cmd/rows.h"
#include "hw/cgroup.h"
#include "hw/control.h"
#include "record/record_json.h"

struct restore_opts {
	bool json, all, quiet;
	const char *job, *dir, *nvml;
};

static const struct opt table[] = {
	{.type = OPT_FLAG,
		.name = "all",
		.offset = offsetof(struct restore_opts, all),
		.help = "also what batch jobs hold; never what a running wattlaw holds",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_TEXT,
		.name = "job",
		.offset = offsetof(struct restore_opts, job),
		.arg = "ID",
		.help = "end what this batch job holds, as an epilog does",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_TEXT,
		.name = "run-dir",
		.offset = offsetof(struct restore_opts, dir),
		.arg = "DIR",
		.help = "where the journals are [/run/wattlaw, or the user's own]",
		.flags = OPT_NO_CWD},
	ROW_NVML(offsetof(struct restore_opts, nvml)),
	{.type = OPT_FLAG,
		.short_name = 'q',
		.name = "quiet",
		.offset = offsetof(struct restore_opts, quiet),
		.help = "say nothing when all is well"},
	{.type = OPT_FLAG,
		.name = "json",
		.offset = offsetof(struct restore_opts, json),
		.help = "print a JSON document",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw restore [--all | --job ID] [--run-dir DIR] [--json]",
	.summary = "Put every knob back that a wattlaw which is gone left changed.",
	.more = "What is put back is what was found before it was set. A knob that somebody else "
		"has "
		"changed\nsince is left alone and reported. Doing it twice does no harm.\n"
		"Exit codes: 0 everything is as found, 2 wrong usage, 3 something could not be put "
		"back.",
};

static int print_json(const struct restore_report *rep)
{
	json_t *doc = json_object(), *lines = json_array();
	struct str out = STR_INIT;
	const char *p = str_cstr(&rep->text);
	bool done;

	while (*p) {
		size_t n = strcspn(p, "\n");

		json_array_append_new(lines, json_stringn(p, n));
		p += n + (p[n] == '\n');
	}
	json_object_set_new(doc, "schema", json_text("wattlaw.restore/1"));
	json_object_set_new(doc, "restored", json_integer((json_int_t)rep->restored));
	json_object_set_new(doc, "left_alone", json_integer((json_int_t)rep->left_alone));
	json_object_set_new(doc, "failed", json_integer((json_int_t)rep->failed));
	json_object_set_new(doc, "lines", lines);
	done = json_line(doc, &out);
	if (done)
		fputs(str_cstr(&out), stdout);
	else
		cmd_error("out of memory");
	str_release(&out);
	return done ? CMD_DONE : CMD_FAILED;
}

static int restore(const struct restore_opts *o, struct hw *hw, struct err *e)
{
	struct restore_report rep = {0, 0, 0, STR_INIT};
	char dir[4096];
	enum status st = ST_OK;
	int code = CMD_DONE;

	if (o->dir)
		snprintf(dir, sizeof(dir), "%s", o->dir);
	else
		st = control_dir(NULL, dir, sizeof(dir), e);
	if (st == ST_OK)
		st = o->job ? control_end_job(hw, dir, o->job, &rep, e)
			    : control_replay(hw, dir, o->all, &rep, e);
	/* An epilog runs after every job, also after those that held nothing. */
	if (st == ST_NOT_FOUND && o->job)
		st = ST_OK;
	if (st == ST_OK)
		cgroup_reap(hw_env(hw)->root_fd, NULL);
	if (st != ST_OK && st != ST_PARTIAL) {
		code = cmd_fail(e);
	} else if (o->json) {
		code = print_json(&rep);
	} else {
		fputs(str_cstr(&rep.text), stdout);
		if (!rep.text.len && !o->quiet)
			puts("Nothing to restore.");
	}
	if (st == ST_PARTIAL && code == CMD_DONE) {
		cmd_error("%s", e->msg);
		code = CMD_PARTIAL;
	}
	restore_report_release(&rep);
	return code;
}

int cmd_restore(int argc, char **argv)
{
	struct opt_set *set = opt_set_new();
	struct restore_opts o = {0};
	struct backend_env env;
	struct err e = ERR_INIT;
	struct hw *hw = NULL;
	int operand, code = CMD_DONE;

	if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
		goto out;
	if (operand < argc) {
		code = cmd_usage("unexpected argument '%s'", argv[operand]);
		goto out;
	}
	if (o.all && o.job) {
		code = cmd_usage("--all and --job cannot be combined");
		goto out;
	}
	if (hw_env_default(&env, &e) != ST_OK) {
		code = cmd_fail(&e);
		goto out;
	}
	if (o.nvml)
		env.nvml_path = o.nvml;
	if (hw_open(&env, NULL, &hw, &e) != ST_OK)
		code = cmd_fail(&e);
	else
		code = restore(&o, hw, &e);
out:
	hw_close(hw);
	opt_set_free(set);
	return code;
}
