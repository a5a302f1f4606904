#include "record/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/layout.h"

const char *dev_kind_name(enum dev_kind k)
{
	static const char *const names[DEV_KIND_COUNT] = {
		"gpu", "cpu", "dram", "node", "cgroup", "other"};

	return (unsigned)k < DEV_KIND_COUNT ? names[k] : "other";
}

const char *energy_method_name(enum energy_method m)
{
	static const char *const names[ENERGY_METHOD_COUNT] = {
		"none", "counter", "integral", "mixed", "simulated", "imported"};

	return (unsigned)m < ENERGY_METHOD_COUNT ? names[m] : "none";
}

const char *run_state_name(enum run_state s)
{
	static const char *const names[RUN_STATE_COUNT] = {
		"done", "failed", "interrupted", "partial", "disturbed"};

	return (unsigned)s < RUN_STATE_COUNT ? names[s] : "failed";
}

void run_rec_init(struct run_rec *r)
{
	layout_init(&layout_run, r);
	r->exit_code = -1;
	r->hosts_expected = r->hosts_seen = 1;
}

void run_rec_release(struct run_rec *r)
{
	layout_release(&layout_run, r);
	run_rec_init(r);
}

void run_id_make(char buf[17])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char bytes[8];

	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != (ssize_t)sizeof(bytes)) {
		/* Early boot: unique enough from the time and the process. */
		struct timespec t;
		uint64_t mix;

		clock_gettime(CLOCK_REALTIME, &t);
		mix = (uint64_t)t.tv_sec * UINT64_C(1000000007) + (uint64_t)t.tv_nsec;
		mix = (mix ^ (uint64_t)getpid() << 40) * UINT64_C(0x9e3779b97f4a7c15);
		memcpy(bytes, &mix, sizeof(bytes));
	}
	for (int i = 0; i < 8; i++) {
		buf[2 * i] = hex[bytes[i] >> 4];
		buf[2 * i + 1] = hex[bytes[i] & 15];
	}
	buf[16] = '\0';
}

bool rec_set(char **field, const char *text)
{
	char *copy = NULL;

	if (text && !(copy = mem_strdup(text)))
		return false;
	mem_free(*field);
	*field = copy;
	return true;
}

/* One more item at the end of an array that keeps no capacity: these hold a handful of items. */
static void *append(void **array, size_t *n, const struct layout *l, size_t max)
{
	void *grown;

	if (*n >= max || !(grown = mem_realloc(*array, *n + 1, l->size)))
		return NULL;
	*array = grown;
	layout_init(l, (char *)grown + *n * l->size);
	return (char *)grown + (*n)++ * l->size;
}

static bool append_str(char ***array, size_t *n, char *owned, size_t max)
{
	char **grown = NULL;

	if (!owned || *n >= max || !(grown = mem_realloc(*array, *n + 1, sizeof(char *)))) {
		mem_free(owned);
		return false;
	}
	*array = grown;
	grown[(*n)++] = owned;
	return true;
}

bool run_rec_arg(struct run_rec *r, const char *arg)
{
	return append_str(&r->command, &r->n_command, mem_strdup(arg), (size_t)1 << 20);
}

bool run_rec_command(struct run_rec *r, const char *const *argv, size_t n)
{
	char **copy = NULL;
	size_t done = 0;

	for (size_t i = 0; i < n; i++) {
		if (!append_str(&copy, &done, mem_strdup(argv[i]), (size_t)1 << 20))
			goto fail;
	}
	for (size_t i = 0; i < r->n_command; i++)
		mem_free(r->command[i]);
	mem_free(r->command);
	r->command = copy;
	r->n_command = done;
	return true;
fail:
	for (size_t i = 0; i < done; i++)
		mem_free(copy[i]);
	mem_free(copy);
	return false;
}

bool run_rec_warn(struct run_rec *r, const char *fmt, ...)
{
	struct str s = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	if (s.failed) {
		str_release(&s);
		return false;
	}
	return append_str(&r->warnings, &r->n_warnings, str_take(&s), (size_t)1 << 16);
}

bool run_rec_axis(
	struct run_rec *r, const char *name, const char *text, enum unit unit, struct qty v)
{
	struct axis_val *a = append((void **)&r->axes, &r->n_axes, &layout_axis, 256);

	if (!a)
		return false;
	a->unit = unit;
	a->value = v;
	if (rec_set(&a->name, name) && rec_set(&a->text, text))
		return true;
	layout_release(&layout_axis, a);
	r->n_axes--;
	return false;
}

struct dev_rec *run_rec_dev(struct run_rec *r)
{
	return append((void **)&r->devs, &r->n_devs, &layout_dev, (size_t)1 << 16);
}

struct phase_rec *run_rec_phase(struct run_rec *r)
{
	return append((void **)&r->phases, &r->n_phases, &layout_phase, (size_t)1 << 16);
}

struct knob_rec *dev_rec_knob(struct dev_rec *d, const char *name, enum unit unit)
{
	struct knob_rec *k = append((void **)&d->knobs, &d->n_knobs, &layout_knob, 64);

	if (!k)
		return NULL;
	k->unit = unit;
	if (rec_set(&k->name, name))
		return k;
	d->n_knobs--;
	return NULL;
}

bool run_rec_sample(struct run_rec *r, const struct sample_rec *s)
{
	if (!mem_grow((void **)&r->samples, &r->cap_samples, r->n_samples + 1, sizeof(*s),
		    (size_t)1 << 26))
		return false;
	r->samples[r->n_samples++] = *s;
	return true;
}

bool run_rec_mark(struct run_rec *r, const struct mark_rec *m)
{
	if (!mem_grow(
		    (void **)&r->marks, &r->cap_marks, r->n_marks + 1, sizeof(*m), (size_t)1 << 26))
		return false;
	r->marks[r->n_marks++] = *m;
	return true;
}

const struct axis_val *run_rec_axis_find(const struct run_rec *r, const char *name)
{
	for (size_t i = 0; i < r->n_axes; i++) {
		if (!strcmp(r->axes[i].name, name))
			return &r->axes[i];
	}
	return NULL;
}
