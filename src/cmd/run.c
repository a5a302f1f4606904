/* run.c: `wattlaw run`: measure one command and exit with its code.
 *
 * The job owns stdout and stderr while it runs, and its exit code whatever happened to the
 * measurement. What we have to say goes to stderr, before and after it; --json to a file, or to
 * stdout after the job's own output.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/db.h"
#include "cmd/rows.h"
#include "exec/leader.h"
#include "exec/salvage.h"
#include "hw/control.h"
#include "record/record_json.h"

struct run_opts {
	const char *db, *json, *devices, *progress, *name, *domain, *task, *sensors;
	int64_t period_ns, idle_ns, wait_ns, warmup_steps;
	bool quiet;
};

#define O(field) offsetof(struct run_opts, field)

static const struct opt table[] = {
	{.type = OPT_GROUP, .help = "What is measured"},
	ROW_DEVICES(O(devices)),
	ROW_PERIOD(O(period_ns)),
	{.type = OPT_UNIT,
		.unit = UNIT_TIME,
		.name = "idle",
		.offset = O(idle_ns),
		.def = "0s",
		.min = 0,
		.max = 3600 * NS_PER_S,
		.arg = "TIME",
		.help = "measure idle power for so long before the job, to give energy net of it"},
	{.type = OPT_UNIT,
		.unit = UNIT_TIME,
		.name = "wait-sensors",
		.offset = O(wait_ns),
		.def = "300ms",
		.min = 0,
		.max = 600 * NS_PER_S,
		.arg = "TIME",
		.help = "how long the job may wait for drivers to open; one that answers later is "
			"read from then on"},
	{.type = OPT_TEXT,
		.name = "progress",
		.offset = O(progress),
		.arg = "REGEX",
		.help = "a line of output that matches is a step; a group in it is the step's "
			"number",
		.flags = OPT_NO_CWD},
	{.type = OPT_INT,
		.short_name = 'w',
		.name = "warmup",
		.offset = O(warmup_steps),
		.def = "5",
		.min = 0,
		.max = 1000000000,
		.arg = "STEPS",
		.help = "steps before the steady phase"},
	ROW_SENSORS(O(sensors)),
	{.type = OPT_GROUP, .help = "How it is kept"},
	{.type = OPT_TEXT,
		.name = "name",
		.offset = O(name),
		.arg = "NAME",
		.help = "name of the workload; default: from the command",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_TEXT,
		.name = "domain",
		.offset = O(domain),
		.arg = "NAME",
		.help = "language, vision, chemistry, ..."},
	{.type = OPT_TEXT,
		.name = "task",
		.offset = O(task),
		.arg = "NAME",
		.help = "classification, ..."},
	ROW_DB(O(db)),
	{.type = OPT_TEXT,
		.name = "json",
		.offset = O(json),
		.arg = "FILE",
		.help = "write the run as JSON to FILE; - is stdout, after the job's output",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_FLAG,
		.short_name = 'q',
		.name = "quiet",
		.offset = O(quiet),
		.help = "no summary on stderr"},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw run [options] -- CMD…",
	.summary = "Measure the time and energy of one command, and exit with its exit code.",
	.more = "The command keeps stdin, stdout, stderr, its terminal and its signals. The "
		"summary goes to\n"
		"stderr. A driver that hangs, a full disk or a killed wattlaw does not touch the "
		"command.\n"
		"\n"
		"Exit codes: those of CMD (128+n when a signal ended it); 126 CMD cannot be run, "
		"127 CMD not\n"
		"found, 2 usage, 125 wattlaw failed before CMD was started.",
};

/* A signal sent to us alone is meant for the job; one from the terminal has reached it already. One
 * that comes before we know the job is kept for it. */
static volatile sig_atomic_t job_fd = -1, early_signal;

static void forward(int sig, siginfo_t *si, void *context)
{
	int saved = errno;

	(void)context;
	if (si->si_code != SI_USER && si->si_code != SI_QUEUE && si->si_code != SI_TKILL)
		return;
	if (job_fd >= 0)
		(void)pidfd_send_signal(job_fd, sig, NULL, 0);
	else
		early_signal = sig;
	errno = saved;
}

static void signals_to(const struct job *job)
{
	job_fd = job->pidfd;
	if (early_signal && job_fd >= 0)
		(void)pidfd_send_signal(job_fd, early_signal, NULL, 0);
	early_signal = 0;
}

static void catch_signals(void)
{
	static const int sigs[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

	for (size_t i = 0; i < sizeof sigs / sizeof *sigs; i++) {
		struct sigaction sa = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO}, old;

		/* What is ignored stays ignored, in the job too (nohup, background jobs of sh). */
		if (!sigaction(sigs[i], NULL, &old) && old.sa_handler != SIG_IGN)
			(void)sigaction(sigs[i], &sa, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
}

/* "python3 train.py" is train.py: the first word that says what is done. */
static const char *workload_of(char *const *argv)
{
	static const char *const wrappers[] = {
		"python", "bash", "sh", "env", "perl", "nice", "time"};
	const char *first = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];

	for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
		if (!str_starts(first, wrappers[i]) || !argv[1] || argv[1][0] == '-' ||
			strpbrk(argv[1], " \t\n="))
			continue;
		return strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1];
	}
	return first;
}

static enum status fill(
	struct run_opts *o, char **argv, const char *run_id, struct run_rec *rec, struct err *e)
{
	size_t n = 0;

	while (argv[n])
		n++;
	if (!rec_set(&rec->run_id, run_id) || !rec_set(&rec->launch, run_id) ||
		!rec_set(&rec->workload, o->name ? o->name : workload_of(argv)) ||
		!rec_set(&rec->domain, o->domain) || !rec_set(&rec->task, o->task) ||
		!rec_set(&rec->version, WATTLAW_VERSION) ||
		!run_rec_command(rec, (const char *const *)argv, n))
		return err_set(e, ST_NOMEM, "out of memory");
	return ST_OK;
}

static void say_energy(const struct run_rec *r)
{
	char e[64], mean[80] = "", net[64] = "";
	double secs = r->wall_ns.st == ST_OK ? (double)r->wall_ns.v / 1e9 : NAN;

	if (r->energy_uj.st != ST_OK && r->energy_uj.st != ST_PARTIAL) {
		cmd_note("energy is unknown: %s",
			r->energy_note ? r->energy_note : "no sensor answered");
		return;
	}
	unit_format_short(UNIT_ENERGY, (double)r->energy_uj.v, 4, e, sizeof e);
	/* A part of the energy over the whole time would be no power. */
	if (r->energy_uj.st == ST_OK && secs > 0) {
		strcpy(mean, ", mean ");
		unit_format_short(UNIT_POWER, (double)r->energy_uj.v / 1e3 / secs, 4, mean + 7,
			sizeof mean - 7);
	}
	if (r->net_uj.st == ST_OK) {
		strcpy(net, ", net ");
		unit_format_short(UNIT_ENERGY, (double)r->net_uj.v, 4, net + 6, sizeof net - 6);
	}
	cmd_note("energy %s%s%s%s (%s, by %s%s%s)",
		r->energy_uj.st == ST_PARTIAL ? "at least " : "", e, net, mean,
		r->scope ? r->scope : "measured components", energy_method_name(r->method),
		r->simulated ? ", simulated" : "", r->energy_note ? ", partial" : "");
	if (r->energy_note)
		cmd_note("%s", r->energy_note);
}

/* path: of the database that has the run now, or NULL */
static void summary(const struct run_rec *r, const char *path)
{
	const struct train_rec *t = &r->train;
	char wall[64], step[64];

	unit_format_short(UNIT_TIME, (double)r->wall_ns.v, 4, wall, sizeof wall);
	cmd_note("%s: %s, exit code %d", r->workload, wall, r->exit_code);
	if (t->window_steps.st == ST_OK && t->window_ns.st == ST_OK && t->window_steps.v > 0) {
		unit_format_short(UNIT_TIME, (double)t->window_ns.v / (double)t->window_steps.v, 4,
			step, sizeof step);
		cmd_note("%lld steps, %s a step%s", (long long)t->steps.v, step,
			t->steady ? "" : " (the step time was not steady)");
	}
	say_energy(r);
	for (size_t i = 0; i < r->n_warnings; i++)
		cmd_warn("%s", r->warnings[i]);
	if (path)
		cmd_note("run %s in %s", r->run_id, path);
}

static bool write_json(const char *to, const struct run_rec *rec)
{
	struct str s = STR_INIT;
	FILE *f = strcmp(to, "-") ? fopen(to, "we") : stdout;
	bool good = f && json_line(run_rec_json(rec), &s) && fwrite(s.p, 1, s.len, f) == s.len &&
		    fflush(f) == 0;

	if (f && f != stdout)
		good &= fclose(f) == 0;
	if (!good)
		cmd_warn("cannot write %s: %s", to, strerror(errno));
	str_release(&s);
	return good;
}

static void keep(struct db *db, struct run_opts *o, struct launch *l, const struct run_rec *rec)
{
	struct err e = ERR_INIT;
	bool kept = db_put(db, rec, &e) == ST_OK;

	if (kept)
		salvage_remove(launch_shard(l));
	else
		cmd_warn("the run could not be stored (%s); its shard stays in %s for the next "
			 "wattlaw command",
			e.msg, db->dir);
	if (!o->quiet)
		summary(rec, kept ? db->path : NULL);
	if (o->json)
		write_json(o->json, rec);
}

/* Until the job has ended and its record is here, or will not come. Returns the exit code. */
static int follow(struct launch *l, struct run_opts *o, struct db *db)
{
	struct launch_event ev;
	int code = CMD_OWN_FAILURE;
	enum status st;

	for (;;) {
		st = launch_next(l, clock_system()->now(clock_system()) + 3600 * NS_PER_S, &ev);
		if (st == ST_AGAIN || st == ST_CANCELLED)
			continue;
		if (st != ST_OK || ev.what == LAUNCH_OVER)
			return code;
		switch (ev.what) {
		case LAUNCH_WARN:
			cmd_warn("%s", ev.text);
			break;
		case LAUNCH_EXITED:
			job_fd = -1;
			code = ev.code;
			if (launch_why(l)[0])
				cmd_error("%s", launch_why(l));
			break;
		case LAUNCH_RECORD:
			keep(db, o, l, &ev.rec);
			break;
		default:
			break;
		}
		run_rec_release(&ev.rec);
	}
}

static int measure(struct run_opts *o, char **argv)
{
	struct hello hello = {.mode = LAUNCH_RUN,
		.period_ns = o->period_ns,
		.idle_ns = o->idle_ns,
		.open_ns = o->wait_ns,
		.warmup_steps = o->warmup_steps,
		.devices = (char *)(uintptr_t)o->devices,
		.only = (char *)(uintptr_t)o->sensors,
		.progress = o->progress != NULL};
	struct point_msg point = {.ticket = 1};
	struct launch_req req = {.out_fd = -1,
		.hello = &hello,
		.points = &point,
		.n_points = 1,
		.argv = argv,
		.progress = o->progress,
		.end_wait_ns = 2 * NS_PER_S};
	char run_id[17], host[256], control[4096];
	struct launch *l = NULL;
	struct err e = ERR_INIT;
	struct db db;
	enum status st;
	int code;

	run_rec_init(&point.rec);
	st = db_open(&db, o->db, &e);
	if (st != ST_OK) {
		code = cmd_fail(&e);
		return code == CMD_USAGE ? code : CMD_OWN_FAILURE;
	}
	run_id_make(run_id);
	hello.run_id = run_id;
	hello.host = (char *)(uintptr_t)db_host(host, sizeof host);
	hello.shard_dir = db.dir;
	hello.control_dir = control;
	st = control_dir(db.dir, control, sizeof control, &e);
	if (st == ST_OK)
		st = fill(o, argv, run_id, &point.rec, &e);
	if (st == ST_OK) {
		catch_signals();
		st = launch_start(&req, &l, &e);
	}
	if (st == ST_OK) {
		signals_to(launch_job(l));
		code = follow(l, o, &db);
	} else {
		code = cmd_fail(&e);
		code = code == CMD_USAGE ? code : CMD_OWN_FAILURE;
	}
	launch_close(l);
	run_rec_release(&point.rec);
	db_close(&db);
	return code;
}

int cmd_run(int argc, char **argv)
{
	struct opt_set *set = opt_set_new();
	struct run_opts o = {0};
	int operand, code = CMD_DONE;

	if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
		goto out;
	if (operand >= argc) {
		code = cmd_usage("no command: wattlaw run [options] -- CMD…");
		goto out;
	}
	cmd_set_quiet(o.quiet);
	code = measure(&o, argv + operand);
out:
	opt_set_free(set);
	return code;
}
