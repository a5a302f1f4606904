/* sim.c: `wattlaw sim`: the table of what can be simulated. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/commands.h"

static const struct command parts[] = {
	{"site", "replay a job trace of a whole site under power policies", cmd_sim_site, false},
};
#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

static void print_help(void)
{
	printf("usage: wattlaw sim PART [options]\n\n"
	       "Simulated GPUs, clusters and sites. Whatever comes out is labelled as "
	       "simulated.\n\n");
	for (size_t i = 0; i < N_PARTS; i++)
		printf("  %-12s %s\n", parts[i].name, parts[i].summary);
	printf("\n'wattlaw sim PART --help' says more.\n");
}

int cmd_sim(int argc, char **argv)
{
	const char *names[N_PARTS], *near;
	static char full[32];

	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help();
		return argc < 2 ? CMD_USAGE : CMD_DONE;
	}
	for (size_t i = 0; i < N_PARTS; i++) {
		names[i] = parts[i].name;
		if (strcmp(argv[1], parts[i].name))
			continue;
		snprintf(full, sizeof(full), "sim %s", parts[i].name);
		argv[1] = full;
		return parts[i].run(argc - 1, argv + 1);
	}
	near = str_nearest(argv[1], names, N_PARTS);
	if (near)
		return cmd_usage("unknown part '%s'; did you mean '%s'?", argv[1], near);
	return cmd_usage("unknown part '%s'", argv[1]);
}
