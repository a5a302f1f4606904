/* sysfs.h: small kernel files below a root descriptor.
 *
 * Paths never start with '/': a recorded tree is a complete machine. Reads pass fault point "read"
 * and writes "write", so that tests can make any one of them fail. Messages name the path as the
 * user would see it ("/sys/class/...").
 */
#ifndef WATTLAW_HW_SYSFS_H
#define WATTLAW_HW_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

/* Whole file without its trailing white space, NUL-terminated; longer ones are cut. */
enum status sysfs_read(int root_fd, const char *path, char *buf, size_t size, struct err *e);
/* Whole file as bytes: *n is how many were read. */
enum status sysfs_read_bytes(
	int root_fd, const char *path, void *buf, size_t size, size_t *n, struct err *e);
/* One decimal integer. ST_CORRUPT when it is something else. */
enum status sysfs_read_i64(int root_fd, const char *path, int64_t *out, struct err *e);
/* The same on an open descriptor (read again from offset 0 each time): for sampling. */
enum status sysfs_fd_i64(int fd, int64_t *out);
/* Open for reading; -1 with *st set. */
int sysfs_open(int root_fd, const char *path, enum status *st);
enum status sysfs_write(int root_fd, const char *path, const char *text, struct err *e);
enum status sysfs_write_i64(int root_fd, const char *path, int64_t v, struct err *e);
bool sysfs_exists(int root_fd, const char *path);
/* May this process write it? By the effective ids. */
bool sysfs_writable(int root_fd, const char *path);
/* Is this descriptor the real "/"? Then vendor libraries of this machine may be asked. */
bool sysfs_is_real_root(int root_fd);

/* Entries of a directory whose names start with prefix, in natural order (card2 before card10). */
struct sysfs_list {
	char (*v)[64];
	size_t n, cap;
};
enum status sysfs_list(int root_fd, const char *path, const char *prefix, struct sysfs_list *out);
void sysfs_list_release(struct sysfs_list *l);

#endif
