/* Devices shared by processes: script, jobs, and writers that are killed. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/job.h"
#include "sim/world.h"
#include "tap.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static struct scenario scn;
static struct world w; /* large */
static char dir[] = "/tmp/wattlaw-world.XXXXXX";

static void scenario(const char *text)
{
	struct err e = ERR_INIT;

	scenario_init(&scn);
	if (scenario_text(&scn, "t", text, strlen(text), &e) || scenario_finish(&scn, &e))
		printf("Bail out! %s\n", e.msg);
}

static void test_script(void)
{
	double before;

	scenario("[gpu 0-1]\nprofile = v100\n[gpu 0]\nfrom 1s to 4s power = 250W\n"
		 "at 2s power_limit = 180W\nat 5s driver = reload\nat 6s state = lost\n"
		 "[gpu 1]\nsquare = 200W 40W period 100ms duty 25%\n");
	world_init(&w, &scn, 0);
	world_advance(&w, &scn, 0, 10 * S);
	is_near(w.dev[0].g.energy_uj / 1e6, 3 * 250 + 7 * 23, 0.01,
		"idle, 250 W for 3 s, idle: energy is exact");
	is_near(w.dev[1].g.energy_uj / 1e6, 10 * 80, 0.01, "a square wave has its mean");
	ok(w.dev[0].lost, "a device is lost when the script says");
	is_int(w.dev[0].g.limit_mw, 250000, "a reloaded driver has default limits");
	world_init(&w, &scn, 0);
	for (int64_t t = 0; t <= 10 * S; t += 37 * MS)
		world_advance(&w, &scn, 0, t);
	world_advance(&w, &scn, 0, 10 * S);
	is_near(w.dev[0].g.energy_uj / 1e6, 3 * 250 + 7 * 23, 0.01,
		"the same whoever looks how often");
	world_init(&w, &scn, 0);
	world_advance(&w, &scn, 0, 2500 * MS);
	is_int(w.dev[0].g.limit_mw, 180000, "somebody else's limit is seen");
	before = w.dev[1].g.energy_uj;
	world_advance(&w, &scn, 0, 100000 * S);
	is_near((w.dev[1].g.energy_uj - before) / 1e6 / (100000 - 2.5), 80, 0.01,
		"a day of square wave is carried in one stride");
}

/* Two ranks with a barrier and an all-reduce; the slower device sets the pace. */
static void test_ranks(void)
{
	struct sim_job *j = &w.job[0];
	struct workload wl;
	double rate;

	scenario("[gpu 0-1]\nprofile = v100\n");
	world_init(&w, &scn, 0);
	profile_workload("resnet50", &wl, NULL);
	j->used = true;
	j->n_ranks = j->n_joined = 2;
	j->comm_ns = 50 * MS;
	for (int r = 0; r < 2; r++) {
		j->gpu[r] = r;
		j->pid[r] = 1;
		j->queued[r] = 10;
		w.dev[r].job = 1;
		workload_load(&wl, &w.dev[r].g.prof, &j->load[r], NULL);
	}
	w.dev[1].g.limit_mw = 150000;
	world_advance(&w, &scn, 0, 100 * S);
	is_int(j->done, 10, "ten steps were queued, ten are done");
	{
		struct gpu_point slow;

		gpu_steady(&w.dev[1].g.prof, &j->load[1], 150000, 0, 0, &slow);
		rate = 1 / slow.rate + 0.05;
	}
	is_near((double)j->step_end_ns / 1e9, 10 * rate, 0.2, "at the pace of the slower device");
	ok(w.dev[0].g.energy_uj > w.dev[1].g.energy_uj, "the faster one draws more in all");
	is_near(w.dev[0].g.work, 10, 1e-9, "and does the same work");
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void test_kill(const char *path)
{
	struct world_map *m;
	struct err e = ERR_INIT;
	int torn = 0, back = 0;
	double last = 0;

	scenario("[gpu 0-3]\nprofile = v100\npower = 200W\n");
	ok(world_create(path, &scn, &e) == ST_OK, "a world is made %s", e.msg);
	ok(world_create(path, &scn, &e) != ST_OK, "but not over another");
	ok(world_open(path, &m, &e) == ST_OK, "and opened");
	for (int i = 0; i < 150; i++) {
		pid_t pid = fork();
		const struct world *seen;

		if (pid == 0) {
			struct world_map *mine;
			struct world *mut;

			if (world_open(path, &mine, NULL))
				_exit(1);
			for (int64_t k = 0;; k++) {
				if (world_lock(mine, &mut, NULL))
					_exit(1);
				for (int d = 0; d < 4; d++)
					mut->dev[d].g.limit_mw = 100000 + k % 100000;
				world_commit(mine);
			}
		}
		usleep((useconds_t)(500 + i * 37 % 1500));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		seen = world_begin(m);
		for (int d = 1; d < 4; d++)
			torn += seen->dev[d].g.limit_mw != seen->dev[0].g.limit_mw;
		back += seen->dev[0].g.energy_uj < last;
		last = seen->dev[0].g.energy_uj;
		world_end(m);
	}
	is_int(torn, 0, "150 writers killed: no reader ever saw half a change");
	is_int(back, 0, "and energy never went back");
	{
		struct world *mut;
		int64_t t0 = now_ns();

		ok(world_lock(m, &mut, &e) == ST_OK && now_ns() - t0 < S,
			"a dead writer's lock is taken over at once");
		world_commit(m);
	}
	world_close(m);
}

/* A process that sets all devices to one limit after another, for good. */
static void write_for_ever(const char *path, int64_t from)
{
	struct world_map *mine;
	struct world *mut;

	if (world_open(path, &mine, NULL))
		_exit(1);
	for (int64_t k = from;; k++) {
		if (world_lock(mine, &mut, NULL))
			_exit(1);
		for (int d = 0; d < 4; d++)
			mut->dev[d].g.limit_mw = 100000 + k % 100000;
		world_commit(mine);
	}
}

/* Four clients write at once, and one of them is killed each millisecond. */
static void test_kill_among_many(const char *path)
{
	struct world_map *m;
	struct world *mut;
	struct err e = ERR_INIT;
	pid_t pid[4] = {0};
	int torn = 0, died = 0;
	int64_t longest = 0;

	if (!ok(world_open(path, &m, &e) == ST_OK, "the world is opened again %s", e.msg))
		return;
	for (int i = 0; i < 200; i++) {
		pid_t *p = &pid[i % 4];
		const struct world *seen;
		int status = 0;
		int64_t t0;

		if (*p > 0) {
			kill(*p, SIGKILL);
			waitpid(*p, &status, 0);
			died += WIFSIGNALED(status);
		}
		*p = fork();
		if (*p == 0)
			write_for_ever(path, i * 1000);
		usleep((useconds_t)(200 + i * 53 % 1500));
		t0 = now_ns();
		seen = world_begin(m);
		for (int d = 1; d < 4; d++)
			torn += seen->dev[d].g.limit_mw != seen->dev[0].g.limit_mw;
		world_end(m);
		longest = now_ns() - t0 > longest ? now_ns() - t0 : longest;
	}
	for (int i = 0; i < 4; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	is_int(died, 196, "each of them wrote until it was killed");
	is_int(torn, 0, "no reader saw half a change of four writers at once");
	ok(longest < 2 * S, "and none waited long (%.0f ms at most)", (double)longest / 1e6);
	ok(world_lock(m, &mut, &e) == ST_OK, "the state is never left locked %s", e.msg);
	world_commit(m);
	world_close(m);
}

static void test_dead_job(const char *path)
{
	struct workload wl;
	struct job_spec spec = {.workload = &wl,
		.n_ranks = 1,
		.n_mine = 1,
		.key = 77,
		.time_scale = 100,
		.noise = 0,
		.comm_ns = 0};
	struct world_map *m;
	struct job *mine;
	struct err e = ERR_INIT;
	const struct world *seen;
	int busy = 0;
	pid_t pid;

	profile_workload("resnet50", &wl, NULL);
	scenario("[gpu 0]\nprofile = v100\n");
	unlink(path);
	world_create(path, &scn, &e);
	world_open(path, &m, &e);
	pid = fork();
	if (pid == 0) {
		struct job *j;

		_exit(job_start(path, &spec, &j, NULL) || pause() ? 1 : 0);
	}
	for (int i = 0; i < 200 && !busy; i++) {
		usleep(10000);
		seen = world_begin(m);
		busy = seen->dev[0].job > 0 && seen->dev[0].g.now.power_mw > 150000;
		world_end(m);
	}
	ok(busy, "a job loads the device");
	spec.key = 78;
	ok(job_start(path, &spec, &mine, &e) == ST_BUSY, "a second one is told: %s", e.msg);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	usleep(50000);
	world_end((world_begin(m), m));
	usleep(30000);
	seen = world_begin(m);
	ok(seen->dev[0].job == 0 && seen->dev[0].g.now.power_mw < 30000,
		"killed, it loads the device no more (%.0f W)", seen->dev[0].g.now.power_mw / 1000);
	world_end(m);
	ok(job_start(path, &spec, &mine, &e) == ST_OK, "and the next one gets it %s", e.msg);
	job_end(mine);
	world_close(m);
}

static void test_visible(void)
{
	int gpu[SIM_GPUS];
	char list[256];
	double share;

	scenario("[gpu 0-7]\nprofile = v100\n");
	is_int(job_visible(&scn, NULL, gpu, NULL), 8, "unset: all");
	is_int(job_visible(&scn, "", gpu, NULL), 0, "empty: none");
	is_int(job_visible(&scn, "-1", gpu, NULL), 0, "-1: none");
	ok(job_visible(&scn, "2,5", gpu, NULL) == 2 && gpu[0] == 2 && gpu[1] == 5,
		"2,5 are those two");
	is_int(job_visible(&scn, "2,9,5", gpu, NULL), 1,
		"it stops at the first that does not exist");
	is_int(job_visible(&scn, "1,1", gpu, NULL), 0, "a device named twice: none");
	snprintf(list, sizeof(list), "%s,%.12s", scn.gpu[3].uuid, scn.gpu[6].uuid);
	ok(job_visible(&scn, list, gpu, NULL) == 2 && gpu[0] == 3 && gpu[1] == 6,
		"UUIDs and unique beginnings of them");
	is_int(job_visible(&scn, "GPU-", gpu, NULL), 0, "a beginning that many have is none");

	scenario("[gpu 0-1]\nprofile = v100\n[gpu 2]\nprofile = a100\nmig = 4g.20gb, 3g.20gb\n");
	world_mig_uuid(&scn, 2, 1, list);
	ok(job_visible(&scn, list, gpu, &share) == 1 && gpu[0] == 2 && fabs(share - 3 / 7.0) < 1e-9,
		"a MIG instance is its device, and three sevenths of it");
	ok(job_visible(&scn, "2", gpu, &share) == 1 && fabs(share - 4 / 7.0) < 1e-9,
		"a device with instances gives its first");
	ok(job_visible(&scn, "2,1", gpu, &share) == 1 && gpu[0] == 2,
		"and a process that has an instance gets nothing beside it");
	ok(job_visible(&scn, NULL, gpu, &share) == 2 && share == 1, "unset: the whole devices");
}

int main(void)
{
	char path[128];

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/state", dir);
	test_script();
	test_ranks();
	test_kill(path);
	test_kill_among_many(path);
	test_dead_job(path);
	test_visible();
	unlink(path);
	rmdir(dir);
	return tap_done();
}
