/* commands.h: the function of every subcommand, one line each, sorted. */
#ifndef WATTLAW_CMD_COMMANDS_H
#define WATTLAW_CMD_COMMANDS_H

int cmd_export(int argc, char **argv);
int cmd_fit(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_keeper(int argc, char **argv);
int cmd_node(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_sim_exec(int argc, char **argv);
int cmd_sim_job(int argc, char **argv);
int cmd_sim_profiles(int argc, char **argv);
int cmd_sim_calibrate(int argc, char **argv);
int cmd_sim_site(int argc, char **argv);
int cmd_sim_state(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
