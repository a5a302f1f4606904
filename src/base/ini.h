/* ini.h: the reader of every file a user writes: sweep files, scenarios, profiles, config.
 *
 *   # whole-line comments          [section argument]          key = value to the end of line
 *
 * Values are unquoted, of any length (up to 1 MiB), and keep inner '#' and ';'. A list is a value
 * split at commas. Sections with the same name are kept apart, in file order. Lines that are not
 * "key = value" ("at 3s nvmlX = Y" is one: key "at 3s nvmlX") are errors with file:line:column.
 * UTF-8 BOM and CRLF are accepted; NUL bytes are an error.
 */
#ifndef WATTLAW_BASE_INI_H
#define WATTLAW_BASE_INI_H

#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"

struct ini_entry {
	char *key, *value;
	int line, key_col, value_col; /* 1-based */
	bool used; /* set by ini_get, or by who walks the entries; see ini_reject_unused */
};

struct ini_section {
	char *name, *arg; /* "[job resnet18]" → "job", "resnet18"; arg "" when none */
	int line;
	struct ini_entry *entries;
	size_t n, cap;
};

struct ini {
	char *file; /* as given, for messages */
	struct ini_section
		*sections; /* sections[0] has name "" : entries before the first header */
	size_t n, cap;
};

/* On failure nothing is left to release. Errors in the text are ST_INVALID with
 * file:line:column; columns count bytes. */
enum status ini_read_file(struct ini *ini, const char *path, struct err *e);
/* From where fd stands to its end; fd stays open. file is the name used in messages. */
enum status ini_read_fd(struct ini *ini, int fd, const char *file, struct err *e);
/* text need not be NUL-terminated; file is the name used in messages. */
enum status ini_read_text(
	struct ini *ini, const char *file, const char *text, size_t len, struct err *e);
void ini_release(struct ini *ini);

/* nth section of that name (0 = first), or NULL. */
struct ini_section *ini_section(struct ini *ini, const char *name, size_t nth);
/* Last entry of that key; all of that key are marked used. NULL when absent, or s is NULL. Borrowed
 * until the section is released. */
struct ini_entry *ini_get(struct ini_section *s, const char *key);
/* Split a list value at commas. items[i] are trimmed copies, cols[i] their 1-based columns. Free
 * with ini_list_release. An empty item is an error, and so is an empty list. */
struct ini_list {
	char **items;
	int *cols;
	size_t n;
};
enum status ini_list(
	const struct ini *ini, const struct ini_entry *entry, struct ini_list *out, struct err *e);
void ini_list_release(struct ini_list *l);
/* Error for the first section not in `known`: "file:3:1: unknown section [swep]; did you mean
 * [sweep]?" */
enum status ini_reject_sections(
	const struct ini *ini, const char *const *known, size_t n_known, struct err *e);
/* Error for the first entry nobody asked for: "file:3:1: unknown key 'repeets' in [sweep]; did
 * you mean 'repeats'?" with `known` the valid keys. ST_OK when all were used. */
enum status ini_reject_unused(
	const struct ini *ini, const char *const *known, size_t n_known, struct err *e);

#endif
