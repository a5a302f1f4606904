/* tap.h: the whole test harness. One header, no dependency.
 *
 *   int main(void) { TAP_PLAN_LATER; ok(x == 1, "one is one"); ... return tap_done(); }
 *
 * Each ok/is is one TAP assertion; ./check counts them. A program that dies before
 * tap_done prints no plan, which ./check counts as a failure. Give every assertion a text that
 * says the behaviour.
 */
#ifndef WATTLAW_TESTS_TAP_H
#define WATTLAW_TESTS_TAP_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_n, tap_failed;

__attribute__((format(printf, 4, 5), unused)) static bool tap_ok(
	bool good, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("%s %d - ", good ? "ok" : "not ok", ++tap_n);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	if (!good) {
		printf("# failed at %s:%d\n", file, line);
		tap_failed++;
	}
	fflush(stdout);
	return good;
}

/* ok(condition, "behaviour", ...) */
#define ok(cond, ...) tap_ok(!!(cond), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((unused)) static bool tap_is_int(
	long long got, long long want, const char *file, int line, const char *what)
{
	bool good = tap_ok(got == want, file, line, "%s", what);

	if (!good)
		printf("#      got: %lld\n# expected: %lld\n", got, want);
	return good;
}
#define is_int(got, want, what)                                                                    \
	tap_is_int((long long)(got), (long long)(want), __FILE__, __LINE__, what)

__attribute__((unused)) static bool tap_is_str(
	const char *got, const char *want, const char *file, int line, const char *what)
{
	bool good = tap_ok(got && want ? !strcmp(got, want) : got == want, file, line, "%s", what);

	if (!good)
		printf("#      got: '%s'\n# expected: '%s'\n", got ? got : "(null)",
			want ? want : "(null)");
	return good;
}
#define is_str(got, want, what) tap_is_str(got, want, __FILE__, __LINE__, what)

/* got within tol (absolute) of want */
__attribute__((unused)) static bool tap_is_near(
	double got, double want, double tol, const char *file, int line, const char *what)
{
	bool good = tap_ok(fabs(got - want) <= tol, file, line, "%s", what);

	if (!good)
		printf("#      got: %.12g\n# expected: %.12g +- %g\n", got, want, tol);
	return good;
}
#define is_near(got, want, tol, what) tap_is_near(got, want, tol, __FILE__, __LINE__, what)

/* text contains part */
__attribute__((unused)) static bool tap_has(
	const char *text, const char *part, const char *file, int line, const char *what)
{
	bool good = tap_ok(text && part && strstr(text, part), file, line, "%s", what);

	if (!good)
		printf("#     text: '%s'\n# lacks: '%s'\n", text ? text : "(null)",
			part ? part : "(null)");
	return good;
}
#define has(text, part, what) tap_has(text, part, __FILE__, __LINE__, what)

/* The reason names the missing thing; ./check refuses skips for what can be installed. */
#define tap_skip(n, reason)                                                                        \
	do {                                                                                       \
		for (int tap_i_ = 0; tap_i_ < (n); tap_i_++)                                       \
			printf("ok %d # SKIP %s\n", ++tap_n, reason);                              \
	} while (0)

__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_n);
	fflush(stdout);
	return tap_failed ? 1 : 0;
}

#endif
