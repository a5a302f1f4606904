/* host.h: open the recorded or constructed machine tests/hosts/NAME.tree as an hw. */
#ifndef WATTLAW_TESTS_HOST_H
#define WATTLAW_TESTS_HOST_H

#include "hw/hw.h"
#include "tap.h"
#include "tree.h"

/* The machine's directory is tree_dir; made anew each time. */
__attribute__((unused)) static void host_make(const char *name)
{
	char path[512];

	if (tree_dir[0])
		tree_remove(tree_dir);
	tree_new();
	snprintf(path, sizeof(path), TEST_SOURCE_ROOT "/tests/hosts/%s.tree", name);
	if (!tree_load(tree_dir, path)) {
		printf("Bail out! cannot load %s\n", path);
		exit(99);
	}
}

__attribute__((unused)) static struct hw *host_open(const char *only, const char *run_id)
{
	struct backend_env env = {.clock = clock_system(), .run_id = run_id};
	struct err e = ERR_INIT;
	struct hw *hw = NULL;

	env.root_fd = open(tree_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (env.root_fd < 0 || hw_open(&env, only, &hw, &e) != ST_OK) {
		printf("Bail out! cannot open %s: %s\n", tree_dir, e.msg);
		exit(99);
	}
	return hw;
}

__attribute__((unused)) static void host_close(struct hw *hw)
{
	int fd = hw_env(hw)->root_fd;

	hw_close(hw);
	close(fd);
}

#endif
