/* log.c: one sink, debug subjects, and warnings that do not flood. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define MSG_MAX   1024
#define WINDOW_NS (60 * NS_PER_S)
#define SAME_KIND 8 /* different texts from one format string within a window */
#define KEYS      64 /* keys remembered; the oldest is forgotten when more are needed */

struct key {
	uint64_t hash;
	int64_t since_ns;
	unsigned shown, held;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* all under `lock` */
static log_sink *sink;
static void *sink_arg;
static struct clock *log_clock;
static char debug_subjects[256];
static struct key keys[KEYS];
/* 0 = WATTLAW_DEBUG not read yet, 1 = no subject is on, 2 = some are */
static _Atomic int debug_state;

static uint64_t hash_add(uint64_t h, const char *s)
{
	/* FNV-1a */
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
	return (h ^ 0xff) * UINT64_C(1099511628211);
}

void log_set_sink(log_sink *new_sink, void *arg)
{
	pthread_mutex_lock(&lock);
	sink = new_sink;
	sink_arg = arg;
	memset(keys, 0, sizeof(keys));
	pthread_mutex_unlock(&lock);
}

void log_set_clock(struct clock *c)
{
	pthread_mutex_lock(&lock);
	log_clock = c;
	pthread_mutex_unlock(&lock);
}

static void set_debug_locked(const char *subjects)
{
	if (!subjects)
		subjects = getenv("WATTLAW_DEBUG");
	snprintf(debug_subjects, sizeof(debug_subjects), "%s", subjects ? subjects : "");
	atomic_store_explicit(&debug_state, debug_subjects[0] ? 2 : 1, memory_order_relaxed);
}

void log_set_debug(const char *subjects)
{
	pthread_mutex_lock(&lock);
	set_debug_locked(subjects);
	pthread_mutex_unlock(&lock);
}

static bool subject_listed(const char *list, const char *subject)
{
	size_t want = strlen(subject);

	while (*list) {
		size_t n = strcspn(list, ",");

		if ((n == want && !memcmp(list, subject, n)) || (n == 3 && !memcmp(list, "all", 3)))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

bool log_debug_on(const char *subject)
{
	bool on;

	if (atomic_load_explicit(&debug_state, memory_order_relaxed) == 1)
		return false;
	pthread_mutex_lock(&lock);
	if (atomic_load_explicit(&debug_state, memory_order_relaxed) == 0)
		set_debug_locked(NULL);
	on = subject_listed(debug_subjects, subject);
	pthread_mutex_unlock(&lock);
	return on;
}

/* The entry of this key, its window restarted when it is over; *held_before is what the last
 * window held back. */
static struct key *key_find(uint64_t hash, int64_t now_ns, unsigned *held_before)
{
	struct key *k = &keys[0];

	*held_before = 0;
	for (size_t i = 0; i < KEYS; i++) {
		if (keys[i].shown && keys[i].hash == hash) {
			k = &keys[i];
			if (now_ns - k->since_ns < WINDOW_NS)
				return k;
			*held_before = k->held;
			break;
		}
		if (!keys[i].shown || (k->shown && keys[i].since_ns < k->since_ns))
			k = &keys[i];
	}
	*k = (struct key){.hash = hash, .since_ns = now_ns};
	return k;
}

/* May this warning be shown? *held_before is how many like it were not. */
static bool warn_allowed(const char *subject, const char *fmt, const char *msg, unsigned *held)
{
	struct clock *c = log_clock ? log_clock : clock_system();
	int64_t now_ns = c->now(c);
	uint64_t h = hash_add(UINT64_C(14695981039346656037), subject);
	unsigned held_text, held_kind;
	struct key *text, *kind;

	text = key_find(hash_add(h, msg), now_ns, &held_text);
	if (text->shown) {
		text->held++;
		return false;
	}
	text->shown = 1;
	kind = key_find(hash_add(hash_add(h, "kind"), fmt), now_ns, &held_kind);
	if (kind->shown >= SAME_KIND) {
		kind->held++;
		return false;
	}
	kind->shown++;
	*held = held_text + held_kind;
	return true;
}

__attribute__((format(printf, 3, 0))) static void log_msg(
	enum log_level level, const char *subject, const char *fmt, va_list ap)
{
	char msg[MSG_MAX];
	unsigned held = 0;
	int n;

	pthread_mutex_lock(&lock);
	if (!sink)
		goto out;
	n = vsnprintf(msg, sizeof(msg), fmt, ap);
	if (n < 0)
		goto out;
	if (level == LOG_WARN && !warn_allowed(subject, fmt, msg, &held))
		goto out;
	if (held && (size_t)n < sizeof(msg))
		snprintf(msg + n, sizeof(msg) - (size_t)n, " (and %u more like it)", held);
	sink(sink_arg, level, subject, msg);
out:
	pthread_mutex_unlock(&lock);
}

void log_error(const char *subject, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_msg(LOG_ERROR, subject, fmt, ap);
	va_end(ap);
}

void log_warn(const char *subject, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_msg(LOG_WARN, subject, fmt, ap);
	va_end(ap);
}

void log_info(const char *subject, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_msg(LOG_INFO, subject, fmt, ap);
	va_end(ap);
}

void log_debug(const char *subject, const char *fmt, ...)
{
	va_list ap;

	if (!log_debug_on(subject))
		return;
	va_start(ap, fmt);
	log_msg(LOG_DEBUG, subject, fmt, ap);
	va_end(ap);
}
