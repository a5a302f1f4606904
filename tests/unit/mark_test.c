/* The writer's side of the marks, as a training program links it. Each case is a process of its
 * own, because a process makes one slot and keeps it. */
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "record/mark_abi.h"
#include "tap.h"
#include "wattlaw/mark.h"

static char dir[64], self[4096];

/* Run fn in a child; its exit status. */
static int in_child(void (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		fn();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static size_t n_slots(void)
{
	DIR *d = opendir(dir);
	struct dirent *de;
	size_t n = 0;

	while ((de = readdir(d)))
		n += !strncmp(de->d_name, "slot.", 5);
	closedir(d);
	return n;
}

/* Map the nth slot of the directory, by name order of discovery; removes all of them. */
static struct mark_slot *take_slot(void)
{
	static struct mark_slot copy;
	DIR *d = opendir(dir);
	struct dirent *de;
	char path[512];
	bool got = false;

	while ((de = readdir(d))) {
		int fd;

		if (strncmp(de->d_name, "slot.", 5))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, de->d_name);
		fd = open(path, O_RDONLY);
		if (!got)
			got = read(fd, &copy, sizeof(copy)) == (ssize_t)sizeof(copy);
		close(fd);
		unlink(path);
	}
	closedir(d);
	return got ? &copy : NULL;
}

static void nobody_measures(void)
{
	unsetenv("WATTLAW_MARKS");
	wl_rank(0, 1);
	wl_step(1);
	wl_epoch();
	wl_phase_begin("train");
	wl_phase_end();
	wl_loss(1);
	wl_job(1, 2, 3);
	if (!isnan(wl_energy_j()) || wl_active())
		_exit(1);
}

static void no_such_directory(void)
{
	setenv("WATTLAW_MARKS", "/nonexistent/marks", 1);
	wl_step(1);
	if (wl_active() || !isnan(wl_energy_j()))
		_exit(1);
}

static void no_room(void)
{
	struct rlimit small = {1000, 1000};

	setrlimit(RLIMIT_FSIZE, &small);
	wl_step(1);
	if (wl_active())
		_exit(1);
}

static void trains(void)
{
	wl_rank(1, 4);
	wl_job(1000, 8, 32);
	wl_phase_begin("warmup");
	wl_step(8);
	wl_phase_end();
	wl_phase_begin("a name of more than twenty-three bytes");
	wl_step(8);
	wl_loss(0.25);
	wl_epoch();
	wl_phase_end();
	wl_phase_end(); /* one too many */
}

static void nests_deep(void)
{
	for (int i = 0; i < 10; i++)
		wl_phase_begin("deep");
	for (int i = 0; i < 10; i++)
		wl_phase_end();
	wl_phase_begin("after");
}

static void long_run(void)
{
	for (int i = 0; i < 3 * MARK_RING + 5; i++)
		wl_step(2);
}

static void forks(void)
{
	int status;

	wl_step(1);
	if (!fork()) {
		wl_step(100);
		wl_step(100);
		_exit(0);
	}
	wait(&status);
	wl_step(1);
}

static void execs_itself(void)
{
	wl_step(1);
	execl(self, self, "--mark-once", (char *)NULL);
	_exit(1);
}

static void ranked_by_launcher(void)
{
	setenv("SLURM_PROCID", "0", 1);
	setenv("SLURM_NTASKS", "1", 1);
	setenv("OMPI_COMM_WORLD_RANK", "3", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
	wl_step(1);
}

static void ranked_by_nonsense(void)
{
	setenv("OMPI_COMM_WORLD_RANK", "8", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
	setenv("RANK", "x", 1);
	setenv("WORLD_SIZE", "2", 1);
	wl_rank(5, 5);
	wl_step(1);
}

static void reads_energy(void)
{
	struct mark_energy_page page = {MARK_MAGIC, 1, UINT64_MAX, 0};
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/energy", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (write(fd, &page, sizeof(page)) != (ssize_t)sizeof(page) || !isnan(wl_energy_j()))
		_exit(1);
	page.energy_uj = 12500000;
	if (pwrite(fd, &page, sizeof(page), 0) != (ssize_t)sizeof(page) || wl_energy_j() != 12.5)
		_exit(2);
	unlink(path);
}

static void counters_and_events(void)
{
	struct mark_slot *s;

	is_int(in_child(trains), 0, "a training program marks and ends");
	s = take_slot();
	ok(s && s->h.magic == MARK_MAGIC && s->h.abi == 1,
		"its slot carries the magic word and the version");
	is_int((long long)s->h.rank, 1, "rank as told");
	is_int((long long)s->h.n_ranks, 4, "number of ranks as told");
	is_int((long long)s->h.global_batch, 32, "global batch as told");
	is_int((long long)s->h.steps, 2, "steps are counted");
	is_int((long long)s->h.samples, 16, "samples are counted");
	is_int((long long)s->h.epochs, 1, "epochs are counted");
	ok(s->h.first_step_ns && s->h.first_step_ns <= s->h.last_step_ns,
		"first and last step have times in order");
	is_int((long long)s->h.head, 8, "eight events; the surplus phase end is none");
	is_int((long long)(s->ring[1].kind & 0xff), MARK_STEP, "second event is a step");
	is_int((long long)(s->ring[1].kind >> 8), 1, "a step event carries its number");
	is_str(s->ring[0].text, "warmup", "a phase begin carries its name");
	is_str(s->ring[2].text, "warmup", "a phase end carries the same name");
	is_str(s->ring[3].text, "a name of more than twe", "a long name is cut at 23 bytes");
	double loss;
	memcpy(&loss, &s->ring[5].value, sizeof(loss));
	is_near(loss, 0.25, 0, "the loss arrives bit for bit");
	for (uint64_t i = 0; i < 8; i++)
		if (s->ring[i].seq != i + 1)
			ok(false, "event %d has its sequence number", (int)i);
}

int main(int argc, char **argv)
{
	struct mark_slot *s;

	if (argc == 2 && !strcmp(argv[1], "--mark-once")) {
		wl_step(1);
		return 0;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	snprintf(dir, sizeof(dir), "/tmp/mark_test.XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	setenv("WATTLAW_MARKS", dir, 1);

	is_int(in_child(nobody_measures), 0,
		"without WATTLAW_MARKS every call is a no-op, energy is NAN");
	is_int(in_child(no_such_directory), 0, "a missing directory turns marks off");
	is_int(in_child(no_room), 0,
		"no room for the slot turns marks off and leaves the job alive");
	is_int((long long)n_slots(), 0, "and leaves no file");
	counters_and_events();

	is_int(in_child(nests_deep), 0, "ten nested phases");
	s = take_slot();
	is_int((long long)s->h.head, 17, "only eight levels are reported, ends match their begins");
	is_str(s->ring[16].text, "after", "and the next phase is right again");

	is_int(in_child(long_run), 0, "a run longer than the ring");
	s = take_slot();
	is_int((long long)s->h.steps, 3 * MARK_RING + 5, "its counters stay exact");
	is_int((long long)s->ring[4].seq, 3 * MARK_RING + 5, "the ring holds the latest events");

	is_int(in_child(forks), 0, "a process that forks in the middle");
	is_int((long long)n_slots(), 2, "parent and child have a slot each");
	s = take_slot();
	ok((s->h.steps == 2 && s->h.samples == 2) || (s->h.steps == 2 && s->h.samples == 200),
		"neither writes into the other's");

	is_int(in_child(execs_itself), 0, "a process that execs itself");
	is_int((long long)n_slots(), 2, "takes a second slot under the same pid");
	take_slot();

	in_child(ranked_by_launcher);
	s = take_slot();
	is_int((long long)s->h.rank, 3, "the rank comes from the innermost launcher");
	in_child(ranked_by_nonsense);
	s = take_slot();
	is_int((long long)s->h.n_ranks, 0, "ranks that cannot be true are not told");
	is_int(in_child(reads_energy), 0, "energy is NAN while unknown, then joules");
	rmdir(dir);
	return tap_done();
}
