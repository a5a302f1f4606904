#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "exec/exec_sim.h"
#include "sweep/plan.h"
#include "tap.h"

static struct err e;
static char path[] = "/tmp/wattlaw-cluster-XXXXXX";

static const char cluster[] = "[cluster test]\n"
			      "gpu = v100-pcie-32gb\n"
			      "nodes = 4\n"
			      "gpus_per_node = 2\n"
			      "intra_bandwidth = 10GB/s\n"
			      "inter_bandwidth = 25Gb/s\n"
			      "host_power = 300W\n"
			      "noise = 1%\n";

static const char sweep[] = "[sweep]\n"
			    "name = s\n"
			    "repeats = 2\n"
			    "workers = 1, 8, 16\n"
			    "power_limit = 250W, 100W\n"
			    "[job resnet50]\n"
			    "command = wattlaw sim job resnet50 --workers {workers}\n";

/* Runs the whole plan; returns the encoded records, sorted by nothing: in order of the plan. */
static void run_all(
	uint64_t seed, struct str *out, size_t *failed, double *slowdown, double *saving)
{
	struct exec_sim *x = NULL;
	struct plan p;
	double t[2] = {0}, uj[2] = {0};

	plan_init(&p);
	ok(!plan_read_text(&p, "s.ini", sweep, strlen(sweep), &e) && !plan_finish(&p, 3, &e),
		"a plan");
	ok(!exec_sim_open(path, seed, &x, &e), "a cluster");
	*failed = 0;
	for (size_t i = 0; i < p.n_points; i++) {
		struct plan_buf buf;
		struct point pt;
		struct run_rec r;
		uint64_t ticket, got;

		if (plan_point(&p, i, &buf, &pt, &e) || exec_sim_ops.submit(x, &pt, &ticket, &e) ||
			exec_sim_ops.next(x, 0, &got, &r, &e) || got != ticket) {
			ok(false, "point %zu: %s", i, e.msg);
			break;
		}
		*failed += r.state == RUN_FAILED;
		if (r.state == RUN_DONE && pt.axes[0].value.v == 1) {
			bool capped = pt.axes[1].value.v == 100000;

			t[capped] = (double)r.train.window_ns.v / (double)r.train.window_samples.v;
			uj[capped] =
				(double)r.devs[0].energy_uj.v / (double)r.train.window_samples.v;
		}
		if (!r.simulated || !r.source)
			ok(false, "a record that does not say it is simulated");
		run_rec_encode(&r, out);
		run_rec_release(&r);
		plan_point_release(&buf);
	}
	*slowdown = t[1] / t[0];
	*saving = 1 - uj[1] / uj[0];
	exec_sim_ops.close(x);
	plan_release(&p);
}

int main(void)
{
	struct str a = STR_INIT, b = STR_INIT, c = STR_INIT;
	struct exec_sim *x;
	size_t failed;
	double slow, saved;
	int fd = mkstemp(path);

	ok(fd >= 0 && write(fd, cluster, strlen(cluster)) == (ssize_t)strlen(cluster),
		"cluster file");
	close(fd);
	run_all(1, &a, &failed, &slow, &saved);
	is_int(failed, 2 * 4, "points with more workers than GPUs fail, and the sweep goes on");
	ok(slow > 1.5 && slow < 2.5, "a V100 at 100 W is about twice as slow (%.2f)", slow);
	ok(saved > 0.05 && saved < 0.3, "and saves some energy of the GPUs (%.2f)", saved);
	run_all(1, &b, &failed, &slow, &saved);
	ok(a.len == b.len && !memcmp(a.p, b.p, a.len), "the same seed gives the same records");
	run_all(2, &c, &failed, &slow, &saved);
	ok(a.len != c.len || memcmp(a.p, c.p, a.len), "another seed gives others");
	is_int(exec_sim_open("/nonexistent.ini", 1, &x, &e), ST_NOT_FOUND,
		"a missing cluster is an error");
	has(e.msg, "/nonexistent.ini", "that names the file");
	unlink(path);
	str_release(&a);
	str_release(&b);
	str_release(&c);
	return tap_done();
}
