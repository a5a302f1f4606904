/* output.h: a result into a file, whole or not at all. */
#ifndef WATTLAW_CMD_OUTPUT_H
#define WATTLAW_CMD_OUTPUT_H

#include <stddef.h>

/* Write beside path and rename, so that a reader sees the old file or the new one; pipes and
 * devices are written directly. path NULL or "-" is stdout. Prints an error and returns the exit
 * code. */
int cmd_write(const char *path, const char *text, size_t n);

#endif
