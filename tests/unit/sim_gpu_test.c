/* The physics of a simulated device: what must hold whatever the constants. */
#include "sim/gpu.h"
#include "sim/profile.h"
#include "tap.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static struct gpu_profile v100, a40, a100;
static struct gpu_load resnet;

static void test_profiles(void)
{
	struct err e = ERR_INIT;
	struct str list = STR_INIT;
	struct workload w;
	char *save = NULL;
	bool est = true;
	int good = 0, all = 0;

	profile_list(&list, false);
	for (char *n = strtok_r(list.p, "\n", &save); n; n = strtok_r(NULL, "\n", &save), all++) {
		struct gpu_profile p;

		good += profile_gpu(n, &p, &e) == ST_OK && !strcmp(p.name, n);
	}
	str_release(&list);
	ok(good == all && all >= 5, "all %d built-in devices are read (%s)", all, e.msg);
	ok(profile_gpu("v100", &v100, &e) == ST_OK && !strcmp(v100.name, "v100-pcie-32gb"),
		"a unique beginning names a device");
	ok(profile_gpu("a40", &a40, &e) == ST_OK && profile_gpu("a100", &a100, &e) == ST_OK,
		"a40 and a100 exist");
	ok(profile_gpu("v1000", &a100, &e) == ST_NOT_FOUND, "an unknown device is not found");
	has(e.msg, "v100-pcie-32gb", "and the known ones are listed");
	profile_gpu("a100", &a100, &e);
	ok(profile_workload("resnet50", &w, &e) == ST_OK, "resnet50 is read %s", e.msg);
	workload_load(&w, &v100, &resnet, &est);
	ok(!est, "on a V100 it was measured");
	workload_load(&w, &a100, &resnet, &est);
	ok(est, "on an A100 it is carried over, and says so");
	workload_load(&w, &v100, &resnet, &est);
	list = STR_INIT;
	workload_format(&list, &w);
	ok(profile_workload_text("back", list.p, list.len, &w, &e) == ST_OK,
		"a workload that was written is read back %s", e.msg);
	str_release(&list);
}

static void test_profile_errors(void)
{
	struct gpu_profile p;
	struct workload w;
	struct err e = ERR_INIT;
	const char *bad = "[gpu x]\nmodel = X\ncompute_capability = seven\n";
	const char *bad2 = "[workload x]\ndomain = vision\ntask = t\nsource = s\nbatch = 1\n"
			   "gradient_bytes = 1MB\n[on v100]\nstep_time = 1s\nclock_share = 150%\n"
			   "dynamic_power = 1W\n";

	ok(profile_gpu_text("p.ini", bad, strlen(bad), &p, &e) == ST_INVALID,
		"a bad value is refused");
	has(e.msg, "p.ini:3:22", "and its place is named");
	ok(profile_workload_text("w.ini", bad2, strlen(bad2), &w, &e) == ST_INVALID,
		"a share above 100%% is refused");
	has(e.msg, "w.ini:7", "and its section is named");
}

static void test_steady(void)
{
	struct gpu_point a, b;
	double last_t = 0, last_p = 1e9;
	bool time_up = true, power_down = true, under = true;

	for (int64_t cap = 250000; cap >= 100000; cap -= 5000) {
		gpu_steady(&v100, &resnet, cap, 0, 0, &a);
		time_up = time_up && 1 / a.rate >= last_t;
		power_down = power_down && a.power_mw <= last_p + 1e-6;
		under = under && a.power_mw <= (double)cap;
		last_t = 1 / a.rate;
		last_p = a.power_mw;
	}
	ok(time_up, "time never falls as the cap falls");
	ok(power_down, "power never rises as the cap falls");
	ok(under, "mean power stays below every cap of a V100");
	last_t = 0;
	time_up = true;
	for (int64_t f = 1380000; f >= 135000; f -= 45000) {
		gpu_steady(&v100, &resnet, 0, f, 0, &a);
		time_up = time_up && 1 / a.rate >= last_t;
		last_t = 1 / a.rate;
	}
	ok(time_up, "time never falls as the clock falls");
	gpu_steady(&v100, &resnet, 100000, 300000, 0, &a);
	gpu_steady(&v100, &resnet, 250000, 300000, 0, &b);
	is_near(a.rate / b.rate, 1, 1e-9, "at a low clock the cap has no effect");
	gpu_steady(&v100, &resnet, 100000, 0, 0, &a);
	gpu_steady(&v100, &resnet, 250000, 0, 0, &b);
	is_near(b.rate / a.rate, 1.93, 0.08,
		"ResNet-50 takes 1.93 times as long at 100 W (Zeus trace)");
	is_near(b.power_mw / 1000, 220, 10, "and draws 220 W uncapped, within its fit's error");
	gpu_steady(&a40, &resnet, 100000, 0, 0, &a);
	ok(a.power_mw > 100000, "an A40 overshoots a 100 W cap (%.0f W)", a.power_mw / 1000);
}

static void test_memory_clock(void)
{
	struct gpu_load l = resnet;
	struct gpu_point a, b;

	l.clock_share = 0.3;
	l.mem_share = 0.6;
	gpu_steady(&a40, &l, 0, 0, 0, &a);
	gpu_steady(&a40, &l, 0, 0, 810000, &b);
	ok(b.rate < 0.5 * a.rate && b.power_mw < a.power_mw,
		"a memory-bound step slows and draws less at a low memory clock");
}

static void test_energy(void)
{
	struct gpu_state g, one;
	struct gpu_load idle = {.kind = LOAD_IDLE};
	double sum = 0;

	gpu_init(&g, &v100, 0, 1);
	gpu_init(&one, &v100, 0, 1);
	g.limit_mw = one.limit_mw = 150000;
	for (int64_t t = 7 * MS; t <= 20 * S; t += 7 * MS) {
		double before = g.energy_uj;

		gpu_advance(&g, t, &resnet);
		sum += g.energy_uj - before;
	}
	gpu_advance(&one, g.t_ns, &resnet);
	is_near(sum / one.energy_uj, 1, 2e-3,
		"energy is the same in one stride and in 7 ms strides");
	is_near(g.work / one.work, 1, 2e-3, "and so is the work");
	is_near(gpu_energy_at(&g, 10 * S) + (g.energy_uj - gpu_energy_at(&g, 10 * S)), g.energy_uj,
		1, "energy of two halves adds up");
	gpu_advance(&g, g.t_ns + 3600 * S, &idle);
	is_near((g.energy_uj - sum) / 1e6, 23 * 3600, 1,
		"an idle hour costs idle power times an hour");
}

static void test_lag(void)
{
	struct gpu_state g;
	struct gpu_point steady;
	double early;

	gpu_init(&g, &v100, 0, 1);
	g.limit_mw = 125000;
	gpu_advance(&g, 15 * MS, &resnet);
	early = g.now.power_mw;
	ok(early > 160000, "a burst overshoots a 125 W cap at first (%.0f W)", early / 1000);
	gpu_advance(&g, 2 * S, &resnet);
	gpu_steady(&v100, &resnet, 125000, 0, 0, &steady);
	is_near(g.now.power_mw, steady.power_mw, 100, "and is at its steady power after the lag");
	ok(g.throttle & GPU_THR_POWER, "with the power cap as throttle reason");
	ok(g.viol_power_ns > 1e9, "and time in the power violation counter");
	g.limit_mw = 250000;
	gpu_advance(&g, 2 * S + 5 * MS, &resnet);
	ok(g.now.power_mw < 200000, "a raised cap acts with the same lag");
}

static void test_work(void)
{
	struct gpu_state g;
	struct gpu_point s;
	int64_t t;

	gpu_init(&g, &v100, 0, 1);
	g.lock_hi_khz = 795000;
	gpu_steady(&v100, &resnet, 0, 800000, 0, &s);
	t = gpu_advance_work(&g, 100 * S, &resnet, 3);
	is_near((double)t / 1e9, 3 / s.rate, 1e-6, "three steps end when the rate says");
	is_near(g.work, 3, 0, "with exactly three steps done");
	ok(g.throttle & GPU_THR_CLOCK_SET, "a locked clock is a throttle reason");
	is_near((double)gpu_clock_now(&g), 795000, 0,
		"the clock is on the grid, at or below the lock");
}

static void test_thermal(void)
{
	struct gpu_state g;

	gpu_init(&g, &v100, 0, 1);
	g.ambient_c = 60;
	gpu_advance(&g, 900 * S, &resnet);
	ok(g.throttle & GPU_THR_THERMAL_SW, "hot air throttles");
	is_near(g.temp_c, v100.slow_c, 2, "the temperature is held at the slowdown point");
	ok(g.viol_thermal_ns > 1e10, "the thermal counter runs");
	gpu_init(&g, &v100, 0, 1);
	g.brake = true;
	gpu_advance(&g, S, &resnet);
	ok((g.throttle & GPU_THR_BRAKE) && gpu_clock_now(&g) <= 690000,
		"a power brake halves the clock");
}

static void test_grid(void)
{
	ok(gpu_clock_count(&v100) == 167, "a V100 has 167 graphics clocks");
	ok(gpu_clock_nth(&v100, 1) == 142000 && gpu_clock_nth(&v100, 2) == 150000,
		"7 and 8 MHz apart");
	ok(gpu_clock_grid(&v100, 1379000) == 1372000 && gpu_clock_grid(&v100, 1) == 135000,
		"a request goes to the grid, at or below");
}

int main(void)
{
	test_profiles();
	test_profile_errors();
	test_steady();
	test_memory_clock();
	test_energy();
	test_lag();
	test_work();
	test_thermal();
	test_grid();
	return tap_done();
}
