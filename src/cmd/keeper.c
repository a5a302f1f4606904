/* keeper.c: `wattlaw keeper`, started by a leader only: serve it, or clean up after a dead one. */
#include "cmd/commands.h"

#include <string.h>
#include "cmd/cmd.h"
#include "exec/keeper.h"

struct keeper_opts {
	int64_t fd;
	const char *replay, *run;
};

static const struct opt table[] = {
	{.type = OPT_INT,
		.name = "fd",
		.offset = offsetof(struct keeper_opts, fd),
		.def = "-1",
		.min = -1,
		.max = 1 << 20,
		.arg = "N",
		.help = "serve the leader on this descriptor",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_TEXT,
		.name = "replay",
		.offset = offsetof(struct keeper_opts, replay),
		.arg = "DIR",
		.help = "put back what the journals of dead keepers in DIR say",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_TEXT,
		.name = "run",
		.offset = offsetof(struct keeper_opts, run),
		.arg = "ID",
		.help = "with --replay: remove the CPU groups of this run",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw keeper --fd N | --replay DIR [--run ID]",
	.summary = "Measure and set for a leader (internal).",
};

int cmd_keeper(int argc, char **argv)
{
	struct opt_set *set = opt_set_new();
	struct keeper_opts o = {.fd = -1};
	int operand, code = CMD_DONE;

	if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
		goto out;
	if (o.replay)
		code = keeper_replay(o.replay, o.run);
	else if (o.fd >= 0)
		code = keeper_serve((int)o.fd);
	else
		code = cmd_usage("nothing to do: give --fd or --replay");
out:
	opt_set_free(set);
	return code;
}
