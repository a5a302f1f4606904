/* store: samples a second into the store and back, and records a second.
 *
 * One JSON line. The bound is 200,000 samples a second, committed. CPU time of the process is given
 * beside the elapsed time: on a busy machine it is the steadier figure.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/store.h"

enum { SAMPLES = 500000, RECORDS = 2000 };

static double seconds(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct watch {
	double wall, cpu;
};

static struct watch start(void)
{
	return (struct watch){seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};
}

static void rate(const char *name, struct watch w, double n)
{
	printf(",\"%s_per_s\":%.0f,\"%s_per_cpu_s\":%.0f", name,
		n / (seconds(CLOCK_MONOTONIC) - w.wall), name,
		n / (seconds(CLOCK_PROCESS_CPUTIME_ID) - w.cpu));
}

static void fail(const struct err *e)
{
	fprintf(stderr, "%s\n", e->msg);
	exit(1);
}

static void fill(struct run_rec *r)
{
	char id[17];

	run_rec_init(r);
	run_id_make(id);
	rec_set(&r->run_id, id);
	rec_set(&r->workload, "bench");
	run_rec_axis(r, "workers", "8", UNIT_NONE, QTY(8));
	run_rec_axis(r, "power_limit", "200W", UNIT_POWER, QTY(200000));
	for (int i = 0; i < 8; i++) {
		struct dev_rec *d = run_rec_dev(r);

		if (!d || !rec_set(&d->key, "GPU-12345678-1234-1234-1234-123456789abc"))
			exit(1);
		d->energy_uj = QTY(1000000);
	}
}

int main(void)
{
	char dir[] = "/tmp/wattlaw-bench.XXXXXX", path[64], extra[72];
	struct store *s = NULL;
	struct run_rec r, back;
	struct err e = ERR_INIT;
	struct watch w;

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/b.db", dir);
	if (store_open(path, true, &s, &e))
		fail(&e);
	fill(&r);
	for (int i = 0; i < SAMPLES; i++) {
		struct sample_rec m = {i % 8, i / 8 % 5, (int64_t)i / 40 * 100000000, i, ST_OK};

		if (!run_rec_sample(&r, &m))
			return 1;
	}
	printf("{\"bench\":\"store\",\"samples\":%d", SAMPLES);
	w = start();
	if (store_put(s, 0, &r, &e))
		fail(&e);
	rate("write_samples", w, SAMPLES);
	w = start();
	if (store_get(s, r.run_id, &back, &e))
		fail(&e);
	rate("read_samples", w, SAMPLES);
	if (back.n_samples != SAMPLES)
		return 1;
	run_rec_release(&back);
	run_rec_release(&r);
	w = start();
	for (int i = 0; i < RECORDS; i++) {
		fill(&r);
		if (store_put(s, 0, &r, &e))
			fail(&e);
		run_rec_release(&r);
	}
	rate("write_records", w, RECORDS);
	printf(",\"bound_write_samples_per_s\":200000}\n");
	store_close(s);
	for (int i = 0; i < 3; i++) {
		snprintf(extra, sizeof(extra), "%s%s", path,
			i == 0   ? ""
			: i == 1 ? "-wal"
				 : "-shm");
		unlink(extra);
	}
	rmdir(dir);
	return 0;
}
