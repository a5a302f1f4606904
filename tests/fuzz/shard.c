/* shard.c: a file cut or damaged anywhere is read up to its last whole frame. */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "exec/shard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("shard", MFD_CLOEXEC);
	struct shard_reader *r = NULL;
	struct shard_frame f;
	struct err e = ERR_INIT;
	char path[64];
	size_t seen = 0;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (shard_open(path, &r, &e) == ST_OK) {
		enum status st;

		while ((st = shard_next(r, &f)) == ST_OK) {
			unsigned sum = 0;

			for (size_t i = 0; i < f.n; i++)
				sum += ((const uint8_t *)f.payload)[i];
			seen += f.n + (sum > 0);
			must(f.n <= size);
		}
		must(st == ST_NOT_FOUND || st == ST_CORRUPT);
		must(seen <= 2 * size);
		shard_reader_close(r);
	} else {
		must(e.st != ST_OK && e.msg[0]);
	}
	close(fd);
	return 0;
}
