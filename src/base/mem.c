/* mem.c: checked allocation and fault points. */
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum fault_state { FAULT_UNREAD, FAULT_OFF, FAULT_ARMED };

static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int fault_state = FAULT_UNREAD;
/* under fault_lock */
static char fault_name[32];
static unsigned long fault_left;
static bool fault_has_fired;

static void arm_locked(const char *name, size_t len, unsigned long n)
{
	fault_left = 0;
	if (n > 0 && len > 0 && len < sizeof(fault_name)) {
		memcpy(fault_name, name, len);
		fault_name[len] = '\0';
		fault_left = n;
	}
	atomic_store_explicit(
		&fault_state, fault_left ? FAULT_ARMED : FAULT_OFF, memory_order_relaxed);
}

/* WATTLAW_FAULT=name:n; anything else arms nothing. */
static void read_environment_locked(void)
{
	const char *v = secure_getenv("WATTLAW_FAULT");
	const char *colon = v ? strrchr(v, ':') : NULL;
	char *end = NULL;
	unsigned long n = 0;

	if (colon && colon[1] >= '0' && colon[1] <= '9')
		n = strtoul(colon + 1, &end, 10);
	if (end && *end == '\0')
		arm_locked(v, (size_t)(colon - v), n);
	else
		arm_locked("", 0, 0);
}

bool fault_point(const char *name)
{
	bool hit = false;

	if (atomic_load_explicit(&fault_state, memory_order_relaxed) == FAULT_OFF)
		return false;
	pthread_mutex_lock(&fault_lock);
	if (atomic_load_explicit(&fault_state, memory_order_relaxed) == FAULT_UNREAD)
		read_environment_locked();
	if (fault_left > 0 && !strcmp(name, fault_name) && --fault_left == 0) {
		hit = fault_has_fired = true;
		atomic_store_explicit(&fault_state, FAULT_OFF, memory_order_relaxed);
	}
	pthread_mutex_unlock(&fault_lock);
	return hit;
}

void fault_arm(const char *name, unsigned n)
{
	pthread_mutex_lock(&fault_lock);
	fault_has_fired = false;
	arm_locked(name ? name : "", name ? strlen(name) : 0, n);
	pthread_mutex_unlock(&fault_lock);
}

bool fault_fired(void)
{
	bool fired;

	pthread_mutex_lock(&fault_lock);
	fired = fault_has_fired;
	pthread_mutex_unlock(&fault_lock);
	return fired;
}

void *mem_alloc(size_t size)
{
	if (fault_point("alloc"))
		return NULL;
	return malloc(size ? size : 1);
}

void *mem_calloc(size_t n, size_t size)
{
	size_t bytes;

	/* calloc checks the product too, but under a sanitizer it aborts */
	if (fault_point("alloc") || __builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return calloc(1, bytes ? bytes : 1);
}

void *mem_realloc(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (fault_point("alloc") || __builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return realloc(p, bytes ? bytes : 1);
}

char *mem_strdup(const char *s)
{
	size_t len = strlen(s);
	char *copy = mem_alloc(len + 1);

	if (copy)
		memcpy(copy, s, len + 1);
	return copy;
}

void mem_free(void *p)
{
	free(p);
}

/* Defined by the leak checker of a sanitizer, otherwise NULL. */
extern void __lsan_ignore_object(const void *p) __attribute__((weak));

void mem_leave(const void *p)
{
	if (p && __lsan_ignore_object)
		__lsan_ignore_object(p);
}

bool mem_grow(void **array, size_t *cap, size_t want, size_t item_size, size_t max_items)
{
	size_t new_cap = *cap;
	void *p;

	if (want <= *cap)
		return true;
	if (want > max_items)
		return false;
	if (new_cap < 8)
		new_cap = 8;
	while (new_cap < want)
		if (__builtin_mul_overflow(new_cap, (size_t)2, &new_cap))
			return false;
	if (new_cap > max_items)
		new_cap = max_items;
	p = mem_realloc(*array, new_cap, item_size);
	if (!p)
		return false;
	*array = p;
	*cap = new_cap;
	return true;
}
