/* hw.c: every device of this host behind one list. */
#include "hw/hw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "hw/backends.h"
#include "hw/cgroup_name.h"
#include "hw/guard.h"

#define MAX_SLOTS   16
#define MAX_LATE    3 /* abandoned calls after which a back end is given up */
#define MAX_DEVICES 4096

/* One opened back end. On the heap of its own: an abandoned call still writes into it, so it is
 * leaked (never freed) once a call was abandoned. */
struct slot {
	const struct backend *be;
	struct backend_env env;
	struct hw_notes notes;
	void *self;
	int late;
	size_t first, n;
};

struct hw {
	struct backend_env env;
	int64_t timeout_ns;
	_Atomic int64_t job_pid;
	struct slot *slots[MAX_SLOTS];
	size_t n_slots;
	struct device *devs;
	size_t n_devs, cap_devs;
	struct place {
		uint16_t slot;
		uint16_t dev;
	} * places;
	size_t cap_places;
	struct hw_notes notes;
};

enum call_op { CALL_OPEN, CALL_RESCAN, CALL_READ, CALL_RANGE, CALL_GET, CALL_CHECK, CALL_SET };

/* Everything one guarded call reads and writes. */
struct call {
	enum call_op op;
	struct slot *slot;
	size_t dev;
	enum knob knob;
	uint64_t channels;
	enum status st;
	struct err err;
	struct knob_val val;
	struct knob_range range;
	struct sample samples[CH_COUNT];
	char fix[256];
};

static void call_free(void *p)
{
	mem_free(p);
}

static void call_run(void *p)
{
	struct call *c = p;
	const struct backend *be = c->slot->be;
	void *self = c->slot->self;

	switch (c->op) {
	case CALL_OPEN:
		c->st = be->open(&c->slot->env, &c->slot->self, &c->err);
		break;
	case CALL_RESCAN:
		c->st = be->rescan(self, &c->err);
		break;
	case CALL_READ:
		c->st = be->read(self, c->dev, c->channels, c->samples);
		break;
	case CALL_RANGE:
		c->st = be->knob_range(self, c->dev, c->knob, &c->range, &c->err);
		break;
	case CALL_GET:
		c->st = be->knob_get(self, c->dev, c->knob, &c->val, &c->err);
		break;
	case CALL_CHECK:
		c->st = be->knob_check(self, c->dev, c->knob, &c->err, c->fix, sizeof(c->fix));
		break;
	case CALL_SET:
		c->st = be->knob_set(self, c->dev, c->knob, &c->val, &c->err);
		break;
	}
}

/* Run a call with the deadline. On ST_OK *c is filled; otherwise *c is gone and e is set, without
 * the name of the back end. */
static enum status guarded_unnamed(struct hw *hw, struct call **c, struct err *e)
{
	struct slot *slot = (*c)->slot;
	enum status st;

	if (slot->late >= MAX_LATE) {
		call_free(*c);
		*c = NULL;
		return err_set(
			e, ST_TIMEOUT, "given up after %d calls that did not return", slot->late);
	}
	st = guard_call(call_run, *c, call_free, hw->timeout_ns);
	if (st == ST_OK)
		return ST_OK;
	if (st == ST_TIMEOUT) {
		slot->late++;
		*c = NULL;
		return err_set(e, st, "the driver did not return within %lld ms",
			(long long)(hw->timeout_ns / NS_PER_MS));
	}
	call_free(*c);
	*c = NULL;
	return err_set(e, st, "no memory for a driver call");
}

static enum status guarded(struct hw *hw, struct call **c, struct err *e)
{
	const char *name = (*c)->slot->be->name;
	enum status st = guarded_unnamed(hw, c, e);

	if (st != ST_OK)
		err_prefix(e, "%s", name);
	return st;
}

static struct call *call_new(struct hw *hw, enum call_op op, size_t id, enum knob k, struct err *e)
{
	struct call *c = mem_calloc(1, sizeof(*c));

	if (!c) {
		err_set(e, ST_NOMEM, "no memory for a driver call");
		return NULL;
	}
	c->op = op;
	c->slot = hw->slots[hw->places[id].slot];
	c->dev = hw->places[id].dev;
	c->knob = k;
	return c;
}

/* Is name one of the comma-separated words of only? */
static bool wanted(const char *only, const char *name)
{
	size_t len = strlen(name);

	if (!only)
		return true;
	for (const char *p = only; *p;) {
		size_t n = strcspn(p, ",");

		if (n == len && !strncmp(p, name, n))
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

/* Copy what is new in a back end's list to ours; known ones are refreshed in place. */
static enum status take_devices(struct hw *hw, size_t s)
{
	struct slot *slot = hw->slots[s];
	size_t n = 0, known = 0;
	const struct device *d = slot->be->devices(slot->self, &n);
	void *devs = hw->devs, *places = hw->places;

	for (size_t id = 0; id < hw->n_devs; id++) {
		if (hw->places[id].slot == s && hw->places[id].dev < n) {
			hw->devs[id] = d[hw->places[id].dev];
			known++;
		}
	}
	if (n <= known)
		return ST_OK;
	if (!mem_grow(&devs, &hw->cap_devs, hw->n_devs + n - known, sizeof(*hw->devs), MAX_DEVICES))
		return ST_NOMEM;
	hw->devs = devs;
	if (!mem_grow(&places, &hw->cap_places, hw->n_devs + n - known, sizeof(*hw->places),
		    MAX_DEVICES))
		return ST_NOMEM;
	hw->places = places;
	if (known == 0)
		slot->first = hw->n_devs;
	for (size_t i = known; i < n; i++) {
		if (slot->first + slot->n == hw->n_devs)
			slot->n++;
		hw->devs[hw->n_devs] = d[i];
		hw->places[hw->n_devs++] = (struct place){(uint16_t)s, (uint16_t)i};
	}
	return ST_OK;
}

/* A node sensor contains the parts we also measure: it is shown, and counted only when alone. */
static void settle_counted(struct hw *hw)
{
	const uint64_t energy = UINT64_C(1) << CH_ENERGY | UINT64_C(1) << CH_POWER;
	bool have = false;

	for (size_t i = 0; i < hw->n_devs; i++)
		if (hw->devs[i].kind != DEV_NODE && hw->devs[i].counted &&
			hw->devs[i].channels & energy)
			have = true;
	for (size_t i = 0; i < hw->n_devs; i++) {
		if (hw->devs[i].kind != DEV_NODE)
			continue;
		if (have)
			hw->devs[i].counted = false;
		else if (hw->devs[i].counted && hw->devs[i].channels & energy)
			have = true; /* one node sensor is enough */
	}
}

static void take_notes(struct hw *hw, struct slot *slot)
{
	for (size_t i = 0; i < slot->notes.n; i++) {
		const struct hw_missing *m = &slot->notes.v[i];

		(m->knob ? hw_note_knob : hw_note)(&hw->notes, m->what, m->why, m->fix);
	}
	slot->notes.n = 0;
}

static void slot_free(struct slot *slot)
{
	if (slot->late) {
		mem_leave(slot); /* a call is still in there */
		return;
	}
	if (slot->self)
		slot->be->close(slot->self);
	mem_free(slot->notes.v);
	mem_free(slot);
}

static enum status open_one(struct hw *hw, const struct backend *be)
{
	struct slot *slot = mem_calloc(1, sizeof(*slot));
	struct call *c = mem_calloc(1, sizeof(*c));
	struct err e = ERR_INIT;
	enum status st;

	if (!slot || !c || hw->n_slots == MAX_SLOTS) {
		mem_free(slot);
		mem_free(c);
		return ST_NOMEM;
	}
	slot->be = be;
	slot->env = hw->env;
	slot->env.notes = &slot->notes;
	c->op = CALL_OPEN;
	c->slot = slot;
	st = guarded_unnamed(hw, &c, &e); /* a note names it */
	if (st == ST_OK) {
		st = c->st;
		e = c->err;
		call_free(c);
		take_notes(hw, slot);
	}
	log_debug("hw", "%s: open: %s %s", be->name, status_name(st), e.msg);
	if (st == ST_OK) {
		hw->slots[hw->n_slots++] = slot;
		return take_devices(hw, hw->n_slots - 1);
	}
	/* One back end that fails never takes the others with it. */
	if (st != ST_UNSUPPORTED)
		hw_note(&hw->notes, be->name, e.msg[0] ? e.msg : status_name(st),
			st == ST_TIMEOUT
				? "the driver hangs: see the kernel log, reset the device or "
				  "reload the driver"
				: "run with WATTLAW_DEBUG=hw for more");
	slot_free(slot);
	return st == ST_NOMEM ? ST_NOMEM : ST_OK;
}

enum status hw_open(const struct backend_env *env, const char *only, struct hw **out, struct err *e)
{
	struct hw *hw = mem_calloc(1, sizeof(*hw));
	const char *t = getenv("WATTLAW_DRIVER_TIMEOUT");
	enum status st = ST_OK;

	*out = NULL;
	if (!hw)
		return err_set(e, ST_NOMEM, "no memory for the device list");
	hw->env = *env;
	hw->env.job_pid = &hw->job_pid;
	hw->env.notes = NULL;
	if (!hw->env.clock)
		hw->env.clock = clock_system();
	if (!t || unit_parse(UNIT_TIME, t, &hw->timeout_ns, NULL) != ST_OK || hw->timeout_ns <= 0)
		hw->timeout_ns = HW_CALL_TIMEOUT_NS;
	for (const struct backend *const *be = backends(); *be && st == ST_OK; be++)
		if (wanted(only, (*be)->name))
			st = open_one(hw, *be);
	if (st != ST_OK) {
		hw_close(hw);
		return err_set(e, st, "no memory for the device list");
	}
	settle_counted(hw);
	*out = hw;
	return ST_OK;
}

void hw_close(struct hw *hw)
{
	bool late = false;

	if (!hw)
		return;
	for (size_t i = 0; i < hw->n_slots; i++) {
		late = late || hw->slots[i]->late;
		slot_free(hw->slots[i]);
	}
	mem_free(hw->devs);
	mem_free(hw->places);
	mem_free(hw->notes.v);
	/* An abandoned call may still look at job_pid. */
	if (late)
		mem_leave(hw);
	else
		mem_free(hw);
}

enum status hw_env_default(struct backend_env *env, struct err *e)
{
	const char *root = getenv("WATTLAW_ROOT");
	const char *nvml = getenv("WATTLAW_NVML");

	memset(env, 0, sizeof(*env));
	env->clock = clock_system();
	env->nvml_path = nvml && *nvml ? nvml : NULL;
	if (!root || !*root)
		root = "/";
	/* For the life of the process: every back end opens below it. */
	env->root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (env->root_fd < 0)
		return err_errno(e, errno, "WATTLAW_ROOT: cannot open '%s'", root);
	return ST_OK;
}

const struct backend_env *hw_env(const struct hw *hw)
{
	return &hw->env;
}

size_t hw_n_devices(const struct hw *hw)
{
	return hw->n_devs;
}

const struct device *hw_device(const struct hw *hw, size_t id)
{
	return id < hw->n_devs ? &hw->devs[id] : NULL;
}

const struct backend *hw_backend(const struct hw *hw, size_t id)
{
	return id < hw->n_devs ? hw->slots[hw->places[id].slot]->be : NULL;
}

int hw_find(const struct hw *hw, const char *key)
{
	int found = -1;

	for (size_t i = 0; i < hw->n_devs; i++)
		if (!strcmp(hw->devs[i].key, key))
			return (int)i;
	for (size_t i = 0; i < hw->n_devs; i++)
		if (hw->devs[i].pci[0] && hw->devs[i].parent < 0 &&
			!strcasecmp(hw->devs[i].pci, key))
			return (int)i;
	if (!*key)
		return -1;
	for (size_t i = 0; i < hw->n_devs; i++) {
		if (strncmp(hw->devs[i].key, key, strlen(key)))
			continue;
		if (found >= 0)
			return -1; /* ambiguous */
		found = (int)i;
	}
	return found;
}

enum status hw_read(struct hw *hw, size_t id, uint64_t channels, struct sample *out)
{
	struct slot *slot;

	if (id >= hw->n_devs)
		return ST_NOT_FOUND;
	slot = hw->slots[hw->places[id].slot];
	return slot->be->read(slot->self, hw->places[id].dev, channels, out);
}

enum status hw_read_guarded(struct hw *hw, size_t id, uint64_t channels, struct sample *out)
{
	int64_t now = hw->env.clock->now(hw->env.clock);
	struct call *c;
	enum status st;

	samples_init(out, channels, now, ST_UNKNOWN);
	if (id >= hw->n_devs)
		return ST_NOT_FOUND;
	c = call_new(hw, CALL_READ, id, 0, NULL);
	if (!c)
		return ST_NOMEM;
	c->channels = channels;
	st = guarded(hw, &c, NULL);
	if (st != ST_OK) {
		samples_init(out, channels, now, st);
		return st;
	}
	memcpy(out, c->samples, sizeof(c->samples));
	st = c->st;
	call_free(c);
	return st;
}

/* The device has the knob and its back end the entry? */
static enum status knob_there(
	const struct hw *hw, size_t id, enum knob k, bool entry, struct err *e)
{
	const struct device *d = hw_device(hw, id);

	if (!d)
		return err_set(e, ST_NOT_FOUND, "no device %zu", id);
	if ((unsigned)k >= KNOB_COUNT || !(d->knobs >> k & 1) || !entry)
		return err_set(e, ST_UNSUPPORTED, "%s has no %s%s%s", d->key,
			(unsigned)k < KNOB_COUNT ? knob_info(k)->name : "such knob",
			d->why_not[0] ? ": " : "", d->why_not);
	return ST_OK;
}

enum status hw_knob_range(
	struct hw *hw, size_t id, enum knob k, struct knob_range *out, struct err *e)
{
	const struct backend *be = hw_backend(hw, id);
	enum status st = knob_there(hw, id, k, be && be->knob_range, e);
	struct call *c;

	memset(out, 0, sizeof(*out));
	if (st != ST_OK)
		return st;
	c = call_new(hw, CALL_RANGE, id, k, e);
	if (!c)
		return ST_NOMEM;
	st = guarded(hw, &c, e);
	if (st != ST_OK)
		return st;
	st = c->st;
	*out = c->range;
	if (st != ST_OK && e)
		*e = c->err;
	call_free(c);
	return st;
}

enum status hw_knob_get(struct hw *hw, size_t id, enum knob k, struct knob_val *out, struct err *e)
{
	const struct backend *be = hw_backend(hw, id);
	enum status st = knob_there(hw, id, k, be && be->knob_get, e);
	struct call *c;

	*out = (struct knob_val){0, 0, 0, KV_UNKNOWN};
	if (st != ST_OK)
		return st;
	c = call_new(hw, CALL_GET, id, k, e);
	if (!c)
		return ST_NOMEM;
	c->val = *out;
	st = guarded(hw, &c, e);
	if (st != ST_OK)
		return st;
	st = c->st;
	*out = c->val;
	if (st != ST_OK && e)
		*e = c->err;
	call_free(c);
	return st;
}

enum status hw_knob_check(
	struct hw *hw, size_t id, enum knob k, struct err *e, char *fix, size_t size)
{
	const struct backend *be = hw_backend(hw, id);
	enum status st = knob_there(hw, id, k, be && be->knob_set, e);
	struct call *c;

	fix[0] = '\0';
	if (st != ST_OK)
		return st;
	if (hw->env.flags & BACKEND_READ_ONLY)
		return err_set(e, ST_NO_PERMISSION, "opened for reading only");
	if (!be->knob_check)
		return ST_OK;
	c = call_new(hw, CALL_CHECK, id, k, e);
	if (!c)
		return ST_NOMEM;
	st = guarded(hw, &c, e);
	if (st != ST_OK)
		return st;
	st = c->st;
	snprintf(fix, size, "%s", c->fix);
	if (st != ST_OK && e)
		*e = c->err;
	call_free(c);
	return st;
}

enum status hw_knob_set(
	struct hw *hw, size_t id, enum knob k, const struct knob_val *v, struct err *e)
{
	const struct backend *be = hw_backend(hw, id);
	enum status st = knob_there(hw, id, k, be && be->knob_set, e);
	struct call *c;

	if (st != ST_OK)
		return st;
	if (hw->env.flags & BACKEND_READ_ONLY)
		return err_set(e, ST_NO_PERMISSION, "opened for reading only");
	c = call_new(hw, CALL_SET, id, k, e);
	if (!c)
		return ST_NOMEM;
	c->val = *v;
	st = guarded(hw, &c, e);
	if (st != ST_OK)
		return st;
	st = c->st;
	if (st != ST_OK && e)
		*e = c->err;
	call_free(c);
	return st;
}

enum status hw_rescan(struct hw *hw, struct err *e)
{
	enum status worst = ST_OK;

	for (size_t s = 0; s < hw->n_slots; s++) {
		struct slot *slot = hw->slots[s];
		struct call *c;
		enum status st;

		if (!slot->be->rescan || slot->late)
			continue;
		c = mem_calloc(1, sizeof(*c));
		if (!c)
			return err_set(e, ST_NOMEM, "no memory to look for devices");
		c->op = CALL_RESCAN;
		c->slot = slot;
		st = guarded(hw, &c, e);
		if (st == ST_OK) {
			st = c->st;
			if (st != ST_OK && e)
				*e = c->err;
			call_free(c);
			take_notes(hw, slot);
			if (take_devices(hw, s) != ST_OK)
				return err_set(e, ST_NOMEM, "no memory for the device list");
		}
		if (st != ST_OK)
			worst = st;
	}
	settle_counted(hw);
	return worst;
}

int hw_adopt_group(struct hw *hw, const char *where)
{
	for (size_t s = 0; s < hw->n_slots; s++) {
		struct slot *slot = hw->slots[s];

		if (slot->be != &backend_cgroup || slot->late ||
			cgroup_adopt(slot->self, where) != ST_OK || take_devices(hw, s) != ST_OK)
			continue;
		for (size_t id = 0; id < hw->n_devs; id++)
			if (hw->places[id].slot == s && !strcmp(hw->devs[id].where, where))
				return (int)id;
	}
	return -1;
}

void hw_watch_job(struct hw *hw, int64_t pid)
{
	atomic_store_explicit(&hw->job_pid, pid, memory_order_release);
}

size_t hw_n_missing(const struct hw *hw)
{
	return hw->notes.n;
}

const struct hw_missing *hw_missing_at(const struct hw *hw, size_t i)
{
	return i < hw->notes.n ? &hw->notes.v[i] : NULL;
}

size_t hw_n_backends(const struct hw *hw)
{
	return hw->n_slots;
}

void hw_backend_devices(const struct hw *hw, size_t backend, size_t *first, size_t *n)
{
	*first = *n = 0;
	if (backend < hw->n_slots) {
		*first = hw->slots[backend]->first;
		*n = hw->slots[backend]->n;
	}
}
