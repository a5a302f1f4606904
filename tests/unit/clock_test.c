#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "base/clock.h"

static void nothing(int sig)
{
	(void)sig;
}

static void test_system(void)
{
	struct clock *c = clock_system();
	struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	struct sigaction sa = {.sa_handler = nothing};
	int64_t t0 = c->now(c), t1;

	ok(c->sleep_until(c, t0 + 5 * NS_PER_MS) == 0, "a sleep ends by itself");
	t1 = c->now(c);
	ok(t1 - t0 >= 5 * NS_PER_MS, "and not before its time");
	is_int(c->sleep_until(c, t0), 0, "a deadline that has passed returns at once");
	is_int(c->sleep_until(c, -1), 0, "so does one before the epoch of the clock");
	ok(llabs(c->realtime(c) / NS_PER_S - (int64_t)time(NULL)) <= 1, "realtime is since 1970");
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	is_int(c->sleep_until(c, c->now(c) + 60 * NS_PER_S), EINTR, "a signal interrupts a sleep");
}

static void test_virtual(void)
{
	struct clock_virtual v;
	struct clock *c = &v.clock;
	int64_t real;

	clock_virtual_init(&v, 100);
	is_int(c->now(c), 100, "a virtual clock starts where told");
	real = c->realtime(c);
	clock_virtual_advance(&v, 50);
	is_int(c->now(c), 150, "it moves when told");
	is_int(c->realtime(c) - real, 50, "its realtime moves with it");
	is_int(c->sleep_until(c, 1000), 0, "a sleep on it returns at once");
	is_int(c->now(c), 1000, "and has taken its time");
	c->sleep_until(c, 10);
	is_int(c->now(c), 1000, "sleeping until the past does not turn it back");
}

int main(void)
{
	test_system();
	test_virtual();
	return tap_done();
}
