/* sim_job.c: `wattlaw sim job`: a training job on simulated GPUs, in real time. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "sim/job.h"
#include "wattlaw/mark.h"

struct job_opts {
	int64_t steps, ranks, scale_ppm, duration_ns, warmup;
	double link;
	bool progress, no_noise;
};

static const struct opt table[] = {
	{.type = OPT_INT,
		.short_name = 'n',
		.name = "steps",
		.offset = offsetof(struct job_opts, steps),
		.min = 0,
		.max = INT64_C(1000000000000),
		.arg = "N",
		.help = "end after N steps; 0 = until a signal",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_UNIT,
		.short_name = 't',
		.name = "time",
		.unit = UNIT_TIME,
		.offset = offsetof(struct job_opts, duration_ns),
		.min = 0,
		.max = INT64_C(1000000000) * 86400 * 365,
		.arg = "TIME",
		.help = "end after this time; 0 = no bound",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_INT,
		.short_name = 'r',
		.name = "ranks",
		.offset = offsetof(struct job_opts, ranks),
		.min = 0,
		.max = WORLD_RANKS,
		.arg = "N",
		.help = "ranks of this process, one device each; default 1, or what the launcher "
			"says",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_UNIT,
		.name = "scale",
		.unit = UNIT_RATIO,
		.offset = offsetof(struct job_opts, scale_ppm),
		.def = "100%",
		.min = 100,
		.max = 100000000,
		.arg = "PERCENT",
		.help = "length of a step relative to the profile: 10% makes tests short"},
	{.type = OPT_DOUBLE,
		.name = "link",
		.offset = offsetof(struct job_opts, link),
		.def = "10",
		.min = 0,
		.max = 0,
		.arg = "GB-PER-S",
		.help = "bandwidth of the link between ranks"},
	{.type = OPT_FLAG,
		.name = "no-noise",
		.offset = offsetof(struct job_opts, no_noise),
		.help = "steps of equal length"},
	{.type = OPT_FLAG,
		.name = "progress",
		.offset = offsetof(struct job_opts, progress),
		.help = "print a line for each step"},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw sim job PROFILE [--steps N] [--ranks N] [--scale PERCENT]",
	.summary = "A training job on simulated GPUs: it loads them in real time and slows under "
		   "caps and clocks.",
	.more = "Runs inside `wattlaw sim exec`. PROFILE is a workload (wattlaw sim profiles) or a "
		"profile file.\n"
		"It takes the devices CUDA_VISIBLE_DEVICES names, and its rank from mpirun or "
		"srun;\nit marks steps for whoever measures it.\n\n"
		"Example:\n"
		"  wattlaw sim exec --gpus v100:1 -- wattlaw sim job resnet50 --steps 20 --scale "
		"10%\n",
};

static volatile sig_atomic_t stop;

static void on_stop(int sig)
{
	stop = sig;
}

static int env_int(const char *const *names, int missing)
{
	for (; *names; names++) {
		const char *v = getenv(*names);
		char *end;
		long n;

		if (!v || !*v)
			continue;
		n = strtol(v, &end, 10);
		if (!*end && n >= 0 && n < 1000000)
			return (int)n;
	}
	return missing;
}

/* The same in every process of one launch, different between launches. */
static uint64_t launch_key(bool alone)
{
	static const char *const ids[] = {"WATTLAW_JOB_KEY", "OMPI_MCA_ess_base_jobid",
		"PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID"};
	uint64_t h = UINT64_C(1469598103934665603);
	bool found = false;

	for (size_t i = 0; !alone && i < sizeof(ids) / sizeof(ids[0]); i++) {
		const char *v = getenv(ids[i]);

		for (; v && *v; v++) {
			h = (h ^ (unsigned char)*v) * UINT64_C(1099511628211);
			found = true;
		}
	}
	if (!found) {
		struct timespec ts;

		clock_gettime(CLOCK_MONOTONIC, &ts);
		h ^= (uint64_t)getpid() << 32 ^ (uint64_t)ts.tv_nsec ^ (uint64_t)ts.tv_sec << 20;
	}
	return h;
}

/* Which ranks this process plays, on which devices. */
static enum status place(
	const struct scenario *s, const struct job_opts *o, struct job_spec *spec, struct err *e)
{
	static const char *const rank[] = {
		"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK", NULL};
	static const char *const size[] = {
		"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE", NULL};
	static const char *const local[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
		"SLURM_LOCALID", "LOCAL_RANK", NULL};
	int gpu[SIM_GPUS], n = job_visible(s, getenv("CUDA_VISIBLE_DEVICES"), gpu, &spec->share);
	int procs = env_int(size, 1), first;

	spec->n_mine = o->ranks > 0 ? (int)o->ranks : 1;
	spec->n_ranks = procs * spec->n_mine;
	spec->first_rank = env_int(rank, 0) * spec->n_mine;
	first = n >= spec->n_mine * (env_int(local, 0) + 1) ? env_int(local, 0) * spec->n_mine : 0;
	spec->key = launch_key(procs == 1);
	if (n == 0)
		return err_set(e, ST_NOT_FOUND,
			"CUDA_VISIBLE_DEVICES leaves no simulated device to this process");
	if (n < spec->n_mine)
		return err_set(
			e, ST_NOT_FOUND, "%d ranks, but %d devices are visible", spec->n_mine, n);
	for (int k = 0; k < spec->n_mine; k++)
		spec->gpu[k] = gpu[first + k];
	return ST_OK;
}

static enum status train(struct job *j, const struct job_opts *o, const struct workload *w,
	int n_mine, struct err *e)
{
	struct clock *clk = clock_system();
	int64_t start = clk->now(clk), last = start, t = start;
	enum status st = ST_OK;

	while (!stop && (o->steps == 0 || (int64_t)job_steps(j) < o->steps) &&
		(o->duration_ns == 0 || clk->now(clk) - start < o->duration_ns)) {
		st = job_step(j, clk->now(clk) + 200 * NS_PER_MS, &t, e);
		if (st == ST_AGAIN) {
			st = ST_OK;
			continue;
		}
		if (st)
			break;
		wl_step((uint64_t)(w->batch * n_mine));
		/* A loss that falls like that of real training, so that readers have one. */
		wl_loss(1 + 5 / (1 + 0.02 * (double)job_steps(j)));
		if (o->progress) {
			printf("step %" PRIu64 " %.3f ms\n", job_steps(j),
				(double)(t - last) / 1e6);
			fflush(stdout);
		}
		last = t;
	}
	if (!st)
		printf("%s (simulated): %" PRIu64 " steps, %.3f s, %.3f ms a step\n", w->name,
			job_steps(j), (double)(t - start) / 1e9,
			job_steps(j) ? (double)(t - start) / 1e6 / (double)job_steps(j) : 0);
	return st;
}

/* "PROFILE --steps 5" is as good as "--steps 5 PROFILE". */
static void profile_last(int argc, char **argv)
{
	char *profile;

	if (argc < 3 || argv[1][0] == '-')
		return;
	profile = argv[1];
	memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof(*argv));
	argv[argc - 1] = profile;
}

int cmd_sim_job(int argc, char **argv)
{
	const char *state = getenv("WATTLAW_SIM_STATE");
	struct opt_set *set = opt_set_new();
	struct job_opts o = {0};
	struct job_spec spec = {.comm_ns = -1, .noise = -1};
	struct sigaction sa = {.sa_handler = on_stop};
	struct world_map *m = NULL;
	struct err e = ERR_INIT;
	struct job *j = NULL;
	struct workload w;
	enum status st;
	int operand, code = CMD_DONE;

	profile_last(argc, argv);
	if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
		goto out;
	if (operand + 1 != argc) {
		code = cmd_usage("one profile is needed; see 'wattlaw sim profiles'");
		goto out;
	}
	st = profile_workload(argv[operand], &w, &e);
	if (!st && !state)
		st = err_set(&e, ST_NOT_FOUND,
			"no simulated devices here; run it inside 'wattlaw "
			"sim exec --gpus v100:1 -- …'");
	if (!st)
		st = world_open(state, &m, &e);
	if (!st)
		st = place(world_scenario(m), &o, &spec, &e);
	spec.workload = &w;
	spec.time_scale = (double)o.scale_ppm / 1e6;
	spec.link_gbytes_s = o.link;
	spec.max_steps = (uint64_t)o.steps;
	if (o.no_noise)
		spec.noise = 0;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	if (!st)
		st = job_start(state, &spec, &j, &e);
	if (!st) {
		wl_rank(spec.first_rank, spec.n_ranks);
		wl_job((uint64_t)w.gradient_bytes, (uint64_t)w.batch,
			(uint64_t)(w.batch * spec.n_ranks));
		wl_phase_begin("train");
		st = train(j, &o, &w, spec.n_mine, &e);
		wl_phase_end();
	}
	job_end(j);
	world_close(m);
	if (st)
		code = cmd_fail(&e);
out:
	opt_set_free(set);
	/* A job that was asked to end says so as real ones do. */
	if (stop && code == CMD_DONE && o.steps > 0)
		code = 128 + stop;
	return code;
}
