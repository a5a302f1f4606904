/* bar.c: the text of a progress bar. */
#include "base/bar.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

#define BAR_CELLS 20

void bar_init(struct bar *b, int fd, bool quiet, double total, int64_t now_ns)
{
	const char *term = getenv("TERM");
	struct winsize ws = {0};

	*b = (struct bar){.width = 80, .start_ns = now_ns, .total = total};
	b->on = !quiet && isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
	if (b->on && ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		b->width = ws.ws_col;
}

/* "03:12", "1:03:12", "4d 03h" */
static void add_duration(struct str *out, double seconds)
{
	long long s = seconds < 1e12 ? (long long)(seconds + 0.5) : 1000000000000;

	if (s >= 100LL * 3600)
		str_addf(out, "%lldd %02lldh", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		str_addf(out, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
	else
		str_addf(out, "%02lld:%02lld", s / 60, s % 60);
}

/* Cut to `width` columns, taking every UTF-8 character as one, and drop control characters that
 * would move the cursor. */
static void add_cut(struct str *out, const char *text, int width)
{
	int cols = 0;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c == 127)
			continue;
		if ((c & 0xc0) != 0x80 && cols++ >= width)
			break;
		str_addc(out, *text);
	}
}

void bar_line(
	const struct bar *b, struct str *out, const char *label, size_t i, size_t n, int64_t now_ns)
{
	double elapsed_s = (double)(now_ns - b->start_ns) / NS_PER_S, share = 0;
	struct str line = STR_INIT;
	int full;

	if (!b->on)
		return;
	if (b->total > 0 && b->done > 0)
		share = b->done < b->total ? b->done / b->total : 1;
	full = (int)(share * BAR_CELLS);
	str_addc(&line, '[');
	for (int k = 0; k < BAR_CELLS; k++)
		str_addc(&line, k < full ? '#' : '-');
	/* 100 % is said when all is done, not shortly before */
	str_addf(&line, "] %3d %%  %zu/%zu  %s", (int)(share * 100), i, n, label);
	if (share > 0 && (share >= 0.02 || elapsed_s >= 5)) {
		str_add(&line, "  ETA ");
		add_duration(&line, elapsed_s * (1 - share) / share);
	}
	str_addc(out, '\r');
	/* the last column would make some terminals wrap */
	add_cut(out, str_cstr(&line), b->width - 1);
	str_add(out, "\x1b[K");
	str_release(&line);
}

void bar_clear(const struct bar *b, struct str *out)
{
	if (b->on)
		str_add(out, "\r\x1b[K");
}
