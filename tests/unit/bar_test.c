#include "tap.h"

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include "base/bar.h"
#include "base/clock.h"

static const char *line(struct bar *b, struct str *s, double done, const char *label, int64_t t_ns)
{
	str_clear(s);
	b->done = done;
	bar_line(b, s, label, 12, 28, t_ns);
	return str_cstr(s);
}

static void test_off(void)
{
	int fd = open("/dev/null", O_WRONLY);
	struct str s = STR_INIT;
	struct bar b;

	setenv("TERM", "xterm", 1);
	bar_init(&b, fd, false, 100, 0);
	is_str(line(&b, &s, 50, "x", 0), "", "no bar where there is no terminal");
	bar_clear(&b, &s);
	is_str(str_cstr(&s), "", "and nothing to erase");
	str_release(&s);
	close(fd);
}

static void test_terminal(void)
{
	struct winsize ws = {.ws_col = 100, .ws_row = 25};
	struct str s = STR_INIT;
	int master, slave;
	struct bar b;

	if (openpty(&master, &slave, NULL, NULL, &ws)) {
		tap_skip(14, "no pseudo-terminal");
		return;
	}
	bar_init(&b, slave, true, 100, 0);
	ok(!b.on, "--quiet keeps a terminal clean");
	setenv("TERM", "dumb", 1);
	bar_init(&b, slave, false, 100, 0);
	ok(!b.on, "so does a dumb terminal");
	setenv("TERM", "xterm", 1);
	bar_init(&b, slave, false, 100, NS_PER_S);
	ok(b.on, "a terminal gets a bar");
	is_int(b.width, 100, "as wide as the terminal");
	is_str(line(&b, &s, 43, "resnet18 200W", NS_PER_S + 43 * NS_PER_S),
		"\r[########------------]  43 %  12/28  resnet18 200W  ETA 00:57\x1b[K",
		"share, place, label, time left");
	ok(!strstr(line(&b, &s, 0, "x", NS_PER_S + 10 * NS_PER_S), "ETA"),
		"nothing done, no time left to tell");
	ok(!strstr(line(&b, &s, 1, "x", 2 * NS_PER_S), "ETA"), "no guess in the first seconds");
	has(line(&b, &s, 1, "x", NS_PER_S + 6 * NS_PER_S), "ETA 09:54", "a guess after five");
	has(line(&b, &s, 10, "x", NS_PER_S + 1000 * NS_PER_S), "ETA 2:30:00", "hours");
	has(line(&b, &s, 1, "x", NS_PER_S + 36000 * NS_PER_S), "ETA 41d 06h", "days");
	has(line(&b, &s, 99.99, "x", NS_PER_S), " 99 %", "100 % is not said before the end");
	has(line(&b, &s, 120, "x", NS_PER_S), "] 100 %", "never more than 100 %");
	b.width = 40;
	line(&b, &s, 43, "caf\xc3\xa9\n caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9", NS_PER_S);
	is_str(str_cstr(&s), "\r[########------------]  43 %  12/28  ca\x1b[K",
		"a narrow terminal cuts the line one column before its end");
	b.width = 44;
	line(&b, &s, 43, "caf\xc3\xa9\n\r\x1b[2J", NS_PER_S);
	has(str_cstr(&s), "  caf\xc3\xa9[",
		"control characters of a label are dropped, UTF-8 is one column");
	str_clear(&s);
	bar_clear(&b, &s);
	is_str(str_cstr(&s), "\r\x1b[K", "clearing erases the line");
	str_release(&s);
	close(master);
	close(slave);
}

int main(void)
{
	test_off();
	test_terminal();
	return tap_done();
}
