/* record.c: bytes from another host. What decodes, encodes to bytes that decode to the same. */
#include "fuzz.h"

#include "record/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str one = STR_INIT, two = STR_INIT;
	struct run_rec r, again;
	struct err e = ERR_INIT;
	enum status st = run_rec_decode(&r, data, size, &e);

	if (st) {
		must(e.st == st && e.msg[0]);
		return 0;
	}
	must(run_rec_encode(&r, &one));
	must(run_rec_decode(&again, one.p, one.len, &e) == ST_OK);
	must(run_rec_encode(&again, &two));
	must(one.len == two.len && !memcmp(one.p, two.p, one.len));
	str_release(&one);
	str_release(&two);
	run_rec_release(&r);
	run_rec_release(&again);
	return 0;
}
