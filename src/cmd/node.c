/* node.c: `wattlaw node --rank -- CMD`: put in front of every rank by the executor.
 *
 * Makes the rank's CPU group, joins it, pins the rank to CPUs of its own where there are enough,
 * waits for its rate where the whole job is measured at one, and becomes the command. Without a
 * wattlaw around it, it only becomes the command.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "cmd/cmd.h"
#include "hw/cgroup.h"

#define GO_NS (10 * NS_PER_S)

struct node_opts {
	bool rank;
};

static const struct opt table[] = {
	{.type = OPT_FLAG,
		.name = "rank",
		.offset = offsetof(struct node_opts, rank),
		.help = "run CMD as a rank: in a CPU group and on CPUs of its own",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw node --rank -- CMD…",
	.summary =
		"Start one rank of a measured job; the executor puts this in front of the command.",
	.more = "The rank is taken from the launcher (Open MPI, PMI, Slurm), the run from "
		"WATTLAW_RUN.\n"
		"Exit codes: those of CMD; 125 when the rank could not be set up, 126 and 127 as a "
		"shell.",
};

/* The first of these that is set to a number, or -1. */
static long env_number(const char *const *names)
{
	for (; *names; names++) {
		const char *v = getenv(*names);
		long long n;

		if (v && str_to_i64(v, &n) && n >= 0 && n < 1 << 20)
			return (long)n;
	}
	return -1;
}

/* WATTLAW_NODE=cpus=N[,go=PATH] */
static void node_params(int *cpus, const char **go)
{
	const char *p = getenv("WATTLAW_NODE");
	const char *g = p ? strstr(p, ",go=") : NULL;

	*cpus = 1;
	*go = g ? g + 4 : NULL;
	if (p && !strncmp(p, "cpus=", 5))
		*cpus = (int)strtol(p + 5, NULL, 10);
	if (*cpus < 1)
		*cpus = 1;
}

static const char *env_of_process(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

static int usable_cpus(void)
{
	cpu_set_t have;
	int online = (int)sysconf(_SC_NPROCESSORS_ONLN);
	int affinity = sched_getaffinity(0, sizeof have, &have) ? online : CPU_COUNT(&have);

	return cgroup_rank_cpus(env_of_process, NULL, affinity, online);
}

/* Rank r of n gets the r-th slice of the CPUs this process may use; nothing when they do not
 * suffice: an unpinned rank is slower, a rank sharing a pinned CPU is wrong. */
static void pin(long rank, long n_ranks, int cpus)
{
	cpu_set_t have, mine;
	long skip = rank * cpus, taken = 0;

	if (sched_getaffinity(0, sizeof have, &have) || CPU_COUNT(&have) < n_ranks * cpus)
		return;
	CPU_ZERO(&mine);
	for (int c = 0; c < CPU_SETSIZE && taken < cpus; c++)
		if (CPU_ISSET(c, &have) && skip-- <= 0) {
			CPU_SET(c, &mine);
			taken++;
		}
	(void)sched_setaffinity(0, sizeof mine, &mine);
}

/* The keeper makes this file once the rate is set. */
static bool wait_go(const char *path)
{
	struct clock *c = clock_system();
	int64_t until = c->now(c) + GO_NS;

	while (access(path, F_OK)) {
		if (c->now(c) > until)
			return false;
		(void)c->sleep_until(c, c->now(c) + 5 * NS_PER_MS);
	}
	return true;
}

/* A group that is still empty may be taken for a leftover and removed between the two steps. */
static enum status enter_group(int root, const char *run, int rank, int cpus, struct err *e)
{
	char path[4096];
	enum status st = ST_OK;

	for (int i = 0; i < 5; i++) {
		st = cgroup_group_create(root, run, rank, cpus, path, sizeof path, e);
		if (st == ST_OK)
			st = cgroup_join(root, path, 0, e);
		if (st != ST_NOT_FOUND)
			break;
	}
	return st;
}

static int set_up(const char *run, long rank, long n_ranks)
{
	struct err e = ERR_INIT;
	const char *go;
	int cpus, used, root, code = CMD_DONE;

	node_params(&cpus, &go);
	/* A rate is a share of what the rank can use: one thread cannot use two CPUs. */
	used = usable_cpus();
	if (used < cpus)
		cpus = used;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || enter_group(root, run, (int)rank, cpus, &e)) {
		cmd_error("rank %ld: %s", rank, root < 0 ? strerror(errno) : e.msg);
		code = CMD_OWN_FAILURE;
		goto out;
	}
	pin(rank, n_ranks, cpus);
	if (go && !wait_go(go)) {
		cmd_error("rank %ld: its CPU rate was not set in time", rank);
		code = CMD_OWN_FAILURE;
	}
out:
	if (root >= 0)
		close(root);
	return code;
}

int cmd_node(int argc, char **argv)
{
	static const char *const rank_env[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
		"SLURM_LOCALID", "PMI_LOCAL_RANK", "PMI_RANK", NULL};
	static const char *const size_env[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
		"SLURM_NTASKS_PER_NODE", "PMI_LOCAL_SIZE", "PMI_SIZE", NULL};
	struct opt_set *set = opt_set_new();
	struct node_opts o = {0};
	const char *run = getenv("WATTLAW_RUN");
	int operand, code = CMD_DONE;
	long rank, n;

	if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
		goto out;
	if (operand >= argc) {
		code = cmd_usage("give the command of the rank after --");
		goto out;
	}
	rank = env_number(rank_env);
	n = env_number(size_env);
	if (o.rank && run && getenv("WATTLAW_NODE")) {
		code = set_up(run, rank < 0 ? 0 : rank, n < 1 ? 1 : n);
		if (code != CMD_DONE)
			goto out;
	}
	execvp(argv[operand], argv + operand);
	code = errno == ENOENT || errno == ENOTDIR ? 127 : 126;
	cmd_error("cannot run %s: %s", argv[operand], strerror(errno));
out:
	opt_set_free(set);
	return code;
}
