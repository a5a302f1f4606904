/* control_test.c: leases, and that everything is put back whatever happens to their holder. */
#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/mem.h"
#include "fake/nvml_fake.h"
#include "host.h"
#include "hw/control.h"

#define P0 "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw"
#define P1 "sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw"
#define G0 "sys/fs/cgroup/cpu/wattlaw.run7.0.2/cpu.cfs_quota_us"

static char run_dir[300];

/* Two packages and a rank's group; locks and journals in a directory beside them. */
static void machine(void)
{
	host_make("xeon-2s");
	tree_put(tree_dir, "proc/self/cgroup", "1:cpu:/\n");
	tree_put(tree_dir, "proc/self/mountinfo",
		"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
	tree_put(tree_dir, "sys/fs/cgroup/cpu/cgroup.procs", "1\n");
	tree_put(tree_dir, "sys/fs/cgroup/cpu/wattlaw.run7.0.2/cgroup.procs", "1\n");
	tree_put(tree_dir, G0, "-1\n");
	tree_put(tree_dir, "sys/fs/cgroup/cpu/wattlaw.run7.0.2/cpu.cfs_period_us", "100000\n");
	snprintf(run_dir, sizeof(run_dir), "%s/run/wattlaw", tree_dir);
}

static struct control *control(struct hw *hw)
{
	struct control *c = NULL;
	struct err e = ERR_INIT;

	if (control_open(hw, run_dir, &c, &e) != ST_OK) {
		printf("Bail out! %s\n", e.msg);
		exit(99);
	}
	return c;
}

static size_t id(struct hw *hw, const char *key)
{
	int i = hw_find(hw, key);

	if (i < 0) {
		printf("Bail out! no %s\n", key);
		exit(99);
	}
	return (size_t)i;
}

#define ALL_KNOBS                                                                                  \
	(1u << KNOB_POWER_LIMIT | 1u << KNOB_CPU_RATE | 1u << KNOB_CLOCK_MAX | 1u << KNOB_MEM_CLOCK)

static enum status take(struct control *c, struct hw *hw, const char *k0, const char *k1,
	const char *k2, struct lease **l, struct err *e)
{
	const char *keys[] = {k0, k1, k2};
	size_t ids[3], n = 0;
	struct lease_req req = {.devices = ids,
		.knobs = ALL_KNOBS,
		.end = LEASE_PID,
		.holder = "wattlaw sweep first"};

	for (int i = 0; i < 3; i++)
		if (keys[i])
			ids[n++] = id(hw, keys[i]);
	req.n_devices = n;
	return lease_take(c, &req, l, e);
}

static size_t journals(void)
{
	char cmd[400];
	FILE *f;
	int n = -1;

	snprintf(cmd, sizeof(cmd), "ls %s 2>/dev/null | grep -c '^lease'", run_dir);
	f = popen(cmd, "r");
	if (!f || fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return (size_t)n;
}

static struct knob_val watts(int64_t w)
{
	return (struct knob_val){0, w * 1000, 0, KV_READ};
}

static struct knob_val percent(int64_t p)
{
	return (struct knob_val){0, p * 10000, 0, KV_READ};
}

static void found_values_come_back(void)
{
	struct restore_report rep = {0, 0, 0, STR_INIT};
	struct knob_set_result res;
	struct err e = ERR_INIT;
	struct knob_val v;
	struct control *c;
	struct lease *l;
	struct hw *hw;

	machine();
	hw = host_open("rapl,cgroup", NULL);
	c = control(hw);
	is_int(take(c, hw, "rapl:package-0", "rapl:package-1", "cgroup:run7:0", &l, &e), ST_OK,
		"a lease on three devices");
	is_int(journals(), 1, "is in a journal before anything is set");
	v = watts(120);
	is_int(lease_set(l, id(hw, "rapl:package-0"), KNOB_POWER_LIMIT, &v, &res, &e), ST_OK,
		"a limit is set");
	is_int(res.enforced.hi, 120000, "and read back");
	is_int(res.found.hi, 150000, "beside what was found");
	v = watts(100);
	lease_set(l, id(hw, "rapl:package-0"), KNOB_POWER_LIMIT, &v, &res, &e);
	lease_set(l, id(hw, "rapl:package-1"), KNOB_POWER_LIMIT, &v, &res, &e);
	v = percent(40);
	is_int(lease_set(l, id(hw, "cgroup:run7:0"), KNOB_CPU_RATE, &v, &res, &e), ST_OK,
		"a CPU rate is set");
	is_str(tree_get(tree_dir, G0), "80000", "on its group");
	v = watts(200);
	is_int(lease_set(l, id(hw, "rapl:package-0"), KNOB_POWER_LIMIT, &v, &res, &e), ST_RANGE,
		"more than the range is refused");
	has(e.msg, "150W", "with the range");
	v = percent(50);
	is_int(lease_set(l, id(hw, "rapl:package-0"), KNOB_CPU_RATE, &v, &res, &e), ST_UNSUPPORTED,
		"a knob the device lacks is refused");
	is_int(lease_release(l, &rep, &e), ST_OK, "the lease is given back");
	is_str(tree_get(tree_dir, P0), "150000000", "the limit is as found");
	is_str(tree_get(tree_dir, P1), "149999999", "to the microwatt");
	is_str(tree_get(tree_dir, G0), "-1", "no limit is no limit again");
	is_int(rep.restored, 3, "three knobs were restored");
	is_int(journals(), 0, "and the journal is gone");
	restore_report_release(&rep);
	control_close(c);
	host_close(hw);
}

static void a_second_asker_is_told_who(void)
{
	struct err e = ERR_INIT;
	struct control *c, *c2;
	struct lease *l, *l2;
	struct hw *hw;
	char pid[32];

	machine();
	hw = host_open("rapl,cgroup", NULL);
	c = control(hw);
	c2 = control(hw);
	take(c, hw, "rapl:package-0", NULL, NULL, &l, &e);
	is_int(take(c2, hw, "rapl:package-1", "rapl:package-0", NULL, &l2, &e), ST_BUSY,
		"a held device is busy");
	snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
	has(e.msg, pid, "with the holder's pid");
	has(e.msg, "wattlaw sweep first", "and what it is");
	is_int(take(c2, hw, "rapl:package-1", NULL, NULL, &l2, &e), ST_OK,
		"another device is free, also after the failed try");
	lease_release(l2, NULL, NULL);
	lease_release(l, NULL, NULL);
	is_int(take(c2, hw, "rapl:package-0", NULL, NULL, &l2, &e), ST_OK,
		"a released device is free");
	control_close(c2);
	control_close(c);
	is_int(journals(), 0, "closing releases");
	host_close(hw);
}

static void what_others_changed_is_left_alone(void)
{
	struct restore_report rep = {0, 0, 0, STR_INIT};
	struct knob_val v = watts(120);
	struct err e = ERR_INIT;
	struct control *c;
	struct lease *l;
	struct hw *hw;

	machine();
	hw = host_open("rapl,cgroup", NULL);
	c = control(hw);
	take(c, hw, "rapl:package-0", "rapl:package-1", NULL, &l, &e);
	lease_set(l, id(hw, "rapl:package-0"), KNOB_POWER_LIMIT, &v, NULL, &e);
	lease_set(l, id(hw, "rapl:package-1"), KNOB_POWER_LIMIT, &v, NULL, &e);
	tree_put(tree_dir, P0, "90000000\n"); /* the hall is on fire */
	is_int(lease_release(l, &rep, &e), ST_OK, "release ends");
	is_str(tree_get(tree_dir, P0), "90000000", "a limit somebody else set meanwhile stays");
	is_str(tree_get(tree_dir, P1), "149999999", "the others are restored");
	is_int(rep.left_alone, 1, "one was left alone");
	has(str_cstr(&rep.text), "left alone", "and is reported");
	restore_report_release(&rep);
	control_close(c);
	host_close(hw);
}

static struct nvml_fake *fake;

static struct hw *gpus(void)
{
	struct backend_env env = {.clock = clock_system()};
	struct hw *hw = NULL;
	void *lib;

	env.nvml_path = TEST_BUILD_ROOT "/tests/unit/fake/nvml_fake.so";
	lib = dlopen(env.nvml_path, RTLD_NOW | RTLD_LOCAL);
	fake = lib ? dlsym(lib, "nvml_fake") : NULL;
	if (!fake) {
		printf("Bail out! %s\n", dlerror());
		exit(99);
	}
	memset(fake, 0, sizeof(*fake));
	fake->n = 1;
	snprintf(fake->gpu[0].name, 64, "V100");
	snprintf(fake->gpu[0].uuid, 64, "GPU-1");
	fake->gpu[0].sm_mhz = 1000;
	fake->gpu[0].mem_mhz = 877;
	fake->gpu[0].limit_mw = 230000;
	fake->gpu[0].limit_min_mw = 100000;
	fake->gpu[0].limit_max_mw = fake->gpu[0].limit_default_mw = 250000;
	env.root_fd = open(tree_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	hw_open(&env, "nvml", &hw, NULL);
	return hw;
}

static void gpus_requested_is_not_enforced(void)
{
	struct restore_report rep = {0, 0, 0, STR_INIT};
	struct knob_set_result res;
	struct err e = ERR_INIT;
	struct knob_val v = watts(200), clock = {0, 1000000, 0, KV_READ};
	struct control *c;
	struct lease *l;
	struct hw *hw;

	machine();
	hw = gpus();
	c = control(hw);
	is_int(take(c, hw, "GPU-1", NULL, NULL, &l, &e), ST_OK, "a lease on a GPU");
	fake->gpu[0].clamp_mw = 150000;
	is_int(lease_set(l, 0, KNOB_POWER_LIMIT, &v, &res, &e), ST_PARTIAL,
		"a lower limit in force is partial");
	ok(res.requested.hi == 200000 && res.enforced.hi == 150000,
		"requested and enforced are both known");
	has(res.note, "150W", "and said");
	fake->gpu[0].clamp_mw = 0;
	fake->gpu[0].ignore_set = 1;
	v = watts(180);
	is_int(lease_set(l, 0, KNOB_POWER_LIMIT, &v, &res, &e), ST_PARTIAL,
		"success without effect is found out");
	is_int(res.enforced.hi, 200000, "by reading back");
	fake->gpu[0].ignore_set = 0;
	is_int(lease_set(l, 0, KNOB_CLOCK_MAX, &clock, &res, &e), ST_OK, "a clock is locked");
	is_int(res.enforced.from, KV_REMEMBERED, "which can only be remembered");
	is_int(lease_release(l, &rep, &e), ST_OK, "released");
	is_int(fake->gpu[0].limit_mw, 230000,
		"the limit is what was found, not the factory's 250 W");
	is_int(fake->gpu[0].lock_max, 0, "the clock lock is gone");
	restore_report_release(&rep);

	v.hi = 1200000;
	v.lo = 135000;
	control_assume(c, 0, KNOB_CLOCK_MAX, &v);
	take(c, hw, "GPU-1", NULL, NULL, &l, &e);
	lease_set(l, 0, KNOB_CLOCK_MAX, &clock, &res, &e);
	is_int(fake->gpu[0].lock_max, 1000, "locked again");
	lease_release(l, NULL, NULL);
	is_int(fake->gpu[0].lock_max, 1200, "a site's standing lock is put back");

	take(c, hw, "GPU-1", NULL, NULL, &l, &e);
	fake->gpu[0].ret[FAKE_SET_LIMIT] = 4;
	is_int(lease_try(l, 0, KNOB_POWER_LIMIT, &e), ST_NO_PERMISSION,
		"a trial tells before the campaign");
	fake->gpu[0].ret[FAKE_LOCK] = 4;
	is_int(lease_set(l, 0, KNOB_CLOCK_MAX, &clock, &res, &e), ST_NO_PERMISSION,
		"a refused lock is refused");
	is_int(lease_release(l, NULL, &e), ST_OK, "and leaves nothing to restore");
	fake->gpu[0].ret[FAKE_SET_LIMIT] = fake->gpu[0].ret[FAKE_LOCK] = 0;

	take(c, hw, "GPU-1", NULL, NULL, &l, &e);
	v = watts(150);
	lease_set(l, 0, KNOB_POWER_LIMIT, &v, &res, &e);
	fake->gpu[0].ret[FAKE_LIMIT] = 15;
	is_int(lease_release(l, NULL, &e), ST_PARTIAL, "a lost GPU cannot be restored");
	is_int(journals(), 1, "so its journal stays");
	is_int(take(c, hw, "GPU-1", NULL, NULL, &l, &e), ST_PARTIAL,
		"and nobody takes the changed value for the found one");
	fake->gpu[0].ret[FAKE_LIMIT] = 0;
	rep = (struct restore_report){0, 0, 0, STR_INIT};
	is_int(control_replay(hw, run_dir, false, &rep, &e), ST_OK,
		"once it is back a replay restores it");
	is_int(fake->gpu[0].limit_mw, 230000, "to what was found");
	is_int(journals(), 0, "and the journal is gone");
	restore_report_release(&rep);
	control_close(c);
	host_close(hw);
}

static void job_leases_outlive_the_process(void)
{
	struct restore_report rep = {0, 0, 0, STR_INIT};
	struct knob_val v = watts(110);
	struct lease_req req = {
		.knobs = ALL_KNOBS, .end = LEASE_JOB, .job = "4711", .holder = "prolog"};
	struct err e = ERR_INIT;
	struct control *c;
	struct lease *l;
	struct hw *hw;
	size_t dev;

	machine();
	hw = host_open("rapl", NULL);
	c = control(hw);
	dev = id(hw, "rapl:package-0");
	req.devices = &dev;
	req.n_devices = 1;
	is_int(lease_take(c, &req, &l, &e), ST_OK, "a job lease");
	lease_set(l, dev, KNOB_POWER_LIMIT, &v, NULL, &e);
	control_close(c);
	is_str(tree_get(tree_dir, P0), "110000000", "holds when its maker is done");
	control_replay(hw, run_dir, false, &rep, &e);
	is_str(tree_get(tree_dir, P0), "110000000", "and through a replay of the dead");
	c = control(hw);
	is_int(take(c, hw, "rapl:package-0", NULL, NULL, &l, &e), ST_BUSY, "the device is busy");
	has(e.msg, "job 4711", "with the job");
	is_int(control_end_job(hw, run_dir, "99", &rep, &e), ST_NOT_FOUND,
		"another job's end changes nothing");
	is_int(control_end_job(hw, run_dir, "4711", &rep, &e), ST_OK, "the job's end");
	is_str(tree_get(tree_dir, P0), "150000000", "restores");
	is_int(control_end_job(hw, run_dir, "4711", &rep, &e), ST_NOT_FOUND, "once");
	restore_report_release(&rep);
	control_close(c);
	host_close(hw);
}

/* A holder that sets knobs as fast as it can until it is killed. */
static void holder_child(unsigned seed, int ready)
{
	struct hw *hw = host_open("rapl,cgroup", NULL);
	struct control *c = control(hw);
	size_t p0 = id(hw, "rapl:package-0"), p1 = id(hw, "rapl:package-1"),
	       g = id(hw, "cgroup:run7:0");

	srand(seed);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;) {
		struct lease *l;

		if (take(c, hw, "rapl:package-0", "rapl:package-1", "cgroup:run7:0", &l, NULL) !=
			ST_OK)
			continue;
		for (int i = 0; i < 1 + rand() % 4; i++) {
			struct knob_val a = watts(60 + rand() % 90), r = percent(5 + rand() % 90);

			lease_set(l, p0, KNOB_POWER_LIMIT, &a, NULL, NULL);
			lease_set(l, g, KNOB_CPU_RATE, &r, NULL, NULL);
			a = watts(60 + rand() % 90);
			lease_set(l, p1, KNOB_POWER_LIMIT, &a, NULL, NULL);
		}
		lease_release(l, NULL, NULL);
	}
}

static bool as_found(void)
{
	char p0[32], p1[32];

	snprintf(p0, sizeof(p0), "%s", tree_get(tree_dir, P0));
	snprintf(p1, sizeof(p1), "%s", tree_get(tree_dir, P1));
	return !strcmp(p0, "150000000") && !strcmp(p1, "149999999") &&
	       !strcmp(tree_get(tree_dir, G0), "-1");
}

static void kill_at_any_moment_is_recovered(int rounds)
{
	struct hw *hw;
	int changed = 0, bad = 0, failed = 0;

	machine();
	hw = host_open("rapl,cgroup", NULL);
	srand(4711);
	/* More rounds where the machine is so slow that every kill came too early. */
	for (int i = 0; i < rounds || (!changed && i < 5 * rounds); i++) {
		struct restore_report rep = {0, 0, 0, STR_INIT};
		struct timespec nap = {0, 1000000 + rand() % (9000000 + i * 300000)};
		int ready[2];
		char byte;
		pid_t pid;

		if (pipe(ready) < 0)
			break;
		pid = fork();
		if (pid == 0) {
			holder_child((unsigned)i, ready[1]);
			_exit(0);
		}
		failed += read(ready[0], &byte, 1) != 1;
		close(ready[0]);
		close(ready[1]);
		nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		changed += !as_found();
		if (i % 2) {
			failed += control_replay(hw, run_dir, false, &rep, NULL) != ST_OK;
		} else {
			/* or the next holder finds it */
			struct control *c = control(hw);
			struct lease *l;

			failed += take(c, hw, "rapl:package-0", "rapl:package-1", "cgroup:run7:0",
					  &l, NULL) != ST_OK;
			control_close(c);
		}
		bad += !as_found() || journals() != 0;
		restore_report_release(&rep);
	}
	ok(changed > 0, "%d of %d kills left something changed", changed, rounds);
	is_int(failed, 0, "no recovery failed");
	is_int(bad, 0, "and after each everything was as found");
	host_close(hw);
}

/* Every write of a knob, of the journal, every read and every allocation fails once. */
static void any_single_fault_ends_as_found(const char *point)
{
	int bad = 0;
	unsigned i;

	for (i = 1; i < 2000; i++) {
		struct restore_report rep = {0, 0, 0, STR_INIT};
		struct knob_val v = watts(100), r = percent(30);
		struct knob_set_result res;
		struct control *c = NULL;
		struct lease *l = NULL;
		struct hw *hw;
		bool fired;

		machine();
		hw = host_open("rapl,cgroup", NULL);
		fault_arm(point, i);
		if (control_open(hw, run_dir, &c, NULL) == ST_OK) {
			if (take(c, hw, "rapl:package-0", "rapl:package-1", "cgroup:run7:0", &l,
				    NULL) == ST_OK) {
				lease_set(l, id(hw, "rapl:package-0"), KNOB_POWER_LIMIT, &v, &res,
					NULL);
				lease_set(
					l, id(hw, "cgroup:run7:0"), KNOB_CPU_RATE, &r, &res, NULL);
				lease_set(l, id(hw, "rapl:package-0"), KNOB_POWER_LIMIT, &v, &res,
					NULL);
				lease_release(l, NULL, NULL);
			}
			control_close(c);
		}
		fired = fault_fired();
		fault_arm(NULL, 0);
		control_replay(hw, run_dir, false, &rep, NULL);
		bad += !as_found() || journals() != 0;
		restore_report_release(&rep);
		host_close(hw);
		if (!fired)
			break;
	}
	ok(i > 3 && i < 1999, "every '%s' failed once (%u)", point, i - 1);
	is_int(bad, 0, "and each time everything ended as found");
}

static void damaged_journals(void)
{
	struct restore_report rep = {0, 0, 0, STR_INIT};
	struct knob_val v = watts(100);
	struct err e = ERR_INIT;
	char cmd[900];
	struct hw *hw;
	pid_t pid;

	machine();
	hw = host_open("rapl,cgroup", NULL);
	pid = fork();
	if (pid == 0) {
		struct control *c = control(hw);
		struct lease *l;

		take(c, hw, "rapl:package-0", NULL, NULL, &l, &e);
		lease_set(l, id(hw, "rapl:package-0"), KNOB_POWER_LIMIT, &v, NULL, NULL);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	snprintf(cmd, sizeof(cmd), "for f in %s/lease.*; do printf 'did 0 torn' >> $f; done",
		run_dir);
	ok(system(cmd) == 0, "a line torn at the end");
	is_int(control_replay(hw, run_dir, false, &rep, &e), ST_OK, "does not matter");
	ok(as_found(), "everything is as found");

	snprintf(cmd, sizeof(cmd), "echo garbage > %s/lease.1.2.3", run_dir);
	ok(system(cmd) == 0, "a journal of garbage");
	is_int(control_replay(hw, run_dir, false, &rep, &e), ST_PARTIAL, "is reported");
	has(str_cstr(&rep.text), "damaged", "as damaged");
	is_int(journals(), 1, "and kept");
	restore_report_release(&rep);
	host_close(hw);
}

static void a_foreign_directory_is_refused(void)
{
	struct control *c = NULL;
	struct err e = ERR_INIT;
	struct hw *hw;
	char path[400];

	machine();
	hw = host_open("rapl", NULL);
	snprintf(path, sizeof(path), "%s/open", tree_dir);
	mkdir(path, 0700);
	chmod(path, 0777);
	is_int(control_open(hw, path, &c, &e), ST_NO_PERMISSION,
		"a directory anybody can write to is refused");
	host_close(hw);
}

int main(void)
{
	found_values_come_back();
	a_second_asker_is_told_who();
	what_others_changed_is_left_alone();
	gpus_requested_is_not_enforced();
	job_leases_outlive_the_process();
	kill_at_any_moment_is_recovered(60);
	any_single_fault_ends_as_found("journal");
	any_single_fault_ends_as_found("write");
	any_single_fault_ends_as_found("read");
	any_single_fault_ends_as_found("alloc");
	damaged_journals();
	a_foreign_directory_is_refused();
	return tap_done();
}
