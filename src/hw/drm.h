/* drm.h: graphics cards as the kernel lists them, and their hwmon directories. */
#ifndef WATTLAW_HW_DRM_H
#define WATTLAW_HW_DRM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

struct drm_card {
	char card[64]; /* "sys/class/drm/card0" */
	char device[72]; /* "sys/class/drm/card0/device" */
	char hwmon[160]; /* "" when it has none */
	char hwmon_name[32];
	char pci[24]; /* "0000:c1:00.0", "" when unknown */
};

/* Call fn for each card of a PCI vendor ("0x1002"), in natural order, until it returns something
 * else than ST_OK. */
enum status drm_each(int root_fd, const char *vendor,
	enum status (*fn)(void *arg, const struct drm_card *c), void *arg);
/* A number in dir/file. */
enum status drm_i64(int root_fd, const char *dir, const char *file, int64_t *out);
enum status drm_text(int root_fd, const char *dir, const char *file, char *buf, size_t size);
enum status drm_write_i64(int root_fd, const char *dir, const char *file, int64_t v, struct err *e);
bool drm_has(int root_fd, const char *dir, const char *file);
bool drm_writable(int root_fd, const char *dir, const char *file);

#endif
