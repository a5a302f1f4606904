/* marks.c: a slot with any content: a job may write what it likes, the keeper only reads on. */
#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/marks.h"

static struct mark_slot slot;

static void see(void *arg, const struct mark_rank *r, const struct mark_event *ev)
{
	size_t *n = arg;

	(*n)++;
	must((ev->kind & 0xff) >= MARK_STEP && (ev->kind & 0xff) <= MARK_LOSS);
	must(memchr(ev->text, 0, sizeof(ev->text)));
	for (const char *c = ev->text; *c; c++)
		must((unsigned char)*c >= 0x20 && *c != 0x7f);
	must(r->rank == -1 || (r->rank >= 0 && r->rank < r->n_ranks));
}

/* The input is laid over a good slot: two bytes of word number, then the word, again and again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct clock *c = clock_system();
	struct err e = ERR_INIT;
	struct marks *m;
	char path[512];
	size_t n = 0;
	int fd;

	memset(&slot, 0, sizeof(slot));
	slot.h = (struct mark_header){.magic = MARK_MAGIC,
		.abi = 1,
		.pid = (uint64_t)getpid(),
		.steps = 2,
		.samples = 8,
		.head = 2};
	slot.ring[0] = (struct mark_event){.t_ns = 5, .kind = MARK_STEP, .value = 4, .seq = 1};
	slot.ring[1] =
		(struct mark_event){.t_ns = 6, .kind = MARK_PHASE_BEGIN, .text = "train", .seq = 2};
	if (marks_open(NULL, &m, &e) != ST_OK)
		abort();
	snprintf(path, sizeof(path), "%s/slot.%ld.0", marks_dir(m), (long)getpid());
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		abort();
	for (size_t i = 0; i + 10 <= size; i += 10) {
		size_t word = (size_t)(data[i] | data[i + 1] << 8) % (sizeof(slot) / 8);

		memcpy((unsigned char *)&slot + word * 8, data + i + 2, 8);
		if (i % 20 || i + 20 > size) { /* the keeper looks in between */
			if (pwrite(fd, &slot, sizeof(slot), 0) != (ssize_t)sizeof(slot))
				abort();
			must(marks_poll(m, c->now(c), see, &n) != ST_IO);
		}
	}
	must(marks_n_ranks(m) <= 1);
	if (marks_n_ranks(m))
		must(marks_rank(m, 0)->dropped == (marks_note(m)[0] != 0));
	close(fd);
	marks_close(m);
	return 0;
}
