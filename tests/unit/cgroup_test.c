/* cgroup_test.c: the CPU rate knob, on constructed trees of both versions and on the real kernel.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "host.h"
#include "hw/cgroup.h"

static const char v1_mountinfo[] =
	"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
	"33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
	"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
static const char v2_mountinfo[] = "29 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";

#define V1 "sys/fs/cgroup/cpu,cpuacct/user/job7/"
#define V2 "sys/fs/cgroup/user.slice/job7/"

static void make_v1(void)
{
	if (tree_dir[0])
		tree_remove(tree_dir);
	tree_new();
	tree_put(tree_dir, "proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/user/job7\n0::/\n");
	tree_put(tree_dir, "proc/self/mountinfo", v1_mountinfo);
	tree_put(tree_dir, V1 "cgroup.procs", "17\n");
}

static void make_v2(void)
{
	if (tree_dir[0])
		tree_remove(tree_dir);
	tree_new();
	tree_put(tree_dir, "proc/self/cgroup", "0::/user.slice/job7\n");
	tree_put(tree_dir, "proc/self/mountinfo", v2_mountinfo);
	tree_put(tree_dir, V2 "cgroup.procs", "17\n");
	tree_put(tree_dir, V2 "cgroup.controllers", "cpuset cpu io memory\n");
	tree_put(tree_dir, V2 "cgroup.subtree_control", "cpu memory\n");
}

static void group_v1(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), V1 "%s/cpu.cfs_quota_us", name);
	tree_put(tree_dir, path, "-1\n");
	snprintf(path, sizeof(path), V1 "%s/cpu.cfs_period_us", name);
	tree_put(tree_dir, path, "100000\n");
	snprintf(path, sizeof(path), V1 "%s/cpuacct.usage", name);
	tree_put(tree_dir, path, "123456789\n");
}

static void version_1(void)
{
	struct knob_val v, set = {0, 400000, 0, KV_READ};
	struct sample s[CH_COUNT];
	struct err e = ERR_INIT;
	struct hw *hw;

	make_v1();
	group_v1("wattlaw.ab12.0.2");
	group_v1("wattlaw.ab12.1.1");
	group_v1("wattlaw.other.0.1");
	tree_put(tree_dir, V1 "wattlaw.junk/tasks", "");
	hw = host_open("cgroup", "ab12");
	is_int(hw_n_devices(hw), 2, "the groups of this run are devices, others are not");
	is_str(hw_device(hw, 0)->key, "cgroup:ab12:0", "named by run and rank");
	is_int(hw_device(hw, 0)->kind, DEV_CGROUP, "of their own kind");
	ok(!hw_device(hw, 0)->counted, "that has no energy");
	is_int(hw_knob_get(hw, 0, KNOB_CPU_RATE, &v, &e), ST_OK, "the rate is read");
	ok(v.hi == -1 && v.lo == 100000000, "no limit, period 100 ms");
	is_int(hw_knob_set(hw, 0, KNOB_CPU_RATE, &set, &e), ST_OK, "40 % is set");
	is_str(tree_get(tree_dir, V1 "wattlaw.ab12.0.2/cpu.cfs_quota_us"), "80000",
		"as rate x period x CPUs of the rank");
	is_int(hw_knob_get(hw, 0, KNOB_CPU_RATE, &v, &e), ST_OK, "and read back");
	is_int(v.hi, 400000, "as 40 %");
	set = (struct knob_val){10000000, 250000, 0, KV_READ};
	hw_knob_set(hw, 1, KNOB_CPU_RATE, &set, &e);
	is_str(tree_get(tree_dir, V1 "wattlaw.ab12.1.1/cpu.cfs_period_us"), "10000",
		"another period can be asked for");
	is_str(tree_get(tree_dir, V1 "wattlaw.ab12.1.1/cpu.cfs_quota_us"), "2500",
		"with its quota");
	set = (struct knob_val){100000000, -1, 0, KV_READ};
	hw_knob_set(hw, 0, KNOB_CPU_RATE, &set, &e);
	is_str(tree_get(tree_dir, V1 "wattlaw.ab12.0.2/cpu.cfs_quota_us"), "-1",
		"no limit goes back as no limit");
	set = (struct knob_val){0, 10, 0, KV_READ};
	is_int(hw_knob_set(hw, 0, KNOB_CPU_RATE, &set, &e), ST_RANGE,
		"what the kernel would refuse is refused");
	is_int(hw_read(hw, 0, UINT64_C(1) << CH_CPU_TIME, s), ST_OK, "CPU time is read");
	is_int(s[CH_CPU_TIME].value, 123456789, "in ns");

	group_v1("wattlaw.ab12.2.1");
	is_int(hw_rescan(hw, &e), ST_OK, "a rank that appears later");
	is_int(hw_n_devices(hw), 3, "becomes a device by rescan");
	is_str(hw_device(hw, 2)->key, "cgroup:ab12:2", "after those that were known");
	host_close(hw);
}

static void version_2(void)
{
	struct knob_val v, set = {0, 600000, 0, KV_READ};
	struct cgroup_place place;
	struct sample s[CH_COUNT];
	struct err e = ERR_INIT;
	struct hw *hw;
	int fd;

	make_v2();
	tree_put(tree_dir, V2 "wattlaw.cd34.0.4/cpu.max", "max 100000\n");
	tree_put(tree_dir, V2 "wattlaw.cd34.0.4/cpu.stat", "usage_usec 5000\nuser_usec 4000\n");
	/* a rank whose launcher gave it a group of its own */
	tree_put(tree_dir, V2 "task_1/cgroup.procs", "");
	tree_put(tree_dir, V2 "task_1/wattlaw.cd34.1.4/cpu.max", "50000 100000\n");
	hw = host_open("cgroup", "cd34");
	is_int(hw_n_devices(hw), 2, "groups are found in a v2-only tree, one level down too");
	hw_knob_get(hw, 0, KNOB_CPU_RATE, &v, &e);
	is_int(v.hi, -1, "'max' is no limit");
	hw_knob_set(hw, 0, KNOB_CPU_RATE, &set, &e);
	is_str(tree_get(tree_dir, V2 "wattlaw.cd34.0.4/cpu.max"), "240000 100000",
		"60 % of 4 CPUs");
	v.hi = -1;
	hw_knob_set(hw, 0, KNOB_CPU_RATE, &v, &e);
	is_str(tree_get(tree_dir, V2 "wattlaw.cd34.0.4/cpu.max"), "max 100000",
		"max goes back as max");
	hw_knob_get(hw, 1, KNOB_CPU_RATE, &v, &e);
	is_int(v.hi, 125000, "a quota that was there is read as a share of the rank's CPUs");
	hw_read(hw, 0, UINT64_C(1) << CH_CPU_TIME, s);
	is_int(s[CH_CPU_TIME].value, 5000000, "CPU time from cpu.stat");
	tree_put(tree_dir, V2 "wattlaw.cd34.0.4/cpu.max", "nonsense\n");
	is_int(hw_knob_get(hw, 0, KNOB_CPU_RATE, &v, &e), ST_CORRUPT, "nonsense is not a limit");
	host_close(hw);

	tree_put(tree_dir, V2 "cgroup.controllers", "io memory\n");
	fd = open(tree_dir, O_RDONLY | O_DIRECTORY);
	is_int(cgroup_find(fd, &place, &e), ST_UNSUPPORTED,
		"without the cpu controller there is no knob");
	has(e.msg, "cpu controller", "and that is why");
	close(fd);
}

static const char *fake_env(void *arg, const char *name)
{
	const char *const *pairs = arg;

	for (; *pairs; pairs += 2)
		if (!strcmp(pairs[0], name))
			return pairs[1];
	return NULL;
}

static void cpus_of_a_rank(void)
{
	const char *none[] = {NULL};
	const char *omp[] = {"OMP_NUM_THREADS", "4,2", NULL};
	const char *mpi[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "4", NULL};
	const char *slurm[] = {"SLURM_TASKS_PER_NODE", "4(x2),3", NULL};
	const char *bad[] = {"OMP_NUM_THREADS", "many", NULL};

	is_int(cgroup_rank_cpus(fake_env, none, 8, 64), 8,
		"a bound rank has the CPUs it may run on");
	is_int(cgroup_rank_cpus(fake_env, omp, 64, 64), 4, "or its threads");
	is_int(cgroup_rank_cpus(fake_env, mpi, 64, 64), 16, "or its share of the node");
	is_int(cgroup_rank_cpus(fake_env, slurm, 64, 64), 16, "as Slurm writes it too");
	is_int(cgroup_rank_cpus(fake_env, mpi, 2, 2), 1, "never less than one");
	is_int(cgroup_rank_cpus(fake_env, bad, 8, 64), 8, "nonsense is ignored");
}

static double cpu_share(const char *path, int root)
{
	struct timespec nap = {0, 400000000}, wall0, wall1, cpu;
	clockid_t clk;
	pid_t pid = fork();

	if (pid == 0) {
		volatile unsigned long n = 0;

		if (cgroup_join(root, path, 0, NULL) != ST_OK)
			_exit(1);
		for (;;)
			n++;
	}
	clock_getcpuclockid(pid, &clk);
	clock_gettime(CLOCK_MONOTONIC, &wall0);
	nanosleep(&nap, NULL);
	clock_gettime(clk, &cpu);
	clock_gettime(CLOCK_MONOTONIC, &wall1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return ((double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9) /
	       ((double)(wall1.tv_sec - wall0.tv_sec) +
		       (double)(wall1.tv_nsec - wall0.tv_nsec) / 1e9);
}

static void on_this_kernel(void)
{
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct backend_env env = {.root_fd = root, .clock = clock_system()};
	struct knob_val v, set = {10000000, 300000, 0, KV_READ};
	struct err e = ERR_INIT;
	char path[PATH_MAX], run[32];
	struct hw *hw = NULL;
	double share;

	snprintf(run, sizeof(run), "t%d", (int)getpid());
	if (cgroup_group_create(root, run, 0, 1, path, sizeof(path), &e) != ST_OK) {
		printf("# %s\n", e.msg);
		tap_skip(6, "no cpu cgroup of our own on this machine");
		return;
	}
	env.run_id = run;
	ok(hw_open(&env, "cgroup", &hw, &e) == ST_OK && hw_n_devices(hw) == 1,
		"a new group is a device");
	is_int(hw_knob_get(hw, 0, KNOB_CPU_RATE, &v, &e), ST_OK, "its rate is read");
	is_int(v.hi, -1, "and unlimited");
	is_int(hw_knob_set(hw, 0, KNOB_CPU_RATE, &set, &e), ST_OK, "30 % is set");
	share = cpu_share(path, root);
	ok(share > 0.15 && share < 0.40, "a spinning process in it gets that (%.3f)", share);
	hw_close(hw);
	is_int(cgroup_reap(root, run), 0, "an empty group can be removed");
	close(root);
}

int main(void)
{
	version_1();
	version_2();
	cpus_of_a_rank();
	on_this_kernel();
	return tap_done();
}
