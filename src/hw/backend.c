/* backend.c: the tables of channels, knobs and back ends, and what all back ends share. */
#include "hw/backend.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "hw/backends.h"

static const struct knob_info knobs[KNOB_COUNT] = {
	[KNOB_POWER_LIMIT] = {"power_limit", UNIT_POWER},
	[KNOB_CLOCK_MAX] = {"clock_max", UNIT_FREQ},
	[KNOB_MEM_CLOCK] = {"memory_clock", UNIT_FREQ},
	[KNOB_CPU_RATE] = {"cpu_rate", UNIT_RATIO},
};

/* Those that find devices of the whole machine first; those whose list can grow last. */
static const struct backend *const all[] = {
	&backend_nvml,
	&backend_amdgpu,
	&backend_intelgpu,
	&backend_rapl,
	&backend_cpufreq,
	&backend_node,
	&backend_job,
	&backend_cgroup,
	NULL,
};

const struct backend *const *backends(void)
{
	return all;
}

const struct knob_info *knob_info(enum knob k)
{
	return (unsigned)k < KNOB_COUNT ? &knobs[k] : NULL;
}

int knob_from_name(const char *name)
{
	for (int k = 0; k < KNOB_COUNT; k++)
		if (!strcmp(knobs[k].name, name))
			return k;
	return -1;
}

struct qty knob_set_qty(enum knob k, const struct knob_val *v)
{
	if (k == KNOB_CPU_RATE && v->from == KV_READ && v->hi < 0)
		return QTY(1000000);
	return v->from == KV_READ || v->from == KV_REMEMBERED ? QTY(v->hi) : QTY_NONE(ST_UNKNOWN);
}

struct qty knob_enforced_qty(enum knob k, const struct knob_val *v)
{
	if (v->from != KV_READ)
		return QTY_NONE(ST_UNKNOWN);
	return v->in_force > 0 && v->in_force < v->hi ? QTY(v->in_force) : knob_set_qty(k, v);
}

enum status value_status(int64_t v, bool wide)
{
	static const enum status why[] = {
		ST_UNKNOWN, ST_NOT_FOUND, ST_UNSUPPORTED, ST_NO_PERMISSION};
	static const int64_t blank[] = {
		INT64_C(140737488355328), INT64_C(9223372036854775792), INT64_C(2147483632)};

	if (!wide && (v == UINT32_MAX || v == -1))
		return ST_UNKNOWN;
	for (size_t i = 0; i < (wide ? 2 : 3); i++)
		if (v >= blank[i] && v - blank[i] < 4)
			return why[v - blank[i]];
	return ST_OK;
}

void samples_init(struct sample *out, uint64_t wanted, int64_t t_ns, enum status st)
{
	for (int c = 0; c < CH_COUNT; c++)
		out[c] = (struct sample){0, t_ns, wanted >> c & 1 ? st : ST_UNSUPPORTED};
}

enum status samples_worst(const struct sample *out, uint64_t wanted)
{
	enum status worst = ST_OK;
	bool answered = false;

	wanted &=
		(UINT64_C(1) << CH_COUNT) - 1; /* a caller may ask for everything there could be */
	for (uint64_t left = wanted; left; left &= left - 1) {
		int c = __builtin_ctzll(left);

		if (out[c].st == ST_OK)
			answered = true;
		else if (out[c].st != ST_UNSUPPORTED)
			worst = out[c].st;
	}
	if (worst == ST_OK && !answered && wanted)
		return ST_UNSUPPORTED;
	return worst;
}

static void note(struct hw_notes *n, const char *what, const char *why, const char *fix, bool knob)
{
	struct hw_missing m = {"", "", "", knob};
	void *v;

	if (!n)
		return;
	snprintf(m.what, sizeof(m.what), "%s", what);
	snprintf(m.why, sizeof(m.why), "%s", why);
	snprintf(m.fix, sizeof(m.fix), "%s", fix);
	for (size_t i = 0; i < n->n; i++)
		if (!strcmp(n->v[i].what, m.what) && !strcmp(n->v[i].why, m.why))
			return;
	v = n->v;
	/* Without memory a note is lost, never a measurement. */
	if (!mem_grow(&v, &n->cap, n->n + 1, sizeof(*n->v), 4096))
		return;
	n->v = v;
	n->v[n->n++] = m;
}

void hw_note(struct hw_notes *n, const char *what, const char *why, const char *fix)
{
	note(n, what, why, fix, false);
}

void hw_note_knob(struct hw_notes *n, const char *what, const char *why, const char *fix)
{
	note(n, what, why, fix, true);
}
