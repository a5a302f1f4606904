/* sim.c: `wattlaw sim`: the table of what can be simulated. */
#include "cmd/cmd.h"
#include "cmd/commands.h"

static const struct command parts[] = {
	{"site", "replay a job trace of a whole site under power policies", cmd_sim_site, false},
};

int cmd_sim(int argc, char **argv)
{
	return cmd_group(
		"Simulated GPUs, clusters and sites. Whatever comes out is labelled as simulated.",
		parts, sizeof(parts) / sizeof(parts[0]), argc, argv);
}
