#include "sim/site.h"
#include "sim/ends.h"
#include "sim/site_trace.h"
#include "base/mem.h"
#include "tap.h"

static const struct site_class curve = {
	"c", 3, {100, 150, 250}, {1.5, 1.04, 1}, {95, 140, 200}, {0, 0, 0}};
static struct err e;

static uint64_t rng = 1;
static double uniform(void)
{
	rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(rng >> 11) / 9007199254740992.0;
}

static void orders_the_ends(void)
{
	struct ends t;
	double end, w;
	int64_t g;
	bool sorted = true, sums = true;
	double last = -1;

	ok(ends_init(&t, 1000), "tree for 1000 jobs");
	for (int i = 0; i < 1000; i++)
		ends_add(&t, i, floor(uniform() * 500), 1 + i % 7, 10);
	for (int i = 0; i < 1000; i += 3)
		ends_remove(&t, i);
	for (int k = 1; k < 1500; k += 100) {
		bool hit = ends_when(&t, k, 0, &end, &g, &w);

		sums &= hit && g >= k;
	}
	ok(sums, "the earliest time for k GPUs gives at least k");
	ok(!ends_when(&t, 1 << 20, 0, &end, &g, &w), "more than there is never comes");
	while (t.n) {
		int32_t id = ends_first(&t, &end);

		sorted &= end >= last && id % 3;
		last = end;
		ends_remove(&t, id);
	}
	ok(sorted, "ends come in order and removed ones never");
	ends_release(&t);
}

static void reproduces_a_trace(void)
{
	enum { N = 2000 };
	static struct site_job jobs[N];
	static double start[N];
	struct site_config cfg = {.policy = SITE_NONE, .n_gpus = 64, .idle_w = 25, .host_w = 40};
	struct site_result r, again;
	bool same = true;

	for (int i = 0; i < N; i++)
		jobs[i] = (struct site_job){floor(uniform() * 1e5), NAN, floor(uniform() * 3000),
			1 + (int)(uniform() * 16), 0, (int32_t)i + 2};
	ok(!site_run(&cfg, &curve, 1, jobs, N, &r, start, NULL, &e),
		"a trace without starts is scheduled");
	ok(r.wait_s.max > 0 && r.slowdown.max == 1, "jobs wait, none is slowed");
	ok(fabs(r.total_j / r.integral_j - 1) < 1e-9,
		"energy by jobs equals the integral of power");
	for (int i = 0; i < N; i++)
		jobs[i].start_s = start[i];
	ok(!site_run(&cfg, &curve, 1, jobs, N, &again, start, NULL, &e),
		"its own starts are replayed");
	for (int i = 0; i < N; i++)
		same &= start[i] == jobs[i].start_s;
	ok(same && again.delayed == 0, "policy none reproduces every start");
	is_near(again.total_j / r.total_j, 1, 1e-12, "and the energy");
	cfg.n_gpus = 40;
	is_int(site_run(&cfg, &curve, 1, jobs, N, &again, start, NULL, &e), ST_RANGE,
		"a trace that does not fit the site is refused");
	has(e.msg, "more than 40 GPUs", "and says why");
}

static void policies_do_what_they_say(void)
{
	struct site_job jobs[] = {
		{0, NAN, 100, 4, 0, 2}, {0, NAN, 100, 4, 0, 3}, {10, NAN, 100, 4, 0, 4}};
	struct site_config cfg = {.policy = SITE_STATIC, .n_gpus = 8, .cap_w = 100, .idle_w = 20};
	struct site_result r;
	double start[3], cap[3];

	ok(!site_run(&cfg, &curve, 1, jobs, 3, &r, start, cap, &e), "static cap");
	is_near(r.slowdown.p50, 1.5, 1e-12, "slows by the class's curve");
	is_near(start[2], 150, 1e-9, "a slowed job delays the next");
	is_near(r.job_j, 3 * 4 * 95 * 150.0, 1e-6, "energy is power times longer time");
	cfg.policy = SITE_CLASS;
	cfg.max_slowdown = 0.05;
	ok(!site_run(&cfg, &curve, 1, jobs, 3, &r, start, cap, &e), "class policy");
	is_near(cap[0], 150, 0, "takes the lowest cap within the bound");
	cfg.policy = SITE_BUDGET;
	cfg.budget_w = 8 * 20 + 8 * 150 - 8 * 20 - 1;
	ok(!site_run(&cfg, &curve, 1, jobs, 3, &r, start, cap, &e), "budget policy");
	ok(r.guaranteed_peak_w <= cfg.budget_w, "never exceeds its budget, by caps");
	ok(start[1] >= 100, "and makes a job wait when even the lowest allowed cap is too much");
	cfg.budget_w = 300;
	is_int(site_run(&cfg, &curve, 1, jobs, 3, &r, start, cap, &e), ST_RANGE,
		"a budget that can run nothing is refused");
}

static void refuses_bad_input(void)
{
	static const char *const hostile[][2] = {
		{"submit,gpus,runtime\n2026-02-31T00:00:00,1,5\n", "t.csv:2: column 'submit'"},
		{"submit,gpus,runtime\n2026-13-01T00:00:00,1,5\n", "t.csv:2: column 'submit'"},
		{"submit,gpus,runtime\n1e300,1,5\n", "t.csv:2: column 'submit'"},
		{"submit,gpus,runtime\n0,1,5\n0,1,-5\n", "t.csv:3: column 'runtime'"},
		{"submit,gpus,runtime\n0,1,1e300\n", "t.csv:2: column 'runtime'"},
		{"submit,gpus,runtime\n0,1,UNLIMITED\n", "t.csv:2: column 'runtime'"},
		{"submit,gpus,runtime\n0,1,999999999-00:00:00\n", "t.csv:2: column 'runtime'"},
		{"submit,gpus,runtime\n0,1.5,5\n", "t.csv:2: column 'gpus'"},
		{"submit,gpus,runtime\n0,-1,5\n", "t.csv:2: column 'gpus'"},
		{"submit,gpus,runtime\n0,1,5,7\n", "t.csv:2: 4 fields"},
		{"submit,gpus,runtime\nUnknown,1,5\n", "t.csv:2: column 'submit'"},
		{"JobID|Submit|Start|Elapsed|AllocTRES\n1|0|0|5|gres/gpu=99999999999\n",
			"t.csv:2: column 'AllocTRES'"},
	};
	struct site_class bad = curve;
	struct site_job job = {0, NAN, 1, 1, 0, 7};
	struct site_config cfg = {.n_gpus = 1};
	struct site_result r;
	struct site_trace t;

	bad.time_ratio[2] = 1.1;
	is_int(site_run(&cfg, &bad, 1, &job, 1, &r, NULL, NULL, &e), ST_INVALID,
		"a curve whose default is not 1 is refused");
	job.gpus = 2;
	is_int(site_run(&cfg, &curve, 1, &job, 1, &r, NULL, NULL, &e), ST_RANGE,
		"a job larger than the site is refused");
	has(e.msg, "job 1 (line 7) asks for 2 GPUs", "and where it stands is said");
#define PARSE(text) site_trace_parse("t.csv", text, strlen(text), &t, &e)
	is_int(PARSE("submit,gpus\n0,1\n"), ST_INVALID, "a trace needs running times");
	is_int(PARSE("submit,gpus,runtime\n0,x,5\n"), ST_INVALID, "GPUs must be a number");
	has(e.msg, "t.csv:2: column 'gpus'", "the error names line and column");
	is_int(PARSE("submit,start,gpus,runtime\n5,3,1,5\n"), ST_INVALID,
		"starting before submitting");
	is_int(PARSE("submit,start,gpus,runtime\n5,6,1,5\n5,,1,5\n"), ST_INVALID,
		"starts: all or none");
	is_int(PARSE("submit,gpus,runtime\n"), ST_INVALID, "an empty trace");
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		enum status st = PARSE(hostile[i][0]);

		ok(st == ST_INVALID && strstr(e.msg, hostile[i][1]), "refused: %s", e.msg);
	}
	ok(!PARSE("submit,start,gpus,runtime\r\n9,9,2,0\r\n3,5,1,7\r\n"),
		"CRLF, jobs out of order and one of no length are read");
	ok(t.n == 2 && t.jobs[0].submit_s == 6 && t.jobs[0].runtime_s == 0 && t.jobs[1].line == 3,
		"with times from the first of them");
	cfg.policy = SITE_NONE;
	cfg.n_gpus = 8;
	ok(!site_run(&cfg, &curve, 1, t.jobs, t.n, &r, NULL, NULL, &e) &&
			fabs(r.total_j / r.integral_j - 1) < 1e-9,
		"and replayed");
	site_trace_release(&t);
}

static void reads_sacct(void)
{
	static const char text[] =
		"JobID|JobName|Submit|Start|Elapsed|AllocTRES\n"
		"1|bert|2026-01-01T00:00:00|2026-01-01T00:00:10|1-00:00:05|cpu=8,gres/"
		"gpu:a100=2,gres/gpu=2\n"
		"1.batch|batch|2026-01-01T00:00:00|2026-01-01T00:00:10|1-00:00:05|cpu=8,gres/"
		"gpu=2\n"
		"2|cpu|2026-01-01T00:00:00|2026-01-01T00:00:10|00:10:00|cpu=8\n"
		"3|bert|2026-01-01T00:00:00|Unknown|00:00:00|gres/gpu=1\n"
		"4|resnet|2026-01-01T01:00:00|2026-01-01T01:00:00|02:30|gres/gpu:v100=4\n"
		"5|resnet|2026-01-01T01:00:00|None|00:00:00|gres/gpu=1\n"
		"6|resnet|2026-01-01T01:00:00|2026-01-01T01:00:00|INVALID|gres/gpu=1\n";
	struct site_trace t;

	ok(!site_trace_parse("sacct", text, strlen(text), &t, &e), "sacct output is read");
	is_int(t.n, 2, "steps, jobs without GPUs and jobs that never ran are left out");
	is_int(t.n_left_out, 5, "and counted");
	ok(t.jobs[0].gpus == 2 && t.jobs[0].runtime_s == 86405 && t.jobs[0].start_s == 10,
		"GPUs once, days in the running time, times from the first submit");
	ok(t.jobs[1].gpus == 4 && t.jobs[1].runtime_s == 150, "typed GPUs, minutes and seconds");
	is_str(t.classes[t.jobs[1].cls], "resnet", "the job's name is its class");
	site_trace_release(&t);
}

int main(void)
{
	orders_the_ends();
	reproduces_a_trace();
	policies_do_what_they_say();
	refuses_bad_input();
	reads_sacct();
	return tap_done();
}
