/* sweep.c: `wattlaw sweep`: every combination of the axes, measured, kept and resumable.
 *
 * Results go to stdout (a table, or --json lines), all else to stderr. The jobs' own output goes to
 * a log beside the database, kept when a job fails.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/db.h"
#include "cmd/point_json.h"
#include "cmd/rows.h"
#include "cmd/sweep_out.h"
#include "exec/exec_local.h"
#include "exec/exec_sim.h"
#include "hw/control.h"
#include "sweep/campaign.h"

struct sweep_opts {
	const char *db, *devices, *sensors, *simulate;
	struct opt_strings axes, ranges;
	int64_t repeats, warmup_ns, point_ns, period_ns, idle_ns, seed, steps_wait_ns;
	double gpu_hours;
	bool dry_run, resume, relaunch, json, quiet, output;
};

#define O(field) offsetof(struct sweep_opts, field)

static const struct opt table[] = {
	{.type = OPT_GROUP, .help = "What is swept"},
	{.type = OPT_LIST,
		.short_name = 'L',
		.name = "axis",
		.offset = O(axes),
		.arg = "NAME=A,B,C",
		.help = "an axis and its values; {NAME} is replaced in the command",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_PAIR2,
		.short_name = 'P',
		.name = "range",
		.offset = O(ranges),
		.arg = "NAME MIN MAX",
		.help = "an axis from MIN to MAX, with -D STEP after it",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_PAIR2,
		.short_name = 'D',
		.name = "step",
		.offset = O(ranges),
		.arg = "STEP",
		.help = "step of the -P before it (1)",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_INT,
		.short_name = 'r',
		.name = "repeats",
		.offset = O(repeats),
		.min = 0,
		.max = 10000,
		.arg = "N",
		.help = "fresh launches of every setting (3)",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_UNIT,
		.unit = UNIT_TIME,
		.short_name = 'w',
		.name = "warmup",
		.offset = O(warmup_ns),
		.arg = "TIME",
		.help = "warm-up of every launch before a setting is counted (3s)",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_UNIT,
		.unit = UNIT_TIME,
		.name = "point-time",
		.offset = O(point_ns),
		.arg = "TIME",
		.help = "how long a setting is held (10s)",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_INT,
		.name = "seed",
		.offset = O(seed),
		.arg = "N",
		.min = 0,
		.max = INT64_MAX,
		.help = "of the random order; default: chosen and stored",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_FLAG,
		.name = "relaunch",
		.offset = O(relaunch),
		.help = "one launch a setting instead of stepping settings inside one",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_DOUBLE,
		.name = "max-gpu-hours",
		.offset = O(gpu_hours),
		.arg = "HOURS",
		.help = "begin no launch once so many GPU hours are used"},
	{.type = OPT_GROUP, .help = "How it is carried out"},
	{.type = OPT_TEXT,
		.name = "simulate",
		.offset = O(simulate),
		.arg = "CLUSTER.ini",
		.help = "in virtual time on a simulated cluster instead of this machine; "
			"everything is "
			"labelled simulated",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_FLAG,
		.short_name = 'n',
		.name = "dry-run",
		.offset = O(dry_run),
		.help = "print the plan and its estimated length, run nothing",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_FLAG,
		.name = "resume",
		.offset = O(resume),
		.help = "go on with the latest campaign of this plan: run what is missing",
		.flags = OPT_NO_CONFIG},
	ROW_DEVICES(O(devices)),
	ROW_SENSORS(O(sensors)),
	ROW_PERIOD(O(period_ns)),
	{.type = OPT_UNIT,
		.unit = UNIT_TIME,
		.name = "idle",
		.offset = O(idle_ns),
		.def = "1s",
		.min = 0,
		.max = 3600 * NS_PER_S,
		.arg = "TIME",
		.help = "idle power is measured for so long before a launch"},
	{.type = OPT_UNIT,
		.unit = UNIT_TIME,
		.name = "first-step",
		.offset = O(steps_wait_ns),
		.def = "120s",
		.min = NS_PER_MS,
		.max = 86400 * NS_PER_S,
		.arg = "TIME",
		.help = "a job without a step for so long is measured whole"},
	{.type = OPT_FLAG,
		.name = "output",
		.offset = O(output),
		.help = "show the jobs' output on stderr"},
	{.type = OPT_GROUP, .help = "How it is kept"},
	ROW_DB(O(db)),
	{.type = OPT_FLAG,
		.name = "json",
		.offset = O(json),
		.help = "print a JSON line for every finished point, then one for the sweep",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_FLAG,
		.short_name = 'q',
		.name = "quiet",
		.offset = O(quiet),
		.help = "no progress bar, no notes"},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw sweep [options] FILE\n"
		 "wattlaw sweep [options] -L NAME=A,B,… -- CMD…",
	.summary = "Measure a job at every combination of settings.",
	.more = "Settings of the hardware (power_limit, clock_max, memory_clock, cpu_rate) are "
		"stepped inside one\n"
		"launch of the job, in random order, the machine's own setting first, in the "
		"middle and last; any\n"
		"other axis must appear as {NAME} in the command and gets launches of its own. A "
		"point that fails\n"
		"is recorded and the sweep goes on. Ctrl-C puts every setting back and leaves the "
		"rest to --resume.\n"
		"\n"
		"Exit codes: 0 every point was measured, 3 some failed, 1 none was measured, 2 a "
		"mistake in FILE or\n"
		"options (nothing was changed), 130 interrupted (128+n by signal n).",
};

static volatile sig_atomic_t stop_flag;

static void on_stop(int sig)
{
	stop_flag = sig;
}

static void catch_signals(void)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = on_stop};

	for (size_t i = 0; i < sizeof sigs / sizeof *sigs; i++) {
		struct sigaction old;

		if (!sigaction(sigs[i], NULL, &old) && old.sa_handler != SIG_IGN)
			(void)sigaction(sigs[i], &sa, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
}

/* What the callbacks need. */
struct show {
	struct sweep_opts *o;
	struct plan *plan;
	struct campaign *campaign;
	struct bar bar;
	char label[160];
	size_t finished, total;
	double per_point_s;
	bool simulated; /* a point was, by --simulate or by the look-alike library */
	bool broken; /* stdout cannot be written */
};

static void print_line(struct show *s, json_t *doc)
{
	struct str line = STR_INIT;

	/* A line at a time, flushed, so that a pipe always holds whole documents. */
	if (!json_line(doc, &line) || fwrite(line.p, 1, line.len, stdout) != line.len ||
		fflush(stdout))
		s->broken = true;
	str_release(&line);
}

/* A setting that the hardware did not take is measured all the same, under what it did take: say
 * so. */
static void warn_not_enforced(const char *key, const struct run_rec *rec)
{
	char asked[40], got[40];

	for (size_t i = 0; i < rec->n_devs; i++)
		for (size_t k = 0; k < rec->devs[i].n_knobs; k++) {
			const struct knob_rec *r = &rec->devs[i].knobs[k];

			if (r->requested.st != ST_OK || r->enforced.st != ST_OK ||
				llabs(r->requested.v - r->enforced.v) <=
					llabs(r->requested.v) / 100)
				continue;
			cmd_warn("%s: %s of %s was asked, %s is enforced on %s", key, r->name,
				unit_format(r->unit, r->requested.v, asked, sizeof(asked)),
				unit_format(r->unit, r->enforced.v, got, sizeof(got)),
				rec->devs[i].key);
		}
}

static void on_point(void *arg, size_t index, const struct run_rec *rec)
{
	struct show *s = arg;
	struct str key = STR_INIT;

	plan_point_key(s->plan, index, &key);
	s->simulated |= rec->simulated;
	s->finished++;
	s->bar.done += s->per_point_s;
	if (rec->state == RUN_FAILED)
		cmd_warn("%s failed: %s", str_cstr(&key),
			rec->n_warnings ? rec->warnings[rec->n_warnings - 1] : "no reason given");
	else if (rec->state != RUN_DONE)
		cmd_warn("%s is %s%s%s", str_cstr(&key), run_state_name(rec->state),
			rec->n_warnings ? ": " : "",
			rec->n_warnings ? rec->warnings[rec->n_warnings - 1] : "");
	if (rec->state != RUN_FAILED)
		warn_not_enforced(str_cstr(&key), rec);
	if (s->o->json)
		print_line(s, point_json(rec));
	str_release(&key);
}

static void on_began(void *arg, uint64_t ticket)
{
	struct show *s = arg;
	struct str key = STR_INIT;

	for (size_t i = 0; i < s->plan->n_points; i++)
		if (s->campaign->ticket && s->campaign->ticket[i] == ticket) {
			plan_point_key(s->plan, i, &key);
			snprintf(s->label, sizeof s->label, "%s", str_cstr(&key));
			str_release(&key);
			return;
		}
}

static void on_idle(void *arg)
{
	struct show *s = arg;

	cmd_bar_show(s->label, s->finished, s->total);
}

static void on_say(void *arg, const char *text)
{
	(void)arg;
	cmd_warn("%s", text);
}

static enum status add_ranges(struct plan *p, const struct opt_strings *r, struct err *e)
{
	enum status st = ST_OK;

	for (size_t i = 0; i < r->n && st == ST_OK;) {
		const char *step = "1";

		if (strcmp(r->v[i], "range"))
			return err_set(e, ST_INVALID, "-D STEP must follow a -P NAME MIN MAX");
		if (i + 5 < r->n && !strcmp(r->v[i + 4], "step"))
			step = r->v[i + 5];
		st = plan_add_range(p, r->v[i + 1], r->v[i + 2], r->v[i + 3], step, e);
		i += step == r->v[i + 5 < r->n ? i + 5 : i] ? 6 : 4;
	}
	return st;
}

static enum status read_plan(
	struct sweep_opts *o, int n, char **operands, bool command, struct plan *p, struct err *e)
{
	enum status st = ST_OK;

	plan_init(p);
	if (!command && n == 1)
		st = plan_read_file(p, operands[0], e);
	for (size_t i = 0; i < o->axes.n && st == ST_OK; i++)
		st = plan_add_axis(p, o->axes.v[i], e);
	if (st == ST_OK)
		st = add_ranges(p, &o->ranges, e);
	if (st == ST_OK && command)
		st = plan_add_command(p, (const char *const *)operands, e);
	if (o->repeats > 0)
		p->repeats = (int)o->repeats;
	if (o->warmup_ns >= 0)
		p->warmup_ns = o->warmup_ns;
	if (o->point_ns > 0)
		p->point_time_ns = o->point_ns;
	if (o->gpu_hours > 0)
		p->max_gpu_hours = o->gpu_hours;
	p->relaunch |= o->relaunch;
	if (o->seed >= 0) {
		p->seed = o->seed;
		p->have_seed = true;
	}
	return st;
}

static int64_t random_seed(void)
{
	uint32_t v = 1;

	if (getrandom(&v, sizeof v, 0) != sizeof v)
		v = (uint32_t)clock_system()->realtime(clock_system());
	return v;
}

static const char *state_of(const struct campaign_result *r)
{
	if (r->interrupted)
		return "interrupted";
	return r->left ? "partial" : r->failed ? "failed points" : "done";
}

static int finish(struct show *s, const struct campaign_result *r, enum status st,
	const struct err *e, const struct db *db)
{
	const struct campaign *c = s->campaign;
	int code = CMD_DONE;

	if (st != ST_OK)
		code = cmd_fail(e) == CMD_USAGE ? CMD_USAGE : CMD_FAILED;
	else if (r->interrupted)
		code = 128 + stop_flag;
	else if (!r->done && r->failed)
		code = CMD_FAILED;
	else if (r->failed || r->left)
		code = CMD_PARTIAL;
	if (s->o->json) {
		print_line(s,
			json_pack("{s:s,s:o,s:b,s:I,s:s,s:I,s:I,s:I,s:I,s:f,s:o}", "schema",
				"wattlaw.sweep/1", "campaign", json_text(c->info.name), "simulated",
				s->simulated || s->o->simulate, "seed", (json_int_t)s->plan->seed,
				"state", st == ST_OK ? state_of(r) : "failed", "points",
				(json_int_t)s->plan->n_points, "done", (json_int_t)r->done,
				"failed", (json_int_t)r->failed, "left", (json_int_t)r->left,
				"gpu_hours", r->gpu_hours, "db", json_text(db->path)));
	} else if (st == ST_OK && !r->interrupted) {
		sweep_print_table(c->store, c->info.id);
	}
	if (r->out_of_hours)
		cmd_warn("the bound of %g GPU hours is reached; --resume goes on",
			s->plan->max_gpu_hours);
	cmd_note("%s: %zu measured, %zu failed, %zu left%s", c->info.name, r->done, r->failed,
		r->left, r->left ? "; --resume goes on" : "");
	if (s->broken && code == CMD_DONE)
		code = CMD_FAILED;
	return code;
}

/* Is the hardware ours to set? Asked before anything is begun. */
static enum status check_hardware(const struct plan *p, void *exec, struct err *e)
{
	struct plan_buf buf;
	struct point pt;
	enum status st = plan_point(p, 0, &buf, &pt, e);
	bool knobs = false;

	if (st != ST_OK)
		return st;
	for (size_t i = 0; i < p->n_axes; i++)
		knobs |= p->axes[i].stepped && !p->axes[i].site;
	if (knobs)
		st = exec_local_check(exec, &pt, e);
	plan_point_release(&buf);
	return st;
}

static uint32_t cpus_per_rank(const struct plan *p)
{
	cpu_set_t set;
	int64_t n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);

	n /= plan_max_workers(p);
	return n < 1 ? 1 : (uint32_t)n;
}

static enum status begin(struct sweep_opts *o, struct campaign *c, void *exec, struct err *e)
{
	enum status st = check_hardware(c->plan, exec, e);

	if (st == ST_OK)
		st = o->resume ? campaign_resume(c, e) : campaign_new(c, false, e);
	return st;
}

/* Tell the length, run, tell the end. The executor and the store's campaign are ready. */
static int run_campaign(struct show *show, struct db *db)
{
	struct campaign *c = show->campaign;
	struct plan *p = show->plan;
	struct campaign_result r = {0};
	struct err e = ERR_INIT;
	bool simulated = show->o->simulate != NULL;
	enum status st;

	show->total = p->n_points;
	show->finished = campaign_n_done(c);
	show->per_point_s = (double)plan_length_ns(p, SWEEP_START_NS) / 1e9 / (double)p->n_points;
	cmd_note("campaign %s: %zu points, %zu to run, about %.0f s%s", c->info.name, p->n_points,
		show->total - show->finished,
		show->per_point_s * (double)(show->total - show->finished),
		simulated ? " of virtual time" : "");
	cmd_bar_begin(&show->bar, show->o->quiet || show->o->json,
		show->per_point_s * (double)show->total);
	show->bar.done = show->per_point_s * (double)show->finished;
	/* Simulated points come by the thousand a second and can be had again: one transaction. */
	st = simulated ? store_begin(db->store, &e) : ST_OK;
	if (st == ST_OK)
		st = campaign_run(c, &r, &e);
	if (simulated && st == ST_OK)
		st = store_commit(db->store, &e);
	else if (simulated)
		store_rollback(db->store);
	cmd_bar_end();
	return finish(show, &r, st, &e, db);
}

static int simulate(struct sweep_opts *o, struct plan *p, struct db *db, struct exec_sim *sim)
{
	struct campaign c = {.plan = p,
		.store = db->store,
		.ops = &exec_sim_ops,
		.exec = sim,
		.stop = &stop_flag,
		.point = on_point};
	struct show show = {.o = o, .plan = p, .campaign = &c};
	struct err e = ERR_INIT;
	int code;

	c.arg = &show;
	if ((o->resume ? campaign_resume(&c, &e) : campaign_new(&c, true, &e)) == ST_OK) {
		cmd_note("%s", exec_sim_describe(sim));
		code = run_campaign(&show, db);
	} else {
		code = cmd_fail(&e);
	}
	campaign_release(&c);
	return code;
}

static int carry_out(struct sweep_opts *o, struct plan *p, struct db *db)
{
	struct campaign c = {.plan = p,
		.store = db->store,
		.ops = &exec_local,
		.stop = &stop_flag,
		.point = on_point,
		.idle = on_idle};
	struct show show = {.o = o, .plan = p, .campaign = &c};
	char host[256], control[4096], holder[256];
	struct local_config cfg = {.host = db_host(host, sizeof host),
		.shard_dir = db->dir,
		.control_dir = control,
		.devices = o->devices,
		.sensors = o->sensors,
		.holder = holder,
		.period_ns = o->period_ns,
		.idle_ns = o->idle_ns,
		.no_steps_ns = o->steps_wait_ns,
		.warmup_steps = 3,
		.cpus_per_rank = cpus_per_rank(p),
		.show_output = o->output,
		.say = on_say,
		.began = on_began,
		.arg = &show};
	struct err e = ERR_INIT;
	enum status st;
	int code;

	c.arg = &show;
	snprintf(holder, sizeof holder, "wattlaw sweep %.200s", p->name);
	(void)mkdir(db->dir, 0777);
	st = control_dir(db->dir, control, sizeof control, &e);
	if (st == ST_OK)
		st = exec_local_new(&cfg, &c.exec, &e);
	if (st == ST_OK)
		st = begin(o, &c, c.exec, &e);
	if (st != ST_OK) {
		code = cmd_fail(&e);
		goto out;
	}
	code = run_campaign(&show, db);
out:
	if (c.exec)
		exec_local.close(c.exec);
	campaign_release(&c);
	return code;
}

/* The seed decides the order, so a resumed campaign must have its own before the plan is laid out.
 */
static enum status old_seed(struct plan *p, struct db *db, struct err *e)
{
	struct campaign_info info = {0};
	enum status st;

	if (!p->name && p->n_jobs) {
		p->name = mem_strdup(p->jobs[0].name);
		if (!p->name)
			return err_set(e, ST_NOMEM, "out of memory");
	}
	st = campaign_find(db->store, p->name ? p->name : "", &info, e);
	if (st == ST_OK) {
		p->seed = info.seed;
		p->have_seed = true;
	}
	campaign_info_release(&info);
	return st;
}

static enum status check_simulation(const struct plan *p, struct exec_sim *sim, struct err *e)
{
	enum status st = ST_OK;

	for (size_t i = 0; i < p->n_points && st == ST_OK; i++) {
		struct plan_buf buf;
		struct point pt;

		st = plan_point(p, i, &buf, &pt, e);
		if (st != ST_OK)
			break;
		st = exec_sim_check(sim, &pt, e);
		plan_point_release(&buf);
	}
	return st;
}

static int sweep(struct sweep_opts *o, int n, char **operands, bool command)
{
	struct plan plan;
	struct db db = {NULL, NULL, NULL};
	struct exec_sim *sim = NULL;
	struct err e = ERR_INIT;
	enum status st = read_plan(o, n, operands, command, &plan, &e);
	int code = CMD_DONE;

	/* Every mistake in the plan and the cluster is found before the database is touched. */
	if (st == ST_OK)
		st = plan_finish(&plan, random_seed(), &e);
	if (st == ST_OK && o->simulate)
		st = exec_sim_open(o->simulate, (uint64_t)plan.seed, &sim, &e);
	if (st == ST_OK && sim)
		st = check_simulation(&plan, sim, &e);
	if (st == ST_OK && o->dry_run) {
		sweep_print_plan(&plan, o->simulate != NULL);
		goto out;
	}
	if (st == ST_OK)
		st = db_open(&db, o->db, &e);
	if (st == ST_OK && o->resume) {
		st = old_seed(&plan, &db, &e);
		if (st == ST_OK)
			st = plan_finish(&plan, plan.seed, &e);
		if (sim)
			exec_sim_seed(sim, (uint64_t)plan.seed);
	}
	if (st != ST_OK) {
		code = cmd_fail(&e);
		goto out;
	}
	catch_signals();
	code = sim ? simulate(o, &plan, &db, sim) : carry_out(o, &plan, &db);
out:
	if (db.store)
		db_close(&db);
	if (sim)
		exec_sim_ops.close(sim);
	plan_release(&plan);
	return code;
}

int cmd_sweep(int argc, char **argv)
{
	struct opt_set *set = opt_set_new();
	const struct sweep_opts start = {.repeats = 0, .warmup_ns = -1, .seed = -1};
	struct sweep_opts o = start;
	int operand, code = CMD_DONE;
	bool command;

	if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
		goto out;
	/* Options after the file: move the file behind them and read again. */
	if (operand + 1 < argc && argv[operand + 1][0] == '-' &&
		strcmp(argv[operand - 1], "--") != 0) {
		char *file = argv[operand];

		memmove(argv + operand, argv + operand + 1,
			(size_t)(argc - operand - 1) * sizeof *argv);
		argv[argc - 1] = file;
		o = start;
		if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
			goto out;
	}
	command = operand > 0 && !strcmp(argv[operand - 1], "--");
	if (operand >= argc)
		code = cmd_usage("give a sweep file, or axes and a command after --");
	else if (!command && operand + 1 < argc)
		code = cmd_usage("unexpected argument '%s'; options come before the file",
			argv[operand + 1]);
	if (code != CMD_DONE)
		goto out;
	cmd_set_quiet(o.quiet);
	code = sweep(&o, argc - operand, argv + operand, command);
out:
	opt_set_free(set);
	return code;
}
