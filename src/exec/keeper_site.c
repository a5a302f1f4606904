/* keeper_site.c: knobs that the job's own launcher sets: never set here, always read back. */
#include <string.h>

#include "exec/keeper_priv.h"
#include "exec/readback.h"

void keeper_watch_site(struct keeper *k)
{
	struct err e = ERR_INIT;

	if (k->hello.site_knobs && readback_start(k->hello.devices, k->hello.only,
					   k->hello.site_knobs, &k->readback, &e))
		keeper_warn(k, "%s: what the job's launcher sets cannot be read back", e.msg);
}

struct told {
	struct keeper *k;
	struct point_msg *p;
	uint32_t seen; /* knobs that some device told */
};

static struct qty found_before(const struct keeper *k, const struct device *d, enum knob knob)
{
	const struct hw *hw = sensors_hw(k->sensors);
	struct knob_val found = {.from = KV_UNKNOWN};

	for (size_t i = 0; hw && i < hw_n_devices(hw); i++)
		if (!strcmp(hw_device(hw, i)->key, d->key))
			found = sensors_found(k->sensors, i, knob);
	return knob_set_qty(knob, &found);
}

static void tell(void *arg, const struct device *d, enum knob knob, int64_t value)
{
	struct told *t = arg;
	struct keeper *k = t->k;
	struct qty q[3] = {found_before(k, d, knob), QTY_NONE(ST_UNKNOWN), QTY(value)};
	int dev = keeper_device(k, d, true);

	for (uint32_t i = 0; i < t->p->n_knobs; i++)
		if (t->p->knobs[i].knob == (uint32_t)knob && !t->p->knobs[i].leave)
			q[1] = QTY(t->p->knobs[i].value);
	t->seen |= 1u << knob;
	if (dev < 0)
		return;
	/* It is said of the whole job: when it was set within it nobody knows. */
	keeper_knob(k, k->job_start_ns, (size_t)dev, knob, q);
	keeper_default_axis(&t->p->rec, knob, q[2]);
}

bool keeper_tell_site(struct keeper *k, struct point_msg *p)
{
	struct told t = {k, p, 0};
	struct err e = ERR_INIT;
	bool all = true;

	if (k->readback && readback_tell(k->readback, tell, &t, &e))
		run_rec_warn(
			&p->rec, "what the site's command sets cannot be read back: %s", e.msg);
	k->readback = NULL;
	for (uint32_t i = 0; i < p->n_knobs; i++) {
		if (!p->knobs[i].site || p->knobs[i].leave || t.seen & 1u << p->knobs[i].knob)
			continue;
		all = false;
		run_rec_warn(&p->rec,
			"%s is set by the site's command, and no selected device tells what it is",
			knob_info((enum knob)p->knobs[i].knob)->name);
	}
	return all;
}
