/* version.c: `wattlaw version`. */
#include "cmd/commands.h"

#include <stdio.h>

#include "cmd/cmd.h"

struct version_opts {
	bool json;
};

static const struct opt table[] = {
	{.type = OPT_FLAG,
		.name = "json",
		.offset = offsetof(struct version_opts, json),
		.help = "print a JSON document",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw version [--json]",
	.summary = "Say which version this is and how it was built.",
};

int cmd_version(int argc, char **argv)
{
	struct opt_set *set = opt_set_new();
	struct version_opts o = {0};
	int operand, code = CMD_DONE;

	if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
		goto out;
	if (operand < argc) {
		code = cmd_usage("unexpected argument '%s'", argv[operand]);
		goto out;
	}
	if (o.json)
		printf("{\"schema\":\"wattlaw.version/"
		       "1\",\"version\":\"%s\",\"compiler\":\"%s\"}\n",
			WATTLAW_VERSION, __VERSION__);
	else
		printf("wattlaw %s, built with %s\n", WATTLAW_VERSION, __VERSION__);
out:
	opt_set_free(set);
	return code;
}
