/* The keeper's side of the marks: honest writers, hostile ones, and Python. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "measure/marks.h"
#include "tap.h"
#include "wattlaw/mark.h"

struct seen {
	long long n, kinds[8], steps_value, out_of_order;
	int64_t last;
	char phase[24];
};

static void see(void *arg, const struct mark_rank *r, const struct mark_event *ev)
{
	struct seen *s = arg;

	(void)r;
	s->n++;
	s->kinds[ev->kind & 7]++;
	if ((ev->kind & 0xff) == MARK_STEP)
		s->steps_value += (long long)ev->value;
	if ((ev->kind & 0xff) == MARK_PHASE_BEGIN)
		snprintf(s->phase, sizeof(s->phase), "%s", ev->text);
	s->out_of_order += (int64_t)ev->t_ns < s->last;
	s->last = (int64_t)ev->t_ns;
}

static int64_t now(void)
{
	struct clock *c = clock_system();

	return c->now(c);
}

static pid_t writer(const struct marks *m, int steps, bool wait_for_reader)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	setenv("WATTLAW_MARKS", marks_dir(m), 1);
	wl_rank(0, 1);
	wl_phase_begin("train");
	for (int i = 0; i < steps; i++)
		wl_step(3);
	for (int i = 0; wait_for_reader && !wl_active(); i++) {
		if (i > 1000)
			_exit(1);
		usleep(5000);
	}
	_exit(0);
}

static struct marks *open_marks(void)
{
	struct err e = ERR_INIT;
	struct marks *m;

	if (marks_open(NULL, &m, &e) != ST_OK) {
		printf("Bail out! %s\n", e.msg);
		exit(1);
	}
	return m;
}

static void honest(void)
{
	struct marks *m = open_marks();
	char dir[256];
	struct seen s = {0};
	struct stat st;
	int status;
	pid_t pid;

	snprintf(dir, sizeof(dir), "%s", marks_dir(m));
	ok(!stat(dir, &st) && (st.st_mode & 0777) == 0700, "the directory is private");
	is_int(marks_poll(m, now(), see, &s), ST_OK, "polling before anyone marks is fine");
	pid = writer(m, 1000, true);
	for (int i = 0; i < 2000 && !waitpid(pid, &status, WNOHANG); i++) {
		marks_poll(m, now(), see, &s);
		usleep(1000);
	}
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "the job sees that it is read (wl_active)");
	marks_poll(m, now(), see, &s);
	is_int((long long)marks_n_ranks(m), 1, "one rank");
	is_int((long long)marks_rank(m, 0)->steps, 1000, "all its steps");
	is_int(s.kinds[MARK_STEP], 1000, "every step event once");
	is_int(s.steps_value, 3000, "with their samples");
	is_int(s.out_of_order, 0, "in order of time");
	is_str(s.phase, "train", "the phase has its name");
	ok(!marks_rank(m, 0)->alive, "a process that ended is seen as gone");
	is_int(marks_rank(m, 0)->rank, 0, "with its rank");
	marks_close(m);
	ok(stat(dir, &st) < 0, "closing removes the directory");
}

/* What a killed keeper leaves, and what a live one has. */
static void stale(void)
{
	struct marks *m = open_marks(), *next;
	char dead[400], parent[256], cmd[2000];
	struct stat st;

	snprintf(parent, sizeof(parent), "%s", marks_dir(m));
	*strrchr(parent, '/') = 0;
	snprintf(dead, sizeof(dead), "%s/wattlaw-marks.dead%ld", parent, (long)getpid());
	snprintf(cmd, sizeof(cmd), "mkdir -m 700 %s && touch %s/energy %s/slot.%ld.0", dead, dead,
		dead, (long)getpid());
	if (system(cmd))
		abort();
	next = open_marks();
	ok(!stat(dead, &st), "a young directory may belong to a keeper that starts");
	marks_close(next);
	snprintf(cmd, sizeof(cmd), "touch -d '1 minute ago' %s", dead);
	if (system(cmd))
		abort();
	next = open_marks();
	ok(stat(dead, &st) < 0, "an old one that nobody holds is swept away by the next keeper");
	ok(!stat(marks_dir(m), &st), "one that is held is not");
	marks_close(next);
	marks_close(m);
}

static void overrun(void)
{
	struct marks *m = open_marks();
	struct seen s = {0};
	int status;

	waitpid(writer(m, 3 * MARK_RING, false), &status, 0);
	marks_poll(m, now(), see, &s);
	is_int((long long)marks_rank(m, 0)->steps, 3 * MARK_RING,
		"counters stay exact past the ring");
	is_int(s.n + (long long)marks_rank(m, 0)->lost, 3 * MARK_RING + 1,
		"every event is either seen or counted lost");
	ok(s.n >= MARK_RING - 1, "the latest ring of events is seen");
	marks_close(m);
}

/* Reading while a process writes as fast as it can: no event is ever torn. */
static void race(void)
{
	struct marks *m = open_marks();
	struct seen s = {0};
	int status;
	pid_t pid = writer(m, 300000, false);

	while (!waitpid(pid, &status, WNOHANG))
		if (marks_poll(m, now(), see, &s) == ST_PARTIAL)
			break;
	if (WIFEXITED(status))
		marks_poll(m, now(), see, &s);
	else
		waitpid(pid, &status, 0);
	is_str(marks_note(m), "", "a fast honest writer is never taken for a liar");
	is_int(s.steps_value, 3 * s.kinds[MARK_STEP], "events read during the race are whole");
	is_int(s.n + (long long)marks_rank(m, 0)->lost, 300001,
		"each is seen or counted lost, none twice");
	is_int(s.out_of_order, 0, "in order");
	marks_close(m);
}

/* A slot made by hand. */
static int forge(const struct marks *m, const char *name, const struct mark_slot *slot, size_t n)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", marks_dir(m), name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, slot, n) != (ssize_t)n)
		abort();
	return fd;
}

static void liars(void)
{
	static const struct {
		const char *what;
		size_t word; /* of the slot, overwritten with value */
		uint64_t value;
		const char *note;
	} cases[] = {
		{"a wrong magic word", 0, 42, "not a slot"},
		{"another version", 1, 9, "another version"},
		{"another process's id", 2, 1, "another process"},
		{"a head beyond belief", 14, UINT64_MAX - 5, "beyond any training"},
		{"samples beyond belief", 10, UINT64_MAX, "beyond any training"},
		{"a step in the far future", 13, UINT64_MAX / 2, "future"},
		{"an unknown kind of event", 32 + 1, 77, "unknown kind"},
		{"an event in the far future", 32, UINT64_MAX / 4, "future"},
	};
	static struct mark_slot good;
	char name[64];

	snprintf(name, sizeof(name), "slot.%ld.0", (long)getpid());
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct marks *m = open_marks();
		struct seen s = {0};
		int fd;

		memset(&good, 0, sizeof(good));
		good.h = (struct mark_header){.magic = MARK_MAGIC,
			.abi = 1,
			.pid = (uint64_t)getpid(),
			.steps = 1,
			.samples = 4,
			.first_step_ns = 5,
			.last_step_ns = 5,
			.head = 1};
		good.ring[0] = (struct mark_event){
			.t_ns = 5, .kind = MARK_STEP | 1 << 8, .value = 4, .seq = 1};
		((uint64_t *)(void *)&good)[cases[i].word] = cases[i].value;
		fd = forge(m, name, &good, sizeof(good));
		is_int(marks_poll(m, now(), see, &s), ST_PARTIAL, cases[i].what);
		has(marks_note(m), cases[i].note, "the note says why");
		ok(marks_rank(m, 0)->dropped && s.n == 0, "nothing of it is believed");
		is_int(marks_poll(m, now(), see, &s), ST_OK, "and it is said once");
		close(fd);
		marks_close(m);
	}
}

static void moves_backwards_or_shrinks(void)
{
	static struct mark_slot g;
	struct marks *m = open_marks();
	struct seen s = {0};
	char name[64], path[512];
	int fd;

	snprintf(name, sizeof(name), "slot.%ld.0", (long)getpid());
	g.h = (struct mark_header){.magic = MARK_MAGIC,
		.abi = 1,
		.pid = (uint64_t)getpid(),
		.steps = 5,
		.samples = 4,
		.head = 2,
		.rank = 9,
		.n_ranks = 3};
	g.ring[0] = (struct mark_event){.t_ns = 5, .kind = MARK_PHASE_BEGIN, .seq = 1};
	memset(g.ring[0].text, '\a', sizeof(g.ring[0].text));
	g.ring[1] = (struct mark_event){.t_ns = 6, .kind = MARK_STEP, .seq = 99};
	fd = forge(m, name, &g, sizeof(g));
	is_int(marks_poll(m, now(), see, &s), ST_OK, "an event that is not whole is no lie");
	is_int((long long)marks_rank(m, 0)->lost, 1, "it is counted as lost");
	is_int(marks_rank(m, 0)->rank, -1, "a rank outside the job is not told");
	is_str(s.phase, "???????????????????????", "text is ended and made printable");
	g.h.steps = 4;
	if (pwrite(fd, &g, sizeof(g.h), 0) < 0)
		abort();
	is_int(marks_poll(m, now(), see, &s), ST_PARTIAL,
		"a counter that goes back drops the slot");
	is_int((long long)marks_rank(m, 0)->steps, 5, "the last good count stays");
	close(fd);

	snprintf(name, sizeof(name), "slot.%ld.1", (long)getpid());
	g.h.steps = 5;
	fd = forge(m, name, &g, sizeof(g));
	marks_poll(m, now(), see, &s);
	if (ftruncate(fd, 100))
		abort();
	is_int(marks_poll(m, now(), see, &s), ST_PARTIAL,
		"a slot cut short drops it and does not kill the reader");
	close(fd);

	forge(m, "slot.0.0", &g, 8);
	forge(m, "slot.12x.0", &g, 8);
	forge(m, "slot.99999999999999999999.0", &g, 8);
	snprintf(path, sizeof(path), "%s/slot.%ld.7", marks_dir(m), (long)getpid());
	if (symlink("/etc/passwd", path) || marks_n_ranks(m) != 2)
		abort();
	marks_poll(m, now(), see, &s);
	is_int((long long)marks_n_ranks(m), 2, "other names and links are not followed");
	unlink(path);
	marks_close(m);
}

static void energy_page(void)
{
	struct marks *m = open_marks();
	int status;
	pid_t pid;

	marks_publish_energy(m, QTY(7250000), 1);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setenv("WATTLAW_MARKS", marks_dir(m), 1);
		if (wl_energy_j() != 7.25)
			_exit(1);
		marks_publish_energy(m, QTY_NONE(ST_LOST), 2);
		_exit(isnan(wl_energy_j()) ? 0 : 2);
	}
	waitpid(pid, &status, 0);
	is_int(WEXITSTATUS(status), 0, "the job reads joules, and NAN when energy became unknown");
	marks_close(m);
}

static void python(void)
{
	struct marks *m = open_marks();
	struct seen s = {0};
	char cmd[2048];
	int rc;

	if (system("python3 -c pass 2>/dev/null")) {
		tap_skip(6, "python3 is not installed");
		marks_close(m);
		return;
	}
	marks_publish_energy(m, QTY(1500000), 1);
	snprintf(cmd, sizeof(cmd),
		"WATTLAW_MARKS='%s' PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s/src/mark/python' "
		"python3 -c '\n"
		"import os, wattlaw\n"
		"wattlaw.rank(1, 2)\n"
		"wattlaw.job(10, 4, 8)\n"
		"with wattlaw.phase(\"train with a very long name\"):\n"
		"    for i in range(5000): wattlaw.step(4)\n"
		"    wattlaw.loss(0.5); wattlaw.epoch()\n"
		"pid = os.fork()\n"
		"if pid == 0:\n"
		"    wattlaw.step(1); os._exit(0)\n"
		"os.waitpid(pid, 0)\n"
		"assert wattlaw.energy_j() == 1.5\n"
		"assert not wattlaw.active()\n'",
		marks_dir(m), TEST_SOURCE_ROOT);
	rc = system(cmd);
	is_int(rc, 0, "the Python module runs with the standard library alone");
	is_int(marks_poll(m, now(), see, &s), ST_OK, "its slots are believed");
	is_int((long long)marks_n_ranks(m), 2, "the forked child has its own");
	is_int((long long)(marks_rank(m, 0)->samples + marks_rank(m, 1)->samples), 20001,
		"samples are exact");
	is_int(s.kinds[MARK_LOSS] + s.kinds[MARK_EPOCH] + s.kinds[MARK_PHASE_END], 3,
		"loss, epoch and phase end arrive");
	is_int(s.n + (long long)(marks_rank(m, 0)->lost + marks_rank(m, 1)->lost), 5005,
		"every event is seen or counted");
	marks_close(m);
}

static void faults(void)
{
	struct err e = ERR_INIT;
	struct marks *m;
	unsigned n;

	is_int(marks_open("/nonexistent", &m, &e), ST_NOT_FOUND,
		"a missing parent is an error that names it");
	has(e.msg, "/nonexistent", "by name");
	for (n = 1; n < 20; n++) {
		static struct mark_slot g;
		enum status st;
		char name[64];

		fault_arm("alloc", n);
		st = marks_open(NULL, &m, &e);
		if (st == ST_OK) {
			snprintf(name, sizeof(name), "slot.%ld.0", (long)getpid());
			close(forge(m, name, &g, sizeof(g)));
			st = marks_poll(m, now(), NULL, NULL);
			marks_close(m);
		}
		if (!fault_fired())
			break;
		ok(st == ST_NOMEM, "allocation %u failing is reported", n);
	}
	fault_arm("alloc", 0);
	ok(n > 1 && n < 20, "and after the last one everything works");
}

static void statistics(void)
{
	enum { N = 2000 };
	static int64_t t[N + 1];
	struct step_stats s;

	for (int i = 0; i <= N; i++)
		t[i] = i * INT64_C(20000000);
	step_stats(t, N + 1, &s);
	is_int(s.n, N, "n ends give n - 1 steps");
	is_near(s.mean_ns, 2e7, 0, "mean of even steps");
	is_near(s.sd_ns, 0, 0, "no spread");
	ok(s.steady && s.ci95_rel < 1e-9, "even steps are steady");
	/* A CPU quota: three fast steps, then one that waits. The median lies, elapsed over steps
	 * does not. */
	for (int i = 1; i <= N; i++)
		t[i] = t[i - 1] + (i % 4 ? 8000000 : 56000000);
	step_stats(t, N + 1, &s);
	is_near(s.mean_ns, 2e7, 0, "mean is elapsed over steps under a quota");
	is_near(s.median_ns, 8e6, 0, "though the median is the full-rate step");
	is_near(s.p90_ns, 56e6, 0, "p90 is the waiting step");
	is_near(s.min_ns, 8e6, 0, "minimum");
	is_near(s.max_ns, 56e6, 0, "maximum");
	ok(s.steady, "a quota is steady");
	for (int i = 1; i <= N; i++)
		t[i] = t[i - 1] + 10000000 + i * 2000;
	step_stats(t, N + 1, &s);
	ok(!s.steady, "steps that grow are not steady");
	is_near(s.slope_rel, 3.6e6 / 12.001e6, 0.01,
		"slope is the fitted change between first and last batch over the mean");
	step_stats(t, 1, &s);
	ok(s.n == 0 && isnan(s.mean_ns), "one end is no step");
	step_stats(t, 0, &s);
	ok(s.n == 0 && isnan(s.mean_ns), "none neither");
	step_stats(t, 10, &s);
	ok(s.n == 9 && isnan(s.ci95_rel) && !s.steady, "nine steps have a mean but no interval");
	t[5] = 0;
	step_stats(t, 10, &s);
	ok(s.n == 0 && isnan(s.mean_ns), "times that go back are refused");
}

int main(void)
{
	honest();
	stale();
	overrun();
	race();
	liars();
	moves_backwards_or_shrinks();
	energy_page();
	python();
	faults();
	statistics();
	return tap_done();
}
