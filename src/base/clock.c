/* clock.c: the system's clock and one that stands still until told. */
#include "base/clock.h"

#include <stdbool.h>
#include <time.h>

static int64_t read_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int64_t system_now(struct clock *c)
{
	(void)c;
	return read_ns(CLOCK_MONOTONIC);
}

static int64_t system_realtime(struct clock *c)
{
	(void)c;
	return read_ns(CLOCK_REALTIME);
}

static int system_sleep_until(struct clock *c, int64_t t_ns)
{
	struct timespec ts;

	(void)c;
	if (t_ns <= 0)
		return 0;
	ts.tv_sec = t_ns / NS_PER_S;
	ts.tv_nsec = t_ns % NS_PER_S;
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

struct clock *clock_system(void)
{
	static struct clock system = {system_now, system_sleep_until, system_realtime};

	return &system;
}

/* The virtual clock may be read by one thread while another moves it: plain atomics suffice,
 * because it only ever goes forward. */
static int64_t virtual_now(struct clock *c)
{
	struct clock_virtual *v = (struct clock_virtual *)c;

	return __atomic_load_n(&v->t_ns, __ATOMIC_ACQUIRE);
}

static int virtual_sleep_until(struct clock *c, int64_t t_ns)
{
	struct clock_virtual *v = (struct clock_virtual *)c;
	int64_t now = __atomic_load_n(&v->t_ns, __ATOMIC_ACQUIRE);

	while (now < t_ns && !__atomic_compare_exchange_n(&v->t_ns, &now, t_ns, false,
				     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	return 0;
}

static int64_t virtual_realtime(struct clock *c)
{
	struct clock_virtual *v = (struct clock_virtual *)c;

	return virtual_now(c) + v->real_offset_ns;
}

void clock_virtual_init(struct clock_virtual *c, int64_t t_ns)
{
	*c = (struct clock_virtual){
		.clock = {virtual_now, virtual_sleep_until, virtual_realtime},
		.t_ns = t_ns,
		.real_offset_ns = INT64_C(1700000000) * NS_PER_S,
	};
}

void clock_virtual_advance(struct clock_virtual *c, int64_t dt_ns)
{
	__atomic_add_fetch(&c->t_ns, dt_ns, __ATOMIC_ACQ_REL);
}
