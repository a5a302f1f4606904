/* Records: ownership, totals that never shrink silently, merging hosts, and a byte form that
 * survives anything. */
#include <stdint.h>

#include "base/mem.h"
#include "record/channel.h"
#include "record/record.h"
#include "tap.h"

static struct dev_rec *add_gpu(
	struct run_rec *r, const char *host, const char *key, int64_t energy_uj)
{
	struct dev_rec *d = run_rec_dev(r);

	rec_set(&d->host, host);
	rec_set(&d->key, key);
	d->kind = DEV_GPU;
	d->counted = true;
	d->energy_uj = QTY(energy_uj);
	d->net_uj = QTY(energy_uj / 2);
	d->method = ENERGY_COUNTER;
	d->resolution_ppm = QTY(1000);
	d->coverage_ppm = QTY(1000000);
	return d;
}

/* A record with something in every kind of field. False when memory ran out on the way. */
static bool fill(struct run_rec *r)
{
	static const char *const argv[] = {"sh", "-c", "exit 3", ""};
	struct sample_rec sample = {0, 1, 5, -7, ST_OK};
	struct mark_rec mark = {1, 2, 6, 0.25, "forward"};
	struct dev_rec *d;
	struct phase_rec *p;
	struct knob_rec *k;

	run_rec_init(r);
	if (!rec_set(&r->run_id, "00000000000000aa") || !rec_set(&r->host, "node1") ||
		!rec_set(&r->workload, "resnet18") || !run_rec_command(r, argv, 4) ||
		!run_rec_axis(r, "power_limit", "200W", UNIT_POWER, QTY(200000)) ||
		!run_rec_axis(r, "batch", "default", UNIT_NONE, QTY_NONE(ST_UNKNOWN)) ||
		!run_rec_warn(r, "%d of %d", 1, 2))
		return false;
	if (!(d = run_rec_dev(r)) || !rec_set(&d->host, "node1") || !rec_set(&d->key, "GPU-1"))
		return false;
	d->energy_uj = QTY(INT64_MAX);
	d->temp_max_mdegc = QTY(-40000);
	d->util_ppm = QTY_NONE(ST_UNSUPPORTED);
	if (!(k = dev_rec_knob(d, "power_limit", UNIT_POWER)))
		return false;
	k->requested = QTY(200000);
	if (!(p = run_rec_phase(r)) || !rec_set(&p->name, "steady"))
		return false;
	r->train.has_loss = true;
	r->train.loss_first = 2.5;
	r->net_uj = (struct qty){77, ST_PARTIAL};
	r->start_realtime_ns = INT64_MIN;
	return run_rec_sample(r, &sample) && run_rec_mark(r, &mark);
}

static void test_new_record_knows_nothing(void)
{
	struct run_rec r;
	struct dev_rec *d;

	run_rec_init(&r);
	is_int(r.energy_uj.st, ST_UNKNOWN, "energy of a new record is unknown, not 0");
	is_int(r.train.steps.st, ST_UNKNOWN, "so are the steps");
	ok(isnan(r.train.loss_last), "an unknown loss is no number");
	is_int(r.exit_code, -1, "the exit code is not 0 before the job ended");
	d = run_rec_dev(&r);
	is_int(d->energy_uj.st, ST_UNKNOWN, "energy of a new device is unknown");
	is_int(dev_rec_knob(d, "power_limit", UNIT_POWER)->enforced.st, ST_UNKNOWN,
		"the enforced value of a new knob is unknown");
	run_rec_release(&r);
	ok(!r.devs && !r.n_devs, "release leaves an empty record");
}

static void test_totals(void)
{
	struct run_rec r;
	struct dev_rec *d;

	run_rec_init(&r);
	add_gpu(&r, "a", "G0", 100);
	add_gpu(&r, "a", "G1", 300);
	add_gpu(&r, "a", "psys", 1000)->counted = false;
	ok(run_rec_total(&r), "a total can be made");
	is_int(r.energy_uj.v, 400, "devices inside another one are not counted twice");
	is_int(r.net_uj.v, 200, "net energy adds too");
	is_int(r.method, ENERGY_COUNTER, "one method for all is named");
	is_str(r.scope, "GPUs", "the scope says what was counted");
	is_int(r.state, RUN_DONE, "a complete run stays done");

	d = add_gpu(&r, "a", "cpu0", 50);
	d->kind = DEV_CPU;
	d->method = ENERGY_INTEGRAL;
	run_rec_total(&r);
	is_int(r.method, ENERGY_MIXED, "different methods make it mixed");
	is_str(r.scope, "GPUs + CPU", "the scope grows with the kinds");

	r.devs[3].energy_uj = QTY_NONE(ST_NO_PERMISSION);
	run_rec_total(&r);
	is_int(r.energy_uj.v, 400, "a kind nobody may read leaves the scope");
	is_int(r.energy_uj.st, ST_OK, "and the total of the rest is whole");
	is_str(r.scope, "GPUs", "the scope no longer names it");
	has(r.energy_note, "cpu: ", "the note says what is missing");

	r.devs[1].energy_uj = QTY_NONE(ST_LOST);
	run_rec_total(&r);
	is_int(r.energy_uj.st, ST_PARTIAL, "one GPU of two missing makes the total partial");
	is_int(r.energy_uj.v, 100, "what is known is kept");
	is_int(r.state, RUN_PARTIAL, "and the run says so");

	r.devs[0].energy_uj = QTY_NONE(ST_UNSUPPORTED);
	run_rec_total(&r);
	ok(r.energy_uj.st != ST_OK && r.energy_uj.st != ST_PARTIAL && r.method == ENERGY_NONE,
		"nothing readable: the total is unknown");
	run_rec_release(&r);

	run_rec_init(&r);
	add_gpu(&r, "a", "G0", 100);
	r.hosts_expected = 2;
	run_rec_total(&r);
	is_int(r.energy_uj.st, ST_PARTIAL, "a missing host makes the total partial, never smaller");
	has(r.energy_note, "1 of 2 hosts", "and is named");
	run_rec_release(&r);
}

static void test_merge(void)
{
	struct run_rec a, b;
	struct sample_rec s = {0, 1, 10, 5, ST_OK};
	struct err e = ERR_INIT;

	run_rec_init(&a);
	run_rec_init(&b);
	rec_set(&a.run_id, "1");
	rec_set(&b.run_id, "1");
	rec_set(&a.host, "n1");
	rec_set(&b.host, "n2");
	a.hosts_expected = b.hosts_expected = 2;
	a.start_realtime_ns = 1000;
	b.start_realtime_ns = 1400;
	a.train.from_marks = b.train.from_marks = true;
	a.train.samples = b.train.samples = QTY(32);
	a.train.steps = b.train.steps = QTY(8);
	add_gpu(&a, "n1", "G0", 100);
	add_gpu(&b, "n2", "G0", 300);
	run_rec_sample(&b, &s);
	is_int(run_rec_merge(&a, &b, &e), ST_OK, "two hosts of a run merge");
	is_int(a.n_devs, 2, "the same key on another host is another device");
	is_int(a.energy_uj.v, 400, "energy of the hosts adds");
	is_int(a.energy_uj.st, ST_OK, "and is whole when all hosts reported");
	is_int(a.samples[0].t_ns, 410, "samples move to the first host's time");
	is_int(a.samples[0].dev, 1, "and keep their device");
	is_int(a.train.samples.v, 64, "samples of the ranks add");
	is_int(a.train.steps.v, 8, "steps do not");
	run_rec_merge(&a, &b, &e);
	is_int(a.n_devs, 2, "a second keeper on a host does not count its devices again");
	rec_set(&b.run_id, "2");
	is_int(run_rec_merge(&a, &b, &e), ST_INVALID, "another run is refused");
	run_rec_release(&a);
	run_rec_release(&b);
}

static void test_bytes(void)
{
	struct run_rec r, back;
	struct str one = STR_INIT, two = STR_INIT;
	struct err e = ERR_INIT;
	size_t accepted = 0, refused = 0;

	ok(fill(&r) && run_rec_encode(&r, &one), "a full record encodes");
	is_int(run_rec_decode(&back, one.p, one.len, &e), ST_OK, "and decodes");
	ok(run_rec_encode(&back, &two) && one.len == two.len && !memcmp(one.p, two.p, one.len),
		"to an equal record");
	is_str(back.command[2], "exit 3", "the command is kept word by word");
	is_int(back.devs[0].energy_uj.v, INT64_MAX, "large values are kept");
	is_int(back.devs[0].util_ppm.st, ST_UNSUPPORTED, "the reason of a missing value is kept");
	is_int(back.net_uj.v, 77, "a partial value is kept");
	is_str(back.marks[0].text, "forward", "marks are kept");
	ok(!back.domain, "NULL stays NULL");
	run_rec_release(&back);

	for (size_t n = 0; n < one.len; n++) {
		/* A copy of the exact size lets a sanitizer see a read past the end. */
		char *cut = malloc(n ? n : 1);

		memcpy(cut, one.p, n);
		if (run_rec_decode(&back, cut, n, &e) == ST_CORRUPT)
			refused++;
		run_rec_release(&back);
		free(cut);
	}
	is_int(refused, one.len, "a record cut anywhere is refused");
	for (size_t i = 0; i < one.len * 8; i++) {
		one.p[i / 8] = (char)(one.p[i / 8] ^ 1 << i % 8);
		if (run_rec_decode(&back, one.p, one.len, &e) == ST_OK) {
			str_clear(&two);
			if (run_rec_encode(&back, &two))
				accepted++;
			run_rec_release(&back);
		} else {
			accepted += e.msg[0] != '\0';
		}
		one.p[i / 8] = (char)(one.p[i / 8] ^ 1 << i % 8);
	}
	is_int(accepted, one.len * 8,
		"with any bit flipped it is refused with a reason or still whole");
	one.p[4] = 2;
	is_int(run_rec_decode(&back, one.p, one.len, &e), ST_UNSUPPORTED,
		"a newer version is refused");
	has(e.msg, "newer", "and says so");
	str_release(&one);
	str_release(&two);
	run_rec_release(&r);
}

static void test_out_of_memory(void)
{
	struct run_rec r, back;
	struct str bytes = STR_INIT;
	struct err e = ERR_INIT;
	unsigned n = 0;
	bool done = false, decoded = false;

	while (!done && n < 1000) {
		fault_arm("alloc", ++n);
		done = fill(&r) && run_rec_encode(&r, &bytes);
		fault_arm("alloc", 0);
		if (!done)
			str_release(&bytes);
		run_rec_release(&r);
	}
	ok(done && n > 10, "filling and encoding fail cleanly at each of %u allocations", n - 1);
	for (n = 0; !decoded && n < 1000;) {
		fault_arm("alloc", ++n);
		decoded = run_rec_decode(&back, bytes.p, bytes.len, &e) == ST_OK;
		fault_arm("alloc", 0);
		if (!decoded && e.st != ST_NOMEM)
			break;
	}
	ok(decoded && n > 10, "so does decoding, at each of %u", n - 1);
	run_rec_release(&back);
	str_release(&bytes);
}

static void test_ids(void)
{
	char a[17], b[17];

	run_id_make(a);
	run_id_make(b);
	ok(strlen(a) == 16 && strspn(a, "0123456789abcdef") == 16, "an id is 16 hex digits");
	ok(strcmp(a, b) != 0, "two ids differ");
}

static void test_channels(void)
{
	int bad = 0;

	for (int c = 0; c < CH_COUNT; c++)
		bad += channel_from_name(channel_info((enum channel)c)->name) != (enum channel)c;
	is_int(bad, 0, "every channel has a name of its own");
	is_str(channel_info((enum channel)9999)->name, "unknown", "a foreign number is no channel");
	is_int(channel_from_name("nothing"), CH_COUNT, "nor is a foreign name");
}

static void test_settings(void)
{
	struct run_rec r;
	struct str s = STR_INIT;
	char buf[64];

	run_rec_init(&r);
	run_rec_axis(&r, "workers", "2", UNIT_NONE, QTY(2));
	run_rec_axis(&r, "power_limit", "0.2 kW", UNIT_POWER, QTY(200000));
	run_rec_axis(&r, "batch", "32", UNIT_NONE, QTY_NONE(ST_UNSUPPORTED));
	run_rec_axis(&r, "clock_max", "default", UNIT_FREQ, QTY(1380000));
	setting_text(r.axes, r.n_axes, SETTING_WHOLE, &s);
	is_str(str_cstr(&s), "batch=32 clock_max=default power_limit=200W workers=2",
		"a setting has one name however it was written");
	str_clear(&s);
	setting_text(r.axes, r.n_axes, SETTING_BLOCK, &s);
	is_str(str_cstr(&s), "batch=32 workers=2", "the block leaves the knobs out");
	is_str(axis_column("power_limit", UNIT_POWER, buf, sizeof(buf)), "power_limit_w",
		"a column carries its unit");
	is_near(axis_number(&r.axes[1]), 200, 0, "an axis in its outside unit");
	is_near(axis_number(&r.axes[2]), 32, 0, "a number in a free axis");
	str_release(&s);
	run_rec_release(&r);
}

int main(void)
{
	test_settings();
	test_channels();
	test_new_record_knows_nothing();
	test_totals();
	test_merge();
	test_bytes();
	test_out_of_memory();
	test_ids();
	return tap_done();
}
