#include "tap.h"

#include <unistd.h>

#include "base/ini.h"
#include "base/mem.h"

static enum status read_str(struct ini *ini, const char *text, struct err *e)
{
	return ini_read_text(ini, "f.ini", text, strlen(text), e);
}

static void test_reads(void)
{
	struct ini ini;
	struct err e = ERR_INIT;
	struct ini_section *s;
	struct ini_entry *v;

	is_int(read_str(&ini,
		       "\xef\xbb\xbf# comment\r\n"
		       "top = 1\r\n"
		       "\r\n"
		       "[sweep]\r\n"
		       "  name =  first sweep # not a comment; kept  \r\n"
		       "workers = 1, 2\n"
		       "[job resnet18]\n"
		       "command = a = b\n"
		       "command = c\n"
		       "[job  bert base ]\n"
		       "at 3s nvmlX = LOST\n"
		       "empty =",
		       &e),
		ST_OK, "a file with BOM, CRLF, comments and no last newline is read");
	is_int(ini.n, 4, "sections are kept apart");
	v = ini_get(&ini.sections[0], "top");
	is_str(v ? v->value : NULL, "1", "keys before the first header are in the section \"\"");
	s = ini_section(&ini, "sweep", 0);
	v = ini_get(s, "name");
	is_str(v ? v->value : NULL, "first sweep # not a comment; kept",
		"a value runs to the end of its line");
	is_int(v ? v->line : 0, 5, "the line is known");
	is_int(v ? v->key_col : 0, 3, "the column of the key");
	is_int(v ? v->value_col : 0, 11, "the column of the value");
	s = ini_section(&ini, "job", 0);
	is_str(s ? s->arg : NULL, "resnet18", "the section's argument");
	v = ini_get(s, "command");
	is_str(v ? v->value : NULL, "c", "of several entries the last counts");
	ok(s && s->entries[0].used, "asking for a key uses all its entries");
	is_str(s ? s->entries[0].value : NULL, "a = b", "'=' in a value is kept");
	s = ini_section(&ini, "job", 1);
	is_str(s ? s->arg : NULL, "bert base", "an argument may have blanks inside");
	v = ini_get(s, "at 3s nvmlX");
	is_str(v ? v->value : NULL, "LOST", "a key may have blanks inside");
	v = ini_get(s, "empty");
	is_str(v ? v->value : NULL, "", "a value may be empty");
	ok(!ini_section(&ini, "job", 2), "there is no third job");
	ok(!ini_get(s, "nothing") && !ini_get(NULL, "x"), "a missing key is NULL");
	ini_release(&ini);
}

static void test_refuses(void)
{
	static const struct {
		const char *text, *want, *what;
	} t[] = {
		{"a = 1\n  nonsense\n", "f.ini:2:3: expected 'key = value'", "a line without '='"},
		{"a = 1\n = 2\n", "f.ini:2:2: expected a key", "a missing key"},
		{"[sweep\n", "f.ini:1:7: expected ']'", "an open header"},
		{"[sweep] x\n", "f.ini:1:8: expected nothing after ']'", "text after a header"},
		{"[ ]\n", "f.ini:1:2: expected the section's name", "a header without name"},
		{"[job a\nb = 1\n", "f.ini:1:7: expected ']'", "an open header with argument"},
	};
	struct ini ini;
	struct err e = ERR_INIT;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ok(read_str(&ini, t[i].text, &e) == ST_INVALID && ini.n == 0, "%s is refused",
			t[i].what);
		has(e.msg, t[i].want, "with file, line and column");
	}
	is_int(ini_read_text(&ini, "f.ini", "a = 1\nb = \0x\n", 13, &e), ST_INVALID,
		"a NUL byte is refused");
	has(e.msg, "f.ini:2:5: a NUL byte", "with its place");
	is_int(ini_read_file(&ini, "/nonexistent/x.ini", &e), ST_NOT_FOUND, "a missing file");
	has(e.msg, "/nonexistent/x.ini: No such file", "is named");
	ok(ini_read_file(&ini, "/", &e) != ST_OK, "a directory is refused");
	has(e.msg, "cannot read /: ", "and named");
}

static void test_long_value(void)
{
	size_t n = ((size_t)1 << 20) + 5;
	char *text = malloc(n + 2);
	struct ini ini;
	struct err e = ERR_INIT;

	memset(text, 'x', n + 1);
	text[1] = '=';
	is_int(ini_read_text(&ini, "f", text, n - 3, &e), ST_OK, "a value of 1 MiB is read");
	is_int(strlen(ini.sections[0].entries[0].value), n - 5, "whole");
	ini_release(&ini);
	is_int(ini_read_text(&ini, "f", text, n, &e), ST_INVALID, "a longer one is refused");
	free(text);
}

static void test_list(void)
{
	struct ini ini;
	struct ini_list l;
	struct err e = ERR_INIT;

	read_str(&ini, "a = 1,  22 ,x y\nb = 1,,2\nc = 1,\nd =\n", &e);
	is_int(ini_list(&ini, ini_get(&ini.sections[0], "a"), &l, &e), ST_OK, "a list is split");
	ok(l.n == 3 && !strcmp(l.items[0], "1") && !strcmp(l.items[1], "22") &&
			!strcmp(l.items[2], "x y"),
		"items are trimmed");
	ok(l.n == 3 && l.cols[0] == 5 && l.cols[1] == 9 && l.cols[2] == 13,
		"their columns are known");
	ini_list_release(&l);
	is_int(ini_list(&ini, ini_get(&ini.sections[0], "b"), &l, &e), ST_INVALID,
		"an empty item is refused");
	has(e.msg, "f.ini:2:7: expected a value before a comma in the list 'b'", "with its column");
	ini_list(&ini, ini_get(&ini.sections[0], "c"), &l, &e);
	has(e.msg, "f.ini:3:7: expected a value after a comma", "a comma at the end is refused");
	ini_list(&ini, ini_get(&ini.sections[0], "d"), &l, &e);
	has(e.msg, "f.ini:4:4: expected a list after 'd ='", "an empty list is refused");
	ini_release(&ini);
}

static void test_unused(void)
{
	static const char *const keys[] = {"repeats", "name", "command"};
	static const char *const sections[] = {"sweep", "job"};
	struct ini ini;
	struct err e = ERR_INIT;

	read_str(&ini, "[sweep]\nname = x\nrepeets = 2\n", &e);
	ini_get(ini_section(&ini, "sweep", 0), "name");
	is_int(ini_reject_unused(&ini, keys, 3, &e), ST_INVALID,
		"a key nobody asked for is refused");
	is_str(e.msg, "f.ini:3:1: unknown key 'repeets' in [sweep]; did you mean 'repeats'?",
		"with its place and the nearest valid key");
	ini.sections[1].entries[1].used = true;
	is_int(ini_reject_unused(&ini, keys, 3, &e), ST_OK, "when all are used nothing is refused");
	ini_release(&ini);
	read_str(&ini, "command = x\n[swep]\n", &e);
	ini_reject_unused(&ini, keys, 3, &e);
	is_str(e.msg, "f.ini:1:1: key 'command' does not belong before the first section",
		"a valid key in the wrong section is told apart");
	ini_reject_sections(&ini, sections, 2, &e);
	is_str(e.msg, "f.ini:2:1: unknown section [swep]; did you mean [sweep]?",
		"an unknown section is refused");
	ini_release(&ini);
	read_str(&ini, "[xyzzy]\nplugh = 1\n", &e);
	ini_reject_unused(&ini, keys, 3, &e);
	is_str(e.msg, "f.ini:2:1: unknown key 'plugh' in [xyzzy]",
		"nothing near, nothing suggested");
	ini_release(&ini);
}

/* Every allocation of reading and splitting fails once; nothing leaks (sanitizers see to that). */
static void test_no_memory(void)
{
	const char *text = "a = 1\n[s x]\nb = 1, 2\n[t]\n";
	bool clean = true;
	unsigned n = 0;

	do {
		struct ini ini;
		struct ini_list l;
		struct err e = ERR_INIT;
		enum status st;

		fault_arm("alloc", ++n);
		st = read_str(&ini, text, &e);
		if (!st) {
			st = ini_list(&ini, ini_get(ini_section(&ini, "s", 0), "b"), &l, &e);
			if (!st)
				ini_list_release(&l);
			ini_release(&ini);
		}
		clean &= fault_fired() ? st == ST_NOMEM && e.st == ST_NOMEM : st == ST_OK;
	} while (fault_fired() && n < 1000);
	fault_arm("alloc", 0);
	ok(clean && n > 10 && n < 1000, "each of %u allocations may fail, and says so", n - 1);
}

static void test_file(void)
{
	char path[] = "/tmp/ini_test_XXXXXX";
	int fd = mkstemp(path);
	struct ini ini;
	struct err e = ERR_INIT;

	ok(fd >= 0 && write(fd, "[a]\nb = c\n", 10) == 10, "a file is written");
	is_int(ini_read_file(&ini, path, &e), ST_OK, "and read");
	is_str(ini.file, path, "its name is kept for messages");
	ok(ini_get(ini_section(&ini, "a", 0), "b") != NULL, "its keys are there");
	ini_release(&ini);
	close(fd);
	unlink(path);
}

int main(void)
{
	test_reads();
	test_refuses();
	test_long_value();
	test_list();
	test_unused();
	test_no_memory();
	test_file();
	return tap_done();
}
