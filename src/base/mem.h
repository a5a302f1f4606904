/* mem.h: allocation with checked sizes, and fault points.
 *
 * A fault point is a named place where a test makes the next call fail:
 * WATTLAW_FAULT=alloc:17 fails the 17th allocation, once; fault_arm() does it from a test.
 * Tests count down from 1 until the operation succeeds, so every error path runs.
 */
#ifndef WATTLAW_BASE_MEM_H
#define WATTLAW_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All return NULL on failure (also on overflow of n*size); memory from mem_calloc is zeroed. */
void *mem_alloc(size_t size) __attribute__((malloc));
void *mem_calloc(size_t n, size_t size) __attribute__((malloc));
void *mem_realloc(void *p, size_t n, size_t size);
char *mem_strdup(const char *s);
void mem_free(void *p);
/* This block, and what it points to, is left behind on purpose: a driver call that never returns
 * still uses it. Tells the leak checker, when there is one. NULL is fine. */
void mem_leave(const void *p);

/* Grow an array geometrically so that it holds `want` items. On failure returns false and the
 * array is as it was. max_items is its ceiling. */
bool mem_grow(void **array, size_t *cap, size_t want, size_t item_size, size_t max_items);

/* True when this call is the one that must fail. Costs one relaxed load when nothing is armed.
 * Points in use: "alloc", "read" (sysfs), "nvml", "store", "shard". */
bool fault_point(const char *name);
/* Make the nth call (1 = next) of fault_point(name) return true, once; n = 0 disarms. */
void fault_arm(const char *name, unsigned n);
/* Did the armed fault fire since fault_arm? Ends the count-down loop of a test. */
bool fault_fired(void);

#endif
