/* A run as JSON: always a valid document, unknown is null, units are in the keys. */
#include "record/record_json.h"
#include "tap.h"

static json_t *reparse(const struct run_rec *r)
{
	struct str s = STR_INIT;
	json_t *j = NULL;

	if (json_line(run_rec_json(r), &s))
		j = json_loads(str_cstr(&s), 0, NULL);
	str_release(&s);
	return j;
}

static json_t *at(json_t *j, const char *a, const char *b)
{
	j = json_object_get(j, a);
	return b ? json_object_get(j, b) : j;
}

static void test_empty(void)
{
	struct run_rec r;
	json_t *j;

	run_rec_init(&r);
	j = reparse(&r);
	ok(j, "an empty record is a valid document");
	is_str(json_string_value(at(j, "schema", NULL)), "wattlaw.run/1", "the schema is named");
	ok(json_is_null(at(j, "energy", "total_j")), "unknown energy is null");
	ok(json_is_null(at(j, "train", "samples_per_s")), "so is the rate");
	ok(json_is_null(at(j, "exit_code", NULL)), "and the exit code before the end");
	ok(json_is_null(at(j, "source", NULL)), "measured here: no source");
	json_decref(j);
}

static void test_values(void)
{
	struct run_rec r;
	struct dev_rec *d;
	struct knob_rec *k;
	json_t *j, *dev;

	run_rec_init(&r);
	rec_set(&r.workload, "caf\xe9 \xc3\xa9 \xed\xa0\x80");
	run_rec_arg(&r, "a\"b\n");
	run_rec_axis(&r, "power_limit", "200W", UNIT_POWER, QTY(200000));
	run_rec_axis(&r, "precision", "bf16", UNIT_NONE, QTY_NONE(ST_UNSUPPORTED));
	r.exit_code = 3;
	r.wall_ns = QTY(1500000000);
	r.train.window_ns = QTY(1000000000);
	r.train.window_samples = QTY(64);
	r.train.loss_first = NAN;
	r.train.has_loss = true;
	r.energy_uj = (struct qty){5000000, ST_PARTIAL};
	d = run_rec_dev(&r);
	d->mean_mw = QTY(0);
	d->util_ppm = QTY_NONE(ST_UNSUPPORTED);
	k = dev_rec_knob(d, "power_limit", UNIT_POWER);
	k->requested = QTY(700000);
	k->enforced = QTY(500000);
	j = reparse(&r);
	ok(j, "bytes that are not UTF-8 still give a valid document");
	is_str(json_string_value(at(j, "workload", NULL)),
		"caf\xef\xbf\xbd \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
		"with each bad byte replaced and the rest kept");
	is_near(json_real_value(at(j, "wall_s", NULL)), 1.5, 0, "seconds outside");
	is_near(json_real_value(at(j, "train", "sample_s")), 1.0 / 64, 1e-12, "time per sample");
	is_near(json_real_value(at(j, "setting", "power_limit_w")), 200, 0,
		"the setting has units");
	is_str(json_string_value(at(j, "setting", "precision")), "bf16", "or text");
	ok(json_is_null(at(j, "energy", "total_j")), "a partial total is not a total");
	is_near(json_real_value(at(j, "energy", "partial_j")), 5, 0, "what is known is beside it");
	ok(json_is_null(at(j, "train", "loss_first")), "a loss that is not a number is null");
	dev = json_array_get(at(j, "devices", NULL), 0);
	ok(json_is_real(at(dev, "mean_w", NULL)), "a measured 0 is 0");
	ok(json_is_null(at(dev, "util_pct", NULL)), "an unsupported field is null");
	is_near(json_real_value(at(dev, "power_limit_w", "requested")), 700, 0, "requested and");
	is_near(json_real_value(at(dev, "power_limit_w", "enforced")), 500, 0, "enforced are two");
	json_decref(j);
	run_rec_release(&r);
}

int main(void)
{
	test_empty();
	test_values();
	return tap_done();
}
