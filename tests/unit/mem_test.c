#include "tap.h"

#include <stdint.h>

#include "base/mem.h"

static bool all_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static void test_sizes(void)
{
	void *p = mem_alloc(0);
	char *z = mem_calloc(100, 3);

	ok(p, "0 bytes are not a failure");
	mem_free(p);
	ok(z && all_zero(z, 300), "mem_calloc gives zeroed memory");
	mem_free(z);
	ok(!mem_calloc(SIZE_MAX / 2, 3), "mem_calloc refuses a product that overflows");
	p = mem_alloc(8);
	ok(!mem_realloc(p, SIZE_MAX / 2, 3), "mem_realloc refuses a product that overflows");
	mem_free(p);
	mem_free(NULL);
	z = mem_strdup("abc");
	is_str(z, "abc", "mem_strdup copies");
	mem_free(z);
}

static void test_grow(void)
{
	void *a = NULL;
	size_t cap = 0, steps = 0, last = 0;

	for (size_t want = 1; want <= 1000; want++) {
		if (!mem_grow(&a, &cap, want, sizeof(int), 1000))
			break;
		((int *)a)[want - 1] = (int)want;
		steps += cap != last;
		last = cap;
	}
	is_int(cap, 1000, "the array grows to its ceiling");
	ok(steps <= 9, "it grows geometrically (%zu steps to 1000)", steps);
	is_int(((int *)a)[0], 1, "the first item survives growing");
	is_int(((int *)a)[999], 1000, "the last item is there");
	ok(!mem_grow(&a, &cap, 1001, sizeof(int), 1000), "growing past the ceiling fails");
	is_int(cap, 1000, "a failed growth leaves the capacity");
	ok(!mem_grow(&a, &cap, SIZE_MAX, SIZE_MAX, SIZE_MAX), "an absurd size fails");
	fault_arm("alloc", 1);
	ok(!mem_grow(&a, &cap, 2000, sizeof(int), 4000), "a failed allocation fails the growth");
	is_int(cap, 1000, "and leaves the capacity");
	is_int(((int *)a)[999], 1000, "and the items");
	fault_arm("alloc", 0);
	mem_free(a);
}

static void test_faults(void)
{
	bool hits[5];

	fault_arm("read", 3);
	for (int i = 0; i < 5; i++)
		hits[i] = fault_point("read");
	ok(!hits[0] && !hits[1] && hits[2], "the armed call fails, those before do not");
	ok(!hits[3] && !hits[4], "it fails once");
	ok(fault_fired(), "fault_fired tells");
	fault_arm("read", 1);
	ok(!fault_fired(), "arming again forgets the last hit");
	ok(!fault_point("nvml"), "another name is not hit");
	fault_arm("read", 0);
	ok(!fault_point("read"), "0 disarms");
	fault_arm(NULL, 1);
	ok(!fault_point("alloc"), "no name arms nothing");
	fault_arm("alloc", 2);
	void *p = mem_alloc(1), *q = mem_calloc(1, 1);

	ok(p && !q, "the second allocation fails, whichever function it is");
	mem_free(p);
	fault_arm("alloc", 1);
	ok(!mem_strdup("x"), "mem_strdup passes the failure on");
}

/* Run ourselves with WATTLAW_FAULT set, because the environment is read once. */
static int child_with_fault(const char *self, const char *fault)
{
	char cmd[4200];

	snprintf(cmd, sizeof(cmd), "WATTLAW_FAULT='%s' '%s' child", fault, self);
	return system(cmd);
}

static int child(void)
{
	void *p = mem_alloc(1), *q = mem_alloc(1), *r = mem_alloc(1);
	bool second_failed = p && !q && r;

	mem_free(p);
	mem_free(q);
	mem_free(r);
	return second_failed ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return child();
	ok(child_with_fault(argv[0], "alloc:2") == 0,
		"WATTLAW_FAULT=alloc:2 fails the second allocation");
	ok(child_with_fault(argv[0], "alloc:2x") != 0, "a malformed WATTLAW_FAULT arms nothing");
	ok(child_with_fault(argv[0], "store:2") != 0,
		"WATTLAW_FAULT of another point does nothing here");
	test_sizes();
	test_grow();
	test_faults();
	return tap_done();
}
