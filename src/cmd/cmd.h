/* cmd.h: what the subcommands share: exit codes, messages to stderr, options, the progress bar.
 *
 * This layer alone prints. Results go to stdout, all else to stderr. A subcommand is one function
 * that gets its own arguments (argv[0] is its name) and returns the exit code; its file is
 * src/cmd/<name>.c and its line stands in the table of src/main.c. State here is that of the
 * process; only the main thread calls these, except that messages may come from any thread.
 */
#ifndef WATTLAW_CMD_CMD_H
#define WATTLAW_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bar.h"
#include "base/opt.h"
#include "base/status.h"

/* `run` keeps the job's own code instead (126, 127, 128+n as a shell does). */
enum cmd_exit {
	CMD_DONE = 0,
	CMD_FAILED = 1,
	CMD_USAGE = 2,
	CMD_PARTIAL = 3, /* some of it worked, and the output says what did not */
	CMD_NO_ANSWER = 4, /* no setting within the bound that was asked for */
	CMD_OWN_FAILURE = 125 /* we failed before the job started */
};

struct command {
	const char *name;
	const char *summary; /* one line in `wattlaw help` */
	int (*run)(int argc, char **argv);
	bool hidden; /* internal: not in the help, never suggested */
};

/* Everything main() does: help, --version, the subcommand, and whether its output was written. */
int cmd_main(const struct command *commands, size_t n, int argc, char **argv);

/* The subcommand of a subcommand: `wattlaw sim site …`. Help, unknown parts, and the part's name in
 * messages; the part gets "sim site" as its argv[0]. what is one sentence for the help. */
int cmd_group(const char *what, const struct command *parts, size_t n, int argc, char **argv);

/* One line on stderr, "wattlaw sweep: error: …". */
void cmd_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cmd_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* As above without a word for its weight; nothing after cmd_set_quiet(true). */
void cmd_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cmd_set_quiet(bool quiet);

/* Print e and give the exit code of its status: what the user wrote wrong is 2, else 1. */
int cmd_fail(const struct err *e);
/* "wattlaw sweep: …; see 'wattlaw sweep --help'" and 2. */
int cmd_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "unknown format 'x'; did you mean 'y'?", or all the names where none is near; and 2. */
int cmd_unknown(const char *what, const char *name, const char *const *names, size_t n);

/* Parse the options of a subcommand; its section in configuration files is argv[0]. False when
 * there is nothing more to do: help was printed, or an error; *code is then the exit code. */
bool cmd_parse(struct opt_set *set, const struct opt_help *help, const struct opt *table, void *dst,
	int argc, char **argv, int *operand, int *code);

/* stdout, or stderr, is a terminal that wants colour (NO_COLOR, TERM=dumb). fd is 1 or 2. */
bool cmd_color(int fd);

/* The one progress bar. While it is shown, messages erase it first; cmd_bar_show draws it again.
 * The bar is borrowed until cmd_bar_end, which also erases it. */
void cmd_bar_begin(struct bar *b, bool quiet, double total);
void cmd_bar_show(const char *label, size_t i, size_t n);
void cmd_bar_end(void);

#endif
