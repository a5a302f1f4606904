/* nvml_test.c: NVIDIA GPUs through a library whose every answer is ours. */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>

#include "base/mem.h"
#include "fake/nvml_fake.h"
#include "hw/hw.h"
#include "hw/nvml_api.h"
#include "tap.h"
#include "tree.h"

#define BIT(c)       (UINT64_C(1) << (c))
#define MODULE(name) TEST_BUILD_ROOT "/tests/unit/fake/" name ".so"

static struct nvml_fake *fake;

static struct fake_gpu v100(uint32_t bus, const char *uuid)
{
	struct fake_gpu g;

	memset(&g, 0, sizeof(g));
	snprintf(g.name, sizeof(g.name), "Tesla V100-PCIE-32GB");
	snprintf(g.uuid, sizeof(g.uuid), "%s", uuid);
	g.bus = bus;
	g.cc_major = 7;
	g.energy_mj = 1000000;
	g.power_mw = 150000;
	g.sm_mhz = 1380;
	g.mem_mhz = 877;
	g.util = 97;
	g.mem_util = 40;
	g.temp = 61;
	g.memory_used = 1 << 30;
	g.limit_mw = g.limit_max_mw = g.limit_default_mw = 250000;
	g.limit_min_mw = 100000;
	return g;
}

/* The library stays loaded while we hold it, so the test and the back end share its data. */
static void use(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	fake = lib ? dlsym(lib, "nvml_fake") : NULL;
	if (!fake) {
		printf("Bail out! %s\n", dlerror());
		exit(99);
	}
	memset(fake, 0, sizeof(*fake));
	fake->n = 2;
	fake->gpu[0] = v100(0x3b, "GPU-aaaaaaaa-0000");
	fake->gpu[1] = v100(0xd8, "GPU-bbbbbbbb-0000");
}

static struct hw *open_hw(const char *path)
{
	struct backend_env env = {.root_fd = AT_FDCWD, .nvml_path = path, .clock = clock_system()};
	struct err e = ERR_INIT;
	struct hw *hw = NULL;

	env.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(hw_open(&env, "nvml", &hw, &e) == ST_OK, "opens (%s)", e.msg);
	return hw;
}

static void reads_every_channel(void)
{
	struct sample s[CH_COUNT];
	const struct device *d;
	struct hw *hw;

	use(MODULE("nvml_fake"));
	fake->gpu[0].power_average_mw = 148000;
	fake->gpu[0].power_instant_mw = 152000;
	fake->gpu[0].pcie_tx = 4096;
	fake->gpu[0].nvlink_tx_kib = 3;
	fake->gpu[0].viol_power_ns = 77;
	fake->gpu[0].brake_ns = 5;
	fake->gpu[0].board_ns = 6;
	fake->gpu[0].reasons = 0x4 | 0x20;
	hw = open_hw(MODULE("nvml_fake"));
	is_int(hw_n_devices(hw), 2, "two GPUs are two devices");
	d = hw_device(hw, 0);
	is_str(d->key, "GPU-aaaaaaaa-0000", "the key is the UUID");
	is_str(d->pci, "0000:3b:00.0", "the PCI address is in the kernel's form");
	is_int(d->power_kind, POWER_KIND_INSTANT, "power of a V100 is the latest window");
	is_int(d->refresh_ns, 20000000, "its counter refreshes every 20 ms");
	ok(!d->simulated, "a library without the marker is not called simulated");
	hw_read(hw, 0, d->channels, s);
	is_int(s[CH_ENERGY].value, 1000000000, "energy is in uJ");
	is_int(s[CH_POWER].value, 150000, "power is in mW");
	is_int(s[CH_POWER_AVERAGE].value, 148000, "the average is told apart");
	is_int(s[CH_POWER_INSTANT].value, 152000, "from the instant power");
	is_int(s[CH_POWER_MODULE].st, ST_UNSUPPORTED, "a board without a module sensor says so");
	is_int(s[CH_CLOCK].value, 1380000, "clock is in kHz");
	is_int(s[CH_UTIL].value, 970000, "utilisation is in ppm");
	is_int(s[CH_MEM_UTIL].value, 400000, "so is the memory controller's");
	is_int(s[CH_MEM_USED].value, 1 << 30, "memory is in bytes");
	is_int(s[CH_TEMP].value, 61000, "temperature is in mdegC");
	is_int(s[CH_THROTTLE].value, THROTTLE_POWER_CAP | THROTTLE_THERMAL, "reasons are mapped");
	is_int(s[CH_VIOL_POWER].value, 77, "time under the cap comes from the older call");
	is_int(s[CH_VIOL_HW].value, 11, "power brake and board limit add up");
	is_int(s[CH_PCIE_TX].value, 4096, "PCIe traffic is a counter of bytes");
	is_int(s[CH_NVLINK_TX].value, 3072, "NVLink's KiB become bytes");
	ok(s[CH_ENERGY].t_ns > 0 && s[CH_ENERGY].t_ns <= s[CH_POWER].t_ns,
		"each sample has the time of its own call");
	is_int(hw_find(hw, "GPU-bbbb"), 1, "a unique prefix finds a GPU");
	is_int(hw_find(hw, "GPU-"), -1, "an ambiguous one does not");
	is_int(hw_find(hw, "0000:D8:00.0"), 1, "so does its PCI address in any case");
	is_int(fake->process_lists, 0, "no process list is asked for");
	hw_close(hw);
	is_int(fake->shutdowns, 1, "closing shuts the library down");
}

static void one_fault_hides_nothing_else(void)
{
	static const struct {
		enum fake_call call;
		enum channel ch;
		const char *what;
	} faults[] = {
		{FAKE_ENERGY, CH_ENERGY, "energy"},
		{FAKE_POWER, CH_POWER, "power"},
		{FAKE_CLOCK, CH_CLOCK, "clock"},
		{FAKE_UTIL, CH_UTIL, "utilisation"},
		{FAKE_MEMORY, CH_MEM_USED, "memory"},
		{FAKE_TEMP, CH_TEMP, "temperature"},
		{FAKE_REASONS, CH_THROTTLE, "throttle reasons"},
		{FAKE_VIOLATION, CH_VIOL_POWER, "violation counters"},
		{FAKE_FIELDS, CH_PCIE_TX, "field values"},
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct sample s[CH_COUNT];
		struct hw *hw;
		int bad = 0;

		use(MODULE("nvml_fake"));
		fake->gpu[0].ret[faults[i].call] = 3; /* NOT_SUPPORTED */
		hw = open_hw(MODULE("nvml_fake"));
		hw_read(hw, 0, ~UINT64_C(0), s);
		is_int(s[faults[i].ch].st, ST_UNSUPPORTED, faults[i].what);
		for (size_t j = 0; j < sizeof(faults) / sizeof(faults[0]); j++)
			if (j != i && s[faults[j].ch].st != ST_OK)
				bad++;
		is_int(bad, 0, "everything else still answers");
		hw_close(hw);
	}
}

static void impossible_values_are_not_data(void)
{
	static const uint32_t blank32[] = {UINT32_MAX, 2147483632, 2147483633, 2147483634};
	static const uint64_t blank64[] = {UINT64_C(140737488355328), UINT64_C(140737488355330),
		UINT64_C(9223372036854775792), UINT64_C(9223372036854775795), UINT64_MAX};
	struct sample s[CH_COUNT];
	struct hw *hw;
	int data = 0;

	use(MODULE("nvml_fake"));
	hw = open_hw(MODULE("nvml_fake"));
	for (size_t i = 0; i < 4; i++) {
		fake->gpu[0].power_mw = fake->gpu[0].sm_mhz = fake->gpu[0].util = blank32[i];
		hw_read(hw, 0, BIT(CH_POWER) | BIT(CH_CLOCK) | BIT(CH_UTIL), s);
		data += (s[CH_POWER].st == ST_OK) + (s[CH_CLOCK].st == ST_OK) +
			(s[CH_UTIL].st == ST_OK);
	}
	for (size_t i = 0; i < 5; i++) {
		fake->gpu[0].energy_mj = fake->gpu[0].memory_used = blank64[i];
		fake->gpu[0].viol_power_ns = blank64[i];
		hw_read(hw, 0, BIT(CH_ENERGY) | BIT(CH_MEM_USED) | BIT(CH_VIOL_POWER), s);
		data += (s[CH_ENERGY].st == ST_OK) + (s[CH_MEM_USED].st == ST_OK) +
			(s[CH_VIOL_POWER].st == ST_OK);
	}
	is_int(data, 0, "blank values are never data");
	fake->gpu[0].energy_mj = UINT64_C(9223372036854775795);
	hw_read(hw, 0, BIT(CH_ENERGY), s);
	is_int(s[CH_ENERGY].st, ST_NO_PERMISSION, "blank + 3 means no permission");
	fake->gpu[0].power_mw = 0;
	hw_read(hw, 0, BIT(CH_POWER), s);
	is_int(s[CH_POWER].st, ST_UNKNOWN, "0 W with success is not a reading");
	fake->gpu[0].util = 250;
	hw_read(hw, 0, BIT(CH_UTIL), s);
	is_int(s[CH_UTIL].st, ST_CORRUPT, "250 % busy cannot be true");
	hw_close(hw);
}

static void a_lost_gpu_leaves_the_others(void)
{
	struct sample s[CH_COUNT];
	struct hw *hw;

	use(MODULE("nvml_fake"));
	hw = open_hw(MODULE("nvml_fake"));
	for (int i = 0; i < FAKE_CALLS; i++)
		fake->gpu[0].ret[i] = NVML_GPU_IS_LOST;
	hw_read(hw, 0, BIT(CH_ENERGY) | BIT(CH_POWER), s);
	is_int(s[CH_ENERGY].st, ST_LOST, "a GPU off the bus is lost");
	is_int(s[CH_POWER].st, ST_LOST, "in every channel");
	is_int(hw_read(hw, 1, BIT(CH_ENERGY), s), ST_OK, "the other one still answers");
	hw_close(hw);

	use(MODULE("nvml_fake"));
	fake->gpu[0].ret[FAKE_HANDLE] = NVML_GPU_IS_LOST;
	hw = open_hw(MODULE("nvml_fake"));
	is_int(hw_n_devices(hw), 1, "a GPU lost before the start is left out");
	is_int(hw_device(hw, 0)->index, 1, "and the other keeps its place in the driver's order");
	has(hw_missing_at(hw, 0)->why, "GPU 0", "and the loss is told");
	hw_close(hw);
}

static void mig_instances_share_one_sensor(void)
{
	struct sample s[CH_COUNT];
	int counted = 0;
	struct hw *hw;

	use(MODULE("nvml_fake"));
	fake->n = 1;
	fake->gpu[0].migs = 2;
	hw = open_hw(MODULE("nvml_fake"));
	is_int(hw_n_devices(hw), 3, "one GPU with two instances is three devices");
	for (size_t i = 0; i < 3; i++)
		counted += hw_device(hw, i)->counted;
	is_int(counted, 1, "of which one is counted");
	is_int(hw_device(hw, 2)->parent, 0, "an instance knows its GPU");
	is_str(hw_device(hw, 1)->key, "MIG-0-GPU-aaaaaaaa-0000", "and has a UUID of its own");
	hw_read(hw, 1, BIT(CH_ENERGY) | BIT(CH_MEM_USED), s);
	is_int(s[CH_ENERGY].st, ST_UNSUPPORTED, "its energy is not the parent's");
	is_int(s[CH_MEM_USED].st, ST_OK, "its memory is known");
	is_int(hw_device(hw, 1)->knobs, 0, "it has no knobs");
	hw_close(hw);
}

static void old_drivers_work(void)
{
	struct sample s[CH_COUNT];
	struct hw *hw;

	use(MODULE("nvml_fake_old"));
	hw = open_hw(MODULE("nvml_fake_old"));
	is_int(hw_n_devices(hw), 2, "a library with the names of 2016 is understood");
	hw_read(hw, 0, ~UINT64_C(0), s);
	is_int(s[CH_POWER].value, 150000, "power is read");
	is_int(s[CH_ENERGY].st, ST_UNSUPPORTED, "the energy counter is not there");
	is_int(s[CH_MEM_USED].value, 1 << 30, "memory comes from the older structure");
	has(hw_device(hw, 0)->why_not, "integrated", "and the device says what that means");
	is_int(hw_device(hw, 0)->knobs, 1 << KNOB_POWER_LIMIT,
		"without clock locks in the library");
	hw_close(hw);
}

static const struct hw_missing *missing(struct hw *hw)
{
	static const struct hw_missing none = {"", "", "", false};

	return hw_n_missing(hw) ? hw_missing_at(hw, 0) : &none;
}

static void what_cannot_be_loaded_says_why(void)
{
	const char *dir = tree_new();
	char path[512];
	struct hw *hw;

	hw = open_hw("/nonexistent/libnvidia-ml.so.1");
	is_int(hw_n_devices(hw), 0, "a missing library is a machine without GPUs");
	has(missing(hw)->why, "No such file", "and is told");
	ok(missing(hw)->fix[0], "with what to do");
	hw_close(hw);

	hw = open_hw(dir);
	has(missing(hw)->why, "directory", "a directory of that name is told");
	has(missing(hw)->fix, "remove it", "with what to do");
	hw_close(hw);

	tree_put(dir, "lib32.so", "\177ELF\001\001\001");
	snprintf(path, sizeof(path), "%s/lib32.so", dir);
	hw = open_hw(path);
	has(missing(hw)->fix, "architecture", "a library of another architecture is told");
	hw_close(hw);

	hw = open_hw(MODULE("nvml_fake_broken"));
	has(missing(hw)->why, "nvmlDeviceGetCount", "one without a needed function names it");
	hw_close(hw);

	use(MODULE("nvml_fake"));
	fake->init_ret = NVML_DRIVER_NOT_LOADED;
	hw = open_hw(MODULE("nvml_fake"));
	has(missing(hw)->why, "Driver Not Loaded", "a driver that is not loaded yet is told");
	has(missing(hw)->fix, "modprobe", "with what to do");
	hw_close(hw);
	fake->init_ret = 0;
	hw = open_hw(MODULE("nvml_fake"));
	is_int(hw_n_devices(hw), 2, "and once it is there the next opening finds the GPUs");
	hw_close(hw);
}

static void knobs_are_set_and_read_back(void)
{
	struct knob_range r;
	struct knob_val v, set = {0, 200000, 0, KV_READ};
	struct err e = ERR_INIT;
	struct hw *hw;

	use(MODULE("nvml_fake"));
	fake->gpu[1].limit_mw = 230000;
	hw = open_hw(MODULE("nvml_fake"));
	is_int(hw_knob_range(hw, 1, KNOB_POWER_LIMIT, &r, &e), ST_OK, "the limit has a range");
	ok(r.min == 100000 && r.max == 250000 && r.def == 250000, "from the board");
	is_int(hw_knob_get(hw, 1, KNOB_POWER_LIMIT, &v, &e), ST_OK, "the limit can be read");
	is_int(v.hi, 230000, "it is what was found, not the factory's");
	is_int(hw_knob_set(hw, 1, KNOB_POWER_LIMIT, &set, &e), ST_OK, "and set");
	fake->gpu[1].clamp_mw = 180000;
	hw_knob_get(hw, 1, KNOB_POWER_LIMIT, &v, &e);
	ok(v.hi == 200000 && v.in_force == 180000, "a lower cap of the board controller is seen");
	is_int(hw_knob_range(hw, 0, KNOB_CLOCK_MAX, &r, &e), ST_OK, "clocks have a grid");
	ok(r.n_grid == 5 && r.grid[0] == 135000 && r.grid[4] == 1380000, "ascending, in kHz");
	set = (struct knob_val){0, 1000000, 0, KV_READ};
	is_int(hw_knob_set(hw, 0, KNOB_CLOCK_MAX, &set, &e), ST_OK, "a clock can be locked");
	ok(fake->gpu[0].lock_min == 135 && fake->gpu[0].lock_max == 1000,
		"from the lowest up to it");
	is_int(hw_knob_get(hw, 0, KNOB_CLOCK_MAX, &v, &e), ST_UNSUPPORTED, "but not read back");
	is_int(v.from, KV_UNKNOWN, "and that is said");
	set.from = KV_RESET;
	hw_knob_set(hw, 0, KNOB_CLOCK_MAX, &set, &e);
	is_int(fake->gpu[0].lock_max, 0, "a reset takes the lock away");
	fake->gpu[0].ret[FAKE_SET_LIMIT] = NVML_NO_PERMISSION;
	set = (struct knob_val){0, 200000, 0, KV_READ};
	is_int(hw_knob_set(hw, 0, KNOB_POWER_LIMIT, &set, &e), ST_NO_PERMISSION,
		"a refusal is a refusal");
	has(e.msg, "Insufficient Permissions", "in the library's words");
	hw_close(hw);

	use(MODULE("nvml_fake"));
	fake->gpu[0].ret[FAKE_RANGE] = 3;
	hw = open_hw(MODULE("nvml_fake"));
	ok(!(hw_device(hw, 0)->knobs >> KNOB_POWER_LIMIT & 1), "a laptop's limit is no knob");
	has(hw_device(hw, 0)->why_not, "power limit", "and the device says so");
	ok(hw_device(hw, 0)->knobs >> KNOB_CLOCK_MAX & 1, "its clocks still are");
	hw_close(hw);
}

static void hanging_calls_are_given_up(void)
{
	struct knob_range r;
	struct knob_val v;
	struct err e = ERR_INIT;
	int64_t t0;
	struct hw *hw;

	setenv("WATTLAW_DRIVER_TIMEOUT", "100ms", 1);
	use(MODULE("nvml_fake"));
	fake->hang_ms = 600;
	hw = open_hw(MODULE("nvml_fake"));
	is_int(hw_n_devices(hw), 2, "a slow list of clocks does not hold up opening");
	t0 = clock_system()->now(clock_system());
	is_int(hw_knob_range(hw, 0, KNOB_CLOCK_MAX, &r, &e), ST_TIMEOUT, "asking for it times out");
	ok(clock_system()->now(clock_system()) - t0 < 500 * NS_PER_MS, "in time");
	is_int(hw_knob_get(hw, 0, KNOB_POWER_LIMIT, &v, &e), ST_OK, "other calls still work");
	hw_close(hw);
	usleep(700000); /* let the abandoned call end before the library's data are reused */
	fake->hang_ms = 0;
	fake->init_hang_ms = 300;
	hw = open_hw(MODULE("nvml_fake"));
	is_int(hw_n_devices(hw), 0, "a library that hangs at the start is left out");
	is_int(hw_n_missing(hw), 1, "and told");
	hw_close(hw);
	usleep(400000);
	unsetenv("WATTLAW_DRIVER_TIMEOUT");
}

/* Every call of the library, then every allocation, fails once: nothing crashes, nothing is
 * invented. */
static void any_single_fault_is_survived(const char *point)
{
	struct sample s[CH_COUNT];
	int wrong = 0, rounds = 0;

	use(MODULE("nvml_fake"));
	fake->gpu[0].migs = 1;
	for (unsigned i = 1; i < 500; i++) {
		struct backend_env env = {
			.nvml_path = MODULE("nvml_fake"), .clock = clock_system()};
		struct hw *hw = NULL;

		env.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fault_arm(point, i);
		if (hw_open(&env, "nvml", &hw, NULL) == ST_OK) {
			for (size_t d = 0; d < hw_n_devices(hw); d++) {
				hw_read(hw, d, BIT(CH_ENERGY) | BIT(CH_POWER), s);
				if (s[CH_ENERGY].st == ST_OK && s[CH_ENERGY].value != 1000000000)
					wrong++;
				if (s[CH_POWER].st == ST_OK && s[CH_POWER].value != 150000)
					wrong++;
			}
		}
		rounds++;
		hw_close(hw);
		close(env.root_fd);
		if (!fault_fired())
			break;
	}
	fault_arm(NULL, 0);
	ok(rounds > 5 && rounds < 499, "every '%s' fault was made once (%d)", point, rounds - 1);
	is_int(wrong, 0, "and no number was made up");
}

int main(void)
{
	reads_every_channel();
	one_fault_hides_nothing_else();
	impossible_values_are_not_data();
	a_lost_gpu_leaves_the_others();
	mig_instances_share_one_sensor();
	old_drivers_work();
	what_cannot_be_loaded_says_why();
	knobs_are_set_and_read_back();
	hanging_calls_are_given_up();
	any_single_fault_is_survived("nvml");
	any_single_fault_is_survived("alloc");
	return tap_done();
}
