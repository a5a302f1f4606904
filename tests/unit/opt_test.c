#include "tap.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/ini.h"
#include "base/mem.h"
#include "base/opt.h"

struct values {
	bool quiet, color;
	int64_t repeats, power_mw, min_time_ns;
	double level;
	const char *db, *library;
	int order;
	struct opt_strings tags, axes;
};

static const char *const orders[] = {"given", "random", NULL};

#define AT(field) offsetof(struct values, field)

static const struct opt table[] = {
	{.type = OPT_FLAG,
		.short_name = 'q',
		.name = "quiet",
		.offset = AT(quiet),
		.help = "say less"},
	{.type = OPT_FLAG, .name = "color", .offset = AT(color), .def = "yes", .help = "colours"},
	{.type = OPT_INT,
		.short_name = 'r',
		.name = "repeats",
		.offset = AT(repeats),
		.def = "3",
		.min = 1,
		.max = 1000,
		.arg = "N",
		.help = "launches of every point"},
	{.type = OPT_GROUP, .help = "Limits"},
	{.type = OPT_UNIT,
		.short_name = 'p',
		.name = "power-limit",
		.unit = UNIT_POWER,
		.offset = AT(power_mw),
		.min = 1000,
		.max = 2000000,
		.arg = "WATTS",
		.help = "power limit of every device"},
	{.type = OPT_UNIT,
		.name = "min-time",
		.unit = UNIT_TIME,
		.offset = AT(min_time_ns),
		.def = "2s",
		.help = "shortest time at a setting, which is long enough to need "
			"a second line in the help"},
	{.type = OPT_DOUBLE,
		.name = "level",
		.offset = AT(level),
		.def = "0.95",
		.min = 0,
		.max = 1,
		.help = "confidence"},
	{.type = OPT_TEXT,
		.name = "db",
		.offset = AT(db),
		.def = "wattlaw.db",
		.arg = "FILE",
		.help = "the store"},
	{.type = OPT_TEXT,
		.name = "library",
		.offset = AT(library),
		.flags = OPT_NO_CWD,
		.help = "vendor library"},
	{.type = OPT_CHOICE,
		.name = "order",
		.offset = AT(order),
		.def = "random",
		.choices = orders,
		.help = "order of the points"},
	{.type = OPT_LIST, .short_name = 't', .name = "tag", .offset = AT(tags), .help = "a tag"},
	{.type = OPT_PAIR2,
		.short_name = 'L',
		.name = "list",
		.offset = AT(axes),
		.arg = "NAME=A,B",
		.help = "an axis"},
	{.type = OPT_PAIR2,
		.short_name = 'P',
		.name = "scan",
		.offset = AT(axes),
		.arg = "NAME MIN MAX",
		.help = "an axis"},
	{.type = OPT_END},
};

static struct opt_set *set;
static struct values v;
static struct err e;
static int operand;

/* Parse a command line given as words separated by single blanks. */
static enum status parse(const char *line)
{
	static char buf[512];
	char *argv[64], *p = buf;
	int argc = 0;

	snprintf(buf, sizeof(buf), "cmd %s", line);
	for (char *word; (word = strsep(&p, " "));)
		if (*word)
			argv[argc++] = word;
	argv[argc] = NULL;
	opt_set_free(set);
	set = opt_set_new();
	memset(&v, 0, sizeof(v));
	e = ERR_INIT;
	operand = -1;
	return opt_parse(set, table, "cmd", &v, argc, argv, &operand, &e);
}

static void test_values(void)
{
	is_int(parse(""), ST_OK, "an empty command line is fine");
	is_int(operand, 1, "its operand would be the first word");
	ok(v.repeats == 3 && v.min_time_ns == 2000000000 && v.level == 0.95 && v.order == 1 &&
			v.color,
		"defaults are read as a user would write them");
	is_str(v.db, "wattlaw.db", "text default");
	is_int(opt_source(set, "repeats"), OPT_FROM_DEFAULT, "the source of a default");
	is_int(opt_source(set, "power_limit"), OPT_UNSET, "no default, no source");

	is_int(parse("-q -r5 --power-limit 200W --min-time=100ms --level .5 --db=x --order given "
		     "--no-color -- job -r 9"),
		ST_OK, "short, long, joined and separate arguments");
	ok(v.quiet && v.repeats == 5 && v.power_mw == 200000 && v.min_time_ns == 100000000 &&
			v.level == 0.5 && v.order == 0 && !v.color,
		"all values arrive");
	is_int(operand, 10 + 3, "the operand is after --");
	is_int(opt_source(set, "repeats"), OPT_FROM_ARGV, "the source of an argument");
	is_int(parse("-qr 7 file -r 8"), ST_OK, "a flag and an option in one word");
	ok(v.repeats == 7 && operand == 3, "parsing stops at the first operand");
	is_int(parse("--power_limit 1kW -"), ST_OK, "an underscore is a hyphen");
	ok(v.power_mw == 1000000 && operand == 3, "a lone - is an operand");
	is_int(parse("-r 1 -r 2"), ST_OK, "an option twice");
	is_int(v.repeats, 2, "the last one counts");
}

static void test_lists(void)
{
	is_int(parse("-t a --tag=b -L batch=1,2 -P cap 100 250 -L x=y -t c"), ST_OK, "lists");
	ok(v.tags.n == 3 && !strcmp(v.tags.v[0], "a") && !strcmp(v.tags.v[2], "c"),
		"keep their order");
	ok(v.axes.n == 8 && !strcmp(v.axes.v[0], "list") && !strcmp(v.axes.v[1], "batch=1,2") &&
			!strcmp(v.axes.v[2], "scan") && !strcmp(v.axes.v[5], "250") &&
			!strcmp(v.axes.v[6], "list"),
		"options that share a list keep their names and arguments in order");
	is_int(parse("-P cap 100"), ST_INVALID, "too few arguments");
	has(e.msg, "-P needs NAME MIN MAX", "says which");
}

static void refused(const char *line, enum status st, const char *want)
{
	enum status got = parse(line);

	ok(got == st && strstr(e.msg, want), "'%s' is refused with: %s", line, want);
	if (got != st || !strstr(e.msg, want))
		printf("# got %s: %s\n", status_name(got), e.msg);
}

static void test_refused(void)
{
	refused("--repeets 3", ST_INVALID, "unknown option --repeets; did you mean --repeats?");
	refused("--xyzzy", ST_INVALID, "unknown option --xyzzy");
	refused("-z", ST_INVALID, "unknown option -z");
	refused("--repeats", ST_INVALID, "--repeats needs a value: N");
	refused("--repeats 0", ST_RANGE, "--repeats: 0 is out of range; expected 1 to 1000");
	refused("--repeats x", ST_INVALID, "--repeats: 'x' is not a whole number");
	refused("-p 3kW", ST_RANGE, "-p: 3kW is out of range; expected 1W to 2kW");
	refused("-p 3parsec", ST_INVALID, "write it as 200W");
	refused("--level 2", ST_RANGE, "--level: 2 is out of range");
	refused("--level x", ST_INVALID, "is not a number");
	refused("--order rndom", ST_INVALID, "is not one of given, random; did you mean 'random'?");
	refused("--quiet=yes", ST_INVALID, "--quiet takes no value");
	refused("--no-repeats", ST_INVALID, "unknown option --no-repeats");
	is_int(parse("--bogus --help"), ST_INVALID, "an error before --help is an error");
	is_int(parse("--repeats 0 --help"), ST_CANCELLED, "--help is found after a bad value");
	is_int(v.repeats, 0, "and nothing is set");
	is_int(parse("-qh"), ST_CANCELLED, "-h is help");
	is_int(parse("-- --help"), ST_OK, "--help after -- belongs to the job");
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static void test_files(void)
{
	char dir[] = "/tmp/opt_test_XXXXXX", cwd[4096];

	if (!getcwd(cwd, sizeof(cwd)) || !mkdtemp(dir) || chdir(dir)) {
		ok(false, "a directory of our own");
		return;
	}
	mkdir("home", 0755);
	mkdir("home/.config", 0755);
	setenv("HOME", "home", 1);
	unsetenv("WATTLAW_CONFIG");
	write_file("home/.config/wattlaw.ini",
		"db = home.db\nrepeats = 4\nother_command = 1\n"
		"[cmd]\nlevel = 0.5\ntag = h1\ntag = h2\n"
		"[else]\nrepeats = nonsense\n[cmd part]\nrepeats = nonsense\n");
	write_file("wattlaw.ini", "[cmd]\nrepeats = 5\nquiet = on\ntag = c1\n");
	is_int(parse(""), ST_OK, "configuration files are read");
	ok(v.repeats == 5 && v.quiet && v.level == 0.5 && !strcmp(v.db, "home.db"),
		"the working directory wins over home, both over defaults");
	ok(v.tags.n == 1 && !strcmp(v.tags.v[0], "c1"), "a stronger file replaces a list");
	is_int(opt_source(set, "db"), OPT_FROM_HOME_FILE, "the source of a file's value");
	setenv("WATTLAW_REPEATS", "6", 1);
	setenv("WATTLAW_POWER_LIMIT", "300", 1);
	parse("");
	ok(v.repeats == 6 && v.power_mw == 300000, "the environment wins over files");
	parse("-r 7 -t x");
	ok(v.repeats == 7 && v.tags.n == 1 && !strcmp(v.tags.v[0], "x"),
		"the command line wins over all");
	setenv("WATTLAW_REPEATS", "many", 1);
	refused("", ST_INVALID, "WATTLAW_REPEATS: 'many' is not a whole number");
	unsetenv("WATTLAW_REPEATS");
	unsetenv("WATTLAW_POWER_LIMIT");

	write_file("wattlaw.ini", "[cmd]\nlibrary = /tmp/evil.so\n");
	refused("", ST_INVALID,
		"wattlaw.ini:2:1: 'library' is not accepted from the working directory");
	write_file("wattlaw.ini", "[cmd]\nrepeets = 1\n");
	refused("", ST_INVALID,
		"wattlaw.ini:2:1: unknown key 'repeets' in [cmd]; did you mean 'repeats'?");
	write_file("wattlaw.ini", "repeats = 0\n");
	refused("", ST_RANGE, "wattlaw.ini:1:11: repeats: 0 is out of range");
	write_file("wattlaw.ini", "[cmd]\nlist = x=1\n");
	refused("", ST_INVALID, "wattlaw.ini:2:1: 'list' can only be given on the command line");
	if (geteuid() == 0 && chmod("wattlaw.ini", 0666) == 0)
		is_int(parse(""), ST_OK, "root ignores a file that others may write");
	else
		tap_skip(1, "not root");
	setenv("WATTLAW_CONFIG", "named.ini", 1);
	refused("", ST_NOT_FOUND, "cannot open named.ini");
	write_file("named.ini", "[cmd]\nlibrary = /usr/lib/l.so\n");
	is_int(parse(""), ST_OK, "WATTLAW_CONFIG names the file to read");
	ok(v.library && !strcmp(v.library, "/usr/lib/l.so") && v.repeats == 3,
		"in place of all others");
	setenv("WATTLAW_CONFIG", "", 1);
	is_int(parse(""), ST_OK, "an empty WATTLAW_CONFIG reads none");
	ok(!v.library && v.repeats == 3, "so only defaults remain");

	unlink("named.ini");
	unlink("wattlaw.ini");
	unlink("home/.config/wattlaw.ini");
	rmdir("home/.config");
	rmdir("home");
	if (chdir(cwd) || rmdir(dir))
		printf("# %s not removed\n", dir);
}

static void test_job_file(void)
{
	const char *text = "[sweep]\nrepeats = 9\nmin_time = 5s\nname = x\nlevel = 7\n";
	struct ini ini;

	ini_read_text(&ini, "s.ini", text, strlen(text) - strlen("level = 7\n"), &e);
	parse("-r 2");
	is_int(opt_from_section(set, &ini, ini_section(&ini, "sweep", 0), &v, &e), ST_OK,
		"a job file may set options");
	ok(v.repeats == 2 && v.min_time_ns == 5000000000, "where the command line did not");
	ok(ini.sections[1].entries[0].used && !ini.sections[1].entries[2].used,
		"options are marked used, other keys are left");
	ini_release(&ini);
	ini_read_text(&ini, "s.ini", text, strlen(text), &e);
	is_int(opt_from_section(set, &ini, ini_section(&ini, "sweep", 0), &v, &e), ST_RANGE,
		"a bad value is refused");
	has(e.msg, "s.ini:5:9: level: 7 is out of range", "with file, line and column");
	ini_release(&ini);
}

static void test_help(void)
{
	const struct opt_help h = {.usage = "wattlaw cmd [options] -- CMD...\nwattlaw cmd FILE",
		.summary = "Does it.",
		.more = "Exit codes: 0."};
	struct str s = STR_INIT;
	bool narrow = true;

	opt_help(&s, &h, table);
	has(s.p, "usage: wattlaw cmd [options] -- CMD...\n       wattlaw cmd FILE\n",
		"usage lines");
	has(s.p, "\n  -r, --repeats N             launches of every point [3]\n",
		"one row an option");
	has(s.p, "\n      --no-color ", "a flag that is on shows how to clear it");
	has(s.p, "\nLimits:\n  -p, --power-limit WATTS ", "groups are headings");
	has(s.p, "order of the points: given, random [random]", "choices and default");
	has(s.p, "-P, --scan NAME MIN MAX", "several arguments");
	has(s.p, "  -h, --help", "help itself");
	for (const char *p = s.p; *p;) {
		size_t n = strcspn(p, "\n");

		narrow &= n <= 80;
		p += n + (p[n] != 0);
	}
	ok(narrow, "no line is wider than 80 columns");
	str_release(&s);
	ok(opt_find(table, "power_limit") == opt_find(table, "power-limit") &&
			opt_find(table, "power-limit"),
		"opt_find takes both spellings");
	ok(!opt_find(table, "Limits"), "a heading is no option");
}

static void test_required(void)
{
	static const struct opt need[] = {{.type = OPT_TEXT,
						  .name = "db",
						  .offset = AT(db),
						  .flags = OPT_REQUIRED,
						  .help = "x"},
		{.type = OPT_END}};
	struct opt_set *s = opt_set_new();
	char *argv[] = {"cmd", "--db", "x", NULL};

	is_int(opt_parse(s, need, NULL, &v, 1, argv, NULL, &e), ST_INVALID, "a required option");
	is_str(e.msg, "--db is required", "is asked for");
	is_int(opt_parse(s, need, NULL, &v, 3, argv, NULL, &e), ST_OK, "and taken");
	opt_set_free(s);
}

static void test_no_memory(void)
{
	bool clean = true;
	unsigned n = 0;

	do {
		enum status st;

		/* the first allocation is the set itself */
		fault_arm("alloc", ++n + 1);
		st = parse("-t a -t b -L x=1 -P c 1 2 --db y");
		clean &= fault_fired() ? st == ST_NOMEM : st == ST_OK;
	} while (fault_fired() && n < 1000);
	fault_arm("alloc", 0);
	ok(clean && n > 8 && n < 1000, "each of %u allocations may fail, and says so", n - 1);
}

int main(void)
{
	setenv("WATTLAW_CONFIG", "", 1);
	test_values();
	test_lists();
	test_refused();
	test_files();
	test_job_file();
	test_help();
	test_required();
	test_no_memory();
	opt_set_free(set);
	return tap_done();
}
