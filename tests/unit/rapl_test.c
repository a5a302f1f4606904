/* rapl_test.c: CPU and DRAM energy on constructed machines. */
#include <inttypes.h>

#include "base/mem.h"
#include "host.h"

#define ENERGY (UINT64_C(1) << CH_ENERGY)
#define ZONE0  "sys/class/powercap/intel-rapl:0/"

static int id(struct hw *hw, const char *key)
{
	int i = hw_find(hw, key);

	if (i < 0) {
		printf("Bail out! no device %s\n", key);
		exit(99);
	}
	return i;
}

static struct sample read_energy(struct hw *hw, const char *key)
{
	struct sample s[CH_COUNT];

	hw_read(hw, (size_t)id(hw, key), ENERGY, s);
	return s[CH_ENERGY];
}

static void packages_and_dram_are_counted_once(void)
{
	struct hw *hw;
	int counted = 0;

	host_make("xeon-2s");
	hw = host_open("rapl", NULL);
	is_int(hw_n_devices(hw), 4, "two packages and their DRAM");
	is_int(hw_device(hw, (size_t)id(hw, "rapl:package-1:dram"))->kind, DEV_DRAM,
		"DRAM is its own kind");
	is_int(read_energy(hw, "rapl:package-0").value, 100000000, "package energy is in uJ");
	is_int(read_energy(hw, "rapl:package-1:dram").value, 40000000, "DRAM energy too");
	is_int(hw_device(hw, 0)->energy_wrap, INT64_C(262143328850),
		"the wrap is the kernel's range");
	has(hw_device(hw, 0)->model, "Xeon(R) Gold 6248", "packages know their model");
	host_close(hw);

	host_make("laptop-psys-mmio");
	hw = host_open("rapl", NULL);
	is_int(hw_n_devices(hw), 2, "core, uncore and the mmio twin are not listed");
	for (size_t i = 0; i < 2; i++)
		counted += hw_device(hw, i)->counted;
	is_int(counted, 1, "psys contains the package: one of them is counted");
	ok(hw_device(hw, (size_t)id(hw, "rapl:package-0"))->counted, "and it is the package");
	is_int(read_energy(hw, "rapl:package-0").value, 5000000, "read through the MSR zone");
	host_close(hw);

	host_make("epyc-2s");
	hw = host_open("rapl", NULL);
	is_int(hw_n_devices(hw), 2, "AMD packages are found under the same names");
	is_int(hw_device(hw, 0)->energy_wrap, INT64_C(65532610987), "with their short wrap");
	is_int(hw_device(hw, 0)->knobs, 0, "and without limits");
	host_close(hw);
}

static void psys_alone_is_counted(void)
{
	struct hw *hw;

	host_make("laptop-psys-mmio");
	tree_put(tree_dir, "sys/class/powercap/intel-rapl:0/name", "other\n");
	tree_put(tree_dir, "sys/class/powercap/intel-rapl-mmio:0/name", "other\n");
	hw = host_open("rapl", NULL);
	is_int(hw_n_devices(hw), 1, "only psys");
	ok(hw_device(hw, 0)->counted, "is counted when nothing is inside it");
	host_close(hw);
}

static void unreadable_is_not_zero(void)
{
	struct sample s;
	struct hw *hw;
	char path[512];

	host_make("xeon-2s");
	snprintf(path, sizeof(path), "%s/" ZONE0 "energy_uj", tree_dir);
	if (geteuid() == 0) {
		/* root reads anything: a directory stands in for a file that cannot be read */
		remove(path);
		mkdir(path, 0700);
	} else {
		chmod(path, 0);
	}
	hw = host_open("rapl", NULL);
	s = read_energy(hw, "rapl:package-0");
	ok(s.st != ST_OK, "an energy file that cannot be read has no value");
	ok(hw_device(hw, (size_t)id(hw, "rapl:package-0"))->why_not[0], "the device says why");
	ok(hw_n_missing(hw) > 0 && hw_missing_at(hw, 0)->fix[0], "and what to do");
	is_int(read_energy(hw, "rapl:package-1").st, ST_OK, "the other package still answers");
	host_close(hw);
}

/* As an ordinary user, when the test runs as root. */
static void root_only_files_are_explained(void)
{
	struct hw *hw;
	int drop = geteuid() == 0;

	host_make("xeon-2s");
	for (int i = 0; i < 2; i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s/sys/class/powercap/intel-rapl:%d/energy_uj",
			tree_dir, i);
		chmod(path, 0400);
	}
	chmod(tree_dir, 0755);
	if (drop && seteuid(65534) < 0) {
		tap_skip(4, "cannot become another user");
		return;
	}
	if (!drop)
		chmod(tree_dir, 0);
	hw = host_open("rapl", NULL);
	is_int(read_energy(hw, "rapl:package-0").st, ST_NO_PERMISSION,
		"root-only energy is said so");
	has(hw_device(hw, 0)->why_not, "5.10", "with the kernel that began it");
	has(hw_missing_at(hw, 0)->fix, "chmod", "and the command that opens it");
	is_int(read_energy(hw, "rapl:package-0:dram").st, ST_OK, "DRAM is still read");
	host_close(hw);
	if (drop && seteuid(0) < 0)
		printf("# cannot become root again\n");
}

static void a_counter_at_zero_is_no_sensor(void)
{
	struct hw *hw;

	host_make("xeon-2s");
	tree_put(tree_dir, ZONE0 "energy_uj", "0\n");
	hw = host_open("rapl", NULL);
	is_int(read_energy(hw, "rapl:package-0").st, ST_UNSUPPORTED,
		"0 that stays 0 is unavailable");
	has(hw_missing_at(hw, 0)->why, "stands at 0", "and is told");
	host_close(hw);
	host_make("epyc-2s");
	hw = host_open("rapl", NULL);
	is_int(read_energy(hw, "rapl:package-1").value, 1, "a small counter is a counter");
	host_close(hw);
}

static void bad_content_is_not_data(void)
{
	static const char *const bad[] = {
		"", "abc\n", "12 34\n", "-5\n", "99999999999999999999\n", "1e9\n"};
	struct hw *hw;
	int data = 0;

	host_make("xeon-2s");
	hw = host_open("rapl", NULL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tree_put(tree_dir, ZONE0 "energy_uj", bad[i]);
		data += read_energy(hw, "rapl:package-0").st == ST_OK;
	}
	is_int(data, 0, "no text but one number is taken for energy");
	tree_put(tree_dir, ZONE0 "energy_uj", "100000500\n");
	is_int(read_energy(hw, "rapl:package-0").value, 100000500,
		"and the next good read is good");
	host_close(hw);
}

static void limits(void)
{
	struct knob_val v, set = {0, 120000, 0, KV_READ};
	struct knob_range r;
	struct err e = ERR_INIT;
	char fix[256];
	struct hw *hw;
	size_t p0, p1;

	host_make("xeon-2s");
	hw = host_open("rapl", NULL);
	p0 = (size_t)id(hw, "rapl:package-0");
	p1 = (size_t)id(hw, "rapl:package-1");
	is_int(hw_knob_get(hw, p0, KNOB_POWER_LIMIT, &v, &e), ST_OK, "the long-term limit is read");
	is_int(v.hi, 150000, "in mW");
	is_int(hw_knob_range(hw, p0, KNOB_POWER_LIMIT, &r, &e), ST_OK, "with its range");
	ok(r.max == 150000 && r.min == 0, "whose minimum is unknown");
	is_int(hw_knob_set(hw, p0, KNOB_POWER_LIMIT, &set, &e), ST_OK, "and set");
	is_str(tree_get(tree_dir, ZONE0 "constraint_0_power_limit_uw"), "120000000", "in uW");
	is_str(tree_get(tree_dir, ZONE0 "constraint_1_power_limit_uw"), "180000000",
		"the short-term limit is left alone");
	hw_knob_get(hw, p1, KNOB_POWER_LIMIT, &v, &e);
	hw_knob_set(hw, p1, KNOB_POWER_LIMIT, &v, &e);
	is_str(tree_get(tree_dir, "sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw"),
		"149999999", "what is put back is what was found to the microwatt");
	ok(!(hw_device(hw, (size_t)id(hw, "rapl:package-0:dram"))->knobs),
		"DRAM limits are no knob");
	host_close(hw);

	host_make("laptop-psys-mmio");
	hw = host_open("rapl", NULL);
	p0 = (size_t)id(hw, "rapl:package-0");
	is_int(hw_knob_check(hw, p0, KNOB_POWER_LIMIT, &e, fix, sizeof(fix)), ST_UNSUPPORTED,
		"a zone whose limits are off is refused");
	has(fix, "enabled", "with what would switch them on");
	host_close(hw);
}

static void any_single_read_fault_is_survived(void)
{
	int wrong = 0;
	unsigned i;

	host_make("xeon-2s");
	for (i = 1; i < 300; i++) {
		struct sample s[CH_COUNT];
		struct hw *hw;

		fault_arm("read", i);
		hw = host_open("rapl", NULL);
		for (size_t d = 0; d < hw_n_devices(hw); d++) {
			hw_read(hw, d, ENERGY, s);
			if (s[CH_ENERGY].st == ST_OK && s[CH_ENERGY].value < 20000000)
				wrong++;
		}
		host_close(hw);
		if (!fault_fired())
			break;
	}
	fault_arm(NULL, 0);
	ok(i > 20 && i < 299, "every read failed once (%u)", i - 1);
	is_int(wrong, 0, "and none became a small number");
}

int main(void)
{
	packages_and_dram_are_counted_once();
	psys_alone_is_counted();
	unreadable_is_not_zero();
	root_only_files_are_explained();
	a_counter_at_zero_is_no_sensor();
	bad_content_is_not_data();
	limits();
	any_single_read_fault_is_survived();
	return tap_done();
}
