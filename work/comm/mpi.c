/* mpi.c: sums over MPI ranks. MPI is called from one thread only, the trainer's. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include "comm/comm.h"

#define IN_FLIGHT 256
#define PIECE     ((size_t)1 << 28) /* elements in one call: counts are int */

struct mpi {
	MPI_Request request[IN_FLIGHT];
	int n;
	MPI_Comm failing; /* its own, so that a failed rank's barrier meets no sum of another's */
	bool own; /* we called MPI_Init */
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Waits for n requests. MPI_Wait spins, and a rank under a CPU quota that spins while its peer is
 * throttled spends its own quota on nothing, so that the two take turns at standing still: at 40 %
 * a step took 48 times as long. So we poll, and once nothing has moved for a while we nap between
 * polls. A poll that takes long has copied data, which is how progress is told.
 */
static void wait_all(MPI_Request *request, int n)
{
	const double idle_s = 300e-6, worked_s = 5e-6;
	const struct timespec nap = {.tv_nsec = 50000};
	double before = now_s(), moved = before;

	for (;;) {
		int done;

		MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE);
		if (done)
			return;

		double after = now_s();

		if (after - before > worked_s)
			moved = after;
		if (after - moved > idle_s)
			nanosleep(&nap, NULL);
		before = now_s();
	}
}

static void sum_f64(struct comm *c, double *v, int n)
{
	double t0 = now_s();
	MPI_Request r;

	MPI_Iallreduce(MPI_IN_PLACE, v, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
	wait_all(&r, 1);
	c->wait_s += now_s() - t0;
}

static void sum_f32(struct comm *c, float *v, size_t n)
{
	double t0 = now_s();

	for (size_t at = 0; at < n; at += PIECE) {
		MPI_Request r;

		MPI_Iallreduce(MPI_IN_PLACE, v + at, (int)(n - at < PIECE ? n - at : PIECE),
			MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &r);
		wait_all(&r, 1);
	}
	c->wait_s += now_s() - t0;
}

static void finish(struct comm *c)
{
	struct mpi *m = c->state;
	double t0 = now_s();

	wait_all(m->request, m->n);
	m->n = 0;
	c->wait_s += now_s() - t0;
}

static void sum_start(struct comm *c, float *v, size_t n)
{
	struct mpi *m = c->state;

	for (size_t at = 0; at < n; at += PIECE) {
		if (m->n == IN_FLIGHT)
			finish(c);
		MPI_Iallreduce(MPI_IN_PLACE, v + at, (int)(n - at < PIECE ? n - at : PIECE),
			MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &m->request[m->n++]);
	}
}

static void poll(struct comm *c)
{
	struct mpi *m = c->state;
	int done;

	if (m->n)
		MPI_Testall(m->n, m->request, &done, MPI_STATUSES_IGNORE);
}

static void broadcast(struct comm *c, void *v, size_t bytes)
{
	(void)c;
	for (size_t at = 0; at < bytes; at += PIECE)
		MPI_Bcast((char *)v + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE,
			0, MPI_COMM_WORLD);
}

static bool all_failed(struct comm *c)
{
	struct mpi *m = c->state;
	const struct timespec nap = {.tv_nsec = 1000000};
	double until = now_s() + 2;
	MPI_Request r;
	int done = 0;

	MPI_Ibarrier(m->failing, &r);
	while (!done && now_s() < until) {
		MPI_Test(&r, &done, MPI_STATUS_IGNORE);
		nanosleep(&nap, NULL);
	}
	return done;
}

static void abort_mpi(struct comm *c, int status)
{
	(void)c;
	MPI_Abort(MPI_COMM_WORLD, status);
}

static void close_mpi(struct comm *c)
{
	struct mpi *m = c->state;

	MPI_Comm_free(&m->failing);
	if (m->own)
		MPI_Finalize();
	free(m);
	c->state = NULL;
}

static const struct comm_ops mpi_ops = {
	.sum_f64 = sum_f64,
	.sum_f32 = sum_f32,
	.sum_start = sum_start,
	.poll = poll,
	.finish = finish,
	.broadcast = broadcast,
	.all_failed = all_failed,
	.abort = abort_mpi,
	.close = close_mpi,
};

int comm_open_mpi(struct comm *c, struct fault *f)
{
	struct mpi *m = calloc(1, sizeof(*m));
	int was, level;
	MPI_Comm local;

	if (!m)
		return fault_set(f, "out of memory");
	MPI_Initialized(&was);
	if (!was && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
		free(m);
		return fault_set(f, "MPI could not be started");
	}
	m->own = !was;
	c->name = "mpi";
	c->state = m;
	c->ops = &mpi_ops;
	MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &c->size);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &local);
	MPI_Comm_rank(local, &c->local_rank);
	MPI_Comm_size(local, &c->local_size);
	MPI_Comm_free(&local);
	MPI_Comm_dup(MPI_COMM_WORLD, &m->failing);
	return 0;
}
