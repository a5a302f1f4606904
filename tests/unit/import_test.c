/* Imports: what is in the file and nothing else, errors that name line and field, all or nothing.
 */
#include <unistd.h>

#include "base/mem.h"
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
	run_rec_release(&g->last);
	st = run_rec_encode(r, &s) ? run_rec_decode(&g->last, s.p, s.len, e) : ST_NOMEM;
	if (!st && !g->n++)
		st = run_rec_decode(&g->first, s.p, s.len, e);
	str_release(&s);
	return st;
}

static enum status read_text(const char *format, const char *text, const struct import_opts *o,
	struct got *g, struct err *e)
{
	struct import_sink sink = {.run = take, .arg = g};
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

static void test_nvidia_smi(void)
{
	struct got g;
	struct err e = ERR_INIT;

	/* 100 W for 2 s and 200 W for 2 s on one GPU, in any column order; the other's power is not
	 * supported half of the time. */
	is_int(read_text("nvidia-smi",
		       "uuid, power.draw [W], timestamp, temperature.gpu, memory.used [MiB]\n"
		       "GPU-a, 100.00 W, 2023/07/14 10:00:00.000, 40, 10 MiB\n"
		       "GPU-b, [N/A], 2023/07/14 10:00:00.000, [N/A], [N/A]\n"
		       "GPU-a, 100.00 W, 2023/07/14 10:00:02.000, 44, 30 MiB\n"
		       "GPU-b, 50.00 W, 2023/07/14 10:00:02.000, 30, [N/A]\n"
		       "GPU-a, 200.00 W, 2023/07/14 10:00:04.000, 42, 20 MiB\n"
		       "GPU-b, 50.00 W, 2023/07/14 10:00:04.000, 30, [N/A]\n",
		       NULL, &g, &e),
		ST_OK, "a log of nvidia-smi is one run");
	is_int(g.n, 1, "whatever the number of GPUs");
	is_int(g.first.n_devs, 2, "with a device a GPU");
	is_int(g.first.devs[0].energy_uj.v, 500000000, "energy is the trapezoid over power");
	is_int(g.first.devs[1].energy_uj.v, 100000000, "a missing reading is not 0 W");
	is_int(g.first.devs[1].coverage_ppm.v, 500000, "but missing coverage");
	is_int(g.first.devs[1].mean_mw.v, 50000, "the mean is over what was read");
	is_int(g.first.devs[0].temp_max_mdegc.v, 44000, "temperature");
	is_int(g.first.devs[0].mem_used_max_bytes.v, 30 << 20, "memory in MiB");
	is_int(g.first.wall_ns.v, 4000000000, "length from first to last reading");
	is_int(g.first.energy_uj.v, 600000000, "total of both");
	is_int(g.first.n_samples, 13, "the readings are kept");
	done(&g);
	is_int(read_text("nvidia-smi", "timestamp, power.draw [mW]\n10, 56000\n12, 56000\n", NULL,
		       &g, &e),
		ST_OK, "mW in the header, seconds as time");
	is_int(g.first.energy_uj.v, 112000000, "are read as what they say");
	done(&g);
	is_int(read_text("nvidia-smi",
		       "timestamp, power.draw [W]\n2023-07-14T10:00:00+02:00, 5\n2023-07-14 "
		       "08:00:01.25Z, 5\n",
		       NULL, &g, &e),
		ST_OK, "times with a zone");
	is_int(g.first.wall_ns.v, 1250000000, "are put on one calendar");
	done(&g);
	is_int(read_text("zeus-power",
		       "Time,Power\n2022-07-13 02:07:36.5,32402\n2022-07-13 02:07:37.5,32402\n",
		       NULL, &g, &e),
		ST_OK, "a power log of Zeus has no unit");
	is_int(g.first.energy_uj.v, 32402000, "and is mW");
	done(&g);
	is_int(read_text("supercloud",
		       "timestamp,gpu_index,power_draw_W,utilization_gpu_pct\n1.5,0,100,50\n1.6,0,"
		       "100,70\n",
		       NULL, &g, &e),
		ST_OK, "columns of the Supercloud data");
	is_int(g.first.devs[0].util_ppm.v, 600000, "utilisation in percent");
	is_str(g.first.devs[0].key, "index:0", "an index is called one");
	done(&g);
}

static void test_other_logs(void)
{
	struct got g;
	struct err e = ERR_INIT;

	is_int(read_text("dcgmi",
		       "#Entity   POWER      TOTEC   XYZ\nID        W          mJ\n"
		       "GPU 0     100.0      1000    1\nGPU 1     N/A        5       1\n"
		       "GPU 0     100.0      101000  1\nGPU 1     9223372036854775794 "
		       "9223372036854775792 1\n",
		       NULL, &g, &e),
		ST_OK, "dcgmi dmon");
	is_int(g.first.devs[0].energy_uj.v, 100000000, "the counter in mJ is preferred");
	is_int(g.first.devs[0].energy_integral_uj.v, 100000000, "the integral is kept beside it");
	is_int(g.first.devs[1].energy_uj.st, ST_UNKNOWN,
		"N/A and blank values are unknown, not energy");
	is_int(g.first.energy_uj.st, ST_PARTIAL, "which makes the total partial");
	has(g.first.warnings[0], "1 s apart", "the assumed period is said");
	done(&g);
	is_int(read_text("mlperf",
		       "+ echo\n:::MLLOG {\"time_ms\": 1715904931527, \"key\": \"power_reading\", "
		       "\"value\": 1000}\n"
		       ":::MLLOG {\"time_ms\": 1715904933527, \"key\": \"power_reading\", "
		       "\"value\": 3000}\n",
		       NULL, &g, &e),
		ST_OK, "a power log of MLPerf");
	is_int(g.first.energy_uj.v, 4000000000, "in J of the node");
	is_str(g.first.scope, "node", "and says that it is the node");
	done(&g);
	is_int(read_text("codecarbon",
		       "project_name,duration,energy_consumed,gpu_energy,cpu_energy,gpu_count\nx,"
		       "10,0.001,0,0.001,2\n",
		       NULL, &g, &e),
		ST_OK, "CodeCarbon");
	is_int(g.first.energy_uj.v, 3600000000, "0.001 kWh are 3600 J");
	ok(g.first.n_devs == 2 && g.first.devs[0].energy_uj.st == ST_UNKNOWN,
		"a 0 of CodeCarbon is what it could not measure");
	done(&g);
	is_int(read_text("zeus",
		       "start_time,window_name,elapsed_time,gpu0_energy,gpu11_energy\n1,epoch,2.5,"
		       "100,50\n",
		       NULL, &g, &e),
		ST_OK, "windows of Zeus");
	is_int(g.first.energy_uj.v, 150000000, "GPUs of two digits too");
	is_str(g.first.devs[1].key, "index:11", "by their whole index");
	done(&g);
}

static void test_extrap(void)
{
	static const char *const map[] = {"flops=time_s"};
	struct import_opts o = {.map = map, .n_map = 1};
	struct got g;
	struct err e = ERR_INIT;

	is_int(read_text("extrap",
		       "PARAMETER p\nPARAMETER n\nPOINTS ( 1 10 ) ( 2 10 )\nREGION r\nMETRIC "
		       "time\nDATA 1 2\n"
		       "DATA 0.5\nMETRIC energy\nDATA 7 8\nDATA 9\n",
		       NULL, &g, &e),
		ST_OK, "Extra-P as text");
	is_int(g.n, 3, "a value is a run");
	is_int(axis_of(&g.last, "workers"), 2, "p is the workers");
	is_int(axis_of(&g.last, "n"), 10, "other parameters are axes");
	is_int(g.last.wall_ns.v, 500000000, "time");
	is_int(g.last.energy_uj.v, 9000000, "and energy of a value are one run");
	done(&g);
	is_int(read_text("extrap",
		       "{\"parameters\":[\"x\"],\"measurements\":{\"s\":{\"time\":[{\"point\":[4],"
		       "\"values\":[3.5,4]}]}}}",
		       NULL, &g, &e),
		ST_OK, "as JSON");
	ok(g.n == 2 && g.last.repeat == 1, "with repeats");
	done(&g);
	is_int(read_text("extrap",
		       "{\"parameters\":[{\"id\":1,\"name\":\"p\"}],\"callpaths\":[{\"id\":3,"
		       "\"name\":\"c\"}],"
		       "\"metrics\":[{\"id\":2,\"name\":\"time\"}],\"coordinates\":[{\"id\":9,"
		       "\"parameter_value_pairs\":[{\"parameter_id\":1,\"parameter_value\":8}]}],"
		       "\"measurements\":"
		       "[{\"callpath_id\":3,\"metric_id\":2,\"coordinate_id\":9,\"value\":1.5}]}",
		       NULL, &g, &e),
		ST_OK, "as the older JSON");
	is_int(axis_of(&g.first, "workers"), 8, "with its numbered coordinates");
	done(&g);
	is_int(read_text("extrap", "PARAMETER p\nPOINTS 1 2\nMETRIC flops\nDATA 1\nDATA 2\n", NULL,
		       &g, &e),
		ST_INVALID, "a metric that is neither time nor energy");
	has(e.msg, "--map flops=time_s", "asks what it is");
	done(&g);
	is_int(read_text("extrap", "PARAMETER p\nPOINTS 1 2\nMETRIC flops\nDATA 1\nDATA 2\n", &o,
		       &g, &e),
		ST_OK, "and takes the answer");
	done(&g);
}

static void test_log_errors(void)
{
	static const struct {
		const char *format, *text, *says;
	} bad[] = {
		{"nvidia-smi", "timestamp, power.draw [W]\nyesterday, 5\n", "f.csv:2"},
		{"nvidia-smi", "timestamp, power.draw [W]\n1, much\n", "power.draw"},
		{"nvidia-smi", "timestamp, fan\n1, 2\n", "power.draw"},
		{"nvidia-smi", "timestamp, power.draw [W]\n1, 5\n", "two moments"},
		{"nvidia-smi", "timestamp, power.draw [W]\n1, 5\n100000000, 5\n",
			"more than a year"},
		{"dcgmi", "GPU 0 5\n", "f.csv:1"},
		{"dcgmi", "#Entity TMPTR\n", "POWER"},
		{"dcgmi", "#Entity POWER\nGPU 0 5 6\n", "more values than columns"},
		{"dcgmi", "#Entity POWER\nGPU 0 warm\n", "column 'POWER'"},
		{"mlperf", "text\n", "power_reading"},
		{"mlperf", "\n:::MLLOG {\"key\": \"power_reading\", \"time_ms\": 1}\n",
			"f.csv:2: field 'value'"},
		{"mlperf", ":::MLLOG {oops\n", "f.csv:1"},
		{"codecarbon", "duration\n1\n", "energy_consumed"},
		{"codecarbon", "duration,energy_consumed\n-1,1\n", "duration"},
		{"zeus", "elapsed_time\n1\n", "gpu0_energy"},
		{"zeus", "elapsed_time,gpu0_energy\n0,5\n", "elapsed_time"},
		{"extrap", "PARAMETER p\nPOINTS (1 2)\n", "f.csv:2"},
		{"extrap", "PARAMETER p\nPOINTS 1\nDATA 1\nDATA 2\n", "f.csv:4"},
		{"extrap", "PARAMETER p\nPOINTS 1\nDATA x\n", "f.csv:3"},
		{"extrap", "NONSENSE\n", "expected PARAMETER"},
		{"extrap", "{\"parameters\":[\"x\"],\n\"measurements\":", "f.csv:2"},
		{"extrap",
			"{\"parameters\":[\"x\"],\"measurements\":{\"s\":{\"time\":[{\"point\":[],"
			"\"values\":[1]}]}}}",
			"'point'"},
	};
	struct got g;
	struct err e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		enum status st;

		e = ERR_INIT;
		st = read_text(bad[i].format, bad[i].text, NULL, &g, &e);
		ok((st == ST_INVALID || st == ST_RANGE) && strstr(e.msg, bad[i].says),
			"%s: bad input is refused with what and where: %s", bad[i].format,
			bad[i].says);
		if (!strstr(e.msg, bad[i].says))
			printf("# %s\n", e.msg);
		done(&g);
	}
}

/* Every allocation fails once: the import says so and leaves nothing behind. */
static void test_out_of_memory(void)
{
	static const struct {
		const char *format, *text;
	} texts[] = {
		{"csv", "workload,power_limit_w,energy_j,time_s,config,gpu,note\nb,200,1.5,2,batch="
			"32;opt=a,V,n\n"},
		{"nvidia-smi", "uuid,timestamp,power.draw [W],power.limit "
			       "[W]\nGPU-a,1,5,250\nGPU-a,2,6,250\n"},
		{"dcgmi", "#Entity POWER\nGPU 0 5\nGPU 0 6\n"},
		{"mlperf", ":::MLLOG {\"time_ms\": 1, \"key\": \"power_reading\", \"value\": 1}\n"
			   ":::MLLOG {\"time_ms\": 9, \"key\": \"power_reading\", \"value\": 1}\n"},
		{"codecarbon", "project_name,duration,energy_consumed,gpu_energy,gpu_count\nx,10,0."
			       "001,0.001,2\n"},
		{"zeus", "window_name,elapsed_time,gpu0_energy\nepoch,2.5,100\n"},
		{"extrap", "PARAMETER p\nPOINTS 1 2\nREGION r\nMETRIC time\nDATA 1\nDATA 2\n"},
		{"extrap", "{\"parameters\":[\"x\"],\"measurements\":{\"s\":{\"time\":[{\"point\":["
			   "4],\"values\":[3]}]}}}"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		bool over = false, named = true;
		unsigned n = 0;

		while (!over && n < 1000) {
			struct err e = ERR_INIT;
			struct got g;
			enum status st;

			fault_arm("alloc", ++n);
			st = read_text(texts[i].format, texts[i].text, NULL, &g, &e);
			over = !fault_fired();
			fault_arm("alloc", 0);
			named &= over ? st == ST_OK : st == ST_NOMEM;
			done(&g);
			if (over && st)
				break;
		}
		ok(over && named && n > 5, "%s: each of %u allocations may fail", texts[i].format,
			n - 1);
	}
}

/* Files of other people, where they are at hand. */
static void test_real_files(void)
{
	static const struct {
		const char *format, *file;
		int runs;
		double joules; /* of the first, worked out independently; 0 = not compared */
	} files[] = {
		{"csv", "power_clock.csv", 1215, 979.543},
		{"csv", "scaling.csv", 1965, 0},
		{"nvidia-smi", "logs/sensor_a100/gpudata.csv", 1, 1308.79666977},
		{"mlperf", "logs/mlperf_power/smc_h100_resnet_node_1.txt", 1, 5385035.15},
		{"codecarbon", "logs/codecarbon/emissions_examples.csv", 28,
			0.0004047892176375 * 3.6e6},
		{"codecarbon", "logs/codecarbon/emissions_invalid_headers.csv", 1,
			0.001308618772068 * 3.6e6},
		{"extrap", "extrap/input_1.JSON", 25, 0},
		{"extrap", "extrap/one_parameter_1.txt", 30, 0},
	};
	const char *env = getenv("WATTLAW_DATA"),
		   *data = env ? env : TEST_SOURCE_ROOT "/../shared/data";
	struct err e = ERR_INIT;

	if (access(data, R_OK)) {
		tap_skip(1, "no measured data at WATTLAW_DATA");
		return;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[512];
		char *text = malloc(1 << 20);
		struct got g;
		size_t n;
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", data, files[i].file);
		f = fopen(path, "rb");
		if (!f) {
			tap_skip(1, "a file is missing at WATTLAW_DATA");
			free(text);
			continue;
		}
		n = fread(text, 1, (1 << 20) - 1, f);
		text[n] = '\0';
		fclose(f);
		is_int(read_text(files[i].format, text, NULL, &g, &e), ST_OK, files[i].file);
		is_int(g.n, files[i].runs, "with all its runs");
		if (files[i].joules > 0)
			is_near((double)g.first.energy_uj.v / 1e6, files[i].joules,
				files[i].joules * 1e-6, "and its energy");
		done(&g);
		free(text);
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
	test_nvidia_smi();
	test_other_logs();
	test_extrap();
	test_log_errors();
	test_out_of_memory();
	test_real_files();
	test_store();
	rmdir(dir);
	return tap_done();
}
