/* main.c: the table of subcommands, nothing else. */
#include "cmd/cmd.h"
#include "cmd/commands.h"

/* name, summary, function, hidden */
static const struct command commands[] = {
	{"export", "write runs as CSV, JSON and other formats", cmd_export, false},
	{"fit", "fit the laws of a campaign", cmd_fit, false},
	{"import", "bring measurements of others into the store", cmd_import, false},
	{"keeper", "measure and set for a leader", cmd_keeper, true},
	{"node", "start one rank of a measured job", cmd_node, true},
	{"predict", "time, energy and cost at a setting never tried", cmd_predict, false},
	{"probe", "say what this machine can measure and set", cmd_probe, false},
	{"report", "write one page with plots, laws and settings", cmd_report, false},
	{"restore", "put every knob back that was left changed", cmd_restore, false},
	{"run", "measure one command", cmd_run, false},
	{"sim", "simulate GPUs, clusters and sites", cmd_sim, false},
	{"sweep", "measure a job at every combination of settings", cmd_sweep, false},
	{"version", "say which version this is", cmd_version, false},
};

int main(int argc, char **argv)
{
	return cmd_main(commands, sizeof(commands) / sizeof(commands[0]), argc, argv);
}
