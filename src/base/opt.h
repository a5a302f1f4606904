/* opt.h: one table describes each option once.
 *
 * The same rows drive the command line, the config files, the environment (WATTLAW_<NAME>), --help
 * and the check of the man pages. Precedence, low to high: default, /etc/wattlaw.ini,
 * ~/.config/wattlaw.ini, ./wattlaw.ini, WATTLAW_*, a file of the job (a sweep file), command line.
 * WATTLAW_CONFIG=FILE reads that file in place of the three; an empty one reads none. Root ignores
 * a ./wattlaw.ini that is not its own.
 *
 * Values land in a caller's struct at `offset`. Parsing stops at "--" or the first operand. In
 * names '-' and '_' are the same. A table has at most 255 rows; a row without help is hidden.
 */
#ifndef WATTLAW_BASE_OPT_H
#define WATTLAW_BASE_OPT_H

#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "base/str.h"
#include "base/units.h"

enum opt_type {
	OPT_FLAG, /* bool, no argument; --no-NAME clears it */
	OPT_INT, /* int64_t */
	OPT_UNIT, /* int64_t in the unit's base */
	OPT_DOUBLE, /* double */
	OPT_TEXT, /* const char *, owned by the option set */
	OPT_CHOICE, /* int: index into choices */
	OPT_LIST, /* struct opt_strings: may be given several times, each appends */
	OPT_PAIR2, /* struct opt_strings: the option's long name, then its arguments (as many as
		    * `arg` has words, "NAME MIN MAX"); rows with the same offset keep their order.
		    * Command line only */
	OPT_GROUP, /* no option: `help` is a heading in --help */
	OPT_END
};

struct opt_strings {
	const char **v;
	size_t n, cap;
};

enum opt_flags {
	OPT_SAFE = 0, /* may be set by any configuration file */
	OPT_NO_CWD = 1 << 0, /* never from ./wattlaw.ini: commands, libraries, sockets */
	OPT_NO_CONFIG = 1 << 1, /* command line only */
	OPT_REQUIRED = 1 << 2
};

struct opt {
	enum opt_type type;
	char short_name; /* 0 = none */
	const char *name;
	enum unit unit;
	size_t offset;
	const char *def; /* default as a user would write it, NULL = leave as initialised */
	int64_t min, max; /* inclusive, in base units; both 0 = no bound */
	const char *const *choices; /* NULL-terminated, for OPT_CHOICE */
	const char *arg; /* name of the argument in help: "FILE", "WATTS" */
	const char *help;
	unsigned flags;
};

/* Where a value came from, weakest first. */
enum opt_source {
	OPT_UNSET, /* still as the caller initialised it */
	OPT_FROM_DEFAULT,
	OPT_FROM_SITE_FILE,
	OPT_FROM_HOME_FILE,
	OPT_FROM_CWD_FILE,
	OPT_FROM_NAMED_FILE, /* WATTLAW_CONFIG */
	OPT_FROM_ENV,
	OPT_FROM_JOB_FILE,
	OPT_FROM_ARGV
};

struct ini;
struct ini_section;
struct opt_set; /* owns the strings it hands out */

/* One option set for one parse. Keep it as long as the values are used. */
struct opt_set *opt_set_new(void);
void opt_set_free(struct opt_set *s);

/* Fill dst from defaults, config files, environment and argv. section is the subcommand's name:
 * config keys are read from [section] and from the top of the file. *operand is the index of the
 * first operand (after "--" if there was one). `--help`/`-h` gives ST_CANCELLED with nothing set.
 * Lists in dst must be empty, or filled by s. After an error dst is partly filled. Errors name the
 * option, what was expected and the nearest valid name. */
enum status opt_parse(struct opt_set *s, const struct opt *table, const char *section, void *dst,
	int argc, char **argv, int *operand, struct err *e);

/* Take from a section of the job's file those keys that are options of the table last parsed, where
 * the command line did not speak, and mark them used; others are left for the caller. */
enum status opt_from_section(struct opt_set *s, const struct ini *ini, struct ini_section *sec,
	void *dst, struct err *e);

/* Where the value of that option came from in the last parse. */
enum opt_source opt_source(const struct opt_set *s, const char *name);

/* What each command shows: usage lines, a paragraph, the table. */
struct opt_help {
	const char *usage; /* "wattlaw run [options] -- CMD…" ; several lines allowed */
	const char *summary; /* one sentence */
	const char *more; /* paragraphs, examples, exit codes; may be NULL */
};
void opt_help(struct str *out, const struct opt_help *h, const struct opt *table);

/* Look an option up by its long name; NULL when unknown. */
const struct opt *opt_find(const struct opt *table, const char *name);

#endif
