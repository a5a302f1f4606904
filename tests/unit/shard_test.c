/* shard_test.c: a shard is readable up to its last whole frame, wherever it was cut. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "exec/shard.h"
#include "exec/wire.h"
#include "tap.h"

static char dir[64] = "/tmp/wattlaw-shard-XXXXXX";

static size_t count_frames(const char *path, enum status *end)
{
	struct shard_reader *r;
	struct shard_frame f;
	struct err e = ERR_INIT;
	size_t n = 0;

	*end = shard_open(path, &r, &e);
	if (*end)
		return 0;
	while ((*end = shard_next(r, &f)) == ST_OK) {
		const unsigned char *b = f.payload;

		for (size_t i = 0; i < f.n; i++)
			if (b[i] != (unsigned char)(n + 1))
				return 9999;
		n++;
	}
	shard_reader_close(r);
	return n;
}

static void write_file(const char *path, const char *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	close(fd);
}

static size_t read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size);

	if (n < 0)
		abort();
	close(fd);
	return (size_t)n;
}

static void cut_anywhere(void)
{
	static char whole[4096];
	char path[256], cut[128], payload[64];
	struct shard *s;
	struct err e = ERR_INIT;
	size_t n, ends[5], at = 0;
	bool good = true, ended_right = true, flipped = true;
	enum status st;

	is_int(shard_create(dir, "0123456789abcdef", "node1", &s, &e), ST_OK, "a shard is created");
	snprintf(path, sizeof path, "%s.tmp", shard_path(s));
	ok(access(path, F_OK) == 0, "it has .tmp in its name while it is written");
	for (int i = 1; i <= 5; i++) {
		memset(payload, i, sizeof payload);
		shard_append(s, SHARD_SAMPLES, payload, (size_t)i * 7);
		at += 16 + (size_t)i * 7;
		ends[i - 1] = at;
	}
	snprintf(path, sizeof path, "%s", shard_path(s));
	is_int(shard_close(s, &e), ST_OK, "it closes");
	is_int((long long)count_frames(path, &st), 5, "all frames are read back");
	is_int(st, ST_NOT_FOUND, "and the end is an end, not damage");

	n = read_file(path, whole, sizeof whole);
	snprintf(cut, sizeof cut, "%s/cut", dir);
	for (size_t len = 0; len < n; len++) {
		size_t want = 0;

		while (want < 5 && ends[want] <= len)
			want++;
		write_file(cut, whole, len);
		good &= count_frames(cut, &st) == want;
		ended_right &= st == (len == 0 || (want && ends[want - 1] == len) ? ST_NOT_FOUND
										  : ST_CORRUPT);
	}
	ok(good, "cut at any byte, every whole frame before the cut is read");
	ok(ended_right, "and the cut is told from the end");
	for (size_t i = 0; i < n; i++) {
		size_t want = 0;

		while (want < 5 && ends[want] <= i)
			want++;
		whole[i] ^= 0x20;
		write_file(cut, whole, n);
		flipped &= count_frames(cut, &st) == want && st == ST_CORRUPT;
		whole[i] ^= 0x20;
	}
	ok(flipped, "a flipped bit anywhere ends reading at that frame");
	unlink(cut);
	unlink(path);
}

static void full_disk(void)
{
	struct shard *s;
	struct err e = ERR_INIT;
	char path[256];
	char payload[8];
	enum status st;

	if (shard_create(dir, "feedfeedfeedfeed", "node1", &s, &e))
		abort();
	snprintf(path, sizeof path, "%s", shard_path(s));
	memset(payload, 1, sizeof payload);
	shard_append(s, SHARD_SAMPLES, payload, sizeof payload);
	is_int(shard_tick(s, 5 * NS_PER_S), ST_OK, "a tick writes");
	fault_arm("shard", 1);
	memset(payload, 2, sizeof payload);
	shard_append(s, SHARD_SAMPLES, payload, sizeof payload);
	is_int(shard_tick(s, 7 * NS_PER_S), ST_IO, "a full disk is reported");
	is_int(shard_append(s, SHARD_SAMPLES, payload, sizeof payload), ST_OK,
		"once: later frames are dropped in silence");
	is_int((long long)shard_dropped(s), 1, "and counted");
	is_int(shard_close(s, &e), ST_IO, "closing says what was lost");
	has(e.msg, "No space left", "with the reason");
	is_int((long long)count_frames(path, &st), 1, "what was whole before is kept");
	unlink(path);
}

static void wire_distrusts(void)
{
	struct str s = STR_INIT;
	struct wire w;
	char *a, *b;
	bool clean = true;

	wire_u32(&s, 7);
	wire_text(&s, "abc");
	wire_text(&s, NULL);
	wire_i64(&s, -5);
	w = (struct wire){(const unsigned char *)s.p, s.len, false};
	is_int(wire_get_u32(&w), 7, "a number comes back");
	a = wire_get_text(&w);
	b = wire_get_text(&w);
	is_str(a, "abc", "a text comes back");
	ok(!b && !w.bad, "NULL comes back as NULL, not as \"\"");
	is_int(wire_get_i64(&w), -5, "a negative number comes back");
	mem_free(a);
	for (size_t n = 0; n < s.len; n++) {
		w = (struct wire){(const unsigned char *)s.p, n, false};
		wire_get_u32(&w);
		mem_free(wire_get_text(&w));
		mem_free(wire_get_text(&w));
		wire_get_i64(&w);
		clean &= w.bad;
	}
	ok(clean, "every shortened message is seen as bad");
	str_release(&s);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	is_int(crc32c(0, "123456789", 9), 0xe3069283, "CRC32C gives its published check value");
	cut_anywhere();
	full_disk();
	wire_distrusts();
	rmdir(dir);
	return tap_done();
}
