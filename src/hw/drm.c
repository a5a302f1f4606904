/* drm.c: graphics cards as the kernel lists them. */
#include "hw/drm.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "hw/sysfs.h"

#define DRM "sys/class/drm"

enum status drm_i64(int root_fd, const char *dir, const char *file, int64_t *out)
{
	char path[320];

	snprintf(path, sizeof(path), "%.200s/%.100s", dir, file);
	return sysfs_read_i64(root_fd, path, out, NULL);
}

enum status drm_text(int root_fd, const char *dir, const char *file, char *buf, size_t size)
{
	char path[320];

	snprintf(path, sizeof(path), "%.200s/%.100s", dir, file);
	return sysfs_read(root_fd, path, buf, size, NULL);
}

enum status drm_write_i64(int root_fd, const char *dir, const char *file, int64_t v, struct err *e)
{
	char path[320];

	snprintf(path, sizeof(path), "%.200s/%.100s", dir, file);
	return sysfs_write_i64(root_fd, path, v, e);
}

bool drm_has(int root_fd, const char *dir, const char *file)
{
	char path[320];

	snprintf(path, sizeof(path), "%.200s/%.100s", dir, file);
	return sysfs_exists(root_fd, path);
}

bool drm_writable(int root_fd, const char *dir, const char *file)
{
	char path[320];

	snprintf(path, sizeof(path), "%.200s/%.100s", dir, file);
	return sysfs_writable(root_fd, path);
}

static void find_hwmon(int root_fd, struct drm_card *c)
{
	struct sysfs_list l;
	char dir[160];

	snprintf(dir, sizeof(dir), "%s/hwmon", c->device);
	if (sysfs_list(root_fd, dir, "hwmon", &l) != ST_OK)
		return;
	if (l.n > 0) {
		snprintf(c->hwmon, sizeof(c->hwmon), "%.90s/%s", dir, l.v[0]);
		drm_text(root_fd, c->hwmon, "name", c->hwmon_name, sizeof(c->hwmon_name));
	}
	sysfs_list_release(&l);
}

/* "PCI_SLOT_NAME=0000:c1:00.0" in the device's uevent. */
static void find_pci(int root_fd, struct drm_card *c)
{
	static const char key[] = "PCI_SLOT_NAME=";
	char buf[1024], *p;

	if (drm_text(root_fd, c->device, "uevent", buf, sizeof(buf)) != ST_OK)
		return;
	p = strstr(buf, key);
	if (!p)
		return;
	p += strlen(key);
	snprintf(c->pci, sizeof(c->pci), "%.*s", (int)strcspn(p, "\n"), p);
}

enum status drm_each(int root_fd, const char *vendor,
	enum status (*fn)(void *arg, const struct drm_card *c), void *arg)
{
	struct sysfs_list l;
	enum status st = ST_OK;

	if (sysfs_list(root_fd, DRM, "card", &l) != ST_OK)
		return ST_OK;
	for (size_t i = 0; i < l.n && st == ST_OK; i++) {
		struct drm_card c;
		char id[16];

		/* card0 is a card, card0-DP-1 a connector */
		if (l.v[i][4 + strspn(l.v[i] + 4, "0123456789")] ||
			!isdigit((unsigned char)l.v[i][4]) || strlen(l.v[i]) > 40)
			continue;
		memset(&c, 0, sizeof(c));
		snprintf(c.card, sizeof(c.card), DRM "/%.40s", l.v[i]);
		snprintf(c.device, sizeof(c.device), "%s/device", c.card);
		if (drm_text(root_fd, c.device, "vendor", id, sizeof(id)) != ST_OK ||
			strcmp(id, vendor))
			continue;
		find_hwmon(root_fd, &c);
		find_pci(root_fd, &c);
		st = fn(arg, &c);
	}
	sysfs_list_release(&l);
	return st;
}
