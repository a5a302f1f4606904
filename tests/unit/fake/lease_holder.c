/* lease_holder.c: takes a lease on a device, sets a power limit and dies: DEVICE WATTS pid|job
 * [JOB]. "pid" ends by SIGKILL; "job" ends normally and leaves a job lease. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw/control.h"

/* Prints a line when it begins, so that the killer knows. */
static int loop(struct control *c, struct lease_req *req, unsigned seed)
{
	struct knob_val v = {0, 0, 0, KV_READ};
	struct lease *l;

	req->knobs |= 1u << KNOB_CLOCK_MAX;
	srand(seed);
	puts("begun");
	fflush(stdout);
	for (;;) {
		if (lease_take(c, req, &l, NULL))
			return 1;
		v.hi = (100 + rand() % 150) * 1000;
		lease_set(l, req->devices[0], KNOB_POWER_LIMIT, &v, NULL, NULL);
		v.hi = (500 + rand() % 800) * 1000;
		lease_set(l, req->devices[0], KNOB_CLOCK_MAX, &v, NULL, NULL);
		if (lease_release(l, NULL, NULL))
			return 1;
	}
}

int main(int argc, char **argv)
{
	struct lease_req req = {.knobs = 1u << KNOB_POWER_LIMIT, .end = LEASE_PID};
	struct knob_val v = {0, 0, 0, KV_READ};
	struct backend_env env;
	struct control *c;
	struct lease *l;
	struct err e = ERR_INIT;
	struct hw *hw;
	char dir[4096];
	size_t dev;
	int id;

	if (argc < 4)
		return 2;
	if (!strcmp(argv[3], "job")) {
		req.end = LEASE_JOB;
		req.job = argc > 4 ? argv[4] : "1";
	}
	if (hw_env_default(&env, &e) || hw_open(&env, NULL, &hw, &e) ||
		control_dir(NULL, dir, sizeof(dir), &e) || control_open(hw, dir, &c, &e))
		goto fail;
	id = hw_find(hw, argv[1]);
	if (id < 0)
		goto fail;
	dev = (size_t)id;
	req.devices = &dev;
	req.n_devices = 1;
	req.holder = "lease_holder";
	if (!strcmp(argv[3], "loop"))
		return loop(c, &req, (unsigned)strtoul(argv[2], NULL, 10));
	v.hi = strtoll(argv[2], NULL, 10) * 1000;
	if (lease_take(c, &req, &l, &e) || lease_set(l, dev, KNOB_POWER_LIMIT, &v, NULL, &e))
		goto fail;
	if (req.end == LEASE_PID)
		kill(getpid(), SIGKILL);
	control_close(c);
	hw_close(hw);
	return 0;
fail:
	fprintf(stderr, "lease_holder: %s\n", e.msg);
	return 1;
}
