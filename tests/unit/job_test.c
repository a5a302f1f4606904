/* job_test.c: commands as words, environments, spawning; the messages between leader and keeper. */
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/mem.h"
#include "exec/job.h"
#include "exec/proto.h"
#include "tap.h"

extern char **environ;

static void words_are(const char *text, const char *want, const char *what)
{
	struct words w;
	struct err e = ERR_INIT;
	char got[512] = "";

	if (words_split(text, &w, &e) == ST_OK)
		for (size_t i = 0; i < w.n; i++) {
			strcat(got, i ? "|" : "");
			strcat(got, w.v[i]);
		}
	else
		snprintf(got, sizeof got, "%s", status_name(e.st));
	is_str(got, want, what);
	words_release(&w);
}

static void splitting(void)
{
	words_are("wl-train  resnet18\t--size tiny", "wl-train|resnet18|--size|tiny",
		"blanks separate words");
	words_are("a 'b c' \"d e\" f\\ g", "a|b c|d e|f g", "quotes and backslash keep blanks");
	words_are("a '' b", "a||b", "an empty word is a word");
	words_are("a | b", "/bin/sh|-c|a | b", "a pipe needs a shell");
	words_are("a $HOME", "/bin/sh|-c|a $HOME", "a variable needs a shell");
	words_are("X=1 a", "/bin/sh|-c|X=1 a", "an assignment in front needs a shell");
	words_are("a --x=1", "a|--x=1", "an equals sign later does not");
	words_are("a '$x' \"$y\"", "/bin/sh|-c|a '$x' \"$y\"",
		"a variable in double quotes needs a shell");
	words_are("a '$x'", "a|$x", "one in single quotes does not");
	words_are("a 'b", "invalid", "an open quote is an error");
	words_are("  ", "invalid", "an empty command is an error");
}

static void environment(void)
{
	char *base[] = {"A=1", "AB=2", "C=3", NULL};
	struct env_set set[] = {{"A", "x"}, {"C", NULL}, {"D", "y"}};
	char **env = env_make(base, set, 3);

	ok(env && !strcmp(env[0], "AB=2") && !strcmp(env[1], "A=x") && !strcmp(env[2], "D=y") &&
			!env[3],
		"names are replaced, removed and added; AB is not A");
	env_free(env);
}

static int code_of(char *const *argv)
{
	sigset_t mask, defaults;
	struct err e = ERR_INIT;
	struct job j;

	job_init(&j);
	sigemptyset(&mask);
	sigemptyset(&defaults);
	(void)job_spawn(&j, argv, environ, false, -1, -1, &mask, &defaults, &e);
	while (!job_reap(&j))
		usleep(500);
	job_release(&j);
	return j.exit_code;
}

static void on_usr1(int sig)
{
	(void)sig;
}

static void spawning(void)
{
	char *three[] = {"sh", "-c", "exit 3", NULL}, *killed[] = {"sh", "-c", "kill -9 $$", NULL},
	     *missing[] = {"./no-such-thing", NULL}, *dir[] = {"/tmp", NULL},
	     *usr1[] = {"sh", "-c", "kill -USR1 $$; exit 0", NULL};

	is_int(code_of(three), 3, "an exit code comes back");
	is_int(code_of(killed), 137, "a signal is 128+n");
	is_int(code_of(missing), 127, "not found is 127");
	is_int(code_of(dir), 126, "not executable is 126");
	signal(SIGUSR1, on_usr1);
	is_int(code_of(usr1), 128 + SIGUSR1, "what we handle is at its default in the job");
	signal(SIGUSR1, SIG_DFL);
}

static void messages(void)
{
	struct hello h = {.mode = LAUNCH_STEP,
		.run_id = "0123456789abcdef",
		.host = "node1",
		.shard_dir = "/d",
		.control_dir = "/c",
		.settle_ns = 7,
		.knobs = 9,
		.progress = true};
	struct hello back;
	struct str s = STR_INIT;
	struct err e = ERR_INIT;
	struct chan a, b;
	struct msg m;
	bool refused = true;
	int sv[2];

	ok(hello_encode(&h, &s), "a HELLO is encoded");
	is_int(hello_decode(&back, s.p, s.len, &e), ST_OK, "and decoded");
	ok(back.mode == LAUNCH_STEP && !strcmp(back.host, "node1") && !back.devices &&
			back.settle_ns == 7 && back.knobs == 9 && back.progress,
		"to the same");
	hello_release(&back);
	for (size_t n = 0; n < s.len; n++)
		refused &= hello_decode(&back, s.p, n, &e) == ST_CORRUPT;
	ok(refused, "cut anywhere it is refused");

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
		abort();
	chan_init(&a, sv[0]);
	chan_init(&b, sv[1]);
	is_int(chan_recv(&b, &m), ST_AGAIN, "nothing sent, nothing there");
	is_int(chan_send(&a, MSG_WARN, s.p, s.len, 0), ST_OK, "a message is sent");
	is_int(chan_send(&a, MSG_GO, NULL, 0, 0), ST_OK, "and another");
	is_int(chan_recv(&b, &m), ST_OK, "the first arrives");
	ok(m.type == MSG_WARN && m.n == s.len && !memcmp(m.p, s.p, s.len), "whole");
	is_int(chan_recv(&b, &m), ST_OK, "the second arrives");
	is_int(m.type, MSG_GO, "in order");
	ok(write(sv[0], "garbage garbage garbage", 23) == 23, "(garbage is sent)");
	is_int(chan_recv(&b, &m), ST_CORRUPT, "garbage is seen as such");
	chan_close(&a);
	chan_close(&b);

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
		abort();
	chan_init(&a, sv[0]);
	for (int i = 0; i < 100000 && !a.dead; i++)
		(void)chan_send(&a, MSG_WARN, s.p, s.len, 0);
	ok(a.dead, "a peer that never reads is given up instead of waited for");
	chan_close(&a);
	close(sv[1]);
	str_release(&s);
}

int main(void)
{
	splitting();
	environment();
	spawning();
	messages();
	return tap_done();
}
