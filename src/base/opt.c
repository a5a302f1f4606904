/* opt.c: one table, four sources. Help is in opt_help.c. */
#include "base/opt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ini.h"
#include "base/mem.h"

#define LIST_MAX ((size_t)1 << 16)
#define ROWS_MAX 256

struct opt_set {
	char **strings;
	size_t n, cap;
	void **lists; /* the `v` arrays of every struct opt_strings we filled */
	size_t n_lists, cap_lists;
	const struct opt *table; /* of the last parse; borrowed */
	enum opt_source source[ROWS_MAX];
};

struct opt_set *opt_set_new(void)
{
	return mem_calloc(1, sizeof(struct opt_set));
}

void opt_set_free(struct opt_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		mem_free(s->strings[i]);
	for (size_t i = 0; i < s->n_lists; i++)
		mem_free(s->lists[i]);
	mem_free(s->strings);
	mem_free(s->lists);
	mem_free(s);
}

static const char *keep(struct opt_set *s, const char *text)
{
	void *p = s->strings;
	char *copy;

	if (!mem_grow(&p, &s->cap, s->n + 1, sizeof(char *), LIST_MAX))
		return NULL;
	s->strings = p;
	copy = mem_strdup(text);
	if (copy)
		s->strings[s->n++] = copy;
	return copy;
}

/* The set owns the array too: forget the old address, remember the new one. */
static bool list_grow(struct opt_set *s, struct opt_strings *l, size_t more)
{
	void *v = l->v, *p = s->lists;
	size_t i = 0;

	/* room for the address first: an array must never be without an owner */
	if (!mem_grow(&p, &s->cap_lists, s->n_lists + 1, sizeof(void *), LIST_MAX))
		return false;
	s->lists = p;
	while (i < s->n_lists && s->lists[i] != v)
		i++;
	if (!mem_grow(&v, &l->cap, l->n + more, sizeof(char *), LIST_MAX))
		return false;
	l->v = v;
	s->lists[i] = v;
	if (i == s->n_lists)
		s->n_lists++;
	return true;
}

static enum status list_add(
	struct opt_set *s, struct opt_strings *l, const char *const *texts, size_t n, struct err *e)
{
	if (!list_grow(s, l, n))
		return err_set(e, ST_NOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		l->v[l->n] = keep(s, texts[i]);
		if (!l->v[l->n])
			return err_set(e, ST_NOMEM, "out of memory");
		l->n++;
	}
	return ST_OK;
}

static bool is_option(const struct opt *o)
{
	return o->type != OPT_GROUP && o->type != OPT_END;
}

/* How many arguments: the words of its name in the help, "NAME MIN MAX". */
static size_t n_args(const struct opt *o)
{
	size_t n = 1;

	if (o->type == OPT_FLAG)
		return 0;
	if (o->type == OPT_PAIR2 && o->arg)
		for (const char *p = o->arg; (p = strchr(p, ' ')); p++)
			n++;
	return n;
}

/* '-' and '_' are the same in a name: power_limit in a file, --power-limit on the command line. */
static bool same_name(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char x = a[i] == '_' ? '-' : a[i], y = b[i] == '_' ? '-' : b[i];

		if (x != y)
			return false;
	}
	return b[n] == '\0';
}

static const struct opt *find_n(const struct opt *table, const char *name, size_t n)
{
	for (const struct opt *o = table; o->type != OPT_END; o++)
		if (is_option(o) && o->name && strlen(o->name) == n && same_name(name, o->name, n))
			return o;
	return NULL;
}

const struct opt *opt_find(const struct opt *table, const char *name)
{
	return find_n(table, name, strlen(name));
}

static const struct opt *find_short(const struct opt *table, char c)
{
	for (const struct opt *o = table; o->type != OPT_END; o++)
		if (is_option(o) && c && o->short_name == c)
			return o;
	return NULL;
}

/* ---- one value ---- */

static enum status out_of_range(const struct opt *o, const char *text, struct err *e)
{
	char lo[64], hi[64];

	unit_format(o->type == OPT_UNIT ? o->unit : UNIT_NONE, o->min, lo, sizeof(lo));
	unit_format(o->type == OPT_UNIT ? o->unit : UNIT_NONE, o->max, hi, sizeof(hi));
	if (o->max == INT64_MAX)
		return err_set(
			e, ST_RANGE, "%.80s is out of range; expected at least %s", text, lo);
	return err_set(e, ST_RANGE, "%.80s is out of range; expected %s to %s", text, lo, hi);
}

static enum status set_number(const struct opt *o, void *field, const char *text, struct err *e)
{
	bool bounded = o->min != 0 || o->max != 0;
	enum status st;
	int64_t v;

	if (o->type == OPT_DOUBLE) {
		double d;

		if (!str_to_double(text, &d))
			return err_set(
				e, ST_INVALID, "'%.80s' is not a number; write it as 0.95", text);
		if (bounded && (d < (double)o->min || d > (double)o->max))
			return out_of_range(o, text, e);
		*(double *)field = d;
		return ST_OK;
	}
	st = unit_parse(o->type == OPT_UNIT ? o->unit : UNIT_NONE, text, &v, e);
	if (st)
		return st;
	if (bounded && (v < o->min || v > o->max))
		return out_of_range(o, text, e);
	*(int64_t *)field = v;
	return ST_OK;
}

static enum status set_flag(bool *field, const char *text, struct err *e)
{
	static const char *const yes[] = {"true", "yes", "on", "1"}, *const no[] = {"false", "no",
									     "off", "0"};

	for (size_t i = 0; i < 4; i++) {
		if (!strcmp(text, yes[i]) || !strcmp(text, no[i])) {
			*field = !strcmp(text, yes[i]);
			return ST_OK;
		}
	}
	return err_set(e, ST_INVALID, "'%.80s' is not a switch; write it as yes or no", text);
}

static enum status set_choice(const struct opt *o, int *field, const char *text, struct err *e)
{
	struct str all = STR_INIT;
	const char *near;
	size_t n = 0;

	for (; o->choices[n]; n++) {
		if (!strcmp(o->choices[n], text)) {
			*field = (int)n;
			return ST_OK;
		}
	}
	for (size_t i = 0; i < n; i++)
		str_addf(&all, "%s%s", i ? ", " : "", o->choices[i]);
	near = str_nearest(text, o->choices, n);
	if (near)
		err_set(e, ST_INVALID, "'%.80s' is not one of %s; did you mean '%s'?", text,
			str_cstr(&all), near);
	else
		err_set(e, ST_INVALID, "'%.80s' is not one of %s", text, str_cstr(&all));
	str_release(&all);
	return ST_INVALID;
}

/* Put a value from one source into dst, unless a stronger source has already spoken. texts has
 * n_args(o) items, or one for a flag. */
static enum status set_value(struct opt_set *s, const struct opt *o, void *dst,
	const char *const *texts, enum opt_source from, struct err *e)
{
	enum opt_source *was = &s->source[o - s->table];
	void *field = (char *)dst + o->offset;
	struct opt_strings *list = field;
	enum status st = ST_OK;

	if (from < *was)
		return ST_OK;
	switch (o->type) {
	case OPT_FLAG:
		st = set_flag(field, texts[0], e);
		break;
	case OPT_INT:
	case OPT_UNIT:
	case OPT_DOUBLE:
		st = set_number(o, field, texts[0], e);
		break;
	case OPT_TEXT:
		*(const char **)field = keep(s, texts[0]);
		if (!*(const char **)field)
			st = err_set(e, ST_NOMEM, "out of memory");
		break;
	case OPT_CHOICE:
		st = set_choice(o, field, texts[0], e);
		break;
	case OPT_LIST:
		if (from > *was)
			list->n = 0; /* a stronger source replaces, one source appends */
		st = list_add(s, list, texts, 1, e);
		break;
	case OPT_PAIR2:
		st = list_add(s, list, &o->name, 1, e);
		if (!st)
			st = list_add(s, list, texts, n_args(o), e);
		break;
	case OPT_GROUP:
	case OPT_END:
		break;
	}
	if (!st)
		*was = from;
	return st;
}

/* ---- defaults, files, environment ---- */

static enum status from_defaults(struct opt_set *s, void *dst, struct err *e)
{
	for (const struct opt *o = s->table; o->type != OPT_END; o++) {
		enum status st;

		if (!is_option(o) || !o->def)
			continue;
		st = set_value(s, o, dst, &o->def, OPT_FROM_DEFAULT, e);
		if (st) {
			err_prefix(e, "default of --%s", o->name);
			return st;
		}
	}
	return ST_OK;
}

static enum status entry_set(struct opt_set *s, const struct ini *ini, struct ini_entry *entry,
	const struct opt *o, void *dst, enum opt_source from, struct err *e)
{
	struct err why = ERR_INIT;
	const char *text = entry->value;
	enum status st;

	entry->used = true;
	st = set_value(s, o, dst, &text, from, &why);
	if (!st)
		return ST_OK;
	err_at(e, ini->file, entry->line, entry->value_col, "%s: %s", entry->key, why.msg);
	if (e)
		e->st = st;
	return st;
}

enum status opt_from_section(
	struct opt_set *s, const struct ini *ini, struct ini_section *sec, void *dst, struct err *e)
{
	for (size_t i = 0; sec && s->table && i < sec->n; i++) {
		const struct opt *o = opt_find(s->table, sec->entries[i].key);
		enum status st;

		if (!o || (o->flags & OPT_NO_CONFIG) || o->type == OPT_PAIR2)
			continue;
		st = entry_set(s, ini, &sec->entries[i], o, dst, OPT_FROM_JOB_FILE, e);
		if (st)
			return st;
	}
	return ST_OK;
}

/* One section of a configuration file. `strict`: its keys are ours, so an unknown one is an error;
 * the top of the file may hold keys of other subcommands. */
static enum status config_section(struct opt_set *s, const struct ini *ini, struct ini_section *sec,
	void *dst, enum opt_source from, bool strict, struct err *e)
{
	for (size_t i = 0; i < sec->n; i++) {
		struct ini_entry *entry = &sec->entries[i];
		const struct opt *o = opt_find(s->table, entry->key);
		enum status st;

		if (!o) {
			const char *names[ROWS_MAX], *near;
			size_t n = 0;

			if (!strict)
				continue;
			for (const struct opt *k = s->table; k->type != OPT_END; k++)
				if (is_option(k))
					names[n++] = k->name;
			near = str_nearest(entry->key, names, n);
			return err_at(e, ini->file, entry->line, entry->key_col,
				"unknown key '%s' in [%s]%s%s%s", entry->key, sec->name,
				near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		}
		if (o->flags & OPT_NO_CONFIG || o->type == OPT_PAIR2) {
			if (!strict)
				continue;
			return err_at(e, ini->file, entry->line, entry->key_col,
				"'%s' can only be given on the command line", entry->key);
		}
		if (from == OPT_FROM_CWD_FILE && (o->flags & OPT_NO_CWD))
			return err_at(e, ini->file, entry->line, entry->key_col,
				"'%s' is not accepted from the working directory; put it into "
				"~/.config/wattlaw.ini",
				entry->key);
		st = entry_set(s, ini, entry, o, dst, from, e);
		if (st)
			return st;
	}
	return ST_OK;
}

/* Root does not obey a file that somebody else left in the working directory. */
static bool trusted(int fd, enum opt_source from)
{
	struct stat sb;

	if (from != OPT_FROM_CWD_FILE || geteuid() != 0)
		return true;
	return fstat(fd, &sb) == 0 && sb.st_uid == 0 && !(sb.st_mode & (S_IWGRP | S_IWOTH));
}

/* "[run]" for run, "[sim site]" for a part of a subcommand */
static bool section_is(const struct ini_section *sec, const char *want)
{
	size_t n = strlen(sec->name);

	if (strncmp(want, sec->name, n) != 0)
		return false;
	return want[n] == ' ' ? !strcmp(want + n + 1, sec->arg) : want[n] == '\0' && !sec->arg[0];
}

static enum status from_file(struct opt_set *s, const char *path, const char *section, void *dst,
	enum opt_source from, struct err *e)
{
	struct ini ini = {0};
	enum status st = ST_OK;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR) && from != OPT_FROM_NAMED_FILE)
		return ST_OK;
	if (fd < 0)
		return err_errno(e, errno, "cannot open %s", path);
	if (!trusted(fd, from))
		goto out;
	st = ini_read_fd(&ini, fd, path, e);
	if (st)
		goto out;
	st = config_section(s, &ini, &ini.sections[0], dst, from, false, e);
	for (size_t i = 1; !st && section && i < ini.n; i++)
		if (section_is(&ini.sections[i], section))
			st = config_section(s, &ini, &ini.sections[i], dst, from, true, e);
out:
	close(fd);
	ini_release(&ini);
	return st;
}

static enum status from_files(struct opt_set *s, const char *section, void *dst, struct err *e)
{
	const char *named = getenv("WATTLAW_CONFIG"), *home = getenv("HOME");
	struct str path = STR_INIT;
	enum status st;

	if (named)
		return *named ? from_file(s, named, section, dst, OPT_FROM_NAMED_FILE, e) : ST_OK;
	st = from_file(s, "/etc/wattlaw.ini", section, dst, OPT_FROM_SITE_FILE, e);
	if (!st && home && *home) {
		str_addf(&path, "%s/.config/wattlaw.ini", home);
		st = path.failed
			     ? err_set(e, ST_NOMEM, "out of memory")
			     : from_file(s, str_cstr(&path), section, dst, OPT_FROM_HOME_FILE, e);
		str_release(&path);
	}
	if (!st)
		st = from_file(s, "wattlaw.ini", section, dst, OPT_FROM_CWD_FILE, e);
	return st;
}

static enum status from_environment(struct opt_set *s, void *dst, struct err *e)
{
	for (const struct opt *o = s->table; o->type != OPT_END; o++) {
		char var[80] = "WATTLAW_";
		size_t n = strlen(var), len = is_option(o) ? strlen(o->name) : 0;
		const char *v;
		enum status st;

		if (!len || (o->flags & OPT_NO_CONFIG) || o->type == OPT_PAIR2 ||
			len + n >= sizeof(var))
			continue;
		for (size_t i = 0; i <= len; i++) {
			char c = o->name[i];

			var[n + i] = (char)(c == '-' ? '_' : c >= 'a' && c <= 'z' ? c - 32 : c);
		}
		v = getenv(var);
		if (!v)
			continue;
		st = set_value(s, o, dst, &v, OPT_FROM_ENV, e);
		if (st) {
			err_prefix(e, "%s", var);
			return st;
		}
	}
	return ST_OK;
}

/* ---- command line ---- */

/* Where the walk over argv stands. dst NULL: only look for --help. */
struct walk {
	struct opt_set *s;
	void *dst;
	int argc, i;
	char **argv;
};

static enum status take_args(
	struct walk *w, const struct opt *o, const char *shown, const char *attached, struct err *e)
{
	size_t need = n_args(o), have = 0;
	const char *texts[8];
	enum status st;

	if (need > sizeof(texts) / sizeof(texts[0]))
		return err_set(e, ST_INVALID, "%s takes too many arguments", shown);
	if (attached)
		texts[have++] = attached;
	while (have < need && w->i + 1 < w->argc)
		texts[have++] = w->argv[++w->i];
	if (have < need)
		return err_set(e, ST_INVALID, "%s needs %s%s", shown, need > 1 ? "" : "a value: ",
			o->arg ? o->arg : unit_name(o->type == OPT_UNIT ? o->unit : UNIT_NONE));
	if (!w->dst)
		return ST_OK;
	st = set_value(w->s, o, w->dst, texts, OPT_FROM_ARGV, e);
	if (st)
		err_prefix(e, "%s", shown);
	return st;
}

static enum status take_flag(
	struct walk *w, const struct opt *o, const char *shown, bool on, struct err *e)
{
	const char *text = on ? "yes" : "no";

	(void)shown;
	return w->dst ? set_value(w->s, o, w->dst, &text, OPT_FROM_ARGV, e) : ST_OK;
}

static enum status unknown_long(const struct walk *w, const char *word, size_t n, struct err *e)
{
	const char *names[ROWS_MAX + 1], *near;
	char name[128];
	size_t count = 0;

	snprintf(name, sizeof(name), "%.*s", (int)(n < 120 ? n : 120), word);
	for (const struct opt *o = w->s->table; o->type != OPT_END; o++)
		if (is_option(o))
			names[count++] = o->name;
	names[count++] = "help";
	near = str_nearest(name, names, count);
	return err_set(e, ST_INVALID, "unknown option --%s%s%s%s", name,
		near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

static enum status walk_long(struct walk *w, const char *arg, struct err *e)
{
	const char *word = arg + 2, *eq = strchr(word, '=');
	size_t n = eq ? (size_t)(eq - word) : strlen(word);
	const struct opt *o = find_n(w->s->table, word, n);
	char shown[128];

	if (!o && !eq && !strcmp(word, "help"))
		return ST_CANCELLED;
	if (!o && n > 3 && !strncmp(word, "no-", 3)) {
		o = find_n(w->s->table, word + 3, n - 3);
		if (o && o->type == OPT_FLAG && !eq)
			return take_flag(w, o, arg, false, e);
		o = NULL;
	}
	if (!o)
		return unknown_long(w, word, n, e);
	snprintf(shown, sizeof(shown), "--%s", o->name);
	if (o->type != OPT_FLAG)
		return take_args(w, o, shown, eq ? eq + 1 : NULL, e);
	if (eq)
		return err_set(e, ST_INVALID, "%s takes no value; write %s or --no-%s", shown,
			shown, o->name);
	return take_flag(w, o, shown, true, e);
}

/* "-q", "-qv", "-n5", "-n 5" */
static enum status walk_short(struct walk *w, const char *arg, struct err *e)
{
	for (const char *p = arg + 1; *p; p++) {
		const struct opt *o = find_short(w->s->table, *p);
		char shown[3] = {'-', *p, '\0'};
		enum status st;

		if (!o && *p == 'h')
			return ST_CANCELLED;
		if (!o)
			return err_set(e, ST_INVALID,
				"unknown option %s; --help lists the options, '--' ends them",
				shown);
		if (o->type != OPT_FLAG)
			return take_args(w, o, shown, p[1] ? p + 1 : NULL, e);
		st = take_flag(w, o, shown, true, e);
		if (st)
			return st;
	}
	return ST_OK;
}

static enum status walk(struct walk *w, struct err *e)
{
	for (w->i = 1; w->i < w->argc; w->i++) {
		const char *arg = w->argv[w->i];
		enum status st;

		if (arg[0] != '-' || arg[1] == '\0')
			break;
		if (!strcmp(arg, "--")) {
			w->i++;
			break;
		}
		st = arg[1] == '-' ? walk_long(w, arg, e) : walk_short(w, arg, e);
		if (st)
			return st;
	}
	return ST_OK;
}

static enum status check_required(const struct opt_set *s, struct err *e)
{
	for (const struct opt *o = s->table; o->type != OPT_END; o++)
		if (is_option(o) && (o->flags & OPT_REQUIRED) &&
			s->source[o - s->table] == OPT_UNSET)
			return err_set(e, ST_INVALID, "--%s is required", o->name);
	return ST_OK;
}

enum status opt_parse(struct opt_set *s, const struct opt *table, const char *section, void *dst,
	int argc, char **argv, int *operand, struct err *e)
{
	struct walk w = {.s = s, .argc = argc, .argv = argv};
	size_t rows = 0;
	enum status st;

	while (table[rows].type != OPT_END)
		rows++;
	if (rows >= ROWS_MAX)
		return err_set(e, ST_RANGE, "more than %d options in a table", ROWS_MAX);
	s->table = table;
	memset(s->source, 0, sizeof(s->source));
	/* help works even where a file or an earlier argument is wrong */
	if (walk(&w, NULL) == ST_CANCELLED)
		return ST_CANCELLED;
	st = from_defaults(s, dst, e);
	if (!st)
		st = from_files(s, section, dst, e);
	if (!st)
		st = from_environment(s, dst, e);
	w.dst = dst;
	if (!st)
		st = walk(&w, e);
	if (!st)
		st = check_required(s, e);
	if (operand)
		*operand = w.i < argc ? w.i : argc;
	return st;
}

enum opt_source opt_source(const struct opt_set *s, const char *name)
{
	const struct opt *o = s->table ? opt_find(s->table, name) : NULL;

	return o ? s->source[o - s->table] : OPT_UNSET;
}
