/* import_series.h: logs of readings over time as one run: samples in, energy and figures out.
 *
 * Energy is that of the counter where the log has one that only rises, else the trapezoid over
 * power; holes longer than five usual periods are not bridged and count as missing coverage.
 */
#ifndef WATTLAW_STORE_IMPORT_SERIES_H
#define WATTLAW_STORE_IMPORT_SERIES_H

#include "record/channel.h"
#include "store/import_format.h"

/* "2023/07/14 10:12:46.483", ISO 8601 with or without zone (none = UTC: only differences matter),
 * or a number of s, ms, us or ns since the epoch or the start, told apart by size. False when
 * neither. */
bool import_time(const char *text, int64_t *t_ns);

/* The device with that key, made when new; -1 when out of memory. */
int import_device(struct run_rec *r, const char *key, const char *name, enum dev_kind kind);
/* t_ns is absolute until import_series_finish. False when out of memory. */
bool import_sample(struct run_rec *r, int dev, enum channel ch, int64_t t_ns, int64_t value);

/* Turn the samples into the figures of devices and run. ST_INVALID when there are fewer than two
 * moments, ST_RANGE when the times cannot belong to one run (more than a year). */
enum status import_series_finish(struct run_rec *r, const char *file, struct err *e);

#endif
