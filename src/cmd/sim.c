/* sim.c: `wattlaw sim`: the table of what can be simulated. */
#include "cmd/cmd.h"
#include "cmd/commands.h"

static const struct command parts[] = {
	{"exec", "run a command that sees simulated GPUs", cmd_sim_exec, false},
	{"job", "a training job on simulated GPUs", cmd_sim_job, false},
	{"profiles", "list the devices and workloads that can be simulated", cmd_sim_profiles,
		false},
	{"calibrate", "make a workload profile from measured runs", cmd_sim_calibrate, false},
	{"site", "replay a job trace of a whole site under power policies", cmd_sim_site, false},
	{"state", "the truth about the simulated GPUs", cmd_sim_state, false},
};

int cmd_sim(int argc, char **argv)
{
	return cmd_group(
		"Simulated GPUs, clusters and sites. Whatever comes out is labelled as simulated.",
		parts, sizeof(parts) / sizeof(parts[0]), argc, argv);
}
