/* Scenario files: what they say is what is done, and every mistake has a place. */
#include "sim/scenario.h"
#include "tap.h"

static struct scenario s;

static enum status read_text(const char *text, struct err *e)
{
	enum status st;

	scenario_init(&s);
	*e = ERR_INIT;
	st = scenario_text(&s, "s.ini", text, strlen(text), e);
	return st ? st : scenario_finish(&s, e);
}

static void test_good(void)
{
	struct err e;
	const char *text =
		"# the example of the design\n"
		"[gpu 0-3]\n"
		"profile = v100-pcie-32gb\n"
		"[gpu 1]\n"
		"counter_refresh = 20ms\n"
		"at 3s nvmlDeviceGetPowerUsage = GPU_IS_LOST\n"
		"[gpu 2]\n"
		"power = 250W\n"
		"limit_clamp = 200W\n"
		"[gpu 3]\n"
		"from 1s to 4s load = 240W\n"
		"at 2s power_limit = 180W\n"
		"field 186 = NOT_SUPPORTED\n"
		"call 2 nvmlDeviceGetTotalEnergyConsumption_v2 = value 9223372036854775792\n"
		"[host]\n"
		"setters = anyone\n"
		"missing = nvmlDeviceGetCount_v2, nvmlDeviceGetFieldValues\n"
		"from 0s to 3s nvmlInit = DRIVER_NOT_LOADED\n";

	if (!ok(read_text(text, &e) == ST_OK, "the example is read %s", e.msg))
		return;
	is_int(s.n_gpus, 4, "four devices");
	is_int(s.gpu[1].prof.counter_refresh_ns, 20000000, "a device's own counter refresh");
	is_int(s.gpu[2].clamp_mw, 200000, "its clamp");
	is_int(s.n_events, 4, "constant power, load window (two), a limit set by somebody");
	ok(s.event[1].kind == EV_LOAD && s.event[1].at_ns == 1000000000 && s.event[1].gpu == 3,
		"events are sorted by time");
	is_int(s.n_faults, 4, "four faults");
	ok(s.fault[0].gpu == 1 && s.fault[0].code == 15 &&
			s.fault[0].call == CALL_DeviceGetPowerUsage &&
			s.fault[0].from_ns == 3000000000,
		"a timed fault");
	ok(s.fault[2].nth == 2 && s.fault[2].kind == FAULT_VALUE &&
			s.fault[2].value == INT64_C(9223372036854775792),
		"a sentinel in the second call, whatever the version of the name");
	ok(s.fault[3].gpu == -1 && s.fault[3].to_ns == 3000000000,
		"a fault of the host with an end");
	is_int(s.n_missing, 2, "two functions are missing");
	ok(s.setters == SETTERS_ANYONE, "anyone may set");
}

static void test_gpus(void)
{
	struct err e = ERR_INIT;

	scenario_init(&s);
	ok(scenario_gpus(&s, "v100:2,a40", &e) == ST_OK && s.n_gpus == 3, "v100:2,a40 is three");
	ok(strcmp(s.gpu[0].uuid, s.gpu[1].uuid), "with different UUIDs");
	scenario_init(&s);
	ok(scenario_gpus(&s, "v100:33", &e) == ST_INVALID, "33 devices are refused");
	ok(scenario_gpus(&s, "v100:2,", &e) == ST_INVALID, "a comma at the end is refused");
	ok(scenario_gpus(&s, "v101", &e) == ST_NOT_FOUND, "an unknown device is refused");
	has(e.msg, "did you mean", "with the nearest name");
	ok(scenario_text(&s, "x", "", 0, &e) == ST_OK, "an empty file adds nothing");
}

static void test_bad(void)
{
	static const struct {
		const char *text, *place, *say;
	} bad[] = {
		{"[gpu 0]\nprofle = v100\n", "s.ini:1:1", "no profile"},
		{"[gpu 0]\nprofile = v100\nprofle = v100\n", "s.ini:3:1", "did you mean 'profile'"},
		{"[gpu 0]\nprofile = v1000\n", "s.ini:2:11", "unknown device"},
		{"[gpu x]\n", "s.ini:1:1", "a range"},
		{"[gpu 0-40]\n", "s.ini:1:1", "0 to 31"},
		{"[gpu 3-1]\n", "s.ini:1:1", "0 to 31"},
		{"[gpu 1]\nprofile = v100\n", "s.ini:1:1", "no profile"},
		{"[gpu *]\npower = 1W\n", "s.ini:1:1", "before any device"},
		{"[cpu 0]\n", "s.ini:1:1", "unknown section"},
		{"x = y\n", "s.ini:1:1", "before any section"},
		{"[gpu 0]\nprofile = v100\npower = 12 parsecs\n", "s.ini:3:9", "parsecs"},
		{"[gpu 0]\nprofile = v100\npower = -3W\n", "s.ini:3:9", "below zero"},
		{"[gpu 0]\nprofile = v100\nnvmlDeviceGetPowrUsage = hang\n", "s.ini:3:1",
			"did you mean 'nvmlDeviceGetPowerUsage'"},
		{"[gpu 0]\nprofile = v100\nat 3s nvmlX = hang\n", "s.ini:3:7", "nvmlX"},
		{"[gpu 0]\nprofile = v100\nat 3 parsecs nvmlInit = hang\n", "s.ini:3", "parsecs"},
		{"[gpu 0]\nprofile = v100\nat 3s = 1W\n", "s.ini:3:1", "what happens"},
		{"[gpu 0]\nprofile = v100\nfrom 3s to 2s load = 1W\n", "s.ini:3:1", "ends before"},
		{"[gpu 0]\nprofile = v100\nfrom 3s til 4s load = 1W\n", "s.ini:3:1",
			"from T1 to T2"},
		{"[gpu 0]\nprofile = v100\nfrom 1s to 4s ambient = 40degC\n", "s.ini:3", "no end"},
		{"[gpu 0]\nprofile = v100\ncall 0 nvmlInit = hang\n", "s.ini:3",
			"number of a call"},
		{"[gpu 0]\nprofile = v100\nnvmlInit = GPU_IS_LOOST\n", "s.ini:3:12",
			"did you mean 'GPU_IS_LOST'"},
		{"[gpu 0]\nprofile = v100\nnvmlInit = slow 5\nnvmlInit = slow x\n", "s.ini:4:12",
			"time"},
		{"[gpu 0]\nprofile = v100\nnvmlInit = value x\n", "s.ini:3:12", "whole number"},
		{"[gpu 0]\nprofile = v100\nfield 0 = hang\n", "s.ini:3:1", "field number"},
		{"[gpu 0]\nprofile = v100\nfield 83 = hang\n", "s.ini:3:12", "error name"},
		{"[gpu 0]\nprofile = v100\nat 1s state = gone\n", "s.ini:3:15", "'back' or 'lost'"},
		{"[gpu 0]\nprofile = v100\nat 1s clocks = 900MHz\n", "s.ini:3:16", "LOW-HIGH"},
		{"[gpu 0]\nprofile = v100\npci = 1:2\n", "s.ini:3:7", "PCI address"},
		{"[gpu 0]\nprofile = v100\nmig = 1g.5gb\n", "s.ini:3:7", "no MIG"},
		{"[gpu 0]\nprofile = a100\nmig = 4g.20gb, 4g.20gb\n", "s.ini:3:16", "7 slices"},
		{"[gpu 0]\nprofile = a100\nsquare = 1W 2W\n", "s.ini:3:10", "square wave"},
		{"[gpu 0]\nprofile = v100\npower_refresh = 1us\n", "s.ini:3:17", "at least 1ms"},
		{"[gpu 0]\nprofile = v100\nlimit_set = maybe\n", "s.ini:3:13", "normal or ignored"},
		{"[gpu 0]\nprofile = v100\nlimit_min = 400W\n", "s.ini:3:13", "limit_max"},
		{"[host]\nsetters = me\n", "s.ini:2:11", "root, anyone"},
		{"[host]\nsettlers = me\n", "s.ini:2:1", "did you mean 'setters'"},
		{"[host]\nmissing = nvmlNothing\n", "s.ini:2:11", "nvmlNothing"},
		{"[host]\nat 1s power = 5W\n", "s.ini:2", "[gpu N]"},
		{"[gpu 0-1]\nprofile = v100\nuuid = GPU-1\n", "", "same UUID"},
		{"[host]\nseed = 2\n", "", "no simulated devices"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e;
		enum status st = read_text(bad[i].text, &e);

		ok(st == ST_INVALID && strstr(e.msg, bad[i].place) && strstr(e.msg, bad[i].say),
			"refused: %s", e.msg);
		if (!strstr(e.msg, bad[i].place) || !strstr(e.msg, bad[i].say))
			printf("# wanted %s … %s\n", bad[i].place, bad[i].say);
	}
}

static void test_many(void)
{
	struct err e;
	char text[65536];
	size_t n = (size_t)snprintf(text, sizeof(text), "[gpu 0-31]\nprofile = v100\n");

	for (int i = 0; i < 600 && n < sizeof(text) - 64; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "at %ds power = 100W\n", i);
	ok(read_text(text, &e) == ST_INVALID, "too many events are refused");
	has(e.msg, "too many timed events", "and it says so");
}

int main(void)
{
	test_good();
	test_gpus();
	test_bad();
	test_many();
	return tap_done();
}
