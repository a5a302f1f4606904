/* Imports: what is in the file and nothing else, errors that name line and field, all or nothing.
 */
#include <unistd.h>

#include "store/import.h"
#include "tap.h"

static char dir[64];

struct got {
	struct run_rec first, last;
	int n;
};

static enum status take(void *arg, const struct run_rec *r, struct err *e)
{
	struct got *g = arg;
	struct str s = STR_INIT;
	enum status st;

	/* A copy through the byte form: records are borrowed. */
	run_rec_encode(r, &s);
	run_rec_release(&g->last);
	st = run_rec_decode(&g->last, s.p, s.len, e);
	if (!g->n++)
		st = run_rec_decode(&g->first, s.p, s.len, e);
	str_release(&s);
	return st;
}

static enum status read_text(const char *format, const char *text, const struct import_opts *o,
	struct got *g, struct err *e)
{
	struct import_sink sink = {take, g, false, STR_INIT};
	struct import_opts opts = o ? *o : (struct import_opts){0};
	enum status st;

	memset(g, 0, sizeof(*g));
	run_rec_init(&g->first);
	run_rec_init(&g->last);
	if (!opts.workload)
		opts.workload = "w";
	st = import_find(format)->read("f.csv", text, strlen(text), &opts, &sink, e);
	str_release(&sink.ignored);
	return st;
}

static void done(struct got *g)
{
	run_rec_release(&g->first);
	run_rec_release(&g->last);
}

static int64_t axis_of(const struct run_rec *r, const char *name)
{
	const struct axis_val *a = run_rec_axis_find(r, name);

	return a && a->value.st == ST_OK ? a->value.v : -1;
}

static void test_tidy(void)
{
	static const char *const map[] = {"Runtime=time_s", "GPUs used=workers"};
	static const char *const axes[] = {"power_limit=0.2kW"};
	struct import_opts o = {.map = map, .n_map = 2, .axes = axes, .n_axes = 1};
	struct got g;
	struct err e = ERR_INIT;

	is_int(read_text("csv",
		       "workload,power_limit_w,energy_j,time_s,config,gpu\n"
		       "bert,200,1.5,2.25,batch=32;opt=adam,V100\nbert,,,3,,\n",
		       NULL, &g, &e),
		ST_OK, "a tidy table is read");
	is_int(g.n, 2, "one run a row");
	is_str(g.first.workload, "bert", "with its workload");
	is_int(axis_of(&g.first, "power_limit"), 200000, "its limit in mW");
	is_int(axis_of(&g.first, "batch"), 32, "the words of its configuration as axes");
	is_int(g.first.wall_ns.v, 2250000000, "its time in ns");
	is_int(g.first.energy_uj.v, 1500000, "its energy in uJ");
	is_str(g.first.source, "import:csv", "and the label of its source");
	is_int(g.first.method, ENERGY_IMPORTED, "the energy says that it is imported");
	ok(g.last.energy_uj.st != ST_OK && !run_rec_axis_find(&g.last, "power_limit"),
		"an empty cell is unknown, not 0");
	done(&g);

	is_int(read_text("csv", "Runtime;GPUs used;energy [kJ];ignored\n1,5;4;0,2;x\n", &o, &g, &e),
		ST_OK, "other names by a mapping, units in brackets, decimal commas");
	is_int(g.first.wall_ns.v, 1500000000, "time through the mapping");
	is_int(axis_of(&g.first, "workers"), 4, "workers through the mapping");
	is_int(g.first.energy_uj.v, 200000000, "kJ in the header");
	is_int(axis_of(&g.first, "power_limit"), 200000, "an axis of the whole file");
	done(&g);

	is_int(read_text("csv", "time,time_unit\n2,min to quality target\n3,s per 1M images\n",
		       NULL, &g, &e),
		ST_OK, "units of time in their own column");
	is_int(g.first.wall_ns.v, 120000000000, "minutes");
	is_int(g.last.train.samples.v, 1000000, "per a number of samples");
	done(&g);

	is_int(read_text("csv", "throughput\n500\n", NULL, &g, &e), ST_OK,
		"a rate stands in for a time");
	is_near((double)g.first.train.window_ns.v / (double)g.first.train.window_samples.v, 2e6, 1,
		"2 ms a sample");
	done(&g);
}

static void test_tidy_errors(void)
{
	static const struct {
		const char *text, *says, *what;
	} bad[] = {
		{"workload,time_s\nbert,1\nbert,fast\n", "f.csv:3", "a word for a time: its line"},
		{"workload,time_s\nbert,fast\n", "time_s", "and its column"},
		{"workload,energy_j\nbert,3\n", "time_s", "no time at all: what is expected"},
		{"time_s\n-1\n", "more than 0", "a negative time"},
		{"time_s,power_limit_w\n1,0\n", "more than 0", "a limit of 0"},
		{"time_s,workers\n1,1.5\n", "workers", "half a worker"},
		{"time_s\n1e300\n", "f.csv:2", "a time beyond all range"},
		{"time_s\n\"1\n", "f.csv", "a quote that never closes"},
		{"", "f.csv", "an empty file"},
		{"time_s,energy_j\n,\n,5 parsecs\n", "f.csv", "a unit that is none"},
	};
	struct got g;
	struct err e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		e = ERR_INIT;
		is_int(read_text("csv", bad[i].text, NULL, &g, &e), ST_INVALID, bad[i].what);
		has(e.msg, bad[i].says, "is named in the message");
		done(&g);
	}
}

static const char *write_file(const char *text)
{
	static char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/t.csv", dir);
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	return path;
}

struct base {
	int n, baselines, repeats;
};

static bool see_run(void *arg, const struct run_rec *r)
{
	struct base *b = arg;

	b->n++;
	b->baselines += r->baseline;
	b->repeats += r->repeat;
	return true;
}

static void test_store(void)
{
	struct store *s = NULL;
	struct import_opts o = {0};
	struct import_result res;
	struct campaign_info c;
	struct base b = {0};
	struct err e = ERR_INIT;
	char db[128];

	snprintf(db, sizeof(db), "%s/i.db", dir);
	store_open(db, true, &s, &e);
	is_int(store_import(s, import_find("csv"), write_file("time_s,power_limit_w\n1,250\n2,x\n"),
		       &o, &res, &e),
		ST_INVALID, "a bad row");
	is_int(store_campaign_find(s, NULL, &c, &e), ST_NOT_FOUND, "imports nothing at all");
	is_int(store_import(s, import_find("csv"),
		       write_file("time_s,power_limit_w,colour\n1,250,a\n1.1,250,b\n2,100,c\n"), &o,
		       &res, &e),
		ST_OK, "a good file");
	is_str(res.campaign.name, "t", "becomes a campaign of its name");
	is_str(res.ignored, "colour", "columns without a meaning are named");
	store_each_run(s, res.campaign.id, see_run, &b, &e);
	is_int(b.n, 3, "with all its rows");
	is_int(b.baselines, 2, "the highest limit stands for the default");
	is_int(b.repeats, 1, "rows of one setting are its repeats");
	import_result_release(&res);
	is_int(store_import(s, import_find("csv"), "/nonexistent/x.csv", &o, &res, &e),
		ST_NOT_FOUND, "a file that is not there");
	store_close(s);
	unlink(write_file(""));
	unlink(db);
	strcat(db, "-wal");
	unlink(db);
	memcpy(db + strlen(db) - 3, "shm", 3);
	unlink(db);
}

int main(void)
{
	snprintf(dir, sizeof(dir), "/tmp/wattlaw-import.XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	test_tidy();
	test_tidy_errors();
	test_store();
	rmdir(dir);
	return tap_done();
}
