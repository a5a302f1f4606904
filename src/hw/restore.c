/* restore.c: putting back what a journal says. */
#include "hw/restore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/units.h"
#include "hw/sysfs.h"

static int64_t tolerance(enum knob k)
{
	switch (k) {
	case KNOB_POWER_LIMIT:
		return 500; /* mW: RAPL rounds to 1/8 W */
	case KNOB_CLOCK_MAX:
	case KNOB_MEM_CLOCK:
		return 999; /* kHz: drivers think in MHz */
	case KNOB_CPU_RATE:
		return 500; /* ppm: quotas are whole microseconds */
	default:
		return 0;
	}
}

bool restore_same(enum knob k, const struct knob_val *a, const struct knob_val *b)
{
	if ((a->hi < 0) != (b->hi < 0))
		return false;
	return a->hi < 0 || llabs(a->hi - b->hi) <= tolerance(k);
}

/* For "did somebody else change it?": to the last unit. */
static bool exactly(const struct knob_val *a, const struct knob_val *b)
{
	return a->hi == b->hi && a->lo == b->lo;
}

const char *restore_text(enum knob k, const struct knob_val *v, char *buf, size_t size)
{
	char hi[40], lo[40];
	enum unit u = knob_info(k)->unit;

	if (v->from == KV_RESET)
		snprintf(buf, size, "unset");
	else if (v->from == KV_UNKNOWN)
		snprintf(buf, size, "unknown");
	else if (v->hi < 0)
		snprintf(buf, size, "no limit");
	else if (u == UNIT_FREQ && v->lo > 0)
		snprintf(buf, size, "%s-%s", unit_format(u, v->lo, lo, sizeof(lo)),
			unit_format(u, v->hi, hi, sizeof(hi)));
	else
		snprintf(buf, size, "%s", unit_format(u, v->hi, hi, sizeof(hi)));
	return buf;
}

bool restore_holder_alive(const struct journal *j)
{
	if (j->abandoned || !holder_same_boot(&j->holder))
		return false;
	return j->end == LEASE_JOB || holder_alive(&j->holder);
}

const char *restore_holder_text(const struct journal *j, char *buf, size_t size)
{
	time_t t = (time_t)(j->holder.since_ns / NS_PER_S);
	char when[32] = "";
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	if (j->end == LEASE_JOB)
		snprintf(buf, size, "job %s%s%s%s since %s", j->job, j->text[0] ? " (" : "",
			j->text, j->text[0] ? ")" : "", when);
	else
		snprintf(buf, size, "pid %" PRId64 "%s%s%s since %s", j->holder.pid,
			j->text[0] ? " (" : "", j->text, j->text[0] ? ")" : "", when);
	return buf;
}

__attribute__((format(printf, 2, 3))) static void say(
	struct restore_report *rep, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_debug("control", "%s", line);
	if (rep) {
		str_add(&rep->text, line);
		str_addc(&rep->text, '\n');
	}
}

static int find_device(const struct hw *hw, const struct journal_entry *en)
{
	for (size_t i = 0; i < hw_n_devices(hw); i++)
		if (!strcmp(hw_device(hw, i)->key, en->key) &&
			!strcmp(hw_backend(hw, i)->name, en->backend))
			return (int)i;
	return -1;
}

enum outcome { PUT_BACK, NOTHING_TO_DO, LEFT_ALONE, FAILED };

/* Does the device still hold what we set? Sets *cur. PUT_BACK means "go on and set". */
static enum outcome compare(
	struct hw *hw, int id, const struct journal_entry *en, struct knob_val *cur, struct err *e)
{
	enum status st = hw_knob_get(hw, (size_t)id, en->knob, cur, e);

	if (st == ST_UNSUPPORTED)
		return PUT_BACK; /* cannot be read: what we locked, we unlock */
	if (st == ST_NOT_FOUND && hw_device(hw, (size_t)id)->kind == DEV_CGROUP)
		return NOTHING_TO_DO; /* the group is gone, and its limit with it */
	/* Half-set: parts of it differ, or a command stands where its answer should. */
	if ((st == ST_INVALID || st == ST_CORRUPT) && en->in_flight)
		return PUT_BACK;
	if (st == ST_INVALID)
		return LEFT_ALONE; /* parts of it were changed by somebody */
	if (st != ST_OK)
		return FAILED;
	if (exactly(cur, &en->found))
		return NOTHING_TO_DO;
	/* Died in the middle of a set: whatever it holds now comes from that. */
	if (en->in_flight || exactly(cur, &en->enforced) || restore_same(en->knob, cur, &en->want))
		return PUT_BACK;
	return LEFT_ALONE;
}

/* Set and look. */
static enum outcome put_back(struct hw *hw, int id, const struct journal_entry *en, struct err *e)
{
	struct knob_val now;
	enum status st = hw_knob_set(hw, (size_t)id, en->knob, &en->found, e);

	if (st != ST_OK)
		return FAILED;
	if (en->found.from == KV_RESET ||
		hw_knob_get(hw, (size_t)id, en->knob, &now, NULL) == ST_UNSUPPORTED)
		return PUT_BACK;
	for (int i = 0; i < 4; i++) {
		struct timespec nap = {0, 5000000L << i};

		st = hw_knob_get(hw, (size_t)id, en->knob, &now, e);
		if (st == ST_OK && restore_same(en->knob, &now, &en->found))
			return PUT_BACK;
		nanosleep(&nap, NULL); /* some devices settle */
	}
	if (st == ST_OK) {
		char text[80];

		err_set(e, ST_PARTIAL, "set, but it reads back %s",
			restore_text(en->knob, &now, text, sizeof(text)));
	}
	return FAILED;
}

static enum outcome restore_one(
	struct hw *hw, struct journal *j, size_t i, struct restore_report *rep)
{
	struct journal_entry *en = &j->entries[i];
	struct knob_val cur = {0, 0, 0, KV_UNKNOWN};
	struct err e = ERR_INIT;
	char found[80], now[80];
	int id = find_device(hw, en);
	enum outcome out;

	restore_text(en->knob, &en->found, found, sizeof(found));
	/* A group of another run or session is in no list of ours, but its journal says where it
	 * is. */
	if (id < 0 && !strcmp(en->backend, "cgroup"))
		id = hw_adopt_group(hw, en->where);
	if (id < 0 && !strcmp(en->backend, "cgroup") && en->where[0] &&
		!sysfs_exists(hw_env(hw)->root_fd, en->where)) {
		out = NOTHING_TO_DO; /* it ended with its processes */
	} else if (id < 0) {
		out = FAILED;
		err_set(&e, ST_NOT_FOUND, "the device is not there now");
	} else {
		out = compare(hw, id, en, &cur, &e);
		if (out == PUT_BACK)
			out = put_back(hw, id, en, &e);
	}
	restore_text(en->knob, &cur, now, sizeof(now));
	switch (out) {
	case PUT_BACK:
		say(rep, "%s: %s restored to %s", en->key, knob_info(en->knob)->name, found);
		break;
	case NOTHING_TO_DO:
		say(rep, "%s: %s is as it was found", en->key, knob_info(en->knob)->name);
		break;
	case LEFT_ALONE:
		say(rep, "%s: %s is %s, which is not what was set here: left alone (found: %s)",
			en->key, knob_info(en->knob)->name, now, found);
		break;
	case FAILED:
		say(rep, "%s: %s could not be restored to %s: %s", en->key,
			knob_info(en->knob)->name, found, e.msg);
		break;
	}
	if (rep) {
		rep->restored += out == PUT_BACK || out == NOTHING_TO_DO;
		rep->left_alone += out == LEFT_ALONE;
		rep->failed += out == FAILED;
	}
	/* If this line cannot be written, a replay finds the value as found and is done at once. */
	if (out != FAILED)
		journal_done(j, i, NULL);
	return out;
}

/* Limits that go down come first, then clocks, then limits that go up: at no moment does a
 * device run faster than it was found or than it is set now. */
static int place(struct hw *hw, const struct journal_entry *en)
{
	struct knob_val cur;
	int id;

	switch (en->knob) {
	case KNOB_POWER_LIMIT:
		id = find_device(hw, en);
		if (id >= 0 && hw_knob_get(hw, (size_t)id, en->knob, &cur, NULL) == ST_OK &&
			cur.hi > en->found.hi)
			return 0;
		return 3;
	case KNOB_MEM_CLOCK:
		return 1;
	case KNOB_CLOCK_MAX:
		return 2;
	default:
		return 4;
	}
}

enum status restore_entries(struct hw *hw, struct journal *j, const char *backend, const char *key,
	struct restore_report *rep)
{
	enum status st = ST_OK;

	for (int p = 0; p <= 4; p++) {
		for (size_t i = 0; i < j->n; i++) {
			struct journal_entry *en = &j->entries[i];

			if (!en->was_set || en->done || (p < 4 && en->knob == KNOB_CPU_RATE))
				continue;
			if (key && (strcmp(en->key, key) || strcmp(en->backend, backend)))
				continue;
			if (place(hw, en) == p && restore_one(hw, j, i, rep) == FAILED)
				st = ST_PARTIAL;
		}
	}
	return st;
}

void restore_report_release(struct restore_report *r)
{
	str_release(&r->text);
	*r = (struct restore_report){0, 0, 0, STR_INIT};
}
