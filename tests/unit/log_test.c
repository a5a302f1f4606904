#include "tap.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

/* Keeps every message as "level subject text\n". */
static void keep(void *arg, enum log_level level, const char *subject, const char *msg)
{
	str_addf(arg, "%d %s %s\n", (int)level, subject, msg);
}

static unsigned lines(const struct str *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->len; i++)
		n += s->p[i] == '\n';
	return n;
}

static void test_sink(void)
{
	struct str s = STR_INIT;

	log_error("x", "nobody listens");
	log_set_sink(keep, &s);
	log_error("hw", "gpu%d lost", 3);
	log_info("run", "done");
	is_str(str_cstr(&s), "0 hw gpu3 lost\n2 run done\n",
		"messages reach the sink as they come");
	log_set_sink(NULL, NULL);
	log_error("hw", "again");
	is_int(lines(&s), 2, "no sink, no message");
	str_release(&s);
}

static void test_debug(void)
{
	struct str s = STR_INIT;

	log_set_sink(keep, &s);
	log_set_debug("nvml,meter");
	log_debug("nvml", "a");
	log_debug("meter", "b");
	log_debug("met", "c");
	log_debug("meters", "d");
	is_str(str_cstr(&s), "3 nvml a\n3 meter b\n", "only the named subjects are debugged");
	ok(log_debug_on("nvml") && !log_debug_on("store"), "log_debug_on tells which");
	log_set_debug("all");
	ok(log_debug_on("store"), "all is all");
	log_set_debug("");
	ok(!log_debug_on("nvml"), "and nothing is nothing");
	setenv("WATTLAW_DEBUG", "store", 1);
	log_set_debug(NULL);
	ok(log_debug_on("store") && !log_debug_on("nvml"), "WATTLAW_DEBUG names the subjects");
	log_set_debug("");
	log_set_sink(NULL, NULL);
	str_release(&s);
}

static void test_flood(void)
{
	struct str s = STR_INIT;
	struct clock_virtual v;

	clock_virtual_init(&v, 1);
	log_set_clock(&v.clock);
	log_set_sink(keep, &s);
	for (int i = 0; i < 100; i++) {
		log_warn("sampler", "late");
		clock_virtual_advance(&v, 100 * NS_PER_MS);
	}
	is_str(str_cstr(&s), "1 sampler late\n", "the same warning is shown once");
	clock_virtual_advance(&v, 60 * NS_PER_S);
	str_clear(&s);
	log_warn("sampler", "late");
	is_str(str_cstr(&s), "1 sampler late (and 99 more like it)\n",
		"after a minute it says how many were held back");
	str_clear(&s);
	log_warn("meter", "late");
	log_warn("sampler", "gone");
	is_int(lines(&s), 2, "another subject or text is another warning");
	str_clear(&s);
	for (int i = 0; i < 100; i++)
		log_warn("meter", "gap of %d ms", i);
	is_int(lines(&s), 8,
		"one format string is shown eight times a minute, whatever its values");
	str_clear(&s);
	for (int i = 0; i < 100; i++)
		log_error("meter", "late");
	is_int(lines(&s), 100, "errors are never held back");
	log_set_sink(NULL, NULL);
	log_set_clock(NULL);
	str_release(&s);
}

static void *shout(void *arg)
{
	for (int i = 0; i < 500; i++)
		log_info("thread", "%s", (const char *)arg);
	return NULL;
}

static void test_threads(void)
{
	struct str s = STR_INIT;
	pthread_t t[4];

	log_set_sink(keep, &s);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, shout, (void *)"0123456789");
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	is_int(lines(&s), 2000, "no message of four threads is lost");
	is_int(s.len, 2000 * strlen("2 thread 0123456789\n"), "and none is torn");
	log_set_sink(NULL, NULL);
	str_release(&s);
}

int main(void)
{
	test_sink();
	test_debug();
	test_flood();
	test_threads();
	return tap_done();
}
