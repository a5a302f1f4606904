/* sim_exec.c: `wattlaw sim exec`: run a command on a host with simulated GPUs. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "sim/host.h"

struct exec_opts {
	const char *gpus, *scenario, *dir;
};

static const struct opt table[] = {
	{.type = OPT_TEXT,
		.short_name = 'g',
		.name = "gpus",
		.offset = offsetof(struct exec_opts, gpus),
		.arg = "NAME:N",
		.help = "devices, as v100:4 or a100:2,h100:2 (see wattlaw sim profiles)",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_TEXT,
		.short_name = 's',
		.name = "scenario",
		.offset = offsetof(struct exec_opts, scenario),
		.arg = "FILE",
		.help = "what the devices are and what happens to them (INI)",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_TEXT,
		.name = "dir",
		.offset = offsetof(struct exec_opts, dir),
		.arg = "DIR",
		.help = "keep the devices in this directory: several commands, one after the other "
			"or at once, see the same ones",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw sim exec --gpus NAME:N [--scenario FILE] [--dir DIR] -- CMD…",
	.summary = "Run a command that sees simulated GPUs through NVML.",
	.more = "Every NVML client in CMD (wattlaw itself, nvtop, Python) finds the devices in the "
		"place of\nlibnvidia-ml.so.1. They are simulated and say so to wattlaw.\n\n"
		"Example:\n"
		"  wattlaw sim exec --gpus v100:2 -- wattlaw run -- wattlaw sim job resnet50\n\n"
		"Exit code: that of CMD (126, 127, 128+n as a shell); 125 when the devices could "
		"not "
		"be made.\n",
};

static volatile sig_atomic_t child_pid;

static void forward(int sig)
{
	int saved = errno;

	if (child_pid > 0)
		kill((pid_t)child_pid, sig);
	errno = saved;
}

/* SIGINT and SIGQUIT of a terminal reach CMD by themselves; what is sent to us alone is passed on.
 */
static void set_signals(void)
{
	struct sigaction sa = {.sa_handler = forward};

	sigemptyset(&sa.sa_mask);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

static int run_command(char **argv)
{
	sigset_t all, old;
	int status, code;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	pid = fork();
	if (pid < 0) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		cmd_error("cannot fork: %s", strerror(errno));
		return CMD_OWN_FAILURE;
	}
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		execvp(argv[0], argv);
		code = errno == ENOENT ? 127 : 126;
		cmd_error("cannot run '%s': %s", argv[0], strerror(errno));
		_exit(code);
	}
	child_pid = pid;
	set_signals();
	sigprocmask(SIG_SETMASK, &old, NULL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return CMD_OWN_FAILURE;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static enum status read_scenario(const struct exec_opts *o, struct scenario *s, struct err *e)
{
	enum status st = ST_OK;

	scenario_init(s);
	if (o->gpus)
		st = scenario_gpus(s, o->gpus, e);
	if (!st && o->scenario)
		st = scenario_file(s, o->scenario, e);
	return st ? st : scenario_finish(s, e);
}

/* The directory to use; *made when it is ours to remove. */
static enum status find_dir(
	const struct exec_opts *o, char *dir, size_t size, bool *fresh, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	struct stat sb;

	*fresh = true;
	if (o->dir) {
		char state[4200];

		snprintf(dir, size, "%s", o->dir);
		snprintf(state, sizeof(state), "%s/state", dir);
		*fresh = stat(state, &sb) != 0;
		if (*fresh && mkdir(dir, 0755) && errno != EEXIST)
			return err_errno(e, errno, "cannot create '%s'", dir);
		return ST_OK;
	}
	snprintf(dir, size, "%s/wattlaw-sim.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return err_errno(e, errno, "cannot create '%s'", dir);
	/* Jobs of other users may look in. */
	chmod(dir, 0755);
	return ST_OK;
}

int cmd_sim_exec(int argc, char **argv)
{
	static struct scenario scn; /* large */
	struct opt_set *set = opt_set_new();
	struct exec_opts o = {0};
	struct err e = ERR_INIT;
	char dir[4096];
	bool fresh = false;
	enum status st;
	int operand, code = CMD_DONE;

	if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
		goto out;
	if (operand >= argc) {
		code = cmd_usage("no command; write it after --");
		goto out;
	}
	st = find_dir(&o, dir, sizeof(dir), &fresh, &e);
	if (!st && fresh) {
		st = read_scenario(&o, &scn, &e);
		if (!st)
			st = host_make(dir, &scn, &e);
		if (st && !o.dir)
			host_remove(dir);
	} else if (!st && (o.gpus || o.scenario)) {
		cmd_warn("'%s' has devices already; --gpus and --scenario are ignored", dir);
	}
	if (!st)
		st = host_env(dir, &e);
	if (st) {
		code = cmd_fail(&e);
		code = code == CMD_USAGE ? CMD_USAGE : CMD_OWN_FAILURE;
		goto out;
	}
	code = run_command(argv + operand);
	if (!o.dir)
		host_remove(dir);
out:
	opt_set_free(set);
	return code;
}
