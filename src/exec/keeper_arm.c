/* keeper_arm.c: the keeper's reading, and everything that must stand before the job may start. */
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "exec/keeper_priv.h"
#include "hw/journal.h"
#include "hw/sysfs.h"

extern char **environ;

#define TELL_NS  (200 * NS_PER_MS) /* between the energies that the job is told */
#define STALL_NS (3 * NS_PER_S)
#define FIRST_NS (300 * NS_PER_MS)

int keeper_device(struct keeper *k, const struct device *d, bool on)
{
	void *p;

	for (size_t i = 0; i < k->n_devices; i++)
		if (!strcmp(k->keys[i].key, d->key))
			return (int)i;
	p = mem_realloc(k->keys, k->n_devices + 1, sizeof *k->keys);
	if (!p)
		return -1;
	k->keys = p;
	if (build_device(k->build, d, on, -1))
		return -1;
	snprintf(k->keys[k->n_devices].key, sizeof k->keys[0].key, "%s", d->key);
	if (k->shard)
		shard_put_device(k->shard, d, on, -1);
	return (int)k->n_devices++;
}

void keeper_knob(
	struct keeper *k, int64_t since_ns, size_t dev, enum knob knob, const struct qty q[3])
{
	if (since_ns)
		build_knob_at(k->build, since_ns, dev, knob, q[0], q[1], q[2]);
	else
		build_knob(k->build, dev, knob, q[0], q[1], q[2]);
	if (k->shard)
		shard_put_knob(k->shard, (uint32_t)dev, knob, q);
}

void keeper_default_axis(struct run_rec *rec, enum knob knob, struct qty value)
{
	for (size_t a = 0; a < rec->n_axes; a++)
		if (!strcmp(rec->axes[a].name, knob_info(knob)->name) &&
			rec->axes[a].value.st == ST_UNKNOWN && value.st == ST_OK)
			rec->axes[a].value = value;
}

/* A run under somebody else's cap must say so: what stands is what is enforced until we set. */
static void tell_found(struct keeper *k, size_t first)
{
	for (size_t i = 0; i < k->n_devices - first; i++)
		for (int n = 0; n < KNOB_COUNT; n++) {
			struct knob_val v = sensors_found(k->sensors, i, (enum knob)n);
			struct qty q[3] = {knob_set_qty((enum knob)n, &v), QTY_NONE(ST_UNKNOWN),
				knob_enforced_qty((enum knob)n, &v)};

			if (v.from != KV_READ || !sensors_on(k->sensors, i))
				continue;
			keeper_knob(k, 0, first + i, (enum knob)n, q);
		}
}

/* The sensors' devices follow those already told (rank groups may have come first). */
static void begin_sensing(struct keeper *k, struct str *warn)
{
	struct err e = ERR_INIT;
	size_t first = k->n_devices;
	const struct hw *hw;
	void *p;

	k->sensing = true;
	if (sensors_begin(k->sensors, k->build, k->n_devices, warn, &e)) {
		str_addf(warn, "%s\n", e.msg);
		return;
	}
	hw = sensors_hw(k->sensors);
	p = mem_realloc(k->keys, k->n_devices + hw_n_devices(hw) + 1, sizeof *k->keys);
	if (!p)
		return;
	k->keys = p;
	for (size_t i = 0; i < hw_n_devices(hw); i++) {
		const struct device *d = hw_device(hw, i);

		snprintf(k->keys[k->n_devices++].key, sizeof k->keys[0].key, "%s", d->key);
		if (k->shard)
			shard_put_device(k->shard, d, sensors_on(k->sensors, i), -1);
	}
	tell_found(k, first);
}

static void take_samples(void *arg, const struct tagged_sample *ts)
{
	struct keeper *k = arg;

	build_sample(k->build, ts);
	k->n_samples++;
	if (k->shard)
		shard_put_samples(k->shard, ts, 1);
}

static void take_mark(void *arg, const struct mark_rank *r, const struct mark_event *ev)
{
	struct keeper *k = arg;

	build_mark(k->build, r, ev);
	if (k->shard)
		shard_put_mark(k->shard, r, ev);
	if ((ev->kind & 0xff) == MARK_STEP)
		step_seen(k, r->pid, r->rank, (int64_t)ev->t_ns);
}

void keeper_drain(struct keeper *k, int64_t now)
{
	if (!k->sensing && sensors_opened(k->sensors)) {
		struct str warn = STR_INIT;

		begin_sensing(k, &warn);
		if (k->job_started && sensors_n_on(k->sensors))
			keeper_warn(k,
				"sensors answered only %.1f s into the job: its energy is known "
				"from then on",
				(double)(now - k->job_start_ns) / 1e9);
		if (warn.len)
			keeper_warn(k, "%s", str_cstr(&warn));
		str_release(&warn);
	}
	sensors_drain(k->sensors, take_samples, k);
	if (k->marks)
		(void)marks_poll(k->marks, now, take_mark, k);
	if (k->shard && shard_tick(k->shard, now))
		keeper_warn(k, "the shard cannot be written (disk full?); if the keeper is killed "
			       "the record is lost");
	if (k->marks && k->job_started && k->sensing && now - k->told_ns >= TELL_NS) {
		marks_publish_energy(k->marks, build_energy(k->build, k->job_start_ns, now), now);
		k->told_ns = now;
	}
	if (k->sensing && !k->stall_told) {
		const char *who = sensors_stuck(k->sensors, now, STALL_NS);

		if (who) {
			k->stall_told = true;
			build_warn(k->build, "the %s driver stopped answering", who);
			keeper_warn(k,
				"the %s driver has not answered for 3 s; the job is not affected",
				who);
		}
	}
}

/* Run the loop's reading part for a while. */
static void pause_for(struct keeper *k, int64_t ns)
{
	int64_t end = keeper_now() + ns;

	for (int64_t now = keeper_now(); now < end; now = keeper_now()) {
		int64_t left = end - now;

		keeper_drain(k, now);
		usleep((useconds_t)((left < TICK_NS ? left : TICK_NS) / NS_PER_US));
	}
	keeper_drain(k, keeper_now());
}

enum status keeper_knobs_wait(struct keeper *k, struct knobs_result **r, int64_t ns, struct err *e)
{
	int64_t deadline = keeper_now() + ns;

	while (!knobs_take(k->knobs, r)) {
		struct pollfd p[2] = {{.fd = knobs_fd(k->knobs), .events = POLLIN},
			{.fd = k->leader_fd, .events = POLLIN}};

		if (keeper_now() >= deadline)
			return err_set(e, ST_TIMEOUT, "the driver did not answer within %.0f s",
				(double)ns / 1e9);
		(void)poll(p, 2, 50);
		if (p[1].revents & POLLIN)
			k->leader_gone = true;
		keeper_drain(k, keeper_now());
	}
	return ST_OK;
}

void keeper_outcomes(struct keeper *k, const struct knobs_result *r, struct run_rec *rec)
{
	for (size_t i = 0; i < r->n_outcomes; i++) {
		const struct knob_outcome *o = &r->outcomes[i];
		int dev = keeper_device(k, &o->dev, true);

		if (dev < 0)
			continue;
		keeper_knob(k, 0, (size_t)dev, o->knob,
			(struct qty[3]){o->found, o->requested, o->enforced});
		if (o->st == ST_PARTIAL && o->note[0])
			run_rec_warn(rec, "%s: %s", o->dev.key, o->note);
		keeper_default_axis(rec, o->knob, o->found);
	}
}

/* Were there knobs that a dead keeper could not put back? A helper sees to it before we look at
 * anything: it may hang in a driver, and is then left behind. */
static void replay_first(const char *control_dir, int64_t ns)
{
	char *argv[] = {"wattlaw", "keeper", "--replay", (char *)(uintptr_t)control_dir, NULL};
	int dir = open(control_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int64_t deadline = keeper_now() + ns;
	struct sysfs_list names = {0};
	pid_t pid = 0;

	if (dir < 0)
		return;
	if (journal_names(dir, &names) == ST_OK && names.n &&
		!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ))
		while (waitpid(pid, NULL, WNOHANG) == 0 && keeper_now() < deadline)
			usleep(2000);
	sysfs_list_release(&names);
	close(dir);
}

/* Everything before the job: devices, lease, idle power, the setting of a whole-job point. */
static enum status arm(struct keeper *k, struct str *warn, struct err *e)
{
	int64_t deadline = keeper_now() + k->hello.open_ns;
	struct knobs_result *r;
	enum status st;

	/* With knobs of our own that comes with opening them. */
	if (!k->hello.knobs)
		replay_first(k->hello.control_dir, k->hello.open_ns);
	st = sensors_start(k->hello.devices, k->hello.only, k->hello.run_id, k->hello.period_ns,
		&k->sensors, e);
	if (st != ST_OK)
		return st;
	if (k->hello.knobs) {
		st = knobs_start(&k->hello, &k->knobs, e);
		if (st != ST_OK)
			return st;
		knobs_post(k->knobs, KNOBS_OPEN, NULL);
		st = keeper_knobs_wait(k, &r, KNOBS_NS, e);
		if (st == ST_OK && r->st != ST_OK)
			return err_set(e, r->st, "%s", r->err.msg);
		if (st != ST_OK)
			return st;
	}
	while (!sensors_opened(k->sensors) && keeper_now() < deadline)
		usleep(1000);
	/* Waiting for the knobs may have begun it already; twice would list every device twice. */
	if (!k->sensing && sensors_opened(k->sensors))
		begin_sensing(k, warn);
	else if (!k->sensing)
		str_addf(warn,
			"drivers did not open within %.1f s: the job starts without them, and is "
			"measured from their answer on\n",
			(double)k->hello.open_ns / 1e9);
	/* A reading from before the job makes its first moments known. */
	if (k->sensing && sensors_n_on(k->sensors)) {
		int64_t first = keeper_now();

		while (!k->n_samples && keeper_now() < first + FIRST_NS) {
			usleep(1000);
			keeper_drain(k, keeper_now());
		}
	}
	if (k->hello.idle_ns && sensors_n_on(k->sensors)) {
		int64_t t0 = keeper_now();

		pause_for(k, k->hello.idle_ns);
		build_idle(k->build, t0, keeper_now());
	}
	if (k->hello.mode == LAUNCH_WHOLE && k->knobs) {
		knobs_post(k->knobs, KNOBS_APPLY, &k->points[0]);
		st = keeper_knobs_wait(k, &r, KNOBS_NS, e);
		if (st == ST_OK && r->st != ST_OK)
			return err_set(e, r->st, "%s", r->err.msg);
		if (st != ST_OK)
			return st;
		keeper_outcomes(k, r, &k->points[0].rec);
	}
	return ST_OK;
}

enum status keeper_begin(struct keeper *k, struct str *warn, struct err *e)
{
	struct build_config cfg = {.host = k->hello.host, .period_ns = k->hello.period_ns};
	struct err soft = ERR_INIT;
	enum status st = build_new(&cfg, &k->build);

	if (st != ST_OK)
		return err_set(e, st, "out of memory");
	if (marks_open(NULL, &k->marks, &soft))
		str_addf(warn, "no marks: %s\n", soft.msg);
	soft = ERR_INIT;
	if (shard_create(k->hello.shard_dir, k->hello.run_id, k->hello.host, &k->shard, &soft))
		str_addf(warn, "no shard: %s\n", soft.msg);
	else
		shard_put_head(
			k->shard, &k->hello, k->marks ? marks_dir(k->marks) : NULL, &k->points[0]);
	return arm(k, warn, e);
}
