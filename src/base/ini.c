/* ini.c: a line reader that knows where everything stands. */
#include "base/ini.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define FILE_MAX     ((size_t)64 << 20)
#define VALUE_MAX    ((size_t)1 << 20)
#define SECTIONS_MAX ((size_t)1 << 20)
#define ENTRIES_MAX  ((size_t)1 << 22)

/* '\r' too: lines may end in CRLF */
static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

/* A part of a line; the text it stands in is not NUL-terminated. */
struct span {
	const char *p;
	size_t n;
};

static struct span trim(struct span s)
{
	while (s.n && is_blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

static char *span_dup(struct span s)
{
	char *copy = mem_alloc(s.n + 1);

	if (!copy)
		return NULL;
	if (s.n)
		memcpy(copy, s.p, s.n);
	copy[s.n] = '\0';
	return copy;
}

static enum status no_memory(const char *file, struct err *e)
{
	return err_set(e, ST_NOMEM, "%s: out of memory", file);
}

static enum status section_add(
	struct ini *ini, struct span name, struct span arg, int line, struct err *e)
{
	void *p = ini->sections;
	struct ini_section *s;

	if (ini->n >= SECTIONS_MAX)
		return err_at(e, ini->file, line, 1, "more than %zu sections", SECTIONS_MAX);
	if (!mem_grow(&p, &ini->cap, ini->n + 1, sizeof(*s), SECTIONS_MAX))
		return no_memory(ini->file, e);
	ini->sections = p;
	s = &ini->sections[ini->n];
	*s = (struct ini_section){.name = span_dup(name), .arg = span_dup(arg), .line = line};
	if (!s->name || !s->arg) {
		mem_free(s->name);
		mem_free(s->arg);
		return no_memory(ini->file, e);
	}
	ini->n++;
	return ST_OK;
}

static enum status entry_add(struct ini *ini, const struct ini_entry *pos, struct span key,
	struct span value, struct err *e)
{
	struct ini_section *s = &ini->sections[ini->n - 1];
	void *p = s->entries;
	struct ini_entry *entry;

	if (s->n >= ENTRIES_MAX)
		return err_at(e, ini->file, pos->line, 1, "more than %zu keys in [%s]", ENTRIES_MAX,
			s->name);
	if (!mem_grow(&p, &s->cap, s->n + 1, sizeof(*entry), ENTRIES_MAX))
		return no_memory(ini->file, e);
	s->entries = p;
	entry = &s->entries[s->n];
	*entry = *pos;
	entry->key = span_dup(key);
	entry->value = span_dup(value);
	if (!entry->key || !entry->value) {
		mem_free(entry->key);
		mem_free(entry->value);
		return no_memory(ini->file, e);
	}
	s->n++;
	return ST_OK;
}

/* col of p, 1-based, in bytes */
static int column(const char *line, const char *p)
{
	return (int)(p - line) + 1;
}

static enum status read_header(
	struct ini *ini, const char *line, struct span t, int no, struct err *e)
{
	struct span name, arg;

	if (t.p[t.n - 1] != ']') {
		const char *close = memrchr(t.p, ']', t.n);

		if (!close)
			return err_at(e, ini->file, no, column(line, t.p + t.n),
				"expected ']' at the end of the section's name");
		return err_at(e, ini->file, no, column(line, close + 1),
			"expected nothing after ']'; comments are lines of their own");
	}
	name = trim((struct span){t.p + 1, t.n - 2});
	if (name.n == 0)
		return err_at(e, ini->file, no, column(line, t.p + 1),
			"expected the section's name, as in [sweep] or [job resnet18]");
	arg = name;
	while (arg.n && !is_blank(arg.p[0])) {
		arg.p++;
		arg.n--;
	}
	name.n -= arg.n;
	return section_add(ini, name, trim(arg), no, e);
}

static enum status read_line(struct ini *ini, struct span raw, int no, struct err *e)
{
	const char *nul = memchr(raw.p, '\0', raw.n);
	struct ini_entry pos = {.line = no};
	struct span t, key, value;
	const char *eq;

	if (nul)
		return err_at(e, ini->file, no, column(raw.p, nul),
			"a NUL byte: this is not a text file");
	t = trim(raw);
	if (t.n == 0 || t.p[0] == '#')
		return ST_OK;
	if (t.p[0] == '[')
		return read_header(ini, raw.p, t, no, e);
	eq = memchr(t.p, '=', t.n);
	if (!eq)
		return err_at(e, ini->file, no, column(raw.p, t.p),
			"expected 'key = value', '[section]' or '# comment', not '%.*s%s'",
			(int)(t.n > 40 ? 40 : t.n), t.p, t.n > 40 ? "..." : "");
	key = trim((struct span){t.p, (size_t)(eq - t.p)});
	if (key.n == 0)
		return err_at(e, ini->file, no, column(raw.p, eq), "expected a key before '='");
	value = trim((struct span){eq + 1, t.n - (size_t)(eq + 1 - t.p)});
	pos.key_col = column(raw.p, key.p);
	/* an empty value stands just after its '=' */
	pos.value_col = value.n ? column(raw.p, value.p) : column(raw.p, eq + 1);
	if (value.n > VALUE_MAX)
		return err_at(e, ini->file, no, pos.value_col, "a value of more than 1 MiB");
	return entry_add(ini, &pos, key, value, e);
}

enum status ini_read_text(
	struct ini *ini, const char *file, const char *text, size_t len, struct err *e)
{
	static const char bom[] = "\xef\xbb\xbf";
	const struct span nothing = {"", 0};
	enum status st;
	int no = 0;

	*ini = (struct ini){0};
	if (len > FILE_MAX)
		return err_at(e, file, 0, 0, "larger than %zu MiB", FILE_MAX >> 20);
	ini->file = mem_strdup(file);
	if (!ini->file)
		return no_memory(file, e);
	st = section_add(ini, nothing, nothing, 0, e);
	if (len >= 3 && !memcmp(text, bom, 3)) {
		text += 3;
		len -= 3;
	}
	while (!st && len) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl ? (size_t)(nl - text) : len;

		st = read_line(ini, (struct span){text, n}, ++no, e);
		n += nl != NULL;
		text += n;
		len -= n;
	}
	if (st)
		ini_release(ini);
	return st;
}

/* Everything to be read from fd; pipes are welcome, so the size is not asked first. */
static enum status read_all(int fd, const char *path, struct str *out, struct err *e)
{
	char buf[16384];
	ssize_t n;

	for (;;) {
		n = read(fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, errno, "cannot read %s", path);
		if (n == 0)
			return out->failed ? no_memory(path, e) : ST_OK;
		if (out->len + (size_t)n > FILE_MAX)
			return err_at(e, path, 0, 0, "larger than %zu MiB", FILE_MAX >> 20);
		str_addn(out, buf, (size_t)n);
	}
}

enum status ini_read_fd(struct ini *ini, int fd, const char *file, struct err *e)
{
	struct str text = STR_INIT;
	enum status st;

	*ini = (struct ini){0};
	st = read_all(fd, file, &text, e);
	if (!st)
		st = ini_read_text(ini, file, str_cstr(&text), text.len, e);
	str_release(&text);
	return st;
}

enum status ini_read_file(struct ini *ini, const char *path, struct err *e)
{
	enum status st;
	int fd;

	*ini = (struct ini){0};
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return file_unopened(e, errno, path, "an INI file");
	st = ini_read_fd(ini, fd, path, e);
	close(fd);
	return st;
}

void ini_release(struct ini *ini)
{
	for (size_t i = 0; i < ini->n; i++) {
		struct ini_section *s = &ini->sections[i];

		for (size_t j = 0; j < s->n; j++) {
			mem_free(s->entries[j].key);
			mem_free(s->entries[j].value);
		}
		mem_free(s->entries);
		mem_free(s->name);
		mem_free(s->arg);
	}
	mem_free(ini->sections);
	mem_free(ini->file);
	*ini = (struct ini){0};
}

struct ini_section *ini_section(struct ini *ini, const char *name, size_t nth)
{
	for (size_t i = 0; i < ini->n; i++)
		if (!strcmp(ini->sections[i].name, name) && nth-- == 0)
			return &ini->sections[i];
	return NULL;
}

struct ini_entry *ini_get(struct ini_section *s, const char *key)
{
	struct ini_entry *found = NULL;

	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->entries[i].key, key)) {
			found = &s->entries[i];
			found->used = true;
		}
	return found;
}

enum status ini_list(
	const struct ini *ini, const struct ini_entry *entry, struct ini_list *out, struct err *e)
{
	const char *p = entry->value;
	size_t n = 1, size = strlen(p);
	enum status st = ST_NOMEM;

	*out = (struct ini_list){0};
	for (const char *q = p; (q = strchr(q, ',')); q++)
		n++;
	out->items = mem_calloc(n, sizeof(*out->items));
	out->cols = mem_calloc(n, sizeof(*out->cols));
	if (!out->items || !out->cols)
		goto out;
	for (;;) {
		size_t len = strcspn(p, ",");
		struct span item = trim((struct span){p, len});
		int col = entry->value_col + (int)((item.n ? item.p : p) - entry->value);

		if (item.n == 0) {
			st = err_at(e, ini->file, entry->line, col,
				"expected a value %s a comma in the list '%s'",
				p[len] ? "before" : "after", entry->key);
			if (size == 0)
				err_at(e, ini->file, entry->line, col,
					"expected a list after '%s ='", entry->key);
			goto out;
		}
		out->items[out->n] = span_dup(item);
		if (!out->items[out->n])
			goto out;
		out->cols[out->n++] = col;
		if (!p[len])
			return ST_OK;
		p += len + 1;
	}
out:
	ini_list_release(out);
	return st == ST_NOMEM ? no_memory(ini->file, e) : st;
}

void ini_list_release(struct ini_list *l)
{
	for (size_t i = 0; l->items && i < l->n; i++)
		mem_free(l->items[i]);
	mem_free(l->items);
	mem_free(l->cols);
	*l = (struct ini_list){0};
}

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (words[i] && !strcmp(words[i], word))
			return true;
	return false;
}

enum status ini_reject_sections(
	const struct ini *ini, const char *const *known, size_t n_known, struct err *e)
{
	for (size_t i = 0; i < ini->n; i++) {
		const struct ini_section *s = &ini->sections[i];
		const char *near;

		if (s->name[0] == '\0' || is_one_of(s->name, known, n_known))
			continue;
		near = str_nearest(s->name, known, n_known);
		return err_at(e, ini->file, s->line, 1, "unknown section [%s]%s%s%s", s->name,
			near ? "; did you mean [" : "", near ? near : "", near ? "]?" : "");
	}
	return ST_OK;
}

static enum status reject(const struct ini *ini, const struct ini_section *s,
	const struct ini_entry *entry, const char *const *known, size_t n_known, struct err *e)
{
	const char *in = s->name[0] ? s->name : NULL, *near;

	if (is_one_of(entry->key, known, n_known))
		return err_at(e, ini->file, entry->line, entry->key_col,
			"key '%s' does not belong %s%s%s", entry->key, in ? "in [" : "",
			in ? in : "before the first section", in ? "]" : "");
	near = str_nearest(entry->key, known, n_known);
	return err_at(e, ini->file, entry->line, entry->key_col, "unknown key '%s' %s%s%s%s%s%s",
		entry->key, in ? "in [" : "", in ? in : "before the first section", in ? "]" : "",
		near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

enum status ini_reject_unused(
	const struct ini *ini, const char *const *known, size_t n_known, struct err *e)
{
	for (size_t i = 0; i < ini->n; i++)
		for (size_t j = 0; j < ini->sections[i].n; j++)
			if (!ini->sections[i].entries[j].used)
				return reject(ini, &ini->sections[i], &ini->sections[i].entries[j],
					known, n_known, e);
	return ST_OK;
}
