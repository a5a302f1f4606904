/* log.h: messages for people, through one sink.
 *
 * Modules call log_*; only src/cmd installs the sink that writes to stderr. Debug messages are
 * off unless WATTLAW_DEBUG names their subject (WATTLAW_DEBUG=nvml,meter or all). The same warning
 * is shown once a minute, and at most eight different ones from one format string; the next one
 * says how many were held back.
 */
#ifndef WATTLAW_BASE_LOG_H
#define WATTLAW_BASE_LOG_H

#include <stdbool.h>

struct clock;

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

typedef void log_sink(void *arg, enum log_level level, const char *subject, const char *msg);

/* Everything here may be called from any thread. The sink is called under a lock, one message at
 * a time, without a newline: it must not log. NULL drops everything (the default). */
void log_set_sink(log_sink *sink, void *arg);
/* The clock of the once-a-minute rule, for tests; NULL = the system's. Borrowed. */
void log_set_clock(struct clock *c);
/* Comma-separated subjects; NULL reads WATTLAW_DEBUG. */
void log_set_debug(const char *subjects);
bool log_debug_on(const char *subject);

void log_error(const char *subject, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_warn(const char *subject, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_info(const char *subject, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_debug(const char *subject, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
