/* import.c: whatever a file holds, an import gives whole records or one line that names the file.
 * The first byte chooses the format, '0' the first of the table. */
#include "fuzz.h"

#include "base/mem.h"
#include "store/import.h"

static enum status take(void *arg, const struct run_rec *r, struct err *e)
{
	struct str s = STR_INIT;
	struct run_rec back;

	(void)arg;
	/* Every record can go through the byte form, which checks its relations. */
	must(run_rec_encode(r, &s));
	must(run_rec_decode(&back, s.p, s.len, e) == ST_OK);
	run_rec_release(&back);
	str_release(&s);
	must(r->source && !strncmp(r->source, "import:", 7));
	must(r->energy_uj.st != ST_OK || r->energy_uj.v >= 0);
	return ST_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_sink sink = {.run = take};
	struct import_opts o = {.workload = "w"};
	struct err e = ERR_INIT;
	size_t n = 0, which;
	enum status st;
	char *text;

	while (import_formats()[n])
		n++;
	if (!size || size > 1 << 16)
		return 0;
	which = (size_t)(data[0] - '0');
	if (which >= n)
		return 0;
	/* Texts are handed over with a NUL behind them, as store_import does. */
	text = mem_alloc(size);
	must(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	st = import_formats()[which]->read("f", text, size - 1, &o, &sink, &e);
	must(st == ST_OK || (e.st == st && e.msg[0]));
	must(st == ST_OK || st == ST_INVALID || st == ST_RANGE || st == ST_CORRUPT);
	str_release(&sink.ignored);
	mem_free(text);
	return 0;
}
