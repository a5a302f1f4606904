/* progress.c: see progress.h. */
#include "exec/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define LINE_BYTES 4096
#define STEPS_MAX  1024

struct stream {
	int from, to, job_end; /* we read from, write to; the job writes job_end */
	char line[LINE_BYTES];
	size_t n;
};

struct progress {
	regex_t re;
	bool have_re;
	struct stream s[PROGRESS_FDS];
	uint64_t steps;
	struct progress_step q[STEPS_MAX];
	size_t head, n;
};

static enum status open_stream(struct stream *s, int to, struct err *e)
{
	int fd[2];

	s->to = to;
	if (isatty(to)) {
		struct termios t;
		struct winsize ws;

		if (openpty(&fd[0], &fd[1], NULL, NULL, NULL))
			return err_errno(e, errno, "cannot open a terminal for the job's output");
		/* No \n to \r\n here: the real terminal does that once. */
		if (!tcgetattr(fd[1], &t)) {
			cfmakeraw(&t);
			(void)tcsetattr(fd[1], TCSANOW, &t);
		}
		if (!ioctl(to, TIOCGWINSZ, &ws))
			(void)ioctl(fd[1], TIOCSWINSZ, &ws);
	} else if (pipe(fd)) {
		return err_errno(e, errno, "cannot make a pipe for the job's output");
	}
	s->from = fd[0];
	s->job_end = fd[1];
	(void)fcntl(s->from, F_SETFD, FD_CLOEXEC);
	(void)fcntl(s->job_end, F_SETFD, FD_CLOEXEC);
	(void)fcntl(s->from, F_SETFL, O_NONBLOCK);
	return ST_OK;
}

enum status progress_new(const char *regex, int to_fd, struct progress **out, struct err *e)
{
	struct progress *p = mem_calloc(1, sizeof *p);
	enum status st;
	int rc;

	*out = NULL;
	if (!p)
		return err_set(e, ST_NOMEM, "out of memory");
	for (int i = 0; i < PROGRESS_FDS; i++)
		p->s[i].from = p->s[i].job_end = -1;
	rc = regcomp(&p->re, regex, REG_EXTENDED);
	if (rc) {
		char why[128];

		regerror(rc, &p->re, why, sizeof why);
		progress_free(p);
		return err_set(e, ST_INVALID, "--progress '%s' is not a regular expression: %s",
			regex, why);
	}
	p->have_re = true;
	st = open_stream(&p->s[0], to_fd < 0 ? STDOUT_FILENO : to_fd, e);
	if (st == ST_OK)
		st = open_stream(&p->s[1], to_fd < 0 ? STDERR_FILENO : to_fd, e);
	if (st != ST_OK) {
		progress_free(p);
		return st;
	}
	*out = p;
	return ST_OK;
}

void progress_fds(const struct progress *p, int *out_fd, int *err_fd)
{
	*out_fd = p->s[0].job_end;
	*err_fd = p->s[1].job_end;
}

void progress_started(struct progress *p)
{
	for (int i = 0; i < PROGRESS_FDS; i++) {
		if (p->s[i].job_end >= 0)
			close(p->s[i].job_end);
		p->s[i].job_end = -1;
	}
}

nfds_t progress_poll(const struct progress *p, struct pollfd *pfd)
{
	nfds_t n = 0;

	for (int i = 0; i < PROGRESS_FDS; i++)
		if (p->s[i].from >= 0)
			pfd[n++] = (struct pollfd){.fd = p->s[i].from, .events = POLLIN};
	return n;
}

static void line_end(struct progress *p, struct stream *s)
{
	regmatch_t m[2];

	s->line[s->n] = 0;
	s->n = 0;
	if (regexec(&p->re, s->line, 2, m, 0))
		return;
	if (m[1].rm_so >= 0) {
		long long n;

		s->line[m[1].rm_eo] = 0;
		/* A number that does not advance is the same step printed again. */
		if (!str_to_i64(s->line + m[1].rm_so, &n) || n <= 0 || (uint64_t)n <= p->steps)
			return;
		p->steps = (uint64_t)n;
	} else {
		p->steps++;
	}
	if (p->n < STEPS_MAX)
		p->q[(p->head + p->n++) % STEPS_MAX] =
			(struct progress_step){clock_system()->now(clock_system()), p->steps};
}

static void scan(struct progress *p, struct stream *s, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (b[i] == '\n' || b[i] == '\r') {
			if (s->n)
				line_end(p, s);
		} else if (s->n + 1 < sizeof s->line && b[i]) {
			s->line[s->n++] = b[i];
		}
	}
}

static void write_all(int fd, const char *b, size_t n)
{
	while (n) {
		ssize_t k = write(fd, b, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && errno == EAGAIN) {
			struct pollfd pfd = {.fd = fd, .events = POLLOUT};

			(void)poll(&pfd, 1, 1000);
			continue;
		}
		if (k <= 0)
			return; /* our reader is gone: the job may go on writing to nobody */
		b += k;
		n -= (size_t)k;
	}
}

void progress_copy(struct progress *p)
{
	char buf[65536];

	for (int i = 0; i < PROGRESS_FDS; i++) {
		struct stream *s = &p->s[i];

		/* A bounded turn, so that a chatty job does not keep us from seeing it end. */
		for (int turn = 0; turn < 16 && s->from >= 0; turn++) {
			ssize_t n = read(s->from, buf, sizeof buf);

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0 && errno == EAGAIN)
				break;
			if (n <= 0) { /* EIO: the other side of a terminal was closed */
				close(s->from);
				s->from = -1;
				break;
			}
			write_all(s->to, buf, (size_t)n);
			scan(p, s, buf, (size_t)n);
		}
	}
}

bool progress_take(struct progress *p, struct progress_step *out)
{
	if (!p->n)
		return false;
	*out = p->q[p->head];
	p->head = (p->head + 1) % STEPS_MAX;
	p->n--;
	return true;
}

void progress_free(struct progress *p)
{
	if (!p)
		return;
	progress_started(p);
	for (int i = 0; i < PROGRESS_FDS; i++)
		if (p->s[i].from >= 0)
			close(p->s[i].from);
	if (p->have_re)
		regfree(&p->re);
	mem_free(p);
}
