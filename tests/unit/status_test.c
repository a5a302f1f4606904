#include "tap.h"

#include <errno.h>

#include "base/status.h"

static void test_names(void)
{
	bool back = true, distinct = true;

	for (int i = 0; i < ST_COUNT; i++) {
		back &= status_from_name(status_name((enum status)i)) == (enum status)i;
		for (int j = 0; j < i; j++)
			distinct &= strcmp(status_name((enum status)i),
					    status_name((enum status)j)) != 0;
	}
	ok(back, "every status reads back from its word");
	ok(distinct, "every status has a word of its own");
	is_int(status_from_name("no such word"), ST_UNKNOWN, "an unknown word is ST_UNKNOWN");
	is_int(status_from_name(NULL), ST_UNKNOWN, "no word is ST_UNKNOWN");
	is_str(status_name((enum status)999), "unknown", "a status out of range has a word");
	is_str(status_name(ST_UNSUPPORTED), "unsupported", "words are stable: unsupported");
	is_str(status_name(ST_NO_PERMISSION), "no-permission", "words are stable: no-permission");
}

static void test_set(void)
{
	struct err e = ERR_INIT;

	is_int(err_set(&e, ST_BUSY, "held by %d", 42), ST_BUSY, "err_set returns its status");
	is_int(e.st, ST_BUSY, "err_set keeps the status");
	is_str(e.msg, "held by 42", "err_set formats the message");
	is_int(err_set(NULL, ST_IO, "x"), ST_IO, "err_set works without an err");
	err_prefix(&e, "gpu%d", 3);
	is_str(e.msg, "gpu3: held by 42", "err_prefix puts its text in front");
	is_int(e.st, ST_BUSY, "err_prefix leaves the status alone");
	err_prefix(NULL, "x");
}

static void test_errno(void)
{
	static const struct {
		int no;
		enum status st;
	} want[] = {{EACCES, ST_NO_PERMISSION}, {EPERM, ST_NO_PERMISSION}, {ENOENT, ST_NOT_FOUND},
		{ENOMEM, ST_NOMEM}, {EBUSY, ST_BUSY}, {ETIMEDOUT, ST_TIMEOUT}, {EIO, ST_IO},
		{ENOSPC, ST_IO}};
	struct err e = ERR_INIT;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		is_int(err_errno(NULL, want[i].no, "x"), want[i].st, strerror(want[i].no));
	err_errno(&e, ENOENT, "open %s", "/a");
	is_str(e.msg, "open /a: No such file or directory", "err_errno says what the system said");
	is_int(e.st, ST_NOT_FOUND, "err_errno keeps the status");
}

static void test_at(void)
{
	struct err e = ERR_INIT;

	is_int(err_at(&e, "f.ini", 3, 7, "bad %s", "key"), ST_INVALID, "err_at is ST_INVALID");
	is_str(e.msg, "f.ini:3:7: bad key", "err_at gives file:line:column");
	err_at(&e, "f.ini", 3, 0, "bad");
	is_str(e.msg, "f.ini:3: bad", "column 0 is left out");
	err_at(&e, "f.ini", 0, 5, "bad");
	is_str(e.msg, "f.ini: bad", "line 0 leaves line and column out");
	err_at(&e, NULL, 0, 0, "bad");
	is_str(e.msg, "bad", "without a file there is only the text");
}

static void test_long(void)
{
	char text[2000];
	struct err e = ERR_INIT;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&e, ST_IO, "%s", text);
	is_int(strlen(e.msg), sizeof(e.msg) - 1, "a long message fills the room and no more");
	ok(!strcmp(e.msg + sizeof(e.msg) - 4, "..."), "a cut message ends in dots");
	err_prefix(&e, "%s", text);
	is_int(strlen(e.msg), sizeof(e.msg) - 1, "a long prefix stays within the room");
	err_errno(&e, EIO, "%s", text);
	is_int(strlen(e.msg), sizeof(e.msg) - 1, "a long errno message stays within the room");
	err_at(&e, text, 1, 1, "%s", text);
	is_int(strlen(e.msg), sizeof(e.msg) - 1, "a long file name stays within the room");
}

int main(void)
{
	test_names();
	test_set();
	test_errno();
	test_at();
	test_long();
	return tap_done();
}
