/* job.c: see job.h. */
#include "exec/job.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define WORDS_MAX ((size_t)1 << 16)

bool words_add(struct words *w, const char *word)
{
	char **v = mem_realloc(w->v, w->n + 2, sizeof *v);

	if (!v)
		return false;
	w->v = v;
	v[w->n] = mem_strdup(word);
	if (!v[w->n])
		return false;
	v[++w->n] = NULL;
	return w->n < WORDS_MAX;
}

bool words_join(struct words *a, char *const *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!words_add(a, b[i]))
			return false;
	return true;
}

void words_release(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		mem_free(w->v[i]);
	mem_free(w->v);
	*w = (struct words){NULL, 0};
}

/* One word from *p into out. Returns 1 for a word, 0 at the end, -1 when a shell is needed, -2 for
 * an open quote. first: VAR=value in front of the command needs a shell too. */
static int next_word(const char **p, bool first, struct str *out)
{
	const char *s = *p;
	char quote = 0;
	bool plain = true;

	str_clear(out);
	while (*s && isspace((unsigned char)*s))
		s++;
	if (!*s)
		return 0;
	for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
		if (quote == '\'' ? *s == '\'' : quote && *s == '"') {
			quote = 0;
		} else if (!quote && (*s == '\'' || *s == '"')) {
			quote = *s;
			plain = false;
		} else if (*s == '\\' && quote != '\'' && s[1]) {
			str_addc(out, *++s);
		} else if ((quote != '\'' && strchr("$`", *s)) ||
			   (!quote && strchr("|;&<>*?()#~[]{}", *s))) {
			return -1;
		} else if (!quote && *s == '=' && first && plain && out->len) {
			return -1;
		} else {
			str_addc(out, *s);
		}
	}
	*p = s;
	return quote ? -2 : 1;
}

enum status words_split(const char *text, struct words *out, struct err *e)
{
	struct str word = STR_INIT;
	const char *p = text;
	enum status st = ST_OK;
	int r;

	*out = (struct words){NULL, 0};
	while ((r = next_word(&p, !out->n, &word)) == 1)
		if (word.failed || !words_add(out, str_cstr(&word))) {
			st = err_set(e, ST_NOMEM, "out of memory");
			goto out;
		}
	if (r == -2) {
		st = err_set(e, ST_INVALID, "the command has an open quote: %s", text);
	} else if (r == -1) {
		words_release(out);
		if (!words_add(out, "/bin/sh") || !words_add(out, "-c") || !words_add(out, text))
			st = err_set(e, ST_NOMEM, "out of memory");
	} else if (!out->n) {
		st = err_set(e, ST_INVALID, "the command is empty");
	}
out:
	str_release(&word);
	if (st != ST_OK)
		words_release(out);
	return st;
}

void job_init(struct job *j)
{
	*j = (struct job){.pidfd = -1, .exit_code = -1};
}

int job_code(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return -1;
}

/* What the child does between vfork and exec, in our memory: system calls and nothing else. By hand
 * rather than by posix_spawn, which leaves two internal signals of glibc ignored in the job. */
struct spawn {
	char *const *argv, *const *envp;
	const sigset_t *mask, *defaults;
	int out, err;
	bool group;
};

static int child(const struct spawn *s)
{
	struct sigaction sa;

	/* Our handlers must not run here once signals are let in again. */
	for (int sig = 1; sig < NSIG; sig++)
		if (!sigaction(sig, NULL, &sa) &&
			(sigismember(s->defaults, sig) == 1 ||
				(sa.sa_handler != SIG_DFL && sa.sa_handler != SIG_IGN))) {
			memset(&sa, 0, sizeof sa);
			sa.sa_handler = SIG_DFL;
			(void)sigaction(sig, &sa, NULL);
		}
	if (s->group && setpgid(0, 0))
		return errno;
	if ((s->out >= 0 && dup2(s->out, STDOUT_FILENO) < 0) ||
		(s->err >= 0 && dup2(s->err, STDERR_FILENO) < 0))
		return errno;
	(void)sigprocmask(SIG_SETMASK, s->mask, NULL);
	(void)execvpe(s->argv[0], s->argv, s->envp);
	return errno;
}

/* Why exec failed; 0 at the end of the pipe, which exec closed. */
static int read_report(int fd)
{
	ssize_t n;
	int why;

	do {
		n = read(fd, &why, sizeof why);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof why ? why : 0;
}

enum status job_spawn(struct job *j, char *const *argv, char *const *envp, bool own_group,
	int stdout_fd, int stderr_fd, const sigset_t *mask, const sigset_t *defaults, struct err *e)
{
	const struct spawn s = {argv, envp, mask, defaults, stdout_fd, stderr_fd, own_group};
	struct clock *clock = clock_system();
	/* The child tells why it could not exec: vfork need not share our memory, and does not
	 * under some emulators and sanitizers. */
	int report[2], failed = 0;
	sigset_t all, old;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return err_errno(e, errno, "cannot make a pipe");
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	j->start_ns = clock->now(clock);
	pid = vfork();
	if (pid == 0) {
		int why = child(&s);

		(void)!write(report[1], &why, sizeof why);
		_exit(127);
	}
	if (pid < 0)
		failed = errno;
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	close(report[1]);
	if (pid > 0)
		failed = read_report(report[0]);
	close(report[0]);
	if (pid > 0 && failed)
		(void)waitpid(pid, NULL, 0);
	if (failed) {
		j->ended = true;
		j->end_ns = j->start_ns;
		j->exit_code = failed == ENOENT || failed == ENOTDIR ? 127 : 126;
		return err_errno(e, failed, "cannot run %s", argv[0]);
	}
	j->pid = pid;
	j->group = own_group;
	/* -1 on kernels before 5.3: then job_reap is asked in turns. */
	j->pidfd = pidfd_open(pid, 0);
	if (j->pidfd >= 0)
		(void)fcntl(j->pidfd, F_SETFD, FD_CLOEXEC);
	return ST_OK;
}

bool job_reap(struct job *j)
{
	struct clock *clock = clock_system();
	int64_t now = clock->now(clock);
	int status;
	pid_t r;

	if (j->ended || !j->pid)
		return j->ended;
	do {
		r = waitpid(j->pid, &status, WNOHANG);
	} while (r < 0 && errno == EINTR);
	if (r == 0)
		return false;
	j->ended = true;
	j->end_ns = now;
	j->exit_code = r > 0 ? job_code(status) : -1;
	return true;
}

void job_signal(const struct job *j, int sig)
{
	/* A group outlives its leader: ranks may still be in it after mpirun has gone. */
	if (j->pid > 0 && j->group)
		(void)kill(-j->pid, sig);
	else if (j->pid > 0 && !j->ended)
		(void)kill(j->pid, sig);
}

void job_release(struct job *j)
{
	if (j->pidfd >= 0)
		close(j->pidfd);
	j->pidfd = -1;
}

/* Does the process's environment at its exec hold this NAME=value? */
static bool environ_has(const char *pid, const char *want, size_t want_n)
{
	char path[64];
	static char buf[256 * 1024];
	size_t n = 0;
	bool found = false;
	int fd;

	snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (n < sizeof buf) {
		ssize_t k = read(fd, buf + n, sizeof buf - n);

		if (k <= 0)
			break;
		n += (size_t)k;
	}
	close(fd);
	for (char *p = buf; p < buf + n && !found;) {
		size_t len = strnlen(p, n - (size_t)(p - buf));

		found = len == want_n && !memcmp(p, want, want_n);
		p += len + 1;
	}
	return found;
}

size_t job_signal_run(const char *run_id, int sig)
{
	char want[64];
	int want_n = snprintf(want, sizeof want, "WATTLAW_RUN=%s", run_id);
	DIR *d = opendir("/proc");
	struct dirent *de;
	size_t found = 0;

	if (!d)
		return 0;
	while ((de = readdir(d))) {
		long pid = strtol(de->d_name, NULL, 10);

		if (pid <= 1 || pid == getpid() || !environ_has(de->d_name, want, (size_t)want_n))
			continue;
		if (!kill((pid_t)pid, sig))
			found++;
	}
	closedir(d);
	return found;
}

char **env_make(char *const *base, const struct env_set *set, size_t n)
{
	size_t n_base = 0, at = 0;
	char **env;

	while (base[n_base])
		n_base++;
	env = mem_calloc(n_base + n + 1, sizeof *env);
	if (!env)
		return NULL;
	for (size_t i = 0; i < n_base; i++) {
		bool replaced = false;

		for (size_t k = 0; k < n && !replaced; k++) {
			size_t len = strlen(set[k].name);

			replaced = !strncmp(base[i], set[k].name, len) && base[i][len] == '=';
		}
		if (!replaced && !(env[at++] = mem_strdup(base[i])))
			goto fail;
	}
	for (size_t k = 0; k < n; k++) {
		struct str s = STR_INIT;

		if (!set[k].value)
			continue;
		str_addf(&s, "%s=%s", set[k].name, set[k].value);
		env[at] = str_take(&s);
		if (!env[at++])
			goto fail;
	}
	return env;
fail:
	env_free(env);
	return NULL;
}

void env_free(char **env)
{
	if (!env)
		return;
	for (size_t i = 0; env[i]; i++)
		mem_free(env[i]);
	mem_free(env);
}
