/* commands.h: the function of every subcommand, one line each, sorted. */
#ifndef WATTLAW_CMD_COMMANDS_H
#define WATTLAW_CMD_COMMANDS_H

int cmd_version(int argc, char **argv);

#endif
