/* sysfs_gpu_test.c: AMD and Intel GPUs, CPU clocks, node sensors and the job, on constructed
 * machines. */
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/mem.h"
#include "host.h"
#include "hw/amd_metrics.h"
#include "hw/control.h"

#define BIT(c) (UINT64_C(1) << (c))
#define AMD    "sys/class/drm/card0/device/"

static struct sample read1(struct hw *hw, size_t id, enum channel ch)
{
	struct sample s[CH_COUNT];

	hw_read(hw, id, BIT(ch), s);
	return s[ch];
}

static void amd(void)
{
	struct knob_val v, set = {0, 400000, 0, KV_READ};
	struct sample s[CH_COUNT];
	struct knob_range r;
	struct err e = ERR_INIT;
	struct hw *hw;
	int counted = 0;

	host_make("mi250");
	hw = host_open("amdgpu", NULL);
	is_int(hw_n_devices(hw), 2, "a board with two dies is two devices");
	for (size_t i = 0; i < 2; i++)
		counted += hw_device(hw, i)->counted;
	is_int(counted, 1, "of which one is counted");
	is_str(hw_device(hw, 0)->key, "GPU-1f2e3d4c5b6a7988", "named as ROCm names them");
	is_str(hw_device(hw, 0)->pci, "0000:c1:00.0", "with the PCI address");
	hw_read(hw, 0, ~UINT64_C(0), s);
	is_int(s[CH_ENERGY].value, 1000000000, "65536000 units of 2^-16 J are 1000 J");
	is_int(s[CH_POWER].value, 300000, "power in mW");
	is_int(s[CH_CLOCK].value, 1650000, "clock in kHz");
	is_int(s[CH_MEM_CLOCK].value, 1600000, "memory clock from the line with the star");
	is_int(s[CH_UTIL].value, 980000, "utilisation in ppm");
	is_int(s[CH_MEM_USED].value, 1073741824, "memory in bytes");
	is_int(s[CH_TEMP].value, 61000, "the junction where there is no edge sensor");
	is_int(s[CH_THROTTLE].value, THROTTLE_POWER_CAP | THROTTLE_THERMAL, "throttle reasons");
	ok(read1(hw, 1, CH_POWER).st != ST_OK, "the second die's 0 W is no reading");
	ok(read1(hw, 1, CH_ENERGY).st != ST_OK, "nor is its energy");
	is_int(read1(hw, 1, CH_UTIL).st, ST_OK, "what it does report is read");
	has(hw_device(hw, 1)->why_not, "second die", "and it says why");
	hw_knob_range(hw, 0, KNOB_POWER_LIMIT, &r, &e);
	is_int(r.max, 560000, "the limit has its range");
	is_int(hw_knob_set(hw, 0, KNOB_POWER_LIMIT, &set, &e), ST_OK, "the limit is set");
	is_str(tree_get(tree_dir, AMD "hwmon/hwmon2/power1_cap"), "400000000", "in uW");
	hw_knob_range(hw, 0, KNOB_CLOCK_MAX, &r, &e);
	ok(r.min == 500000 && r.max == 1700000, "clocks have a range");
	hw_knob_get(hw, 0, KNOB_CLOCK_MAX, &v, &e);
	is_int(v.hi, -1, "the level 'auto' is no limit");
	set.hi = 1300000;
	hw_knob_set(hw, 0, KNOB_CLOCK_MAX, &set, &e);
	is_str(tree_get(tree_dir, AMD "power_dpm_force_performance_level"), "perf_determinism",
		"a clock limit is the determinism mode");
	v.hi = -1;
	hw_knob_set(hw, 0, KNOB_CLOCK_MAX, &v, &e);
	is_str(tree_get(tree_dir, AMD "power_dpm_force_performance_level"), "auto",
		"and no limit is 'auto' again");
	tree_put(tree_dir, AMD "power_dpm_force_performance_level", "manual\n");
	is_int(hw_knob_get(hw, 0, KNOB_CLOCK_MAX, &v, &e), ST_INVALID,
		"somebody's manual level is left alone");
	tree_put(tree_dir, AMD "gpu_busy_percent", "4294967295\n");
	is_int(read1(hw, 0, CH_UTIL).st, ST_UNKNOWN, "an impossible utilisation is no reading");
	host_close(hw);

	host_make("mi300x");
	hw = host_open("amdgpu", NULL);
	is_int(read1(hw, 0, CH_ENERGY).value, INT64_C(5000000000),
		"the newer table is read at its own offset");
	ok(hw_device(hw, 0)->counted && hw_device(hw, 1)->counted, "two boards are both counted");
	tree_remove(tree_dir);
	is_int(read1(hw, 0, CH_POWER).st, ST_LOST, "a card that is gone is lost");
	host_close(hw);
}

static void amd_tables(void)
{
	unsigned char b[128] = {120, 0, 1, 3};
	struct amd_metrics m;
	int crash = 0;

	b[24] = 1;
	is_int(amd_metrics_parse(b, 120, &m), ST_OK, "a whole table");
	is_int(m.energy_uj, 15, "one unit is 15.26 uJ");
	is_int(amd_metrics_parse(b, 100, &m), ST_CORRUPT, "a table cut short is refused");
	is_int(amd_metrics_parse(b, 2, &m), ST_CORRUPT, "so is half a header");
	b[3] = 99;
	is_int(amd_metrics_parse(b, 120, &m), ST_UNSUPPORTED, "an unknown version is not guessed");
	b[2] = 2;
	b[3] = 2;
	is_int(amd_metrics_parse(b, 120, &m), ST_UNSUPPORTED, "nor is another format");
	memset(b, 255, sizeof(b));
	memcpy(b, "\x78\x00\x01\x03", 4);
	amd_metrics_parse(b, 120, &m);
	ok(!m.has_energy && !m.has_power && !m.has_throttle, "all ones means not supported");
	memcpy(b, "\x78\x00\x01\x00", 4);
	memset(b + 36, 0x7f, 4);
	amd_metrics_parse(b, 120, &m);
	is_int(m.energy_wrap, INT64_C(65536000000), "the oldest table wraps after 65.5 kJ");
	for (unsigned v = 0; v < 256; v++)
		for (size_t n = 0; n <= 128; n += 4) {
			b[3] = (unsigned char)v;
			crash += amd_metrics_parse(b, n, &m) == ST_COUNT;
		}
	is_int(crash, 0, "every version and length is answered");
}

static void intel(void)
{
	struct knob_val v, set = {0, 120000, 0, KV_READ};
	struct err e = ERR_INIT;
	struct hw *hw;

	host_make("arc-i915");
	hw = host_open("intelgpu", NULL);
	is_int(hw_n_devices(hw), 1, "integrated graphics without a sensor are not listed");
	is_str(hw_device(hw, 0)->key, "0000:03:00.0", "named by PCI address");
	is_int(read1(hw, 0, CH_ENERGY).value, 123456789, "energy in uJ");
	is_int(read1(hw, 0, CH_CLOCK).value, 2100000, "clock in kHz");
	hw_knob_set(hw, 0, KNOB_POWER_LIMIT, &set, &e);
	is_str(tree_get(tree_dir, "sys/class/drm/card1/device/hwmon/hwmon4/power1_max"),
		"120000000", "the limit is set in uW");
	set.hi = 1500000;
	hw_knob_set(hw, 0, KNOB_CLOCK_MAX, &set, &e);
	is_str(tree_get(tree_dir, "sys/class/drm/card1/gt_max_freq_mhz"), "1500",
		"the clock in MHz");
	host_close(hw);

	host_make("battlemage-xe");
	hw = host_open("intelgpu", NULL);
	is_int(read1(hw, 0, CH_ENERGY).value, 5000000,
		"xe's package energy where there is no card energy");
	is_int(read1(hw, 0, CH_CLOCK).value, 2850000, "clock below the tile");
	hw_knob_get(hw, 0, KNOB_POWER_LIMIT, &v, &e);
	is_int(v.hi, -1, "a limit of 0 is no limit");
	set.hi = 150000;
	hw_knob_set(hw, 0, KNOB_POWER_LIMIT, &set, &e);
	hw_knob_set(hw, 0, KNOB_POWER_LIMIT, &v, &e);
	is_str(tree_get(tree_dir, "sys/class/drm/card0/device/hwmon/hwmon3/power1_max"), "0",
		"and is put back as 0");
	host_close(hw);
}

static void cpu_clocks(void)
{
	static const char *const maxima[] = {
		"sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
		"sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq",
		"sys/devices/system/cpu/cpufreq/policy10/scaling_max_freq"};
	struct knob_val v, set = {0, 2000000, 0, KV_READ};
	struct restore_report rep = {0, 0, 0, STR_INIT};
	size_t dev = 0;
	struct lease_req req = {
		.devices = &dev, .n_devices = 1, .knobs = 1u << KNOB_CLOCK_MAX, .end = LEASE_PID};
	struct control *c;
	struct lease *l;
	struct err e = ERR_INIT;
	char run[300];
	struct hw *hw;
	pid_t pid;

	host_make("hybrid-cpufreq");
	snprintf(run, sizeof(run), "%s/run", tree_dir);
	hw = host_open("cpufreq", NULL);
	is_int(hw_n_devices(hw), 2, "fast and slow cores of a package are two devices");
	is_int(read1(hw, 0, CH_CLOCK).value, 3500000, "their clock is the mean of their cores");
	ok(!hw_device(hw, 0)->counted, "they have no energy of their own");
	is_int(hw_knob_set(hw, 0, KNOB_CLOCK_MAX, &set, &e), ST_OK, "a limit");
	is_str(tree_get(tree_dir, maxima[0]), "2000000", "is set on each of them");
	is_str(tree_get(tree_dir, maxima[1]), "2000000", "is set on each of them");
	is_str(tree_get(tree_dir, maxima[2]), "3400000", "and not on the others");
	tree_put(tree_dir, maxima[1], "1800000\n");
	is_int(hw_knob_get(hw, 0, KNOB_CLOCK_MAX, &v, &e), ST_INVALID,
		"limits that differ are not one value");
	control_open(hw, run, &c, &e);
	is_int(lease_take(c, &req, &l, &e), ST_OK, "a lease on them");
	is_int(lease_set(l, 0, KNOB_CLOCK_MAX, &set, NULL, &e), ST_INVALID,
		"does not let them be set, as they could not be put back");
	lease_release(l, NULL, NULL);
	tree_put(tree_dir, maxima[0], "4700000\n");
	tree_put(tree_dir, maxima[1], "4700000\n");
	control_close(c);

	/* killed between the first and the second policy: the other one is a file that cannot be
	 * written */
	pid = fork();
	if (pid == 0) {
		control_open(hw, run, &c, NULL);
		lease_take(c, &req, &l, NULL);
		fault_arm("write", 2);
		lease_set(l, 0, KNOB_CLOCK_MAX, &set, NULL, NULL);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	is_str(tree_get(tree_dir, maxima[0]), "2000000", "a holder died when one of two was set");
	is_str(tree_get(tree_dir, maxima[1]), "4700000", "and the other not");
	is_int(control_replay(hw, run, false, &rep, &e), ST_OK, "a replay succeeds");
	is_str(tree_get(tree_dir, maxima[0]), "4700000", "and both are as found");
	restore_report_release(&rep);
	host_close(hw);
}

static void nodes(void)
{
	struct hw *hw;
	int i, nodes = 0;

	host_make("cray-ex");
	hw = host_open("node,rapl", NULL);
	i = hw_find(hw, "node:pm_counters");
	is_int(read1(hw, (size_t)i, CH_POWER).value, 645000, "node power in mW");
	is_int(read1(hw, (size_t)i, CH_ENERGY).value, INT64_C(123456789000000),
		"node energy in uJ");
	ok(!hw_device(hw, (size_t)i)->counted, "the node contains the CPU, which is counted");
	tree_put(tree_dir, "sys/cray/pm_counters/power", "12 J 5 us\n");
	is_int(read1(hw, (size_t)i, CH_POWER).st, ST_CORRUPT,
		"a value in another unit is not power");
	host_close(hw);
	hw = host_open("node", NULL);
	ok(hw_device(hw, 0)->counted, "alone, the node is counted");
	host_close(hw);

	host_make("grace");
	hw = host_open("node", NULL);
	is_int(hw_n_devices(hw), 4, "four meters");
	for (size_t k = 0; k < 4; k++)
		nodes += hw_device(hw, k)->counted;
	is_int(nodes, 1, "of which one is counted");
	i = hw_find(hw, "hwmon:Grace-Power-Socket-0");
	ok(i >= 0 && hw_device(hw, (size_t)i)->counted, "the socket with its memory");
	is_int(read1(hw, (size_t)i, CH_POWER).value, 250000, "in mW");
	host_close(hw);

	host_make("jetson-orin");
	hw = host_open("node", NULL);
	i = hw_find(hw, "hwmon:VDD_IN");
	is_int(read1(hw, (size_t)i, CH_POWER).value, 28500, "volts times amperes");
	i = hw_find(hw, "hwmon:VDD_GPU_SOC");
	is_int(hw_device(hw, (size_t)i)->kind, DEV_GPU, "the GPU's rail is a GPU");
	host_close(hw);
}

static void the_job(void)
{
	struct timespec nap = {0, 300000000};
	struct sample s[CH_COUNT];
	struct backend_env env = {.clock = clock_system()};
	struct hw *hw = NULL;
	int64_t first;
	pid_t pid;

	env.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	hw_open(&env, "job", &hw, NULL);
	hw_read(hw, 0, BIT(CH_CPU_TIME), s);
	is_int(s[CH_CPU_TIME].st, ST_UNKNOWN, "before there is a job nothing is known of it");
	pid = fork();
	if (pid == 0) {
		/* a job whose work is done by a child */
		pid_t child = fork();
		volatile unsigned long n = 0;

		if (child == 0)
			for (;;)
				n++;
		pause();
		_exit(0);
	}
	hw_watch_job(hw, pid);
	nanosleep(&nap, NULL);
	hw_read(hw, 0, BIT(CH_CPU_TIME) | BIT(CH_RSS) | BIT(CH_IO_WRITE), s);
	first = s[CH_CPU_TIME].value;
	ok(s[CH_CPU_TIME].st == ST_OK && first >= 20 * NS_PER_MS && first < 2 * NS_PER_S,
		"the CPU time of its children counts (%lld ms)", (long long)(first / NS_PER_MS));
	ok(s[CH_RSS].st == ST_OK && s[CH_RSS].value > 0, "so does their memory");
	ok(s[CH_IO_WRITE].st == ST_OK || s[CH_IO_WRITE].st == ST_NO_PERMISSION,
		"I/O is known or forbidden, not 0 by mistake");
	nanosleep(&nap, NULL);
	hw_read(hw, 0, BIT(CH_CPU_TIME), s);
	ok(s[CH_CPU_TIME].value > first, "and it grows");
	{
		char path[64], buf[64];
		FILE *f;
		long child = 0;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
		f = fopen(path, "r");
		if (f && fgets(buf, sizeof(buf), f))
			child = strtol(buf, NULL, 10);
		if (f)
			fclose(f);
		if (child > 1)
			kill((pid_t)child, SIGKILL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	hw_read(hw, 0, BIT(CH_CPU_TIME), s);
	is_int(s[CH_CPU_TIME].st, ST_LOST, "a job that has ended is lost");
	hw_close(hw);
	close(env.root_fd);
}

static void any_single_read_fault(const char *host)
{
	int bad = 0;
	unsigned i;

	host_make(host);
	for (i = 1; i < 400; i++) {
		struct sample s[CH_COUNT];
		struct hw *hw;

		fault_arm("read", i);
		hw = host_open("amdgpu,intelgpu,cpufreq,node", NULL);
		for (size_t d = 0; d < hw_n_devices(hw); d++) {
			hw_read(hw, d, ~UINT64_C(0), s);
			bad += s[CH_ENERGY].st == ST_OK && s[CH_ENERGY].value <= 0;
			bad += s[CH_POWER].st == ST_OK && s[CH_POWER].value <= 0;
		}
		host_close(hw);
		if (!fault_fired())
			break;
	}
	fault_arm(NULL, 0);
	ok(i > 5 && i < 399, "%s: every read failed once (%u)", host, i - 1);
	is_int(bad, 0, "and nothing became 0");
}

int main(void)
{
	amd();
	amd_tables();
	intel();
	cpu_clocks();
	nodes();
	the_job();
	any_single_read_fault("mi250");
	any_single_read_fault("battlemage-xe");
	any_single_read_fault("grace");
	any_single_read_fault("hybrid-cpufreq");
	return tap_done();
}
