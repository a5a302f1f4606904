#include "tap.h"

#include <locale.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"

static void test_grow(void)
{
	struct str s = STR_INIT;
	char *taken;

	is_str(str_cstr(&s), "", "an empty string reads as \"\"");
	taken = str_take(&s);
	is_str(taken, "", "taking an empty string gives \"\"");
	mem_free(taken);
	for (int i = 0; i < 1000; i++)
		str_addf(&s, "%d,", i % 10);
	is_int(s.len, 2000, "a thousand additions are all there");
	ok(str_starts(s.p, "0,1,2,") && str_ends(s.p, ",8,9,"), "and in order");
	str_addn(&s, "a\0b", 3);
	is_int(s.len, 2003, "bytes may contain NUL");
	is_int(s.p[2003], 0, "the end is still NUL-terminated");
	str_clear(&s);
	is_int(s.len, 0, "clearing empties");
	is_str(str_cstr(&s), "", "and reads as \"\"");
	str_addc(&s, 'x');
	taken = str_take(&s);
	is_str(taken, "x", "take hands the text over");
	ok(!s.p && s.len == 0, "and leaves the string empty");
	mem_free(taken);
}

static void test_failure(void)
{
	struct str s = STR_INIT;

	str_add(&s, "kept");
	fault_arm("alloc", 1);
	str_addf(&s, "%100s", "");
	ok(s.failed, "a failed allocation is remembered");
	is_str(str_cstr(&s), "kept", "what was there stays");
	str_add(&s, "!");
	is_str(str_cstr(&s), "kept", "nothing is added after a failure, so no text has a hole");
	ok(!str_take(&s), "taking a failed string gives NULL");
	str_add(&s, "again");
	is_str(str_cstr(&s), "again", "the string is usable afterwards");
	str_release(&s);
	str_addn(&s, "", STR_MAX);
	ok(s.failed, "the ceiling is kept");
	str_release(&s);
}

static void test_helpers(void)
{
	char a[] = " \t a b\r\n", b[] = "  ", c[] = "x";

	is_str(str_trim(a), "a b", "trim takes both ends and leaves the middle");
	is_str(str_trim(b), "", "trimming blanks leaves nothing");
	is_str(str_trim(c), "x", "nothing to trim");
	ok(str_starts("abc", "") && str_starts("abc", "abc") && !str_starts("ab", "abc"),
		"prefixes");
	ok(str_ends("abc", "") && str_ends("abc", "bc") && !str_ends("bc", "abc"), "suffixes");
}

static void test_nearest(void)
{
	static const char *const words[] = {"sweep", "repeats", "power_limit", NULL, "fit", ""};
	size_t n = sizeof(words) / sizeof(words[0]);

	is_str(str_nearest("repeets", words, n), "repeats", "one wrong letter");
	is_str(str_nearest("swepe", words, n), "sweep", "two letters exchanged");
	is_str(str_nearest("power-limit", words, n), "power_limit", "a hyphen for an underscore");
	is_str(str_nearest("FIT", words, n), "fit", "capitals do not matter");
	ok(!str_nearest("banana", words, n), "nothing is near an unrelated word");
	ok(!str_nearest("x", words, n), "one letter is near nothing");
	ok(!str_nearest("", words, n), "nothing is near the empty word");
	char longest[200];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	ok(!str_nearest(longest, words, n), "an absurdly long word is near nothing");
}

static void test_quoted(void)
{
	struct str s = STR_INIT;

	str_add_quoted(&s, "plain-word=1");
	str_addc(&s, ' ');
	str_add_quoted(&s, "two words");
	str_addc(&s, ' ');
	str_add_quoted(&s, "it's");
	str_addc(&s, ' ');
	str_add_quoted(&s, "");
	str_addc(&s, ' ');
	str_add_quoted(&s, "$HOME~*");
	is_str(str_cstr(&s), "plain-word=1 'two words' 'it'\\''s' '' '$HOME~*'",
		"words are quoted so that a shell reads them back");
	str_release(&s);
}

static void test_numbers(void)
{
	static const char *const bad[] = {
		"", " ", "x", "1x", "1 2", "inf", "nan", "0x10", "1e999", "--1", "1,5", "1e", "."};
	long long i = 7;
	double d = 7;
	bool refused = true;

	ok(str_to_i64(" -42 ", &i) && i == -42, "an integer with blanks around");
	ok(!str_to_i64("9223372036854775808", &i) && i == -42,
		"out of range is refused, result kept");
	ok(!str_to_i64("1.5", &i), "a fraction is not an integer");
	ok(!str_to_i64("", &i), "nothing is not an integer");
	ok(str_to_double(" 1.5e3\n", &d) && d == 1500, "a number with exponent");
	ok(str_to_double("-.5", &d) && d == -0.5, "a number without leading zero");
	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
		if (str_to_double(bad[k], &d)) {
			refused = false;
			printf("# accepted '%s'\n", bad[k]);
		}
	ok(refused, "what is not a finite decimal number is refused");
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
		tap_skip(1, "the package locales is not installed: no decimal comma (de_DE.UTF-8)");
		return;
	}
	ok(str_to_double("1.5", &d) && d == 1.5, "the decimal point is a point in every locale");
}

int main(void)
{
	test_grow();
	test_failure();
	test_helpers();
	test_nearest();
	test_quoted();
	test_numbers();
	return tap_done();
}
