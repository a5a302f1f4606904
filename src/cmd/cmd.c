/* cmd.c: the frame around every subcommand. */
#include "cmd/cmd.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

#define PROGRAM "wattlaw"

static const char *command_name; /* "" between main and the subcommand */
static bool quiet;
/* stderr belongs to who holds this: a message may come from any thread while the bar is drawn */
static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bar *bar;

bool cmd_color(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(fd);
}

/* Write one line to stderr in one call, so that lines of several processes do not mix. */
static void say(const char *weight, const char *color, const char *subject, const char *text)
{
	struct str s = STR_INIT;
	bool colored = weight && cmd_color(STDERR_FILENO);

	pthread_mutex_lock(&out_lock);
	if (bar)
		bar_clear(bar, &s);
	str_add(&s, PROGRAM);
	if (command_name && *command_name)
		str_addf(&s, " %s", command_name);
	str_add(&s, ": ");
	if (weight)
		str_addf(&s, "%s%s:%s ", colored ? color : "", weight, colored ? "\x1b[0m" : "");
	if (subject)
		str_addf(&s, "[%s] ", subject);
	str_addf(&s, "%s\n", text);
	if (s.failed)
		fputs(PROGRAM ": out of memory\n", stderr);
	else
		fwrite(s.p, 1, s.len, stderr);
	fflush(stderr);
	pthread_mutex_unlock(&out_lock);
	str_release(&s);
}

#define RED    "\x1b[1;31m"
#define YELLOW "\x1b[1;33m"

static void log_to_stderr(void *arg, enum log_level level, const char *subject, const char *msg)
{
	(void)arg;
	switch (level) {
	case LOG_ERROR:
		say("error", RED, NULL, msg);
		break;
	case LOG_WARN:
		say("warning", YELLOW, NULL, msg);
		break;
	case LOG_INFO:
		if (!quiet)
			say(NULL, NULL, NULL, msg);
		break;
	case LOG_DEBUG:
		say("debug", "\x1b[2m", subject, msg);
		break;
	}
}

__attribute__((format(printf, 3, 0))) static void vsay(
	const char *weight, const char *color, const char *fmt, va_list ap)
{
	char text[2048];

	vsnprintf(text, sizeof(text), fmt, ap);
	say(weight, color, NULL, text);
}

void cmd_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay("error", RED, fmt, ap);
	va_end(ap);
}

void cmd_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay("warning", YELLOW, fmt, ap);
	va_end(ap);
}

void cmd_note(const char *fmt, ...)
{
	va_list ap;

	if (quiet)
		return;
	va_start(ap, fmt);
	vsay(NULL, NULL, fmt, ap);
	va_end(ap);
}

void cmd_set_quiet(bool on)
{
	quiet = on;
}

int cmd_fail(const struct err *e)
{
	cmd_error("%s", e->msg[0] ? e->msg : status_name(e->st));
	switch (e->st) {
	case ST_INVALID:
	case ST_RANGE:
	case ST_NOT_FOUND: /* the user named a file, campaign or device that is not there */
		return CMD_USAGE;
	case ST_PARTIAL:
		return CMD_PARTIAL;
	default:
		return CMD_FAILED;
	}
}

int cmd_usage(const char *fmt, ...)
{
	char text[1024];
	const char *see;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	see = str_ends(text, "?") ? " See" : "; see";
	if (command_name && *command_name)
		cmd_error("%s%s '" PROGRAM " %s --help'", text, see, command_name);
	else
		cmd_error("%s%s '" PROGRAM " help'", text, see);
	return CMD_USAGE;
}

int cmd_unknown(const char *what, const char *name, const char *const *names, size_t n)
{
	const char *near = str_nearest(name, names, n);
	struct str list = STR_INIT;

	if (near)
		return cmd_usage("unknown %s '%s'; did you mean '%s'?", what, name, near);
	for (size_t i = 0; i < n; i++)
		str_addf(&list, "%s%s", i ? ", " : "", names[i]);
	cmd_usage("unknown %s '%s'; expected one of %s", what, name, str_cstr(&list));
	str_release(&list);
	return CMD_USAGE;
}

bool cmd_parse(struct opt_set *set, const struct opt_help *help, const struct opt *table, void *dst,
	int argc, char **argv, int *operand, int *code)
{
	struct err e = ERR_INIT;
	struct str text = STR_INIT;
	enum status st;

	if (!set) {
		cmd_error("out of memory");
		*code = CMD_FAILED;
		return false;
	}
	st = opt_parse(set, table, argv[0], dst, argc, argv, operand, &e);
	if (st == ST_OK)
		return true;
	if (st == ST_CANCELLED) {
		opt_help(&text, help, table);
		fputs(str_cstr(&text), stdout);
		*code = text.failed ? CMD_FAILED : CMD_DONE;
		str_release(&text);
		return false;
	}
	cmd_error("%s", e.msg);
	/* a file that cannot be opened is not a wrong command line */
	*code = st == ST_NOMEM || st == ST_IO ? CMD_FAILED : CMD_USAGE;
	return false;
}

void cmd_bar_begin(struct bar *b, bool be_quiet, double total)
{
	struct clock *c = clock_system();

	pthread_mutex_lock(&out_lock);
	bar_init(b, STDERR_FILENO, be_quiet, total, c->now(c));
	bar = b;
	pthread_mutex_unlock(&out_lock);
}

void cmd_bar_show(const char *label, size_t i, size_t n)
{
	struct clock *c = clock_system();
	struct str s = STR_INIT;

	pthread_mutex_lock(&out_lock);
	if (bar)
		bar_line(bar, &s, label, i, n, c->now(c));
	if (s.len && !s.failed) {
		fwrite(s.p, 1, s.len, stderr);
		fflush(stderr);
	}
	pthread_mutex_unlock(&out_lock);
	str_release(&s);
}

void cmd_bar_end(void)
{
	struct str s = STR_INIT;

	pthread_mutex_lock(&out_lock);
	if (bar)
		bar_clear(bar, &s);
	if (s.len && !s.failed) {
		fwrite(s.p, 1, s.len, stderr);
		fflush(stderr);
	}
	bar = NULL;
	pthread_mutex_unlock(&out_lock);
	str_release(&s);
}

static void print_help(const struct command *commands, size_t n, FILE *f)
{
	fputs("usage: " PROGRAM " COMMAND [options]\n\n"
	      "Measures what a training job costs in time and energy, learns the law behind it, "
	      "and\n"
	      "runs jobs at the setting that law says is best.\n\nCommands:\n",
		f);
	for (size_t i = 0; i < n; i++)
		if (!commands[i].hidden)
			fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n'" PROGRAM " COMMAND --help' describes a command's options; '" PROGRAM
	      " --version' says which\nversion this is. Exit codes: 0 done, 1 failed, 2 usage or "
	      "bad input, 3 partial, 4 no answer\nwithin the bound, 125 failed before the job "
	      "started; 'run' exits with its job's code.\n",
		f);
}

static const struct command *find(const struct command *commands, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int unknown(const struct command *commands, size_t n, const char *name)
{
	const char *names[64], *near;
	size_t count = 0;

	for (size_t i = 0; i < n && count < 63; i++)
		if (!commands[i].hidden)
			names[count++] = commands[i].name;
	names[count++] = "help";
	near = str_nearest(name, names, count);
	if (near)
		return cmd_usage("unknown command '%.60s'; did you mean '%s'?", name, near);
	return cmd_usage("unknown command '%.60s'", name);
}

int cmd_group(const char *what, const struct command *parts, size_t n, int argc, char **argv)
{
	static char full[64];
	const struct command *c;
	const char *names[64], *near;
	bool help = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
	FILE *f = help ? stdout : stderr;
	size_t count = 0;

	if (argc < 2 || help) {
		fprintf(f, "usage: " PROGRAM " %s PART [options]\n\n%s\n\nParts:\n", argv[0], what);
		for (size_t i = 0; i < n; i++)
			if (!parts[i].hidden)
				fprintf(f, "  %-10s %s\n", parts[i].name, parts[i].summary);
		fprintf(f, "\n'" PROGRAM " %s PART --help' describes its options.\n", argv[0]);
		return help ? CMD_DONE : CMD_USAGE;
	}
	if (argv[1][0] == '-')
		return cmd_usage("unknown option %.60s", argv[1]);
	c = find(parts, n, argv[1]);
	if (c) {
		snprintf(full, sizeof(full), "%s %s", argv[0], c->name);
		command_name = argv[1] = full;
		return c->run(argc - 1, argv + 1);
	}
	for (size_t i = 0; i < n && count < 64; i++)
		if (!parts[i].hidden)
			names[count++] = parts[i].name;
	near = str_nearest(argv[1], names, count);
	if (near)
		return cmd_usage("unknown part '%.60s'; did you mean '%s'?", argv[1], near);
	return cmd_usage("unknown part '%.60s'", argv[1]);
}

static int dispatch(const struct command *commands, size_t n, int argc, char **argv)
{
	char help_option[] = "--help";
	const struct command *c;
	const char *word;

	if (argc < 2) {
		print_help(commands, n, stderr);
		return CMD_USAGE;
	}
	word = argv[1];
	if (!strcmp(word, "--version")) {
		puts(PROGRAM " " WATTLAW_VERSION);
		return CMD_DONE;
	}
	if (!strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h")) {
		if (argc < 3) {
			print_help(commands, n, stdout);
			return CMD_DONE;
		}
		c = find(commands, n, argv[2]);
		if (!c)
			return unknown(commands, n, argv[2]);
		char *help_argv[] = {argv[2], help_option, NULL};

		command_name = c->name;
		return c->run(2, help_argv);
	}
	if (word[0] == '-')
		return cmd_usage("unknown option %.60s", word);
	c = find(commands, n, word);
	if (!c)
		return unknown(commands, n, word);
	command_name = c->name;
	return c->run(argc - 1, argv + 1);
}

int cmd_main(const struct command *commands, size_t n, int argc, char **argv)
{
	int code;

	log_set_sink(log_to_stderr, NULL);
	code = dispatch(commands, n, argc, argv);
	/* a full disk or a closed pipe must not look like success */
	if ((fflush(stdout) || ferror(stdout)) && code == CMD_DONE) {
		cmd_error("cannot write the output: %s", strerror(errno));
		code = CMD_FAILED;
	}
	log_set_sink(NULL, NULL);
	return code;
}
