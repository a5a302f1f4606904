/* The NVML look-alike through dlopen, as any client loads it. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/host.h"
#include "sim/nvml_abi.h"
#include "sim/world.h"
#include "tap.h"

typedef nv_ret_t fn_v(void);
typedef nv_ret_t fn_u(unsigned, nv_dev_t *);
typedef nv_ret_t fn_s(const char *, nv_dev_t *);
typedef nv_ret_t fn_d(nv_dev_t);
typedef nv_ret_t fn_du(nv_dev_t, unsigned *);
typedef nv_ret_t fn_duu(nv_dev_t, unsigned *, unsigned *);
typedef nv_ret_t fn_dset(nv_dev_t, unsigned);
typedef nv_ret_t fn_dset2(nv_dev_t, unsigned, unsigned);
typedef nv_ret_t fn_dget(nv_dev_t, unsigned, unsigned *);
typedef nv_ret_t fn_dull(nv_dev_t, unsigned long long *);
typedef nv_ret_t fn_dtext(nv_dev_t, char *, unsigned);
typedef nv_ret_t fn_dp(nv_dev_t, void *);
typedef nv_ret_t fn_fields(nv_dev_t, int, struct nv_field *);
typedef nv_ret_t fn_mig(nv_dev_t, unsigned, nv_dev_t *);

static void *lib;
static char dir[] = "/tmp/wattlaw-nvml.XXXXXX";
static struct scenario scn;

static void *sym(const char *name)
{
	return dlsym(lib, name);
}
#define F(type, name) ((type *)sym(name))

static void start(const char *text)
{
	struct err e = ERR_INIT;
	char path[256];

	strcpy(dir, "/tmp/wattlaw-nvml.XXXXXX");
	scenario_init(&scn);
	if (!mkdtemp(dir) || scenario_text(&scn, "t", text, strlen(text), &e) ||
		scenario_finish(&scn, &e) || host_make(dir, &scn, &e) || host_env(dir, &e)) {
		printf("Bail out! %s\n", e.msg);
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/lib/libnvidia-ml.so.1", dir);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		printf("Bail out! %s\n", dlerror());
		exit(1);
	}
}

/* A scenario in a process of its own: the library keeps its world for good. */
static void in_child(const char *text, void (*test)(void))
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int before = tap_failed;

		start(text);
		(sym("nvmlInit_v2") ? F(fn_v, "nvmlInit_v2") : F(fn_v, "nvmlInit"))();
		test();
		host_remove(dir);
		fflush(stdout);
		_exit(tap_failed > before ? 100 + tap_n % 100 : tap_n % 100);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status)) {
		tap_ok(false, __FILE__, __LINE__, "the child ended by signal %d", WTERMSIG(status));
		return;
	}
	tap_failed += WEXITSTATUS(status) >= 100;
	tap_n = tap_n / 100 * 100 + WEXITSTATUS(status) % 100;
}

static nv_dev_t dev(unsigned i)
{
	nv_dev_t d = NULL;

	F(fn_u, "nvmlDeviceGetHandleByIndex_v2")(i, &d);
	return d;
}

static void nap(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
}

static void test_identity(void)
{
	nv_dev_t a = NULL;
	unsigned n = 0;
	char text[96];
	struct nv_pci pci;
	struct nv_memory_v2 m2 = {.version = sizeof(m2) | 2u << 24};
	struct nv_temperature deg = {.version = sizeof(deg) | 1u << 24};

	is_int(((nv_ret_t(*)(unsigned *))sym("nvmlDeviceGetCount_v2"))(&n), 0, "a count");
	is_int(n, 2, "of two");
	F(fn_dtext, "nvmlDeviceGetUUID")(dev(1), text, sizeof(text));
	F(fn_s, "nvmlDeviceGetHandleByUUID")(text, &a);
	ok(a == dev(1), "a device is found by its UUID");
	F(fn_dp, "nvmlDeviceGetPciInfo_v3")(dev(1), &pci);
	is_str(pci.id, "00000000:1C:00.0", "its PCI address");
	a = NULL;
	F(fn_s, "nvmlDeviceGetHandleByPciBusId_v2")(pci.id, &a);
	ok(a == dev(1), "and found by it");
	is_int(F(fn_s, "nvmlDeviceGetHandleByUUID")("GPU-0", &a), NV_NOT_FOUND, "an unknown UUID");
	is_int(F(fn_dtext, "nvmlDeviceGetName")(dev(0), text, 4), NV_SMALL,
		"a short buffer is told");
	F(fn_dtext, "nvmlDeviceGetName")(dev(0), text, sizeof(text));
	is_str(text, "Tesla V100-PCIE-32GB", "the model");
	is_int(F(fn_dp, "nvmlDeviceGetMemoryInfo_v2")(dev(0), &m2), 0, "memory, second version");
	m2.version = 1;
	is_int(F(fn_dp, "nvmlDeviceGetTemperatureV")(dev(0), &deg), 0, "temperature, versioned");
	ok(deg.deg_c > 20 && deg.deg_c < 60, "of %d degrees", deg.deg_c);
	is_int(F(fn_duu, "nvmlDeviceGetDriverModel_v2")(dev(0), &n, &n), NV_NOT_SUPPORTED,
		"driver models are another system's");
	is_int(F(fn_dp, "nvmlDeviceGetMemoryInfo_v2")(dev(0), &m2), NV_VERSION,
		"a wrong struct version is refused");
	is_int(F(fn_du, "nvmlDeviceGetPowerUsage")((nv_dev_t)text, &n), NV_INVALID,
		"a foreign handle is refused");
	ok(sym("wl_sim_marker") != NULL, "the library says that it simulates");
	is_int(F(fn_v, "nvmlShutdown")(), 0, "shut down");
	is_int(F(fn_du, "nvmlDeviceGetPowerUsage")(a, &n), NV_UNINITIALIZED, "nothing works after");
	is_int(F(fn_v, "nvmlInit")(), 0, "the old name of init works");
}

static void test_power(void)
{
	unsigned mw = 0, lo, hi;
	unsigned long long a, b, mj[2];
	nv_dev_t one = dev(1);
	struct nv_field f[3] = {{.id = 83}, {.id = 186}, {.id = 9999}};

	nap(60);
	F(fn_du, "nvmlDeviceGetPowerUsage")(dev(0), &mw);
	is_near(mw, 250000, 5000, "constant power");
	F(fn_dull, "nvmlDeviceGetTotalEnergyConsumption")(dev(0), &a);
	nap(400);
	F(fn_dull, "nvmlDeviceGetTotalEnergyConsumption")(dev(0), &b);
	ok(b > a && (b - a) % 1 == 0, "the counter rises");
	is_near((double)(b - a), 100000, 40000, "by power times time");
	is_int(F(fn_fields, "nvmlDeviceGetFieldValues")(dev(0), 3, f), 0, "fields");
	ok(f[0].ret == 0 && f[0].type == NV_ULL && f[0].v.ull >= b, "energy is field 83");
	is_int(f[1].ret, NV_NOT_SUPPORTED, "a V100 has no instant field");
	is_int(f[2].ret, NV_NOT_SUPPORTED, "an unknown field is not supported, the rest is read");
	F(fn_duu, "nvmlDeviceGetPowerManagementLimitConstraints")(dev(0), &lo, &hi);
	ok(lo == 100000 && hi == 250000, "limits from 100 to 250 W");
	is_int(F(fn_dset, "nvmlDeviceSetPowerManagementLimit")(dev(0), 99999), NV_INVALID,
		"a limit below is refused");
	is_int(F(fn_dset, "nvmlDeviceSetPowerManagementLimit")(dev(0), 220000), 0,
		"one between is set");
	F(fn_du, "nvmlDeviceGetPowerManagementLimit")(dev(0), &mw);
	F(fn_du, "nvmlDeviceGetEnforcedPowerLimit")(dev(0), &lo);
	ok(mw == 220000 && lo == 200000, "requested 220 W, enforced 200 W by the clamp");
	/* device 1: faults */
	is_int(F(fn_du, "nvmlDeviceGetPowerUsage")(dev(1), &mw), NV_NOT_SUPPORTED,
		"scripted refusal");
	F(fn_dull, "nvmlDeviceGetTotalEnergyConsumption")(dev(1), &mj[0]);
	F(fn_dull, "nvmlDeviceGetTotalEnergyConsumption")(dev(1), &mj[1]);
	ok(mj[0] == 9223372036854775792ull || mj[1] == 9223372036854775792ull,
		"a scripted sentinel in one call");
	nap(200);
	is_int(F(fn_dget, "nvmlDeviceGetTemperature")(one, 0, &mw), NV_LOST, "lost when scripted");
	is_int(F(fn_du, "nvmlDeviceGetIndex")(one, &mw), 0, "its index is still known");
}

static void test_clocks(void)
{
	unsigned n = 0, mhz[256], mem = 0;

	is_int(((nv_ret_t(*)(nv_dev_t, unsigned, unsigned *, unsigned *))sym(
		       "nvmlDeviceGetSupportedGraphicsClocks"))(dev(0), 877, &n, NULL),
		NV_SMALL, "the number of clocks is asked first");
	is_int(n, 167, "167 of them");
	((nv_ret_t(*)(nv_dev_t, unsigned, unsigned *, unsigned *))sym(
		"nvmlDeviceGetSupportedGraphicsClocks"))(dev(0), 877, &n, mhz);
	ok(mhz[0] == 1380 && mhz[166] == 135, "from the highest down");
	is_int(F(fn_dset2, "nvmlDeviceSetGpuLockedClocks")(dev(0), 135, 903), 0, "a lock is set");
	nap(50);
	F(fn_dget, "nvmlDeviceGetClockInfo")(dev(0), 1, mhz);
	is_int(mhz[0], 900, "and lands on the grid below");
	is_int(F(fn_d, "nvmlDeviceResetGpuLockedClocks")(dev(0)), 0, "and is reset");
	nap(50);
	F(fn_dget, "nvmlDeviceGetClockInfo")(dev(0), 1, mhz);
	is_int(mhz[0], 1380, "the clock is back");
	is_int(F(fn_dset2, "nvmlDeviceSetMemoryLockedClocks")(dev(0), 877, 877), NV_NOT_SUPPORTED,
		"Volta has no memory lock");
	is_int(F(fn_dset2, "nvmlDeviceSetMemoryLockedClocks")(dev(1), 405, 5001), 0, "an A40 has");
	F(fn_dget, "nvmlDeviceGetClockInfo")(dev(1), 2, &mem);
	is_int(mem, 5001, "and shows it");
}

static void test_denied(void)
{
	unsigned mw;

	is_int(F(fn_dset, "nvmlDeviceSetPowerManagementLimit")(dev(0), 200000), NV_NO_PERMISSION,
		"nobody may set");
	is_int(F(fn_d, "nvmlDeviceResetGpuLockedClocks")(dev(0)), NV_NO_PERMISSION, "nor reset");
	F(fn_du, "nvmlDeviceGetPowerManagementLimit")(dev(0), &mw);
	is_int(mw, 180000, "the found limit stays, and differs from the default");
	F(fn_du, "nvmlDeviceGetPowerManagementDefaultLimit")(dev(0), &mw);
	is_int(mw, 250000, "which is 250 W");
	ok(!sym("nvmlDeviceGetFieldValues") && sym("nvmlDeviceGetPowerUsage") &&
			!sym("nvmlInit_v2") && sym("nvmlInit"),
		"functions the scenario says are missing are missing, others not");
}

static void test_mig(void)
{
	nv_dev_t mig = NULL, parent = NULL;
	unsigned now = 0, pending, n, is = 0;
	char uuid[96];
	struct nv_attributes at;

	F(fn_duu, "nvmlDeviceGetMigMode")(dev(0), &now, &pending);
	is_int(now, 1, "MIG is on");
	is_int(F(fn_mig, "nvmlDeviceGetMigDeviceHandleByIndex")(dev(0), 1, &mig), 0, "an instance");
	is_int(F(fn_mig, "nvmlDeviceGetMigDeviceHandleByIndex")(dev(0), 2, &parent), NV_NOT_FOUND,
		"there are two");
	F(fn_du, "nvmlDeviceIsMigDeviceHandle")(mig, &is);
	is_int(is, 1, "it is one");
	F(fn_dp, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle")(mig, &parent);
	ok(parent == dev(0), "and knows its parent");
	F(fn_dtext, "nvmlDeviceGetUUID")(mig, uuid, sizeof(uuid));
	ok(!strncmp(uuid, "MIG-", 4), "its UUID is %s", uuid);
	is_int(F(fn_du, "nvmlDeviceGetPowerUsage")(mig, &n), NV_NOT_SUPPORTED, "it has no power");
	F(fn_dp, "nvmlDeviceGetAttributes_v2")(mig, &at);
	is_int(at.gpu_slices, 3, "three slices");
}

static void test_counts(void)
{
	struct world_map *m;
	struct timespec a, b;
	unsigned n = 8, mw;
	char path[256], buf[1024];

	for (int i = 0; i < 5; i++)
		F(fn_du, "nvmlDeviceGetPowerUsage")(dev(0), &mw);
	clock_gettime(CLOCK_MONOTONIC, &a);
	((nv_ret_t(*)(nv_dev_t, unsigned *, void *))sym("nvmlDeviceGetComputeRunningProcesses_v3"))(
		dev(0), &n, buf);
	clock_gettime(CLOCK_MONOTONIC, &b);
	ok((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec >= 5000000,
		"a process list takes milliseconds");
	snprintf(path, sizeof(path), "%s/state", dir);
	world_open(path, &m, NULL);
	is_int(world_calls(m, CALL_DeviceGetPowerUsage), 5, "calls are counted across handles");
	is_int(world_calls(m, CALL_DeviceGetComputeRunningProcesses), 1, "process lists too");
	is_int(world_calls(m, CALL_DeviceSetPowerManagementLimit), 0, "nobody set anything");
	world_close(m);
	clock_gettime(CLOCK_MONOTONIC, &a);
	is_int(F(fn_dget, "nvmlDeviceGetTemperature")(dev(0), 0, &mw), 0, "a slow call works");
	clock_gettime(CLOCK_MONOTONIC, &b);
	ok((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec >= 80000000, "slowly");
}

static void *ask_fan(void *arg)
{
	unsigned percent;

	F(fn_du, "nvmlDeviceGetFanSpeed")((nv_dev_t)arg, &percent);
	return NULL;
}

/* Every fault a scenario can script, as a client sees it. */
static void test_faults(void)
{
	unsigned mw = 0;
	unsigned long long a = 0, b = 0;
	nv_dev_t wraps = dev(0), resets = dev(1), reloads = dev(2), away = dev(3);
	pthread_t stuck;
	int wrapped = 0;

	is_int(F(fn_dset, "nvmlDeviceSetPowerManagementLimit")(reloads, 150000), 0,
		"a limit is set");
	is_int(F(fn_dset, "nvmlDeviceSetPowerManagementLimit")(resets, 150000), 0,
		"and one that the device ignores: success all the same");
	F(fn_du, "nvmlDeviceGetPowerManagementLimit")(resets, &mw);
	is_int(mw, 250000, "but reading back says that nothing changed");
	is_int(F(fn_du, "nvmlDeviceGetPowerUsage")(reloads, &mw), NV_NO_PERMISSION, "denied");
	is_int(F(fn_dull, "nvmlDeviceGetTotalEnergyConsumption")(reloads, &a), NV_NOT_SUPPORTED,
		"unsupported");
	pthread_create(&stuck, NULL, ask_fan, wraps); /* is stuck until this process ends */
	F(fn_dull, "nvmlDeviceGetTotalEnergyConsumption")(wraps, &a);
	for (int i = 0; i < 20; i++) {
		nap(20);
		F(fn_dull, "nvmlDeviceGetTotalEnergyConsumption")(wraps, &b);
		wrapped += b < a;
		a = b;
		if (b >= 1020000)
			wrapped += 100;
	}
	is_int(wrapped, 1, "a counter wraps at its end and never passes it");
	is_int(pthread_tryjoin_np(stuck, NULL), EBUSY,
		"another thread hangs in its call meanwhile");
	F(fn_dull, "nvmlDeviceGetTotalEnergyConsumption")(wraps, &b);
	F(fn_dull, "nvmlDeviceGetTotalEnergyConsumption")(resets, &a);
	/* both draw 200 W; the other one began 60 J before its end */
	ok(fabs((double)b + 60e3 - (double)a - 40e3) < 15e3,
		"a counter that was reset at 200 ms lacks 40 J (%llu of %llu mJ)", a, b + 60000);
	F(fn_du, "nvmlDeviceGetPowerManagementLimit")(reloads, &mw);
	is_int(mw, 250000, "the limit is lost when the driver is loaded again");
	is_int(F(fn_dget, "nvmlDeviceGetTemperature")(away, 0, &mw), NV_LOST, "off the bus");
	for (int i = 0; i < 100 && F(fn_dget, "nvmlDeviceGetTemperature")(away, 0, &mw); i++)
		nap(50);
	is_int(F(fn_dget, "nvmlDeviceGetTemperature")(away, 0, &mw), 0, "and back");
}

static int wrong; /* by threads of test_threads */

static void *hammer(void *arg)
{
	nv_dev_t d = dev(0);
	unsigned mw, limit;

	for (int i = 0; i < 3000; i++) {
		if (arg && i % 10 == 0)
			F(fn_dset, "nvmlDeviceSetPowerManagementLimit")
		(d, i % 20 ? 150000u : 200000u);
		if (F(fn_du, "nvmlDeviceGetPowerUsage")(d, &mw) || mw < 230000 || mw > 270000)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
		if (F(fn_du, "nvmlDeviceGetPowerManagementLimit")(d, &limit) ||
			(limit != 150000 && limit != 200000 && limit != 250000))
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t t[4];
	struct world_map *m;
	char path[256];

	nap(60);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, hammer, i < 2 ? dir : NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	is_int(wrong, 0, "four threads, two of them setting: no reading is wrong");
	snprintf(path, sizeof(path), "%s/state", dir);
	world_open(path, &m, NULL);
	is_int(world_calls(m, CALL_DeviceGetPowerUsage), 12000, "and no call is lost in the count");
	world_close(m);
}

int main(void)
{
	is_int(sizeof(struct nv_pci), 68, "the PCI struct has NVML's size");
	is_int(sizeof(struct nv_field), 40, "so has a field value");
	unsetenv("WATTLAW_SIM_ROOT");
	setenv("WATTLAW_SIM_ROOT", "1", 1);
	in_child("[gpu 0-1]\nprofile = v100\n", test_identity);
	in_child("[gpu 0]\nprofile = v100\npower = 250W\nlimit_clamp = 200W\n[gpu 1]\nprofile = "
		 "v100\n"
		 "nvmlDeviceGetPowerUsage = NOT_SUPPORTED\n"
		 "call 4 nvmlDeviceGetTotalEnergyConsumption = value 9223372036854775792\n"
		 "at 560ms state = lost\n",
		test_power);
	in_child("[gpu 0]\nprofile = v100\nload = 120W\n[gpu 1]\nprofile = a40\n", test_clocks);
	in_child("[gpu 0]\nprofile = v100\npower_limit = 180W\n[host]\nsetters = nobody\n"
		 "missing = nvmlDeviceGetFieldValues, nvmlInit_v2\nseed = 3\n",
		test_denied);
	in_child("[gpu 0]\nprofile = a100\nmig = 3g.20gb, 3g.20gb\n", test_mig);
	in_child("[gpu 0]\nprofile = v100\nnvmlDeviceGetTemperature = slow 80ms\n", test_counts);
	in_child("[gpu 0-3]\nprofile = v100\npower = 200W\n"
		 "[gpu 0]\ncounter_start = 960J\ncounter_wrap = 1020J\nnvmlDeviceGetFanSpeed = "
		 "hang\n"
		 "[gpu 1]\nlimit_set = ignored\nat 200ms counter = reset\n"
		 "[gpu 2]\nnvmlDeviceGetPowerUsage = NO_PERMISSION\n"
		 "nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED\nat 300ms driver = reload\n"
		 "[gpu 3]\nfrom 100ms to 1.2s state = lost\n",
		test_faults);
	in_child("[gpu 0]\nprofile = v100\npower = 250W\n", test_threads);
	return tap_done();
}
