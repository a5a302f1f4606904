/* select_fake.h: a stand-in for hw.h, for tests of which devices are the job's. One program
 * includes it once. */
#ifndef WATTLAW_TESTS_SELECT_FAKE_H
#define WATTLAW_TESTS_SELECT_FAKE_H

#include <strings.h>
#include "base/mem.h"
#include "measure/select.h"
#include "tap.h"

struct hw {
	size_t n, n_be, first[4], count[4];
	struct device dev[48];
	size_t be[48];
	struct backend backend[4];
};

size_t hw_n_devices(const struct hw *hw)
{
	return hw->n;
}

const struct device *hw_device(const struct hw *hw, size_t id)
{
	return &hw->dev[id];
}

const struct backend *hw_backend(const struct hw *hw, size_t id)
{
	return &hw->backend[hw->be[id]];
}

size_t hw_n_backends(const struct hw *hw)
{
	return hw->n_be;
}

void hw_backend_devices(const struct hw *hw, size_t be, size_t *first, size_t *n)
{
	*first = hw->first[be];
	*n = hw->count[be];
}

int hw_find(const struct hw *hw, const char *key)
{
	for (size_t i = 0; i < hw->n; i++)
		if (!strcasecmp(hw->dev[i].key, key) || !strcasecmp(hw->dev[i].pci, key))
			return (int)i;
	return -1;
}

__attribute__((unused)) static struct hw H;

__attribute__((unused)) static void backend(const char *name)
{
	H.backend[H.n_be].name = name;
	H.first[H.n_be++] = H.n;
}

__attribute__((unused)) static struct device *add(
	enum dev_kind kind, const char *key, const char *model, int index, int parent)
{
	struct device *d = &H.dev[H.n];

	memset(d, 0, sizeof(*d));
	d->kind = kind;
	d->index = index;
	d->parent = parent;
	snprintf(d->key, sizeof(d->key), "%s", key);
	snprintf(d->model, sizeof(d->model), "%s", model);
	snprintf(d->pci, sizeof(d->pci), "0000:%02x:00.0", (unsigned)(index + 16));
	H.be[H.n++] = H.n_be - 1;
	H.count[H.n_be - 1]++;
	return d;
}

/* n NVIDIA boards GPU-a0…, and a CPU package with its DRAM */
__attribute__((unused)) static void machine(int n, bool mixed)
{
	char key[32];

	memset(&H, 0, sizeof(H));
	backend("nvml");
	for (int i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "GPU-%c%d-beef", 'a' + i % 3, i);
		add(DEV_GPU, key, mixed && i >= n / 2 ? "T4" : "V100", i, -1);
	}
	backend("rapl");
	add(DEV_CPU, "rapl:package-0", "Xeon", 0, -1);
	add(DEV_DRAM, "rapl:package-0:dram", "Xeon", 0, -1);
}

__attribute__((unused)) static const char *env[16][2];
__attribute__((unused)) static size_t n_env;

__attribute__((unused)) static void set(const char *name, const char *value)
{
	env[n_env][0] = name;
	env[n_env++][1] = value;
}

__attribute__((unused)) static const char *get(void *arg, const char *name)
{
	(void)arg;
	for (size_t i = 0; i < n_env; i++)
		if (!strcmp(env[i][0], name))
			return env[i][1];
	return NULL;
}

__attribute__((unused)) static struct selection last;
__attribute__((unused)) static char got[256];

/* "0 2" : ids of the GPUs that are on; the environment is forgotten afterwards */
__attribute__((unused)) static const char *gpus(const char *opt)
{
	struct err e = ERR_INIT;

	selection_release(&last);
	got[0] = 0;
	if (select_devices(&H, opt, get, NULL, &last, &e) != ST_OK)
		snprintf(got, sizeof(got), "error: %s", e.msg);
	else
		for (size_t i = 0; i < last.n; i++)
			if (last.on[i] && H.dev[i].kind == DEV_GPU)
				snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%zu",
					*got ? " " : "", i);
	n_env = 0;
	return got;
}

__attribute__((unused)) static const char *cuda(const char *value)
{
	set("CUDA_VISIBLE_DEVICES", value);
	return gpus(NULL);
}

#endif
