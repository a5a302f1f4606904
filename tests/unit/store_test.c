/* The store: what goes in comes out, nothing foreign is touched, nothing is half-written. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/store.h"
#include "tap.h"

static char dir[64];

static const char *path_of(const char *name)
{
	static char buf[4][128];
	static int i;

	i = (i + 1) % 4;
	snprintf(buf[i], sizeof(buf[i]), "%s/%s", dir, name);
	return buf[i];
}

static void remove_db(const char *path)
{
	char buf[160];

	unlink(path);
	snprintf(buf, sizeof(buf), "%s-wal", path);
	unlink(buf);
	snprintf(buf, sizeof(buf), "%s-shm", path);
	unlink(buf);
}

/* A point: time per sample 1/w s per 1000 samples, energy known on request. */
static void make_run(struct run_rec *r, const char *id, int watts, int repeat, int64_t window_ns,
	int64_t energy_uj)
{
	char text[16];

	run_rec_init(r);
	rec_set(&r->run_id, id);
	rec_set(&r->workload, "resnet18");
	rec_set(&r->domain, "vision");
	snprintf(text, sizeof(text), "%dW", watts);
	run_rec_axis(r, "power_limit", text, UNIT_POWER, QTY((int64_t)watts * 1000));
	run_rec_axis(r, "workers", "2", UNIT_NONE, QTY(2));
	r->repeat = repeat;
	r->baseline = watts == 250;
	r->state = RUN_DONE;
	r->exit_code = 0;
	r->simulated = true;
	r->train.window_ns = QTY(window_ns);
	r->train.window_samples = QTY(1000);
	r->train.samples = QTY(1000);
	if (energy_uj)
		r->energy_uj = QTY(energy_uj);
}

static void make_full(struct run_rec *r)
{
	static const char *const argv[] = {"sh", "-c", "exit 3"};
	struct sample_rec sample = {0, 1, 5, -7, ST_OK}, bad = {0, 2, 6, 0, ST_LOST};
	struct mark_rec mark = {1, 2, 6, 0.25, "forward"};
	struct dev_rec *d;
	struct knob_rec *k;
	struct phase_rec *p;

	make_run(r, "00000000000000ff", 200, 1, 2000, 0);
	rec_set(&r->options, "it's \"quoted\" \xc3\xa9");
	run_rec_command(r, argv, 3);
	run_rec_warn(r, "one");
	run_rec_warn(r, "two");
	run_rec_axis(r, "batch", "default", UNIT_NONE, QTY_NONE(ST_UNSUPPORTED));
	r->net_uj = (struct qty){77, ST_PARTIAL};
	r->state = RUN_PARTIAL;
	r->method = ENERGY_MIXED;
	r->train.steps = QTY_NONE(ST_NO_PERMISSION);
	d = run_rec_dev(r);
	rec_set(&d->key, "GPU-1");
	d->kind = DEV_DRAM;
	d->energy_uj = QTY(INT64_MAX);
	d->util_ppm = QTY_NONE(ST_UNSUPPORTED);
	d->st = ST_LOST;
	d = run_rec_dev(r);
	rec_set(&d->key, "GPU-2");
	k = dev_rec_knob(d, "power_limit", UNIT_POWER);
	k->requested = QTY(200000);
	k->enforced = QTY_NONE(ST_TIMEOUT);
	p = run_rec_phase(r);
	rec_set(&p->name, "steady");
	p->energy_uj = QTY_NONE(ST_LOST);
	run_rec_sample(r, &sample);
	run_rec_sample(r, &bad);
	run_rec_mark(r, &mark);
}

static bool same(const struct run_rec *a, const struct run_rec *b)
{
	struct str x = STR_INIT, y = STR_INIT;
	bool equal;

	equal = run_rec_encode(a, &x) && run_rec_encode(b, &y) && x.len == y.len &&
		!memcmp(x.p, y.p, x.len);
	str_release(&x);
	str_release(&y);
	return equal;
}

static void test_round_trip(void)
{
	struct store *s = NULL;
	struct run_rec r, back;
	struct err e = ERR_INIT;

	is_int(store_open(path_of("a.db"), true, &s, &e), ST_OK, "a new store is made");
	make_full(&r);
	is_int(store_put(s, 0, &r, &e), ST_OK, "a run goes in");
	is_int(store_get(s, r.run_id, &back, &e), ST_OK, "and comes out");
	ok(same(&r, &back), "with every field, missing ones with their reason");
	run_rec_release(&back);
	is_int(store_put(s, 0, &r, &e), ST_OK, "the same run goes in again");
	is_int(store_get(s, "000000", &back, &e), ST_OK, "and is still the only one of its prefix");
	ok(same(&r, &back), "unchanged");
	run_rec_release(&back);
	is_int(store_get(s, "zz", &back, &e), ST_NOT_FOUND, "an unknown run is not found");
	rec_set(&r.run_id, "00000000000000fe");
	store_put(s, 0, &r, &e);
	is_int(store_get(s, "0000", &back, &e), ST_INVALID, "an ambiguous prefix is refused");
	has(e.msg, "several runs", "and says why");
	run_rec_release(&r);
	store_close(s);
	is_int(store_open(path_of("a.db"), false, &s, &e), ST_OK, "the file opens for reading");
	is_int(store_get(s, "00000000000000ff", &back, &e), ST_OK, "with the run in it");
	run_rec_release(&back);
	store_close(s);
}

static bool keep_last(void *arg, const struct campaign_info *c)
{
	*(int64_t *)arg = c->id;
	return true;
}

static void test_campaigns(void)
{
	struct store *s = NULL;
	struct campaign_info one, two, found;
	struct run_rec r;
	struct err e = ERR_INIT;
	enum run_state state;
	int64_t last = 0;

	store_open(path_of("c.db"), true, &s, &e);
	is_int(store_campaign_find(s, NULL, &found, &e), ST_NOT_FOUND, "no campaign yet");
	store_campaign_begin(s, "sweep", "[sweep]\n", "-r 2", 7, true, NULL, &one, &e);
	store_campaign_begin(s, "sweep", NULL, NULL, 0, false, "import:zeus", &two, &e);
	is_str(one.name, "sweep", "a campaign gets its name");
	is_str(two.name, "sweep-2", "a second one of that name gets a number");
	is_int(store_campaign_find(s, "", &found, &e), ST_OK, "the latest is found without a name");
	is_int(found.id, two.id, "it is the second");
	campaign_info_release(&found);
	is_int(store_campaign_find(s, "swep", &found, &e), ST_NOT_FOUND,
		"a misspelt one is not found");
	has(e.msg, "did you mean 'sweep'", "and the nearest is named");

	make_run(&r, "a1", 250, 0, 1000000000, 5000000);
	store_put(s, one.id, &r, &e);
	run_rec_release(&r);
	make_run(&r, "a2", 200, 1, 1000000000, 5000000);
	r.state = RUN_FAILED;
	store_put(s, one.id, &r, &e);
	run_rec_release(&r);
	is_int(store_campaign_points(s, one.id, 28, &e), ST_OK, "the number of points is kept");
	store_campaign_find(s, "sweep", &found, &e);
	ok(found.n_done == 1 && found.n_failed == 1 && found.n_points == 28 && found.seed == 7,
		"a campaign counts its runs");
	is_str(found.plan, "[sweep]\n", "and keeps its plan");
	campaign_info_release(&found);

	is_int(store_point(s, one.id, "resnet18", "power_limit=250W workers=2", 0, &state, &e),
		ST_OK, "a point that was run is known");
	is_int(state, RUN_DONE, "with its state");
	is_int(store_point(s, one.id, "resnet18", "power_limit=250W workers=2", 1, &state, &e),
		ST_NOT_FOUND, "its other repeat is still to do");
	is_int(store_point(s, two.id, "resnet18", "power_limit=250W workers=2", 0, &state, &e),
		ST_NOT_FOUND, "and so is that of another campaign");
	store_point(s, one.id, "resnet18", "power_limit=200W workers=2", 1, &state, &e);
	is_int(state, RUN_FAILED, "a failed point says so");
	store_each_campaign(s, keep_last, &last, &e);
	is_int(last, two.id, "campaigns are walked oldest first");
	campaign_info_release(&one);
	campaign_info_release(&two);
	store_close(s);
}

struct seen {
	int n;
	double slowdown, saving, time, energy, per_j;
	char label[16], unit[16];
};

static bool see(void *arg, const struct figures *f)
{
	struct seen *seen = arg;

	seen->n++;
	if (!strcmp(f->setting, "power_limit=200W workers=2")) {
		seen->slowdown = f->slowdown_pct;
		seen->saving = f->saving_pct;
		seen->time = f->time_s;
		seen->energy = f->energy_j;
		seen->per_j = f->work_per_j;
		snprintf(seen->label, sizeof(seen->label), "%s", f->label);
		snprintf(seen->unit, sizeof(seen->unit), "%s", f->work_unit);
	}
	return true;
}

static void test_views(void)
{
	struct store *s = NULL;
	struct run_rec r;
	struct err e = ERR_INIT;
	struct seen seen = {0};
	struct campaign_info c;

	store_open(path_of("v.db"), true, &s, &e);
	store_campaign_begin(s, "v", NULL, NULL, 0, true, NULL, &c, &e);
	/* 250 W: 1 ms and 0.2 J a sample. 200 W: 1.1 and 1.3 ms, 0.15 J. A failed run must not
	 * count. */
	make_run(&r, "b1", 250, 0, 1000000000, 200000000);
	store_put(s, c.id, &r, &e);
	run_rec_release(&r);
	make_run(&r, "b2", 200, 0, 1100000000, 150000000);
	store_put(s, c.id, &r, &e);
	run_rec_release(&r);
	make_run(&r, "b3", 200, 1, 1300000000, 150000000);
	store_put(s, c.id, &r, &e);
	run_rec_release(&r);
	make_run(&r, "b4", 200, 2, 9000000000, 1);
	r.state = RUN_FAILED;
	store_put(s, c.id, &r, &e);
	run_rec_release(&r);
	make_run(&r, "b5", 150, 0, 2000000000, 0);
	store_put(s, c.id, &r, &e);
	run_rec_release(&r);
	is_int(store_each_figures(s, FIGURES_RUN, c.id, see, &seen, &e), ST_OK, "figures of runs");
	is_int(seen.n, 4, "a failed run has none");
	seen.n = 0;
	is_int(store_each_figures(s, FIGURES_SETTING, c.id, see, &seen, &e), ST_OK,
		"figures of settings");
	is_int(seen.n, 3, "one row a setting");
	is_near(seen.time, 1.2e-3, 1e-12, "time per sample is the mean over repeats");
	is_near(seen.energy, 0.15, 1e-12, "energy per sample in J");
	is_near(seen.per_j, 1 / 0.15, 1e-9, "samples per second per watt");
	is_near(seen.slowdown, 20, 1e-9, "slowdown is relative to the measured default");
	is_near(seen.saving, 25, 1e-9, "so is the saving");
	is_str(seen.label, "simulated", "simulated figures say so");
	is_str(seen.unit, "sample", "the unit of work is named");

	/* Unknown energy stays unknown. */
	seen.n = 0;
	make_run(&r, "b6", 200, 3, 1200000000, 0);
	r.energy_uj = (struct qty){1, ST_PARTIAL};
	store_begin(s, &e);
	for (int i = 0; i < 3; i++) {
		char id[8];

		snprintf(id, sizeof(id), "b%d", 2 + i);
		rec_set(&r.run_id, id);
		r.repeat = i;
		store_put(s, c.id, &r, &e);
	}
	is_int(store_commit(s, &e), ST_OK, "several runs in one transaction");
	run_rec_release(&r);
	store_each_figures(s, FIGURES_SETTING, c.id, see, &seen, &e);
	ok(isnan(seen.energy) && isnan(seen.saving),
		"a partial energy is no energy, never a smaller one");
	campaign_info_release(&c);
	store_close(s);
}

static char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *buf = malloc(1 << 20);

	*n = f ? fread(buf, 1, 1 << 20, f) : 0;
	if (f)
		fclose(f);
	return buf;
}

static void spoil(const char *path, const char *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");

	fwrite(bytes, 1, n, f);
	fclose(f);
}

static void test_foreign_files(void)
{
	struct store *s = NULL;
	struct err e = ERR_INIT;
	sqlite3 *db;
	char *before, *after, text[200];
	size_t n, m;

	is_int(store_open(path_of("nowhere/x.db"), true, &s, &e), ST_NOT_FOUND,
		"a store in a directory that is not there cannot be made");
	has(e.msg, "No such file or directory", "and the reason is the system's");
	sqlite3_open(path_of("other.db"), &db);
	sqlite3_exec(db, "CREATE TABLE t(x); INSERT INTO t VALUES(1)", NULL, NULL, NULL);
	sqlite3_close(db);
	before = slurp(path_of("other.db"), &n);
	is_int(store_open(path_of("other.db"), true, &s, &e), ST_INVALID,
		"another program's database");
	has(e.msg, "another program", "is refused by name");
	after = slurp(path_of("other.db"), &m);
	ok(n == m && !memcmp(before, after, n), "and stays as it was, byte for byte");
	free(before);
	free(after);

	memset(text, 'x', sizeof(text));
	spoil(path_of("note.txt"), text, sizeof(text));
	is_int(store_open(path_of("note.txt"), true, &s, &e), ST_INVALID, "a text file is refused");
	spoil(path_of("short"), "hi", 2);
	is_int(store_open(path_of("short"), true, &s, &e), ST_INVALID, "so is a short one");
	is_int(store_open(dir, true, &s, &e), ST_INVALID, "and a directory");
	is_int(store_open(path_of("absent.db"), false, &s, &e), ST_NOT_FOUND,
		"reading needs a store");
	ok(access(path_of("absent.db"), F_OK) != 0, "which is not made by asking");

	store_open(path_of("new.db"), true, &s, &e);
	store_close(s);
	before = slurp(path_of("new.db"), &n);
	before[63] = 99;
	spoil(path_of("newer.db"), before, n);
	is_int(store_open(path_of("newer.db"), true, &s, &e), ST_INVALID,
		"a newer store is refused");
	has(e.msg, "newer wattlaw", "and says so");
	free(before);
}

static bool count_run(void *arg, const struct run_rec *r)
{
	(void)r;
	++*(int *)arg;
	return true;
}

/* A child puts runs until it is killed; every run it said it had put must be there whole. */
static void test_kill(void)
{
	const char *path = path_of("kill.db");
	int pipe_fd[2], whole = 0, lost = 0, rounds = 24, good_opens = 0;

	for (int i = 0; i < rounds; i++) {
		struct store *s = NULL;
		struct err e = ERR_INIT;
		struct run_rec r;
		pid_t pid;
		int n = 0, put = 0;
		char byte;

		remove_db(path);
		if (pipe(pipe_fd))
			break;
		pid = fork();
		if (!pid) {
			close(pipe_fd[0]);
			store_open(path, true, &s, &e);
			for (int k = 0; k < 100000; k++) {
				make_full(&r);
				run_id_make(r.run_id);
				if (store_put(s, 0, &r, &e) || write(pipe_fd[1], "x", 1) != 1)
					_exit(1);
				run_rec_release(&r);
			}
			_exit(0);
		}
		close(pipe_fd[1]);
		/* At different moments, the first ones inside the making of the file. */
		usleep((useconds_t)(i < 16 ? 500 * i : 4000 * i));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(pipe_fd[0], &byte, 1) == 1)
			put++;
		close(pipe_fd[0]);
		if (store_open(path, true, &s, &e)) {
			printf("# %s\n", e.msg);
			continue;
		}
		good_opens++;
		store_each_run(s, 0, count_run, &n, &e);
		lost += n < put;
		whole += n <= put + 1;
		store_close(s);
	}
	is_int(good_opens, rounds, "a store opens after kill -9 at any moment");
	is_int(lost, 0, "no run that was put is lost");
	is_int(whole, rounds, "and no half run appears");
}

static void test_faults(const char *point)
{
	const char *path = path_of("fault.db");
	unsigned n = 0;
	bool done = false, atomic = true;

	while (!done && n < 2000) {
		struct store *s = NULL;
		struct run_rec r, back;
		struct err e = ERR_INIT;
		enum status st;
		int runs = 0;

		remove_db(path);
		store_open(path, true, &s, &e);
		store_close(s);
		make_full(&r);
		fault_arm(point, ++n);
		st = store_open(path, true, &s, &e);
		if (!st)
			st = store_put(s, 0, &r, &e);
		if (!st) {
			st = store_get(s, r.run_id, &back, &e);
			if (!st)
				run_rec_release(&back);
		}
		done = !fault_fired();
		fault_arm(point, 0);
		store_close(s);
		run_rec_release(&r);
		if (done && st)
			break;
		/* Whatever happened, the file is whole: none or one run. */
		store_open(path, true, &s, &e);
		if (store_each_run(s, 0, count_run, &runs, &e) || runs > 1)
			atomic = false;
		store_close(s);
	}
	ok(done && n > 5, "%s: a put fails cleanly at each of %u places", point, n - 1);
	ok(atomic, "%s: and leaves all of the run or nothing", point);
}

static long long ask(const char *db_name, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *st = NULL;
	long long v = -1;

	sqlite3_open(path_of(db_name), &db);
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
		sqlite3_step(st) == SQLITE_ROW)
		v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return v;
}

static void test_laws(void)
{
	static const char *const names[] = {"a", "b"};
	static const double p[] = {2.5, -0.97}, cov[] = {4, 2, 2, 9};
	static const double ci[][2] = {{2, 3}, {-1.02, -0.92}};
	struct law_row l = {.workload = "resnet18",
		.quantity = "time",
		.per = "sample",
		.factor = "cpu_rate_pct",
		.family = "power law",
		.label = "measured",
		.version = "1",
		.n = 4,
		.n_runs = 8,
		.x_min = 40,
		.x_max = 100,
		.r2_log = 0.99,
		.loo_pct = NAN,
		.n_params = 2,
		.names = names,
		.value = p,
		.ci95 = ci,
		.cov = cov,
		.cov_stride = 2};
	struct law_row two[2];
	struct campaign_info c;
	struct store *s;
	struct err e = ERR_INIT;

	store_open(path_of("law.db"), true, &s, &e);
	store_campaign_begin(s, "a", NULL, NULL, 1, false, NULL, &c, &e);
	two[0] = two[1] = l;
	two[1].cov = NULL;
	is_int(store_put_laws(s, c.id, two, 2, &e), ST_OK, "two laws are kept");
	is_int(ask("law.db", "SELECT count(*) FROM law WHERE loo_pct IS NULL AND n_runs = 8"), 2,
		"with what is not known as NULL");
	is_int(ask("law.db", "SELECT round(value * 100) FROM law_param WHERE name = 'b'"), -97,
		"and their parameters");
	is_int(ask("law.db", "SELECT round(lo95 * 100) FROM law_param WHERE name = 'b'"), -102,
		"intervals");
	is_int(ask("law.db", "SELECT sum(value) FROM law_cov"), 15,
		"and covariance, of the one that has it");
	is_int(store_put_laws(s, 0, two, 1, &e), ST_OK, "those of all runs are others");
	is_int(store_put_laws(s, c.id, two, 1, &e), ST_OK, "a later fit");
	is_int(ask("law.db", "SELECT count(*) FROM law"), 2, "takes the place of the earlier one");
	is_int(ask("law.db", "SELECT count(*) FROM law_param"), 4, "with all of its parts");
	two[1].workload = NULL;
	ok(store_put_laws(s, c.id, two, 2, &e) != ST_OK &&
			ask("law.db", "SELECT count(*) FROM law") == 2,
		"a fit that cannot be kept whole changes nothing");
	campaign_info_release(&c);
	store_close(s);
}

static void test_hosts(void)
{
	sqlite3 *other;
	struct host_facts h = {.name = "n1", .cpu = "X", .n_cpus = 2, .kernel = "Linux 6.1"};
	struct store *s;
	struct err e = ERR_INIT;

	store_open(path_of("host.db"), true, &s, &e);
	is_int(store_put_host(s, &h, &e) || store_put_host(s, &h, &e), ST_OK,
		"a host is told twice");
	is_int(ask("host.db", "SELECT count(*) FROM host WHERE memory_bytes IS NULL"), 1,
		"and kept once, the unknown as NULL");
	h.kernel = "Linux 6.2";
	store_put_host(s, &h, &e);
	h.kernel = "Linux 6.1";
	store_put_host(s, &h, &e);
	is_int(ask("host.db", "SELECT count(*) FROM host"), 3, "every change is a row, also back");
	sqlite3_open(path_of("host.db"), &other);
	sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	is_int(store_put_host(s, &h, &e), ST_OK,
		"a host that is as it was does not wait for who is writing");
	sqlite3_close(other);
	store_close(s);
}

/* A store as version 1 made it: without the tables of version 2. */
static void test_upgrade(void)
{
	struct store *s;
	struct run_rec r;
	struct err e = ERR_INIT;
	sqlite3 *db;

	store_open(path_of("old.db"), true, &s, &e);
	run_rec_init(&r);
	rec_set(&r.run_id, "old1");
	store_put(s, 0, &r, &e);
	run_rec_release(&r);
	store_close(s);
	sqlite3_open(path_of("old.db"), &db);
	sqlite3_exec(db,
		"DROP TABLE law_cov; DROP TABLE law_param; DROP TABLE law; DROP TABLE host; "
		"PRAGMA user_version=1; PRAGMA wal_checkpoint(TRUNCATE)",
		NULL, NULL, NULL);
	sqlite3_close(db);
	is_int(store_open(path_of("old.db"), false, &s, &e), ST_OK, "an older store can be read");
	store_close(s);
	is_int(ask("old.db", "PRAGMA user_version"), 1, "and is left as it is");
	is_int(store_open(path_of("old.db"), true, &s, &e), ST_OK, "when it is written");
	store_close(s);
	is_int(ask("old.db", "PRAGMA user_version"), 2, "it becomes one of today");
	is_int(ask("old.db", "SELECT count(*) FROM law, host"), 0, "with the tables it lacked");
	is_int(ask("old.db", "SELECT count(*) FROM run"), 1, "and its runs");
}

int main(void)
{
	static const char *const files[] = {"law.db", "host.db", "old.db", "a.db", "c.db", "v.db",
		"other.db", "note.txt", "short", "new.db", "newer.db", "kill.db", "fault.db"};

	snprintf(dir, sizeof(dir), "/tmp/wattlaw-store.XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	test_round_trip();
	test_campaigns();
	test_views();
	test_foreign_files();
	test_laws();
	test_hosts();
	test_upgrade();
	test_kill();
	test_faults("store");
	test_faults("alloc");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		remove_db(path_of(files[i]));
	rmdir(dir);
	return tap_done();
}
