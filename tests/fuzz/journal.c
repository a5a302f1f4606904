/* journal.c: any text as a journal. Its lines get right checksums first, or nothing would get past
 * them. What is loaded is whole: every entry has a knob and text that ends. */
#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include "hw/journal.h"

#define NAME "lease.fuzz"

static char dir[] = "/tmp/wattlaw-fuzz.XXXXXX";

static void clean_up(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/" NAME, dir);
	unlink(path);
	rmdir(dir);
}

/* One directory a process. */
static int dir_fd(void)
{
	static int fd = -1;

	if (fd < 0 && mkdtemp(dir)) {
		atexit(clean_up);
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return fd;
}

static uint32_t sum(const uint8_t *p, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 16777619u;
	return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct journal j;
	FILE *f;
	int at = dir_fd(), fd;

	fd = openat(at, NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f)
		return 0;
	while (size) {
		const uint8_t *nl = memchr(data, '\n', size);
		size_t n = nl ? (size_t)(nl - data) : size;

		fwrite(data, 1, n, f);
		if (nl)
			fprintf(f, " #%08x\n", sum(data, n));
		size -= n + (nl != NULL);
		data += n + (nl != NULL);
	}
	fclose(f);
	if (journal_load(&j, at, NAME, NULL) != ST_OK)
		return 0;
	for (size_t i = 0; i < j.n; i++) {
		must((unsigned)j.entries[i].knob < KNOB_COUNT);
		must(memchr(j.entries[i].key, 0, sizeof(j.entries[i].key)));
		must(j.entries[i].was_set || !j.entries[i].in_flight);
	}
	must(memchr(j.text, 0, sizeof(j.text)) && memchr(j.job, 0, sizeof(j.job)));
	journal_finish(&j);
	journal_release(&j);
	return 0;
}
