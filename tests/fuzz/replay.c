/* replay.c: run every file of a corpus through the target, without libFuzzer. */
#include "fuzz.h"
#include "tap.h"

#include <dirent.h>

static bool run_file(const char *dir, const char *name)
{
	char path[4096];
	uint8_t *data = NULL;
	size_t size = 0, cap = 1 << 16;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f)
		return false;
	do {
		cap *= 2;
		data = realloc(data, cap);
		if (!data)
			abort();
		size += fread(data + size, 1, cap - size, f);
	} while (size == cap);
	fclose(f);
	/* on the heap and of the exact size, so that a sanitizer sees reading past the end */
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		abort();
	memcpy(exact, data, size);
	/* the name is there when the target aborts */
	printf("# %s\n", name);
	fflush(stdout);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	free(data);
	return true;
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : ".";
	DIR *d = opendir(dir);
	unsigned n = 0, unread = 0;

	for (struct dirent *ent; d && (ent = readdir(d));) {
		if (ent->d_name[0] == '.')
			continue;
		n++;
		unread += !run_file(dir, ent->d_name);
	}
	if (d)
		closedir(d);
	ok(n > 0, "there is a corpus");
	ok(unread == 0, "%u inputs of the corpus are survived and keep what must hold", n);
	return tap_done();
}
