/* host_facts.c: see host_facts.h. */
#include "cmd/host_facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/str.h"

/* "model name : Xeon …" on x86; other machines have no name to give, and none is invented. */
static void cpu_name(char *buf, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	buf[0] = '\0';
	while (f && !buf[0] && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (colon && str_starts(line, "model name"))
			snprintf(buf, size, "%s", str_trim(colon + 1));
	}
	if (f)
		fclose(f);
}

enum status host_facts_keep(struct store *s, const char *name, struct err *e)
{
	struct host_facts h = {.name = name};
	char cpu[256], kernel[256];
	struct utsname u;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	cpu_name(cpu, sizeof(cpu));
	if (cpu[0])
		h.cpu = cpu;
	if (!uname(&u)) {
		snprintf(kernel, sizeof(kernel), "%s %s", u.sysname, u.release);
		h.machine = u.machine;
		h.kernel = kernel;
	}
	h.n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (pages < 0 || page < 0 || __builtin_mul_overflow(pages, page, &h.memory_bytes))
		h.memory_bytes = 0;
	return store_put_host(s, &h, e);
}
