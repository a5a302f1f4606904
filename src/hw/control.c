/* control.c: leases: lock, save, journal, set, read back, give back. */
#include "hw/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "hw/journal.h"
#include "hw/lock.h"
#include "hw/restore.h"
#include "hw/sysfs.h"

#define MAX_LEASE_DEVICES 4096
#define READ_BACK_TRIES   4

struct assumption {
	size_t device;
	enum knob knob;
	struct knob_val val;
};

struct control {
	struct hw *hw;
	int dir_fd;
	struct lease *leases; /* linked */
	struct assumption *assume;
	size_t n_assume, cap_assume;
};

struct lease {
	struct control *c;
	struct lease *next;
	struct journal j;
	size_t *devices; /* hw ids, as asked for */
	int *locks;
	size_t n;
	/* beside each journal entry: its device, and the range once asked for */
	struct item {
		size_t device;
		bool have_range;
		struct knob_range range;
	} * items;
};

enum status control_open(struct hw *hw, const char *dir, struct control **out, struct err *e)
{
	struct control *c = mem_calloc(1, sizeof(*c));
	enum status st;

	*out = NULL;
	if (!c)
		return err_set(e, ST_NOMEM, "no memory for control");
	c->hw = hw;
	st = control_dir_open(dir, true, &c->dir_fd, e);
	if (st != ST_OK) {
		mem_free(c);
		return st;
	}
	journal_sweep_tmp(c->dir_fd);
	*out = c;
	return ST_OK;
}

enum status control_assume(struct control *c, size_t device, enum knob k, const struct knob_val *v)
{
	void *p = c->assume;

	if (!mem_grow(&p, &c->cap_assume, c->n_assume + 1, sizeof(*c->assume), 65536))
		return ST_NOMEM;
	c->assume = p;
	c->assume[c->n_assume] = (struct assumption){device, k, *v};
	c->assume[c->n_assume++].val.from = KV_REMEMBERED;
	return ST_OK;
}

static void lease_free(struct lease *l)
{
	for (struct lease **p = &l->c->leases; *p; p = &(*p)->next) {
		if (*p == l) {
			*p = l->next;
			break;
		}
	}
	journal_release(&l->j);
	for (size_t i = 0; l->locks && i < l->n; i++)
		lock_drop(l->locks[i]);
	mem_free(l->locks);
	mem_free(l->devices);
	mem_free(l->items);
	mem_free(l);
}

void control_close(struct control *c)
{
	if (!c)
		return;
	while (c->leases) {
		struct lease *l = c->leases;

		if (l->j.end == LEASE_JOB || l->j.holder.pid != getpid())
			lease_free(l); /* lives on in its journal */
		else
			lease_release(l, NULL, NULL);
	}
	close(c->dir_fd);
	mem_free(c->assume);
	mem_free(c);
}

/* BUSY, naming the holder of the journal. */
static enum status busy(const struct journal *j, const char *key, struct err *e)
{
	char who[320];

	return err_set(
		e, ST_BUSY, "%s is held by %s", key, restore_holder_text(j, who, sizeof(who)));
}

static enum status busy_lock(
	struct control *c, const struct device *d, const char *be, struct err *e)
{
	char name[64];
	struct journal j;
	enum status st;

	lock_read(c->dir_fd, be, d->key, name, sizeof(name));
	if (!name[0] || journal_load(&j, c->dir_fd, name, NULL) != ST_OK)
		return err_set(e, ST_BUSY,
			"%s is held by another wattlaw that is just starting or ending", d->key);
	st = busy(&j, d->key, e);
	journal_release(&j);
	return st;
}

/* What others left about one device, whose lock we hold: a living holder makes it busy, a dead
 * one's values are put back first, or we would save what he set as what was found. */
static enum status settle_device(
	struct control *c, const char *name, const char *be, const char *key, struct err *e)
{
	struct restore_report rep = {0, 0, 0, STR_INIT};
	struct journal j;
	bool concerns = false, alive;
	enum status st = journal_load(&j, c->dir_fd, name, e);

	if (st == ST_NOT_FOUND)
		return ST_OK; /* finished meanwhile */
	if (st != ST_OK) {
		err_prefix(e, "%s may have been left changed", key);
		return st;
	}
	for (size_t i = 0; i < j.n; i++)
		concerns = concerns || (!j.entries[i].done && !strcmp(j.entries[i].key, key) &&
					       !strcmp(j.entries[i].backend, be));
	alive = restore_holder_alive(&j);
	if (concerns && alive) {
		st = busy(&j, key, e);
	} else if (concerns && holder_same_boot(&j.holder)) {
		st = restore_entries(c->hw, &j, be, key, &rep);
		if (st != ST_OK)
			err_set(e, st,
				"a dead holder left it changed and it cannot be put back: "
				"%s(wattlaw "
				"restore tries again)",
				str_cstr(&rep.text));
		else
			log_info("control", "%s", str_cstr(&rep.text));
	}
	journal_release(&j);
	restore_report_release(&rep);
	/* Others may have finished other devices of it, or its holder was killed when all was put
	 * back, before it removed the file: look again. */
	if (st == ST_OK && !alive && journal_load(&j, c->dir_fd, name, NULL) == ST_OK) {
		journal_finish(&j);
		journal_release(&j);
	}
	return st;
}

static enum status lock_devices(struct lease *l, struct err *e)
{
	struct control *c = l->c;
	struct sysfs_list names = {NULL, 0, 0};
	enum status st = ST_OK;

	for (size_t i = 0; i < l->n; i++) {
		const struct device *d = hw_device(c->hw, l->devices[i]);
		const char *be = hw_backend(c->hw, l->devices[i])->name;

		st = lock_take(c->dir_fd, be, d->key, &l->locks[i], e);
		if (st == ST_BUSY)
			return busy_lock(c, d, be, e);
		if (st != ST_OK)
			return st;
	}
	st = journal_names(c->dir_fd, &names);
	if (st != ST_OK)
		return err_set(e, st, "cannot list the journals");
	for (size_t n = 0; n < names.n && st == ST_OK; n++)
		for (size_t i = 0; i < l->n && st == ST_OK; i++)
			st = settle_device(c, names.v[n], hw_backend(c->hw, l->devices[i])->name,
				hw_device(c->hw, l->devices[i])->key, e);
	sysfs_list_release(&names);
	return st;
}

/* What is there now, or what is assumed where it cannot be read. */
static void save(struct control *c, size_t device, struct journal_entry *en)
{
	en->st = hw_knob_get(c->hw, device, en->knob, &en->found, NULL);
	if (en->st != ST_UNSUPPORTED)
		return;
	en->found = (struct knob_val){0, 0, 0, KV_RESET};
	for (size_t i = 0; i < c->n_assume; i++)
		if (c->assume[i].device == device && c->assume[i].knob == en->knob)
			en->found = c->assume[i].val;
}

static enum status save_all(struct lease *l, unsigned knobs, struct err *e)
{
	size_t max = l->n * KNOB_COUNT;

	l->items = mem_calloc(max, sizeof(*l->items));
	if (!l->items)
		return err_set(e, ST_NOMEM, "no memory for a lease");
	for (size_t i = 0; i < l->n; i++) {
		const struct device *d = hw_device(l->c->hw, l->devices[i]);

		for (int k = 0; k < KNOB_COUNT; k++) {
			struct journal_entry *en;

			if (!(knobs & d->knobs & 1u << k))
				continue;
			en = journal_add(&l->j);
			if (!en)
				return err_set(e, ST_NOMEM, "no memory for a lease");
			snprintf(en->backend, sizeof(en->backend), "%s",
				hw_backend(l->c->hw, l->devices[i])->name);
			memcpy(en->key, d->key, sizeof(en->key));
			memcpy(en->where, d->where, sizeof(en->where));
			en->knob = (enum knob)k;
			l->items[l->j.n - 1].device = l->devices[i];
			save(l->c, l->devices[i], en);
		}
	}
	return ST_OK;
}

static enum status check_request(struct control *c, const struct lease_req *req, struct err *e)
{
	if (req->n_devices == 0 || req->n_devices > MAX_LEASE_DEVICES)
		return err_set(e, ST_INVALID, "a lease needs at least one device");
	for (size_t i = 0; i < req->n_devices; i++) {
		if (req->devices[i] >= hw_n_devices(c->hw))
			return err_set(e, ST_NOT_FOUND, "no device %zu", req->devices[i]);
		for (size_t k = 0; k < i; k++)
			if (req->devices[k] == req->devices[i])
				return err_set(e, ST_INVALID, "%s is named twice",
					hw_device(c->hw, req->devices[i])->key);
	}
	if (req->end == LEASE_JOB && (!req->job || !*req->job))
		return err_set(e, ST_INVALID, "a job lease needs the job's id");
	return ST_OK;
}

enum status lease_take(
	struct control *c, const struct lease_req *req, struct lease **out, struct err *e)
{
	struct lease *l;
	enum status st = check_request(c, req, e);

	*out = NULL;
	if (st != ST_OK)
		return st;
	l = mem_calloc(1, sizeof(*l));
	if (!l)
		return err_set(e, ST_NOMEM, "no memory for a lease");
	l->c = c;
	journal_init(&l->j, c->dir_fd);
	l->devices = mem_calloc(req->n_devices, sizeof(*l->devices));
	l->locks = mem_calloc(req->n_devices, sizeof(*l->locks));
	if (!l->devices || !l->locks) {
		lease_free(l);
		return err_set(e, ST_NOMEM, "no memory for a lease");
	}
	l->n = req->n_devices;
	memcpy(l->devices, req->devices, l->n * sizeof(*l->devices));
	for (size_t i = 0; i < l->n; i++)
		l->locks[i] = -1;
	l->j.end = req->end;
	snprintf(l->j.job, sizeof(l->j.job), "%s", req->job ? req->job : "");
	snprintf(l->j.text, sizeof(l->j.text), "%s", req->holder ? req->holder : "");
	if (!holder_of(req->end == LEASE_PID ? req->pid : 0, &l->j.holder))
		st = err_set(
			e, ST_NOT_FOUND, "no process %lld to hang a lease on", (long long)req->pid);
	if (st == ST_OK)
		st = lock_devices(l, e);
	if (st == ST_OK)
		st = save_all(l, req->knobs, e);
	if (st == ST_OK)
		st = journal_create(&l->j, e);
	if (st != ST_OK) {
		lease_free(l);
		return st;
	}
	for (size_t i = 0; i < l->n; i++)
		lock_sign(l->locks[i], l->j.name);
	l->next = c->leases;
	c->leases = l;
	*out = l;
	return ST_OK;
}

/* The journal entry of a knob under this lease; -1 with e set. */
static int find_entry(const struct lease *l, size_t device, enum knob k, struct err *e)
{
	const struct device *d = hw_device(l->c->hw, device);

	for (size_t i = 0; i < l->j.n; i++)
		if (l->items[i].device == device && l->j.entries[i].knob == k)
			return (int)i;
	if (d && !(d->knobs >> k & 1))
		err_set(e, ST_UNSUPPORTED, "%s has no %s%s%s", d->key, knob_info(k)->name,
			d->why_not[0] ? ": " : "", d->why_not);
	else
		err_set(e, ST_INVALID, "%s is not under this lease", d ? d->key : "the device");
	return -1;
}

enum status lease_found(const struct lease *l, size_t device, enum knob k, struct knob_val *out)
{
	int i = find_entry(l, device, k, NULL);

	*out = (struct knob_val){0, 0, 0, KV_UNKNOWN};
	if (i < 0)
		return ST_NOT_FOUND;
	*out = l->j.entries[i].found;
	return l->j.entries[i].st;
}

/* Outside what the device takes? A range that cannot be had is no reason to refuse. */
static enum status check_range(struct lease *l, int i, const struct knob_val *v, struct err *e)
{
	struct item *it = &l->items[i];
	enum knob k = l->j.entries[i].knob;
	enum unit u = knob_info(k)->unit;
	char want[40], lo[40], hi[40];

	if (v->from == KV_RESET || v->hi < 0)
		return ST_OK;
	if (!it->have_range) {
		if (hw_knob_range(l->c->hw, it->device, k, &it->range, NULL) != ST_OK)
			memset(&it->range, 0, sizeof(it->range));
		it->have_range = true;
	}
	if ((it->range.min > 0 && v->hi < it->range.min) ||
		(it->range.max > 0 && v->hi > it->range.max))
		return err_set(e, ST_RANGE, "%s %s of %s is outside %s to %s", knob_info(k)->name,
			unit_format(u, v->hi, want, sizeof(want)), l->j.entries[i].key,
			it->range.min > 0 ? unit_format(u, it->range.min, lo, sizeof(lo)) : "?",
			it->range.max > 0 ? unit_format(u, it->range.max, hi, sizeof(hi)) : "?");
	return ST_OK;
}

/* What the device says after a set. Some settle only after a moment. */
static enum status read_back(struct lease *l, int i, const struct knob_val *want,
	struct knob_set_result *res, struct err *e)
{
	const struct journal_entry *en = &l->j.entries[i];
	enum unit u = knob_info(en->knob)->unit;
	struct knob_val now, force;
	char a[80], b[80];
	enum status st = ST_OK;

	for (int t = 0; t < READ_BACK_TRIES; t++) {
		struct timespec nap = {0, 5000000L << t};

		st = hw_knob_get(l->c->hw, l->items[i].device, en->knob, &now, e);
		if (st != ST_OK || want->from == KV_RESET || restore_same(en->knob, &now, want))
			break;
		nanosleep(&nap, NULL);
	}
	if (st == ST_UNSUPPORTED) {
		res->enforced = *want;
		res->enforced.from = KV_REMEMBERED;
		snprintf(res->note, sizeof(res->note),
			"cannot be read back: the achieved clock is the evidence");
		return ST_OK;
	}
	if (st != ST_OK)
		return st;
	res->enforced = now;
	if (want->from != KV_RESET && !restore_same(en->knob, &now, want)) {
		res->st = ST_PARTIAL;
		snprintf(res->note, sizeof(res->note), "asked for %s, the device holds %s",
			restore_text(en->knob, want, a, sizeof(a)),
			restore_text(en->knob, &now, b, sizeof(b)));
		return ST_OK;
	}
	force = (struct knob_val){0, now.in_force, 0, KV_READ};
	if (now.in_force > 0 && now.in_force < now.hi && !restore_same(en->knob, &force, &now)) {
		res->st = ST_PARTIAL;
		res->enforced.hi = now.in_force;
		snprintf(res->note, sizeof(res->note),
			"set to %s, but a lower limit of %s is in force (board controller or site)",
			unit_format(u, now.hi, a, sizeof(a)),
			unit_format(u, now.in_force, b, sizeof(b)));
	}
	return ST_OK;
}

/* Journal how a set went: what the device itself says, not what a lower limit makes of it. Where
 * that cannot be known the entry stays in flight and is put back whatever the device holds. */
static void note_outcome(struct lease *l, int i, enum status st, const struct journal_entry *before,
	const struct knob_set_result *res)
{
	const struct journal_entry *en = &l->j.entries[i];
	struct knob_val raw;
	bool refused = st == ST_NO_PERMISSION || st == ST_UNSUPPORTED || st == ST_RANGE ||
		       st == ST_INVALID;

	if (hw_knob_get(l->c->hw, l->items[i].device, en->knob, &raw, NULL) == ST_OK)
		journal_outcome(&l->j, (size_t)i, &raw, NULL);
	else if (st == ST_OK && res->enforced.from == KV_REMEMBERED)
		journal_outcome(&l->j, (size_t)i, &res->enforced, NULL);
	else if (refused && !before->was_set)
		journal_done(&l->j, (size_t)i, NULL); /* nothing was changed */
	else if (refused && !before->in_flight)
		journal_outcome(&l->j, (size_t)i, &before->enforced, NULL);
}

enum status lease_set(struct lease *l, size_t device, enum knob k, const struct knob_val *v,
	struct knob_set_result *res, struct err *e)
{
	struct knob_set_result local;
	struct journal_entry before;
	struct err why = ERR_INIT;
	int i = find_entry(l, device, k, &why);
	enum status st;

	if (!res)
		res = &local;
	memset(res, 0, sizeof(*res));
	res->requested = *v;
	res->enforced.from = KV_UNKNOWN;
	if (i < 0) {
		st = why.st;
		goto out;
	}
	res->found = l->j.entries[i].found;
	st = l->j.entries[i].st;
	if (st != ST_OK && st != ST_UNSUPPORTED) {
		err_set(&why, st, "%s of %s could not be saved (%s), so it is not set",
			knob_info(k)->name, l->j.entries[i].key, status_name(st));
		goto out;
	}
	before = l->j.entries[i];
	st = check_range(l, i, v, &why);
	if (st == ST_OK)
		st = journal_intent(&l->j, (size_t)i, v, &why);
	if (st != ST_OK)
		goto out;
	st = hw_knob_set(l->c->hw, device, k, v, &why);
	if (st == ST_OK)
		st = read_back(l, i, v, res, &why);
	note_outcome(l, i, st, &before, res);
	if (st == ST_OK && res->st != ST_OK)
		st = res->st;
out:
	res->st = st;
	if (st != ST_OK && st != ST_PARTIAL) {
		snprintf(res->note, sizeof(res->note), "%.159s", why.msg);
		return err_set(e, st, "%s", why.msg);
	}
	return st;
}

enum status lease_reset(
	struct lease *l, size_t device, enum knob k, struct knob_set_result *res, struct err *e)
{
	int i = find_entry(l, device, k, e);

	if (i < 0) {
		if (res) {
			memset(res, 0, sizeof(*res));
			res->st = ST_UNSUPPORTED;
		}
		return e ? e->st : ST_UNSUPPORTED;
	}
	return lease_set(l, device, k, &l->j.entries[i].found, res, e);
}

enum status lease_try(struct lease *l, size_t device, enum knob k, struct err *e)
{
	return lease_reset(l, device, k, NULL, e);
}

enum status lease_release(struct lease *l, struct restore_report *rep, struct err *e)
{
	enum status st = restore_entries(l->c->hw, &l->j, NULL, NULL, rep);

	if (!journal_finish(&l->j)) {
		/* It stays for `wattlaw restore`, and we are not its holder any more. */
		journal_abandon(&l->j);
		err_set(e, ST_PARTIAL,
			"not everything could be put back: wattlaw restore tries again");
		st = ST_PARTIAL;
	}
	lease_free(l);
	return st;
}
