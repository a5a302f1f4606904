/* status.h: how every module says what happened.
 *
 * A function that can fail returns enum status and, when the caller passes a struct err,
 * fills it with one line for a person. Nothing below src/cmd prints or exits. Values read
 * from hardware carry the same enum: a value without a status must not be stored.
 */
#ifndef WATTLAW_BASE_STATUS_H
#define WATTLAW_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

enum status {
	ST_OK = 0,
	ST_UNKNOWN, /* nobody has measured it: never to be read as 0 */
	ST_UNSUPPORTED, /* the device, library or kernel does not have it */
	ST_NO_PERMISSION, /* it exists, this user may not */
	ST_NOT_FOUND, /* no such device, file, key */
	ST_BUSY, /* somebody else holds it; the message names the holder */
	ST_TIMEOUT, /* a call did not return in its time and was abandoned */
	ST_LOST, /* it was there and is gone (GPU off the bus, process died) */
	ST_INVALID, /* bad input: the message says file:line:column and what was expected */
	ST_RANGE, /* outside what the device, law or type allows */
	ST_IO, /* the system refused: errno text is in the message */
	ST_NOMEM,
	ST_CORRUPT, /* data on disk or from a device that cannot be true */
	ST_PARTIAL, /* some of it worked; what did not is in the result */
	ST_AGAIN, /* nothing yet; ask again */
	ST_CANCELLED, /* somebody asked to stop */
	ST_COUNT
};

struct err {
	enum status st;
	char msg[512];
};

#define ERR_INIT ((struct err){ST_OK, ""})

/* Short stable word ("unsupported"), used in JSON and in the store. Never NULL. */
const char *status_name(enum status st);
/* Inverse of status_name. Unknown words give ST_UNKNOWN. */
enum status status_from_name(const char *name);

/* Set *e (may be NULL) and return st, so that `return err_set(e, ST_IO, ...)` reads well. */
enum status err_set(struct err *e, enum status st, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* As err_set with ": strerror(errno_value)" appended; the status is derived from errno
 * (EACCES/EPERM no permission, ENOENT not found, ENOMEM, EBUSY, ETIMEDOUT; otherwise ST_IO). */
enum status err_errno(struct err *e, int errno_value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* ST_INVALID with "file:line:column: " in front. line or col 0 are left out. */
enum status err_at(struct err *e, const char *file, int line, int col, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* The same, written so that compilers and analysers of a caller see which status comes back: an
 * error path is then never taken for success. */
#define err_set(e, st, ...)                                                                        \
	({                                                                                         \
		const enum status err_st_ = (st);                                                  \
		err_set(e, err_st_, __VA_ARGS__);                                                  \
		err_st_;                                                                           \
	})
#define err_at(...)                                                                                \
	({                                                                                         \
		err_at(__VA_ARGS__);                                                               \
		ST_INVALID;                                                                        \
	})
#define err_errno(...)                                                                             \
	({                                                                                         \
		enum status err_st_ = err_errno(__VA_ARGS__);                                      \
		if (err_st_ == ST_OK)                                                              \
			__builtin_unreachable();                                                   \
		err_st_;                                                                           \
	})

/* Put "text: " in front of an error that is already set. */
void err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
