/* tree.h: fake machines for tests: a directory that stands for "/" and the files in it.
 *
 * A manifest (tests/hosts/NAME) is one text file:
 *
 *	# comment
 *	@ sys/class/powercap/intel-rapl:0/name 0444     a file; its lines follow, until the next @ %
 *or > package-0 % sys/class/drm/card0/device/gpu_metrics        a binary file; its lines are hex
 *bytes 78 00 01 03 > sys/class/drm/card0 ../../devices/card0       a symbolic link and its target
 */
#ifndef WATTLAW_TESTS_TREE_H
#define WATTLAW_TESTS_TREE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tree_dir[256];

__attribute__((unused)) static int tree_rm_one(
	const char *path, const struct stat *sb, int type, struct FTW *f)
{
	(void)sb;
	(void)type;
	(void)f;
	return remove(path);
}

__attribute__((unused)) static void tree_remove(const char *dir)
{
	nftw(dir, tree_rm_one, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((unused)) static void tree_cleanup(void)
{
	if (tree_dir[0])
		tree_remove(tree_dir);
}

/* A private directory, removed when the test ends. */
__attribute__((unused)) static const char *tree_new(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(tree_dir, sizeof(tree_dir), "%.200s/wattlaw-test.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(tree_dir)) {
		perror(tree_dir);
		exit(99);
	}
	atexit(tree_cleanup);
	return tree_dir;
}

__attribute__((unused)) static void tree_parents(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			perror(path);
		*p = '/';
	}
}

__attribute__((unused)) static FILE *tree_open(const char *dir, const char *path)
{
	char full[1024];
	FILE *f;

	snprintf(full, sizeof(full), "%.400s/%.600s", dir, path);
	tree_parents(full);
	f = fopen(full, "w");
	if (!f) {
		perror(full);
		exit(99);
	}
	return f;
}

__attribute__((unused)) static void tree_put(const char *dir, const char *path, const char *text)
{
	FILE *f = tree_open(dir, path);

	fputs(text, f);
	fclose(f);
}

/* First line of a file, in a static buffer; "" when there is none. */
__attribute__((unused)) static const char *tree_get(const char *dir, const char *path)
{
	static char buf[4096];
	char full[1024];
	FILE *f;

	snprintf(full, sizeof(full), "%.400s/%.600s", dir, path);
	buf[0] = '\0';
	f = fopen(full, "r");
	if (!f)
		return "";
	if (!fgets(buf, sizeof(buf), f))
		buf[0] = '\0';
	fclose(f);
	buf[strcspn(buf, "\n")] = '\0';
	return buf;
}

/* Make the machine of a manifest below dir; false when the manifest cannot be read. */
__attribute__((unused)) static int tree_load(const char *dir, const char *manifest)
{
	FILE *in = fopen(manifest, "r"), *f = NULL;
	char line[8192], path[600], target[600], full[1024];
	unsigned mode = 0;
	int hex = 0;

	if (!in)
		return 0;
	while (fgets(line, sizeof(line), in)) {
		if ((line[0] == '#' && !f) || (line[0] == '\n' && !f))
			continue;
		if ((line[0] == '@' || line[0] == '%' || line[0] == '>') && line[1] == ' ') {
			if (f) {
				fclose(f);
				f = NULL;
				if (mode)
					chmod(full, mode);
			}
			mode = 0;
			if (line[0] == '>') {
				if (sscanf(line + 2, "%599s %599s", path, target) != 2)
					return 0;
				snprintf(full, sizeof(full), "%.400s/%.600s", dir, path);
				tree_parents(full);
				if (symlink(target, full) < 0)
					return 0;
				continue;
			}
			hex = line[0] == '%';
			if (sscanf(line + 2, "%599s %o", path, &mode) < 1)
				return 0;
			snprintf(full, sizeof(full), "%.400s/%.600s", dir, path);
			f = tree_open(dir, path);
			continue;
		}
		if (f && !hex)
			fputs(line, f);
		else if (f)
			for (char *w = strtok(line, " \n"); w; w = strtok(NULL, " \n"))
				fputc((int)strtol(w, NULL, 16), f);
	}
	if (f) {
		fclose(f);
		if (mode)
			chmod(full, mode);
	}
	fclose(in);
	return 1;
}

#endif
