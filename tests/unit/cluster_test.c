#include <string.h>

#include "sim/calibrate.h"
#include "sim/cluster.h"
#include "tap.h"

static struct err e;
static struct cluster c;

static const char two_v100[] = "[cluster two]\n"
			       "gpu = v100-pcie-32gb\n"
			       "nodes = 4\n"
			       "gpus_per_node = 2\n"
			       "intra_bandwidth = 2.1GB/s\n"
			       "inter_bandwidth = 25Gb/s\n"
			       "host_power = 300W\n"
			       "overlap = 0%\n";

/* Seconds and watts of a profiling window at 100 … 250 W on one V100, and seconds on two of them
 * with the same total work; public measurements (ml-energy/zeus, Apache-2.0). */
static const double caps[] = {100, 125, 150, 175, 200, 225, 250};
static const struct measured {
	const char *name;
	double one[7], watts[7], two[7], gradient;
} measured[] = {
	{"resnet50", {53.8665, 40.2093, 32.4129, 29.4542, 28.3132, 27.2811, 26.6745},
		{98.8945, 123.593, 149.024, 171.765, 190.538, 213.17, 227.372},
		{27.2467, 20.8614, 17.8161, 16.6626, 16.129, 15.5859, 15.2787}, 102e6},
	{"resnet18", {15.5773, 11.7623, 10.1839, 10.362, 10.2357, 10.703, 9.99105},
		{98.365, 123.206, 142.353, 149.757, 163.372, 171.251, 190.204},
		{10.3639, 11.0499, 10.5541, 10.5971, 10.6316, 10.4768, 10.3537}, 47e6},
};

/* The window is `steps` steps; which number sets how much of a step is all-reduce. Each curve is
 * compared relative to its own geometric mean, because one noisy window (11.05 s between 10.55
 * and 10.36) must not be the yardstick of all others. */
static void cap_bites_less_on_two(const struct measured *m, double steps)
{
	struct calib_point pts[7];
	struct workload w = {.batch = 256, .gradient_bytes = (int64_t)m->gradient};
	double worst = 0, loader = 0, one[7], two[7], mean = 0;
	struct cluster_step step;
	struct gpu_load load;
	bool less = true;

	for (int i = 0; i < 7; i++)
		pts[i] = (struct calib_point){
			(int64_t)(caps[i] * 1000), 0, 0, m->one[i] / steps, m->watts[i] * 1000};
	ok(!calibrate(&c.gpu, pts, 7, &load, &loader, NULL, &e), "%s is calibrated on one GPU",
		m->name);
	w.loader_s = loader / (double)w.batch;
	for (int i = 0; i < 7; i++) {
		struct cluster_setting s = {1, (int64_t)(caps[i] * 1000), 0, 0, 256};

		ok(!cluster_eval(&c, &w, &load, &s, &step, &e), "%s at %.0f W on one", m->name,
			caps[i]);
		one[i] = step.step_s;
		s.workers = 2;
		s.batch_per_gpu = 128;
		ok(!cluster_eval(&c, &w, &load, &s, &step, &e), "and on two");
		two[i] = step.step_s;
		mean += log(two[i] / m->two[i]) / 7;
	}
	for (int i = 0; i < 7; i++) {
		double off = exp(log(two[i] / m->two[i]) - mean) - 1;

		less &= two[i] / two[6] <= one[i] / one[6] + 1e-9;
		worst = fmax(worst, fabs(off));
		printf("# %s %.0f W: one %.3f (measured %.3f), two %.3f (measured %.3f), off %.1f "
		       "%%\n",
			m->name, caps[i], one[i] / one[6], m->one[i] / m->one[6], two[i] / two[6],
			m->two[i] / m->two[6], 100 * off);
	}
	ok(less, "the cap slows two GPUs of %s no more than one", m->name);
	ok(worst <= 0.06, "the curve of two GPUs of %s is within 6 %% (%.1f %%)", m->name,
		100 * worst);
}

static void scales_like_a_cluster(void)
{
	struct workload w = {.batch = 64, .gradient_bytes = 100000000, .noise = 0.01};
	struct gpu_load load = {.kind = LOAD_WORK,
		.step_s = 0.2,
		.clock_share = 0.9,
		.dyn_mw = 180000,
		.spread = 0.3};
	struct cluster_setting s = {.workers = 1};
	struct cluster_step a, b, n1, n2;
	double last = 0, watts = 1e9;
	bool up = true, cooler = true;

	for (s.workers = 1; s.workers <= 8; s.workers++) {
		ok(!cluster_eval(&c, &w, &load, &s, &a, &e), "%d workers", s.workers);
		up &= a.samples_per_s > last;
		cooler &= a.gpu_mw <= watts + 1e-6;
		last = a.samples_per_s;
		watts = a.gpu_mw;
	}
	ok(up, "more workers give more samples a second");
	ok(cooler, "and each draws less, because it waits more");
	ok(a.samples_per_s < 8 * 64 / 0.2, "but less than in proportion");
	is_near(a.compute_s + a.wait_s, a.step_s, 1e-9, "computing and waiting make the step");
	s.workers = 8;
	s.limit_mw = 120000;
	s.clock_khz = 600000;
	ok(!cluster_eval(&c, &w, &load, &s, &a, &e), "a low clock");
	s.limit_mw = 0;
	ok(!cluster_eval(&c, &w, &load, &s, &b, &e), "without the cap");
	is_near(a.step_s, b.step_s, 1e-9, "hides a cap");
	s = (struct cluster_setting){.workers = 9};
	is_int(cluster_eval(&c, &w, &load, &s, &a, &e), ST_RANGE,
		"more workers than GPUs are refused");
	s = (struct cluster_setting){.workers = 1, .limit_mw = 50000};
	is_int(cluster_eval(&c, &w, &load, &s, &a, &e), ST_RANGE, "and a cap below the device's");
	n1 = n2 = b;
	cluster_noise(&c, &w, 7, 3, &n1);
	cluster_noise(&c, &w, 7, 3, &n2);
	ok(n1.step_s == n2.step_s && n1.step_s != b.step_s,
		"the same seed and run give the same noise");
	cluster_noise(&c, &w, 8, 3, &n2);
	ok(n1.step_s != n2.step_s, "another seed another");
}

static void expect(const char *text, const char *msg, const char *what)
{
	struct cluster bad;

	is_int(cluster_parse("c.ini", text, strlen(text), &bad, &e), ST_INVALID, what);
	has(e.msg, msg, "and the message helps");
}

static void reads_clusters(void)
{
	ok(!cluster_parse("c.ini", two_v100, strlen(two_v100), &c, &e), "a cluster file is read");
	is_near(c.inter_bytes_s, 3.125e9, 1, "25Gb/s is 3.125 GB/s");
	expect("[cluster x]\ngpu = v100-pcie-32gb\nnodes = 2\n", "has no 'gpus_per_node'",
		"a missing key");
	expect("[cluster x]\ngpu = v999\nnodes = 1\ngpus_per_node = 1\nintra_bandwidth = 1GB/s\n"
	       "inter_bandwidth = 1GB/s\n",
		"c.ini:2:7", "an unknown device");
	expect("[cluster x]\ngpu = a100\nnodes = 1\ngpus_per_node = 1\nintra_bandwidth = fast\n"
	       "inter_bandwidth = 1GB/s\n",
		"c.ini:5:19: 'fast' is not a bandwidth", "a word for a number");
	expect("[cluster x]\ngpu = a100\nnodes = 1\ngpus_per_node = 1\nintra_bandwidth = 1GB/s\n"
	       "inter_bandwidth = 1GB/s\noverlapp = 1%\n",
		"did you mean 'overlap'", "a misspelt key");
	is_near(normal_max(1), 0, 0, "one board is no slower than itself");
	is_near(normal_max(100), 2.5076, 0.02, "the slowest of 100 is 2.5 standard deviations out");
}

int main(void)
{
	reads_clusters();
	scales_like_a_cluster();
	for (size_t i = 0; i < 2; i++)
		cap_bites_less_on_two(&measured[i], 40);
	return tap_done();
}
